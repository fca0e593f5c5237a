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
from deeptheory.lab.pictures import Curves, Dots, Line, seen
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
    says=r"The linearization $f_{lin}=f_0+\partial f_0(\theta-\theta_0)$ misses $f$ by order $\|\theta-\theta_0\|^2$, "
    r"its tangent "
    r"kernel is $\hat\Theta_0=\partial f_0\,\partial f_0^\top\succeq0$ before and after training, and by gradient flow "
    r"on the mean loss its "
    r"outputs are $f_0(x)+\hat\Theta_0(x,X)\hat\Theta_0^{-1}(I-e^{-\hat\Theta_0t/n})(y-f_0(X))$; descent likewise.",
    needs="an activation with two derivatives; distinct training points",
    symbols={
        r"f_0,\partial f_0": r"the network and its derivative by the parameters at the start $\theta_0$",
        r"\hat\Theta_0": "the tangent kernel of this network at the start",
        "X,y": "$n$ training inputs and their targets",
        "t": "the time of the flow",
    },
    why=r"A model linear in its parameters has the same gradients everywhere, hence one kernel for all times, and the "
    r"flow of its outputs is a linear "
    r"equation that the exponential solves. Other inputs are carried along through the kernel between them and the "
    r"training inputs. The network itself "
    r"leaves its tangent plane by the second term of its Taylor series.",
    notice=r"On logarithmic axes the largest distance between network and linearization falls on a line of slope two: "
    r"halve the way, and a quarter "
    r"of the distance is left.",
    explore={"width": (4, 16, 64)},
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
linearized_network.control("flow without 1/n", of="flow", averaged=False)
linearized_network.control("the network's own kernel after training", of="constant", model="network")


@linearized_network.control("the second gradient at x, as the display reads", of="gram")
def one_input_twice(evidence):
    return replace(evidence, right=np.broadcast_to(np.diag(evidence.right)[:, None], evidence.right.shape))


@linearized_network.picture
def off_the_tangent(pieces):
    """How far the network is from its linearization after a way in a random direction, over all inputs the farthest."""
    rate = pieces["remainder"]
    line = rate.y[-1] * (np.asarray(rate.x) / rate.x[-1]) ** rate.exponent
    return Curves(
        [
            Dots("network", rate.x, rate.y),
            Line("predicted", rate.x, line),
            Line("predicted", rate.x, line * rate.x / rate.x[-1], rival="third order"),
        ],
        x="way of the parameters",
        y="distance from the linearization",
        log="xy",
    )


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
    symbols={
        "m": "the number of neurons",
        "a_r,w_r": "output and input weights of neuron $r$, standard normal",
        r"\vartheta": "the angle between two unit inputs",
    },
    why=r"The gradient by $a_r$ is the neuron's output and that by $w_r$ its slope times $a_rx$, so the kernel is a "
    r"mean over neurons of "
    r"$\mathrm{relu}\,\mathrm{relu}+a_r^2\,x\cdot x'\,1\,1$. The two indicators are both one on a wedge of angle "
    r"$\pi-\vartheta$; the product "
    r"of the rectified outputs integrates to the second term. A mean over $m$ independent neurons is exact in "
    r"expectation and off by $m^{-1/2}$.",
    notice=r"The entries of kernels of single networks scatter about the curve of the angle; their mean follows it. "
    r"The share of the first layer alone "
    r"vanishes for orthogonal inputs, that of the output weights does not.",
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
        "mean": Law(limit[pairs], found[:, *pairs].T, exact=True, scale=1.0, aside={"angle": angle[pairs]}),
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


