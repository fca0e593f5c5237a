"""A two-layer network whose first layer trains: its outputs follow a kernel, which starts near its limit."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.flatten_util import ravel_pytree
from scipy.integrate import quad
from scipy.special import expit, ndtr

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.kernels.finite.first_layer import (
    first_layer_gradient,
    first_layer_gram,
    first_layer_limit,
    first_layer_outputs,
)
from deeptheory.kernels.finite.tangents import tangent_kernel
from deeptheory.kernels.layers.activations import Erf, Numerical
from deeptheory.kernels.layers.combinators import serial
from deeptheory.kernels.layers.convolution import Conv
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.layers.pooling import Flatten
from deeptheory.lab import Identity, Inequality, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, power_law, seen


def softplus(z):
    """log(1 + eᶻ) for arguments of ordinary size: compiled and run faster than the one that guards against overflow."""
    return jnp.log1p(jnp.exp(z))


SOFTPLUS = Numerical(softplus, 64)
CONVOLUTION = serial(Conv(3, (3,)), Erf(), Flatten(), Dense(1))
PERCEPTRON = serial(Dense(6), Erf(), Dense(5), Erf(), Dense(1))


def diagonal_network(parameters, x):
    """x·(u² − v²), linear in its inputs and quadratic in its parameters."""
    return x @ (parameters[0] ** 2 - parameters[1] ** 2)[:, None]


def probe(apply):
    """Kernel, residual, gradient in size, and the outputs after steps of given lengths along the gradient."""

    def probed(parameters, x, y, lengths):
        flat, restore = ravel_pytree(parameters)

        def outputs(values):
            return apply(restore(values), x)[:, 0]

        residual = outputs(flat) - y
        gradient = jax.grad(lambda values: 0.5 * jnp.sum((outputs(values) - y) ** 2))(flat)
        size = jnp.linalg.norm(gradient)
        moved = jax.vmap(lambda length: outputs(flat - length * gradient / size))(lengths)
        return tangent_kernel(apply, parameters, x), residual, size, moved

    return jax.jit(probed)


@jax.jit
def rectified(weights, signs, x, y):
    """Outputs, gradient, kernel and Jacobian of a ReLU network."""
    outputs = first_layer_outputs(weights, signs, x)
    gradient = first_layer_gradient(weights, signs, x, outputs - y)
    jacobian = jax.jacrev(lambda w: first_layer_outputs(w, signs, x))(weights)
    return outputs, gradient, first_layer_gram(weights, x), jacobian


PROBES = {
    "perceptron": probe(PERCEPTRON.apply),
    "convolution": probe(CONVOLUTION.apply),
    "diagonal": probe(diagonal_network),
}


def normal_parameters(draw, network, shape):
    """Parameters shaped as the network's own, all standard normal."""
    shapes = jax.eval_shape(lambda: network.init(jax.random.key(0), shape)[1])
    return jax.tree.map(lambda leaf: draw.standard_normal(leaf.shape), shapes)


