"""Training the first layer of a wide network: weights and kernel barely move, and outputs follow the limit."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import expm

from deeptheory.claims.kernels.layers.two_layer import softplus
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.kernels.finite.first_layer import (
    first_layer_gram,
    first_layer_limit,
    first_layer_outputs,
    train_first_layer,
)
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
from deeptheory.lab import Chain, Exact, Identity, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, power_law

STEPS = 20
LONG = 24
COUNTS = (0, 1, 7)


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
    items={
        "A9.7": ("links of the proof", "farthest move attained", "way of a typical weight"),
        "A9.8": ("links of the proof", "largest drift attained", "drift under random signs", "drift under equal signs"),
    },
    says=r"While all $|u_i-y_i|\le C$, no weight vector moves farther than $Ctn/\sqrt m$, no entry of the kernel by "
    r"more than $2\max|\sigma''|$ times that, nor $\|H(t)-H(0)\|_2$ by more than $n$ times an entry. A typical weight "
    r"moves like $m^{-1/2}$, the kernel under random signs like $1/m$.",
    needs=r"unit inputs, $|\sigma'|\le1$; labels within O(1) of the outputs at the start",
    symbols={
        r"u_i,y_i": r"output and label at input $i$ of $n$",
        r"t": "the time of training",
        r"m": r"the number of neurons, with output weights $a_r=\pm1$",
        r"\sigma": "the activation",
        r"H(t)": r"the kernel of the first layer at time $t$",
    },
    why=r"The gradient of one neuron's weights is a sum over $n$ inputs, each of at most $C/\sqrt m$: integrate over "
    r"time. An entry of the kernel is a mean over neurons of products of slopes, and each slope changes by at most "
    r"$\max|\sigma''|$ times the way of its weights; the norm of a matrix is at most $n$ times its largest entry, "
    r"which makes order $tn^2/\sqrt m$. The first bound is attained, the other two to first order in $t$. Under random "
    r"signs the changes of different neurons cancel and leave $1/m$; with all $a_r$ equal they add up, to $m^{-1/2}$.",
    notice=r"The way of a typical weight falls like $m^{-1/2}$. The drift of the kernel does too if all output "
    r"weights are equal, and like $1/m$ if their signs are random and changes cancel.",
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
        "links of the proof": Chain(
            {
                "a weight moves at most as far as it is pushed": (moved, travelled),
                "residuals are at most C": (travelled, farthest),
                "an entry drifts by slope times movement": (entries / 5, entry),
                "spectral below Frobenius": (spectral, frobenius),
                "Frobenius below n entries": (frobenius, all_entries),
            }
        ),
        "farthest move attained": Identity(farthest_move, movement_bound(0.7, 0.3, 4, 9), size=9.0),
        "largest drift attained": Identity(
            np.array([np.abs(after - before).max(), closeness(after, before).spectral]),
            np.array([drift, 4 * drift]),
            error=np.array([1.0, 4.0]) * (drift**2 + 1e-14),
        ),
        "way of a typical weight": Rate(sizes, np.array(rates["random"][0]), exponent=-0.5, rivals=(0.0, -1.0)),
        "drift under random signs": Rate(sizes, np.array(rates["random"][1]), exponent=-1.0, rivals=(-0.5,)),
        # The kernel is expanded in a movement of order m^(−1/2): so is the correction to its first term.
        "drift under equal signs": Rate(
            sizes, np.array(rates["equal"][1]), exponent=-0.5, rivals=(-1.0, 0.0), order=0.5
        ),
    }


@weights_and_kernel_barely_move.picture
def movement_along_the_width(pieces):
    """How far a typical weight moves in training, and how far the kernel drifts for two choices of signs, by width."""
    marks = power_law("way of a weight", pieces["way of a typical weight"])
    marks += power_law(
        "drift of the kernel, random signs", pieces["drift under random signs"], rivals={-0.5: "no cancellation"}
    )
    marks += power_law("drift of the kernel, equal signs", pieces["drift under equal signs"])
    return Curves(marks, x="neurons m", y="distance", log="xy")


@weights_and_kernel_barely_move.control(
    "a root of the number of inputs in place of the number", of="farthest move attained"
)
def root_of_samples(evidence):
    return replace(evidence, right=evidence.right / 2)


@weights_and_kernel_barely_move.control("one slope of the two", of="largest drift attained")
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
        "A9.10": (
            "flow of a frozen kernel",
            "loss of a frozen kernel",
            "steps of a frozen kernel",
            "steps that are stable",
            "network near the kernel's path",
        ),
        "A9.2": (
            "flow of a frozen kernel",
            "network near the kernel's path",
            "predictor of the network",
            "predictor from a mirrored start",
            "predictor with the start left out",
        ),
        "H6.8": ("steps of a frozen kernel", "network near the kernel's path"),
    },
    says=r"With a frozen kernel the part of $u-y$ along $v_i$ falls like $e^{-\lambda_it}$ under the flow and "
    r"$(1-\eta\lambda_i)^k$ in steps, stable iff $\eta<2/\lambda_1$. A wide network follows this with $H^*$ up to "
    r"$m^{-1/2}$, and ends as near to $f_0(x)+k(x,X)H^{*-1}(y-f_0(X))$.",
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
    why=r"With a kernel that does not move $\dot u=-H(u-y)$ is linear, and each eigendirection decays by itself; the "
    r"loss is $\frac12\sum e^{-2\lambda_it}(v_i\cdot(u(0)-y))^2$. In a wide network the kernel starts within order "
    r"$m^{-1/2}$ of $H^*$ and drifts by no more, so its path stays as near. The function it ends in is that of the "
    r"start plus kernel regression on what the start left over. Leaving $f_0$ out is off by order one; only from a "
    r"mirrored start, where $f_0=0$, is this plain kernel regression.",
    notice="Three distances fall like $m^{-1/2}$: of the path on the training inputs, of the predictor with the "
    "outputs at the start, and of the one from a mirrored start. The predictor without $f_0$ stays off by order one at "
    "every width.",
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
        "flow of a frozen kernel": Identity(flows, exponentials, scale=scale, size=4.0),
        "loss of a frozen kernel": Identity(losses, np.sum(exponentials**2, axis=1) / 2, scale=scale**2),
        "steps of a frozen kernel": Identity(steps, powers, scale=scale, size=4.0),
        "steps that are stable": Exact(np.linalg.norm(late, axis=1) > 1, np.array([False, True])),
        "network near the kernel's path": Rate(sizes, np.array(curves), exponent=-0.5, rivals=(0.0, -1.0)),
        "predictor of the network": Rate(sizes, np.array(tests), exponent=-0.5, rivals=(0.0, -1.0)),
        "predictor from a mirrored start": Rate(sizes, np.array(zeros), exponent=-0.5, rivals=(0.0, -1.0)),
        "predictor with the start left out": Rate(sizes, np.array(printed), exponent=0.0, rivals=(-0.5,)),
    }


@training_follows_the_limit_kernel.control("outputs at the start left out")
def printed_predictor(pieces):
    return replace(pieces["predictor of the network"], y=pieces["predictor with the start left out"].y)


@training_follows_the_limit_kernel.control("the loss at half its rate", of="loss of a frozen kernel")
def half_the_rate(evidence):
    return replace(evidence, left=np.sqrt(evidence.left * evidence.left[0]))


@training_follows_the_limit_kernel.picture
def nearer_with_the_width(pieces):
    """Distances of trained networks from what the limit kernel says, against the width; lines of slope −½ and 0."""
    names = {
        "network near the kernel's path": "outputs along training",
        "predictor of the network": "predictor with f₀",
        "predictor from a mirrored start": "predictor from a mirrored start",
        "predictor with the start left out": "predictor without f₀",
    }
    marks = [mark for piece, name in names.items() for mark in power_law(name, pieces[piece])]
    return Curves(marks, x="width m", y="distance from the limit", log="xy")
