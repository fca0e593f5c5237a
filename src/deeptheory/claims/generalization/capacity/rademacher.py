"""Rademacher complexity: values by enumeration, and what composing and adding functions does to it."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.rademacher import (
    absolute_ball_supremum,
    all_signs,
    ball_supremum,
    exact_complexity,
    finite_supremum,
    sampled_complexity,
    threshold_supremum,
)
from deeptheory.generalization.capacity.rademacher_bounds import (
    finite_class_complexity,
    linear_complexity,
    vc_complexity,
)
from deeptheory.lab import Chain, Identity, Inequality, Law, Limit, Reals, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, compared

POINTS = 10
Radius = Annotated[float, Interval(ge=0.1, le=10)]
SIGNS = all_signs(7)


@claim(
    items={
        "L8.15": ("values by hand", "signs that were drawn"),
        "H7.6": ("values by hand", "signs that were drawn", "linear functions"),
        "L8.19": ("linear functions", "orthogonal inputs"),
        "A5.12": ("linear functions", "orthogonal inputs"),
    },
    says=r"Over all $2^n$ signs: all labelings have complexity 1, one function 0; the linear ball has $\frac "
    r"Bn\mathbb E\|\sum\sigma_ix_i\|$, between $1/\sqrt2$ times and once $\frac Bn\sqrt{\sum\|x_i\|^2}\le "
    r"B\max\|x_i\|/\sqrt n$, equal for orthogonal inputs and in the limit of many dimensions.",
    needs="ten points, enumerated; the expectation is over signs alone",
    full=dict(trials=65_536),
    symbols={
        r"n": "the number of points",
        r"B": "the radius of the ball of linear functions",
        r"\sigma_i": "fair independent signs",
        r"x_i": "the points",
    },
    why=r"Of all linear functions of length at most $B$ the one along $\sum\sigma_ix_i$ follows the signs best, so "
    r"the supremum is the length of that vector. Its mean square is $\sum\|x_i\|^2$, because signs are uncorrelated; "
    r"the mean length is at most the root of it, and by Khintchine at least $1/\sqrt2$ of the root. Orthogonal inputs "
    r"give every choice of signs the same length.",
    notice=r"The complexity as a share of its bound, for points drawn in $d$ dimensions: in few dimensions the length "
    r"of the sum varies with the signs and a share is lost, in many the points are nearly orthogonal and nothing is.",
)
def complexities_by_enumeration(
    key, *, trials: Trials = 16_384, radius: Radius = 1.5, inputs: Literal["orthogonal", "parallel"] = "orthogonal"
):
    key, signs = jax.random.split(key)
    draw, n = generator(key), POINTS
    x = draw.standard_normal((n, 4))
    square = (
        np.linalg.qr(draw.standard_normal((n, n)))[0] if inputs == "orthogonal" else np.outer(np.ones(n), np.eye(n)[0])
    )
    values = draw.standard_normal((30, n))
    constant = finite_supremum(np.array([np.ones(n), -np.ones(n)]))
    exact = exact_complexity(ball_supremum(x, radius), n)
    bound = linear_complexity(x, radius)
    sizes = np.array([4, 16, 64, 256])
    wide = [[draw.standard_normal((8, d)) for _ in range(40)] for d in sizes]
    shares = np.array([[exact_complexity(ball_supremum(z), 8) / linear_complexity(z) for z in each] for each in wide])
    return {
        # E|Σσ| of ten signs is 2·10·C(9, 4)/2¹⁰·… = 2520/1024.
        "values by hand": Identity(
            np.array(
                [exact_complexity(s, n) for s in (finite_supremum(all_signs(n)), finite_supremum(values[:1]), constant)]
            ),
            np.array([1.0, 0.0, 2520 / 1024 / n]),
            scale=1.0,
        ),
        "signs that were drawn": Law(exact, sampled_complexity(signs, ball_supremum(x, radius), n, trials), exact=True),
        "linear functions": Chain(
            {
                "Jensen": (exact, bound),
                "Khintchine": (bound, np.sqrt(2) * exact),
                "largest norm": (bound, radius * np.max(np.linalg.norm(x, axis=1)) / np.sqrt(n)),
            }
        ),
        "orthogonal inputs": Identity(
            exact_complexity(ball_supremum(square, radius), n), linear_complexity(square, radius)
        ),
        "with absolute values": Inequality(
            exact_complexity(absolute_ball_supremum(x, radius), n),
            finite_class_complexity(radius * np.vstack([x.T, -x.T])),
        ),
        "finite classes": Inequality(exact_complexity(finite_supremum(values), n), finite_class_complexity(values)),
        "classes of finite VC dimension": Inequality(
            2 * exact_complexity(threshold_supremum(x[:, 0]), n), vc_complexity(n, 1)
        ),
        # Massart: four functions on nine points, the longest of length 3; seven of length 8 on sixteen. Then V = n.
        "bounds written out": Identity(
            np.array(
                [
                    finite_class_complexity(np.vstack([np.ones((3, 9)), np.zeros((1, 9))])),
                    finite_class_complexity(np.full((7, 16), 2.0)),
                    vc_complexity(5, 5),
                    vc_complexity(50, 2),
                ]
            ),
            np.sqrt([2 * np.log(4) / 9, np.log(7) / 2, 2.0, 2 * (np.log(25) + 1) / 25]),
        ),
        "share of the bound in many dimensions": Limit(
            sizes.astype(float), 1 - shares.mean(1), order=1.0, aside={"shares": shares}
        ),
    }


complexities_by_enumeration.control("parallel inputs", of="orthogonal inputs", inputs="parallel")


@complexities_by_enumeration.control("the labels' values 0 and 1 for ±1", of="values by hand")
def zero_and_one(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / 2)


@complexities_by_enumeration.control("the root of the mean square for the mean", of="signs that were drawn")
def root_mean_square(evidence):
    return replace(evidence, predicted=np.sqrt(np.mean(np.square(evidence.observed))))


@complexities_by_enumeration.control("equality in four dimensions too", of="linear functions")
def always_equal(evidence):
    exact, bound = evidence.links["Jensen"]
    return replace(evidence, links={"equal": (bound, exact)})


@complexities_by_enumeration.picture
def shares_of_the_bound(pieces):
    """Complexity of the linear ball over its bound, for forty samples of eight points in each dimension."""
    piece = pieces["share of the bound in many dimensions"]
    shares = piece.aside["shares"]
    return Curves(
        [
            Dots("samples", np.repeat(piece.x, shares.shape[1]), shares.ravel()),
            Line("mean", piece.x, shares.mean(1)),
            Level("the bound (Jensen)", y=1.0),
            Level("1/√2 of it (Khintchine)", y=0.5**0.5),
        ],
        x="dimension d", y="complexity over its bound", log="x", ys=(0.65, 1.05),
    )  # fmt: skip


CONTRACTIONS = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "absolute value": jnp.abs,
    "clip": lambda t: jnp.clip(t, -0.5, 0.5),
    "shifted": lambda t: 1 + jnp.sin(t),
    "twice": lambda t: 2 * jnp.abs(t),
}
SMOOTH = ("relu", "tanh", "absolute value", "clip", "shifted")


@claim(
    items={"L8.20": "", "H7.7": ""},
    says=r"Let every function of a class be followed by one and the same function $\varphi$ of Lipschitz constant "
    r"$L$. The Rademacher complexity of the class is then multiplied by at most $L$, whether or not $\varphi$ "
    r"vanishes at 0.",
    needs="any six functions on seven points; complexity without an absolute value",
    over=dict(values=Reals(-2, 2, shape=(6, 7)), shift=Reals(0, 3), slope=Reals(0.1, 10, log=True)),
    symbols={
        r"\varphi": "the function that follows, for example a rectifier or a loss",
        r"L": r"the most by which $\varphi$ stretches the distance of two values",
        r"\text{Rademacher complexity}": (
            r"the mean over random signs $\sigma$ of the largest $\frac1n\sum_i\sigma_if(x_i)$ in the class: how well "
            r"it fits noise"
        ),
    },
    why=r"A function that brings values closer together cannot make a class better at fitting random signs. To see "
    r"it, remove $\varphi$ at one point after another. Average over the sign there: what is left is a supremum over "
    r"pairs of functions of $\varphi(f(x))-\varphi(g(x))$ plus terms that are symmetric in the pair, and this is at "
    r"most $L|f(x)-g(x)|$ plus the same terms. The pair may be exchanged, so the absolute value goes, and a sign "
    r"before $Lf(x)$ comes back. A constant drops out of every difference: nothing needs to vanish at 0.",
    notice="Each dot is a class of six functions: to the right its complexity, upwards its complexity after the "
    "1-Lipschitz function, of those tried, that leaves the most. All dots lie on or below the diagonal, where nothing "
    "is lost, and many on it: where all values are positive the rectifier changes nothing.",
)
def contraction(values, shift, slope, *, activation: Literal["1-Lipschitz", "2-Lipschitz"] = "1-Lipschitz"):
    names = SMOOTH if activation == "1-Lipschitz" else ("twice",)
    # A constant changes no complexity; moved where all values are positive, the rectifier is the identity.
    composed = slope * jnp.stack([CONTRACTIONS[name](values + shift) for name in names])
    before = jnp.mean(jnp.max(SIGNS @ values.T, axis=1)) / 7
    after = jnp.mean(jnp.max(jnp.einsum("sn,cfn->csf", SIGNS, composed), axis=2), axis=1) / 7
    return Inequality(jnp.max(after), slope * before, scale=slope, aside={"before": before, "slope": slope})


contraction.control("a function of constant 2L", activation="2-Lipschitz")


@contraction.control("the complexity of the class itself, without the L")
def without_constant(evidence):
    return replace(evidence, bound=np.reshape(evidence.aside["before"], np.shape(evidence.bound)))


@contraction.picture
def before_and_after(pieces):
    """Complexities of classes of six functions before, and over L after composition with L-Lipschitz functions."""
    (evidence,) = pieces.values()
    before, slope = (np.ravel(evidence.aside[name]) for name in ("before", "slope"))
    return compared(
        before, lambda before: before, np.ravel(evidence.quantity) / slope,
        names=("equal", "classes searched"), x="complexity of the class", y="complexity after the composition, over L",
    )  # fmt: skip


@claim(
    items={"L8.25": ""},
    says=r"The complexity of all sums $f+g$ is the sum of the complexities.",
    needs="any two classes of four functions on seven points",
    over=dict(first=Reals(-2, 2, shape=(4, 7)), second=Reals(-2, 2, shape=(4, 7))),
    symbols={r"f,\ g": "functions of one class and of another"},
    why=r"For given signs $\sum\sigma_i(f+g)(x_i)$ is a sum of two terms, and $f$ and $g$ are chosen independently of "
    r"each other: the supremum of the sum is the sum of the suprema. Then take the mean over signs.",
    notice=r"Each dot is a pair of classes, and all lie on the diagonal. The union of two classes obeys no such rule: "
    r"it must choose one function, from one of them, and has less on all of these.",
)
def complexity_of_sums(first, second):
    def complexity(values):
        return jnp.mean(jnp.max(SIGNS @ values.T, axis=1)) / 7

    return Identity(
        complexity((first[:, None] + second).reshape(-1, 7)),
        complexity(first) + complexity(second),
        scale=1.0,
        size=7.0,
        aside={"union": complexity(jnp.concatenate([first, second]))},
    )


@complexity_of_sums.control("the union of the classes")
def union_of_classes(evidence):
    return replace(evidence, left=evidence.aside["union"])


@complexity_of_sums.picture
def sums_and_unions(pieces):
    """Complexity of all sums of functions of two classes against the sum of their complexities, as searched."""
    (piece,) = pieces.values()
    right = np.ravel(piece.right)
    ends = np.array([0.0, float(right.max())])
    return Curves(
        [
            Line("equal", ends, ends),
            Dots("sums", right, np.ravel(piece.left)),
            Dots("together", right, np.ravel(piece.aside["union"]), rival="the union of the classes"),
        ],
        x="sum of the two complexities", y="complexity of the two together",
    )  # fmt: skip
