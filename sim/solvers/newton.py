"""One body during one step: an energy of the displacement u from the step's start, and Newton's method on it.

    E(u) = sum_i w_i/2 |u_i - c_i|^2 - f.u + Psi(x + u) + b/2 u.K u + springs + contacts

Inertia, mass damping, air drag and wind are wells (w_i, c_i) at the nodes, gravity and loads are f, Psi is elastic,
b K is the Rayleigh stiffness damping with the stiffness of the step's start, springs are soft pins; contacts add what
`contact.response_kernels` says. Its minimum is the
implicit Euler step (thesis on interactive co-rotational FEM, eqs. 3.1-3.5 in displacement form), or with no wells the
static equilibrium.

Degenerate elements keep the rotation that DAPD gave them at the step's start, so their energy is quadratic during the
step and its gradient is DAPD's approximate stress (sec. 4.4.6): E is a true function, and a line search on it is sound.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.contacts import no_touch
from jellycage.sim.contact.response_kernels import Touch
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import DIFFERENTIALS
from jellycage.sim.soft.state import State
from jellycage.sim.solvers.coarse_space import coarse_space
from jellycage.sim.solvers.conjugate_gradients_kernels import Constraints, Matrix, Preconditioner
from jellycage.sim.solvers.newton_kernels import (
    Hourglass,
    Limits,
    Shape,
    SpringArrays,
    Task,
    Work,
    find_elastic_forces,
    minimise,
)
from jellycage.sim.solvers.pin_holding import Held
from jellycage.sim.solvers.settings import SolverSettings

NOT_MOVED = np.zeros((0, 3))
NO_TOUCH = no_touch()


class Increment(NamedTuple):
    """What one step asks for; see the head of this file."""

    state: State
    """Positions, rotations and degenerate points at the start."""
    inertia: NDArray[np.float64]
    """The part of w that stays the same from step to step [N/m], shape (n,): what the coarse space is made for."""
    weight: NDArray[np.float64]
    """w [N/m], shape (n,)."""
    centre: NDArray[np.float64]
    """c [m], shape (n, 3)."""
    load: NDArray[np.float64]
    """f [N], shape (n, 3)."""
    damping: float
    """b, a number."""
    held: Held
    """Pins."""
    guess: NDArray[np.float64]
    """Where the first linear solve starts [m], shape (n, 3)."""
    touch: Touch = NO_TOUCH
    """Contacts."""


@dataclass(frozen=True)
class Effort:
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
    """Newton's method on the increments of one body: arrays that are reused from step to step."""

    def __init__(self, body: SoftBody, settings: SolverSettings):
        self.body = body
        e, pattern = body.elements, body.pattern
        n, points, blocks = len(body.mass), len(e.volumes), 9 * len(pattern.column)
        # Terms of first order in the strain cancel in the energy; what is left of them is of this size.
        moduli = body.parameters[:, :2].sum(axis=1)
        rounding = 1e-15 * float((moduli * body.solid_share * e.element_volumes).sum())
        self.shape = Shape(
            *(e.corners, pattern.slots, e.gradients, body.solid_volumes, body.parameters),
            *(body.part, body.material.law, rounding),
        )
        is_tet = e.corners.shape[1] == 4
        self.hourglass = None if is_tet else Hourglass(e.hourglass_modes, *body.hourglass_stiffness)
        self.matrix = Matrix(pattern.start, pattern.column, np.zeros(blocks))
        self.limits = Limits(
            *(settings.newton_iterations, settings.newton_tolerance),
            *(settings.linear_iterations, settings.linear_tolerance),
            *(settings.precision * body.size, DIFFERENTIALS.index(settings.stiffness)),
        )
        self.work = Work(
            *(np.zeros((n, 3)) for _ in range(5)),
            *(np.zeros((points, 4)), np.zeros((points, 2)), np.zeros(blocks)),
            *(np.zeros(3 * n) for _ in range(4)),
            np.zeros((int(body.part.max()) + 1, 9)),
            *(np.full((n, 3), np.nan), np.zeros((n, 3)), np.zeros(2)),
            *(np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(blocks)),
            *(np.zeros((n, 3)), np.zeros((n, 3))),
        )
        self.preconditioner: Preconditioner | None = None
        self.prepared_for: tuple = ()

    @property
    def u(self) -> NDArray[np.float64]:
        """Displacement that the last step came to [m], shape (n, 3)."""
        return self.work.u

    @property
    def elastic_energy(self) -> float:
        """Elastic energy where it was evaluated last [J]."""
        return float(self.work.elastic[0])

    def evaluate(self, state: State) -> None:
        """Elastic energy and forces of a state, kept for the step that starts from it."""
        self.work.elastic_x[:] = np.nan
        self.work.rotation[:] = state.rotation
        find_elastic_forces(
            self.shape, self.hourglass, state.x, state.pair, state.trapped, self.work
        )
        state.rotation[:] = self.work.rotation

    def minimise(self, increment: Increment) -> Effort:
        """Lower E from u = 0 as far as the settings ask; leaves u, and the rotations in work.rotation."""
        state, held = increment.state, increment.held
        p, s = held.projection, held.springs
        self._prepare(increment.inertia, p.fixed)
        self.work.rotation[:] = state.rotation
        task = Task(
            *(state.x, state.pair, state.trapped, increment.weight, increment.centre),
            *(increment.load, increment.guess, NOT_MOVED if held.moved is None else held.moved),
            *(held.is_free, increment.damping),
        )
        newton, linear, is_converged, shortest = minimise(
            *(self.shape, self.hourglass, task),
            SpringArrays(s.nodes, s.weights, s.stiffness, s.blocked, s.target),
            *(increment.touch, self.matrix, self.preconditioner),
            Constraints(p.fixed, p.basis_start, p.basis_dof, p.basis_value),
            *(self.limits, self.work),
        )
        return Effort(newton, linear, is_converged, shortest, int(self.work.elastic[1]))

    def _prepare(self, inertia, fixed):
        """A coarse space for these weights and pins, unless it is there already."""
        if len(self.prepared_for) and all(
            known is new or np.array_equal(known, new)
            for known, new in zip(self.prepared_for, (inertia, fixed), strict=True)
        ):
            return
        space = coarse_space(self.body, inertia, fixed)
        size = len(space.inverse)
        self.preconditioner = Preconditioner(
            *(np.zeros(9 * len(inertia)), space.group, space.mode, space.inverse),
            *(np.zeros((size // 12, 9)), np.zeros(size), np.zeros(size)),
        )
        self.prepared_for = (inertia, fixed)
