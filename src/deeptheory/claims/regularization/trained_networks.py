"""Networks trained on handwritten digits: width past zero training error, and dropout beside its explicit penalty."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen

from deeptheory.data.handwriting import digits
from deeptheory.foundations.cross_entropy import softmax_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained
from deeptheory.lab import Exact, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, seen

SIDE = 7


def standardized(images):
    """Images centred and scaled to a mean square of one."""
    return (images - images.mean()) / images.std()


def sample(draw, trials, train):
    """Training sets drawn from the digits, a test set, and labels as rows with a one."""
    data = digits(side=SIDE)
    images, tests = standardized(data.train_images), standardized(data.test_images)
    chosen = np.stack([draw.choice(len(images), train, replace=False) for _ in range(trials)])
    labels, wanted = np.eye(10)[data.train_labels], np.eye(10)[data.test_labels]
    return images[chosen], labels[chosen], tests, wanted


@partial(jax.jit, static_argnames=("steps",))
def wide_errors(first, top, inputs, labels, tests, wanted, *, steps=150):
    """Training and test error of two-layer ReLU networks after training by cross entropy, a run for each trial."""

    def outputs(weights, given):
        return jax.nn.relu(given @ weights[0].T) @ weights[1].T

    def run(weights, given, answer):
        def loss(w):
            return softmax_cross_entropy(outputs(w, given), answer).mean()

        end, _ = trained(loss, optax.adam(0.01), weights, steps=steps)
        wrong = lambda x, y: jnp.mean(jnp.argmax(outputs(end, x), 1) != jnp.argmax(y, 1))  # noqa: E731
        return wrong(given, answer), wrong(tests, wanted)

    return jax.vmap(run)((first, top), inputs, labels)


@claim(
    items={"L11.1": ("training error of the two widest", "test error falls between them")},
    says="Wider two-layer networks reach training error zero on handwritten digits, and past that width, where nothing "
    "is left to be gained on the training set, the test error still falls.",
    needs="training by Adam on cross entropy for the same number of steps; no penalty, no early stopping",
    symbols={r"\text{width}": "the number of hidden units"},
    why="Once all examples are fitted, many networks fit them. Training does not choose among them at random: wider "
    "networks reach zero training error with less movement of each weight, and come closer to a smooth average over "
    "many features. Counting parameters would predict overfitting, and does not describe what is chosen.",
    notice="The training error is at zero from some width on, and the test error goes on falling to the right of it.",
    full=dict(trials=48),
)
def wider_networks_keep_improving(
    key,
    *,
    sizes: Annotated[Sizes, MinLen(3)] = (4, 16, 128),
    trials: Trials = 48,
    train: Annotated[int, Interval(ge=20, le=1000)] = 60,
):
    draw = generator(key)
    inputs, labels, tests, wanted = sample(draw, trials, train)
    errors = []
    for width in sizes:
        first = draw.standard_normal((trials, width, SIDE**2)) / SIDE
        top = draw.standard_normal((trials, 10, width)) / width**0.5
        # Single precision: the errors are counts.
        single = (np.asarray(each, np.float32) for each in (first, top, inputs, labels, tests))
        errors.append(wide_errors(*single, wanted))
    training, testing = np.moveaxis(np.asarray(errors), 1, 0)
    return {
        "training error of the two widest": Exact(
            np.rint(training[-2:] * train).astype(int),
            np.zeros((2, trials), int),
            aside={"narrower": np.rint(training[-3:-1] * train).astype(int)},
        ),
        "test error falls between them": Trend(
            testing[-2] - testing[-1],
            aside={"training": training, "testing": testing, "widths": np.asarray(sizes)},
        ),
    }


@wider_networks_keep_improving.control("one width less for each of the two", of="training error of the two widest")
def narrower(evidence):
    return replace(evidence, left=evidence.aside["narrower"])


@wider_networks_keep_improving.control("overfitting: the test error rises", of="test error falls between them")
def overfitting(evidence):
    return replace(evidence, differences=-np.asarray(evidence.differences))


@wider_networks_keep_improving.picture
def errors_against_width(pieces):
    """Training and test error of two-layer networks against their width, means over training sets."""
    aside = pieces["test error falls between them"].aside
    widths = aside["widths"]
    marks = [seen("training error", widths, aside["training"]), seen("test error", widths, aside["testing"])]
    return Curves(marks, x="number of hidden units", y="share of digits that are misread", log="x")
