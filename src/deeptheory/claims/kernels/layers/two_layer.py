"""A two-layer network whose first layer trains: its outputs follow a kernel that hardly moves."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.flatten_util import ravel_pytree
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.special import expit, ndtr

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.kernels.finite.first_layer import (
    first_layer_gradient,
    first_layer_gram,
    first_layer_limit,
    first_layer_outputs,
    train_first_layer,
)
from deeptheory.kernels.finite.tangents import tangent_kernel
from deeptheory.kernels.layers.activations import Erf, Numerical
from deeptheory.kernels.layers.combinators import serial
from deeptheory.kernels.layers.convolution import Conv
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.layers.pooling import Flatten
from deeptheory.kernels.lazy.lazy_bounds import closeness, drift_bound, movement_bound
from deeptheory.kernels.regression.predictions import (
    descent,
    diagonalize,
    flow,
    interpolation,
    largest_step,
    loss_curve,
    predicted,
    trained,
)
from deeptheory.lab import Chain, Exact, Identity, Inequality, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, seen


def softplus(z):
    """log(1 + eᶻ) for arguments of ordinary size: compiled and run faster than the one that guards against overflow."""
    return jnp.log1p(jnp.exp(z))


SOFTPLUS = Numerical(softplus, 64)
CONVOLUTION = serial(Conv(3, (3,)), Erf(), Flatten(), Dense(1))
PERCEPTRON = serial(Dense(6), Erf(), Dense(5), Erf(), Dense(1))
STEPS = 20
LONG = 24
COUNTS = (0, 1, 7)


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
        "A9.1": ("flow", "order", "semidefinite"),
        "A9.3": ("model", "gradient"),
        "L7.21": ("model", "gradient", "gram", "one step"),
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
    r"$x_i$ changes at the "
    r"rate $\langle\partial f(x_i),\dot\theta\rangle=-\sum_jH_{ij}(u_j-y_j)$. Nothing about the network enters but its "
    r"gradients. One step "
    r"adds a remainder of second order in $\eta$, and none where the network is linear in its weights, as a ReLU "
    r"network is between switches.",
    notice=r"Relative to the flow the change of the outputs in one step of length $s$ is off by a share proportional "
    r"to $s$, for a perceptron, "
    r"a convolution and a network that is quadratic in its parameters alike.",
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
        "flow": Identity(found, flows, scale=scale, error=1e-8 * scale),
        "order": Rate(
            lengths[5:],
            np.sum(errors, axis=0),
            exponent=1.0,
            rivals=(0.0, 2.0),
            aside={"of each": np.array(errors), "networks": list(PROBES)},
        ),
        "semidefinite": Inequality(-np.array(least), 0.0, scale=np.array(largest), error=1e-12 * np.array(largest)),
        "model": Identity(start, written, scale=1.0, size=width),
        "gradient": Identity(
            gradient,
            np.tensordot(start - y, slopes, 1),
            scale=1.0,
            size=width,
            aside={"all active": np.tensordot(start - y, np.abs(signs / width**0.5)[:, None] * x[:, None], 1)},
        ),
        "gram": Identity(gram, np.einsum("imd,jmd->ij", jacobian, jacobian), scale=1.0, size=width),
        "one step": Identity(after - start, step * gram @ (y - start), scale=np.abs(start).max(), size=width),
    }


@outputs_follow_the_tangent_kernel.control("a loss without the half", of="flow")
def without_half(evidence):
    return replace(evidence, right=2 * evidence.right)


@outputs_follow_the_tangent_kernel.control("a mean over the samples in place of the sum", of="one step")
def mean_loss(evidence):
    return replace(evidence, right=evidence.right / np.size(evidence.right))


@outputs_follow_the_tangent_kernel.control("a mean over the neurons, 1/m for 1/√m", of="model")
def mean_of_neurons(evidence):
    return replace(evidence, right=evidence.right / evidence.size**0.5)


@outputs_follow_the_tangent_kernel.control("the gradient without the signs of the neurons", of="gradient")
def without_signs(evidence):
    return replace(evidence, right=np.abs(evidence.right) * np.sign(evidence.aside["all active"]))


@outputs_follow_the_tangent_kernel.picture
def single_steps(pieces):
    """How far the change of the outputs in one step is from the flow's, relative to it, for three networks."""
    order = pieces["order"]
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
        "A9.4": ("mean", "closed form", "softplus"),
        "A9.5": ("closed form", "mean", "any length"),
        "L7.22": ("closed form", "mean", "distance", "trace"),
    },
    says=r"The first-layer kernel $H(0)_{ij}=x_i\cdot x_j\frac1m\sum_r\sigma'(w_r\cdot x_i)\sigma'(w_r\cdot x_j)$ has "
    r"mean $H^*_{ij}=x_i\cdot x_j\,\mathbb E\,\sigma'\sigma'$ at any width, for the ReLU "
    r"$x_i\cdot x_j(\pi-\angle(x_i,x_j))/2\pi$ with trace $\frac12\sum\|x_i\|^2$, n/2 on the sphere, and is within "
    r"order $m^{-1/2}$ of it.",
    needs="standard normal weights; unit inputs in all but the closed form for the ReLU",
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
        "closed form": Identity(limit[above], product[above] * orthants, scale=0.5, error=1e-10),
        "softplus": Identity(smooth, product * slopes, scale=0.5, error=1e-8),
        "any length": Identity(
            longer[above], np.outer(lengths, lengths)[above] * product[above] * orthants, scale=2.0, error=1e-9
        ),
        "trace": Identity(
            np.array([np.trace(limit), np.trace(longer)]), np.array([5, np.sum(lengths**2)]) / 2, size=5.0
        ),
        "mean": Law(
            np.stack([limit[above], smooth[above]]),
            both.transpose(0, 2, 1),
            exact=True,
            scale=0.5,
            along={"activation": np.array(["ReLU", "softplus"]), "cosine": product[above]},
        ),
        "distance": Rate(np.array(widths), np.array(distances), exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@first_layer_kernel_at_initialization.control("(9.8) without the factor x·x′, as printed", erratum="A9.5a", of="mean")
def without_product(evidence):
    relu, softplus = evidence.predicted  # (9.8) is about ReLU
    return replace(evidence, predicted=np.stack([relu / evidence.along["cosine"], softplus]))


@first_layer_kernel_at_initialization.control("both slopes at the same input", of="mean")
def same_input(evidence):
    return replace(evidence, predicted=np.stack([evidence.along["cosine"] / 2, evidence.predicted[1]]))


@first_layer_kernel_at_initialization.control("arccos over π in place of 2π", of="closed form")
def half_circle(evidence):
    return replace(evidence, left=2 * evidence.left)


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, None, None, None))
def lazily_trained(weights, amplitudes, x, targets, step):
    """A softplus network trained for a while: how far outputs, weights and kernel went.

    Labels are given relative to the outputs at the start, which under equal signs are of size √m.
    """
    y = targets + first_layer_outputs(weights, amplitudes, x, activation=softplus)
    trace = train_first_layer(weights, amplitudes, x, y, step_size=step, steps=STEPS, activation=softplus)
    before, after = (first_layer_gram(w, x, activation=softplus) for w in (weights, trace.weights))
    return jnp.abs(trace.outputs[:-1] - y), trace.movement, before, after


