"""Expectations of stochastic gradient descent and of its diffusion for parameters on a torus, to rounding.

On angles every smooth function is a short Fourier series. One step of the iteration, averaged over its finitely many
outcomes, is then a matrix, and so is the generator of the diffusion: nonlinear losses without sampling.

Reference: arora Thm 12.3.4; the matrices are ours.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = ["TorusOracle", "committee_loss", "committee_machine", "double_well", "weak_error_on_torus"]

MOST_STEPS = 100_000
MOST_POINTS = 2500
"""of the grid: its matrices are exponentiated"""


class TorusOracle(NamedTuple):
    """A stochastic gradient on angles: all its outcomes at given points, their probabilities and the dimension."""

    gradients: Callable[[Float[np.ndarray, "points d"]], Float[np.ndarray, "outcomes points d"]]
    probabilities: Float[np.ndarray, " outcomes"]
    dimension: int


def double_well(values: Float[np.ndarray, " outcomes"], probabilities: Float[np.ndarray, " outcomes"]) -> TorusOracle:
    """Return the oracle of f(θ) = ½ cos 2θ, with two wells on the circle, under additive noise of the given law."""

    def gradients(points):
        return -np.sin(2 * points) + values[:, None, None]

    return TorusOracle(gradients, probabilities, 1)


def committee_machine(inputs: Float[np.ndarray, "n 2"], targets: Float[np.ndarray, " n"]) -> TorusOracle:
    """Return the oracle of a two-layer network Σⱼ tanh⟨(cos θⱼ, sin θⱼ), x⟩ of two unit-norm neurons, squared loss.

    A data point is drawn, and the deviation of its gradient from the mean gets a fair random sign: the
    covariance is that of the data and the third moments vanish. Reference: Saad and Solla 1995 for the machine.
    """

    def gradients(points):
        direction = np.stack([np.cos(points), np.sin(points)], -1)
        turned = np.stack([-np.sin(points), np.cos(points)], -1)
        hidden = np.tanh(np.einsum("pjc,nc->npj", direction, inputs))
        error = hidden.sum(-1) - targets[:, None]
        each = error[..., None] * (1 - hidden**2) * np.einsum("pjc,nc->npj", turned, inputs)
        mean = each.mean(0)
        return np.concatenate([each, 2 * mean - each])

    return TorusOracle(gradients, np.full(2 * len(inputs), 0.5 / len(inputs)), 2)


def committee_loss(
    points: Float[np.ndarray, "points 2"], inputs: Float[np.ndarray, "n 2"], targets: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " points"]:
    """Return the mean loss ½(prediction − target)² of the committee machine at each pair of angles."""
    hidden = np.tanh(np.einsum("pjc,nc->npj", np.stack([np.cos(points), np.sin(points)], -1), inputs))
    return ((hidden.sum(-1) - targets[:, None]) ** 2).mean(0) / 2


def _product_grid(axis, dimension):
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), -1).reshape(-1, dimension)


def _composition(moved, nodes):
    """Return the matrix that takes grid values of a trigonometric polynomial to its values at the moved points."""
    frequencies = np.fft.fftfreq(nodes, 1 / nodes)
    waves = np.ones((len(moved), 1))
    for angle in moved.T:  # a product over axes, so that exponentials are few
        waves = (waves[:, :, None] * np.exp(1j * angle[:, None] * frequencies)[:, None, :]).reshape(len(moved), -1)
    axes = tuple(range(1, moved.shape[1] + 1))
    series = np.fft.fftn(waves.reshape(len(moved), *[nodes] * moved.shape[1]), axes=axes)
    return series.reshape(len(moved), -1).real / nodes ** moved.shape[1]


def _derivatives(nodes, dimension):
    """Return the differentiation matrix of each axis on the grid, as Kronecker products of the one-dimensional one."""
    frequencies = np.fft.fftfreq(nodes, 1 / nodes)
    single = np.fft.ifft(1j * frequencies[:, None] * np.fft.fft(np.eye(nodes), axis=0), axis=0).real
    identity = np.eye(nodes)
    if dimension == 1:
        return [single]
    return [np.kron(single, identity), np.kron(identity, single)]


def weak_error_on_torus(
    oracle: TorusOracle,
    steps: Float[np.ndarray, " steps"],
    test: Callable[[Float[np.ndarray, "points d"]], Float[np.ndarray, " points"]],
    *,
    noise: float,
    horizon: float = 1.0,
    nodes: int = 33,
    diffusion_noise: float | None = None,
) -> Float[np.ndarray, " steps"]:
    """Return, per step size, |E g(θ_k) − E g(Θ_T)| at kη = T as a root mean square over uniformly spread starts.

    The iteration is θ − η(∇f + σζ) with √η·σ = `noise` held fixed, the diffusion dΘ = −∇f dt + noise·Σ^½ dW (or with
    `diffusion_noise` instead). Both act on functions: the averaged step by composing a Fourier series with the moved
    points, the diffusion by the exponential of its collocated generator. `nodes` (odd, per axis) must resolve the test
    function and the flow; more of them show whether they do. `horizon` is T. Reference: arora Thm 12.3.4.
    """
    from scipy.linalg import expm

    if nodes % 2 == 0:
        raise ValueError(f"nodes must be odd so that derivatives are real, got {nodes}")
    if nodes**oracle.dimension > MOST_POINTS:
        most = int(MOST_POINTS ** (1 / oracle.dimension))
        raise ValueError(f"nodes must be at most {most} in {oracle.dimension} dimensions, got {nodes}")
    counts = np.rint(horizon / steps)
    if not np.all((counts >= 1) & (counts <= MOST_STEPS)) or not np.allclose(counts * steps, horizon, rtol=1e-9):
        raise ValueError(f"steps must divide the horizon {horizon} into 1 to {MOST_STEPS:,} parts, got {steps}")
    points = _product_grid(2 * np.pi * np.arange(nodes) / nodes, oracle.dimension)
    outcomes = oracle.gradients(points)
    mean = np.einsum("o,opd->pd", oracle.probabilities, outcomes)
    deviations = outcomes - mean
    covariance = np.einsum("o,opd,ope->pde", oracle.probabilities, deviations, deviations)
    scale = noise if diffusion_noise is None else diffusion_noise

    derivatives = _derivatives(nodes, oracle.dimension)
    generator = np.zeros((len(points), len(points)))
    for i, first in enumerate(derivatives):
        generator -= mean[:, i, None] * first
        for j, second in enumerate(derivatives):
            generator += scale**2 / 2 * covariance[:, i, j, None] * (first @ second)
    initial = test(points)
    limit = expm(horizon * generator) @ initial

    errors = []
    for step, count in zip(steps, counts, strict=True):
        moved = points - step * mean - np.sqrt(step) * noise * deviations
        transition = sum(p * _composition(m, nodes) for p, m in zip(oracle.probabilities, moved, strict=True))
        u = initial
        for _ in range(int(count)):
            u = transition @ u
        errors.append(np.sqrt(np.mean((u - limit) ** 2)))
    return np.array(errors)


doors(__name__, dimension="[1, 2]", nodes="[1, 200]", steps="(0, ∞)", noise="[0, ∞)", horizon="(0, ∞)")
