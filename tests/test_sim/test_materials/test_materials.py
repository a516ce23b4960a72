"""Every material is the derivative of its energy, blind to rotation, and Hooke's law at small strain."""

import numpy as np
import pytest

from jellycage.sim.errors import SettingsError
from jellycage.sim.materials import LAWS, Corotated, NeoHookean

every_material = pytest.mark.parametrize("kind", LAWS, ids=lambda kind: kind.__name__)
YOUNG, POISSON = 3.0, 0.4
# Central differences with a step of 1e-5 on numbers of about 1: truncation and rounding are both near 1e-10.
STEP, FROM_DIFFERENCES = 1e-5, 1e-7


def signed_stretches(gradients):
    """Singular values with the sign of det F on the last."""
    s = np.linalg.svd(gradients, compute_uv=False)
    s[:, 2] *= np.sign(np.linalg.det(gradients))
    return s


def random_gradients(count=60):
    """Half of them inverted; none where the co-rotated stress jumps, at s_1 + s_2 = 0."""
    gradients = np.random.default_rng(0).normal(size=(8 * count, 3, 3))
    s = signed_stretches(gradients)
    gradients = gradients[s[:, 1] + s[:, 2] > 0.3]
    upright = np.linalg.det(gradients) > 0.0
    half = count // 2
    return np.concatenate([gradients[upright][:half], gradients[~upright][:half]])


