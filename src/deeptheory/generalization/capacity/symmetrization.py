"""Ghost sample and random signs, with every expectation exact: samples from a finite set are walks on a lattice.

A function is its row of values on k points, a sample of m of them a vector of counts; the counts of a sample, of the
difference of two samples, or of a sample with signs are sums of m independent lattice steps, whose law one fast Fourier
transform gives.

Reference: lucchi Thm 62; arora Sec. 5.3.
"""

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "expected_deviation",
    "expected_ghost_deviation",
    "expected_symmetrized_deviation",
    "rademacher_complexity",
    "walk_law",
]

Values = Float[AnyArray, "functions k"]
Law = Float[AnyArray, " k"]


def walk_law(
    steps: Int[np.ndarray, "s k"], probabilities: Float[np.ndarray, " s"], count: int
) -> tuple[Float[np.ndarray, "positions k"], Float[np.ndarray, " positions"]]:
    """Positions and probabilities of a sum of `count` independent steps with entries in {−1, 0, 1}.

    `steps` has a row a step, drawn with these `probabilities`.
    """
    size, dimension = 2 * count + 1, steps.shape[1]
    affordable(positions=(size,) * dimension)
    one = np.zeros((size,) * dimension)
    np.add.at(one, tuple(steps.T), probabilities)
    law = np.fft.ifftn(np.fft.fftn(one) ** count).real
    # Negative positions are wrapped around, so the coordinate of an index is the one nearest to zero.
    axis = np.fft.fftfreq(size, 1 / size)
    positions = np.stack(np.meshgrid(*(axis,) * dimension, indexing="ij"), -1)
    return positions.reshape(-1, dimension), law.ravel()


def _checked(values: Values, law: Law) -> tuple[np.ndarray, np.ndarray]:
    values, law = np.asarray(values, float), np.asarray(law, float)
    if np.any(law < 0) or abs(law.sum() - 1) > 1e-9:
        raise ValueError(f"law must be probabilities that sum to one, got {law}")
    return values, law


def _mean_supremum(values, walk, samples, centre: float | np.ndarray = 0.0) -> float:
    positions, chances = walk
    return float(chances @ np.max(centre + positions @ values.T / samples, axis=1))


def expected_deviation(values: Values, law: Law, samples: int) -> float:
    """E_S sup_f (E f − Ê_S f), the expected largest deviation of a sample of m points. Reference: lucchi Thm 62."""
    values, law = _checked(values, law)
    walk = walk_law(-np.eye(len(law), dtype=int), law, samples)
    return _mean_supremum(values, walk, samples, values @ law)


def expected_ghost_deviation(values: Values, law: Law, samples: int) -> float:
    """E sup_f (Ê_S' f − Ê_S f) between two independent samples: no smaller than the deviation of one from the mean."""
    values, law = _checked(values, law)
    points = np.eye(len(law), dtype=int)
    steps = (points[:, None] - points[None]).reshape(-1, len(law))
    return _mean_supremum(values, walk_law(steps, np.outer(law, law).ravel(), samples), samples)


def expected_symmetrized_deviation(values: Values, law: Law, samples: int) -> float:
    """E sup_f (1/m) Σ σᵢ(f(z'ᵢ) − f(zᵢ)) with fair signs σᵢ: equal to the deviation between the two samples."""
    values, law = _checked(values, law)
    points = np.eye(len(law), dtype=int)
    steps = (points[:, None] - points[None]).reshape(-1, len(law))
    chances = np.outer(law, law).ravel() / 2
    walk = walk_law(np.concatenate([steps, -steps]), np.concatenate([chances, chances]), samples)
    return _mean_supremum(values, walk, samples)


def rademacher_complexity(values: Values, law: Law, samples: int) -> float:
    """R_m = E sup_f (1/m) Σ σᵢ f(zᵢ) with fair signs, averaged over the sample. Reference: lucchi Thm 62."""
    values, law = _checked(values, law)
    points = np.eye(len(law), dtype=int)
    walk = walk_law(np.concatenate([points, -points]), np.concatenate([law, law]) / 2, samples)
    return _mean_supremum(values, walk, samples)


doors(__name__, samples="[1, 1000]", count="[1, 1000]")
