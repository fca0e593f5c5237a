import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from deeptheory.dynamics.sphere import (
    overlap_cdf,
    overlap_chain,
    overlap_step,
    spherical_sgd,
    spherical_step,
    upper_half_overlap,
)
from deeptheory.foundations.hermite import hermite_link
from deeptheory.foundations.randomness import generator

pytestmark = pytest.mark.slow


def first_passage(paths, level):
    passed = paths > level
    return np.where(passed.any(0), passed.argmax(0) + 1.0, np.inf)


def test_upper_half_overlap_is_the_absolute_value_of_a_uniform_coordinate(key):
    overlap = upper_half_overlap(key, 20, 4000)
    assert stats.kstest(overlap**2, stats.beta(0.5, 9.5).cdf).pvalue > 1e-4  # m² of a uniform point is Beta(½, (N−1)/2)


@pytest.mark.item("J11.9")
def test_overlap_of_a_uniform_point_has_its_law(key):
    from scipy.integrate import quad

    for size in (3, 4, 9):
        whole = quad(lambda m, e=(size - 3) / 2: (1 - m * m) ** e, -1, 1)[0]
        for m in (-0.6, 0.0, 0.3):
            part = quad(lambda m, e=(size - 3) / 2: (1 - m * m) ** e, -1, m)[0]
            assert overlap_cdf(m, size) == pytest.approx(part / whole, abs=1e-9)


@pytest.mark.item("J11.8")
@pytest.mark.parametrize("degree", [1, 3])
def test_one_step_of_the_whole_vector_is_one_step_of_the_chain(key, degree):
    random = generator(key)
    link, dimension, rate = hermite_link(degree), 7, 0.05
    x, a = random.standard_normal((2, 50, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    hidden = np.eye(dimension)[0]

    def loss(x, a):
        return (link(a @ x) - link(a @ hidden)) ** 2

    gradient = np.asarray(jax.vmap(jax.grad(loss))(jnp.asarray(x), jnp.asarray(a)))
    tangent = gradient - np.sum(gradient * x, 1, keepdims=True) * x
    moved = x - rate * tangent
    whole = moved[:, 0] / np.linalg.norm(moved, axis=1)

    np.testing.assert_allclose(
        jax.jit(spherical_step, static_argnames="link")(link, x, a, rate)[:, 0], whole, rtol=1e-10
    )
    m, field = x[:, 0], np.sum(a * x, 1)
    other = (a[:, 0] - m * field) / np.sqrt(1 - m**2)
    rest = np.sum(a * a, 1) - field**2 - other**2
    step = jax.jit(overlap_step, static_argnames="link")
    np.testing.assert_allclose(step(link, m, field, other, rest, rate), whole, rtol=1e-10, atol=1e-12)


@pytest.mark.item("J11.8")
@pytest.mark.parametrize(("degree", "step", "steps"), [(1, 0.3, 250), (2, 0.1, 1500), (3, 0.05, 6000)])
def test_chain_and_whole_vector_pass_the_level_at_the_same_times(key, degree, step, steps):
    first, second = jax.random.split(key)
    link, dimension = hermite_link(degree), 24
    whole = first_passage(
        np.abs(spherical_sgd(first, link, dimension=dimension, step=step, steps=steps, replicas=400)), 0.5
    )
    chain = overlap_chain(
        second, link, dimension=dimension, step=step, replicas=400, max_steps=steps, symmetric=True, stop=False
    ).times[0]
    assert stats.ks_2samp(np.minimum(whole, steps + 1), np.minimum(chain, steps + 1)).pvalue > 1e-4


def test_chain_reports_peak_and_unfinished_runs(key):
    run = overlap_chain(key, hermite_link(3), dimension=400, step=0.01, replicas=16, max_steps=700, levels=(0.2, 0.9))
    assert np.isinf(run.times[1]).all() and (run.peak >= np.abs(run.overlap)).all()


def test_sizes_that_have_no_chain_are_refused(key):
    with pytest.raises(ValueError, match=r"steps must lie in \[1, 1000000\], got 0"):
        spherical_sgd(key, hermite_link(1), dimension=8, step=0.1, steps=0)
    with pytest.raises(ValueError, match="dimension must be at least 3, got 2"):
        overlap_chain(key, hermite_link(1), dimension=2, step=0.1)
