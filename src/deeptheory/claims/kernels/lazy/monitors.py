"""Weights that barely move: what of a wide network changes in training, watched layer by layer (jagannath 8)."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.linearization import padded
from deeptheory.kernels.lazy.monitors import (
    Activity,
    activity,
    activity_polynomial,
    activity_rate_bound,
    activity_rates,
    activity_sum,
    aligned_network,
    mean_loss_velocity,
)
from deeptheory.kernels.lazy.training import train
from deeptheory.lab import Chain, Identity, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, power_law
from deeptheory.networks.mlp import init_mlp

DEEP: dict[str, Any] = dict(weight_scale=1.4, input_scale=1.0)
SIX, DEEP_TARGETS = np.eye(6)[:4], np.array([1.0, -1.0, 1.0, -1.0])
"""Orthogonal inputs, on which few steps are enough, and how far the outputs shall move."""
DEEP_STEPS, DEEP_STEP = 12, 0.22
"""On these inputs the tangent kernel tends to 3.2 times the identity: 0.22 is seven tenths of the Newton step."""


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def monitored(network, fill):
    """Drifts of the weight matrices, the largest operator norm and both Frobenius norms; A(t) − A(0); of the outputs.

    Outputs learn to move by the targets. The monitors divide by the root of the padded width, which `fill` undoes.
    """
    start = network.scaled()
    before = start(SIX)[:, 0]
    end = train(network, SIX, before + DEEP_TARGETS, SIX[:1], step_size=DEEP_STEP, steps=DEEP_STEPS).network
    frobenius = [jnp.linalg.norm(w - v) for w, v in zip(end.weights[1:], network.weights[1:], strict=True)]
    now = activity(end.scaled(), start, SIX)
    now = now._replace(activation_drift=fill * now.activation_drift)
    growth = activity_sum(now, Activity(*(jnp.zeros(2) for _ in now)))
    moved = jnp.linalg.norm(end(SIX)[:, 0] - before) / 2
    return jnp.stack([jnp.max(now.weight_drift), *frobenius, growth, moved])


LINEAR, LEVELS = 0.7, np.array([0.4, 0.8, 1.3, 1.9])
"""Slope of the activation, and four values of the monitors: as many as the polynomial has coefficients."""
AFFINE: dict[str, Any] = dict(weight_scale=1.3, bias_scale=0.4, input_scale=0.9)


def half_linear(u):
    """Proportional above zero, where an aligned network lives, and bent below; twice differentiable."""
    return LINEAR * jnp.where(u > 0, u, jnp.tanh(u))


@jax.jit
def rates_and_bounds(network, start, x, y):
    """A, the velocity of the flow, rates of weights and pre-activations, their bounds, the size of the residual."""
    velocity = mean_loss_velocity(network, x, y)
    total = activity_sum(activity(network, start, x), activity(start, start, x), slope=LINEAR)
    bounds = activity_rate_bound(network, x, y, slope=LINEAR)
    size = jnp.sqrt(jnp.mean((network(x)[:, 0] - y) ** 2))
    return total, velocity, jnp.stack(activity_rates(network, x, velocity)), jnp.stack(bounds), size


def activity_by_hand(network, start, x):
    """A of one network of width 6, its operator norms from singular values."""
    now, before = (np.array(each.preactivations(x)[:-1]) for each in (network, start))
    hidden = np.asarray(half_linear(before)), LINEAR * (now - before)
    pairs = [(v, w - v) for w, v in zip(network.weights[1:], start.weights[1:], strict=True)]
    norms = np.array([[np.linalg.norm(part, 2) for part in pair] for pair in pairs]) / 6**0.5
    return np.sqrt(np.mean(np.square(hidden), axis=(2, 3))).sum() + norms.sum()


@claim(
    items={
        "J8.13": (
            "largest singular value of the change",
            "Frobenius norm of the change",
            "Frobenius norm of the readout's change",
        ),
        "J8.14": (
            "growth of the monitors",
            "change of the outputs",
            "monitors by hand",
            "links of the proof",
            "bounds of the layers attained",
            "polynomial attained",
        ),
    },
    says=r"Two hidden layers of width $n$ learn to move their outputs by order 1: "
    r"$n^{-1/2}\|W^{(\ell)}(t)-W^{(\ell)}(0)\|_{op}$ for $\ell\ge1$ and $A(t)-A(0)$ fall like $n^{-1/2}$, while "
    r"Frobenius norms of the change stay of order 1. $\dot A\le P(A)\|y-f\|_{p^{in}}/\sqrt n$ with an explicit "
    r"polynomial.",
    needs="tangent scaling; slopes of the activation at most c; equal widths for P; gradient flow on the mean loss for "
    "the rates; targets counted from the initial outputs for the exponents",
    scale="printed: width to infinity, one layer after the other; here: both layers 32 to 128 together",
    full=dict(widths=(64, 128, 256), trials=96),
    symbols={
        r"n": "the width of both hidden layers",
        r"W^{(\ell)}": r"the weight matrix that enters layer $\ell$; $op$ is its largest singular value",
        r"A(t)": "the sum over the hidden layers of all monitors: sizes and drifts of weights and activations",
        r"P": "a polynomial with explicit coefficients",
        r"p^{in}": r"the law of the inputs; $y-f$ what is still to learn",
    },
    why=r"One training step changes the hidden matrix by a sum of a few outer products of vectors with $n$ entries "
    r"of order one, divided by $n$: a matrix of low rank and Frobenius norm of order one. Against the matrix at "
    r"the start, whose operator norm is of order $\sqrt n$, this is a share $n^{-1/2}$. Each monitor's rate is "
    r"bounded by products of the others, layer by layer, which gives the polynomial and, by comparison, "
    r"$A(t)-A(0)=O(n^{-1/2})$; linear networks with aligned weights attain the bounds of the layers, and $P$ when all "
    r"monitors are equal. The outputs move by order 1 at every width, so the last layer $k=L$ cannot be in the sum.",
    notice=r"Relative to $\sqrt n$ the weights and the sum of monitors move less and less, on lines of slope "
    r"$-\frac12$, while the outputs go all the way at every width.",
)
def weights_barely_move(key, *, widths: Sizes = (32, 64, 128), trials: Trials = 48):
    found = []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        drawn = init_mlp(draw, (6, width, width, 1), ensemble=(trials,), activation=erf, **DEEP)
        found.append(np.asarray(monitored(padded(drawn, max(widths)), (max(widths) / width) ** 0.5)).T)
    drift, hidden, readout, growth, outputs = np.moveaxis(np.asarray(found), 1, 0)
    rng = generator(jax.random.fold_in(key, 3))
    each = start = init_mlp(jax.random.fold_in(key, 4), (3, 6, 6, 1), activation=half_linear, **AFFINE)
    x, y, path, summed = rng.standard_normal((5, 3)), rng.standard_normal(5), [], []
    for _ in range(12):
        value, velocity, *rest = jax.tree.map(np.asarray, rates_and_bounds(each, start, x, y))
        summed.append(activity_by_hand(each, start, x))
        each, soon = (jax.tree.map(lambda p, v, h=h: p + h * v, each, velocity) for h in (0.5, 1e-6))
        path.append((value, (np.asarray(rates_and_bounds(soon, start, x, y)[0]) - value) / 1e-6, *rest))
    value, rate, rates, bounds, size = map(np.asarray, zip(*path, strict=True))
    allowed = np.polyval(np.asarray(activity_polynomial(start, x, slope=LINEAR)), value) * size / 6**0.5
    # One input, five times: the mean over inputs is then that of one.
    one, target, rows = np.tile(x[:1], (5, 1)), np.full(5, y[0]), []
    for level in LEVELS:
        shape: dict[str, Any] = dict(level=float(level), activation=half_linear, slope=LINEAR, **AFFINE)
        network = aligned_network(jax.random.fold_in(key, 5), (3, 6, 6, 1), x[:1], **shape)
        rows.append([np.asarray(part) for part in rates_and_bounds(network, network, one, target)[2:]])
    attained, bound, residual = (np.array(part) for part in zip(*rows, strict=True))
    units = np.array([1.0, LINEAR])[:, None]  # A counts pre-activations times the slope
    grown = np.sum(attained * units, axis=(1, 2)) * 6**0.5 / residual
    sizes, coefficients = np.asarray(widths), np.asarray(activity_polynomial(network, one, slope=LINEAR))
    return {
        "largest singular value of the change": Rate(sizes, drift, exponent=-0.5, rivals=(0.0, -1.0)),
        "Frobenius norm of the change": Rate(sizes, hidden, exponent=0.0, rivals=(0.5, -0.5)),
        "Frobenius norm of the readout's change": Rate(sizes, readout, exponent=0.0, rivals=(0.5, -0.5)),
        "growth of the monitors": Rate(sizes, growth, exponent=-0.5, rivals=(0.0, -1.0)),
        "change of the outputs": Rate(sizes, outputs, exponent=0.0, rivals=(-0.5,), order=1.0),
        "monitors by hand": Identity(value, np.array(summed), size=64),
        "links of the proof": Chain(
            {
                "the drifts grow no faster than what they measure moves": (rate, np.sum(rates * units, axis=(1, 2))),
                "weights, layer by layer": (rates[:, 0], bounds[:, 0]),
                "activations, layer by layer": (rates[:, 1], bounds[:, 1]),
                "both, by the polynomial": (np.sum(bounds * units, axis=(1, 2)), allowed),
            },
            error=1e-4 * float(np.max(rates)),  # the rate is a difference over 1e-6 in time, right to about as much
        ),
        "bounds of the layers attained": Identity(attained, bound, size=64),
        "polynomial attained": Identity(grown, np.polyval(coefficients, LEVELS), size=64),
    }


@weights_barely_move.control("the sum up to the output")
def output_in_the_sum(pieces):
    # With one output n_L = 1, and ã of the last layer is how far the outputs went.
    growth = pieces["growth of the monitors"]
    return {"growth of the monitors": replace(growth, y=growth.y + pieces["change of the outputs"].y)}


@weights_barely_move.control(
    "own motion of the second layer without what it receives from the first", of="bounds of the layers attained"
)
def nothing_received(evidence):
    right = np.array(evidence.right)
    right[:, 1, 1] -= LINEAR * AFFINE["weight_scale"] * LEVELS * right[:, 1, 0]
    return replace(evidence, right=right)


@weights_barely_move.control("activations to the first power in the polynomial", of="polynomial attained")
def first_power(evidence):
    sigma = AFFINE["weight_scale"]
    return replace(evidence, right=evidence.right + LINEAR**2 * sigma**3 * (LEVELS**2 - LEVELS**3))


@weights_barely_move.picture
def motion_against_width(pieces):
    """What moves by order one and what hardly moves, against the width; lines of the predicted slopes."""
    names = {
        "change of the outputs": "outputs",
        "Frobenius norm of the change": "hidden weights, Frobenius norm",
        "largest singular value of the change": "weights, operator norm over √n",
        "growth of the monitors": "sum of monitors",
    }
    marks = [mark for piece, name in names.items() for mark in power_law(name, pieces[piece])]
    return Curves(marks, x="width n", y="change in training", log="xy")
