"""How much of two bodies is inside each other."""

from dataclasses import dataclass

from jellycage.toolkit.collision.posed import Posed
from jellycage.toolkit.collision.queries import are_inside, closest_points
from jellycage.toolkit.collision.regions import contact_regions


@dataclass(frozen=True)
class Overlap:
    """What two soft bodies of a scene claim both."""

    bodies: tuple[int, int]
    """Their numbers, the lesser first."""
    depth: float
    """Of the deepest vertex of either in the other [m]."""
    volume: float
    """Of what both claim [m^3]; up to a tenth less where it is bounded by patches that go round edges."""


def overlap(bodies: tuple[int, int], a: Posed, b: Posed) -> Overlap | None:
    """What two posed surfaces claim both; None if they are apart."""
    regions = contact_regions(a, b)
    points = regions.points
    used = points.area > 0.0
    if not used.any():
        return None
    area, vector, centre = points.area[used], points.vector_area[used], points.centre[used]
    # Gauss: a third of the flux of x - o, with the origin o near by, through all that bounds it.
    offset = centre - area @ centre / area.sum()
    volume = max(float((offset * vector).sum()) / 3.0, 0.0)
    return Overlap(bodies, max(deepest(a.vertices, b), deepest(b.vertices, a)), volume)


def deepest(points, surface: Posed) -> float:
    """How deep the deepest of some points (p, 3) is inside a surface [m]; 0 if none is."""
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    near = points[((points >= low) & (points <= high)).all(axis=1)]
    inside = near[are_inside(surface, near)] if len(near) else near
    return float(closest_points(surface, inside).distance.max()) if len(inside) else 0.0
