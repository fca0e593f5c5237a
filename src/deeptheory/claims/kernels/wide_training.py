"""Wide networks in training: ensembles and their band, weights that barely move, perfect fits, learned features."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.scipy.special import erf

from deeptheory.kernels.activations import Erf
from deeptheory.kernels.activity import (
    Activity,
    activity,
    activity_polynomial,
    activity_rate_bound,
    activity_rates,
    activity_sum,
    aligned_network,
    mean_loss_velocity,
)
from deeptheory.kernels.features import sample_gaussian_process
from deeptheory.kernels.fixed_features import fixed_feature_floor, single_index_spectrum
from deeptheory.kernels.fully_connected import conditional_covariance, fully_connected, layerwise_ntk
from deeptheory.kernels.gaussian_processes import band_coverage
from deeptheory.kernels.limit import limit_kernel
from deeptheory.kernels.linearization import doubled, loss_curvature, padded
from deeptheory.kernels.predictions import GaussianLaw, descent, diagonalize, predicted_ensemble
from deeptheory.kernels.tangents import functional, kernel_alignment, tangent_kernel
from deeptheory.kernels.training import train
from deeptheory.lab import Chain, Chance, Identity, Law, Rate, Share, Sizes, Trend, Trials, claim
from deeptheory.networks.mlp import init_mlp
from deeptheory.randomness import generator

Width = Annotated[int, Interval(ge=2, le=512)]
LINE: dict[str, Any] = dict(weight_scale=2.0, input_scale=2.0)
"""One hidden layer on the line: inputs (t, 1), so that the first layer has its offsets."""
KNOWN, ANSWERS = np.array([-1.2, 0.1, 1.3]), np.array([0.6, -0.8, 1.0])
GRID = np.array([-2.4, -2.1, -1.8, -1.5, -1.2, -0.9, -0.6, -0.3, -0.1, 0.1, 0.3, 0.5, 0.8, 1.1, 1.3, 1.6, 2.0, 2.4])
WATCHED = 5
"""The place on the grid where it is counted how many networks lie in the band."""
ENSEMBLE_STEPS = 30


def lifted(t):
    return np.column_stack([t, np.ones_like(t)])


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def end_of_training(network, step):
    """Outputs on the training points and on the grid before, on the grid after, and the blocks of the curvature."""
    x, grid = lifted(KNOWN), lifted(GRID)
    end = train(network, x, ANSWERS, x[:1], step_size=step, steps=ENSEMBLE_STEPS).network
    here = network(x)[:, 0]
    return here, network(grid)[:, 0], end(grid)[:, 0], loss_curvature(network.scaled(), x, here - ANSWERS)


@jax.jit
def ensemble_law(covariance, tangent, step):
    """The law after training of an ensemble that starts with one kernel and is trained with the other."""
    return predicted_ensemble(
        diagonalize(tangent[:3, :3]),
        descent(ENSEMBLE_STEPS, step_size=step),
        ANSWERS,
        tangent[3:, :3],
        covariance=covariance[:3, :3],
        cross_covariance=covariance[3:, :3],
        other_covariance=covariance[3:, 3:],
    )


def line_limits():
    """Both limit kernels on the training points and the grid, and a step that is stable for them."""
    kernels = limit_kernel(
        fully_connected(2, hidden_layers=1, activation=Erf(), **LINE),
        lifted(np.concatenate([KNOWN, GRID])),
        want=("nngp", "ntk"),
    )
    nngp, ntk = np.asarray(kernels.nngp), np.asarray(kernels.ntk)
    return nngp, ntk, 1 / float(np.linalg.eigvalsh(ntk[:3, :3])[-1])


def stepped(tangent, start, step, targets=ANSWERS):
    """Outputs on the grid after so many steps f ← f + ηΘ(y − f) in function space, one by one."""
    here, there = start[:, :3], start[:, 3:]
    for _ in range(ENSEMBLE_STEPS):
        pull = step * (targets - here)
        here, there = here + pull @ tangent[:3, :3], there + pull @ tangent[:3, 3:]
    return there


def stepped_law(covariance, tangent, step):
    """Mean and covariance of that end over a Gaussian start, from where each direction of the start is sent."""
    values, vectors = np.linalg.eigh(covariance)
    sent = stepped(tangent, (vectors * np.sqrt(np.maximum(values, 0))).T, step, targets=np.zeros(3))
    return stepped(tangent, np.zeros((1, len(covariance))), step)[0], sent.T @ sent


layers_alone = jax.jit(lambda network, x: (layerwise_ntk(network, x)[..., 0, 0], conditional_covariance(network, x)))


@claim(
    items={
        "L7.12": ("mean", "variance", "trained", "networks", "ensemble", "coverage", "band"),
        "L7.16": ("mean", "variance", "trained", "last layer", "first layer"),
        "H6.6": ("trained", "variance", "convex"),
    },
    says=r"An ensemble of wide networks starts as a Gaussian process with the NNGP kernel $\Sigma$ and is trained by "
    r"the tangent kernel $\Theta$: after $k$ steps its mean is $A y$ and its covariance "
    r"$\Sigma_{xx}-A\Sigma_{Xx}-\Sigma_{xX}A^\top+A\Sigma_{XX}A^\top$ with "
    r"$A=\Theta_{xX}\Theta^{-1}(I-(I-\eta\Theta)^k)$; a trained network is within order $\mathrm{width}^{-1/2}$ of "
    r"what this makes of its own start, trained networks have that mean up to order 1/width, and two standard "
    r"deviations hold 95.4 % of them. The Hessian of the loss differs from that of the linearized network, which is "
    r"convex, by a part whose most negative eigenvalue is of order $\sqrt{\log(\mathrm{width})/\mathrm{width}}$ times "
    r"the residual. The last layer's share of the tangent kernel is the conditional NNGP kernel, exactly at any width; "
    r"the first layer adds $s^2x\cdot x'\frac{\sigma_w^2}m\sum_ra_r^2\varphi'(u_r)\varphi'(u_r')$.",
    needs="one wide hidden layer in tangent scaling, random start, squared loss, stable steps",
    scale="printed: infinitely wide networks; here: trained networks of width 48 to 432, three points on a line",
    full=dict(trials=1024, widths=(96, 288, 864)),
)
def trained_ensemble_band(
    key,
    *,
    widths: Sizes = (48, 144, 432),
    trials: Trials = 240,
    starts: Annotated[int, Interval(ge=1000, le=1_000_000)] = 20_000,
):
    nngp, ntk, step = line_limits()
    law = jax.tree.map(np.asarray, ensemble_law(nngp, ntk, step))
    mean, covariance = stepped_law(nngp, ntk, step)
    spread = np.sqrt(np.diag(covariance))
    prior = GaussianLaw(np.zeros(len(nngp)), nngp)
    limit = stepped(ntk, sample_gaussian_process(jax.random.fold_in(key, 5), prior, count=starts), step)
    distances, steadied, curvatures, ends = [], [], [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = init_mlp(draw, (2, width, 1), ensemble=(trials,), activation=erf, **LINE)
        here, there, end, blocks = map(np.asarray, end_of_training(padded(network, max(widths)), step))
        start = np.concatenate([here, there], axis=1)
        ends.append(end.T)
        distances.append(np.sqrt(np.mean((end - stepped(ntk, start, step)) ** 2, axis=1)))
        # What the start leaves at the end in the limit has mean zero at every width: taken out, the rest varies little.
        steadied.append((end - stepped(ntk, start, step, targets=np.zeros(3))).T)
        some = trials // 2  # enough, and eigenvalues are slow
        lowest = np.min(np.linalg.eigvalsh(blocks[:some, :width])[..., 0], axis=1)
        # The worst of m neurons has an output weight of about √(2 log m).
        curvatures.append(-lowest / np.linalg.norm(here - ANSWERS, axis=1)[:some] / np.log(width) ** 0.5)
    inside = [np.sum(np.abs(paths - law.mean)[:, WATCHED] <= 2 * spread[WATCHED]) for paths in (limit, end)]
    one = init_mlp(jax.random.fold_in(key, 9), (2, 32, 1), activation=erf, **LINE)
    shares, conditional = (np.asarray(part) for part in layers_alone(one, lifted(GRID)))
    # The first layer by hand: σ_w²/m Σ a² φ′φ′ times s² x·x′, with φ′ = 2e^{−u²}/√π.
    inner = LINE["input_scale"] * lifted(GRID)
    gradients = one.weights[1] * 2 / np.pi**0.5 * np.exp(-((inner @ one.weights[0].T) ** 2))
    gradients = LINE["weight_scale"] ** 2 / 32 * gradients @ gradients.T
    sizes, places = np.asarray(widths), {"input": GRID}
    condition = float(np.linalg.cond(ntk[:3, :3]))
    return {
        "mean": Identity(law.mean, mean, scale=1.0, condition=condition),
        "variance": Identity(law.covariance, covariance, scale=float(np.max(nngp)), condition=condition),
        "trained": Rate(sizes, np.asarray(distances), exponent=-0.5, rivals=(0.0, -1.0)),
        # In units of the targets; extrapolated from 240 networks of each width the far ends are known to a tenth.
        "networks": Law(law.mean, np.asarray(steadied), along=places, sizes=sizes, order=1, scale=1.0, resolution=0.15),
        # As they are, 240 networks show their mean to 1.25 · (5.9 + 4)/√240 standard deviations; drawn in the figure.
        "ensemble": Law(
            law.mean, np.asarray(ends), along=places, sizes=sizes, order=1, scale=float(np.max(spread)), resolution=0.8
        ),
        "coverage": Share(inside[0], starts, float(band_coverage(2.0))),
        # Of 240 networks eleven are expected outside, and thirty might go unnoticed.
        "band": Share(inside[1], trials, float(band_coverage(2.0)), resolution=0.2),
        "convex": Rate(sizes, np.asarray(curvatures), exponent=-0.5, rivals=(0.0, -1.0)),
        "last layer": Identity(shares[-1], conditional, scale=float(np.max(conditional)), size=32),
        "first layer": Identity(shares[0], inner @ inner.T * gradients, scale=float(np.max(gradients)), size=64),
    }


def rival_law(start, training):
    """The law of an ensemble with either kernel, 0 for NNGP and 1 for tangent, at the start and in training."""
    *kernels, step = line_limits()
    return jax.tree.map(np.asarray, ensemble_law(kernels[start], kernels[training], step))


@trained_ensemble_band.control("the NNGP kernel in training too", of="mean")
def covariance_trains(evidence):
    return replace(evidence, left=rival_law(0, 0).mean)


@trained_ensemble_band.control("the NNGP kernel in training, before networks", of="networks")
def covariance_trains_networks(evidence):
    return replace(evidence, predicted=rival_law(0, 0).mean)


@trained_ensemble_band.control("the tangent kernel at the start too", of="variance")
def tangent_starts(evidence):
    return replace(evidence, left=rival_law(1, 1).covariance)


@trained_ensemble_band.control("the posterior of the NNGP kernel", of="variance")
def posterior_of_nngp(evidence):
    return replace(evidence, left=rival_law(0, 0).covariance)


@trained_ensemble_band.control("one standard deviation for the band", of="coverage")
def narrow_band(evidence):
    return replace(evidence, predicted=float(band_coverage(1.0)))


@trained_ensemble_band.control("all layers' kernel for the last layer's")
def all_layers(pieces):
    last = pieces["last layer"]
    return {"last layer": replace(last, left=last.left + pieces["first layer"].left)}


@trained_ensemble_band.figure
def band(pieces):
    """Thirty trained networks, the mean and the two standard deviations of the law they follow, and the data."""
    import altair as alt

    law, networks = pieces["mean"], pieces["ensemble"]
    spread = 2 * np.sqrt(np.diag(pieces["variance"].left))
    rows = [
        {"t": float(t), "mean": float(m), "low": float(m - s), "high": float(m + s)}
        for t, m, s in zip(GRID, law.left, spread, strict=True)
    ]
    paths = [
        {"t": float(t), "output": float(value), "network": n}
        for n, path in enumerate(np.asarray(networks.observed)[-1].T[:30])
        for t, value in zip(GRID, path, strict=True)
    ]
    known = [{"t": float(t), "y": float(y)} for t, y in zip(KNOWN, ANSWERS, strict=True)]
    x = alt.X("t:Q", title="input")
    limit = alt.Chart(alt.Data(values=rows), width=460, height=280)
    area = limit.mark_area(opacity=0.25).encode(x, alt.Y("low:Q", title="output"), alt.Y2("high:Q"))
    mean = limit.mark_line(strokeWidth=3).encode(x, alt.Y("mean:Q", title="output"))
    each = alt.Chart(alt.Data(values=paths)).mark_line(strokeWidth=0.6, color="purple", opacity=0.6)
    data = alt.Chart(alt.Data(values=known)).mark_point(filled=True, size=90, color="black", opacity=1)
    return area + each.encode(x, alt.Y("output:Q"), detail="network:N") + mean + data.encode(x, alt.Y("y:Q"))


DEEP: dict[str, Any] = dict(weight_scale=1.4, input_scale=1.0)
SIX = np.eye(6)[:4]
"""Orthogonal inputs, on which few steps are enough."""
DEEP_TARGETS = np.array([1.0, -1.0, 1.0, -1.0])
DEEP_STEPS, DEEP_STEP = 12, 0.22
"""On these inputs the tangent kernel tends to 3.2 times the identity: 0.22 is seven tenths of the Newton step."""


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def monitored(network, fill):
    """Largest drift of a weight matrix in both norms, A(t) − A(0), and how far the outputs went, of one network.

    Outputs learn to move by the targets. The monitors divide by the root of the padded width, which `fill` undoes.
    """
    start = network.scaled()
    before = start(SIX)[:, 0]
    end = train(network, SIX, before + DEEP_TARGETS, SIX[:1], step_size=DEEP_STEP, steps=DEEP_STEPS).network
    frobenius = [jnp.linalg.norm(w - v) for w, v in zip(end.weights[1:], network.weights[1:], strict=True)]
    now = activity(end.scaled(), start, SIX)
    now = now._replace(activation_drift=fill * now.activation_drift)
    growth = activity_sum(now, Activity(*(jnp.zeros(2) for _ in now)))
    moved = jnp.linalg.norm(end(SIX)[:, 0] - before) / 2
    return jnp.stack([jnp.max(now.weight_drift), jnp.max(jnp.stack(frobenius)), growth, moved])


LINEAR, LEVELS = 0.7, np.array([0.4, 0.8, 1.3, 1.9])
"""Slope of the activation, and four values of the monitors: as many as the polynomial has coefficients."""
AFFINE: dict[str, Any] = dict(weight_scale=1.3, bias_scale=0.4, input_scale=0.9)


def half_linear(u):
    """Proportional above zero, where an aligned network lives, and bent below; twice differentiable."""
    return LINEAR * jnp.where(u > 0, u, jnp.tanh(u))


@jax.jit
def rates_and_bounds(network, start, x, y):
    """A, the velocity of the flow, rates of weights and pre-activations, their bounds, the size of the residual."""
    velocity = mean_loss_velocity(network, x, y)
    total = activity_sum(activity(network, start, x), activity(start, start, x), slope=LINEAR)
    bounds = activity_rate_bound(network, x, y, slope=LINEAR)
    size = jnp.sqrt(jnp.mean((network(x)[:, 0] - y) ** 2))
    return total, velocity, jnp.stack(activity_rates(network, x, velocity)), jnp.stack(bounds), size


@claim(
    items={"J8.13": ("weights", "frobenius"), "J8.14": ("growth", "outputs", "inequality", "attained", "polynomial")},
    says=r"Two hidden layers of width $n$ learn to move their outputs by fixed amounts: "
    r"$n^{-1/2}\|W^{(\ell)}(t)-W^{(\ell)}(0)\|_{op}$ falls like $n^{-1/2}$ for $\ell\ge1$ while the Frobenius norm "
    r"stays of order 1, and $A(t)-A(0)$, $A$ summed over the hidden layers, falls like $n^{-1/2}$ too; the outputs "
    r"move by order 1 at every width, so $k=L$ cannot be in the sum. $\dot A\le P(A)\|y-f\|_{p^{in}}/\sqrt n$ with an "
    r"explicit polynomial, from bounds for each layer that linear networks with aligned weights attain, and "
    r"attain $P$ when all monitors are equal.",
    needs="tangent scaling; slopes of the activation at most c; equal widths for P; gradient flow on the mean loss for "
    "the rates; targets counted from the initial outputs for the exponents",
    scale="printed: width to infinity, one layer after the other; here: both layers 32 to 128 together",
    full=dict(widths=(64, 128, 256), trials=96),
)
def weights_barely_move(key, *, widths: Sizes = (32, 64, 128), trials: Trials = 48):
    found = []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        drawn = init_mlp(draw, (6, width, width, 1), ensemble=(trials,), activation=erf, **DEEP)
        found.append(np.asarray(monitored(padded(drawn, max(widths)), (max(widths) / width) ** 0.5)).T)
    drift, frobenius, growth, outputs = np.moveaxis(np.asarray(found), 1, 0)
    rng = generator(jax.random.fold_in(key, 3))
    each = start = init_mlp(jax.random.fold_in(key, 4), (3, 6, 6, 1), activation=half_linear, **AFFINE)
    x, y, path = rng.standard_normal((5, 3)), rng.standard_normal(5), []
    for _ in range(12):
        value, velocity, *rest = jax.tree.map(np.asarray, rates_and_bounds(each, start, x, y))
        each, soon = (jax.tree.map(lambda p, v, h=h: p + h * v, each, velocity) for h in (0.5, 1e-6))
        path.append((value, (np.asarray(rates_and_bounds(soon, start, x, y)[0]) - value) / 1e-6, *rest))
    value, rate, rates, bounds, size = map(np.asarray, zip(*path, strict=True))
    allowed = np.polyval(np.asarray(activity_polynomial(start, x, slope=LINEAR)), value) * size / 6**0.5
    # One input, five times: the mean over inputs is then that of one.
    one, target, rows = np.tile(x[:1], (5, 1)), np.full(5, y[0]), []
    for level in LEVELS:
        network = aligned_network(
            jax.random.fold_in(key, 5), (3, 6, 6, 1), x[:1], level=float(level), activation=half_linear, slope=LINEAR,
            **AFFINE,
        )  # fmt: skip
        rows.append([np.asarray(part) for part in rates_and_bounds(network, network, one, target)[2:]])
    attained, bound, residual = (np.array(part) for part in zip(*rows, strict=True))
    units = np.array([1.0, LINEAR])[:, None]  # A counts pre-activations times the slope
    grown = np.sum(attained * units, axis=(1, 2)) * 6**0.5 / residual
    coefficients = np.asarray(activity_polynomial(network, one, slope=LINEAR))
    sizes = np.asarray(widths)
    return {
        "weights": Rate(sizes, drift, exponent=-0.5, rivals=(0.0, -1.0)),
        "frobenius": Rate(sizes, frobenius, exponent=0.0, rivals=(0.5, -0.5)),
        "growth": Rate(sizes, growth, exponent=-0.5, rivals=(0.0, -1.0)),
        "outputs": Rate(sizes, outputs, exponent=0.0, rivals=(-0.5,)),
        "inequality": Chain(
            {
                "the drifts grow no faster than what they measure moves": (rate, np.sum(rates * units, axis=(1, 2))),
                "weights, layer by layer": (rates[:, 0], bounds[:, 0]),
                "activations, layer by layer": (rates[:, 1], bounds[:, 1]),
                "both, by the polynomial": (np.sum(bounds * units, axis=(1, 2)), allowed),
            },
            # The rate is a difference over 1e-6 in time, right to about as much.
            error=1e-4 * float(np.max(rates)),
        ),
        "attained": Identity(attained, bound, size=64),
        "polynomial": Identity(grown, np.polyval(coefficients, LEVELS), size=64),
    }


@weights_barely_move.control("the sum up to the output, as printed")
def output_in_the_sum(pieces):
    # With one output n_L = 1, and ã of the last layer is how far the outputs went.
    growth = pieces["growth"]
    return {"growth": replace(growth, y=growth.y + pieces["outputs"].y)}


@weights_barely_move.control("own motion of the second layer without what it receives from the first", of="attained")
def nothing_received(evidence):
    right = np.array(evidence.right)
    right[:, 1, 1] -= LINEAR * AFFINE["weight_scale"] * LEVELS * right[:, 1, 0]
    return replace(evidence, right=right)


@weights_barely_move.control("activations to the first power in the polynomial", of="polynomial")
def first_power(evidence):
    sigma = AFFINE["weight_scale"]
    return replace(evidence, right=evidence.right + LINEAR**2 * sigma**3 * (LEVELS**2 - LEVELS**3))


DIMENSION, SAMPLES, NEURONS = 20, 120, 16
RICH: dict[str, Any] = dict(weight_scale=NEURONS**0.5, bias_scale=1.0)
"""Standard parametrisation: scales are undone, and the size of the initial weights decides how lazy the network is."""


def single_index(x):
    """(z + (z² − 1)/√2)/√2 of the first coordinate z, with energy one half in each degree."""
    z = x[..., 0]
    return (z + (z**2 - 1) / 2**0.5) / 2**0.5


@partial(jax.jit, static_argnames="steps")
@partial(jax.vmap, in_axes=(0, 0, 0, 0, None, None))
def learned(network, x, y, fresh, step, steps):
    """Error on fresh inputs and alignment of the tangent kernel with the targets, before and after training."""
    end = train(network, x, y, x[:1], step_size=step, steps=steps).network
    ideal = jnp.outer(y, y)
    before, after = (kernel_alignment(tangent_kernel(*functional(each), x), ideal) for each in (network, end))
    return jnp.mean((end(fresh)[:, 0] - single_index(fresh)) ** 2), before, after


def best_kernel_error(x, y, fresh):
    """The error of tangent-kernel ridge regression with the best of four ridges, chosen with the answers in hand."""
    scales: dict[str, Any] = dict(weight_scale=2**0.5, bias_scale=0.5, input_scale=DIMENSION**-0.5)
    network = fully_connected(DIMENSION, hidden_layers=1, **scales)
    kernel = np.asarray(limit_kernel(network, np.concatenate([x, fresh]), x, want=("ntk",)).ntk)
    answers = [kernel[len(y) :] @ np.linalg.solve(kernel[: len(y)] + r * np.eye(len(y)), y) for r in (1e-6, 0.1, 1, 3)]
    return min(np.mean((each - single_index(fresh)) ** 2) for each in answers)


@claim(
    items={"L7.20": ("beats the kernel", "alignment", "below the floor"),
           "H6.10": ("beats the kernel", "alignment", "lazy", "beats the lazy", "floor", "below the floor")},
    says=r"On a single-index target in 20 dimensions a network of 16 neurons with small initial "
    r"weights, trained on 120 "
    r"samples, has a smaller test error than regression with its infinite-width tangent kernel at the best ridge, and "
    r"smaller than the least mean error that any features fixed in advance allow; its tangent kernel turns towards the "
    r"targets, at least twice as far as that of a network with large initial weights, which also has the larger error.",
    needs="Gaussian inputs; a target that depends on one direction and has a linear part; small initial weights",
    scale="printed: convolutional networks on CIFAR-10; here: 16 neurons, 120 samples of a single-index target",
)  # fmt: skip
def feature_learning(key, *, trials: Trials = 120):
    rng = generator(jax.random.fold_in(key, 1))
    x, fresh = rng.standard_normal((trials, SAMPLES, DIMENSION)), rng.standard_normal((trials, 200, DIMENSION))
    y = single_index(x)
    drawn = doubled(init_mlp(key, (DIMENSION, NEURONS // 2, 1), ensemble=(trials,), **RICH))

    def sized(size):
        weights = drawn.weights[0] * size / DIMENSION**0.5, drawn.weights[1] * size / 2
        return replace(drawn, weights=weights, biases=tuple(0 * bias for bias in drawn.biases))

    error, before, after = map(np.asarray, learned(sized(0.3), x, y, fresh, 0.2 / SAMPLES, 150))
    # Weights twenty times as large move the outputs some hundred times as fast.
    lazy = [np.asarray(part) for part in learned(sized(6.0), x, y, fresh, 0.001 / SAMPLES, 150)]
    kernel = np.array([best_kernel_error(*data) for data in zip(x, y, fresh, strict=True)])
    floor = fixed_feature_floor(single_index_spectrum(DIMENSION, linear=0.5, quadratic=0.5), SAMPLES)
    return {
        "beats the kernel": Trend(kernel - error),
        "floor": Trend(kernel - floor),
        "below the floor": Trend(floor - error),
        "alignment": Trend(after - before),
        "lazy": Trend((after - before) - 2 * np.abs(lazy[2] - lazy[1])),
        "beats the lazy": Trend(lazy[0] - error),
    }


@feature_learning.control("large initial weights")
def lazy_below_the_floor(pieces):
    gap, lazy = pieces["below the floor"], pieces["beats the lazy"]
    return {"below the floor": replace(gap, differences=gap.differences - lazy.differences)}


@feature_learning.control("the floor of no samples at all", of="floor")
def nothing_learned(evidence):
    levels = single_index_spectrum(DIMENSION, linear=0.5, quadratic=0.5)
    lower = fixed_feature_floor(levels, 0) - fixed_feature_floor(levels, SAMPLES)
    return replace(evidence, differences=evidence.differences - lower)


FIT_STEPS = 180
FIT: dict[str, Any] = dict(weight_scale=1.0, input_scale=1.5)
fitted = jax.jit(
    jax.vmap(
        lambda network, x, y, fresh, step: (
            lambda end: (
                0.5 * jnp.sum((end(x)[:, 0] - y) ** 2),
                jnp.mean((end(fresh)[:, 0] - 12**0.5 * fresh[:, 0]) ** 2),
            )
        )(train(network, x, y, x[:1], step_size=step, steps=FIT_STEPS).network),
        in_axes=(0, 0, 0, 0, None),
    )
)


@claim(
    items={"H6.9": ("fits", "generalises")},
    says=r"Networks with many times more parameters than the eight samples, doubled so that $f_0=0$ and trained by "
    r"gradient descent on noisy labels, reach training losses below $10^{-8}$ in at least 95 % of runs, and their test "
    r"error stays below that of the zero function at every width.",
    needs="tangent scaling, doubled to start from zero, stable steps, inputs that are not nearly parallel",
    scale="printed: millions of parameters for thousands of images; here: 624 to 936 weights for 8 samples",
)
def overparametrised_networks(key, *, widths: Sizes = (48, 60, 72), trials: Trials = 224):
    rng = generator(jax.random.fold_in(key, 1))
    x, fresh = rng.standard_normal((trials, 8, 12)), rng.standard_normal((trials, 20, 12))
    x, fresh = (each / np.linalg.norm(each, axis=2, keepdims=True) for each in (x, fresh))
    y = 12**0.5 * x[..., 0] + 0.1 * rng.standard_normal((trials, 8))
    losses, errors = [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = doubled(init_mlp(draw, (12, width // 2, 1), ensemble=(trials,), activation=jnp.tanh, **FIT))
        loss, error = fitted(padded(network, max(*widths, 72)), x, y, fresh, 0.4)
        losses.append(np.asarray(loss))
        errors.append(np.mean(12 * fresh[..., 0] ** 2, axis=1) - np.asarray(error))
    along = {"width": np.asarray(widths)}
    return {
        "fits": Chance(np.sum(np.asarray(losses) > 1e-8, axis=1), trials, at_most=0.05, along=along),
        "generalises": Trend(np.asarray(errors), along=along),
    }


overparametrised_networks.control("fewer parameters than samples", of="fits", widths=(2,))
