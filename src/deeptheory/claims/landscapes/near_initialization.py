"""Wide shallow networks are nearly linear around their initial weights (lucchi Ch. 6, Problem 2)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, seen
from deeptheory.landscapes.near_initialization import (
    LARGEST_CURVATURE,
    linearization_bound,
    linearized_shallow,
    shallow_gradient,
    shallow_output,
)

ACTIVATIONS = {"tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "softplus": jax.nn.softplus}


def parabola(level):
    """The activation of constant curvature 0.6."""
    return 0.3 * level**2


def off(activation):
    """The distance of a network from its linearization, compiled once per activation and width."""

    @jax.jit
    def distance(weights, initial, signs, x):
        exact = shallow_output(weights, signs, x, activation)
        return exact - linearized_shallow(weights, initial, signs, x, activation)

    return distance


LENGTHS = np.array([0.5, 1.0, 2.5])
"""Lengths of the movements that attain the bound, in units of the setting."""

OFF = {name: off(activation) for name, activation in ACTIVATIONS.items()} | {"parabola": off(parabola)}


@jax.jit
def against_signs(weights, initial, flips, x):
    """The same of a tanh network for each of many choices of signs."""
    return jax.vmap(lambda signs: OFF["tanh"](weights, initial, signs, x))(flips)


@jax.jit
def gradients(weights, signs, x):
    """The gradient of a tanh network by differentiation, and written out."""
    return jax.grad(shallow_output)(weights, signs, x, jnp.tanh), shallow_gradient(weights, signs, x, jnp.tanh)


@claim(
    items={
        "L6.24": (
            "gradient",
            "distance from the linear network",
            "largest distance attained",
            "distance along the width, aligned",
            "distance along the width, random",
        )
    },
    says=r"For $f(W)=\sum_ja_j\sigma(\langle w_j,x\rangle)$ with $a_j=\pm1/\sqrt m$ and $|\sigma''|\le\beta$, "
    r"$\nabla f=D\,a\,x^\top$ and $|f(W)-f_0(W)|\le\frac\beta{2\sqrt m}\|W-W_0\|_F^2\|x\|^2$: for a movement of fixed "
    r"length at most of order $m^{-1/2}$, and of order $m^{-1}$ if the signs are random.",
    needs="σ twice differentiable",
    symbols={
        "f, f_0": "the network, and its linearization at $W_0$",
        "W, w_j": "the weights, a row for each neuron",
        "a_j, x": "the outer weights, with $a$ their vector, and the input",
        "m": "the number of neurons",
        r"\sigma, \beta": "the activation and the bound on its second derivative",
        "D": r"the diagonal matrix of the slopes $\sigma'(\langle w_j,x\rangle)$",
    },
    why=r"Neuron by neuron Taylor's formula leaves at most $\frac\beta2\langle w_j-w_{0,j},x\rangle^2$, weighted by "
    r"$1/\sqrt m$. Summed up the squares are at most $\|W-W_0\|_F^2\|x\|^2$, however many neurons share them. With "
    r"random $a_j$ the terms have random signs and add up to $\sqrt m$ times less than the sum of their sizes.",
    notice="Both kinds of movement have the same length at every width. With signs chosen against the network the "
    "distance falls by the square root of the width, parallel to the bound; with random signs by the width itself.",
)
def shallow_networks_are_nearly_linear(
    key, *, trials: Trials = 400, length: Annotated[float, Interval(ge=0.1, le=3)] = 1.0
):
    random = generator(key)
    widths = np.array([16, 128, 1024])
    quantities, bounds, aligned, astray, reached = [], [], [], [], []
    for m in widths:
        initial, signs, x = random.standard_normal((m, 3)), random.choice([-1.0, 1.0], m), random.standard_normal(3)
        arrays = jnp.asarray(initial), jnp.asarray(signs), jnp.asarray(x)
        # Compiling is most of the cost: the other activations are tried at the least width only.
        for name, beta in LARGEST_CURVATURE.items() if m == widths[0] else [("tanh", LARGEST_CURVATURE["tanh"])]:
            for scale in (0.3, 3.0):
                moved = scale * random.standard_normal((m, 3))
                quantities.append(abs(float(OFF[name](arrays[0] + moved, *arrays))))
                bounds.append(linearization_bound(int(m), beta, moved=float(np.sum(moved**2)), square=float(x @ x)))
        one = jnp.ones(m)
        for way in LENGTHS * length:
            along = np.outer(random.standard_normal(m), x)
            along *= way / np.linalg.norm(along)
            reached.append([
                float(OFF["parabola"](arrays[0] + along, arrays[0], one, arrays[2])),
                linearization_bound(int(m), 0.6, moved=way**2, square=float(x @ x)),
            ])  # fmt: skip
        # A fixed start for all widths, so that only the number of neurons changes: levels and signs are repeated.
        level = np.resize(np.linspace(-2, 2, 16), m)
        start = np.stack([level, np.zeros(m), np.zeros(m)], axis=1)
        shift = np.zeros((m, 3))
        shift[:, 0] = length / m**0.5
        against = np.sign(-2 * np.tanh(level) * (1 - np.tanh(level) ** 2))
        unit = jnp.array([1.0, 0.0, 0.0])
        aligned.append(
            abs(float(OFF["tanh"](jnp.asarray(start + shift), jnp.asarray(start), jnp.asarray(against), unit)))
        )
        flips = random.choice([-1.0, 1.0], (trials, m))
        every = against_signs(jnp.asarray(start + shift), jnp.asarray(start), jnp.asarray(flips), unit)
        astray.append(np.asarray(every) ** 2)
    found, written = gradients(*arrays)
    reached = np.array(reached)
    return {
        "gradient": Identity(found, written, scale=np.abs(np.asarray(written)).max(), aside={"signs": arrays[1]}),
        "distance from the linear network": Inequality(np.array(quantities), np.array(bounds)),
        "largest distance attained": Identity(
            reached[:, 0],
            reached[:, 1],
            error=1e-12,
            aside={"widths": np.repeat(widths, len(LENGTHS)), "lengths": np.tile(LENGTHS * length, len(widths))},
        ),
        "distance along the width, aligned": Rate(
            widths, np.array(aligned), exponent=-0.5, rivals=(0.0, -1.0), aside={"length": length}
        ),
        "distance along the width, random": Rate(widths, np.stack(astray), exponent=-2.0, rivals=(-1.0, -3.0)),
    }


@shallow_networks_are_nearly_linear.control("the distance of W from W₀ for its square", of="largest distance attained")
def length_for_its_square(evidence):
    return replace(evidence, right=evidence.right / evidence.aside["lengths"])


@shallow_networks_are_nearly_linear.control("∇f without the signs", of="gradient")
def without_signs(evidence):
    return replace(evidence, right=evidence.right * np.asarray(evidence.aside["signs"])[:, None])


@shallow_networks_are_nearly_linear.control("β/(4√m)", of="largest distance attained")
def half_the_bound(evidence):
    return replace(evidence, right=evidence.right / 2)


@shallow_networks_are_nearly_linear.control("β/(2m)", of="largest distance attained")
def over_width(evidence):
    return replace(evidence, right=evidence.right / np.sqrt(evidence.aside["widths"]))


@shallow_networks_are_nearly_linear.picture
def by_width(pieces):
    """Distance of a tanh network from its linearization after a movement of one length, by width."""
    aligned, astray = pieces["distance along the width, aligned"], pieces["distance along the width, random"]
    m = aligned.x
    bound = [
        linearization_bound(int(k), LARGEST_CURVATURE["tanh"], moved=aligned.aside["length"] ** 2, square=1.0)
        for k in m
    ]
    marks = [
        Line("bound", m, bound),
        Dots("against the network", m, aligned.y),
        seen("random signs, root mean square", m, np.sqrt(np.mean(astray.y, axis=1, keepdims=True))),
    ]
    return Curves(marks, x="width m", y="distance |f − f₀| from the linearization", log="xy")
