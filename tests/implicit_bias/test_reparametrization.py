import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.implicit_bias.potentials import ENTROPY, hypentropy
from deeptheory.implicit_bias.reparametrization import (
    dual_point,
    gram_entries,
    induced_metric,
    lie_brackets,
    mirror_flow,
    mirror_map,
    mirror_violations,
    products,
    reparametrized_flow,
    squares,
    squares_apart,
)

RNG = np.random.default_rng(13)
DESIGN, LABELS = RNG.standard_normal((2, 3)), RNG.standard_normal(2)
PAIR = (RNG.uniform(0.5, 1.5, 3), RNG.uniform(0.5, 1.5, 3))


def loss(w):
    return jnp.sum((DESIGN @ w - LABELS) ** 2) / 2


def test_metrics_by_hand():
    u, v = PAIR
    metric = jax.jit(induced_metric, static_argnums=0)
    np.testing.assert_allclose(metric(squares, u), np.diag(4 * u**2), atol=1e-14)
    np.testing.assert_allclose(metric(products, PAIR), np.diag(u**2 + v**2), atol=1e-14)
    np.testing.assert_allclose(metric(squares_apart, PAIR), np.diag(4 * u**2 + 4 * v**2), atol=1e-14)


@pytest.mark.item("A8.22")
def test_brackets_by_hand():
    """For U = ((a, b), (c, d)): the bracket of the first two entries of UUᵀ, derivative by derivative."""
    brackets = jax.jit(lie_brackets, static_argnums=0)
    for commuting, theta in ((squares, PAIR[0]), (products, PAIR), (squares_apart, PAIR)):
        np.testing.assert_allclose(brackets(commuting, theta), 0, atol=1e-14)
    u = RNG.standard_normal((2, 2))
    (a, b), (c, d) = u
    # G₁ = a² + b², G₂ = ac + bd; ∇G₁ = (2a, 2b, 0, 0), ∇G₂ = (c, d, a, b).
    # ∇²G₁∇G₂ = (2c, 2d, 0, 0); ∇²G₂∇G₁ = (0, 0, 2a, 2b).
    found = brackets(gram_entries, u)
    np.testing.assert_allclose(found[0, 1], [2 * c, 2 * d, -2 * a, -2 * b], atol=1e-13)
    np.testing.assert_allclose(found, -np.swapaxes(found, 0, 1), atol=1e-14)


@pytest.mark.item("A8.23")
def test_mirror_maps_found_by_pulling_against_those_of_the_book():
    found, w = mirror_map(squares_apart, (np.full(3, 0.8), np.full(3, -0.8))), RNG.standard_normal(3)
    book = hypentropy(0.8)
    np.testing.assert_allclose(found.gradient(w), book.gradient(w), atol=1e-9)
    np.testing.assert_allclose(found.value(w), book.value(w), atol=1e-9)
    np.testing.assert_allclose(found.metric(w), book.metric(w), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.inverse(book.gradient(w)), w, atol=1e-9)
    positive = RNG.uniform(0.5, 2, 3)
    of_squares = mirror_map(squares, np.ones(3))
    np.testing.assert_allclose(of_squares.gradient(positive), ENTROPY.gradient(positive) / 4, atol=1e-9)


def test_what_is_no_mirror_flow_is_named():
    with pytest.raises(ValueError, match="do not commute"):
        mirror_map(gram_entries, np.array([[1.0, 0.2], [0.3, 0.8]]))
    with pytest.raises(ValueError, match="singular at the start"):
        mirror_map(squares, np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="does not reach"):
        mirror_map(squares, np.ones(2)).gradient(np.array([-1.0, 1.0]))


@pytest.mark.parametrize("name", ["value", "gradient", "inverse", "metric"])
def test_derivatives_of_mirror_maps_found_by_pulling_against_those_of_the_book(name):
    w, scale = np.array([0.3, -0.5]), 0.8
    if name == "inverse":
        w = hypentropy(scale).gradient(w)

    def found(w, scale):
        return getattr(mirror_map(squares_apart, (jnp.full(2, scale), jnp.full(2, -scale)), steps=100), name)(w)

    def book(w, scale):
        return getattr(hypentropy(scale), name)(w)

    both = [jax.jit(jax.value_and_grad(lambda w, s, f=f: jnp.sum(jnp.sin(f(w, s))), (0, 1))) for f in (found, book)]
    for ours, known in zip(*(jax.tree.leaves(each(w, scale)) for each in both), strict=True):
        np.testing.assert_allclose(ours, known, rtol=1e-7, atol=1e-9)
    many = jax.vmap(lambda w: found(w, scale))(np.stack([w, -w / 2]))
    np.testing.assert_allclose(many, [book(w, scale), book(-w / 2, scale)], rtol=1e-7, atol=1e-10)


