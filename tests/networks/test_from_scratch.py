import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from deeptheory.networks.from_scratch import (
    Affine,
    TwoGaussians,
    accuracy,
    bayes_accuracy,
    bayes_cross_entropy,
    bayes_logits,
    bayes_quadric,
    cross_entropy,
    crossed_gaussians,
    differentiable_loss,
    gradient,
    gradient_step,
    init_glorot,
    logits,
    population_cross_entropy,
    printed_gradient,
    printed_probabilities,
    printed_step,
    sample_classes,
    train_classifier,
)


@pytest.fixture
def problem(key):
    x, y = sample_classes(key, crossed_gaussians(), 20)
    return init_glorot(jax.random.key(1), (2, 7, 5, 1)), x, y


@pytest.mark.item("L2.15")
def test_gradient_against_finite_differences(problem):
    network, x, y = problem
    for layer, slopes in enumerate(gradient(network, x, y)):
        for part, slope in enumerate(slopes):
            for place in [(0,) * slope.ndim, tuple(size - 1 for size in slope.shape)]:

                def moved(by, layer=layer, part=part, place=place):
                    changed = network[layer][part].copy()
                    changed[place] += by
                    parts = (changed, network[layer].biases) if part == 0 else (network[layer].weights, changed)
                    return cross_entropy(logits([*network[:layer], Affine(*parts), *network[layer + 1 :]], x), y)

                assert slope[place] == pytest.approx((moved(1e-6) - moved(-1e-6)) / 2e-6, abs=1e-8)


@pytest.mark.item("L2.15")
def test_gradient_against_automatic_differentiation(problem):
    network, x, y = problem
    loss, expected = jax.jit(jax.value_and_grad(differentiable_loss))(network, x, y)
    assert cross_entropy(logits(network, x), y) == pytest.approx(float(loss), rel=1e-12)
    for ours, theirs in zip(gradient(network, x, y), expected, strict=True):
        np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(ours.biases, theirs.biases, rtol=1e-10, atol=1e-14)


@pytest.mark.item("L2.15")
def test_printed_gradient_is_n_times_too_small(problem):
    network, x, y = problem
    for right, printed in zip(gradient(network, x, y), printed_gradient(network, x, y), strict=True):
        np.testing.assert_allclose(right.weights, len(x) * printed.weights, rtol=1e-12)
        np.testing.assert_allclose(right.biases, len(x) * printed.biases, rtol=1e-12)


def test_initial_weights_have_glorot_variance():
    first, second = init_glorot(jax.random.key(3), (100, 300, 200))
    assert np.var(first.weights) == pytest.approx(2 / 400, rel=0.05)
    assert np.var(second.weights) == pytest.approx(2 / 500, rel=0.05)
    assert not first.biases.any()


def test_cross_entropy_does_not_overflow():
    assert cross_entropy(np.array([-1000.0, 1000.0]), np.array([0.0, 1.0])) == 0
    assert cross_entropy(np.array([-1000.0]), np.array([1.0])) == 1000


# Unequal determinants, and log-odds that bend along every line, unlike those of the printed pair.
UNEQUAL = TwoGaussians(np.array([[0.0, 0.5], [-1, 1]]), np.array([[[1.0, 0.3], [0.3, 0.6]], [[3, -0.8], [-0.8, 2]]]))


@pytest.mark.item("L2.16")
@pytest.mark.parametrize("classes", [crossed_gaussians(), UNEQUAL], ids=["crossed", "unequal"])
def test_bayes_values_against_cubature_of_the_densities(classes):
    laws = [multivariate_normal(m, c) for m, c in zip(classes.means, classes.covariances, strict=True)]
    x = np.array([[0.3, -0.2], [2.0, 1.0]])
    np.testing.assert_allclose(bayes_logits(classes, x), laws[1].logpdf(x) - laws[0].logpdf(x), rtol=1e-10)
    # A Riemann sum over a fine grid of the plane: exact for the smooth cross entropy, to the cell for the accuracy.
    axis = np.arange(-14, 14, 0.02)
    grid = np.stack(np.meshgrid(axis, axis), -1)
    p0, p1 = (law.pdf(grid) for law in laws)
    total = 0.5 * (p0 + p1)
    share = np.divide(p1, p0 + p1, out=np.full_like(p0, 0.5), where=p0 + p1 > 0)
    entropy = -np.where(share > 0, share * np.log(np.maximum(share, 1e-300)), 0)
    entropy -= np.where(share < 1, (1 - share) * np.log(np.maximum(1 - share, 1e-300)), 0)
    assert bayes_cross_entropy(classes) == pytest.approx(np.sum(total * entropy) * 0.02**2, abs=1e-8)
    assert bayes_accuracy(classes) == pytest.approx(0.5 * np.sum(np.maximum(p0, p1)) * 0.02**2, abs=1e-6)


