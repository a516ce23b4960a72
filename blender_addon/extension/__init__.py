"""Jellycage in Blender: volumetric soft bodies that keep their volume.

Blender's process reads the scene, shows the panel and plays the result. All the work is done by a child process, so
that Blender never waits; see `child`.
"""

import bpy

from . import folders, handlers, keymap, operators, panel, settings

CLASSES = (*(each for module in operators.MODULES for each in module.CLASSES), *panel.CLASSES)


def register():
    """Called by Blender when the extension is switched on."""
    settings.register()
    for each in CLASSES:
        bpy.utils.register_class(each)
    handlers.register()
    keymap.register()
    folders.forget_old_sessions()


def unregister():
    """Called by Blender when the extension is switched off: nothing of ours stays behind."""
    keymap.unregister()
    handlers.unregister()
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
    settings.unregister()
