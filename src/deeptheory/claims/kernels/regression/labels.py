"""Which labels a wide two-layer network fits quickly and generalizes from: alignment, complexity, noise."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.stats import binom

from deeptheory.data import digits
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.rademacher import exact_complexity, kernel_ball_supremum
from deeptheory.generalization.capacity.rademacher_bounds import kernel_label_complexity, label_energy
from deeptheory.kernels.finite.first_layer import (
    first_layer_gram,
    first_layer_limit,
    first_layer_outputs,
    train_first_layer,
)
from deeptheory.kernels.finite.tangents import kernel_spectrum
from deeptheory.kernels.lazy.teachers import expected_noisy_energy, kernel_rademacher_bound, risk_bound
from deeptheory.kernels.regression.predictions import diagonalize, loss_curve
from deeptheory.lab import Chain, Chance, Identity, Law, Limit, Rate, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

CLASSES = (3, 8)
STEPS = 12
Images = Annotated[int, Interval(ge=40, le=500)]


def unit_ball_complexity(gram):
    """Rademacher complexity of the unit ball of a kernel, over all signs."""
    return exact_complexity(kernel_ball_supremum(gram), len(gram))


def two_classes(count, part="train"):
    """The first images of two digits, scaled to length one, with labels ±1."""
    data = digits()
    images, labels = (data.train_images, data.train_labels) if part == "train" else (data.test_images, data.test_labels)
    chosen = np.flatnonzero(np.isin(labels, CLASSES))[:count]
    x = images[chosen]
    return x / np.linalg.norm(x, axis=1, keepdims=True), np.where(labels[chosen] == CLASSES[0], 1.0, -1.0)


@jax.jit
def curves(kernel, labels, times):
    """The loss of each set of labels (rows) at each time, and its energy in the spectrum, summed from the top."""
    basis = diagonalize(kernel)
    losses = jax.vmap(lambda y: loss_curve(basis, y, times))(labels)
    return losses, jax.vmap(lambda y: kernel_spectrum(kernel, y).cumulative)(labels)


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, None, 0, None))
@partial(jax.vmap, in_axes=(None, None, None, 0, None))
def network_residuals(weights, amplitudes, x, y, step):
    """What a ReLU network has still to learn of each set of labels, before each step and after the last."""
    return y - train_first_layer(weights, amplitudes, x, y, step_size=step, steps=STEPS).outputs


def mirrored_networks(draw, trials, width, inputs):
    """Weights held twice with opposite signs, so that all outputs start at zero."""
    weights, signs = draw.standard_normal((trials, width // 2, inputs)), draw.choice([-1.0, 1.0], (trials, width // 2))
    return np.concatenate([weights, weights], axis=1), np.concatenate([signs, -signs], axis=1)


def descended(weights, amplitudes, x, y, step):
    """Residuals of one ReLU network along descent on ½‖f(X) − y‖², its Jacobian taken by central differences.

    Neurons only add up, so each is shifted alone. Their outputs have no curvature: the differences are off by rounding.
    """
    share, shifts = amplitudes / np.sqrt(len(amplitudes)), 1e-9 * x[:, None]
    left = [y - np.maximum(x @ weights.T, 0) @ share]
    for _ in range(STEPS):
        before = (x @ weights.T)[..., None]
        slopes = (np.maximum(before + shifts, 0) - np.maximum(before - shifts, 0)) / 2e-9
        weights = weights + step * np.einsum("i,irj,r->rj", left[-1], slopes, share)
        left.append(y - np.maximum(x @ weights.T, 0) @ share)
    return np.array(left)


@claim(
    items={
        "A9.11": (
            "true before random before last",
            "mean loss of random labels",
            "fastest and slowest labels",
            "energy by two routes",
            "more energy is never slower",
            "residuals of descent",
            "networks near the kernel's path",
            "networks in the same order",
        ),
        "H6.8": (
            "true before random before last",
            "mean loss of random labels",
            "residuals of descent",
            "networks near the kernel's path",
            "networks in the same order",
        ),
    },
    says=r"Gradient descent of the limit kernel, and on average of wide ReLU networks, fits the true labels of digits "
    r"before random ones, and these before the last eigenvector. Labels that have no less energy "
    r"$\sum_{i\le j}(v_i\cdot y)^2/\|y\|^2$ than others for all $j$ are never slower.",
    needs="first layer trained, outputs zero at the start; labels of equal norm",
    scale="printed: two classes of MNIST, 28×28, gradient descent; here: 80 images of 14×14, networks on 10 of them",
    full=dict(widths=(512, 2048, 8192, 32_768)),
    symbols={
        r"\lambda_i,v_i": r"eigenvalues, the largest first, and eigenvectors of $H$, the tangent kernel of the first "
        r"layer on the images in the limit of infinite width",
        r"y": r"the labels of the images $X$; the sum is the share of their square in the first $j$ eigenvectors",
        r"f": r"the network, with $m$ neurons",
        r"\eta,k": r"size and number of steps; $t$ the time of the flow",
    },
    why=r"With a kernel that hardly moves, the part of the labels along $v_i$ is learned at the speed $\lambda_i$: "
    r"descent on $\frac12\|f(X)-y\|^2$ leaves $\sum(1-\eta\lambda_i)^k(v_i\cdot y)v_i$, and so does a network of "
    r"$m$ neurons up to order $m^{-1/2}$. Labels that make sense lie mostly along the few directions with "
    r"large eigenvalues; random ones lie in all alike, cost $\frac12\operatorname{tr}e^{-2Ht}$ on average and must "
    r"wait for the slow directions. The first and the last eigenvector are the fastest and the slowest labels there "
    r"are. More energy at the top for every $j$ means a smaller loss at every time, by summation by parts.",
    notice=r"Left, true labels are fitted long before random ones, and these before the last eigenvector, that of "
    r"the least eigenvalue, taken as labels. Right, the reason: most of the true labels' energy is in the first few "
    r"eigenvectors, that of random ones is spread evenly.",
)
def aligned_labels_train_faster(
    key, *, images: Images = 80, widths: Sizes = (512, 2048, 8192), trials: Trials = 64, draws: Trials = 1500
):
    draw = generator(key)
    x, true = two_classes(images)
    times = np.geomspace(0.02, 2e3, 240)
    kernel = np.asarray(first_layer_limit(x))
    values, vectors = np.linalg.eigh(kernel)
    random = draw.choice([-1.0, 1.0], (draws, images))
    best, worst = (np.sqrt(images) * vectors[:, end] for end in (-1, 0))
    # Pairs of labels: the larger and the smaller of two running sums of energy, drawn from the top of the spectrum.
    drawn = np.cumsum(draw.dirichlet(np.full(images, 0.3), (2, 40)), axis=2)
    running = np.stack([drawn.max(0), drawn.min(0)])
    energies = np.maximum(np.diff(running, axis=2, prepend=0.0), 0.0)[..., ::-1]
    signed = draw.choice([-1.0, 1.0], energies.shape) * np.sqrt(images * energies)
    above, below = signed @ vectors.T
    labels = np.concatenate([[true, best, worst], above, below, random])
    losses, sums = map(np.asarray, curves(kernel, labels, times))
    pairs, fitted = losses[3:83].reshape(2, 40, -1), times[np.argmax(losses < 0.05 * images, axis=1)]
    sums = sums[3:83].reshape(2, 40, -1)
    # Inputs turned into the span of the ten: the same Gram matrix, and Gaussian weights stay Gaussian.
    few = np.linalg.qr(x[:10].T)[1].T
    modes, frame = np.linalg.eigh(kernel[:10, :10])
    step = 1 / modes[-1]
    decay = (1 - step * modes) ** np.arange(STEPS + 1)[:, None]
    gaps, final, plain = [], [], []
    for width in widths:
        labels = np.stack([np.tile(true[:10], (trials, 1)), draw.choice([-1.0, 1.0], (trials, 10))], axis=1)
        labels = np.concatenate([labels, np.tile(10**0.5 * frame[:, 0], (trials, 1, 1))], axis=1)
        networks = mirrored_networks(draw, trials, width, 10)
        left = np.asarray(network_residuals(*networks, few, labels, step))
        if not plain:
            plain = [left[0, 1], descended(networks[0][0], networks[1][0], few, labels[0, 1], step)]
        law = np.einsum("kn,tln,in->tlki", decay, labels @ frame, frame)
        gaps.append(np.linalg.norm(left - law, axis=(2, 3)).mean(1))
        final.append(np.sum(left[:, :, -1] ** 2, axis=2) / 10)
    ended = np.concatenate(final).T
    early = [20, 60, 100, 120]

    def decays(rate):
        """½ tr e^{−rate·Ht}"""
        return np.sum(np.exp(-rate * np.outer(times[early], values)), axis=1) / 2

    traces = {"eigenvalue": values[::-1], "time": times, "true": losses[0], "random": losses[83:].mean(0)}
    shares = {
        "true share": (vectors.T @ true)[::-1] ** 2 / images,
        "random share": (vectors.T @ random[0])[::-1] ** 2 / images,
    }
    return {
        "true before random before last": Chain(
            {"true before random": (fitted[0], fitted[83:]), "random before last": (fitted[83:], fitted[2])},
            along={**traces, "last": losses[2], **shares},
            aside={"first": fitted[1]},
        ),
        "mean loss of random labels": Law(
            decays(2), losses[83:, early].T, exact=True, along={"time": times[early], "once": decays(1)}
        ),
        "fastest and slowest labels": Identity(
            losses[1:3], images / 2 * np.exp(-2 * np.outer(values[[-1, 0]], times)), scale=images, size=images
        ),
        "energy by two routes": Identity(sums, running, scale=1.0, size=images),
        "more energy is never slower": Chain(
            {
                "energy lies higher": (sums[1], sums[0] + 1e-9),
                "never slower": (pairs[0], pairs[1] + 1e-9),
                "no labels are faster than the first": (losses[1] - 1e-9, losses[3:83].min(0)),
                "none slower than the last": (losses[3:83].max(0), losses[2] + 1e-9),
            }
        ),
        # Rounding leaves a slope uncertain by 1e-7.
        "residuals of descent": Identity(*plain, scale=1.0, error=1e-6),
        "networks near the kernel's path": Rate(np.array(widths), np.array(gaps), exponent=-0.5, rivals=(0.0,)),
        "networks in the same order": Trend(np.diff(ended, axis=0), along={"later": np.array(["random", "last"])}),
    }


@aligned_labels_train_faster.control("the loss of random labels without the square", of="mean loss of random labels")
def without_square(evidence):
    return replace(evidence, predicted=evidence.along["once"])


@aligned_labels_train_faster.control("no labels before the true ones", of="true before random before last")
def none_before(evidence):
    true, _ = evidence.links["true before random"]
    return Chain({"true before the first eigenvector": (true, evidence.aside["first"])})


@aligned_labels_train_faster.picture
def alignment_curves(pieces):
    """Loss against time for three sets of labels, random ones in the mean; where two of them lie in the spectrum."""
    along = pieces["true before random before last"].along
    size = len(along["eigenvalue"])
    sets = {"true": "true labels", "random": "random labels", "last": "last eigenvector"}
    falls = [Line(sets[name], along["time"], 2 * along[name] / size) for name in sets]
    ranks = np.arange(1, size + 1)
    lies = [Line(sets[name], ranks, np.cumsum(along[f"{name} share"])) for name in ("true", "random")]
    return Row(
        [
            Curves(falls, x="training time", y="loss, as a share of that at the start", log="x"),
            Curves(lies, x="eigenvectors counted, from the top", y="share of the energy up to there", log="x"),
        ]
    )


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, None, None, None))
def travelled(weights, amplitudes, x, y, step):
    """How far a ReLU network moves in training, and the energy of its labels in its kernel at the start."""
    trace = train_first_layer(weights, amplitudes, x, y, step_size=step, steps=40)
    energy = y @ jnp.linalg.solve(first_layer_gram(weights, x), y)
    return jnp.linalg.norm(trace.weights - weights), jnp.sqrt(energy)


@jax.jit
def features(weights, signs, x):
    jacobian = jax.jacrev(lambda w: first_layer_outputs(w, signs, x))(weights)
    return jacobian.reshape(len(x), -1), first_layer_gram(weights, x)


@claim(
    items={
        "A9.13": (
            "way of the linearized network",
            "way of wide networks",
            "complexity below the bound",
            "orthogonal inputs attain the bound",
            "one input many times",
            "measure on the sphere",
            "risk above the bound",
        ),
        "H6.8": ("measure on the sphere", "risk above the bound"),
        "L7.24": "risk above the bound",
    },
    says=r"From zero outputs the linearized network travels $R=\sqrt{y^\top H^{-1}y}$, and a ball of that radius has "
    r"Rademacher complexity at most $R\sqrt{\operatorname{tr}H}/n$. On digits the risk exceeds "
    r"$2R\sqrt{\operatorname{tr}H}/n+3\sqrt{\log(2/\delta)/2n}$ in at most a share $\delta$ of the samples.",
    needs="labels fitted exactly; a 1-Lipschitz loss in [0, 1]; the radius is read off the sample, for which a proof "
    "adds a logarithm: the last sentence is an observation on two populations, and a weak one at n = 40, where the "
    "second term is 0.58",
    symbols={
        r"H": r"the kernel of the first layer on the $n$ inputs, at the start or in the limit of infinite width",
        r"y": r"the labels; $y^\top H^{-1}y$ is their energy",
        r"R": r"the way $\|W(\infty)-W(0)\|_F$ of the weights from start to fit",
        r"\delta": "the probability with which the bound may fail",
    },
    why=r"The shortest change of the weights that fits the labels has the squared length $y^\top H^{-1}y$, and "
    r"gradient descent from zero outputs finds it; a network of width $m$ travels as far up to order $m^{-1/2}$. The "
    r"outputs of all weights within $R$ correlate with random signs by $R\,\mathbb E\sqrt{\varepsilon^\top "
    r"H\varepsilon}/n$, by Jensen at most $R\sqrt{\operatorname{tr}H}/n$: attained by orthogonal inputs, while for "
    r"$n$ times one input it is $R\sqrt{H_{11}}\,\mathbb E|\sum_i\varepsilon_i|/n$. On the sphere, where "
    r"$\operatorname{tr}H=n/2$, twice that complexity is $\sqrt{2y^\top H^{-1}y/n}$.",
    notice=r"Every dot is a sample of digits: its risk stays below the bound, which is far to the right. Without the "
    r"term for the confidence, samples that hold none of the rare labels have measure zero, and a risk above it.",
    full=dict(trials=2000, widths=(64, 256, 1024, 4096)),
)
def label_energy_bounds_the_risk(
    key,
    *,
    widths: Sizes = (64, 256, 1024),
    samples: Annotated[int, Interval(ge=10, le=300)] = 40,
    failure: Annotated[float, Interval(ge=0.02, le=0.5)] = 0.1,
    trials: Trials = 250,
):
    draw = generator(key)
    x = np.linalg.qr(draw.standard_normal((4, 4)))[0] + 0.1 * draw.standard_normal((4, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = draw.choice([-1.0, 1.0], 4)
    ways = [np.array(travelled(*mirrored_networks(draw, 128, width, 4), x, y, 1.2)) for width in widths]
    jacobian, gram = map(np.asarray, features(draw.standard_normal((40, 4)), draw.choice([-1.0, 1.0], 40), x))
    points = draw.standard_normal((20, 10, 4))
    grams = [np.asarray(first_layer_limit(p / np.linalg.norm(p, axis=1, keepdims=True))) for p in points]
    sets = np.array([[unit_ball_complexity(each), kernel_rademacher_bound(each)] for each in grams]).T
    # Populations of 300 digits: labels linear in the image, or 1 for a few images and 0 for the rest.
    pool, _ = two_classes(300)
    kernel = np.asarray(first_layer_limit(pool))
    beta = draw.standard_normal(pool.shape[1])
    rare = np.zeros(300)
    rare[draw.choice(300, 300 // samples, replace=False)] = 1.0
    failures, printed = np.zeros((2, 2))
    found = np.empty((2, trials, 3))
    for population, labels in enumerate((pool @ beta / np.linalg.norm(beta), rare)):
        for trial in range(trials):
            chosen = draw.choice(300, samples)
            own, seen = kernel[np.ix_(chosen, chosen)], labels[chosen]
            outputs = kernel[:, chosen] @ np.linalg.lstsq(own, seen, rcond=None)[0]
            risk = np.minimum(np.abs(outputs - labels), 1).mean()
            found[population, trial] = risk, risk_bound(own, seen, delta=failure), kernel_label_complexity(own, seen)
        failures[population] = np.sum(found[population, :, 0] > found[population, :, 1])
        printed[population] = np.sum(found[population, :, 0] > found[population, :, 2])
    walk = np.abs(2 * np.arange(11) - 10) @ binom.pmf(np.arange(11), 10, 0.5)
    sphere = grams[0]
    y = draw.choice([-1.0, 1.0], 10)
    direct = np.sqrt(2 * y @ np.linalg.solve(sphere, y) / 10)
    both = [
        risk_bound(sphere, y, delta=0.2) - 3 * np.sqrt(np.log(10) / 20),
        2**0.5 * kernel_label_complexity(sphere, y),
    ]
    shortest = np.linalg.lstsq(jacobian, np.arange(1.0, 5.0), rcond=None)[0]
    return {
        "way of the linearized network": Identity(
            np.sqrt(label_energy(gram, np.arange(1.0, 5.0))),
            np.linalg.norm(shortest),
            condition=np.linalg.cond(gram),
            size=160.0,
        ),
        "way of wide networks": Limit(
            np.array(widths), np.array([np.abs(way / root - 1) for way, root in ways]), order=0.5
        ),
        "complexity below the bound": Chain({"by Jensen": (sets[0], sets[1])}),
        "orthogonal inputs attain the bound": Identity(
            unit_ball_complexity(np.eye(10) / 2), kernel_rademacher_bound(np.eye(10) / 2), size=10.0
        ),
        "one input many times": Identity(unit_ball_complexity(np.full((10, 10), 0.5)), 0.5**0.5 * walk / 10, size=10.0),
        "measure on the sphere": Identity(np.array(both), direct, condition=np.linalg.cond(sphere), size=10.0),
        "risk above the bound": Chance(
            failures,
            trials,
            failure,
            along={"labels": np.array(["linear", "rare"]), "printed": printed},
            aside={"risk, bound, measure": found},
        ),
    }


@label_energy_bounds_the_risk.picture
def risks_and_bounds(pieces):
    """Risks of kernel interpolation on samples of digits against their bound, for two kinds of labels."""
    found = np.asarray(pieces["risk above the bound"].aside["risk, bound, measure"])[:, :100]
    ends = np.asarray([0.0, 0.2])
    marks: list[Any] = [Line("equal", ends, ends)]
    for name, (risk, bound, measure) in zip(("linear labels", "rare labels"), np.moveaxis(found, 2, 1), strict=True):
        marks += [Dots(name, bound, risk), Dots("", measure, risk, rival="without the confidence term")]
    return Curves(marks, x="bound", y="risk", xs=(-0.05, 2), ys=(0, 0.2))


@label_energy_bounds_the_risk.control("without the confidence term", of="risk above the bound")
def printed_measure(evidence):
    return replace(evidence, failures=evidence.along["printed"])


@label_energy_bounds_the_risk.control("the printed constant for twice the complexity", of="measure on the sphere")
def printed_constant(evidence):
    return replace(evidence, right=evidence.right / 2**0.5)


@claim(
    items={
        "A9.14": ("mean energy of noisy labels", "complexity and errors rise"),
        "H6.8": ("mean energy of noisy labels", "complexity and errors rise"),
    },
    says=r"When a share q of labels ±1 is replaced by fair signs, $\mathbb E\,y^\top H^{-1}y=(1-q)^2y_*^\top H^{-1}y_*+"
    r"(1-(1-q)^2)\operatorname{tr}H^{-1}$. On two classes of handwritten digits it rises with q, and with it the "
    "absolute error and the share of mistakes of the kernel predictor on fresh images.",
    needs="replacements independent of each other and of the images",
    scale="printed: two classes of MNIST and of CIFAR, networks; here: 100 digits of 14×14, the kernel predictor",
    full=dict(images=400),
    symbols={
        "q": "the share of labels that is replaced",
        "y,y_*": "the labels as given, and the true ones",
        "H": "the first-layer kernel on the images, in the limit of infinite width",
    },
    why=r"A label that is replaced has mean zero, so $\mathbb E\,y_iy_j=(1-q)^2y_{*i}y_{*j}$ for two images while "
    "$y_i^2=1$ stays: what is missing off the diagonal appears as noise on it. True labels have little energy along "
    "the small eigenvalues of $H$, noise has as much there as anywhere, and $H^{-1}$ counts it most.",
    notice="The complexity rises together with the error on fresh images, steeply from the very first noisy labels, "
    r"for they enter by $1-(1-q)^2\approx2q$.",
)
def complexity_rises_with_label_noise(key, *, images: Images = 100, trials: Trials = 1000):
    draw = generator(key)
    levels = np.array([0.0, 0.2, 0.4, 0.6, 0.8])
    (x, true), (fresh, answers) = two_classes(images), two_classes(150, "test")
    kernel = np.asarray(first_layer_limit(np.concatenate([x, fresh])))
    own, across = kernel[:images, :images], kernel[images:, :images]
    # The same uniform numbers and signs at every level, so that a difference of levels is a difference of noise.
    when, signs = draw.uniform(size=(trials, images)), draw.choice([-1.0, 1.0], (trials, images))
    labels = np.where(when < levels[:, None, None], signs, true)
    weights = np.linalg.solve(own, labels.reshape(-1, images).T)
    energy = np.sum(weights.T.reshape(labels.shape) * labels, axis=2)
    outputs = (across @ weights).T.reshape(len(levels), trials, -1)
    absolute, mistakes = np.abs(outputs - answers).mean(2), (outputs * answers < 0).mean(2)
    measure = np.sqrt(2 * energy * np.trace(own)) / images
    seen = np.stack([measure, absolute, mistakes])
    clean = float(true @ np.linalg.solve(own, true))
    return {
        "mean energy of noisy labels": Law(
            np.array([expected_noisy_energy(own, true, float(level)) for level in levels[1:]]),
            energy[1:],
            exact=True,
            along={"noise": levels[1:]},
            scale=clean * np.ones(4) + np.trace(np.linalg.inv(own)) / 2,
        ),
        "complexity and errors rise": Trend(
            np.diff(seen, axis=1),
            along={
                "measure": np.array(["complexity", "absolute error", "mistakes"]),
                "noise": levels[1:],
                "means": seen.mean(2),
                "levels": levels,
            },
        ),
    }


@complexity_rises_with_label_noise.control("linear in the share of clean labels", of="mean energy of noisy labels")
def linear_in_noise(evidence):
    kept, noise = (1 - evidence.along["noise"]) ** 2, evidence.along["noise"]
    random = (evidence.predicted[1] * kept[0] - evidence.predicted[0] * kept[1]) / (kept[0] - kept[1])
    clean = (evidence.predicted[0] - (1 - kept[0]) * random) / kept[0]
    return replace(evidence, predicted=(1 - noise) * clean + noise * random)


@complexity_rises_with_label_noise.picture
def noise_curves(pieces):
    """The complexity, the absolute error and the share of mistakes against the share of random labels."""
    along = pieces["complexity and errors rise"].along
    named = list(zip(along["measure"], along["means"], strict=True))
    marks = [kind(str(name), along["levels"], means) for kind in (Line, Dots) for name, means in named]
    return Curves(marks, x="share of labels replaced by fair signs", y="complexity and errors, means over draws")
