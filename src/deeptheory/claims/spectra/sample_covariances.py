"""Spectra of sample covariances: of isotropic data, near and far from the identity, and of any population."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.claims.spectra.semicircle import DRAWS
from deeptheory.lab import Identity, Law, Printed, Rate, Sizes, Trials, claim, parts
from deeptheory.lab.pictures import Curves, Histogram, Level, Line, seen
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.free_convolution import free_multiplicative_stieltjes
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges, marchenko_pastur_pdf
from deeptheory.spectra.self_consistent import (
    general_edges,
    general_moment,
    general_pdf,
    general_stieltjes,
    silverstein_inverse,
)
from deeptheory.spectra.spectral_measure import (
    covariance_error,
    covariance_error_limit,
    linear_statistic,
    sample_covariance_eigenvalues,
)
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes, stieltjes_transform

COVARIANCES = ((0.25, "gaussian"), (0.25, "rademacher"), (1.0, "uniform"), (3.0, "student"))
"""Dimension over samples, with a law of the entries."""


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
