"""Pins and loads of a body, as its scene file has them, at its points and on the clock of the scene."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SceneError
from jellycage.sim.export.pc2 import read_pc2
from jellycage.sim.maths.keyed import Keyed
from jellycage.sim.scene.point_entries import LoadEntry, PinEntry, is_keyed
from jellycage.sim.scene.selections import Selections
from jellycage.sim.soft.loads import Force, Impulse, PositionChange, VelocityChange
from jellycage.sim.soft.pins import Pin

CHANGES = {"impulse": Impulse, "velocity": VelocityChange, "position": PositionChange}


@dataclass(frozen=True)
class Clock:
    """Frames to seconds: the first frame is time zero."""

    first: int
    fps: float

    def seconds(self, frame: float) -> float:
        return (frame - self.first) / self.fps


def pin_of(pin: PinEntry, selected: Selections, clock: Clock, start: NDArray[np.float64]) -> Pin:
    """A pin of a body whose cage nodes start at (n, 3) [m]."""
    chosen, weights = selected.vertices(pin, "pin")
    points = selected.points(chosen)
    target = None
    if pin.offset is not None:
        began = points.positions(start)
        offsets = np.array([key.value for key in pin.offset])
        times = [clock.seconds(key.frame) for key in pin.offset]
        target = Keyed(times, began + offsets[:, None, :])
    elif pin.target is not None:
        target = _cached_target(pin.target, chosen, len(selected.source), clock)
    return Pin(
        points,
        target=target,
        strength=_strength(pin, weights, clock),
        along=pin.along,
        normal=pin.normal,
    )


def load_of(
    load: LoadEntry, selected: Selections, clock: Clock
) -> Force | Impulse | PositionChange | VelocityChange:
    """A load on points of a body."""
    chosen, weights = selected.vertices(load, "load")
    points = selected.points(chosen)
    if load.kind == "force":
        if is_keyed(load.value):
            times = [clock.seconds(key.frame) for key in load.value]
            values = np.array([key.value for key in load.value])
            return Force(points, Keyed(times, weights[None, :, None] * values[:, None, :]))
        return Force(points, weights[:, None] * np.array(load.value))
    time = 0.0 if load.frame is None else clock.seconds(load.frame)
    return CHANGES[load.kind](points, weights[:, None] * np.array(load.value), time)


def _strength(pin, weights, clock):
    if not is_keyed(pin.strength):
        return pin.strength * weights
    times = [clock.seconds(key.frame) for key in pin.strength]
    return Keyed(times, np.array([key.value for key in pin.strength])[:, None] * weights)


def _cached_target(path, chosen, count, clock):
    """Targets of the chosen vertices, from a point cache of them or of all vertices."""
    cache = read_pc2(path)
    positions = cache.positions
    if positions.shape[1] == count:
        positions = positions[:, chosen]
    elif positions.shape[1] != len(chosen):
        raise SceneError(
            f"{path}: has {positions.shape[1]} points; expected {len(chosen)}, those of the pin, "
            f"or {count}, those of the mesh; export it again"
        )
    frames = cache.start + cache.rate * np.arange(len(positions))
    return Keyed([clock.seconds(frame) for frame in frames], np.array(positions, np.float64))
