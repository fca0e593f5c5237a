"""A ReLU classifier written out in NumPy, with its gradient by hand, and the best rule for two Gaussian classes.

The listing of lucchi 2.7 divides by the number of samples N in the loss and again in every linear layer, so its
parameter gradients are exactly N times too small. Both gradients are here. Two smaller slips of the listing are not
repeated: its weight decay is not multiplied by the step size, and its sigmoid overflows for very negative logits.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key
from scipy.integrate import quad
from scipy.special import expit, ndtr

from deeptheory.randomness import generator

Matrix = Float[np.ndarray, "_ _"]
Points = Float[np.ndarray, "n d"]
Labels = Float[np.ndarray, " n"]


class Affine(NamedTuple):
    """One layer, inputs @ weights + biases."""

    weights: Matrix
    biases: Float[np.ndarray, " _"]


def init_glorot(key: Key[Array, ""], widths: Sequence[int]) -> list[Affine]:
    """Draw weights of variance 2/(fan in + fan out), biases zero (Glorot and Bengio 2010; lucchi 2.7.2)."""
    rng = generator(key)
    return [Affine(rng.standard_normal((n, m)) * np.sqrt(2 / (n + m)), np.zeros(m)) for n, m in pairwise(widths)]


def logits(network: Sequence[Affine], x: Points) -> Labels:
    """Return the one output of the network for each input, before the sigmoid."""
    return _forward(network, x)[-1][:, 0]


def cross_entropy(z: Labels, y: Labels) -> float:
    """Return the mean of −y log σ(z) − (1−y) log(1−σ(z)), without overflow at either end."""
    return float(np.mean(np.logaddexp(0, z) - y * z))


def accuracy(z: Labels, y: Labels) -> float:
    """Return the share of labels in {0, 1} that the sign of the logit gets right."""
    return float(np.mean((z > 0) == (y > 0.5)))


def gradient(network: Sequence[Affine], x: Points, y: Labels) -> list[Affine]:
    """Return the gradient of the mean cross entropy by backpropagation."""
    return _backward(network, x, y, layer_divisor=1)


def printed_gradient(network: Sequence[Affine], x: Points, y: Labels) -> list[Affine]:
    """Return what the listing of lucchi 2.7.2 computes: every layer divides by N although the loss already did."""
    return _backward(network, x, y, layer_divisor=len(x))


def _forward(network, x):
    values = [x]
    for depth, layer in enumerate(network, start=1):
        z = values[-1] @ layer.weights + layer.biases
        values.append(np.maximum(z, 0) if depth < len(network) else z)
    return values


def _backward(network, x, y, *, layer_divisor):
    if not np.all((y == 0) | (y == 1)):
        raise ValueError("labels must be 0 or 1")
    values = _forward(network, x)
    upstream = (expit(values[-1]) - y[:, None]) / len(y)
    result = []
    for depth in range(len(network) - 1, -1, -1):
        below = values[depth]
        result.insert(0, Affine(below.T @ upstream / layer_divisor, upstream.sum(0) / layer_divisor))
        if depth:
            upstream = (upstream @ network[depth].weights.T) * (below > 0)
    return result


class Training(NamedTuple):
    """Loss and accuracy before each step, and the network after the last."""

    losses: Float[np.ndarray, " steps"]
    accuracies: Float[np.ndarray, " steps"]
    network: list[Affine]


def train_classifier(
    network: Sequence[Affine],
    x: Points,
    y: Labels,
    *,
    step_size: float = 0.5,
    steps: int = 500,
    weight_decay: float = 0.0,
    gradient=gradient,
) -> Training:
    """Run full-batch gradient descent, W ← W − η(∂W + λW), with the gradient given (`printed_gradient` to compare)."""
    if step_size <= 0 or steps < 1:
        raise ValueError(f"need step_size > 0 and steps ≥ 1, got step_size={step_size} and steps={steps}")
    network, losses, accuracies = list(network), [], []
    for _ in range(steps):
        z = logits(network, x)
        losses.append(cross_entropy(z, y))
        accuracies.append(accuracy(z, y))
        slopes = gradient(network, x, y)
        network = [
            Affine(w - step_size * (dw + weight_decay * w), b - step_size * db)
            for (w, b), (dw, db) in zip(network, slopes, strict=True)
        ]
    return Training(np.array(losses), np.array(accuracies), network)


class TwoGaussians(NamedTuple):
    """Two classes of equal weight, label k drawn from N(mean_k, covariance_k)."""

    means: Float[np.ndarray, "2 d"]
    covariances: Float[np.ndarray, "2 d d"]


def crossed_gaussians() -> TwoGaussians:
    """Return the pair of lucchi 2.7.5: means (2,2) and (−1,−1), variances 2, covariances +1 and −1."""
    return TwoGaussians(np.array([[2.0, 2], [-1, -1]]), np.array([[[2.0, 1], [1, 2]], [[2, -1], [-1, 2]]]))


def sample_classes(key: Key[Array, ""], classes: TwoGaussians, per_class: int) -> tuple[Points, Labels]:
    """Draw the same number of points from both classes, label 0 first."""
    rng = generator(key)
    roots = np.linalg.cholesky(classes.covariances)
    normal = rng.standard_normal((2, per_class, classes.means.shape[1]))
    points = classes.means[:, None] + normal @ roots.transpose(0, 2, 1)
    return points.reshape(-1, normal.shape[-1]), np.repeat([0.0, 1.0], per_class)


def bayes_logits(classes: TwoGaussians, x: Points) -> Labels:
    """Return log p(x | 1)/p(x | 0), the quadratic discriminant: no classifier has smaller error or cross entropy."""
    centred = x - classes.means[:, None]
    squares = np.einsum("kni,kij,knj->kn", centred, np.linalg.inv(classes.covariances), centred)
    sizes = np.linalg.slogdet(classes.covariances)[1]
    return 0.5 * (squares[0] - squares[1] + sizes[0] - sizes[1])


def bayes_cross_entropy(classes: TwoGaussians, *, nodes: int = 200) -> float:
    """Return the least cross entropy any model can have on the population of two plane classes.

    ½E₀ log(1+eˢ) + ½E₁ log(1+e⁻ˢ) with s the log-odds, by a tensor Gauss–Hermite rule in whitened coordinates.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(points, points), -1).reshape(-1, 2)
    joint = np.outer(weights, weights).ravel() / weights.sum() ** 2
    roots = np.linalg.cholesky(classes.covariances)
    odds = [bayes_logits(classes, mean + grid @ root.T) for mean, root in zip(classes.means, roots, strict=True)]
    return float(0.5 * joint @ (np.logaddexp(0, odds[0]) + np.logaddexp(0, -odds[1])))


