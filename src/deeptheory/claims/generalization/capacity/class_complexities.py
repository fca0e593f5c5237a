"""The Rademacher complexity of classes that are used: rectified units, networks, balls of a Hilbert space."""

import math
from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.rademacher import (
    all_signs,
    ball_supremum,
    exact_complexity,
    finite_supremum,
    kernel_ball_supremum,
    relu_plane_supremum,
    sampled_complexity,
)
from deeptheory.generalization.capacity.rademacher_bounds import (
    frobenius_network_complexity,
    kernel_label_complexity,
    linear_complexity,
)
from deeptheory.lab import Chain, Identity, Inequality, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

Radius = Annotated[float, Interval(ge=0.1, le=10)]
DEPTHS = ((100, 2, 1.0), (100, 3, 1.5), (400, 3, 0.5), (25, 4, 2.0))
"""Samples, layers and radius of bounds that are written out by hand."""


SLOPES = ((1.0, 0.0), (2.0, -0.4), (0.5, 0.5), (1.5, -1.5))
"""Activations a·relu(t) + b·relu(−t): the rectifier, a leaky one, an absolute value and a linear one."""


def bent_supremum(inputs, right, left):
    """The supremum over ‖w‖ ≤ 1 of a unit in the plane with slopes `right` and −`left` on the two sides of zero."""
    both = relu_plane_supremum(np.concatenate([inputs, -inputs]))
    return lambda signs: both(np.concatenate([right * signs, left * signs], axis=1))


@claim(
    items={
        "L8.21": ("one unit", "one unit, bound attained", "one unit, equal inputs"),
        "L8.22": ("two layers", "equal inputs", "factor of the depth"),
    },
    says=r"One unit with $\|w\|\le B$ and an $\ell$-Lipschitz activation has complexity at most $\ell "
    r"B\max\|x_i\|/\sqrt n$; two ReLU layers, Frobenius norms at most $B$, at most $(2B)^2/\sqrt n$, the exact "
    r"value that of one hidden unit at any width. Each further layer multiplies the bound by $2B$.",
    needs="inputs in the unit disc; activations bent at zero alone; exact for one unit and two layers, networks drawn "
    "from the balls for three",
    symbols={
        r"w": "the weights of a unit",
        r"B": "the bound on the norm of a unit's weights, or of every layer",
        r"\ell": "the Lipschitz constant of the activation, 1 for the rectifier",
        r"x_i": "the inputs",
        r"n": "their number",
    },
    why=r"An activation multiplies the complexity of the linear ball by its Lipschitz constant at most, so the "
    r"rectifier does not raise it; a linear one on two orthogonal inputs reaches the bound. What a second layer "
    r"can make of the units is, by Cauchy–Schwarz, $B$ times the root of the sum of their squared sums "
    r"$\sum\sigma_i\,\cdot$, each proportional to the norm of the unit's weights: largest when one unit has all of "
    r"the first layer. Layer after layer the contraction is used once more, at the price of a factor 2 for the sign "
    r"and $B$ for the norm.",
    notice=r"From two layers on each multiplies the bound by $2B$, but not the exact complexity: that of two layers "
    r"is about a fifth of the bound at most, and networks of three drawn from the balls stay far below theirs.",
    explore={"radius": (0.5, 1.3, 2.0)},
)
def network_complexities(key, *, radius: Radius = 1.3, reach: Annotated[float, Interval(ge=0.1, le=100)] = 1.0):
    draw, n = generator(key), 9
    x = draw.standard_normal((6, n, 2))
    x /= np.maximum(np.linalg.norm(x, axis=2, keepdims=True), 1)
    same = np.tile([[1.0, 0.0]], (n, 1))
    x = reach * np.concatenate([x, same[None]])  # equal inputs come nearest to the bound for two layers
    unit = np.array([[radius * exact_complexity(bent_supremum(z, *each), n) for z in x] for each in SLOPES])
    steepest = np.max(np.abs(SLOPES), axis=1)
    linear = ((1.5, 1.0, radius), (0.5, 2.0, radius / 2), (3.0, 0.7, 2 * radius))
    # Inputs all equal to e₁: with S = Σσ the unit says a·S or b·S or nothing, and E max(S, 0) = E|S|/2.
    sides = [max(a, b, 0.0) + max(-a, -b, 0.0) for a, b in SLOPES]
    two = np.array([radius**2 * exact_complexity(relu_plane_supremum(z, both_signs=True), n) for z in x])
    signs, first = all_signs(n)[::37], draw.standard_normal((2000, 3, 2))
    first *= radius / np.linalg.norm(first, axis=(1, 2), keepdims=True)
    second = draw.standard_normal((2000, 3))
    second *= radius / np.linalg.norm(second, axis=1, keepdims=True)
    outputs = np.einsum("ch,chn->cn", second, np.maximum(np.einsum("chk,nk->chn", first, x[0]), 0))
    # Any networks in the balls bound the complexity from below: drawn ones, and the best single unit passed on.
    middle = draw.standard_normal((2000, 3, 3))
    middle *= radius / np.linalg.norm(middle, axis=(1, 2), keepdims=True)
    hidden = np.maximum(np.einsum("chk,nk->chn", first, x[0]), 0)
    deep = np.einsum("ch,chn->cn", second, np.maximum(np.einsum("cgh,chn->cgn", middle, hidden), 0))
    return {
        "one unit": Inequality(
            unit,
            steepest[:, None] * np.array([linear_complexity(z, radius) for z in x]),
            along={"activation": ["ReLU", "leaky", "absolute value", "linear"]},
        ),
        "one unit, bound attained": Identity(
            [norm * exact_complexity(bent_supremum(size * np.eye(2), ell, -ell), 2) for ell, size, norm in linear],
            [ell * norm * size / np.sqrt(2) for ell, size, norm in linear],
            aside={"Lipschitz": [ell for ell, _, _ in linear], "radius": [norm for _, _, norm in linear]},
        ),
        "one unit, equal inputs": Identity(
            [radius * exact_complexity(bent_supremum(same, *each), n) for each in SLOPES],
            np.array(sides) * exact_complexity(ball_supremum(same, radius), n) / 2,
        ),
        "two layers": Inequality(two, frobenius_network_complexity(n, 2, radius)),
        "two layers of any width": Inequality(
            np.max(signs @ outputs.T, axis=1),
            radius**2 * relu_plane_supremum(x[0], both_signs=True)(signs),
        ),
        "three layers": Inequality(
            np.array([exact_complexity(finite_supremum(deep), n), radius * two[0]]),
            frobenius_network_complexity(n, 3, radius),
        ),
        "factor of the depth": Identity(
            np.array([frobenius_network_complexity(*each) for each in DEPTHS]),
            np.array([0.4, 2.7, 0.05, 51.2]),
            aside={"layers": np.array([layers for _, layers, _ in DEPTHS])},
        ),
        # E|σ₁ + … + σ₉| = 9·C(8, 4)/2⁸ in closed form, a fifth of what the bound allows.
        "equal inputs": Identity(two[-1], reach * radius**2 * math.comb(8, 4) / 2**8, aside={"radius": radius}),
    }


