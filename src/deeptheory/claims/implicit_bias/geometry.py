"""The geometry of the updates decides which solution is found: mirror descent, steepest descent, and where they part.

arora 8.1.1.
"""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import scipy.optimize
from annotated_types import Interval

from deeptheory.foundations.flows import followed
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.auditor import solves
from deeptheory.implicit_bias.mirror import (
    bregman_divergence,
    bregman_projection,
    conjugate,
    mirror_descent,
    steepest_descent,
)
from deeptheory.implicit_bias.potentials import (
    ENTROPY,
    EUCLIDEAN,
    hypentropy,
    quadratic,
    squared_norm,
)
from deeptheory.lab import Exact, Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Plane, Row

DATA, TARGET = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 0.0]]), np.array([1.0, 10.0])
"""arora Ch. 8 Example 2: two samples in three dimensions; the solutions are (10 − 2s, s, s − 9)"""
STEPS = np.array([0.01, 0.1, 0.25, 0.3])


def run(method, design, labels, start, *, steps, order=None):
    """A method of optax's shape on ½‖Xw − y‖², or on its samples in a given order, until the error is 1e-13."""
    weights, size = np.array(start, float), np.linalg.norm(labels)
    for t in range(steps):
        rows = slice(None) if order is None else order[t % len(order)]
        error = design[rows] @ weights - labels[rows]
        move, _ = method.update(design[rows].T @ error if order is None else design[rows] * error, None, weights)
        weights = weights + move
        if np.linalg.norm(design @ weights - labels) < 1e-13 * size:
            break
    return weights


@claim(
    items={
        "A8.5": ("limits of mirror descent", "limits with one sample a step"),
        "A8.6": ("limits of mirror descent", "divergences at the limit", "divergences written out"),
        "A8.7": ("limits of mirror descent", "limits with one sample a step", "least potential from its minimum"),
        "A8.9": "steepest descent in a quadratic norm",
    },
    says=r"Mirror descent $\nabla R(w_{t+1})=\nabla R(w_t)-\eta\nabla L(w_t)$ that fits the data ends at the solution "
    r"nearest to its start in Bregman divergence, $\operatorname{argmin}_{Xw=y}D_R(w,w_0)$; from the minimum of $R$, "
    r"at $\operatorname{argmin}_{Xw=y}R$. For $R=\frac12w^\top Dw$ it is steepest descent in $\|\cdot\|_D$.",
    needs="a strictly convex, differentiable R; runs that end at zero loss",
    full=dict(columns=20, steps=100_000),
    symbols={
        r"R": "the potential: Euclidean, quadratic, entropy, a squared norm, the hyperbolic entropy",
        r"L": r"the loss $\frac12\|Xw-y\|^2$",
        r"\eta": "the step size",
        r"D_R(w,w_0)": r"$R(w)-R(w_0)-\langle\nabla R(w_0),w-w_0\rangle$",
        r"X,y": "the data, fewer rows than columns, and the labels",
        r"D": "a positive definite matrix",
    },
    why=r"Every step adds a combination of the rows of $X$ to $\nabla R(w)$. At the limit, $\nabla R(w)-\nabla R(w_0)$ "
    r"is such a combination and $Xw=y$: these are the conditions of the convex problem "
    r"$\min D_R(w,w_0)$ subject to $Xw=y$. Step sizes, their order and the choice of samples do not enter.",
    notice="One set of data, one start, five limits: each coordinate's weights that mirror descent finds lie on the "
    "solution of a problem that it was never told about, another one for each potential. With the arguments of the "
    "entropy's divergence swapped, dashed, it would be another solution.",
)
def mirror_descent_projects(
    key,
    *,
    rows: Annotated[int, Interval(ge=2, le=20)] = 3,
    columns: Annotated[int, Interval(ge=4, le=60)] = 8,
    steps: Annotated[int, Interval(ge=1000, le=1_000_000)] = 20_000,
):
    draw = generator(key)
    left, right = (np.linalg.qr(draw.standard_normal((size, rows)))[0] for size in (rows, columns))
    design = left * draw.uniform(1.0, 1.5, rows) @ right.T
    labels, start = design @ draw.uniform(0.3, 1.7, columns), draw.uniform(0.5, 1.5, columns)
    basis = np.linalg.qr(draw.standard_normal((columns, columns)))[0]
    matrix = basis * draw.uniform(0.5, 2.0, columns) @ basis.T
    potentials = {
        "Euclidean": (EUCLIDEAN, 0.3),
        "quadratic": (quadratic(matrix), 0.15),
        "entropy": (ENTROPY, 0.1),
        "p = 3/2": (squared_norm(1.5), 0.15),
        "hyperbolic": (hypentropy(0.5), 0.02),
    }
    order = draw.permutation(np.tile(np.arange(rows), 7))
    found, single, lowest, projected, least, values, swapped = [], [], [], [], [], [], []
    null = np.linalg.svd(design)[2][rows:]
    for name, (potential, step) in potentials.items():
        method = mirror_descent(potential, step)
        found.append(run(method, design, labels, start, steps=steps))
        single.append(run(method, design, labels, start, steps=steps, order=order))
        bottom = np.ones(columns) if name == "entropy" else np.zeros(columns) + 1e-300
        lowest.append(run(method, design, labels, bottom, steps=steps))
        projected.append(bregman_projection(potential, design, labels, start))
        least.append(bregman_projection(potential, design, labels))
        # Pythagoras: for an interpolator w the divergence splits at the projection, D(w, w₀) = D(w, w*) + D(w*, w₀).
        others = projected[-1] + 0.1 * draw.standard_normal((20, len(null))) @ null
        values.append(
            [
                [bregman_divergence(potential, w, start) for w in others],
                [
                    bregman_divergence(potential, w, found[-1]) + bregman_divergence(potential, found[-1], start)
                    for w in others
                ],
            ]
        )
        away = scipy.optimize.minimize(
            lambda t, potential=potential, base=projected[-1]: float(
                bregman_divergence(potential, start, np.maximum(base + t @ null, 1e-9))
            ),
            np.zeros(len(null)),
        )
        swapped.append(projected[-1] + away.x @ null)
    inverse = np.linalg.inv(matrix)
    closed = start + inverse @ design.T @ np.linalg.solve(design @ inverse @ design.T, labels - design @ start)
    plain = start + matrix @ design.T @ np.linalg.solve(design @ matrix @ design.T, labels - design @ start)
    steep = run(steepest_descent(quadratic(matrix), 0.15), design, labels, start, steps=steps)
    size = np.linalg.norm(start) + np.linalg.norm(labels)
    end: dict[str, Any] = dict(scale=size, error=1e-10 * size)
    splits = np.array(values)
    return {
        "limits of mirror descent": Identity(
            np.array(found),
            np.array(projected),
            **end,
            aside={"potential": list(potentials), "least": np.array(least), "swapped": np.array(swapped)},
        ),
        "limits with one sample a step": Identity(
            np.array(single), np.array(projected), **end, aside={"nearest": np.tile(projected[0], (len(found), 1))}
        ),
        "least potential from its minimum": Identity(
            np.array(lowest), np.array(least), **end, aside={"nearest": np.array(projected)}
        ),
        "divergences at the limit": Identity(splits[:, 0], splits[:, 1], scale=10 * size, error=1e-9 * size),
        "divergences written out": written_out(draw, matrix),
        "steepest descent in a quadratic norm": Identity(
            np.stack([steep, found[1]]), np.stack([closed, closed]), **end, aside={"with D": np.stack([plain, plain])}
        ),
    }


