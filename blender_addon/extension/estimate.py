"""How long a bake will take and how much disk it will need, before it is started: rough, and said to be."""

import math

from .schema import QUALITIES

SECONDS_PER_ELEMENT = 4e-6  # of a step with one Newton iteration, on one core of a usual machine
SECONDS_PER_VERTEX = 1.5e-7
BYTES_PER_VERTEX = 24  # a frame in the cache and one in the point cache


def steps_per_frame(fps: float, length: float, gravity: float, quality: str) -> int:
    """As the worker chooses them, for a body of this length [m].

    The formula of `substeps_for` in jellycage.sim.soft.presets once more, as nothing here may import it; a test
    compares the two.
    """
    longest = QUALITIES[quality]["largest_step"] * math.sqrt(length / (gravity or 9.81))
    return max(1, math.ceil(1.0 / (fps * longest) - 1e-9))


def bake(scene, bodies) -> tuple[float, float]:
    """(seconds, bytes) of baking all of these bodies."""
    first, last = scene.jellycage.frame_range(scene)
    frames = last - first + 1
    quality = scene.jellycage.quality.lower()
    fps = scene.render.fps / scene.render.fps_base
    unit = scene.unit_settings.scale_length
    gravity = scene.gravity.length * unit if scene.use_gravity else 0.0
    length = min((max(*obj.dimensions, 1e-6) * unit for obj in bodies), default=1.0)
    steps = frames * steps_per_frame(fps, length, gravity, quality)
    elements = sum(obj.jellycage.element_count for obj in bodies)
    vertices = sum(len(obj.data.vertices) for obj in bodies)
    iterations = QUALITIES[quality]["newton_iterations"]
    seconds = steps * (iterations * elements * SECONDS_PER_ELEMENT + vertices * SECONDS_PER_VERTEX)
    return 2.0 + seconds, frames * vertices * BYTES_PER_VERTEX


def in_words(seconds: float) -> str:
    """A time that one can take in."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


def size_in_words(count: float) -> str:
    """A number of bytes that one can take in."""
    return f"{max(count / 1e6, 1.0):.0f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"
