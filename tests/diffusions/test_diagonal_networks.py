"""Diagonal networks, against automatic differentiation, the flow of any parametrization and a vertex by hand."""

import jax
import numpy as np
import pytest

from deeptheory.diffusions.diagonal_networks import (
    Diagonal,
    diagonal_descent,
    diagonal_flow,
    label_noise_descent,
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
