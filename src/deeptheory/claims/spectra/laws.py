"""Limiting spectra: sample covariances near and far from the identity, symmetric and square matrices, free sums."""

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import jax
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Limit, Printed, Rate, Sizes, Trials, claim, parts
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, Plane, Row, compared, seen
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.free_convolution import (
    free_additive_moments,
    free_additive_stieltjes,
    free_multiplicative_moments,
    free_multiplicative_stieltjes,
)
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges, marchenko_pastur_moment, marchenko_pastur_pdf
from deeptheory.spectra.self_consistent import (
    general_edges,
    general_moment,
    general_pdf,
    general_stieltjes,
    silverstein_inverse,
)
from deeptheory.spectra.semicircle import (
    circular_radius_cdf,
    ginibre_radial_moment,
    semicircle_cdf,
    semicircle_moment,
    semicircle_pdf,
    semicircle_stieltjes,
    square_matrix,
    wigner_matrix,
)
from deeptheory.spectra.spectral_measure import (
    covariance_error,
    covariance_error_limit,
    empirical_cdf,
    linear_statistic,
    sample_covariance_eigenvalues,
)
from deeptheory.spectra.stieltjes import inverted_density, marchenko_pastur_stieltjes, stieltjes_transform

COVARIANCES = ((0.25, "gaussian"), (0.25, "rademacher"), (1.0, "uniform"), (3.0, "student"))
"""Dimension over samples, with a law of the entries."""


DRAWS = 16
"""Of how many matrices of the largest size all eigenvalues are kept, to be shown."""


def standing(values, law):
    """The largest distance between the counting function of each spectrum and a distribution function."""
    count, ranks = values.shape[-1], law(values)
    steps = np.arange(count + 1) / count
    return np.maximum(abs(steps[1:] - ranks), abs(steps[:-1] - ranks)).max(-1)


