"""ESC stops what runs. A key and no modal operator: those keep Blender from saving on its own, and outlive us."""

import bpy

keys = []


def register():
    configuration = bpy.context.window_manager.keyconfigs.addon
    if configuration is not None:  # there is none without a window
        keymap = configuration.keymaps.new(name="Window")
        keys.append((keymap, keymap.keymap_items.new("jellycage.stop", "ESC", "PRESS")))


def unregister():
    while keys:
        keymap, item = keys.pop()
        keymap.keymap_items.remove(item)
