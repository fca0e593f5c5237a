"""Two-layer kernels at finite width, and networks that stay near their linearization."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.scipy.special import erf
from scipy import special

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.first_layer import first_layer_gram, first_layer_limit
from deeptheory.kernels.finite.linearization import doubled, laziness, padded, parameter_norm
from deeptheory.kernels.finite.tangents import functional, tangent_kernel
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.limits.dense_networks import fully_connected
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import (
    diagonalize,
    interpolation,
    predicted,
)
from deeptheory.lab import Identity, Law, Limit, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Line, power_law, seen
from deeptheory.networks.mlp import init_mlp

two_layer_kernels = jax.jit(jax.vmap(lambda network, x: tangent_kernel(*functional(network), x), in_axes=(0, None)))
first_layer_grams = jax.jit(jax.vmap(lambda network, x: first_layer_gram(network.weights[0], x), in_axes=(0, None)))


@claim(
    items={
        "H6.3": ("closed form", "mean of both layers", "mean of the first layer", "distance of one network"),
        "H6.4": ("mean of both layers", "distance of one network"),
    },
    says=r"For $m^{-1/2}\sum_ra_r\,\mathrm{relu}(w_r\cdot x)$ with standard normal $a,w$ and unit inputs at angle "
    r"$\vartheta$ the tangent kernel has mean "
    r"$\cos\vartheta\frac{\pi-\vartheta}{2\pi}+\frac{\sin\vartheta+(\pi-\vartheta)\cos\vartheta}{2\pi}$ at every "
    r"width, up to order $m^{-1/2}$ in one network. The first layer alone, with $a_r=\pm1$, has the first term.",
    needs="no biases; unit inputs",
    scale="printed: width to infinity; here: ten inputs, widths 100 to 1,600",
    full=dict(widths=(100, 400, 1600, 6400)),
    symbols={
        "m": "the number of neurons",
        "a_r,w_r": "output and input weights of neuron $r$, standard normal",
        r"\vartheta": "the angle between two unit inputs",
    },
    why=r"The gradient by $a_r$ is the neuron's output and that by $w_r$ its slope times $a_rx$, so the kernel is a "
    r"mean over neurons of $\mathrm{relu}\,\mathrm{relu}+a_r^2\,x\cdot x'\,1\,1$. The two indicators are both one on "
    r"a wedge of angle $\pi-\vartheta$; the product of the rectified outputs integrates to the second term. A mean "
    r"over $m$ independent neurons is exact in expectation, and its largest entry off by $m^{-1/2}$.",
    notice="The entries of kernels of single networks scatter about the curve of the angle; their mean follows it. The "
    "share of the first layer alone vanishes for orthogonal inputs, that of the output weights does not.",
)
def two_layer_relu_kernel(key, *, widths: Sizes = (100, 400, 1600), trials: Trials = 96):
    x = generator(jax.random.fold_in(key, 7)).standard_normal((10, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    limit = np.asarray(limit_kernel(fully_connected(4, hidden_layers=1), x, want=("ntk",)).ntk)
    angle = np.arccos(np.clip(x @ x.T, -1, 1))
    np.fill_diagonal(angle, 0.0)
    slope = np.cos(angle) * (np.pi - angle) / (2 * np.pi)
    closed = slope + (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    distances = []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        networks = init_mlp(draw, (4, width, 1), ensemble=(trials,))
        found = np.asarray(two_layer_kernels(networks, x))
        distances.append(np.max(np.abs(found - limit), axis=(1, 2)))
    grams = np.asarray(first_layer_grams(networks, x))
    pairs = np.triu_indices(10)
    return {
        # The angle of nearly parallel inputs is known to about the root of rounding.
        "closed form": Identity(np.array([limit, first_layer_limit(x)]), np.array([closed, slope]), error=1e-10),
        "mean of both layers": Law(
            limit[pairs], found[:, *pairs].T, exact=True, scale=1.0, aside={"angle": angle[pairs]}
        ),
        "mean of the first layer": Law(
            np.asarray(first_layer_limit(x))[pairs], grams[:, *pairs].T, exact=True, scale=0.5
        ),
        "distance of one network": Rate(np.asarray(widths), np.asarray(distances), exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@two_layer_relu_kernel.control("the covariance of outputs alone")
def covariance_alone(pieces):
    # The second term of the tangent kernel: what the output weights contribute.
    mean, first = pieces["mean of both layers"], pieces["mean of the first layer"]
    return {"mean of both layers": replace(mean, predicted=mean.predicted - first.predicted)}


@two_layer_relu_kernel.control("first layer with the share (π − ϑ)/π of active neurons", of="mean of the first layer")
def twice_the_share(evidence):
    return replace(evidence, predicted=2 * evidence.predicted)


@two_layer_relu_kernel.picture
def kernel_of_the_angle(pieces):
    """The tangent kernel of unit inputs against their angle, with the share of the first layer, and means over "
    "networks."""
    grid, mean, first = np.linspace(0, np.pi, 120), pieces["mean of both layers"], pieces["mean of the first layer"]
    slope = np.cos(grid) * (np.pi - grid) / (2 * np.pi)
    whole = slope + (np.sin(grid) + (np.pi - grid) * np.cos(grid)) / (2 * np.pi)
    return Curves(
        [
            Line("both layers", grid, whole),
            seen("both layers", mean.aside["angle"], mean.observed),
            Line("first layer", grid, slope),
            seen("first layer", mean.aside["angle"], first.observed),
        ],
        x="angle between the inputs, in radians",
        y="tangent kernel",
    )


