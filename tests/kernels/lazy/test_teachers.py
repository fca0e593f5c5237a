"""Energies of teachers against explicit feature maps, enumeration and series."""

from itertools import product
from math import factorial

import numpy as np
import pytest

from deeptheory.generalization.capacity.rademacher_bounds import label_energy
from deeptheory.kernels.finite.first_layer import first_layer_coefficient, first_layer_limit
from deeptheory.kernels.lazy.teachers import (
    cosine_energy_bound,
    cosine_energy_limit,
    cosine_teacher,
    expected_noisy_energy,
    kernel_rademacher_bound,
    power_energy_bound,
    power_teacher,
    risk_bound,
)

RNG = np.random.default_rng(93)
X = RNG.standard_normal((12, 3))
X /= np.linalg.norm(X, axis=1, keepdims=True)
ALPHA, BETA = np.array([0.7, -1.2]), RNG.standard_normal((2, 3))


def test_teachers_one_point_at_a_time():
    powers = [sum(a * float(b @ x) ** 4 for a, b in zip(ALPHA, BETA, strict=True)) for x in X]
    cosines = [sum(a * (np.cos(b @ x) - 1) for a, b in zip(ALPHA, BETA, strict=True)) for x in X]
    np.testing.assert_allclose(power_teacher(X, ALPHA, BETA, power=4), powers, rtol=1e-12)
    np.testing.assert_allclose(cosine_teacher(X, ALPHA, BETA), cosines, rtol=1e-10)


def test_power_bound_is_the_norm_in_the_feature_space_of_that_power():
    # With all 6 monomials of degree 2 as features the minimum-norm weights are unique.
    beta = BETA[:1]
    features = np.sqrt(first_layer_coefficient(2)) * np.einsum("ni,nj->nij", X, X).reshape(12, 9)
    weights = np.linalg.pinv(features) @ power_teacher(X, np.ones(1), beta, power=2)
    assert power_energy_bound(np.ones(1), beta, power=2) == pytest.approx(np.linalg.norm(weights), rel=1e-9)
    for power in (1, 2, 4, 6):
        energy = label_energy(first_layer_limit(X), power_teacher(X, ALPHA, BETA, power=power))
        assert energy**0.5 <= power_energy_bound(ALPHA, BETA, power=power)
    with pytest.raises(ValueError, match="power"):
        power_energy_bound(ALPHA, BETA, power=3)


def test_cosine_bounds():
    lengths = np.linalg.norm(BETA, axis=1)
    summed = sum(
        abs(a) * r ** (2 * k) / factorial(2 * k) / first_layer_coefficient(2 * k) ** 0.5
        for a, r in zip(ALPHA, lengths, strict=True)
        for k in range(1, 25)
    )
    assert cosine_energy_limit(ALPHA, BETA) == pytest.approx(summed, rel=1e-12)
    assert cosine_energy_bound(ALPHA, BETA) == pytest.approx(3 * np.abs(ALPHA) @ (lengths * np.sinh(lengths)))
    assert summed < cosine_energy_bound(ALPHA, BETA)


def test_noise_over_all_replacements():
    gram = np.asarray(first_layer_limit(X[:4]))
    y, noise, total = np.array([1.0, -1.0, 1.0, 1.0]), 0.3, 0.0
    for flips in product([1, -1], repeat=4):
        weight = np.prod([noise / 2 if flip < 0 else 1 - noise / 2 for flip in flips])
        total += weight * label_energy(gram, y * np.array(flips))
    assert expected_noisy_energy(gram, y, noise) == pytest.approx(total, rel=1e-10)
    with pytest.raises(ValueError, match=r"noise must lie in \[0, 1\]"):
        expected_noisy_energy(gram, y, 1.5)


def test_rademacher_complexity_over_all_signs():
    gram = np.asarray(first_layer_limit(X[:6]))
    signs = np.array(list(product([1, -1], repeat=6)))
    mean = np.sqrt(np.einsum("si,ij,sj->s", signs, gram, signs)).mean() / 6
    assert mean < kernel_rademacher_bound(gram) == pytest.approx(np.sqrt(3) / 6)


def test_risk_bound_on_the_sphere():
    gram, y = np.asarray(first_layer_limit(X)), np.sign(RNG.standard_normal(12))
    expected = np.sqrt(2 * y @ np.linalg.inv(gram) @ y / 12) + 3 * np.sqrt(np.log(40) / 24)
    assert risk_bound(gram, y, delta=0.05) == pytest.approx(expected, rel=1e-8)
