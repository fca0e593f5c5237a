"""Resolvents, Stieltjes transforms, the way back from them, and the equation of the Marchenko–Pastur law."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
import scipy.linalg
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Law, Limit, Probability, Rate, Sizes, Trials, claim, parts
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, power_law, seen
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.marchenko_pastur import (
    marchenko_pastur_atom,
    marchenko_pastur_cdf,
    marchenko_pastur_edges,
    marchenko_pastur_pdf,
    spectral_distance,
)
from deeptheory.spectra.resolvents import contour_function, contour_weight, resolvent, spectral_function
from deeptheory.spectra.spectral_measure import (
    empirical_cdf,
    escaping_mass,
    linear_statistic,
    sample_covariance_eigenvalues,
)
from deeptheory.spectra.stieltjes import (
    inverted_density,
    inverted_mass,
    marchenko_pastur_equation,
    marchenko_pastur_iteration,
    marchenko_pastur_stieltjes,
    stieltjes_difference_bound,
    stieltjes_transform,
    total_mass,
)

PLACES = np.asarray([1 + 0.5j, 0.3 + 0.1j, -0.5 + 0.2j, 2.5 - 0.3j, 6 + 2j])
"""Points off the real line, in both half planes, over the spectrum and beside it."""
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
        "J6.3": ("moments as traces", "eigenvalues counted", "counted up to and including"),
        "J6.6": ("functions by contour integrals", "contour integrals in steps", "traces as means"),
        "J6.7": ("transform as a trace", "transform below the line"),
    },
    says=r"The spectral measure of $W$ has moments $\frac1N\operatorname{tr}W^k$ and Stieltjes transform "
    r"$\frac1N\operatorname{tr}(W-z)^{-1}$. The integral $\frac1{2\pi i}\oint f(z)(z-A)^{-1}dz$ around the spectrum "
    r"is $f(A)$, and $\frac1N\operatorname{tr}f(A)$ the mean of $f$ over the eigenvalues.",
    needs="a symmetric matrix; f analytic inside a circle that no eigenvalue lies on",
    symbols={
        r"\text{spectral measure}": r"gives $(-\infty,x]$ the share of eigenvalues up to and including $x$",
        r"W,A": r"symmetric $N\times N$ matrices",
        r"z": "a complex number that is no eigenvalue",
        r"f": "a function that is analytic inside the contour",
    },
    why=r"In a basis of eigenvectors every statement is one about a single eigenvalue: its powers, $1/(\lambda-z)$, "
    r"and Cauchy's formula for $f(\lambda)$, which gives $f(\lambda)$ inside the contour and nothing outside. So the "
    r"same integral makes the exponential, the root, and the projection on the part of the spectrum inside. With "
    r"equal steps round a circle, at the $n$-th roots of $-1$, the projection is $1/(1+u^n)$ at an eigenvalue $u$ "
    r"radii from the centre: the error falls geometrically in $n$.",
    notice=r"What the integral around the upper group gives an eigenvalue, by its place: nearly one inside the circle "
    r"and nothing outside. The more steps, the sharper the wall; eight already part the two groups. With $A-z$ for "
    r"$z-A$ the sign is wrong.",
)
def functions_of_a_matrix(key, *, size: Annotated[int, Interval(ge=4, le=200)] = 24):
    draw = generator(key)
    x = draw_entries(key, (size, 2 * size))
    covariance, values = x @ x.T / (2 * size), sample_covariance_eigenvalues(x)
    orders = np.arange(1, 7)
    powers = np.asarray([np.trace(np.linalg.matrix_power(covariance, k)) / size for k in orders])
    levels = np.linspace(0.05, 3, 40)
    # Sylvester: as many eigenvalues lie below c as there are negative ones in the block-diagonal factor of W − c.
    negative = [(np.linalg.eigvalsh(scipy.linalg.ldl(covariance - c * np.eye(size))[1]) < 0).sum() for c in levels]
    # At the eigenvalues themselves: each counts itself, and whole numbers come with ties.
    whole = draw.integers(0, 5, size)
    ties = empirical_cdf(np.asarray(whole, float), np.arange(5.0)), empirical_cdf(values, values)
    counted = np.append(np.cumsum(np.bincount(whole, minlength=5)), np.arange(1, size + 1))
    rotation = np.linalg.qr(draw.standard_normal((size, size)))[0]
    spectrum = np.concatenate([draw.uniform(0.5, 1, size // 2), draw.uniform(2.5, 3, size - size // 2)])
    matrix = rotation * spectrum @ rotation.T
    matrix = (matrix + matrix.T) / 2
    # Centre and radius: the circle stays clear of the branch point of the root; the last holds the upper group only.
    circles = {"exp": (np.exp, 1.75, 1.5), "root": (np.sqrt, 1.75, 1.5), "upper": (np.ones_like, 2.75, 0.9)}
    contours = np.asarray([contour_function(matrix, *circle, nodes=400) for circle in circles.values()])
    upper = [spectral_function(matrix, f) for f in (np.exp, np.sqrt, lambda value: (value > 1.75).astype(float))]
    sums = [linear_statistic(spectrum, f) for f in (np.exp, np.sqrt)]
    few = np.asarray([2, 5, 8, 16])
    inside = [np.diag(rotation.T @ contour_function(matrix, np.ones_like, 2.75, 0.9, nodes=n) @ rotation) for n in few]
    weights = [contour_weight(spectrum, 2.75, 0.9, nodes=int(n)) for n in few]
    traces = np.asarray([np.trace(resolvent(covariance, z)) / size for z in PLACES])
    transform = stieltjes_transform(values, PLACES)
    mirrored = stieltjes_transform(values, PLACES.conj())
    return {
        "moments as traces": Identity(linear_statistic(values, lambda v: v ** orders[:, None]), powers, size=size),
        "eigenvalues counted": Exact(np.asarray(negative), np.rint(size * empirical_cdf(values, levels)).astype(int)),
        "counted up to and including": Exact(np.rint(size * np.concatenate(ties)).astype(int), counted),
        "functions by contour integrals": Identity(
            parts(contours), parts(np.asarray(upper)), scale=np.exp(3.0), condition=10.0, size=size
        ),
        "contour integrals in steps": Identity(
            parts(inside),
            parts(weights),
            scale=1.0,
            condition=10.0,
            size=size,
            along={"nodes": few},
            aside={"spectrum": spectrum},
        ),
        "traces as means": Identity(
            np.trace(np.real(contours[:2]), axis1=1, axis2=2) / size, np.asarray(sums), size=400.0
        ),
        "transform as a trace": Identity(parts(traces), parts(transform), scale=10.0, size=size),
        "transform below the line": Identity(parts(mirrored), parts(transform.conj()), scale=10.0, size=size),
    }


@functions_of_a_matrix.control("(A − z) in the contour integral", of="functions by contour integrals")
def printed_sign(evidence):
    return replace(evidence, left=-evidence.left)


@functions_of_a_matrix.control("the trace without 1/N", of="transform as a trace")
def printed_trace(evidence):
    return replace(evidence, left=evidence.left * evidence.size)


@functions_of_a_matrix.control(
    "f(W)/N in place of its trace's mean: the largest eigenvalue's powers", of="moments as traces"
)
def largest_only(evidence):
    return replace(evidence, right=evidence.right[0] ** np.arange(1, 7))


@functions_of_a_matrix.picture
def projection_by_a_contour(pieces):
    """What the contour integral around the upper eigenvalues gives each of them, for a few numbers of steps."""
    found, grid = pieces["contour integrals in steps"], np.linspace(0.3, 4.2, 400)

    def weight(nodes):
        return np.real(contour_weight(grid, 2.75, 0.9, nodes=int(nodes)))

    marks: list[Line | Dots | Level] = [Level("circle begins", x=2.75 - 0.9), Level("and ends", x=2.75 + 0.9)]
    for nodes, values in zip(found.along["nodes"], np.asarray(found.left)[..., 0], strict=True):
        marks += [Line(f"{nodes} steps", grid, weight(nodes)), Dots(f"{nodes} steps", found.aside["spectrum"], values)]
    marks.append(Line("", grid, -weight(found.along["nodes"][-1]), rival="(A − z) in the integral"))
    return Curves(marks, x="eigenvalue", y="what the integral gives", ys=(-1.3, 1.5))


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


@stieltjes_inversion.control("the mass of (a, b] although both ends carry mass", of="mass at an end point")
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
    r"and no constant below 2 will do; transforms also bound masses of intervals. They see the vague limit alone: "
    r"those of $(1-p)\delta_0+p\,\delta_n$ tend to that of $(1-p)\delta_0$.",
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


NEGATIVE = np.asarray([0.05, 0.5, 2.0])
"""Ridges: the transform is read at minus these."""


@claim(
    items={
        "J6.10": ("equation of the law", "transform by quadrature", "transform by iteration", "defect on matrices"),
        "J7.6": ("closed form as printed", "limit at the origin", "traces of matrices"),
    },
    consistency=(
        "equation of the law",
        "transform by quadrature",
        "transform by iteration",
        "transform on the negative axis",
    ),
    says=r"The Stieltjes transform of the Marchenko–Pastur law of ratio $1/\alpha$ solves "
    r"$1+zS=s^2S/(1+s^2S/\alpha)$; that of a sample covariance does up to order $1/N$. At $-z$, for $s=1$ and "
    r"$\gamma=1/\alpha$, it is $[-(1-\gamma+z)+\sqrt{(1-\gamma+z)^2+4\gamma z}]/(2\gamma z)$, the limit of "
    r"$\frac1p\operatorname{tr}(\hat\Sigma+z)^{-1}$.",
    needs=r"$\operatorname{Im}S>0$ where $\operatorname{Im}z>0$ selects the root",
    full=dict(sizes=(50, 100, 200, 400), trials=384),
    symbols={
        r"S": r"the Stieltjes transform $S(z)=\int(x-z)^{-1}d\mu(x)$ of a law $\mu$ of eigenvalues",
        r"\alpha": "samples per dimension",
        r"z": r"first a number off the spectrum; where the transform is read at $-z$, a ridge $z>0$",
        r"s^2": "the variance of the entries",
        r"N, p": "the dimension, by either name",
        r"\gamma": "dimension over samples",
        r"\hat\Sigma": "the sample covariance",
    },
    why=r"$S(z)$ is the mean diagonal entry of $(\hat\Sigma-z)^{-1}$. Take one sample out of $\hat\Sigma$: the rest is "
    "independent of it, so the quadratic form by which its return changes the inverse is nearly a trace, the very "
    "transform one wants. So $S$ is given by itself, in a quadratic equation. Of its two roots the "
    r"transform is the one that is small at infinity and positive below the spectrum. As $z\to0$ that root "
    r"tends to $1/(1-\gamma)$ for $\gamma<1$; for $\gamma>1$ it grows like $(1-1/\gamma)/z$, since so large a "
    r"share of the eigenvalues is zero.",
    notice=r"Traces of inverses of matrices, means over draws of the largest size, lie on the formula. With more "
    "samples than dimensions the curve levels off as the ridge is taken away; with fewer it grows like 1/z, for "
    "then some eigenvalues are zero.",
)
def self_consistency(key, *, sizes: Sizes = (20, 40, 80, 120), trials: Trials = 384):
    ratios = np.asarray([0.3, 0.8, 2.5])
    closed = np.asarray([marchenko_pastur_stieltjes(PLACES, a, VARIANCE) for a in ratios])
    defect = marchenko_pastur_equation(closed, PLACES, ratios[:, None], VARIANCE)
    exact = np.asarray([integrated(lambda x: 1 / (x - PLACES[:, None]), a) for a in ratios])
    iterated = np.asarray([marchenko_pastur_iteration(PLACES, a, VARIANCE, steps=3000) for a in ratios])
    below = np.asarray([marchenko_pastur_stieltjes(-NEGATIVE, a, VARIANCE) for a in ratios])
    direct = np.asarray([integrated(lambda x: 1 / (x + NEGATIVE[:, None]), a) for a in ratios])
    tiny = 1e-10
    start = [marchenko_pastur_stieltjes(-tiny, a).real * (tiny if a > 1 else 1) for a in ratios]
    z, cases = PLACES[0], ((0.5, "rademacher"), (2.0, "student"))
    traces, found = np.empty((len(sizes), len(cases), len(NEGATIVE), trials)), np.empty((len(sizes), trials), complex)
    limits = np.asarray([marchenko_pastur_stieltjes(-NEGATIVE, gamma).real for gamma, _ in cases])
    for i, j in np.ndindex(len(sizes), len(cases)):
        size, (gamma, entries) = sizes[i], cases[j]
        x = draw_entries(jax.random.fold_in(key, 2 * i + j), (trials, size, round(size / gamma)), entries)
        values = sample_covariance_eigenvalues(x)
        # The mean of tr W/N is one: its fluctuation is taken off, with the derivative of the transform in the scale.
        ends = [marchenko_pastur_stieltjes(-NEGATIVE, gamma, scale).real for scale in (0.99, 1.01)]
        slope = (ends[1] - ends[0]) / 0.02
        traces[i, j] = (np.real(stieltjes_transform(values, -NEGATIVE)) - slope * (values.mean(1) - 1)[:, None]).T
        if j == 0:
            found[i] = stieltjes_transform(values, z)
    residual, exchanged = (abs(marchenko_pastur_equation(found, z, a)) for a in (cases[0][0], 1 / cases[0][0]))
    # The formula of the book, letter by letter, beside an integral over the density.
    gammas = ratios[:, None]
    printed = -(1 - gammas + NEGATIVE) + np.sqrt((1 - gammas + NEGATIVE) ** 2 + 4 * gammas * NEGATIVE)
    unit = np.asarray([integrated(lambda x: 1 / (x + NEGATIVE[:, None]), a, 1.0) for a in ratios])
    return {
        "equation of the law": Identity(parts(1 + PLACES * closed), parts(1 + PLACES * closed - defect), scale=10.0),
        "transform by quadrature": Identity(
            parts(closed), parts(exact), scale=10.0, size=4000.0, along={"ratio": ratios}
        ),
        "transform by iteration": Identity(parts(closed), parts(iterated), scale=10.0, error=1e-11),
        "defect on matrices": Rate(
            np.asarray(sizes), residual, exponent=-1.0, rivals=(-0.5,), aside={"exchanged": exchanged}
        ),
        "transform on the negative axis": Identity(parts(below), parts(direct), scale=10.0, size=4000.0),
        "closed form as printed": Identity(
            printed / (2 * gammas * NEGATIVE), unit, scale=10.0, size=4000.0, along={"gamma": ratios, "z": NEGATIVE}
        ),
        "limit at the origin": Identity(
            np.asarray(start), [1 / 0.7, 1 / 0.2, 0.6], error=1e-7, along={"gamma": ratios}
        ),
        "traces of matrices": Law(
            limits,
            traces,
            along={"case": np.asarray([f"γ = {g:g}, {law}" for g, law in cases]), "z": NEGATIVE},
            sizes=sizes,
            order=1.0,
            aside={"gamma": np.asarray([g for g, _ in cases])},
        ),
    }


@self_consistency.control("α for 1/α in the equation", of="defect on matrices")
def exchanged_ratio(evidence):
    return replace(evidence, y=evidence.aside["exchanged"])


def of_inner_products(transform, gamma, z):
    """The transform at −z of the n × n matrix XᵀX/n, which shares the nonzero eigenvalues of the p × p covariance."""
    return gamma * transform + (1 - gamma) / z


@self_consistency.control("the trace over the n × n matrix of inner products", of="closed form as printed")
def companion_form(evidence):
    gamma, z = evidence.along["gamma"][:, None], evidence.along["z"]
    return replace(evidence, left=of_inner_products(evidence.left, gamma, z))


@self_consistency.control("for matrices too, the trace over the n × n one", of="traces of matrices")
def companion_of_matrices(evidence):
    gamma, z = evidence.aside["gamma"][:, None], evidence.along["z"]
    return replace(evidence, predicted=of_inner_products(evidence.predicted, gamma, z))


@self_consistency.picture
def traces_along_the_ridge(pieces):
    """The normalised trace of (Σ̂ + z)⁻¹ against the ridge z: the formula, and matrices of the largest size."""
    found, z = pieces["traces of matrices"], np.geomspace(0.02, 4, 160)
    marks = []
    for j, gamma in enumerate(found.aside["gamma"]):
        curve = np.real(marchenko_pastur_stieltjes(-z, gamma))
        marks += [
            Line(f"γ = {gamma:g}", z, curve),
            seen(f"γ = {gamma:g}", found.along["z"], found.observed[-1][j]),
        ]
    return Curves(marks, x="ridge z", y="trace of (Σ̂ + z)⁻¹ over p", log="xy")


@self_consistency.control("the other root of the quadratic", of="transform by quadrature")
def other_root(evidence):
    first = evidence.left[..., 0] + 1j * evidence.left[..., 1]
    second = 1 / (evidence.along["ratio"][:, None] * VARIANCE * PLACES * first)
    return replace(evidence, left=parts(second))


@self_consistency.control("below one, 1 − 1/γ for the limit of S at the origin", of="limit at the origin")
def exchanged_origins(evidence):
    return replace(evidence, right=1 - 1 / evidence.along["gamma"])