def bayes_accuracy(classes: TwoGaussians) -> float:
    """Return the largest accuracy any rule can have on the population of two plane classes.

    Along each vertical line in whitened coordinates the log-odds are quadratic, so the part of the line that the
    rule gets right is known from its roots; what remains is one integral over the lines.
    """
    return float(0.5 * sum(_share_right(classes, label) for label in (0, 1)))


def _share_right(classes: TwoGaussians, label: int) -> float:
    root, mean = np.linalg.cholesky(classes.covariances[label]), classes.means[label]
    side = 2 * label - 1

    def along(first: float) -> float:
        # The quadratic through three points of the line, signed so that positive means right.
        line = mean + np.array([[first, -1.0], [first, 0.0], [first, 1.0]]) @ root.T
        below, middle, above = side * bayes_logits(classes, line)
        a, b, c = (above + below) / 2 - middle, (above - below) / 2, middle
        if abs(a) < 1e-14 * (abs(b) + abs(c)):
            return float(ndtr(c / abs(b))) if b else float(c > 0)
        discriminant = b * b - 4 * a * c
        if discriminant <= 0:
            return float(a > 0)
        low, high = np.sort((-b + np.array([-1, 1]) * np.sqrt(discriminant)) / (2 * a))
        between = float(ndtr(high) - ndtr(low))
        return 1 - between if a > 0 else between

    return quad(lambda t: np.exp(-t * t / 2) / np.sqrt(2 * np.pi) * along(t), -9, 9, limit=400, epsabs=1e-11)[0]
