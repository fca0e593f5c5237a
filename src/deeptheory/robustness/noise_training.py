"""Training on noisy copies, so that the base classifier of a smoothing answers well around each point.

Reference: arora 18.2; Cohen, Rosenfeld and Kolter 2019.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = ["certified_accuracy", "fit_on_noisy_copies", "two_moons"]


def two_moons(
    key: Key[Array, ""], samples: int, *, noise: float = 0.1
) -> tuple[Float[np.ndarray, "n 2"], Int[np.ndarray, " n"]]:
    """Two interleaved half circles in the plane with labels 0 and 1.

    Unit half circles, one upside down, half of the points on each, with Gaussian noise of that deviation. Reference:
    `make_moons` of scikit-learn, Pedregosa et al. 2011.
    """
    rng = generator(key)
    labels = np.arange(samples) % 2
    angle = np.pi * rng.random(samples)
    x = np.where(labels == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(labels == 0, np.sin(angle), 0.5 - np.sin(angle))
    return np.stack([x - 0.5, y - 0.25], 1) + noise * rng.standard_normal((samples, 2)), labels


def fit_on_noisy_copies(
    key: Key[Array, ""],
    inputs: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    *,
    beta: float,
    copies: int = 20,
    features: int = 200,
    bandwidth: float = 0.35,
    ridge: float = 1e-3,
) -> Callable[[Float[np.ndarray, "m d"]], Int[np.ndarray, " m"]]:
    """Classifier with labels 0 and 1 fitted by least squares on x + N(0, β²I) under the label of x.

    Random cosine features stand for the network: the fit is a linear solve, the protocol that of arora 18.2. `beta` is
    β, with `copies` of every point; features are cos(ω·x + phase) with ω ~ N(0, I)/`bandwidth`, and `ridge` is added to
    the diagonal of their second moments.
    """
    if not (beta >= 0 and bandwidth > 0 and ridge > 0):
        raise ValueError(f"beta ≥ 0, bandwidth > 0 and ridge > 0 are needed, got {beta}, {bandwidth}, {ridge}")
    rng = generator(key)
    frequencies = rng.standard_normal((inputs.shape[1], features)) / bandwidth
    phases = 2 * np.pi * rng.random(features)

    def embed(points):
        return np.cos(points @ frequencies + phases)

    noisy = np.repeat(inputs, copies, axis=0) + beta * rng.standard_normal((len(inputs) * copies, inputs.shape[1]))
    matrix = embed(noisy)
    gram = matrix.T @ matrix / len(matrix) + ridge * np.eye(features)
    weights = np.linalg.solve(gram, matrix.T @ (2.0 * np.repeat(labels, copies) - 1) / len(matrix))
    return lambda points: (embed(points) @ weights > 0).astype(int)


def certified_accuracy(
    radii: Float[np.ndarray, " n"],
    correct: Float[np.ndarray, " n"] | Int[np.ndarray, " n"],
    at: Float[np.ndarray, " r"],
) -> Float[np.ndarray, " r"]:
    """Share of points that are answered correctly with a radius of at least `at`."""
    return np.mean((radii[None] >= at[:, None]) & (np.asarray(correct)[None] > 0), axis=1)


doors(__name__, copies="[1, 1e5]", features="[1, 1e4]", samples="[1, 1e7]", noise="[0, ∞)")
