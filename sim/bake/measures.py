"""What is measured of every frame of a bake."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.scene.shot import Shot
from jellycage.sim.scene.state import SceneState
from jellycage.sim.scene.stepper import Stepper
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import determinants


@dataclass
class Measures:
    """Of one frame. Without soft bodies volume_error and min_J are NaN."""

    frame: float = 0.0
    kinetic_energy: float = 0.0
    """[J]."""
    elastic_energy: float = 0.0
    """[J]."""
    potential_energy: float = 0.0
    """[J]."""
    volume_error: float = np.nan
    """Signed relative error of the volume that is furthest from 0."""
    contacts: float = 0.0
    overlap_depth: float = 0.0
    """How deep soft bodies are inside each other at its end [m]."""
    overlap_volume: float = 0.0
    """What they claim both at its end [m^3]."""
    min_J: float = np.nan  # noqa: N815
    """Least det F at its end."""
    smooth_distance: float = 0.0
    """Greatest distance of a smooth surface from the one that collides at its end [m]."""
    joint_gap: float = 0.0
    """Greatest gap of a joint at its end [m]."""
    rod_length_error: float = 0.0
    """Greatest error of a rod's length at its end [m]."""
    newton_iterations: float = 0.0
    """Of all its steps."""
    linear_iterations: float = 0.0
    step_seconds: float = 0.0
    """Time spent on steps but for contacts [s]."""
    contact_seconds: float = 0.0
    """Time spent on finding contacts [s]."""
    write_seconds: float = 0.0
    """Time spent on writing [s]."""

    def row(self) -> NDArray[np.float64]:
        """As numbers in the order of COLUMNS."""
        return np.array([getattr(self, name) for name in COLUMNS])


COLUMNS = tuple(field.name for field in fields(Measures))


class Meter:
    """Measures states of a shot."""

    def __init__(self, shot: Shot, stepper: Stepper):
        self.shot, self.stepper = shot, stepper
        self.rest_volumes = [solid_volume(body, body.elements.nodes) for body in shot.scene.bodies]

    def measured(self, frame: int, state: SceneState) -> Measures:
        """What can be measured of a state, without what was spent on it."""
        scene, found = self.shot.scene, Measures(frame, contacts=len(state.contacts))
        errors, least = [], []
        for number, (body, soft) in enumerate(zip(scene.bodies, state.soft, strict=True)):
            momentum = body.mass[:, None] * soft.v
            found.kinetic_energy += 0.5 * (momentum * soft.v).sum()
            found.elastic_energy += self.stepper.elastic_energy(number)
            found.potential_energy -= (body.mass[:, None] * soft.x * scene.gravity).sum()
            errors.append(solid_volume(body, soft.x) / self.rest_volumes[number] - 1.0)
            least.append(determinants(body, soft.x).min())
        found.volume_error = max(errors, key=abs, default=np.nan)
        found.min_J = min(least, default=np.nan)
        found.smooth_distance = max(
            (
                skin.smooth_distance(soft.x)
                for skin, soft in zip(self.shot.skins, state.soft, strict=True)
            ),
            default=0.0,
        )
        overlaps = self.stepper.overlaps(state)
        found.overlap_depth = max((each.depth for each in overlaps), default=0.0)
        found.overlap_volume = sum(each.volume for each in overlaps)
        self._add_rigid(state, found)
        return found

    def _add_rigid(self, state: SceneState, found: Measures) -> None:
        rigid = self.stepper.rigid
        world = None if rigid is None else rigid.world_at(state.time, state.rigid)
        if world is None:
            return
        potential = world.potential_energy()
        found.kinetic_energy += world.energy() - potential
        found.potential_energy += potential
        found.contacts += len(state.rigid["contact_key"])
        left = world.residuals()
        found.joint_gap = float(left.joint_gap.max(initial=0.0))
        found.rod_length_error = float(np.abs(left.rod_length).max(initial=0.0))


def solid_volume(body: SoftBody, x) -> float:
    """Volume of the solid in a cage with node positions x (n, 3) [m^3]."""
    e = body.elements
    points = len(e.volumes) // len(e.corners)
    fill = np.repeat(e.fill, points)
    return float((fill * e.volumes * determinants(body, x)).sum())
