"""Newton's steps go where the energy falls, and far enough."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from stepping import euler_increment

from jellycage import sim
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.newton_kernels import MOST_EXTRA


@pytest.mark.parametrize("poisson_ratio", [0.3, 0.45, 0.48])
@pytest.mark.parametrize("build", [beam_tets, beam_hexes], ids=["tets", "hexes"])
def test_the_first_step_of_a_body_crushed_to_a_twentieth_is_taken_whole(build, poisson_ratio):
    # Where lost volume left no stiffness behind, the line search took a tenth of it and less.
    cage = sim.Cage(*build(4, 4, 4, (1.0, 1.0, 1.0)))
    noise = np.random.default_rng(0).normal(scale=0.02, size=cage.cage_nodes.shape)
    start = cage.cage_nodes * [1.0, 1.0, 0.05] + noise
    body = sim.SoftBody(cage, sim.NeoHookean(1e5, poisson_ratio, 1000.0), start=start)
    state = sim.Stepper(sim.Scene([body])).start().soft[0]
    newton = Newton(system_of([body]), sim.SolverSettings(newton_iterations=1))
    increment = euler_increment(body, state, 1.0 / 24.0, gravity=(0.0, 0.0, 0.0))
    assert newton.solve(increment, [state.memory]).shortest == 1.0


@pytest.mark.parametrize(("allowed", "least"), [(1, 1), (2, 3)])
def test_steps_that_did_not_get_far_are_made_up_for(allowed, least):
    """A few crumpled elements must not keep the whole body from going where its pins are; 1 stays semi-implicit."""
    cage = sim.Cage(*beam_tets(4, 2, 2, (2.0, 1.0, 1.0)))
    rng = np.random.default_rng(1)
    start = 3.0 * cage.cage_nodes + rng.normal(scale=0.1, size=cage.cage_nodes.shape)
    body = sim.SoftBody(cage, sim.BonetWood(1e5, 0.45, 1000.0), start=start)
    state = sim.Stepper(sim.Scene([body])).start().soft[0]
    state.v[:] = rng.normal(scale=20.0, size=state.v.shape)
    newton = Newton(system_of([body]), sim.SolverSettings(newton_iterations=allowed))
    increment = euler_increment(body, state, 1.0 / 24.0, gravity=(0.0, 0.0, 0.0))
    effort = newton.solve(increment, [state.memory])
    assert effort.shortest < 0.5
    assert least <= effort.newton_iterations <= allowed + MOST_EXTRA * (allowed - 1)