def written_out(draw, matrix):
    """D_R(w, w′) of pairs of positive vectors beside what it is by hand, and beside that of the pair turned round.

    Squared lengths for quadratic potentials, the relative entropy of measures for the entropy, and for the others
    ∫⟨∇R(w′ + t(w − w′)) − ∇R(w′), w − w′⟩dt by Gauss's quadrature, the gradients in closed form.
    """
    nodes, shares = np.polynomial.legendre.leggauss(40)

    def ratio(w, other):
        return np.sum(w * np.log(w / other) - w + other)

    def along(gradient):
        def area(w, other):
            ways = [gradient(other + (1 + node) / 2 * (w - other)) - gradient(other) for node in nodes]
            return shares @ np.array(ways) @ (w - other) / 2

        return area

    by_hand = (
        (EUCLIDEAN, lambda w, other: np.sum((w - other) ** 2) / 2),
        (quadratic(matrix), lambda w, other: (w - other) @ matrix @ (w - other) / 2),
        (ENTROPY, ratio),
        (squared_norm(1.5), along(lambda w: np.cbrt(np.sum(w**1.5)) * np.sqrt(w))),
        (hypentropy(0.5), along(lambda w: np.log((w + np.sqrt(w**2 + 0.25)) / 0.5) / 4)),
    )
    pairs = draw.uniform(0.2, 2.0, (10, 2, len(matrix)))
    found = [[bregman_divergence(potential, *pair) for pair in pairs] for potential, _ in by_hand]
    wanted, turned = ([[form(*pair[::way]) for pair in pairs] for _, form in by_hand] for way in (1, -1))
    return Identity(np.array(found), np.array(wanted), scale=len(matrix), aside={"turned": np.array(turned)})


