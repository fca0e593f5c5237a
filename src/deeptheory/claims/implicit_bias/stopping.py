"""Stopping early is nearly a ridge: both shrink the directions of small curvature, by filters that stay close.

lucchi Ch. 11, Problems 1 and 2.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.early_stopping import (
    largest_gap,
    largest_risk_ratio,
    matching_penalty,
    ridge_share,
    stopped_share,
)
from deeptheory.lab import Identity, Inequality, Positive, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

STEPS = np.array([1, 3, 10, 40])
PENALTIES = np.array([0.05, 0.5, 3.0])


def risks(design, noise, steps=4000):
    """Mean squared error of the best ridge, of the best early stop and of the one that matches the ridge.

    For weights with independent entries of variance one. Estimators are matrices that act on labels, so that no draws
    of weights or noise are needed; descent is run on the matrix.
    """
    count, size = design.shape
    hessian, penalty = design.T @ design / count, noise**2 / count
    rate = matching_penalty(step_size=penalty, steps=steps)
    errors = lambda act: np.sum((act @ design - np.eye(size)) ** 2) + noise**2 * np.sum(act**2)  # noqa: E731
    ridge = np.linalg.solve(hessian + penalty * np.eye(size), design.T / count)
    shrunk, stops = np.eye(size) - rate * hessian, np.unique(np.geomspace(1, 10 * steps, 60).astype(int))
    found = [
        np.linalg.solve(hessian, (np.eye(size) - np.linalg.matrix_power(shrunk, int(each))) @ design.T / count)
        for each in (*stops, steps)
    ]
    return errors(ridge), min(map(errors, found)), errors(found[-1])


@claim(
    items={
        "L11.18": "fitted values of ridge regression",
        "L11.19": (
            "weights after k steps",
            "weights under the penalty",
            "gap between the shares",
            "shares of directions little learnt",
            "risk of the best early stop",
        ),
    },
    says=r"Ridge regression $\min\|Xw-y\|^2+c\|w\|^2$ has fitted values $\sum_iu_i\frac{d_i^2}{d_i^2+c}u_i^\top y$. "
    r"About a minimum with curvatures $h$, $k$ gradient steps from 0 leave the shares $1-(1-\eta h)^k$ and the penalty "
    r"$\frac c2\|w\|^2$ the shares $\frac h{h+c}$; with $c=\frac1{\eta k}$ they differ by at most 0.2036.",
    needs="a quadratic loss; for the last bound steps with ηh ≪ 1",
    full=dict(draws=200),
    symbols={
        r"X,y": "the data and the labels",
        r"d_i,u_i": "singular values of $X$ and their left singular vectors",
        r"c": r"the penalty; the book writes $c=\lambda/2$ in (11.28) and $c=2\lambda$ before (11.31)",
        r"h": "an eigenvalue of the Hessian",
        r"\eta,k": "the step size and the number of steps",
    },
    why=r"Along each eigenvector the problem is one number: a gradient step leaves $1-\eta h$ of what is missing, and "
    r"the penalized minimum solves $h(w-w^*)+cw=0$. With $s=\eta kh$ the shares are $1-e^{-s}$ and "
    r"$\frac s{1+s}$, up to terms in $\eta h$: both begin like $s$ and end at 1, and are "
    r"farthest apart where $(1+s)^2=e^s$, at $s=2.51$.",
    notice="Early stopping learns steep directions a little more, and leaves out flat ones as the ridge does; for "
    "weights of one variance its mean squared error is at most 1.2147 times that of the best ridge. Dashed: the ridge "
    "with the penalty that the book's formula names, twice too strong. A longer step moves all to flatter directions.",
    explore={"step_size": (0.01, 0.05, 0.2)},
)
def stopping_early_is_nearly_a_ridge(
    key, *, step_size: Positive = 0.05, draws: Annotated[int, Interval(ge=1, le=1000)] = 20
):
    draw = generator(key)
    designs, labels = draw.standard_normal((draws, 7, 4)), draw.standard_normal((draws, 7))
    fitted, predicted, printed = [], [], []
    stopped, shares, before, penalized, ridges, doubled = [], [], [], [], [], []
    for design, target in zip(designs, labels, strict=True):
        left, singular, _ = np.linalg.svd(design, full_matrices=False)
        for penalty in PENALTIES:
            # The minimizer by least squares on stacked rows, with no normal equations in common with the filter.
            rows = np.vstack([design, np.sqrt(penalty) * np.eye(4)])
            fitted.append(design @ np.linalg.lstsq(rows, np.append(target, np.zeros(4)))[0])
            predicted.append(left @ (ridge_share(singular**2, penalty=penalty) * (left.T @ target)))
            printed.append(left @ (ridge_share(singular**2, penalty=2 * penalty) * (left.T @ target)))
        basis = np.linalg.qr(draw.standard_normal((4, 4)))[0]
        curvatures, best = np.exp(draw.uniform(-3, 1, 4)), draw.standard_normal(4)
        hessian, rate = basis * curvatures @ basis.T, 0.5 / np.e
        for steps in STEPS:
            weights = np.zeros(4)
            for _ in range(steps):
                weights = weights - rate * hessian @ (weights - best)
            stopped.append(basis.T @ weights)
            shares.append(stopped_share(curvatures, step_size=rate, steps=int(steps)) * (basis.T @ best))
            before.append((1 - (1 - rate * curvatures) ** (int(steps) - 1)) * (basis.T @ best))
        for penalty in PENALTIES:
            # min ½(w − w*)ᵀH(w − w*) + λ‖w‖², the penalty as the book has it: c = 2λ.
            penalized.append(basis.T @ np.linalg.solve(hessian + 2 * penalty * np.eye(4), hessian @ best))
            ridges.append(ridge_share(curvatures, penalty=2 * penalty) * (basis.T @ best))
            doubled.append(ridge_share(curvatures, penalty=penalty) * (basis.T @ best))
    # Noise such that the curvatures are around the best penalty; and a design of one curvature where stopping is worst.
    at, ratio = largest_risk_ratio()
    alike = np.linalg.qr(draw.standard_normal((7, 4)))[0] * 7**0.5
    cases = [(design, np.sqrt(7) * np.exp(draw.uniform(-2, 1))) for design in designs] + [(alike, np.sqrt(7 / at))]
    least, stop, matched = np.transpose([risks(*case) for case in cases])
    # Curvatures from far below to far above 1/(ηk), as long as a step is short beside each of them.
    curve, count = np.geomspace(1e-4, 1, 200) * 0.002 / step_size, 20_000
    gap = stopped_share(curve, step_size=step_size, steps=count) - ridge_share(
        curve, penalty=matching_penalty(step_size=step_size, steps=count)
    )
    _, most = largest_gap()
    # Little learnt: shares of s = ηkh ≪ 1 agree to first order, s − s²/2 against s − s².
    small = 10.0 ** -np.arange(1.0, 5.0)
    early = np.array([stopped_share(np.array(s / 1e6), step_size=1.0, steps=10**6) for s in small])
    apart = np.abs(early - small / (1 + small))
    return {
        "fitted values of ridge regression": Identity(
            np.array(fitted), np.array(predicted), scale=4.0, condition=10.0, aside={"printed": np.array(printed)}
        ),
        "weights after k steps": Identity(
            np.array(stopped), np.array(shares), scale=4.0, size=40, aside={"one step less": np.array(before)}
        ),
        "weights under the penalty": Identity(
            np.array(penalized), np.array(ridges), scale=4.0, condition=60.0, aside={"printed": np.array(doubled)}
        ),
        # A step of ηh ≤ 0.002 changes a share by less than (ηh/2)·max s e^(−s) = 0.001/e.
        "gap between the shares": Inequality(
            gap,
            np.full(len(gap), most),
            error=0.001 / np.e,
            along={"s": step_size * count * curve},
            aside={"curvature": curve},
        ),
        # Steps of ηh ≤ 0.02 instead of a flow.
        "risk of the best early stop": Inequality(
            np.stack([least, matched]),
            np.stack([stop, ratio * least]),
            error=1e-3 * least,
            along={"side": ["not below the ridge", "not far above"]},
            aside={"best": np.stack([least, stop]), "ridge": least},
        ),
        "shares of directions little learnt": Rate(1 / small, apart, exponent=-2.0, rivals=(-1.0, -3.0)),
    }


@stopping_early_is_nearly_a_ridge.picture
def two_filters(pieces):
    """Share of a direction learnt, against its curvature: 20,000 steps of descent, and the ridge of penalty 1/(ηk)."""
    gap = pieces["gap between the shares"]
    h, s = np.asarray(gap.aside["curvature"]), np.asarray(gap.along["s"])
    ridge = ridge_share(s, penalty=1.0)
    return Curves(
        [
            Line("stopped: 1 − e^(−ηkh)", h, 1 - np.exp(-s)),
            Dots("stopped after k steps", h[::10], (ridge + gap.quantity)[::10]),
            Line("ridge with c = 1/(ηk)", h, ridge),
            Line("", h, ridge_share(s, penalty=2.0), rival="λ = 1/(ηk) in λ‖w‖²"),
            Level("largest gap", x=float(largest_gap()[0] * h[0] / s[0])),
        ],
        x="curvature h",
        y="share learnt",
        log="x",
        xs=(1e-6, 0.2),
    )


@stopping_early_is_nearly_a_ridge.control(
    "factors d²/(d² + λ) for the penalty (λ/2)‖w‖², as printed",
    erratum="L11.18a",
    of="fitted values of ridge regression",
)
def factor_as_printed(evidence):
    return replace(evidence, right=evidence.aside["printed"])


@stopping_early_is_nearly_a_ridge.control(
    "λ(Λ + λ)⁻¹ for the penalty λ‖w‖², as printed", erratum="L11.19a", of="weights under the penalty"
)
def penalty_as_printed(evidence):
    return replace(evidence, right=evidence.aside["printed"])


@stopping_early_is_nearly_a_ridge.control("one step less", of="weights after k steps")
def one_step_less(evidence):
    return replace(evidence, right=evidence.aside["one step less"])


@stopping_early_is_nearly_a_ridge.control("never apart by more than a fifth", of="gap between the shares")
def a_fifth(evidence):
    return replace(evidence, bound=np.full_like(evidence.bound, 1 / 5))


@stopping_early_is_nearly_a_ridge.control("as small as that of the best ridge", of="risk of the best early stop")
def no_loss(evidence):
    least, stop = evidence.aside["best"]
    return replace(evidence, quantity=np.stack([least, stop]), bound=np.stack([stop, least]))


@stopping_early_is_nearly_a_ridge.control("above it by a fifth at most", of="risk of the best early stop")
def a_fifth_more(evidence):
    bound = np.array(evidence.bound)
    bound[1] = 1.2 * np.asarray(evidence.aside["ridge"])
    return replace(evidence, bound=bound)
