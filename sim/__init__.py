"""Soft-body simulation: a cage, a material, pins and loads in; node positions and surfaces out.

The names are imported when they are first used: an import of `sim` alone compiles and loads nothing.
"""

from importlib import import_module

_HOME = {
    "Box": "colliders",
    "Cage": "cage",
    "Capsule": "colliders",
    "Corotated": "materials",
    "Equilibrium": "solvers.quasistatic",
    "Force": "loads",
    "ImplicitEuler": "solvers.implicit",
    "Impulse": "loads",
    "Keyed": "keyed",
    "Motion": "colliders",
    "NeoHookean": "materials",
    "Pin": "pins",
    "Plane": "colliders",
    "Points": "points",
    "PositionChange": "loads",
    "Scene": "scene",
    "SettingsError": "errors",
    "SimError": "errors",
    "Simulation": "simulation",
    "SoftBody": "bodies",
    "SolverError": "errors",
    "SolverSettings": "solvers.settings",
    "Sphere": "colliders",
    "State": "state",
    "VelocityChange": "loads",
    "determinants": "elasticity",
    "embedded_points": "points",
    "equilibrium": "solvers.quasistatic",
    "ground": "colliders",
    "node_points": "points",
    "simulate": "simulation",
    "start_state": "state",
    "surface_points": "points",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'sim' has no attribute {name!r}")
    return getattr(import_module(f"sim.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
