"""A network that leaves its kernel behind: less error than its tangent kernel, and than any fixed features, allow."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.linearization import doubled
from deeptheory.kernels.finite.tangents import functional, kernel_alignment, tangent_kernel
from deeptheory.kernels.lazy.training import train
from deeptheory.kernels.limits.dense_networks import fully_connected
from deeptheory.kernels.limits.fixed_features import fixed_feature_floor, single_index_spectrum
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line
from deeptheory.networks.mlp import init_mlp

DIMENSION, SAMPLES, NEURONS = 20, 120, 16
BELOW = ("network below the kernel", "network below the floor")
RICH: dict[str, Any] = dict(weight_scale=NEURONS**0.5, bias_scale=1.0)
"""Standard parametrisation: scales are undone, and the size of the initial weights decides how lazy the network is."""


def single_index(x):
    """(z + (z² − 1)/√2)/√2 of the first coordinate z, with energy one half in each degree."""
    z = x[..., 0]
    return (z + (z**2 - 1) / 2**0.5) / 2**0.5


@partial(jax.jit, static_argnames="steps")
@partial(jax.vmap, in_axes=(0, 0, 0, 0, None, None))
def learned(network, x, y, fresh, step, steps):
    """Error on fresh inputs and alignment of the tangent kernel with the targets, before and after training."""
    end = train(network, x, y, x[:1], step_size=step, steps=steps).network
    ideal = jnp.outer(y, y)
    before, after = (kernel_alignment(tangent_kernel(*functional(each), x), ideal) for each in (network, end))
    return jnp.mean((end(fresh)[:, 0] - single_index(fresh)) ** 2), before, after


def best_kernel_error(x, y, fresh):
    """The error of tangent-kernel ridge regression with the best of four ridges, chosen with the answers in hand."""
    scales: dict[str, Any] = dict(weight_scale=2**0.5, bias_scale=0.5, input_scale=DIMENSION**-0.5)
    network = fully_connected(DIMENSION, hidden_layers=1, **scales)
    kernel = np.asarray(limit_kernel(network, np.concatenate([x, fresh]), x, want=("ntk",)).ntk)
    answers = [kernel[len(y) :] @ np.linalg.solve(kernel[: len(y)] + r * np.eye(len(y)), y) for r in (1e-6, 0.1, 1, 3)]
    return min(np.mean((each - single_index(fresh)) ** 2) for each in answers)


def floor_by_moments(samples):
    """The floor from E cc^T, c the Hermite coefficients u_i, u_i², √2 u_iu_j; E u_i⁴ = 3E u_i²u_j² = 3/d(d + 2)."""
    pairs, one = np.triu_indices(DIMENSION), np.eye(DIMENSION)
    weights = np.where(pairs[0] == pairs[1], 1.0, 2**0.5)
    fourth = np.einsum("ij,kl->ijkl", one, one)
    fourth = (fourth + fourth.swapaxes(1, 2) + fourth.swapaxes(1, 3))[*pairs][:, *pairs] / DIMENSION / (DIMENSION + 2)
    values = np.append(np.full(DIMENSION, 1 / DIMENSION), np.linalg.eigvalsh(weights * fourth * weights[:, None]))
    return np.sum(np.sort(values / 2)[: len(values) - samples])


@claim(
    items={"L7.20": ("alignment grows in training", "alignment by two routes", *BELOW),
           "H6.10": ("alignment grows in training", "alignment by two routes",
                     "alignment grows more than with large weights", "small weights below large ones",
                     "floor by two routes", "kernel above the floor", *BELOW)},
    says="On a target that depends on one direction of 20 a network of 16 neurons with small initial weights has a "
    "smaller test error than its infinite-width kernel at the best ridge and than any features fixed in advance "
    "allow. Its kernel turns to the targets.",
    needs="Gaussian inputs; a target that depends on one direction and has a linear part; small initial weights",
    scale="printed: convolutional networks on CIFAR-10; here: 16 neurons, 120 samples of a single-index target",
    symbols={
        r"\text{infinite-width kernel}": (
            "the tangent kernel of such networks when the number of neurons grows without bound"
        ),
        r"y": "the targets of the samples, a function of one unknown direction of the inputs",
        r"K": (
            r"the tangent kernel of the network on the samples; $\|K\|_F$ is the root of the sum of its squared "
            r"entries"
        ),
    },
    why=r"Features fixed in advance span at most 120 dimensions after 120 samples, whatever they are, while the "
    r"target may point in any direction: what is left is the sum of all but the 120 largest eigenvalues of the "
    r"covariance of all such targets, $\frac1{40}$ (21 times) and $\frac{19}{40\cdot209}$ (209 times). A network with "
    r"small weights is not bound by this, since it can turn its features towards the one direction that matters: the "
    r"cosine $y^\top Ky/\|K\|_F\|y\|^2$ between its kernel and the targets grows. With large weights the features "
    r"hardly move.",
    notice=r"Each dot is one target. On average the networks lie left of the floor that holds for fixed features, and "
    r"kernel regression above it.",
)  # fmt: skip
def feature_learning(key, *, trials: Trials = 120):
    rng = generator(jax.random.fold_in(key, 1))
    x, fresh = rng.standard_normal((trials, SAMPLES, DIMENSION)), rng.standard_normal((trials, 200, DIMENSION))
    y = single_index(x)
    drawn = doubled(init_mlp(key, (DIMENSION, NEURONS // 2, 1), ensemble=(trials,), **RICH))

    def sized(size):
        weights = drawn.weights[0] * size / DIMENSION**0.5, drawn.weights[1] * size / 2
        return replace(drawn, weights=weights, biases=tuple(0 * bias for bias in drawn.biases))

    error, before, after = map(np.asarray, learned(sized(0.3), x, y, fresh, 0.2 / SAMPLES, 150))
    # Weights twenty times as large move the outputs some hundred times as fast.
    lazy = [np.asarray(part) for part in learned(sized(6.0), x, y, fresh, 0.001 / SAMPLES, 150)]
    kernel = np.array([best_kernel_error(*data) for data in zip(x, y, fresh, strict=True)])
    levels, counts = single_index_spectrum(DIMENSION, linear=0.5, quadratic=0.5), (0, 5, 30, SAMPLES, 200)
    floors, some = np.array([fixed_feature_floor(levels, count) for count in counts]), y[0, :12]
    gram = x[0, :12] @ x[0, :12].T
    cosine = some @ gram @ some / np.linalg.norm(np.linalg.eigvalsh(gram)) / (some @ some)
    return {
        "floor by two routes": Identity(floors, [floor_by_moments(count) for count in counts], scale=1.0, size=230),
        "alignment by two routes": Identity(kernel_alignment(gram, np.outer(some, some)), cosine, scale=1.0, size=12),
        "network below the kernel": Trend(
            kernel - error, aside={"network": error, "kernel": kernel, "floor": floors[3]}
        ),
        "kernel above the floor": Trend(kernel - floors[3]),
        "network below the floor": Trend(floors[3] - error, aside={"lazy": floors[3] - lazy[0]}),
        "alignment grows in training": Trend(after - before),
        "alignment grows more than with large weights": Trend((after - before) - 2 * np.abs(lazy[2] - lazy[1])),
        "small weights below large ones": Trend(lazy[0] - error),
    }


@feature_learning.control("large initial weights", of="network below the floor")
def lazy_below_the_floor(evidence):
    return replace(evidence, differences=evidence.aside["lazy"])


@feature_learning.control("the floor of no samples at all", of="kernel above the floor")
def nothing_learned(evidence):
    levels = single_index_spectrum(DIMENSION, linear=0.5, quadratic=0.5)
    lower = fixed_feature_floor(levels, 0) - fixed_feature_floor(levels, SAMPLES)
    return replace(evidence, differences=evidence.differences - lower)


@feature_learning.picture
def below_the_floor(pieces):
    """Test errors of trained networks against those of kernel regression, with the floor of all fixed features."""
    aside = pieces["network below the kernel"].aside
    floor, ends = float(aside["floor"]), np.array([0.0, float(np.max(aside["kernel"]))])
    marks = [Line("equal", ends, ends), Dots("targets", aside["network"], aside["kernel"])]
    marks += [Level("floor of fixed features", x=floor), Level("", y=floor)]
    return Curves(marks, x="test error of the network", y="test error of kernel regression")
