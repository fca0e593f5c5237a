"""Networks trained on handwritten digits: width past zero training error, and dropout beside its explicit penalty."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval, MinLen
from jax.flatten_util import ravel_pytree

from deeptheory.data.handwriting import digits
from deeptheory.foundations.cross_entropy import softmax_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained
from deeptheory.lab import Exact, Identity, Law, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen
from deeptheory.regularization.deep_regression import explicit_dropout_loss, neuron_penalties, regression_loss
from deeptheory.regularization.masks import draw_masks, mean_over_masks

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
    scale="printed: MNIST and CIFAR-10; here 60 handwritten digits of 7×7 pixels, and up to 128 units",
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


@wider_networks_keep_improving.control("by a fifth of itself", of="test error falls between them")
def by_a_fifth(evidence):
    before, after = evidence.aside["testing"][-2:]
    return replace(evidence, differences=0.8 * before - after)


@wider_networks_keep_improving.picture
def errors_against_width(pieces):
    """Training and test error of two-layer networks against their width, means over training sets."""
    aside = pieces["test error falls between them"].aside
    widths = aside["widths"]
    marks = [seen("training error", widths, aside["training"]), seen("test error", widths, aside["testing"])]
    return Curves(marks, x="number of hidden units", y="share of digits that are misread", log="x")


HIDDEN, NARROW, WIDE, TRAIN = 16, 8, 32, 80
"""units of the first hidden layer, of the last one where all masks are listed and elsewhere, digits to learn from"""


def three_layers(draw, trials, width):
    """Random weights of networks with two hidden layers, for each trial, in single precision."""
    shapes = (HIDDEN, SIDE**2), (width, HIDDEN), (10, width)
    return tuple(np.float32(draw.standard_normal((trials, *shape)) / shape[1] ** 0.5) for shape in shapes)


@partial(jax.jit, static_argnames=("steps",))
def descended(weights, inputs, labels, rate, key=None, *, steps=800, time=20.0):
    """Where gradient descent ends, on the explicit penalty or, with a key, on fresh masks for all examples."""

    def run(start, given, answer, keys):
        def masked(now, own):
            kept = draw_masks(own, len(given), start[-1].shape[1], rate)
            return regression_loss(now, given, answer, kept.astype(given.dtype))

        def penalized(now):
            return explicit_dropout_loss(now, given, answer, rate)

        method = optax.sgd(time / steps)
        return (
            trained(penalized, method, start, steps=steps)[0]
            if keys is None
            else trained(masked, method, start, keys)[0]
        )

    keys = None if key is None else jax.random.split(key, (len(inputs), steps))
    return jax.vmap(run, (0, 0, 0, None if key is None else 0))(weights, inputs, labels, keys)


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, 0, None))
def listed(weights, inputs, labels, rate):
    """The objective and all of its slopes: averaged over every mask, of loss plus penalty, and of the loss alone."""
    found = mean_over_masks(
        lambda mask: jax.value_and_grad(regression_loss)(weights, inputs, labels, mask), weights[-1].shape[1], rate
    )
    explicit = jax.value_and_grad(explicit_dropout_loss)(weights, inputs, labels, rate)
    alone = jax.value_and_grad(regression_loss)(weights, inputs, labels)
    return tuple(ravel_pytree(each)[0] for each in (found, explicit, alone))


@partial(jax.jit, static_argnames=("masks",))
def added(key, weights, inputs, labels, rate, *, masks=512):
    """What drawn masks add to the loss, and to its slope along the penalty's gradient, over what the penalty adds."""

    def one(key, weights, inputs, labels):
        def penalty(now):
            return jnp.sum(neuron_penalties(now, inputs, rate))

        def moved(mask):
            return jnp.stack(jax.jvp(lambda now: regression_loss(now, inputs, labels, mask), (weights,), (way,)))

        way = jax.grad(penalty)(weights)
        drawn = jax.vmap(moved)(draw_masks(key, masks, weights[-1].shape[1], rate)).mean(0)
        return (drawn - moved(None)) / jnp.stack(jax.jvp(penalty, (weights,), (way,)))

    return jax.vmap(one)(jax.random.split(key, len(inputs)), weights, inputs, labels)


squared_errors = jax.jit(jax.vmap(regression_loss))


