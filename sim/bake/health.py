"""Whether the frames of a bake still make sense: success must mean success.

A body is in trouble when it is torn apart, and when for longer than a recovery takes its volume is less than half or
more than twice of what it was, or an element is inside out. What it does at a blow is over within a few frames; what
pins do to the elements that they hold of is asked for.
"""

import numpy as np

from jellycage.sim.bake.measures import solid_volume
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.state import Arrays, SceneState
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import determinants

FARTHEST = 20.0  # sizes from its own centre that a node may be: pins may leap by ten
SMALLEST, LARGEST = 0.5, 2.0  # volume against that at rest
LONGEST = 0.2  # time for which it may have another volume, and an element be inside out [s]
REMEDY = "use more substeps, a softer material or gentler pins; --keep-going bakes on"


class Health:
    """Looks at the soft bodies of a scene, frame after frame."""

    def __init__(self, scene: Scene, fps: float):
        self.bodies, self.fps = scene.bodies, fps
        self.volumes = [solid_volume(body, body.elements.nodes) for body in scene.bodies]

    def start(self) -> Arrays:
        """For how long each body has been ill [s] by name, none at first: what a bake that is continued must know."""
        times = {}
        for number, body in enumerate(self.bodies):
            times[f"health.{number}.misshapen"] = np.zeros(())
            times[f"health.{number}.inverted"] = np.zeros(len(body.elements.volumes))
        return times

    def after(self, state: SceneState, times: Arrays) -> tuple[Arrays, dict[int, str]]:
        """The times one frame later, in a state, and what is the matter with the bodies in trouble and where."""
        later, troubles = {}, {}
        for number, (body, soft) in enumerate(zip(self.bodies, state.soft, strict=True)):
            volume = solid_volume(body, soft.x) / self.volumes[number]
            is_inverted = (determinants(body, soft.x) <= 0.0) & ~_is_led(body, state.time)
            ill = {"misshapen": not SMALLEST <= volume <= LARGEST, "inverted": is_inverted}
            for name, is_ill in ill.items():
                key = f"health.{number}.{name}"
                later[key] = np.where(is_ill, times[key] + 1.0 / self.fps, 0.0)
            trouble = _trouble(body, soft.x, volume, *(later[f"health.{number}.{n}"] for n in ill))
            if trouble:
                troubles[number] = trouble
        return later, troubles


def _trouble(body: SoftBody, x, volume: float, misshapen, inverted) -> str:
    """What is the matter with a body at node positions x (n, 3) that has been ill for so long, or nothing."""
    centre = (body.mass[:, None] * x).sum(axis=0) / body.mass.sum()
    away = np.sqrt(((x - centre) ** 2).sum(axis=1)) / body.size
    if not away.max() <= FARTHEST:
        return f"is torn apart, {away.max():.3g} sizes wide at {_place(x[away.argmax()])}"
    if misshapen > LONGEST:
        return f"has {volume:.0%} of its volume, for {misshapen:.2g} s now, at {_place(centre)}"
    if inverted.max() > LONGEST:
        corners = body.elements.corners
        element = np.flatnonzero(inverted > LONGEST) // (len(inverted) // len(corners))
        return (
            f"has {len(np.unique(element))} elements inside out for {inverted.max():.2g} s "
            f"at {_place(x[corners[element[0]]].mean(axis=0))}"
        )
    return ""


def _is_led(body: SoftBody, time: float):
    """Whether a pin takes hold, at a time [s], of the element of each quadrature point, shape (q,)."""
    is_held = np.zeros(len(body.mass), np.bool_)
    for pin in body.pins:
        held = pin.strengths(time) > 0.0
        is_held[pin.points.nodes[held][pin.points.weights[held] != 0.0]] = True
    corners = body.elements.corners
    return np.repeat(is_held[corners].any(axis=1), len(body.elements.volumes) // len(corners))


def _place(point) -> str:
    return "({})".format(", ".join(f"{value:.3g}" for value in point))
