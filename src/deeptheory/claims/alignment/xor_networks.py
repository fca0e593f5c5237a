"""A two-layer network on the XOR mixture: limits of its blocks, alignment layer by layer, and missing outliers.

jagannath Thms 13.6 and 13.7, Figures 1.6 and 1.8, and the summary of Lemmas 4.1 to 4.5 in Sec. 13.2.
"""

from dataclasses import replace
from itertools import product
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval
from scipy.special import expit

from deeptheory.alignment.overlaps import alignment, living_error, outlier_count, top_eigenspace
from deeptheory.alignment.softmax_mixtures import mixture_draws, symmetric_solution
from deeptheory.alignment.test_matrices import hessian_weights, weighted_second_moment
from deeptheory.alignment.trajectories import orthogonal_floor, ridge_descent
from deeptheory.alignment.xor_networks import xor_features, xor_limit_blocks, xor_plane_blocks, xor_test_blocks
from deeptheory.dynamics.xor_mixture import (
    CLASSES,
    LABELS,
    class_strength,
    class_strengths,
    placement,
    settled,
    starting_classes,
    xor_loss,
)
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Exact, Identity, Inequality, Law, Limit, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row, Stack, power_law, seen

Decay = Annotated[float, Interval(ge=0.03, le=0.1)]
run = jax.jit(settled, static_argnames="steps")
PRECISIONS = 4.0 ** np.arange(5, 11)


def norm(matrices):
    """Operator norms of symmetric matrices on the last two axes."""
    return np.abs(np.linalg.eigvalsh(matrices)).max(-1)


def slope(score):
    """σ′, the slope of the logistic function."""
    return 1 / (2 + 2 * np.cosh(score))


@claim(
    items={
        "J13.13": ("error of the limit off the kinks", "error of the limit on a kink"),
        "J13.16": ("moments of the features off the kinks", "moments of the features on a kink"),
        "J13.12": ("second-layer blocks beside their span", "first-layer blocks beside the plane"),
    },
    says=r"$E\nabla^2_{vv}L$ and $EG_{vv}$ tend to $\frac14\sum_\vartheta\sigma'(v\cdot "
    r"g(W\vartheta))g(W\vartheta)^{\otimes2}$ and $\frac14\sum_\vartheta(y_\vartheta-\sigma(v\cdot "
    r"g(W\vartheta)))^2g(W\vartheta)^{\otimes2}$ at rate $1/\lambda$, and $\lambda^{-1/2}$ if some "
    r"$W_i\perp\vartheta$. Up to as much they live in the span of the $g(W\vartheta)$, blocks of neurons in the plane "
    r"up to order $1/\lambda$.",
    needs="neurons in the plane of μ and ν",
    symbols={
        r"v,W": "the weights of the output and of the neurons",
        r"G": "the second moment of the gradient",
        r"\vartheta": r"one of the four centres $\pm\mu,\pm\nu$, with label $y_\vartheta$",
        r"g,\sigma": "the rectifier and the logistic function",
        r"\lambda": r"the precision: the noise has covariance $I/\lambda$",
        r"W_i": "one neuron",
    },
    why=r"Near a centre the features are $g(W\vartheta)$ plus noise of size $\lambda^{-1/2}$. Where no neuron has its "
    r"kink at a centre they are smooth, the noise of first order averages out and $1/\lambda$ remains. A trained "
    r"neuron points at one centre and is orthogonal to two others: there its feature is the positive part of noise, "
    r"with mean $\|W_i\|/\sqrt{2\pi\lambda}$, which meets features of order one in the block.",
    notice=r"The errors at a generic network fall like $1/\lambda$, those at a trained one like $\lambda^{-1/2}$, and "
    r"so does what lies beside the span of the four feature vectors.",
)
def xor_blocks_tend_to_four_centres(key, *, neurons: Annotated[int, Interval(ge=5, le=10)] = 6, decay: Decay = 0.05):
    draw = generator(key)
    angles = np.pi / 4 + np.pi / 2 * np.arange(neurons) + draw.uniform(-0.3, 0.3, neurons)
    lengths = draw.uniform(0.6, 1.4, (neurons, 1))
    generic = draw.standard_normal(neurons), lengths * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    kinked = generic[0], np.concatenate([lengths[:1] * [[1.0, 0.0]], generic[1][1:]])
    networks = {"generic": generic, "kinked": kinked, "trained": placement(np.arange(neurons) % 4, decay=decay)[:2]}
    paths, errors, beside, plane = {}, {}, {}, {}
    for name, network in networks.items():
        paths[name] = [xor_plane_blocks(*network, precision=each) for each in PRECISIONS]
        errors[name] = np.array([norm(each.second - xor_limit_blocks(*network)).max() for each in paths[name]])
        beside[name] = np.array([living_error(each.second, xor_features(network[1])).max() for each in paths[name]])
        plane[name] = np.array([(each.bulk / norm(each.first)).max() for each in paths[name]])
    # Without an output weight σ′ is ¼, and the block is a quarter of the features' second moment.
    drifts = {}
    for name, (_, overlaps) in networks.items():
        silent = [xor_plane_blocks(np.zeros(neurons), overlaps, precision=each).second[0] for each in PRECISIONS]
        features = xor_features(overlaps)
        drifts[name] = 4 * np.array(silent) - features.T @ features / 4
    # The first neuron is orthogonal to ±ν: its feature there, of mean ‖W₁‖/√(2πλ), meets those of the others.
    kink, seen_there = np.linalg.norm(kinked[1][0]) * np.eye(neurons)[0], xor_features(kinked[1])[2:].sum(0) / 4
    meeting = np.outer(kink, seen_there) + np.outer(seen_there, kink)
    first_order = PRECISIONS[:, None, None] ** 0.5 * drifts["kinked"]
    by_mean, by_square = (np.abs(first_order - p**0.5 * meeting).max((1, 2)) for p in (0.5 / np.pi, 0.5))
    at_one = xor_features(generic[1]) * np.sqrt(slope(generic[0] @ xor_features(generic[1])[2]) / 4)
    wrong = np.array([norm(each.second[0] - at_one.T @ at_one) for each in paths["generic"]])
    return {
        "error of the limit off the kinks": Rate(
            PRECISIONS, errors["generic"], exponent=-1.0, rivals=(-0.5,), aside={"slope at one centre": wrong}
        ),
        "error of the limit on a kink": Rate(PRECISIONS, errors["trained"], exponent=-0.5),
        "moments of the features off the kinks": Rate(
            PRECISIONS, norm(drifts["generic"]), exponent=-1.0, rivals=(-0.5,)
        ),
        "moments of the features on a kink": Limit(
            PRECISIONS, by_mean, order=0.5, aside={"by the mean square": by_square}
        ),
        "second-layer blocks beside their span": Rate(PRECISIONS, beside["kinked"], exponent=-0.5, rivals=(0.0,)),
        "first-layer blocks beside the plane": Rate(PRECISIONS, plane["trained"], exponent=-1.0, rivals=(-0.5,)),
    }