@claim(
    items={
        "A11.18": ("objective and slopes over all masks", "what drawn masks add, over the penalty"),
        "A11.19": ("objective and slopes over all masks", "what drawn masks add, over the penalty"),
        "L11.16": ("objective and slopes over all masks", "errors within a tenth"),
    },
    says=r"Dropout on the last hidden layer has on average, at trained networks too, the value and the gradient of "
    r"the squared loss plus $\frac p{1-p}\sum_j\|W_k(:,j)\|^2\,\frac1n\sum_ia_{j,k-1}(x_i)^2$. Descent on this ends "
    "within a tenth of the errors of descent with masks.",
    needs="squared loss; three layers of weights, ReLU; gradient descent with a small step from the same start",
    symbols={
        "p": "the dropout rate",
        "W_k(:,j)": "the outgoing weights of neuron $j$ of the last hidden layer",
        "a_{j,k-1}(x_i)": "the output of that neuron on digit $i$ of $n$",
    },
    why="The mean over masks of a squared error is the squared error of the mean plus a variance, at every network, so "
    "the two objectives are one function and have one gradient. A step with a mask is then a step on the explicit sum "
    "plus noise of mean zero. Small steps average the noise away, and both descents follow one path.",
    notice="Each dot is a training set. Descent with masks and descent on the penalty leave the same error, on the "
    "digits learnt and on new ones. With the strength $p$ for $p/(1-p)$ too much is learnt by heart: those dots "
    "stand to the left of the line on the first panel, where no noise is left to hide it.",
    full=dict(trials=96),
)
def dropout_trains_like_its_penalty(
    key, *, rate: Annotated[float, Interval(ge=0.3, le=0.7)] = 0.5, trials: Trials = 48
):
    draw = generator(key)
    inputs, labels, tests, wanted = (np.asarray(each, np.float32) for each in sample(draw, trials, TRAIN))
    wide, narrow = three_layers(draw, trials, WIDE), three_layers(draw, 4, NARROW)
    keys = jax.random.split(jax.random.fold_in(key, 1), 3)
    # The strength p in place of p/(1 − p) is that of dropout at the rate p/(1 + p).
    rates = {"penalty": rate, "strength p": rate / (1 + rate), "loss alone": 0.0}
    ends = {name: descended(wide, inputs, labels, np.float32(own)) for name, own in rates.items()}
    ends["masks"] = descended(wide, inputs, labels, np.float32(rate), keys[0])
    new = [np.broadcast_to(each, (trials, *each.shape)) for each in (tests, wanted)]
    errors = {
        name: np.stack([squared_errors(end, inputs, labels), squared_errors(end, *new)]).astype(float)
        for name, end in ends.items()
    }
    small = descended(narrow, inputs[:4], labels[:4], np.float32(rate), keys[1])
    few = [jax.tree.map(np.float64, each) for each in (small, inputs[:4], labels[:4])]
    found, explicit, alone = map(np.asarray, listed(*few, rate))
    double = [jax.tree.map(np.float64, each) for each in (ends["masks"], inputs, labels)]
    ratios = np.asarray(added(keys[2], *double, rate)).T
    return {
        "objective and slopes over all masks": Identity(
            found,
            explicit,
            # Masks far from the mean add numbers larger than their sum.
            scale=np.abs(explicit).max() / (1 - rate) ** 2,
            size=2**NARROW,
            aside={"strength p": alone + (1 - rate) * (explicit - alone), "loss alone": alone},
        ),
        "what drawn masks add, over the penalty": Law(1.0, ratios, exact=True, aside={"kept": 1 - rate}),
        "errors within a tenth": Trend(
            alike(errors["masks"], errors["penalty"]), along={"side": ["below", "above"]}, aside=errors
        ),
    }


def alike(found, expected):
    """A tenth of what is expected, less what was found more than that, and less: both positive if they are alike."""
    return np.stack([expected / 10 + found - expected, expected / 10 - found + expected])


@dropout_trains_like_its_penalty.control("strength λ(1−p) = p", of="objective and slopes over all masks")
def weaker(evidence):
    return replace(evidence, right=evidence.aside["strength p"])


@dropout_trains_like_its_penalty.control("no penalty", of="objective and slopes over all masks")
def unpenalized(evidence):
    return replace(evidence, right=evidence.aside["loss alone"])


@dropout_trains_like_its_penalty.control("λ(1−p) for λ", of="what drawn masks add, over the penalty")
def weaker_on_average(evidence):
    return replace(evidence, predicted=evidence.aside["kept"])


@dropout_trains_like_its_penalty.control("trained on the penalty of strength λ(1−p)", of="errors within a tenth")
def trained_on_less(evidence):
    return replace(evidence, differences=alike(evidence.aside["masks"], evidence.aside["strength p"]))


@dropout_trains_like_its_penalty.control("trained on the loss alone", of="errors within a tenth")
def trained_on_none(evidence):
    return replace(evidence, differences=alike(evidence.aside["masks"], evidence.aside["loss alone"]))


@dropout_trains_like_its_penalty.picture
def masks_against_penalty(pieces):
    """Squared errors of networks trained with masks against those of networks trained on a penalty from the same start,
    a dot for each training set: on the digits learnt (left) and on new ones (right)."""
    errors = pieces["errors within a tenth"].aside
    panels = []
    for place, title in enumerate(("Digits it was trained on", "New digits")):
        masks, penalty, less = (np.asarray(errors[name])[place] for name in ("masks", "penalty", "strength p"))
        ends = np.asarray([min(masks.min(), less.min(), penalty.min()), max(masks.max(), less.max(), penalty.max())])
        marks = [
            Line("equal", ends, ends, dashed=True),
            Dots("training sets", penalty, masks),
            Dots("training sets", less, masks, rival="strength p for p/(1−p)"),
        ]
        panels.append(
            Curves(marks, x="squared error, trained on the penalty", y="squared error, trained with masks", title=title)
        )
    return Row(panels)
