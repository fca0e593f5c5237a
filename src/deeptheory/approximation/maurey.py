"""Maurey's lemma: a mean is met by few of the things it is a mean of, by sampling, with the exact variance.

Vectors stand in rows. A function is a row too, its values at n points that weigh `measure` each (1/n if not given), so
that norms are those of L²(P) for the P on these points.

Reference: lucchi Lemmas 28 and 29; Pisier 1981.
"""

import numpy as np
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "greedy_draws",
    "jordan_decomposition",
    "maurey_bounds",
    "maurey_error",
    "sampled_errors",
    "signed_maurey_error",
    "signed_vectors",
]


def maurey_error(vectors: Float[np.ndarray, "m d"], probabilities: Float[np.ndarray, " m"], samples: int) -> float:
    """Return E‖X − (V₁ + … + V_k)/k‖² = (E‖V‖² − ‖X‖²)/k for independent V_i of these vectors, X = EV.

    An equality, not a bound. Reference: lucchi Ch. 4 Problem 2.
    """
    law = _law(probabilities)
    gaps = vectors - law @ vectors
    return float(law @ np.sum(gaps**2, axis=1) / samples)


def maurey_bounds(
    vectors: Float[np.ndarray, "m d"], probabilities: Float[np.ndarray, " m"], samples: int
) -> tuple[float, float]:
    """Return E‖V‖²/k and max‖U‖²/k over the support: what Maurey's lemma bounds `maurey_error` by (lucchi Lemma 28).

    Equalities where X = 0, and where also all vectors have one length.
    """
    law = _law(probabilities)
    squares = np.sum(vectors**2, axis=1)
    return float(law @ squares / samples), float(np.max(squares[law > 0]) / samples)


def sampled_errors(
    key: Key[Array, ""],
    vectors: Float[np.ndarray, "m d"],
    probabilities: Float[np.ndarray, " m"],
    samples: int,
    *,
    trials: int = 1,
) -> Float[np.ndarray, " trials"]:
    """Return ‖X − (V₁ + … + V_k)/k‖² of independent draws, `trials` times over."""
    affordable(draws=(trials, len(probabilities)))
    # How often each vector comes is all that matters, so the cost does not grow with the number of samples.
    counts = generator(key).multinomial(samples, _law(probabilities), size=trials)
    gaps = (counts / samples - _law(probabilities)) @ vectors
    return np.sum(gaps**2, axis=1)


def greedy_draws(
    vectors: Float[np.ndarray, "m d"], probabilities: Float[np.ndarray, " m"], samples: int
) -> Int[np.ndarray, " samples"]:
    """Return k of the vectors, by number, whose mean misses X by no more than random ones on average, without chance.

    Each choice makes the sum of those so far come nearest to its aim j·X. As one drawn vector would add E‖V − X‖² on
    average, the best one adds no more, and the squared error stays within `maurey_error` for every k: the vectors that
    Maurey's lemma says exist. Reference: lucchi Lemma 28, second part.
    """
    law = _law(probabilities)
    affordable(draws=(samples, vectors.shape[1]))
    mean, allowed = law @ vectors, np.flatnonzero(law > 0)
    gaps = vectors[allowed] - mean
    gaps = gaps / (np.abs(gaps).max() or 1.0)  # squares of very large or small ones are not floating-point numbers
    squares = np.sum(gaps**2, axis=1)
    behind, chosen = np.zeros_like(mean), np.zeros(samples, int)
    for j in range(samples):
        best = int(np.argmin(squares + 2 * gaps @ behind))
        behind, chosen[j] = behind + gaps[best], allowed[best]
    return chosen


def jordan_decomposition(
    weights: Float[np.ndarray, " m"],
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"], float]:
    """Return the measures μ₊ and μ₋ of a signed one, weights = μ₊ − μ₋ with disjoint support, and its mass ‖μ‖₁."""
    return np.maximum(weights, 0.0), np.maximum(-weights, 0.0), float(np.sum(np.abs(weights)))


def signed_vectors(
    features: Float[np.ndarray, "m n"], weights: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, "m n"], Float[np.ndarray, " m"]]:
    """Return vectors and probabilities with mean Σ weights_j features_j, though weights are signed (lucchi Lemma 29).

    V = s‖μ‖₁ g(·, ω): the sign s is + with probability ‖μ₊‖₁/‖μ‖₁, then ω comes from μ_s/‖μ_s‖₁. Together, feature j is
    drawn with probability |weights_j|/‖μ‖₁ and carries the sign of its weight. What comes out goes into `maurey_error`,
    `sampled_errors` and `greedy_draws`.
    """
    positive, negative, mass = jordan_decomposition(weights)
    if mass == 0:
        raise ValueError("weights must not all be zero: a measure of no mass has nothing to draw")
    return mass * np.sign(weights)[:, None] * features, (positive + negative) / mass


def signed_maurey_error(
    features: Float[np.ndarray, "m n"],
    weights: Float[np.ndarray, " m"],
    samples: int,
    *,
    measure: Float[np.ndarray, " n"] | None = None,
) -> tuple[float, float]:
    """Return the mean squared L²(P) error of k signed draws and its bound ‖μ‖₁² max‖g(·, ω)‖²/k (lucchi Lemma 29).

    The error is (‖μ‖₁ Σ|weights_j|‖features_j‖² − ‖g‖²)/k with g = Σ weights_j features_j.
    """
    mass = np.full(features.shape[1], 1 / features.shape[1]) if measure is None else _law(measure)
    vectors, law = signed_vectors(features * np.sqrt(mass), weights)
    return maurey_error(vectors, law, samples), maurey_bounds(vectors, law, samples)[1]


def _law(probabilities: np.ndarray) -> np.ndarray:
    total = np.sum(probabilities)
    if np.any(probabilities < 0) or abs(total - 1) > 1e-9:
        raise ValueError(f"probabilities must be at least 0 and sum to 1, got a sum of {total:.6g}")
    return probabilities / total


doors(__name__, samples="[1, 1e9]", trials="[1, 1e8]")