@xor_blocks_tend_to_four_centres.control(
    "the slope of the logistic function at ν for every centre", of="error of the limit off the kinks"
)
def at_one_centre(evidence):
    return replace(evidence, y=evidence.aside["slope at one centre"])


@xor_blocks_tend_to_four_centres.control(
    "the root mean square of the positive part, ‖Wᵢ‖/√(2λ), for its mean", of="moments of the features on a kink"
)
def root_mean_square(evidence):
    return replace(evidence, y=evidence.aside["by the mean square"])


@xor_blocks_tend_to_four_centres.control("order 1/λ on a kink as well", of="error of the limit on a kink")
@xor_blocks_tend_to_four_centres.control("order 1/λ beside the span", of="second-layer blocks beside their span")
def one_order(evidence):
    return replace(evidence, exponent=-1.0)


@xor_blocks_tend_to_four_centres.picture
def two_rates(pieces):
    """Errors of the limits and what lies beside the spans, along the precision."""
    marks = []
    for name, piece in pieces.items():
        marks += power_law(name, piece)
    return Curves(marks, x="precision λ", y="error", log="xy")


NEURONS, SIZE, STEP, TIME = 8, 48, 2 / 48, 90


@jax.jit
def descents(starts, inputs, labels, decay):
    """The last (neurons, weights) of runs of online descent that are batched on the first axis."""

    def loss(point, sample):
        return xor_loss(point[0] @ sample[0], sample[0][:2], point[1], sample[1])

    keep = lambda point: ()  # noqa: E731
    one = lambda start, *data: ridge_descent(loss, start, data, step=STEP, decay=decay, statistics=keep)[0]  # noqa: E731
    return jax.vmap(one)(starts, inputs, labels)


def mixture(draw, shape, size, precision):
    """Inputs and labels of the XOR mixture, whose centres lie along the first two axes."""
    which = draw.integers(4, size=shape)
    inputs = draw.standard_normal((*shape, size)) / precision**0.5
    inputs[..., :2] += CLASSES[which]
    return inputs, LABELS[which]


