"""How far two distributions are apart in the eyes of test functions: sup over a class of |E f(X) − E f(Y)|.

Weak approximation of a process by another is a statement about such distances, at every time of a trajectory.

Reference: arora Defs. 12.3.1 and 12.3.2.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = ["dictionary_distance", "gaussian_mmd", "kernel_distance", "trajectory_distance", "wasserstein_on_the_line"]

Sample = Float[np.ndarray, "n d"]
Test = Callable[[Sample], Float[np.ndarray, " n"]]


def dictionary_distance(first: Sample, second: Float[np.ndarray, "m d"], tests: list[Test]) -> float:
    """The largest difference of means over finitely many test functions, each of a whole sample (arora Def. 12.3.1).

    With common random numbers (rows that belong together) the difference is far more accurate than either mean.
    """
    return max(abs(float(np.mean(test(first)) - np.mean(test(second)))) for test in tests)


def trajectory_distance(
    first: Float[np.ndarray, "times n d"], second: Float[np.ndarray, "times m d"], tests: list[Test]
) -> float:
    """The largest `dictionary_distance` over the times of two samples of trajectories (arora Def. 12.3.2).

    For a class closed under scaling, such as all functions of polynomial growth, the supremum is 0 or ∞; a statement
    about weak order is one about each test function with a constant of its own.
    """
    return max(dictionary_distance(a, b, tests) for a, b in zip(first, second, strict=True))


def wasserstein_on_the_line(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " m"]) -> float:
    """The distance over all 1-Lipschitz functions, for samples of real numbers: ∫|F − G|, exact.

    F and G are the samples' distribution functions. Reference: Vallender 1974.
    """
    points = np.sort(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(each), points[:-1], side="right") / len(each) for each in (first, second)]
    return float(np.abs(below[0] - below[1]) @ np.diff(points))


def kernel_distance(first: Sample, second: Float[np.ndarray, "m d"], *, width: float = 1.0) -> float:
    """The distance over the unit ball of the Gaussian kernel's space, e^(−‖x−y‖²/2w²), between two samples (MMD).

    `width` is w, points stand in rows. Pairs of a point with itself count, so that two samples of one law are some 1/√n
    apart. Reference: Gretton et al. 2012.
    """

    def mean(a: np.ndarray, b: np.ndarray) -> float:
        squares = (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)
        # Less one, which drops out of the distance: where the kernel is wide it would hide the rest.
        return float(np.expm1(-np.maximum(squares, 0.0) / (2 * width**2)).mean())

    return float(np.sqrt(max(mean(first, first) - 2 * mean(first, second) + mean(second, second), 0.0)))


def gaussian_mmd(shift: float, spread: float, *, width: float = 1.0) -> float:
    """The kernel distance of N(0, s²) and N(shift, s²) on the line: √(2(1 − e^(−shift²/2v))·w/√v), v = w² + 2s².

    `spread` is s, `width` w. Reference: Gretton et al. 2012 for the distance.
    """
    total = width**2 + 2 * spread**2
    return float(np.sqrt(2 * width / np.sqrt(total) * -np.expm1(-(shift**2) / (2 * total))))


doors(__name__, width="(0, ∞)", spread="(0, ∞)")
