"""The constants that the test landscapes claim, against sampling, quadrature, SciPy and mpmath."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize

from deeptheory.foundations.randomness import generator
from deeptheory.optimization import landscapes as land

pytestmark = pytest.mark.slow


def regression(key, n=30, d=5):
    random = generator(key)
    features, labels = random.standard_normal((n, d)), np.sign(random.standard_normal(n))
    return jnp.asarray(features), jnp.asarray(labels)


def examples(key):
    features, labels = regression(key)
    random = generator(key)
    square = random.standard_normal((5, 5))
    return {
        "quadratic": land.Quadratic(jnp.asarray(square + square.T), jnp.ones(5)),
        "chain": land.chain_quadratic(5, smoothness=3.0),
        "cosines": land.CosineSum(jnp.asarray(random.uniform(0.5, 2, 5))),
        "huber": land.Huber(2.0, 0.7),
        "bowl": land.SineBowl(),
        "logistic": land.LogisticRidge(features, labels, 0.1),
        "sigmoid": land.SigmoidRegression(features, (labels + 1) / 2),
    }


@pytest.mark.parametrize("name", ["quadratic", "chain", "cosines", "huber", "bowl", "logistic", "sigmoid"])
def test_curvature_stays_within_the_smoothness(key, name):
    function = examples(key)[name]
    points = jnp.asarray(generator(jax.random.key(1)).standard_normal((400, 5)) * np.geomspace(0.05, 3, 400)[:, None])
    hessians = jax.jit(jax.vmap(lambda point: jax.hessian(function)(point)))
    curvature = np.abs(np.linalg.eigvalsh(hessians(points)))
    assert curvature.max() <= float(function.smoothness) * (1 + 1e-12)
    if name not in ("logistic", "sigmoid"):
        assert curvature.max() >= 0.9 * float(function.smoothness)
    gradients = jax.jit(jax.vmap(lambda point: jax.grad(function)(point)))(points)
    change = np.linalg.norm(np.diff(gradients, axis=0), axis=1)
    assert np.all(change <= float(function.smoothness) * np.linalg.norm(np.diff(points, axis=0), axis=1) * (1 + 1e-12))


def test_smoothness_of_a_sigmoid_neuron_by_hand():
    neuron = land.SigmoidRegression(jnp.asarray([[3.0], [4.0]]), jnp.asarray([0.0, 1.0]))
    assert neuron.smoothness == pytest.approx((1 / 16 + 1 / (6 * 3**0.5)) * 25 / 2)


def test_curvatures_of_the_chain_in_closed_form():
    curvature = np.linalg.eigvalsh(land.chain_quadratic(5, smoothness=3.0).matrix)
    np.testing.assert_allclose(curvature, 3 * np.sin(np.arange(1, 6) * np.pi / 12) ** 2, rtol=1e-12)


def test_minimizers_against_scipy(key):
    for name in ("chain", "logistic"):
        function = examples(key)[name]
        value = jax.jit(lambda x, function=function: function(x))
        found = optimize.minimize(lambda x, value=value: float(value(x)), np.zeros(5), tol=1e-12)
        np.testing.assert_allclose(function.minimizer, found.x, atol=1e-5)
    np.testing.assert_allclose(examples(key)["chain"].minimizer, 1 - np.arange(1, 6) / 6, atol=1e-12)


def test_piecewise_quadratic_is_the_double_integral_of_its_curvature(key):
    random = generator(key)
    breakpoints, curvatures = np.sort(random.uniform(-2, 2, 6)), random.uniform(-1, 1, 7)
    function = land.PiecewiseQuadratic(jnp.asarray(breakpoints), jnp.asarray(curvatures))
    curvature = lambda s: curvatures[np.searchsorted(breakpoints, s)]  # noqa: E731
    for x in (-3.0, -0.4, 0.0, 0.9, 2.5):
        slope = integrate.quad(curvature, 0, x, points=breakpoints, limit=200)[0]
        value = integrate.quad(lambda s, x=x: (x - s) * curvature(s), 0, x, points=breakpoints, limit=200)[0]
        assert float(function(jnp.array([x]))) == pytest.approx(value, abs=1e-9)
        assert float(jax.grad(function)(jnp.array([x]))[0]) == pytest.approx(slope, abs=1e-9)
    at_a_breakpoint = jax.grad(function)(jnp.asarray(breakpoints[-1:]))[0]
    assert float(at_a_breakpoint) == pytest.approx(integrate.quad(curvature, 0, breakpoints[-1], points=breakpoints)[0])


def test_the_infimum_of_pieces_against_a_grid(key):
    random = generator(key)
    grid = np.linspace(-30, 30, 60_001)
    for _ in range(8):
        breaks, bends = np.sort(random.uniform(-3, 3, 4)), random.uniform(-1, 1, 5)
        bends[[0, -1]] = random.uniform(0.3, 1, 2)
        function = land.PiecewiseQuadratic(jnp.asarray(breaks), jnp.asarray(bends))
        seen = np.min(jax.vmap(lambda x, function=function: function(x[None]))(jnp.asarray(grid)))
        assert seen - 1e-6 <= float(function.minimum) <= seen + 1e-12
    falling = land.PiecewiseQuadratic(jnp.array([1.0, 2.0]), jnp.array([1.0, -2.0, 0.0]))
    assert float(falling.minimum) == -np.inf  # slope −1 for ever
    assert float(land.PiecewiseQuadratic(jnp.array([1.0]), jnp.array([1.0, -1.0])).minimum) == -np.inf
    assert float(land.PiecewiseQuadratic(jnp.array([1.0]), jnp.array([1.0, 0.0])).minimum) == 0.0


@jax.jit
def both_constants(function, grid):
    return land.polyak_lojasiewicz_constant(function, grid), function.polyak_lojasiewicz


@pytest.mark.parametrize(
    ("breakpoints", "curvatures"),
    [
        ([1.0, 2.0, 3.0], [1.0, -0.5, 0.4, 0.3]),
        ([-2.0, 0.0, 1.5], [0.2, 0.9, 0.6, 0.25]),
        ([1.0, 3.0, 4.0], [1.0, -0.7, 1.0, 1.0]),  # a second stationary point
        ([1.0, 2.0, 3.0], [1.0, 0.5, 0.5, 0.0]),  # a constant slope at infinity
    ],
)
def test_polyak_lojasiewicz_constant_of_pieces_against_a_grid(breakpoints, curvatures):
    function = land.PiecewiseQuadratic(jnp.array(breakpoints), jnp.array(curvatures))
    tail = np.geomspace(1e-3, 1e7, 20_000)
    grid = np.concatenate([-tail, tail, np.linspace(-5, 5, 20_002)])[:, None]
    sampled, exact = both_constants(function, jnp.asarray(grid))
    assert float(exact) == pytest.approx(float(sampled), abs=1e-3)


@pytest.mark.item("L5.17")
def test_polyak_lojasiewicz_constant_of_the_sine_bowl():
    ratio = lambda x: (2 * x + 3 * mpmath.sin(2 * x)) ** 2 / (2 * (x**2 + 3 * mpmath.sin(x) ** 2))  # noqa: E731
    sharp = ratio(mpmath.findroot(lambda x: mpmath.diff(ratio, x), 2.2))
    bowl = land.SineBowl()
    grid = jnp.linspace(-30, 30, 60_001)[:, None]
    estimate = float(land.polyak_lojasiewicz_constant(bowl, grid))
    assert estimate == pytest.approx(float(sharp), rel=1e-5)
    assert bowl.polyak_lojasiewicz < sharp < bowl.polyak_lojasiewicz + 1e-5
    assert sharp > 1 / 32


def test_polyak_lojasiewicz_constant_of_least_squares_is_the_least_nonzero_curvature(key):
    random = generator(key)
    design = random.standard_normal((3, 6))
    function = land.Quadratic(jnp.asarray(design.T @ design), jnp.zeros(6))
    points = np.concatenate([random.standard_normal((500, 6)), np.linalg.svd(design)[2], np.zeros((1, 6))])
    estimate = land.polyak_lojasiewicz_constant(function, jnp.asarray(points[:-4]))
    assert float(estimate) == pytest.approx(np.linalg.eigvalsh(design @ design.T)[0], rel=1e-9)


def test_saddles_have_the_stated_minima():
    cubic, quartic = land.CubicSaddle(0.3, 2.0), land.QuarticSaddle(0.5)
    for function, well in ((cubic, 2 * 0.3 / 2.0), (quartic, 0.5**0.5)):
        for sign in (-1, 1):
            point = jnp.array([sign * well, 0.0, 0.0])
            assert float(function(point)) == pytest.approx(float(function.minimum), rel=1e-12)
            np.testing.assert_allclose(jax.grad(function)(point), 0, atol=1e-12)
        curvature = jax.jit(lambda point, function=function: jax.hessian(function)(point))(jnp.zeros(3))
        assert np.linalg.eigvalsh(curvature)[0] == pytest.approx(-float(function.descent))


def test_network_loss_against_plain_numpy(key):
    features, labels = regression(key)
    loss = land.TanhNetworkLoss(features, labels, (4, 3))
    parameters = np.asarray(loss.initial(key))
    first, second, last = parameters[:20].reshape(5, 4), parameters[20:32].reshape(4, 3), parameters[32:]
    output = np.tanh(np.tanh(np.asarray(features) @ first) @ second) @ last
    assert float(loss(jnp.asarray(parameters))) == pytest.approx(float(np.mean((output - labels) ** 2)) / 2, rel=1e-12)


def test_a_rippled_bowl_by_hand():
    bowl = land.RippledBowl(jnp.array([[2.0, 1.0], [1.0, 4.0]]), height=3.0)
    assert bowl(jnp.array([np.pi / 2, 0.0])) == pytest.approx(np.pi**2 / 4 - 3)
    assert bowl(jnp.array([0.0, np.pi])) == pytest.approx(2 * np.pi**2 - 3)
    assert bowl(jnp.array([np.pi, np.pi])) == pytest.approx(4 * np.pi**2 - 3)
