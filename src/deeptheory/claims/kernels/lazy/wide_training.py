"""Wide networks in training: ensembles and their band, and perfect fits."""

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
from deeptheory.kernels.lazy.training import train
from deeptheory.kernels.limits.dense_networks import conditional_covariance, fully_connected, layerwise_ntk
from deeptheory.kernels.limits.gaussian_processes import band_coverage
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import GaussianLaw, descent, diagonalize, predicted_ensemble
from deeptheory.lab import Chance, Identity, Law, Limit, Rate, Share, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line
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
    notice="Trained networks pass through the data and spread between and beyond them; 95.4 % of the law lies in the "
    "band of two standard deviations, and about as many of the networks.",
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


@trained_ensemble_band.control("the NNGP kernel at the start and in training", of="covariance of the ensemble")
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


FIT: dict[str, Any] = dict(weight_scale=1.0, input_scale=1.5)


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, 0, 0, None))
def fitted(network, x, y, fresh, step):
    """The largest output before training, the training loss and the error on fresh inputs after it."""
    end = train(network, x, y, x[:1], step_size=step, steps=180).network
    error = jnp.mean((end(fresh)[:, 0] - 12**0.5 * fresh[:, 0]) ** 2)
    return jnp.max(jnp.abs(network(x))), 0.5 * jnp.sum((end(x)[:, 0] - y) ** 2), error


@claim(
    items={"H6.9": ("training losses", "test error below the zero function")},
    says=r"Networks with many times more parameters than the eight samples, doubled so that $f_0=0$ and trained on "
    r"noisy labels, reach training losses below $10^{-8}$ in at least 95 % of runs, and their mean test error stays "
    r"below that of the zero function at every width.",
    needs="gradient descent, tangent scaling, doubled to start from zero, stable steps, inputs that are not nearly "
    "parallel",
    scale="printed: millions of parameters for thousands of images; here: 624 to 936 weights for 8 samples",
    symbols={
        "f_0": "the function of the network at the start, zero because the network is held twice with opposite signs"
    },
    why="In tangent scaling a wide network trains like its linearization, a least-squares problem with more unknowns "
    "than equations: descent fits it exactly and, from zero, ends at the solution of least norm. A short solution is a "
    "smooth function, which is why an exact fit of slightly noisy labels need not be a bad one.",
    notice=r"Of the widest networks nearly all reach losses many orders of magnitude below the threshold.",
)
def overparametrised_networks(key, *, widths: Sizes = (48, 60, 72), trials: Trials = 320):
    rng = generator(jax.random.fold_in(key, 1))
    x, fresh = rng.standard_normal((trials, 8, 12)), rng.standard_normal((trials, 20, 12))
    x, fresh = (each / np.linalg.norm(each, axis=2, keepdims=True) for each in (x, fresh))
    y = 12**0.5 * x[..., 0] + 0.1 * rng.standard_normal((trials, 8))
    losses, errors, starts = [], [], []
    zero = np.mean(12 * fresh[..., 0] ** 2, axis=1)
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = doubled(init_mlp(draw, (12, width // 2, 1), ensemble=(trials,), activation=jnp.tanh, **FIT))
        start, loss, error = fitted(padded(network, max(*widths, 72)), x, y, fresh, 0.4)
        starts.append(np.asarray(start))
        losses.append(np.asarray(loss))
        errors.append(zero - np.asarray(error))
    # The last networks again, on labels of the same size that tell nothing.
    noise = fitted(padded(network, max(*widths, 72)), x, rng.standard_normal((trials, 8)), fresh, 0.4)[2]
    along = {"width": np.asarray(widths)}
    return {
        "training losses": Chance(
            np.sum(np.asarray(losses) > 1e-8, axis=1), trials, at_most=0.05, along=along, aside={"losses": losses[-1]}
        ),
        "test error below the zero function": Trend(
            np.asarray(errors), along=along, aside={"labels of noise": zero - np.asarray(noise)}
        ),
        "zero at the start": Identity(np.asarray(starts), 0.0, scale=1.0, size=72),
    }


overparametrised_networks.control("networks of two neurons", of="training losses", widths=(2,))


@overparametrised_networks.control("with labels that are noise alone", of="test error below the zero function")
def labels_of_noise(evidence):
    return replace(evidence, differences=evidence.aside["labels of noise"], along={})


@overparametrised_networks.picture
def losses_at_the_end(pieces):
    """Training losses of the widest networks after training, as powers of ten, and the threshold of the claim."""
    reached = np.log10(np.maximum(pieces["training losses"].aside["losses"], 1e-40))
    return Histogram(
        [Level("threshold", x=-8.0)], samples=reached, bins=30, x="training loss, power of ten", y="density"
    )
