"""The tangent-kernel classifier: kernel ridge regression on class indicators, ridge and depth chosen by leaving out.

Reference: arora 9.5; Arora et al. 2020, Harnessing the power of infinitely wide deep nets on small-data tasks.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import door, doors
from deeptheory.foundations.guards import positive
from deeptheory.kernels.limits.dense_networks import fully_connected
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import diagonalize, shrinkage

__all__ = ["KernelClassifier", "fit_classifier", "leave_one_out", "tangent_classifier"]

KernelFunction = Callable[[Any, Any], Any]


def leave_one_out(kernel: Float[AnyArray, "n n"], y: Float[AnyArray, "n *k"], *, ridge: float) -> Float[Array, "n *k"]:
    """Return each target as ridge regression on all others predicts it: y_i − α_i/((K + ρ)⁻¹)_ii, α = (K + ρ)⁻¹y.

    That is −Σ_{j≠i} Q_ij y_j/Q_ii with Q = (K + ρ)⁻¹, which must exist: without a ridge no two inputs may be the same.
    Reference: Allen 1974; Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, 5.4.2.
    """
    basis = diagonalize(kernel)
    most = basis.values[-1] + ridge
    positive(**{"the least eigenvalue of kernel + ridge": basis.values[0] + ridge})
    # Multiples of the identity change the diagonal of Q alone: without 1/(λ_max + ρ) nothing cancels, at any ridge.
    scaled = most / (basis.values + ridge)
    apart = (basis.values - basis.values[-1]) / (basis.values + ridge)
    own, diagonal = (jnp.sum(basis.vectors**2 * each, axis=1) for each in (scaled, apart))
    others = basis.transform(lambda _: apart, y)
    own, diagonal = (each.reshape(-1, *(1,) * (others.ndim - 1)) for each in (own, diagonal))
    return (others - diagonal * jnp.asarray(y)) / own


class KernelClassifier(NamedTuple):
    """A fitted classifier: its kernel, inputs, dual weights for each class, and what leaving out chose and promised."""

    kernel: KernelFunction
    x: Float[np.ndarray, "n d"]
    dual: Float[np.ndarray, "n k"]
    classes: Int[np.ndarray, " k"]
    choice: int
    ridge: float
    left_out_error: float

    @door
    def predict(self, x: Float[AnyArray, "m d"]) -> Int[np.ndarray, " m"]:
        """Return the class whose regression is largest at each input."""
        if x.shape[1] != self.x.shape[1]:
            raise ValueError(f"x must have {self.x.shape[1]} columns, as the inputs of the fit, got {x.shape[1]}")
        scores = np.asarray(self.kernel(x, self.x)) @ self.dual
        if not np.isfinite(scores).all():  # the largest of several nan would be the first class
            row = np.flatnonzero(~np.isfinite(scores).all(axis=1))[0]
            raise ValueError(f"the kernel must be finite at all inputs, and is not at row {row} of x")
        return self.classes[np.argmax(scores, axis=1)]


def fit_classifier(
    kernels: Sequence[KernelFunction],
    x: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    *,
    ridges: Sequence[float] = (1e-4, 1e-3, 1e-2, 1e-1),
) -> KernelClassifier:
    """Fit the kernel and ridge with the fewest mistakes on inputs left out, one at a time (arora 9.5).

    Ridges are relative to the mean of the kernel's diagonal. Targets are 1 for the class and 0 otherwise, less their
    mean 1/k, so that nothing is said far from all data.
    """
    classes, places = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"a classifier needs at least 2 classes, got {classes}")
    targets = np.eye(len(classes))[places] - 1 / len(classes)
    best: KernelClassifier | None = None
    for choice, function in enumerate(kernels):
        kernel = np.asarray(function(x, x), float)
        if not np.isfinite(kernel).all():
            raise ValueError(f"kernels[{choice}] must be finite at all inputs, got {kernel[~np.isfinite(kernel)][0]}")
        for relative in ridges:
            ridge = float(relative * np.trace(kernel) / len(x))
            guesses = np.argmax(np.asarray(leave_one_out(kernel, targets, ridge=ridge)), axis=1)
            error = float(np.mean(guesses != places))
            if best is None or error < best.left_out_error:
                dual = np.asarray(diagonalize(kernel).transform(shrinkage(ridge), targets))
                best = KernelClassifier(function, x, dual, classes, choice, ridge, error)
    if best is None:
        raise ValueError("at least one kernel and one ridge are needed")
    return best


def tangent_classifier(
    x: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    *,
    depths: Sequence[int] = (1, 2, 3),
    ridges: Sequence[float] = (1e-4, 1e-3, 1e-2, 1e-1),
) -> KernelClassifier:
    """Fit with the tangent kernels of ReLU networks of these numbers of hidden layers; `choice` indexes the depths.

    Weights of variance 2, no bias. Every depth and ridge is tried, and the pair that errs least on points left out is
    kept; labels are whole numbers, ridges relative to the mean of the kernel's diagonal. Cost: O(n³) for each pair.
    """

    def of_depth(depth: int) -> KernelFunction:
        network = fully_connected(x.shape[1], hidden_layers=depth, weight_scale=2**0.5)
        return lambda left, right: limit_kernel(network, left, None if left is right else right, want=("ntk",)).ntk

    return fit_classifier([of_depth(depth) for depth in depths], x, labels, ridges=ridges)


doors(__name__, symmetric=("kernel",), ridge="[0, ∞)", ridges="[0, ∞)")
