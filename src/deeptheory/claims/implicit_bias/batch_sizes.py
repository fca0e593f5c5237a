"""The size of batches has a say in which solution is found, unless the model is linear in its parameters.

arora 8.1, which points to Keskar et al. 2016, Hoffer et al. 2017 and Smith 2018.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.diagonal_networks import Diagonal, batch_descent, diagonal_descent, scale_decay
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.least_squares import nearest_solution
from deeptheory.implicit_bias.mirror import bregman_projection
from deeptheory.implicit_bias.potentials import hypentropy
from deeptheory.lab import Identity, Law, Limit, Rate, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Row, power_law, seen

EXAMPLES, COLUMNS = 4, 8
BATCHES = (1, 2, 4)
SMALL, RATES = 1 / np.array([256, 512, 1024]), 1 / np.array([64, 128, 256, 512])
SHORT, LONG = 0.5, 16.0
"""Rates and times of short runs, whose scale is looked at, and of long ones, after which all examples are fitted.

One example moves w by η‖x‖² times its metric, up to fifty; the short rates leave the square of this out of sight."""


def one_problem(draw):
    """Four equations in eight unknowns, well conditioned, with a sparse solution, and unequal first weights."""
    left, right = (np.linalg.qr(draw.standard_normal((size, EXAMPLES)))[0] for size in (EXAMPLES, COLUMNS))
    design = left * draw.uniform(1.6, 2.4, EXAMPLES) @ right.T
    truth = np.zeros(COLUMNS)
    truth[:3] = draw.choice([-1.0, 1.0], 3) * draw.uniform(0.4, 1.0, 3)
    return design, design @ truth, draw.uniform(0.4, 0.7, COLUMNS)


def copies(design, labels, first, count):
    up = np.tile(first, (count, 1))
    return np.tile(design, (count, 1, 1)), np.tile(labels, (count, 1)), Diagonal(up, up)


def many_problems(draw, count, rate):
    """Sparse recovery from 16 of 32 numbers: networks after batches of one and after as many whole samples."""
    given = draw.standard_normal((count, 16, 32)) / 32**0.5
    truth = np.zeros((count, 32))
    truth[:, :2] = draw.choice([-1.0, 1.0], (count, 2))
    answer, start = (given @ truth[..., None])[..., 0], Diagonal(*np.full((2, count, 32), 0.2))
    steps = round(1000 / rate)
    ends = (
        batch_descent(given, answer, start, draw.integers(0, 16, (count, steps, 1)), rate=rate),
        diagonal_descent(given, answer, start, rate=rate, steps=steps),
    )
    # The trace of the Hessian in (u, v), where the data are fitted: 4Σⱼ(u² + v²)ⱼ times the mean of xⱼ².
    sharpness = [4 * np.sum((end.up**2 + end.down**2) * np.mean(given**2, 1), 1) for end in ends]
    return np.array(sharpness), np.array([np.linalg.norm(end.weights - truth, axis=1) for end in ends])


@claim(
    items={
        "A8.39": (
            "decay of the scale",
            "from the solution of the scale left",
            "ends of a linear model",
            "flatter with small batches",
            "nearer to the truth with small batches",
        )
    },
    says=r"SGD with batches of $B$ on $w=u^2-v^2$ lowers $\log u_jv_j$ by $4\eta\int(g_j^2+\Sigma_{jj}/B)\,dt$ and "
    r"ends up to $\eta^2$ where flow from the scale left would. With large $\eta$ batches of one end flatter, and "
    "nearer to a sparse truth. A linear model ends at one point whatever the batches.",
    needs="labels that can be fitted; batches drawn with replacement; few weights that are not zero, for the truth",
    symbols={
        r"u,v,w": "the layers of a diagonal network and the weights that they make",
        r"B": "the number of examples in a batch",
        r"\eta": r"the learning rate; time $t$ is $\eta$ times the number of steps",
        r"g,\Sigma": "gradient of the loss in $w$, and covariance of those of single examples, along gradient flow",
    },
    why=r"A step along a batch gradient $\hat g$ multiplies $u_jv_j$ by $1-4\eta^2\hat g_j^2$, and "
    r"$\mathbb E\hat g_j^2=g_j^2+\Sigma_{jj}/B$. The product is what chooses among solutions: it is the scale of the "
    "mirror map. Besides, each step is one of mirror descent up to cubes. A linear model adds up gradients, all in the "
    "span of the examples, where there is one solution.",
    notice="Left: the scale that is lost, over the rate, tends to its prediction, and more for smaller batches. Right: "
    "the end lies a power closer to the solution of the scale that was left than to that of the first scale.",
    full=dict(trials=1000),
)
def batches_choose_among_solutions(
    key, *, trials: Trials = 256, rate: Annotated[float, Interval(ge=1.0, le=1.6)] = 1.4
):
    draw = generator(key)
    design, labels, first = one_problem(draw)
    many, few = copies(design, labels, first, trials), copies(design, labels, first, 40)
    lost, ends = [], []
    for each in SMALL:
        drawn = [draw.integers(0, EXAMPLES, (trials, round(SHORT / each), batch)) for batch in BATCHES]
        after = [batch_descent(*many, chosen, rate=each).scale for chosen in drawn]
        lost.append([-np.log(scale / first**2).sum(1) / each for scale in after])
    one = copies(design, labels, first, 1)
    decay = {b: scale_decay(*one, batch=b, time=SHORT).sum() for b in (*BATCHES, np.inf)}
    flowed, left_over = bregman_projection(hypentropy(first), design, labels), []
    for each in RATES:
        end = batch_descent(*few, draw.integers(0, EXAMPLES, (40, round(LONG / each), 1)), rate=each)
        left_over.append(
            [bregman_projection(hypentropy(np.sqrt(np.abs(scale))), design, labels) for scale in end.scale]
        )
        ends.append(end.weights)
    # The same batches for the linear model and for u² − v².
    linear, bent = [], []
    for batch in (*BATCHES, EXAMPLES):
        chosen = draw.integers(0, EXAMPLES, (round(LONG / RATES[0]), batch))
        if len(linear) == len(BATCHES):
            chosen = np.tile(np.arange(EXAMPLES), (len(chosen), 1))
        weights = np.zeros(COLUMNS)
        for which in np.tile(chosen, (2, 1)):
            weights = weights - 4 * RATES[0] * (design[which] @ weights - labels[which]) @ design[which] / batch
        linear.append(weights)
        bent.append(batch_descent(*one, chosen[None], rate=RATES[0]).weights[0])
    sharpness, errors = many_problems(draw, trials, rate)
    gentle = many_problems(draw, 32, rate / 10)
    return {
        # A tenth: without replacement the fluctuations would count a third less at B = 2 and nothing at B = n.
        "decay of the scale": Law(
            np.array([decay[batch] for batch in BATCHES]),
            np.array(lost),
            sizes=1 / SMALL,
            order=1,
            resolution=0.1,
            along={"batch": BATCHES},
            aside={"of whole samples": decay[np.inf]},
        ),
        "from the solution of the scale left": Limit(
            1 / RATES, distances(ends, left_over), order=2.0, aside={"first": distances(ends, flowed)}
        ),
        "from the end of gradient flow": Rate(
            1 / RATES, distances(ends, flowed), exponent=-1.0, rivals=(-2.0,), order=1
        ),
        "ends of a linear model": Identity(
            np.array(linear),
            np.broadcast_to(nearest_solution(design, labels), (4, COLUMNS)),
            scale=1.0,
            error=1e-6,
            aside={"of u² − v²": np.array(bent)},
        ),
        # By a twentieth and by a fiftieth at least, which small steps do not reach.
        "flatter with small batches": Trend(
            0.95 * sharpness[1] - sharpness[0], aside={"small steps": 0.95 * gentle[0][1] - gentle[0][0]}
        ),
        "nearer to the truth with small batches": Trend(
            0.98 * errors[1] - errors[0], aside={"small steps": 0.98 * gentle[1][1] - gentle[1][0]}
        ),
    }


def distances(ends, points):
    return np.linalg.norm(np.array(ends) - np.array(points), axis=-1)


@batches_choose_among_solutions.control("with steps of a tenth too", of="flatter with small batches")
@batches_choose_among_solutions.control("with steps of a tenth as near", of="nearer to the truth with small batches")
def small_steps(evidence):
    return replace(evidence, differences=evidence.aside["small steps"])


@batches_choose_among_solutions.control("batches that count no example twice", of="decay of the scale")
def without_replacement(evidence):
    whole, sizes = evidence.aside["of whole samples"], np.array(evidence.along["batch"])
    return replace(evidence, predicted=whole + (evidence.predicted - whole) * (EXAMPLES - sizes) / (EXAMPLES - 1))


@batches_choose_among_solutions.control("of the first scale", of="from the solution of the scale left")
def first_scale(evidence):
    return replace(evidence, y=evidence.aside["first"])


@batches_choose_among_solutions.control("u² − v² ends at one point too", of="ends of a linear model")
def also_bent(evidence):
    bent = evidence.aside["of u² − v²"]
    return replace(evidence, left=bent, right=np.broadcast_to(bent[-1], bent.shape))


@batches_choose_among_solutions.picture
def scale_lost_and_where_it_ends(pieces):
    """The fall of Σ log uv over the rate, by batch, with its limits; and how far from two solutions runs end."""
    law, slow = pieces["decay of the scale"], pieces["from the end of gradient flow"]
    rates, marks = 1 / np.asarray(law.sizes), []
    for i, batch in enumerate(law.along["batch"]):
        name = f"batches of {batch}"
        marks += [seen(name, rates, np.asarray(law.observed)[:, i]), Dots(name, [0.0], [law.predicted[i]])]
    ends = [
        *power_law("the scale that is left", pieces["from the solution of the scale left"]),
        *power_law("the first scale", slow),
    ]
    return Row(
        [
            Curves(marks, x="learning rate η, and predictions at 0", y="fall of Σ log uv, over η"),
            Curves(ends, x="one over the learning rate", y="distance of the end from the solution of", log="xy"),
        ]
    )