def random_rotations(count=20):
    q, r = np.linalg.qr(np.random.default_rng(1).normal(size=(count, 3, 3)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return q * np.linalg.det(q)[:, None, None]


def differences(function, gradients):
    """Derivative of function(F) by the nine entries of F, as the last axis."""
    columns = []
    for unit in np.eye(9).reshape(9, 3, 3):
        ahead, behind = function(gradients + STEP * unit), function(gradients - STEP * unit)
        columns.append((ahead - behind) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


def corotated_energy(gradients, mu, lam):
    s = signed_stretches(gradients)
    return mu * ((s - 1) ** 2).sum(axis=1) + lam / 2 * (s.sum(axis=1) - 3) ** 2


def neo_hookean_energy(gradients, mu, lam):
    """Smith et al. 2018, eq. (13) with delta = 1 and their reparametrisation, less its value at rest."""
    mu, lam = 4 / 3 * mu, lam + 5 / 6 * mu
    alpha = 1 + 0.75 * mu / lam

    def psi(square, volume):
        return mu / 2 * (square - 3 - np.log(square + 1)) + lam / 2 * (volume - alpha) ** 2

    return psi((gradients**2).sum(axis=(1, 2)), np.linalg.det(gradients)) - psi(3, 1)


def hooke(mu, lam):
    """d sigma_ij / d F_kl of linear elasticity, shape (9, 9)."""
    one = np.eye(3)
    tensor = lam * np.einsum("ij,kl->ijkl", one, one)
    tensor += mu * (np.einsum("ik,jl->ijkl", one, one) + np.einsum("il,jk->ijkl", one, one))
    return tensor.reshape(9, 9)


@every_material
@pytest.mark.parametrize("poisson_ratio", [0.0, 0.3, 0.49])
def test_stress_and_hessian_are_derivatives_of_the_energy(kind, poisson_ratio):
    material, gradients = kind(YOUNG, poisson_ratio), random_gradients()
    assert (np.linalg.det(gradients) < 0.0).sum() == 30
    stress = material.stress(gradients)
    found = differences(material.energy_density, gradients)
    scale = np.abs(stress).max()
    np.testing.assert_allclose(stress.reshape(-1, 9), found, atol=FROM_DIFFERENCES * scale)

    hessian = material.hessian(gradients)
    found = differences(lambda f: material.stress(f).reshape(-1, 9), gradients)
    scale = np.abs(hessian).max()
    np.testing.assert_allclose(hessian, found, atol=FROM_DIFFERENCES * scale)
    np.testing.assert_allclose(hessian, hessian.swapaxes(1, 2), atol=1e-14 * scale)


@pytest.mark.parametrize(
    ("kind", "energy"), [(Corotated, corotated_energy), (NeoHookean, neo_hookean_energy)]
)
def test_the_energy_is_that_of_the_paper(kind, energy):
    material, gradients = kind(YOUNG, POISSON), random_gradients()
    np.testing.assert_allclose(
        material.energy_density(gradients), energy(gradients, *material.lame()), rtol=1e-12
    )


@every_material
def test_a_rotation_of_space_turns_the_stress_and_keeps_the_energy(kind):
    material, gradients, turn = kind(YOUNG, POISSON), random_gradients(20), random_rotations(20)
    energy, stress = material.energy_density(gradients), material.stress(gradients)
    turned = turn @ gradients
    np.testing.assert_allclose(material.energy_density(turned), energy, rtol=1e-12)
    found = material.stress(turned)
    np.testing.assert_allclose(found, turn @ stress, atol=1e-12 * np.abs(stress).max())
    size = np.linalg.norm(stress, axis=(1, 2))
    np.testing.assert_allclose(np.linalg.norm(found, axis=(1, 2)), size, rtol=1e-12)


@every_material
def test_the_material_has_no_grain(kind):
    material, gradients, turn = kind(YOUNG, POISSON), random_gradients(20), random_rotations(20)
    found = material.energy_density(gradients @ turn)
    np.testing.assert_allclose(found, material.energy_density(gradients), rtol=1e-12)


@every_material
def test_a_turned_rest_shape_has_neither_energy_nor_stress(kind):
    material, turn = kind(YOUNG, POISSON), random_rotations()
    assert np.abs(material.energy_density(turn)).max() < 1e-14 * YOUNG
    assert np.abs(material.stress(turn)).max() < 1e-13 * YOUNG


@every_material
@pytest.mark.parametrize("poisson_ratio", [0.0, 0.3, 0.49])
def test_the_projected_hessian_is_the_nearest_positive_one(kind, poisson_ratio):
    material, gradients = kind(YOUNG, poisson_ratio), random_gradients()
    exact, projected = material.hessian(gradients), material.projected_hessian(gradients)
    values, vectors = np.linalg.eigh(exact)
    assert (values[:, 0] < -0.01).sum() > 5, "the clamp must have work to do"
    expected = np.einsum("nik,nk,njk->nij", vectors, np.maximum(values, 0.0), vectors)
    scale = np.abs(exact).max()
    np.testing.assert_allclose(projected, expected, atol=1e-12 * scale)
    assert np.linalg.eigvalsh(projected).min() > -1e-13 * scale


@every_material
def test_nothing_is_projected_away_where_the_material_is_stretched(kind):
    material = kind(YOUNG, POISSON)
    gradients = random_rotations(5) @ np.diag([1.1, 1.05, 1.02])
    exact = material.hessian(gradients)
    np.testing.assert_allclose(material.projected_hessian(gradients), exact, atol=1e-13 * YOUNG)


@pytest.mark.parametrize("poisson_ratio", [0.0, 0.2, 0.35, 0.45, 0.49])
def test_all_materials_are_hookes_law_at_rest(poisson_ratio):
    mu = YOUNG / (2 * (1 + poisson_ratio))
    lam = YOUNG * poisson_ratio / ((1 + poisson_ratio) * (1 - 2 * poisson_ratio))
    expected = hooke(mu, lam)
    for kind in LAWS:
        found = kind(YOUNG, poisson_ratio).hessian(np.eye(3)[None])[0]
        np.testing.assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())


@every_material
def test_each_element_may_have_its_own_numbers(kind):
    gradients = random_gradients(4)
    young, nu = [1.0, 2.0, 30.0, 4.0], [0.1, 0.2, 0.3, 0.45]
    together = kind(young, nu)
    for i in range(4):
        alone, one = kind(young[i], nu[i]), gradients[i : i + 1]
        for name in ("energy_density", "stress", "hessian", "projected_hessian"):
            found = getattr(together, name)(gradients)[i]
            np.testing.assert_array_equal(found, getattr(alone, name)(one)[0])
    np.testing.assert_allclose(
        kind(np.array(young)).energy_density(gradients),
        np.array(young) * kind(1.0).energy_density(gradients),
        rtol=1e-12,
    )


@every_material
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"young_modulus": -1.0}, r"young_modulus: expected a positive stiffness in Pa, got -1"),
        ({"young_modulus": 0.0}, "young_modulus: expected a positive"),
        ({"young_modulus": np.nan}, "young_modulus: expected a positive"),
        ({"young_modulus": [1.0, -2.0]}, r"young_modulus: .* got -2.0..1.0"),
        ({"young_modulus": "soft"}, "young_modulus: .* a number or one per element"),
        ({"young_modulus": np.ones((2, 2))}, "young_modulus: .* a number or one per element"),
        ({"poisson_ratio": 0.5}, "poisson_ratio: expected more than -1 and less than 0.5, got 0.5"),
        ({"poisson_ratio": -1.0}, "poisson_ratio: expected more than -1"),
        ({"density": 0.0}, r"density: expected a positive density in kg/m\^3"),
        ({"density": np.inf}, "density: expected a positive density"),
    ],
)
def test_impossible_numbers_are_refused(kind, changes, message):
    with pytest.raises(SettingsError, match=message):
        kind(**changes)


@every_material
@pytest.mark.parametrize("name", ["young_modulus", "poisson_ratio", "density"])
def test_the_wrong_number_of_numbers_is_refused(kind, name):
    material = kind(**{name: np.full(3, 0.4)})
    with pytest.raises(SettingsError, match=rf"{name}: .* the 4 elements, got shape \(3,\)"):
        material.parameter_rows(4)
