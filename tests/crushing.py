"""A body between two boxes that come together to a twentieth of its height, and part again."""

from dataclasses import dataclass

import numpy as np

from jellycage import sim
from jellycage.sim.bake.cautions import Cautions
from jellycage.sim.bake.health import Health

FPS = 24.0
SHUT, OPENING, OPEN = 0.5, 0.75, 1.0
"""When the boxes are together, when they begin to part, and when they have let go [s]."""
LEAST = 0.05  # of its height that they leave it
AFTERWARDS = 2.0  # time that it has to come back [s]


@dataclass(frozen=True)
class Crushed:
    """How it went."""

    least_volume: float
    """Of that at rest."""
    volume: float
    """The same, half of the time in the last quarter of what it had to come back: it may be bouncing."""
    widest: float
    """Greatest extent in any direction, in sizes; infinite if a position was not finite."""
    warnings: tuple[str, ...]
    """Troubles and cautions."""

    @property
    def is_good(self) -> bool:
        """Whether it stayed finite, was warned of, and came back."""
        return self.widest < np.inf and bool(self.warnings) and abs(self.volume - 1.0) < 0.02


def press(surface_vertices):
    """The two boxes around a surface (v, 3) [m], led."""
    low, high = surface_vertices.min(axis=0), surface_vertices.max(axis=0)
    height, centre = high[2] - low[2], 0.5 * (low + high)
    size = (*2 * (8.0 * (high - low).max(),), height)

    def led(side, edge, away):
        shut = centre[2] + 0.5 * side * LEAST * height
        z = np.array([edge, shut, shut, edge + away]) + 0.5 * side * height
        way = np.column_stack([np.tile(centre[:2], (4, 1)), z])
        return sim.Collider(sim.Box(size), sim.Motion(way, times=(0.0, SHUT, OPENING, OPEN)))

    return [led(-1.0, low[2], 0.0), led(1.0, high[2], 2.0 * height)]


def crushed(body, settings=None, *, substeps=1, gravity=(0.0, 0.0, -9.81)) -> Crushed:
    """Crush a body and see."""
    scene = sim.Scene(
        [body],
        colliders=press(body.asset.surface_vertices),
        gravity=gravity,
        solver=settings or sim.SolverSettings(),
    )
    stepper = sim.Stepper(scene, fps=FPS, substeps=substeps)
    health, cautions = Health(scene, FPS), Cautions(scene, ["body"], FPS, substeps)
    state, times, noted = stepper.start(), health.start(), cautions.start()
    volumes, widest, warnings = [], 0.0, []
    for frame in range(1, round(FPS * (OPEN + AFTERWARDS)) + 1):
        stepper.step(state)
        x = state.soft[0].x
        if not np.isfinite(x).all():
            return Crushed(0.0, 0.0, np.inf, tuple(warnings))
        times, troubles = health.after(state, times)
        noted = cautions.after(frame, state, times, noted)
        if state.time < OPEN:
            warnings += troubles.values()
        share = sim.determinants(body, x) * body.solid_volumes / body.solid_volumes.sum()
        volumes.append(share.sum())
        widest = max(widest, np.ptp(x, axis=0).max() / body.size)
    warnings += cautions.sentences(noted)
    last = volumes[-round(0.25 * AFTERWARDS * FPS) :]
    return Crushed(min(volumes), float(np.median(last)), widest, tuple(warnings))
