"""Soft bodies: a cage, a material, and what is done to them. Frozen; what moves is in `State`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from jellycage.sim.errors import SettingsError
from jellycage.sim.materials.elastic import Elastic
from jellycage.sim.rotations import ROTATIONS
from jellycage.sim.soft.cage import Cage
from jellycage.sim.soft.cells import cells_of, knows_solid, mass_shares
from jellycage.sim.soft.elements import Elements, elements_of, with_trace
from jellycage.sim.soft.enhancement import enhancement
from jellycage.sim.soft.gradient_kernels import ElementBatch
from jellycage.sim.soft.hourglass import hourglass_forms, tethers
from jellycage.sim.soft.hourglass_kernels import Hourglass
from jellycage.sim.soft.loads import Force, Impulse, PositionChange, VelocityChange
from jellycage.sim.soft.matrix_pattern import MatrixPattern, matrix_pattern
from jellycage.sim.soft.pins import Pin
from jellycage.toolkit.arrays import as_points, frozen
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.cage.outer_faces import outer_faces

LEAST_FILL = 0.05  # an element with less solid than this would be too light to be stable
LEAST_STIFF_FILL = 0.2  # alone, one with less is so soft that its neighbours turn it inside out


@dataclass(frozen=True, eq=False)
class SoftBody:
    """A deformable body. Everything but the first two has a default that works."""

    asset: Asset | Cage
    """The cage, with a surface in it or without."""
    material: Elastic
    """What it is made of."""
    pins: tuple[Pin, ...] = ()
    """Points that are held or led."""
    loads: tuple[Force | Impulse | VelocityChange | PositionChange, ...] = ()
    """Forces and one-shot changes at points."""
    start: ArrayLike | None = None
    """Node positions to start from [m], shape (n, 3); None: the rest shape."""
    velocity: ArrayLike = (0.0, 0.0, 0.0)
    """Start velocity [m/s], one for all nodes or shape (n, 3)."""
    spin: ArrayLike = (0.0, 0.0, 0.0)
    """Start angular velocity about the centre of mass [rad/s], shape (3,)."""
    mass_damping: float = 0.0
    """Rayleigh alpha [1/s]: slows every motion."""
    stiffness_damping: float = 0.0
    """Rayleigh beta [s]: slows deformation only."""
    air_drag: float = 0.0
    """Drag coefficient times density of the medium [kg/m^3], about 0.6 for a ball in air: slows by speed squared."""
    friction: float = 0.5
    """Coulomb's coefficient; a pair has the geometric mean of its two."""
    restitution: float = 0.0
    """Least share of the approach speed that it leaves a collider with, 0..1; its own elasticity may give more."""
    rotation_method: str = "dapd"
    """How co-rotated elements find their rotation, and come back from inversion: a name in `rotations.ROTATIONS`."""
    quadrature: int = 1
    """Quadrature points per hex: 1 with hourglass control, or 8. Tets have one."""
    coarsening: bool = True
    """Whether the tets of a cube of the cage are one element, which bends as the solid in it; else each is its own."""

    def __post_init__(self):
        object.__setattr__(self, "pins", tuple(self.pins))
        object.__setattr__(self, "loads", tuple(self.loads))
        count = len(self.asset.cage_nodes)
        if self.start is not None:
            start = as_points(np.array(self.start, np.float64), "start", error=SettingsError)
            if len(start) != count:
                raise SettingsError(f"start: expected {count} rows, got {len(start)}")
            object.__setattr__(self, "start", start)
        for name, shapes in (("velocity", ((3,), (count, 3))), ("spin", ((3,),))):
            value = np.asarray(getattr(self, name), np.float64)
            if value.shape not in shapes or not np.isfinite(value).all():
                wanted = " or ".join(str(shape) for shape in shapes)
                raise SettingsError(f"{name}: expected finite numbers of shape {wanted}")
            object.__setattr__(self, name, frozen(value.copy()))
        for name in ("mass_damping", "stiffness_damping", "air_drag", "friction"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise SettingsError(
                    f"{name}: expected 0 or a positive number, got {getattr(self, name)}"
                )
        if not 0.0 <= self.restitution <= 1.0:
            raise SettingsError(f"restitution: expected 0 to 1, got {self.restitution}")
        if self.rotation_method not in ROTATIONS:
            raise SettingsError(
                f"rotation_method: expected one of {', '.join(ROTATIONS)}, got {self.rotation_method!r}"
            )
        if self.quadrature not in (1, 8):
            raise SettingsError(f"quadrature: expected 1 or 8, got {self.quadrature}")
        elements = self.asset.elements
        unused = np.setdiff1d(np.arange(count), elements)
        if len(unused):
            raise SettingsError(
                f"cage: {len(unused)} nodes belong to no element, node {unused[0]} first; remove them"
            )
        self.material.check_count(len(elements))
        for points in [held.points for held in (*self.pins, *self.loads)]:
            if points.nodes.size and points.nodes.max() >= count:
                raise SettingsError(
                    f"pins and loads: node {points.nodes.max()} does not exist, the cage has {count}"
                )

    @cached_property
    def elements(self) -> Elements:
        """Quadrature of the cage."""
        asset = self.asset
        if self.is_coarsened and asset.cage_tets is not None:
            return cells_of(asset)
        fill = asset.cage_fill
        return elements_of(
            asset.cage_nodes,
            asset.elements,
            quadrature=self.quadrature,
            fill=fill if self.is_coarsened else np.maximum(fill, LEAST_STIFF_FILL),
            centres=asset.cage_centre,
            spread=asset.cage_spread if self.is_coarsened else None,
        )

    @property
    def is_coarsened(self) -> bool:
        """Whether its elements know what they are filled with, and how it bends."""
        return self.coarsening and self.quadrature == 1 and knows_solid(self.asset)

    @cached_property
    def young_modulus(self) -> NDArray[np.float64]:
        """Of each element [Pa], shape (e,)."""
        return self._of_elements(self.material.young_modulus)

    def _of_elements(self, values):
        """What the material says of all elements of the cage, or of each, for each element."""
        count = len(self.asset.elements)
        values = np.broadcast_to(values, (count, *np.shape(values)[1:]))
        if self.elements.source is None:
            return frozen(np.array(values))
        return frozen(self.elements.gathered(values, np.maximum(self.asset.cage_fill, LEAST_FILL)))

    @cached_property
    def solid_volumes(self) -> NDArray[np.float64]:
        """Solid that each quadrature point stands for [m^3], shape (q,): energy is that of the solid alone."""
        points = len(self.elements.volumes) // len(self.elements.corners)
        return frozen(self.elements.volumes * np.repeat(self.elements.fill, points))

    @property
    def corner_count(self) -> int:
        """Corners of an element: 4 of a tet, 8 of a hex."""
        return self.elements.corners.shape[1]

    @cached_property
    def batch(self) -> ElementBatch:
        """Its elements for kernels."""
        e, count = self.elements, len(self.elements.corners)
        points = len(e.volumes) // count
        method = tuple(ROTATIONS).index(self.rotation_method)
        return ElementBatch(
            corners=e.corners,
            slots=self.pattern.slots,
            law=frozen(np.full(count, self.material.law, np.int8)),
            parameters=self._of_elements(self.material.parameter_rows(len(self.asset.elements))),
            rotation_method=frozen(np.full(count, method, np.int8)),
            element=frozen(np.repeat(np.arange(count, dtype=np.int32), points)),
            gradients=e.gradients,
            volumes=self.solid_volumes,
            **self._enhancement(),
        )

    def _enhancement(self):
        """What elements of eight corners have beyond their gradients, by the names of an `ElementBatch`."""
        e, count = self.elements, len(self.elements.volumes) if self.corner_count == 8 else 0
        modes, rows = np.zeros((count, 4, 8)), np.zeros((count, 6, 12))
        if len(e.hourglass_modes):
            modes = e.hourglass_modes
            rows = enhancement(e, self._of_elements(self.material.poisson_ratio))
        is_enhanced = rows.any(axis=(1, 2))
        return {
            "modes": frozen(modes),
            "enhancement": frozen(rows),
            "is_enhanced": frozen(is_enhanced),
        }

    @cached_property
    def hourglass(self) -> Hourglass | None:
        """Its hourglass control, for kernels; None if it needs none."""
        e = self.elements
        if not len(e.hourglass_modes):
            return None
        scale, form = hourglass_forms(e, self._of_elements(self.material.poisson_ratio))
        spans, tether = tethers(e)
        young = self.young_modulus * self.elements.fill
        return Hourglass(
            corners=e.corners,
            slots=self.pattern.slots,
            gradients=e.gradients,
            modes=e.hourglass_modes,
            scale=frozen(young * scale),
            form=frozen(young[:, None, None] * form),
            spans=frozen(spans),
            tether=frozen(self.young_modulus * tether),
        )

    @cached_property
    def mass(self) -> NDArray[np.float64]:
        """Lumped mass of each node [kg], shape (n,): what each element of the cage shares out of its solid part."""
        asset, corners = self.asset, self.asset.elements
        volumes = elements_of(asset.cage_nodes, corners).volumes
        if self.is_coarsened:
            solid, shares = volumes * with_trace(asset.cage_fill), mass_shares(asset)
            solid *= volumes @ asset.cage_fill / solid.sum()
        else:
            solid = volumes * np.maximum(asset.cage_fill, LEAST_FILL)
            shares = np.full(corners.shape, 1.0 / corners.shape[1])
        solid = solid * self.material.density
        weights = (solid[:, None] * shares).ravel()
        return frozen(np.bincount(corners.ravel(), weights, len(asset.cage_nodes)))

    @cached_property
    def stiffness_scale(self) -> NDArray[np.float64]:
        """About what each node is held with by its neighbours [N/m], shape (n,): sum of E |grad N|^2 V."""
        e = self.elements
        points = len(e.volumes) // len(e.corners)
        scale = np.repeat(self.young_modulus, points) * self.solid_volumes
        share = scale[:, None] * (e.gradients * e.gradients).sum(axis=2)
        corners = np.repeat(e.corners, points, axis=0)
        return frozen(np.bincount(corners.ravel(), share.ravel(), len(e.nodes)))

    @cached_property
    def pattern(self) -> MatrixPattern:
        """Which nodes are coupled."""
        return matrix_pattern(self.elements.corners, len(self.elements.nodes))

    @cached_property
    def part(self) -> NDArray[np.int64]:
        """Connected part of the cage that each node belongs to, shape (n,)."""
        corners = self.elements.corners
        first = np.repeat(corners[:, 0], corners.shape[1])
        count = len(self.elements.nodes)
        links = coo_matrix((np.ones(len(first)), (first, corners.ravel())), (count, count))
        return connected_components(links, directed=False)[1].astype(np.int64)

    @cached_property
    def part_count(self) -> int:
        """How many connected parts it has."""
        return int(self.part.max()) + 1

    @cached_property
    def exposed_area(self) -> NDArray[np.float64]:
        """Area that each node turns to a wind from anywhere [m^2], shape (n,): a quarter of its outer surface."""
        return frozen(_outer_area(self.asset.cage_nodes, self.asset.elements) / 4.0)

    @cached_property
    def size(self) -> float:
        """Diagonal of the box around the rest shape [m]."""
        extent = np.ptp(self.elements.nodes, axis=0)
        return float(np.sqrt((extent * extent).sum()))

    @cached_property
    def length(self) -> float:
        """L, cube root of the solid volume of a part, on average [m]."""
        return float(np.cbrt(self.solid_volumes.sum() / self.part_count))

    @cached_property
    def wave_speed(self) -> float:
        """c = sqrt(E / rho) of waves in it, on average [m/s]."""
        points = len(self.solid_volumes) // len(self.elements.fill)
        return float(
            np.sqrt(np.repeat(self.young_modulus, points) @ self.solid_volumes / self.mass.sum())
        )

    def start_positions(self) -> NDArray[np.float64]:
        """Node positions at the start [m], shape (n, 3)."""
        return self.elements.nodes if self.start is None else self.start

    def start_velocities(self) -> NDArray[np.float64]:
        """Node velocities at the start [m/s], shape (n, 3)."""
        x = self.start_positions()
        centre = (self.mass[:, None] * x).sum(axis=0) / self.mass.sum()
        return self.velocity + np.cross(self.spin, x - centre)

    def surface(self, x) -> NDArray[np.float64]:
        """The detailed surface carried by node positions x (n, 3), shape (vertices, 3) [m]."""
        if not isinstance(self.asset, Asset):
            raise SettingsError("surface: a bare Cage has none; build the body from an Asset")
        corners = self.asset.elements[self.asset.embed_element]
        return np.einsum("va,vai->vi", self.asset.embed_weights, np.asarray(x)[corners])


def _outer_area(nodes, corners) -> NDArray[np.float64]:
    """Area of the faces that belong to one element only, shared out to their nodes, shape (n,)."""
    outer = outer_faces(*((corners, None) if corners.shape[1] == 4 else (None, corners)))
    x = nodes[outer]
    if outer.shape[1] == 4:
        normal = np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1])
    else:
        normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    area = 0.5 * np.sqrt((normal * normal).sum(axis=1))
    weights = np.repeat(area / outer.shape[1], outer.shape[1])
    return np.bincount(outer.ravel(), weights, len(nodes))
