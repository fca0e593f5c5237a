"""Interpolation at the minimax rate: the theorem for kernel averages with a singular kernel, and its proof.

jagannath Thm 5.3, after Belkin, Rakhlin and Tsybakov 2019.
"""

import itertools
import math
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import scipy.stats
from annotated_types import Interval
from scipy.integrate import quad

from deeptheory.foundations.balls import ball_volume
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.nadaraya_watson import (
    averaging_weights,
    holder_seminorm,
    kernel_square_integral,
    limiting_pointwise_risk,
    log_void_probability,
    minimax_bandwidth,
    nadaraya_watson_weights,
    second_moment_bound,
    singular_kernel,
)
from deeptheory.generalization.interpolation.smoothers import smoother_bias_variance
from deeptheory.lab import Chain, Identity, Inequality, Law, Rate, Share, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen

SMOOTHINGS = ((1, 1.0, 0.25), (2, 1.0, 0.5), (2, 0.5, 0.5), (3, 1.0, 1.0))
"""Dimension d, smoothness β and exponent a of the singular kernels whose rate is measured."""


def near_the_middle(draw, n, h, dimension, trials):
    """Distances over h of uniform samples of the cube [−1, 1]ᵈ from its middle, and which of them there are.

    Only samples within h matter: their number is binomial, their distances independent.
    """
    count = draw.binomial(n, ball_volume(dimension) * (h / 2) ** dimension, trials)
    lengths = draw.uniform(size=(trials, max(int(count.max()), 1))) ** (1 / dimension)
    return lengths, np.arange(lengths.shape[1]) < count[:, None]


def near_a_cusp(draw, n, h, trials):
    """The same for the uniform law on {0 ≤ x ≤ 1, |y| ≤ x⁵} and its point 0: density 3 there, mass h⁶ below x = h."""
    count = draw.binomial(n, h**6, trials)
    x = h * draw.uniform(size=(trials, max(int(count.max()), 1))) ** (1 / 6)
    lengths = np.hypot(x, draw.uniform(-1, 1, x.shape) * x**5) / h
    return lengths, (np.arange(x.shape[1]) < count[:, None]) & (lengths <= 1)


def averaged_risks(draw, sizes, trials, exponent, noise):
    """Squared error of the average at 50 places amid the square [−1, 1]², for f = ‖x‖, the noise integrated out."""
    risks = np.empty((len(sizes), trials))
    for (i, n), trial in itertools.product(enumerate(sizes), range(trials)):
        # Places away from the boundary, which has a rate of its own.
        x, at = draw.uniform(-1, 1, (n, 2)), draw.uniform(-0.5, 0.5, (50, 2))
        kernel, h = singular_kernel(exponent), float(minimax_bandwidth(n, 2, 1.0))
        weights = nadaraya_watson_weights(x, at, kernel=kernel, bandwidth=h)
        found = smoother_bias_variance(weights, np.linalg.norm(x, axis=1), np.linalg.norm(at, axis=1), noise)
        risks[i, trial] = np.mean(found.risk)
    return risks


