"""Path-SGD beside gradient descent: what does not see the scale of hidden units, and which solution it selects.

arora 8.1, which points to Neyshabur, Salakhutdinov and Srebro 2015.
"""

import itertools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.linalg
from annotated_types import Interval

from deeptheory.foundations.flows import followed
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.norms import relu_network
from deeptheory.implicit_bias.least_squares import nearest_solution
from deeptheory.implicit_bias.mirror import bregman_projection
from deeptheory.implicit_bias.path_geometry import path_curvatures, path_descent, rescaled_units
from deeptheory.implicit_bias.potentials import hypentropy
from deeptheory.implicit_bias.reparametrization import products, reparametrized_flow
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Dots, Line, Plane
from deeptheory.optimization.runs import trajectory
from deeptheory.optimization.stochastic import minibatches

WIDTHS = (3, 6, 5, 2)
POWERS = (1.0, 2.0, 3.5)
FACTORS = np.array([1.3, 2.0, 4.0])
DEPTHS = (2, 3, 4)
ROW, LABEL, SHOWN = np.array([[1.4, 0.84]]), np.array([3.64]), np.array([0.5, 0.7])
"""one equation in two unknowns and a start, for the picture"""


def by_the_root(step_size):
    """Steps divided by √κ, as adaptive methods divide by the root of a mean square."""

    def update(updates, state, params=None, **_):
        pairs = zip(updates, path_curvatures(params), strict=True)  # pyright: ignore[reportArgumentType]
        return [-step_size * gradient / jnp.sqrt(curvature) for gradient, curvature in pairs], state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)


METHODS = {"path": path_descent(0.05), "gradient": optax.sgd(0.005), "root": by_the_root(0.02)}


def changes_of_paths(layers, power, delta):
    """(‖π(w + δe) − π(w)‖_p/δ)² for every weight e, all products along paths multiplied out one by one."""
    paths = list(itertools.product(*(range(width) for width in WIDTHS)))

    def of_all_paths(weights):
        edges = [[each[path[i + 1], path[i]] for i, each in enumerate(weights)] for path in paths]
        return np.prod(np.array(edges), axis=1)

    before, found = of_all_paths(layers), []
    for place, layer in enumerate(layers):
        for at in np.ndindex(layer.shape):
            changed = [each.copy() for each in layers]
            changed[place][at] += delta
            found.append((np.linalg.norm(of_all_paths(changed) - before, power) / delta) ** 2)
    return np.array(found)


def path_flow(design, labels, factors, times):
    """u̇ = −∂L/∂u/κ of the network w = u₁∘…∘u_L on ½‖Xw − y‖², every coordinate a chain of units; w at these times."""
    depth, width = factors.shape

    @jax.jit
    def velocity(flat):
        chain = flat.reshape(depth, width)
        slope = jax.grad(lambda u: jnp.sum((design @ jnp.prod(u, 0) - labels) ** 2) / 2)(chain)
        curvatures = jax.vmap(lambda u: jnp.stack(path_curvatures(list(u[:, None, None]))), in_axes=1)(chain)
        return -(slope / curvatures[:, :, 0, 0].T).ravel()

    run = followed(lambda t, flat: velocity(flat), 0.0, factors.ravel(), times, method="DOP853", tolerance=1e-11)
    return np.prod(run.reshape(-1, depth, width), axis=1)


