"""One gradient step generalizes, its hypothesis class does not: the construction of Nagarajan and Kolter."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Interval
from scipy.special import ndtr

from deeptheory.generalization.capacity.uniform_convergence import (
    conditional_test_error,
    expected_flipped_error,
    expected_test_error,
    limiting_flipped_error,
    limiting_test_error,
    margins,
    one_step_classifier,
    signal_noise_sample,
    squared_norm,
)
from deeptheory.lab import Exact, Inequality, Integers, Law, Limit, Reals, Share, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Stack, Table, compared, seen

RATIOS = (0.5, 1.0, 2.0)


def batches(key, trials, samples, dimension, *, size=500):
    """Independent samples in batches that fit the cache, each with the slice of trials it fills."""
    for start in range(0, trials, size):
        part = slice(start, min(start + size, trials))
        draw = jax.random.fold_in(key, start)
        yield part, signal_noise_sample(draw, samples, dimension, batch=(part.stop - start,))


@claim(
    items={
        "A5.16": (
            "test error in the limit",
            "test error at finite size",
            "errors on fresh points",
            "squared length of the classifier",
        )
    },
    says=r"One gradient step on $m$ points $(yu, x_2)$, $\|u\|^2=1/m$, $x_2\sim N(0,I_D/D)$, has test error "
    r"$\Phi(-\sqrt{D/m})$ for large $D$, at finite size $\mathbb E\,\Phi(-\sqrt{D/(m\rho)})$ with "
    r"$\rho\sim\chi^2_D/D$, and weights of mean squared length $2m$.",
    needs="noise of unit length, learning rate 1 from zero weights",
    full=dict(sizes=(20, 40, 80), trials=6000),
    symbols={
        r"m": "the number of training points",
        r"y": "a label, 1 or −1",
        r"u": "the signal, the same in all points up to the label's sign",
        r"x_2": "the noise, $D$ coordinates that say nothing about the label",
        r"D": "the number of noise coordinates",
        r"\Phi": "the normal distribution function",
        r"\rho": "the squared length of the noise in the weights, over its mean",
    },
    why=r"The step adds up all points with their labels: the signals to $mu$, the noises to a vector of squared "
    r"length near $m$. On a fresh point the first gives the margin $m\|u\|^2=1$, the second a Gaussian of variance "
    r"near $m/D$, because the fresh noise is spread over $D$ directions. The label is missed when this exceeds 1.",
    notice=r"The error falls with the number of noise coordinates per sample, along $\Phi(-\sqrt{D/m})$; the "
    r"exponential $e^{-D/2m}$, its usual estimate, is several times too large.",
)
def one_step_test_error(key, *, sizes: Sizes = (14, 28, 56), trials: Trials = 4800):
    errors, lengths = np.empty((2, len(sizes), len(RATIOS), trials))
    for (i, m), (j, ratio) in ((s, r) for s in enumerate(sizes) for r in enumerate(RATIOS)):
        for part, sample in batches(jax.random.fold_in(key, 10 * i + j), trials, m, int(ratio * m)):
            classifier = one_step_classifier(sample)
            errors[i, j, part], lengths[i, j, part] = conditional_test_error(classifier), squared_norm(classifier, m)
    classifier = one_step_classifier(signal_noise_sample(jax.random.fold_in(key, 1000), 40, 20))
    fresh = signal_noise_sample(jax.random.fold_in(key, 1001), 200_000, 20)
    labels = {"m": np.array(sizes), "D/m": np.array(RATIOS)}
    exact = np.array([[expected_test_error(m, int(ratio * m)) for ratio in RATIOS] for m in sizes])
    limit = np.array([limiting_test_error(2, int(2 * ratio)) for ratio in RATIOS])
    return {
        "test error in the limit": Law(limit, errors, along={"D/m": labels["D/m"]}, sizes=sizes, order=1),
        "test error at finite size": Law(exact, errors, along=labels, exact=True),
        "errors on fresh points": Share(
            np.sum(margins(classifier, fresh) < 0), 200_000, conditional_test_error(classifier)
        ),
        "squared length of the classifier": Law(2.0 * np.array(sizes)[:, None], lengths, along=labels, exact=True),
    }


@one_step_test_error.control("the exponential tail exp(−D/2m) itself", of="test error in the limit")
def exponential_tail(evidence):
    return replace(evidence, predicted=np.exp(-evidence.along["D/m"] / 2))


@one_step_test_error.control(
    "noise of mean length for the noise drawn: the limit at finite size", of="test error at finite size"
)
def mean_length(evidence):
    return replace(evidence, predicted=np.tile(ndtr(-np.sqrt(evidence.along["D/m"])), (len(evidence.along["m"]), 1)))


@one_step_test_error.picture
def errors_along_the_noise(pieces):
    """Test error after one gradient step along D/m: the limit as a curve, the means of the largest samples as dots."""
    piece = pieces["test error in the limit"]
    return compared(
        piece.along["D/m"], lambda ratio: ndtr(-np.sqrt(ratio)), piece.observed[-1],
        rivals={"the exponential tail exp(−D/2m)": lambda ratio: np.exp(-ratio / 2)}, names=("limit", "observed"),
        x="noise coordinates per sample D/m", y="test error", log="y", xs=(0.25, 2.5),
    )  # fmt: skip


@one_step_test_error.control("the signal's part of the length alone", of="squared length of the classifier")
def signal_length(evidence):
    return replace(evidence, predicted=evidence.predicted / 2)


@claim(
    items={"A5.16": ""},
    says=r"$D\ge2m\ln(1/\delta)$ noise coordinates bring the test error of the one-step classifier down to $\delta$.",
    needs="m ≥ 5 and δ ≥ 10⁻⁶: the junk of few points fluctuates in length, too much for this rule at tiny δ",
    over=dict(m=Integers(5, 2000, log=True), delta=Reals(1e-6, 0.5, log=True)),
    each="loop",
    draws=48,
    generations=6,
    symbols={
        r"m": "the number of training points",
        r"D": "the number of noise coordinates",
        r"\delta": "the test error that is asked for",
    },
    why=r"The error is near $\Phi(-\sqrt{D/m})$, and $\Phi(-t)\le\frac12e^{-t^2/2}$: so $D/m=2\ln(1/\delta)$ is "
    r"enough, with a factor 2 to spare for the fluctuating length of the noise. Half of it is not, and the root of "
    r"the logarithm makes $t$ only the fourth root of $\ln(1/\delta)$: the error then hardly falls with $\delta$.",
    notice=r"Below the diagonal the error is smaller than asked. With $D=m\sqrt{\ln(1/\delta)}$ it stays above a "
    r"fortieth while the $\delta$ asked for falls to a millionth; a constant makes up for that at one $\delta$ only.",
)
def dimension_for_test_error(m, delta, *, share: Annotated[float, Interval(ge=0.1, le=10)] = 2.0):
    logarithm = np.log(1 / delta)
    error = expected_test_error(int(m), int(np.ceil(m * share * logarithm)))
    # The book's D ≈ m√log(1/δ) has a root that its own condition, the display below it, does not have.
    rooted = expected_test_error(int(m), int(np.ceil(m * np.sqrt(logarithm))))
    return Inequality(error, delta, aside={"with a root": rooted})


@dimension_for_test_error.control("D = m√log(1/δ), the root of the logarithm")
def root_of_the_logarithm(evidence):
    return replace(evidence, quantity=evidence.aside["with a root"])


dimension_for_test_error.control("D = m·log(1/δ), which the displayed condition asks", share=1.0)
dimension_for_test_error.control(
    "for a single point too", over=dict(m=Integers(1, 1), delta=Reals(1e-10, 1e-6, log=True))
)


@dimension_for_test_error.picture
def asked_and_got(pieces):
    """The test error asked for and the one that the rule gives, on the instances searched."""
    (piece,) = pieces.values()
    asked = np.ravel(piece.bound)
    ends = np.array([1e-6, 0.5])
    return Curves(
        [
            Line("as asked", ends, ends),
            Dots("D = 2m·log(1/δ)", asked, np.ravel(piece.quantity)),
            Dots("D = m√log(1/δ)", asked, np.ravel(piece.aside["with a root"]), rival="with the root in (5.6)"),
        ],
        x="error asked for, δ", y="test error", log="xy",
    )  # fmt: skip


@claim(
    items={"A5.17": ("errors on the flipped sample", "errors in the limit", "margins lost by flipping")},
    says=r"Train on the sample $S$ with its noise negated: the classifier so found errs on $S$ itself with "
    r"probability $\Phi\big((c-1)/(c\sqrt{m/D})\big)$ for large $m$ and $D$, where $c=\mathbb E\|x_2\|^2$: on half of "
    r"$S$ at $c=1$. Its answers lie $2c$ from those of the classifier of $S$ on average.",
    needs=r"$\|u\|^2=1/m$; one gradient step of size 1 from zero weights",
    full=dict(sizes=(16, 32, 64), trials=12_000),
    symbols={
        r"S": r"the training sample: points $(yu,x_2)$ with labels $y=\pm1$",
        r"u": "the signal, the same in all points up to the label's sign",
        r"x_2": "the noise of a point, Gaussian",
        r"m,\ D": "the number of training points, and of noise coordinates",
        r"c": "the mean squared length of the noise",
        r"\Phi": "the normal distribution function",
    },
    why=r"On its own training points a classifier meets its own noise: the margin is 1 from the signal, plus $c$ from "
    r"the point's own noise, plus a Gaussian from the noises of the others. Trained with the noise negated, the own "
    r"part comes with a minus sign, and the margin is $1-c$ plus the same Gaussian, of variance $c^2m/D$. "
    r"The negated sample is as likely as $S$: a bound that is uniform over what training may return has to cover this "
    r"classifier too.",
    notice="Here $D=4m$. At $c=1$ signal and own noise cancel, and half of the sample is misclassified. With stronger "
    "noise the share grows, as the curve says; all of the sample is wrong only for large $c$ and $D/m$.",
    explore={"sizes": ((4, 8, 16), (8, 16, 32), (16, 32, 64))},
)
def flipped_noise_classifier(key, *, sizes: Sizes = (8, 16, 32), trials: Trials = 7000):
    noises = (1.0, 1.5, 2.0)
    wrong, apart = np.empty((2, len(sizes), len(noises), trials))
    for i, m in enumerate(sizes):
        for part, sample in batches(jax.random.fold_in(key, i), trials, m, 4 * m):
            same = margins(one_step_classifier(sample), sample)
            other = margins(one_step_classifier(sample.flipped()), sample)
            for j, noise in enumerate(noises):
                # Noise √c times as large multiplies what it adds to a margin, a product of two noises, by c.
                wrong[i, j, part] = np.mean(1 + noise * (other - 1) < 0, axis=1)
                apart[i, j, part] = noise * np.mean(same - other, axis=1)
    labels = {"m": np.array(sizes), "c": np.array(noises)}
    exact = [[expected_flipped_error(m, 4 * m, noise=noise) for noise in noises] for m in sizes]
    limit = [limiting_flipped_error(10**9, 4 * 10**9, noise=noise) for noise in noises]
    return {
        "errors on the flipped sample": Law(np.array(exact), wrong, along=labels, exact=True),
        "errors in the limit": Law(np.array(limit), wrong, along={"c": labels["c"]}, sizes=sizes, order=1),
        "margins lost by flipping": Law(2 * np.array(noises), apart, along=labels, exact=True),
    }


@flipped_noise_classifier.control("all of S is misclassified already at c = 1", of="errors on the flipped sample")
def all_of_it(evidence):
    return replace(evidence, predicted=np.ones_like(evidence.predicted))


@flipped_noise_classifier.picture
def share_misclassified(pieces):
    """Share of the sample that the classifier with negated noise gets wrong, along the squared length of the noise."""
    piece = pieces["errors in the limit"]
    noise = np.linspace(0.6, 2.5, 100)
    return Curves(
        [
            Line("limit", noise, [limiting_flipped_error(10**9, 4 * 10**9, noise=float(c)) for c in noise]),
            seen("observed", piece.along["c"], np.asarray(piece.observed)[-1]),
            Level("all of it", y=1.0, rival="as the proof says at c = 1"),
        ],
        x="mean squared length c of the noise", y="share of S misclassified",
    )  # fmt: skip


@flipped_noise_classifier.control("the two answers differ by at least 2 everywhere", of="margins lost by flipping")
def at_least_two(evidence):
    return Inequality(2.0, evidence.observed[:, 0])


@claim(
    items={
        "H9.3": ("errors on the sample and on its twin", "true error", "true error in the limit"),
        "A5.17": ("errors on the sample and on its twin", "errors left after pruning"),
    },
    says=r"With signal 2, noise $c=32$ and $D/m\ge100$ the one-step classifiers of $S$ and of $S$ with its noise "
    r"negated both have true error near $\Phi(-\sqrt{D/m}/8)$; the first makes no error on $S$, the second nothing "
    r"else: over outputs of gradient descent the two-sided gap is near 1.",
    needs="‖u‖² = 1/m; one step of size 1 from zero; noise stronger than the squared signal",
    full=dict(m=50, trials=64),
    symbols={
        r"u,\ 2": "the signal: a point with label $y=\\pm1$ is $2yu$ with $D$ coordinates of noise beside it",
        r"c": "the mean squared length of the noise",
        r"D,\ m": "the number of noise coordinates, and of training points",
        r"S": "the training sample; its twin has the noise of every point negated",
        r"\Phi": "the normal distribution function",
    },
    why=r"A uniform bound compares true error and error on the sample for every classifier that the algorithm may "
    r"return on any sample. The classifier of the sample with negated noise is one of these, as likely as the other "
    r"and as good on fresh points; but on $S$ its junk weights point against every training point. So the largest gap "
    r"is near 1, although every classifier generalizes. The blame is with the $D$ junk weights: without them both are "
    r"perfect.",
    notice=r"Two classifiers with the same small true error: one makes no mistake on $S$, the other nothing else. A "
    r"bound that must hold for both at once, two-sided, cannot be small. Noise no stronger than the squared signal, 4, "
    "does not turn the second against its sample: there the statement is refuted.",
    explore={"noise": (4.0, 32.0, 64.0), "m": (5, 10, 20)},
)
def uniform_convergence_is_vacuous(
    key,
    *,
    m: Annotated[int, Interval(ge=2, le=100)] = 10,
    trials: Trials = 192,
    noise: Annotated[float, Interval(ge=0.1, le=100)] = 32.0,
):
    dimensions = (100 * m, 200 * m)
    errors, counts, pruned = np.empty((2, 2, trials)), np.empty((2, 2), int), 0
    for j, dimension in enumerate(dimensions):
        draw = jax.random.fold_in(key, j)
        sample = signal_noise_sample(draw, m, dimension, noise=noise, signal=2.0, batch=(trials,))
        for i, trained_on in enumerate((sample, sample.flipped())):
            classifier = one_step_classifier(trained_on)
            errors[i, j] = conditional_test_error(classifier, noise=noise, signal=2.0)
            counts[i, j] = np.sum(margins(classifier, sample) < 0)
            bare = classifier.pruned()
            pruned += int(np.sum(margins(bare, sample) < 0) + np.sum(conditional_test_error(bare) > 0))
    exact = np.array([expected_test_error(m, dimension, noise=noise, signal=2.0) for dimension in dimensions])
    grown = [m * 2**doubling for doubling in range(4)]
    setting = dict(noise=noise, signal=2.0)
    finite = np.array([expected_test_error(k, 100 * k, **setting) for k in grown])
    limits = [limiting_test_error(m, 100 * m, noise=size, signal=2.0) for size in (noise, np.sqrt(noise))]
    labels = {"trained on": np.array(["S", "S with its noise negated"]), "D": np.array(dimensions)}
    once = [limiting_test_error(m, dimension, noise=np.sqrt(noise), signal=2.0) for dimension in dimensions]
    return {
        "errors on the sample and on its twin": Exact(
            counts, np.array([[0, 0], [m * trials, m * trials]]), aside={"points": m * trials}
        ),
        "true error": Law(exact, errors, along=labels, exact=True, aside={"once": np.array(once)}),
        "true error in the limit": Limit(
            grown, np.abs(finite - limits[0]), order=1.0, aside={"once": np.abs(finite - limits[1])}
        ),
        "errors left after pruning": Exact(pruned, 0),
    }


@uniform_convergence_is_vacuous.control(
    "the classifiers that spoil the class have a terrible true error", of="true error"
)
def terrible_true_error(evidence):
    return replace(evidence, predicted=np.full(2, 0.5))


@uniform_convergence_is_vacuous.control("the noise enters once, not twice", of="true error")
def once(evidence):
    return replace(evidence, predicted=evidence.aside["once"])


@uniform_convergence_is_vacuous.control("the noise enters once, in the limit", of="true error in the limit")
def once_in_the_limit(evidence):
    return replace(evidence, y=evidence.aside["once"])


uniform_convergence_is_vacuous.control(
    "noise only as strong as the squared signal", of="errors on the sample and on its twin", noise=4.0
)


@uniform_convergence_is_vacuous.picture
def same_truth_other_sample(pieces, settings):
    """Errors of the two classifiers on fresh points and on the sample S; and the true error along the dimension."""
    truth, sample = pieces["true error"], pieces["errors on the sample and on its twin"]
    names, dimensions = truth.along["trained on"], truth.along["D"]
    rows = [(i, j) for j in range(len(dimensions)) for i in range(len(names))]
    table = Table(
        {
            "trained on": [str(names[i]) for i, _ in rows],
            "D": [int(dimensions[j]) for _, j in rows],
            "true error predicted": [float(np.asarray(truth.predicted)[j]) for _, j in rows],
            "true error observed": [float(np.mean(np.asarray(truth.observed)[i, j])) for i, j in rows],
            "error on S": [float(np.asarray(sample.left)[i, j] / sample.aside["points"]) for i, j in rows],
        },
        prediction="true error predicted",
        observation="true error observed",
    )
    m, setting = settings["m"], dict(noise=settings["noise"], signal=2.0)
    dense = np.linspace(10 * m, 300 * m, 30).astype(int)
    once = {**setting, "noise": np.sqrt(settings["noise"])}
    marks: list[Any] = [
        Line("exact", dense, [expected_test_error(m, each, **setting) for each in dense.tolist()]),
        seen("observed, either classifier", dimensions, np.mean(truth.observed, axis=0)),
        Line("", dense, [limiting_test_error(m, each, **once) for each in dense.tolist()], rival="√c in place of c"),
    ]
    return Stack([table, Curves(marks, x="noise coordinates D", y="true error", ys=(-0.02, 0.5))])
