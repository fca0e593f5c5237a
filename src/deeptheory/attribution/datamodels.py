"""Datamodels: an output regressed on which points were trained on, and the harmonic analysis that explains the fit.

A subset of n points is x ∈ {−1, 1}ⁿ, 1 where a point is present; points are present with chance p, independently.

Reference: arora Sec. 10.3; Ilyas et al. 2022; Saunshi et al. 2023; O'Donnell 2014, Sec. 8.4.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Key

from deeptheory.attribution.shapley import bernoulli_values, coalitions, players_of
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.paths import l1_path

__all__ = [
    "Datamodel",
    "biased_fourier",
    "biased_spectrum",
    "explained_share",
    "fit_datamodel",
    "population_datamodel",
    "random_subsets",
]

Table = Float[AnyArray, " subsets"]


class Datamodel(NamedTuple):
    """f(x) ≈ θ₀ + Σθ_i x_i with x_i = ±1."""

    intercept: float
    coefficients: Float[np.ndarray, " n"]

    def __call__(self, masks: Bool[AnyArray, "subsets n"]) -> Float[np.ndarray, " subsets"]:
        """What the datamodel says of subsets."""
        return self.intercept + (2.0 * np.asarray(masks) - 1) @ self.coefficients


def random_subsets(key: Key[Array, ""], count: int, examples: int, share: float) -> Bool[np.ndarray, "count examples"]:
    """Draw subsets in which every point is present with chance `share`, independently, one a row.

    `examples` is n, the number of points; True where one is present.
    """
    affordable(subsets=(count, examples))
    return generator(key).random((count, examples)) < share


def fit_datamodel(
    masks: Bool[AnyArray, "subsets n"], outputs: Float[AnyArray, " subsets"], *, penalty: float = 0.0
) -> Datamodel:
    """Fit θ by the lasso: least (1/2m)Σ(θ₀ + θ·x − f)² + λ‖θ‖₁ over m subsets; λ = 0 is least squares.

    The ℓ1 path is followed to its end and read at λ, so other values of λ cost as much as one. With λ = 0 more subsets
    than points are needed, and no point always or never present. `penalty` is λ; `masks` are True where a point was
    trained on. Reference: arora Sec. 10.3; Ilyas et al. 2022.
    """
    signs, outputs = 2.0 * np.asarray(masks) - 1, np.asarray(outputs, float)
    count, size = signs.shape
    middle, level = signs.mean(0), outputs.mean()
    if np.any(np.abs(middle) == 1):
        raise ValueError(f"masks must hold and leave out every point at least once, point {np.argmax(abs(middle))} not")
    if penalty == 0:
        if np.linalg.matrix_rank(signs - middle) < size:
            raise ValueError(f"least squares needs more subsets than the {size} points and in general position")
        coefficients = np.linalg.lstsq(signs - middle, outputs - level, rcond=None)[0]
    else:
        path = l1_path((signs - middle) / count**0.5, (outputs - level) / count**0.5)
        at = [np.interp(penalty, path.levels[::-1], weights[::-1]) for weights in path.weights.T]
        coefficients = np.array(at)
    return Datamodel(float(level - middle @ coefficients), coefficients)


def population_datamodel(table: Table, share: float) -> Datamodel:
    """Return the least-squares datamodel of infinitely many subsets, θ_i = ½E_p[f(S∪i) − f(S)], from all 2ⁿ outputs.

    With p = ½ half of the Banzhaf values; it depends on p as far as f is not linear. `share` is p. Reference: arora
    Sec. 10.3; Saunshi et al. 2023.
    """
    coefficients = bernoulli_values(table, share) / 2
    mean = biased_fourier(table, share)[0]
    return Datamodel(float(mean - (2 * share - 1) * coefficients.sum()), coefficients)


def biased_fourier(table: Table, share: float) -> Float[np.ndarray, " subsets"]:
    """Return the Fourier coefficients f̂(S) = E_p[f(x)φ_S(x)] in the characters φ_S = Π_{i∈S} (x_i − μ)/σ.

    μ = 2p − 1 and σ = 2√(p(1 − p)) are mean and deviation of x_i, so the characters are orthonormal: E f² = Σf̂(S)².
    n2ⁿ operations; S is indexed as in a table. `share` is p. Reference: O'Donnell 2014, Sec. 8.4.
    """
    table = np.array(table, float)
    for i in range(players_of(table)):
        pairs = table.reshape(-1, 2, 2**i)
        absent, present = pairs[:, 0].copy(), pairs[:, 1].copy()
        pairs[:, 0] = (1 - share) * absent + share * present
        pairs[:, 1] = (share * (1 - share)) ** 0.5 * (present - absent)
    return table


def biased_spectrum(table: Table, share: float) -> Float[np.ndarray, " degrees"]:
    """Return Σ_{|S|=k} f̂(S)² for k = 0 … n: the square of the mean, and the variance by degree of interaction.

    `share` is p, and the characters are those of `biased_fourier`. Reference: O'Donnell 2014, Sec. 8.4.
    """
    players = players_of(table)
    return np.bincount(coalitions(players).sum(1), weights=biased_fourier(table, share) ** 2, minlength=players + 1)


def explained_share(table: Table, share: float) -> float:
    """Return the share of the variance of f that the best linear datamodel explains (its R²): degree one of all above.

    What it misses is Σ_{|S|≥2} f̂(S)². A constant f has no variance to explain and is refused. Reference: Saunshi et
    al. 2023.
    """
    weights = biased_spectrum(table, share)[1:]
    if weights.sum() <= 1e-24 * np.max(np.asarray(table, float) ** 2, initial=0.0):
        raise ValueError("table must not be constant: there is no variance to explain")
    return float(weights[0] / weights.sum())


doors(__name__, share="(0, 1)", penalty="[0, ∞)", count="[1, ∞)", examples="[1, ∞)")
