"""How long the overlap of spherical online gradient descent takes, and where it is then, without sampling.

The overlap is a Markov chain of one number (`sphere`). Functions of it are held at Chebyshev points of arsinh(m√N),
which resolve the equator, and a step is a small matrix: Gauss quadrature over the three random numbers of a step. Mean
times are then a linear system, and the law after ten million steps is a power of the matrix: seconds in any dimension.

Reference: jagannath Ch. 11 Sec. 3; Norris, Markov Chains (1997), Sec. 1.3, for the linear system.
"""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from deeptheory.dynamics.single_index import Link
from deeptheory.dynamics.sphere import overlap_step
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["hitting_survival", "mean_hitting_time", "mean_overlap"]

_step = jax.jit(overlap_step, static_argnames="link")
Level = Annotated[float, "(0, 1)"]


def _chi_square_rule(degrees: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss quadrature for the chi-square law, by Golub and Welsch (SciPy's Laguerre weights overflow beyond 300)."""
    order = np.arange(nodes)
    diagonal = 2 * order + degrees / 2
    beside = np.sqrt(order[1:] * (order[1:] + degrees / 2 - 1))
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return 2 * values, vectors[0] ** 2


class _Matrix:
    """One step of the chain below a level (up to 1: everywhere) as a matrix on values at Chebyshev points."""

    def __init__(self, link: Link, dimension: int, step: float, level: float, symmetric: bool, sizes: tuple[int, int]):
        nodes, quadrature = sizes
        x, weight = np.polynomial.hermite_e.hermegauss(quadrature)
        weight = weight / weight.sum()
        rest, rest_weight = _chi_square_rule(dimension - 2, 3)
        weights = (weight[:, None, None] * weight[:, None] * rest_weight).ravel()
        # Eight deviations of the equator below zero a path that is to rise is never seen; reflecting there avoids the
        # singular south pole.
        self.scale = dimension**-0.5
        self.floor = -level if symmetric else max(-1.0, -8 * self.scale)
        self.level = level
        self.ends = np.arcsinh(self.floor / self.scale), np.arcsinh(level / self.scale)
        # Points that include the level itself: from there half of the steps leave, which makes the system regular.
        self.chebyshev, self.barycentric = np.cos(np.arange(nodes) * np.pi / (nodes - 1)), (-1.0) ** np.arange(nodes)
        self.barycentric[[0, -1]] /= 2
        low, high = self.ends
        self.points = np.clip(self.scale * np.sinh(low + (high - low) * (self.chebyshev + 1) / 2), self.floor, level)
        arrays = jnp.broadcast_arrays(self.points[:, None, None, None], x[:, None, None], x[:, None], rest)
        moved = np.asarray(_step(link, *arrays, step / dimension)).reshape(nodes, -1)
        self.transition = np.empty((nodes, nodes))
        for row, after in zip(self.transition, moved, strict=True):
            inside = (np.abs(after) if symmetric else after) <= level
            row[:] = weights[inside] @ self.interpolation(np.maximum(after[inside], self.floor))

    def interpolation(self, overlap: np.ndarray) -> np.ndarray:
        low, high = self.ends
        gap = (2 * (np.arcsinh(overlap / self.scale) - low) / (high - low) - 1)[:, None] - self.chebyshev
        terms = self.barycentric / np.where(np.abs(gap) < 1e-14, 1e-14, gap)
        return terms / terms.sum(1, keepdims=True)

    def refuse_growth(self) -> None:
        """Refuse a matrix with which probability would grow: escape by long steps is lost in rounding."""
        radius = np.abs(np.linalg.eigvals(self.transition)).max()
        if radius >= 1:
            raise ValueError(
                f"nodes and quadrature must resolve the chain, got {len(self.points)} nodes for steps this long"
            )

    def begin(self, start: float | None) -> np.ndarray:
        """Weights on the points whose product with values is their mean over the start."""
        if start is not None:
            return self.interpolation(np.array([start]))[0]
        from scipy.special import betaln

        # The initial overlap has density 2(1 − m²)^((N−3)/2)/B(½, (N−1)/2); beyond twelve deviations is nothing.
        reach, dimension = min(self.level, 12 * self.scale), self.scale**-2
        points, rule = np.polynomial.legendre.leggauss(100)
        points, rule = (points + 1) * reach / 2, rule * reach / 2
        density = 2 * np.exp((dimension - 3) / 2 * np.log1p(-(points**2)) - betaln(0.5, (dimension - 1) / 2))
        return (rule * density) @ self.interpolation(points)


def mean_hitting_time(
    link: Link,
    *,
    dimension: int,
    step: float,
    level: Level = 0.5,
    start: float | None = None,
    symmetric: bool = False,
    nodes: int = 48,
    quadrature: int = 32,
) -> float:
    """Return the expected number of steps until the overlap passes a level, by a linear solve instead of sampling.

    Chains start uniformly on the upper half sphere, or at the overlap `start`; `step` is δ and `symmetric` measures
    |m|, for even links. The expectation h(m) from overlap m satisfies h = 1 + E h(m′) below the level and 0 above. The
    defaults are good to a few parts in a thousand up to N = 1,000 and further with more nodes; an answer that fewer
    nodes would change by two parts in a hundred is refused.
    """

    def solved(count: int) -> float:
        matrix = _Matrix(link, dimension, step, level, symmetric, (count, quadrature))
        matrix.refuse_growth()
        expected = np.linalg.solve(np.eye(count) - matrix.transition, np.ones(count))
        return float(matrix.begin(start) @ expected)

    fine, coarse = solved(nodes), solved(nodes * 3 // 4)
    if abs(fine - coarse) > 0.02 * abs(fine):
        raise ValueError(f"nodes must resolve the chain, got {nodes}: fewer make {coarse:.6g} of a mean of {fine:.6g}")
    return fine


def hitting_survival(
    link: Link,
    times: Int[AnyArray, " times"],
    *,
    dimension: int,
    step: float,
    level: Level = 0.5,
    start: float | None = None,
    symmetric: bool = False,
    nodes: int = 48,
    quadrature: int = 32,
) -> Float[np.ndarray, " times"]:
    """Return the probability that the overlap has not passed a level after the given numbers of steps.

    Arguments as in `mean_hitting_time`. One minus this is the probability of weak recovery by then (some level η), and
    for a level near one of having come near strong recovery. Reference: jagannath Def. 11.3, 11.4.
    """
    matrix = _Matrix(link, dimension, step, level, symmetric, (nodes, quadrature))
    matrix.refuse_growth()
    begin = matrix.begin(start)
    powers = (np.linalg.matrix_power(matrix.transition, int(t)).sum(1) for t in np.asarray(times))
    return np.clip([begin @ power for power in powers], 0.0, 1.0)


def mean_overlap(
    link: Link,
    times: Int[AnyArray, " times"],
    *,
    dimension: int,
    step: float,
    start: float | None = None,
    nodes: int = 64,
    quadrature: int = 32,
) -> Float[np.ndarray, " times"]:
    """Return the expected overlap after the given numbers of steps; it comes to 1 if and only if recovery is strong.

    For links that are not even, whose overlap is of one sign; arguments as in `mean_hitting_time`. Computed twice, with
    three quarters of the nodes too: where the two differ, as for very long steps from which escape is rare, it refuses.
    Reference: jagannath Def. 11.4 (convergence in L¹).
    """
    found = []
    for sizes in ((nodes, quadrature), (1 + 3 * nodes // 4, 1 + 3 * quadrature // 4)):
        matrix = _Matrix(link, dimension, step, 1.0, False, sizes)
        begin = matrix.begin(start)
        powers = (np.linalg.matrix_power(matrix.transition, int(t)) @ matrix.points for t in np.asarray(times))
        found.append(np.array([begin @ power for power in powers]))
    gap = float(np.abs(found[0] - found[1]).max())
    if not gap < 0.02:
        raise ValueError(
            f"nodes and quadrature must resolve the chain, got overlaps that differ by {gap:.2g} with fewer"
        )
    return found[0]


doors(
    __name__,
    dimension="[3, 1e9]",
    nodes="[2, 400]",
    quadrature="[1, 200]",
    step="[0, ∞)",
    times="[0, ∞)",
    start="[-1, 1]",
)