def huber(z):
    """An activation with |σ′| ≤ 1 and |σ″| ≤ 2 that has both at z = 1, where it is ¼."""
    return jnp.where(jnp.abs(z - 0.5) < 0.5, (z - 0.5) ** 2, jnp.abs(z - 0.5) - 0.25)


@jax.jit
def extremal(step, small):
    """One step of networks whose inputs are all equal: every residual is 0.7, once straight and once bent."""
    same, ones = jnp.tile(jnp.array([1.0, 0.0]), (9, 1)), jnp.ones(9)
    x = same[:4]
    linear = train_first_layer(same, ones, x, jnp.full(4, 2.3), step_size=step, steps=1, activation=lambda z: z)
    bent = train_first_layer(same, ones, x, jnp.full(4, 0.05), step_size=small, steps=1, activation=huber)
    return linear.movement, *(first_layer_gram(w, x, activation=huber) for w in (same, bent.weights))


@claim(
    items={"A9.7": ("bounds", "farthest", "movement"), "A9.8": ("bounds", "largest drift", "signs", "one sign")},
    says=r"While all $|u_i-y_i|\le C$, no weight vector moves farther than $Ctn/\sqrt m$, no entry of the kernel by "
    r"more than $2\max|\sigma''|$ times that, nor $\|H(t)-H(0)\|_2$ by more than n times an entry: order "
    r"$tn^2/\sqrt m$. All three are attained. At fixed n and t a typical weight moves like $m^{-1/2}$, the kernel "
    r"like $m^{-1/2}$ when all $a_r$ are equal, but only like $1/m$ under random signs.",
    needs=r"unit inputs, $|\sigma'|\le1$; labels within O(1) of the outputs at the start",
    full=dict(widths=(64, 256, 1024, 4096), trials=128),
)
def weights_and_kernel_barely_move(key, *, widths: Sizes = (64, 256, 1024), trials: Trials = 96):
    draw = generator(key)
    x, targets, step = unit_vectors(draw, 5, 3), draw.choice([-1.0, 1.0], 5), 0.5
    links, rates = [], {"random": ([], []), "equal": ([], [])}
    for width in widths:
        for signs, (moves, drifts) in rates.items():
            weights = draw.standard_normal((trials, width, 3))
            amplitudes = draw.choice([-1.0, 1.0], (trials, width)) if signs == "random" else np.ones((trials, width))
            residuals, moved, before, after = map(np.asarray, lazily_trained(weights, amplitudes, x, targets, step))
            apart, most = closeness(after, before), residuals.max((1, 2))
            # The farthest of ever more weights creeps up to a supremum; the typical one does not.
            moves.append(np.sqrt(np.mean(moved**2, axis=1)))
            drifts.append(apart.spectral)
            travelled = step * residuals.sum((1, 2)) / width**0.5
            entry = drift_bound(most, step * STEPS, 5, width, curvature=0.25)
            links.append(
                (moved.max(1), travelled, movement_bound(most, step * STEPS, 5, width), *apart[1:], entry, 5 * entry)
            )
    moved, travelled, farthest, spectral, frobenius, entries, entry, all_entries = np.array(links).transpose(1, 0, 2)
    size = 1e-6  # the drift attains its bound up to the square of the step
    farthest_move, before, after = map(np.asarray, extremal(0.3, size))
    drift = drift_bound(0.7, size, 4, 9, curvature=2.0)
    sizes = np.array(widths)
    return {
        "bounds": Chain(
            {
                "a weight moves at most as far as it is pushed": (moved, travelled),
                "residuals are at most C": (travelled, farthest),
                "an entry drifts by slope times movement": (entries / 5, entry),
                "spectral below Frobenius": (spectral, frobenius),
                "Frobenius below n entries": (frobenius, all_entries),
            }
        ),
        "farthest": Identity(farthest_move, movement_bound(0.7, 0.3, 4, 9), size=9.0),
        "largest drift": Identity(
            np.array([np.abs(after - before).max(), closeness(after, before).spectral]),
            np.array([drift, 4 * drift]),
            error=np.array([1.0, 4.0]) * (drift**2 + 1e-14),
        ),
        "movement": Rate(sizes, np.array(rates["random"][0]), exponent=-0.5, rivals=(0.0, -1.0)),
        "signs": Rate(sizes, np.array(rates["random"][1]), exponent=-1.0, rivals=(-0.5,)),
        "one sign": Rate(sizes, np.array(rates["equal"][1]), exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@weights_and_kernel_barely_move.control("a root of the number of inputs in place of the number", of="farthest")
def root_of_samples(evidence):
    return replace(evidence, right=evidence.right / 2)


@weights_and_kernel_barely_move.control("one slope of the two", of="largest drift")
def one_slope(evidence):
    return replace(evidence, right=evidence.right / 2)


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, None, None, None, None))
def trained_and_tested(weights, amplitudes, x, y, other, step):
    """Outputs of a ReLU network all the way on the inputs it trains on, and before and after on others."""
    trace = train_first_layer(weights, amplitudes, x, y, step_size=step, steps=LONG)
    return trace.outputs, *(first_layer_outputs(w, amplitudes, other) for w in (weights, trace.weights))