@two_layer_relu_kernel.picture
def kernel_of_the_angle(pieces):
    """The tangent kernel of unit inputs against their angle, with the share of the first layer, and means over "
    "networks."""
    grid, mean, first = np.linspace(0, np.pi, 120), pieces["mean"], pieces["first layer"]
    slope = np.cos(grid) * (np.pi - grid) / (2 * np.pi)
    whole = slope + (np.sin(grid) + (np.pi - grid) * np.cos(grid)) / (2 * np.pi)
    return Curves(
        [
            Line("both layers", grid, whole),
            seen("both layers", mean.aside["angle"], mean.observed),
            Line("first layer", grid, slope),
            seen("first layer", mean.aside["angle"], first.observed),
        ],
        x="angle between the inputs",
        y="tangent kernel",
    )


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
    """Gap, drift, way of the parameters and their size at the start, from θ ← θ − ηJᵀ(f − y) for f and for f_lin.

    Last the gap to the model that is linearized in the output weights alone, and trains no others.
    """
    x, start, width = np.concatenate([CORNERS, BETWEEN]), np.concatenate([outer, inner.ravel()]), len(outer)
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
        "L7.15": ("gap", "by hand"),
        "H6.1": ("gap", "by hand"),
        "H6.4": ("drift", "displacement", "size", "by hand"),
        "H6.6": ("limit", "regression", "same kernel", "doubled", "plain"),
    },
    consistency=("same kernel",),
    says=r"Trained by gradient descent, an erf network of width $m$ stays within order $1/m$ of its own linearization, "
    r"its "
    r"tangent kernel moves by order $1/m$, its parameters by order 1 while $\|\theta_0\|$ grows like $\sqrt m$. Up to "
    r"order "
    r"$m^{-1/2}$ it ends at $f_0(x)+\Theta(x,X)\Theta^{-1}(y-f_0(X))$, doubled to start from zero at "
    r"$\Theta(x,X)\Theta^{-1}y$.",
    needs="one hidden layer in tangent scaling, smooth activation, stable steps, targets of fixed size",
    scale="printed: width to infinity; here: 32 to 288, eight orthonormal training inputs, on which the limit kernel "
    "is a multiple of the identity, 9 steps to convergence",
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
    r"$m^{-1/2}$ in each of $m$ neurons: a "
    r"way of order 1 in a space where the start is $\sqrt m$ away from the origin. Second derivatives act within one "
    r"neuron; their effects, of "
    r"order $m^{-1/2}\cdot m^{-1}$ each and of random sign, add up to $1/m$. The kernel of one network differs from "
    r"its mean by "
    r"$m^{-1/2}$, which is why the limit is met more slowly than the network's own linearization.",
    notice=r"The distance from the linearized path and the change of the kernel fall twice as fast as the distance "
    r"from the limit, while "
    r"the way of the parameters does not shrink at all: many small steps.",
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
            if part == 0:
                parts = each.weights[0][:12], each.weights[1][:12, 0], np.concatenate(each.biases, axis=1)[:12]
                written.append([lazy_by_hand(*single, step) for single in zip(*parts, strict=True)])
            each = padded(each if part < 2 else doubled(each), max(widths), output_factor=factor)
            runs.append(np.asarray(lazy(each, step * speed, limit)).T)
        found.append(np.concatenate(runs[:2], axis=1))
        even.append(np.concatenate([run[4] for run in runs[-2:]]))
    gap, drift, moved, size, end, plain = np.moveaxis(np.asarray(found), 1, 0)
    half = init_mlp(jax.random.fold_in(key, 7), (8, 5, 1), ensemble=(6,), **LAZY)
    both = [slopes_by_hand(each.weights[0], each.weights[1][:, 0], everything)[1] for each in (half, doubled(half))]
    kernels = [jacobian @ np.swapaxes(jacobian, 1, 2) for jacobian in both]
    x, written = np.asarray(widths), np.array(written)
    rival = {"readout alone": written[..., 4]}
    return {
        "by hand": Identity(
            np.array([each[:4, :12].T for each in found]),
            written[..., :4],
            scale=10.0,
            size=8.0 * widths[-1],
            aside=rival,
        ),
        # Sixty nodes a direction integrate these functions to about 1e-10.
        "limit": Identity(limit, limit_by_quadrature(everything), scale=1.0, error=1e-9),
        "same kernel": Identity(kernels[1], kernels[0], scale=10.0, size=90.0),
        "gap": Rate(x, gap, exponent=-1.0, rivals=(-0.5, -1.5), aside=rival),
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


@wide_networks_are_lazy.control("the network stays near the model linear in its output weights", of="gap")
def near_random_features(evidence):
    return replace(evidence, y=evidence.aside["readout alone"])


@wide_networks_are_lazy.control("linearized in the output weights alone", of="by hand")
def readout_alone(evidence):
    right = np.array(evidence.right)
    right[..., 0] = evidence.aside["readout alone"]
    return replace(evidence, right=right)


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
