"""Residual networks as Euler's method for a neural differential equation (jagannath, chapter 14)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.attention.residual import Layers, euler_error, neural_flow, residual_network
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Limit, Rate, Sizes, claim
from deeptheory.lab.pictures import Curves, Dots, Line


@partial(jax.jit, static_argnames=("weights", "most"))
def through_layers(weights, depths, start, *, most):
    """All representations in residual networks of several depths L: weights at times k/L, outer ones divided by L."""

    def network(depth):
        layer = jnp.arange(most)
        outer, inner, bias = jax.vmap(weights)(layer / depth)
        # Layers beyond the depth have outer weights zero and are the identity, so that one program serves all depths.
        return residual_network(
            Layers(jnp.where(layer < depth, 1 / depth, 0.0)[:, None, None] * outer, inner, bias), start
        )

    return jax.vmap(network)(depths)


@claim(
    items={
        "J14.1": ("layers without activation multiply", "depth of the network against the flow"),
        "J14.2": ("closed form on the line", "depth of the network against the flow", "error times depth"),
    },
    says=r"A residual network $x_{k+1}=x_k+\frac1Lw_k\sigma(a_kx_k+b_k)$ is Euler's method for "
    r"$\dot x=w\sigma(ax+b)$: it misses the flow at time 1 by $e/L$, where $\dot e=\partial_xf\,e-\frac12\ddot x$, "
    r"$e(0)=0$. The flow leads back, and points on a line keep their order.",
    needs="smooth activation, weights that depend smoothly on depth",
    symbols={
        r"x_k": "the representation after $k$ layers, $x$ at time $k/L$ of the flow",
        r"L": "the number of layers",
        r"w,\sigma,a,b": "outer matrix, activation, inner matrix and bias of a layer",
        r"f": r"the velocity $w\sigma(ax+b)$",
        r"e": "the error times the depth, in the limit",
    },
    why=r"A layer with a skip connection adds a small change, as a step of Euler's method does. Each step misses "
    r"$\frac12L^{-2}\ddot x$, which the flow then carries to the end; $L$ steps make an error of order $1/L$. "
    r"On the line with $\sigma=\tanh$ and no bias $\sinh(ax)$ grows exponentially, which solves the equation. "
    "Solutions of a differential equation never meet, hence the order; a layer with large weights may jump across.",
    notice=r"Points on the line flow without crossing each other. A network of a few layers follows them at some "
    "distance, which halves when the depth doubles.",
    full=dict(depths=(16, 32, 64, 128, 256)),
)
def residual_networks_take_euler_steps(
    key,
    *,
    depths: Annotated[Sizes, MinLen(3)] = (16, 32, 64),
    dimension: Annotated[int, Interval(ge=1, le=16)] = 3,
):
    rng = generator(key)
    matrices = rng.standard_normal((4, dimension, dimension)) / np.sqrt(dimension)
    bias, start = rng.standard_normal((2, dimension))

    def weights(time):
        return Layers(matrices[0] + time * matrices[1], matrices[2] * jnp.cos(time), bias * (1 - time))

    end = neural_flow(weights, start[None], np.ones(1), tolerance=1e-12)[0, 0]
    missed = np.asarray(through_layers(weights, np.array(depths), start[None], most=max(depths)))[:, -1, 0] - end
    leading = euler_error(weights, start)
    scaled = np.asarray(depths)[:, None] * missed

    # Without activation the layers are matrices.
    products = rng.standard_normal((2, 5, dimension, dimension)) / np.sqrt(dimension)
    linear = Layers(products[0], products[1], np.zeros((5, dimension)))
    out = np.asarray(residual_network(linear, start[None], lambda x: x)[-1, 0])
    chained, bare = start, start
    for outer, inner in zip(*products, strict=True):
        chained, bare = chained + outer @ (inner @ chained), outer @ (inner @ bare)

    # On the line: w(t) = 3 cos 3t and a = 1.7 make sinh(1.7 x) grow by exp(1.7 sin 3t).
    speed, slope, times = 3.0, 1.7, np.linspace(0.0, 1.0, 21)
    line = np.sort(rng.uniform(-2, 2, 12))[:, None]

    def on_the_line(time):
        return Layers(speed * jnp.cos(speed * time) * jnp.ones((1, 1)), slope * np.ones((1, 1)), np.zeros(1))

    paths = neural_flow(on_the_line, line, times, tolerance=1e-12)[..., 0]
    grown = slope * np.sin(speed * times)[:, None]
    exact = np.arcsinh(np.exp(grown) * np.sinh(slope * line.T)) / slope
    unsteep = np.arcsinh(np.exp(grown / slope) * np.sinh(slope * line.T)) / slope

    def backwards(time):
        forward = on_the_line(1 - time)
        return forward._replace(outer=-forward.outer)

    back = neural_flow(backwards, paths[-1][:, None], np.ones(1), tolerance=1e-12)[0]
    few = 6
    steps = np.asarray(through_layers(on_the_line, np.array([few]), line, most=few))[0, ..., 0]
    jumped = line - 2 * np.tanh(slope * line)  # one layer with weight −2, whose slope at zero is 1 − 3.4
    return {
        "layers without activation multiply": Identity(
            out, chained, scale=np.linalg.norm(chained), size=5 * dimension, condition=10, aside={"bare": bare}
        ),
        "depth of the network against the flow": Rate(
            depths, np.linalg.norm(missed, axis=-1), exponent=-1.0, resolution=0.1, rivals=(-2.0, -0.5)
        ),
        "error times depth": Limit(
            depths,
            np.linalg.norm(scaled - leading, axis=-1),
            order=1.0,
            aside={"scaled": scaled, "leading": leading},
        ),
        "closed form on the line": Identity(
            paths,
            exact,
            scale=2.0,
            error=1e-9,
            along={"time": times},
            aside={"unsteep": unsteep, "steps": steps, "at": np.arange(few + 1) / few},
        ),
        "the flow leads back": Identity(back, line, scale=2.0, error=1e-9, aside={"there": paths[-1][:, None]}),
        "points keep their order": Inequality(paths[:, :-1], paths[:, 1:], scale=2.0, aside={"jumped": jumped.T}),
    }


@residual_networks_take_euler_steps.control("without the skip connection", of="layers without activation multiply")
def without_skip(evidence):
    return replace(evidence, left=evidence.aside["bare"])


@residual_networks_take_euler_steps.control("a step misses the whole acceleration", of="error times depth")
def whole_acceleration(evidence):
    gap = np.asarray(evidence.aside["scaled"]) - 2 * np.asarray(evidence.aside["leading"])
    return replace(evidence, y=np.linalg.norm(gap, axis=-1))


@residual_networks_take_euler_steps.control("growth without the inner weight", of="closed form on the line")
def without_inner_weight(evidence):
    return replace(evidence, right=evidence.aside["unsteep"])


@residual_networks_take_euler_steps.control("one layer with weight −2 keeps the order", of="points keep their order")
def one_layer(evidence):
    jumped = np.asarray(evidence.aside["jumped"])
    return replace(evidence, quantity=jumped[:, :-1], bound=jumped[:, 1:])


@residual_networks_take_euler_steps.control("the end is the start", of="the flow leads back")
def stays(evidence):
    return replace(evidence, left=evidence.aside["there"])


@residual_networks_take_euler_steps.picture
def flow_and_layers(pieces):
    """Points on the line under a neural differential equation, and a residual network of six layers."""
    found = pieces["closed form on the line"]
    lines = [Line("flow", found.along["time"], path) for path in np.asarray(found.right).T]
    steps = np.asarray(found.aside["steps"]).T
    dots = [Dots("six residual layers", found.aside["at"], each) for each in steps]
    return Curves([*lines, *dots], x="time t, or layer k/L", y="representation x")