def test_second_derivatives_of_a_mirror_map_and_those_in_its_parametrization():
    # Of aθ² from one: R′ = log(w/a)/(4a), so that R″ = 1/(4aw) and ∂R′/∂a = −(log(w/a) + 1)/(4a²).
    a, w = 1.5, np.array([0.7])
    slope = jax.jit(lambda a, w: mirror_map(lambda theta: a * theta**2, np.ones(1), steps=100).gradient(w)[0])
    np.testing.assert_allclose(slope(a, w), np.log(w[0] / a) / (4 * a), rtol=1e-8)
    np.testing.assert_allclose(jax.grad(slope)(a, w), -(np.log(w[0] / a) + 1) / (4 * a**2), rtol=1e-7)
    np.testing.assert_allclose(jax.hessian(slope, 1)(a, w), [[-1 / (4 * a * w[0] ** 2)]], rtol=1e-7)
    value = mirror_map(lambda theta: a * theta**2, np.ones(1), steps=100).value
    np.testing.assert_allclose(jax.hessian(value)(w), [[1 / (4 * a * w[0])]], rtol=1e-7)


def test_what_is_no_mirror_flow_is_nan_where_it_is_traced():
    factors = np.array([[[1.0, 0.2], [0.3, 0.8]], [[1.0, 0.0], [0.0, 1.0]]])
    assert np.isnan(jax.jit(lambda u: mirror_map(gram_entries, u, steps=20).inverse(np.ones(3)))(factors[0])).all()
    starts = np.array([[1.0, 0.0], [1.0, 1.0]])
    slopes = jax.vmap(lambda theta: mirror_map(squares, theta, steps=20).gradient(jnp.ones(2)))(starts)
    assert np.isnan(slopes[0]).all() and np.isfinite(slopes[1]).all()
    unreached = jax.jit(mirror_map(squares, np.ones(2), steps=20).value)(np.array([-1.0, 1.0]))
    assert np.isnan(unreached)


def test_flows_of_a_linear_loss_have_the_derivatives_of_their_closed_forms():
    slope, times = np.array([1.0, -0.5]), np.array([0.0, 0.3, 1.0])

    def grown(theta, slope, times):
        return reparametrized_flow(squares, lambda w: w @ slope, theta, times) ** 2

    theta, many = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [0.3, 0.1]])
    exact = theta**2 * np.exp(-4 * times[:, None] * slope)
    in_theta, in_slope, in_times = jax.jit(jax.jacobian(grown, (0, 1, 2)))(theta, slope, times)
    np.testing.assert_allclose(in_theta, (2 * exact / theta)[..., None] * np.eye(2), atol=1e-8)
    np.testing.assert_allclose(in_slope, (-4 * times[:, None] * exact)[..., None] * np.eye(2), atol=1e-8)
    np.testing.assert_allclose(in_times, (-4 * slope * exact)[..., None] * np.eye(3)[:, None], atol=1e-8)
    batch = jax.jit(jax.vmap(grown, (0, None, None)))(many, slope, times)
    np.testing.assert_allclose(batch, many[:, None] ** 2 * np.exp(-4 * times[:, None] * slope), rtol=1e-9)

    # Of u² − v²: w = 2α² sinh(arcsinh(w₀/2α²) − 4ts); from 0 its derivative in α is 2w/α.
    def mirrored(scale, start):
        return mirror_flow(hypentropy(scale), lambda w: w @ slope, start, times)

    scale, start = 0.6, np.array([0.4, -1.0])
    known = 2 * scale**2 * np.sinh(np.arcsinh(start / (2 * scale**2)) - 4 * times[:, None] * slope)
    np.testing.assert_allclose(jax.jit(mirrored)(scale, start), known, rtol=1e-9)
    none, moved = jax.jvp(lambda scale: mirrored(scale, np.zeros(2)), (scale,), (1.0,))
    np.testing.assert_allclose(none, -2 * scale**2 * np.sinh(4 * times[:, None] * slope), atol=1e-10)
    np.testing.assert_allclose(moved, 2 * none / scale, atol=1e-8)