def misalignments(network, test):
    """1 − ρ with the leading eigenspaces of H- and G-blocks: of neurons (mean) and two, of the output and four, three.

    Rows are the layers, the last the output with one eigenvector less.
    """
    neurons, weights = (np.asarray(each, float) for each in network)
    second, first = xor_test_blocks(weights, neurons, *test)
    output = [alignment(weights, top_eigenspace(second, count)) for count in (4, 3)]
    return 1 - np.stack([alignment(neurons, top_eigenspace(first, 2)).mean(-1), *output])


def resting(network, test, precision, decay):
    """Of a network at rest: squared length beside the plane, its floor by noise, whole squared length a seen centre."""
    neurons, weights = (np.asarray(each, float) for each in network)
    fields = test[0] @ neurons.T
    residual = expit(np.maximum(fields, 0) @ weights) - test[1]
    slopes = np.mean((residual[:, None] * weights * (fields > 0)) ** 2, axis=0)
    floor = orthogonal_floor(float(slopes.sum()), step=STEP, decay=decay, precision=precision, directions=SIZE - 2)
    seen_centres = np.sum(class_strengths(weights, neurons[:, :2]) > class_strength(decay) / 4)
    return np.sum(neurons[:, 2:] ** 2), floor, np.sum(neurons**2) / seen_centres


@claim(
    items={
        "J13.11": ("neurons and their eigenspaces", "output and its eigenspaces"),
        "J13.15": ("part beside the plane", "that part over the floor of noise", "squared length a seen centre"),
    },
    says=r"Online descent on the XOR mixture aligns layer by layer: $1-\rho(W_i,E_2)$ and $1-\rho(v,E_4)$, for the "
    r"leading eigenspaces of the blocks of test Hessian and test G-matrix, are $O(\lambda^{-1/2})$. Neurons keep "
    r"their length, and of its square $O(1/\lambda)$ beside the centres' plane.",
    needs="penalty β < 1/8, steps of order 1/d, times long against 1/β, test sets of eight inputs a dimension; "
    "weights of the output start at ±1, neurons at length one",
    symbols={
        r"\rho(x,B)": r"the alignment $\|P_Bx\|/\|x\|$",
        r"W_i,v": "the weights of a neuron and of the output",
        r"E_2,E_4": "the spans of two and four leading eigenvectors of the layer's own block",
        r"\lambda": r"the precision: the noise has covariance $I/\lambda$",
    },
    why=r"What a neuron has beside the plane of $\mu$ and $\nu$ sees pure noise, so the penalty shrinks it like "
    r"$e^{-\beta t}$ down to a floor of order $1/\lambda$, while the part in the plane is held by the data. Its "
    r"blocks are of order one in that plane and $1/\lambda$ beside it. The output settles on multiples of the feature "
    r"vectors $g(W\vartheta)$ of the four centres, which are also what its own blocks are made of.",
    notice="At the start neither layer lies in the eigenspaces of its blocks. At the end both are inside, the nearer "
    "the larger the precision: the theorem's half power is on the safe side.",
)
def xor_layers_align(key, *, decay: Decay = 0.06, trials: Trials = 24):
    draw, precisions, steps = generator(key), np.array([16.0, 64.0, 256.0]), round(TIME / STEP)
    starts, inputs, labels = [], [], []
    for precision in precisions:
        neurons = unit_vectors(draw, trials * NEURONS, SIZE).reshape(trials, NEURONS, SIZE)
        starts.append((neurons, draw.choice([-1.0, 1.0], (trials, NEURONS))))
        data = mixture(draw, (trials, steps), SIZE, precision)
        inputs.append(data[0].astype(np.float32))
        labels.append(data[1])
    ends = [descents(*each, decay) for each in zip(starts, inputs, labels, strict=True)]
    tests = [mixture(draw, (8 * SIZE,), SIZE, precision) for precision in precisions]
    before, after = (
        np.array([
            [misalignments(network, test) for network in zip(*networks, strict=True)]
            for networks, test in zip(runs, tests, strict=True)
        ])
        for runs in (starts, ends)
    )  # fmt: skip
    first, second = after[:, :, 0].max(-1), after[:, :, 1].max(-1)
    rests = [
        [resting(network, test, precision, decay) for network in zip(*networks, strict=True)]
        for networks, test, precision in zip(ends, tests, precisions, strict=True)
    ]
    beside, floor, lengths = np.moveaxis(np.array(rests), -1, 0)
    fading = [np.sum(np.asarray(run[0])[..., 2:] ** 2, axis=(1, 2)) * np.exp(-2 * decay * TIME) for run in starts]
    return {
        "part beside the plane": Limit(precisions, beside, order=1.0, aside={"fading": np.array(fading)}),
        # Eight neurons share their noise by fours: a run is a tenth off, of which 24 leave two per cent.
        "that part over the floor of noise": Law(1.0, beside / floor, sizes=precisions, order=1.0, resolution=0.25),
        # At the least precision noise blurs which centres are seen; runs at the others differ by three per cent.
        "squared length a seen centre": Law(
            class_strength(decay),
            lengths[1:],
            sizes=precisions[1:],
            order=1.0,
            resolution=0.1,
            aside={"decay": np.array(decay)},
        ),
        "neurons and their eigenspaces": Limit(precisions, first, order=0.5, aside={"start": before[:, :, 0].max(-1)}),
        "output and its eigenspaces": Inequality(
            second,
            np.broadcast_to(precisions[:, None] ** -0.5, second.shape),
            along={"precision": precisions},
            aside={"start": before[:, :, 1].max(-1), "three": after[:, :, 2].max(-1)},
        ),
    }


