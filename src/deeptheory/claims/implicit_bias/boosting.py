"""AdaBoost is steepest descent in the ℓ1 norm with exact line search, which can miss the margin (arora 8.3.2)."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.boosting import CYCLING_ANSWERS, adaboost, cycle_margin
from deeptheory.implicit_bias.margins import largest_margin, normalized_margin
from deeptheory.implicit_bias.steepest import margin_descent, steepest_step
from deeptheory.lab import Exact, Identity, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

Rounds = Annotated[int, Interval(ge=1_000, le=1_000_000)]
SMALL_STEPS = 20_000
GOLDEN = (np.sqrt(5) - 1) / 2


@claim(
    items={
        "A8.31": (
            "learner of each round",
            "exact step of each round",
            "loss of each round",
            "bounded steps on random tables",
        ),
    },
    says=r"AdaBoost is steepest descent in the $\ell_1$ norm on $\sum_ie^{-(Mw)_i}$ with exact line search: each round "
    r"takes the learner whose edge $r$ is largest in size by the step $\frac12\log\frac{1+r}{1-r}$ and multiplies the "
    r"loss by $\sqrt{1-r^2}$. Bounded steps reach the largest $\ell_1$ margin.",
    needs="answers ±1, no learner right or wrong on all points; for the margin, a vote that is right on all, and in "
    "round t a step of 1/(L√t), L the loss",
    symbols={
        r"M": r"the table of answers: $M_{ij}=1$ if learner $j$ is right about point $i$, else $-1$",
        r"w": "the votes of the learners",
        r"r": r"the edge of a learner: what it is right more than wrong, points weighted by their share of the loss",
    },
    why=r"The gradient's entry for learner $j$ is minus the loss times its edge, so the entry largest in size, where "
    r"steepest descent in $\ell_1$ goes, is the learner whose edge is. Along it the loss is "
    r"$L(\frac{1+r}2e^{-s}+\frac{1-r}2e^s)$ at step $s$, least where both terms are equal.",
    notice="The loss along the chosen learner in three rounds: the dot, AdaBoost's step, is at the bottom.",
)
def adaboost_is_steepest_descent(
    key, *, points: Annotated[int, Interval(ge=4, le=200)] = 30, learners: Annotated[int, Interval(ge=3, le=50)] = 12
):
    from scipy.optimize import minimize_scalar

    random = generator(key)
    answers = np.where(random.uniform(size=(points, learners)) < 0.6, 1.0, -1.0)
    answers[0], answers[1] = 1.0, -1.0  # so that no learner is always right, or always wrong
    run = adaboost(answers, rounds=12)
    votes = np.vstack([np.zeros(learners), run.votes])
    chosen, edges = np.asarray(run.chosen), np.asarray(run.edges)
    slopes, steepest, steps, found, losses = [], [], [], [], [float(points)]
    for k, (before, after) in enumerate(pairwise(votes)):
        gradient, along = -np.exp(-answers @ before) @ answers, np.eye(learners)[chosen[k]]
        # Slopes and not indices: of two learners with equal edges rounding picks one.
        slopes.append(np.sign(edges[k]) * gradient @ along)
        step = np.asarray(steepest_step(gradient, norm=1))
        steepest.append(gradient @ step / np.abs(step).sum())
        line = lambda s, at=before, e=along: np.log(np.exp(-answers @ (at + s * e)).sum())  # noqa: E731
        least: Any = minimize_scalar(line, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
        found.append(least.x)
        steps.append((after - before)[chosen[k]])
        losses.append(float(np.exp(-answers @ after).sum()))
    ratio = np.diff(np.log(losses))
    grid = np.linspace(-0.6, 1.2, 60)
    curves = [[line(s, votes[k], np.eye(learners)[chosen[k]]) for s in grid] for k in (0, 1, 2)]
    aside = {"grid": grid, "curves": np.array(curves), "edges": edges}
    # Small tables of eight points and eight learners, with a margin that thousands of steps can reach.
    late, short, rival = np.geomspace(SMALL_STEPS / 64, SMALL_STEPS, 7).astype(int), [], []
    while len(short) < 6:
        table = np.where(random.uniform(size=(8, 8)) < 0.5, 1.0, -1.0)
        if np.abs(np.linalg.det(table)) < 1 or (best := largest_margin(table, norm=1).margin) < 0.1:
            continue
        shares = 1 / np.sqrt(1 + np.arange(SMALL_STEPS))
        small = margin_descent(table, shares, norm=1, largest_step=np.exp(700.0)).weights
        margins = np.asarray(normalized_margin(table, np.asarray(small)[late], norm=1))
        short.append(1 - margins / best)
        rival.append(np.abs(margins - largest_margin(table).margin) / np.maximum(margins, largest_margin(table).margin))
    return {
        "learner of each round": Identity(np.array(slopes), np.array(steepest), scale=points, error=1e-11),
        # A parabola's bottom is found to the root of rounding.
        "exact step of each round": Identity(np.array(steps), np.array(found), error=1e-6, scale=1.0, aside=aside),
        "loss of each round": Identity(ratio, np.log1p(-(edges**2)) / 2, scale=1.0, error=1e-11),
        "bounded steps on random tables": Limit(
            late.astype(float), np.mean(short, axis=0), order=0.5, aside={"euclidean": np.mean(rival, axis=0)}
        ),
    }


@adaboost_is_steepest_descent.control("a step of the edge itself", of="exact step of each round")
def step_of_the_edge(evidence):
    return replace(evidence, left=evidence.aside["edges"])


@adaboost_is_steepest_descent.control("the loss times 1 − r²", of="loss of each round")
def squared_factor(evidence):
    return replace(evidence, right=2 * np.asarray(evidence.right))


@adaboost_is_steepest_descent.control("the largest ℓ2 margin", of="bounded steps on random tables")
def euclidean_margin(evidence):
    return replace(evidence, y=evidence.aside["euclidean"])


@adaboost_is_steepest_descent.picture
def bottoms(pieces):
    """The logarithm of the loss along the chosen learner, in the first three rounds, and the step that is taken."""
    found, marks = pieces["exact step of each round"], []
    grid, curves = found.aside["grid"], found.aside["curves"]
    for k, curve in enumerate(curves):
        step = float(found.left[k])
        marks += [Line(f"round {k + 1}", grid, curve), Dots(f"round {k + 1}", [step], [np.interp(step, grid, curve)])]
    return Curves(marks, x="step along the learner of largest edge", y="logarithm of the loss")


@claim(
    items={"A8.32": ("largest margin", "margin of AdaBoost", "edges of the cycle", "margin of bounded steps")},
    says=r"On one table of eight points and eight learners AdaBoost falls into a cycle of three learners, whose edges "
    r"tend to the golden ratio $(\sqrt5-1)/2$ and whose margin tends to $\frac13$, while the largest $\ell_1$ margin "
    r"is $\frac38$. Steepest descent with bounded steps reaches it.",
    needs="uniform weights at the start; bounded steps are at round t of size 1/(L√t), L the loss",
    full=dict(rounds=100_000),
    symbols={r"\ell_1": "the norm of a vote: the sum of its sizes; its margin is the worst point's, over that norm"},
    why=r"Exact line search sends the edge of the learner just used to zero, so the run jumps between few learners "
    r"and, here, closes a cycle. Over a cycle of edges $r$ the log loss falls by $-\sum\log(1-r^2)/2$ and the votes "
    r"grow by $\sum\log\frac{1+r}{1-r}/2$. With $r^2=1-r$ the quotient is $\frac13$: the steps do not shrink in units "
    "of the loss, and what curvature takes back never fades.",
    notice="AdaBoost comes to the lower line and stays; small steps along the same largest edges climb past it to the "
    "upper one.",
)
def exact_line_search_misses_the_margin(*, rounds: Rounds = 20_000):
    table = CYCLING_ANSWERS
    run = adaboost(table, rounds=rounds)
    bounded = margin_descent(table, 1 / np.sqrt(1 + np.arange(rounds)), norm=1, largest_step=np.exp(700.0))
    margins = np.asarray(normalized_margin(table, np.asarray(run.votes), norm=1))
    small = np.asarray(normalized_margin(table, np.asarray(bounded.weights[1:]), norm=1))
    late = np.geomspace(rounds / 64, rounds, 7).astype(int) - 1
    shown = np.unique(np.geomspace(10, rounds, 80).astype(int)) - 1
    whole = [[Fraction(int(entry)) for entry in row] for row in table]
    # Both certificates in rationals: a vote whose every margin is at least 3/8, and weights of the points under which
    # no learner has a larger edge.
    programme = largest_margin(table, norm=1)
    vote = [Fraction(float(v)).limit_denominator(64) for v in programme.vector]
    weights = [Fraction(float(p)).limit_denominator(64) for p in programme.weights]
    least: Any = min(sum(a * v for a, v in zip(row, vote, strict=True)) for row in whole) / sum(abs(v) for v in vote)
    edges: list[Any] = [abs(sum(p * row[j] for p, row in zip(weights, whole, strict=True))) for j in range(8)]
    edge = max(edges) / sum(weights)
    aside = {"rounds": shown + 1.0, "exact": margins[shown], "small": small[shown]}
    return {
        "largest margin": Exact(
            np.array([least.numerator, least.denominator, edge.numerator, edge.denominator]),
            np.array([3, 8, 3, 8]),
            aside=aside,
        ),
        "margin of AdaBoost": Limit(
            late + 1.0, np.abs(margins[late] - 1 / 3), order=1.0, aside={"margins": margins[late]}
        ),
        "edges of the cycle": Identity(
            np.append(np.abs(run.edges[-3:]), cycle_margin(np.abs(np.asarray(run.edges[-3:])))),
            np.append(np.full(3, GOLDEN), 1 / 3),
            error=1e-9,
        ),
        "margin of bounded steps": Limit(late + 1.0, np.abs(3 / 8 - small[late]), order=0.5),
    }


@exact_line_search_misses_the_margin.control("AdaBoost reaches the largest margin", of="margin of AdaBoost")
def reaches_the_largest(evidence):
    return replace(evidence, y=np.abs(evidence.aside["margins"] - 3 / 8))


@exact_line_search_misses_the_margin.control("edges of a half", of="edges of the cycle")
def edges_of_a_half(evidence):
    return replace(evidence, right=np.append(np.full(3, 0.5), cycle_margin(np.full(3, 0.5))))


@exact_line_search_misses_the_margin.picture
def cycle_and_climb(pieces):
    """The ℓ1 margin along AdaBoost and along steepest descent with small steps, on the same table of answers."""
    seen = pieces["largest margin"].aside
    marks = [
        Line("AdaBoost", seen["rounds"], seen["exact"]),
        Line("small steps", seen["rounds"], seen["small"]),
        Level("largest margin 3/8", y=3 / 8),
        Level("1/3", y=1 / 3),
    ]
    return Curves(marks, x="rounds", y="ℓ1 margin", log="x", ys=(0.2, 0.4))
