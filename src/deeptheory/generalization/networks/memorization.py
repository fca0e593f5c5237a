"""Networks that memorize: labels corrupted by chance, training until they are fitted, and a network made to fit them.

Zhang, Bengio, Hardt, Recht and Vinyals 2017 in two parts: the same training fits true and random labels, and a network
with two layers and 2n + d weights takes any n values at any n different points of ℝᵈ.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.linalg import solve_triangular

from deeptheory.data import digits
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.norms import relu_network

__all__ = [
    "FittedNetwork",
    "MemorizingNetwork",
    "corrupt_labels",
    "fit_labels",
    "initial_layers",
    "memorizing_network",
    "small_digits",
]

Layers = Sequence[Float[AnyArray, "_out _in"]]


def small_digits(*classes: int) -> tuple[Float[np.ndarray, "n 49"], Int[np.ndarray, " n"]]:
    """The shipped digits of these classes as 7×7 averaged pixels of length 1, and 0, 1, … for their classes in order.

    Training digits come before test digits; in single precision, which is enough for training and half the work.
    """
    data = digits()
    images, labels = np.concatenate([data[0], data[2]]), np.concatenate([data[1], data[3]])
    if not set(classes) <= set(range(10)) or len(set(classes)) < max(2, len(classes)):
        raise ValueError(f"classes must be at least two different digits from 0 to 9, got {classes}")
    wanted = np.isin(labels, classes)
    small = images[wanted].reshape(-1, 7, 2, 7, 2).mean((2, 4)).reshape(-1, 49)
    places = np.array([classes.index(label) for label in labels[wanted]])
    return (small / np.linalg.norm(small, axis=1, keepdims=True)).astype(np.float32), places


def corrupt_labels(
    key: Key[Array, ""], labels: Int[AnyArray, " n"], share: float, *, classes: int
) -> Int[np.ndarray, " n"]:
    """Replace each label with probability `share` by one drawn uniformly from all classes, its own included.

    A label therefore changes with probability share·(1 − 1/k); share 1 leaves nothing of the labels. handbook 9.2.1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"the share of corrupted labels must lie in [0, 1], got {share}")
    if classes < 2:
        raise ValueError(f"there must be at least 2 classes, got {classes}")
    draw = generator(key)
    # Drawn in this order, a larger share corrupts the same labels and more, to the same values.
    replaced, fresh = draw.random(len(labels)) < share, draw.integers(0, classes, len(labels))
    return np.where(replaced, fresh, np.asarray(labels))


