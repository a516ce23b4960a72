"""The static solver finds where forces balance, or says that it cannot."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets, end_nodes
from stepping import elastic

from jellycage import sim
from jellycage.sim.materials import LAWS
from jellycage.sim.soft.elasticity import determinants
from jellycage.sim.soft.pins import spring_rate
from jellycage.sim.solvers import quasistatic

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
MATERIALS = {law.name: law for law in LAWS}
GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture(params=list(BEAMS))
def kind(request):
    return request.param


@pytest.fixture(params=list(MATERIALS))
def material(request):
    return MATERIALS[request.param]


def cantilever(kind, material, counts=(7, 2, 2), **options):
    cage = sim.Cage(*BEAMS[kind](*counts))
    pins = [sim.Pin(sim.node_points(end_nodes(cage.nodes)[0]))]
    return sim.SoftBody(cage, material, pins=pins, **options)


def unbalanced(body, x, gravity=GRAVITY):
    """Largest force on a free node, relative to the weight of the body."""
    force = elastic(body, x)[1] + body.mass[:, None] * gravity
    force[end_nodes(body.elements.nodes)[0]] = 0.0
    return np.abs(force).max() / (body.mass.sum() * np.linalg.norm(gravity))


@pytest.mark.parametrize("quadrature", [1, 8])
def test_forces_balance_under_a_load_that_bends_the_beam_down(kind, material, quadrature):
    body = cantilever(kind, material(1e5, 0.35, 1000.0), quadrature=quadrature)
    x = sim.equilibrium(body).x
    residual = unbalanced(body, x)
    assert x[:, 2].min() < -1.5
    assert (sim.determinants(body, x) > 0.0).all()
    assert residual < 1e-8


@pytest.mark.parametrize("strain", [1e-4, 0.3])
def test_a_stretched_bar_thins_by_its_poisson_ratio(kind, strain):
    """Co-rotated stress is linear in the stretches, so a bar on three planes thins by nu times its strain."""
    cage = sim.Cage(*BEAMS[kind](4, 2, 2))
    nodes = cage.nodes
    stretched = nodes * [1.0 + strain, 1.0, 1.0]
    pins = [sim.Pin(sim.node_points(e), stretched[e], normal=[1, 0, 0]) for e in end_nodes(nodes)]
    for axis in (1, 2):
        flat = np.flatnonzero(nodes[:, axis] == 0.0)
        pins.append(sim.Pin(sim.node_points(flat), normal=np.eye(3)[axis]))
    body = sim.SoftBody(cage, sim.Corotated(1e5, 0.35), pins=pins)
    x = sim.equilibrium(body, gravity=np.zeros(3)).x
    expected = nodes * [1.0 + strain, 1.0 - 0.35 * strain, 1.0 - 0.35 * strain]
    np.testing.assert_allclose(x, expected, atol=1e-9)


def test_loads_and_targets_are_those_of_the_time(kind):
    cage = sim.Cage(*BEAMS[kind](3, 1, 1))
    clamped, tip = end_nodes(cage.nodes)
    lift = sim.Keyed([0.0, 2.0], [[0.0, 0.0, 0.0], [0.0, 0.0, 100.0]])
    rise = sim.Keyed([0.0, 2.0], [cage.nodes[clamped], cage.nodes[clamped] + [0.0, 0.0, 0.5]])
    led = sim.SoftBody(
        cage,
        sim.Corotated(),
        pins=[sim.Pin(sim.node_points(clamped), rise)],
        loads=[sim.Force(sim.node_points(tip), lift)],
    )
    still = sim.SoftBody(
        cage,
        sim.Corotated(),
        pins=[sim.Pin(sim.node_points(clamped))],
        loads=[sim.Force(sim.node_points(tip), [0.0, 0.0, 50.0])],
    )
    found = sim.equilibrium(led, time=1.0).x
    np.testing.assert_allclose(found, sim.equilibrium(still).x + [0.0, 0.0, 0.25], atol=1e-8)


@pytest.mark.parametrize("strength", [0.3, 0.5, 0.9])
def test_soft_pins_give_by_their_stiffness(strength):
    """Every node of a tet hangs on its own spring m w^2, so all of it sags by g / w^2; dampers hold nothing up."""
    tet = sim.Cage([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    pin = sim.Pin(sim.node_points([0, 1, 2, 3]), strength=strength)
    body = sim.SoftBody(tet, sim.Corotated(), pins=[pin])
    sag = tet.nodes - sim.equilibrium(body).x
    np.testing.assert_allclose(sag[:, 2], 9.81 / spring_rate(strength) ** 2, rtol=1e-6)


@pytest.mark.parametrize("gravity", np.geomspace(1e-6, 1.0, 13))
def test_any_gentle_load_is_solved(kind, material, gravity):
    """The beam sags by less than a fifth of its length, and by much less in most cases."""
    body = cantilever(kind, material(1e5, 0.35, 1000.0))
    down = np.array([0.0, 0.0, -gravity])
    residual = unbalanced(body, sim.equilibrium(body, gravity=down).x, down)
    assert residual < 1e-6


def test_a_load_in_stages_leads_to_the_same_place(kind, material, monkeypatch):
    """Where the whole load is refused at first, parts of it are solved one after the other."""
    body = cantilever(kind, material(1e5, 0.35, 1000.0))
    whole = sim.equilibrium(body)
    seen = []

    def refused_at_first(*arguments):
        seen.append(determinants(*arguments))
        return -seen[-1] if len(seen) <= 2 else seen[-1]

    monkeypatch.setattr(quasistatic, "determinants", refused_at_first)
    parts = sim.equilibrium(body)
    assert whole.stages == 1 and parts.stages > 3
    np.testing.assert_allclose(parts.x, whole.x, atol=1e-6)


@pytest.mark.parametrize("young_modulus", [1e4, 1e2, 1.0])
def test_a_hopeless_load_is_solved_or_refused_but_never_nonsense(kind, material, young_modulus):
    body = cantilever(kind, material(young_modulus, 0.35, 1000.0), counts=(3, 1, 1))
    try:
        x = sim.equilibrium(body).x
    except sim.SolverError as error:
        assert "no equilibrium found" in str(error)
    else:
        assert np.isfinite(x).all()
        assert (sim.determinants(body, x) > 0.0).all()
        assert unbalanced(body, x) < 1e-6


def thin_bar(seed):
    """A coarse bar, 5 to 50 times as long as wide and one or two cells across, clamped at an end, and its gravity."""
    random = np.random.default_rng(seed)
    across, slenderness = int(random.integers(1, 3)), int(random.choice([5, 10, 20, 50]))
    along = max(4, slenderness * across // int(random.choice([2, 4])))
    build = (beam_tets, beam_hexes)[random.integers(2)]
    cage = sim.Cage(*build(along, across, across, (slenderness, 1.0, 1.0)))
    law, poisson_ratio = LAWS[random.integers(len(LAWS))], random.choice([0.3, 0.45, 0.49])
    young_modulus = 1e4 * slenderness * 10.0 ** random.uniform(0.0, 2.5)
    down = np.array([[0.0, 0.0, -9.81], [9.81, 0.0, 0.0]][random.choice(2, p=[0.8, 0.2])])
    pin = sim.Pin(sim.node_points(end_nodes(cage.nodes)[0]))
    return sim.SoftBody(cage, law(young_modulus, poisson_ratio, 1000.0), pins=[pin]), down


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_coarse_thin_bars_come_to_rest(seed):
    """Many of them bend right down, which takes plain Newton steps with a projected stiffness thousands."""
    body, down = thin_bar(seed)
    found = sim.equilibrium(body, gravity=down)
    assert unbalanced(body, found.x, down) < 2e-5 and found.residual < 1e-5
    assert (sim.determinants(body, found.x) > 0.0).all()


def test_a_bar_that_hangs_on_a_point_swings_down(kind):
    """Nothing holds it against turning at first: wells do until the steps are small."""
    cage = sim.Cage(*BEAMS[kind](4, 1, 1))
    pin = sim.Pin(sim.node_points([0]))
    body = sim.SoftBody(cage, sim.NeoHookean(1e6, 0.4, 1000.0), pins=[pin])
    x = sim.equilibrium(body).x
    centre = body.mass @ x / body.mass.sum()
    np.testing.assert_allclose(centre[:2], x[0, :2], atol=1e-3)
    assert centre[2] < x[0, 2] - 0.9


def test_a_body_that_its_pins_let_slide_is_refused(kind):
    """Held in planes across x it would fall; with gravity along x it is held."""
    cage = sim.Cage(*BEAMS[kind](3, 1, 1))
    pin = sim.Pin(sim.node_points(end_nodes(cage.nodes)[0]), normal=[1, 0, 0])
    body = sim.SoftBody(cage, sim.NeoHookean(1e6, 0.4, 1000.0), pins=[pin])
    with pytest.raises(sim.SettingsError, match="slide"):
        sim.equilibrium(body)
    found = sim.equilibrium(body, gravity=(9.81, 0.0, 0.0))
    assert found.residual < 1e-5


def test_a_body_that_nothing_holds_is_refused(kind):
    cage = sim.Cage(*BEAMS[kind](2, 1, 1))
    loose = [(), [sim.Pin(sim.node_points([0, 1, 2]), strength=0.0)]]
    for pins in loose:
        with pytest.raises(sim.SettingsError, match="not pinned"):
            sim.equilibrium(sim.SoftBody(cage, sim.Corotated(), pins=pins))


def test_a_body_with_one_loose_part_is_refused(kind):
    nodes, elements = BEAMS[kind](2, 1, 1)
    cage = sim.Cage(
        np.concatenate([nodes, nodes + [5.0, 0.0, 0.0]]),
        np.concatenate([elements, elements + len(nodes)]),
    )
    pins = [sim.Pin(sim.node_points(end_nodes(nodes)[0]))]
    with pytest.raises(sim.SettingsError, match="not pinned"):
        sim.equilibrium(sim.SoftBody(cage, sim.Corotated(), pins=pins))
