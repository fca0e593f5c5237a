"""Normalized networks that learn handwritten digits: a top layer that stays random, and depth (arora 13, 13.2)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.data import digits
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Line
from deeptheory.normalization.normalizers import (
    NormalizedNetwork,
    batch_norm,
    deep_outputs,
    init_normalized_network,
    layer_norm,
    unnormalized,
)
from deeptheory.optimization.runs import measured_epochs
from deeptheory.optimization.stochastic import minibatches

MARGIN = 0.03
"""Of accuracy: what counts as no loss."""
RATE, BATCH, EPOCHS, LAST = 0.3, 20, 8, 3
WHICH = {"all layers": (1, 1), "all but the top": (1, 0), "the top alone": (0, 1)}
"""Whether the layers below the last normalization move, and what comes after it."""


def cross_entropy(outputs, labels):
    return label_cross_entropy(outputs, labels).mean()


@jax.jit
def trained(networks, order, moving, data):
    """Test accuracy by epoch of every network, for each choice of what moves."""
    (images, labels), (tests, answers) = data

    def one(network, order, moving):
        below, top = moving

        def held(network):
            lower = lambda leaf: below * leaf + (1 - below) * jax.lax.stop_gradient(leaf)  # noqa: E731
            upper = lambda leaf: top * leaf + (1 - top) * jax.lax.stop_gradient(leaf)  # noqa: E731
            gains, shifts = ((*map(lower, each[:-1]), upper(each[-1])) for each in (network.gains, network.shifts))
            return NormalizedNetwork(tuple(map(lower, network.weights)), gains, shifts, upper(network.top))

        return measured_epochs(
            lambda network, batch: cross_entropy(held(network)(images[batch]), labels[batch]),
            optax.sgd(RATE),
            network,
            batches=order,
            measure=lambda network: jnp.mean(jnp.argmax(network(tests), 1) == answers),
        ).measured

    return jax.vmap(jax.vmap(one, (None, None, 0)), (0, 0, None))(networks, order, moving)


@claim(
    items={"A13.8": ("accuracy kept with a random top layer",)},
    says="A network under layer normalization whose top layer, with the last gains and shifts, stays as it was drawn "
    "classifies fresh digits within three points of a hundred as well as one in which all is trained.",
    needs="hidden layers wider than the number of classes, here 48 nodes for 10; a constant rate: under one that falls "
    "to zero the network in which all is trained comes out two or three points ahead",
    scale="printed: convolutional networks on image data, without numbers; here: 49–48–48–10 networks on 1000 "
    "handwritten digits of 7 × 7 pixels, rate 0.3, mean over the last three of eight epochs",
    symbols={r"\text{three points}": "of test accuracy"},
    why="Ten random directions among many nodes are nearly orthogonal, so they are as good a code for ten classes as "
    "any: the layers below can learn to send every class in its direction. What is lost is the size of the outputs, "
    "which normalization keeps bounded: the loss cannot come near zero, but which output is largest is not touched.",
    notice="The two upper curves come together within a point or so. Trained the other way round, the top alone over "
    "random layers, the network stays far behind.",
)
def a_random_top_layer_does_not_hurt(key, *, trials: Trials = 40, width: Annotated[int, Interval(ge=40, le=256)] = 48):
    drawn, shuffled = jax.random.split(key)
    found = digits(1000, 1000, side=7)
    data = (
        (np.float32(found.train_images), found.train_labels),
        (np.float32(found.test_images), found.test_labels),
    )
    made = [init_normalized_network(each, (49, width, width, 10)) for each in jax.random.split(drawn, trials)]
    networks = jax.tree.map(lambda *leaves: jnp.float32(np.stack(leaves)), *made)
    steps = EPOCHS * 1000 // BATCH
    order = minibatches(shuffled, examples=1000, batch=BATCH, steps=steps, runs=trials, replacement=False)
    moving = jnp.asarray(list(WHICH.values()), jnp.float32)
    accuracy = np.asarray(trained(networks, order.reshape(trials, EPOCHS, -1, BATCH), moving, data), float)
    final = accuracy[..., -LAST:].mean(-1)
    kept = final[:, 1:] - final[:, :1] + MARGIN
    aside = {"top alone": kept[:, 1], "accuracy": accuracy.mean(0)}
    return {"accuracy kept with a random top layer": Trend(kept[:, 0], aside=aside)}


@a_random_top_layer_does_not_hurt.control(
    "all layers but the top stay random", of="accuracy kept with a random top layer"
)
def random_features(evidence):
    return Trend(evidence.aside["top alone"])


@a_random_top_layer_does_not_hurt.picture
def accuracies(pieces):
    """Mean test accuracy by epoch, for what is trained and what stays as it was drawn."""
    accuracy = pieces["accuracy kept with a random top layer"].aside["accuracy"]
    epochs = np.arange(1, EPOCHS + 1)
    wrong = [{}, {}, {"rival": "the top alone is trained"}]
    marks = [Line(name, epochs, each, **how) for name, each, how in zip(WHICH, accuracy, wrong, strict=True)]
    return Curves(marks, x="epoch", y="test accuracy")


STEPS = 60
RATES = 10.0 ** np.arange(-1, 0.1, 0.5)
SHARES = {"none": (1, 0, 0), "batch": (0, 1, 0), "layer": (0, 0, 1)}


scaled_outputs = jax.jit(deep_outputs, static_argnums=3)


@jax.jit
def reached(weights, top, shares, rates, images, labels):
    """Training losses along full-batch descent: networks × kinds of normalization × rates × steps."""

    def one(weights, top, shares, rate):
        def normalize(a):
            kinds = unnormalized(a), batch_norm(a, epsilon=1e-6), layer_norm(a, epsilon=1e-6)
            return shares[0] * kinds[0] + shares[1] * kinds[1] + shares[2] * kinds[2]

        def step(parameters, _):
            def loss(parameters):
                return cross_entropy(deep_outputs(parameters[0], parameters[1], images, normalize), labels)

            value, slope = jax.value_and_grad(loss)(parameters)
            return jax.tree.map(lambda p, g: p - rate * g, parameters, slope), value

        return jax.lax.scan(step, (weights, top), length=STEPS)[1]

    each = jax.vmap(jax.vmap(one, (None, None, None, 0)), (None, None, 0, None))
    return jax.vmap(each, (0, 0, None, None))(weights, top, shares, rates)


@claim(
    items={"A13.28": ("loss of deep networks", "outputs when all layers are scaled")},
    says="After 60 steps at the best of three rates, eight batch-normalized layers have less than a third of the "
    r"training loss of plain ones. With hidden weights $c$ times as large the outputs of $L$ plain layers are $c^L$ "
    "times as large, of normalized ones the same.",
    needs="no residual connections; weights drawn with variance 2/width, which suits plain networks best",
    scale="printed: image networks, ten times faster training, no table; here: width 16, 64 handwritten digits, "
    "full-batch descent, mean over networks",
    symbols={"c": "the factor of all hidden weights", "L": "the number of hidden layers"},
    why="In a plain network a mistake in the size of one layer multiplies with all others, so that the slopes of the "
    "outputs in the layers differ by orders of magnitude and no one rate suits them all; inputs also come out more and "
    "more alike the deeper they get. Batch normalization subtracts what all inputs have in common, and fixes the size, "
    "at every layer.",
    notice="Plain networks want the rate small and learn nothing at the largest; batch-normalized ones want it large. "
    "Layer normalization keeps sizes, not the differences between inputs, and at this width helps little.",
)
def normalization_enables_depth(key, *, trials: Trials = 24, depth: Annotated[int, Interval(ge=6, le=12)] = 8):
    random = generator(key)
    found = digits(64, 1, side=7)
    images = np.float32(found.train_images @ random.standard_normal((49, 16)) / 2)
    weights = jnp.float32(random.standard_normal((trials, depth, 16, 16)) / 8**0.5)
    top = jnp.float32(random.standard_normal((trials, 10, 16)) / 4)
    shares = jnp.asarray(list(SHARES.values()), jnp.float32)
    losses = np.asarray(reached(weights, top, shares, jnp.float32(RATES), images, found.train_labels), float)[..., -1]
    # Below a tenth everything is fitted, above ten all is lost: how far does not matter.
    logs = np.log(np.nan_to_num(losses, nan=np.inf).clip(0.1, 10))  # networks × kinds × rates
    best = logs.min(-1)
    gain = best[:, :1] - best - np.log(3)
    # In double precision: c⁸ magnifies rounding too.
    wide, double = np.asarray(weights[0], float), np.asarray(images, float)
    factors = np.array([0.5, 1.5, 2.0])
    outputs = np.array(
        [
            [
                np.asarray(scaled_outputs(jnp.asarray(c * wide), jnp.asarray(top[0], float), double, kind))
                for c in (1, *factors)
            ]
            for kind in (unnormalized, batch_norm, layer_norm)
        ]
    )
    powers = np.stack([factors**depth, np.ones(3), np.ones(3)])[..., None, None]
    scale = np.abs(outputs[:, :1]).max((2, 3), keepdims=True)
    return {
        "loss of deep networks": Trend(gain[:, 1], aside={"layer": gain[:, 2], "losses": np.exp(logs.mean(0))}),
        "outputs when all layers are scaled": Identity(
            outputs[:, 1:] / scale,
            powers * outputs[:, :1] / scale,
            scale=powers,
            condition=1e4,
            along={"normalization": np.array(["none", "batch", "layer"]), "factor": factors},
        ),
    }


@normalization_enables_depth.control("layer normalization instead", of="loss of deep networks")
def by_layers(evidence):
    return Trend(evidence.aside["layer"])


@normalization_enables_depth.control("c^(L − 1) for c^L", of="outputs when all layers are scaled")
def one_layer_less(evidence):
    factors = np.asarray(evidence.along["factor"])[:, None, None]
    return replace(evidence, right=np.stack([evidence.right[0] / factors, *evidence.right[1:]]))


@normalization_enables_depth.picture
def by_rate(pieces):
    """Training loss after 60 steps by rate, as a geometric mean over networks, for each kind of normalization."""
    losses = pieces["loss of deep networks"].aside["losses"]
    marks = [Line(f"normalization: {kind}", RATES, each) for kind, each in zip(SHARES, losses, strict=True)]
    return Curves(marks, x="rate", y="training loss", log="xy")
