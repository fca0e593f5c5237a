"""The Marchenko–Pastur law and the convergence of sample covariance spectra to it."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import numpy as np
import scipy.stats
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Limit, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Line, Row
from deeptheory.spectra.entries import draw_entries, expected_spectral_moment
from deeptheory.spectra.marchenko_pastur import (
    BLOCK,
    marchenko_pastur_atom,
    marchenko_pastur_cdf,
    marchenko_pastur_edges,
    marchenko_pastur_moment,
    marchenko_pastur_pdf,
    marchenko_pastur_quantile,
    spectral_distance,
)
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues

CASES = ((0.5, "gaussian"), (0.5, "rademacher"), (2.0, "uniform"), (4.0, "gaussian"))
"""Samples over dimension, M/N, with a law of the entries. M/N is the α of jagannath Thm 6.6; the ratio of its
definition 6.5 is the reciprocal."""
ORDERS = (2, 3)
"""Moments that are compared with the law's; the first is one at every size and has pieces of its own."""
FAR = (100, 400, 1600, 6400)
"""Dimensions at which the exact finite moments, which are polynomials, are followed to their limits."""
LIMITS = np.asarray([[marchenko_pastur_moment(order, 1 / alpha) for order in ORDERS] for alpha, _ in CASES])


def finite_moments(sizes):
    """Exact mean moments at finite dimension, sizes × cases × orders."""
    return np.asarray(
        [
            [[float(expected_spectral_moment(k, size, int(alpha * size), law)) for k in ORDERS] for alpha, law in CASES]
            for size in sizes
        ]
    )


@claim(
    items={
        "J6.4": (
            "mass of the law",
            "moments of the law",
            "distribution function",
            "quantiles invert the distribution function",
        )
    },
    says=r"The Marchenko–Pastur density of ratio $a$ has mass $\min(1,1/a)$, an atom $1-1/a$ at zero completes it, "
    r"and its moments are $s^{2k}\sum_{r<k}\frac{a^r}{r+1}\binom kr\binom{k-1}r$. Its distribution function in closed "
    r"form is the integral of that density, and the quantiles invert it.",
    needs="ratio and variance positive",
    symbols={
        r"a": "the ratio of the law: dimensions per sample",
        r"k": "the order of a moment",
        r"s^2": "the variance of the entries, which scales the law",
    },
    why=r"With $x$ in the middle of the support plus its radius times a cosine, the root in the density becomes a "
    "sine, and all integrals are those of smooth periodic functions. The mass that is missing above ratio one is "
    "that of the eigenvalues that vanish because there are fewer samples than dimensions. The moments count "
    r"non-crossing partitions, $\frac1{r+1}\binom kr\binom{k-1}r$ of $k$ points into $r+1$ blocks, one factor $a$ for "
    "each block but one.",
    notice=r"For few dimensions a sample the law is a narrow hump about the variance; it widens with the ratio, leans "
    "on zero as the ratio passes one, and leaves it again with an atom behind: the distribution functions of ratios "
    "above one start at $1-1/a$. The dots are integrals of the density.",
)
def marchenko_pastur_is_a_law(
    *,
    ratios: Annotated[tuple[float, ...], Interval(ge=0.01, le=100.0)] = (0.1, 0.5, 0.9, 1.5, 4.0),
    variance: Annotated[float, Interval(ge=0.01, le=100.0)] = 1.7,
    highest: Annotated[int, Interval(ge=1, le=20)] = 6,
):
    # x = middle − radius cos φ makes the density smooth and periodic: equal steps converge geometrically for a ≠ 1.
    assume(all(abs(ratio - 1) > 0.05 for ratio in ratios), "the quadrature needs a ratio at least 0.05 from one")
    nodes = 2000
    angle = (np.arange(nodes) + 0.5) * np.pi / nodes
    orders = np.arange(1, highest + 1)
    mass, moments, distribution, places, rounded = [], [], [], [], []
    # The mass up to an angle is no integral over a period: Gauss–Legendre nodes on [0, end], one row for each end.
    # Some are crowded towards the lower edge, where the mass, of order φ³, is compared with itself.
    near = np.geomspace(0.003, 0.3, 6)
    ends = np.append(near, np.pi * np.arange(2, 10) / 10)
    abscissae, legendre = np.polynomial.legendre.leggauss(200)
    inner = ends[:, None] * (abscissae + 1) / 2
    for ratio in ratios:
        low, high = marchenko_pastur_edges(ratio, variance)
        points = (high + low) / 2 - (high - low) / 2 * np.cos(angle)
        density = np.asarray(marchenko_pastur_pdf(points, ratio, variance))
        weights = density * (high - low) / 2 * np.sin(angle) * np.pi / nodes
        mass.append(weights.sum() + float(marchenko_pastur_atom(ratio)))
        moments.append((weights * points ** orders[:, None]).sum(1))
        density = np.asarray(marchenko_pastur_pdf((high + low) / 2 - (high - low) / 2 * np.cos(inner), ratio, variance))
        below = (density * np.sin(inner)) @ legendre * ends / 2 * (high - low) / 2 + float(marchenko_pastur_atom(ratio))
        at = (high + low) / 2 - (high - low) / 2 * np.cos(ends)
        distribution.append([np.asarray(marchenko_pastur_cdf(at, ratio, variance)), below])
        slope = np.asarray(marchenko_pastur_pdf(at, ratio, variance))
        places.append([np.asarray(marchenko_pastur_quantile(below, ratio, variance)), at, below / (at * slope)])
        rounded.append(np.where(ends <= near[-1], 1.5 * at / (at - low), 1.0))
    predicted = [[marchenko_pastur_moment(int(order), ratio, variance) for order in orders] for ratio in ratios]
    along = {"ratio": np.asarray(ratios), "order": orders}
    angles = {"ratio": np.asarray(ratios), "angle": ends}
    quantile, point, condition = np.swapaxes(places, 0, 1)
    # The terms of the closed form are 1/√a times their sum for a small ratio, and likewise for its reciprocal.
    lost = np.maximum(angles["ratio"], 1 / angles["ratio"])[:, None] ** 0.5
    # Close to the edge the rounding of the point is large beside its distance, and the mass's share of the point small.
    close, inverted = np.asarray(rounded), np.where(ends <= near[-1], np.maximum(condition, 1.0), condition)
    return {
        "mass of the law": Identity(
            np.asarray(mass), np.ones(len(ratios)), size=nodes, along={"ratio": along["ratio"]}
        ),
        "moments of the law": Identity(np.asarray(moments), np.asarray(predicted), size=nodes, along=along),
        "distribution function": Identity(
            *np.swapaxes(distribution, 0, 1), condition=lost * close, size=200, along=angles
        ),
        "quantiles invert the distribution function": Identity(
            quantile, point, condition=lost * inverted, size=200, along=angles
        ),
    }


