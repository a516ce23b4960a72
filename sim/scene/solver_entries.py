"""What a scene file says of the solver of soft bodies and of its outputs. This is the format."""

from dataclasses import dataclass
from pathlib import Path

from jellycage.sim.schema.schema import key
from jellycage.sim.schema.schema_kinds import (
    Choice,
    Flag,
    NewFile,
    Number,
    Whole,
)
from jellycage.sim.soft.elasticity import DIFFERENTIALS
from jellycage.sim.solvers.methods import INTEGRATORS
from jellycage.sim.solvers.settings import SolverSettings


@dataclass(frozen=True, kw_only=True)
class SolverEntry:
    """How hard the solver tries."""

    newton_iterations: int | None = key(
        Whole(1, 1000), "Most Newton steps per time step; left out: by quality.", None, example=2
    )
    newton_tolerance: float = key(
        Number(0.0, 1.0, below=True),
        "Newton's method stops when the residual has fallen to this fraction of what it was.",
        SolverSettings.newton_tolerance,
    )
    linear_iterations: int = key(
        Whole(1, 100000),
        "Most conjugate-gradient iterations per Newton step.",
        SolverSettings.linear_iterations,
    )
    linear_tolerance: float = key(
        Number(0.0, 1.0, below=True),
        "They stop when the residual has fallen to this fraction of what it was.",
        SolverSettings.linear_tolerance,
    )
    stiffness: str = key(
        Choice(DIFFERENTIALS),
        "Stress differential of co-rotated bodies; projected is the exact and slow one.",
        SolverSettings.stiffness,
    )
    precision: float = key(
        Number(0.0, 1.0, below=True),
        "Displacements below this fraction of a body's size are not worth an iteration.",
        SolverSettings.precision,
    )
    integrator: str = key(
        Choice(tuple(INTEGRATORS)),
        "How time is stepped: bdf2 keeps vibrations and spins, implicit_euler damps them, more in longer steps.",
        SolverSettings.integrator,
    )
    impact_steps: int = key(
        Whole(1, 1024),
        "Into how many parts, a power of two, a step is cut at the most around blows and yanks of pins; 1: never.",
        SolverSettings.impact_steps,
    )


@dataclass(frozen=True, kw_only=True)
class OutputEntry:
    """What is written and how. Nothing here changes the simulation."""

    path: Path | None = key(
        NewFile(),
        "File or folder to write; left out: given to the command.",
        None,
        example="shot.abc",
    )
    up_axis: str | None = key(
        Choice(("Y", "Z")),
        "Axis that points up in the files; left out: Y in Alembic, Z in the others.",
        None,
        example="Y",
    )
    scale: float = key(Number(0.0, above=True), "Units of the files per metre.", 1.0)
    velocities: bool = key(Flag(), "Whether to write velocities, for motion blur.", False)