@jax.jit
def limits(x, other, y, first, times):
    """Limit kernels, the step at which descent turns unstable, closed forms of flow, loss and descent from `first`."""
    whole = first_layer_limit(jnp.concatenate([x, other]))
    kernel, across = whole[: len(x), : len(x)], whole[: len(x), len(x) :]
    basis, edge = diagonalize(kernel), largest_step(kernel)
    flows = jax.vmap(lambda time: trained(basis, flow(time), y, outputs=first))(times)
    steps = jax.vmap(lambda k: trained(basis, descent(k, step_size=0.8 * edge), y, outputs=first))(jnp.array(COUNTS))
    return kernel, across, edge, flows - y, loss_curve(basis, y - first, times), steps - y


@jax.jit
def frozen(kernel, across, y, start, test_start, step):
    """What a frozen kernel makes of the same starts (columns): the whole path, and the limit at other inputs."""
    basis, labels = diagonalize(kernel), jnp.broadcast_to(y[:, None], start.shape)
    path = jax.vmap(lambda k: trained(basis, descent(k, step_size=step), labels, outputs=start))(jnp.arange(LONG + 1))
    return path, predicted(basis, interpolation(), labels, across.T, outputs=start, other_outputs=test_start)


@claim(
    items={
        "A9.10": ("flow", "loss", "descent", "stable", "network"),
        "A9.2": ("flow", "network", "predictor", "from zero", "start left out"),
        "H6.8": ("descent", "network"),
    },
    says=r"A frozen kernel with eigenpairs $(\lambda_i,v_i)$ gives $v_i\cdot(u-y)=e^{-\lambda_it}v_i\cdot(u(0)-y)$, "
    r"loss $\frac12\sum e^{-2\lambda_it}(v_i\cdot(u(0)-y))^2$; steps give $(1-\eta\lambda_i)^k$, stable iff "
    r"$\eta<2/\lambda_1$. A wide network follows it with $H^*$ up to $m^{-1/2}$, and so near is its predictor to "
    r"$f_0(x)+k(x,X)H^{*-1}(y-f_0(X))$; leaving $f_0$ out is off by order one, but from a mirrored start, where "
    r"$f_0=0$, by order $m^{-1/2}$ too.",
    needs="unit inputs; ReLU; H* invertible",
    full=dict(widths=(64, 256, 1024, 4096), trials=256),
    symbols={
        r"\lambda_i,v_i": "eigenvalues, the first the largest, and eigenvectors of the kernel on the inputs",
        "u": "the outputs on the training inputs, $u(0)$ at the start, with targets $y$",
        r"\eta": "the size of a step",
        "H^*": "the first-layer kernel in the limit of infinite width, $k(x,X)$ between another input and these",
        "f_0": "the function of the network before training",
        "m": "the number of neurons",
    },
    why=r"With a kernel that does not move $\dot u=-H(u-y)$ is linear, and each eigendirection decays by itself. In a "
    r"wide network the "
    r"kernel starts within order $m^{-1/2}$ of $H^*$ and drifts by no more, so its path stays as near. The function it "
    r"ends in is that of the "
    r"start plus kernel regression on what the start left over; only $f_0=0$ makes this plain kernel regression.",
    notice=r"Three distances fall like $m^{-1/2}$: of the path on the training inputs, of the predictor with the "
    r"outputs at the start, and "
    r"of the one from a mirrored start. The predictor without $f_0$ stays off by order one at every width.",
)
def training_follows_the_limit_kernel(key, *, widths: Sizes = (64, 256, 1024), trials: Trials = 240):
    draw = generator(key)
    # Nearly orthogonal inputs: the kernel is then well conditioned, and training soon over.
    x = np.linalg.qr(draw.standard_normal((4, 4)))[0] + 0.1 * draw.standard_normal((4, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    # Many other inputs: how far the predictor is off is a mean over them, with less scatter than at a few.
    other, y, first = unit_vectors(draw, 16, 4), draw.choice([-1.0, 1.0], 4), draw.standard_normal(4)
    times = np.array([0.0, 0.3, 2.0, 9.0])
    kernel, across, edge, flows, losses, steps = map(np.asarray, limits(x, other, y, first, times))
    exponentials = np.array([expm(-time * kernel) @ (first - y) for time in times])
    powers, late = (
        [np.linalg.matrix_power(np.eye(4) - size * edge * kernel, k) @ (first - y) for size, k in runs]
        for runs in ([(0.8, k) for k in COUNTS], [(0.999, 40_000), (1.001, 40_000)])
    )
    curves, tests, zeros, printed = [], [], [], []
    for width in widths:
        half = draw.standard_normal((2, trials, width // 2, 4)), draw.choice([-1.0, 1.0], (2, trials, width // 2))
        free = np.concatenate(half[0], axis=1), np.concatenate(half[1], axis=1)
        mirrored = np.concatenate([half[0][0]] * 2, axis=1), np.concatenate([half[1][0], -half[1][0]], axis=1)
        path, before, after = map(np.asarray, trained_and_tested(*free, x, y, other, 0.6 * edge))
        law, limit = map(np.asarray, frozen(kernel, across, y, path[:, 0].T, before.T, 0.6 * edge))
        task = np.linalg.norm(path[:, 0] - y, axis=1)  # what there was to learn
        curves.append(np.linalg.norm(path.transpose(1, 2, 0) - law, axis=1).max(0) / task)
        tests.append(np.linalg.norm(after.T - limit, axis=0) / task)
        limit = frozen(kernel, across, y, np.zeros((4, trials)), np.zeros((len(other), trials)), 0.6 * edge)[1]
        printed.append(np.linalg.norm(after.T - np.asarray(limit), axis=0))
        after = np.asarray(trained_and_tested(*mirrored, x, y, other, 0.6 * edge)[2])
        zeros.append(np.linalg.norm(after.T - np.asarray(limit), axis=0))
    sizes, scale = np.array(widths), np.linalg.norm(first - y)
    return {
        "flow": Identity(flows, exponentials, scale=scale, size=4.0),
        "loss": Identity(losses, np.sum(exponentials**2, axis=1) / 2, scale=scale**2),
        "descent": Identity(steps, powers, scale=scale, size=4.0),
        "stable": Exact(np.linalg.norm(late, axis=1) > 1, np.array([False, True])),
        "network": Rate(sizes, np.array(curves), exponent=-0.5, rivals=(0.0, -1.0)),
        "predictor": Rate(sizes, np.array(tests), exponent=-0.5, rivals=(0.0, -1.0)),
        "from zero": Rate(sizes, np.array(zeros), exponent=-0.5, rivals=(0.0, -1.0)),
        "start left out": Rate(sizes, np.array(printed), exponent=0.0, rivals=(-0.5,)),
    }


@training_follows_the_limit_kernel.control("outputs at the start left out")
def printed_predictor(pieces):
    return replace(pieces["predictor"], y=pieces["start left out"].y)


@training_follows_the_limit_kernel.control("the loss falls like $e^{-\\lambda t}$", of="loss")
def half_the_rate(evidence):
    return replace(evidence, left=np.sqrt(evidence.left * evidence.left[0]))


@training_follows_the_limit_kernel.picture
def nearer_with_the_width(pieces):
    """Distances of trained networks from what the limit kernel says, against the width; lines of slope −½ and 0."""
    names = {
        "network": "outputs along training",
        "predictor": "predictor with f₀",
        "from zero": "predictor from a mirrored start",
        "start left out": "predictor without f₀",
    }
    marks = []
    for piece, name in names.items():
        rate, first = pieces[piece], np.mean(pieces[piece].y[0])
        line = first * (np.asarray(rate.x) / rate.x[0]) ** rate.exponent
        marks += [seen(name, rate.x, rate.y), Line(name, rate.x, line)]
    return Curves(marks, x="width m", y="distance from the limit", log="xy")
