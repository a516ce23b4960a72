"""What a user should know of a finished bake though it is no reason to end it; see `health` for what is.

- Elements that were inside out, but for those that pins hold of: they came back, or the bake would have ended.
- A body that lost a good part of its volume, or was pressed flat: not for so long that the bake would have ended.
- Hard pins that are led where the cage cannot follow: parts that it joins are led apart, or creases are finer than it.
- A step too long for the motion. Six steps to a turn are the fewest that tell which way it goes, and a node that is
  carried past its whole body in one step has not been followed on its way.
- A frame that took far longer than those before it. The factor and the floor are generous, so that a busy machine does
  not set it off.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.bake.measures import COLUMNS, solid_volume
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.state import Arrays, SceneState
from jellycage.sim.soft.body import SoftBody
from jellycage.toolkit.asset.asset import Asset

LEAST_VOLUME, LEAST_WIDTH = 0.75, 0.25  # of those at rest: no fall or bounce takes more of a solid
MOST_LEFT = 2.0  # between hard pins and where they are led [cells]
MOST_TURN = 1.0  # of a body in a substep [rad]
MOST_SHIFT = 1.0  # of a node in a substep, against the turning body, in sizes of that
SLOW_FACTOR, SLOW_SECONDS = 20.0, 60.0  # against the median before it, and at least
SLOW_AFTER = 3  # frames that must have been baked before it


class Cautions:
    """Looks at the soft bodies of a scene, frame after frame, and remembers the worst in arrays."""

    def __init__(self, scene: Scene, names: Sequence[str], fps: float, substeps: int):
        self.bodies, self.names = scene.bodies, names
        self.at_rest = [
            (solid_volume(body, body.elements.nodes), _width(body, body.elements.nodes))
            for body in scene.bodies
        ]
        self.substeps, self.dt = substeps, 1.0 / (fps * substeps)

    def start(self) -> Arrays:
        """What there is to say of each body by name, nothing at first: what a bake that is continued must know."""
        noted = {}
        for number in range(len(self.bodies)):
            noted[f"cautions.{number}.inside_out"] = np.zeros(
                3, np.int64
            )  # first, last frame, most
            # First, last frame, least volume and width.
            noted[f"cautions.{number}.crushed"] = np.array([0.0, 0.0, 1.0, 1.0])
            noted[f"cautions.{number}.left"] = np.zeros(3)  # first, last frame, most [cells]
            noted[f"cautions.{number}.haste"] = np.zeros(3)  # frame, turn [rad], shift [sizes]
        return noted

    def after(self, frame: int, state: SceneState, ill_for: Arrays, noted: Arrays) -> Arrays:
        """The notes after a frame with a state, in which each body has been ill for so long, see `Health`."""
        later = {}
        for number, (body, soft) in enumerate(zip(self.bodies, state.soft, strict=True)):
            key = f"cautions.{number}.inside_out"
            count = _inside_out(body, ill_for[f"health.{number}.inverted"])
            first, _, most = later[key] = noted[key]
            if count:
                later[key] = np.array([first if most else frame, frame, max(most, count)])
            key = f"cautions.{number}.crushed"
            first, last, *least = later[key] = noted[key]
            volume, width = self._shares(number, soft.x)
            if volume < LEAST_VOLUME or width < LEAST_WIDTH:
                least = np.minimum(least, (volume, width))
                later[key] = np.array([first if last else frame, frame, *least])
            key = f"cautions.{number}.left"
            left = _way_left(body, soft.x, state.time) / _cell(body)
            first, _, most = later[key] = noted[key]
            if left > MOST_LEFT:
                later[key] = np.array([first if most else frame, frame, max(most, left)])
            key = f"cautions.{number}.haste"
            found = np.array([frame, *_haste(body, soft.x, soft.v, self.dt)])
            later[key] = found if _excess(found) > _excess(noted[key]) else noted[key]
        return later

    def _shares(self, number: int, x) -> tuple[float, float]:
        """Volume and width of a body with nodes at x (n, 3), in those at rest."""
        body, (volume, width) = self.bodies[number], self.at_rest[number]
        is_sheet = width < 1e-6 * body.size  # a flat one cannot be pressed flat
        return solid_volume(body, x) / volume, 1.0 if is_sheet else _width(body, x) / width

    def sentences(self, noted: Arrays) -> list[str]:
        """The notes in words, each with a remedy."""
        said = []
        for number, name in enumerate(self.names):
            inside_out = noted[f"cautions.{number}.inside_out"]
            if inside_out[2]:
                said.append(
                    f"{name}, {_when(inside_out)}: up to {inside_out[2]} elements were inside out; "
                    "use more substeps if it shows"
                )
            crushed = noted[f"cautions.{number}.crushed"]
            if crushed[1]:
                said.append(
                    f"{name}, {_when(crushed)}: crushed to {crushed[2]:.0%} of its volume and "
                    f"{crushed[3]:.0%} of its width; give it more room if it shows"
                )
            left = noted[f"cautions.{number}.left"]
            if left[2]:
                said.append(
                    f"{name}, {_when(left)}: hard pins are up to {left[2]:.1f} cells from where they "
                    f"are led; {_way_to_follow(self.bodies[number])}"
                )
            frame, turn, shift = haste = noted[f"cautions.{number}.haste"]
            excess = _excess(haste)
            if excess > 1.0:
                what = f"turns by {turn:.2g} rad"
                if shift / MOST_SHIFT > turn / MOST_TURN:
                    what = f"changes its shape by {shift:.2g} times its size"
                said.append(
                    f"{name}, frame {frame:.0f}: {what} in one substep, too much to be followed; "
                    f"use more substeps, about {math.ceil(excess * self.substeps)}"
                )
        return said


def _width(body: SoftBody, x) -> float:
    """How wide the surface of a body with nodes at x (n, 3) is where it is narrowest, up to a factor [m]."""
    # What is seen, not the cage: that may bulge around a surface that is flat. A bare cage has no surface.
    seen = body.surface(x) if isinstance(body.asset, Asset) else x
    r = seen - seen.mean(axis=0)
    return float(np.sqrt(max(np.linalg.eigvalsh(r.T @ r / len(r))[0], 0.0)))


def _when(noted) -> str:
    first, last = noted[:2]
    return f"frame {first:.0f}" if first == last else f"frames {first:.0f} to {last:.0f}"


def _way_left(body: SoftBody, x, time: float) -> float:
    """How far a point with a hard pin is at most from where that is at a time [s], with nodes at x (n, 3) [m]."""
    most = 0.0
    for pin in body.pins:
        is_hard = pin.strengths(time) == 1.0
        if is_hard.any():
            rest = pin.points.positions(body.start_positions())
            way = (pin.targets(rest, time) - pin.points.positions(x)) @ pin.directions.T
            most = max(most, (way[is_hard] ** 2).sum(axis=1).max())
    return float(np.sqrt(most))


def _cell(body: SoftBody) -> float:
    """How wide the cells of its cage are, on average [m]; five tets are one."""
    tets = 5.0 if body.corner_count == 4 else 1.0
    return float(np.cbrt(tets * body.elements.element_volumes.mean()))


def _way_to_follow(body: SoftBody) -> str:
    meta = body.asset.meta if isinstance(body.asset, Asset) else {}
    if meta.get("solids", 0) > meta.get("components", 0):
        return "its cage joins parts that overlap: if they are led apart, join = false (Join Parts: Never)"
    return "use a finer cage, or lead them more slowly, if it shows"


def _inside_out(body: SoftBody, inverted) -> int:
    """How many elements have a quadrature point that has been inverted for some time, shape (q,)."""
    count = len(body.elements.corners)
    return int((inverted.reshape(count, -1) > 0.0).any(axis=1).sum())


def _haste(body: SoftBody, x, v, dt: float) -> tuple[float, float]:
    """How far a body turns in a step [rad], and its nodes move within it at most [sizes of the body]."""
    mass = body.mass[:, None] / body.mass.sum()
    r, u = x - (mass * x).sum(axis=0), v - (mass * v).sum(axis=0)
    spread = (mass * r).T @ r
    inertia = np.trace(spread) * np.eye(3) - spread
    inertia += 1e-12 * body.size**2 * np.eye(3)  # a line has none about itself, and no spin either
    spin = np.linalg.solve(inertia, (mass * np.cross(r, u)).sum(axis=0))
    within = u - np.cross(spin, r)
    shift = np.sqrt((within * within).sum(axis=1).max())
    return dt * float(np.sqrt(spin @ spin)), dt * float(shift) / body.size


def _excess(haste) -> float:
    """By what factor a body is too fast for its steps."""
    _, turn, shift = haste
    return max(turn / MOST_TURN, shift / MOST_SHIFT)


def slow_frames(measured: NDArray[np.float64], names: Sequence[str]) -> list[str]:
    """A sentence about the slowest frame that took far longer than those before it, if there is one.

    measured: one row per frame, see `Measures`; names: of all that was baked.
    """
    column = {name: measured[:, COLUMNS.index(name)] for name in COLUMNS}
    seconds = column["step_seconds"] + column["contact_seconds"]
    usual = [np.median(seconds[1:k]) if k > SLOW_AFTER else np.inf for k in range(len(seconds))]
    is_slow = (seconds > SLOW_FACTOR * np.array(usual)) & (seconds > SLOW_SECONDS)
    if not is_slow.any():
        return []
    worst = int(np.where(is_slow, seconds, 0.0).argmax())
    return [
        f"{', '.join(names)}, frame {column['frame'][worst]:.0f}: took {seconds[worst]:.0f} s, "
        f"the frames before it {usual[worst]:.2g} s; look there for what is crushed or entangled"
    ]
