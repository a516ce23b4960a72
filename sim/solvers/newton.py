"""Newton's method on the increments of a system; `problem_kernels` says what is lowered."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.response_kernels import SETTLED, ContactRows
from jellycage.sim.contact.rows import NO_CONTACTS
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import DIFFERENTIALS, follow_degeneration, points_at_rest
from jellycage.sim.soft.gradient_kernels import ElementBatch, QuadraturePoints
from jellycage.sim.soft.state import Memory
from jellycage.sim.soft.system import System
from jellycage.sim.solvers.coarse_space import coarse_space
from jellycage.sim.solvers.coarse_space_kernels import CoarseSpace
from jellycage.sim.solvers.conjugate_gradients_kernels import Matrix
from jellycage.sim.solvers.newton_kernels import NewtonLimits, minimise, take_over
from jellycage.sim.solvers.problem_kernels import (
    Increment,
    Problem,
    Scratch,
    Solution,
    find_elastic_forces,
)
from jellycage.sim.solvers.settings import SolverSettings

SETTLED_TOGETHER = 0.002  # of bodies that carry each other: what is left at one is felt by all


class Effort(NamedTuple):
    """What a step cost and how it ended."""

    newton_iterations: int
    linear_iterations: int
    is_converged: bool
    """Whether the residual was seen to come down as far as asked; not looked at after the last iteration."""
    shortest: float
    """Smallest fraction of a Newton step that the line search took; 0 if none lowered the energy."""
    degenerate: int
    """Quadrature points that are degenerate, or were at the start of the step."""


class Newton:
    """Solves increments of one system. Holds work arrays and no state: all that lasts is in the members' memories.

    A memory has the `rotation` of each quadrature point, its `collapse_pair` and its `degenerate_time`, and of the body
    the `recovery_debt`, energy that changes of frame of degenerate points gave it and that its motion has not paid back
    yet [J], and the `recovery_time` that it has had collapsed points, less some of the time since without [s].
    """

    def __init__(self, system: System, settings: SolverSettings):
        self.system, self.settings = system, settings
        n = int(system.row_start[-1])
        blocks = 9 * int(system.block_start[-1])
        self.tet_points, self.hex_points = _points(system.tets), _points(system.hexes)
        self.held = [
            self._held(body, own) for body, own in zip(system.members, system.points, strict=True)
        ]
        self.matrix = Matrix(system.start, system.column, np.zeros(blocks))
        self.limits = NewtonLimits(
            newton_iterations=settings.newton_iterations,
            newton_tolerance=settings.newton_tolerance,
            linear_iterations=settings.linear_iterations,
            linear_tolerance=settings.linear_tolerance,
            precision=settings.precision * system.size,
            settled=SETTLED if len(system.members) == 1 else SETTLED_TOGETHER,
        )
        self.solution = Solution(
            u=np.zeros((n, 3)),
            elastic_x=np.full((n, 3), np.nan),
            elastic_force=np.zeros((n, 3)),
            elastic=np.zeros(2),
        )
        self.scratch = Scratch(
            **{name: np.zeros((n, 3)) for name in ROW_ARRAYS},
            damping=np.zeros(blocks),
            diagonal=np.zeros((n, 6)),
            inverse=np.zeros(9 * n),
            **{name: np.zeros(3 * n) for name in ("r", "z", "p", "ap")},
            part_sums=np.zeros((int(system.part_start[-1]), 10)),
        )
        self.coarse: CoarseSpace | None = None
        self.coarse_spaces: list[tuple] = []

    @property
    def u(self) -> NDArray[np.float64]:
        """Displacement that the last step came to [m], shape (n, 3)."""
        return self.solution.u

    @property
    def elastic_energy(self) -> float:
        """Elastic energy where it was evaluated last [J]."""
        return float(self.solution.elastic[0])

    @staticmethod
    def start_memory(body: SoftBody) -> Memory:
        """What is remembered of a body at its start.

        A start shape with collapsed elements is read as reached in a straight line from rest.
        """
        points = points_at_rest(len(body.elements.volumes))
        memory = {
            "rotation": points.rotation,
            "collapse_pair": points.collapse_pair,
            "degenerate_time": points.degenerate_time,
            "recovery_debt": np.zeros(()),
            "recovery_time": np.zeros(()),
        }
        if body.start is not None:
            rest = np.array(body.elements.nodes)
            follow_degeneration(body, rest, np.array(body.start_positions()), 0.0, memory)
        return memory

    def solve(
        self,
        increment: Increment,
        memories: Sequence[Memory],
        contacts: ContactRows = NO_CONTACTS,
    ) -> Effort:
        """Lower E from u = 0 as far as the settings ask; leaves u, and what `remember` writes to the memories."""
        self._prepare(increment)
        self._read(memories)
        problem = Problem(
            tets=self.system.tets,
            tet_points=self.tet_points,
            hexes=self.system.hexes,
            hex_points=self.hex_points,
            hourglass=self.system.hourglass,
            part=self.system.part,
            rounding=self.system.rounding,
            differential=DIFFERENTIALS.index(self.settings.stiffness),
            increment=increment,
            contacts=contacts,
            matrix=self.matrix,
            coarse=self.coarse,
            solution=self.solution,
            scratch=self.scratch,
        )
        newton, linear, is_converged, shortest = minimise(problem, self.limits)
        return Effort(newton, linear, is_converged, shortest, int(self.solution.elastic[1]))

    def remember(self, memories: Sequence[Memory]) -> None:
        """Keep what was found out about the members: the rotations of their points."""
        for memory, (rotation, _, _) in zip(memories, self.held, strict=True):
            memory["rotation"][:] = rotation

    def evaluate(self, x: NDArray[np.float64], memories: Sequence[Memory]) -> None:
        """Elastic energy and forces at positions x (n, 3), kept for the step that starts there."""
        system, solution = self.system, self.solution
        self._read(memories)
        solution.elastic_x[:] = np.nan
        find_elastic_forces(
            system.tets,
            self.tet_points,
            system.hexes,
            self.hex_points,
            system.hourglass,
            x,
            solution.elastic_x,
            solution.elastic_force,
            solution.elastic,
        )
        self.remember(memories)

    def _held(self, body, own):
        """What POINT_MEMORY names of a member, as views of the quadrature points of its kind."""
        points = self.tet_points if body.corner_count == 4 else self.hex_points
        return tuple(getattr(points, name)[own] for name in POINT_MEMORY)

    def _read(self, memories):
        """Take over the memories; forces that belong to others are forgotten."""
        for memory, held in zip(memories, self.held, strict=True):
            if take_over(*(memory[name] for name in POINT_MEMORY), *held):
                self.solution.elastic_x[:] = np.nan

    def _prepare(self, increment):
        """A coarse space for these weights and pins; steps of few lengths take turns, so the last few are kept."""
        wanted = increment.inertia, increment.projection.fixed
        for place, (known, coarse) in enumerate(self.coarse_spaces):
            if all(a is b or np.array_equal(a, b) for a, b in zip(known, wanted, strict=True)):
                self.coarse = coarse
                self.coarse_spaces.insert(0, self.coarse_spaces.pop(place))
                return
        self.coarse = coarse_space(self.system, *wanted)
        self.coarse_spaces = [(wanted, self.coarse), *self.coarse_spaces[: MOST_COARSE - 1]]


MOST_COARSE = 6  # coarse spaces that are kept
POINT_MEMORY = ("rotation", "collapse_pair", "degenerate_time")
ROW_ARRAYS = (
    "x",
    "force",
    "smooth_force",
    "model_force",
    "direction",
    "before",
    "trial",
    "trial_force",
)


def _points(batch: ElementBatch | None) -> QuadraturePoints | None:
    return None if batch is None else points_at_rest(len(batch.volumes))
