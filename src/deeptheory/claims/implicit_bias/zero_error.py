"""One architecture, one sample, no error left: networks that generalize and networks that do not.

arora 8, which points to Neyshabur et al. 2015, Zhang et al. 2016 and others.
"""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.memorization import corrupt_labels, fit_labels, initial_layers, small_digits
from deeptheory.generalization.networks.norms import margins, path_norm, relu_network
from deeptheory.lab import Exact, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots

SAMPLE, OTHERS = 60, 120
RUNS = ("true labels", "random labels", "beside other digits labelled wrongly", "beside other digits labelled rightly")
fitted = jax.jit(fit_labels, static_argnames=("most", "rate"))


@claim(
    items={"A8.39": ("errors on the sample", "test errors", "path norms over margins")},
    says="A network that fits 60 digits without an error and errs on few others fits random labels too. Some of its "
    "weights fit all 60 true labels and err on most other digits; training does not find them unless led there. Their "
    "path norm over the margin is larger.",
    needs="many more weights than digits; equal architecture, start and method",
    scale="printed no scale; here 7×7 pixels of threes and eights, one hidden layer of 64 units",
    symbols={
        r"\text{path norm}": "the root of the sum, over all paths from inputs to outputs, of the squared products of "
        "weights; it does not see how hidden units are scaled",
        r"\text{margin}": "by how much the right output exceeds the other; its median over the 60 digits",
    },
    why="The architecture can do anything with so few digits, so what it can do explains nothing. To find a bad fit "
    "it is trained on 120 more digits with wrong labels: the 60 true labels are then fitted as well. With right labels "
    "on the 120 the error falls instead, so it is what the labels demand, not their number, that spoils the fit. Steep "
    "functions cost norm for their margin, and training stops at the first fit on its way.",
    notice="Four networks a sample, three of which fit the same 60 true labels without an error. The two that "
    "err much more paid much more norm.",
)
def training_chooses_among_fits(key, *, trials: Trials = 24, width: Annotated[int, Interval(ge=1, le=512)] = 64):
    images, truth = small_digits(3, 8)
    wrong, errors, costs = np.empty((3, len(RUNS), trials))
    first, every = np.arange(SAMPLE + OTHERS) < SAMPLE, np.ones(SAMPLE + OTHERS, bool)
    for t in range(trials):
        draw = jax.random.fold_in(key, t)
        order = generator(draw).permutation(len(truth))
        chosen, fresh = order[: SAMPLE + OTHERS], order[SAMPLE + OTHERS :]
        right = truth[chosen]
        drawn = corrupt_labels(jax.random.fold_in(draw, 1), right, 1.0, classes=2)
        start = initial_layers(jax.random.fold_in(draw, 2), (49, width, 2))
        given = ((right, first), (drawn, first), (np.where(first, right, 1 - right), every), (right, every))
        for i, (labels, counted) in enumerate(given):
            network = fitted(start, images[chosen], labels, most=3000, weights=counted.astype(float))
            layers = [np.asarray(layer, float) for layer in network.layers]
            inside, outside = (np.asarray(relu_network(layers, images[each])) for each in (chosen[first], fresh))
            leads = margins(inside, labels[first])
            wrong[i, t], errors[i, t] = np.sum(leads <= 0), np.mean(np.argmax(outside, 1) != truth[fresh])
            costs[i, t] = path_norm(layers) / max(np.median(leads), 1e-9)
    rises = np.log(costs) - np.log(costs[0])
    return {
        "errors on the sample": Exact(wrong.astype(int), np.zeros((len(RUNS), trials), int)),
        # By a factor of two at least.
        "test errors": Trend(
            errors[1:3] - 2 * errors[0],
            along={"network": np.array(RUNS[1:3])},
            aside={"rightly": errors[3] - 2 * errors[0], "errors": errors, "costs": costs},
        ),
        "path norms over margins": Trend(
            rises[1:3] - np.log(2), along={"network": np.array(RUNS[1:3])}, aside={"rightly": rises[3] - np.log(2)}
        ),
    }


training_chooses_among_fits.control("with two hidden units", of="errors on the sample", width=2, trials=8)


@training_chooses_among_fits.control("more digits with right labels spoil it too", of="test errors")
@training_chooses_among_fits.control("more digits with right labels cost as much", of="path norms over margins")
def labelled_rightly(evidence):
    return replace(evidence, differences=evidence.aside["rightly"], along={})


@training_chooses_among_fits.picture
def error_against_norm(pieces):
    """Test error of networks without an error on their sample, against their path norm over the median margin."""
    seen = pieces["test errors"].aside
    marks = [Dots(name, *each) for name, *each in zip(RUNS, seen["costs"], seen["errors"], strict=True)]
    return Curves(marks, x="path norm over the median margin", y="share of wrong answers on new digits", log="x")
