"""Expected and test blocks of softmax regression on a Gaussian mixture: outliers in the span of the means, and a bulk.

jagannath Sec. 13.1.2 and the summary of proofs in Sec. 13.2.
"""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.alignment.overlaps import living_error
from deeptheory.alignment.softmax_mixtures import mixture_draws
from deeptheory.alignment.test_matrices import (
    block_fluctuation,
    gradient_weights,
    hessian_weights,
    population_hessian,
    population_second_moment,
    weighted_second_moment,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Line, Row, seen

MATRICES = ("Hessian", "G-matrix")
CLASSES = 3


def setting(draw, size):
    """Unit means that are not orthogonal, unequal weights, and parameters inside and beside the means' span."""
    means = np.linalg.qr(draw.standard_normal((size, CLASSES)))[0].T
    means[1] = 0.4 * means[0] + np.sqrt(1 - 0.4**2) * means[1]
    inside = np.array([[1.5, -0.5, -0.7], [-0.6, 1.2, -0.4], [-0.9, -0.6, 1.4]]) @ means
    beside = draw.standard_normal((CLASSES, size))
    beside -= np.linalg.lstsq(means.T, beside.T)[0].T @ means
    return means, np.array([0.25, 0.35, 0.4]), inside, 0.5 * beside / np.linalg.norm(beside, axis=1, keepdims=True)


def tested(key, means, shares, point, precision, shape):
    """The (1, 1) blocks of test Hessian and test G-matrix: `shape` says how many test sets, and inputs in each."""
    inputs, labels = mixture_draws(key, means, count=shape[0] * shape[1], precision=precision, weights=shares)
    weights = hessian_weights(point, inputs)[:, 0, 0], gradient_weights(point, inputs, labels)[:, 0, 0]
    pairs = np.stack(weights, axis=-1).reshape(*shape, 2)
    return np.array([weighted_second_moment(*each) for each in zip(inputs.reshape(*shape, -1), pairs, strict=True)])


@claim(
    items={
        "J13.7": ("expected blocks", "test blocks at a fixed ratio"),
        "J13.16": ("distance of the test blocks",),
    },
    says=r"Each block of the expected Hessian and G-matrix of softmax regression lives in "
    r"$\mathrm{span}(\mu_1,\dots,\mu_k)$ up to an error of order $1/\lambda$. Test blocks are at mean square distance "
    r"$v/\tilde M$ from them, and at fixed $\tilde M/d$ live there up to order $\lambda^{-1/2}$ only.",
    needs="k Gaussian classes of covariance I/λ with linearly independent means of length one; parameters of order one",
    symbols={
        r"\mu_a": "the mean of a class",
        r"k": "the number of classes",
        r"\lambda": "the precision: the noise has covariance $I/\\lambda$",
        r"v": "the variance of one input's block in Frobenius norm, by quadrature",
        r"\tilde M": "the number of test inputs",
        r"d": "the dimension",
    },
    why=r"A block is the mean of a weight times $YY^\top$, and the weight sees $Y$ through $k-1$ differences of "
    r"logits. Beside the means $Y$ is noise of covariance $I/\lambda$, so the expected block is $1/\lambda$ there, "
    r"and so is its product with the means. On a test set that product is a sum of $\tilde M$ independent terms of "
    r"length $\sqrt{d/\lambda}$: it is of order $\sqrt{d/(\tilde M\lambda)}$, and falls to $1/\lambda$ only if "
    r"$\tilde M/d$ grows with $\lambda$. The theorem fixes the ratio $\alpha_0$ before $\lambda$.",
    notice=r"Left: the expected blocks fall along $1/\lambda$, the test blocks along $\lambda^{-1/2}$, above the "
    r"line $1/\lambda$. Right: the squared distance of the test blocks lies on the exact $v/\tilde M$.",
)
def mixture_blocks_live_in_the_means(
    key,
    *,
    size: Annotated[int, Interval(ge=12, le=30)] = 16,
    ratio: Annotated[int, Interval(ge=2, le=16)] = 4,
    trials: Trials = 800,
):
    draw = generator(key)
    means, shares, inside, beside = setting(draw, size)
    precisions = np.array([100.0, 400.0, 1600.0, 6400.0])
    errors = [
        [
            living_error(expected(inside + beside, means, precision=each, weights=shares), means).max()
            for expected in (population_hessian, population_second_moment)
        ]
        for each in precisions
    ]
    counts = size * np.array([4, 16])
    keys = iter(jax.random.split(key, len(precisions) + len(counts)))
    found = np.array(
        [
            living_error(tested(next(keys), means, shares, inside, each, (max(8, trials // 4), ratio * size)), means)
            for each in precisions
        ]
    )
    point, settings = inside + beside, {"precision": 20.0, "weights": shares}
    middles = np.stack(
        [each(point, means, **settings)[0, 0] for each in (population_hessian, population_second_moment)]
    )
    variance = np.array([each[0, 0] for each in block_fluctuation(point, means, **settings)])
    blocks = np.array([tested(next(keys), means, shares, point, 20.0, (trials, count)) for count in counts])
    distances = ((blocks - middles) ** 2).sum((-2, -1))
    return {
        "expected blocks": Rate(precisions, np.array(errors).max(-1), exponent=-1.0, rivals=(-0.5,)),
        "test blocks at a fixed ratio": Rate(
            precisions, found.max(-1), exponent=-0.5, resolution=0.2, order=0.5, aside={"expected": np.array(errors)}
        ),
        "distance of the test blocks": Law(
            variance / counts[:, None],
            distances.swapaxes(1, 2),
            exact=True,
            along={"test inputs": counts, "matrix": list(MATRICES)},
            # A trial of the G-matrix varies by half; 8 standard errors of 800 are a sixth.
            resolution=0.2,
            aside={"squares": (middles**2).sum((-2, -1))},
        ),
    }


@mixture_blocks_live_in_the_means.control(
    "test blocks up to order 1/λ at a fixed ratio", of="test blocks at a fixed ratio"
)
def printed_order(evidence):
    return replace(evidence, exponent=-1.0)


@mixture_blocks_live_in_the_means.control(
    "distances that fall like the square of the number of inputs", of="distance of the test blocks"
)
def faster(evidence):
    counts, predicted = np.asarray(evidence.along["test inputs"]), np.asarray(evidence.predicted)
    return replace(evidence, predicted=predicted * counts[0] / counts[:, None])


@mixture_blocks_live_in_the_means.control(
    "the second moment of one input in place of its variance", of="distance of the test blocks"
)
def uncentred(evidence):
    counts = np.asarray(evidence.along["test inputs"])
    return replace(evidence, predicted=evidence.predicted + evidence.aside["squares"] / counts[:, None])


@mixture_blocks_live_in_the_means.picture
def two_orders(pieces):
    """Left: error up to which blocks live in the span of the means. Right: squared distance of test blocks."""
    tests, distance = pieces["test blocks at a fixed ratio"], pieces["distance of the test blocks"]
    precisions, errors, counts = np.asarray(tests.x), np.asarray(tests.y), np.asarray(distance.along["test inputs"])
    expected = np.asarray(tests.aside["expected"]).max(-1)
    start = errors[0].mean()
    left = Curves(
        [
            Line("expected blocks", precisions, expected),
            seen("test blocks", precisions, errors),
            Line("order 1/√λ", precisions, start * (precisions / precisions[0]) ** -0.5, thin=True),
            Line("", precisions, start * precisions[0] / precisions, rival="order 1/λ, whatever the ratio"),
        ],
        x="precision λ",
        y="error ε",
        log="xy",
    )
    right = [
        mark
        for which, name in enumerate(distance.along["matrix"])
        for mark in (
            Line(f"{name}, exact", counts, np.asarray(distance.predicted)[:, which]),
            seen(f"{name}, seen", counts, np.asarray(distance.observed)[:, which]),
        )
    ]
    return Row([left, Curves(right, x="test inputs", y="squared distance", log="xy")])
