import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from deeptheory.dynamics.effective import effective_dynamics
from deeptheory.dynamics.online import online_descent, online_step
from deeptheory.dynamics.projections import (
    Projected,
    gram_matrix,
    projected_chain,
    projected_loss,
    projected_step,
    projected_velocity,
)

CENTRES = np.array([[1.0, 0.0], [-0.5, 1.5], [0.0, 0.0]])


def loss(fields, hidden, parameters, label):
    return (hidden[0] * hidden[1] + label - parameters @ jnp.tanh(fields)) ** 2


MODEL = Projected(loss, CENTRES, np.array([0.5, -1.0, 0.0]), spread=0.7, decay=0.1)
WEIGHTS = np.array([[0.5, 0.1, 0.3, -0.2, 0.6], [-0.3, 0.8, 0.2, 0.4, 0.1]])
HIDDEN = np.eye(5)[:2]
PARAMETERS = np.array([0.7, -0.4])
ONES = np.ones(20_000)


def inputs(rng, count, size=5):
    which = rng.integers(3, size=count)
    return which, CENTRES[which] @ np.eye(size)[:2] + 0.7 * rng.standard_normal((*which.shape, size))


def test_one_step_of_whole_vectors_is_one_step_of_the_gram_matrix():
    which, x = inputs(np.random.default_rng(1), 6)
    gram = gram_matrix(WEIGHTS, HIDDEN)
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(values)
    basis = np.linalg.solve(root, np.concatenate([WEIGHTS, HIDDEN]))  # rows are orthonormal and span all vectors
    z = (x - CENTRES[which] @ HIDDEN) / 0.7
    normals = z @ basis.T
    squares = (z**2).sum(1) - (normals**2).sum(1)

    @jax.jit
    @jax.vmap
    def both(k, a, normal, square):
        sample = a, jnp.asarray(MODEL.labels)[k]
        weights, parameters = online_step(projected_loss(MODEL, HIDDEN), (WEIGHTS, PARAMETERS), sample, 0.05)
        reduced = projected_step(MODEL, jnp.asarray(gram), PARAMETERS, k, normal, square, step=0.05)
        return (gram_matrix(weights, HIDDEN), parameters), reduced

    whole, reduced = both(which, x, normals, squares)
    np.testing.assert_allclose(reduced[0], whole[0], atol=1e-10)
    np.testing.assert_allclose(reduced[1], whole[1], rtol=1e-12)


@pytest.mark.slow
def test_chain_and_whole_vectors_have_one_law(key):
    replicas, steps = 600, 40
    which, x = inputs(np.random.default_rng(2), (replicas, steps))
    labels = np.asarray(MODEL.labels)[which]
    start = jnp.asarray(WEIGHTS), jnp.asarray(PARAMETERS)
    run = lambda a, y: online_descent(  # noqa: E731
        projected_loss(MODEL, HIDDEN), start, (a, y), step=0.05, statistics=lambda p: p[1]
    )
    last, _ = jax.jit(jax.vmap(run))(x, labels)
    whole = jax.vmap(lambda w: gram_matrix(w, HIDDEN))(last[0])
    gram = np.broadcast_to(gram_matrix(WEIGHTS, HIDDEN), (replicas, 4, 4))
    chain, parameters = projected_chain(
        key, MODEL, gram, np.tile(PARAMETERS, (replicas, 1)), dimension=5, step=0.05, steps=steps, every=20
    )
    for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 3)):
        assert stats.ks_2samp(np.asarray(whole)[:, i, j], chain[-1, :, i, j]).pvalue > 1e-4
    assert stats.ks_2samp(np.asarray(last[1])[:, 0], parameters[-1, :, 0]).pvalue > 1e-4
    np.testing.assert_allclose(chain[:, :, 2:, 2:], np.broadcast_to(np.eye(2), (2, replicas, 2, 2)), atol=1e-12)


def test_velocity_is_that_of_the_generator_in_many_dimensions():
    size, count, ratio = 400, 4000, 0.8
    rng = np.random.default_rng(3)
    weights = np.zeros((2, size))
    weights[:, :5] = WEIGHTS
    hidden = np.eye(size)[:2]
    which, x = inputs(rng, count, size)
    found = jax.jit(
        lambda point, samples: effective_dynamics(
            projected_loss(MODEL, hidden),
            lambda point: jnp.concatenate([gram_matrix(point[0], hidden)[:2].ravel(), point[1]]),
            point,
            samples,
            step=ratio / size,
        )
    )((jnp.asarray(weights), jnp.asarray(PARAMETERS)), (x, np.asarray(MODEL.labels)[which]))
    normals = rng.standard_normal((20_000, 4))
    gram, parameters, corrector = jax.jit(lambda q, z: projected_velocity(MODEL, q, PARAMETERS, z, ONES, ratio=ratio))(
        gram_matrix(weights, hidden), normals
    )
    np.testing.assert_allclose(-found.drift[:8].reshape(2, 4), gram[:2], atol=0.15)
    np.testing.assert_allclose(-found.drift[8:], parameters, atol=0.1)
    np.testing.assert_allclose(found.corrector[:8].reshape(2, 4), corrector[:2], atol=0.15)


def test_phase_retrieval_in_closed_form():
    # (λ² − τ²)²/8 with Gaussian fields of covariance Q: E ℓ′λ = ½E λ²(λ² − τ²) = ½(3q² − q − 2m²), E ℓ′τ likewise.
    q, m = 0.9, 0.3
    model = Projected(lambda f, h, p, y: (f[0] ** 2 - h[0] ** 2) ** 2 / 8, np.zeros((1, 1)), np.zeros(1))
    x, w = np.polynomial.hermite_e.hermegauss(12)
    rule = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2), np.outer(w, w).ravel()
    velocity, _, corrector = jax.jit(lambda gram: projected_velocity(model, gram, (), *rule, ratio=0.2))(
        np.array([[q, m], [m, 1.0]])
    )
    np.testing.assert_allclose(velocity[0, 0], -(3 * q**2 - q - 2 * m**2), rtol=1e-10)
    np.testing.assert_allclose(velocity[0, 1], -(3 * q * m - 3 * m) / 2, rtol=1e-10)
    sixth = 15 * q**3 - 2 * (3 * q**2 + 12 * q * m**2) + 3 * q + 12 * m**2  # E λ²(λ² − τ²)², by Wick's theorem
    np.testing.assert_allclose(corrector[0, 0], 0.2 * sixth / 4, rtol=1e-10)


def test_too_few_dimensions_are_refused(key):
    with pytest.raises(ValueError, match="dimension must exceed the number of vectors, 4, got 4"):
        projected_chain(key, MODEL, np.ones((2, 4, 4)), np.ones((2, 2)), dimension=4, step=0.1, steps=2)
