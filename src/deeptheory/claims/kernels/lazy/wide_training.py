"""Wide networks in training: ensembles and their band, weights that barely move, perfect fits, learned features."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.scipy.special import erf
from scipy.special import ndtr

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.features import sample_gaussian_process
from deeptheory.kernels.finite.linearization import doubled, loss_curvature, padded
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.lazy.monitors import (
    Activity,
    activity,
    activity_polynomial,
    activity_rate_bound,
    activity_rates,
    activity_sum,
    aligned_network,
    mean_loss_velocity,
)
from deeptheory.kernels.lazy.training import train
from deeptheory.kernels.limits.dense_networks import conditional_covariance, fully_connected, layerwise_ntk
from deeptheory.kernels.limits.gaussian_processes import band_coverage
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import GaussianLaw, descent, diagonalize, predicted_ensemble
from deeptheory.lab import Chain, Chance, Identity, Law, Limit, Rate, Share, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, power_law
from deeptheory.networks.mlp import init_mlp

Starts = Annotated[int, Interval(ge=1000, le=1_000_000)]
LINE: dict[str, Any] = dict(weight_scale=2.0, input_scale=2.0)
"""One hidden layer on the line: inputs (t, 1), so that the first layer has its offsets."""
KNOWN, ANSWERS = np.array([-1.2, 0.1, 1.3]), np.array([0.6, -0.8, 1.0])
GRID = np.array([-2.4, -2.1, -1.8, -1.5, -1.2, -0.9, -0.6, -0.3, -0.1, 0.1, 0.3, 0.5, 0.8, 1.1, 1.3, 1.6, 2.0, 2.4])
ENSEMBLE_STEPS, WATCHED = 30, 5
"""Steps of training, and the place on the grid where it is counted how many networks lie in the band."""


def lifted(t):
    return np.column_stack([t, np.ones_like(t)])


def slopes_of(network, inner):
    """σ_w/√m φ′(u_r) of an erf network at scaled inputs, written out: φ′ = 2e^{−u²}/√π."""
    u = inner @ network.weights[0].T
    return LINE["weight_scale"] / u.shape[1] ** 0.5 * 2 / np.pi**0.5 * np.exp(-(u**2))


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def end_of_training(network, step):
    """Outputs on the training points and on the grid before, on the grid after, and the blocks of the curvature."""
    x, grid = lifted(KNOWN), lifted(GRID)
    end = train(network, x, ANSWERS, x[:1], step_size=step, steps=ENSEMBLE_STEPS).network
    here = network(x)[:, 0]
    # Second derivatives in the scaled output weights; in the weights themselves each a_r brings its factor.
    units = jnp.concatenate([network.factors[1][None], jnp.ones(2)])
    blocks = loss_curvature(network.scaled(), x, here - ANSWERS) * units * units[:, None]
    return here, network(grid)[:, 0], end(grid)[:, 0], blocks


@jax.jit
def ensemble_law(covariance, tangent, step):
    """The law after training of an ensemble that starts with one kernel and is trained with the other."""
    (own, _), (cross, other) = ((rows[:, :3], rows[:, 3:]) for rows in (covariance[:3], covariance[3:]))
    start: dict[str, Any] = dict(covariance=own, cross_covariance=cross, other_covariance=other)
    rule = descent(ENSEMBLE_STEPS, step_size=step)
    return predicted_ensemble(diagonalize(tangent[:3, :3]), rule, ANSWERS, tangent[3:, :3], **start)


def line_limits():
    """Both limit kernels on the training points and the grid, and a step that is stable for them."""
    network = fully_connected(2, hidden_layers=1, activation=Erf(), **LINE)
    kernels = limit_kernel(network, lifted(np.concatenate([KNOWN, GRID])), want=("nngp", "ntk"))
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
        "L7.12": (
            "mean of the ensemble",
            "covariance of the ensemble",
            "one network near its prediction",
            "mean of trained networks, steadied",
            "mean of trained networks",
            "share of the law in the band",
            "share of networks in the band",
            "share within k deviations",
        ),
        "L7.16": (
            "mean of the ensemble",
            "covariance of the ensemble",
            "one network near its prediction",
            "kernel of the last layer",
            "kernel of the first layer",
        ),
        "H6.6": (
            "one network near its prediction",
            "covariance of the ensemble",
            "curvature beside the convex part",
            "mixed derivatives by hand",
        ),
    },
    says=r"Wide networks start as a Gaussian process with kernel $\Sigma$ and train by the tangent kernel $\Theta$: "
    r"after $k$ steps they have mean $Ay$ and covariance "
    r"$\Sigma_{xx}-A\Sigma_{Xx}-\Sigma_{xX}A^\top+A\Sigma_{XX}A^\top$, "
    r"$A=\Theta_{xX}\Theta^{-1}(I-(I-\eta\Theta)^k)$. One network is within order $\mathrm{width}^{-1/2}$ of this.",
    needs="one wide hidden layer in tangent scaling, random start, squared loss, stable steps",
    scale="printed: infinitely wide networks; here: trained networks of width 96 to 864, three points on a line",
    full=dict(trials=1024, widths=(192, 576, 1728)),
    symbols={
        r"\Sigma": "the covariance of the outputs at the start (the NNGP kernel)",
        r"\Theta": "the tangent kernel in the limit of infinite width",
        "k": r"the number of steps of size $\eta$",
        "y": "the targets at the training inputs $X$",
        "A": "what training carries from the training inputs to another input $x$",
    },
    why=r"Training is an affine map of the start: it adds $Ay$ and takes off $A$ times the outputs at the training "
    r"inputs. An affine image of a Gaussian process is Gaussian with this mean and covariance, in which both kernels "
    r"appear, so it is no posterior of either. One network follows, up to order $\mathrm{width}^{-1/2}$, what the map "
    r"makes of its own start. The last layer's share of the tangent kernel is the covariance given the hidden layer; "
    r"the first layer's is what the slopes add. The loss itself is convex but for second derivatives of order "
    r"$\sqrt{\log(\mathrm{width})/\mathrm{width}}$.",
    notice=r"Trained networks pass through the data and spread between and beyond them; 95.4 % of the law lies in the "
    r"band of two standard "
    r"deviations, and about as many of the networks.",
)
def trained_ensemble_band(key, *, widths: Sizes = (96, 288, 864), trials: Trials = 240, starts: Starts = 20_000):
    nngp, ntk, step = line_limits()
    law = jax.tree.map(np.asarray, ensemble_law(nngp, ntk, step))
    mean, covariance = stepped_law(nngp, ntk, step)
    spread = np.sqrt(np.diag(covariance))
    prior = GaussianLaw(np.zeros(len(nngp)), nngp)
    limit = stepped(ntk, sample_gaussian_process(jax.random.fold_in(key, 5), prior, count=starts), step)
    distances, steadied, curvatures, ends, mixed = [], [], [], [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = init_mlp(draw, (2, width, 1), ensemble=(trials,), activation=erf, **LINE)
        here, there, end, blocks = map(np.asarray, end_of_training(padded(network, max(widths)), step))
        start = np.concatenate([here, there], axis=1)
        ends.append(end.T)
        distances.append(np.sqrt(np.mean((end - stepped(ntk, start, step)) ** 2, axis=1)))
        # What the start leaves at the end in the limit has mean zero at every width: taken out, the rest varies little.
        steadied.append((end - stepped(ntk, start, step, targets=np.zeros(3))).T)
        one, inner = jax.tree.map(lambda leaf: leaf[0], network), LINE["input_scale"] * lifted(KNOWN)
        mixed.append(
            [blocks[0, : widths[0], 0, 1:], (slopes_of(one, inner)[:, : widths[0]].T * (here[0] - ANSWERS)) @ inner]
        )
        some = trials // 2  # enough, and eigenvalues are slow
        lowest = np.min(np.linalg.eigvalsh(blocks[:some, :width])[..., 0], axis=1)
        # The worst of m neurons has an output weight of about √(2 log m).
        curvatures.append(-lowest / np.linalg.norm(here - ANSWERS, axis=1)[:some] / np.log(width) ** 0.5)
    here = limit[:, WATCHED], np.array(ends)[:, WATCHED]
    inside = [np.sum(np.abs(each - law.mean[WATCHED]) <= 2 * spread[WATCHED]) for each in here]
    one = init_mlp(jax.random.fold_in(key, 9), (2, 32, 1), activation=erf, **LINE)
    shares, conditional = (np.asarray(part) for part in layers_alone(one, lifted(GRID)))
    # The first layer by hand: σ_w²/m Σ a² φ′φ′ times s² x·x′.
    inner = LINE["input_scale"] * lifted(GRID)
    gradients = (one.weights[1] * slopes_of(one, inner)) @ (one.weights[1] * slopes_of(one, inner)).T
    sizes = np.asarray(widths)
    steady: dict[str, Any] = dict(along={"input": GRID}, sizes=sizes, order=1)
    condition = float(np.linalg.cond(ntk[:3, :3]))
    return {
        "mean of the ensemble": Identity(law.mean, mean, scale=1.0, condition=condition),
        "covariance of the ensemble": Identity(
            law.covariance, covariance, scale=float(np.max(nngp)), condition=condition
        ),
        "one network near its prediction": Rate(sizes, np.asarray(distances), exponent=-0.5, rivals=(0.0, -1.0)),
        # In units of the targets; extrapolated from 240 networks of each width the far ends are known to a tenth.
        "mean of trained networks, steadied": Law(law.mean, np.asarray(steadied), scale=1.0, resolution=0.15, **steady),
        # As they are, 240 networks show their mean to 1.25 · (5.9 + 4)/√240 standard deviations; drawn in the figure.
        "mean of trained networks": Law(
            law.mean, np.asarray(ends), scale=float(np.max(spread)), resolution=0.8, **steady
        ),
        "share of the law in the band": Share(inside[0], starts, float(band_coverage(2.0))),
        # Of 720 networks 33 are expected outside, and half as many more might go unnoticed.
        "share of networks in the band": Share(
            inside[1], trials * len(widths), float(band_coverage(2.0)), resolution=0.1
        ),
        "share within k deviations": Identity(band_coverage(np.arange(4.0)), 2 * ndtr(np.arange(4.0)) - 1, scale=1.0),
        "curvature beside the convex part": Limit(sizes, np.asarray(curvatures), order=0.5),
        "mixed derivatives by hand": Identity(*np.moveaxis(np.asarray(mixed), 1, 0), scale=1.0, size=16),
        "kernel of the last layer": Identity(shares[-1], conditional, scale=float(np.max(conditional)), size=32),
        "kernel of the first layer": Identity(
            shares[0], inner @ inner.T * gradients, scale=float(np.max(gradients)), size=64
        ),
    }


def rival_law(start, training):
    """The law of an ensemble with either kernel, 0 for NNGP and 1 for tangent, at the start and in training."""
    *kernels, step = line_limits()
    return jax.tree.map(np.asarray, ensemble_law(kernels[start], kernels[training], step))


@trained_ensemble_band.control("the NNGP kernel in training too", of="mean of the ensemble")
def covariance_trains(evidence):
    return replace(evidence, left=rival_law(0, 0).mean)


@trained_ensemble_band.control("the NNGP kernel in training, before networks", of="mean of trained networks, steadied")
def covariance_trains_networks(evidence):
    return replace(evidence, predicted=rival_law(0, 0).mean)


@trained_ensemble_band.control("the tangent kernel at the start too", of="covariance of the ensemble")
def tangent_starts(evidence):
    return replace(evidence, left=rival_law(1, 1).covariance)


@trained_ensemble_band.control("the posterior of the NNGP kernel", of="covariance of the ensemble")
def posterior_of_nngp(evidence):
    return replace(evidence, left=rival_law(0, 0).covariance)


@trained_ensemble_band.control("second derivatives of order 1/width", of="curvature beside the convex part")
def half_an_order_less(evidence):
    return replace(evidence, order=1.0)


@trained_ensemble_band.control("one standard deviation for the band", of="share of the law in the band")
def narrow_band(evidence):
    return replace(evidence, predicted=float(band_coverage(1.0)))


@trained_ensemble_band.control("all layers' kernel for the last layer's")
def all_layers(pieces):
    last = pieces["kernel of the last layer"]
    return {"kernel of the last layer": replace(last, left=last.left + pieces["kernel of the first layer"].left)}


@trained_ensemble_band.picture
def band(pieces):
    """Thirty trained networks, the mean and the two standard deviations of the law they follow, and the data."""
    law, trained = pieces["mean of the ensemble"].left, np.asarray(pieces["mean of trained networks"].observed)[-1]
    spread = 2 * np.sqrt(np.diag(pieces["covariance of the ensemble"].left))
    marks = [Line("trained networks", GRID, each, thin=True) for each in trained.T[:30]]
    marks += [Line("law: mean ± 2 deviations", GRID, law, low=law - spread, high=law + spread)]
    return Curves([*marks, Dots("data", KNOWN, ANSWERS)], x="input", y="output")


DEEP: dict[str, Any] = dict(weight_scale=1.4, input_scale=1.0)
SIX, DEEP_TARGETS = np.eye(6)[:4], np.array([1.0, -1.0, 1.0, -1.0])
"""Orthogonal inputs, on which few steps are enough, and how far the outputs shall move."""
DEEP_STEPS, DEEP_STEP = 12, 0.22
"""On these inputs the tangent kernel tends to 3.2 times the identity: 0.22 is seven tenths of the Newton step."""


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def monitored(network, fill):
    """Drifts of the weight matrices, the largest operator norm and both Frobenius norms; A(t) − A(0); of the outputs.

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
    return jnp.stack([jnp.max(now.weight_drift), *frobenius, growth, moved])


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


