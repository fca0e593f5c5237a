"""Decision regions of a trained network beside the quadric that is best (lucchi 2.7.6, 2.7.9)."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval
from scipy.special import expit
from scipy.stats import multivariate_normal

from deeptheory.lab import Identity, Law, claim
from deeptheory.lab.pictures import Dots, Line, Surface
from deeptheory.networks.from_scratch import (
    TwoGaussians,
    accuracy,
    bayes_accuracy,
    bayes_logits,
    bayes_quadric,
    crossed_gaussians,
    init_glorot,
    logits,
    sample_classes,
    train_classifier,
)

STEP = 0.1
MESH = np.arange(-9 + STEP / 2, 9.5, STEP)
"""the book's step, and cells with no axis through their middle; both classes have less than 1e-6 outside"""


def rules(network):
    """Functions whose sign decides for class 1: three straight ones and a network."""
    classes = crossed_gaussians()
    pooled = TwoGaussians(classes.means, np.repeat(classes.covariances.mean(0)[None], 2, axis=0))
    return {
        "first coordinate": lambda points: -points[:, 0],
        "half-way line of the first means": lambda points: 0.5 - points[:, 0],
        "linear discriminant": lambda points: bayes_logits(pooled, points),
        "trained network": lambda points: logits(network, points),
    }


@claim(
    items={"L2.17": ("boundary of the best rule", "accuracy from the regions")},
    says=r"For the two crossed Gaussian classes the best boundary is the hyperbola "
    r"$(x_1+\frac52)(x_2+\frac52)=\frac{27}4$. A rule with other regions loses accuracy "
    r"$\frac12\int_{\text{disagree}}|p_0-p_1|$ against it, whatever it looks like.",
    needs="equal class weights; three straight rules and one trained network with two hidden layers of 12",
    scale="printed: layers of 200, 1000 points a class, 500 steps; here: layers of 12, 200 points, 200 steps",
    symbols={
        "x_1, x_2": "the coordinates of a point",
        "p_0, p_1": "the densities of the two classes",
        r"\text{disagree}": "where the rule decides otherwise than the best one",
    },
    why="The log-odds of two Gaussian densities are a quadratic polynomial; here the squares cancel and the product of "
    "the coordinates stays, so the boundary is a hyperbola with axes-parallel asymptotes. At a point where a rule "
    "decides otherwise it is right with the smaller of the two densities instead of the larger, and each class has "
    "weight one half.",
    notice="After training the boundary of the network follows the branch of the hyperbola where the points are, and "
    "leaves it where there are none, which costs almost nothing. The other branch lies where both classes are rare.",
)
def regions_and_the_best_quadric(key, *, steps: Annotated[int, Interval(ge=30, le=500)] = 200):
    classes = crossed_gaussians()
    start, sample, fresh = jax.random.split(key, 3)
    x, y = sample_classes(sample, classes, 200)
    ways = rules(train_classifier(init_glorot(start, (2, 12, 12, 1)), x, y, steps=steps).network)
    plane = np.stack(np.meshgrid(MESH, MESH), -1).reshape(-1, 2)
    best = bayes_logits(classes, plane)
    densities = [multivariate_normal(*law).pdf(plane) for law in zip(*classes, strict=True)]
    outputs = np.array([decide(plane) for decide in ways.values()])
    # Cells that a boundary cuts cost the fourth digit, below what the draws resolve.
    lost = np.sum(((outputs > 0) != (best > 0)) * np.abs(densities[0] - densities[1]), -1) * STEP**2 / 2
    test, labels = sample_classes(fresh, classes, 1000, ensemble=(64,))
    seen = [accuracy(decide(test.reshape(-1, 2)).reshape(labels.shape), labels) for decide in ways.values()]
    first, second = plane.T
    near = np.abs(MESH) < 6
    shown = expit(outputs[-1]).reshape(len(MESH), -1)[np.ix_(near, near)]
    matrix, slope, constant = bayes_quadric(classes)
    return {
        "boundary of the best rule": Identity(
            np.stack([best, np.einsum("ni,ij,nj->n", plane, matrix, plane) + plane @ slope + constant]),
            -2 / 3 * ((first + 5 / 2) * (second + 5 / 2) - 27 / 4) * np.ones((2, 1)),
            scale=100.0,
            aside={"axis": MESH[near], "network": shown, "points": x, "labels": y},
        ),
        "accuracy from the regions": Law(
            bayes_accuracy(classes) - lost, np.array(seen), along={"rule": np.array(list(ways))}, exact=True,
            aside={"lost": lost},
        ),
    }  # fmt: skip


@regions_and_the_best_quadric.control("through (x₁ + 5/2)(x₂ + 5/2) = 25/4", of="boundary of the best rule")
def without_constant(evidence):
    return replace(evidence, right=evidence.right - 2 / 3 * (27 / 4 - 25 / 4))


@regions_and_the_best_quadric.control("the integral without the factor one half", of="accuracy from the regions")
def without_half(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["lost"])


@regions_and_the_best_quadric.picture
def regions(pieces):
    """What the trained network says of the plane, with the hyperbola of the best rule and its sample."""
    aside = pieces["boundary of the best rule"].aside
    axis, points, labels = aside["axis"], aside["points"], aside["labels"]
    classes = [Dots(f"class {label}", *points[labels == label][:100].T) for label in (0, 1)]
    branches = [
        Line("the best boundary", side, 27 / 4 / (side + 5 / 2) - 5 / 2)
        for side in (np.linspace(-1.75, 6, 80), np.linspace(-6, -4.45, 40))
    ]
    return Surface(
        [*classes, *branches], columns=axis, rows=axis, heights=aside["network"], levels=[0.1, 0.5, 0.9],
        xs=(-6, 6), ys=(-6, 6), x="first coordinate", y="second coordinate", value="probability of class 1",
    )  # fmt: skip
