"""Solid shapes: colliders and rigid bodies are made of them, one file per shape."""

from jellycage.sim.shapes.box import Box
from jellycage.sim.shapes.capsule import Capsule
from jellycage.sim.shapes.cylinder import Cylinder
from jellycage.sim.shapes.hull import Hull
from jellycage.sim.shapes.plane import Plane
from jellycage.sim.shapes.shape import Shape
from jellycage.sim.shapes.sphere import Sphere

SHAPES: dict[str, type[Shape]] = {
    shape.kind: shape for shape in (Plane, Sphere, Box, Capsule, Cylinder, Hull)
}
"""Every shape by its name in scene files."""

__all__ = ["SHAPES", "Shape", *(shape.__name__ for shape in SHAPES.values())]
