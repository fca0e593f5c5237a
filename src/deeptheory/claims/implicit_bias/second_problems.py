"""One set of data, several algorithms, several second problems: which solution solves which.

Least norms among interpolators, largest margins among separators, least nuclear norm among matrices.

arora Ch. 8, "Meanings of implicit regularization".
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.auditor import least_norm, selected, solves, solves_margin
from deeptheory.implicit_bias.margins import largest_margin
from deeptheory.implicit_bias.mirror import mirror_descent
from deeptheory.implicit_bias.nuclear import least_nuclear_norm, nuclear_certificate
from deeptheory.implicit_bias.potentials import ENTROPY, EUCLIDEAN, nuclear_norm, quadratic, squared_norm
from deeptheory.implicit_bias.steepest import margin_descent
from deeptheory.lab import Exact, Identity, Inequality, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, HeatMap, Level
from deeptheory.optimization.methods import preconditioned

METHODS = ("gradient descent", "preconditioned", "mirror, entropy", "mirror, p = 3/2", "Adam")
PENALTIES = ("ℓ2", "quadratic", "entropy", "ℓ3/2", "ℓ1", "ℓ∞")


@claim(
    items={"A8.1": ("which solution solves which problem", "conditions at the solutions", "certified least values")},
    says=r"An algorithm that brings $\frac12\|Xw-y\|^2$ to zero solves a second problem $\min_{Xw=y}R(w)$: gradient "
    r"descent that of $\|w\|_2$, preconditioning by $D^{-1}$ that of $\|w\|_D$, mirror descent that of its potential; "
    r"none of them another's, and Adam none of these.",
    needs="from the minimum of R; more columns than rows",
    full=dict(columns=16),
    symbols={
        r"X,y": "the data and the labels",
        r"R": "a norm or an entropy",
        r"D": "a positive definite matrix",
    },
    why=r"A solution $w$ solves the second problem exactly when some $\lambda$ has $X^\top\lambda\in\partial R(w)$: "
    r"its conditions. Any $\lambda$ also bounds the least value from below, by "
    r"$\langle\lambda,y\rangle-R^*(X^\top\lambda)$. So a point can be audited without knowing how it was found, and "
    "the audit proves what it says.",
    notice="How much larger the second objective is than its least value, for each algorithm and each objective: zero "
    "on the diagonal and nowhere else. Adam's row has no zero.",
)
def algorithms_and_their_second_problems(key, *, columns: Annotated[int, Interval(ge=5, le=40)] = 8):
    draw = generator(key)
    left, right = (np.linalg.qr(draw.standard_normal((size, 3)))[0] for size in (3, columns))
    design = left * np.array([1.0, 1.2, 1.5]) @ right.T
    labels = design @ draw.uniform(0.2, 2.0, columns)
    basis = np.linalg.qr(draw.standard_normal((columns, columns)))[0]
    matrix = basis * np.exp(draw.uniform(-1, 1, columns)) @ basis.T

    def loss(w):
        return jnp.sum((design @ w - labels) ** 2) / 2

    zero, runs = np.zeros(columns), {}
    for name, method, start in (
        (METHODS[0], optax.sgd(0.3), zero),
        (METHODS[1], preconditioned(np.linalg.inv(matrix), step_size=0.15), zero),
        (METHODS[2], mirror_descent(ENTROPY, 0.05), zero + 1),
        (METHODS[3], mirror_descent(squared_norm(1.5), 0.1), zero),
        (METHODS[4], optax.adam(0.03), zero),
    ):
        runs[name] = jax.jit(lambda start, method=method: selected(method, loss, start, tolerance=1e-22))(start)
    problems = (EUCLIDEAN, quadratic(matrix), ENTROPY, squared_norm(1.5), squared_norm(1.0), squared_norm(np.inf))
    corners = {4: least_norm(design, labels, power=1), 5: least_norm(design, labels, power=np.inf)}
    audits = [
        [
            # The entropy is a function of positive weights only; a solution with others does not solve its problem.
            solves(
                np.maximum(run.point, 1e-300) if i == 2 else run.point, design, labels, each, solution=corners.get(i)
            )
            for i, each in enumerate(problems)
        ]
        for run in runs.values()
    ]
    excess = np.array([[each.value - each.least for each in row] for row in audits])
    unfit = np.array([[each.unfit for each in row] for row in audits])
    scale = np.array([[abs(each.least) for each in row] for row in audits])
    own = np.arange(4)
    # Any interpolator, and any multipliers, on the two sides of weak duality.
    null = np.linalg.svd(design)[2][3:]
    others = np.asarray(runs[METHODS[0]].point) + draw.standard_normal((30, columns - 3)) @ null
    bounds = [
        [solves(w, design, labels, each, solution=corners.get(i)) for w in others]
        for i, each in enumerate(problems)
        if i != 2
    ]
    return {
        "which solution solves which problem": Exact(
            (excess < 1e-8 * scale) & (unfit < 1e-8),
            np.eye(5, 6, dtype=bool) & (np.arange(5) < 4)[:, None],
            aside={"excess": np.maximum(excess, 1e-12) / scale, "methods": list(METHODS), "problems": list(PENALTIES)},
        ),
        "conditions at the solutions": Identity(
            np.array([audits[i][i].misaligned for i in own]),
            np.zeros(4),
            scale=1.0,
            error=1e-8,
            aside={"of Adam": np.array([audits[4][i].misaligned for i in own])},
        ),
        "certified least values": Inequality(
            np.array([[each.least for each in row] for row in bounds]),
            np.array([[each.value for each in row] for row in bounds]),
            error=1e-9,
        ),
    }


@algorithms_and_their_second_problems.picture
def who_solves_what(pieces):
    """Common logarithm of the relative excess of each second objective over its least value."""
    aside = pieces["which solution solves which problem"].aside
    return HeatMap(
        np.log10(np.asarray(aside["excess"])),
        [str(name) for name in aside["methods"]],
        [str(name) for name in aside["problems"]],
        x="second objective",
        y="algorithm",
        value="log₁₀ of the relative excess",
    )


@algorithms_and_their_second_problems.control("Adam finds the least ℓ∞ norm", of="which solution solves which problem")
def adam_by_signs(evidence):
    right = np.array(evidence.right)
    right[4, 5] = True
    return replace(evidence, right=right)


@algorithms_and_their_second_problems.control("Adam meets their conditions too", of="conditions at the solutions")
def adam_aligned(evidence):
    return replace(evidence, left=evidence.aside["of Adam"])


NORMS = (1.0, 2.0, np.inf, 3.0)
NAMES = ("ℓ1", "ℓ2", "ℓ∞", "ℓ3")
APART = 0.1
"""the least share by which the best margin of one norm falls short in another, of the first three: ℓ3 is near ℓ2"""


def points_that_tell_norms_apart(draw, count, dimension):
    """Signed points at distance 1 or more from a random plane, drawn until no two norms want nearly one direction."""
    while True:
        noise, direction = draw.standard_normal((count, dimension)), draw.standard_normal(dimension)
        direction /= np.linalg.norm(direction)
        points = noise + (1 - np.min(noise @ direction)) * direction
        best = [largest_margin(points, norm=norm) for norm in NORMS]
        short = np.array([[audited(each.vector, points, j, best).shortfall for j in range(3)] for each in best[:3]])
        if np.min(short + np.eye(3)) > APART:
            return points, best


def audited(vector, points, which, best):
    return solves_margin(vector, points, norm=NORMS[which], solution=best[which])


@claim(
    items={"A8.1": ("which direction has which margin", "shortfall in its own norm", "conditions at the solutions")},
    says=r"Steepest descent in a norm on separable data, whose loss $\sum_ie^{-\langle w,\bar x_i\rangle}$ has no "
    r"minimum, solves a second problem too: $\max_{\|w\|\le1}\min_i\langle w,\bar x_i\rangle$ of its own norm, and "
    r"none of the others'.",
    needs="separable data, on which the norms want directions that differ",
    full=dict(steps=200_000),
    symbols={
        r"\bar x_i": "point $i$ times its label",
        r"w": "the weights",
    },
    why=r"Convex weights $p$ of the points bound every margin by $\|\sum_ip_i\bar x_i\|_\star$; those of the best "
    "direction meet it. So how much a direction falls short is known without a word on how it was found, and is zero "
    r"only if the gradient of $\frac12\|w\|^2$ combines the points on the margin with weights $\lambda\ge0$.",
    notice="How much the margin of each run falls short of the largest one, for each norm: small on the diagonal and "
    "nowhere else among the first three. The norms ℓ2 and ℓ3 are near each other, and so are their directions.",
)
def directions_and_their_margin_problems(
    key,
    *,
    count: Annotated[int, Interval(ge=8, le=60)] = 10,
    dimension: Annotated[int, Interval(ge=4, le=12)] = 5,
    steps: Annotated[int, Interval(ge=20_000, le=1_000_000)] = 40_000,
):
    points, best = points_that_tell_norms_apart(generator(key), count, dimension)
    shares, late = 1 / np.sqrt(1 + np.arange(steps)), np.geomspace(steps / 64, steps, 7).astype(int)
    runs = [np.asarray(margin_descent(points, shares, norm=norm, largest_step=np.exp(700.0)).weights) for norm in NORMS]
    audits = [[[audited(run[k], points, j, best) for j in range(4)] for run in runs] for k in late]
    short = np.array([[[each.shortfall for each in row] for row in table] for table in audits])
    # The conditions are those of smooth norms: of ℓ2 and ℓ3 at their own solutions, and at each other's.
    smooth = [[audited(best[i].vector, points, j, best).misaligned for j in (1, 3)] for i in (1, 3)]
    return {
        "which direction has which margin": Exact(
            short[-1, :3, :3] < APART / 2,
            np.eye(3, dtype=bool),
            aside={"shortfall": short[-1], "norms": list(NAMES)},
        ),
        "shortfall in its own norm": Limit(
            late.astype(float),
            np.mean(short[:, range(4), range(4)], axis=1),
            order=0.5,
            aside={"in the next": np.mean(short[:, range(3), [1, 2, 0]], axis=1)},
        ),
        "margins of the solutions": Identity(
            [
                np.min(points @ each.vector) / np.linalg.norm(each.vector, norm)
                for each, norm in zip(best, NORMS, strict=True)
            ],
            [each.margin for each in best],
            error=1e-6,
            along={"norm": list(NAMES)},
        ),
        "conditions at the solutions": Identity(
            np.diag(smooth), np.zeros(2), scale=1.0, error=1e-6, aside={"crossed": np.diag(smooth[::-1])}
        ),
    }


@directions_and_their_margin_problems.control("that of ℓ2 in every norm", of="which direction has which margin")
def euclidean_always(evidence):
    return replace(evidence, right=np.tile([False, True, False], (3, 1)))


@directions_and_their_margin_problems.control("the margin of the next norm", of="shortfall in its own norm")
def of_the_next_norm(evidence):
    return replace(evidence, y=evidence.aside["in the next"])


@directions_and_their_margin_problems.control("ℓ2 and ℓ3 exchanged", of="conditions at the solutions")
def exchanged(evidence):
    return replace(evidence, left=evidence.aside["crossed"])


@directions_and_their_margin_problems.picture
def who_has_which_margin(pieces):
    """Common logarithm of the share by which the margin of each run falls short of the largest one of each norm."""
    aside = pieces["which direction has which margin"].aside
    names = [str(name) for name in aside["norms"]]
    return HeatMap(
        np.log10(np.maximum(np.asarray(aside["shortfall"]), 1e-6)),
        names,
        names,
        x="margin in this norm",
        y="steepest descent in this norm",
        value="log₁₀ of the shortfall",
    )


@claim(
    items={"A8.1": ("excess of the nuclear norm", "solved by the target")},
    says=r"Gradient descent on the factors of $W=UV^\top$ that fits measurements $\langle A_i,W\rangle=y_i$ from "
    r"weights of size $\varepsilon\to0$ solves a second problem, $\min\|W\|_*$ among all $W$ that fit; descent on $W$ "
    r"itself solves $\min\|W\|_F$ and is no nearer to the first for small weights.",
    needs="Gaussian measurements of a matrix of rank one, so many that a certificate proves its nuclear norm least",
    symbols={
        "U,V": "the factors, as wide as the matrix",
        "A_i,y_i": "the measurements, fewer than the entries of the matrix, and what they give",
        r"\varepsilon": "the size of the factors at the start",
        r"\|\cdot\|_*,\|\cdot\|_F": "the sum of the singular values, and the root of the sum of their squares",
    },
    why=r"Multipliers $\lambda$ bound every nuclear norm that fits from below by "
    r"$\langle\lambda,y\rangle/\|\sum_i\lambda_iA_i\|$, so the excess of a run is certified. Products of factors "
    "grow like themselves: the largest singular value first, the others hardly at all before the fit is there.",
    notice="The excess of the nuclear norm falls with the first weights, certified. The matrix of least Frobenius "
    "norm, where descent on the matrix ends, has a nuclear norm larger by a quarter or so.",
)
def factors_and_their_nuclear_problem(
    key, *, scales: Annotated[tuple[float, ...], Interval(ge=1e-4, le=0.2), MinLen(3)] = (0.1, 0.03, 0.01, 0.003)
):
    draw = generator(key)
    size, count = 5, 20
    first, second = (each / np.linalg.norm(each) for each in draw.standard_normal((2, size)))
    target, potential = np.outer(first, second).ravel(), nuclear_norm(rows=size, columns=size)
    # The nearer the certificate to 1, the slower the limit: draws without one, or with a poor one, are drawn anew.
    measurements = draw.standard_normal((count, size, size))
    while nuclear_certificate(target.reshape(size, size), measurements).beside > 0.75:
        measurements = draw.standard_normal((count, size, size))
    design = measurements.reshape(count, -1)
    labels = design @ target
    matrix, multipliers = least_nuclear_norm(measurements, labels)
    solution, directions = (matrix.ravel(), multipliers), draw.standard_normal((2, size, size))

    def loss(factors):
        return jnp.mean((design @ (factors[0] @ factors[1].T).reshape(-1) - labels) ** 2) / 2

    run = jax.jit(lambda start: selected(optax.sgd(0.1), loss, start, steps=20_000, tolerance=1e-10).point)
    ends = [np.asarray(left @ right.T).ravel() for left, right in (run(tuple(e * directions)) for e in scales)]
    flat = np.linalg.lstsq(design, labels)[0]
    audits = [solves(each, design, labels, potential, solution=solution) for each in [*ends, flat, target]]
    inverse = 1 / np.asarray(scales)
    return {
        "excess of the nuclear norm": Limit(
            inverse,
            np.array([np.sqrt(each.value / each.least) - 1 for each in audits[:-2]]),
            order=0.5,
            aside={"flat": np.sqrt(audits[-2].value / audits[-2].least) - 1},
        ),
        "all runs fit": Inequality(np.array([each.unfit for each in audits[:-1]]), 1e-2),
        "solved by the target": Identity(
            np.array([audits[-1].excess]), 0.0, scale=1.0, error=1e-6, aside={"flat": np.array([audits[-2].excess])}
        ),
    }


@factors_and_their_nuclear_problem.control("descent on the matrix itself", of="excess of the nuclear norm")
def on_the_matrix(evidence):
    return replace(evidence, y=np.full(len(evidence.y), evidence.aside["flat"]))


@factors_and_their_nuclear_problem.control("by the least Frobenius norm", of="solved by the target")
def by_the_least_frobenius_norm(evidence):
    return replace(evidence, left=evidence.aside["flat"])


@factors_and_their_nuclear_problem.picture
def excess_by_first_weights(pieces):
    """Certified relative excess of the nuclear norm where descent on the factors ends, by the size of its start."""
    piece = pieces["excess of the nuclear norm"]
    sizes, excess = 1 / np.asarray(piece.x), np.asarray(piece.y)
    marks = [
        Dots("descent on the factors", sizes, excess),
        Level("least Frobenius norm", y=float(piece.aside["flat"])),
    ]
    return Curves(marks, x="size of the factors at the start ε", y="excess of the nuclear norm", log="xy")
