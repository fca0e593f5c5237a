"""Networks and their linearizations: the model, its kernel and flow, and scalings by the fan-in."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.flatten_util import ravel_pytree
from jax.scipy.special import erf
from scipy.integrate import solve_ivp

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.linearization import fan_out
from deeptheory.kernels.finite.tangents import functional, jacobian_kernel, linearize, tangent_kernel
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.limits.dense_networks import fully_connected
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import (
    diagonalize,
    flow,
    kernel_training,
    predicted,
    trained,
)
from deeptheory.lab import Identity, Inequality, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Line, power_law, seen
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
        "L7.14": ("kernel stays constant", "descent of the linearized network"),
        "J8.4": ("flow of the linearized network", "descent of the linearized network"),
        "H6.1": "error of the linearization",
        "H6.2": ("kernel by finite differences", "eigenvalues are not negative"),
    },
    says=r"The linearization $f_{lin}=f_0+\partial f_0(\theta-\theta_0)$ misses $f$ by order $\|\theta-\theta_0\|^2$, "
    r"its tangent kernel is $\hat\Theta_0=\partial f_0\,\partial f_0^\top\succeq0$ before and after training, and by "
    "gradient flow on the mean loss its outputs are "
    r"$f_0(x)+\hat\Theta_0(x,X)\hat\Theta_0^{-1}(I-e^{-\hat\Theta_0t/n})(y-f_0(X))$; descent likewise.",
    needs="an activation with two derivatives; distinct training points",
    symbols={
        r"f_0,\partial f_0": r"the network and its derivative by the parameters at the start $\theta_0$",
        r"\hat\Theta_0": "the tangent kernel of this network at the start",
        "X,y": "$n$ training inputs and their targets",
        "t": "the time of the flow",
    },
    why="A model linear in its parameters has the same gradients everywhere, hence one kernel for all times, and the "
    "flow of its outputs is a linear equation that the exponential solves. Other inputs are carried along through the "
    "kernel between them and the training inputs. The network itself leaves its tangent plane by the second term of "
    "its Taylor series.",
    notice="On logarithmic axes the largest distance between network and linearization falls on a line of slope two: "
    "halve the way, and a quarter of the distance is left.",
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
        "kernel stays constant": Identity(
            kernels[1 if model == "linearized" else 2], kernels[0], scale=size, size=len(aim)
        ),
        "descent of the linearized network": Identity(
            descended, path, scale=10.0, size=len(aim), condition=DESCENT["steps"]
        ),
        "flow of the linearized network": Identity(
            flowed, start + (jacobian @ solution.y).T, scale=10.0, error=1e-8, size=len(aim)
        ),
        "error of the linearization": Rate(SHIFTS, remainder, exponent=2.0, rivals=(1.0, 3.0)),
        # Central differences of step 1e-5 are right to about 1e-9.
        "kernel by finite differences": Identity(
            kernels[0], differences @ differences.T, scale=size, error=1e-7 * size, size=len(aim)
        ),
        "eigenvalues are not negative": Inequality(-values, 0.0, scale=values[-1]),
    }


linearized_network.control("flow uphill", of="flow of the linearized network", direction="ascent")
linearized_network.control("flow without 1/n", of="flow of the linearized network", averaged=False)
linearized_network.control("the network's own kernel after training", of="kernel stays constant", model="network")


@linearized_network.control("the second gradient at x, as the display reads", of="kernel by finite differences")
def one_input_twice(evidence):
    return replace(evidence, right=np.broadcast_to(np.diag(evidence.right)[:, None], evidence.right.shape))


@linearized_network.picture
def off_the_tangent(pieces):
    """How far the network is from its linearization after a way in a random direction, over all inputs the farthest."""
    marks = power_law("network", pieces["error of the linearization"], rivals={3.0: "third order"})
    return Curves(marks, x="way of the parameters", y="distance from the linearization", log="xy")


squares = jax.jit(
    jax.vmap(lambda network, x: [jnp.mean(f**2, 1) for f in network.preactivations(x)], in_axes=(0, None))
)


@claim(
    items={"L7.13": ("first layer", "second layer", "third layer", "scaled by its own width")},
    says=r"With $f^l=\frac{\sigma_w}{\sqrt{n_{l-1}}}W^lh^{l-1}+\sigma_bb^l$, scaled by the fan-in, every layer has "
    r"variance $\Sigma^l$: exactly in layers 1 and 2, up to order 1/width in layer 3, whatever the width of the layer "
    r"itself. Divided by $\sqrt{n_l}$, as printed, layer 1 has variance $\sigma_w^2\|x\|^2/n_1+\sigma_b^2$.",
    needs=r"standard normal entries; the first layer scaled by $\sigma_w$ alone, so that "
    r"$\Sigma^1=\sigma_w^2\|x\|^2+\sigma_b^2$",
    symbols={
        r"f^l,h^l": r"pre-activations and activations of layer $l$, at an input $x$",
        r"n_l": r"the width of layer $l$",
        r"W^l,b^l": "weights and biases, standard normal",
        r"\Sigma^l": r"the variance of layer $l$ in the limit of infinite width",
    },
    why="A pre-activation is a sum over the layer below, so dividing by the root of how many terms there are keeps "
    "its variance, whatever the width of its own layer. Layers 1 and 2 sum over inputs and over Gaussian neurons, "
    "and are exact; a neuron of layer 2 is Gaussian only given layer 1, with a variance that is random, which makes "
    "layer 3 exact only in the limit. Divided by the root of its own width a layer's variance shrinks as it grows.",
    notice=r"Scaled by the fan-in, all three layers keep their variance at every width. Divided by the root of its "
    r"own width, as printed, the first layer's shrinks towards that of its bias.",
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
        "first layer": Law(predictions[0], first, exact=True, along=along),
        "second layer": Law(predictions[1], second, exact=True, along=along),
        "third layer": Law(
            predictions[2],
            third,
            along={"input": np.arange(2)},
            sizes=np.asarray(widths),
            order=1,
            aside={"layer 2": predictions[1]},
        ),
        "scaled by its own width": Law(shrunk, np.array(own), exact=True, along=along),
    }


@fan_in_scaling.picture
def variances_along_the_width(pieces):
    """Variance of the pre-activations at one input against the width, layer by layer; of the first by its width too."""
    widths = np.asarray(pieces["first layer"].along["width"])
    marks = []
    for name in ("first layer", "second layer", "third layer"):
        level = float(np.asarray(pieces[name].predicted)[0])
        marks += [Line(name, widths, np.full(len(widths), level)), seen(name, widths, pieces[name].observed[:, 0])]
    own, says = pieces["scaled by its own width"], "first layer by its own width, as printed"
    marks += [
        Line("", widths, np.asarray(own.predicted)[:, 0], rival=says),
        seen("", widths, own.observed[:, 0], rival=says),
    ]
    return Curves(marks, x="width of the first hidden layer", y="variance", log="x")


fan_in_scaling.control("scaled by the layer's own width", of="first layer", scaling="fan-out")


@fan_in_scaling.control("layer 2 divided by the root of its own width", of="second layer")
def second_by_its_own(evidence):
    width = np.asarray(evidence.along["width"])[:, None]
    return replace(evidence, predicted=(evidence.predicted - 0.4**2) * width / (width + 5) + 0.4**2)


@fan_in_scaling.control("the variance of layer 2", of="third layer")
def layer_below(evidence):
    return replace(evidence, predicted=evidence.aside["layer 2"])


@fan_in_scaling.control("the first layer divided by its fan-in too", of="first layer")
def divided_by_inputs(evidence):
    return replace(evidence, predicted=(evidence.predicted - 0.4**2) / 3 + 0.4**2)
