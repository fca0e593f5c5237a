"""Networks with one hidden layer: evaluation, sums of them, and the best output weights for given units.

Reference: handbook Secs. 1.1.1 and 1.1.2; lucchi eq. 3.15.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["ShallowNetwork", "collapsed", "fit_output", "scaled_sum"]

Activation = Callable[..., Any]


@dataclass(frozen=True)
class ShallowNetwork:
    """The function x ↦ Σᵢ cᵢ σ(wᵢ·x + bᵢ) of one hidden layer, without an output bias (handbook 1.1.1, lucchi 3.15).

    `weights` are the wᵢ, one row a unit; `activation` is σ, applied entry by entry. A constant is a unit with w = 0.
    Points have their coordinates on the last axis, also in one dimension: `network(x[:, None])`. To trace a network
    under `jit` or `grad` give it an activation of JAX; those of `deeptheory.foundations.activations` work for both.
    """

    weights: Float[np.ndarray, "_ _"]
    biases: Float[np.ndarray, " _"]
    output: Float[np.ndarray, " _"]
    activation: Activation

    def __post_init__(self) -> None:
        if not len(self.weights) == len(self.biases) == len(self.output):
            counts = len(self.weights), len(self.biases), len(self.output)
            raise ValueError(f"weights, biases and output must be as many as there are units, got {counts}")

    def __call__(self, x: Any) -> Any:
        """Return the values at points of shape (…, d)."""
        if np.shape(x)[-1:] != self.weights.shape[1:]:
            raise ValueError(f"x must have {self.weights.shape[1]} coordinates on its last axis, got {np.shape(x)}")
        return self.activation(x @ self.weights.T + self.biases) @ self.output

    @property
    def units(self) -> int:
        """N, how many neurons there are."""
        return len(self.output)

    @property
    def knots(self) -> list[np.ndarray] | None:
        """The places −bᵢ/wᵢ where units of a network of one input may break, as a list of one array; else nothing."""
        if self.weights.shape[1] > 1:
            return None
        slopes = self.weights[:, 0]
        return [-self.biases[slopes != 0] / slopes[slopes != 0]]

    @property
    def parameters(self) -> int:
        """N(d + 2): the weights, biases and output weights."""
        return self.weights.size + 2 * self.units


def scaled_sum(coefficients: Sequence[float], networks: Sequence[ShallowNetwork]) -> ShallowNetwork:
    """Return Σ αₖ fₖ as one network: its units stand side by side, so networks of one activation form a linear span.

    All networks need one activation and one input dimension. `coefficients` are the αₖ.
    """
    if len(coefficients) != len(networks):
        raise ValueError(f"coefficients must be one for each of the {len(networks)} networks, got {len(coefficients)}")
    if len({each.weights.shape[1] for each in networks}) > 1 or len({each.activation for each in networks}) > 1:
        raise ValueError("networks must share their activation and their input dimension")
    return ShallowNetwork(
        np.concatenate([each.weights for each in networks]),
        np.concatenate([each.biases for each in networks]),
        np.concatenate([a * each.output for a, each in zip(coefficients, networks, strict=True)]),
        networks[0].activation,
    )


def fit_output(
    weights: Float[np.ndarray, "m d"],
    biases: Float[np.ndarray, " m"],
    activation: Activation,
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
) -> ShallowNetwork:
    """Return the network with these hidden units whose output weights are the least-squares fit of the values y at x.

    The output is linear in c, so this is the best such network in the mean square over the points. Directions that
    rounding cannot tell from zero are left out, so that redundant units do no harm. What holds between the points is
    another question: see `errors`.
    """
    affordable(features=(len(x), len(biases)))
    features = np.asarray(activation(x @ weights.T + biases), float)
    return ShallowNetwork(weights, biases, np.linalg.lstsq(features, y, rcond=1e-14)[0], activation)


def collapsed(
    matrices: Sequence[Float[np.ndarray, "_ _"]], biases: Sequence[Float[np.ndarray, " _"]]
) -> tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, " _"]]:
    """Return the one affine map (W, b) that a stack of layers without activation is (handbook 1.1.2).

    W = W_L ⋯ W_1 and b = Σᵢ W_L ⋯ W_{i+1} bᵢ, first layer first.
    """
    if len(matrices) != len(biases):
        raise ValueError(f"biases must be one for each of the {len(matrices)} matrices, got {len(biases)}")
    whole, shift = np.eye(matrices[0].shape[1]), np.zeros(matrices[0].shape[1])
    for matrix, bias in zip(matrices, biases, strict=True):
        if matrix.shape != (len(bias), len(whole)):
            raise ValueError(f"a layer of shape {matrix.shape} fits neither {len(whole)} inputs nor {len(bias)} biases")
        whole, shift = matrix @ whole, matrix @ shift + bias
    return whole, shift


doors(__name__)
