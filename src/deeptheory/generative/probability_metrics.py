"""Integral probability metrics, sup over a class of |E_P f − E_Q f|: what a class of test functions sees of two laws.

Laws on finitely many points, where every supremum is exact; for samples of real numbers and for Gaussian kernels see
`deeptheory.diffusions.distances`.

Reference: arora 16.1; Müller 1997, Integral probability metrics and their generating classes of functions.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, laws

__all__ = [
    "LipschitzCritic",
    "Transport",
    "best_lipschitz_critic",
    "integral_metric",
    "kernel_metric",
    "moment_distance",
    "moment_tensor",
    "optimal_transport",
]

Law = Float[np.ndarray, " n"]
PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
MOST = 400
"""the most points of each law in a linear program: its plan has as many unknowns as pairs"""


class Transport(NamedTuple):
    """The least cost of carrying one law into another, and the plan that attains it."""

    cost: float
    plan: Float[np.ndarray, "n m"]


class LipschitzCritic(NamedTuple):
    """The largest difference of means over Lipschitz functions, and a function that attains it."""

    gap: float
    values: Float[np.ndarray, " n"]


def integral_metric(p: Law, q: Law, tests: Float[np.ndarray, "k n"]) -> float:
    """max_k |∑ (p − q)·f_k| over finitely many test functions, given by their values on the points (arora 16.2).

    Symmetric, with a triangle inequality, and zero for laws that no test tells apart: a pseudo-metric.
    """
    laws(p=p, q=q)
    return float(np.max(np.abs(tests @ (p - q))))


def kernel_metric(p: Law, q: Law, kernel: Float[np.ndarray, "n n"]) -> float:
    """√((p − q)ᵀK(p − q)), the supremum over the unit ball of the kernel's space (maximum mean discrepancy).

    Reference: Gretton et al. 2012.
    """
    laws(p=p, q=q)
    return float(np.sqrt(max((p - q) @ kernel @ (p - q), 0.0)))


def optimal_transport(p: Law, q: Float[np.ndarray, " m"], costs: Float[np.ndarray, "n m"]) -> Transport:
    """min ∑ π_ij c_ij over plans with marginals p and q, by linear programming; for distances c it is Wasserstein-1.

    At most 400 points each. Reference: Kantorovich 1942; Villani, Topics in Optimal Transportation, ch. 1.
    """
    laws(p=p, q=q)
    _affordable(p, q)
    rows, columns = costs.shape
    leaves = kron(eye_array(rows), np.ones((1, columns)))
    arrives = kron(np.ones((1, rows)), eye_array(columns))
    marginals = np.concatenate([p, q * (p.sum() / q.sum())])
    found = linprog(costs.ravel(), A_eq=vstack([leaves, arrives]), b_eq=marginals, options=PRECISE)
    if found.x is None:
        raise ValueError(f"optimal_transport has no answer for these values: {found.message.splitlines()[0]:.120}")
    return Transport(float(found.fun), found.x.reshape(rows, columns))


def best_lipschitz_critic(p: Law, q: Law, distances: Float[np.ndarray, "n n"]) -> LipschitzCritic:
    """max ∑ (p − q)·f over f(x_i) − f(x_j) ≤ d_ij, by linear programming: the other side of Kantorovich's duality.

    For a metric d the maximum is the cost of `optimal_transport`. The critic vanishes at the first point. Reference:
    Kantorovich and Rubinstein 1958; Villani, Topics in Optimal Transportation, ch. 1.
    """
    laws(p=p, q=q)
    _affordable(p, q)
    inside(0, np.inf, distances=distances)
    n = len(p)
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    pairs = np.arange(len(first))
    signs = np.concatenate([np.ones(len(first)), -np.ones(len(first))])
    steps = csr_array((signs, (np.concatenate([pairs, pairs]), np.concatenate([first, second]))), shape=(len(first), n))
    bounds = [(0, 0)] + [(None, None)] * (n - 1)
    found = linprog(q - p, A_ub=steps, b_ub=distances[first, second], bounds=bounds, options=PRECISE)
    if found.x is None:
        raise ValueError(f"best_lipschitz_critic has no answer for these values: {found.message.splitlines()[0]:.120}")
    return LipschitzCritic(float(-found.fun), found.x)


def _affordable(p: np.ndarray, q: np.ndarray) -> None:
    if max(len(p), len(q)) > MOST:
        raise ValueError(f"laws must have at most {MOST} points for a linear program, got {max(len(p), len(q))}")


def moment_tensor(points: Float[np.ndarray, "n d"], probabilities: Law, order: int) -> Float[np.ndarray, "..."]:
    """E[x ⊗ … ⊗ x] with `order` factors: d^order entries, the expectations of all monomials of that degree.

    Reference: arora Example 16.1.2.
    """
    laws(probabilities=probabilities)
    affordable(products=(len(points), points.shape[1] ** order))
    product = np.asarray(probabilities, float)[:, None]
    for _ in range(order):
        product = (product[:, :, None] * points[:, None, :]).reshape(len(points), -1)
    return product.sum(0).reshape((points.shape[1],) * order)


def moment_distance(
    points: Float[np.ndarray, "n d"],
    probabilities: Law,
    other_points: Float[np.ndarray, "m d"],
    other_probabilities: Float[np.ndarray, " m"],
    order: int,
) -> float:
    """The Frobenius norm of the difference of two moment tensors.

    It is the integral metric over homogeneous polynomials of that degree whose symmetric tensor of coefficients has
    norm at most one; without such a bound the supremum is 0 or ∞. Zero at low orders says little: the Gaussian and a
    law on three points share their first five moments.
    """
    first = moment_tensor(points, probabilities, order)
    second = moment_tensor(other_points, other_probabilities, order)
    return float(np.linalg.norm(np.ravel(first - second)))


doors(__name__, symmetric=("kernel",), order="[0, 12]")