@claim(
    items={
        "A9.1": ("velocity of the outputs", "error of a step", "eigenvalues are not negative"),
        "A9.3": ("network by hand", "gradient by hand"),
        "L7.21": ("network by hand", "gradient by hand", "kernel by hand", "one step by the kernel"),
    },
    says=r"Under gradient flow on $\frac12\sum(u_i-y_i)^2$ the outputs of any network follow $\dot u=-H(u-y)$ with "
    r"$H_{ij}=\langle\partial f(x_i),\partial f(x_j)\rangle\succeq0$, up to $O(\eta)$ for one step of size $\eta$. A "
    r"two-layer ReLU network has $\partial f(x)/\partial w_r=m^{-1/2}a_rx1\{w_r\cdot x>0\}$ and obeys it exactly "
    "while no neuron switches.",
    needs="outputs differentiable in the parameters; one output",
    symbols={
        "u_i,y_i": "output and target of sample $i$",
        "H": "the tangent kernel: inner products of the gradients of the outputs by all parameters",
        r"\eta": "the size of a step",
        "w_r,a_r": "weight vector and fixed sign of neuron $r$, of $m$",
    },
    why=r"The parameters move by $\dot\theta=-\sum_j(u_j-y_j)\,\partial f(x_j)$, and by the chain rule the output at "
    r"$x_i$ changes at the rate $\langle\partial f(x_i),\dot\theta\rangle=-\sum_jH_{ij}(u_j-y_j)$. Nothing about the "
    r"network enters but its gradients. One step adds a remainder of second order in $\eta$, and none where the "
    "network is linear in its weights, as a ReLU network is between switches.",
    notice="Relative to the flow the change of the outputs in one step of length $s$ is off by a share proportional to "
    "$s$, for a perceptron, a convolution and a network that is quadratic in its parameters alike.",
)
def outputs_follow_the_tangent_kernel(key, *, width: Annotated[int, Interval(ge=2, le=4096)] = 50):
    draw = generator(key)
    points = {"convolution": draw.standard_normal((5, 6, 2))}
    parameters = {
        "perceptron": normal_parameters(draw, PERCEPTRON, (5, 4)),
        "convolution": normal_parameters(draw, CONVOLUTION, (5, 6, 2)),
        "diagonal": tuple(draw.standard_normal((2, 4))),
    }
    # Lengths for Richardson's central difference, whose error is then of fourth order, and for single steps.
    lengths = np.array([2e-3, -2e-3, 1e-3, -1e-3, 0.0, 0.04, 0.02, 0.01, 0.005])
    flows, found, errors, least, largest = [], [], [], [], []
    for name, probed in PROBES.items():
        x = points.get(name, draw.standard_normal((5, 4)))
        kernel, residual, size, moved = map(np.asarray, probed(parameters[name], x, draw.standard_normal(5), lengths))
        values = np.linalg.eigvalsh(kernel)
        least.append(values[0])
        largest.append(values[-1])
        wide, narrow = ((moved[i] - moved[i + 1]) / (2 * lengths[i]) for i in (0, 2))
        flows.append(-kernel @ residual)
        found.append(size * (4 * narrow - wide) / 3)
        steps = size * (moved[5:] - moved[4]) / lengths[5:, None]
        errors.append(np.linalg.norm(steps - flows[-1], axis=1) / np.linalg.norm(flows[-1]))
    flows, scale = np.array(flows), np.linalg.norm(flows, axis=1, keepdims=True)
    x, weights, signs = unit_vectors(draw, 5, 4), draw.standard_normal((width, 4)), draw.choice([-1.0, 1.0], width)
    y = draw.standard_normal(5)
    start, gradient, gram, jacobian = map(np.asarray, rectified(weights, signs, x, y))
    # So small a step that no w·x changes its sign: the network is then linear in its weights.
    step = 0.5 * np.abs(x @ weights.T).min() / np.linalg.norm(gradient, axis=1).max()
    after = np.asarray(rectified(weights - step * gradient, signs, x, y)[0])
    # The model and its derivative by w_r as they are printed, in NumPy.
    before = x @ weights.T
    written = np.maximum(before, 0) @ signs / width**0.5
    slopes = (signs * (before > 0) / width**0.5)[..., None] * x[:, None]
    return {
        "velocity of the outputs": Identity(found, flows, scale=scale, error=1e-8 * scale),
        "error of a step": Rate(
            lengths[5:],
            np.sum(errors, axis=0),
            exponent=1.0,
            rivals=(0.0, 2.0),
            aside={"of each": np.array(errors), "networks": list(PROBES)},
        ),
        "eigenvalues are not negative": Inequality(
            -np.array(least), 0.0, scale=np.array(largest), error=1e-12 * np.array(largest)
        ),
        "network by hand": Identity(start, written, scale=1.0, size=width),
        "gradient by hand": Identity(
            gradient,
            np.tensordot(start - y, slopes, 1),
            scale=1.0,
            size=width,
            aside={"without signs": np.tensordot(start - y, signs[:, None] * slopes, 1)},
        ),
        "kernel by hand": Identity(gram, np.einsum("imd,jmd->ij", jacobian, jacobian), scale=1.0, size=width),
        "one step by the kernel": Identity(
            after - start, step * gram @ (y - start), scale=np.abs(start).max(), size=width
        ),
    }


