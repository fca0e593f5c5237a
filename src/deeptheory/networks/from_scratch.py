"""A ReLU classifier written out in NumPy, with its gradient by hand, and the best rule for two Gaussian classes.

The listing of lucchi 2.7 divides by the number of samples N in the loss and again in every linear layer, so its
parameter gradients are exactly N times too small. Both gradients are here. In two more places our way is another than
the listing's, which is here too and no error: its weight decay is not multiplied by the step size (`printed_step`),
and its sigmoid is cut off at 1e-12 (`printed_probabilities`); NumPy warns of an overflow there, whose value is right.
Parameters and data may carry leading ensemble axes, one training run for each.

`step_size` is η, `weight_decay` λ, `slopes` the gradients by weights and biases; `ensemble` are leading axes of
networks or data drawn independently.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.integrate import quad
from scipy.special import expit, ndtr, roots_hermitenorm

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.cross_entropy import binary_cross_entropy
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator

__all__ = [
    "Affine",
    "TwoGaussians",
    "bayes_accuracy",
    "bayes_cross_entropy",
    "bayes_logits",
    "bayes_quadric",
    "crossed_gaussians",
    "gradient_step",
    "init_glorot",
    "population_cross_entropy",
    "printed_gradient",
    "printed_probabilities",
    "printed_step",
    "sample_classes",
    "train_classifier",
]

Points = Float[np.ndarray, "*ensemble n d"]
Labels = Float[np.ndarray, "*ensemble n"]


class Affine(NamedTuple):
    """One layer, inputs @ weights + biases."""

    weights: Float[AnyArray, "*ensemble _ _"]
    biases: Float[AnyArray, "*ensemble _"]


def init_glorot(key: Key[Array, ""], widths: Sequence[int], *, ensemble: tuple[int, ...] = ()) -> list[Affine]:
    """Draw weights of variance 2/(fan in + fan out), biases zero (Glorot and Bengio 2010; lucchi 2.7.2)."""
    rng = generator(key)
    return [
        Affine(rng.standard_normal((*ensemble, n, m)) * np.sqrt(2 / (n + m)), np.zeros((*ensemble, m)))
        for n, m in pairwise(widths)
    ]


def logits(network: Sequence[Affine], x: Points) -> Labels:
    """Return the one output of the network for each input, before the sigmoid."""
    return _forward(network, x)[-1][..., 0]


def cross_entropy(z: Labels, y: Labels) -> Float[np.ndarray, "*ensemble"] | np.floating:
    """Return the mean of −y log σ(z) − (1−y) log(1−σ(z)), without overflow at either end."""
    return np.mean(binary_cross_entropy(z, y), axis=-1)


def accuracy(z: Labels, y: Labels) -> Float[np.ndarray, "*ensemble"] | np.floating:
    """Return the share of labels in {0, 1} that the sign of the logit gets right."""
    return np.mean((z > 0) == (y > 0.5), axis=-1)


def differentiable_loss(
    network: Sequence[Affine], x: Float[AnyArray, "n d"], y: Float[AnyArray, " n"]
) -> Float[Array, ""]:
    """Return the mean cross entropy in JAX, from the probabilities of the labels: for automatic differentiation."""
    hidden = jnp.asarray(x)
    for layer in network[:-1]:
        hidden = jax.nn.relu(hidden @ layer.weights + layer.biases)
    z = (hidden @ network[-1].weights + network[-1].biases)[:, 0]
    return -jnp.mean(jnp.where(y == 1, jax.nn.log_sigmoid(z), jax.nn.log_sigmoid(-z)))


def gradient(network: Sequence[Affine], x: Points, y: Labels) -> list[Affine]:
    """Return the gradient of the mean cross entropy by backpropagation."""
    values = _forward(network, x)
    z, ones = values[-1], y[..., None] == 1
    return _backward(network, values, y, np.where(ones, -expit(-z), expit(z)), layer_divisor=1)


def printed_probabilities(z: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return ŷ of the listing of lucchi 2.7.1: 1/(1 + e^(−z)) as it stands, cut to [1e-12, 1 − 1e-12].

    A loss made of it is at most 27.6 for each sample, and its slope ŷ − y no longer vanishes beyond |z| = 27.6.
    """
    with np.errstate(over="ignore"):
        return np.clip(1.0 / (1.0 + np.exp(-z)), 1e-12, 1 - 1e-12)