@claim(
    items={"A8.39": ("outputs from rescaled starts", "change of all path products", "limits from rescaled starts")},
    says=r"Path-SGD, $w_e\leftarrow w_e-\frac\eta{\kappa_e}\partial_eL$, computes the same from units with incoming "
    r"weights times $c$ and outgoing ones over $c$; SGD does not. On $w=u_1\odot\dots\odot u_K$ its flow is $\dot "
    r"w=-K\nabla L$, with the nearest solution as limit.",
    needs="ReLU or linear units without biases; for the limit: no weight passes zero on the way",
    symbols={
        r"c": "any positive factor, one for each hidden unit",
        r"w_e,\partial_eL": "a weight, and the derivative of the loss along it",
        r"\eta": "the step size",
        r"\kappa_e": "the sum over all paths through $e$ of the squared products of their other weights",
        r"u_1,\dots,u_K": "the layers of a diagonal network, one weight a coordinate and layer",
    },
    why=r"A path through a hidden unit enters and leaves it once, so $c$ cancels in all products along paths, of which "
    r"the outputs are made. With $w_e$ times $c$, $\partial_eL$ is divided by $c$ and $\kappa_e$ by $c^2$: the step is "
    r"multiplied by $c$ as the weight is. In a chain $\dot u_k=-\partial L\,/\prod_{l\ne k}u_l$, so each layer adds "
    r"$-\partial L$ to $\dot w$, and what gradient flow keeps, $u^2-v^2$, has no say any more.",
    notice="From one $w$ with units scaled in three ways path-SGD takes one straight way to the foot of the "
    "perpendicular. Gradient flow takes three ways to three solutions.",
    explore={"spread": (0.5, 1.0, 1.5)},
)
def path_descent_ignores_rescaling(key, *, spread: Annotated[float, Interval(ge=0.1, le=2.0)] = 1.0):
    draw = generator(key)
    layers = [draw.standard_normal((b, a)) * np.sqrt(2 / a) for a, b in itertools.pairwise(WIDTHS)]
    factors = [np.exp(draw.uniform(-spread, spread, width)) for width in WIDTHS[1:-1]]
    inputs, targets = jnp.asarray(draw.standard_normal((20, 3))), jnp.asarray(draw.standard_normal((20, 2)))
    batches = minibatches(key, examples=20, batch=5, steps=40)[0]

    def loss(weights, chosen):
        return jnp.mean((relu_network(weights, inputs[chosen]) - targets[chosen]) ** 2)

    @jax.jit
    def runs(start):
        ways = [trajectory(loss, each, start, steps=40, batches=batches).position for each in METHODS.values()]
        return [jax.vmap(lambda weights: relu_network(weights, inputs))(way) for way in ways]

    seen, scaled = (np.asarray(runs(start)) for start in (layers, rescaled_units(layers, factors)))
    curvatures = [np.concatenate([np.ravel(each) for each in path_curvatures(layers, power=power)]) for power in POWERS]
    moved = np.array([changes_of_paths(layers, power, 0.5) for power in POWERS])

    # Two layers: limits of both flows, from one w₀ whose units are scaled in several ways.
    left, right = (np.linalg.qr(draw.standard_normal((size, 2)))[0] for size in (2, 5))
    design, begin = left * np.array([1.0, 1.4]) @ right.T, draw.uniform(0.8, 1.6, 5)
    away = draw.standard_normal(5)
    labels = design @ (begin + 0.5 * away / np.linalg.norm(right.T @ away))
    times = np.append(np.linspace(0.0, 1.0, 6), 40.0)
    # Six problems in one: this one and that of the picture, each from units scaled by three factors.
    blocks = scipy.linalg.block_diag(*[design] * 3, *[ROW] * 3)
    wanted = np.concatenate([*[labels] * 3, *[LABEL] * 3])
    from_w, by = np.concatenate([*[begin] * 3, *[SHOWN] * 3]), np.repeat([*FACTORS, *FACTORS], [5, 5, 5, 2, 2, 2])
    pair = np.stack([by * np.sqrt(from_w), np.sqrt(from_w) / by])
    by_paths = path_flow(blocks, wanted, pair, times)
    slopes = reparametrized_flow(products, lambda w: jnp.sum((blocks @ w - wanted) ** 2) / 2, tuple(pair), times)
    ways = np.stack([by_paths, products(np.split(slopes, 2, axis=1))])
    # u∘v = ((u + v)/2)² − ((u − v)/2)², whose flow keeps the product of the two squared: (u² − v²)/4.
    scales = [np.sqrt(begin * (c**2 - c**-2) / 4) for c in FACTORS]
    mirrored = np.array([bregman_projection(hypentropy(scale), design, labels, begin) for scale in scales])
    nearest = np.broadcast_to(nearest_solution(design, labels, begin), mirrored.shape)

    # Any number of layers: the whole path in closed form.
    gram, rest = design @ design.T, labels - design @ begin
    deep, closed, slower = [], [], []
    for depth in DEPTHS:
        shares = np.exp(draw.uniform(-0.5, 0.5, (depth - 1, 5)))
        deep.append(path_flow(design, labels, np.vstack([shares, begin / np.prod(shares, 0)]), times))
        for speed, kept in ((depth, closed), (depth - 1, slower)):
            gone = [rest - scipy.linalg.expm(-speed * t * gram) @ rest for t in times]
            kept.append(begin + np.linalg.solve(gram, np.array(gone).T).T @ design)

    return {
        "outputs from rescaled starts": Identity(
            scaled[0],
            seen[0],
            scale=np.abs(seen[0]).max(),
            error=1e-10,  # rounding, which forty steps may amplify; the rivals part by a tenth
            aside={"by gradients": (scaled[1], seen[1]), "by the root": (scaled[2], seen[2])},
        ),
        "change of all path products": Identity(np.array(curvatures), moved, condition=100.0, along={"p": POWERS}),
        "limits from rescaled starts": Identity(
            ways[:, -1, :15].reshape(2, 3, 5),
            np.stack([nearest, mirrored]),
            scale=np.linalg.norm(begin),
            error=1e-7,
            aside={"ways": ways[:, :, 15:].reshape(2, len(times), 3, 2)},
        ),
        "weights along the flow of deep chains": Identity(
            np.array(deep),
            np.array(closed),
            scale=np.linalg.norm(begin),
            error=1e-7,
            along={"layers": DEPTHS, "time": times},
            aside={"one layer less": np.array(slower)},
        ),
    }


