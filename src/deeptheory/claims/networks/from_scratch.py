"""The classifier written from scratch: the gradient that is divided by N twice, and the best rule it could learn."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.special import expit
from scipy.stats import multivariate_normal

from deeptheory.lab import Identity, Inequality, Law, Share, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, Stack, Surface
from deeptheory.networks.from_scratch import (
    TwoGaussians,
    accuracy,
    bayes_accuracy,
    bayes_cross_entropy,
    bayes_logits,
    cross_entropy,
    crossed_gaussians,
    differentiable_loss,
    gradient,
    init_glorot,
    logits,
    population_cross_entropy,
    printed_gradient,
    sample_classes,
    train_classifier,
)

PerClass = Annotated[int, Interval(ge=5, le=5000)]
Width = Annotated[int, Interval(ge=1, le=1000)]
Steps = Annotated[int, Interval(ge=1, le=5000)]


def linear_cross_entropy():
    """What the linear discriminant reaches: the log-odds as if both classes had the mean of the two covariances."""
    classes = crossed_gaussians()
    pooled = TwoGaussians(classes.means, np.repeat(classes.covariances.mean(0)[None], 2, axis=0))
    return float(population_cross_entropy(classes, lambda points: bayes_logits(pooled, points)))


AXIS = np.linspace(-4, 4, 41)
"""Where the picture of the plane is drawn."""

# Unequal determinants, and log-odds that bend along every line: what the printed pair is too symmetric to show.
UNEQUAL = TwoGaussians(np.array([[0.0, 0.5], [-1, 1]]), np.array([[[1.0, 0.3], [0.3, 0.6]], [[3, -0.8], [-0.8, 2]]]))


def sums_of_densities(classes, *, step):
    """Bayes accuracy and cross entropy as Riemann sums of the two densities over the plane."""
    axis = np.arange(-12, 12, step)
    grid = np.stack(np.meshgrid(axis, axis), -1)
    logs = [multivariate_normal(*law).logpdf(grid) for law in zip(*classes, strict=True)]
    gap = logs[1] - logs[0]
    entropy = [np.exp(log) * np.logaddexp(0, sign * gap) for log, sign in zip(logs, (1, -1), strict=True)]
    return step**2 / 2 * np.array([np.exp(np.maximum(*logs)).sum(), np.sum(entropy)])


differentiated = jax.jit(jax.grad(differentiable_loss))


@claim(
    items={"L2.15": ("gradient of the listing", "losses along training")},
    says="Backpropagation written by hand is the gradient of the mean cross entropy when it is divided by the sample "
    "size $N$ a single time; dividing in every layer again, as the listing does, equals a step $N$ times smaller.",
    needs="labels 0 and 1; full-batch gradient descent",
    full=dict(per_class=1000, width=200),
    explore={"width": (5, 20, 80), "steps": (20, 50, 200)},
    symbols={
        "N": "the number of samples, over which the loss is a mean",
    },
    why="The mean over the sample is one factor 1/N in front of the loss. By the chain rule it stands once in the "
    "derivative by the outputs, and whatever is handed down from layer to layer carries it already. Dividing in each "
    "layer's own weights once more multiplies the gradient of every layer by the same 1/N, which is nothing but a "
    "smaller step.",
    notice="With the size divided out twice the loss falls far more slowly: the dots lie exactly on the curve of a "
    "step N times smaller. With one division the same step size trains the network within a few steps.",
)
def hand_written_gradient(key, *, per_class: PerClass = 50, width: Width = 20, steps: Steps = 50):
    start, sample = jax.random.split(key)
    x, y = sample_classes(sample, crossed_gaussians(), per_class)
    network = init_glorot(start, (2, width, width, 1))
    ours, truth, listing = (way(network, x, y) for way in (gradient, differentiated, printed_gradient))
    # Rounding is judged on the scale of each layer: its entries are sums of the same N terms.
    scales = [np.full(np.size(part), np.abs(part).max()) for layer in truth for part in layer]
    printed = train_classifier(network, x, y, steps=steps, gradient=printed_gradient)
    slower, proper = (train_classifier(network, x, y, steps=steps, step_size=eta) for eta in (0.5 / len(y), 0.5))
    return {
        "gradient of the listing": Identity(
            flat(ours), flat(truth), scale=np.concatenate(scales), size=len(y) * width, aside={"listing": flat(listing)}
        ),
        "losses along training": Identity(
            printed.losses,
            slower.losses,
            size=len(y) * width,
            along={"step": np.arange(steps)},
            aside={"divided once": proper.losses},
        ),
    }


def flat(layers):
    return np.concatenate([np.ravel(part) for layer in layers for part in layer])


@hand_written_gradient.control("divided twice, as in the listing", of="gradient of the listing")
def divided_twice(evidence):
    return replace(evidence, left=evidence.aside["listing"])


@hand_written_gradient.control("dividing again changes nothing", of="losses along training")
def divided_once(evidence):
    return replace(evidence, left=evidence.aside["divided once"])


@hand_written_gradient.picture
def losses_by_division(pieces):
    """The loss along training, with the sample size divided out once, twice, and once with a step N times smaller."""
    run = pieces["losses along training"]
    steps = run.along["step"]
    marks = [
        Line("divided once", steps, run.aside["divided once"]),
        Line("divided once, step 0.5/N", steps, run.right),
        Dots("", steps[::5], run.left[::5], rival="divided twice, as in the listing"),
    ]
    return Curves(marks, x="step", y="cross entropy")


@claim(
    items={
        "L2.16": (
            "accuracy and loss of the rule",
            "loss of the rule on draws",
            "accuracy of the rule on draws",
            "no network below the rule",
            "networks below the linear one",
        )
    },
    says="On the two crossed Gaussian classes no model has an expected cross entropy below the quadratic "
    "discriminant's $0.1413$, nor an accuracy above its $0.9462$. With the right gradient the network gets nearer, on "
    "average, than the linear discriminant with $0.1745$.",
    needs="equal class weights; step 0.5 on the whole sample",
    scale="printed: 1000 points a class, two layers of 200, 500 steps; here: 300 points, layers of 12, 100 steps",
    full=dict(per_class=500, width=30, steps=300),
    explore={"steps": (30, 60, 100)},
    symbols={
        "0.1413": "the cross entropy of the quadratic discriminant, the best there is, in nats",
        "0.9462": "the accuracy of the same rule",
        "0.1745": "the cross entropy of the linear discriminant, which takes one covariance for both classes",
    },
    why="Of all functions of the inputs the true log-odds have the least expected cross entropy; what any other loses "
    "is its mean relative entropy to them. The log-odds of two Gaussian classes are a quadratic polynomial, so its "
    "value is known to any digit. Classes with different covariances bend the boundary, which costs every linear rule "
    "something and a network with hidden units nothing in principle.",
    notice="The best boundary is a hyperbola, of which one branch bends around class 0. The network has bent its own "
    "the same way where there are points to learn from, by less, and goes on straight outside. Its loss on the very "
    "points it was trained on falls below the floor, which is no contradiction: the floor is for fresh points.",
)
def training_towards_the_bayes_rule(
    key,
    *,
    trials: Trials = 24,
    per_class: PerClass = 300,
    width: Width = 12,
    steps: Steps = 100,
    division: Literal["once", "twice"] = "once",
):
    classes = crossed_gaussians()
    start, sample, fresh = jax.random.split(key, 3)
    x, y = sample_classes(sample, classes, per_class, ensemble=(trials,))
    networks = init_glorot(start, (2, width, width, 1), ensemble=(trials,))
    chosen = gradient if division == "once" else printed_gradient
    run = train_classifier(networks, x, y, steps=steps, gradient=chosen)
    before, after = (
        population_cross_entropy(classes, lambda points, network=network: logits(network, points), nodes=60)
        for network in (networks, run.network)
    )
    # The rule itself, on fresh samples: 64 batches of 8,000 resolve its cross entropy to 2 %.
    test, labels = sample_classes(fresh, classes, 4000, ensemble=(64,))
    odds = bayes_logits(classes, test.reshape(-1, 2)).reshape(labels.shape)
    linear = linear_cross_entropy()
    floor = bayes_cross_entropy(classes)
    plane = np.stack(np.meshgrid(AXIS, AXIS), -1).reshape(-1, 2)
    outputs = np.asarray(logits(run.network, plane)).reshape(trials, len(AXIS), -1)
    stated = np.asarray(bayes_logits(classes, plane)).reshape(len(AXIS), -1)
    pairs = (classes, UNEQUAL)
    return {
        # Cells that the boundary cuts through cost the accuracy its fifth digit; the cross entropy is smooth.
        "accuracy and loss of the rule": Identity(
            np.array([[bayes_accuracy(pair), bayes_cross_entropy(pair)] for pair in pairs]),
            np.array([sums_of_densities(pair, step=0.05) for pair in pairs]),
            error=np.array([1e-5, 1e-8]),
            along={"classes": np.array(["crossed", "unequal"]), "of the rule": np.array(["accuracy", "cross entropy"])},
        ),
        "loss of the rule on draws": Law(floor, cross_entropy(odds, labels), exact=True),
        "accuracy of the rule on draws": Share(
            int(np.round(np.sum(accuracy(odds, labels)) * labels.shape[-1])), labels.size, bayes_accuracy(classes)
        ),
        # Quadrature of a function with kinks: four digits.
        "no network below the rule": Inequality(
            np.full((2, trials), floor),
            np.stack([before, after]),
            error=2e-4,
            along={"training loss": run.losses[-1]},
            aside={"axis": AXIS, "points": x[0], "labels": y[0], "network": expit(outputs[0]), "rule": expit(stated)},
        ),
        "networks below the linear one": Trend(linear - after),
    }


training_towards_the_bayes_rule.control("divided by N twice", of="networks below the linear one", division="twice")


@training_towards_the_bayes_rule.control(
    "one covariance for both classes costs nothing", of="loss of the rule on draws"
)
def linear_rule(evidence):
    return replace(evidence, predicted=linear_cross_entropy())


@training_towards_the_bayes_rule.control(
    "the floor holds for the loss on the training sample", of="no network below the rule"
)
def training_loss(evidence):
    return replace(evidence, quantity=evidence.quantity[1], bound=evidence.along["training loss"])


@training_towards_the_bayes_rule.picture
def learned_and_best(pieces):
    """What the first network has learned of the two classes, and the best rule; and the losses of all networks."""
    aside = pieces["no network below the rule"].aside
    points, labels, shown = aside["points"], aside["labels"], []
    for name, title in (("network", "a trained network"), ("rule", "the quadratic discriminant")):
        marks = [Dots(f"class {label}", *points[labels == label][:80].T) for label in (0, 1)]
        axes: dict[str, Any] = dict(x="first coordinate", y="second coordinate", value="probability of class 1")
        ends: dict[str, Any] = dict(columns=aside["axis"], rows=aside["axis"], xs=(-4, 4), ys=(-4, 4))
        shown.append(Surface(marks, heights=aside[name], title=title, levels=[0.1, 0.5, 0.9], **axes, **ends))
    _, after = np.asarray(pieces["no network below the rule"].bound)
    place = np.arange(1, len(after) + 1)
    losses = [
        Dots("trained networks", place, after),
        Level("best rule", y=float(pieces["loss of the rule on draws"].predicted)),
        Level("linear rule", y=float(linear_cross_entropy()), rival="one covariance"),
    ]
    return Stack([Row(shown), Curves(losses, x="network", y="cross entropy of the population")])
