"""The least perturbation that changes an answer: exact for small ReLU networks, from above by any attack.

A ReLU network is affine wherever the signs of its units are fixed, so the nearest point with another answer is found by
a convex problem for each pattern of signs. The search fixes one unit after the other and drops a branch as soon as its
polyhedron is empty or farther away than what was found: in low dimension few patterns are left. Reference: handbook
2.1.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linprog, nnls

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.robustness.lipschitz import relu_outputs
from deeptheory.robustness.sign_patterns import affine_regions

__all__ = ["attack_radius", "nearest_in_polyhedron", "relu_radius"]

Layer = tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, " _"]]
SLACK = 1e-10
"""what a solver's point may violate; polyhedra thinner than this are taken for empty"""


def nearest_in_polyhedron(
    normals: Float[np.ndarray, "m d"], offsets: Float[np.ndarray, " m"], order: float
) -> Float[np.ndarray, " d"] | None:
    """Return the δ of least ‖δ‖_p with normals·δ ≥ offsets, or None if there is no such δ; p is 1, 2 or ∞.

    For p = 2 by non-negative least squares on the dual (Lawson and Hanson 1974, ch. 23), a finite method; for 1 and ∞ a
    linear programme.
    """
    d = normals.shape[1]
    scale = np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
    normals, offsets = normals / scale[:, None], offsets / scale
    if order == 2:
        size = max(1.0, float(np.abs(offsets).max()))
        matrix = np.vstack([normals.T, offsets / size])
        dual, left = nnls(matrix, np.append(np.zeros(d), 1.0), maxiter=50 * len(offsets))
        residual = matrix @ dual - np.append(np.zeros(d), 1.0)
        if left < SLACK:
            return None
        return -residual[:d] / residual[d] * size
    if order == np.inf:  # δ and its largest entry
        cost, bounds = np.append(np.zeros(d), 1.0), [(None, None)] * d + [(0, None)]
        own = np.hstack([-normals, np.zeros((len(offsets), 1))])
        signs = np.vstack([np.eye(d), -np.eye(d)])
        limits = np.vstack([own, np.hstack([signs, -np.ones((2 * d, 1))])])
        result = linprog(cost, limits, np.append(-offsets, np.zeros(2 * d)), bounds=bounds, method="highs")
        return result.x[:d] if result.success else None
    if order == 1:  # the parts of δ above and below zero
        result = linprog(np.ones(2 * d), np.hstack([-normals, normals]), -offsets, bounds=(0, None), method="highs")
        return result.x[:d] - result.x[d:] if result.success else None
    raise ValueError(f"order must be 1, 2 or infinity, got {order}")


def relu_radius(
    layers: Sequence[Layer], point: Float[np.ndarray, " d"], order: float, *, most: int = 20_000
) -> tuple[float, Float[np.ndarray, " d"]]:
    """Return the exact robustness radius of a ReLU network's answer at a point, and a nearest point of another answer.

    `layers` are weights (m × n) and biases of f = W_L·relu(… relu(W₁x + b₁) …) + b_L; the answer is the largest of at
    least two outputs, and a tie counts as another answer. At most `most` convex problems are solved; the search is
    exponential in the units for many inputs and polynomial, units^d, for few: meant for d up to about 4.
    """
    if len(layers[-1][1]) < 2:
        raise ValueError(f"the last layer must have at least two outputs, got {len(layers[-1][1])}")
    inputs = layers[0][0].shape[1]
    inside(inputs, inputs, **{"the dimension of point": len(point)})
    label = int(np.argmax(relu_outputs(layers, point)))
    solved, best, where = 0, np.inf, point

    def nearer(normals: np.ndarray, limits: np.ndarray) -> np.ndarray | None:
        """The least move into a polyhedron, if it is shorter than the best so far."""
        nonlocal solved
        solved += 1
        if solved > most:
            raise ValueError(f"more than most = {most} polyhedra would have to be searched")
        move = nearest_in_polyhedron(normals, limits, order)
        return None if move is None or np.linalg.norm(move, order) >= best else move

    def promising(normals: np.ndarray, limits: np.ndarray, own: bool) -> bool:
        return own or nearer(normals, limits) is not None

    for part in affine_regions(layers, point, promising):
        for other in range(len(part.offsets)):
            if other == label:
                continue
            overtaking = np.vstack([part.normals, part.slopes[other] - part.slopes[label]])
            move = nearer(overtaking, np.append(part.limits, part.offsets[label] - part.offsets[other]))
            if move is not None:
                best, where = float(np.linalg.norm(move, order)), point + move
    return best, where


def attack_radius(
    flips: Callable[[Float[np.ndarray, " n"]], Bool[np.ndarray, " n"]],
    high: Float[np.ndarray, " n"],
    *,
    halvings: int = 20,
) -> Float[np.ndarray, " n"]:
    """Return, for each of n inputs at once, the least radius at which an attack succeeds, by bisection from `high`.

    `flips` takes one radius for each input and says where the attack succeeds. An upper bound of the true radius, to
    within high/2^halvings if success is monotone in the radius; inputs not fooled at `high` keep it.
    """
    inside(0, np.inf, "[)", high=high)
    low, top = np.zeros_like(high), high.copy()
    for _ in range(halvings):
        middle = (low + top) / 2
        gone = np.asarray(flips(middle))
        low, top = np.where(gone, low, middle), np.where(gone, middle, top)
    return top


doors(__name__, order="[1, ∞]", infinite=("order",), most="[1, 1e7]", halvings="[1, 60]", empty=("normals", "offsets"))
