"""A cubic with noise, fitted by polynomials of every degree: too few, too many, and too many with a penalty."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.filters import pseudo_inverse_filter, ridge_filter, spectral_operator
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.polynomials import (
    legendre_features,
    monomial_features,
    monomials_in_legendre,
)
from deeptheory.generalization.interpolation.ridgeless import bias_variance_of_operator
from deeptheory.lab import Chain, Identity, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

TRUTH = np.asarray([1.0, 0.8, 0.6, 0.7])
"""Coefficients of the true cubic in the orthonormal polynomials: the last is far above the noise of its estimate."""


@claim(
    items={
        "A5.3": (
            "loss of the true polynomial",
            "ridge by two routes",
            "basis does not matter",
            "variance of the fit",
            "risk along the degree",
            "risk with a ridge",
        )
    },
    says=r"Thirty points of a cubic with noise $\sigma^2$: the truth has expected loss $n\sigma^2$. Least squares of "
    r"degree $N\le25$ has its least test error at $N=3$, and variance "
    r"$\sigma^2\operatorname{tr}(\Phi^\top\Phi)^{-1}$; the best ridge penalty keeps degree 25 below a tenth of the "
    r"error of least squares.",
    needs="uniform points on [0, 1]; a cubic whose leading coefficient is far above its noise; ridge on the "
    "coefficients of the orthonormal polynomials",
    full=dict(designs=20),
    symbols={
        r"n": "the number of points, 30",
        r"\sigma^2": "the variance of the noise",
        r"N": "the degree of the fitted polynomial",
        r"\Phi": "the polynomials up to that degree, orthonormal on $[0,1]$, at the points",
    },
    why=r"Below degree 3 the cubic cannot be written down, whatever the data. Beyond it every degree fits one more "
    r"direction of the noise, and where points are few the new polynomial is hardly seen by the sample but large "
    r"between its points: the smallest eigenvalue of $\Phi^\top\Phi$ falls, and the noise is divided by it. A penalty "
    r"keeps such directions small.",
    notice=r"A valley at the true degree, then an error that grows by powers of ten towards degree 25, on every design "
    r"drawn. The best ridge penalty keeps degree 25 below the error of the zero polynomial.",
)
def polynomial_interpolation(key, *, designs: Annotated[int, Interval(ge=1, le=100)] = 4, trials: Trials = 8000):
    draw = generator(key)
    n, top, noise = 30, 25, 0.25
    losses = ((noise**0.5 * draw.standard_normal((trials, n))) ** 2).sum(1)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    nodes, weights = (nodes + 1) / 2, weights / 2
    risks, best, variance, ridges, bases = np.empty((designs, top + 1)), [], [], [], []
    for i in range(designs):
        # One design in 250 has a singular value that is rounding, which a pseudo-inverse leaves out: drawn again.
        drawn = (draw.uniform(0, 1, n) for _ in range(100))
        x = next(x for x in drawn if np.linalg.matrix_rank(legendre_features(x, top)) == top + 1)
        full = legendre_features(x, top)
        answers = full[:, :4] @ TRUTH
        for degree in range(top + 1):
            target = np.append(TRUTH, np.zeros(top))[: degree + 1]
            missed = (TRUTH[degree + 1 :] ** 2).sum()
            operator = np.asarray(spectral_operator(full[:, : degree + 1], pseudo_inverse_filter))
            risks[i, degree] = ((operator @ answers - target) ** 2).sum() + missed + noise * (operator**2).sum()
        target = np.append(TRUTH, np.zeros(top - 3))
        penalized = [np.asarray(spectral_operator(full, ridge_filter(p))) for p in np.geomspace(1e-6, 1e4, 60)]
        best.append(min(bias_variance_of_operator(o, full, target, np.eye(top + 1), noise).risk for o in penalized))
        # The variance again: responses to noise at one point after another, squared and integrated by quadrature.
        operator = np.asarray(spectral_operator(full[:, :7], pseudo_inverse_filter))
        responses = legendre_features(nodes, 6) @ operator
        trace = np.trace(np.linalg.inv(full[:, :7].T @ full[:, :7]))
        variance.append((noise * (weights @ responses**2).sum(), noise * trace))
        y = answers + noise**0.5 * draw.standard_normal(n)
        stacked = np.concatenate([full, 0.1**0.5 * np.eye(top + 1)])
        ridge = np.asarray(spectral_operator(full, ridge_filter(0.1))) @ y
        ridges.append((ridge, np.linalg.lstsq(stacked, np.append(y, np.zeros(top + 1)))[0]))
        monomial = np.linalg.lstsq(monomial_features(x, 4), y)[0]
        legendre = np.linalg.lstsq(legendre_features(x, 4), y)[0]
        bases.append((monomials_in_legendre(monomial), legendre))
    (varied, traced), (ridge, stacked), (moved, legendre) = (np.swapaxes(a, 0, 1) for a in (variance, ridges, bases))
    size = np.linalg.norm(stacked, axis=1, keepdims=True)
    setting = {"noise": noise, "samples": n}
    return {
        "loss of the true polynomial": Law(n * noise, losses, exact=True, aside=setting),
        "ridge by two routes": Identity(ridge, stacked, scale=size, condition=1e4),
        # Monomials to the fourth power have a condition number of some thousands on a random sample.
        "basis does not matter": Identity(
            moved, legendre, scale=np.linalg.norm(legendre, axis=1, keepdims=True), condition=1e5
        ),
        "variance of the fit": Identity(varied, traced, condition=1e3, aside=setting),
        "risk along the degree": Chain(
            aside={"risks": risks, "ridge": np.asarray(best)},
            links={
                "too few degrees miss the cubic": (np.full(designs, 0.3), risks[:, :3].min(1)),
                "the right degree is best": (risks[:, 3:4], np.delete(risks, 3, axis=1)),
                "every further degree costs": (risks[:, 3:-1], risks[:, 4:]),
            },
        ),
        "risk with a ridge": Chain(
            {
                "below the zero polynomial": (best, np.full(designs, (TRUTH**2).sum())),
                "a tenth of least squares": (best, risks[:, -1] / 10),
            },
            aside={"true degree": risks[:, 3]},
        ),
    }


@polynomial_interpolation.control(
    "n − 4 degrees of freedom, as if the truth had been fitted", of="loss of the true polynomial"
)
def fitted_truth(evidence):
    return replace(evidence, predicted=(evidence.aside["samples"] - 4) * evidence.aside["noise"])


@polynomial_interpolation.control("the error on the sample's own points, σ²(N + 1)/n", of="variance of the fit")
def own_points(evidence):
    return replace(
        evidence, right=np.full_like(evidence.right, evidence.aside["noise"] * 7 / evidence.aside["samples"])
    )


@polynomial_interpolation.control("degree 4 is best, one more than the truth has", of="risk along the degree")
def one_degree_more(evidence):
    risks = evidence.aside["risks"]
    return replace(evidence, links={"degree 4 is best": (risks[:, 4:5], np.delete(risks, 4, axis=1))})


@polynomial_interpolation.control("as good as least squares of the true degree", of="risk with a ridge")
def as_the_true_degree(evidence):
    best, _ = evidence.links["below the zero polynomial"]
    return replace(evidence, links={"below the true degree": (best, evidence.aside["true degree"])})


@polynomial_interpolation.picture
def valley_of_degrees(pieces):
    """Test error of least squares along the degree, a line a design, and of the best ridge of degree 25."""
    risks, ridge = (pieces["risk along the degree"].aside[name] for name in ("risks", "ridge"))
    degrees = np.arange(risks.shape[1])
    return Curves(
        [
            *(Line("least squares", degrees, row, thin=True) for row in risks),
            Line("median of the designs", degrees, np.median(risks, axis=0)),
            Dots("best ridge, degree 25", np.full(len(ridge), degrees[-1]), ridge),
            Level("the true degree", x=3.0),
        ],
        x="degree N", y="test error", log="y",
    )  # fmt: skip
