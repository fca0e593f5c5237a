"""Certified constants against closed forms, dense grids and SciPy's optimizer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from deeptheory.calculus.certified import (
    curvature_bounds,
    lipschitz_constant,
    maximum,
    regularity,
    smoothness_constant,
)


def around(bounds, value, tolerance=1e-2):
    """The bounds hold the value between them, and are as close as was asked."""
    return bounds.lower <= value * (1 + 1e-12) and value * (
        1 - 1e-12
    ) <= bounds.upper <= bounds.lower + tolerance * abs(bounds.upper)


def test_largest_value_against_another_optimizer():
    def wave(x):
        return np.sin(3 * x) + 0.3 * x * np.cos(x)

    starts = np.linspace(-4, 4, 81)
    best = max(-minimize_scalar(lambda x: -wave(x), bounds=(a, a + 0.1), method="bounded").fun for a in starts[:-1])
    found = maximum(lambda x: jnp.sin(3 * x[0]) + 0.3 * x[0] * jnp.cos(x[0]), np.array([-4.0]), np.array([4.0]))
    assert found.lower <= best + 1e-9 and best - 1e-9 <= found.upper <= found.lower + 1e-3 * found.upper


@pytest.mark.item("L1.9")
def test_lipschitz_constants_in_closed_form():
    """sin has 1; e^x on [−1, 2] has e²; ‖·‖² on a box twice its farthest corner; a matrix its spectral norm."""
    one = np.array([-1.0]), np.array([2.0])
    assert around(lipschitz_constant(lambda x: jnp.sin(x[0]), *one), 1.0)
    assert around(lipschitz_constant(lambda x: jnp.exp(x[0]), *one), np.exp(2.0))
    assert around(lipschitz_constant(lambda x: jnp.abs(x[0] - 0.3), *one), 1.0)
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 1.0])
    assert around(lipschitz_constant(lambda x: x @ x, low, high), 2 * np.sqrt(5.0))
    matrix = np.array([[1.0, 2.0], [0.0, -3.0], [0.5, 0.5]])
    assert around(lipschitz_constant(lambda x: matrix @ x, low, high), np.linalg.norm(matrix, 2))


@pytest.mark.item("L1.10")
def test_smoothness_constants_in_closed_form():
    """x² has 2, softplus ¼, x⁴ on [−10, 10] 1200; x²y on [0, 1]² has 1 + √5 (y ± √(y² + 4x²))."""
    wide = np.array([-10.0]), np.array([10.0])
    assert around(smoothness_constant(lambda x: x[0] ** 2, *wide), 2.0)
    assert around(smoothness_constant(lambda x: jax.nn.softplus(x[0]), *wide), 0.25)
    assert around(smoothness_constant(lambda x: x[0] ** 4, *wide), 1200.0)
    assert around(smoothness_constant(lambda x: x[0] ** 2 * x[1], np.zeros(2), np.ones(2)), 1 + np.sqrt(5))


@pytest.mark.item("L1.10")
def test_regularity_of_the_zoo():
    """Smooth, a kink, an infinite slope, a jump: what is shown, and how large a constant would have to be."""
    box = np.array([-1.0]), np.array([1.3])
    smooth = regularity(lambda x: jnp.sin(x[0]), *box)
    kink = regularity(lambda x: jnp.abs(x[0]), *box)
    root = regularity(lambda x: jnp.sqrt(jnp.abs(x[0])), *box)
    jump = regularity(lambda x: jnp.where(x[0] > 0.3, 1.0, 0.0), *box)
    assert [each.continuous for each in (smooth, kink, root, jump)] == [True, True, True, False]
    assert [np.isfinite(each.lipschitz.upper) for each in (smooth, kink, root, jump)] == [True, True, False, False]
    assert [each.differentiable for each in (smooth, kink, root, jump)] == [True, False, False, False]
    assert [np.isfinite(each.smoothness.upper) for each in (smooth, kink, root, jump)] == [True, False, False, False]
    assert kink.smoothness.lower > 1e9 and jump.lipschitz.lower > 1e9 and root.lipschitz.lower > 1e5


def test_curvature_against_a_dense_grid():
    def bowl(x):
        return jnp.exp(x[0]) + x[0] * x[1] + 2 * x[1] ** 2

    low, high = np.zeros(2), np.ones(2)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), -1).reshape(-1, 2)
    spectra = np.linalg.eigvalsh(jax.vmap(jax.hessian(bowl))(grid))
    least, largest = curvature_bounds(bowl, low, high)
    assert around(least, spectra.min()) and around(largest, spectra.max())
    assert least.lower > 0  # so it is certainly convex here


def test_a_derivative_at_a_kink_is_not_believed():
    """x − relu(x) + relu(−x) is zero everywhere, though automatic differentiation gives 1 at zero."""
    zero = smoothness_constant(
        lambda x: x[0] - jax.nn.relu(x[0]) + jax.nn.relu(-x[0]), -np.ones(1), np.ones(1), boxes=100
    )
    assert zero.lower == 0
    steps = smoothness_constant(lambda x: jnp.floor(x[0]), -np.ones(1), np.ones(1), boxes=100)
    assert steps.upper == np.inf


@pytest.mark.parametrize("size", [1e-160, 1e-100, 1e100, 1e140])
def test_what_is_certain_of_very_small_and_large_boxes(size):
    """|∇(x² + y²)| is largest in the corner, 2√2·size, whatever squares floating point can hold."""
    found = lipschitz_constant(lambda x: jnp.sum(x**2), np.zeros(2), np.full(2, size), boxes=300)
    assert found.lower <= 2 * np.sqrt(2) * size <= found.upper < 1.1 * 2 * np.sqrt(2) * size
