"""Gradient flow, gradient descent and descent with noisy labels: one limit, but different solutions (arora 12)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.diagonal_networks import (
    Diagonal,
    diagonal_descent,
    diagonal_flow,
    label_noise_descent,
)
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.auditor import least_norm
from deeptheory.lab import Rate, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Plane, Row, power_law

EXAMPLES, DIMENSION, SPARSE = 16, 32, 2
RATE, CLOCK = 1 / 16, 6.0
"""of the long runs, and by how much noise is to lower ln(u·v) in them"""
LONG, SHORT = 100.0, 2.0
"""times until the flow has fitted, and at which it is compared with descent of small rates"""
RATES = np.array([1 / 128, 1 / 256, 1 / 512, 1 / 1024])
COPIES = 3
"""runs of each problem that are averaged, since noise is most of the spread"""


def problems(draw, count):
    """Gaussian examples of length about one, a truth with two entries ±1, its labels, and a large start at w = 0."""
    given = draw.standard_normal((count, EXAMPLES, DIMENSION)) / DIMENSION**0.5
    truth = np.zeros((count, DIMENSION))
    truth[:, :SPARSE] = draw.choice([-1.0, 1.0], (count, SPARSE))
    return given, truth, (given @ truth[..., None])[..., 0], Diagonal(np.ones_like(truth), np.ones_like(truth))


@claim(
    items={"A12.31": ("descent to the flow", "noisy descent to the flow", "sparser", "nearer to the truth")},
    says=r"A diagonal network $w=u^2-v^2$ with fewer examples than weights. As $\eta\to0$, gradient descent tends to "
    r"gradient flow like $\eta$, with noisy labels like $\sqrt\eta$. But at one fixed $\eta$ noise lowers the excess "
    r"of $\|w\|_1$, and the distance to a sparse $w_*$, by over a quarter.",
    needs="all from u = v = 1, a large start; labels without error, but for the noise drawn anew at each step, which "
    "is switched off for the last stretch; until then noise lowers ln(uv) by six",
    symbols={
        "u,v,w": "two layers, and the weights of the linear function, entry by entry",
        r"\eta": "the learning rate",
        "w_*": "the weights that made the labels: two entries ±1, else zeros",
    },
    why=r"Flow keeps $u_jv_j$, and this scale chooses among the $w$ that fit: a large one that of least $\ell_2$ norm, "
    r"a small one that of least $\ell_1$ norm. A step along example $x$ with residual $g$ multiplies $u_jv_j$ by "
    r"$1-4\eta^2g^2x_j^2$. Once fitted, $g$ is zero and the scale stays; with fresh noise in the labels $g$ never is, "
    r"and after $1/\eta^2$ steps the scale has shrunk. In a fixed time $\eta k$ this is of order $\eta$ and vanishes.",
    notice="Left, both distances from the flow fall with the rate. Right, each dot is one problem: flow and descent "
    "lie on each other, noisy labels have moved towards the corner where w is sparsest and true.",
    explore={"deviation": (0.8, 1.0, 1.2)},
)
def noise_of_labels_finds_sparse_weights(
    key, *, trials: Trials = 64, deviation: Annotated[float, Interval(ge=0.8, le=1.2)] = 1.0
):
    draw = generator(key)
    given, truth, answer, start = problems(draw, trials)
    fitted = given, answer

    # At a fixed short time, for smaller and smaller rates.
    flow = diagonal_flow(*fitted, start, time=SHORT).weights
    copied = given.repeat(COPIES, 0), answer.repeat(COPIES, 0)
    begin = Diagonal(start.up.repeat(COPIES, 0), start.down.repeat(COPIES, 0))
    plain, noisy = [], []
    for rate in RATES:
        steps = round(SHORT / rate)
        plain.append(diagonal_descent(*fitted, start, rate=rate, steps=steps).weights - flow)
        far = label_noise_descent(draw, *copied, begin, rate=rate, deviation=deviation, steps=steps).weights
        noisy.append(((far.reshape(trials, COPIES, -1) - flow[:, None]) ** 2).sum(-1).mean(-1))

    # At one rate, until all fit.
    quiet = round(LONG / RATE)
    long = round(CLOCK * DIMENSION / (2 * RATE * deviation) ** 2)
    still = diagonal_descent(*fitted, start, rate=RATE, steps=quiet)
    shaken = label_noise_descent(draw, *fitted, start, rate=RATE, deviation=deviation, steps=long)
    ends = {
        "flow": diagonal_flow(*fitted, start, time=LONG),
        "descent": still,
        "noise": diagonal_descent(*fitted, shaken, rate=RATE, steps=quiet),
    }
    least = np.array([np.abs(least_norm(*each, power=1)[0]).sum() for each in zip(*fitted, strict=True)])
    excess = {name: np.abs(at.weights).sum(1) - least for name, at in ends.items()}
    away = {name: np.linalg.norm(at.weights - truth, axis=1) for name, at in ends.items()}
    return {
        "descent to the flow": Rate(
            1 / RATES, np.sqrt((np.array(plain) ** 2).sum(-1).mean(-1)), exponent=-1.0, rivals=(-0.5, -2.0), order=1
        ),
        # Squares, so that means over problems have no bias.
        "noisy descent to the flow": Rate(1 / RATES, np.array(noisy), exponent=-1.0, rivals=(-0.5, -2.0)),
        "sparser": Trend(0.75 * excess["flow"] - excess["noise"], aside=excess),
        "nearer to the truth": Trend(0.75 * away["flow"] - away["noise"], aside=away),
    }


@noise_of_labels_finds_sparse_weights.control("descent without noise is as sparse", of="sparser")
def sparse_without_noise(evidence):
    return replace(evidence, differences=0.75 * evidence.aside["flow"] - evidence.aside["descent"])


@noise_of_labels_finds_sparse_weights.control("flow is sparser than noise", of="sparser")
def flow_is_sparser(evidence):
    return replace(evidence, differences=evidence.aside["noise"] - evidence.aside["flow"])


@noise_of_labels_finds_sparse_weights.control("descent without noise is as near", of="nearer to the truth")
def near_without_noise(evidence):
    return replace(evidence, differences=0.75 * evidence.aside["flow"] - evidence.aside["descent"])


@noise_of_labels_finds_sparse_weights.control("flow is nearer than noise", of="nearer to the truth")
def flow_is_nearer(evidence):
    return replace(evidence, differences=evidence.aside["noise"] - evidence.aside["flow"])


@noise_of_labels_finds_sparse_weights.picture
def two_rates_and_where_they_end(pieces):
    """Distance from gradient flow against the rate; and where flow, descent and noisy descent end at a fixed rate."""
    squared = pieces["noisy descent to the flow"]
    root = replace(squared, y=np.sqrt(np.mean(squared.y, -1)), exponent=-0.5)
    marks = [*power_law("descent", pieces["descent to the flow"]), *power_law("noisy labels", root)]
    excess, away = pieces["sparser"].aside, pieces["nearer to the truth"].aside
    names = {"flow": "gradient flow", "descent": "gradient descent", "noise": "noisy labels"}
    return Row(
        [
            Curves(marks, x="one over the rate η", y="distance from gradient flow", log="xy"),
            Plane(
                [Dots(name, excess[kind], away[kind]) for kind, name in names.items()],
                x="‖w‖₁ above the least possible",
                y="distance from the truth",
            ),
        ]
    )