@outputs_follow_the_tangent_kernel.control("a loss without the half", of="velocity of the outputs")
def without_half(evidence):
    return replace(evidence, right=2 * evidence.right)


@outputs_follow_the_tangent_kernel.control("a mean over the samples in place of the sum", of="one step by the kernel")
def mean_loss(evidence):
    return replace(evidence, right=evidence.right / np.size(evidence.right))


@outputs_follow_the_tangent_kernel.control("a mean over the neurons, 1/m for 1/√m", of="network by hand")
def mean_of_neurons(evidence):
    return replace(evidence, right=evidence.right / evidence.size**0.5)


@outputs_follow_the_tangent_kernel.control("the gradient without the signs of the neurons", of="gradient by hand")
def without_signs(evidence):
    return replace(evidence, right=evidence.aside["without signs"])


@outputs_follow_the_tangent_kernel.picture
def single_steps(pieces):
    """How far the change of the outputs in one step is from the flow's, relative to it, for three networks."""
    order = pieces["error of a step"]
    marks = [
        kind(name, order.x, errors)
        for name, errors in zip(order.aside["networks"], order.aside["of each"], strict=True)
        for kind in (Line, Dots)
    ]
    return Curves(marks, x="length of the step in the parameters", y="relative error of the outputs' change", log="xy")


grams = jax.jit(jax.vmap(lambda weights, x: first_layer_gram(weights, x), in_axes=(0, None)))
smooth_grams = jax.jit(
    jax.vmap(lambda weights, x: first_layer_gram(weights, x, activation=softplus), in_axes=(0, None))
)


