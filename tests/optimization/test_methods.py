"""Methods in optax's shape against plain loops, against optax, and against what is known of them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest

from deeptheory.optimization import methods
from deeptheory.optimization.landscapes import CosineSum, LogisticRidge, Quadratic
from deeptheory.optimization.runs import trajectory

pytestmark = pytest.mark.slow

WELLS = CosineSum(jnp.array([1.0, 0.25, 2.0]))
WEIGHTS = np.array([1.0, 0.25, 2.0])
START = np.array([1.0, -2.0, 0.5])


def slope(x):
    return WEIGHTS * np.sin(x)


def run(method, *, steps=20, function=WELLS, start=START):
    return jax.tree.map(np.asarray, trajectory(function, method, jnp.asarray(start), steps=steps))


@pytest.mark.item("A2.11", "A2.13")
def test_heavy_ball_in_both_forms():
    states = run(optax.sgd(0.2, momentum=0.7))
    before, now, velocity, place = START, START, np.zeros(3), START
    for t in range(21):
        np.testing.assert_allclose(states.position[t], now, atol=1e-13)
        np.testing.assert_allclose(states.position[t], place, atol=1e-13)
        before, now = now, now - 0.2 * slope(now) + 0.7 * (now - before)
        velocity = -slope(place) + 0.7 * velocity
        place = place + 0.2 * velocity
    # The velocity is a weighted sum of all gradients so far.
    past = sum(0.7 ** (20 - s) * states.gradient[s] for s in range(21))
    np.testing.assert_allclose(-velocity, past, atol=1e-12)


@pytest.mark.item("A2.14")
def test_nesterov_is_a_gradient_at_the_look_ahead_point():
    states = run(methods.accelerated(0.2, momentum=0.7))
    ours = run(optax.sgd(0.2, momentum=0.7, nesterov=True))
    np.testing.assert_allclose(states.position, ours.position, atol=1e-13)
    w, velocity = START, np.zeros(3)
    for t in range(21):
        np.testing.assert_allclose(states.memory.point[t], w, atol=1e-13)
        np.testing.assert_allclose(states.position[t], w + 0.7 * 0.2 * velocity, atol=1e-13)
        velocity = -slope(w + 0.7 * 0.2 * velocity) + 0.7 * velocity
        w = w + 0.2 * velocity
    schedule = run(methods.accelerated(0.2), steps=3)
    first = START - 0.2 * slope(START)
    second = first - 0.2 * slope(first)  # momentum 0 after the first step, 1/4 after the second
    np.testing.assert_allclose(schedule.position[2], second + (second - first) / 4, atol=1e-13)


@pytest.mark.item("A2.25")
def test_adagrad_by_its_sums():
    norm, lagged = run(methods.adagrad_norm(0.5)), run(methods.lagged_adagrad(0.5, bound=2.0))
    own = run(optax.adagrad(0.5, initial_accumulator_value=0.0, eps=0.0))
    for states, rate in (
        (norm, lambda past: 1 / np.sqrt(np.sum(np.square(past)))),
        (lagged, lambda past: 1 / np.sqrt(4 + np.sum(np.square(past[:-1]), 0))),
        (own, lambda past: 1 / np.sqrt(np.sum(np.square(past), 0))),
    ):
        x, past = START, []
        for t in range(21):
            np.testing.assert_allclose(states.position[t], x, atol=1e-12)
            past.append(slope(x))
            x = x - 0.5 * rate(past) * past[-1]
    assert norm.memory.squares.shape == (21,) and lagged.memory.squares.shape == (21, 3)
    still = run(methods.adagrad_norm(0.5), start=np.zeros(3))
    assert np.all(still.position == 0.0)


@pytest.mark.item("A2.25")
def test_the_diagonal_makes_adagrad_blind_to_the_scale_of_coordinates():
    scales = jnp.array([1e-3, 1.0, 50.0])
    method = optax.adagrad(0.5, initial_accumulator_value=0.0, eps=0.0)
    # Three losses of one shape and of scales from a thousandth to fifty: every coordinate makes the same way.
    scaled = run(method, function=lambda x: jnp.sum(scales * (1 - jnp.cos(x))), start=np.ones(3))
    np.testing.assert_allclose(scaled.position[:, [0, 2]], scaled.position[:, [1, 1]], atol=1e-12)
    norm = run(methods.adagrad_norm(0.5), function=lambda x: jnp.sum(scales * (1 - jnp.cos(x))), start=np.ones(3))
    assert abs(norm.position[-1, 0] - norm.position[-1, 2]) > 0.5


@pytest.mark.item("A2.18")
def test_newton_and_the_right_preconditioner_need_one_step_on_a_quadratic():
    random = np.random.default_rng(0)
    root = random.standard_normal((4, 4))
    matrix, linear = root @ root.T + 0.1 * np.eye(4), random.standard_normal(4)
    bowl = Quadratic(jnp.asarray(matrix), jnp.asarray(linear))
    best = np.linalg.solve(matrix, linear)
    for method in (methods.newton(), methods.preconditioned(np.linalg.inv(matrix))):
        np.testing.assert_allclose(run(method, steps=1, function=bowl, start=np.ones(4)).position[1], best, atol=1e-11)
    # The Hessian itself in the place of its inverse, as one sentence of the book has it, does not.
    wrong = run(methods.preconditioned(matrix), steps=1, function=bowl, start=np.ones(4)).position[1]
    assert np.linalg.norm(wrong - best) > 1
    axes = Quadratic(jnp.diag(jnp.array([1.0, 20.0])), jnp.zeros(2))
    scaled = run(methods.preconditioned(np.diag([1.0, 1 / 20])), steps=1, function=axes, start=np.ones(2))
    np.testing.assert_allclose(scaled.position[1], 0.0, atol=1e-15)


@pytest.mark.item("A2.18")
def test_newton_squares_its_error_and_takes_any_tree():
    random = np.random.default_rng(1)
    features, labels = random.standard_normal((30, 3)), np.sign(random.standard_normal(30))
    ridge = LogisticRidge(jnp.asarray(features), jnp.asarray(labels), 0.1)
    states = run(methods.newton(), steps=6, function=ridge, start=np.zeros(3))
    errors = np.linalg.norm(states.position - np.asarray(ridge.minimizer), axis=1)
    ratios = errors[1:4] / errors[:3] ** 2
    assert errors[4] < 1e-12 and ratios.max() < 1.0
    tree = trajectory(
        lambda p: ridge(jnp.concatenate([p["a"], p["b"]])),
        methods.newton(),
        {"a": jnp.zeros(1), "b": jnp.zeros(2)},
        steps=6,
    )
    np.testing.assert_allclose(np.asarray(tree.position["b"]), states.position[:, 1:], atol=1e-12)


@pytest.mark.item("A2.30")
@pytest.mark.parametrize("factor", [2.0, 5.0])
def test_the_plateau_rule_ends_with_the_first_step_below_two_over_the_smoothness(factor):
    bowl = Quadratic(jnp.diag(jnp.array([1.0, 10.0])), jnp.zeros(2))
    states = run(
        optax.chain(optax.sgd(2.0), methods.divide_on_plateau(factor)), steps=60, function=bowl, start=np.ones(2)
    )
    last, waited, rate, x = np.inf, 0, 2.0, np.ones(2)
    for t in range(60):
        np.testing.assert_allclose(states.position[t], x, rtol=1e-9)
        value = (x**2 * [1, 10]).sum() / 2
        waited, last = (0 if value < last else waited + 1), value
        rate, waited = (rate / factor, 0) if waited == 3 else (rate, waited)
        x = x - rate * x * [1, 10]
    ladder = 2.0 / factor ** np.arange(20)
    assert 2.0 * states.memory[1].scale[-1] == pytest.approx(ladder[ladder < 2 / 10][0])
    # optax compares with the best value so far, and is still dividing when the run has long been stable.
    other = optax.chain(optax.sgd(2.0), optax.contrib.reduce_on_plateau(1 / factor, patience=3))
    assert 2.0 * run(other, steps=60, function=bowl, start=np.ones(2)).memory[1].scale[-1] < 0.01


@pytest.mark.item("A12.26")
def test_svag_of_one_is_plain_descent_bit_for_bit_and_of_five_by_hand():
    draw = np.random.default_rng(4)
    first, second = draw.standard_normal((2, 7, 3)).astype(np.float32)
    loss = lambda w, batch: jnp.sum(jnp.sin(w["a"] * batch) ** 2) + w["b"] ** 2 * batch[0]  # noqa: E731
    start = {"a": jnp.ones(3, jnp.float32), "b": jnp.array(0.5, jnp.float32)}
    plain = trajectory(loss, optax.sgd(0.1), start, steps=7, batches=first)
    method = methods.variance_amplified(loss, 0.1, 1.0)
    svag = trajectory(loss, method, start, steps=7, batches=first, draws=second)
    for name in start:
        np.testing.assert_array_equal(svag.position[name], plain.position[name])
    # ℓ = 5: weights 2 and −1.
    five, _ = methods.variance_amplified(loss, 0.1, 5.0).update(
        jax.grad(loss)(start, first[0]), optax.EmptyState(), start, draw=second[0]
    )
    one, other = (jax.grad(loss)(start, batch) for batch in (first[0], second[0]))
    for name in start:
        np.testing.assert_allclose(five[name], -0.1 * (2 * one[name] - other[name]), rtol=1e-6)
    with pytest.raises(ValueError, match="amplification must lie in"):
        methods.variance_amplified(loss, 0.1, 0.5)