@path_descent_ignores_rescaling.picture
def one_way_or_three(pieces):
    """Ways of w = u∘v from one point with units scaled by three factors, to the line of solutions of one equation."""
    by_paths, by_slope = np.asarray(pieces["limits from rescaled starts"].aside["ways"])
    line = np.array([0.5, 2.2])
    marks = [Line("solutions", line, (LABEL[0] - ROW[0, 0] * line) / ROW[0, 1], dashed=True)]
    for name, ways in (("path-SGD", by_paths), ("gradient flow", by_slope)):
        for way in np.swapaxes(ways, 0, 1):
            marks += [Line(name, *way.T, arrow=True), Dots(name, *way[-1:].T)]
    return Plane(marks, x="first weight", y="second weight")


@path_descent_ignores_rescaling.control("so do stochastic gradients", of="outputs from rescaled starts")
def by_gradients(evidence):
    left, right = evidence.aside["by gradients"]
    return replace(evidence, left=left, right=right, scale=np.abs(right).max())


@path_descent_ignores_rescaling.control("so do steps divided by √κ", of="outputs from rescaled starts")
def divided_by_the_root(evidence):
    left, right = evidence.aside["by the root"]
    return replace(evidence, left=left, right=right, scale=np.abs(right).max())


@path_descent_ignores_rescaling.control("the ℓ2 norm of changes for every p", of="change of all path products")
def always_squares(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right[1], evidence.right.shape))


@path_descent_ignores_rescaling.control("gradient flow ends there too", of="limits from rescaled starts")
def also_by_gradients(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right[:1], evidence.right.shape))


@path_descent_ignores_rescaling.control("K − 1 times as fast", of="weights along the flow of deep chains")
def one_layer_less(evidence):
    return replace(evidence, right=evidence.aside["one layer less"])
