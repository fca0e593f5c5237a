"""Discriminators of bounded size: what they need to generalise, and how small a support already fools them."""

from bisect import bisect_left
from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.stats import binom, norm

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.covers import best_cover_deviation
from deeptheory.generative.finite_generators import (
    collapsed_law,
    feature_advantage,
    generated,
    point_generator,
    sample_detector,
    woken_units,
)
from deeptheory.generative.supports import birthday_test, collision_probability, uniform_collision_probability
from deeptheory.lab import Chain, Exact, Identity, Inequality, Law, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, Mark, Row, seen

BLOCK = 20_000
"""units whose products with all fresh points are held at once"""


def awake(draw, dimension, fresh, units):
    """How many units a fresh point wakes, of a net of so many at thresholds 0.95 and ½ of their squared length."""
    points, counts = draw.standard_normal((fresh, dimension), np.float32), np.zeros((2, fresh), int)
    for first in range(0, units, BLOCK):
        sample = draw.standard_normal((min(BLOCK, units - first), dimension), np.float32)
        shares = points @ (sample / np.sum(sample**2, axis=1, keepdims=True)).T
        counts += np.stack([np.sum(shares > level, axis=1) for level in (0.95, 0.5)])
    return counts


@claim(
    items={
        "A16.13": (
            "points that the net judges wrongly",
            "squared cosine of two points",
            "own scores",
            "units that a fresh point wakes",
            "points that a net of d³ units judges wrongly",
        )
    },
    says=r"Two samples of the same Gaussian in $d$ dimensions are told apart by a net with a unit for each point of "
    r"the first, $\sum_i\mathrm{relu}(\langle x_i,x\rangle-d/2)$: positive on its own sample, zero on the other, since "
    r"independent points have squared cosines of mean $1/d$.",
    needs=r"$d$ well above $16\log m$ for samples of size $m$",
    scale="printed: samples of size $d^3$ at the threshold $d/2$; here: 800 points in 400 dimensions at this "
    "threshold, and $d^3$ points in 72 dimensions at a threshold for each unit, with 200 fresh ones",
    full=dict(cube=100),
    symbols={"d": "the dimension", "x_i": "a point of the first sample", "m": "the size of each sample"},
    why=r"A point has squared length near $d$, more than the threshold $d/2$; its inner product with an independent "
    r"one has standard deviation $\sqrt d$, and a million of these stay below $5\sqrt d$, less than $d/2$ here. "
    "The net has memorised the sample: what it tells is not a difference of laws.",
    notice="Inner products of a sample point with itself and with others lie far to either side of the threshold, "
    "though all points come from one law. With $0.95\\|x_i\\|^2$ for $d/2$ a fresh point wakes "
    "$d^3P(T_d>0.95\\sqrt d)$ units, Student's law of $d$ degrees: three in 16 dimensions, two millionths in 72.",
)
def one_law_told_apart(
    key,
    *,
    trials: Trials = 800,
    dimension: Annotated[int, Interval(ge=300, le=800)] = 400,
    cube: Annotated[int, Interval(ge=72, le=100)] = 72,
):
    draw, d = generator(key), dimension
    first, second = draw.standard_normal((2, trials, d))
    own, other = sample_detector(first, first), sample_detector(first, second)
    lacking = sample_detector(first[1:], first)
    squares = (first**2).sum(-1), (second**2).sum(-1)
    cosines = np.sum(first * second, axis=1) ** 2 / (squares[0] * squares[1])
    low, batches = np.array([8, 12, 16]), max(trials // 20, 8)
    woken = [[np.mean(awake(draw, d, 400, d**3)[0]) for _ in range(batches)] for d in low.tolist()]
    cubed, halved = awake(draw, cube, 200, cube**3)
    return {
        # A sample's shortest points wake for many fresh ones, and the longest fresh ones wake many.
        "units that a fresh point wakes": Law(
            np.array([woken_units(d, d**3) for d in low.tolist()]), np.array(woken), exact=True, resolution=0.25,
            along={"dimension": low}, aside={"gaussian": low**3 * norm.sf(0.95 * np.sqrt(low))},
        ),
        "points that a net of d³ units judges wrongly": Exact(
            np.sum(cubed > 0), 0, aside={"halved": np.sum(halved > 0)}
        ),
        "points that the net judges wrongly": Exact(
            np.array([np.sum(own <= 0), np.sum(other > 0)]),
            np.zeros(2, int),
            aside={"lacking": np.array([np.sum(lacking <= 0), np.sum(other > 0)]), "dimension": np.array(d)},
        ),
        # The square of a standard Gaussian's cosine varies as much as its mean: eight hundred see it to a third.
        "squared cosine of two points": Law(
            np.array(1 / d),
            cosines,
            exact=True,
            resolution=0.5,
            aside={"self": squares[0], "cross": np.sum(first * second, 1)},
        ),
        # No other point is near, so that the score is what the point's own unit says.
        "own scores": Identity(own, squares[0] - d / 2, size=d * 1.0, scale=squares[0]),
    }  # fmt: skip


@one_law_told_apart.control("points of length √d, all of them", of="units that a fresh point wakes")
def even_lengths(evidence):
    return replace(evidence, predicted=evidence.aside["gaussian"])


@one_law_told_apart.control("a threshold of half the squared length", of="points that a net of d³ units judges wrongly")
def half_the_square(evidence):
    return replace(evidence, left=evidence.aside["halved"])


@one_law_told_apart.control("one unit fewer than points", of="points that the net judges wrongly")
def one_unit_fewer(evidence):
    return replace(evidence, left=evidence.aside["lacking"])


@one_law_told_apart.control("squared cosines of mean 2/d", of="squared cosine of two points")
def twice_the_square(evidence):
    return replace(evidence, predicted=2 * evidence.predicted)


@one_law_told_apart.control("the whole squared length", of="own scores")
def whole_length(evidence):
    return replace(evidence, right=2 * evidence.right)


@one_law_told_apart.picture
def inner_products(pieces):
    """Inner products over d: of points with themselves, and with points of the other sample."""
    aside = pieces["squared cosine of two points"].aside
    d = float(pieces["points that the net judges wrongly"].aside["dimension"])
    both = np.concatenate([aside["self"], aside["cross"]]) / d
    return Histogram(
        [Level("threshold ½", x=0.5)], samples=both, bins=60, x="inner product over the dimension", y="density"
    )


@claim(
    items={"A16.14": ("squared gap of linear discriminators", "chance of a larger test loss")},
    says=r"With $k$ parameters of norm at most $L$, losses in $[0,1]$ that are $C$-Lipschitz in them, test loss "
    r"exceeds training loss by $\epsilon$ only with small probability once $N$ is of order "
    r"$\frac k{\epsilon^2}\log\frac{CL}\epsilon$. Over linear discriminators of a Gaussian the mean squared "
    "gap is $k/N$.",
    needs="independent samples; a discriminator chosen after seeing them",
    full=dict(trials=20_000),
    symbols={
        "k": "the number of parameters of the discriminator",
        "L": "the largest norm of the parameters",
        "C": "the Lipschitz constant of the loss in the parameters",
        "N": "the number of samples",
        r"\epsilon": "how much more the test loss may be than the training loss",
    },
    why=r"A cover of the ball of parameters has about $(CL/\epsilon)^k$ points, and a union bound over them costs its "
    r"logarithm: parameters count, their norm enters through the logarithm. The supremum of $w\cdot(\bar x-E x)$ over "
    r"unit $w$ is the length of the error of a mean, whose square has mean $k/N$.",
    notice="The mean squared gap falls on $k/N$ for every number of parameters: four times the parameters need four "
    "times the samples, though norm and Lipschitz constant of the direction have not changed.",
)
def discriminators_generalize_by_parameters(key, *, trials: Trials = 3000):
    draw = generator(key)
    parameters, samples = np.array([5, 20, 80]), np.array([50, 200, 800])
    # The mean of N Gaussian points is one Gaussian point, scaled.
    gaps = [[np.sum(draw.standard_normal((trials, k)) ** 2, axis=1) / n for n in samples] for k in parameters]
    # x = ±1 by a fair coin, loss ½|w/L − x| for |w| ≤ L: one parameter, CL = ½, and the largest gap is ½|mean x|.
    delta, epsilons, factors = 0.05, np.array([0.12, 0.1, 0.05]), np.array([1.0, 10.0, 100.0, 1000.0])

    def certainty(n):
        return -best_cover_deviation(0.5, 1, n, delta)[1]

    enough = [1 + bisect_left(range(1, 10**5), -epsilon, key=certainty) for epsilon in epsilons]

    def chance(n, epsilon):
        heads = np.arange(n + 1)
        return float(binom.pmf(heads, n, 0.5)[np.abs(heads / n - 0.5) > epsilon].sum())

    failing = np.array([chance(n, e) for n, e in zip(enough, epsilons, strict=True)])
    # As printed, (L/ε²)·log(C/ε) samples times any constant, with L = C = 1. The unit ball of N + 2 dimensions has
    # 2^(N + 2) points w_j half apart; the loss ½ + s_j(x)(⅛ − |w − w_j|)₊ with fair signs s_j is 1-Lipschitz. Some w_j
    # has only negative signs on the sample: training loss ⅜, test loss ½, a gap above ε.
    asked = np.ceil(factors[:, None] / epsilons**2 * np.log(1 / epsilons))
    rare = np.exp2(-asked)
    printed = -np.expm1(4 * np.log1p(-rare) / rare.clip(1e-300))
    return {
        "squared gap of linear discriminators": Law(
            parameters[:, None] / samples,
            np.array(gaps),
            exact=True,
            resolution=0.15,
            along={"parameters": parameters, "samples": samples},
        ),
        "chance of a larger test loss": Inequality(
            failing, delta, along={"epsilon": epsilons}, aside={"printed": printed, "samples": np.array(enough)}
        ),
    }


@discriminators_generalize_by_parameters.control("one parameter more", of="squared gap of linear discriminators")
def one_parameter_more(evidence):
    k, n = np.asarray(evidence.along["parameters"]), np.asarray(evidence.along["samples"])
    return replace(evidence, predicted=(k[:, None] + 1) / n)


@discriminators_generalize_by_parameters.control(
    "the norm in place of the number of parameters, as printed, whatever the constant",
    erratum="A16.14a",
    of="chance of a larger test loss",
)
def norm_for_parameters(evidence):
    return replace(evidence, quantity=evidence.aside["printed"])


@discriminators_generalize_by_parameters.picture
def gaps_by_samples(pieces):
    """The mean squared gap of the best linear discriminator, by the number of samples."""
    piece = pieces["squared gap of linear discriminators"]
    samples, marks = np.asarray(piece.along["samples"]), []
    for k, predicted, observed in zip(piece.along["parameters"], piece.predicted, piece.observed, strict=True):
        marks += [Line(f"{k} parameters", samples, predicted), seen(f"{k} parameters", samples, observed)]
    return Curves(marks, x="number of samples", y="squared gap of test and training loss", log="xy")


@claim(
    items={
        "A16.15": ("squared advantage over few points", "no discriminator objects"),
        "A16.16": ("seeds of each generated point", "parameters of the net"),
        "A16.17": ("support that suffices", "samples with a duplicate", "no discriminator objects"),
    },
    says=r"A discriminator linear in $k$ features sees a uniform law on $m$ real points with mean squared advantage "
    r"$\mathrm{tr}\,\mathrm{Cov}\,\phi/m$. A law on $k+1$ points leaves it no advantage, whatever the size of the "
    r"data, and $2(M-1)(d+2)+d$ parameters make a net generate $M$ points of $\mathbb R^d$.",
    needs="coefficients of norm at most one; the data uniform on finitely many points, in general position",
    full=dict(trials=10_000),
    symbols={
        "k": "the number of features, the size of the discriminator",
        r"\phi": "the vector of features of a point",
        "m": "the number of real points that are kept",
        "M, d": "the number of points that are generated, and their dimension",
    },
    why="Such a discriminator sees mean features only. The mean over $m$ draws errs by the covariance over $m$; and "
    "by Carathéodory's theorem the mean of any number of vectors of $\\mathbb R^k$ is a mixture of $k+1$ of them. A "
    "net makes a staircase of steep ramps out of a uniform seed, two units a step, and steps from point to point.",
    notice="The advantage falls with the number of points kept, not with the number there are: a generator with as "
    "many points as features, and one more, is perfect to this discriminator, and far from the law in total "
    "variation. The birthday test, which knows of its points by duplicates alone, tells a support that grows with the "
    "features and not with the data: somewhat less than there are, since shares are uneven.",
)
def few_points_fool_a_discriminator(key, *, trials: Trials = 2000):
    draw, k = generator(key), np.array([2, 6, 18])
    sizes, batches = np.array([100, 400, 1600]), 4 * trials
    supports, advantages, distances, repeated, chances, told, even = np.empty((7, 3, 3))
    for (i, j), width in np.ndenumerate(np.repeat(k[:, None], 3, axis=1)):
        n = sizes[j]
        features = np.tanh(draw.standard_normal((n, 10)) @ draw.standard_normal((10, width)) / 3)
        uniform = np.full(n, 1 / n)
        few = collapsed_law(features, uniform)
        supports[i, j] = np.sum(few > 1e-12)
        advantages[i, j] = feature_advantage(features, uniform, few)
        distances[i, j] = np.maximum(few - uniform, 0).sum()
        # The birthday test, with samples of about the root of the support.
        sample = 1 + int(np.ceil(np.sqrt(width + 1)))
        drawn = np.sort(draw.choice(n, (batches, sample), p=few), axis=1)
        repeated[i, j] = np.sum(np.any(np.diff(drawn, axis=1) == 0, axis=1))
        chances[i, j] = collision_probability(few, sample)
        told[i, j] = birthday_test(int(repeated[i, j]), batches, sample).size
        even[i, j] = uniform_collision_probability(width + 1.0, sample)
    kept = np.array([4, 16, 64])
    spread = np.sum(np.var(features, axis=0))
    seen_of = []
    for m in kept:
        chosen = draw.integers(n, size=(trials, m))
        counts = np.zeros((trials, n))
        np.add.at(counts, (np.arange(trials)[:, None], chosen), 1 / m)
        seen_of.append(feature_advantage(features, uniform, counts) ** 2)
    points = draw.standard_normal((7, 3))
    net = point_generator(points)
    seeds = (np.arange(700) + 0.5) / 700
    nearest = np.argmin(np.linalg.norm(generated(net, seeds)[:, None] - points, axis=-1), axis=1)
    exactly = np.linalg.norm(generated(net, seeds) - points[nearest], axis=1) < 1e-6
    counted = np.bincount(nearest[exactly], minlength=7)
    shapes = [(2, 1), (7, 3), (30, 5)]
    return {
        "squared advantage over few points": Law(
            spread / kept, np.array(seen_of), exact=True, resolution=0.15, along={"points kept": kept}
        ),
        "no discriminator objects": Chain(
            {
                "advantage": (advantages, 1e-8),
                "total variation": (1 - (k[:, None] + 1) / sizes, distances + 1e-12),
            },
            aside={"distances": distances},
        ),
        "support that suffices": Exact(
            supports.astype(int),
            np.repeat(k[:, None] + 1, 3, axis=1),
            along={"features": k, "data": sizes},
            aside={"told": told},
        ),
        "samples with a duplicate": Share(
            repeated.astype(int),
            batches,
            chances,
            along={"features": k, "data": sizes},
            resolution=0.1,
            aside={"even": even},
        ),
        "seeds of each generated point": Exact(counted, np.full(7, 100)),
        "parameters of the net": Exact(
            np.array([point_generator(np.zeros(shape)).parameters for shape in shapes]),
            np.array([2 * (m - 1) * (d + 2) + d for m, d in shapes]),
            aside={"shapes": np.array(shapes)},
        ),
    }


@few_points_fool_a_discriminator.control("one point fewer", of="squared advantage over few points")
def with_one_fewer(evidence):
    kept = np.asarray(evidence.along["points kept"])
    return replace(evidence, predicted=evidence.predicted * kept / (kept - 1))


@few_points_fool_a_discriminator.control(
    "a total variation that vanishes with the advantage", of="no discriminator objects"
)
def laws_agree(evidence):
    return replace(
        evidence,
        links=evidence.links | {"total variation": (evidence.aside["distances"], evidence.links["advantage"][1])},
    )


@few_points_fool_a_discriminator.control("as many points as features", of="support that suffices")
def no_point_more(evidence):
    return replace(evidence, right=evidence.right - 1)


@few_points_fool_a_discriminator.control("even shares of the points kept", of="samples with a duplicate")
def even_shares(evidence):
    return replace(evidence, predicted=evidence.aside["even"])


@few_points_fool_a_discriminator.control("a share of 1/(M-1) for every point", of="seeds of each generated point")
def shares_of_steps(evidence):
    return replace(evidence, right=np.full(7, 700 // 6))


@few_points_fool_a_discriminator.control("one unit a step", of="parameters of the net")
def one_unit(evidence):
    return replace(evidence, right=np.array([(m - 1) * (d + 2) + d for m, d in evidence.aside["shapes"]]))


@few_points_fool_a_discriminator.picture
def advantage_by_points(pieces):
    """The discriminator's advantage by the points kept; the support that leaves it none, by the number of features."""
    piece, support = pieces["squared advantage over few points"], pieces["support that suffices"]
    kept = np.asarray(piece.along["points kept"])
    left = Curves(
        [Line("trace of the covariance over m", kept, piece.predicted), seen("observed", kept, piece.observed)],
        x="number of real points kept",
        y="squared advantage",
        log="xy",
    )
    features, data = np.asarray(support.along["features"]), support.along["data"]
    marks: list[Mark] = [Line("features and one more", features, support.right[:, 0])]
    for n, exact, told in zip(data, np.transpose(support.left), np.transpose(support.aside["told"]), strict=True):
        marks += [Dots(f"points kept, of {n} data", features, exact), Dots("told by the birthday test", features, told)]
    marks.append(Line("", features, np.full(len(features), data[-1] ** 0.5), rival="the root of the largest data"))
    right = Curves(marks, x="number of features k", y="support without advantage", log="xy")
    return Row([left, right])