def chained(cosines):
    """Unit vectors, each at the next of these cosines to the one before it, and otherwise in a direction of its own."""
    points = np.eye(len(cosines) + 1)
    for place, cosine in enumerate(cosines, 1):
        points[place] = cosine * points[place - 1] + np.sqrt(1 - cosine**2) * points[place]
    return points


INPUTS = chained((0.5, 0.4, 0.3, 0.2, 0.1, -0.1, -0.2))
ELSEWHERE = (
    np.array(
        [[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, -1, 1, -1, 0, 0], [-1, 1, 0, 0, 0, 0, 1, 1], [1, 0, -1, 0, 1, 0, -1, 0]]
    )
    / 2
)
"""Training inputs, on which the tangent kernel has eigenvalues from 1.2 to 4.0, and four inputs to watch."""
SIGNS = np.tile([1.0, -1.0], 4)
LAZY: dict[str, Any] = dict(activation=erf, weight_scale=1.5)
LAZY_STEPS = 24


def end_of(kernel, **start):
    """Where regression with a kernel ends at the watched inputs, from zero or from the outputs at the start."""
    return predicted(diagonalize(kernel[:8, :8]), interpolation(), SIGNS, kernel[8:, :8], **start)


@jax.jit
@partial(jax.vmap, in_axes=(0, None, None))
def lazy(network, step, limit):
    """Gap, drift, way and size of the parameters, distance of the end from regression with and without f₀, the end.

    Off the end is taken what is due to the start, which has mean zero by the signs of the output weights.
    """
    run = laziness(network, INPUTS, SIGNS, ELSEWHERE, step_size=step, steps=LAZY_STEPS)
    end, plain = end_of(limit, outputs=run.outputs[0], other_outputs=run.other_outputs[0]), end_of(limit)
    far = [jnp.max(jnp.abs(run.other_outputs[-1] - each)) for each in (end, plain)]
    # Second order in how far the outputs have to go, which swings with the start: taken out.
    gap = run.gap / jnp.mean((run.outputs[0] - SIGNS) ** 2)
    scalars = jnp.stack([gap, run.drift, run.displacement, parameter_norm(network), *far])
    return jnp.concatenate([scalars, run.other_outputs[-1] - end + plain])


def slopes_by_hand(inner, outer, x):
    """Outputs of erf networks of one hidden layer and their derivatives by both layers, written out."""
    before, factor = x @ np.swapaxes(inner, -1, -2), LAZY["weight_scale"] / np.sqrt(outer.shape[-1])
    hidden = special.erf(before)
    by_inner = (factor * outer[..., None, :] * 2 / np.sqrt(np.pi) * np.exp(-(before**2)))[..., None] * x[:, None]
    by_both = np.concatenate([factor * hidden, by_inner.reshape(*hidden.shape[:-1], -1)], axis=-1)
    return factor * np.sum(hidden * outer[..., None, :], axis=-1), by_both


def lazy_by_hand(inner, outer, biases, step):
    """Gap, drift, way of the parameters and their size at the start, from θ ← θ − ηJᵀ(f − y) for f and for f_lin.

    Last the gap to the model that is linearized in the output weights alone, and trains no others.
    """
    x, start, width = np.concatenate([INPUTS, ELSEWHERE]), np.concatenate([outer, inner.ravel()]), len(outer)
    outputs, jacobian = slopes_by_hand(inner, outer, x)
    slopes = [jacobian, jacobian[:, :width]]
    first, theta, lines, gaps, present = outputs, start, [np.zeros(each.shape[1]) for each in slopes], [0, 0], jacobian
    for _ in range(LAZY_STEPS):
        theta = theta - step * present[:8].T @ (outputs[:8] - SIGNS)
        outputs, present = slopes_by_hand(theta[width:].reshape(width, 8), theta[:width], x)
        for model, slope in enumerate(slopes):
            left = (first + slope @ lines[model])[:8] - SIGNS
            lines[model] = lines[model] - step * slope[:8].T @ left
            gaps[model] = max(gaps[model], np.max(np.abs(outputs - first - slope @ lines[model])[8:]))
    kernel, after = jacobian[:8] @ jacobian[:8].T, present[:8] @ present[:8].T
    size = np.linalg.norm(np.concatenate([start, biases]))
    drift = np.linalg.norm(after - kernel) / np.linalg.norm(kernel)
    gaps = np.array(gaps) / np.mean((first[:8] - SIGNS) ** 2)
    return gaps[0], drift, np.linalg.norm(theta - start), size, gaps[1]


