"""Hessians of the interaction energy against automatic differentiation along geodesics, and indices by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.attention.clusters import interaction_energy, random_tokens
from deeptheory.attention.equiangular import equiangular_tokens
from deeptheory.attention.saddles import (
    balanced_spectrum,
    bipolar_spectrum,
    bipolar_tokens,
    energy_hessian,
    saddle_index,
    tangent_bases,
)


@pytest.mark.item("J14.10")
@pytest.mark.parametrize("beta", [0.0, 1.5])
def test_hessian_is_the_second_derivative_along_great_circles(key, beta):
    tokens = random_tokens(key, 4, 3)
    bases = tangent_bases(tokens)
    direction = np.random.default_rng(1).standard_normal((4, 2))
    along = np.einsum("it,itd->id", direction, bases)
    lengths = np.linalg.norm(along, axis=-1, keepdims=True)

    def energy(t):
        return interaction_energy(jnp.cos(t * lengths) * tokens + jnp.sin(t * lengths) * along / lengths, beta)

    second = jax.grad(jax.grad(energy))(0.0)
    assert np.isclose(direction.ravel() @ energy_hessian(tokens, beta) @ direction.ravel(), second, rtol=1e-12)


def test_bases_are_orthonormal_and_tangent(key):
    tokens = np.concatenate([random_tokens(key, 4, 5), np.eye(5)[:1], -np.eye(5)[:1]])
    bases = tangent_bases(tokens)
    assert np.allclose(bases @ bases.swapaxes(1, 2), np.eye(4)) and np.allclose(bases @ tokens[..., None], 0)


@pytest.mark.item("J14.10")
def test_indices_of_known_points():
    assert saddle_index(bipolar_tokens(5, 0, 3)) == 0
    assert saddle_index(bipolar_tokens(3, 2, 3)) == 4
    assert saddle_index(bipolar_tokens(2, 2, 4)) == 3
    triangle = equiangular_tokens(3, -0.4999999999)[:, :3]
    assert saddle_index(triangle / np.linalg.norm(triangle, axis=1, keepdims=True), tolerance=1e-3) == 3
    with pytest.raises(ValueError, match="stand still"):
        saddle_index(np.eye(3))


def test_spectra_in_closed_form(key):
    half = random_tokens(key, 3, 4)
    both = np.concatenate([half, -half])
    assert np.allclose(np.linalg.eigvalsh(energy_hessian(both)), balanced_spectrum(both), atol=1e-12)
    for north, south in ((4, 1), (1, 4), (3, 3), (4, 0)):
        found = np.linalg.eigvalsh(energy_hessian(bipolar_tokens(north, south, 3)))
        assert np.allclose(found, bipolar_spectrum(north, south, 3), atol=1e-12)
    with pytest.raises(ValueError, match="mean"):
        balanced_spectrum(half)