def test_derivatives_of_flows_against_differences():
    times, side = np.array([0.1, 0.5, 2.0]), RNG.standard_normal(2)

    def squared(labels):
        return lambda w: jnp.sum((DESIGN @ w - labels) ** 2) / 2

    def along(step):
        pair = PAIR[0] + step, PAIR[1] - step
        return reparametrized_flow(products, squared(LABELS + step * side), pair, times, rtol=1e-12)

    def mirrored(step):
        return mirror_flow(ENTROPY, squared(LABELS + step * side), PAIR[0] + step, times, rtol=1e-12)

    for path in (along, mirrored):
        found, change = jax.jit(lambda path=path: jax.jvp(path, (0.0,), (1.0,)))()
        np.testing.assert_allclose(found, path(0.0), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(change, (path(1e-5) - path(-1e-5)) / 2e-5, rtol=1e-5, atol=1e-7)
        back = jax.grad(lambda step, path=path: jnp.sum(path(step)[-1]))(0.0)
        np.testing.assert_allclose(back, np.sum(change[-1]), rtol=1e-8)


def test_a_potential_that_asks_for_values_is_named():
    def flow(scale):
        potential = ENTROPY._replace(inverse=lambda z: jnp.exp(z / float(scale)))
        return mirror_flow(potential, loss, np.ones(3), np.ones(1))

    with pytest.raises(TypeError, match="potential and loss must be made of JAX's functions"):
        jax.jit(flow)(1.0)


@pytest.mark.item("A8.15")
def test_flows_against_exponentials():
    """A linear loss: dual variables move uniformly, so θ∘θ grows like exp(4μ) and hypentropy like a sinh."""
    slope, times = np.array([1.0, -0.5]), np.array([0.0, 0.3, 1.0])
    theta = reparametrized_flow(squares, lambda w: w @ slope, np.array([1.0, 2.0]), times)
    exact = np.array([1.0, 4.0]) * np.exp(-4 * times[:, None] * slope)
    np.testing.assert_allclose(theta**2, exact, rtol=1e-9)
    quarter = ENTROPY._replace(gradient=lambda w: np.log(w) / 4, inverse=lambda z: np.exp(4 * z))
    path = mirror_flow(quarter, lambda w: w @ slope, np.array([1.0, 4.0]), times)
    np.testing.assert_allclose(path, exact, rtol=1e-9)
    end = dual_point(squares, np.array([1.0, 2.0]), -slope)
    np.testing.assert_allclose(end**2, exact[-1], rtol=1e-9)


def test_flow_of_a_pair_is_the_mirror_flow_of_its_map_from_any_start():
    potential, times = mirror_map(squares_apart, PAIR), np.linspace(0.05, 0.5, 4)
    theta = reparametrized_flow(squares_apart, loss, PAIR, times)
    moved = np.asarray(jax.vmap(squares_apart)((theta[:, :3], theta[:, 3:])))
    path = mirror_flow(potential, loss, squares_apart(PAIR), times, rtol=1e-8)
    np.testing.assert_allclose(path, moved, atol=1e-7)


@pytest.mark.item("A8.16")
def test_violations_of_the_mirror_condition_by_hand():
    # θ = (1, 0) and (√2, 1) both have u² − v² = 1, with metrics 4 and 12: R″ = 1/8 is off by a half at each, and no
    # other number by less.
    pairs = np.array([[1.0], [2**0.5]]), np.array([[0.0], [1.0]])
    found = mirror_violations(squares_apart, lambda w: w @ w / 16, pairs)
    np.testing.assert_allclose(found, 0.5, rtol=1e-14)
    # u² − v² and the entropy of a start α: (u² + v²)/√(w² + 4α⁴) − 1, the larger of two coordinates.
    u, v = RNG.uniform(0.5, 1.5, (2, 4, 2))
    known = np.abs((u**2 + v**2) / np.sqrt((u**2 - v**2) ** 2 + 4 * 0.7**4) - 1).max(1)
    np.testing.assert_allclose(mirror_violations(squares_apart, hypentropy(0.7).value, (u, v)), known, rtol=1e-12)


def test_violations_do_not_see_the_coordinates_of_the_weights():
    turn, thetas = RNG.standard_normal((3, 3)), RNG.uniform(0.5, 2, (5, 3))
    back = np.linalg.inv(turn)
    plain = mirror_violations(squares, ENTROPY.value, thetas)
    np.testing.assert_allclose(plain, 3, rtol=1e-12)  # four times the speed
    turned = mirror_violations(lambda theta: turn @ squares(theta), lambda w: ENTROPY.value(back @ w), thetas)
    np.testing.assert_allclose(turned, plain, rtol=1e-9)
