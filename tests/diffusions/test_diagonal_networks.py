"""Diagonal networks, against automatic differentiation, the flow of any parametrization and a vertex by hand."""

import jax
import numpy as np
import pytest

from deeptheory.diffusions.diagonal_networks import (
    Diagonal,
    batch_descent,
    diagonal_descent,
    diagonal_flow,
    label_noise_descent,
    scale_decay,
)
from deeptheory.implicit_bias.reparametrization import reparametrized_flow, squares_apart


@pytest.fixture
def problem():
    draw = np.random.default_rng(3)
    given, answer = draw.standard_normal((2, 3, 5)), draw.standard_normal((2, 3))
    return given, answer, Diagonal(*draw.uniform(0.5, 1.5, (2, 2, 5)))


def test_flow_is_that_of_the_parametrization_and_keeps_its_scale(problem):
    given, answer, start = problem
    found = diagonal_flow(*problem, time=0.7)
    np.testing.assert_allclose(found.scale, start.scale, rtol=1e-7)
    for row in range(2):
        theta = (start.up[row], start.down[row])
        end = reparametrized_flow(
            squares_apart, lambda w, r=row: ((given[r] @ w - answer[r]) ** 2).mean() / 2, theta, np.array([0.7])
        )[-1]
        np.testing.assert_allclose(np.concatenate([found.up[row], found.down[row]]), end, rtol=1e-6)


def test_descent_steps_along_the_gradient(problem):
    given, answer, start = problem

    def loss(u, v):
        return (((given @ (u**2 - v**2)[..., None])[..., 0] - answer) ** 2).sum() / 6

    slopes = jax.grad(loss, (0, 1))(*start)
    found = diagonal_descent(*problem, rate=0.05, steps=1)
    for after, before, slope in zip(found, start, slopes, strict=True):
        np.testing.assert_allclose(after, before - 0.05 * np.asarray(slope), rtol=1e-6)


def test_a_noisy_step_shrinks_the_scale_by_its_residual(problem):
    given, answer, start = problem
    rate, deviation = 0.03, 0.4
    found = label_noise_descent(np.random.default_rng(5), *problem, rate=rate, deviation=deviation, steps=1)
    for row in range(2):
        # One of three examples with one of two labels was taken: the scale says which.
        residuals = given[row] @ start.weights[row] - answer[row]
        possible = [
            start.scale[row] * (1 - 4 * rate**2 * (residual + sign) ** 2 * x**2)
            for x, residual in zip(given[row], residuals, strict=True)
            for sign in (deviation, -deviation)
        ]
        assert min(np.abs(found.scale[row] - each).max() for each in possible) < 1e-14


def test_noisy_steps_are_fair(problem):
    given, answer, start = problem
    many = 40_000
    copies = given[:1].repeat(many, 0), answer[:1].repeat(many, 0)
    begin = Diagonal(start.up[:1].repeat(many, 0), start.down[:1].repeat(many, 0))
    found = label_noise_descent(np.random.default_rng(6), *copies, begin, rate=0.01, deviation=0.5, steps=1)
    mean = diagonal_descent(given[:1], answer[:1], Diagonal(start.up[:1], start.down[:1]), rate=0.01, steps=1)
    error = found.up.std(0) / many**0.5
    assert (np.abs(found.up.mean(0) - mean.up[0]) < 6 * error).all()


def test_shapes_that_do_not_match_are_refused(problem):
    given, answer, start = problem
    with pytest.raises(ValueError, match=r"start\.up must have shape"):
        diagonal_descent(given, answer, Diagonal(start.up[:, :3], start.down), rate=0.1, steps=1)


def test_batches_step_along_the_gradient_of_their_examples(problem):
    given, answer, start = problem
    everything = np.tile(np.arange(3), (2, 4, 1))
    for one, other in zip(
        batch_descent(*problem, everything, rate=0.05), diagonal_descent(*problem, rate=0.05, steps=4), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    chosen = np.array([[[0, 2]], [[1, 1]]])
    found = batch_descent(*problem, chosen, rate=0.05)
    for row, which in enumerate(([0, 2], [1, 1])):

        def loss(u, v, row=row, which=tuple(which)):
            return sum((given[row, i] @ (u**2 - v**2) - answer[row, i]) ** 2 for i in which) / 4

        slopes = jax.grad(loss, (0, 1))(start.up[row], start.down[row])
        np.testing.assert_allclose(found.up[row], start.up[row] - 0.05 * np.asarray(slopes[0]), rtol=1e-6)
        np.testing.assert_allclose(found.down[row], start.down[row] - 0.05 * np.asarray(slopes[1]), rtol=1e-6)
    with pytest.raises(ValueError, match="0 to 2"):
        batch_descent(*problem, chosen + 1, rate=0.05)


def test_decay_of_the_scale_at_first_is_the_mean_over_all_batches(problem):
    given, answer, start = problem
    residual = np.einsum("ped,pd->pe", given, start.weights) - answer
    single = residual[..., None] * given
    pairs = [(single[:, i] + single[:, j]) / 2 for i in range(3) for j in range(3)]
    found = scale_decay(*problem, batch=2.0, time=1e-7, tolerance=1e-12)
    np.testing.assert_allclose(found / 1e-7, 4 * np.mean(np.square(pairs), axis=0), rtol=1e-4)


@pytest.mark.item("A8.39")
@pytest.mark.parametrize("batch", [1.0, 3.0, np.inf])
def test_decay_of_the_scale_in_closed_form(batch):
    """One weight, two examples: dt = −dw/(4√(w² + 4s²)g), so that 4∫g² dt is an integral over w alone."""
    x, s, truth = np.array([1.0, 0.4]), 0.3, 1.7
    given, answer = x[None, :, None], (x * truth)[None]
    start = Diagonal(np.full((1, 1), s**0.5), np.full((1, 1), s**0.5))
    mean, spread = np.mean(x**2), np.var(x**2)
    whole = mean * (truth * np.arcsinh(truth / (2 * s)) - np.sqrt(truth**2 + 4 * s**2) + 2 * s)
    found = scale_decay(given, answer, start, batch=batch, time=60.0)
    np.testing.assert_allclose(found[0, 0], whole * (1 + spread / mean**2 / batch), rtol=1e-7)
