"""The quadratic equation of the Marchenko–Pastur law, solved by its transform, and on matrices up to order 1/N."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.claims.spectra.resolvents import PLACES
from deeptheory.claims.spectra.stieltjes import VARIANCE, integrated
from deeptheory.lab import Identity, Law, Rate, Sizes, Trials, claim, parts
from deeptheory.lab.pictures import Curves, Line, seen
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import (
    marchenko_pastur_equation,
    marchenko_pastur_iteration,
    marchenko_pastur_stieltjes,
    stieltjes_transform,
)

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
