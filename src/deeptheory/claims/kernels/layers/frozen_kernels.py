"""The tangent kernel of a wide network stays put in training, and what follows for its outputs."""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np
from jax.scipy.special import erf
from scipy.special import erf as error_function

from deeptheory.claims.kernels.layers.tangent import wide_limit
from deeptheory.kernels.layers.activations import Erf
from deeptheory.kernels.lazy.training import train_with_kernel
from deeptheory.kernels.regression.predictions import kernel_training
from deeptheory.lab import Identity, Law, Limit, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, power_law
from deeptheory.networks.mlp import init_mlp

POINTS = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [0, -0.6, 0.8], [-0.8, 0, 0.6], [0.8, 0, 0.6], [0.6, -0.8, 0]]
)
"""Six points to train on, then two to watch."""
TARGETS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
STEPS = 40
TRAINED = dict(weight_scale=1.5, bias_scale=0.3)


watched = jax.jit(
    jax.vmap(
        lambda network, x, y, other, step: train_with_kernel(network, x, y, other, step_size=step, steps=STEPS),
        in_axes=(0, None, None, None, None),
    )
)
predicted = jax.jit(
    jax.vmap(
        lambda outputs, others, kernel, y, step: kernel_training(
            kernel[: len(y), : len(y)], kernel[len(y) :, : len(y)], outputs, others, y, step_size=step, steps=STEPS
        ),
        in_axes=(0, 0, None, None, None),
    )
)


def training_limits():
    """Limit kernels of the trained network on all points, and the step that is stable for them."""
    limits = wide_limit(POINTS, hidden_layers=1, activation=Erf(), **TRAINED)
    return limits, 1 / float(np.linalg.eigvalsh(limits.ntk[:6, :6])[-1])


def integrated(residuals, step):
    """The integrals of ‖y − f‖ and of ‖y − f‖² over training time, for each run."""
    sizes = np.linalg.norm(residuals, axis=2)
    return step * np.array([sizes.sum(axis=1), (sizes**2).sum(axis=1)])


def frozen_integrals(kernel, y):
    """Their means when a frozen kernel trains and the outputs start as the Gaussian of the limit."""
    limits, step = training_limits()
    starts = np.random.default_rng(0).multivariate_normal(np.zeros(8), limits.nngp, size=1024)
    return integrated(predicted(starts[:, :6], starts[:, 6:], kernel, y, step)[0] - y, step).mean(axis=1)


