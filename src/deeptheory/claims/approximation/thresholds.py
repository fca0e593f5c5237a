"""Barron's construction: a function as an integral over threshold units, and as a few of them drawn at random."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.approximation.barron import bump_barron_constant
from deeptheory.approximation.thresholds import (
    CosineSum,
    GaussianBump,
    barron_error_bound,
    expected_threshold_error,
    threshold_integral,
    threshold_network,
)
from deeptheory.approximation.transforms import gaussian_transform
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Inequality, Law, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, seen

FAR = np.linspace(-2, 2, 81)[:, None]
"""points on the line, inside the unit ball and outside"""


def spectrum(center, scale, reach, nodes):
    """Nodes of a quadrature over frequencies up to a reach in every coordinate, their mass times |f̂|, and phases."""
    at, weights = np.polynomial.legendre.leggauss(nodes)
    dimension = len(center)
    axes = np.meshgrid(*[reach * at] * dimension, indexing="ij")
    frequencies = np.stack([axis.ravel() for axis in axes], axis=1)
    cells = np.prod(np.stack(np.meshgrid(*[reach * weights] * dimension, indexing="ij")), axis=0).ravel()
    height = (2 * np.pi * scale**2) ** (dimension / 2)
    mass = cells * height * gaussian_transform(np.linalg.norm(frequencies, axis=1), scale)
    return frequencies, mass, -frequencies @ center


@claim(
    items={"L4.4": ("integral of cosines", "integral of threshold units", "slope of each wave")},
    says=r"With $\widehat f=|\widehat f|e^{2\pi i\theta}$ and $\|x\|\le1$: $f(x)-f(0)=\int\frac{\cos2\pi(\omega\cdot "
    r"x+\theta)-\cos2\pi\theta}{2\pi\|\omega\|}\|\widehat{\nabla f}\|d\omega$, and each of its waves is an integral "
    r"over threshold units $\mathbf1[\omega\cdot x\ge b]$ and $\mathbf1[\omega\cdot x\le b]$ with $|b|\le\|\omega\|$.",
    needs=r"$f$ and $\widehat{\nabla f}$ integrable, $\|x\|\le1$",
    explore={"scale": (0.2, 0.3, 0.5)},
    symbols={
        r"\widehat f": "the Fourier transform of $f$",
        r"\theta": r"the phase of the transform at the frequency $\omega$, in turns",
        r"\omega": "a frequency; it becomes the weights of a unit",
        r"\widehat{\nabla f}": r"the transform of the gradient, of length $2\pi\|\omega\||\widehat f|$",
        "b": "the offset of a unit",
    },
    why=r"A real function is a sum of cosines with phases. Along $\omega$ a cosine is a function of one number, "
    r"$\omega\cdot x$, and that is the integral of its derivative from $0$ to $\omega\cdot x$: a threshold unit for "
    r"each $b$ on the way, weighted by the sine. As $\|x\|\le1$ the way ends within $\pm\|\omega\|$, so the offsets "
    r"are bounded, and the total weight is at most $2\pi\|\omega\|$ on each side of 0, for each wave.",
    notice="Inside the unit ball the integral over threshold units is the bump, which is off the centre, so that its "
    "phases matter. Beyond the ball the units have all been passed and the integral goes its own way. Without phases "
    "it would be the bump in the middle. The scale of the slider is the width of the bump.",
)
def infinite_width_representation(key, *, scale: Annotated[float, Interval(ge=0.2, le=0.6)] = 0.3):
    draw = generator(key)
    cosines, thresholds, values, waves = [], [], [], []
    # Frequencies beyond the reach have |f̂| below 1e-14 of its top.
    for center, nodes in ((np.array([0.35]), 120), (np.array([0.3, -0.2]), 60)):
        bump = GaussianBump(center, scale)
        frequencies, mass, phases = spectrum(center, scale, 1.3 / scale, nodes)
        x = unit_vectors(draw, 6, len(center)) * draw.uniform(0, 1, (6, 1))
        x[:2] /= np.linalg.norm(x[:2], axis=1, keepdims=True)  # two of them on the sphere itself
        length = np.linalg.norm(frequencies, axis=1)
        wave = np.cos(2 * np.pi * (x @ frequencies.T + phases)) - np.cos(2 * np.pi * phases)
        gradient = 2 * np.pi * length * mass
        cosines.append(wave / (2 * np.pi * length) @ gradient)
        thresholds.append(threshold_integral(x, frequencies, mass, phases))
        values.append(bump(x) - bump(np.zeros((1, len(center)))))
        waves.append(np.max(np.abs(wave) / length / np.linalg.norm(x, axis=1, keepdims=True), axis=1))
    line = np.array([0.35])
    frequencies, mass, phases = spectrum(line, scale, 1.3 / scale, 120)
    far, flat = (threshold_integral(FAR, frequencies, mass, each) for each in (phases, 0 * phases))
    truth = GaussianBump(line, scale)(FAR) - GaussianBump(line, scale)(np.zeros((1, 1)))
    right = np.concatenate(values)
    close: dict[str, Any] = dict(scale=1.0, size=3600.0, error=1e-9)
    # A wave just off its steepest point is as steep as a cosine can be.
    quarter = np.array([0.25, 0.1, 0.02])
    steep = np.abs(np.cos(2 * np.pi * (quarter + 0.25)) - np.cos(np.pi / 2)) / quarter
    return {
        "integral of cosines": Identity(np.concatenate(cosines), right, **close),
        "integral of threshold units": Identity(
            np.concatenate(thresholds), right, aside={"far": far, "flat": flat, "truth": truth}, **close
        ),
        "slope of each wave": Inequality(
            np.concatenate([*waves, steep]),
            2 * np.pi,
            along={"case": ["a point of the line"] * 6 + ["a point of the plane"] * 6 + ["one slow wave"] * 3},
        ),
    }


@infinite_width_representation.control("points beyond the unit ball", of="integral of threshold units")
def outside(evidence):
    return replace(evidence, left=evidence.aside["far"], right=evidence.aside["truth"])


@infinite_width_representation.control("without the phases", of="integral of threshold units")
def no_phases(evidence):
    inside = np.abs(FAR[:, 0]) <= 1
    return replace(evidence, left=evidence.aside["flat"][inside], right=evidence.aside["truth"][inside])


@infinite_width_representation.control("‖ω‖ for 2π‖ω‖ under the cosines", of="integral of cosines")
def angular_length(evidence):
    return replace(evidence, left=2 * np.pi * evidence.left)


@infinite_width_representation.control("waves at most six times as steep as ‖ω‖", of="slope of each wave")
def six(evidence):
    return replace(evidence, bound=6.0)


@infinite_width_representation.picture
def bump_of_thresholds(pieces):
    """The bump less its value at zero, and the integral over threshold units, in the unit ball and beyond."""
    told = pieces["integral of threshold units"].aside
    x = FAR[:, 0]
    return Curves(
        [
            Line("f(x) − f(0)", x, told["truth"]),
            Line("threshold units", x, told["far"], dashed=True),
            Line("", x, told["flat"], rival="without phases"),
            Level("end of the ball", x=-1.0),
            Level("", x=1.0),
        ],
        x="position x",
        y="value",
    )


UNITS = (2, 6, 18)
ACTIVATIONS = {
    "steep sigmoid": lambda t: 1 / (1 + np.exp(-np.clip(1e5 * t, -700, 700))),
    "steep difference of ReLUs": lambda t: np.clip(1e5 * t, 0, 1),
}


def errors_of_networks(key, target, x, units, trials, radius, activation=None):
    """Mean squared errors at the points x of drawn networks; a trial is the mean over all that 18 units make."""
    drawn = threshold_network(key, target, UNITS[-1] * trials, radius=radius)
    inner = x @ drawn.directions.T + drawn.offsets
    heights = drawn.heights * len(drawn.heights) / units
    on = np.where(inner >= 0, heights, 0.0) if activation is None else activation(inner) * heights
    sums = on.reshape(len(x), trials, -1, units).sum(-1)
    return np.mean((drawn.constant + sums - target(x)[:, None, None]) ** 2, axis=(0, 2))


@claim(
    items={"L4.5": ("mean error of drawn networks", "rate in the number of units", "bound for any law of points")},
    says="$k$ units drawn from Barron's integral make a network with mean squared error exactly "
    r"$(E\|V\|^2-\|f-f(0)\|^2)/k\le(4\pi rC_f)^2/k$ on the ball of radius $r$, for any law of points there, any "
    "dimension and any sigmoidal unit made steep.",
    needs=r"$C_f<\infty$; units bounded, with limits 0 and 1",
    full=dict(trials=60_000),
    symbols={
        "k": "the number of hidden units",
        "V": r"one drawn unit with its height, times $k$",
        r"\|\cdot\|": r"the norm of $L^2(\mu)$, $\mu$ a law of points in the ball",
        "r": "the radius of the ball",
        "C_f": r"Barron's constant $\int\|\omega\||\widehat f(\omega)|d\omega$",
    },
    why=r"The integral over threshold units is the mean of one random unit $V$: draw $\omega$ in proportion to "
    r"$\|\omega\||\widehat f|$, the side by a coin and the offset evenly. The mean of $k$ independent copies has "
    r"$1/k$ of the variance of one, in $L^2(\mu)$ as for numbers, and no height exceeds $4\pi rC_f$. A steep sigmoid "
    "is a threshold but for a thin slab. The dimension enters only through $C_f$.",
    notice="Errors fall like $1/k$ in two dimensions and in ten, each along its own exact line; the line of ten "
    "dimensions is higher because its constant is. A fixed basis would fall like $k^{-2/d}$, which in ten dimensions "
    "is hardly at all.",
)
def barron_theorem(key, *, trials: Trials = 8000, radius: Annotated[float, Interval(ge=0.5, le=1.5)] = 1.0):
    draw = generator(key)
    keys = iter(jax.random.split(key, 64))
    dimensions = (2, 10)
    predicted, observed, bounds = [], [], []
    radii = {2: radius, 10: 0.7 * radius}
    for dimension in dimensions:
        reach = radii[dimension]
        frequencies = 0.6 * draw.standard_normal((8, dimension))
        target = CosineSum(draw.uniform(0.2, 1, 8), frequencies, draw.uniform(0, 1, 8))
        # A law with half of its mass on the sphere and some of it in one place.
        x = reach * unit_vectors(draw, 10, dimension) * np.r_[np.ones(5), draw.uniform(0, 1, 5)][:, None]
        x = np.concatenate([x, np.repeat(x[:1], 2, axis=0)])
        predicted.append([expected_threshold_error(target, x, k, radius=reach) for k in UNITS])
        bounds.append([barron_error_bound(target.barron_constant, k, radius=reach) for k in UNITS])
        observed.append([errors_of_networks(next(keys), target, x, k, trials, reach) for k in UNITS])
        if dimension == 2:
            units = [
                errors_of_networks(next(keys), target, x, 6, trials, radius, each) for each in ACTIVATIONS.values()
            ]
            predicted_units = expected_threshold_error(target, x, 6, radius=radius)
    predicted, observed, bounds = (np.array(each) for each in (predicted, observed, bounds))
    bump_errors, bump_bounds = [], []
    for dimension in dimensions:
        bump = GaussianBump(np.zeros(dimension), 1.0)
        x = unit_vectors(draw, 16, dimension) * draw.uniform(0, 1, (16, 1)) ** (1 / dimension)
        bump_errors.append(np.mean(errors_of_networks(next(keys), bump, x, 6, 1000, 1.0)))
        bump_bounds.append(barron_error_bound(bump_barron_constant(dimension, 1.0), 6))
    along = {"dimension": dimensions, "units": UNITS}
    return {
        "mean error of drawn networks": Law(predicted, observed, along=along, exact=True, resolution=0.1),
        "other units made steep": Law(
            np.full(2, predicted_units), np.array(units), along={"unit": list(ACTIVATIONS)}, exact=True, resolution=0.1
        ),
        "rate in the number of units": Rate(np.array(UNITS, float), observed[0], exponent=-1.0, rivals=(-2 / 3, -0.5)),
        "bound for any law of points": Inequality(
            np.append(predicted, bump_errors), np.append(bounds, bump_bounds), aside={"mean": predicted}
        ),
    }


@barron_theorem.control("k + 1 for k", of="mean error of drawn networks")
def one_unit_more(evidence):
    k = np.array(evidence.along["units"])
    return replace(evidence, predicted=evidence.predicted * k / (k + 1))


@barron_theorem.control("Barron's (2rC)² with C_f for his angular constant", of="bound for any law of points")
def constant_without_turns(evidence):
    return replace(evidence, bound=evidence.bound / (2 * np.pi) ** 2)


@barron_theorem.picture
def errors_by_width(pieces):
    """Mean squared error by the number of units, predicted and seen, in 2 and 10 dimensions."""
    found = pieces["mean error of drawn networks"]
    k = np.array(found.along["units"], float)
    marks = []
    for dimension, line, dots in zip(found.along["dimension"], found.predicted, found.observed, strict=True):
        marks += [Line(f"d = {dimension}", k, line), seen(f"d = {dimension}", k, dots)]
    last = found.predicted[-1]
    marks += [Line("", k, last[0] * (k / k[0]) ** -0.2, rival="a fixed basis in d = 10")]
    return Curves(marks, x="hidden units k", y="mean squared error", log="xy")