network_complexities.control("inputs outside the disc of radius 4.9", of="two layers", reach=5.0)


@network_complexities.control("without B", of="one unit, bound attained")
def without_the_radius(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / evidence.aside["radius"])


@network_complexities.control("without the Lipschitz constant", of="one unit, bound attained")
def without_the_slope(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / evidence.aside["Lipschitz"])


@network_complexities.control("B for B²", of="equal inputs")
def first_power(evidence):
    return replace(evidence, right=evidence.right / evidence.aside["radius"])


@network_complexities.control("a factor B for every layer, without the two", of="factor of the depth")
def without_the_two(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / 2.0 ** evidence.aside["layers"])


@network_complexities.control("half the linear ball's, as when all inputs agree", of="one unit")
def half_for_all_inputs(evidence):
    return replace(evidence, quantity=evidence.quantity[:1], bound=evidence.bound[:1] / 2)


@network_complexities.picture
def complexities_by_depth(pieces):
    """Complexity of one ReLU unit and of two layers, exact on seven samples, from below for three; and the bounds."""
    two, three, unit = (pieces[name] for name in ("two layers", "three layers", "one unit"))
    rectified, ball = np.asarray(unit.quantity)[0], np.asarray(unit.bound)[0]
    bounds = [float(np.max(ball)), float(two.bound), float(three.bound)]
    return Curves(
        [
            Line("bound", [1, 2, 3], bounds),
            Dots("exact", np.repeat([1, 2], len(two.quantity)), np.concatenate([rectified, two.quantity])),
            Dots("at least, for three layers", [3, 3], three.quantity),
        ],
        x="layers", y="Rademacher complexity", log="y",
    )  # fmt: skip


