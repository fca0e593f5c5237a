"""One set of data, several algorithms, several second problems: which solution solves which.

arora Ch. 8, "Meanings of implicit regularization".
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.auditor import least_norm, selected, solves
from deeptheory.implicit_bias.mirror import mirror_descent
from deeptheory.implicit_bias.potentials import ENTROPY, EUCLIDEAN, quadratic, squared_norm
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import HeatMap
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
    why=r"A solution $w$ solves the second problem exactly when some $\lambda$ has $X^\top\lambda\in\partial "
    r"R(w)$: its "
    r"conditions. Any $\lambda$ also bounds the least value from below, by "
    r"$\langle\lambda,y\rangle-R^*(X^\top\lambda)$. "
    r"So a point can be audited without knowing how it was found, and the audit proves what it says.",
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
