"""Networks and their linearizations: the model, its kernel and flow, and how near a wide network stays to it."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.flatten_util import ravel_pytree
from jax.scipy.special import erf
from scipy import special
from scipy.integrate import solve_ivp

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.first_layer import first_layer_gram, first_layer_limit
from deeptheory.kernels.finite.linearization import doubled, fan_out, laziness, padded, parameter_norm
from deeptheory.kernels.finite.tangents import functional, jacobian_kernel, linearize, tangent_kernel
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.limits.fully_connected import fully_connected
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import (
    diagonalize,
    flow,
    interpolation,
    kernel_training,
    predicted,
    trained,
)
from deeptheory.lab import Identity, Inequality, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen
from deeptheory.networks.mlp import MLP, init_mlp

Width = Annotated[int, Interval(ge=2, le=512)]
SCALES: dict[str, Any] = dict(weight_scale=1.3, bias_scale=0.4, input_scale=0.9)
TIMES = np.array([1.0, 3.0, 9.0, 27.0])
SHIFTS = 0.3 * 2.0 ** -np.arange(6)
POINTS, OTHERS, TARGETS = 5, 2, np.array([1.0, -0.5, 0.3, -1.0, 0.8])
DESCENT: dict[str, Any] = dict(step_size=0.03, steps=60)


@jax.jit
def examined(network: MLP, x, direction):
    """Outputs, Jacobian and kernels of a network and of its linearization, at the start and after training it."""
    apply, start = functional(network)
    here, unravel = ravel_pytree(start)
    linear = linearize(apply, start)

    def outputs(theta):
        return apply(unravel(theta), x)[:, 0]

    def loss(values):
        return 0.5 * jnp.sum((linear(values, x[:POINTS])[:, 0] - TARGETS) ** 2)

    def step(values, _):
        after = jax.tree.map(lambda p, g: p - DESCENT["step_size"] * g, values, jax.grad(loss)(values))
        return after, linear(values, x)[:, 0]

    end, path = jax.lax.scan(step, start, None, length=DESCENT["steps"])
    path = jnp.concatenate([path, linear(end, x).T])
    nudges = 1e-5 * jnp.eye(len(here))
    differences = jax.vmap(lambda nudge: (outputs(here + nudge) - outputs(here - nudge)) / 2e-5)(nudges)
    far = jax.vmap(lambda s: outputs(here + s * direction) - linear(unravel(here + s * direction), x)[:, 0])(SHIFTS)
    kernels = [
        tangent_kernel(apply, start, x),
        jacobian_kernel(linear, end, x),
        tangent_kernel(apply, end, x),
    ]
    return outputs(here), jax.jacobian(outputs)(here), differences.T, path, jnp.max(jnp.abs(far), 1), kernels


@jax.jit
def foretold(kernel, outputs):
    """What the closed forms say of flow (on the mean loss) and of descent, on training and on other inputs."""
    inside, cross = kernel[:POINTS, :POINTS], kernel[POINTS:, :POINTS]
    here, there, basis = outputs[:POINTS], outputs[POINTS:], diagonalize(inside)

    def after(t):
        rule = flow(t / POINTS)
        others = predicted(basis, rule, TARGETS, cross, outputs=here, other_outputs=there)
        return jnp.concatenate([trained(basis, rule, TARGETS, outputs=here), others])

    steps = kernel_training(inside, cross, here, there, TARGETS, **DESCENT)
    return jax.vmap(after)(TIMES), jnp.concatenate(steps, axis=1)


@claim(
    items={
        "L7.14": ("constant", "descent"),
        "J8.4": ("flow", "descent"),
        "H6.1": "remainder",
        "H6.2": ("gram", "positive"),
    },
    says=r"The linearization $f_{lin}(\theta)=f(\theta_0)+\partial f(\theta_0)(\theta-\theta_0)$ misses $f$ by order "
    r"$\|\theta-\theta_0\|^2$, its tangent kernel is $\hat\Theta_0=\partial f\,\partial "
    r"f^\top$, positive semidefinite, "
    r"before and after training, and under $\dot\theta=\frac1nDf_0^\top(y-f_{lin})$ its outputs are "
    r"$y+e^{-\hat\Theta_0t/n}(f_0-y)$ on the training points and "
    r"$f_0(x)+\hat\Theta_0(x,X)\hat\Theta_0^{-1}(I-e^{-\hat\Theta_0t/n})(y-f_0)$ elsewhere; gradient descent likewise.",
    needs="an activation with two derivatives; distinct training points",
)
def linearized_network(
    key,
    *,
    width: Width = 16,
    direction: Literal["descent", "ascent"] = "descent",
    averaged: bool = True,
    model: Literal["linearized", "network"] = "linearized",
):
    rng = generator(jax.random.fold_in(key, 1))
    x = rng.standard_normal((POINTS + OTHERS, 3))
    network = init_mlp(key, (3, width, 1), activation=erf, **SCALES)
    aim = rng.standard_normal(sum(leaf.size for leaf in jax.tree.leaves(network)))
    start, jacobian, differences, path, remainder, kernels = jax.tree.map(
        np.asarray, examined(network, x, aim / np.linalg.norm(aim))
    )
    inside = jacobian[:POINTS]
    rate = (1 if direction == "descent" else -1) / (POINTS if averaged else 1)
    solution = solve_ivp(
        lambda t, moved: rate * inside.T @ (TARGETS - start[:POINTS] - inside @ moved),
        (0, TIMES[-1]), np.zeros(len(aim)), "DOP853", t_eval=TIMES, rtol=1e-11, atol=1e-11,
    )  # fmt: skip
    flowed, descended = (np.asarray(part) for part in foretold(kernels[0], start))
    size = float(np.max(np.abs(kernels[0])))
    values = np.linalg.eigvalsh(kernels[0])
    return {
        "constant": Identity(kernels[1 if model == "linearized" else 2], kernels[0], scale=size, size=len(aim)),
        "descent": Identity(descended, path, scale=10.0, size=len(aim), condition=DESCENT["steps"]),
        "flow": Identity(flowed, start + (jacobian @ solution.y).T, scale=10.0, error=1e-8, size=len(aim)),
        "remainder": Rate(SHIFTS, remainder, exponent=2.0, rivals=(1.0, 3.0)),
        # Central differences of step 1e-5 are right to about 1e-9.
        "gram": Identity(kernels[0], differences @ differences.T, scale=size, error=1e-7 * size, size=len(aim)),
        "positive": Inequality(-values, 0.0, scale=values[-1]),
    }


linearized_network.control("flow uphill", of="flow", direction="ascent")
linearized_network.control("flow without 1/n, as printed", of="flow", averaged=False)
linearized_network.control("the network's own kernel after training", of="constant", model="network")


@linearized_network.control("the second gradient at x, as the display reads", of="gram")
def one_input_twice(evidence):
    return replace(evidence, right=np.broadcast_to(np.diag(evidence.right)[:, None], evidence.right.shape))


squares = jax.jit(
    jax.vmap(lambda network, x: [jnp.mean(f**2, 1) for f in network.preactivations(x)], in_axes=(0, None))
)


@claim(
    items={"L7.13": ("first", "second", "third", "own width")},
    says=r"With $f^l=\frac{\sigma_w}{\sqrt{n_{l-1}}}W^lh^{l-1}+\sigma_bb^l$, scaled by the fan-in, "
    r"every layer has variance "
    r"$\Sigma^l$: exactly in layers 1 and 2, up to order 1/width in layer 3, whatever the width of the layer itself. "
    r"Divided by $\sqrt{n_l}$, as printed, layer 1 has variance $\sigma_w^2\|x\|^2/n_1+\sigma_b^2$.",
    needs=r"standard normal entries; the first layer scaled by $\sigma_w$ alone, so that "
    r"$\Sigma^1=\sigma_w^2\|x\|^2+\sigma_b^2$",
    full=dict(trials=20_000),
)
def fan_in_scaling(
    key, *, widths: Sizes = (12, 24, 48), trials: Trials = 6000, scaling: Literal["fan-in", "fan-out"] = "fan-in"
):
    x = np.array([[1.0, 0.0, 0.5], [-0.4, 0.8, 1.0]])
    scales: dict[str, Any] = dict(weight_scale=1.3, bias_scale=0.4, input_scale=1.3)
    found, own = [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        # All layers differ in width: no other number can stand in for the fan-in.
        network = fan_out(init_mlp(draw, (3, width, width + 5, 30), ensemble=(trials,), activation=erf, **scales))
        scale = network.factors[0] * network.scales()[0]
        layer = scale[:, None, None] * (network.weights[0] @ x.T) + 0.4 * network.biases[0][..., None]
        own.append(np.mean(layer**2, axis=1).T)
        if scaling == "fan-in":  # factors of one: both scalings share a compiled program
            network = replace(network, factors=tuple(map(np.ones_like, network.factors)))
        found.append([np.asarray(layer).T for layer in squares(network, x)])
    first, second, third = (np.array([layers[depth] for layers in found]) for depth in range(3))
    predictions = [
        np.diag(limit_kernel(fully_connected(3, hidden_layers=h, activation=Erf(), **scales), x, want=("nngp",)).nngp)
        for h in range(3)
    ]
    along = {"width": np.asarray(widths), "input": np.arange(2)}
    shrunk = 1.3**2 * np.sum(x**2, axis=1) / np.asarray(widths)[:, None] + 0.4**2
    return {
        "first": Law(predictions[0], first, exact=True, along=along),
        "second": Law(predictions[1], second, exact=True, along=along),
        "third": Law(predictions[2], third, along={"input": np.arange(2)}, sizes=np.asarray(widths), order=1),
        "own width": Law(shrunk, np.array(own), exact=True, along=along),
    }


fan_in_scaling.control("scaled by the layer's own width, as printed", erratum="L7.13a", of="first", scaling="fan-out")


@fan_in_scaling.control("the first layer divided by its fan-in too", of="first")
def divided_by_inputs(evidence):
    return replace(evidence, predicted=(evidence.predicted - 0.4**2) / 3 + 0.4**2)


two_layer_kernels = jax.jit(jax.vmap(lambda network, x: tangent_kernel(*functional(network), x), in_axes=(0, None)))
first_layer_grams = jax.jit(jax.vmap(lambda network, x: first_layer_gram(network.weights[0], x), in_axes=(0, None)))


@claim(
    items={"H6.3": ("closed form", "mean", "first layer", "distance"), "H6.4": ("mean", "distance")},
    says=r"For $m^{-1/2}\sum_ra_r\,\mathrm{relu}(w_r\cdot x)$ with standard normal $a,w$ and unit "
    r"inputs at angle $\vartheta$ "
    r"the tangent kernel has mean "
    r"$\cos\vartheta\frac{\pi-\vartheta}{2\pi}+\frac{\sin\vartheta+(\pi-\vartheta)\cos\vartheta}{2\pi}$ "
    r"at every width and differs from it by order $m^{-1/2}$ in the largest entry; training the "
    r"first layer alone, with "
    r"signs $a_r=\pm1$, leaves the first term.",
    needs="no biases; unit inputs",
    scale="printed: width to infinity; here: ten inputs, widths 100 to 1,600",
    full=dict(widths=(100, 400, 1600, 6400)),
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
        "mean": Law(limit[pairs], found[:, *pairs].T, exact=True, scale=1.0),
        "first layer": Law(np.asarray(first_layer_limit(x))[pairs], grams[:, *pairs].T, exact=True, scale=0.5),
        "distance": Rate(np.asarray(widths), np.asarray(distances), exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@two_layer_relu_kernel.control("the covariance of outputs alone")
def covariance_alone(pieces):
    # The second term of the tangent kernel: what the output weights contribute.
    mean, first = pieces["mean"], pieces["first layer"]
    return {"mean": replace(mean, predicted=mean.predicted - first.predicted)}


@two_layer_relu_kernel.control("first layer with the share (π − ϑ)/π of active neurons", of="first layer")
def twice_the_share(evidence):
    return replace(evidence, predicted=2 * evidence.predicted)


CORNERS = np.eye(8)
BETWEEN = (
    np.array(
        [[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, -1, 1, -1, 0, 0], [-1, 1, 0, 0, 0, 0, 1, 1], [1, 0, -1, 0, 1, 0, -1, 0]]
    )
    / 2
)
"""Orthogonal training inputs, whose tangent kernel is a multiple of the identity, and four inputs between them."""
SIGNS = np.tile([1.0, -1.0], 4)
LAZY: dict[str, Any] = dict(activation=erf, weight_scale=1.5)
LAZY_STEPS = 9


@jax.jit
@partial(jax.vmap, in_axes=(0, None, None))
def lazy(network, step, limit):
    """Gap, drift, way and size of the parameters, and distance of the end from regression with and without f₀."""
    run = laziness(network, CORNERS, SIGNS, BETWEEN, step_size=step, steps=LAZY_STEPS)
    basis, cross = diagonalize(limit[:8, :8]), limit[8:, :8]
    start = dict(outputs=run.outputs[0], other_outputs=run.other_outputs[0])
    ends = [predicted(basis, interpolation(), SIGNS, cross, **each) for each in (start, {})]
    far = [jnp.max(jnp.abs(run.other_outputs[-1] - end)) for end in ends]
    # Second order in how far the outputs have to go, which swings with the start: taken out.
    gap = run.gap / jnp.mean((run.outputs[0] - SIGNS) ** 2)
    return jnp.stack([gap, run.drift, run.displacement, parameter_norm(network), *far])


def slopes_by_hand(inner, outer, x):
    """Outputs of erf networks of one hidden layer and their derivatives by both layers, written out."""
    before, factor = x @ np.swapaxes(inner, -1, -2), LAZY["weight_scale"] / np.sqrt(outer.shape[-1])
    hidden = special.erf(before)
    by_inner = (factor * outer[..., None, :] * 2 / np.sqrt(np.pi) * np.exp(-(before**2)))[..., None] * x[:, None]
    by_both = np.concatenate([factor * hidden, by_inner.reshape(*hidden.shape[:-1], -1)], axis=-1)
    return factor * np.sum(hidden * outer[..., None, :], axis=-1), by_both


def lazy_by_hand(inner, outer, biases, step):
    """Gap, drift, way of the parameters and their size at the start, from θ ← θ − ηJᵀ(f − y) for f and for f_lin."""
    x, start, width = np.concatenate([CORNERS, BETWEEN]), np.concatenate([outer, inner.ravel()]), len(outer)
    outputs, jacobian = slopes_by_hand(inner, outer, x)
    first, theta, line, gap, present = outputs, start, start, 0.0, jacobian
    for _ in range(LAZY_STEPS):
        linear = first + jacobian @ (line - start)
        line = line - step * jacobian[:8].T @ (linear[:8] - SIGNS)
        theta = theta - step * present[:8].T @ (outputs[:8] - SIGNS)
        outputs, present = slopes_by_hand(theta[width:].reshape(width, 8), theta[:width], x)
        gap = max(gap, np.max(np.abs(outputs - first - jacobian @ (line - start))[8:]))
    kernel, after = jacobian[:8] @ jacobian[:8].T, present[:8] @ present[:8].T
    size = np.linalg.norm(np.concatenate([start, biases]))
    drift = np.linalg.norm(after - kernel) / np.linalg.norm(kernel)
    return gap / np.mean((first[:8] - SIGNS) ** 2), drift, np.linalg.norm(theta - start), size


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
        "L7.15": ("gap", "by hand"),
        "H6.1": ("gap", "by hand"),
        "H6.4": ("drift", "displacement", "size", "by hand"),
        "H6.6": ("limit", "regression", "same kernel", "doubled", "plain"),
    },
    says=r"Trained by gradient descent, an erf network of width $m$ stays within order $1/m$ of its own linearization "
    r"at all times and inputs (in units of the mean squared residual at the start), and its tangent kernel moves by "
    r"order $1/m$; the parameters move by order 1 while $\|\theta_0\|$ grows like $\sqrt m$. It ends at "
    r"$f_0(x)+\Theta(x,X)\Theta^{-1}(y-f_0(X))$ with the limit kernel "
    r"$\Theta=\sigma_w^2\mathbb E[\varphi(u)\varphi(u')+x\cdot x'\varphi'(u)\varphi'(u')]$, $u=w\cdot x$, up to order "
    r"$m^{-1/2}$; a network doubled to start from zero, which keeps its tangent kernel, ends at "
    r"$\Theta(x,X)\Theta^{-1}y$, and any other misses that by order 1 at every width.",
    needs="one hidden layer in tangent scaling, smooth activation, stable steps, targets of fixed size",
    scale="printed: width to infinity; here: 32 to 288, eight orthonormal training inputs, on which the limit kernel "
    "is a multiple of the identity, 9 steps to convergence",
    full=dict(widths=(64, 256, 1024), trials=512),
)
def wide_networks_are_lazy(
    key,
    *,
    widths: Annotated[Sizes, Interval(ge=16, le=100_000)] = (32, 96, 288),
    trials: Trials = 224,
    scaling: Literal["tangent", "mean field"] = "tangent",
):
    everything = np.concatenate([CORNERS, BETWEEN])
    wide = fully_connected(8, hidden_layers=1, **{**LAZY, "activation": Erf()})
    limit = np.asarray(limit_kernel(wide, everything, want=("ntk",)).ntk)
    step = 0.8 / float(np.linalg.eigvalsh(limit[:8, :8])[-1])
    found, even, written = [], [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        factor, speed = (1.0, 1.0) if scaling == "tangent" else (width**-0.5, width)
        runs = []
        for part in range(4 if scaling == "tangent" else 2):  # halves of both ensembles, all of one shape
            size = width if part < 2 else width // 2
            each = init_mlp(jax.random.fold_in(draw, part), (8, size, 1), ensemble=(trials // 2,), **LAZY)
            if not written:
                parts = each.weights[0][:12], each.weights[1][:12, 0], np.concatenate(each.biases, axis=1)[:12]
                written = [lazy_by_hand(*single, step) for single in zip(*parts, strict=True)]
            each = padded(each if part < 2 else doubled(each), max(widths), output_factor=factor)
            runs.append(np.asarray(lazy(each, step * speed, limit)).T)
        found.append(np.concatenate(runs[:2], axis=1))
        even.append(np.concatenate([run[4] for run in runs[-2:]]))
    gap, drift, moved, size, end, plain = np.moveaxis(np.asarray(found), 1, 0)
    half = init_mlp(jax.random.fold_in(key, 7), (8, 5, 1), ensemble=(6,), **LAZY)
    both = [slopes_by_hand(each.weights[0], each.weights[1][:, 0], everything)[1] for each in (half, doubled(half))]
    kernels = [jacobian @ np.swapaxes(jacobian, 1, 2) for jacobian in both]
    x = np.asarray(widths)
    return {
        "by hand": Identity(found[0][:4, :12].T, np.array(written), scale=10.0, size=8.0 * widths[0]),
        # Sixty nodes a direction integrate these functions to about 1e-10.
        "limit": Identity(limit, limit_by_quadrature(everything), scale=1.0, error=1e-9),
        "same kernel": Identity(kernels[1], kernels[0], scale=10.0, size=90.0),
        "gap": Rate(x, gap, exponent=-1.0, rivals=(-0.5, -1.5)),
        "drift": Rate(x, drift, exponent=-1.0, rivals=(-0.5, 0.0)),
        "displacement": Rate(x, moved, exponent=0.0, rivals=(0.5, -0.5)),
        "size": Rate(x, size, exponent=0.5),
        "regression": Rate(x, end, exponent=-0.5, rivals=(0.0,)),
        "doubled": Rate(x, np.asarray(even), exponent=-0.5, rivals=(0.0,)),
        "plain": Rate(x, plain, exponent=0.0),
    }


@wide_networks_are_lazy.control("kernel regression without f₀", of="plain")
def no_initial_function(evidence):
    return replace(evidence, exponent=-0.5)


wide_networks_are_lazy.control("mean-field scaling 1/m", of="drift", scaling="mean field")


@wide_networks_are_lazy.picture
def laziness_against_width(pieces):
    """What moves and what does not, on logarithmic axes; the lines have the predicted slopes."""
    names = {
        "gap": "largest distance from the linearized path",
        "drift": "change of the kernel",
        "displacement": "way of the parameters",
        "regression": "distance from the limit",
    }
    marks = []
    for piece, name in names.items():
        rate = pieces[piece]
        means = np.mean(rate.y, axis=1)
        centre = np.exp(np.mean(np.log(means)) - rate.exponent * np.mean(np.log(rate.x)))
        marks += [seen(name, rate.x, rate.y), Line(name, rate.x, centre * np.asarray(rate.x) ** rate.exponent)]
    return Curves(marks, x="width", y="mean over networks", log="xy")
