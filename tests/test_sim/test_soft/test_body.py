"""What a body weighs, shows to the wind, consists of, starts with and looks like."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from sample_assets import hex_asset, tet_asset

from jellycage.sim.errors import SettingsError
from jellycage.sim.materials import Corotated, NeoHookean
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.cage import Cage
from jellycage.sim.soft.loads import Force
from jellycage.sim.soft.pins import Pin
from jellycage.sim.soft.points import node_points
from jellycage.toolkit.errors import MeshError

CUBE = (0.5, 0.5, 0.5)
BEAMS = {"tets": beam_tets, "hexes": beam_hexes}


@pytest.fixture(params=list(BEAMS))
def beam(request):
    """Maker of a beam of one kind of element."""
    return BEAMS[request.param]


def body_of(*cage, **changes):
    return SoftBody(Cage(*cage), Corotated(), **changes)


def two_tets():
    """Two unit tets that share nothing, the second far away and its corners first in the list."""
    unit = np.vstack([np.zeros(3), np.eye(3)])
    return np.concatenate([unit + 7.0, unit]), [[4, 5, 6, 7], [0, 1, 2, 3]]


@pytest.mark.parametrize("quadrature", [1, 8])
def test_a_beam_weighs_density_times_volume_about_its_middle(beam, quadrature):
    nodes, elements = beam(4, 2, 2, (2.0, 0.6, 0.5))
    body = SoftBody(Cage(nodes, elements), Corotated(density=250.0), quadrature=quadrature)
    assert body.mass.sum() == pytest.approx(250.0 * 0.6, rel=1e-13)
    np.testing.assert_allclose(body.mass @ nodes / body.mass.sum(), [1.0, 0.3, 0.25], rtol=1e-12)
    assert (body.mass > 0.0).all()


def test_every_element_shares_its_solid_part_out_evenly():
    fill, density = np.array([1 / 3, 0.0]), np.array([900.0, 2000.0])
    body = SoftBody(tet_asset(cage_fill=fill), Corotated(density=density))
    x = np.array(body.asset.cage_nodes)
    expected = np.zeros(5)
    for tet, tet_fill, tet_density in zip(body.asset.cage_tets, fill, density, strict=True):
        volume = np.linalg.det(x[tet[1:]] - x[tet[0]]) / 6
        expected[tet] += volume * tet_density * max(tet_fill, 0.05) / 4
    np.testing.assert_allclose(body.mass, expected, rtol=1e-13)


def test_half_a_cube_of_solid_weighs_half():
    body = SoftBody(hex_asset(), Corotated(density=1000.0))
    np.testing.assert_allclose(body.mass, 1000.0 * 0.5 / 7**3 / 8, rtol=1e-12)


def test_a_cube_turns_a_quarter_of_its_surface_to_the_wind(beam):
    nodes, elements = beam(3, 3, 3, CUBE)
    area = body_of(nodes, elements).exposed_area
    assert area.sum() == pytest.approx(6 * 0.25 / 4, rel=1e-12)
    inside = ((nodes > 0.0) & (nodes < 0.5)).all(axis=1)
    assert not area[inside].any() and (area[~inside] > 0.0).all()


def test_the_surface_of_a_stretched_beam_is_shared_out_to_its_own_nodes():
    nodes, hexes = beam_hexes(1, 1, 1, (1.0, 2.0, 3.0))
    np.testing.assert_allclose(body_of(nodes, hexes).exposed_area, 22.0 / 4 / 8, rtol=1e-13)


def test_elements_that_share_nodes_are_one_part(beam):
    assert not body_of(*beam(2, 2, 2)).part.any()
    part = body_of(*two_tets()).part
    assert len(set(part[:4])) == len(set(part[4:])) == 1 and part[0] != part[4]
    nodes, _ = two_tets()
    touching = body_of(nodes[[0, 1, 2, 4, 5, 6, 7]], [[3, 4, 5, 6], [0, 2, 1, 3]])
    assert not touching.part.any()


@pytest.mark.parametrize("start", [None, "elsewhere"])
def test_a_spinning_body_turns_about_its_centre_of_mass(start):
    nodes, tets = beam_tets(3, 2, 1)
    density = np.linspace(100.0, 900.0, len(tets))
    moved = nodes @ np.diag([1.0, 2.0, 0.5]) + [3.0, -4.0, 5.0]
    velocity, spin = np.array([1.0, 2.0, 3.0]), np.array([0.5, -2.0, 4.0])
    body = SoftBody(
        Cage(nodes, tets),
        NeoHookean(density=density),
        start=None if start is None else moved,
        velocity=velocity,
        spin=spin,
    )
    x, v, m = body.start_positions(), body.start_velocities(), body.mass
    np.testing.assert_array_equal(x, nodes if start is None else moved)
    np.testing.assert_allclose(m @ v, m.sum() * velocity, rtol=1e-12)
    r = x - m @ x / m.sum()
    inertia = np.einsum(
        "n,nij->ij", m, (r * r).sum(1)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None]
    )
    angular = (m[:, None] * np.cross(r, v)).sum(axis=0)
    np.testing.assert_allclose(angular, inertia @ spin, rtol=1e-12)
    # Rigid: no two nodes come closer.
    apart, closing = x[:, None] - x[None], v[:, None] - v[None]
    assert np.abs((apart * closing).sum(axis=2)).max() < 1e-12


def test_every_node_may_have_its_own_velocity():
    nodes, tets = beam_tets(1, 1, 1)
    velocity = np.random.default_rng(0).normal(size=nodes.shape)
    body = body_of(nodes, tets, velocity=velocity)
    np.testing.assert_array_equal(body.start_velocities(), velocity)


def embedded_asset():
    """The fan of `tet_asset`, with the weights that put its vertices where they are."""
    asset = tet_asset()
    corners = asset.cage_nodes[asset.cage_tets[0]]
    lifted = np.column_stack([asset.surface_vertices, np.ones(4)])
    weights = lifted @ np.linalg.inv(np.column_stack([corners, np.ones(4)]))
    return tet_asset(embed_weights=weights)


def test_the_surface_follows_the_cage():
    asset = embedded_asset()
    body = SoftBody(asset, Corotated())
    vertices = asset.surface_vertices
    np.testing.assert_allclose(body.surface(body.start_positions()), vertices, atol=1e-15)
    slope, offset = np.random.default_rng(1).normal(size=(3, 3)), np.array([1.0, 2.0, 3.0])
    moved = asset.cage_nodes @ slope.T + offset
    np.testing.assert_allclose(body.surface(moved), vertices @ slope.T + offset, atol=1e-14)


@pytest.mark.parametrize("asset", [tet_asset(embed_element=[0, 1, 1, 0]), hex_asset()])
def test_the_surface_is_the_weighted_sum_of_the_corners(asset):
    rng = np.random.default_rng(2)
    x = rng.normal(size=asset.cage_nodes.shape)
    expected = [
        sum(w * x[node] for w, node in zip(weights, asset.elements[element], strict=True))
        for weights, element in zip(asset.embed_weights, asset.embed_element, strict=True)
    ]
    np.testing.assert_allclose(SoftBody(asset, Corotated()).surface(x), expected, atol=1e-15)


def test_a_bare_cage_has_no_surface():
    body = body_of(*beam_tets(1, 1, 1))
    with pytest.raises(SettingsError, match="surface: a bare Cage has none"):
        body.surface(body.start_positions())


def test_the_hourglass_stiffness_follows_each_young_modulus():
    nodes, hexes = beam_hexes(3, 1, 1)
    young = np.array([1.0, 10.0, 100.0])
    found = SoftBody(Cage(nodes, hexes), Corotated(young)).hourglass
    one = SoftBody(Cage(nodes, hexes), Corotated(1.0)).hourglass
    np.testing.assert_allclose(found.scale, young * one.scale, rtol=1e-12)
    np.testing.assert_allclose(found.form, young[:, None, None] * one.form, rtol=1e-12)
    assert body_of(*beam_tets(1, 1, 1)).hourglass is None


def test_the_size_is_the_diagonal_of_the_box(beam):
    assert body_of(*beam(2, 1, 1, (2.0, 3.0, 6.0))).size == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": np.zeros((3, 3))}, "start: expected 8 rows, got 3"),
        ({"start": np.zeros((8, 2))}, r"start: expected an array of shape \(n, 3\)"),
        ({"start": np.full((8, 3), np.nan)}, "start: 8 of 8 are not finite"),
        (
            {"velocity": [1.0, 2.0]},
            r"velocity: expected finite numbers of shape \(3,\) or \(8, 3\)",
        ),
        ({"velocity": np.zeros((3, 8))}, "velocity: expected finite"),
        ({"velocity": [0.0, np.nan, 0.0]}, "velocity: expected finite"),
        ({"spin": np.zeros((8, 3))}, r"spin: expected finite numbers of shape \(3,\)$"),
        ({"mass_damping": -1.0}, "mass_damping: expected 0 or a positive number, got -1.0"),
        ({"stiffness_damping": np.nan}, "stiffness_damping: expected 0 or a positive"),
        ({"air_drag": np.inf}, "air_drag: expected 0 or a positive"),
        ({"rotation_method": "qr"}, "rotation_method: expected one of dapd, isvd, got 'qr'"),
        ({"pins": [Pin(node_points([0, 8]))]}, "node 8 does not exist, the cage has 8"),
        ({"loads": [Force(node_points([9]), [0, 0, 1])]}, "node 9 does not exist"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        body_of(*beam_tets(1, 1, 1), **changes)


def test_bad_cages_are_refused():
    nodes = np.zeros((6, 3))
    with pytest.raises(SettingsError, match=r"elements: expected shape \(e, 4\) or \(e, 8\)"):
        Cage(nodes, [[0, 1, 2, 3, 4, 5]])
    with pytest.raises(SettingsError, match=r"elements: expected shape .* got \(4,\)"):
        Cage(nodes, [0, 1, 2, 3])
    with pytest.raises(MeshError, match=r"elements: indices must lie in \[0, 6\)"):
        Cage(nodes, [[0, 1, 2, 6]])
    with pytest.raises(MeshError, match="nodes: 1 of 6 are not finite"):
        Cage(np.vstack([nodes[:5], [[np.nan, 0, 0]]]), [[0, 1, 2, 3]])
    with pytest.raises(SettingsError, match="element 0 has no positive rest volume"):
        _ = body_of(nodes[:4], [[0, 1, 2, 3]]).elements
    with pytest.raises(SettingsError, match="2 nodes belong to no element, node 4 first"):
        body_of(nodes, [[0, 1, 2, 3]])


def test_a_body_cannot_be_changed():
    body = body_of(*beam_tets(1, 1, 1))
    with pytest.raises(AttributeError):
        body.spin = (0.0, 0.0, 1.0)
    for array in (body.mass, *body.batch, body.exposed_area, body.velocity):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
