"""Dropout in linear networks, dense and convolutional: singular values come down, and by how much."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.regularization.factors import descended
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.regularization.deep_regression import regression_loss, top_dropout_loss, two_layer_linear_penalty
from deeptheory.regularization.factors import equalized_factors
from deeptheory.regularization.masks import dropout_strength, mean_over_masks
from deeptheory.regularization.sensing import convolutional_sensing, dropout_regularizer, sensing_loss
from deeptheory.regularization.shrinkage import dropout_shrinkage

WIDTH = 4

all_shrunk = jax.jit(jax.vmap(dropout_shrinkage, (None, None, 0)))


def linear(z):
    return z


@jax.jit
@jax.vmap
def linear_losses(left, right, inputs, labels, rate):
    """The loss averaged over all masks, the loss without, λ times the penalty, and that of one mask for all units."""
    weights = (right.T, left)
    covariance = inputs.T @ inputs / len(inputs)
    return (
        top_dropout_loss(weights, inputs, labels, rate, activation=linear),
        regression_loss(weights, inputs, labels, activation=linear),
        dropout_strength(rate) * two_layer_linear_penalty(left, right, covariance),
        dropout_strength(rate) * jnp.trace(left @ right.T @ covariance @ right @ left.T),
    )


@jax.jit
@jax.vmap
def convolutions(left, right, measurements, labels, rate):
    """Dropout of whole filters of the convolutional network: averaged over masks, as a penalty, and unit by unit."""
    outputs = jax.vmap(convolutional_sensing, (None, None, 0))
    masked = mean_over_masks(
        lambda mask: jnp.mean((labels - outputs(left * mask, right, measurements)[0]) ** 2), left.shape[1], rate
    )
    loss, strength = sensing_loss(left, right, measurements, labels), dropout_strength(rate)
    units = jnp.sum(jnp.mean((left * outputs(left, right, measurements)[1]) ** 2, axis=0))
    return masked, loss + strength * dropout_regularizer(left, right, measurements), loss + strength * units


@jax.jit
@jax.value_and_grad
def network_objective(factors, target, covariance, strength):
    """The risk of a linear network under dropout, for noiseless labels: factors U above V in one array."""
    left, right = factors[: len(target)], factors[len(target) :]
    away = target - left @ right.T
    return jnp.trace(away @ covariance @ away.T) + strength * two_layer_linear_penalty(left, right, covariance)


@claim(
    items={"A11.40": ("penalty of the network", "least penalty", "optimum of the network"), "A11.39": "shared filters"},
    says=r"In the linear network $x\mapsto UV^\top x$ dropout adds $\lambda\sum_j\|u_j\|^2\,v_j^\top Cv_j$, "
    r"$C=\mathbb E\,xx^\top$, at best $\frac\lambda{d_1}\|UV^\top C^{1/2}\|_*^2$: it lowers singular values and does "
    r"not merely rescale. Matrix sensing is the same network with filters shared by all rows of $A$.",
    needs=r"width $d_1\ge$ the rank of the product",
    symbols={
        "U,V": "the two layers, with a column for each hidden unit",
        "C": "the second moments of the inputs",
        r"\lambda": r"the strength of dropout, $p/(1-p)$",
        "d_1": "the number of hidden units",
        r"\|\cdot\|_*": "the nuclear norm, the sum of the singular values",
        "A": "a measurement in matrix sensing, the input of the convolutional network",
    },
    why=r"Hidden unit $j$ has the output $v_j^\top x$ and outgoing weights $u_j$, so its penalty is that of any "
    r"neuron. With $\tilde v_j=C^{1/2}v_j$ this is the penalty of Gaussian sensing for the product $UV^\top C^{1/2}$, "
    r"whose least value is its squared nuclear norm over the width. The optimum then lowers all singular values by one "
    "amount, and only if they are all equal is that a rescaling.",
    notice="Singular values of the optimum under dropout come down in parallel; a rescaling would bring them together "
    "at zero.",
    full=dict(problems=64),
)
def dropout_in_linear_networks(
    key,
    *,
    problems: Annotated[int, Interval(ge=2, le=500)] = 8,
    rates: Annotated[tuple[float, ...], Interval(ge=0.01, le=0.95)] = (0.2, 0.5, 0.8),
):
    draw = generator(key)
    left, right = draw.standard_normal((problems, 3, WIDTH)), draw.standard_normal((problems, 3, WIDTH))
    inputs = draw.standard_normal((problems, 7, 3)) * np.exp(draw.uniform(-1, 1, (problems, 1, 3)))
    labels, chances = draw.standard_normal((problems, 7, 3)), draw.uniform(0.1, 0.8, problems)
    enumerated, plain, penalties, shared = map(np.asarray, linear_losses(left, right, inputs, labels, chances))
    covariances = np.swapaxes(inputs, 1, 2) @ inputs / 7
    values, vectors = np.linalg.eigh(covariances)
    roots = vectors * np.sqrt(values)[:, None] @ np.swapaxes(vectors, 1, 2)
    products = left @ np.swapaxes(right, 1, 2)
    attained = []
    for product, root in zip(products, roots, strict=True):
        outer, inner = map(np.asarray, equalized_factors(product @ root, WIDTH))
        attained.append(float(two_layer_linear_penalty(outer, np.linalg.solve(root, inner), root @ root)))
    measurements, target = draw.standard_normal((problems, 6, 3, 3)), draw.standard_normal((problems, 6))
    masked, by_filters, by_units = map(np.asarray, convolutions(left, right, measurements, target, chances))
    # A target whose singular values, in units of the inputs, are 3, 2 and 1.
    turn, back = (np.linalg.qr(draw.standard_normal((3, 3)))[0] for _ in range(2))
    wanted = turn * [3.0, 2.0, 1.0] @ back
    strengths = np.asarray([dropout_strength(rate) for rate in rates])
    found = []
    for strength in strengths:
        start = 0.1 * draw.standard_normal((6, WIDTH))
        problem = (wanted @ np.linalg.inv(roots[0]), covariances[0], strength)
        _, factors = descended(network_objective, start, *problem)
        found.append(np.linalg.svd(factors[:3] @ factors[3:].T @ roots[0], compute_uv=False))
    return {
        "penalty of the network": Identity(
            enumerated, plain + penalties, scale=enumerated, size=100, aside={"shared": plain + shared}
        ),
        "least penalty": Identity(
            np.asarray(attained),
            np.linalg.norm(products @ roots, "nuc", axis=(1, 2)) ** 2 / WIDTH,
            condition=1e4,
            aside={"without inputs": np.linalg.norm(products, "nuc", axis=(1, 2)) ** 2 / WIDTH},
        ),
        "optimum of the network": Identity(
            np.asarray(found),
            np.asarray(all_shrunk(np.array([3.0, 2.0, 1.0]), WIDTH, strengths)[0]),
            # Where descent stops, the objective is off in its tenth digit and singular values by the root of that.
            error=1e-4,
            scale=3.0,
            along={"rate": np.asarray(rates)},
        ),
        "shared filters": Identity(masked, by_filters, scale=masked, size=100, aside={"units": by_units}),
    }


@dropout_in_linear_networks.control("λuᵀCu of the product: one mask for all units", of="penalty of the network")
def one_mask(evidence):
    return replace(evidence, right=np.asarray(evidence.aside["shared"]))


@dropout_in_linear_networks.control("the nuclear norm without the inputs' moments", of="least penalty")
def without_inputs(evidence):
    return replace(evidence, right=evidence.aside["without inputs"])


@dropout_in_linear_networks.control("merely a rescaling by 1/(1+λ)", of="optimum of the network")
def rescaled(evidence):
    strengths = np.asarray([dropout_strength(rate) for rate in evidence.along["rate"]])
    return replace(evidence, right=np.array([3.0, 2.0, 1.0]) / (1 + strengths[:, None]))


@dropout_in_linear_networks.control("units dropped one by one in every row", of="shared filters")
def unit_by_unit(evidence):
    return replace(evidence, right=evidence.aside["units"])


@dropout_in_linear_networks.picture
def in_parallel(pieces):
    """Singular values of the optimum against the dropout rate: shrunk by a common amount, and as found by descent."""
    piece = pieces["optimum of the network"]
    rates = np.linspace(0.01, 0.97, 97)
    strengths = rates / (1 - rates)
    lines = np.asarray(all_shrunk(np.array([3.0, 2.0, 1.0]), WIDTH, strengths)[0])
    names = [f"singular value {value}" for value in (3, 2, 1)]
    marks = [Line(name, rates, line) for name, line in zip(names, lines.T, strict=True)]
    marks += [Dots(name, piece.along["rate"], seen) for name, seen in zip(names, np.asarray(piece.left).T, strict=True)]
    marks += [Line("", rates, value / (1 + strengths), rival="merely rescaled") for value in (3, 2, 1)]
    return Curves(marks, x="dropout rate p", y="singular value of the optimum")
