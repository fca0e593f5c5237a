import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf
from scipy.integrate import dblquad

from deeptheory.kernels.recursion import erf_dual, limit_kernels, quadrature_dual, relu_dual

PAIRS = [(1.0, 1.0, 0.3), (0.5, 2.0, -0.6), (3.0, 0.7, 1.2)]


def gaussian_mean(function, a, b, c, low=-10.0):
    """E f(u) f(v) by adaptive cubature in the plane of (u, v)."""
    precision = np.linalg.inv([[a, c], [c, b]])
    constant = np.sqrt(np.linalg.det(precision)) / (2 * np.pi)

    def integrand(v, u):
        square = precision[0, 0] * u * u + 2 * precision[0, 1] * u * v + precision[1, 1] * v * v
        return function(u) * function(v) * constant * np.exp(-square / 2)

    reach = 9 * np.sqrt(max(a, b))
    start = 0.0 if low == 0 else -reach
    return dblquad(integrand, start, reach, start, reach, epsabs=1e-10, epsrel=1e-10)[0]


@pytest.mark.item("A9.22", "L7.17")
@pytest.mark.parametrize("a, b, c", PAIRS)
def test_relu_dual(a, b, c):
    mean, slope = relu_dual(*jnp.array([[a], [b], [c]])[:, :, None])
    assert float(mean[0, 0]) == pytest.approx(gaussian_mean(lambda t: t, a, b, c, low=0), abs=1e-8)
    assert float(slope[0, 0]) == pytest.approx(gaussian_mean(lambda t: 1.0, a, b, c, low=0), abs=1e-8)


@pytest.mark.item("L7.17", "J8.9")
@pytest.mark.parametrize("a, b, c", PAIRS)
def test_erf_dual(a, b, c):
    from math import erf as plain_erf
    from math import exp, pi, sqrt

    mean, slope = erf_dual(*jnp.array([[a], [b], [c]])[:, :, None])
    assert float(mean[0, 0]) == pytest.approx(gaussian_mean(plain_erf, a, b, c), abs=1e-8)
    expected = gaussian_mean(lambda t: 2 / sqrt(pi) * exp(-t * t), a, b, c)
    assert float(slope[0, 0]) == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(
        quadrature_dual(erf, nodes=96)(*jnp.array([[a], [b], [c]])[:, :, None]), (mean, slope), atol=1e-8
    )


def test_quadrature_of_polynomials_is_exact():
    a, b, c = 1.5, 0.8, 0.4
    mean, slope = quadrature_dual(lambda t: t**2, nodes=8)(*jnp.array([[a], [b], [c]])[:, :, None])
    assert float(mean[0, 0]) == pytest.approx(a * b + 2 * c * c)
    assert float(slope[0, 0]) == pytest.approx(4 * c)


@pytest.mark.item("A9.23", "L7.18", "J8.11")
def test_tangent_kernel_is_the_printed_sum_with_the_last_factor_one():
    # Θ = Σ_h Σ^(h−1) ∏_{h′≥h} Σ̇^(h′) with Σ̇^(L+1) := 1, from closed forms in the angle alone (unit inputs, ReLU).
    rng = np.random.default_rng(1)
    x = rng.standard_normal((5, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for depth in (1, 2, 3):
        cosines, slopes = [x @ x.T], []
        for _ in range(depth):
            angle = np.arccos(np.clip(cosines[-1], -1, 1))
            slopes.append(1 - angle / np.pi)
            cosines.append((np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi)
        expected = sum(cosines[h] * np.prod([*slopes[h:], np.ones((5, 5))], axis=0) for h in range(depth + 1))
        kernels = limit_kernels(x, hidden_layers=depth, weight_scale=np.sqrt(2))
        np.testing.assert_allclose(kernels.ntk, expected, atol=1e-6)
        np.testing.assert_allclose(kernels.nngp, cosines[-1], atol=1e-6)
        np.testing.assert_allclose(np.diag(kernels.ntk), depth + 1, atol=1e-6)


@pytest.mark.item("A9.23")
def test_first_layer_part_at_depth_one_is_twice_the_fixed_output_kernel():
    x = np.random.default_rng(2).standard_normal((4, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    kernels = limit_kernels(x, hidden_layers=1, weight_scale=np.sqrt(2))
    inner = x @ x.T
    fixed_outputs = inner * (np.pi - np.arccos(np.clip(inner, -1, 1))) / (2 * np.pi)
    np.testing.assert_allclose(kernels.ntk - kernels.nngp, 2 * fixed_outputs, atol=1e-6)


@pytest.mark.item("L7.18", "J8.11")
def test_rectangular_blocks_and_generic_activation_agree():
    x = np.random.default_rng(3).standard_normal((6, 3))
    settings = dict(hidden_layers=3, weight_scale=1.4, bias_scale=0.3, input_scale=0.6)
    whole = limit_kernels(x, dual=erf_dual, **settings)
    block = limit_kernels(x[:2], x[2:], dual=erf_dual, **settings)
    generic = limit_kernels(x, dual=quadrature_dual(erf, nodes=160), **settings)
    for full, part, other in zip(whole, block, generic, strict=True):
        np.testing.assert_allclose(full[:2, 2:], part, rtol=1e-12)
        np.testing.assert_allclose(full, other, atol=1e-8)


def test_linear_network_and_doors():
    x = np.random.default_rng(4).standard_normal((3, 2))
    linear = quadrature_dual(lambda t: t, nodes=4)
    kernels = limit_kernels(x, hidden_layers=2, dual=linear)
    np.testing.assert_allclose(kernels.ntk, 3 * x @ x.T, rtol=1e-10)
    np.testing.assert_allclose(jax.jit(lambda x: limit_kernels(x, hidden_layers=0).ntk)(x), x @ x.T, rtol=1e-12)
    with pytest.raises(ValueError, match="not be negative"):
        limit_kernels(x, hidden_layers=-1)
