"""Dropout on the top layer of deep networks: an explicit penalty, the path norm, and linear networks."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.norms import path_norm
from deeptheory.lab import Identity, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.regularization.deep_regression import (
    neuron_penalties,
    regression_loss,
    top_dropout_loss,
    top_features,
)
from deeptheory.regularization.masks import dropout_strength


def mixed(z):
    """An activation without any symmetry, of both signs: nothing about it may matter."""
    return jnp.tanh(z) + 0.3 * z**2


@claim(
    items={"A11.18": "", "A11.19": "", "L11.16": ""},
    says=r"Dropout at rate $p$ on the last hidden layer adds exactly "
    r"$\lambda\sum_j\|W_k(:,j)\|^2\,\frac1n\sum_ia_{j,k-1}(x_i)^2$ to the squared loss of a deep network, "
    r"$\lambda=p/(1-p)$, for all weights, activations, inputs and labels.",
    needs=r"kept units are scaled by $1/(1-p)$; $0\le p<1$",
    over=dict(
        first=Reals(-2, 2, shape=(3, 2)),
        second=Reals(-2, 2, shape=(5, 3)),
        top=Reals(-2, 2, shape=(2, 5)),
        inputs=Reals(-2, 2, shape=(4, 2)),
        labels=Reals(-5, 5, shape=(4, 2)),
        rate=Reals(0.0, 0.95),
    ),
    draws=128,
    generations=6,
    symbols={
        "p": "the dropout rate",
        "W_k(:,j)": "the outgoing weights of neuron $j$ of the last hidden layer",
        "a_{j,k-1}(x_i)": "the output of that neuron on input $i$ of $n$",
        r"\lambda": "the variance of one entry of the mask",
    },
    why="Given the input the output is linear in the mask, so its mean is the output without dropout, and the mean "
    "squared error is the squared error of the mean plus a variance. Units are dropped independently: each neuron adds "
    "the square of what it contributes to each output, times the variance of its mask. What made the activations, the "
    "layers below, does not matter.",
    notice="The loss averaged over all masks, one by one, lies on the diagonal against loss plus penalty. With the "
    "squared mean of an activation in place of its mean square it does not.",
)
def top_dropout_is_a_penalty(first, second, top, inputs, labels, rate):
    weights = (first, second, top)
    enumerated = top_dropout_loss(weights, inputs, labels, rate, activation=mixed)
    penalty = jnp.sum(neuron_penalties(weights, inputs, rate, activation=mixed))
    loss = regression_loss(weights, inputs, labels, activation=mixed)
    features = top_features(weights, inputs, activation=mixed)
    once = jnp.sum(jnp.sum(top**2, axis=0) * jnp.mean(features, axis=0) ** 2)
    outer = jnp.sum(jnp.mean((features @ top.T) ** 2, axis=0))
    # Rounding is that of the numbers before they cancel, at the largest mask.
    size = jnp.mean(jnp.sum((abs(labels) + abs(features) @ abs(top.T) / (1 - rate)) ** 2, axis=1))
    strength = dropout_strength(rate)
    aside = {"mean": loss + strength * once, "shared": loss + strength * outer}
    return Identity(enumerated, loss + penalty, scale=size, aside=aside)


@top_dropout_is_a_penalty.control("the squared mean of an activation for its mean square")
def mean_first(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["mean"]))


@top_dropout_is_a_penalty.control("one mask for all units: λ times the mean squared output")
def shared(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["shared"]))


@top_dropout_is_a_penalty.picture
def masks_against_penalties(pieces):
    """The mean over all masks against loss plus penalty, a dot for each drawn network; equal on the line."""
    piece = pieces[""]
    masks, formula = np.asarray(piece.left), np.asarray(piece.right)
    ends = np.asarray([masks.min(), masks.max()])
    marks = [
        Line("equal", ends, ends, dashed=True),
        Dots("networks", formula, masks),
        Dots("networks", np.asarray(piece.aside["mean"]), masks, rival="squared mean for mean square"),
    ]
    return Curves(marks, x="loss plus penalty", y="loss averaged over all masks", log="xy")


@claim(
    items={"A11.20": "penalty", "A11.21": ("penalty", "sum over paths")},
    says=r"For a two-layer ReLU network and inputs with $P(x)=P(-x)$ and $\mathbb E\,xx^\top=I$ the mean dropout "
    r"penalty is $\frac\lambda2$ times the squared path norm $\sum W_2(i_2,i_1)^2W_1(i_1,i_0)^2$.",
    needs="inputs symmetric about the origin and isotropic",
    symbols={
        "W_1,W_2": "the weights of the two layers",
        "i_0,i_1,i_2": "an input, a hidden and an output unit: a path through the network",
        r"\lambda": r"the strength of dropout, $p/(1-p)$",
    },
    why=r"A neuron's penalty is the squared norm of its outgoing weights times the mean square of its output. A ReLU "
    "passes exactly one of $x$ and $-x$, so for a symmetric law it keeps half of the mean square of what comes in, and "
    "for isotropic inputs that is the squared norm of the incoming weights. Their product, summed over neurons, is the "
    "sum over all paths.",
    notice="Symmetric inputs of any shape lie on the line. The product of the two layers' squared norms is larger for "
    "every network: it counts ways that enter one unit and leave another, which no signal takes.",
    explore={"inputs": ("symmetric", "lopsided")},
    full=dict(networks=100),
)
def dropout_is_the_path_norm(
    key,
    *,
    networks: Annotated[int, Interval(ge=2, le=1000)] = 24,
    inputs: Literal["symmetric", "lopsided"] = "symmetric",
):
    draw = generator(key)
    # Draws of three kinds, whitened exactly, and their mirror images.
    laws = np.concatenate(
        [draw.uniform(-1, 1, (8, 20, 3)), draw.choice([-1.0, 1.0], (8, 20, 3)), draw.exponential(1, (8, 20, 3)) - 1]
    )
    half = laws - laws.mean(1, keepdims=True) if inputs == "lopsided" else laws
    points = half if inputs == "lopsided" else np.concatenate([half, -half], axis=1)
    gram = np.swapaxes(points, 1, 2) @ points / points.shape[1]
    points = points @ np.linalg.inv(np.swapaxes(np.linalg.cholesky(gram), 1, 2))
    points = points[np.arange(networks) % len(points)]
    first, second = draw.standard_normal((networks, 4, 3)), draw.standard_normal((networks, 2, 4))
    rates = draw.uniform(0.05, 0.9, networks)
    penalties = np.asarray(two_layer_penalties(first, second, points, rates))
    strengths = rates / (1 - rates)
    paths = np.einsum("nij,njk->n", second**2, first**2)
    normed = np.asarray([path_norm(pair) ** 2 for pair in zip(first, second, strict=True)])
    products = np.sum(first**2, axis=(1, 2)) * np.sum(second**2, axis=(1, 2))
    # Paths one by one, through a third layer too: a unit of each, and the product of the weights between them.
    third = draw.standard_normal((networks, 3, 2))
    deep = [(*pair, each) for *pair, each in zip(first, second, third, strict=True)]
    every = [[np.prod(path) for path in paths_through(layers)] for layers in deep]
    return {
        "penalty": Identity(
            penalties,
            strengths / 2 * normed,
            size=100,
            aside={"frobenius": strengths / 2 * products, "strengths": strengths},
        ),
        "sum over paths": Identity(
            np.append(normed, [path_norm(layers) ** 2 for layers in deep]),
            np.append(paths, np.sum(np.square(every), axis=1)),
            size=100,
            aside={
                "products": np.append(products, products * np.sum(third**2, axis=(1, 2))),
                "lengths": np.append(
                    np.einsum("nij,njk->n", abs(second), abs(first)) ** 2, np.sum(np.abs(every), axis=1) ** 2
                ),
            },
        ),
    }


def paths_through(layers):
    """The weights along every path from an input to an output."""
    for units in np.ndindex(layers[0].shape[1], *(len(layer) for layer in layers)):
        yield [layer[after, before] for layer, before, after in zip(layers, units, units[1:], strict=False)]


@jax.jit
@jax.vmap
def two_layer_penalties(first, second, inputs, rate):
    """The penalties of two-layer ReLU networks, each on its own inputs."""
    return jnp.sum(neuron_penalties((first, second), inputs, rate))


dropout_is_the_path_norm.control("inputs that are isotropic but not symmetric", of="penalty", inputs="lopsided")


@dropout_is_the_path_norm.control("λ for λ/2", of="penalty")
def without_half(evidence):
    return replace(evidence, right=2 * np.asarray(evidence.right))


@dropout_is_the_path_norm.control("the product of the Frobenius norms", of="sum over paths")
def product_of_norms(evidence):
    return replace(evidence, right=evidence.aside["products"])


@dropout_is_the_path_norm.control("the square of a sum for the sum of squares", of="sum over paths")
def squared_sum(evidence):
    return replace(evidence, right=evidence.aside["lengths"])


@dropout_is_the_path_norm.picture
def penalty_against_paths(pieces):
    """The dropout penalty over its strength, against half the squared path norm."""
    piece = pieces["penalty"]
    strengths = np.asarray(piece.aside["strengths"])
    half, seen, rival = (np.asarray(each) / strengths for each in (piece.right, piece.left, piece.aside["frobenius"]))
    ends = np.asarray([half.min(), half.max()])
    marks = [
        Line("half the squared path norm", ends, ends),
        Dots("networks", half, seen),
        Dots("networks", half, rival, rival="half the product of squared Frobenius norms"),
    ]
    return Curves(marks, x="half the squared path norm", y="dropout penalty over λ", log="xy")
