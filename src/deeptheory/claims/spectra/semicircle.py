"""Spectra of symmetric and of square matrices with independent entries: the half circle, and the even disc."""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np
import scipy.special

from deeptheory.lab import Distribution, Exact, Identity, Law, Limit, Rate, Sizes, Trials, claim, parts
from deeptheory.lab.pictures import Dots, Histogram, Line, Plane, Row, compared
from deeptheory.spectra.semicircle import (
    circular_radius_cdf,
    ginibre_largest_cdf,
    ginibre_radial_moment,
    ginibre_radius_cdf,
    semicircle_cdf,
    semicircle_moment,
    semicircle_pdf,
    semicircle_stieltjes,
    square_matrix,
    wigner_matrix,
)
from deeptheory.spectra.spectral_measure import empirical_cdf, linear_statistic

DRAWS = 16
"""Of how many matrices of the largest size all eigenvalues are kept, to be shown."""


def standing(values, law):
    """The largest distance between the counting function of each spectrum and a distribution function."""
    count, ranks = values.shape[-1], law(values)
    steps = np.arange(count + 1) / count
    return np.maximum(abs(steps[1:] - ranks), abs(steps[:-1] - ranks)).max(-1)


@claim(
    items={},
    says=r"The eigenvalues of a symmetric matrix with independent entries of variance $1/n$ follow the semicircle on "
    r"$[-2,2]$, whatever the law of the entries: its moments, the Catalan numbers, its edges, its distribution "
    r"function. Its transform solves $S^2+zS+1=0$.",
    needs="independent entries of mean 0, variance 1/n and finite fourth moment above the diagonal",
    symbols={
        r"n": "the size of the matrix",
        r"S": r"the Stieltjes transform of the semicircle at $z$",
    },
    why=r"The mean of $\operatorname{tr}W^k/n$ counts closed walks of $k$ steps over the indices; only walks that go "
    r"along every edge of a tree twice survive for large $n$, and there are Catalan many of them. A tree splits at "
    r"its first edge into two, which is the quadratic equation of the transform. Only variances enter, so the law of "
    r"the entries does not matter. At every $n$ the second moment is one on average, and $1+1/n$ for the Gaussian "
    r"ensemble, whose diagonal has variance $2/n$.",
    notice=r"Gaussian entries, signs and uniform ones, and one and the same half circle. At the largest size hardly an "
    r"eigenvalue is left over beyond $\pm2$; the law of entries of half the variance would end at $\pm\sqrt2$.",
    full=dict(sizes=(40, 80, 160, 320), trials=128),
)
def semicircle_law(
    key, *, sizes: Sizes = (30, 60, 120), trials: Trials = 192, matrix: Literal["even", "uneven"] = "even"
):
    laws, orders = ("gaussian", "rademacher", "uniform"), np.asarray([4, 6])
    moments, distance = np.empty((len(sizes), 3, len(orders), trials)), np.empty((len(sizes), trials))
    top, spectra = np.empty((len(sizes), 2, trials)), {}
    for i, size in enumerate(sizes):
        for j, entries in enumerate(laws):
            drawn = wigner_matrix(jax.random.fold_in(key, 3 * i + j), size, trials, entries=entries)
            if matrix == "uneven":  # half of the rows and columns larger than the others, at the same mean square
                scale = np.repeat([0.4, 1.6], size // 2) ** 0.5
                drawn = drawn * scale[:, None] * scale
            values = np.linalg.eigvalsh(drawn)
            spectra[entries] = values[:DRAWS]  # in the end those of the largest size
            # The second moment's mean is known exactly: taking off its fluctuation keeps the mean, halves the spread.
            second = (values**2).mean(1) - (1 + 1 / size if j == 0 else 1.0)
            fluctuation = np.asarray([4.0, 15.0])[:, None] * second
            moments[i, j] = linear_statistic(values, lambda v: v ** orders[:, None, None]) - fluctuation
            if j == 1:
                distance[i] = standing(values, semicircle_cdf)
            if j == 0:
                top[i] = values[:, [0, -1]].T
    predicted = np.asarray([semicircle_moment(int(k)) for k in orders])
    # The moments above have the fluctuation of scale taken off, and with it any error of scale; small matrices show it.
    few = np.asarray([4, 8])
    second = np.empty((3, 2, 32 * trials))
    for i, j in np.ndindex(3, 2):
        drawn = wigner_matrix(jax.random.fold_in(key, 100 + 2 * i + j), int(few[j]), 32 * trials, entries=laws[i])
        second[i, j] = linear_statistic(np.linalg.eigvalsh(drawn), np.square)
    points = np.asarray([0.5 + 0.3j, -1 - 0.2j, 3 + 1j, -2.5 + 0.01j])
    nodes = -2 * np.cos((np.arange(2000) + 0.5) * np.pi / 2000)
    weights = (4 - nodes**2) / (2 * np.pi) * np.pi / 2000
    catalan = [round(float((nodes ** int(k) * weights).sum())) for k in range(13)]
    return {
        "moments of the spectrum": Law(
            predicted,
            moments,
            along={"entries": np.asarray(laws), "order": orders},
            sizes=sizes,
            order=1.0,
            aside=spectra,
        ),
        "mean square at every size": Law(
            np.stack([1 + 1 / few, np.ones(2)]),
            second[[0, 2]],
            along={"entries": np.asarray(["gaussian", "uniform"]), "size": few},
            exact=True,
        ),
        "mean square for signs": Identity(second[1], 1.0, condition=10.0, size=8.0),
        "Catalan numbers": Exact(np.asarray(catalan), np.asarray([semicircle_moment(k) for k in range(13)])),
        "distance of the distributions": Limit(np.asarray(sizes), distance / np.log(sizes)[:, None], order=1.0),
        "extreme eigenvalues": Law(
            [-2.0, 2.0], top, along={"edge": np.asarray(["lower", "upper"])}, sizes=sizes, order=2 / 3
        ),
        "transform of the law": Identity(
            parts((weights / (nodes - points[:, None])).sum(1)),
            parts(semicircle_stieltjes(points)),
            scale=1.0,
            size=2000.0,
            error=1e-6,
        ),
    }


semicircle_law.control("rows of unequal variance", of="moments of the spectrum", matrix="uneven", trials=32)


@semicircle_law.control("edges at ±√2, as for variance 1/(2n)", of="extreme eigenvalues")
def other_normalisation(evidence):
    return replace(evidence, predicted=np.asarray([-(2**0.5), 2**0.5]))


@semicircle_law.picture
def half_circles(pieces):
    """Eigenvalues of symmetric matrices of the largest size, for three laws of their entries, under the semicircle."""
    x = np.linspace(-2.3, 2.3, 400)
    marks = [
        Line("semicircle", x, semicircle_pdf(x)),
        Line("", x, semicircle_pdf(x, 0.5), rival="for variance 1/(2n)"),
    ]
    spectra = pieces["moments of the spectrum"].aside
    words = dict(gaussian="Gaussian entries", rademacher="Signs", uniform="Uniform entries")
    return Row(
        [
            Histogram(
                marks,
                samples=spectra[entries],
                bins=46,
                xs=(-2.3, 2.3),
                ys=(0, 0.55),
                x="eigenvalue",
                y="density",
                title=title,
            )
            for entries, title in words.items()
        ]
    )


@claim(
    items={},
    says=r"The eigenvalues of a square matrix with independent complex entries of mean square $1/n$ fill the unit disc "
    r"evenly: the share within $r$ is $r^2$. If they are Gaussian, all $n|\lambda|^2$ are, as a set, independent "
    r"Gamma variables of shapes 1 to $n$, and $\lambda^2$ has mean zero.",
    needs="independent entries with independent real and imaginary parts of mean zero and equal variance",
    symbols={
        r"n": "the size of the matrix",
        r"\lambda": "its eigenvalues, complex numbers",
        r"r": "a radius, at most 1",
    },
    why=r"The law of a Gaussian matrix does not change when it is multiplied by a phase, so all directions are alike. "
    r"Its eigenvalues have the density $\prod_{i<j}|\lambda_i-\lambda_j|^2e^{-n\sum|\lambda_i|^2}$; averaged over the "
    r"angles, each term of the product gives every modulus a power of its own, $|\lambda|^{2(j-1)}$, which makes a "
    r"Gamma variable of shape $j$. These fill $[0,1]$ evenly, and $r^2$ is the share up to $r$. For other entries with "
    r"the same variances the limit is the same.",
    notice=r"The eigenvalues of one matrix fill the disc evenly, up to the unit circle; they keep a distance from each "
    r"other that independent points would not. Right, the share within $r$ is $r^2$: were the moduli "
    r"uniform it would be $r$, and the points would crowd at the centre.",
    full=dict(sizes=(32, 64, 128), trials=200),
)
def circular_law(key, *, sizes: Sizes = (6, 12, 24), trials: Trials = 800):
    orders, radii, numbers = np.asarray([1, 2]), np.asarray([0.5, 0.7, 0.85]), np.asarray(sizes)
    moments = np.empty((len(sizes), len(orders), trials))
    within = {entries: np.empty((len(sizes), len(radii), trials)) for entries in ("gaussian", "uniform")}
    for i, size in enumerate(sizes):
        # A sum over eigenvalues scatters as much in large matrices as in small ones: by their mean over as many small
        # matrices as this the trials of all sizes are equally exact.
        block = (sizes[-1] // size) ** 2
        for j, entries in enumerate(within):
            drawn = square_matrix(jax.random.fold_in(key, 2 * i + j), size, trials * block, entries=entries)
            modulus = abs(np.linalg.eigvals(drawn))
            within[entries][i] = empirical_cdf(modulus, radii).T.reshape(len(radii), trials, block).mean(-1)
            if entries == "gaussian":
                # The length of a Gaussian matrix is independent of its direction: it is integrated out by hand.
                modulus *= (size / np.sum(abs(drawn) ** 2, axis=(1, 2)))[:, None] ** 0.5
                powers = linear_statistic(modulus, lambda v: v ** (2 * orders[:, None, None]))
                lengths = scipy.special.poch(size**2, orders) / float(size) ** (2 * orders)
                moments[i] = lengths[:, None] * powers.reshape(len(orders), trials, block).mean(-1)
    exact = [[ginibre_radial_moment(int(k), size) for k in orders] for size in sizes]
    shares = np.asarray([ginibre_radius_cdf(radii, size) for size in sizes])
    # Small matrices are cheap and many: of directions, whose mean λ² scatters most in them, and of the largest modulus.
    small = np.linalg.eigvals(square_matrix(jax.random.fold_in(key, 99), 3, max(16 * trials, 12_800)))
    largest = abs(small).max(1)
    disc = np.linalg.eigvals(square_matrix(jax.random.fold_in(key, 98), 256, entries="uniform")[0])
    far = np.asarray([100, 1000, 10_000])
    gaps = [max(abs(ginibre_radial_moment(int(k), int(n)) * (k + 1) - 1) for k in orders) for n in far]
    return {
        "radial moments at finite size": Law(
            np.asarray(exact), moments, along={"size": numbers, "order": orders}, exact=True, resolution=0.03
        ),
        # Deviations of shares are shares of all eigenvalues.
        "shares at finite size": Law(
            shares,
            within["gaussian"],
            along={"size": numbers, "radius": radii},
            scale=1.0,
            exact=True,
            resolution=0.02,
        ),
        "law of the largest modulus": Distribution(ginibre_largest_cdf(largest, 3), aside={"largest": largest}),
        "all directions alike": Law(
            0.0,
            parts((small**2).mean(1)).T,
            along={"part": np.asarray(["real", "imaginary"])},
            scale=ginibre_radial_moment(1, 3),
            exact=True,
        ),
        "approach to the limit": Rate(far, np.asarray(gaps), exponent=-1.0, rivals=(-0.5, -2.0)),
        # Less what Gaussian entries lack at this size: near the edge that is not yet of order 1/n.
        "shares within a radius": Law(
            circular_radius_cdf(radii),
            within["uniform"] - (shares - circular_radius_cdf(radii))[..., None],
            along={"radius": radii},
            sizes=sizes,
            order=1.0,
            scale=1.0,
            resolution=0.03,
            aside={"one matrix": parts(disc)},
        ),
    }


@circular_law.control("the share r, as if moduli were uniform", of="shares within a radius")
def uniform_modulus(evidence):
    return replace(evidence, predicted=evidence.along["radius"])


@circular_law.control("the limit 1/(k+1) at finite n", of="radial moments at finite size")
def limit_at_once(evidence):
    return replace(evidence, predicted=np.broadcast_to(1 / (evidence.along["order"] + 1), evidence.predicted.shape))


@circular_law.control("moduli √(j/n) without scatter", of="radial moments at finite size")
def rigid_moduli(evidence):
    orders = evidence.along["order"]
    rigid = [np.mean((np.arange(1, n + 1) / n) ** orders[:, None], axis=1) for n in evidence.along["size"]]
    return replace(evidence, predicted=np.asarray(rigid))


@circular_law.control("Gamma variables of shapes 2 to n + 1", of="shares at finite size")
def shapes_from_two(evidence):
    sizes, radii = evidence.along["size"], evidence.along["radius"]
    raised = [scipy.special.gammainc(np.arange(2, n + 2)[:, None], n * radii**2).mean(0) for n in sizes]
    return replace(evidence, predicted=np.asarray(raised))


@circular_law.control("the limit r² at finite n", of="shares at finite size")
def even_at_once(evidence):
    limit = circular_radius_cdf(evidence.along["radius"])
    return replace(evidence, predicted=np.broadcast_to(limit, evidence.predicted.shape))


@circular_law.control("as many independent points of the same mean density", of="law of the largest modulus")
def independent_points(evidence):
    return replace(evidence, ranks=ginibre_radius_cdf(evidence.aside["largest"], 3) ** 3)


@circular_law.picture
def disc_of_eigenvalues(pieces):
    """The eigenvalues of one matrix with 256 rows in the unit disc; and the share of them within a radius."""
    shares, turn = pieces["shares within a radius"], np.linspace(0, 2 * np.pi, 200)
    disc = np.asarray(shares.aside["one matrix"])
    radii = np.linspace(0.05, 1.05, 21)
    return Row(
        [
            Plane(
                [Dots("eigenvalues", *disc.T), Line("unit circle", np.cos(turn), np.sin(turn))],
                x="real part",
                y="imaginary part",
                title="One matrix",
            ),
            compared(
                shares.along["radius"],
                circular_radius_cdf,
                shares.observed[-1],
                Dots("one matrix", radii, empirical_cdf(np.hypot(*disc.T), radii)),
                rivals={"the share r": lambda radius: np.minimum(radius, 1)},
                names=("r²", "means"),
                x="radius r",
                y="share of eigenvalues within r",
                title="Shares within a radius",
                xs=(0, 1.1),
            ),
        ]
    )