def activity_by_hand(network, start, x):
    """A of one network of width 6, its operator norms from singular values."""
    now, before = (np.array(each.preactivations(x)[:-1]) for each in (network, start))
    hidden = np.asarray(half_linear(before)), LINEAR * (now - before)
    pairs = [(v, w - v) for w, v in zip(network.weights[1:], start.weights[1:], strict=True)]
    norms = np.array([[np.linalg.norm(part, 2) for part in pair] for pair in pairs]) / 6**0.5
    return np.sqrt(np.mean(np.square(hidden), axis=(2, 3))).sum() + norms.sum()


@claim(
    items={
        "J8.13": (
            "largest singular value of the change",
            "Frobenius norm of the change",
            "Frobenius norm of the readout's change",
        ),
        "J8.14": (
            "growth of the monitors",
            "change of the outputs",
            "monitors by hand",
            "links of the proof",
            "bounds of the layers attained",
            "polynomial attained",
        ),
    },
    says=r"Two hidden layers of width $n$ learn to move their outputs by order 1: "
    r"$n^{-1/2}\|W^{(\ell)}(t)-W^{(\ell)}(0)\|_{op}$ for $\ell\ge1$ and $A(t)-A(0)$ fall like $n^{-1/2}$, while "
    r"Frobenius norms of the change stay of order 1. $\dot A\le P(A)\|y-f\|_{p^{in}}/\sqrt n$ with an explicit "
    r"polynomial.",
    needs="tangent scaling; slopes of the activation at most c; equal widths for P; gradient flow on the mean loss for "
    "the rates; targets counted from the initial outputs for the exponents",
    scale="printed: width to infinity, one layer after the other; here: both layers 32 to 128 together",
    full=dict(widths=(64, 128, 256), trials=96),
    symbols={
        r"n": "the width of both hidden layers",
        r"W^{(\ell)}": r"the weight matrix that enters layer $\ell$; $op$ is its largest singular value",
        r"A(t)": "the sum over the hidden layers of all monitors: sizes and drifts of weights and activations",
        r"P": "a polynomial with explicit coefficients",
        r"p^{in}": r"the law of the inputs; $y-f$ what is still to learn",
    },
    why=r"One training step changes a weight matrix by a sum of a few outer products of vectors with $n$ entries of "
    r"order one, divided by $\sqrt n$: a matrix of low rank and Frobenius norm of order one. Against the matrix at "
    r"the start, whose operator norm is of order $\sqrt n$, this is a share $n^{-1/2}$. Each monitor's rate is "
    r"bounded by products of the others, layer by layer, which gives the polynomial and, by comparison, "
    r"$A(t)-A(0)=O(n^{-1/2})$; linear networks with aligned weights attain the bounds of the layers, and $P$ when all "
    r"monitors are equal. The outputs move by order 1 at every width, so the last layer $k=L$ cannot be in the sum.",
    notice=r"Relative to $\sqrt n$ the weights and the sum of monitors move less and less, on lines of slope "
    r"$-\frac12$, while the outputs go all the way at every width.",
)
def weights_barely_move(key, *, widths: Sizes = (32, 64, 128), trials: Trials = 48):
    found = []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        drawn = init_mlp(draw, (6, width, width, 1), ensemble=(trials,), activation=erf, **DEEP)
        found.append(np.asarray(monitored(padded(drawn, max(widths)), (max(widths) / width) ** 0.5)).T)
    drift, hidden, readout, growth, outputs = np.moveaxis(np.asarray(found), 1, 0)
    rng = generator(jax.random.fold_in(key, 3))
    each = start = init_mlp(jax.random.fold_in(key, 4), (3, 6, 6, 1), activation=half_linear, **AFFINE)
    x, y, path, summed = rng.standard_normal((5, 3)), rng.standard_normal(5), [], []
    for _ in range(12):
        value, velocity, *rest = jax.tree.map(np.asarray, rates_and_bounds(each, start, x, y))
        summed.append(activity_by_hand(each, start, x))
        each, soon = (jax.tree.map(lambda p, v, h=h: p + h * v, each, velocity) for h in (0.5, 1e-6))
        path.append((value, (np.asarray(rates_and_bounds(soon, start, x, y)[0]) - value) / 1e-6, *rest))
    value, rate, rates, bounds, size = map(np.asarray, zip(*path, strict=True))
    allowed = np.polyval(np.asarray(activity_polynomial(start, x, slope=LINEAR)), value) * size / 6**0.5
    # One input, five times: the mean over inputs is then that of one.
    one, target, rows = np.tile(x[:1], (5, 1)), np.full(5, y[0]), []
    for level in LEVELS:
        shape: dict[str, Any] = dict(level=float(level), activation=half_linear, slope=LINEAR, **AFFINE)
        network = aligned_network(jax.random.fold_in(key, 5), (3, 6, 6, 1), x[:1], **shape)
        rows.append([np.asarray(part) for part in rates_and_bounds(network, network, one, target)[2:]])
    attained, bound, residual = (np.array(part) for part in zip(*rows, strict=True))
    units = np.array([1.0, LINEAR])[:, None]  # A counts pre-activations times the slope
    grown = np.sum(attained * units, axis=(1, 2)) * 6**0.5 / residual
    sizes, coefficients = np.asarray(widths), np.asarray(activity_polynomial(network, one, slope=LINEAR))
    return {
        "largest singular value of the change": Rate(sizes, drift, exponent=-0.5, rivals=(0.0, -1.0)),
        "Frobenius norm of the change": Rate(sizes, hidden, exponent=0.0, rivals=(0.5, -0.5)),
        "Frobenius norm of the readout's change": Rate(sizes, readout, exponent=0.0, rivals=(0.5, -0.5)),
        "growth of the monitors": Rate(sizes, growth, exponent=-0.5, rivals=(0.0, -1.0)),
        "change of the outputs": Rate(sizes, outputs, exponent=0.0, rivals=(-0.5,), order=1.0),
        "monitors by hand": Identity(value, np.array(summed), size=64),
        "links of the proof": Chain(
            {
                "the drifts grow no faster than what they measure moves": (rate, np.sum(rates * units, axis=(1, 2))),
                "weights, layer by layer": (rates[:, 0], bounds[:, 0]),
                "activations, layer by layer": (rates[:, 1], bounds[:, 1]),
                "both, by the polynomial": (np.sum(bounds * units, axis=(1, 2)), allowed),
            },
            error=1e-4 * float(np.max(rates)),  # the rate is a difference over 1e-6 in time, right to about as much
        ),
        "bounds of the layers attained": Identity(attained, bound, size=64),
        "polynomial attained": Identity(grown, np.polyval(coefficients, LEVELS), size=64),
    }