@xor_layers_align.control("neurons as they start", of="neurons and their eigenspaces")
def neurons_at_start(evidence):
    return replace(evidence, y=evidence.aside["start"])


@xor_layers_align.control("the output as it starts", of="output and its eigenspaces")
def output_at_start(evidence):
    return replace(evidence, quantity=evidence.aside["start"])


@xor_layers_align.control("the output and three eigenvectors", of="output and its eigenspaces")
def three_eigenvectors(evidence):
    return replace(evidence, quantity=evidence.aside["three"])


@xor_layers_align.control("decay of the start without noise", of="part beside the plane")
def only_fading(evidence):
    return replace(evidence, y=evidence.aside["fading"])


@xor_layers_align.control("noise that fades like e^(−βt), not its square", of="that part over the floor of noise")
def twice_the_floor(evidence):
    return replace(evidence, predicted=2.0)


@xor_layers_align.control("log 1/4β in place of log (1 − 4β)/4β", of="squared length a seen centre")
def small_decay(evidence):
    return replace(evidence, predicted=-np.log(4 * evidence.aside["decay"]))


@xor_layers_align.picture
def before_and_after(pieces):
    """What the eigenspaces miss of neurons (left) and output (right), at the start and at the end, by precision."""
    neurons, output = pieces["neurons and their eigenspaces"], pieces["output and its eigenspaces"]
    precisions = np.asarray(neurons.x)
    panels = {"neurons": (neurons.y, neurons.aside["start"]), "output": (output.quantity, output.aside["start"])}
    return Row(
        [
            Curves(
                [
                    Line("1/√λ", precisions, precisions**-0.5),
                    seen("at the end", precisions, end),
                    seen("at the start", precisions, start),
                ],
                title=title, x="precision λ", y="misalignment 1 − ρ", log="xy",
            )
            for title, (end, start) in panels.items()
        ]
    )  # fmt: skip


CLASS_COUNTS, DRAWS = (2, 3, 4, 5), 6


