"""Switching the extension off and on again leaves nothing behind."""

import sys
import time

import bpy
from claims import (
    MODULE,
    add_cube,
    addon,
    bake,
    children,
    claim,
    new_scene,
    switch_off,
    switch_on,
    try_all,
)


def ours(thing):
    return str(getattr(thing, "__module__", "")).startswith(MODULE)


def left_behind():
    """What there is of ours in Blender, by kind."""
    handlers = bpy.app.handlers
    lists = {name: getattr(handlers, name) for name in dir(handlers)}
    return {
        "handlers": [
            name for name, row in lists.items() if isinstance(row, list) and any(map(ours, row))
        ],
        "classes": [name for name in dir(bpy.types) if name.lower().startswith("jellycage")],
        "operators": dir(bpy.ops.jellycage),
        "settings": [
            kind.__name__
            for kind in (bpy.types.Object, bpy.types.Scene)
            if "jellycage" in kind.bl_rna.properties or hasattr(kind, "jellycage")
        ],
        "timers": [1] if bpy.app.timers.is_registered(addon("running")._tick) else [],
        "processes": children(),
    }


def assert_nothing_left():
    found = left_behind()
    assert not any(found.values()), found


@claim
def it_can_be_registered_three_times():
    module = sys.modules[MODULE]
    for _ in range(3):
        module.unregister()
        assert_nothing_left()
        module.register()
        found = left_behind()
        assert len(found["handlers"]) >= 4 and found["classes"] and found["operators"], found
        assert not found["timers"] and not found["processes"]


@claim
def it_bakes_after_that():
    new_scene(3)
    add_cube()
    bake()


@claim
def switching_off_ends_a_bake_that_runs():
    new_scene(200, quality="FINAL")
    add_cube(resolution=6)
    running, operators = addon("running"), addon("operators.bake")
    scene = bpy.context.scene
    run = running.current = running.Run("Bake", lambda run: operators.bake(run, scene))
    bpy.app.timers.register(running._tick)
    ends = time.monotonic() + 60.0
    while not run.text.startswith("Frame"):
        assert run.advance() and time.monotonic() < ends, running.error
        time.sleep(0.005)
    assert children()
    try:
        switch_off()
        assert_nothing_left()
    finally:
        switch_on()  # Blender unpacks the wheels again


@claim
def the_state_of_a_bake_is_not_kept_in_the_file():
    names = set(bpy.types.Scene.bl_rna.properties["jellycage"].fixed_type.properties.keys())
    names |= set(bpy.types.Object.bl_rna.properties["jellycage"].fixed_type.properties.keys())
    assert not names & {"running", "progress", "is_baking", "is_running", "message", "error"}


if __name__ == "__main__":
    try_all()