@weights_barely_move.control("the sum up to the output")
def output_in_the_sum(pieces):
    # With one output n_L = 1, and ã of the last layer is how far the outputs went.
    growth = pieces["growth of the monitors"]
    return {"growth of the monitors": replace(growth, y=growth.y + pieces["change of the outputs"].y)}


@weights_barely_move.control(
    "own motion of the second layer without what it receives from the first", of="bounds of the layers attained"
)
def nothing_received(evidence):
    right = np.array(evidence.right)
    right[:, 1, 1] -= LINEAR * AFFINE["weight_scale"] * LEVELS * right[:, 1, 0]
    return replace(evidence, right=right)


@weights_barely_move.control("activations to the first power in the polynomial", of="polynomial attained")
def first_power(evidence):
    sigma = AFFINE["weight_scale"]
    return replace(evidence, right=evidence.right + LINEAR**2 * sigma**3 * (LEVELS**2 - LEVELS**3))


@weights_barely_move.picture
def motion_against_width(pieces):
    """What moves by order one and what hardly moves, against the width; lines of the predicted slopes."""
    names = {
        "change of the outputs": "outputs",
        "Frobenius norm of the change": "hidden weights, Frobenius norm",
        "largest singular value of the change": "weights, operator norm over √n",
        "growth of the monitors": "sum of monitors",
    }
    marks = [mark for piece, name in names.items() for mark in power_law(name, pieces[piece])]
    return Curves(marks, x="width n", y="change in training", log="xy")