@claim(
    items={
        "J13.14": ("eigenvalues of the output's blocks", "outliers of trained networks"),
        "J13.1": ("outliers of test Hessians",),
    },
    says=r"A fixed point of the XOR network that sees $h$ of the four centres has $h$ outliers in its output blocks, "
    r"of size $\beta(1-4\beta)\ell$ in the Hessian and $4\beta^2\ell$ in $G$, $\ell=\log\frac{1-4\beta}{4\beta}$. "
    r"Test Hessians of class blocks have a bulk and $k$ outliers, of neurons two.",
    needs="β < 1/8; large λ; test Hessians of twenty inputs a dimension, at minimizers and fixed points",
    symbols={
        r"h": "the number of centres that some neuron points at",
        r"\beta": "the constant of the penalty",
        r"G": "the second moment of the gradient",
        r"k": "the number of classes of a softmax regression",
    },
    why=r"Each seen centre gives a feature vector $g(W\vartheta)$ of squared length $\ell$, orthogonal to the others "
    r"since no neuron belongs to two; a centre that is not seen gives zero. At rest the residual is $4\beta$ at seen "
    r"centres, so the weights of the features are $\sigma'=4\beta(1-4\beta)$ and $16\beta^2$, over four. A descent "
    r"that misses a centre is a bad classifier, and its spectrum says so: an outlier is missing.",
    notice="Eigenvalues of the output block of $G$ for flows that end with one to four centres: as many rise to the "
    "level of the formula as centres are seen; the others fall to zero.",
)
def missing_outliers_count_missed_classes(key, *, decay: Decay = 0.05, runs: Trials = 64):
    draw, strength = generator(key), class_strength(decay)
    values, formula = [], []
    for seen_centres in product((0, 1), repeat=4):
        chosen = np.flatnonzero(seen_centres)
        if len(chosen):
            where = np.append(np.resize(chosen, 5), 4)
            values.append(np.linalg.eigvalsh(xor_limit_blocks(*placement(where, decay=decay)[:2]))[:, ::-1][:, :4])
            levels = np.array([decay * (1 - 4 * decay), 4 * decay**2]) * strength
            formula.append(levels[:, None] * (np.arange(4) < len(chosen)))
    weights = draw.choice([-1.0, 1.0], (runs, 4)) * (0.2 + np.abs(draw.standard_normal((runs, 4))))
    overlaps = 0.05 * draw.uniform(-1, 1, (runs, 4, 2))
    ends = [np.asarray(each) for each in run(weights, overlaps, decay=decay, time=400.0, steps=800)]
    spectra = np.array([np.linalg.eigvalsh(xor_limit_blocks(*each)[1]) for each in zip(*ends, strict=True)])
    begun = starting_classes(weights, overlaps)

    # At minimizers of the expected loss of each number of classes, on several fresh test sets.
    found = np.empty((6, DRAWS), int)
    for (row, which), one in zip(np.ndindex(4, DRAWS), jax.random.split(key, 4 * DRAWS), strict=True):
        classes = CLASS_COUNTS[row]
        means = np.eye(60)[:classes]
        size = symmetric_solution(classes, decay=decay, precision=200.0, nodes=6)
        point = size * (classes * means - means.sum(0)) / (classes - 1)
        inputs, _ = mixture_draws(one, means, count=1200, precision=200.0)
        block = weighted_second_moment(inputs, hessian_weights(point, inputs)[:, 0, 0])
        found[row, which] = outlier_count(np.linalg.eigvalsh(block))
    weights, plane, _ = placement(np.arange(4), decay=decay)
    for which in range(DRAWS):
        blocks = xor_test_blocks(weights, np.pad(plane, ((0, 0), (0, 58))), *mixture(draw, (1200,), 60, 200.0))[1]
        found[4:, which] = outlier_count(np.linalg.eigvalsh(blocks[:, 0]))
    return {
        "eigenvalues of the output's blocks": Identity(np.array(values), np.array(formula), scale=strength, size=64),
        "outliers of trained networks": Exact(
            (spectra > 2 * decay**2 * strength).sum(-1), np.array([len(set(each)) for each in begun])
        ),
        "outliers of test Hessians": Exact(
            found,
            np.repeat([*CLASS_COUNTS, 2, 2], DRAWS).reshape(6, DRAWS),
            along={"block": [*(f"{k} classes" for k in CLASS_COUNTS), "neuron, Hessian", "neuron, G"]},
        ),
    }


@missing_outliers_count_missed_classes.control(
    "residual 2β at the seen centres", of="eigenvalues of the output's blocks"
)
def half_residual(evidence):
    right = np.array(evidence.right)
    right[:, 1] /= 4
    return replace(evidence, right=right)


@missing_outliers_count_missed_classes.control("four outliers whatever is seen", of="outliers of trained networks")
def always_four(evidence):
    return replace(evidence, right=np.full_like(np.asarray(evidence.right), 4))


@missing_outliers_count_missed_classes.control("one outlier less than classes", of="outliers of test Hessians")
def one_less(evidence):
    return replace(evidence, right=np.asarray(evidence.right) - 1)


@missing_outliers_count_missed_classes.picture
def emerging(pieces, settings):
    """Eigenvalues of the output block of the G-matrix along flows that see one to four centres."""
    decay, times = settings["decay"], np.linspace(0, 150, 16)
    level, panels = 4 * decay**2 * class_strength(decay), []
    for count in range(1, 5):
        weights = np.where(np.resize(np.arange(count), 4) < 2, 1.0, -1.0) * np.array([0.5, 0.6, 0.7, 0.8])
        overlaps = 0.02 * CLASSES[np.resize(np.arange(count), 4)]
        path = [run(weights, overlaps, decay=decay, time=each, steps=800) for each in times]
        values = np.array([np.linalg.eigvalsh(xor_limit_blocks(*map(np.asarray, each))[1])[::-1] for each in path])
        marks = [Line(f"eigenvalue {which + 1}", times, values[:, which]) for which in range(4)]
        panels.append(Curves([*marks, Level("4β²ℓ", y=level)], x="time", y="eigenvalue", title=f"{count} seen"))
    return Stack([Row(panels[:2]), Row(panels[2:])])