@claim(
    items={
        "J6.1": ("distance in fixed dimension", "distance at a fixed ratio", "distance is the upper edge less one"),
        "J6.2": ("ends as printed", "extreme eigenvalues"),
    },
    consistency=("distance is the upper edge less one",),
    says=r"In fixed dimension the sample covariance of isotropic data tends to the identity like $M^{-1/2}$. With "
    r"$N/M\to\gamma$ its eigenvalues fill $[(1-\sqrt\gamma)^2,(1+\sqrt\gamma)^2]$ instead, at distance "
    r"$\gamma+2\sqrt\gamma$ from the identity, whatever the law of the entries.",
    needs="independent entries of mean 0, variance 1 and finite fourth moment",
    scale="printed 50,000 samples of dimension 1,000; here up to 3,200 of dimension 64 at the same ratio",
    full=dict(sizes=(40, 80, 160, 320), trials=128),
    symbols={
        r"M": "the number of samples",
        r"N": "the dimension: how many coordinates a sample has",
        r"\gamma": "the limit of dimension over samples, $N/M$",
    },
    why=r"An eigenvalue of the sample covariance is the mean of $\langle v,x\rangle^2$ over the samples, for a "
    r"direction $v$ that the samples themselves have chosen. In fixed dimension there are few directions and every "
    r"mean is close to 1. In $N$ dimensions there are exponentially many in $N$, against fluctuations that are "
    r"exponentially rare in $M$: with both of one order, some direction is off by a fixed amount. At 50,000 samples "
    r"the eigenvalues fill [0.737, 1.303] in 1,000 dimensions and [0.566, 1.557] in 3,072; the upper end is the "
    r"farther from 1.",
    notice=r"The distance depends on the ratio alone: the dots of signs, Gaussian, uniform and Student entries lie "
    r"along one curve, a little below it at these sizes. The first order $2\sqrt\gamma$ is not enough even at a "
    "quarter as many dimensions as samples.",
)
def covariance_of_isotropic_data(key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 128):
    counts = np.asarray([100, 400, 1600, 6400])
    fixed = np.empty((len(counts), trials))
    for i, count in enumerate(counts):
        x = draw_entries(jax.random.fold_in(key, i), (trials, 8, count), "uniform")
        fixed[i] = covariance_error(sample_covariance_eigenvalues(x))
    errors, ends = np.empty((len(sizes), len(COVARIANCES), trials)), np.empty((len(sizes), 2, trials))
    for i, size in enumerate(sizes):
        for j, (gamma, entries) in enumerate(COVARIANCES):
            branch = jax.random.fold_in(key, 10 + 5 * i + j)
            # `sizes` are those of the smaller side.
            dimension = round(size * max(1.0, gamma))
            x = draw_entries(branch, (trials, dimension, round(dimension / gamma)), entries)
            errors[i, j] = covariance_error(sample_covariance_eigenvalues(x))
        x = draw_entries(jax.random.fold_in(key, 10 + 5 * i + 4), (trials, size // 2, 25 * size), "rademacher")
        ends[i] = sample_covariance_eigenvalues(x)[:, [0, -1]].T
    labels = np.asarray([f"γ = {gamma:g}, {entries}" for gamma, entries in COVARIANCES])
    bulk = np.asarray([marchenko_pastur_edges(ratio) for ratio in (1 / 50, 3072 / 50_000)], float)
    # The ends of the spectrum once more, as critical values of Silverstein's equation.
    ratios = 0.02, 0.25, 0.7, 1.6, 3.0
    farthest = [abs(general_edges(np.ones(1), np.ones(1), ratio) - 1).max() for ratio in ratios]
    # The ends of the spectrum come in, and fluctuate, like N^-⅔ (Tracy–Widom): a tenth is what these sizes resolve.
    return {
        "distance in fixed dimension": Rate(counts, fixed, exponent=-0.5, rivals=(-1.0, 0.0)),
        "distance at a fixed ratio": Law(
            np.asarray([covariance_error_limit(gamma) for gamma, _ in COVARIANCES]),
            errors,
            along={"case": labels},
            sizes=sizes,
            order=2 / 3,
            resolution=0.1,
            aside={"gamma": np.asarray([gamma for gamma, _ in COVARIANCES])},
        ),
        "distance is the upper edge less one": Identity(
            farthest, [covariance_error_limit(ratio) for ratio in ratios], condition=1e3
        ),
        "ends as printed": Printed(
            bulk, [[0.737, 1.303], [0.566, 1.557]], digits=3, aside={"ratio": np.asarray([1 / 50, 3072 / 50_000])}
        ),
        "extreme eigenvalues": Law(
            bulk[0], ends, along={"edge": np.asarray(["lower", "upper"])}, sizes=np.asarray(sizes) // 2, order=2 / 3
        ),
    }


@covariance_of_isotropic_data.control("2√γ, the first order alone", of="distance at a fixed ratio")
def first_order(evidence):
    return replace(evidence, predicted=2 * evidence.aside["gamma"] ** 0.5)


@covariance_of_isotropic_data.control("the distance of the lower edge", of="distance at a fixed ratio")
def lower_edge(evidence):
    return replace(evidence, predicted=abs(1 - (1 - evidence.aside["gamma"] ** 0.5) ** 2))


@covariance_of_isotropic_data.control("1 ± 2√γ for the ends, the first order alone", of="ends as printed")
def first_order_ends(evidence):
    width = 2 * evidence.aside["ratio"][:, None] ** 0.5
    return replace(evidence, ours=1 + width * np.asarray([-1.0, 1.0]))


@covariance_of_isotropic_data.control(
    "fifty samples a dimension are plenty: all eigenvalues at one", of="extreme eigenvalues"
)
def plenty_of_samples(evidence):
    return replace(evidence, predicted=np.ones(2))


@covariance_of_isotropic_data.picture
def distances_to_the_identity(pieces):
    """Distance of the sample covariance to the identity against dimensions per sample, at the largest size."""
    found, grid = pieces["distance at a fixed ratio"], np.linspace(0.005, 3.3, 200)
    gammas = np.asarray(found.aside["gamma"])
    return Curves(
        [
            Line("γ + 2√γ", grid, [covariance_error_limit(g) for g in grid]),
            Line("2√γ", grid, 2 * grid**0.5, rival="the first order alone"),
            *(
                seen(str(case).split(", ")[1], gammas[[j]], found.observed[-1][[j]])
                for j, case in enumerate(found.along["case"])
            ),
        ],
        x="dimensions per sample γ = N/M",
        y="distance to the identity",
    )


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
    key, *, sizes: Sizes = (30, 60, 120), trials: Trials = 96, matrix: Literal["even", "uneven"] = "even"
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
    second = np.empty((3, 2, 64 * trials))
    for i, j in np.ndindex(3, 2):
        drawn = wigner_matrix(jax.random.fold_in(key, 100 + 2 * i + j), int(few[j]), 64 * trials, entries=laws[i])
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
    r"evenly: the share of modulus up to $r$ is $r^2$. For Gaussian entries the mean of $|\lambda|^{2k}$ is "
    r"$\frac1n\sum_j j(j+1)\cdots(j+k-1)/n^k$ at every $n$, and that of $\lambda^2$ is zero.",
    needs="independent entries with independent real and imaginary parts of mean zero and equal variance",
    symbols={
        r"n": "the size of the matrix",
        r"\lambda": "its eigenvalues, complex numbers",
        r"r": "a radius, at most 1",
    },
    why=r"The law of a Gaussian matrix does not change when it is multiplied by a phase, so all directions are alike. "
    r"The squared moduli of its eigenvalues have the law of independent Gamma variables with the parameters $1$ to "
    r"$n$, over $n$: these fill $[0,1]$ evenly, and $r^2$ is the share up to $r$. For other entries with the same "
    r"variances the limit is the same.",
    notice=r"The eigenvalues of one matrix fill the disc evenly, up to the unit circle; they keep a distance from each "
    r"other that independent points would not. Right, the share within $r$ is $r^2$: were the moduli "
    r"uniform it would be $r$, and the points would crowd at the centre.",
    full=dict(sizes=(40, 80, 160), trials=200),
)
def circular_law(key, *, sizes: Sizes = (10, 20, 32), trials: Trials = 800):
    orders, radii = np.asarray([1, 2]), np.asarray([0.5, 0.7, 0.85])
    moments = np.empty((len(sizes), len(orders), trials))
    shares = np.empty((len(sizes), len(radii), trials))
    for i, size in enumerate(sizes):
        for j, entries in enumerate(("gaussian", "uniform")):
            drawn = square_matrix(jax.random.fold_in(key, 2 * i + j), size, trials, entries=entries)
            modulus = abs(np.linalg.eigvals(drawn))
            if j == 0:
                moments[i] = linear_statistic(modulus, lambda v: v ** (2 * orders[:, None, None]))
            else:
                shares[i] = empirical_cdf(modulus, radii).T
    exact = [[ginibre_radial_moment(int(k), size) for k in orders] for size in sizes]
    # No direction of the plane is preferred: small matrices, whose mean λ² scatters most but of which many are cheap.
    turned = (np.linalg.eigvals(square_matrix(jax.random.fold_in(key, 99), 3, max(16 * trials, 12_800))) ** 2).mean(1)
    disc = np.linalg.eigvals(square_matrix(jax.random.fold_in(key, 98), 256, entries="uniform")[0])
    far = np.asarray([100, 1000, 10_000])
    gaps = [max(abs(ginibre_radial_moment(int(k), int(n)) * (k + 1) - 1) for k in orders) for n in far]
    return {
        # Few eigenvalues and four powers of their moduli: a tenth is what hundreds of such small matrices resolve.
        "radial moments at finite size": Law(
            np.asarray(exact), moments, along={"size": np.asarray(sizes), "order": orders}, exact=True, resolution=0.1
        ),
        "all directions alike": Law(
            0.0,
            parts(turned).T,
            along={"part": np.asarray(["real", "imaginary"])},
            scale=ginibre_radial_moment(1, 3),
            exact=True,
        ),
        "approach to the limit": Rate(far, np.asarray(gaps), exponent=-1.0),
        "shares within a radius": Law(
            circular_radius_cdf(radii),
            shares,
            along={"radius": radii},
            sizes=sizes,
            order=1.0,
            resolution=0.1,
            aside={"one matrix": parts(disc)},
        ),
    }


@circular_law.control("the share r, as if moduli were uniform", of="shares within a radius")
def uniform_modulus(evidence):
    return replace(evidence, predicted=evidence.along["radius"])


@circular_law.control("the limit 1/(k+1) at finite n", of="radial moments at finite size")
def limit_at_once(evidence):
    return replace(evidence, predicted=np.broadcast_to(1 / (evidence.along["order"] + 1), evidence.predicted.shape))


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


POPULATION, SHARES, RATIO = np.asarray([1.0, 3.0, 10.0]), np.asarray([0.5, 0.25, 0.25]), 0.1


def density_moments(ratio, nodes):
    """The integrals of 1, x, x², x³ over the density, in the angle that makes it smooth on each of its intervals."""
    angles, integrals = (np.arange(nodes) + 0.5) * np.pi / nodes, np.zeros(4)
    for low, high in general_edges(POPULATION, SHARES, ratio):
        x = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
        weights = general_pdf(x, POPULATION, SHARES, ratio) * (high - low) / 2 * np.sin(angles) * np.pi / nodes
        integrals += (x ** np.arange(4)[:, None] * weights).sum(1)
    return integrals


@claim(
    items={},
    consistency=("moments of the density", "by free multiplication", "a population with one eigenvalue"),
    says=r"The spectrum of a sample covariance whose population has eigenvalues $t_k$ in shares $w_k$ has the "
    r"transform $S$ of Silverstein's equation $z=-1/v+a\sum_kw_kt_k/(1+t_kv)$, $v=aS-(1-a)/z$, and falls into bulks "
    r"that end at the critical values of $z(v)$.",
    needs="independent standardised entries times the root of the population covariance",
    symbols={
        r"t_k,w_k": "eigenvalues of the population covariance, and the share of each",
        r"a": "dimensions per sample",
        r"S": r"the Stieltjes transform of the limiting spectrum at $z$; $v$ is that of the samples' Gram matrix",
    },
    why=r"The eigenvalues of the Gram matrix of the samples are those of the covariance but for zeros, and its "
    r"transform $v$ is the easier: every population eigenvalue contributes $t_k/(1+t_kv)$ by itself. Where $z$ as a "
    r"function of $v$ rises there is no spectrum, so its critical values are the edges. The density has mass "
    r"$\min(1,1/a)$, and an atom $1-1/a$ at zero completes it for $a>1$. In other words the law is the free "
    r"multiplicative convolution of the population with the Marchenko–Pastur law.",
    notice=r"Three eigenvalues of the population, and three bulks around them: the eigenvalues of matrices stay within "
    r"the curve, gaps and all. Three Marchenko–Pastur laws, one for each, would be too wide: the bulks push each "
    r"other apart, and each sees only its own share of the dimensions.",
    full=dict(sizes=(80, 160, 320), trials=64),
)
def general_population(key, *, sizes: Sizes = (40, 80, 160), trials: Trials = 80):
    edges = general_edges(POPULATION, SHARES, RATIO)
    moments, ends = np.empty((len(sizes), 3, trials)), np.empty((len(sizes), 6, trials))
    for i, size in enumerate(sizes):
        scales = np.repeat(POPULATION, np.rint(SHARES * size).astype(int))
        x = draw_entries(jax.random.fold_in(key, i), (trials, size, round(size / RATIO)), "uniform")
        values = sample_covariance_eigenvalues(x * scales[:, None] ** 0.5)
        moments[i] = linear_statistic(values, lambda v: v ** np.asarray([1, 2, 3])[:, None, None])
        half, quarter = size // 2, 3 * size // 4
        ends[i] = values[:, [0, half - 1, half, quarter - 1, quarter, -1]].T
        spectra = values[:DRAWS]  # in the end those of the largest size
    integrals, above = density_moments(RATIO, 2000), density_moments(2.0, 500)
    least = np.asarray(general_stieltjes(np.asarray([1e-9j]), POPULATION, SHARES, 2.0))[0]
    predicted = np.asarray([general_moment(k, POPULATION, SHARES, RATIO) for k in (1, 2, 3)])
    z = np.asarray([0.8 + 0.3j, 3 + 0.5j, 11 + 1j, -1 + 0.2j])
    transform = general_stieltjes(z, POPULATION, SHARES, RATIO)
    companion = RATIO * transform - (1 - RATIO) / z
    free = free_multiplicative_stieltjes(
        z, lambda w: stieltjes_transform(POPULATION, w, SHARES), lambda w: marchenko_pastur_stieltjes(w, RATIO)
    )
    one = general_stieltjes(z, np.asarray([1.7]), np.ones(1), RATIO)
    return {
        "moments of the spectrum": Law(
            predicted, moments, along={"order": np.asarray([1, 2, 3])}, sizes=sizes, order=1.0
        ),
        "ends of the bulks": Law(
            edges.ravel(),
            ends,
            along={"edge": np.arange(6)},
            sizes=sizes,
            order=2 / 3,
            resolution=0.1,  # of the width of its bulk; as above
            scale=np.repeat(np.diff(edges, axis=1)[:, 0], 2),
            aside={"spectra": spectra},
        ),
        "moments of the density": Identity(integrals, np.append(1.0, predicted), size=2000.0, error=1e-7),
        # −zS(z) is the mass at zero as z → 0, up to z times the mean of 1/x over the rest.
        "mass at zero": Identity([above[0], (-1e-9j * least).real], [1 / 2, 1 - above[0]], error=1e-7),
        "mean for ratios above one": Identity(above[1], (SHARES * POPULATION).sum(), error=1e-7),
        "Silverstein's equation": Identity(
            parts(silverstein_inverse(companion, POPULATION, SHARES, RATIO)), parts(z), scale=10.0, condition=10.0
        ),
        "by free multiplication": Identity(parts(transform), parts(free), scale=1.0, error=1e-11),
        "a population with one eigenvalue": Identity(
            parts(one), parts(marchenko_pastur_stieltjes(z, RATIO, 1.7)), scale=1.0, condition=10.0
        ),
    }


@general_population.control("each bulk a Marchenko–Pastur law of the whole ratio", of="ends of the bulks")
def separate_laws(evidence):
    return replace(evidence, predicted=np.array([marchenko_pastur_edges(RATIO, t) for t in POPULATION]).ravel())


@general_population.picture
def bulks_apart(pieces):
    """Eigenvalues of sample covariances of the largest size, by their logarithm, under the law of the population."""
    # In the logarithm u of an eigenvalue x the density is x times that in x: bulks at 1, 3 and 10 are as easily seen.
    u = np.linspace(np.log(0.25), np.log(20), 600)
    x = np.exp(u)
    law = x * general_pdf(x, POPULATION, SHARES, RATIO)
    separate = sum(
        w * x * np.asarray(marchenko_pastur_pdf(x, RATIO, t)) for w, t in zip(SHARES, POPULATION, strict=True)
    )
    marks = [
        Line("law of the population", u / np.log(10), law * np.log(10)),
        Line("", u / np.log(10), separate * np.log(10), rival="a Marchenko–Pastur law for each"),
        *(Level(f"{t:g}", x=float(np.log10(t))) for t in POPULATION),
    ]
    samples = np.log10(np.asarray(pieces["ends of the bulks"].aside["spectra"]))
    return Histogram(marks, samples=samples, bins=70, x="logarithm of the eigenvalue, base ten", y="density")


@general_population.control("the moments of the population itself", of="moments of the spectrum")
def population_moments(evidence):
    return replace(evidence, predicted=np.asarray([(SHARES * POPULATION**k).sum() for k in (1, 2, 3)]))


@claim(
    items={},
    consistency=("two semicircles",),
    says="Two large matrices in general position add as free variables do: free cumulants add, and the Stieltjes "
    "transform of the sum is found by subordination. In products their S-transforms multiply.",
    needs="one of the two is rotated at random, independently of the other",
    symbols={
        r"\text{general position}": "the eigenvectors of one are turned at random against those of the other",
        r"\text{free cumulants}": (
            "the numbers, made of moments, that add when free variables do, as cumulants add for independent ones"
        ),
        r"\text{S-transform}": "the function of the moments that multiplies in products",
    },
    why=r"After a random turn the eigenvectors of the one matrix know nothing of those of the other, so that mixed "
    r"traces depend on the two spectra alone, by one rule: freeness. Two projections of half rank then sum to the "
    r"arcsine law on $[0,2]$ and a semicircle and a semicircle to a semicircle, with variances that add. With common "
    r"eigenvectors the eigenvalues would add like independent numbers instead.",
    notice=r"Left, the eigenvalues of two projections are 0 and 1, and those of their sum fill $[0,2]$, most of them "
    r"at the ends; common eigenvectors in random order would give 0, 1 and 2 alone. Right, a product with a sample "
    r"covariance: half of the eigenvalues are zero and not shown, the others are those of a covariance of half as "
    r"many dimensions.",
    full=dict(sizes=(40, 80, 160), trials=128),
)
def free_convolutions(key, *, sizes: Sizes = (16, 32, 64), trials: Trials = 128):
    draw = generator(key)
    half, powers = [Fraction(1, 2)] * 6, np.asarray([2, 4, 6])
    arcsine = free_additive_moments(half, half)
    middle = free_multiplicative_moments(half, [marchenko_pastur_moment(k, Fraction(1, 3)) for k in range(1, 7)])
    orders = np.asarray([2, 3])
    wanted = np.asarray(middle[1:3], float)
    sums, products = np.empty((len(sizes), 3, trials)), np.empty((len(sizes), 2, trials))
    for i, size in enumerate(sizes):
        first = np.repeat([0.0, 1.0], size // 2)
        turn = np.linalg.qr(draw.standard_normal((trials, size, size)))[0]
        other = turn * first @ np.swapaxes(turn, 1, 2)
        values = np.linalg.eigvalsh(np.diag(first) + other)
        added = values[:DRAWS]  # in the end those of the largest size
        sums[i] = linear_statistic(values, lambda v: v ** powers[:, None, None])
        x = draw.standard_normal((trials, size, 3 * size)) * first[:, None]
        values = sample_covariance_eigenvalues(x)
        multiplied = values[:DRAWS]
        # The mean of the first moment is a half: its fluctuation is taken off, to first order.
        higher = linear_statistic(values, lambda v: v ** orders[:, None, None])
        products[i] = higher - (orders * wanted)[:, None] * (2 * values.mean(1) - 1)
    z = np.asarray([0.4 + 0.3j, 1 + 0.2j, 2.5 + 0.5j, -1 + 0.4j])
    two = free_additive_stieltjes(z, *[lambda w: stieltjes_transform(np.asarray([0.0, 1.0]), w)] * 2)
    closed = -1 / (np.sqrt(z) * np.sqrt(z - 2))
    semi = free_additive_stieltjes(z, lambda w: semicircle_stieltjes(w, 1.0), lambda w: semicircle_stieltjes(w, 2.0))
    density = inverted_density(
        lambda w: free_additive_stieltjes(w, *[lambda u: stieltjes_transform(np.asarray([0.0, 1.0]), u)] * 2),
        np.linspace(0.3, 1.7, 9),
        0.05,
    )
    nodes = 1 - np.cos((np.arange(4000) + 0.5) * np.pi / 4000)
    smooth = (0.05 / (np.pi * ((np.linspace(0.3, 1.7, 9)[:, None] - nodes) ** 2 + 0.05**2))).mean(1)
    central = [
        Fraction(int(np.prod([2 * j - 1 for j in range(1, k + 1)])), int(np.prod(np.arange(1, k + 1))))
        for k in range(1, 7)
    ]
    return {
        "sums of random projections": Law(
            np.asarray(arcsine[1::2], float),
            sums,
            along={"order": powers},
            sizes=sizes,
            order=1.0,
            aside={"spectra": added},
        ),
        "products with a sample covariance": Law(
            wanted, products, along={"order": orders}, sizes=sizes, order=1.0, aside={"spectra": multiplied}
        ),
        "moments of the arcsine law": Exact(
            np.asarray([str(m) for m in arcsine]), np.asarray([str(m) for m in central])
        ),
        "transform of the arcsine law": Identity(parts(two), parts(closed), scale=1.0, error=1e-11),
        "two semicircles": Identity(parts(semi), parts(semicircle_stieltjes(z, 3.0)), scale=1.0, error=1e-11),
        "density of the arcsine law": Identity(density, smooth, error=1e-9),
    }


@free_convolutions.control(
    "common eigenvectors: sums of classically independent variables", of="sums of random projections"
)
def independent_sum(evidence):
    return replace(evidence, predicted=1 / 2 + 2.0 ** evidence.along["order"] / 4)


@free_convolutions.picture
def sums_and_products(pieces):
    """Eigenvalues of a sum of two projections, and of a product with a sample covariance, at the largest size."""
    names = "sums of random projections", "products with a sample covariance"
    sums, products = (np.asarray(pieces[name].aside["spectra"]) for name in names)
    x, y = np.linspace(0.004, 1.996, 400), np.linspace(0.2, 2.2, 400)
    arcsine = 1 / (np.pi * np.sqrt(x * (2 - x)))
    gap = np.nan  # breaks the line
    atoms = Line("", [0, 0, gap, 1, 1, gap, 2, 2], [0, 2.5, gap, 0, 2.5, gap, 0, 2.5], rival="common eigenvectors")
    return Row(
        [
            Histogram(
                [Line("arcsine law", x, arcsine), atoms],
                samples=sums,
                bins=40,
                ys=(0, 2.5),
                x="eigenvalue",
                y="density",
                title="Two projections of half rank, added",
            ),
            Histogram(
                [Line("by S-transforms", y, np.asarray(marchenko_pastur_pdf(y, 1 / 6)) / 2)],
                samples=products[products > 1e-9],
                area=0.5,
                bins=24,
                x="eigenvalue above zero",
                y="density",
                title="A projection and a sample covariance",
            ),
        ]
    )
