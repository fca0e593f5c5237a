"""Is a representation good? Linear probes trained on few labels, and tasks whose answer for a probe is known.

A representation learned for task A is judged by a linear classifier on task B; how well A was learned, and how well
that generalises, does not settle it.

`mean` is m, `covariance` Σ, `weights` w, `offset` b, and `rank` the number of rows returned.

Reference: arora ch. 17.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside

__all__ = [
    "classifier_accuracy",
    "few_label_accuracy",
    "linear_probe",
    "principal_directions",
    "probe_limit",
    "shared_directions",
]

Features = Float[np.ndarray, "n d"]


def linear_probe(
    features: Features, labels: Float[np.ndarray, " n"], *, ridge: float = 1e-3
) -> tuple[Float[np.ndarray, " d"], float]:
    """Coefficients and offset of the ridge regression of labels ±1 on centred features; classify by the sign.

    The penalty is `ridge` times the mean square of the centred features, so that a rescaled representation gives the
    same classifier.
    """
    centre = features.mean(0)
    centred = features - centre
    scale = float(np.mean(centred**2)) or 1.0
    gram = centred.T @ centred + ridge * scale * len(features) * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (labels - labels.mean()))
    return weights, float(labels.mean() - centre @ weights)


def few_label_accuracy(
    draw: np.random.Generator,
    features: Features,
    labels: Float[np.ndarray, " n"],
    *,
    labelled: int,
    trials: int = 1,
    ridge: float = 1e-3,
) -> Float[np.ndarray, " trials"]:
    """Accuracies of linear probes on all other points, each trained on `labelled` points drawn without replacement.

    Half of the labelled points are of each class ±1, as nearly as can be. Reference: arora ch. 17.
    """
    inside(2, len(features) - 1, labelled=labelled)
    classes = [np.flatnonzero(labels == sign) for sign in (1.0, -1.0)]
    wanted = (labelled - labelled // 2, labelled // 2)
    if np.any(np.abs(labels) != 1) or any(len(c) < w for c, w in zip(classes, wanted, strict=True)):
        raise ValueError(f"labels must be 1 or -1, with {wanted[0]} and {wanted[1]} of each at least")
    affordable(accuracies=(trials, len(features)))
    scores = np.empty(trials)
    for t in range(trials):
        chosen = np.concatenate([draw.permutation(c)[:w] for c, w in zip(classes, wanted, strict=True)])
        rest = np.ones(len(features), bool)
        rest[chosen] = False
        weights, offset = linear_probe(features[chosen], labels[chosen], ridge=ridge)
        scores[t] = np.mean(np.where(features[rest] @ weights + offset > 0, 1.0, -1.0) == labels[rest])
    return scores


def classifier_accuracy(
    weights: Float[np.ndarray, " d"], offset: float, mean: Float[np.ndarray, " d"], covariance: Float[np.ndarray, "d d"]
) -> float:
    """How often the sign of w·x + b is right for classes N(±m, Σ) of equal weight: ½Φ((w·m+b)/s) + ½Φ((w·m−b)/s).

    Reference: Anderson, An Introduction to Multivariate Statistical Analysis, ch. 6.
    """
    width = float(np.sqrt(weights @ covariance @ weights))
    if width <= 0:
        raise ValueError("weights must have a positive variance under the covariance, got none")
    return float(ndtr((weights @ mean + offset) / width) + ndtr((weights @ mean - offset) / width)) / 2


def probe_limit(
    direction: Float[np.ndarray, "k d"], mean: Float[np.ndarray, " d"], covariance: Float[np.ndarray, "d d"]
) -> float:
    """The accuracy Φ(√(mᵀAᵀ(AΣAᵀ)⁻¹Am)) of the best linear probe on x ↦ Ax, for classes N(±m, Σ) of equal weight.

    Reference: Fisher 1936; Anderson, An Introduction to Multivariate Statistical Analysis, ch. 6.
    """
    shift = direction @ mean
    return float(ndtr(np.sqrt(max(shift @ np.linalg.solve(direction @ covariance @ direction.T, shift), 0.0))))


def principal_directions(points: Features, rank: int) -> Float[np.ndarray, "rank d"]:
    """Orthonormal rows along which the points vary most: the linear code with the least reconstruction error.

    Reference: Pearson 1901.
    """
    inside(1, min(points.shape), rank=rank)
    return np.linalg.svd(points - points.mean(0), full_matrices=False)[2][:rank]


def shared_directions(first: Features, second: Features, rank: int) -> Float[np.ndarray, "rank d"]:
    """Rows a with the largest correlation of a·x across two views of each point (row), scaled to unit variance of a·x.

    The views are taken as exchangeable, the cross-covariance symmetrised: a linear contrastive pretext, which keeps
    what both views have in common and drops what differs between them. Reference: Hotelling 1936, Relations between two
    sets of variates.
    """
    inside(1, first.shape[1], rank=rank)
    x, y = first - first.mean(0), second - second.mean(0)
    within = (x.T @ x + y.T @ y) / (2 * len(x))
    across = (x.T @ y + y.T @ x) / (2 * len(x))
    root = np.linalg.cholesky(within)
    whitened = np.linalg.solve(root, np.linalg.solve(root, across).T)
    return np.linalg.solve(root.T, np.linalg.eigh(whitened)[1][:, ::-1][:, :rank]).T


doors(
    __name__, ridge="(0, ∞)", trials="[1, 1e4]", labelled="[2, 1e7]", rank="[1, 1e5]", symmetric=("covariance",)
)  # fmt: skip
