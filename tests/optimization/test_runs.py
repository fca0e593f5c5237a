"""Runs against plain loops: trees, batches, draws, batching, and what is said of runs that fail."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.optimization.landscapes import CosineSum, Quadratic
from deeptheory.optimization.promises import (
    audit,
    audited_run,
    descent_promise,
    gradient_promise,
    improve_or_localize,
    localizing,
    parabola_promise,
    potential_promise,
    step_promise,
)
from deeptheory.optimization.runs import best_iterate, first_nonfinite, gradient_squares, measured_epochs, trajectory

pytestmark = pytest.mark.slow

PARABOLA = Quadratic(jnp.array([[2.0]]), jnp.zeros(1))
WELLS = CosineSum(jnp.array([1.0, 0.25, 2.0]))


def test_a_run_on_a_tree_with_batches_of_examples():
    random = np.random.default_rng(0)
    x, y, chosen = random.standard_normal((8, 2)), random.standard_normal(8), random.integers(8, size=(5, 3))
    inputs, labels = jnp.asarray(x), jnp.asarray(y)

    def loss(params, batch):
        return jnp.mean((inputs[batch] @ params["w"] + params["b"] - labels[batch]) ** 2) / 2

    start = {"w": jnp.ones(2), "b": jnp.zeros(())}
    run = trajectory(loss, optax.sgd(0.1), start, steps=5, batches=jnp.asarray(chosen))
    w, b = np.ones(2), 0.0
    for t in range(5):
        np.testing.assert_allclose(run.position["w"][t], w, atol=1e-13)
        residual = x[chosen[t]] @ w + b - y[chosen[t]]
        np.testing.assert_allclose(run.value[t], np.mean(residual**2) / 2, atol=1e-13)
        np.testing.assert_allclose(
            gradient_squares(run)[t], np.sum((x[chosen[t]].T @ residual / 3) ** 2) + residual.mean() ** 2
        )
        w, b = w - 0.1 * x[chosen[t]].T @ residual / 3, b - 0.1 * residual.mean()
    np.testing.assert_allclose(run.position["b"][5], b, atol=1e-13)
    with pytest.raises(ValueError, match=r"batches must have one slice for each of 4 steps, got 5"):
        trajectory(loss, optax.sgd(0.1), start, steps=4, batches=jnp.asarray(chosen))
    with pytest.raises(TypeError, match=r"floating-point numbers, got one of int64"):
        trajectory(PARABOLA, optax.sgd(0.1), np.array([1]), steps=4)


def test_one_call_over_step_sizes_and_starts():
    runs = jax.jit(
        jax.vmap(
            jax.vmap(lambda rate, start: trajectory(WELLS, optax.adam(rate), start, steps=7), (None, 0)), (0, None)
        )
    )(jnp.array([0.1, 0.2]), jnp.ones((3, 3)) * jnp.arange(1.0, 4)[:, None])
    assert runs.value.shape == (2, 3, 8)
    alone = trajectory(WELLS, optax.adam(0.2), 3 * jnp.ones(3), steps=7)
    np.testing.assert_allclose(runs.value[1, 2], alone.value, rtol=1e-12)


@pytest.mark.item("A2.21")
def test_the_best_iterate_is_the_one_of_the_smallest_gradient_before_the_end():
    run = trajectory(lambda x: jnp.sum(x**4) - 2 * jnp.sum(x**2), optax.sgd(0.3), jnp.array([0.2, 1.1]), steps=9)
    norms = [np.linalg.norm(g) for g in np.asarray(run.gradient)[:9]]
    time, point = best_iterate(run)
    assert int(time) == int(np.argmin(norms)) != 8
    np.testing.assert_array_equal(point, run.position[int(time)])
    # The end itself, whose gradient no step has used, is not among them.
    falling = trajectory(PARABOLA, optax.sgd(0.1), jnp.ones(1), steps=4)
    assert int(best_iterate(falling)[0]) == 3
    with pytest.raises(ValueError, match=r"at least one step, got 0"):
        best_iterate(trajectory(PARABOLA, optax.sgd(0.1), jnp.ones(1), steps=0))


def test_divergence_is_named_with_its_step():
    run = trajectory(PARABOLA, optax.sgd(1e100), jnp.ones(1), steps=9)
    assert int(first_nonfinite(run)) == 2  # values 1, 4e200, then overflow
    assert int(first_nonfinite(trajectory(PARABOLA, optax.sgd(0.1), jnp.ones(1), steps=9))) == -1
    wall = trajectory(lambda x: -jnp.log(x[0]) + 3 * x[0], optax.sgd(0.6), jnp.array([1.0]), steps=3)
    assert int(first_nonfinite(wall)) == 1  # −0.2 has no logarithm


def test_promises_are_attained_by_a_parabola_and_break_where_a_hypothesis_does():
    run = trajectory(PARABOLA, optax.sgd(0.3), jnp.ones(1), steps=6)
    for promise in (descent_promise(run, step_size=0.3, smoothness=2.0), parabola_promise(run, smoothness=2.0)):
        found = audit(promise)
        assert float(found.tightest) == pytest.approx(1.0, rel=1e-12) and int(found.violated) == -1
    assert int(audit(parabola_promise(run, smoothness=1.9)).violated) == 0
    # A bend at 1 that the run meets on its way: f″ is 1 beyond it and 3 before.
    bent = lambda x: jnp.where(x[0] > 1, x[0] ** 2 / 2 + 2 * x[0], 1.5 * x[0] ** 2 + 1)  # noqa: E731
    run = trajectory(bent, optax.sgd(0.9), jnp.array([300.0]), steps=6)
    found = audit(descent_promise(run, step_size=0.9, smoothness=1.0), error=1e-12)
    inside = np.flatnonzero(np.asarray(run.position)[:, 0] < 1)[0]
    assert int(found.violated) == inside - 1 and inside > 2  # the step that crosses the bend
    curvatures = jnp.where(run.position[:, 0] > 1, 1.0, 3.0)
    assert int(audit(step_promise(curvatures, step_size=0.9)).violated) == inside
    # Momentum breaks the lemma of plain descent and keeps what holds for any step.
    heavy = trajectory(PARABOLA, optax.sgd(0.3, momentum=0.9), jnp.ones(1), steps=20)
    assert int(audit(descent_promise(heavy, step_size=0.3, smoothness=2.0)).violated) > 0
    assert int(audit(parabola_promise(heavy, smoothness=2.0), error=1e-12).violated) == -1
    assert int(audit((np.array([1.0, np.nan]), np.array([2.0, 1.0]))).violated) == 1
    far, allowed = improve_or_localize(run.position[:1], run.value[:1], step_size=0.9)
    assert float(far[0]) == float(allowed[0]) == 0.0


@pytest.mark.parametrize("method", [optax.sgd(0.3), optax.sgd(0.3, momentum=0.9), optax.sgd(1.2)])
def test_promises_carried_along_are_those_of_the_whole_run(method):
    """Descent keeps all of them; momentum, and too long a step, break some, at the same step and as tight."""
    bowl, start = Quadratic(jnp.diag(jnp.array([2.0, 0.5])), jnp.zeros(2)), jnp.array([1.0, -2.0])
    promises = {
        "descent": partial(descent_promise, step_size=0.3, smoothness=2.0),
        "parabola": partial(parabola_promise, smoothness=2.0),
        "gradient": partial(gradient_promise, smoothness=2.0),
        "distance": partial(potential_promise, potential=lambda x, value, memory: x @ x),
    }
    found = audited_run(bowl, method, start, steps=12, promises=promises, error=1e-13)
    whole = trajectory(bowl, method, start, steps=12)
    expected = {name: audit(promise(whole), error=1e-13) for name, promise in promises.items()}
    for name, each in expected.items():
        assert int(found.audits[name].violated) == int(each.violated)
        assert float(found.audits[name].tightest) == pytest.approx(float(each.tightest), rel=1e-12)
    broken = {name: int(each.violated) for name, each in expected.items() if each.violated >= 0}
    assert int(found.violated) == (list(promises).index(min(broken, key=lambda name: broken[name])) if broken else -1)
    assert int(found.tightest) == int(np.argmax([float(found.audits[name].tightest) for name in promises]))
    np.testing.assert_allclose(found.end.position, whole.position[-1], rtol=1e-12)
    with pytest.raises(ValueError, match="promises must hold at least one"):
        audited_run(bowl, method, start, steps=3, promises={})
    with pytest.raises(TypeError, match="promises"):  # here by the types of the signature, which users do not run with
        audited_run(bowl, method, start, steps=3, promises={"far": 0.5})  # type: ignore[dict-item]


@pytest.mark.parametrize("rate", [0.4, 0.9, 2.1])
def test_improve_or_localize_is_carried_along(rate):
    """On a tree, against arrays kept whole; steps beyond 1/ℓ, and a promise of shorter ones, break it at some step."""
    wells, start = CosineSum(jnp.array([1.0, 0.25, 2.0])), {"a": jnp.array([1.0, -2.0]), "b": jnp.array([0.5])}
    function = lambda x: wells(jnp.concatenate([x["a"], x["b"]]))  # noqa: E731
    whole = trajectory(function, optax.sgd(rate), start, steps=40)
    flat = jnp.concatenate([whole.position["a"], whole.position["b"]], axis=1)
    for promised in (rate, rate / 2):
        found = audited_run(
            function, optax.sgd(rate), start, steps=40, promises={"far": localizing(step_size=promised)}, error=1e-12
        )
        # Times of steps are one less than those of the points they lead to; at the start both sides are zero.
        farthest, allowed = improve_or_localize(flat, whole.value, step_size=promised)
        expected = audit((farthest[1:], allowed[1:]), error=1e-12)
        assert int(found.audits["far"].violated) == int(expected.violated)
        assert int(found.audits["far"].at) == int(expected.at)
        assert float(found.audits["far"].tightest) == pytest.approx(float(expected.tightest), rel=1e-12)
        assert (int(expected.violated) == -1) == (promised <= 0.5 and promised == rate)
    # The first step, by hand: far by η‖g‖, allowed √(2η(f₀ − f₁)).
    bowl, rate = Quadratic(jnp.diag(jnp.array([2.0, 0.5])), jnp.zeros(2)), 0.4
    found = audited_run(
        bowl, optax.sgd(rate), jnp.array([1.0, -2.0]), steps=1, promises={"far": localizing(step_size=rate)}
    )
    far = rate * np.hypot(2.0, 1.0)
    fall = 2.0 - (0.2**2 + 0.25 * 1.6**2)
    assert float(found.audits["far"].tightest) == pytest.approx(far / np.sqrt(2 * rate * fall), rel=1e-12)


def test_a_run_carried_along_that_diverges_names_the_step():
    """x³ from −1 falls without end: a bound from above is kept while numbers last; divergence is told by itself."""
    cubic = lambda x: jnp.sum(x**3)  # noqa: E731
    below = {"parabola": partial(parabola_promise, smoothness=1.0)}
    found = audited_run(cubic, optax.sgd(0.5), jnp.array([-1.0]), steps=30, promises=below)
    whole = trajectory(cubic, optax.sgd(0.5), jnp.array([-1.0]), steps=30)
    assert int(found.diverged) == int(first_nonfinite(whole)) > 3
    assert not np.isfinite(float(found.end.value))
    assert int(audited_run(cubic, optax.sgd(0.5), jnp.array([-1.0]), steps=3, promises=below).diverged) == -1
    assert int(audited_run(cubic, optax.sgd(0.5), jnp.array([1e200]), steps=3, promises=below).diverged) == 0
    # Over several step sizes at once, each with its own time.
    runs = jax.vmap(lambda rate: audited_run(PARABOLA, optax.sgd(rate), jnp.ones(1), steps=900, promises=below))
    assert runs(jnp.array([0.3, 2.0, 3.0])).diverged.tolist() == [
        int(first_nonfinite(trajectory(PARABOLA, optax.sgd(rate), jnp.ones(1), steps=900))) for rate in (0.3, 2.0, 3.0)
    ]


def test_a_kink_breaks_the_promise_of_the_gradient_at_the_step_that_crosses_it():
    """|x|: from 1 in steps of 0.3 the sign changes in the fourth. No smoothness serves, however large."""
    run = trajectory(lambda x: jnp.abs(x).sum(), optax.sgd(0.3), jnp.ones(1), steps=5)
    jump, allowed = gradient_promise(run, smoothness=6.0)
    np.testing.assert_allclose(jump, [0, 0, 0, 2, 2], atol=1e-15)
    np.testing.assert_allclose(allowed, 1.8, rtol=1e-12)
    assert int(audit(gradient_promise(run, smoothness=6.0)).violated) == 3
    parabola = trajectory(PARABOLA, optax.sgd(0.3, momentum=0.5), jnp.ones(1), steps=6)
    assert int(audit(gradient_promise(parabola, smoothness=2.0)).violated) == -1
    assert float(audit(gradient_promise(parabola, smoothness=2.0)).tightest) == pytest.approx(1.0, rel=1e-12)
    assert int(audit(gradient_promise(parabola, smoothness=1.9)).violated) == 0


def test_a_relu_that_turns_on_breaks_the_promise_of_the_gradient():
    """One hidden unit that is off at the second point; fitting the first shifts it until it is on at both."""
    points, targets = jnp.array([1.0, -0.5]), jnp.array([4.0, 3.0])

    def loss(w):
        return jnp.mean((w["out"] * jax.nn.relu(w["in"] * points + w["shift"]) - targets) ** 2)

    start = {"in": jnp.array(1.0), "shift": jnp.array(0.4), "out": jnp.array(1.0)}
    run = trajectory(loss, optax.sgd(0.01), start, steps=30)
    on = np.asarray(run.position["shift"] - 0.5 * run.position["in"]) > 0
    crossed = int(np.argmax(on)) - 1
    assert crossed > 2 and on[crossed + 1 :].all()
    hessians = jax.vmap(jax.hessian(lambda flat: loss(dict(zip(start, flat, strict=True)))))
    flat = jnp.stack([run.position[name] for name in start], axis=1)
    largest = np.abs(np.linalg.eigvalsh(np.asarray(hessians(flat)))).max()
    assert int(audit(gradient_promise(run, smoothness=1.1 * largest)).violated) == crossed


def test_epochs_measure_what_a_run_of_the_same_steps_passes_through():
    """With momentum, whose memory must go on from epoch to epoch."""
    batches = np.random.default_rng(2).standard_normal((3, 4, 2))
    loss = lambda x, batch: jnp.sum(jnp.array([1.0, 3.0]) * (x - batch) ** 2)  # noqa: E731
    method, start = optax.sgd(0.05, momentum=0.9), jnp.ones(2)
    end, seen, diverged = measured_epochs(loss, method, start, batches=batches, measure=lambda x: {"size": x @ x})
    whole = trajectory(loss, method, start, steps=12, batches=batches.reshape(12, 2)).position
    np.testing.assert_allclose(end, whole[-1], rtol=1e-12)
    np.testing.assert_allclose(seen["size"], np.sum(np.asarray(whole[4::4]) ** 2, 1), rtol=1e-12)
    assert int(diverged) == -1
    # 1 − 2·10¹⁰⁰ each step: 10³⁰⁰ is a number, its thousandfold square is not.
    blown = measured_epochs(loss, optax.sgd(1e100), start, batches=batches, measure=jnp.sum)
    path = trajectory(loss, optax.sgd(1e100), start, steps=12, batches=batches.reshape(12, 2)).position
    assert int(blown.diverged) == 4 == np.argmin(np.isfinite(path).all(1)) and np.isnan(blown.measured[-1])
    with pytest.raises(ValueError, match="batches must have axes epochs and steps"):
        measured_epochs(loss, method, start, batches=np.ones(3), measure=jnp.sum)
