"""A signal through random matrices: its mean square, its mean fourth power, and what is typical instead.

lucchi Sec. 6.2.3.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen
from deeptheory.propagation.random_products import (
    forward_second_moment,
    fourth_moment_after,
    log_norm_law,
    second_moment_through,
)
from deeptheory.spectra.entries import draw_entries, entry_moment

LAWS = ("gaussian", "rademacher", "uniform")


def mean_square(law):
    """E(awb)² and σ²Ea²Eb² for a law of (a, w, b) given as weighted points, in rationals."""
    mean = lambda f: sum(p * f(*point) for point, p in law)  # noqa: E731
    return mean(lambda a, w, b: (a * w * b) ** 2), mean(lambda a, w, b: w**2) * mean(lambda a, w, b: a**2) * mean(
        lambda a, w, b: b**2
    )


@claim(
    items={
        "L6.15": ("mean square of AWB", "independent factors by counting"),
        "L6.16": ("mean square of the signal", "mean logarithm of the signal"),
        "L6.17": "mean fourth power",
    },
    says=r"For $W$ with independent centred entries of variance $\sigma^2$ and kurtosis $\kappa$: "
    r"$E\|AWB\|_F^2=\sigma^2\|A\|_F^2\|B\|_F^2$, $E\|W^{t:1}x\|^2=(d\sigma^2)^t\|x\|^2$, "
    r"$E\|W\xi\|^4=d(d+2)\sigma^4E\|\xi\|_2^4+(\kappa-3)d\sigma^4E\|\xi\|_4^4$.",
    needs="where A, B or ξ are random, they are independent of W and of each other",
    symbols={
        "W": r"a random matrix with $d$ rows; $W^{t:1}$ is the product of $t$ of them",
        r"\sigma^2, \kappa": r"the variance of an entry, and its fourth moment over $\sigma^4$",
        "A, B": "two matrices",
        "x": "an input",
        r"\xi": "a random vector",
    },
    why=r"Expand the square: entries of $W$ with different indices have mean product zero, and only their squares "
    r"remain. In the fourth power pairs of indices remain; where all four meet, $\kappa$ stands in place of 3. "
    r"Applied layer by layer the first gives the factor $d\sigma^2$ a layer.",
    notice=r"The mean square grows by $d\sigma^2$ a layer, and stays one at $\sigma^2=1/d$. The typical one does not: "
    r"the mean of the logarithm is lower by about $1/d$ a layer, and the mean is kept up by ever rarer large networks.",
    explore={"gain": (0.8, 1.0, 1.2)},
)
def moments_through_random_matrices(
    key,
    *,
    trials: Trials = 200_000,
    width: Annotated[int, Interval(ge=2, le=32)] = 8,
    gain: Annotated[float, Interval(ge=0.3, le=3.0)] = 1.2,
):
    random = generator(key)
    left, right, variance = random.standard_normal((3, 4)), random.standard_normal((5, 2)), 0.7
    corner = random.standard_normal((2, 3, 3))
    through, fourth, stated = [], [], []
    for index, law in enumerate(LAWS):
        w = variance**0.5 * draw_entries(jax.random.fold_in(key, index), (trials, 4, 5), law)
        through.append(np.sum((left @ w @ right) ** 2, axis=(1, 2)))
        # A vector whose squares are correlated and unevenly large: one of two directions, turned by a fixed matrix.
        xi = (corner[random.integers(0, 2, trials)] @ random.standard_normal((trials, 3, 1)))[..., 0] * np.array(
            [3.0, 1.0, 0.3]
        )
        square, powers = np.mean(np.sum(xi**2, axis=1) ** 2), np.mean(np.sum(xi**4, axis=1))
        # For each draw of ξ the mean over W is predicted; dividing by it leaves trials of mean one.
        each = fourth_moment_after(
            4, variance, float(entry_moment(law, 4)), np.sum(xi**2, axis=1) ** 2, np.sum(xi**4, axis=1)
        )
        image = np.einsum("kij,kj->ki", w[:, :, :3], xi)
        fourth.append(np.sum(image**2, axis=1) ** 2 / each)
        gaussian = fourth_moment_after(4, variance, 3.0, square, powers)
        stated.append(gaussian / fourth_moment_after(4, variance, float(entry_moment(law, 4)), square, powers))

    depth, x = 5, random.standard_normal(width)
    spread, signal, squares = gain / width, np.broadcast_to(x, (trials // 4, width)), []
    for _ in range(depth):
        w = spread**0.5 * random.standard_normal((len(signal), width, width))
        signal = np.einsum("kij,kj->ki", w, signal)
        squares.append(np.sum(signal**2, axis=1) / (x @ x))
    squares, depths = np.stack(squares), np.arange(1, depth + 1)
    law = [log_norm_law((width,) * (t + 1), spread) for t in depths]

    values = [Fraction(v) for v in (-2, -1, 1, 2)]
    independent = [((a, w, b), Fraction(1, 16)) for a, w, b in product((0, 1), values, (1, 3))]
    # Uncorrelated, for w is symmetric: E[aw] = 0 = E[a]E[w], and b is constant. Not independent: a tells |w|.
    dependent = [((int(abs(w) == 2), w, 1), Fraction(1, 4)) for w in values]
    return {
        "mean square of AWB": Law(
            second_moment_through(left, right, variance) * np.ones(len(LAWS)),
            np.stack(through),
            exact=True,
            along={"entries": LAWS},
            aside={"one gain": (np.linalg.norm(right, 2) / np.linalg.norm(right)) ** 2},
        ),
        "independent factors by counting": Exact(
            np.array([mean_square(independent)[0]]),
            np.array([mean_square(independent)[1]]),
            aside={"uncorrelated": [str(v) for v in mean_square(dependent)]},
        ),
        "mean square of the signal": Law(
            [forward_second_moment((width,) * (t + 1), spread) for t in depths],
            squares,
            exact=True,
            along={"depth": depths},
            resolution=0.1,  # the variance grows like e^{2t/d}
            aside={"gain": gain},
        ),
        "mean logarithm of the signal": Law(
            [each.mean for each in law],
            np.log(squares),
            exact=True,
            along={"depth": depths},
            scale=1.0,
            aside={"mean": depths * np.log(gain)},
        ),
        "mean fourth power": Law(
            1.0, np.stack(fourth), exact=True, along={"entries": LAWS}, aside={"gaussian": stated}
        ),
    }


@moments_through_random_matrices.control(
    "uncorrelated is enough, as printed", erratum="L6.15a", of="independent factors by counting"
)
def uncorrelated(evidence):
    left, right = (Fraction(each) for each in evidence.aside["uncorrelated"])
    return replace(evidence, left=np.array([left]), right=np.array([right]))


@moments_through_random_matrices.control("the largest gain of B for all of its squares", of="mean square of AWB")
def largest_gain(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) * evidence.aside["one gain"])


@moments_through_random_matrices.control("one layer fewer", of="mean square of the signal")
def one_layer_fewer(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) / evidence.aside["gain"])


@moments_through_random_matrices.control("the logarithm of the mean: t log dσ²", of="mean logarithm of the signal")
def log_of_mean(evidence):
    return replace(evidence, predicted=evidence.aside["mean"])


@moments_through_random_matrices.control("every kurtosis is 3", of="mean fourth power")
def gaussian_everywhere(evidence):
    return replace(evidence, predicted=np.asarray(evidence.aside["gaussian"]))


@moments_through_random_matrices.picture
def mean_and_typical(pieces):
    """The mean of ‖W^{t:1}x‖²/‖x‖² by depth, and the mean of its logarithm, which tells what is typical."""
    forward, typical = pieces["mean square of the signal"], pieces["mean logarithm of the signal"]
    t = forward.along["depth"]
    marks = [
        seen("mean square", t, forward.observed),
        Line("mean square", t, forward.predicted),
        seen("typical square, as a logarithm", t, typical.observed),
        Line("typical square, as a logarithm", t, typical.predicted),
    ]
    return Curves(marks, x="depth t", y="mean, and mean logarithm")