@claim(
    items={"A5.13": ("complexity of the ball and its bound", "values by hand")},
    says=r"The Hilbert ball just large enough to interpolate the labels $y$ has complexity at most "
    r"$\sqrt{2y^\top G^{-1}y\operatorname{tr}G}/n$; neither side changes when the kernel is multiplied by a number. "
    r"Smooth labels need less than random ones.",
    needs="a positive definite Gram matrix (RBF on the sphere); the book names no class: the ball of the interpolant's "
    "norm is our reading of its hint, a linear classifier in the Hilbert space",
    symbols={
        r"y": "the labels of the sample",
        r"G": "the Gram matrix, the kernel at all pairs of inputs",
        r"n": "the number of inputs",
    },
    why=r"The interpolant of least norm has $\|f\|^2=y^\top G^{-1}y$. On a ball of radius $B$ the supremum over the "
    r"ball is $B\sqrt{\sigma^\top G\sigma}$ for signs $\sigma$, and its mean is at most $B\sqrt{\operatorname{tr}G}$. "
    r"Multiplying the kernel by $c$ divides $B^2$ by $c$ and multiplies the trace by it. Labels along large "
    r"eigenvalues of $G$ are cheap.",
    notice=r"The complexity and its bound do not depend on the scale of the kernel. The form with $G$ in place of its "
    r"inverse is proportional to it, and falls below the complexity for small kernels.",
)
def kernel_complexity(key, *, scale: Annotated[float, Interval(ge=1e-3, le=1e3)] = 0.01, trials: Trials = 4000):
    key, signs = jax.random.split(key)
    draw, n = generator(key), 40
    x = draw.standard_normal((n, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gram = np.exp(x @ x.T - 1)
    kernels = np.stack([gram, scale * gram])
    labels = np.stack([draw.choice([-1.0, 1.0], n), x[:, 0] * np.sqrt(n / np.sum(x[:, 0] ** 2))])
    radii = np.sqrt([[y @ np.linalg.solve(kernel, y) for y in labels] for kernel in kernels])
    # The supremum is proportional to the radius.
    unit = [sampled_complexity(signs, kernel_ball_supremum(kernel, 1.0), n, trials).mean() for kernel in kernels]
    observed = radii * np.array(unit)[:, None]
    bounds = np.stack([kernel_label_complexity(kernel, labels) for kernel in kernels])
    printed = (
        np.sqrt(2 * np.einsum("ai,kij,aj->ka", labels, kernels, labels) * np.trace(kernels, axis1=1, axis2=2)[:, None])
        / n
    )
    return {
        "complexity of the ball and its bound": Chain(
            {
                "with the inverse": (observed, bounds),
                # E√(σᵀGσ) is within √2 of √(tr G), and the bound carries another √2.
                "not far below": (bounds, 2 * observed),
            },
            aside={"printed": printed, "scales": np.array([1.0, scale])},
        ),
        "scale of the kernel does not matter": Identity(
            np.stack([observed[1], bounds[1]]), np.stack([observed[0], bounds[0]]), condition=np.linalg.cond(gram)
        ),
        # yᵀG⁻¹y = 2 and tr G = 8 for four points; 2 and 5 for two.
        "values by hand": Identity(
            [
                float(kernel_label_complexity(2 * np.eye(4), np.ones(4))),
                float(kernel_label_complexity(np.diag([1.0, 4.0]), np.array([1.0, 2.0]))),
            ],
            np.sqrt([2.0, 5.0]),
        ),
        "smooth labels": Inequality(bounds[:, 1], bounds[:, 0]),
    }


@kernel_complexity.control(
    "the Gram matrix not inverted, as in Problem 5.3.3", of="complexity of the ball and its bound"
)
def printed_form(evidence):
    return replace(evidence, links={"printed": (evidence.links["with the inverse"][0], evidence.aside["printed"])})


@kernel_complexity.control("without the factor two under the root", of="values by hand")
def without_two(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / np.sqrt(2))


@kernel_complexity.picture
def scales_of_the_kernel(pieces):
    """Complexity of the ball that interpolates, at two scales of the kernel, with the bound and the printed form."""
    piece = pieces["complexity of the ball and its bound"]
    observed, bounds = piece.links["with the inverse"]
    scales, printed = piece.aside["scales"], piece.aside["printed"]
    panels = [
        Curves(
            [
                Line("bound", scales, np.asarray(bounds)[:, i]),
                Dots("complexity", scales, np.asarray(observed)[:, i]),
                Line("bound", scales, printed[:, i], rival="as printed in Problem 5.3.3"),
            ],
            x="scale of the kernel", y="complexity", title=title, log="xy",
        )
        for i, title in enumerate(("random labels", "smooth labels"))
    ]  # fmt: skip
    return Row(panels)
