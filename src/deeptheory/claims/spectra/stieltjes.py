"""Stieltjes transforms: the measure recovered from them, and convergence of the one told by the other."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.claims.spectra.resolvents import PLACES
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Limit, Probability, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, power_law, seen
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.marchenko_pastur import (
    marchenko_pastur_atom,
    marchenko_pastur_cdf,
    marchenko_pastur_edges,
    marchenko_pastur_pdf,
    spectral_distance,
)
from deeptheory.spectra.spectral_measure import escaping_mass, sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import (
    inverted_density,
    inverted_mass,
    marchenko_pastur_iteration,
    marchenko_pastur_stieltjes,
    stieltjes_difference_bound,
    stieltjes_transform,
    total_mass,
)

ANGLES = (np.arange(4000) + 0.5) * np.pi / 4000
VARIANCE = 1.7


def integrated(function, ratio, variance=VARIANCE):
    """Integrate against the law: the density in the angle x = middle − radius cos φ by equal steps, plus the atom."""
    low, high = map(float, marchenko_pastur_edges(ratio, variance))
    x = (high + low) / 2 - (high - low) / 2 * np.cos(ANGLES)
    weights = np.asarray(marchenko_pastur_pdf(x, ratio, variance)) * (high - low) / 2 * np.sin(ANGLES) * np.pi / 4000
    atom = float(marchenko_pastur_atom(ratio))
    return (function(x) * weights).sum(-1) + (atom * function(np.zeros(1))[..., 0] if atom else 0)


@claim(
    items={
        "J6.8": (
            "blurred by a Cauchy variable",
            "blurred law by two routes",
            "error inside the support",
            "error over all of the line",
            "error of the mass",
            "mass at an end point",
        )
    },
    consistency=("blurred law by two routes",),
    says=r"$\frac1\pi\operatorname{Im}S(x+i\epsilon)$ is the density of the measure after a Cauchy variable of scale "
    r"$\epsilon$ is added. As $\epsilon\to0$ it recovers the density, with error of order $\epsilon$ inside the "
    r"support of the Marchenko–Pastur law, and its integral the mass of an interval.",
    needs="no mass at the end points of the interval, or else half of it is counted",
    symbols={
        r"S": "the Stieltjes transform of the measure",
        r"\epsilon": "the height above the real line at which it is read",
    },
    why=r"The imaginary part of $1/(\lambda-x-i\epsilon)$ is $\pi$ times the Cauchy density of scale $\epsilon$ "
    r"around $\lambda$, so reading the transform at height $\epsilon$ blurs the measure by that much. Where the "
    r"density is smooth the blur changes it by order $\epsilon$; at the edges, where it starts like a root, by order "
    r"$\sqrt\epsilon$. A mass at the end of an interval is blurred to both sides, so half of it is counted.",
    notice=r"Left, seven atoms read at height 0.3: the imaginary part of the transform over $\pi$ is their blurred "
    r"density, and over $2\pi$ half of it. Right, the error for the Marchenko–Pastur law falls like $\epsilon$ inside "
    r"its support, and only like $\sqrt\epsilon$ once the edges are counted.",
)
def stieltjes_inversion(key, *, ratio: Annotated[float, Interval(ge=0.05, le=0.8)] = 0.4):
    draw = generator(key)
    atoms, weights = np.sort(draw.uniform(-2, 2, 7)), draw.dirichlet(np.ones(7))
    x = np.linspace(-3, 3, 101)

    def discrete(z):
        return stieltjes_transform(atoms, z, weights)

    def law(z):
        return marchenko_pastur_stieltjes(z, ratio, VARIANCE)

    smooth = [[inverted_density(discrete, x, e), (weights * cauchy_density(x, atoms, e)).sum(1)] for e in (0.01, 0.3)]
    low, high = map(float, marchenko_pastur_edges(ratio, VARIANCE))
    points = np.linspace(low, high, 41)
    # The transform known only as a fixed point, against the law smeared out by quadrature.
    solved = inverted_density(lambda z: marchenko_pastur_iteration(z, ratio, VARIANCE, steps=2000), points, 0.1)
    smeared = integrated(lambda y: cauchy_density(points, y, 0.1).squeeze(), ratio)
    heights = np.geomspace(1e-2, 1e-5, 4)
    # Odd steps, so that the edges themselves, where the error is largest, are among the points.
    line = np.linspace(low - 1, high + 1, 2001)
    line = np.sort(np.concatenate([line, [low, high]]))
    gaps = np.asarray(
        [abs(inverted_density(law, line, e) - marchenko_pastur_pdf(line, ratio, VARIANCE)) for e in heights]
    )
    middle = (line > low + 0.1) & (line < high - 0.1)
    pieces = [(low - 0.5, 1.0), (1.0, 2.0), (2.0, high + 0.5)]
    truth = [float(np.diff(np.asarray(marchenko_pastur_cdf(np.asarray(ends), ratio, VARIANCE)))[0]) for ends in pieces]
    wide = np.geomspace(0.2, 0.0125, 5)
    masses = np.asarray([[inverted_mass(law, *ends, e) for ends in pieces] for e in wide])
    # Equal atoms at 0, 1, 2, 4: the interval (0, 2] ends on two of them. The rest is the tail of a Cauchy variable.
    fine, atoms = np.geomspace(0.02, 0.0025, 4), np.asarray([0.0, 1, 2, 4])
    marked = np.asarray([inverted_mass(lambda z: stieltjes_transform(atoms, z), 0, 2, e) for e in fine])
    return {
        "blurred by a Cauchy variable": Identity(*np.swapaxes(smooth, 0, 1), size=7.0),
        "blurred law by two routes": Identity(solved, smeared, size=4000.0),
        "error inside the support": Rate(1 / heights, gaps[:, middle].max(1), exponent=-1.0, rivals=(-0.5, -2.0)),
        "error over all of the line": Rate(1 / heights, gaps.max(1), exponent=-0.5, rivals=(-1.0, 0.0)),
        "error of the mass": Rate(1 / wide, abs(masses - truth).max(1), exponent=-1.0, rivals=(-2.0, -0.5)),
        "mass at an end point": Identity(marked, 1 / 2, error=2 * fine / np.pi, along={"epsilon": fine}),
    }


def cauchy_density(x, centre, scale):
    """The Cauchy density of this scale at x − centre, x along rows."""
    return scale / (np.pi * ((x[:, None] - centre) ** 2 + scale**2))


@stieltjes_inversion.control("the mass of [a, b], with all of both ends", of="mass at an end point")
def ends_with_mass(evidence):
    return replace(evidence, right=3 / 4)


@stieltjes_inversion.control("1/(2π) in place of 1/π", of="blurred by a Cauchy variable")
def half_as_much(evidence):
    return replace(evidence, left=evidence.left / 2)


@stieltjes_inversion.picture
def blurred_and_recovered(pieces):
    """Seven atoms blurred by a Cauchy variable of scale 0.3; and the error of the density along the height."""
    read, blurred = (
        np.asarray(side)[1]
        for side in (pieces["blurred by a Cauchy variable"].left, pieces["blurred by a Cauchy variable"].right)
    )
    x = np.linspace(-3, 3, len(read))
    return Row(
        [
            Curves(
                [
                    Line("atoms, blurred", x, blurred),
                    Dots("by the transform", x, read),
                    Line("", x, read / 2, rival="1/(2π) in place of 1/π"),
                ],
                x="place on the line",
                y="density",
                title="Read at height 0.3",
            ),
            Curves(
                power_law("inside the support", pieces["error inside the support"])
                + power_law("over all of the line", pieces["error over all of the line"]),
                x="one over the height ε",
                y="largest error of the density",
                log="xy",
                title="Nearer to the line",
            ),
        ]
    )


@claim(
    items={
        "J6.9": (
            "transforms from distributions",
            "the constant 2",
            "distance of the transforms",
            "distance of the distributions",
            "distributions from transforms",
            "approach to the vague limit",
        ),
        "J6.17": (
            "approach to the vague limit",
            "test functions in the limit",
            "mass before the limit",
            "mass of the limit",
        ),
    },
    says=r"Transforms of measures whose distribution functions are $D$ apart differ by at most $2D/v$ at height $v$, "
    r"and no constant below 2 will do; they also bound blurred masses of intervals. They see the vague limit "
    r"alone: those of $(1-p)\delta_0+p\,\delta_n$ tend to that of $(1-p)\delta_0$.",
    needs="convergence of transforms at every z off the line gives weak convergence only to a limit of mass one",
    full=dict(sizes=(50, 100, 200, 400)),
    symbols={
        r"D": "the largest distance between two distribution functions",
        r"v": r"the height $\operatorname{Im}z$ at which the transforms are read",
        r"p": "the share of the mass that runs away",
        r"\delta_x": "the measure with all its mass at $x$",
        r"n": "where the runaway mass stands",
    },
    why=r"As $x$ runs over the line, $1/(x-z)$ runs once round a circle of diameter $1/v$: out and back in any one "
    "direction, a variation of $2/v$, by which a difference of distribution functions can be multiplied at most. "
    r"Backwards, $\frac1\pi\operatorname{Im}S$ at height $v$ is the density of the measure blurred by a Cauchy "
    r"variable, so the blurred masses of $[a,b]$ differ by at most $\frac{b-a}\pi\sup|S-S'|$ over it. Since $1/(x-z)$ "
    "vanishes at infinity, no transform sees mass that is far away.",
    notice=r"Left, both distances to the Marchenko–Pastur law fall with the dimension: they vanish together. Right, a "
    r"share of the mass runs off to $n$: the transforms come to a limit, as $1/n$, though the limit has lost that "
    r"share.",
)
def stieltjes_continuity(
    key,
    *,
    sizes: Sizes = (20, 40, 80, 128),
    trials: Trials = 200,
    alpha: Annotated[float, Interval(ge=1.0, le=10.0)] = 2.0,
    share: Probability = 0.3,
    law: Annotated[float, Interval(ge=0.05, le=20.0)] = 0.5,
):
    heights = np.abs(np.imag(PLACES))
    gaps, distances = np.empty((len(sizes), trials, len(PLACES))), np.empty((len(sizes), trials))
    back = []
    for i, size in enumerate(sizes):
        x = draw_entries(jax.random.fold_in(key, i), (trials, size, int(alpha * size)), "uniform")
        values = sample_covariance_eigenvalues(x)
        gaps[i] = abs(stieltjes_transform(values, PLACES) - marchenko_pastur_stieltjes(PLACES, law))
        distances[i] = spectral_distance(values, law)
        both = [lambda z, v=values[0]: stieltjes_transform(v, z), lambda z: marchenko_pastur_stieltjes(z, law)]
        for low, high in ((0.5, 1.5), (1.0, 1.2), (0.0, 3.0)):
            masses = [inverted_mass(transform, low, high, 0.1) for transform in both]
            line = np.linspace(low, high, 400) + 0.1j
            furthest = abs(both[0](line) - both[1](line)).max()
            back.append([abs(masses[0] - masses[1]), (high - low) / np.pi * furthest])
    levels = np.asarray([0.1, 1.0, 3.0])
    far = [stieltjes_transform(np.asarray(points), 1j * levels) for points in ([0.0], [-1e9, 1e9])]
    away = np.geomspace(10, 1e4, 7)
    measures = [escaping_mass(n, share) for n in away]
    limit = (1 - share) * stieltjes_transform(np.zeros(1), PLACES)
    missing = [abs(stieltjes_transform(points, PLACES, weights) - limit).max() for points, weights in measures]
    # Continuous functions of bounded support, and one that is constant at infinity and so no test of vague convergence.
    hats = [
        [(weights * np.maximum(1 - abs(points - c) / 3, 0)).sum() for c in (-1, 0, 2)] for points, weights in measures
    ]
    hat = (1 - share) * np.asarray([2 / 3, 1.0, 1 / 3])
    whole = [total_mass(lambda z, m=m: stieltjes_transform(m[0], z, m[1]), 1e12) for m in measures]
    left = total_mass(lambda z: (1 - share) * stieltjes_transform(np.zeros(1), z), 1e12)
    bound = stieltjes_difference_bound(distances[..., None], heights)
    return {
        "transforms from distributions": Inequality(gaps, bound),
        "the constant 2": Identity(abs(far[0] - far[1]), stieltjes_difference_bound(0.5, levels)),
        "distance of the transforms": Limit(np.asarray(sizes), gaps.max(2), order=1.0),
        # The largest fluctuation of the counting function is of order log N.
        "distance of the distributions": Limit(np.asarray(sizes), distances / np.log(sizes)[:, None], order=1.0),
        "distributions from transforms": Inequality(*np.asarray(back).T),
        "approach to the vague limit": Rate(away, np.asarray(missing), exponent=-1.0, rivals=(-0.5, -2.0)),
        "test functions in the limit": Identity(np.asarray(hats), hat),
        "mass before the limit": Identity(np.asarray(whole), 1.0),
        "mass of the limit": Identity(left, 1 - share),
    }


stieltjes_continuity.control(
    "the law of ratio α, which the spectrum does not tend to", of="distance of the transforms", law=2.0, trials=16
)


@stieltjes_continuity.control("weak convergence: the limit keeps the mass", of="mass of the limit")
def limit_keeps_the_mass(evidence):
    return replace(evidence, right=1.0)


@stieltjes_continuity.picture
def two_kinds_of_convergence(pieces):
    """Distances to the limit of transforms and of distribution functions; and transforms whose mass escapes."""
    sizes = np.asarray(pieces["distance of the transforms"].x)
    counting = np.asarray(pieces["distance of the distributions"].y) * np.log(sizes)[:, None]
    near = [
        seen("transforms", sizes, pieces["distance of the transforms"].y),
        seen("distribution functions", sizes, counting),
    ]
    away, missing = (
        np.asarray(pieces["approach to the vague limit"].x),
        np.asarray(pieces["approach to the vague limit"].y),
    )
    far = [Dots("transforms", away, missing), Line("1/n", away, missing[-1] * away[-1] / away, dashed=True)]
    return Row(
        [
            Curves(near, x="dimension N", y="distance to the law", log="xy", title="Sample covariances"),
            Curves(
                far, x="place n of the mass that escapes", y="distance to the limit", log="xy", title="Escaping mass"
            ),
        ]
    )


@stieltjes_continuity.control("D/v, half the bound", of="the constant 2")
def half_the_bound(evidence):
    return replace(evidence, right=evidence.right / 2)
