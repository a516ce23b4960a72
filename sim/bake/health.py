"""Whether the frames of a bake still make sense: success must mean success.

A body is in trouble when it is torn apart, and when for longer than a recovery takes its volume is less than half or
more than twice of what it was, or an element is inside out. What it does at a blow is over within a few frames; what
pins do to the elements that they hold of is asked for.
"""

import numpy as np

from jellycage.sim.bake.measures import solid_volume
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.state import SceneState
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import determinants

FARTHEST = 20.0  # sizes from its own centre that a node may be: pins may leap by ten
SMALLEST, LARGEST = 0.5, 2.0  # volume against that at rest
LONGEST = 0.2  # time for which it may have another volume, and an element be inside out [s]
REMEDY = "use more substeps, a softer material or gentler pins; --keep-going bakes on"


class Health:
    """Looks at the soft bodies of a scene from frame to frame. A bake that is continued starts to count anew."""

    def __init__(self, scene: Scene, fps: float):
        self.bodies, self.fps = scene.bodies, fps
        self.volumes = [solid_volume(body, body.elements.nodes) for body in scene.bodies]
        self.misshapen = [0.0 for _ in scene.bodies]
        self.inverted = [np.zeros(len(body.elements.volumes)) for body in scene.bodies]
        self.is_led = [_is_led(body) for body in scene.bodies]

    def troubles(self, state: SceneState) -> list[tuple[int, str]]:
        """(number of the body, what is the matter and where) for each body in trouble, one frame after the last."""
        found = []
        for number, (body, soft) in enumerate(zip(self.bodies, state.soft, strict=True)):
            text = self._trouble(number, body, soft.x)
            if text:
                found.append((number, text))
        return found

    def _trouble(self, number: int, body: SoftBody, x) -> str:
        """What is the matter with a body at node positions x (n, 3), or nothing."""
        det = determinants(body, x)
        inverted = self.inverted[number]
        is_inverted = (det <= 0.0) & ~self.is_led[number]
        inverted[:] = np.where(is_inverted, inverted + 1.0 / self.fps, 0.0)
        centre = (body.mass[:, None] * x).sum(axis=0) / body.mass.sum()
        away = np.sqrt(((x - centre) ** 2).sum(axis=1)) / body.size
        if not away.max() <= FARTHEST:
            return f"is torn apart, {away.max():.3g} sizes wide at {_place(x[away.argmax()])}"
        volume = solid_volume(body, x) / self.volumes[number]
        is_fine = SMALLEST <= volume <= LARGEST
        self.misshapen[number] = 0.0 if is_fine else self.misshapen[number] + 1.0 / self.fps
        if self.misshapen[number] > LONGEST:
            lasting = f"{self.misshapen[number]:.2g} s"
            return f"has {volume:.0%} of its volume, for {lasting} now, at {_place(centre)}"
        if inverted.max() > LONGEST:
            points = len(det) // len(body.elements.corners)
            corners = body.elements.corners[inverted.argmax() // points]
            count = int((inverted > LONGEST).sum())
            return (
                f"has {count} elements inside out for {inverted.max():.2g} s "
                f"at {_place(x[corners].mean(axis=0))}"
            )
        return ""


def _is_led(body: SoftBody):
    """Whether a pin takes hold of the element of each quadrature point, shape (q,)."""
    is_pinned = np.zeros(len(body.mass), np.bool_)
    for pin in body.pins:
        is_pinned[pin.points.nodes[pin.points.weights != 0.0]] = True
    corners = body.elements.corners
    return np.repeat(is_pinned[corners].any(axis=1), len(body.elements.volumes) // len(corners))


def _place(point) -> str:
    return "({})".format(", ".join(f"{value:.3g}" for value in point))
