"""Curvatures of losses against matrices written out by automatic differentiation, eigh and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from deeptheory.curvature import eigenpairs
from deeptheory.curvature.density import diagonal, spectral_density, spectral_quadratures, spectral_sum, trace
from deeptheory.curvature.eigenpairs import extreme_eigenpairs
from deeptheory.curvature.operators import blocks, dense, fisher, gauss_newton, gradient_noise, hessian

DRAW = np.random.default_rng(5)
INPUTS, LABELS = DRAW.standard_normal((23, 4)), DRAW.integers(0, 3, 23)
WEIGHTS = {"first": DRAW.standard_normal((5, 4)), "last": DRAW.standard_normal((3, 5)), "names": "kept as they are"}


def logits(weights, inputs):
    return jnp.tanh(inputs @ weights["first"].T) @ weights["last"].T


def cross_entropy(outputs, labels):
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(outputs, labels))


def loss(weights, data):
    return cross_entropy(logits(weights, data[0]), data[1])


def losses(weights, data):
    return optax.softmax_cross_entropy_with_integer_labels(logits(weights, data[0]), data[1])


FLAT = np.concatenate([WEIGHTS["first"].ravel(), WEIGHTS["last"].ravel()])


def unflat(flat):
    return {"first": flat[:20].reshape(5, 4), "last": flat[20:].reshape(3, 5)}


@pytest.mark.parametrize("batch", [None, 23, 7, 1])
def test_hessian_is_the_derivative_of_the_gradient(batch):
    expected = jax.hessian(lambda flat: loss(unflat(flat), (INPUTS, LABELS)))(FLAT)
    made = hessian(loss, WEIGHTS, (INPUTS, LABELS), batch=batch)
    np.testing.assert_allclose(dense(made), expected, atol=1e-13)
    np.testing.assert_allclose(made.prepared()(jnp.asarray(FLAT)), expected @ FLAT, atol=1e-13)


@pytest.mark.parametrize("batch", [None, 6])
def test_gauss_newton_fisher_and_noise_by_jacobians(batch):
    jacobian = jax.jacobian(lambda flat: logits(unflat(flat), INPUTS))(FLAT)
    chances = jax.nn.softmax(logits(WEIGHTS, INPUTS))
    middle = jax.vmap(jnp.diag)(chances) - chances[:, :, None] * chances[:, None, :]
    expected = jnp.einsum("nap,nab,nbq->pq", jacobian, middle, jacobian) / 23
    made = gauss_newton(logits, cross_entropy, WEIGHTS, INPUTS, LABELS, batch=batch)
    np.testing.assert_allclose(dense(made), expected, atol=1e-13)
    np.testing.assert_allclose(dense(fisher(logits, WEIGHTS, INPUTS, batch=batch)), expected, atol=1e-13)
    gradients = np.asarray(jax.jacobian(lambda flat: losses(unflat(flat), (INPUTS, LABELS)))(FLAT))
    made = gradient_noise(losses, WEIGHTS, (INPUTS, LABELS), batch=batch)
    np.testing.assert_allclose(dense(made), np.cov(gradients.T, ddof=0), atol=1e-13)
    made = gradient_noise(losses, WEIGHTS, (INPUTS, LABELS), batch=batch, centred=False)
    np.testing.assert_allclose(dense(made), gradients.T @ gradients / 23, atol=1e-13)
    np.testing.assert_allclose(made.prepared()(jnp.asarray(FLAT)), gradients.T @ (gradients @ FLAT) / 23, atol=1e-12)


def test_blocks_are_cut_from_the_whole_and_another_point_is_not_compiled_again():
    whole = hessian(loss, WEIGHTS, (INPUTS, LABELS), batch=10)
    parts = blocks(whole)
    assert [part.size for part in parts.values()] == [20, 15] and "first" in next(iter(parts))
    matrix = np.asarray(dense(whole))
    np.testing.assert_allclose(dense(parts["['last']"]), matrix[20:, 20:], atol=1e-14)
    np.testing.assert_allclose(dense(parts["['first']"]), matrix[:20, :20], atol=1e-14)
    traced = []

    @eqx.filter_jit
    def first_row(curvature):
        traced.append(1)
        return curvature(jnp.eye(35)[0])

    first_row(whole)
    moved = first_row(whole.at(FLAT * 1.5))
    again = first_row(hessian(loss, {**WEIGHTS, "last": WEIGHTS["last"] * 0.5}, (INPUTS, LABELS), batch=10))
    assert len(traced) == 1 and not np.allclose(moved, again)
    expected = jax.hessian(lambda flat: loss(unflat(flat), (INPUTS, LABELS)))(FLAT * 1.5)[0]
    np.testing.assert_allclose(moved, expected, atol=1e-13)
    with pytest.raises(ValueError, match="35 numbers as before, got 3"):
        whole.at(np.ones(3))


class Perceptron(eqx.Module):
    layers: list
    bend: object = eqx.field(static=True, default=jax.nn.tanh)

    def __call__(self, x):
        return self.layers[1](self.bend(self.layers[0](x)))[0]


def test_an_equinox_module_is_as_good_as_a_dictionary(key):
    model = Perceptron([eqx.nn.Linear(4, 6, key=key), eqx.nn.Linear(6, 1, key=key)])
    error = lambda model, data: jnp.mean((jax.vmap(model)(data[0]) - data[1]) ** 2)  # noqa: E731
    targets = np.sin(INPUTS[:, 0])
    flat, back = ravel_pytree(eqx.filter(model, eqx.is_inexact_array))
    rest = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    expected = jax.hessian(lambda flat: error(eqx.combine(back(flat), rest), (INPUTS, targets)))(flat)
    np.testing.assert_allclose(dense(hessian(error, model, (INPUTS, targets), batch=9)), expected, atol=1e-12)


def quadratic(values, precision=np.float64):
    """The curvature of ½xᵀAx with these eigenvalues in a random basis, and A itself."""
    turn, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((len(values), len(values))))
    matrix = (turn * values) @ turn.T
    data = np.broadcast_to(matrix, (1, *matrix.shape)).astype(precision)
    return hessian(lambda x, data: 0.5 * x @ data[0] @ x, np.zeros(len(values), precision), data), matrix


@pytest.mark.parametrize("largest", [True, False])
def test_extreme_eigenpairs_against_the_dense_solver(key, largest):
    values = np.concatenate([-np.geomspace(0.01, 3, 40), np.geomspace(0.01, 50, 160)])
    curvature, matrix = quadratic(values)
    found = extreme_eigenpairs(curvature, key, count=6, largest=largest, tolerance=1e-8, basis=24)
    expected = np.sort(values)[::-1][:6] if largest else np.sort(values)[:6]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    gap = np.linalg.norm(np.asarray(found.vectors) @ matrix - found.values[:, None] * np.asarray(found.vectors), axis=1)
    assert np.all(gap <= 1e-8 * np.abs(found.values)) and found.converged.all() and found.products < 400
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(found.residuals, gap, rtol=1e-3, atol=1e-12)  # products round at 50·ε·√200


def test_eigenpairs_of_low_rank_end_when_nothing_is_left(key):
    curvature, _ = quadratic(np.array([4.0, 2.0, 1.0] + [0.0] * 30))
    found = extreme_eigenpairs(curvature, key, count=5, tolerance=1e-6)
    np.testing.assert_allclose(found.values[:4], [4, 2, 1, 0], atol=1e-12)
    assert found.products <= 5 and found.converged.all()


def test_a_search_that_ends_early_says_which_pairs_it_found(key):
    curvature, _ = quadratic(np.linspace(1, 2, 300))
    found = extreme_eigenpairs(curvature, key, count=3, tolerance=1e-10, most=20)
    assert found.products == 20 and not found.converged.any() and np.all(found.residuals > 0)
    with pytest.raises(ValueError, match="basis must be at least count"):
        extreme_eigenpairs(curvature, key, count=5, basis=6)


def test_a_search_without_restart_is_one_compiled_call(key, monkeypatch):
    """What products share (the forward pass at the point) is computed once a call, so calls are to be few."""
    curvature, _ = quadratic(np.geomspace(0.01, 50, 200))
    calls, grown = [], eigenpairs._grown
    monkeypatch.setattr(eigenpairs, "_grown", lambda *given: calls.append(1) or grown(*given))
    found = extreme_eigenpairs(curvature, key, count=4, tolerance=1e-6, basis=60)
    assert found.converged.all() and found.products < 60 and found.products % eigenpairs.STRIDE == 0
    assert len(calls) == 1


def test_single_precision_reaches_its_residual(key):
    curvature, matrix = quadratic(np.geomspace(0.01, 50, 200), np.float32)
    found = extreme_eigenpairs(curvature, key, count=4, tolerance=1e-4)
    vectors = np.asarray(found.vectors, float)
    gap = np.linalg.norm(vectors @ matrix - found.values[:, None] * vectors, axis=1)
    assert np.all(gap <= 1.1e-4 * found.values) and found.vectors.dtype == np.float32


def test_density_trace_and_diagonal_within_their_errors(key):
    values = np.concatenate([np.linspace(-1, 1, 380), np.linspace(5, 6, 20)])
    curvature, matrix = quadratic(values)
    density = spectral_density(curvature, key, probes=12, steps=60, width=0.05)
    bells = np.exp(-0.5 * ((density.points[:, None] - values) / 0.05) ** 2) / (np.sqrt(2 * np.pi) * 0.05)
    assert np.all(np.abs(density.density - bells.mean(1)) < 6 * density.error + 0.01)
    assert np.trapezoid(density.density, density.points) == pytest.approx(1, abs=1e-3)
    above = spectral_sum(density, lambda x: x > 3, 400)
    assert abs(above.value - 20) < 5 * above.error and above.error < 3
    found = trace(curvature, key, probes=50)
    assert abs(found.value - values.sum()) < 5 * found.error
    off = matrix - np.diag(np.diag(matrix))
    assert found.error == pytest.approx(np.sqrt(2 * np.sum(off**2) / 50), rel=0.4)
    entries = diagonal(curvature, key, probes=200)
    assert np.all(np.abs(entries.value - np.diag(matrix)) < 6 * entries.error)
    np.testing.assert_allclose(entries.error, np.sqrt(np.sum(off**2, 1) / 200), rtol=0.4)


def test_bad_input_is_refused(key):
    with pytest.raises(ValueError, match="data must have arrays with a first axis of one length"):
        hessian(loss, WEIGHTS, (INPUTS, LABELS[:5]))
    with pytest.raises(ValueError, match="at least one floating-point array"):
        hessian(loss, {"first": 1}, (INPUTS, LABELS))
    with pytest.raises(ValueError, match="batch"):
        hessian(loss, WEIGHTS, (INPUTS, LABELS), batch=0)


@pytest.mark.parametrize("search", [extreme_eigenpairs, spectral_density, trace, diagonal])
def test_a_loss_without_second_derivatives_is_named(key, search):
    """√|x| has none at 0, and a loss that has overflowed none anywhere."""
    rough = lambda x, data: jnp.sum(jnp.sqrt(jnp.abs(x))) * data.mean()  # noqa: E731
    with pytest.raises(ValueError, match="finite products with vectors, got nan or infinity"):
        search(hessian(rough, np.zeros(3), np.ones((2, 1))), key)


def test_quadratures_of_blocks_are_exact_below_twice_their_steps():
    """Moments vᵀAᵏv by powers of the block written out; the next one is not met."""
    whole = hessian(loss, WEIGHTS, (INPUTS, LABELS))
    block, matrix = blocks(whole)["['last']"], np.asarray(dense(whole))[20:, 20:]
    start = np.random.default_rng(3).standard_normal(15)
    nodes, weights = spectral_quadratures(block, start[None], steps=3)
    true = [start @ np.linalg.matrix_power(matrix, k) @ start / (start @ start) for k in range(7)]
    seen = [weights[0] @ nodes[0] ** k for k in range(7)]
    np.testing.assert_allclose(seen[:6], true[:6], rtol=1e-10, atol=1e-13)
    assert seen[6] < true[6] * (1 - 1e-6)
    with pytest.raises(ValueError, match="starts must have 15 numbers a row, got 35"):
        spectral_quadratures(block, np.ones((1, 35)), steps=3)


@pytest.mark.parametrize("precision, scale", [(np.float64, 1e-200), (np.float64, 1e200), (np.float32, 1e-25)])
def test_curvatures_of_all_sizes_have_the_same_spectrum(key, precision, scale):
    """Squares of their entries are not floating-point numbers."""
    values = np.concatenate([[-3.0], np.linspace(0.1, 2, 30), [5.0, 10.0]])
    curvature, _ = quadratic(values * scale, precision)
    found = extreme_eigenpairs(curvature, key, count=2)
    np.testing.assert_allclose(found.values / scale, [10, 5], rtol=1e-5)
    assert found.converged.all()
    density = spectral_density(curvature, key)
    assert density.width == pytest.approx(0.13 * scale, rel=1e-4)
    assert density.points[-1] == pytest.approx((10 + 4 * 0.13) * scale, rel=1e-4)
    assert trace(curvature, key).error / scale == pytest.approx(trace(quadratic(values)[0], key).error, rel=1e-5)


@pytest.mark.parametrize("batch", [None, 7])
def test_a_small_gradient_noise_on_a_large_mean_keeps_its_digits(batch):
    noise = DRAW.standard_normal((30, 5))
    found = gradient_noise(lambda x, data: data @ x, np.zeros(5), noise + 1e7, batch=batch)
    np.testing.assert_allclose(dense(found), np.cov(noise.T, bias=True), atol=1e-8)
