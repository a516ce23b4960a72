"""Several bodies in one system are what they are alone, and a system of one costs nothing."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets, end_nodes
from scipy.linalg import block_diag
from scipy.sparse import bsr_matrix
from stepping import euler_increment

from jellycage import sim
from jellycage.sim.soft.elasticity import add_stiffness, points_at_rest
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.increments import joined_increments
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.problem_kernels import add_hex_stiffness, add_tet_stiffness

DT = 0.02
TIGHT = sim.SolverSettings(
    newton_iterations=60,
    newton_tolerance=1e-12,  # rounding leaves 1e-13 of the stiffest of six bodies
    linear_iterations=2000,
    linear_tolerance=1e-9,
    stiffness="projected",
    precision=1e-16,
)


def made(beam, law, *, pins=(), at=0.0, size=(1.0, 0.5, 0.5), quadrature=1, **options):
    """A body that is bent, and that flies and spins unless pins hold it."""
    nodes, elements = beam(3, 2, 2, size)
    bend = 0.05 * np.sin(3.0 * nodes[:, [2, 0, 1]]) + [at, 0.0, 0.0]
    return sim.SoftBody(
        sim.Cage(nodes, elements),
        law,
        pins=pins,
        start=nodes + bend,
        velocity=(0.5, -0.2, 0.3),
        spin=(1.0, 2.0, -1.0),
        quadrature=quadrature,
        **options,
    )


def bodies():
    """Both kinds of element, both quadratures, both laws; pinned hard, softly, both, and not at all."""
    nodes, hexes = beam_hexes(3, 2, 2, (1.0, 0.5, 0.5))
    _, tets = beam_tets(3, 2, 2, (1.0, 0.5, 0.5))
    clamp = sim.Pin(sim.node_points(end_nodes(nodes)[0]))
    moved = sim.Pin(sim.node_points([0, 4]), nodes[[0, 4]] + [0.0, 0.03, 0.02])
    weights = np.random.default_rng(0).dirichlet(np.ones(8), 2)
    inner = sim.Pin(sim.embedded_points(hexes, [0, 5], weights), strength=0.4)
    corners = np.random.default_rng(1).dirichlet(np.ones(4), 3)
    slide = sim.Pin(sim.embedded_points(tets, [0, 9, 40], corners), normal=(1.0, 2.0, 3.0))
    return {
        "free tets": made(beam_tets, sim.Corotated(2e4, 0.4), stiffness_damping=0.01),
        "hexes, soft pins": made(beam_hexes, sim.NeoHookean(1e4, 0.3), pins=[inner], at=5.0),
        "clamped hexes": made(
            beam_hexes, sim.Corotated(5e3, 0.2, 300.0), quadrature=8, pins=[clamp], air_drag=2.0
        ),
        "bricks": made(beam_hexes, sim.Corotated(3e4, 0.35), size=(1.2, 0.3, 0.7), at=-2.0),
        "tets, moved and sliding": made(
            beam_tets, sim.NeoHookean(3e4, 0.45), pins=[moved, slide], mass_damping=1.0
        ),
        "soft tets": made(
            beam_tets, sim.Corotated(), pins=[sim.Pin(sim.node_points([3]), strength=0.7)]
        ),
    }


BODIES = bodies()
SYSTEMS = {
    "all": list(BODIES),
    "tets": ["free tets", "tets, moved and sliding", "soft tets"],
    "hexes": ["hexes, soft pins", "clamped hexes", "bricks"],
    "cubes": ["hexes, soft pins", "clamped hexes"],
    "eight points": ["clamped hexes", "clamped hexes"],
    "twins": ["free tets", "free tets"],
}
every_system = pytest.mark.parametrize("names", SYSTEMS.values(), ids=SYSTEMS)


def asked(body):
    """What the first step asks for, and the memory of the body."""
    state = sim.start_state(sim.Scene([body])).soft[0]
    return euler_increment(body, state, DT), state.memory


def solved(members):
    """(solver, memories) after a step of several bodies as one system."""
    increments, memories = zip(*(asked(body) for body in members), strict=True)
    system = system_of(members)
    solver = Newton(system, TIGHT)
    effort = solver.solve(joined_increments(increments, system), memories)
    assert effort.shortest == 0.0 or effort.is_converged
    solver.remember(memories)
    return solver, memories


@every_system
def test_bodies_solved_as_one_move_as_they_do_alone(names):
    members = [BODIES[name] for name in names]
    together, memories = solved(members)
    energy = 0.0
    for number, (name, body) in enumerate(zip(names, members, strict=True)):
        alone, (memory,) = solved([body])
        own = together.u[together.system.rows(number)]
        assert np.abs(alone.u).max() > 1e-3, "it must have something to do"
        np.testing.assert_allclose(own, alone.u, atol=1e-9 * body.size, err_msg=name)
        np.testing.assert_allclose(memories[number]["rotation"], memory["rotation"], atol=1e-8)
        energy += alone.elastic_energy
    assert together.elastic_energy == pytest.approx(energy, rel=1e-6)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_system_of_one_shares_the_arrays_of_its_body(body):
    system = system_of([body])
    batch, other = system.tets, system.hexes
    if body.corner_count == 8:
        batch, other = other, batch
    assert other is None
    for name, array in batch._asdict().items():
        assert array is getattr(body.batch, name), name
    assert system.start is body.pattern.start and system.column is body.pattern.column
    assert system.part is body.part and system.size == body.size
    assert system.rows(0) == slice(0, len(body.mass))
    if body.hourglass is not None:
        assert system.hourglass is body.hourglass
    increment, _ = asked(body)
    assert joined_increments([increment], system) is increment


def dense(start, column, blocks):
    upper = bsr_matrix((blocks.reshape(-1, 3, 3), column, start)).toarray()
    return np.triu(upper) + np.triu(upper, 1).T


@every_system
def test_the_matrix_of_a_system_has_the_blocks_of_its_members(names):
    """Each member's elements write to its own rows and columns, whatever comes before it."""
    members = [BODIES[name] for name in names]
    system = system_of(members)
    solver, _ = solved(members)
    x = np.concatenate([body.start_positions() for body in members]) + solver.u
    blocks = np.zeros(9 * int(system.block_start[-1]))
    add_tet_stiffness(system.tets, solver.tet_points, 0, x, blocks)
    add_hex_stiffness(system.hexes, solver.hex_points, system.hourglass, 0, x, blocks)
    expected = []
    for number, body in enumerate(members):
        own = np.zeros(9 * len(body.pattern.column))
        kept, points = system.points[number], points_at_rest(len(body.elements.volumes))
        source = solver.tet_points if body.corner_count == 4 else solver.hex_points
        for mine, all_of_them in zip(points, source, strict=True):
            mine[...] = all_of_them[kept]
        add_stiffness(body, x[system.rows(number)], points, "twist", own)
        expected.append(dense(body.pattern.start, body.pattern.column, own))
    expected = block_diag(*expected)
    found = dense(system.start, system.column, blocks)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_parts_are_counted_through_the_members():
    members = [BODIES["free tets"], BODIES["bricks"]]
    system = system_of(members)
    assert system.part_start.tolist() == [0, 1, 2]
    assert system.part.tolist() == [0] * len(members[0].mass) + [1] * len(members[1].mass)


def test_the_pins_of_one_member_may_move_while_others_rest():
    members = [BODIES[name] for name in ("clamped hexes", "tets, moved and sliding")]
    increments = [asked(body)[0] for body in members]
    count = [len(increment.x) for increment in increments]
    joined = joined_increments(increments, system_of(members))
    assert len(increments[1].moved) and joined.moved.shape == (sum(count), 3)
    np.testing.assert_array_equal(joined.moved[count[0] :], increments[1].moved)
    resting = [asked(BODIES["free tets"])[0], asked(BODIES["bricks"])[0]]
    still = joined_increments(resting, system_of([BODIES["free tets"], BODIES["bricks"]]))
    assert still.moved.shape == (0, 3)