def trained_by_hand(network, y, step):
    """Outputs on six points before each step and after the last, and the kernel's drift after each quarter of them."""
    weights, biases = (list(map(np.array, part)) for part in (network.weights, network.biases))
    x, sigma, bias, paths, kernels = POINTS[:6], TRAINED["weight_scale"], TRAINED["bias_scale"], [], []
    for _ in range(STEPS + 1):
        u = x @ weights[0].T + bias * biases[0]
        hidden = sigma / u.shape[1] ** 0.5 * error_function(u)
        slopes = sigma / u.shape[1] ** 0.5 * weights[1] * 2 / np.pi**0.5 * np.exp(-(u**2))
        paths.append((hidden @ weights[1].T)[:, 0] + bias * biases[1])
        kernels.append(hidden @ hidden.T + bias**2 + (x @ x.T + bias**2) * (slopes @ slopes.T))
        pull = step * (y - paths[-1])
        moves = slopes.T * pull @ x, pull @ hidden, bias * pull @ slopes, bias * pull.sum()
        for value, move in zip((*weights, *biases), moves, strict=True):
            value += move
    moved = np.linalg.norm(np.array(kernels[STEPS // 4 :: STEPS // 4]) - kernels[0], axis=(1, 2))
    return np.array(paths), moved / np.linalg.norm(kernels[0])


@claim(
    items={
        "L7.19": ("change of the kernel", "distance of the outputs", "training run by hand"),
        "J8.12": (
            "change of the kernel",
            "distance of the outputs",
            "integral of the residual",
            "integral of the squared residual",
            "training run by hand",
        ),
    },
    says=r"While a wide erf network trains, its tangent kernel moves by order 1/width, and its outputs follow descent "
    r"with the frozen limit kernel, $\dot f=-\Theta(f-y)$, up to order $\mathrm{width}^{-1/2}$; the integrals of "
    r"$\|y-f\|$ and $\|y-f\|^2$ tend to those of that descent.",
    needs="targets of fixed size, so that the integrated residual stays bounded; a fixed number of steps",
    scale="printed: widths to infinity; here: one hidden layer of 64 to 512, six points, 40 steps",
    full=dict(widths=(128, 256, 512, 1024, 2048)),
    symbols={
        "f,y": "the outputs of the network and their targets",
        r"\Theta": r"the tangent kernel, products $\langle\nabla f(x),\nabla f(x')\rangle$ of gradients in the "
        r"weights, in the limit of infinite width",
        r"\mathrm{width}": "the number of neurons in the hidden layer",
    },
    why=r"The kernel is a mean over neurons, each of which moves by order $\mathrm{width}^{-1/2}$ with a sign of its "
    "own; over all of them the changes cancel to order 1/width. As long as the residual stays integrable in time "
    "nothing accumulates. The outputs then see a frozen kernel, and their distance from the limit is that of the "
    r"kernel at the start, $\mathrm{width}^{-1/2}$.",
    notice=r"Twice the width halves the change of the kernel, but it takes four times the width to halve the distance "
    r"of the outputs from the path of the limit kernel: lines of slope $-1$ and $-\frac12$, drawn through the first "
    r"dots. A kernel that moved by order $\mathrm{width}^{-1/2}$ would follow the dashed line.",
    explore={"widths": ((48, 96, 192, 384), (64, 128, 256, 512))},
)
def kernel_stays_put_in_training(
    key,
    *,
    widths: Sizes = (64, 128, 256, 512),
    trials: Trials = 160,
    targets: Literal["fixed", "growing"] = "fixed",
):
    limits, step = training_limits()
    drifts, gaps, integrals, runs = [], [], [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = init_mlp(draw, (3, width, 1), ensemble=(trials,), activation=erf, **TRAINED)
        y = TARGETS * (width**0.5 if targets == "growing" else 1.0)
        outputs, others, drift = (np.asarray(part) for part in watched(network, POINTS[:6], y, POINTS[6:], step))
        expected = predicted(outputs[:, 0], others[:, 0], limits.ntk, y, step)
        gap = np.abs(np.concatenate([outputs, others], axis=2) - np.concatenate(expected, axis=2))
        path, moved = trained_by_hand(jax.tree.map(lambda leaf: leaf[0], network), y, step)
        runs.append((np.append(outputs[0], 10 * drift[0]), np.append(path, 10 * moved)))
        drifts.append(drift.max(axis=1))
        gaps.append(gap.max(axis=(1, 2)))
        # Most of the spread comes from the outputs at the start. What the frozen kernel makes of the same start is
        # taken off, and its mean over Gaussian starts put back: the mean stays, up to order 1/width, the spread goes.
        spread = integrated(expected[0] - y, step) - frozen_integrals(limits.ntk, y)[:, None]
        integrals.append(integrated(outputs - y, step) - spread)
    sizes, integrals = np.array(widths), np.array(integrals)
    bounded, squared = frozen_integrals(limits.ntk, TARGETS)
    return {
        # Widths times drifts still creep up, by a share of order m^(−1/2): an order is stated, no power.
        "change of the kernel": Limit(sizes, np.array(drifts), order=1.0),
        "distance of the outputs": Rate(sizes, np.array(gaps), exponent=-0.5, rivals=(0.0,)),
        "integral of the residual": Law(bounded, integrals[:, 0], sizes=sizes, order=1),
        "integral of the squared residual": Law(squared, integrals[:, 1], sizes=sizes, order=1),
        "training run by hand": Identity(*np.moveaxis(np.asarray(runs), 1, 0), error=1e-10),
    }


kernel_stays_put_in_training.control("targets that grow like √width", targets="growing", of="change of the kernel")


@kernel_stays_put_in_training.control("the output covariance as the kernel of training", of="integral of the residual")
def covariance_trains(evidence):
    return replace(evidence, predicted=frozen_integrals(training_limits()[0].nngp, TARGETS)[0])


@kernel_stays_put_in_training.control("a kernel that moves by order width^(−3/2)", of="change of the kernel")
def half_an_order_less(evidence):
    return replace(evidence, order=1.5)


@kernel_stays_put_in_training.picture
def frozen_kernel(pieces):
    """Largest change of the kernel in training, and distance of the outputs from the limit's path, against width."""
    marks = power_law("change of the kernel", pieces["change of the kernel"], rivals={-0.5: "like 1/√width"})
    marks += power_law("distance of the outputs", pieces["distance of the outputs"])
    return Curves(marks, x="width", y="relative change, distance", log="xy")
