"""Soft-body simulation: a cage, a material, pins and loads in; node positions and surfaces out.

The names are imported when they are first used: an import of `sim` alone compiles and loads nothing.
"""

from importlib import import_module

_HOME = {
    "Box": "shapes",
    "Cage": "soft.cage",
    "Capsule": "shapes",
    "Collider": "shapes.colliders",
    "Corotated": "materials",
    "Equilibrium": "solvers.quasistatic",
    "Force": "soft.loads",
    "Hull": "shapes",
    "ImplicitEuler": "solvers.implicit_euler",
    "Impulse": "soft.loads",
    "Keyed": "maths.keyed",
    "Motion": "shapes.colliders",
    "NeoHookean": "materials",
    "Pin": "soft.pins",
    "Plane": "shapes",
    "Points": "soft.points",
    "PositionChange": "soft.loads",
    "Scene": "scene.scene",
    "SettingsError": "errors",
    "SimError": "errors",
    "SceneState": "scene.state",
    "Simulation": "scene.simulation",
    "SoftBody": "soft.body",
    "SolverError": "errors",
    "SolverSettings": "solvers.settings",
    "Sphere": "shapes",
    "State": "soft.state",
    "Stepper": "scene.stepper",
    "VelocityChange": "soft.loads",
    "determinants": "soft.elasticity",
    "embedded_points": "soft.points",
    "equilibrium": "solvers.quasistatic",
    "ground": "shapes.colliders",
    "node_points": "soft.points",
    "simulate": "scene.simulation",
    "start_state": "scene.state",
    "surface_points": "soft.points",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'jellycage.sim' has no attribute {name!r}")
    return getattr(import_module(f"jellycage.sim.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
