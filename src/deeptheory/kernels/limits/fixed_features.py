"""What no method with features fixed in advance can learn from few samples, whatever its kernel.

Reference: handbook 6.5; lucchi 7.3; Yehudai and Shamir 2019; Ghorbani, Mei, Misiakiewicz and Montanari 2021, Linearized
two-layers neural networks in high dimension.
"""

from collections.abc import Sequence

from deeptheory.foundations.entrances import doors

__all__ = ["fixed_feature_floor", "single_index_spectrum"]


def fixed_feature_floor(levels: Sequence[tuple[float, int]], samples: int) -> float:
    """Return a lower bound on the mean squared error of every kernel method on a random target.

    A predictor from n samples lies in the span of n functions chosen without seeing the target, so on average over
    targets it misses at least the sum of all but the n largest eigenvalues of the targets' covariance. Levels are pairs
    (eigenvalue, multiplicity).
    """
    if samples < 0:
        raise ValueError(f"samples must not be negative, got {samples}")
    missed, left = 0.0, samples
    for value, count in sorted(levels, reverse=True):
        kept = min(count, left)
        missed, left = missed + value * (count - kept), left - kept
    return missed


def single_index_spectrum(dimension: int, *, linear: float, quadratic: float) -> list[tuple[float, int]]:
    """Return eigenvalues and multiplicities of the targets a·u·x + b((u·x)² − 1)/√2 over directions u on the sphere.

    Inputs are standard normal; energies a² (linear) and b² (quadratic). The linear part is shared by d directions; of
    the quadratic one 1/d lies in ‖x‖² − d, the same for all u, and the rest is shared by d(d + 1)/2 − 1 harmonics.
    """
    if dimension < 2:
        raise ValueError(f"dimension must be at least 2, got {dimension}")
    harmonics = dimension * (dimension + 1) // 2 - 1
    return [
        (linear / dimension, dimension),
        (quadratic / dimension, 1),
        (quadratic * (1 - 1 / dimension) / harmonics, harmonics),
    ]


doors(__name__)