@claim(
    items={
        "A9.4": ("mean over networks", "closed form for ReLU", "quadrature for softplus"),
        "A9.5": ("closed form for ReLU", "mean over networks", "inputs of any length"),
        "L7.22": ("closed form for ReLU", "mean over networks", "distance of one network", "trace of the kernel"),
    },
    says=r"The first-layer kernel $H(0)_{ij}=x_i\cdot x_j\frac1m\sum_r\sigma'(w_r\cdot x_i)\sigma'(w_r\cdot x_j)$ has "
    r"mean $H^*_{ij}=x_i\cdot x_j\,\mathbb E\,\sigma'\sigma'$ at any width, for the ReLU "
    r"$x_i\cdot x_j(\pi-\angle(x_i,x_j))/2\pi$ with trace $\frac12\sum\|x_i\|^2$, n/2 on the sphere, and is within "
    r"order $m^{-1/2}$ of it.",
    needs="standard normal weights; unit inputs in all but the closed form for the ReLU",
    symbols={
        r"H(0)_{ij}": (
            r"the inner product of the derivatives of the outputs on $x_i$ and $x_j$, of $n$ inputs, by the first "
            r"layer's weights"
        ),
        r"m": "the number of neurons",
        r"w_r": r"the weights of neuron $r$, standard normal",
        r"\sigma'": "the slope of the activation",
    },
    why=r"The kernel is a mean over independent neurons, so its mean does not depend on the width and one network is "
    r"off by order $m^{-1/2}$. For the ReLU both slopes are one exactly when the weights lie in a wedge of angle "
    r"$\pi-\angle(x_i,x_j)$, whose share of the full turn is the probability; on the diagonal that is one half.",
    notice=r"Left, means over networks lie on the kernel with its factor $x\cdot x'$; without it, as (9.8) is "
    r"printed, the entry would be one quarter at a right angle, where it is zero. Right, one network is off by order "
    r"$m^{-1/2}$.",
    full=dict(widths=(64, 256, 1024, 4096), trials=1024),
)
def first_layer_kernel_at_initialization(key, *, widths: Sizes = (64, 256, 1024), trials: Trials = 256):
    draw = generator(key)
    x = unit_vectors(draw, 5, 3)
    product = x @ x.T
    above, root = np.triu_indices(5, 1), np.sqrt(np.clip(1 - product**2, 0, 1))
    # Given w·xᵢ = z > 0, the other product is positive with probability Φ(ρz/√(1 − ρ²)).
    orthants = [
        quad(lambda z, r=r: np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * ndtr(r * z / np.sqrt(1 - r * r)), 0, 40)[0]
        for r in product[above]
    ]
    limit, smooth = np.asarray(first_layer_limit(x)), np.asarray(first_layer_limit(x, layer=SOFTPLUS))
    hermite, masses = np.polynomial.hermite_e.hermegauss(60)
    first, second = hermite[:, None], product[..., None, None] * hermite[:, None] + root[..., None, None] * hermite
    slopes = expit(first) * expit(second) @ masses @ masses / (2 * np.pi)
    lengths = draw.uniform(0.3, 2.0, 5)
    longer = np.asarray(first_layer_limit(lengths[:, None] * x))
    distances, means = [], []
    for width in widths:
        weights = draw.standard_normal((trials, width, 3))
        found = np.asarray(grams(weights, x))
        distances.append(np.linalg.norm(found - limit, 2, axis=(1, 2)))
        means.append(found)
    both = np.stack([means[1], smooth_grams(draw.standard_normal((trials, widths[1], 3)), x)])[:, :, *above]
    return {
        "closed form for ReLU": Identity(limit[above], product[above] * orthants, scale=0.5, error=1e-10),
        "quadrature for softplus": Identity(smooth, product * slopes, scale=0.5, error=1e-8),
        "inputs of any length": Identity(
            longer[above], np.outer(lengths, lengths)[above] * product[above] * orthants, scale=2.0, error=1e-9
        ),
        "trace of the kernel": Identity(
            np.array([np.trace(limit), np.trace(longer)]), np.array([5, np.sum(lengths**2)]) / 2, size=5.0
        ),
        "mean over networks": Law(
            np.stack([limit[above], smooth[above]]),
            both.transpose(0, 2, 1),
            exact=True,
            scale=0.5,
            along={"activation": np.array(["ReLU", "softplus"]), "cosine": product[above]},
        ),
        "distance of one network": Rate(np.array(widths), np.array(distances), exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@first_layer_kernel_at_initialization.control("without the factor x·x′, as in (9.8)", of="mean over networks")
def without_product(evidence):
    relu, softplus = evidence.predicted  # (9.8) is about ReLU
    return replace(evidence, predicted=np.stack([relu / evidence.along["cosine"], softplus]))


@first_layer_kernel_at_initialization.control("both slopes at the same input", of="mean over networks")
def same_input(evidence):
    return replace(evidence, predicted=np.stack([evidence.along["cosine"] / 2, evidence.predicted[1]]))


@first_layer_kernel_at_initialization.control("arccos over π in place of 2π", of="closed form for ReLU")
def half_circle(evidence):
    return replace(evidence, left=2 * evidence.left)


@first_layer_kernel_at_initialization.picture
def kernel_by_angle(pieces):
    """The ReLU kernel between unit inputs by their cosine, and means over networks; and the distance of one network."""
    found, angle = pieces["mean over networks"], np.linspace(0, np.pi, 100)
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)
    limit = np.asarray(first_layer_limit(circle))[0]
    # At a right angle the printed form is a quarter; the quotient of two zeros stands in for nothing there.
    printed = np.divide(limit, circle[:, 0], out=np.full(len(limit), 0.25), where=np.abs(circle[:, 0]) > 1e-9)
    order = np.argsort(found.along["cosine"])
    return Row(
        [
            Curves(
                [
                    Line("x·x′(π − ∠)/2π", circle[:, 0], limit),
                    seen("means of networks", found.along["cosine"][order], found.observed[0][order]),
                    Line("", circle[:, 0], printed, rival="without x·x′, as printed in (9.8)"),
                ],
                x="cosine of the two inputs",
                y="entry of the kernel",
            ),
            Curves(
                power_law("one network", pieces["distance of one network"], rivals={-1.0: "1/m"}),
                x="neurons m",
                y="distance from the limit",
                log="xy",
            ),
        ]
    )