def limit_by_quadrature(x):
    """σ_w² E[erf(u)erf(u′) + x·x′ erf′(u)erf′(u′)] for Gaussian u, u′ of covariance x·x′, on a grid in the plane."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    one, two = np.meshgrid(nodes, nodes)
    mass = np.outer(weights, weights) / (2 * np.pi)
    product = x @ x.T
    along, across = product, np.sqrt(np.maximum(1 - product**2, 0))  # unit inputs
    other = along[..., None, None] * one + across[..., None, None] * two
    values = special.erf(one) * special.erf(other)
    slopes = 4 / np.pi * np.exp(-(one**2) - other**2)
    mean = np.sum(mass * (values + product[..., None, None] * slopes), axis=(2, 3))
    return LAZY["weight_scale"] ** 2 * mean


@claim(
    items={
        "L7.15": ("distance from the linearization", "training run by hand"),
        "H6.1": ("distance from the linearization", "training run by hand"),
        "H6.4": ("change of the kernel", "way of the parameters", "length of the parameters", "training run by hand"),
        "H6.6": (
            "limit kernel by two routes",
            "distance from kernel regression",
            "kernel of the doubled network",
            "distance from kernel regression, from zero",
            "distance from kernel regression, start left out",
            "mean of the ends",
        ),
    },
    consistency=("kernel of the doubled network",),
    says=r"Trained by gradient descent, an erf network of width $m$ stays within order $1/m$ of its linearization; "
    r"its tangent kernel moves by order $1/m$, its parameters by order 1 while $\|\theta_0\|$ grows like $\sqrt m$. "
    r"Up to order $m^{-1/2}$ it ends at $f_0(x)+\Theta(x,X)\Theta^{-1}(y-f_0(X))$.",
    needs="one hidden layer in tangent scaling, smooth activation, stable steps, targets of fixed size",
    scale="printed: width to infinity; here: 48 to 432, eight training inputs on which the limit kernel has "
    "eigenvalues from 1.2 to 4.0, 24 steps to convergence",
    full=dict(widths=(64, 256, 1024), trials=512),
    symbols={
        "m": "the number of neurons in the hidden layer",
        r"\theta_0": "all parameters at the start",
        "f_0": "the function of the network at the start",
        r"\Theta": r"the limit kernel $\sigma_w^2\mathbb E[\varphi(u)\varphi(u')+x\cdot x'\varphi'(u)\varphi'(u')]$ "
        r"with $u=w\cdot x$",
        "X,y": "training inputs and targets",
    },
    why=r"Each output is a sum of $m$ terms of size $m^{-1/2}$, so an order-one change needs a change of order "
    r"$m^{-1/2}$ in each of $m$ neurons: a way of order 1 in a space where the start is $\sqrt m$ away from the "
    r"origin. Second derivatives act within one neuron; their effects, of order $m^{-1/2}\cdot m^{-1}$ each and of "
    r"random sign, add up to $1/m$. The kernel of one network differs from its mean by $m^{-1/2}$, which is why the "
    r"limit is met more slowly than the network's own linearization. Doubled with opposite signs the network starts "
    r"from zero, and ends at $\Theta(x,X)\Theta^{-1}y$.",
    notice="The distance from the linearized path and the change of the kernel fall twice as fast as the distance from "
    "the limit, while the way of the parameters does not shrink at all: many small steps.",
)
def wide_networks_are_lazy(
    key,
    *,
    widths: Annotated[Sizes, Interval(ge=16, le=100_000)] = (48, 144, 432),
    trials: Trials = 224,
    scaling: Literal["tangent", "mean field"] = "tangent",
):
    everything = np.concatenate([INPUTS, ELSEWHERE])
    wide = fully_connected(8, hidden_layers=1, **{**LAZY, "activation": Erf()})
    limits = limit_kernel(wide, everything, want=("nngp", "ntk"))
    limit, outer = np.asarray(limits.ntk), np.asarray(limits.nngp)
    # Half of what would be stable in the limit: the kernels of narrow networks have larger eigenvalues.
    step = 1 / float(np.linalg.eigvalsh(limit[:8, :8])[-1])
    found, even, written = [], [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        factor, speed = (1.0, 1.0) if scaling == "tangent" else (width**-0.5, width)
        runs = []
        for part in range(4 if scaling == "tangent" else 2):  # halves of both ensembles, all of one shape
            size = width if part < 2 else width // 2
            each = init_mlp(jax.random.fold_in(draw, part), (8, size, 1), ensemble=(trials // 2,), **LAZY)
            if part == 0:
                parts = each.weights[0][:12], each.weights[1][:12, 0], np.concatenate(each.biases, axis=1)[:12]
                written.append([lazy_by_hand(*single, step) for single in zip(*parts, strict=True)])
            each = padded(each if part < 2 else doubled(each), max(widths), output_factor=factor)
            runs.append(np.asarray(lazy(each, step * speed, limit)).T)
        found.append(np.concatenate(runs[:2], axis=1))
        even.append(np.concatenate([run[4] for run in runs[-2:]]))
    gap, drift, moved, size, end, plain, *ends = np.moveaxis(np.asarray(found), 1, 0)
    half = init_mlp(jax.random.fold_in(key, 7), (8, 5, 1), ensemble=(6,), **LAZY)
    both = [slopes_by_hand(each.weights[0], each.weights[1][:, 0], everything)[1] for each in (half, doubled(half))]
    kernels = [jacobian @ np.swapaxes(jacobian, 1, 2) for jacobian in both]
    x, written = np.asarray(widths), np.array(written)
    rival = {"readout alone": written[..., 4]}
    return {
        "training run by hand": Identity(
            np.array([each[:4, :12].T for each in found]),
            written[..., :4],
            scale=10.0,
            size=8.0 * widths[-1],
            aside=rival,
        ),
        # Sixty nodes a direction integrate these functions to about 1e-10.
        "limit kernel by two routes": Identity(limit, limit_by_quadrature(everything), scale=1.0, error=1e-9),
        "kernel of the doubled network": Identity(kernels[1], kernels[0], scale=10.0, size=90.0),
        "distance from the linearization": Rate(x, gap, exponent=-1.0, rivals=(-0.5, -1.5), aside=rival),
        # Widths times drifts still creep up, by a share of order m^(−1/2): an order is stated, no power.
        "change of the kernel": Limit(x, drift, order=1.0),
        "way of the parameters": Rate(x, moved, exponent=0.0, rivals=(0.5, -0.5)),
        "length of the parameters": Rate(x, size, exponent=0.5),
        "distance from kernel regression": Rate(x, end, exponent=-0.5, rivals=(0.0,)),
        "distance from kernel regression, from zero": Rate(x, np.asarray(even), exponent=-0.5, rivals=(0.0,)),
        "distance from kernel regression, start left out": Rate(x, plain, exponent=0.0),
        "mean of the ends": Law(
            end_of(limit),
            np.stack(ends, axis=1),
            along={"input": np.arange(len(ends))},
            sizes=widths,
            order=1.0,
            scale=np.abs(end_of(limit)).max(),
            aside={"output weights": end_of(outer), "hidden weights": end_of(limit - outer)},
        ),
    }


@wide_networks_are_lazy.control("kernel regression without f₀", of="distance from kernel regression, start left out")
def no_initial_function(evidence):
    return replace(evidence, exponent=-0.5)


wide_networks_are_lazy.control("mean-field scaling 1/m", of="change of the kernel", scaling="mean field")


@wide_networks_are_lazy.control(
    "the network stays near the model linear in its output weights", of="distance from the linearization"
)
def near_random_features(evidence):
    return replace(evidence, y=evidence.aside["readout alone"])


@wide_networks_are_lazy.control("linearized in the output weights alone", of="training run by hand")
def readout_alone(evidence):
    right = np.array(evidence.right)
    right[..., 0] = evidence.aside["readout alone"]
    return replace(evidence, right=right)


@wide_networks_are_lazy.control("regression with the kernel of the output weights alone", of="mean of the ends")
def kernel_of_the_output_weights(evidence):
    return replace(evidence, predicted=evidence.aside["output weights"])


@wide_networks_are_lazy.control("regression with the kernel of the hidden weights alone", of="mean of the ends")
def kernel_of_the_hidden_weights(evidence):
    return replace(evidence, predicted=evidence.aside["hidden weights"])


@wide_networks_are_lazy.control("a kernel that moves by order m^(−3/2)", of="change of the kernel")
def half_an_order_less(evidence):
    return replace(evidence, order=1.5)


@wide_networks_are_lazy.picture
def laziness_against_width(pieces):
    """What moves and what does not, on logarithmic axes; the lines have the predicted slopes."""
    names = {
        "distance from the linearization": "largest distance from the linearized path",
        "change of the kernel": "change of the kernel",
        "way of the parameters": "way of the parameters",
        "distance from kernel regression": "distance from the limit",
    }
    marks = [mark for piece, name in names.items() for mark in power_law(name, pieces[piece])]
    return Curves(marks, x="width", y="mean over networks", log="xy")
