"""Greedy coordinate descent in small steps beside the ℓ1 regularization path: the same path, if that never turns back.

arora Ch. 8 Example 1.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.auditor import least_norm
from deeptheory.implicit_bias.paths import l1_path, lars_path, path_at, rises_monotonely, stagewise_path
from deeptheory.lab import Exact, Identity, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

TURNING, TURNED = np.array([[-2.0, -2.0, 0.0], [1.0, 2.0, -1.0]]), np.array([-2.0, 1.0])
"""two samples in three dimensions on which the ℓ1 path gives the second weight up again"""
SHARES = np.array([0.8, 0.5, 0.2, 0.05])
SIZES = np.array([0.02, 0.01, 0.005, 0.0025])


def minimized(designs, labels, levels):
    """Minimizers of ½‖Xw − y‖² + λ‖w‖₁ by trying all sets of columns and all signs, for many problems at once."""
    count, rows, width = designs.shape
    gram, linear = np.swapaxes(designs, 1, 2) @ designs, np.einsum("krd,kr->kd", designs, labels)
    best = np.full((count, width), np.nan)
    for chosen in (each for size in range(1, rows + 1) for each in combinations(range(width), size)):
        for signs in product((-1.0, 1.0), repeat=len(chosen)):
            block = gram[:, chosen][:, :, chosen]
            weights = np.zeros((count, width))
            right = linear[:, chosen] - levels[:, None] * np.array(signs)
            weights[:, chosen] = np.linalg.solve(block, right[..., None])[..., 0]
            rest = np.abs(linear - np.einsum("kde,ke->kd", gram, weights))
            rest[:, chosen] = 0
            optimal = (weights[:, chosen] * signs > 0).all(1) & (rest <= levels[:, None]).all(1)
            best[optimal] = weights[optimal]
    return best


def stepped(design, labels, step, level):
    """Greedy coordinate descent by steps of one size until the largest correlation is down at `level`: all iterates."""
    weights, rest, path = np.zeros(design.shape[1]), labels.copy(), []
    while np.abs(design.T @ rest).max() > level:
        path.append(weights.copy())
        correlation = design.T @ rest
        j = np.argmax(np.abs(correlation))
        weights[j] += step * np.sign(correlation[j])
        rest = labels - design @ weights
    return np.array(path), np.abs(design.T @ rest).max(), weights


@claim(
    items={
        "A8.10": (
            "which stagewise paths are the ℓ1 path",
            "which paths of LARS are the ℓ1 path",
            "minimizers on the ℓ1 path",
            "ends of monotone paths",
        ),
        "A8.11": ("a path that turns back", "small steps on it"),
    },
    says=r"Greedy coordinate descent in infinitesimal steps is the path "
    r"$\hat w(\lambda)=\operatorname{argmin}\frac12\|Xw-y\|^2+\lambda\|w\|_1$, and LARS too, if every $\hat w_j$ is "
    r"monotone; then it ends at least $\ell_1$ norm. If not they part, and it can end above: at 3/2 of the least.",
    needs="columns in general position",
    full=dict(trials=200),
    symbols={
        r"X,y": "the data and the labels",
        r"\lambda": "the penalty, and the size of the largest correlation of a column with the residual",
        r"\hat w(\lambda)": r"the $\ell_1$ regularization path; with the loss $\|Xw-y\|^2$ its penalty is $2\lambda$",
    },
    why=r"On all three paths only columns move whose correlation with the residual is the largest. The $\ell_1$ path "
    r"lets their correlations fall together, even if a weight must then shrink. Coordinate descent only ever moves a "
    r"weight in the direction of its correlation; where the $\ell_1$ path would turn a weight back, it lets the column "
    r"fall behind instead. As long as no weight turns back, both do the same.",
    notice=r"The $\ell_1$ path takes up the second weight and gives it back: it ends at $(1,0,0)$. Coordinate descent "
    r"never gives back, and ends at $(\frac12,\frac12,\frac12)$; steps of 0.02 already follow it.",
)
def stagewise_and_the_l1_path(key, *, trials: Trials = 40):
    draw = generator(key)
    designs, labels = draw.standard_normal((trials, 3, 5)), draw.standard_normal((trials, 3))
    paths = [l1_path(design, target) for design, target in zip(designs, labels, strict=True)]
    stages = [stagewise_path(design, target) for design, target in zip(designs, labels, strict=True)]
    angles = [lars_path(design, target) for design, target in zip(designs, labels, strict=True)]
    tops = np.array([path.levels[0] for path in paths])
    monotone = np.array([rises_monotonely(path).all() for path in paths])

    def same(others):
        gaps = []
        for path, other in zip(paths, others, strict=True):
            levels = np.concatenate([path.levels, other.levels])
            gaps.append(np.abs(path_at(path, levels) - path_at(other, levels)).max())
        return np.array(gaps) < 1e-9

    found = np.stack([path_at(path, SHARES * path.levels[0]) for path in paths])
    direct = np.stack([minimized(designs, labels, share * tops) for share in SHARES], 1)
    twice = np.stack([path_at(path, SHARES * path.levels[0] / 2) for path in paths])
    ends = np.array([[np.abs(each.weights[-1]).sum() for each in both] for both in zip(stages, paths, strict=True)])
    least = np.array([np.abs(least_norm(*each, power=1)[0]).sum() for each in zip(designs, labels, strict=True)])
    stage, regular = stagewise_path(TURNING, TURNED), l1_path(TURNING, TURNED)
    runs = [stepped(TURNING, TURNED, size, 0.2) for size in SIZES]
    away = [np.abs(path_at(stage, np.array([level]))[0] - end).max() for _, level, end in runs]
    size = np.abs(direct).max((1, 2))[:, None, None]
    return {
        "which stagewise paths are the ℓ1 path": Exact(same(stages), monotone),
        "which paths of LARS are the ℓ1 path": Exact(same(angles)[monotone], np.ones(monotone.sum(), bool)),
        # Enumeration solves normal equations, whose condition is squared where three columns are nearly dependent.
        "minimizers on the ℓ1 path": Identity(
            found, direct, scale=size, condition=1e6, aside={"half the level": twice}
        ),
        "ends of monotone paths": Identity(
            ends[monotone],
            np.stack([least, least], 1)[monotone],
            condition=1e3,
            aside={"others": ends[~monotone, 0], "their least": least[~monotone]},
        ),
        "a path that turns back": Identity(
            np.stack([stage.weights[-1], regular.weights[-1]]),
            np.array([[0.5, 0.5, 0.5], [1.0, 0.0, 0.0]]),
            scale=1.0,
            aside={"stagewise": stage.weights, "regular": regular.weights, "steps": runs[0][0]},
        ),
        "small steps on it": Limit(1 / SIZES, np.array(away), order=1.0),
    }


@stagewise_and_the_l1_path.picture
def turning_back(pieces):
    """Three weights along both paths, against the ℓ1 norm travelled so far; dots: greedy steps of 0.02."""
    aside, panels = pieces["a path that turns back"].aside, []
    for title, name in (("ℓ1 regularization path", "regular"), ("greedy coordinate descent", "stagewise")):
        weights, marks = np.asarray(aside[name]), []
        travelled = np.append(0, np.cumsum(np.abs(np.diff(weights, axis=0)).sum(1)))
        for j in range(3):
            marks.append(Line(f"weight {j + 1}", travelled, weights[:, j]))
            if name == "stagewise":
                steps = np.asarray(aside["steps"])
                marks.append(Dots(f"weight {j + 1}", np.abs(steps).sum(1), steps[:, j]))
        panels.append(Curves(marks, x="ℓ1 length of the path", y="weight", title=title))
    return Row(panels)


@stagewise_and_the_l1_path.control("always one path", of="which stagewise paths are the ℓ1 path")
def always_one(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@stagewise_and_the_l1_path.control("the penalty of ‖Xw − y‖² for that of its half", of="minimizers on the ℓ1 path")
def factor_two(evidence):
    return replace(evidence, left=evidence.aside["half the level"])


@stagewise_and_the_l1_path.control("least norm on paths that turn back", of="ends of monotone paths")
def turned_paths(evidence):
    return replace(evidence, left=evidence.aside["others"], right=evidence.aside["their least"])


@stagewise_and_the_l1_path.control("both end at the least norm", of="a path that turns back")
def both_least(evidence):
    return replace(evidence, right=np.stack([evidence.right[1], evidence.right[1]]))
