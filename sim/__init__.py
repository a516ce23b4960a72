"""Simulation of soft bodies (a cage, a material, pins and loads in; surfaces out), rigid bodies and ragdolls.

The names are imported when they are first used: an import of `sim` alone compiles and loads nothing.
"""

from importlib import import_module

_HOME = {
    "Ball": "rigid.joints",
    "BoneMotion": "ragdoll.motion",
    "Box": "shapes",
    "Cage": "soft.cage",
    "Capsule": "shapes",
    "Character": "ragdoll.character",
    "Collider": "shapes.colliders",
    "ConeTwist": "rigid.joints",
    "Corotated": "materials",
    "Equilibrium": "solvers.quasistatic",
    "Fixed": "rigid.joints",
    "Force": "soft.loads",
    "Hinge": "rigid.joints",
    "Hull": "shapes",
    "ImplicitEuler": "solvers.implicit_euler",
    "Impulse": "soft.loads",
    "Joint": "rigid.joints",
    "Keyed": "maths.keyed",
    "Motion": "shapes.colliders",
    "NeoHookean": "materials",
    "Pin": "soft.pins",
    "Plane": "shapes",
    "Points": "soft.points",
    "PositionChange": "soft.loads",
    "Ragdoll": "ragdoll.ragdoll",
    "RagdollRun": "ragdoll.simulation",
    "RagdollSettings": "ragdoll.ragdoll",
    "RigidBody": "rigid.body",
    "RigidSettings": "rigid.world",
    "RigidWorld": "rigid.world",
    "Rod": "rigid.rods",
    "Scene": "scene.scene",
    "Sagging": "solvers.standing",
    "SettingsError": "errors",
    "SimError": "errors",
    "SceneState": "scene.state",
    "Simulation": "scene.simulation",
    "SoftBody": "soft.body",
    "SolverError": "errors",
    "SolverSettings": "solvers.settings",
    "Sphere": "shapes",
    "Standing": "solvers.standing",
    "State": "soft.state",
    "StaticMesh": "shapes.static_mesh",
    "Stepper": "scene.stepper",
    "VelocityChange": "soft.loads",
    "WORLD": "rigid.joints",
    "build_ragdoll": "ragdoll.ragdoll",
    "determinants": "soft.elasticity",
    "embedded_points": "soft.points",
    "equilibrium": "solvers.quasistatic",
    "ground": "shapes.colliders",
    "humanoid": "ragdoll.humanoid",
    "node_points": "soft.points",
    "ragdoll_world": "ragdoll.simulation",
    "read_character": "ragdoll.character_file",
    "read_motion": "ragdoll.motion",
    "sagging": "solvers.standing",
    "simulate": "scene.simulation",
    "simulate_ragdolls": "ragdoll.simulation",
    "standing": "solvers.standing",
    "start_state": "scene.state",
    "surface_points": "soft.points",
    "write_bvh": "export.bvh",
    "write_character": "ragdoll.character_file",
    "write_motion": "ragdoll.motion",
}

_FAMILIES = ("materials", "shapes")
"""Chapters whose every member is a public name."""

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        for family in _FAMILIES if name[:1].isupper() else ():
            members = import_module(f"jellycage.sim.{family}")
            if name in members.__all__:
                return getattr(members, name)
        raise AttributeError(f"module 'jellycage.sim' has no attribute {name!r}")
    return getattr(import_module(f"jellycage.sim.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