@marchenko_pastur_is_a_law.picture
def densities_and_distributions(pieces):
    """Densities (left) and distribution functions (right) at each ratio; dots are integrals of the density."""
    ratios, variance = (
        pieces["moments of the law"].along["ratio"],
        float(np.asarray(pieces["moments of the law"].right)[0, 0]),
    )
    densities, distributions = [], []
    for i, ratio in enumerate(ratios):
        low, high = map(float, marchenko_pastur_edges(ratio, variance))
        x, name = (high + low) / 2 - (high - low) / 2 * np.cos(np.linspace(0, np.pi, 300)), f"a = {ratio:g}"
        densities.append(Line(name, x, marchenko_pastur_pdf(x, ratio, variance)))
        distributions.append(Line(name, x, marchenko_pastur_cdf(x, ratio, variance)))
        distributions.append(
            Dots(
                name,
                pieces["quantiles invert the distribution function"].right[i],
                pieces["distribution function"].right[i],
            )
        )
    axis: dict[str, Any] = dict(x="eigenvalue x", log="x", xs=(0.004, 20.0))
    return Row([Curves(densities, y="density", ys=(0, 1.5), **axis), Curves(distributions, y="mass up to x", **axis)])


@marchenko_pastur_is_a_law.control("without the atom above ratio one", of="mass of the law")
def no_atom(evidence):
    atom = np.maximum(0.0, 1 - 1 / evidence.along["ratio"])
    return replace(evidence, left=evidence.left - atom)


@marchenko_pastur_is_a_law.control("the ratio inverted", of="moments of the law")
def inverted_ratio(evidence):
    variance = evidence.right[0, 0]
    orders = [int(order) for order in evidence.along["order"]]
    rival = [[marchenko_pastur_moment(k, 1 / ratio, variance) for k in orders] for ratio in evidence.along["ratio"]]
    return replace(evidence, right=np.asarray(rival))


