"""How far apart classes lie, and what it costs where they are intertwined or their labels are wrong."""

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.ndimage import maximum_filter, minimum_filter
from scipy.spatial import KDTree
from scipy.special import gammaln

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, positive
from deeptheory.foundations.randomness import generator

__all__ = [
    "checkerboard_robustness",
    "memorised_radius",
    "opposite_distances",
    "robust_accuracy_on_grid",
    "scatter_ratio",
    "separated_points",
    "silhouettes",
]

Points = Float[np.ndarray, "n d"]
Labels = Int[np.ndarray, " n"]


def opposite_distances(points: Points, labels: Labels, *, period: float | None = None) -> Float[np.ndarray, " n"]:
    """Distance of each point from the nearest one of another label; with `period`, on a torus of that side.

    Half of it is how far a point may move and still be nearest to one of its own label: the nearest-neighbour
    classifier
    is certainly robust there. Reference: handbook 2.3.
    """
    if len(np.unique(labels)) < 2:
        raise ValueError("labels must be of two kinds at least")
    if period is not None:
        positive(period=period)
        points = np.mod(points, period)
    distance = np.empty(len(points))
    for label in np.unique(labels):
        tree = KDTree(points[labels != label], boxsize=period)
        distance[labels == label] = tree.query(points[labels == label])[0]
    return distance


def separated_points(
    key: Key[Array, ""], count: int, *, gap: float, dimension: int = 2
) -> tuple[Float[np.ndarray, "count dimension"], Int[np.ndarray, " count"]]:
    """Points of the cube [−1, 1]^d with labels 0 and 1 in turn, those of different labels at least `gap` apart.

    Distances are in the maximum norm. Each point is drawn evenly and again until it is far enough from those before
    it, so that the answer of the nearest point withstands every move of less than gap/2 in each coordinate: what a
    classifier could do. Where no room is found in a thousand draws the gap is refused. Reference: Yang, Rashtchian,
    Zhang, Salakhutdinov and Chaudhuri 2020, for separated classes.
    """
    affordable(points=(count, dimension))
    rng = generator(key)
    points, labels = np.empty((count, dimension)), np.arange(count) % 2
    for i in range(count):
        others = points[:i][labels[:i] != labels[i]]
        tried = rng.uniform(-1, 1, (1000, dimension))
        for first in (tried[:20], tried):  # nearly always one of a few will do
            clear = np.all(np.abs(first[:, None] - others).max(2) >= gap, axis=1)
            if clear.any():
                break
        else:
            raise ValueError(f"gap must leave room for {count} points in the cube, got {gap:g}")
        points[i] = tried[np.argmax(clear)]
    return points, labels


def scatter_ratio(points: Points, labels: Labels) -> float:
    """Mean squared distance from the own class mean over the mean squared distance of class means from the common mean.

    Small for compact classes far apart; 0 for classes that have collapsed to points. Reference: handbook 2.3.
    """
    kinds, place = np.unique(labels, return_inverse=True)
    means = np.array([points[labels == kind].mean(0) for kind in kinds])
    between = np.mean(np.sum((means[place] - points.mean(0)) ** 2, 1))
    positive(between_class_scatter=between)
    return float(np.mean(np.sum((points - means[place]) ** 2, 1)) / between)


def silhouettes(points: Points, labels: Labels) -> Float[np.ndarray, " n"]:
    """(b − a)/max(a, b): a the mean distance to the own class, b to the nearest other class; 0 for a point alone.

    All distances are computed: for a few thousand points. Reference: Rousseeuw (1987).
    """
    kinds, place = np.unique(labels, return_inverse=True)
    if len(kinds) < 2:
        raise ValueError("labels must be of two kinds at least")
    distance = np.sqrt(np.maximum(np.sum((points[:, None] - points[None]) ** 2, -1), 0))
    member = place[:, None] == np.arange(len(kinds))
    count, total = member.sum(0), distance @ member
    rows = np.arange(len(points))
    own = total[rows, place] / np.maximum(count[place] - 1, 1)
    others = np.where(member, np.inf, total / count).min(1)
    return np.where(count[place] > 1, (others - own) / np.maximum(np.maximum(own, others), 1e-300), 0.0)


def checkerboard_robustness(epsilon: Float[np.ndarray, "*n"], cell: float) -> Float[np.ndarray, "*n"]:
    """(1 − 2ε/s)₊²: share of a checkerboard of cells of side s that keeps its colour under all moves of ℓ∞ length ε.

    A constant answer is right on half of the board at every ε: it keeps more from ε = s(1 − 2^(−1/2))/2 on. Reference:
    handbook 2.2.2.
    """
    return np.asarray(np.maximum(1 - 2 * epsilon / cell, 0) ** 2)


def robust_accuracy_on_grid(
    answers: Int[np.ndarray, "r c"], labels: Int[np.ndarray, "r c"], reach: int
) -> tuple[float, float]:
    """Accuracy, and accuracy under all moves of up to `reach` cells in each direction, on a periodic grid.

    A point counts as robust where all answers in the square of 2·`reach` + 1 cells a side around it agree with its own.
    Reference: handbook 2.2.2.
    """
    size = 2 * reach + 1
    least, most = (over(answers, size=size, mode="wrap") for over in (minimum_filter, maximum_filter))
    right = answers == labels
    return float(np.mean(right)), float(np.mean(right & (least == most)))


def memorised_radius(density: float, share: float, dimension: int = 2) -> float:
    """Mean of half the distance to the nearest wrongly labelled of random points: ½Γ(1 + 1/d)(n·q·V_d)^(−1/d).

    Points of this density n everywhere, labels of one class, a share q of them flipped; V_d is the volume of the unit
    ball.
    In the plane 1/(4√(nq)). What a classifier that reproduces every label is certain to keep. Reference: handbook 2.3.
    """
    log_ball = dimension / 2 * np.log(np.pi) - gammaln(dimension / 2 + 1)
    scale = np.exp(-(np.log(density * share) + log_ball) / dimension)
    return float(np.exp(gammaln(1 + 1 / dimension)) * scale / 2)


doors(
    __name__, epsilon="[0, ∞)", cell="(0, ∞)", reach="[0, 1e4]", density="(0, ∞)", share="(0, 1]",
    dimension="[1, 1e4]", count="[1, 10000]", gap="[0, 2)",
)  # fmt: skip