def test_bayes_accuracy_of_equal_covariances_is_the_normal_tail():
    identity = np.eye(2)
    classes = TwoGaussians(np.array([[0.0, 0.0], [2.0, 0.0]]), np.stack([identity, identity]))
    assert bayes_accuracy(classes) == pytest.approx(0.8413447460685429, abs=1e-9)
    turned = TwoGaussians(np.array([[0.0, 0.0], [0.0, 2.0]]), np.stack([identity, identity]))
    assert bayes_accuracy(turned) == pytest.approx(0.8413447460685429, abs=1e-9)


@pytest.fixture(scope="module")
def printed_run():
    # The listing draws data and weights, in this order, from NumPy's legacy generator with seed 0.
    legacy = np.random.RandomState(0)
    classes = crossed_gaussians()
    x = np.vstack([legacy.multivariate_normal(m, c, 1000) for m, c in zip(*classes, strict=True)])
    y = np.repeat([0.0, 1.0], 1000)
    sizes = ((2, 200), (200, 200), (200, 1))
    return [Affine(legacy.randn(n, m) / np.sqrt((n + m) / 2), np.zeros(m)) for n, m in sizes], x, y


@pytest.mark.item("L2.16")
def test_start_of_the_printed_run(printed_run):
    network, x, y = printed_run
    z, best = logits(network, x), bayes_logits(crossed_gaussians(), x)
    assert cross_entropy(z, y) == pytest.approx(0.7227, abs=5e-5)
    assert accuracy(z, y) == pytest.approx(0.2565, abs=1e-9)
    assert cross_entropy(best, y) == pytest.approx(0.1317, abs=5e-5)
    assert accuracy(best, y) == pytest.approx(0.949, abs=1e-9)


@pytest.mark.slow
@pytest.mark.item("L2.16")
def test_end_of_the_printed_run(printed_run):
    # Both numbers are of runs of the listing itself, as it is printed and with one division by N less. In single
    # precision, which shows in the fifth digit only and saves a quarter of the time.
    network, x, y = jax.tree.map(np.float32, printed_run)
    printed = train_classifier(network, x, y, gradient=printed_gradient, step=printed_step)
    assert printed.losses[-1] == pytest.approx(0.6085, abs=5e-5)
    assert printed.accuracies[-1] == pytest.approx(0.9335, abs=1.1e-3)  # one or two images, by rounding
    right = train_classifier(network, x, y)
    assert right.losses[-1] == pytest.approx(0.1298, abs=5e-5)
    assert right.accuracies[-1] == pytest.approx(0.950, abs=1.1e-3)  # one or two images, by rounding


@pytest.mark.item("L2.15")
def test_probabilities_of_the_listing_are_right_but_for_being_cut_off():
    z = np.array([-800.0, -27.0, 0.3, 27.0, 800.0])
    found = printed_probabilities(z)
    np.testing.assert_allclose(found[1:4], 1 / (1 + np.exp(-z[1:4])), rtol=1e-15)
    np.testing.assert_allclose([found[0], 1 - found[-1]], 1e-12, rtol=1e-3)


@pytest.mark.item("L2.15")
def test_decay_of_the_listing_is_not_multiplied_by_the_step_size(problem):
    network, x, y = problem
    slopes = printed_gradient(network, x, y)
    after = printed_step(network, slopes, step_size=0.1, weight_decay=0.3)
    np.testing.assert_allclose(after[0].weights, 0.7 * network[0].weights - 0.1 * slopes[0].weights, rtol=1e-12)
    np.testing.assert_allclose(after[1].biases, network[1].biases - 0.1 * slopes[1].biases, rtol=1e-12)
    same = gradient_step(network, slopes, step_size=0.1, weight_decay=3.0)
    np.testing.assert_allclose(after[1].weights, same[1].weights, rtol=1e-12)


