"""Wide networks fit what narrow ones cannot: students wider than their teacher, labels without meaning (arora 9)."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.data import digits
from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.first_layer import first_layer_limit, init_first_layer, train_first_layer
from deeptheory.lab import Chance, Exact, Identity, Inequality, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, seen

Width = Annotated[int, Interval(ge=2, le=8192)]
TEACHER = 3
POINTS, DIMENSION = 100, 4


def student_losses(inner, outer, x, y, *, steps):
    """Mean squared losses of many two-layer ReLU students after full-batch Adam on all their weights.

    Plain NumPy: compiling it for three widths would take longer than running it.
    """
    weights, flipped = np.concatenate([inner, outer[:, None]], axis=1), x.transpose(0, 2, 1) * (2 / x.shape[1])

    def outputs():
        hidden = np.maximum(x @ weights[:, :-1], 0)
        return hidden, hidden @ weights[:, -1, :, None]

    first, second, slope = np.zeros_like(weights), np.zeros_like(weights), np.zeros_like(weights)
    for index in range(1, steps + 1):
        hidden, values = outputs()
        residual = values - y[..., None]
        slope[:, :-1] = flipped @ ((hidden > 0) * residual) * weights[:, -1:]
        slope[:, -1] = (hidden.transpose(0, 2, 1) @ residual)[..., 0] * (2 / x.shape[1])
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        rate = 0.1 * np.sqrt(1 - 0.999**index) / (1 - 0.9**index)
        weights = weights - rate * first / (np.sqrt(second) + 1e-8)
    return np.mean((outputs()[1][..., 0] - y) ** 2, axis=1)


def taught(key, trials, *, teacher, student, steps=200):
    """Final losses of students of one width on data that ReLU teachers of another labelled."""
    rng = generator(key)
    x = rng.standard_normal((trials, POINTS, DIMENSION))
    directions = rng.standard_normal((trials, DIMENSION, teacher))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    y = np.maximum(x @ directions, 0) @ rng.choice([-1.0, 1.0], (trials, teacher, 1))
    y = (y / y.std(axis=1, keepdims=True))[..., 0]
    inner = rng.standard_normal((trials, DIMENSION, student)) / np.sqrt(DIMENSION)
    outer = rng.standard_normal((trials, student)) / np.sqrt(student)
    return student_losses(inner, outer, x, y, steps=steps)


@claim(
    items={"A9.29": ("wider students learn more often", "students four times as wide")},
    says=r"Observed, with thresholds chosen here: in 200 steps of Adam two-layer ReLU students of a ReLU teacher with "
    r"3 neurons reach a loss below $10^{-3}$ more often with 6 neurons than with 3, and with 12 in at least four of "
    r"five runs.",
    needs="the teacher stays narrow while the student grows",
    scale="printed: an observation without numbers; here 100 points in 4 dimensions, 200 steps of Adam",
    full=dict(trials=1000),
    symbols={"10^{-3}": "the mean squared error that counts as learned, a thousandth of the labels' variance"},
    why="A student as narrow as its teacher must turn each of its neurons towards one of the teacher's, and a neuron "
    "that starts on the wrong side, or doubles another, often finds no way back. With more neurons there is a "
    "candidate near every one of the teacher's from the start, and the output weights choose. No theorem stands behind "
    "the numbers: this is an observation.",
    notice=r"The share of students that learn their teacher of three neurons rises from about half to nine in ten "
    r"as they grow from 3 to 12 neurons.",
)
def students_wider_than_their_teacher(key, *, trials: Trials = 384, teacher: Literal["narrow", "as wide"] = "narrow"):
    widths = (TEACHER, 2 * TEACHER, 4 * TEACHER)
    # One key: students of all widths learn from the same teachers, so that differences are paired.
    losses = [taught(key, trials, teacher=TEACHER if teacher == "narrow" else m, student=m) for m in widths]
    success = np.array(losses) < 1e-3
    gains = success[1:].astype(float) - success[0]
    return {
        "wider students learn more often": Trend(
            gains,
            along={"student": np.array(widths[1:])},
            aside={"widths": np.array(widths), "success": success.astype(float)},
        ),
        "students four times as wide": Chance(int(np.sum(~success[2])), trials, 0.2),
    }


@students_wider_than_their_teacher.picture
def share_that_learns(pieces):
    """The share of students with a loss below a thousandth after training, against their number of neurons."""
    aside = pieces["wider students learn more often"].aside
    marks = [seen("students", aside["widths"], aside["success"]), Level("four of five", y=0.8)]
    marks.append(Level("neurons of the teacher", x=float(aside["widths"][0])))
    return Curves(marks, x="neurons of the student", y="share that learns the teacher", ys=(0.0, 1.0))


students_wider_than_their_teacher.control(
    "a teacher as wide as its student", of="wider students learn more often", teacher="as wide", trials=96
)
students_wider_than_their_teacher.control(
    "teachers of 12 neurons too", of="students four times as wide", teacher="as wide", trials=96
)


@partial(jax.jit, static_argnames="steps")
def trained_on(weights, signs, x, labels, step_size, *, steps):
    """Outputs along the training of one network on several labellings of the same inputs."""
    return jax.vmap(lambda y: train_first_layer(weights, signs, x, y, step_size=step_size, steps=steps).outputs)(labels)


def zeros_and_ones():
    """The first 24 zeros and ones among the digits as unit vectors, in a basis of their span, and their labels ±1."""
    kept = digits(train=300, test=1)
    chosen = np.flatnonzero(kept.train_labels < 2)[:24]
    x = kept.train_images[chosen]
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x @ np.linalg.qr(x.T)[0], np.where(kept.train_labels[chosen] == 0, 1.0, -1.0)


@claim(
    items={
        "A9.31": (
            "mistakes on random labels",
            "outputs at the start",
            "least eigenvalue of the kernel",
            "random labels take more steps",
        )
    },
    says="A two-layer ReLU network with many more weights than data fits random labels of handwritten digits without "
    "a mistake; on average it needs more than eight times as many steps for them as for the true labels.",
    needs="no two inputs parallel; outputs zero at the start, each neuron being held twice with opposite signs",
    scale="printed: ImageNet-size networks; here 24 digits, 256 neurons, the first layer trained",
    full=dict(width=1024),
    why="A wide network trains as its kernel says: each part of the labels is fitted at the speed of the eigenvalue "
    "of its direction. On these images the least eigenvalue of the limit kernel is more than a hundredth of the mean "
    "one, so no labelling is out of reach; only an image that comes twice with both labels would be. Random labels "
    "lie more along the small eigenvalues than true ones, and take longer. That a network fits its data therefore "
    "does not show that they mean anything.",
    notice="The mean squared error of one network along the steps of training, on the true labels of 24 zeros and "
    "ones and on coin flips for the same images. Both curves fall below the level at which labels are counted as "
    "fitted, the random ones later.",
    symbols={
        r"\text{fits}": (
            "every label has the sign of the output after 600 steps of gradient descent; a loss below 0.2 is counted "
            "as fitted when steps are compared"
        ),
        r"\text{random labels}": "coin flips that have nothing to do with the images",
    },
)
def wide_networks_fit_random_labels(
    key,
    *,
    trials: Trials = 32,
    width: Annotated[int, Interval(ge=128, le=8192)] = 256,
    images: Literal["different", "one twice"] = "different",
):
    x, true = zeros_and_ones()
    if images == "one twice":
        x[1] = x[0]
    values, vectors = np.linalg.eigh(np.asarray(first_layer_limit(x)))
    # The true labels lie along the second eigenvector, these along the third: other labels, and nearly as cheap.
    third = np.where(vectors[:, -3] >= np.median(vectors[:, -3]), 1.0, -1.0)
    steps, mistakes, needed, starts = 600, [], [], []
    for draw in jax.random.split(key, trials):
        first, second = jax.random.split(draw)
        weights, signs = init_first_layer(first, width, x.shape[1], mirrored=True)
        random = generator(second).choice([-1.0, 1.0], len(x))
        if images == "one twice":
            random[1] = -random[0]
        labels = np.array([true, random, third])
        paths = np.asarray(trained_on(weights, signs, x, labels, 1 / values[-1], steps=steps))
        starts.append(paths[:, 0])
        mistakes.append(int(np.sum(np.sign(paths[1, -1]) != random)))
        losses = np.mean((paths - labels[:, None]) ** 2, axis=2)
        needed.append([np.argmax(loss < 0.2) if loss[-1] < 0.2 else steps for loss in losses])
    needed = np.array(needed, float)
    return {
        "mistakes on random labels": Exact(np.array(mistakes), np.zeros(trials, int)),
        "outputs at the start": Identity(np.array(starts), 0.0, scale=1.0, size=float(width)),
        # A hundredth of the mean eigenvalue, which is ½ because the trace is n/2.
        "least eigenvalue of the kernel": Inequality(0.005, values[0]),
        # Eight times as many at least.
        "random labels take more steps": Trend(
            np.log(needed[:, 1] / needed[:, 0] / 8),
            aside={"losses": losses[:2], "third": np.log(needed[:, 2] / needed[:, 0] / 8)},
        ),
    }


@wide_networks_fit_random_labels.picture
def loss_in_training(pieces):
    """The mean squared error of one network in training, on the true labels of the images and on random ones."""
    losses = pieces["random labels take more steps"].aside["losses"]
    steps = np.arange(losses.shape[1])
    marks = [Line(name, steps, path) for name, path in zip(("true labels", "random labels"), losses, strict=True)]
    return Curves([*marks, Level("counted as fitted", y=0.2)], x="step", y="mean squared error", ys=(0.0, 1.1))


wide_networks_fit_random_labels.control(
    "one image twice, with both labels", of="mistakes on random labels", images="one twice"
)


@wide_networks_fit_random_labels.control(
    "a positive kernel although one image comes twice", of="least eigenvalue of the kernel"
)
def twice(evidence):
    x = zeros_and_ones()[0]
    x[1] = x[0]
    return replace(evidence, bound=np.linalg.eigvalsh(np.asarray(first_layer_limit(x)))[0])


@wide_networks_fit_random_labels.control(
    "labels of the third eigenvector, which mean nothing either", of="random labels take more steps"
)
def third_eigenvector(evidence):
    return replace(evidence, differences=evidence.aside["third"])