@mirror_descent_projects.picture
def five_limits(pieces):
    """Weights that mirror descent found (dots) and those of least divergence (lines), less the Euclidean solution."""
    piece = pieces["limits of mirror descent"]
    names = [str(name) for name in piece.aside["potential"]]
    found, nearest = np.asarray(piece.left) - piece.right[0], np.asarray(piece.right) - piece.right[0]
    weights = np.arange(1, found.shape[1] + 1)
    marks = [Line(name, weights, each, thin=True) for name, each in zip(names, nearest, strict=True)]
    marks += [Dots(name, weights, each) for name, each in zip(names, found, strict=True)]
    swapped = np.asarray(piece.aside["swapped"])[names.index("entropy")] - piece.right[0]
    marks.append(Line("entropy", weights, swapped, rival="arguments swapped"))
    return Curves(marks, x="coordinate", y="weight less the Euclidean one")


@mirror_descent_projects.control("the solution of least R, whatever the start", of="limits of mirror descent")
def least_whatever_the_start(evidence):
    return replace(evidence, right=evidence.aside["least"])


@mirror_descent_projects.control("nearest in D_R(w₀, w), arguments swapped", of="limits of mirror descent")
def arguments_swapped(evidence):
    return replace(evidence, right=evidence.aside["swapped"])


@mirror_descent_projects.control("D_R(w₀, w) for D_R(w, w₀)", of="divergences written out")
def turned_round(evidence):
    return replace(evidence, right=evidence.aside["turned"])


@mirror_descent_projects.control("nearest in the Euclidean distance", of="limits with one sample a step")
def euclidean_nearest(evidence):
    return replace(evidence, right=evidence.aside["nearest"])


@mirror_descent_projects.control("nearest to another start", of="least potential from its minimum")
def another_start(evidence):
    return replace(evidence, right=evidence.aside["nearest"])


@mirror_descent_projects.control(
    "preconditioned with D instead of its inverse", of="steepest descent in a quadratic norm"
)
def not_inverted(evidence):
    return replace(evidence, right=evidence.aside["with D"])


