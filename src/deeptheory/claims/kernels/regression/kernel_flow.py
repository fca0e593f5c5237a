"""Gradient descent and flow in function space: each eigendirection of the kernel is learned at its own speed.

arora 3.2, lucchi 7.1.2, jagannath 8.3, handbook 6.3.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from deeptheory.data import digits
from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.features import RandomFeatures
from deeptheory.kernels.finite.function_space import kernel_gradient_descent, kernel_velocity
from deeptheory.kernels.lazy.training import train
from deeptheory.kernels.limits.dense_networks import conditional_covariance, layerwise_ntk
from deeptheory.kernels.regression.mercer import rkhs_norm_square
from deeptheory.kernels.regression.predictions import (
    descent,
    diagonalize,
    flow,
    interpolation,
    largest_step,
    predicted,
    residual,
    trained,
)
from deeptheory.lab import Exact, Identity, Rate, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.networks.mlp import init_mlp

Points = Annotated[int, Interval(ge=3, le=50)]
Features = Annotated[int, Interval(ge=10, le=500)]
STEPS = 30
TIMES = np.array([0.0, 0.02, 0.1, 0.5, 2.0])

# One compiled function an experiment: most of the seconds of these claims would otherwise be compilation.


@jax.jit
def descended(kernel, cross, y, step):
    """Predictions at other points, residual, share left of each mode, for 0 to 30 steps; the limit of the weights."""
    basis, counts = diagonalize(kernel), jnp.arange(STEPS + 1)

    def after(count):
        rule = descent(count, step_size=step)
        left = y - trained(basis, rule, y)
        return predicted(basis, rule, y, cross), left, residual(rule)(basis.values)

    return *jax.vmap(after)(counts), basis.transform(interpolation(), y)


@jax.jit
def flowed(kernel, cross, y, outputs, other_outputs, times):
    """Outputs at training and at other points along gradient flow at the given times."""
    basis = diagonalize(kernel)

    def at(time):
        given = dict(outputs=outputs)
        here = trained(basis, flow(time), y, **given)
        return here, predicted(basis, flow(time), y, cross, **given, other_outputs=other_outputs)

    return jax.vmap(at)(times)


@jax.jit
def random_feature_model(directions, theta, x, other, y):
    """Kernel of the model at all points, its tangent kernel by differentiation, and −∇R of the mean risk."""
    model = RandomFeatures(directions, jnp.zeros(len(directions)), jnp.tanh)
    jacobian = jax.jacrev(lambda theta: model.outputs(theta, x))(theta)
    force = -jax.grad(lambda theta: jnp.mean((model.outputs(theta, x) - y) ** 2) / 2)(theta)
    return model.kernel(jnp.concatenate([x, other])), jacobian @ jacobian.T, force


@jax.jit
def eigenmodes(kernel, y, start, step, counts):
    """Eigenbasis, outputs after so many steps and after as much time of the flow, and the weights α after the last."""
    basis = diagonalize(kernel)

    def after(count):
        filters = descent(count, step_size=step), flow(step * count)
        return [trained(basis, rule, y, outputs=start) for rule in filters]

    return basis, *jax.vmap(after)(counts), basis.transform(descent(counts[-1], step_size=step), y - start)


network_kernels = jax.jit(
    lambda network, x: (layerwise_ntk(network, x).sum(0)[:, :, 0, 0], conditional_covariance(network, x))
)


@claim(
    items={
        "A3.10": (
            "outputs at the data",
            "outputs elsewhere",
            "weights of the data",
            "residual in closed form",
            "each eigendirection",
            "limit of descent",
            "steps that converge",
        )
    },
    says=r"$\alpha\leftarrow\alpha-\eta(G\alpha-y)$ makes the same predictions at every step as gradient descent on "
    r"the features; the residual is $(I-\eta G)^ty$, so that the direction of eigenvalue $\lambda$ shrinks by "
    r"$1-\eta\lambda$ a step, and for $\eta<2/\lambda_{\max}(G)$, and no larger one, $\alpha\to G^{-1}y$.",
    needs="G invertible for the limit; start at zero",
    symbols={
        r"\alpha": "one weight for each sample, of the function $\\sum_i\\alpha_iK(\\cdot,x_i)$",
        "G": "the matrix of inner products of the samples' features",
        r"\eta,t": "size and number of steps",
        r"\lambda": "an eigenvalue of $G$",
    },
    why=r"From zero, gradient descent on the weights $\theta$ of features never leaves the span of the samples: "
    r"$\theta=\Phi^\top\alpha$. Put into the step this gives $\alpha\leftarrow\alpha-\eta(G\alpha-y)$, in which "
    "features appear through inner products alone. In the eigenbasis of $G$ each direction is multiplied by "
    r"$1-\eta\lambda$, which is a contraction for all of them exactly when $\eta<2/\lambda_{\max}$.",
    notice=r"The fastest directions overshoot and change sign at every step, since here $\eta\lambda_{\max}=1.5$, the "
    r"slow ones creep; the steps taken in feature space lie on the powers $(1-\eta\lambda)^t$, not on the exponentials "
    "of the flow.",
)
def kernel_descent_needs_no_features(key, *, points: Points = 10, features: Features = 40):
    draw = generator(key)
    here, there, y = (draw.standard_normal(shape) for shape in ((points, features), (6, features), points))
    kernel, cross = here @ here.T, there @ here.T
    values, vectors = np.linalg.eigh(kernel)
    assume(6000 * values[0] > 40 * values[-1], "G is invertible, and 6,000 steps reach the limit")
    step = 1.5 / values[-1]
    theta, path = np.zeros(features), []
    for _ in range(STEPS + 1):
        path.append(theta)
        theta = theta - step * here.T @ (here @ theta - y)
    path = np.array(path)
    outputs, dual = kernel_gradient_descent(lambda f: f - y, kernel, np.zeros(points), step_size=step, steps=STEPS)
    on_others, rest, shrinking, limit = map(np.asarray, descended(kernel, cross, y, step))
    weights, left = np.zeros(points), [y]
    for _ in range(STEPS):
        weights = weights - step * (kernel @ weights - y)
        left.append(y - kernel @ weights)
    shares = np.array([0.5, 0.99, 1.01, 1.99, 2.01, 2.5])
    # 800 steps of each length; the top direction has then shrunk to 0.99⁸⁰⁰ or grown to 1.01⁸⁰⁰ near the threshold.
    each, tops = np.zeros((len(shares), points)), vectors[:, -1]
    lengths = shares[:, None] * float(largest_step(kernel)) / 2
    for _ in range(800):
        each = each - lengths * (each @ kernel - y)
    alpha = np.zeros(points)
    for _ in range(6000):
        alpha = alpha - step / 1.5 * (kernel @ alpha - y)
    size = np.linalg.norm(y)
    condition = values[-1] / values[0]
    close: dict[str, Any] = dict(scale=size, condition=condition, size=features)
    modes = (path @ here.T - y) @ vectors / -(vectors.T @ y)
    weakest = np.min(np.abs(vectors.T @ y))
    return {
        "outputs at the data": Identity(np.asarray(outputs), path @ here.T, **close),
        "outputs elsewhere": Identity(on_others, path @ there.T, **close),
        "weights of the data": Identity(
            -np.asarray(dual), weights, scale=size / values[0], condition=condition, size=features
        ),
        "residual in closed form": Identity(np.array(left), rest, **close),
        "each eigendirection": Identity(
            modes,
            shrinking,
            scale=size / weakest,
            size=features,
            along={"step": np.arange(STEPS + 1), "speed": step * values},
        ),
        "limit of descent": Identity(
            np.stack([alpha, np.linalg.solve(kernel, y)]),
            np.broadcast_to(limit, (2, points)),
            scale=size / values[0],
            condition=condition,
            size=features,
        ),
        "steps that converge": Exact(
            np.abs((each @ kernel - y) @ tops) < np.abs(y @ tops), shares < 2, along={"step times λ_max": shares}
        ),
    }


@kernel_descent_needs_no_features.control(
    r"$e^{-\eta\lambda t}$, the flow in place of the steps", of="each eigendirection"
)
def continuous_modes(evidence):
    return replace(evidence, right=np.exp(-evidence.along["step"][:, None] * evidence.along["speed"]))


@kernel_descent_needs_no_features.picture
def modes_shrink(pieces):
    """What is left of the residual along three eigendirections, step by step; dots from descent on the features."""
    modes = pieces["each eigendirection"]
    steps, speeds = modes.along["step"][:13], modes.along["speed"]
    marks = []
    for index in (-1, len(speeds) // 2, 0):
        name = f"ηλ = {speeds[index]:.2g}"
        marks += [Line(name, steps, modes.right[:13, index]), Dots(name, steps, modes.left[:13, index])]
    fine = np.linspace(0, steps[-1], 100)
    marks.append(Line("flow", fine, np.exp(-speeds[-1] * fine), rival="the flow in place of the steps"))
    return Curves(marks, x="step", y="share of the residual left")


@kernel_descent_needs_no_features.control(r"only steps below $1/\lambda_{\max}$ converge", of="steps that converge")
def half_the_steps(evidence):
    return replace(evidence, right=evidence.along["step times λ_max"] < 1)


def integrated(here, y, theta):
    """Parameters along θ̇ = −Φᵀ(Φθ − y) at the watched times, by an adaptive method of order eight."""
    found = solve_ivp(
        lambda _, theta: here.T @ (y - here @ theta), (0, TIMES[-1]), theta, "DOP853", TIMES, rtol=1e-12, atol=1e-12
    )
    return found.y.T


@claim(
    items={
        "L7.5": ("outputs from zero", "outputs from any start", "limit of the flow", "descent near the flow"),
        "J8.6": (
            "velocity of the outputs",
            "tangent kernel of the features",
            "parameters and functions",
            "slow flow on the data",
        ),
    },
    says=r"Gradient flow on $\frac12\|f(X)-y\|^2$ in a model linear in its parameters gives $f_t(x)=f_0(x)+"
    r"K_xK^{-1}(I-e^{-Kt})(y-f_0(X))$; descent with step $\eta$ differs by order $\eta$. For the mean risk of "
    r"$f=m^{-1/2}\sum\theta_i\phi_i$, $\dot f(x)=+\frac1nK(x,X)(y-f)$ with $K=\frac1m\sum\phi_i\phi_i$ at every "
    r"$\theta$.",
    needs="a model linear in its parameters; K invertible",
    symbols={
        "f_t": "the function at time $t$ of the flow, $f_0$ at the start",
        "K,K_x": "the kernel between the training inputs $X$, and between $x$ and these",
        "y": "the targets of the $n$ training inputs",
        r"\phi_i,\theta_i": "the $m$ features and their weights",
    },
    why=r"The outputs obey the linear equation $\dot f=K(y-f)$, solved by the matrix exponential; what happens at $x$ "
    "is what $K_xK^{-1}$ makes of the motion at the training inputs, for both come from the same motion of the "
    r"parameters. The kernel does not depend on $\theta$, since the gradient of a linear model does not. From zero the "
    r"limit is $K_xK^{-1}y$; Euler's method with step $\eta$ is off by order $\eta$.",
    notice="Outputs at inputs that were not trained on start where the random start puts them and settle as the data "
    "are fitted; the formula that takes the start for zero is off all the way.",
)
def kernel_flow(
    key, *, points: Points = 10, features: Features = 40, start: Literal["known", "taken for zero"] = "known"
):
    draw = generator(key)
    scale = features**-0.5
    here, there = (scale * draw.standard_normal((count, features)) for count in (points, 6))
    y, begin = draw.standard_normal(points), draw.standard_normal(features)
    kernel, cross = here @ here.T, there @ here.T
    times = np.append(TIMES, np.inf)
    first = np.asarray(flowed(kernel, cross, y, np.zeros(points), np.zeros(6), times)[1])
    given = 1.0 if start == "known" else 0.0
    later = np.asarray(flowed(kernel, cross, y, given * here @ begin, given * there @ begin, times)[1])
    paths = [integrated(here, y, theta) @ there.T for theta in (np.zeros(features), begin)]
    size = np.linalg.norm(y) + np.linalg.norm(begin)
    steps = np.array([0.1, 0.05, 0.025, 0.0125, 0.00625])
    gaps = []
    for step in steps:
        theta = begin
        for _ in range(round(0.5 / step)):
            theta = theta - step * here.T @ (here @ theta - y)
        gaps.append(np.linalg.norm(there @ theta - paths[1][3]))
    # The same model as m random features, with the mean risk in place of the sum.
    directions = draw.standard_normal((features, 3))
    x, other = draw.standard_normal((points, 3)), draw.standard_normal((6, 3))
    at, far = (np.tanh(each @ directions.T) * scale for each in (x, other))
    places = (begin, draw.standard_normal(features))
    found = [random_feature_model(directions, theta, x, other, y) for theta in places]
    both, tangents = np.asarray(found[0][0]), np.array([each[1] for each in found])
    gram, mixed = both[:points, :points], both[points:, :points]
    # Outputs are linear in θ: their change over the step θ̇ is the derivative along the flow.
    motion = far @ np.asarray(found[0][2])
    theta = begin
    for _ in range(STEPS):
        theta = theta - 0.3 * at.T @ (at @ theta - y) / points
    path, dual = kernel_gradient_descent(lambda f: (f - y) / points, gram, at @ begin, step_size=0.3, steps=STEPS)
    in_space = np.append(path[-1], far @ begin - mixed @ np.asarray(dual))
    slow, _ = flowed(gram, mixed, y, at @ begin, far @ begin, np.full(6, 3.0 / points))
    decayed = y + expm(-gram * 3.0 / points) @ (at @ begin - y)
    least = np.linalg.lstsq(here, y)[0]
    weights: dict[str, Any] = dict(scale=size, condition=np.linalg.cond(kernel), size=features)
    return {
        "outputs from zero": Identity(paths[0], first[:-1], scale=size, error=1e-9 * size),
        "outputs from any start": Identity(paths[1], later[:-1], scale=size, error=1e-9 * size, along={"time": TIMES}),
        "limit of the flow": Identity(first[-1], there @ least, **weights),
        "descent near the flow": Rate(steps, np.array(gaps), exponent=1.0, rivals=(2.0, 0.5)),
        "velocity of the outputs": Identity(
            motion,
            np.asarray(kernel_velocity(mixed, y - at @ begin)),
            scale=size,
            size=features,
            along={"samples": np.array(points)},
        ),
        "tangent kernel of the features": Identity(
            tangents, np.broadcast_to(at @ at.T, (2, points, points)), scale=1.0, size=9
        ),
        "parameters and functions": Identity(in_space, np.append(at @ theta, far @ theta), scale=size, size=features),
        "slow flow on the data": Identity(np.asarray(slow)[0], decayed, scale=size, size=points),
    }


kernel_flow.control("$K_xK^{-1}(I-e^{-Kt})y$ from any start", of="outputs from any start", start="taken for zero")


@kernel_flow.picture
def outputs_in_time(pieces):
    """Outputs at three other inputs along the flow: dots by integrating the parameters, lines by the formula."""
    from_zero, start = pieces["outputs from zero"], pieces["outputs from any start"]
    times, marks = start.along["time"], []
    for index in range(3):
        name = f"input {index + 1}"
        marks += [Line(name, times, start.right[:, index]), Dots(name, times, start.left[:, index])]
    marks.append(Line("input 1", times, from_zero.right[:, 0], rival="the start taken for zero"))
    return Curves(marks, x="training time", y="output")


@kernel_flow.control("the factor −½", of="velocity of the outputs")
def minus_half(evidence):
    return replace(evidence, right=-0.5 * evidence.along["samples"] * evidence.right)


@kernel_flow.control("the factor +½", of="velocity of the outputs")
def plus_half(evidence):
    return replace(evidence, right=0.5 * evidence.along["samples"] * evidence.right)


def small_digits(draw, count):
    """Digits of 7×7 pixels, of unit length, and ±1 for even and odd."""
    kept = digits()
    chosen = draw.choice(len(kept.train_labels), count, replace=False)
    images = kept.train_images[chosen].reshape(count, 7, 2, 7, 2).mean((2, 4)).reshape(count, 49)
    return images / np.linalg.norm(images, axis=1, keepdims=True), 1.0 - 2 * (kept.train_labels[chosen] % 2)


@claim(
    items={
        "H6.5": (
            "trained network",
            "flow in closed form",
            "steps in closed form",
            "steps that are too large",
            "a narrow network catapults",
        ),
    },
    says=r"Gradient flow takes the outputs to $f_t=y+e^{-\Theta t}(f_0-y)$, descent to $y+(I-\eta\Theta)^k(f_0-y)$: a "
    r"network of width 4096 learns 20 digits so, up to 0.25 % of the residual. Above $\eta=2/\lambda_{\max}$ the "
    r"prediction explodes, while a network of width 256 catapults.",
    needs="width large against the number of points; η < 2/λ_max for the prediction to converge",
    scale="printed: infinite width; here: one hidden layer of 4096 and of 256, 20 digits of 7×7 pixels",
    full=dict(width=8192, steps=2000),
    symbols={
        "f_t,y": "the outputs on the training inputs at time $t$, and their targets",
        r"\Theta": r"the tangent kernel at the start, with largest eigenvalue $\lambda_{\max}$",
        r"\eta,k": "size and number of steps",
    },
    why=r"Gradient descent on the squared loss changes the outputs by $-\eta\Theta(f-y)$ as long as the kernel stands "
    r"still, a linear map that shrinks each eigendirection by $1-\eta\lambda$. The parameters move along the gradients "
    "of the outputs, so their way has the length of the change in the Hilbert space of the kernel. When "
    r"$\eta\lambda_{\max}>2$ the top direction grows until the kernel of a real network moves: its loss first doubles, "
    r"then falls below 5 % of the start with $\eta\lambda_{\max}$ below 2.",
    notice="Each direction decays at its own speed, the slowest hardly at all in this time; the dots of the trained "
    "network lie on the exponentials of its kernel at the start.",
)
def networks_learn_along_eigendirections(
    key,
    *,
    width: Annotated[int, Interval(ge=16, le=65_536)] = 4096,
    points: Points = 20,
    steps: Annotated[int, Interval(ge=10, le=100_000)] = 300,
    share: Annotated[float, Interval(ge=0.001, le=1.9)] = 0.1,
):
    draw = generator(key)
    x, y = small_digits(draw, points)
    wide, narrow = jax.random.split(key)
    network = init_mlp(wide, (49, width, 1), activation=jnp.tanh)
    kernel, covariance = map(np.asarray, network_kernels(network, x))
    step = share / np.linalg.norm(kernel, 2)
    run = train(network, x, y, x[:1], step_size=step, steps=steps)
    outputs = np.asarray(run.outputs)
    pairs = zip(jax.tree.leaves(run.network), jax.tree.leaves(network), strict=True)
    moved = sum(np.sum((np.asarray(after) - before) ** 2) for after, before in pairs)
    start, size = outputs[0], np.linalg.norm(outputs[0] - y)
    counts = np.linspace(0, steps, 31).astype(int)
    basis, expected, continuous, dual = jax.tree.map(np.asarray, eigenmodes(kernel, y, start, step, counts))
    exponential = np.array([y + expm(-kernel * step * k) @ (start - y) for k in counts])
    # The fixed kernel step by step; and once more with a step above the threshold.
    plain, large = [start], [start]
    for _ in range(steps):
        plain.append(plain[-1] - step * kernel @ (plain[-1] - y))
    beyond = 3 / basis.values[-1]
    for _ in range(30):
        large.append(large[-1] - beyond * kernel @ (large[-1] - y))
    exploded = np.asarray(eigenmodes(kernel, y, start, beyond, np.arange(31))[1])
    growth = [np.log(np.abs((np.array(path) - y) @ basis.vectors[:, -1])) for path in (large, exploded)]
    small = init_mlp(narrow, (49, 256, 1), weight_scale=2**0.5)
    first = np.linalg.norm(network_kernels(small, x)[0], 2)
    thrown = train(small, x, y, x[:1], step_size=3 / first, steps=200)
    losses = np.sum((np.asarray(thrown.outputs) - y) ** 2, axis=1)
    last = np.linalg.norm(network_kernels(thrown.network, x)[0], 2)
    catapult = {
        "the loss doubles": losses.max() > 2 * losses[0],
        "and falls": losses[-1] < 0.05 * losses[0],
        "below the edge": 3 * last / first < 2,
        "while the prediction explodes": np.linalg.norm(large[-1] - y) > 1e6 * size,
    }
    seen = (outputs[counts] - y) @ basis.vectors
    along = {"time": step * counts, "eigenvalue": basis.values, "mode": seen, "kernel": kernel, "y": y, "start": start}
    return {
        # The kernel of a finite network moves by order 1/m: 0.05 % of the residual at most, 0.1 % of the movement, over
        # twenty seeds at width 4096. Allowed is five times that.
        "trained network": Identity(
            outputs[counts] / size,
            expected / size,
            scale=1.0,
            error=0.0025 * max(1, 4096 / width),
            along=along | {"covariance": covariance},
        ),
        "way of the parameters": Identity(
            np.array([moved]),
            np.array([rkhs_norm_square(kernel, dual)]),
            error=0.005 * max(1, 4096 / width) * moved,
            along={"of the weights": np.array([dual @ dual])},
        ),
        "flow in closed form": Identity(continuous, exponential, scale=size, size=points**2),
        "steps in closed form": Identity(np.array(plain)[counts], expected, scale=size, size=steps * points),
        "steps that are too large": Identity(*growth, scale=1.0, size=900, along={"step": np.arange(31)}),
        "a narrow network catapults": Exact(
            np.array(list(catapult.values())), np.ones(4, bool), along={"what": np.array(list(catapult))}
        ),
    }


def followed(evidence, kernel):
    """The outputs along the flow with another kernel."""
    y, start = evidence.along["y"], evidence.along["start"]
    path = np.array([y + expm(-kernel * time) @ (start - y) for time in evidence.along["time"]])
    return replace(evidence, right=path / np.linalg.norm(start - y))


@networks_learn_along_eigendirections.control("trained by the covariance of its outputs", of="trained network")
def covariance_trains(evidence):
    return followed(evidence, evidence.along["covariance"])


@networks_learn_along_eigendirections.control(
    "each direction shrinks by |1 − ηλ|² a step", of="steps that are too large"
)
def squared_growth(evidence):
    return replace(evidence, right=2 * evidence.right - evidence.right[0])


@networks_learn_along_eigendirections.control("twice as fast: the loss without its factor ½", of="trained network")
def without_half(evidence):
    return followed(evidence, 2 * evidence.along["kernel"])


@networks_learn_along_eigendirections.control(
    "the weights of the kernels, not their norm, for the way", of="way of the parameters"
)
def length_of_the_weights(evidence):
    return replace(evidence, right=evidence.along["of the weights"])


@networks_learn_along_eigendirections.picture
def eigendirections(pieces):
    """What is left of the residual along five eigendirections: e^{−λt} drawn, the network's own outputs dotted."""
    along = pieces["trained network"].along
    times, values, modes = along["time"], along["eigenvalue"], np.asarray(along["mode"])
    # Directions in which the residual is too small at the start say nothing.
    heard = [i for i in range(len(values)) if abs(modes[0, i]) > 0.1 * np.linalg.norm(modes[0])][::-1][:5]
    fine = np.linspace(0, times[-1], 160)
    marks = [Line(f"λ = {values[i]:.3g}", fine, np.exp(-values[i] * fine)) for i in heard]
    marks += [Dots(f"λ = {values[i]:.3g}", times, modes[:, i] / modes[0, i]) for i in heard]
    return Curves(marks, x="training time t = ηk", y="share of the residual left")