@pytest.mark.item("L2.16")
def test_small_training_run_reaches_the_bayes_rule_only_with_the_right_gradient(key):
    x, y = sample_classes(key, crossed_gaussians(), 200)
    network = init_glorot(jax.random.key(7), (2, 16, 16, 1))
    right = train_classifier(network, x, y, steps=150)
    printed = train_classifier(network, x, y, steps=150, gradient=printed_gradient)
    floor = cross_entropy(bayes_logits(crossed_gaussians(), x), y)
    assert right.losses[-1] < floor + 0.02
    assert printed.losses[-1] > floor + 0.3
    assert right.accuracies[-1] == pytest.approx(accuracy(logits(right.network, x), y), abs=0.01)
    slow = train_classifier(network, x, y, steps=150, step_size=0.5 / 400)
    np.testing.assert_allclose(printed.losses, slow.losses, rtol=1e-10)


def test_ensembles_are_separate_runs(key):
    x, y = sample_classes(key, crossed_gaussians(), 15, ensemble=(3,))
    networks = init_glorot(jax.random.key(7), (2, 6, 1), ensemble=(3,))
    together = train_classifier(networks, x, y, steps=20)
    for i in range(3):
        alone = train_classifier([Affine(w[i], b[i]) for w, b in networks], x[i], y[i], steps=20)
        np.testing.assert_allclose(together.losses[:, i], alone.losses, rtol=1e-12)
        np.testing.assert_allclose(together.network[0].weights[i], alone.network[0].weights, rtol=1e-10)
        assert together.accuracies[-1, i] == alone.accuracies[-1]


def test_population_cross_entropy_of_a_network_against_samples(key):
    network = init_glorot(jax.random.key(2), (2, 8, 1))
    x, y = sample_classes(key, crossed_gaussians(), 400_000)
    population = population_cross_entropy(crossed_gaussians(), lambda points: logits(network, points))
    assert population == pytest.approx(float(cross_entropy(logits(network, x), y)), rel=0.01)
    assert population > bayes_cross_entropy(crossed_gaussians())


def test_weight_decay_is_a_step_on_the_penalty(problem):
    network, x, y = problem
    after = train_classifier(network, x, y, step_size=0.1, steps=1, weight_decay=0.3).network
    slopes = gradient(network, x, y)
    np.testing.assert_allclose(after[0].weights, 0.97 * network[0].weights - 0.1 * slopes[0].weights, rtol=1e-12)


def test_sample_moments(key):
    x, y = sample_classes(key, crossed_gaussians(), 20_000)
    np.testing.assert_allclose(x[y == 0].mean(0), [2, 2], atol=0.05)
    np.testing.assert_allclose(np.cov(x[y == 1].T), [[2, -1], [-1, 2]], atol=0.1)


def test_doors(problem):
    network, x, y = problem
    with pytest.raises(ValueError, match="0 or 1"):
        gradient(network, x, 2 * y - 1)
    with pytest.raises(ValueError, match="step_size must be positive"):
        train_classifier(network, x, y, step_size=0.0)
    assert isinstance(network[0], Affine)


@pytest.mark.item("L2.17")
def test_the_best_boundary_is_a_hyperbola_by_hand():
    matrix, slope, constant = bayes_quadric(crossed_gaussians())
    np.testing.assert_allclose(matrix, [[0, -1 / 3], [-1 / 3, 0]], atol=1e-15)
    np.testing.assert_allclose(slope, [-5 / 3, -5 / 3], rtol=1e-14)
    assert constant == pytest.approx(1 / 3, rel=1e-13)
    x = np.linspace(-2, 6, 9)
    on_it = np.stack([x, 27 / 4 / (x + 5 / 2) - 5 / 2], 1)
    np.testing.assert_allclose(bayes_logits(crossed_gaussians(), on_it), 0, atol=1e-13)


def test_the_quadric_is_the_log_odds_of_unequal_classes():
    matrix, slope, constant = bayes_quadric(UNEQUAL)
    x = np.random.default_rng(0).standard_normal((20, 2))
    ours = np.einsum("ni,ij,nj->n", x, matrix, x) + x @ slope + constant
    np.testing.assert_allclose(ours, bayes_logits(UNEQUAL, x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("nodes", [100, 400, 1000])
def test_population_loss_with_all_numbers_of_nodes(nodes):
    classes = crossed_gaussians()
    found = population_cross_entropy(classes, lambda x: bayes_logits(classes, x), nodes=nodes)
    assert found == pytest.approx(bayes_cross_entropy(classes), rel=1e-7)


def test_the_gradient_of_a_classifier_that_is_all_but_sure():
    network = [Affine(np.array([[1.0]]), np.array([0.0]))]
    slope = gradient(network, np.array([[50.0]]), np.array([1.0]))[0].weights
    np.testing.assert_allclose(slope, [[-50 * np.exp(-50)]], rtol=1e-12)