def printed_gradient(network: Sequence[Affine], x: Points, y: Labels) -> list[Affine]:
    """Return what the listings of lucchi 2.7.1 and 2.7.2 compute: every layer divides by N, and the loss did before."""
    values = _forward(network, x)
    return _backward(network, values, y, printed_probabilities(values[-1]) - y[..., None], layer_divisor=x.shape[-2])


def _forward(network, x):
    values = [x]
    for depth, layer in enumerate(network, start=1):
        z = values[-1] @ layer.weights + layer.biases[..., None, :]
        values.append(np.maximum(z, 0) if depth < len(network) else z)
    return values


def _backward(network, values, y, slopes, *, layer_divisor):
    if not np.all((y == 0) | (y == 1)):
        raise ValueError("labels must be 0 or 1")
    upstream = slopes / y.shape[-1]
    result = []
    for depth in range(len(network) - 1, -1, -1):
        below = values[depth]
        weights = below.swapaxes(-1, -2) @ upstream
        result.insert(0, Affine(weights / layer_divisor, upstream.sum(-2) / layer_divisor))
        if depth:
            upstream = (upstream @ network[depth].weights.swapaxes(-1, -2)) * (below > 0)
    return result


def gradient_step(
    network: Sequence[Affine], slopes: Sequence[Affine], *, step_size: float, weight_decay: float = 0.0
) -> list[Affine]:
    """Return W − η(∂W + λW), b − η∂b: a step down the loss with the penalty (λ/2)‖W‖²."""
    return [
        Affine(w - step_size * (dw + weight_decay * w), b - step_size * db)
        for (w, b), (dw, db) in zip(network, slopes, strict=True)
    ]


def printed_step(
    network: Sequence[Affine], slopes: Sequence[Affine], *, step_size: float, weight_decay: float = 0.0
) -> list[Affine]:
    """Return W − (η∂W + λW), b − η∂b, the step of the listing of lucchi 2.7.4: its decay does not know the step size.

    The same as `gradient_step` with decay λ/η; at λ ≥ 1 weights are reversed whatever η is.
    """
    return [
        Affine(w - (step_size * dw + weight_decay * w), b - step_size * db)
        for (w, b), (dw, db) in zip(network, slopes, strict=True)
    ]


class Training(NamedTuple):
    """Loss and accuracy before each step, and the network after the last."""

    losses: Float[np.ndarray, "steps *ensemble"]
    accuracies: Float[np.ndarray, "steps *ensemble"]
    network: list[Affine]


def train_classifier(
    network: Sequence[Affine],
    x: Points,
    y: Labels,
    *,
    step_size: float = 0.5,
    steps: int = 500,
    weight_decay: float = 0.0,
    gradient: Callable[..., list[Affine]] = gradient,
    step: Callable[..., list[Affine]] = gradient_step,
) -> Training:
    """Run full-batch gradient descent, with the gradient and the step given.

    With `printed_gradient` and `printed_step` it is the loop of lucchi 2.7.7; its learning rate is `step_size`.
    """
    network, losses, accuracies = list(network), [], []
    for _ in range(steps):
        z = logits(network, x)
        losses.append(cross_entropy(z, y))
        accuracies.append(accuracy(z, y))
        network = step(network, gradient(network, x, y), step_size=step_size, weight_decay=weight_decay)
    return Training(np.array(losses), np.array(accuracies), network)