@claim(
    items={
        "A8.8": ("slope and lengths of a step", "steps that minimize the model"),
        "A8.12": ("which limits have least norm", "limit as steps shrink", "least norm by its equation"),
    },
    says=r"Steepest descent in a norm moves by $\Delta=\operatorname{argmin}_v\langle\nabla "
    r"L,v\rangle+\frac12\|v\|^2$, with $\langle\Delta,-\nabla L\rangle=\|\Delta\|^2=\|\nabla L\|_*^2$. For "
    r"$\ell_{4/3}$ the solution it finds depends on the step size, and even for $\eta\to0$ it is not "
    r"$\operatorname{argmin}_{Xw=y}\|w-w_0\|$.",
    needs="the data of the example, gradient X^⊤(Xw − y)",
    full=dict(draws=200),
    symbols={
        r"L": r"the loss $\frac12\|Xw-y\|^2$",
        r"\Delta": "the direction of steepest descent",
        r"\|\cdot\|_*": "the dual norm",
        r"\eta": "the step size",
        r"X,y": "two samples in three dimensions",
        r"w_0": "the start, 0",
    },
    why=r"With $R=\frac12\|\cdot\|^2$ the direction is $\nabla R^*(-\nabla L)$. For a quadratic norm $\nabla R^*$ is "
    r"linear, so the sum of the steps is $\nabla R^*$ of a combination of rows, as optimality asks. For other norms "
    r"the sum of the $\nabla R^*$ is not the $\nabla R^*$ of the sum, and where it ends depends on the steps.",
    notice=r"All runs end on the line of solutions, at different places; the shorter the steps, the nearer to the "
    r"limit of the flow, which is not the solution of least norm either.",
)
def steepest_descent_depends_on_its_steps(key, *, draws: Annotated[int, Interval(ge=1, le=1000)] = 20):
    draw = generator(key)
    gradients, powers = draw.standard_normal((draws, 6)), np.array([1.0, 4 / 3, 2.0, 3.0, np.inf])
    duals = np.array([np.inf, 4.0, 2.0, 1.5, 1.0])
    slopes, lengths, norms, model, best = ([] for _ in range(5))
    tried = draw.standard_normal((draws, 200, 6)) * np.exp(draw.uniform(-6, 1, (draws, 200, 1)))
    for power, dual in zip(powers, duals, strict=True):
        potential = squared_norm(power)
        steps = np.array([steepest_descent(potential, 1.0).update(g, ())[0] for g in gradients])
        slopes.append(-np.sum(gradients * steps, 1))
        lengths.append([np.linalg.norm(step, power) ** 2 for step in steps])
        norms.append([np.linalg.norm(g, dual) ** 2 for g in gradients])
        near = steps[:, None] + tried
        value = np.einsum("di,dki->dk", gradients, near) + np.linalg.norm(near, power, axis=2) ** 2 / 2
        model.append(np.array([-float(conjugate(potential, -g)) for g in gradients]))
        best.append(value.min(1))
    method = squared_norm(4 / 3)
    ends = np.array([run(steepest_descent(method, step), DATA, TARGET, np.zeros(3), steps=20_000) for step in STEPS])
    plain = run(steepest_descent(EUCLIDEAN, 0.1), DATA, TARGET, np.zeros(3), steps=20_000)

    def velocity(t, w):
        return np.asarray(method.inverse(-DATA.T @ (DATA @ w - TARGET)))

    times = np.append(np.linspace(0, 8, 60), 40.0)
    flow = followed(velocity, 0.0, np.zeros(3), times, method="DOP853", tolerance=1e-12)
    small = 0.04 / 2.0 ** np.arange(4)
    shrinking = [run(steepest_descent(method, step), DATA, TARGET, np.zeros(3), steps=100_000) for step in small]
    away = np.linalg.norm(np.array(shrinking) - flow[-1], axis=1)
    excess = [solves(w, DATA, TARGET, method).excess for w in [*ends, flow[-1]]]
    audits = [*excess, solves(plain, DATA, TARGET, EUCLIDEAN).excess]
    # On the line (10 − 2s, s, s − 9) the norm is least where its derivative vanishes, one equation in s.
    root = scipy.optimize.brentq(lambda s: -2 * np.cbrt(10 - 2 * s) + np.cbrt(s) + np.cbrt(s - 9), 4.0, 5.0, xtol=1e-14)
    least, root = bregman_projection(method, DATA, TARGET), float(root)  # type: ignore[arg-type]
    return {
        "slope and lengths of a step": Identity(
            np.stack([slopes, lengths]),
            np.stack([norms, norms]),
            along={"side": np.arange(2), "1/p": 1 / powers},
            size=6,
        ),
        "steps that minimize the model": Inequality(np.array(model), np.array(best), error=1e-12),
        "which limits have least norm": Exact(
            np.array(audits) < 1e-6,
            np.array([False] * 5 + [True]),
            aside={"ends": ends, "flow": flow, "least": least, "excess": np.array(audits)},
        ),
        "limit as steps shrink": Rate(1 / small, away, exponent=-1.0, rivals=(-0.5, -2.0)),
        "least norm by its equation": Identity(
            least, np.array([10 - 2 * root, root, root - 9]), scale=10.0, condition=1e3, aside={"flow": flow[-1]}
        ),
    }


@steepest_descent_depends_on_its_steps.picture
def where_runs_end(pieces):
    """The flow and where runs end, in two of three coordinates, with the line of solutions (left); over η (right)."""
    aside = pieces["which limits have least norm"].aside
    ends, flow, least = (np.asarray(aside[name]) for name in ("ends", "flow", "least"))
    line = np.array([4.4, 5.8])
    marks = [
        Line("solutions", 10 - 2 * line, line, dashed=True),
        Line("η → 0", flow[:, 0], flow[:, 1], arrow=True),
        Dots("ends of runs", ends[:, 0], ends[:, 1], words=[f"η = {step:g}" for step in STEPS]),
        Dots("least norm", least[:1], least[1:2]),
    ]
    limits = [Level("η → 0", y=float(flow[-1, 0])), Level("least norm", y=float(least[0]))]
    over_steps = Curves(
        [Dots("ends of runs", STEPS, ends[:, 0]), *limits], x="step size η", y="first weight at the end", log="x"
    )
    return Row([Plane(marks, x="first weight", y="second weight"), over_steps])


@steepest_descent_depends_on_its_steps.control("the least norm for every step size", of="which limits have least norm")
def least_for_every_step(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@steepest_descent_depends_on_its_steps.control("the flow ends at the least norm", of="least norm by its equation")
def flow_is_least(evidence):
    return replace(evidence, left=evidence.aside["flow"])


@steepest_descent_depends_on_its_steps.control("lengths not squared", of="slope and lengths of a step")
def not_squared(evidence):
    return replace(evidence, right=np.sqrt(evidence.right))


@steepest_descent_depends_on_its_steps.control("a model without its half", of="steps that minimize the model")
def without_half(evidence):
    return replace(evidence, quantity=evidence.quantity / 2)
