"""Flows: densities that are exact because a map can be inverted."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generative.flows import (
    coupled,
    flow_noise,
    init_flow,
    pointwise_convolution,
    pointwise_log_determinant,
    quadratic_coupling_log_density,
    sample_flow,
    standard_normal_log_density,
    uncoupled,
)
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Dots, HeatMap, Surface


@claim(
    items={
        "A14.16": ("log determinant by layers", "total mass of the density"),
        "A14.17": "the way back through a layer",
        "A14.18": "Jacobian of a layer",
        "A14.22": "density of the quadratic map",
    },
    says=r"An invertible $f$ with $f(x)\sim N(0,I)$ gives the density $\mu(f(x))\,|\det J_f(x)|$, of mass one. The "
    r"layer $z_B\mapsto z_B\odot h(z_A)+s(z_A)$ has a triangular Jacobian with determinant $\prod h(z_A)$, and its "
    "inverse divides by $h$.",
    needs="h positive, an exponential; four layers with random weights",
    symbols={
        "f": "the map from data to noise",
        r"\mu": "the standard normal density",
        "J_f": "the matrix of derivatives",
        "z_A, z_B": "the coordinates that a layer keeps, and those that it changes",
        "h, s": "scale and shift, any functions of the kept coordinates",
    },
    why="A small box around $x$ goes to one around $f(x)$ with $|\\det J_f|$ times its volume and the same mass. What "
    "a layer keeps does not depend on what it changes, so one corner of its Jacobian is zero and only the diagonal "
    "counts. Given the kept coordinates the rest is a line with slope $h$, solved by a division.",
    notice="The density of a random flow is bent out of round, and its mass is one all the same. Samples, noise sent "
    "back through the layers, lie where it is high.",
)
def exact_flow_density(key, *, strength: Annotated[float, Interval(ge=5.0, le=60.0)] = 40.0):
    draw, flow = generator(key), init_flow(key, 2, layers=4, hidden=8)
    flow = flow._replace(outer=strength * np.asarray(flow.outer))
    weights, points = draw.standard_normal((2, 4, 4)), draw.standard_normal((20, 4))
    kept, slopes = np.array([1.0, 1.0, 0.0, 0.0]), draw.standard_normal((2, 3))
    plane = draw.standard_normal((20, 2))

    def conditioner(z):
        return jnp.tanh(z @ weights[0]), z @ weights[1]

    def quadratic(z):
        squares = z[:, :2] ** 2
        rise = jnp.zeros_like(z).at[:, 2:].set(squares @ slopes[:, 1:].T)
        return jnp.zeros_like(z).at[:, 2:].set(slopes[:, 0]), rise

    # The grid reaches well beyond all of many samples, so that no mass is left outside.
    samples = np.asarray(sample_flow(draw, flow, 4000))
    axes = np.linspace(-1.6, 1.6, 301)[:, None] * np.abs(samples).max(0)
    grid = np.stack(np.meshgrid(*axes.T, indexing="ij"), -1).reshape(-1, 2)

    @jax.jit  # one program: what is small costs its compilation
    def everything():
        image = coupled(points, kept, conditioner)[0]
        noise, log_determinant = flow_noise(flow, jnp.concatenate([plane, grid]))
        return {
            "layer": jax.vmap(jax.jacfwd(lambda p: coupled(p[None], kept, conditioner)[0][0]))(points),
            "whole": jax.vmap(jax.jacfwd(lambda p: flow_noise(flow, p[None])[0][0]))(plane),
            "back": jax.vmap(jax.jacfwd(lambda p: uncoupled(p[None], kept, quadratic)[0]))(points),
            "conditioned": conditioner(points * kept),
            "image": image,
            "returned": uncoupled(image, kept, conditioner),
            "log determinant": log_determinant,
            "bare": standard_normal_log_density(noise),
            "unbent": standard_normal_log_density(uncoupled(points, kept, quadratic)),
        }

    found = {name: jax.tree.map(np.asarray, each) for name, each in everything().items()}
    layer, image, (scale, shift) = found["layer"], found["image"], found["conditioned"]
    triangular = np.array(layer)
    triangular[:, :2, :2], triangular[:, :2, 2:], triangular[:, 2:, 2:] = np.eye(2), 0, 0
    first_order = np.array(triangular)
    for i in (2, 3):
        triangular[:, i, i], first_order[:, i, i] = np.exp(scale[:, i]), 1 + scale[:, i]
    printed = np.where(kept, image, (image - shift) * np.exp(scale))
    log_determinant, bare = found["log determinant"], np.exp(found["bare"][len(plane) :])
    density, area = bare * np.exp(log_determinant[len(plane) :]), np.prod(axes[1] - axes[0])
    inner = slice(60, 241, 4)
    return {
        "log determinant by layers": Identity(
            log_determinant[: len(plane)], np.linalg.slogdet(found["whole"])[1], scale=10.0
        ),
        "total mass of the density": Identity(
            density.sum() * area,
            1.0,
            error=1e-3,
            aside={
                "bare": bare.sum() * area,
                "density": density.reshape(301, 301)[inner, inner],
                "axes": axes[inner],
                "samples": samples[:150],
            },
        ),
        "the way back through a layer": Identity(found["returned"], points, scale=20.0, aside={"printed": printed}),
        "Jacobian of a layer": Identity(layer, triangular, scale=10.0, aside={"first order": first_order}),
        "density of the quadratic map": Identity(
            quadratic_coupling_log_density(points, *slopes),
            found["unbent"] + np.linalg.slogdet(found["back"])[1],
            scale=100.0,
            aside={"determinant": slopes[:, 0].sum()},
        ),
    }


@exact_flow_density.control("the determinant of the inverse map", of="log determinant by layers")
def inverse_determinant(evidence):
    return replace(evidence, left=-evidence.left)


@exact_flow_density.control("the density of the noise alone", of="total mass of the density")
def without_determinant(evidence):
    return replace(evidence, left=evidence.aside["bare"])


@exact_flow_density.control("multiplied by the scale on the way back", of="the way back through a layer")
def multiplied(evidence):
    return replace(evidence, left=evidence.aside["printed"])


@exact_flow_density.control("scales 1 + r for exp(r)", of="Jacobian of a layer")
def to_first_order(evidence):
    return replace(evidence, right=evidence.aside["first order"])


@exact_flow_density.control("the determinant multiplied, not divided by", of="density of the quadratic map")
def other_sign(evidence):
    return replace(evidence, left=evidence.left + 2 * evidence.aside["determinant"])


@exact_flow_density.picture
def folded(pieces):
    """The density of a random flow as shades, and noise sent back through its layers as dots."""
    seen = pieces["total mass of the density"].aside
    samples = np.asarray(seen["samples"])
    marks = [Dots("samples", samples[:, 0], samples[:, 1])]
    columns, rows = np.asarray(seen["axes"]).T
    heights = np.asarray(seen["density"]).T
    return Surface(
        marks, columns=columns, rows=rows, heights=heights, value="density", x="first coordinate", y="second coordinate"
    )


@claim(
    items={"A14.19": ("log determinant of a 1×1 convolution", "Jacobian of a 1×1 convolution")},
    says=r"A $1\times1$ convolution with the $c\times c$ matrix $W$ on $P$ pixels has a block diagonal Jacobian, $W$ "
    r"once a pixel, and $\log|\det|=P\log|\det W|$. It is diagonal only if $W$ is.",
    needs="W invertible",
    symbols={"W": "the matrix that mixes the channels of a pixel", "c": "the number of channels", "P": "of pixels"},
    why="Every pixel is multiplied by the same matrix and sees no other pixel. Where channels are only scaled the "
    "matrix is diagonal and its determinant the product of the scales; a mixing matrix has more to it.",
    notice="Blocks along the diagonal, one a pixel, all alike. The entries beside the diagonal are what a scaling of "
    "channels would not have.",
)
def pointwise_convolution_determinant(key, *, channels: Annotated[int, Interval(ge=2, le=6)] = 4):
    draw, height, width = generator(key), 3, 2
    matrix = draw.standard_normal((channels, channels)) + 2 * np.eye(channels)
    size = height * width * channels
    images = np.eye(size).reshape(size, height, width, channels)
    jacobian = pointwise_convolution(images, matrix).reshape(size, size).T
    return {
        "log determinant of a 1×1 convolution": Identity(
            pointwise_log_determinant(matrix, height * width),
            np.linalg.slogdet(jacobian)[1],
            scale=size,
            aside={"diagonal": height * width * np.log(np.abs(np.diag(matrix))).sum()},
        ),
        "Jacobian of a 1×1 convolution": Identity(
            jacobian,
            np.kron(np.eye(height * width), matrix),
            scale=1.0,
            aside={"transposed": np.kron(np.eye(height * width), matrix.T)},
        ),
    }


@pointwise_convolution_determinant.control("the diagonal alone", of="log determinant of a 1×1 convolution")
def diagonal_alone(evidence):
    return replace(evidence, left=evidence.aside["diagonal"])


@pointwise_convolution_determinant.control("the blocks transposed", of="Jacobian of a 1×1 convolution")
def transposed(evidence):
    return replace(evidence, right=evidence.aside["transposed"])


@pointwise_convolution_determinant.picture
def blocks(pieces):
    """The Jacobian of a 1×1 convolution on six pixels: one block a pixel."""
    jacobian = np.asarray(pieces["Jacobian of a 1×1 convolution"].left)
    names = list(range(1, len(jacobian) + 1))
    return HeatMap(jacobian, names, names, "entry of the input", "entry of the output", value="derivative", middle=0.0)
