"""Why a change that nobody sees may change the answer: it is small in every pixel, and there are many pixels."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen
from deeptheory.robustness.threats import steepest

GREY = 0.007
"""one grey level of an image of eight bits, as printed"""


@claim(
    items={"L12.6": ("change of the score", "mean change of the score")},
    says=r"A sign step of size $\eta$ changes a linear score by $\eta\|w\|_1$, for Gaussian weights "
    r"$\eta d\sqrt{2/\pi}$ on average: like the number of pixels, while no pixel moves by more than $\eta$. "
    r"Signs at random change it by $\eta\sqrt{2d/\pi}$ only.",
    needs="a linear score with independent standard normal weights, as a stand-in for the slope of a network",
    full=dict(sizes=(100, 1000, 10_000, 100_000)),
    symbols={
        r"\eta": "how far every pixel moves",
        "w": "the slope of the score by the pixels",
        "d": "the number of pixels",
    },
    why="Moved along the signs of the slope all pixels push the same way and their pushes add up; moved at random they "
    r"mostly cancel, and what is left grows like $\sqrt d$. The score of a typical image is of that size too, so from "
    r"some $d$ on a change of one grey level outweighs it.",
    notice="With a thousand pixels one grey level along the signs does what some thirty random ones would; the score "
    "of an image with pixels of order one is overtaken at some thirty thousand.",
    explore={"eta": (0.002, 0.007, 0.03)},
)
def signs_add_up_over_pixels(
    key,
    *,
    sizes: Annotated[Sizes, MinLen(2)] = (100, 1000, 10_000),
    trials: Trials = 200,
    eta: Annotated[float, Interval(ge=0.001, le=0.1)] = GREY,
):
    random = generator(key)
    changes, dual, random_changes = np.empty((3, len(sizes), trials))
    for i, d in enumerate(sizes):
        slopes = random.standard_normal((trials, d))
        step = eta * np.asarray(steepest(slopes, np.inf))
        changes[i] = np.sum(slopes * step, 1)
        dual[i] = eta * np.linalg.norm(slopes, 1, axis=1)
        random_changes[i] = np.abs(np.sum(slopes * eta * np.sign(random.standard_normal((trials, d))), 1))
    along = {"d": np.array(sizes)}
    return {
        "change of the score": Identity(changes, dual, size=max(sizes), along=along),
        "mean change of the score": Law(
            predicted=eta * np.array(sizes) * np.sqrt(2 / np.pi),
            observed=changes,
            exact=True,
            along=along,
            aside={"random": random_changes, "eta": eta},
        ),
    }


@signs_add_up_over_pixels.control("the mean of |w| taken for 1, its root mean square", of="mean change of the score")
def root_mean_square(evidence):
    return replace(evidence, predicted=np.asarray(evidence.predicted) * np.sqrt(np.pi / 2))


@signs_add_up_over_pixels.control("the Euclidean bound with √d too few", of="mean change of the score")
def square_root_growth(evidence):
    d = np.asarray(evidence.along["d"])
    return replace(evidence, predicted=np.asarray(evidence.predicted) / np.sqrt(d) * np.sqrt(d[0]))


@signs_add_up_over_pixels.picture
def growth(pieces):
    """Change of a linear score under one grey level a pixel: along the signs of the slope, and along random signs."""
    law = pieces["mean change of the score"]
    d, eta = np.asarray(law.along["d"], float), float(law.aside["eta"])
    marks = [
        Line("η d √(2/π)", d, np.asarray(law.predicted)),
        seen("signs of the slope", d, law.observed),
        seen("signs at random", d, np.asarray(law.aside["random"])),
        Line("η √(2d/π)", d, eta * np.sqrt(2 * d / np.pi)),
        Line("score of an image, √d", d, np.sqrt(d), dashed=True),
    ]
    return Curves(marks, x="pixels d", y="change of the score", log="xy")
