"""Where training a two-layer network ends on orthogonal inputs, exactly: how short a move flips all of them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.homogeneous import first_order_residual
from deeptheory.implicit_bias.homogeneous_training import homogeneous_descent
from deeptheory.lab import Identity, Inequality, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row
from deeptheory.robustness.minimal_perturbations import attack_radius, relu_radius
from deeptheory.robustness.two_layer_robust import (
    TwoLayer,
    flipping_lengths,
    largest_margin_network,
    network_outputs,
    robust_network,
    safe_radius,
)

CASES = [(7, 2, 5), (8, 3, 1), (12, 4, 2), (24, 6, 2), (32, 4, 4)]
"""dimension, positive inputs, negative inputs"""
STEPS, FARTHEST, NUDGE = np.array([300, 1000, 3000]), 16.0, 1e-7


def orthogonal(draw, dimension, positive, negative):
    """Orthogonal inputs of length √d in random directions, the positive ones first; and their labels."""
    rotation = np.linalg.qr(draw.standard_normal((dimension, dimension)))[0]
    labels = np.repeat([1.0, -1.0], [positive, negative])
    return np.sqrt(dimension) * rotation[: positive + negative], labels


def signed_outputs(inputs, labels):
    return lambda weights: labels * (jax.nn.relu(inputs @ weights[0].T + weights[1]) @ weights[2])


def residual(network, inputs, labels):
    """How far weights are from a first-order point, with the slopes to either side of every kink at an input."""
    other = network.weights[(labels > 0).astype(int)]
    beside = np.concatenate([inputs + NUDGE * other, inputs - NUDGE * other])
    return first_order_residual(signed_outputs(beside, np.tile(labels, 2)), tuple(network), degree=2).residual


def flipped(network, inputs, labels):
    """The length of the move along the sum of all yᵢxᵢ, against its own label, that flips each input."""
    way = labels[:, None] * (labels @ inputs) / np.linalg.norm(labels @ inputs)
    against = lambda r: labels * network_outputs(network, inputs - r[:, None] * way) <= 0  # noqa: E731
    return attack_radius(against, np.full(len(labels), FARTHEST), halvings=50)


def shortest(network, point):
    two = [(network.weights, network.biases), (np.stack([network.outer, -network.outer]), np.zeros(2))]
    return relu_radius(two, point, 2)[0]


def normalized(network, inputs, labels):
    """The least signed output over the squared length of all weights."""
    return np.min(labels * network_outputs(network, inputs)) / sum(np.sum(part**2) for part in network)


def lopsided(network, inputs, labels):
    """The same units without the inputs of the other label."""
    own = np.stack([labels > 0, labels < 0])
    towards = network.weights @ inputs.T / inputs.shape[1]
    return network._replace(weights=(own * towards) @ inputs)


@claim(
    items={
        "L12.8": (
            "outputs at the inputs",
            "distance from a first-order point",
            "one move that flips every input",
            "shortest moves",
            "margins of trained networks, below that of the limit",
        )
    },
    says=r"On $p$ positive and $n$ negative orthogonal inputs of length $\sqrt d$, $m=p+n$, training of all weights "
    r"tends to two units, whatever the width. One move of length $\frac{\sqrt{md}(d+m)}{md+4pn}$ along $\sum_iy_ix_i$ "
    r"flips every input, for $p=n$ the shortest: $\sqrt{d/m}$, where $\frac12\sqrt d$ is possible.",
    needs="exponential loss, p + n ≤ d, at least one unit for each label at the start; normalized descent in place of "
    "the flow",
    scale="cited: nearly orthogonal inputs and bounds up to constants; here: orthogonal ones, exactly, and training of "
    "24 units on 4 and 2 inputs in 12 dimensions",
    full=dict(trials=64),
    symbols={
        "p, n": "how many inputs have label 1 and −1",
        "d": "the dimension",
        "x_i, y_i": "inputs and labels",
        "m": "how many inputs there are",
    },
    why="Descent tends to a first-order point of the largest margin, where every unit is a combination of the inputs "
    "that wake it. Its bias is the sum of its coefficients and positive, so a unit wakes on all inputs of its label "
    "and is held silent on the others, just at its kink: this leaves one unit for each label, in closed form. Each "
    "adds up all inputs of its label, so that a move along $\\sum_iy_ix_i$ changes every output $m$ times over.",
    notice="Left: the lengths that flip trained networks, input by input, run into the level that is computed, "
    "below what the construction with a unit for each input withstands. Right: at the limit the same move takes all "
    "inputs through zero at once.",
)
def training_ends_in_two_units(key, *, trials: Trials = 32):
    draw = generator(key)
    drawn = [orthogonal(draw, *case) for case in CASES]
    networks = [largest_margin_network(*data) for data in drawn]
    together, least = np.array([flipping_lengths(*case) for case in CASES]).T
    pairs, counts = list(zip(networks, drawn, strict=True)), [p + n for _, p, n in CASES]
    outputs = [y * network_outputs(net, x) for net, (x, y) in pairs]
    moves = [flipped(net, *data) for net, data in pairs]
    found = [[shortest(net, x[0]), shortest(net, x[-1])] for net, (x, _) in pairs]
    d, p, n = CASES[2]
    (inputs, labels), width = drawn[2], 2 * d
    limit, construction = (
        (net, normalized(net, inputs, labels)) for net in (networks[2], robust_network(inputs, labels))
    )
    margins, lengths, reached = signed_outputs(jnp.asarray(inputs), labels), [], []
    for _ in range(trials):
        weights, outer = draw.standard_normal((width, d)) / np.sqrt(d), draw.standard_normal(width) / np.sqrt(width)
        run = homogeneous_descent(margins, (weights, np.zeros(width), outer), STEPS, degree=2, share=1.0)
        parts = (np.split(w, [width * d, width * (d + 1)]) for w in run.directions)
        lengths.append([flipped(TwoLayer(w.reshape(width, d), b, a), inputs, labels) for w, b, a in parts])
        reached.append(run.margin)
    safe, reached = safe_radius(inputs), np.array(reached).T
    along = np.linspace(0, 1.2 * safe, 61)
    path = inputs[:, None] - along[:, None] * (labels[:, None] * (labels @ inputs) / np.sqrt((p + n) * d))[:, None]
    shown = {
        name: labels[:, None] * network_outputs(net, path)
        for name, (net, _) in {"limit of training": limit, "construction": construction}.items()
    }
    return {
        "outputs at the inputs": Identity(np.concatenate(outputs), 1.0, condition=32.0),
        "distance from a first-order point": Inequality(
            np.array([residual(net, *data) for net, data in pairs]),
            10 * NUDGE,  # the slopes are those of inputs moved by so much
            aside={"lopsided": np.array([residual(lopsided(net, *at), *at) for net, at in pairs])},
        ),
        "one move that flips every input": Identity(
            np.concatenate(moves),
            np.repeat(together, counts),
            condition=32.0,
            error=FARTHEST / 2**50,
            aside={"even": np.repeat([np.sqrt(d / (p + n)) for d, p, n in CASES], counts)},
        ),
        "shortest moves": Identity(
            np.array(found),
            np.repeat(least[:, None], 2, axis=1),
            error=1e-9,
            along={"inputs": [f"{p} and {n} in {d} dimensions" for d, p, n in CASES], "label": [1, -1]},
            aside={"together": np.repeat(together[:, None], 2, axis=1)},
        ),
        "margins of trained networks, below that of the limit": Limit(
            STEPS,
            limit[1] - reached,
            order=0.5,
            aside={
                "construction's": np.abs(reached - construction[1]),
                "lengths": np.array(lengths[0]),
                "along": along,
                "levels": np.array([together[2], safe]),
                **shown,
            },
        ),
    }


@training_ends_in_two_units.control("each unit at 1 on its inputs", of="outputs at the inputs")
def unscaled_units(evidence):
    # A unit is at 1/a on its own inputs and has the outer weight ±a.
    outer = [(own * (d + m - own) / (d * (d + m))) ** 0.25 for d, p, n in CASES for m in [p + n] for own in (p, n)]
    return replace(evidence, right=np.repeat(outer, [own for _, p, n in CASES for own in (p, n)]))


@training_ends_in_two_units.control("units that ignore the other label", of="distance from a first-order point")
def one_sided_units(evidence):
    return replace(evidence, quantity=evidence.aside["lopsided"])


@training_ends_in_two_units.control("√(d/m) whatever the labels", of="one move that flips every input")
def even_labels(evidence):
    return replace(evidence, right=evidence.aside["even"])


@training_ends_in_two_units.control("the common move is the shortest", of="shortest moves")
def common_move(evidence):
    return replace(evidence, right=evidence.aside["together"])


@training_ends_in_two_units.control(
    "they tend to the margin of the construction", of="margins of trained networks, below that of the limit"
)
def towards_the_construction(evidence):
    return replace(evidence, y=evidence.aside["construction's"])


@training_ends_in_two_units.picture
def lengths_and_outputs(pieces):
    """Lengths that flip each input of one training (left); outputs along the common move, all inputs (right)."""
    aside = pieces["margins of trained networks, below that of the limit"].aside
    limit, safe = np.asarray(aside["levels"])
    steps = [Line("inputs", STEPS, lengths, thin=True) for lengths in np.asarray(aside["lengths"]).T]
    levels = [Level("limit", y=limit), Level("what the construction withstands", y=safe)]
    outputs = [
        Line(name, np.asarray(aside["along"]), values, thin=True)
        for name in ("limit of training", "construction")
        for values in np.asarray(aside[name])
    ]
    return Row(
        [
            Curves([*steps, *levels], x="steps of training", y="length of the move", log="x"),
            Curves([*outputs, Level("limit", x=limit)], x="length of the move", y="output times label"),
        ]
    )
