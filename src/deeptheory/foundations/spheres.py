"""Spheres: rules that replace the mean over all directions by a sum over finitely many, without error."""

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = ["direction_rule"]


def direction_rule(dimension: int) -> tuple[Float[np.ndarray, "points d"], Float[np.ndarray, " points"]]:
    """Unit vectors and weights with Σ w g(u) = E g(u), u uniform on the sphere, for even polynomials g of degree ≤ 5.

    The d axes with weight (4 − d)/(d(d + 2)) and the d(d − 1) diagonals (e_i ± e_j)/√2 with weight 2/(d(d + 2)): that
    makes Σ w u_i⁴ = 3/(d(d + 2)) and Σ w u_i²u_j² = 1/(d(d + 2)). Of u and −u one is listed, hence even: a quadratic
    form uᵀAu has its exact mean and variance. Rotated (`points @ Q`, Q orthogonal) the rule is as good.

    Weights of axes are negative above four dimensions, so that a sum of squares that are no quartics may come out
    negative: not for functions that are not polynomials of that degree. d² vectors: for hundreds of dimensions at most.

    Reference: Stroud 1971, formula U_n 5-1.
    """
    one, two = np.triu_indices(dimension, 1)
    axes = np.eye(dimension)
    points = np.concatenate([axes, *((axes[one] + sign * axes[two]) / np.sqrt(2) for sign in (1, -1))])
    weights = np.full(len(points), 2 / (dimension * (dimension + 2)))
    weights[:dimension] *= (4 - dimension) / 2
    return points, weights


doors(__name__, dimension="[1, 500]")
