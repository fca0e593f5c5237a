"""Networks memorize random labels (handbook 9.2, lucchi 8.4)."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.spatial.distance import cdist

from deeptheory.data import digits
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.rademacher import exact_complexity
from deeptheory.generalization.networks.memorization import (
    corrupt_labels,
    fit_labels,
    initial_layers,
    memorizing_network,
    small_digits,
)
from deeptheory.generalization.networks.norms import relu_network
from deeptheory.lab import Exact, Identity, Inequality, Law, Share, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen

SHARES = (0.0, 1 / 3, 2 / 3, 1.0)
MOST = 300
fitted = jax.jit(fit_labels, static_argnames=("most", "rate"))


def answers(layers, inputs):
    return np.argmax(np.asarray(relu_network(layers, inputs)), axis=1)


@claim(
    items={
        "H9.1": (
            "errors on the sample",
            "loss in the end",
            "labels that changed",
            "classes of random labels",
            "test error of random labels",
            "test error along the share",
            "steps along the share",
            "training errors after a few steps",
        )
    },
    says=r"One architecture and one optimizer fit 100 digits without an error whether a share 0, 1/3, 2/3 or 1 of the "
    r"labels is drawn at random from $k=10$ classes. The test error rises with the share, to $1-1/k$ when all are "
    r"random, and fitting takes longer.",
    needs="enough hidden units; no two images nearly alike; initial weights of all outputs drawn alike",
    scale="printed CIFAR-10 with Inception; here 100 digits of 7×7 pixels and one hidden layer of 128 units",
    full=dict(trials=48),
    symbols={r"k": "the number of classes"},
    why=r"The network has many more weights than examples, and gradient descent finds a fit to whatever labels it is "
    r"given. True labels agree on images that look alike, so one change of the weights serves many of them at once; "
    r"random labels have to be learned one by one, which takes longer and says nothing about other images.",
    notice=r"Left: at the end the training error is zero for every share, and early it grows with the share. Right: a "
    r"larger share of random labels takes more steps. Nothing about the final fit tells the cases apart.",
)
def random_labels_are_fitted(key, *, trials: Trials = 28, width: Annotated[int, Interval(ge=1, le=1024)] = 128):
    images, truth = small_digits(*range(10))
    wrong, steps, errors, early, losses = np.empty((5, len(SHARES), trials))
    again, renamed, more = np.empty(trials), np.empty(trials), []

    def start_of(draw):
        return initial_layers(jax.random.fold_in(draw, 1), (49, width, 10))

    def learned(draw, shares):
        """Networks trained on one sample with these shares of random labels, and their test errors."""
        pool = generator(draw).choice(3000, 200, replace=False)
        # Two images nearly alike with different labels take several times as long as all the others.
        alike = np.triu(cdist(images[pool], images[pool]) < 0.1, 1).any(0)
        chosen = pool[~alike][:100]
        start = start_of(draw)
        for share in shares:
            labels = corrupt_labels(jax.random.fold_in(draw, 2), truth[chosen], share, classes=10)
            network = fitted(start, images[chosen], labels, most=MOST)
            yield network, np.mean(answers(network.layers, images[3000:]) != truth[3000:]), images[chosen], labels

    for t in range(trials):
        draw = jax.random.fold_in(key, t)
        for i, (network, error, x, labels) in enumerate(learned(draw, SHARES)):
            wrong[i, t], errors[i, t] = round(100 * float(network.errors[-1])), error
            steps[i, t], early[i, t] = network.steps, network.errors[20]
            outputs = np.asarray(relu_network(network.layers, x), float)
            losses[i, t] = np.mean(label_cross_entropy(outputs, labels))
            if t == 0:
                more.append(int(fitted(network.layers, x, labels, most=MOST).steps))
            if i == 0:
                renamed[t] = fitted(start_of(draw), x, (labels + 1) % 10, most=MOST).steps
        # Of the errors, those with random labels vary most: another sample for each.
        again[t] = next(learned(jax.random.fold_in(draw, 3), SHARES[-1:]))[1]
    shares = {"share": np.array(SHARES)}
    many = np.arange(500_000) % 10  # so many that each class is resolved to a twentieth
    drawn = [corrupt_labels(jax.random.fold_in(key, trials), many, share, classes=10) for share in SHARES[1:]]
    return {
        "errors on the sample": Exact(wrong.astype(int), np.zeros((len(SHARES), trials), int)),
        # Trained in single precision, where the mean of a hundred costs is known to some 1e-7 of the largest.
        "loss in the end": Inequality(losses, 0.1, error=1e-6, along=shares),
        "steps beyond the last": Exact(more, [0] * len(SHARES)),
        "labels that changed": Share(
            np.array([np.sum(labels != many) for labels in drawn]), len(many), 0.9 * np.array(SHARES[1:])
        ),
        "classes of random labels": Share(np.bincount(drawn[-1], minlength=10), len(many), 0.1),
        # Exact, as the classes are drawn alike; a tenth of it tells ten classes from five (0.8) or from a coin.
        "test error of random labels": Law(0.9, np.concatenate([errors[-1], again]), exact=True, resolution=0.1),
        "test error along the share": Trend(np.diff(errors, axis=0), along={"share": shares["share"][1:]}),
        # Share of the speed that is lost: at most 1, where ratios of times have a few large values. An eighth at least.
        "steps along the share": Trend(
            0.875 - steps[0] / steps[1:],
            along={"share": shares["share"][1:]},
            aside={"renamed": 0.875 - steps[0] / renamed},
        ),
        "training errors after a few steps": Trend(early[1:] - early[0], along={"share": shares["share"][1:]}),
        "steps needed": Inequality(steps, float(MOST - 1), along=shares),
    }


random_labels_are_fitted.control("with four hidden units", of="errors on the sample", width=4, trials=8)


@random_labels_are_fitted.control("the chance of error among five classes", of="test error of random labels")
def five_classes(evidence):
    return replace(evidence, predicted=0.8)


@random_labels_are_fitted.control("all labels drawn anew change", of="labels that changed")
def all_change(evidence):
    return replace(evidence, count=evidence.count[:2], predicted=np.array(SHARES[1:3]))


@random_labels_are_fitted.control("classes renamed, so that all labels differ", of="steps along the share")
def renamed_classes(evidence):
    return replace(evidence, differences=evidence.aside["renamed"], along={})


@random_labels_are_fitted.picture
def fitting_against_corruption(pieces):
    """Steps to fit, and training error, final and after twenty steps, against the share of random labels."""
    wrong = np.asarray(pieces["errors on the sample"].left)
    final = np.sum(wrong, axis=1) / (100 * wrong.shape[1])
    above = np.concatenate(
        [[0.0], np.mean(np.asarray(pieces["training errors after a few steps"].differences), axis=1)]
    )
    errors = {"at the end": final, "after 20 steps, above that with true labels": above}
    marks = [kind(name, SHARES, each) for name, each in errors.items() for kind in (Line, Dots)]
    steps = seen("steps", SHARES, pieces["steps needed"].quantity)
    return Row(
        [
            Curves(marks, x="share of random labels", y="training error"),
            Curves([steps], x="share of random labels", y="steps to cross-entropy 0.1"),
        ]
    )


@claim(
    items={
        "H9.2": (
            "random values fitted",
            "random labels of digits fitted",
            "number of weights",
            "slopes between thresholds",
        ),
        "L8.23": "Rademacher complexity",
        "H9.1": "Rademacher complexity",
    },
    says=r"$\sum_j w_j\,\mathrm{relu}(a\cdot x-b_j)$ with $2n+d$ weights takes any $n$ values at $n$ different "
    r"points: thresholds interleaved with the projections make a triangular system. So the signs of such networks "
    r"have empirical Rademacher complexity 1.",
    needs="a direction on which no two points project alike; n hidden units",
    symbols={
        r"a": "a direction on which the points project to different numbers",
        r"b_j,\ w_j": "threshold and weight of hidden unit $j$",
        r"n,\ d": "the numbers of points and of inputs",
        r"s,\ s'": "the slope of the network up to a threshold, and after it",
        r"\Delta y/\Delta z": "the rise of the value over the gap between two neighbouring projections",
        r"t": "where in its gap a threshold stands, 0.4 here",
    },
    why=r"Sorted along the direction, each point lies behind exactly one threshold more than the one before. So the "
    r"first weight is chosen to fit the first point, the second to fit the next, and so on: a triangular system with "
    r"a positive diagonal. With each threshold a share $t$ into its gap the slopes obey $s'=(\Delta y/\Delta "
    r"z-ts)/(1-t)$. Signs are values like any other, so every pattern of signs is fitted and the Rademacher average "
    r"is as large as it can be.",
    notice=r"The line goes through every label, bending once in every gap; between the points it swings beyond the "
    r"labels, since each bend has to correct the one before: the farther, the later in its gap the threshold stands.",
    explore={"place": (0.05, 0.2, 0.4, 0.5, 0.6)},
)
def networks_that_memorize(
    key, *, units: Literal["n", "n − 1"] = "n", place: Annotated[float, Interval(ge=0.05, le=0.6)] = 0.4
):
    draw = generator(key)
    x, y = draw.standard_normal((50, 10)), draw.choice([-1.0, 1.0], 50)
    network = memorizing_network(x, y, draw.standard_normal(10), place=place)
    order = np.argsort(x @ network.direction)
    kept = slice(None) if units == "n" else slice(None, -1)
    hidden = network.hidden(x[order])[:, kept]
    weights = network.weights if units == "n" else np.linalg.lstsq(hidden, y[order])[0]
    slope, slopes = 0.0, []
    gaps = np.diff(x[order] @ network.direction)
    first = np.mean(gaps)  # the first threshold stands as far before the first point as if there were such a gap
    for rise, gap in zip(np.diff(y[order], prepend=0.0), [first, *gaps], strict=True):
        slope = (rise / gap - place * slope) / (1 - place)
        slopes.append(slope)
    # The network along its direction, which is all that it looks at.
    along = x[order] @ network.direction
    between = np.linspace(along[0], along[11], 400)
    ray = network.direction / np.sum(network.direction**2)
    swings = np.asarray(network(between[:, None] * ray))
    images = digits(train=300).train_images
    classes = draw.integers(0, 10, 300).astype(float)
    large = memorizing_network(images, classes, draw.standard_normal(196), place=place)
    eight = x[:8]

    def supremum(signs):
        found = [memorizing_network(eight, row, network.direction)(eight) for row in signs]
        return np.sum(signs * np.sign(found), axis=1)

    return {
        # Forward substitution is backward stable: residuals are rounding in the sum of the absolute terms.
        "random values fitted": Identity(
            hidden @ weights,
            y[order],
            scale=hidden @ np.abs(weights),
            size=50,
            aside={"projection": x[order] @ network.direction, "between": between, "values": swings},
        ),
        "random labels of digits fitted": Identity(
            large(images), classes, scale=large.hidden(images) @ np.abs(large.weights), size=300
        ),
        "number of weights": Exact([network.parameters, large.parameters], [2 * 50 + 10, 2 * 300 + 196]),
        # A gap is known as well as the projections are, so relative to the least gap their rounding counts.
        "slopes between thresholds": Identity(
            np.cumsum(network.weights),
            np.array(slopes),
            scale=np.cumsum(np.abs(network.weights)),
            condition=np.max(np.abs(x @ network.direction)) / np.min(gaps),
            aside={"place": place},
        ),
        "Rademacher complexity": Identity(exact_complexity(supremum, 8), 1.0),
    }


networks_that_memorize.control("with one hidden unit less", of="random values fitted", units="n − 1")


@networks_that_memorize.control("n + d weights", of="number of weights")
def fewer_weights(evidence):
    return replace(evidence, right=[50 + 10, 300 + 196])


@networks_that_memorize.control("slopes of the straight lines from point to point", of="slopes between thresholds")
def straight_lines(evidence):
    # What s′ = Δy/Δz would be, read back from consecutive slopes of the network itself.
    slopes, place = np.asarray(evidence.right), evidence.aside["place"]
    return replace(evidence, right=(1 - place) * slopes + place * np.concatenate([[0.0], slopes[:-1]]))


@networks_that_memorize.control("one pattern of signs in 256 is missed", of="Rademacher complexity")
def one_pattern_missed(evidence):
    # Eight signs: the best other pattern differs in one of them and so has correlation 6/8.
    return replace(evidence, right=1 - 2 / 8 / 256)


@networks_that_memorize.picture
def through_every_label(pieces):
    """The memorizing network along its direction, through the first twelve of fifty labels drawn at random."""
    fit = pieces["random values fitted"]
    return Curves(
        [
            Line("network", fit.aside["between"], fit.aside["values"]),
            Dots("labels", np.asarray(fit.aside["projection"])[:12], np.asarray(fit.right)[:12]),
        ],
        x="projection of the input on the direction",
        y="output",
        ys=(-6, 6),
    )
