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


@pytest.mark.parametrize("name", ["value", "gradient", "metric"])
def test_a_mirror_map_that_is_searched_refuses_what_is_traced(name):
    with pytest.raises(TypeError, match=f"{name} needs values, and w is traced"):
        jax.jit(getattr(mirror_map(squares, np.ones(2), steps=20), name))(np.ones(2))


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