FIT: dict[str, Any] = dict(weight_scale=1.0, input_scale=1.5)


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, 0, 0, None))
def fitted(network, x, y, fresh, step):
    """The largest output before training, the training loss and the error on fresh inputs after it."""
    end = train(network, x, y, x[:1], step_size=step, steps=180).network
    error = jnp.mean((end(fresh)[:, 0] - 12**0.5 * fresh[:, 0]) ** 2)
    return jnp.max(jnp.abs(network(x))), 0.5 * jnp.sum((end(x)[:, 0] - y) ** 2), error


@claim(
    items={"H6.9": ("training losses", "test error below the zero function", "zero at the start")},
    says=r"Networks with many times more parameters than the eight samples, doubled so that $f_0=0$ and trained on "
    r"noisy labels, reach training losses below $10^{-8}$ in at least 95 % of runs, and their test error stays below "
    r"that of the zero function at every width.",
    needs="gradient descent, tangent scaling, doubled to start from zero, stable steps, inputs that are not nearly "
    "parallel",
    scale="printed: millions of parameters for thousands of images; here: 624 to 936 weights for 8 samples",
    symbols={
        "f_0": "the function of the network at the start, zero because the network is held twice with opposite signs"
    },
    why=r"In tangent scaling a wide network trains like its linearization, a least-squares problem with more unknowns "
    r"than equations: descent fits it exactly "
    r"and, from zero, ends at the solution of least norm. A short solution is a smooth function, which is why an exact "
    r"fit of slightly noisy labels need not "
    r"be a bad one.",
    notice=r"Of the widest networks nearly all reach losses many orders of magnitude below the threshold.",
)
def overparametrised_networks(key, *, widths: Sizes = (48, 60, 72), trials: Trials = 320):
    rng = generator(jax.random.fold_in(key, 1))
    x, fresh = rng.standard_normal((trials, 8, 12)), rng.standard_normal((trials, 20, 12))
    x, fresh = (each / np.linalg.norm(each, axis=2, keepdims=True) for each in (x, fresh))
    y = 12**0.5 * x[..., 0] + 0.1 * rng.standard_normal((trials, 8))
    losses, errors, starts = [], [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = doubled(init_mlp(draw, (12, width // 2, 1), ensemble=(trials,), activation=jnp.tanh, **FIT))
        start, loss, error = fitted(padded(network, max(*widths, 72)), x, y, fresh, 0.4)
        starts.append(np.asarray(start))
        losses.append(np.asarray(loss))
        errors.append(np.mean(12 * fresh[..., 0] ** 2, axis=1) - np.asarray(error))
    along = {"width": np.asarray(widths)}
    return {
        "training losses": Chance(
            np.sum(np.asarray(losses) > 1e-8, axis=1), trials, at_most=0.05, along=along, aside={"losses": losses[-1]}
        ),
        "test error below the zero function": Trend(np.asarray(errors), along=along),
        "zero at the start": Identity(np.asarray(starts), 0.0, scale=1.0, size=72),
    }


overparametrised_networks.control("fewer parameters than samples", of="training losses", widths=(2,))


@overparametrised_networks.control("the error of the zero function is smaller", of="test error below the zero function")
def zero_is_better(evidence):
    return replace(evidence, differences=-np.asarray(evidence.differences))


@overparametrised_networks.picture
def losses_at_the_end(pieces):
    """Training losses of the widest networks after training, as powers of ten, and the threshold of the claim."""
    reached = np.log10(np.maximum(pieces["training losses"].aside["losses"], 1e-40))
    return Histogram(
        [Level("threshold", x=-8.0)], samples=reached, bins=30, x="training loss, power of ten", y="density"
    )