class MemorizingNetwork(NamedTuple):
    """c(x) = Σⱼ wⱼ·relu(a·x − bⱼ): d + 2n numbers."""

    direction: Float[np.ndarray, " d"]
    thresholds: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]

    def __call__(self, inputs: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        return self.hidden(inputs) @ self.weights

    def hidden(self, inputs: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m n"]:
        """Outputs of the hidden units; on the sorted sample a lower triangular matrix."""
        return np.maximum((inputs @ self.direction)[:, None] - self.thresholds, 0.0)

    @property
    def parameters(self) -> int:
        """d + 2n."""
        return self.direction.size + self.thresholds.size + self.weights.size


def memorizing_network(
    inputs: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, " n"],
    direction: Float[np.ndarray, " d"],
    *,
    place: float = 0.5,
) -> MemorizingNetwork:
    """The network with n hidden units that takes these values at these inputs, by forward substitution.

    Projections z₁ < … < zₙ of the inputs on the direction are interleaved with thresholds b₁ < z₁ < b₂ < … < zₙ, each a
    share `place` into its gap, so the hidden outputs relu(zᵢ − bⱼ) are lower triangular with a positive diagonal. With
    t = place the slope behind the next threshold is (Δy/Δz − t·s)/(1 − t) where s is the one before: errors grow like
    (t/(1 − t))ⁿ for t > 1/2 and die out below. Any direction that keeps the inputs apart will do; a random one
    does almost surely. Reference: handbook 9.2.1, Zhang et al. 2017, Thm 1.
    """
    if not 0 < place < 1:
        raise ValueError(f"thresholds must lie inside the gaps, at a place in (0, 1), got {place}")
    projections = inputs @ direction
    order = np.argsort(projections)
    steps = np.diff(projections[order])
    if len(values) > 1 and not np.min(steps) > 0:
        raise ValueError("two inputs have the same projection: choose another direction, or remove equal inputs")
    first = np.array([np.mean(steps) if len(steps) else 1.0])
    sorted_projections = projections[order]
    thresholds = sorted_projections - (1 - place) * np.concatenate([first, steps])
    network = MemorizingNetwork(np.asarray(direction), thresholds, np.zeros(len(values)))
    weights = solve_triangular(network.hidden(inputs[order]), values[order], lower=True)
    return network._replace(weights=weights)


class FittedNetwork(NamedTuple):
    """A bias-free ReLU network after training: its layers, steps taken, loss reached, training error at every step.

    Behind the last step taken the recorded errors repeat the last one.
    """

    layers: tuple[Float[Array, "_out _in"], ...]
    steps: Int[Array, ""]
    loss: Float[Array, ""]
    errors: Float[Array, " most"]


def initial_layers(key: Key[Array, ""], widths: Sequence[int], *, scale: float = 1.0) -> list[Float[np.ndarray, "_ _"]]:
    """Gaussian layers between these widths, inputs first, entries of variance scale²·2/fan-in (scale²/fan-in last)."""
    draw = generator(key)
    pairs = list(zip(widths[1:], widths[:-1], strict=True))
    gains = [np.sqrt(2.0)] * (len(pairs) - 1) + [1.0]
    return [
        scale * gain / np.sqrt(shape[1]) * draw.standard_normal(shape) for gain, shape in zip(gains, pairs, strict=True)
    ]


def fit_labels(
    layers: Layers,
    inputs: Float[AnyArray, "n d"],
    labels: Int[AnyArray, " n"],
    *,
    loss: float = 0.1,
    rate: float = 0.01,
    most: int = 1000,
    weights: Float[AnyArray, " n"] | None = None,
) -> FittedNetwork:
    """Train all layers by Adam on the whole sample until no error is left and the mean cross-entropy is at most `loss`.

    Or after `most` looks at the sample. `weights` count examples, and those with weight 0 are as if absent: samples of
    different sizes share one compiled program. So do widths: hidden units whose weights in and out are zero stay zero.
    To be wrapped in `jax.jit` with `most` static. `rate` is Adam's.
    """
    inputs, labels = jnp.asarray(inputs), jnp.asarray(labels)
    share = jnp.ones(len(labels), inputs.dtype) if weights is None else jnp.asarray(weights, inputs.dtype)
    share = share / jnp.sum(share)
    own = labels[:, None] == jnp.arange(np.shape(layers[-1])[0])

    def objective(layers):
        outputs = relu_network(layers, inputs)
        # Written with maxima and sums alone, which compile in a third of the time of argmax and logsumexp.
        behind = outputs - jnp.sum(jnp.where(own, outputs, 0.0), axis=1, keepdims=True)
        others = jnp.max(jnp.where(own, -jnp.inf, behind), axis=1)
        top = jax.lax.stop_gradient(jnp.maximum(others, 0.0))
        costs = top + jnp.log(jnp.sum(jnp.exp(behind - top[:, None]), axis=1))
        return share @ costs, share @ (others >= 0).astype(share.dtype)

    def going(state):
        _, _, _, value, step, errors = state
        return ((value > loss) | (errors[step - 1] > 0)) & (step < most)

    def advance(state):
        layers, first, second, _, step, errors = state
        # The gradient appears once in the loop and nowhere else: compiling it is most of the cost of a small run.
        (value, wrong), slope = jax.value_and_grad(objective, has_aux=True)(layers)
        # At the end it only looks: loss and error are those of the weights returned.
        done = ((value <= loss) & (wrong == 0)) | (step == most - 1)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slope)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, slope)
        length = jnp.where(done, 0.0, lengths[step])
        layers = jax.tree.map(
            lambda w, m, v: w - length * m / (jnp.sqrt(v) * scales[step] + 1e-8), layers, first, second
        )
        return layers, first, second, value, step + 1, errors.at[step].set(wrong)

    count = np.arange(1, most + 1)
    lengths = jnp.asarray(rate / (1 - 0.9**count), inputs.dtype)
    scales = jnp.asarray(1 / np.sqrt(1 - 0.999**count), inputs.dtype)
    start = tuple(jnp.asarray(layer, inputs.dtype) for layer in layers)
    nothing = jax.tree.map(jnp.zeros_like, start)
    unknown = jnp.full(most, jnp.inf, inputs.dtype)
    state = (start, nothing, nothing, jnp.asarray(jnp.inf, inputs.dtype), 0, unknown)
    trained, _, _, value, taken, errors = jax.lax.while_loop(going, advance, state)
    errors = jnp.where(jnp.arange(most) < taken, errors, errors[taken - 1])
    return FittedNetwork(trained, jnp.asarray(taken) - 1, value, errors)


doors(__name__, most="[1, 1e5]")