@claim(
    items={
        "J5.6": (
            "d=1 β=1",
            "d=2 β=1",
            "d=2 β=½",
            "d=3 β=1",
            "constant on a line",
            "constant in the plane",
            "risk averaged over the square",
            "best bandwidth",
            "integrals of the kernel",
        ),
    },
    says=r"With $h=n^{-1/(d+2\beta)}$ and $a<d/2$ the interpolating average has mean squared error of order "
    r"$n^{-2\beta/(2\beta+d)}$; at the tip of $f(0)+\|x\|^\beta$ this power of $n$ times the error tends to "
    r"$\left(\frac{d-a}{d-a+\beta}\right)^2+\frac{\sigma^2(d-a)^2}{(d-2a)\,d\,v_d\,p(0)}$.",
    needs="balls of radius h around the point have a mass of order hᵈ; labels of bounded variance; β ≤ 1",
    full=dict(trials=4000),
    symbols={
        r"h": "the bandwidth: samples within $h$ count",
        r"d": "the dimension of the inputs",
        r"\beta": r"the smoothness: values differ by at most the distance to the power $\beta$",
        r"a": r"the exponent of the kernel $\|u\|^{-a}$, infinite at 0, so that the average takes the value of a label",
        r"\sigma^2": "the variance of the labels around $f$; 0.25 here",
        r"v_d": "the volume of the unit ball",
        r"p(0)": "the density of the inputs at the tip",
    },
    why=r"Averaging over a ball of radius $h$ costs a squared bias of $h^{2\beta}$ and a variance of "
    r"$1/nh^d$, one over the number of samples in it; $h$ makes the two equal. The kernel is infinite at a sample, so "
    r"the average interpolates, yet it is square integrable for $a<d/2$ and spreads its weight over many samples "
    r"elsewhere. Where the support narrows to a point a ball holds far less than $nh^d$ samples, mostly none.",
    notice=r"Smoother functions and fewer dimensions learn faster, although the estimator fits all noisy labels. The "
    r"lines are the limits with their constants, not fits.",
)
def interpolation_at_the_minimax_rate(
    key,
    *,
    sizes: Sizes = (1000, 4000, 16000, 64000),
    trials: Trials = 2000,
    noise: Annotated[float, Interval(ge=0.1, le=10.0)] = 0.25,  # with less the bias lasts until far larger samples
    support: Literal["cube", "cusp"] = "cube",
    steeper: Annotated[float, Interval(ge=1.0, le=4.0)] = 1.0,
):
    draw = generator(key)
    risks = np.empty((len(SMOOTHINGS), len(sizes), trials))
    for (i, (dimension, smoothness, exponent)), (j, n) in itertools.product(enumerate(SMOOTHINGS), enumerate(sizes)):
        h = float(minimax_bandwidth(n, dimension, smoothness))
        narrow = support == "cusp" and dimension == 2
        lengths, near = near_a_cusp(draw, n, h, trials) if narrow else near_the_middle(draw, n, h, dimension, trials)
        count = near.sum(1)
        weights = averaging_weights(np.where(near, singular_kernel(exponent * steeper)(lengths), 0.0))
        # f = 1 + ‖x‖^β, so that an empty neighbourhood, where the average is 0, costs 1; the noise is integrated out.
        bias = np.where(count > 0, (weights * (h * lengths) ** smoothness).sum(1), 1.0)
        risks[i, j] = bias**2 + noise * (weights**2).sum(1)
    rates = np.array([2 * b / (2 * b + d) for d, b, _ in SMOOTHINGS])
    scaled = risks * (np.array(sizes) ** rates[:, None])[..., None]
    limits = [limiting_pointwise_risk(d, a, b, density=0.5**d, noise=noise).risk for d, b, a in SMOOTHINGS]
    # The constants again, as integrals over the ball by quadrature: ∫K, ∫K² and ∫K‖u‖^β.
    integrated = np.empty((2, len(SMOOTHINGS)))
    for i, (d, b, a) in enumerate(SMOOTHINGS):
        kernel, area = singular_kernel(a), 2 * np.pi ** (d / 2) / math.gamma(d / 2)
        mass, square, moment = (
            area * quad(lambda r, f=f, d=d: f(r) * r ** (d - 1), 0, 1, epsabs=0, epsrel=1e-11)[0]
            for f in (kernel, lambda r, kernel=kernel: kernel(r) ** 2, lambda r, kernel=kernel, b=b: kernel(r) * r**b)
        )
        integrated[:, i] = (moment / mass) ** 2, noise * square / (mass**2 * 0.5**d)
    parts = [limiting_pointwise_risk(d, a, b, density=0.5**d, noise=noise) for d, b, a in SMOOTHINGS]
    widths = np.array([[minimax_bandwidth(n, d, b) for n in sizes] for d, b, _ in SMOOTHINGS])
    shapes, fewer = np.array([[d, 2 * b] for d, b, _ in SMOOTHINGS]), [max(n // 4, 2) for n in sizes]
    return {
        f"d={d} β={'½' if b < 1 else 1}": Rate(sizes, risks[i], exponent=-rates[i], resolution=0.1, order=rates[i])
        for i, (d, b, _) in enumerate(SMOOTHINGS)
    } | {
        # The width at which h^{2β} and 1/(n hᵈ) are equal.
        "best bandwidth": Identity(
            widths ** shapes[:, 1:], 1 / (np.array(sizes) * widths ** shapes[:, :1]), condition=10.0
        ),
        "integrals of the kernel": Identity(np.transpose(np.asarray(parts)), integrated, error=1e-8),
        "constant on a line": Law(limits[0], scaled[0], sizes=sizes, order=float(rates[0])),
        "constant in the plane": Law(
            limits[1],
            scaled[1],
            sizes=sizes,
            order=float(rates[1]),
            aside={"parts": np.asarray(parts[1], float), "limits": np.array(limits, float)},
        ),
        "risk averaged over the square": Rate(
            fewer,
            averaged_risks(draw, fewer, max(trials // 40, 16), 0.5 * steeper, noise),
            exponent=-0.5,
            resolution=0.15,
            order=0.5,
        ),
    }


interpolation_at_the_minimax_rate.control(
    "a support that narrows to a point, which the theorem admits",
    erratum="J5.6a",
    of="d=2 β=1",
    support="cusp",
    trials=4000,  # of the largest samples one in 250 has a point within h, and without any nothing varies
)
interpolation_at_the_minimax_rate.control("a = 0.9 d, above half the dimension", of="d=1 β=1", steeper=3.6)


@interpolation_at_the_minimax_rate.control("the rate n^(−β/(2β+d)), that of the error itself", of="d=3 β=1")
def unsquared_rate(evidence):
    return replace(evidence, exponent=evidence.exponent / 2)


@interpolation_at_the_minimax_rate.control(
    "the volume of the ball in place of the area of the sphere", of="constant in the plane"
)
def volume_for_area(evidence):
    bias, variance = evidence.aside["parts"]
    return replace(evidence, predicted=bias + 2 * variance)


@interpolation_at_the_minimax_rate.picture
def rates_of_interpolation(pieces):
    """Mean squared error at the tip against the number of samples, for four settings, with the limits as lines."""
    marks: list[Any] = []
    for (d, b, _), limit in zip(SMOOTHINGS, pieces["constant in the plane"].aside["limits"], strict=True):
        name = f"d={d} β={'½' if b < 1 else 1}"
        sizes = np.asarray(pieces[name].x, float)
        marks += [Line(name, sizes, limit * sizes ** (-2 * b / (2 * b + d))), seen(name, sizes, pieces[name].y)]
    return Curves(marks, x="samples n", y="mean squared error", log="xy")


@claim(
    items={
        "J5.5": (
            "seminorm of a tip",
            "seminorm of a growing sample",
            "seminorm of a sample is no larger",
            "seminorm of a sine",
        ),
        "J5.7": (
            "probability of no sample near",
            "bound on the probability of no sample near",
            "squared bias",
            "squared bias with all samples at distance h",
            "integral of the squared kernel",
            "mean squared weight",
            "order of the squared weight",
        ),
    },
    says=r"In the minimax proof no sample is near with probability $(1-\bar p)^n\le e^{-n\bar p}$; on every other "
    r"draw the squared bias is at most $L^2h^{2\beta}$; and the squared weight of one sample has a mean of at most "
    r"$\frac4{(n\bar p)^2}h^dp_{max}\int K^2+P(N\le n\bar p/2)$.",
    needs="a density between p_min > 0 and p_max around the point; a < d/2; β ≤ 1",
    symbols={
        r"\bar p": r"the probability that a sample lies within the bandwidth $h$ of the point",
        r"n,N": r"the number of samples, and of those within $h$",
        r"L,\beta": r"the Hölder seminorm and exponent: $|f(x)-f(y)|\le L\|x-y\|^\beta$",
        r"d,p_{max}": "the dimension, and the largest density around the point",
        r"K": r"the singular kernel $\|u\|^{-a}$ on the unit ball",
    },
    why=r"Where samples are near, the prediction is an average of values within $Lh^\beta$ of the truth: the bias, "
    r"with equality for points at distance $h$ from a tip. If more than half the expected number are near, a weight "
    r"is at most $2/(n\bar p)$ times the kernel; its square has the mean $h^dp_{max}\int K^2$, with "
    r"$\int_{\|u\|\le1}\|u\|^{-2a}du=\frac{d\,v_d}{d-2a}$ where $d\,v_d$ is the area of the sphere, and the bound is "
    r"of order $1/(n^2h^d)$. Else a weight is at most 1, and that is rare. On a sample the largest "
    r"$|f(x)-f(y)|/\|x-y\|^\beta$ grows with the sample and stays below the seminorm, which is 1 for $\|x\|^\beta$.",
    notice=r"Left, the share of draws with no sample near: on the curve $(1-\bar p)^n$ of its $n$, below "
    r"$e^{-n\bar p}$ and above the first order, which ends at zero. Right, the largest quotient over a sample of "
    r"$\|x\|^\beta$ grows towards the seminorm 1 and never beyond.",
)
def minimax_proof(key, *, trials: Trials = 20_000, excess: Annotated[float, Interval(ge=1.0, le=2.0)] = 1.0):
    draw = generator(key)
    # Seminorms: nested samples of ‖x‖^β, with and without the tip; the exponent of the quotient may be too large.
    powers = np.array([0.3, 0.5, 0.8])
    x = draw.uniform(-1, 1, (400, 2))
    sizes = (10, 30, 100, 400)
    growing, tips = np.empty((3, 4)), np.empty(3)
    for i, beta in enumerate(powers):
        values = np.linalg.norm(x, axis=1) ** beta
        growing[i] = [holder_seminorm(x[:n], values[:n], smoothness=float(beta * excess)) for n in sizes]
        with_tip = np.concatenate([np.zeros((1, 2)), x]), np.append(0.0, values)
        tips[i] = holder_seminorm(*with_tip, smoothness=float(beta))
    line = np.linspace(0, 1, 1001)[:, None]
    sine = holder_seminorm(line, np.sin(3 * line[:, 0]), smoothness=1.0)
    # Empty neighbourhoods of the middle of the square.
    counts, radii = np.array([2, 5, 20]), np.array([0.6, 0.3, 0.15])
    masses = np.pi * radii**2 / 4
    empty = [
        np.sum(np.all((draw.uniform(-1, 1, (2 * trials, n, 2)) ** 2).sum(2) > radius**2, 1))
        for n, radius in zip(counts, radii, strict=True)
    ]
    void = np.array([log_void_probability(float(p), int(n)) for p, n in zip(masses, counts, strict=True)])
    grid = np.geomspace(1e-4, 0.5, 30)
    # Bias of L-Hölder functions on many draws: the largest of three tips of slope L = 2, turned up and down.
    h, beta, a = 0.4, 0.5, 0.7
    centres, signs = draw.uniform(-0.3, 0.3, (500, 3, 2)), draw.choice([-1.0, 1.0], 500)
    centres[::2, 0] = 0.0
    near = draw.uniform(-1, 1, (500, 40, 2)) * h

    def holder(places):
        return (
            2 * signs[:, None] * np.max(np.linalg.norm(places[:, :, None] - centres[:, None], axis=3) ** beta, axis=2)
        )

    weights = averaging_weights(singular_kernel(a)(np.linalg.norm(near, axis=2) / h))
    biases = (weights * (holder(near) - holder(np.zeros((500, 1, 2))))).sum(1) ** 2
    # Points at distance h from a tip, for several L, h and β: at L = 2, h = 0.4, β = ½ the first.
    tipped = np.array([[2.0, 0.4, 0.5], [0.7, 0.25, 0.3], [1.5, 0.6, 1.0]])
    angle, at_distance = draw.uniform(0, 2 * np.pi, 30), []
    for slope, radius, power in tipped:
        ring = 0.999999999 * radius * np.stack([np.cos(angle), np.sin(angle)], 1)
        on_ring = nadaraya_watson_weights(ring, np.zeros((1, 2)), kernel=singular_kernel(a), bandwidth=float(radius))
        at_distance.append((on_ring @ (slope * np.linalg.norm(ring, axis=1) ** power))[0] ** 2)
    # The two terms of the variance, for 60 points of which a ball of radius h catches about 7.5.
    mass = float(np.pi * h**2 / 4)
    lengths = np.linalg.norm(draw.uniform(-1, 1, (trials, 60, 2)), axis=2)
    first = averaging_weights(singular_kernel(a)(lengths / h))[:, 0] ** 2
    many = np.sum(lengths <= h, axis=1) > 60 * mass / 2
    bound = second_moment_bound(60, 2, a, bandwidth=h, mass=mass, highest=0.25)
    few = scipy.stats.binom.cdf(np.floor(60 * mass / 2), 60, mass)
    cases = ((1, 0.25), (1, 0.45), (2, 0.5), (2, 0.9), (3, 1.0), (3, 1.4))
    areas = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi}
    # Of a uniform density q a ball has the mass q·v_d·h^d, and the bound is 4d/((d − 2a)·n²h^d·q·v_d).
    grown, terms = 10.0 ** np.arange(2, 7), []
    for (d, exponent), q in zip(cases, (0.5, 0.3, 0.25, 0.2, 0.125, 0.4), strict=True):
        radii_d, volume = np.asarray(minimax_bandwidth(grown, d, 1.0)), areas[d] / d
        values = [
            second_moment_bound(int(n), d, exponent, bandwidth=float(r), mass=float(q * volume * r**d), highest=q)
            for n, r in zip(grown, radii_d, strict=True)
        ]
        terms.append(np.array(values) * grown**2 * radii_d**d * q * volume)
    shells = [
        areas[d] * quad(lambda r, d=d, a=a: r ** (d - 1 - 2 * a), 0, 1, epsabs=0, epsrel=1e-12)[0] for d, a in cases
    ]
    return {
        "seminorm of a tip": Identity(tips, 1.0, along={"beta": powers}),
        "seminorm of a growing sample": Inequality(growing[:, :-1], growing[:, 1:]),
        "seminorm of a sample is no larger": Inequality(
            growing, 1.0, error=1e-12, along={"beta": powers, "points": np.array(sizes)}
        ),
        "seminorm of a sine": Chain({"below": (sine, 3.0), "reached": (3.0 * (1 - 1e-5), sine)}),
        "probability of no sample near": Share(np.array(empty), 2 * trials, np.exp(void)),
        "bound on the probability of no sample near": Inequality(
            np.array([log_void_probability(grid, int(n)) for n in counts]),
            -counts[:, None] * grid,
            log=True,
            aside={"next order": -counts[:, None] * grid * (1 + grid)},
        ),
        # The last is the one with all points at distance h, where the bound is reached.
        "squared bias": Inequality(
            np.append(biases, at_distance[0]), 4 * h ** (2 * beta), error=1e-8, aside={"slope": 2.0}
        ),
        "squared bias with all samples at distance h": Identity(
            np.array(at_distance), tipped[:, 0] ** 2 * tipped[:, 1] ** (2 * tipped[:, 2]), error=1e-8
        ),
        "integral of the squared kernel": Identity(
            np.array(shells),
            np.array([kernel_square_integral(d, a) for d, a in cases]),
            error=1e-9,
            along={"area": np.array([areas[d] for d, _ in cases])},
        ),
        # Loose by a factor of ten and more; what the first bound is made of is checked by “order” and “integral”.
        "mean squared weight": Chain(
            {"where half are near": (np.mean(first * many), bound), "where few are near": (np.mean(first * ~many), few)}
        ),
        "order of the squared weight": Identity(
            np.array(terms), np.array([[4 * d / (d - 2 * exponent)] for d, exponent in cases]), size=4.0
        ),
    }


minimax_proof.control("an exponent a quarter above β", of="seminorm of a sample is no larger", excess=1.25, trials=400)


@minimax_proof.control(
    "the integral without the area of the sphere, as the proof prints it", of="integral of the squared kernel"
)
def without_area(evidence):
    return replace(evidence, right=evidence.right / evidence.along["area"])


@minimax_proof.control("1 − n p̄, the first order of the void probability", of="probability of no sample near")
def linear_void(evidence):
    counts, radii = np.array([2, 5, 20]), np.array([0.6, 0.3, 0.15])
    return replace(evidence, predicted=1 - counts * np.pi * radii**2 / 4)


@minimax_proof.control("e^(−n p̄(1 + p̄)) above the void probability", of="bound on the probability of no sample near")
def next_order(evidence):
    return replace(evidence, bound=evidence.aside["next order"])


@minimax_proof.control("L h^(2β), the slope not squared", of="squared bias")
def slope_not_squared(evidence):
    return replace(evidence, bound=evidence.bound / evidence.aside["slope"])


@minimax_proof.picture
def no_sample_near(pieces):
    """The probability that no sample is near, counted and by the formula; and Hölder quotients of growing samples."""
    share, void = pieces["probability of no sample near"], pieces["bound on the probability of no sample near"]
    quotients = pieces["seminorm of a sample is no larger"]
    expected = -np.asarray(void.bound)
    counts = np.rint(expected[:, 0] / expected[0, 0] * 2).astype(int)
    dense = np.geomspace(1e-3, 3, 100)
    marks: list[Any] = [Line("bound", dense, np.exp(-dense))]
    for n, x, y in zip(counts, expected, np.asarray(void.quantity), strict=True):
        marks.append(Line(f"n = {n}", x[x < 3], np.exp(y[x < 3])))
    mean = counts * (1 - np.asarray(share.predicted) ** (1 / counts))
    marks.append(Dots("draws", mean, np.asarray(share.count) / share.trials))
    marks.append(Line("", dense, np.maximum(1 - dense, 0), rival="first order"))
    sizes = quotients.along["points"]
    growing = [
        kind(f"β = {beta:g}", sizes, values)
        for beta, values in zip(quotients.along["beta"], np.asarray(quotients.quantity), strict=True)
        for kind in (Line, Dots)
    ]
    return Row(
        [
            Curves(marks, x="samples expected near", y="probability of none", title="No sample near"),
            Curves(
                [*growing, Level("seminorm", y=1.0)],
                x="points of the sample",
                y="largest quotient",
                log="x",
                title="Seminorm on a sample",
            ),
        ]
    )