class TwoGaussians(NamedTuple):
    """Two classes of equal weight, label k drawn from N(mean_k, covariance_k)."""

    means: Float[np.ndarray, "2 d"]
    covariances: Float[np.ndarray, "2 d d"]


def crossed_gaussians() -> TwoGaussians:
    """Return the pair of lucchi 2.7.5: means (2,2) and (−1,−1), variances 2, covariances +1 and −1."""
    return TwoGaussians(np.array([[2.0, 2], [-1, -1]]), np.array([[[2.0, 1], [1, 2]], [[2, -1], [-1, 2]]]))


def sample_classes(
    key: Key[Array, ""], classes: TwoGaussians, per_class: int, *, ensemble: tuple[int, ...] = ()
) -> tuple[Points, Labels]:
    """Draw the same number of points from both classes, label 0 first."""
    rng = generator(key)
    roots = np.linalg.cholesky(classes.covariances)
    normal = rng.standard_normal((*ensemble, 2, per_class, classes.means.shape[1]))
    points = classes.means[:, None] + normal @ roots.transpose(0, 2, 1)
    labels = np.broadcast_to(np.repeat([0.0, 1.0], per_class), (*ensemble, 2 * per_class))
    return points.reshape(*labels.shape, -1), labels


def bayes_logits(classes: TwoGaussians, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """Return log p(x | 1)/p(x | 0), the quadratic discriminant: no classifier has smaller error or cross entropy."""
    centred = x - classes.means[:, None]
    squares = np.einsum("kni,kij,knj->kn", centred, np.linalg.inv(classes.covariances), centred)
    sizes = np.linalg.slogdet(classes.covariances)[1]
    return 0.5 * (squares[0] - squares[1] + sizes[0] - sizes[1])


def bayes_quadric(classes: TwoGaussians) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, " d"], float]:
    """Return A, b, c of the log-odds xᵀAx + b·x + c of `bayes_logits`: the best boundary is the quadric where it is 0.

    A = ½(Σ₀⁻¹ − Σ₁⁻¹), so equal covariances give a plane. For `crossed_gaussians` the boundary is the hyperbola
    (x₁ + 5/2)(x₂ + 5/2) = 27/4.
    """
    first, second = np.linalg.inv(classes.covariances)
    zero, one = classes.means
    sizes = np.linalg.slogdet(classes.covariances)[1]
    constant = zero @ first @ zero - one @ second @ one + sizes[0] - sizes[1]
    return (first - second) / 2, second @ one - first @ zero, float(constant / 2)


def population_cross_entropy(
    classes: TwoGaussians, model: Callable[[Float[np.ndarray, "n 2"]], Labels], *, nodes: int = 100
) -> Float[np.ndarray, "*ensemble"] | float:
    """Return the expected cross entropy of a model's logits on two plane classes, ½E₀ log(1+eᶻ) + ½E₁ log(1+e⁻ᶻ).

    A tensor Gauss–Hermite rule in whitened coordinates: to nine digits for smooth logits, to about four for a trained
    ReLU network, whose logits have kinks.
    """
    points, weights = roots_hermitenorm(nodes)
    grid = np.stack(np.meshgrid(points, points), -1).reshape(-1, 2)
    joint = np.outer(weights, weights).ravel() / weights.sum() ** 2
    roots = np.linalg.cholesky(classes.covariances)
    zero, one = (model(mean + grid @ root.T) for mean, root in zip(classes.means, roots, strict=True))
    return 0.5 * (logistic_loss(-zero) + logistic_loss(one)) @ joint


def bayes_cross_entropy(classes: TwoGaussians) -> float:
    """Return the least expected cross entropy that any model can have on two plane classes: that of the log-odds."""
    return float(population_cross_entropy(classes, lambda x: bayes_logits(classes, x)))


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


doors(__name__, nodes="[1, 1000]", per_class="[1, 1e7]", steps="[1, 1e5]", step_size="(0, ∞)", weight_decay="[0, ∞)")