@claim(
    items={
        "J6.5": (
            "moments",
            "moments at finite size",
            "second moment of small matrices",
            "mean eigenvalue",
            "mean eigenvalue of signs",
            "approach of the moments",
            "distance of the distributions",
            "distance by another route",
            "extreme eigenvalues",
            "share of zeros",
        )
    },
    says=r"With $M/N\to\alpha$ samples a dimension, the spectrum of a sample covariance tends to the Marchenko–Pastur "
    r"law of ratio $1/\alpha$: its moments, its edges $(1\pm\alpha^{-1/2})^2$, its share $1-\alpha$ of zeros if "
    r"$\alpha<1$, and its distribution function, whatever the law of the entries.",
    needs="independent entries of mean zero, variance one and finite fourth moment",
    full=dict(sizes=(60, 120, 240, 360), trials=256),
    symbols={
        r"N": "the dimension: how many coordinates a sample has",
        r"M": "the number of samples",
        r"\alpha": "samples a dimension, $M/N$",
        r"1/\alpha": "the ratio of the Marchenko–Pastur law, which fixes its edges and its shape",
    },
    why=r"The sample covariance is a sum of $M$ independent matrices of rank one. Taking one of them out changes the "
    r"resolvent by a formula of Sherman and Morrison, and a quadratic form in an independent sample is close to a "
    r"trace. Together they say that the Stieltjes transform of the spectrum nearly solves a quadratic equation, whose "
    r"solution is the transform of the law. Only the mean and the variance of the entries enter the limit; at finite "
    "size their fourth moment still shows in the mean moments.",
    notice=r"The eigenvalues of a few dozen matrices already fill the curve, with sharp edges at "
    r"$(1\pm\alpha^{-1/2})^2$ and hardly any eigenvalue outside; all would be 1 if samples were plentiful. With fewer "
    r"samples than dimensions (left) the share $1-\alpha$ of eigenvalues is zero and not drawn. The law of ratio "
    r"$\alpha$ lies elsewhere. Columns of random lengths break the law.",
    explore={"columns": ("independent", "elliptical")},
)
def sample_covariance_spectrum(
    key,
    *,
    sizes: Sizes = (60, 120, 180),
    trials: Trials = 192,
    columns: Literal["independent", "elliptical"] = "independent",
):
    assume(all(size % 2 == 0 for size in sizes), "an even dimension N, so that M = N/2 is whole")
    shape = (len(sizes), len(CASES))
    moments, edges = np.empty((*shape, len(ORDERS), trials)), np.empty((*shape, 2, trials))
    distances, first = np.empty((2, *shape, trials))
    zeros, missing = np.zeros((2, *shape, 8), int)
    two_sided, aside = np.empty((2, 0)), {}
    for i, j in np.ndindex(shape):
        size, (alpha, entries) = sizes[i], CASES[j]
        samples = int(alpha * size)
        branch = jax.random.fold_in(key, len(CASES) * i + j)
        x = draw_entries(branch, (trials, size, samples), entries)
        if columns == "elliptical":  # uncorrelated coordinates of variance one, but a common random length
            x *= np.sqrt(generator(jax.random.fold_in(branch, 1)).choice([0.5, 1.5], (trials, 1, samples)))
        values = sample_covariance_eigenvalues(x)
        aside |= {f"{alpha:g}": values[:64].ravel()}  # at last those of the largest size
        # The mean of the first moment is one exactly: taking off its fluctuation keeps the mean and halves the spread.
        first[i, j] = values.mean(-1)
        excess = first[i, j] - 1
        for k, order in enumerate(ORDERS):
            moments[i, j, k] = (values**order).mean(-1) - order * LIMITS[j, k] * excess
        distances[i, j] = spectral_distance(values, 1 / alpha)
        if alpha < 1:  # counted in the full N×N matrix, of which the function above never makes the null space
            zeros[i, j] = (np.linalg.eigvalsh(x[:8] @ np.swapaxes(x[:8], 1, 2)) < 1e-9 * samples).sum(-1)
            missing[i, j] = round(size * float(marchenko_pastur_atom(1 / alpha)))
        edges[i, j] = values[:, max(0, size - samples)], values[:, -1]
        if (i, j) == (len(sizes) - 1, 2):  # as many as fit the block that the distances are worked out in
            some = values[: BLOCK // size]
            ranks = np.asarray(marchenko_pastur_cdf(np.resize(some, BLOCK), 1 / alpha))[: some.size]
            direct = [
                scipy.stats.ks_1samp(each, scipy.stats.uniform.cdf, method="asymp")[0]
                for each in ranks.reshape(some.shape)
            ]
            two_sided = np.asarray([distances[i, j, : len(some)], direct])
    # The fourth moment is a matter of 1/N: four dimensions and eight samples show it.
    laws, second = ("gaussian", "rademacher", "uniform"), np.empty((3, 64 * trials))
    for k, law in enumerate(laws):
        x = draw_entries(jax.random.fold_in(key, 100 + k), (64 * trials, 4, 8), law)
        second[k] = (sample_covariance_eigenvalues(x) ** 2).mean(-1)
    small = np.asarray([float(expected_spectral_moment(2, 4, 8, law)) for law in laws])
    cases = np.asarray([f"α = {alpha:g}, {entries}" for alpha, entries in CASES])
    along = {"case": cases, "order": np.asarray(ORDERS)}
    ends = np.asarray([marchenko_pastur_edges(1 / alpha) for alpha, _ in CASES])
    drawn = np.asarray([entries != "rademacher" for _, entries in CASES])
    return {
        "moments": Law(LIMITS, moments, along=along, sizes=sizes, order=1.0, aside=aside),
        "moments at finite size": Law(
            finite_moments(sizes), moments, along={"size": np.asarray(sizes), **along}, exact=True
        ),
        "second moment of small matrices": Law(small, second, along={"entries": np.asarray(laws)}, exact=True),
        # The others take off the fluctuation of the first moment, and with it any error of scale.
        "mean eigenvalue": Law(
            1.0, first[:, drawn], along={"size": np.asarray(sizes), "case": cases[drawn]}, exact=True
        ),
        "mean eigenvalue of signs": Identity(first[:, ~drawn], 1.0, condition=10.0, size=max(sizes)),
        "approach of the moments": Limit(
            np.asarray(FAR), np.max(abs(finite_moments(FAR) / LIMITS - 1), axis=(1, 2)), order=1.0
        ),
        # The largest fluctuation of the counting function is of order log N, so the distance is of order log N/N.
        "distance of the distributions": Limit(
            np.asarray(sizes), distances.mean(1) / np.log(sizes)[:, None], order=1.0
        ),
        "distance by another route": Identity(*two_sided, scale=1.0),
        # The ends of the spectrum move in, and fluctuate, like N^-2/3 (Tracy–Widom), not 1/N as the moments do, so at
        # these sizes a tenth is what can be resolved; deviations are in units of the spectrum's width.
        "extreme eigenvalues": Law(
            ends,
            edges,
            along={"case": cases, "edge": np.asarray(["lower", "upper"])},
            sizes=sizes,
            order=2 / 3,
            scale=np.ptp(ends, axis=1, keepdims=True),
            resolution=0.1,
        ),
        "share of zeros": Exact(zeros, missing),
    }


@sample_covariance_spectrum.control("moments of ratio α, the samples over the dimension", of="moments")
def ratio_inverted(evidence):
    return replace(evidence, predicted=np.asarray([[marchenko_pastur_moment(k, a) for k in ORDERS] for a, _ in CASES]))


@sample_covariance_spectrum.control("edges (1 ± √α)², with α the samples over the dimension", of="extreme eigenvalues")
def edges_of_the_inverted_ratio(evidence):
    return replace(evidence, predicted=np.asarray([marchenko_pastur_edges(alpha) for alpha, _ in CASES]))


sample_covariance_spectrum.control(
    "uncorrelated coordinates that are not independent",
    of="distance of the distributions",
    columns="elliptical",
    trials=32,
)


@sample_covariance_spectrum.picture
def eigenvalues_under_the_law(pieces):
    """Eigenvalues of sample covariances of the largest dimension, and the density of the Marchenko–Pastur law."""

    def shown(alpha):
        values = pieces["moments"].aside[f"{alpha:g}"]
        x = np.linspace(0.005, 6, 320)
        inverted = Line("law of ratio α", x, marchenko_pastur_pdf(x, alpha), rival="the ratio inverted")
        marks = [Line("law of ratio 1/α", x, marchenko_pastur_pdf(x, 1 / alpha)), inverted]
        axes: dict[str, Any] = dict(
            x="eigenvalue", y="density", title=f"α = {alpha:g} samples a dimension", xs=(0, 6), ys=(0, 1.2)
        )
        return Histogram(marks, samples=values[values > 1e-9], area=min(1.0, alpha), bins=60, **axes)

    return Row([shown(0.5), shown(4.0)])
