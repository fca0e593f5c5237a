"""Pseudo-inverses as limits of ridges, and what a matrix and its transpose share."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import scipy.linalg
from annotated_types import Interval

from deeptheory.foundations.filters import (
    gradient_descent_filter,
    pseudo_inverse,
    pseudo_inverse_filter,
    ridge_filter,
    spectral_operator,
)
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridgeless import conditional_bias_variance
from deeptheory.lab import Exact, Identity, Positive, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.spectra.ridge_path import (
    ridge_inverse,
)

SHAPES = ((6, 9, 6), (9, 6, 6), (8, 8, 5))
"""Rows, columns and rank of the matrices whose pseudo-inverses are checked."""


def penrose_sides(matrix, inverse):
    """The two sides of Penrose's four identities, one after the other."""
    seen, mapped = matrix @ inverse, inverse @ matrix
    left, right = (seen @ matrix, mapped @ inverse, seen, mapped), (matrix, inverse, seen.T, mapped.T)
    return tuple(np.concatenate([np.ravel(each) for each in side]) for side in (left, right))


@claim(
    items={
        "J7.2": (
            "Penrose's identities",
            "small singular values",
            "projection on the row space",
            "ridge",
            "least squares by the inverse",
        ),
        "J7.1": ("least squares as a limit of filters", "descent as a filter", "least norm of all solutions"),
    },
    says=r"$A^+=VD^+U^\top$ satisfies Penrose's four identities, and $A^+A$ projects on the row space. "
    r"$(AA^\top+\delta)^{-1}A$ is $\delta/(\sigma(\sigma^2+\delta))$ away from $(AA^\top)^+A$ in operator norm. "
    r"Minimum-norm least squares is $(XX^\top)^+Xy$; gradient descent from zero finds it.",
    needs=r"gradient descent starts from zero with a step below $2/\sigma_1^2$",
    symbols={
        r"A^+": "the pseudo-inverse of $A$; Penrose: $AA^+A=A$, $A^+AA^+=A^+$, $AA^+$ and $A^+A$ are symmetric",
        r"U, D, V": r"the singular value decomposition $A=UDV^\top$; $D^+$ inverts the nonzero entries of $D$",
        r"\delta": "the ridge: a small multiple of the identity that makes the matrix invertible",
        r"\sigma": "the least nonzero singular value of $A$; $\\sigma_1$ the largest of $X$",
        r"X": "the data, one column a sample",
        r"y": "the labels",
    },
    why=r"In the bases of singular vectors a matrix is a list of numbers, and all of this is said of one number: "
    r"$\sigma\cdot\sigma^{-1}\cdot\sigma=\sigma$, and $0$ is left at $0$. A ridge replaces $1/\sigma$ by "
    r"$\sigma/(\sigma^2+\delta)$, which differs most where $\sigma$ is least. Gradients of the squared loss lie in "
    "the span of the samples, so descent from zero never leaves it, and the one solution in that span is the "
    "shortest.",
    notice=r"The error of the ridge falls in proportion to $\delta$ once $\delta$ is below $\sigma^2$. Dots "
    r"above each other are twelve matrices, those of least $\sigma$ on top; their $\sigma$ lies between 1 and 3, "
    r"mostly below 2, and the curves are the formula for $\sigma=1$, $1.5$ and $2$.",
)
def pseudo_inverses(
    key, *, matrices: Annotated[int, Interval(ge=1, le=200)] = 12, start: Literal["zero", "random"] = "zero"
):
    draw = generator(key)
    names = (
        "Penrose's identities",
        "rival",
        "small singular values",
        "truncated",
        "projection on the row space",
        "least squares by the inverse",
        "least squares as a limit of filters",
        "descent as a filter",
    )
    sides = {name: ([], []) for name in names}
    norms, ridges, rate = [], np.geomspace(1e-4, 10, 6), 0.1
    errors, least = [], []

    def compare(name, left, right):
        for side, value in zip(sides[name], (left, right), strict=True):
            side.append(np.ravel(value))

    for rows, columns, rank in SHAPES * matrices:
        # Singular values between 1 and 3 and random directions, so that condition numbers stay known.
        left, right = (np.linalg.qr(draw.standard_normal((size, rank)))[0] for size in (rows, columns))
        singular = draw.uniform(1, 3, rank)
        matrix = left * singular @ right.T
        inverse, hat = pseudo_inverse(matrix), pseudo_inverse(matrix @ matrix.T) @ matrix
        compare("Penrose's identities", *penrose_sides(matrix, inverse))
        # A⁺ plus anything that ends in the null space still solves A x = y wherever that can be solved.
        loose = draw.standard_normal((columns, rows))
        compare("rival", *penrose_sides(matrix, inverse + loose - inverse @ matrix @ loose))
        # One more with the same directions and singular values down to a millionth, whose inverse is written down.
        small = np.geomspace(1e-6, 1, rank)
        written, large = right / small @ left.T, small > 1e-3
        compare("small singular values", pseudo_inverse(left * small @ right.T), written)
        compare("truncated", right[:, large] / small[large] @ left[:, large].T, written)
        # An independent basis of the row space: pivoted orthogonalisation, no singular values.
        basis = np.asarray(scipy.linalg.qr(matrix.T, pivoting=True)[0])[:, :rank]
        compare("projection on the row space", inverse @ matrix, basis @ basis.T)
        errors.append([np.linalg.norm(ridge_inverse(matrix, ridge) - hat, 2) for ridge in ridges])
        least.append(singular.min())
        # The books' X is p × n: the transpose of a design with one row a sample.
        design, labels, other = matrix.T, draw.standard_normal(columns), draw.standard_normal(rows)
        solution = np.linalg.lstsq(design, labels, rcond=1e-10)[0]
        compare("least squares by the inverse", hat @ labels, solution)
        weights = np.zeros(rows) if start == "zero" else other
        for _ in range(100):
            weights = weights - rate * design.T @ (design @ weights - labels)
        if rank == min(rows, columns):
            for each in (pseudo_inverse_filter, gradient_descent_filter(rate, 10_000), ridge_filter(1e-10)):
                compare("least squares as a limit of filters", spectral_operator(design, each) @ labels, solution)
            compare(
                "descent as a filter", weights, spectral_operator(design, gradient_descent_filter(rate, 100)) @ labels
            )
        added = other - pseudo_inverse(design) @ (design @ other)
        norms.append([np.sum((solution + added) ** 2), np.sum(solution**2) + np.sum(added**2)])
    found = {name: (np.concatenate(one), np.concatenate(other)) for name, (one, other) in sides.items()}
    close: dict[str, Any] = dict(scale=3.0, condition=10.0, size=81.0)
    plain = ("projection on the row space", "least squares by the inverse", "descent as a filter")
    least = np.asarray(least)
    return {
        **{name: Identity(*found[name], **close) for name in plain},
        "Penrose's identities": Identity(
            *found["Penrose's identities"], aside=dict(zip(("left", "right"), found["rival"], strict=True)), **close
        ),
        # |σ/(σ² + c) − 1/σ| ≤ c for σ ≥ 1, and labels are of length ten at most.
        "least squares as a limit of filters": Identity(
            *found["least squares as a limit of filters"], error=1e-9, **close
        ),
        # Reciprocals up to a million, of numbers known to 1e-16 beside the largest.
        "small singular values": Identity(
            *found["small singular values"],
            scale=1e6,
            condition=1e6,
            size=81.0,
            aside={"truncated": found["truncated"][0]},
        ),
        "ridge": Identity(
            np.asarray(errors),
            ridges / (least[:, None] * (least[:, None] ** 2 + ridges)),
            along={"least singular value": least, "ridge": ridges},
            **close,
        ),
        "least norm of all solutions": Identity(*np.asarray(norms).T, condition=10.0, size=81.0),
    }


pseudo_inverses.control("gradient descent from another start", of="descent as a filter", start="random", matrices=2)


@pseudo_inverses.control("another inverse that solves every solvable system", of="Penrose's identities")
def any_solution(evidence):
    return replace(evidence, left=evidence.aside["left"], right=evidence.aside["right"])


@pseudo_inverses.control("singular values below a thousandth of the largest left at zero", of="small singular values")
def truncated(evidence):
    return replace(evidence, left=evidence.aside["truncated"])


@pseudo_inverses.control("δ/(σ² + δ), the error of a projection", of="ridge")
def error_of_a_projection(evidence):
    return replace(evidence, right=evidence.right * evidence.along["least singular value"][:, None])


@pseudo_inverses.picture
def ridge_error(pieces):
    """Distance in operator norm between (AAᵀ + δ)⁻¹A and its limit: each matrix and ridge, and the formula."""
    found = pieces["ridge"]
    least, ridges = found.along["least singular value"], np.geomspace(1e-4, 10, 120)
    lines = [Line(f"formula, σ = {s:g}", ridges, ridges / (s * (s * s + ridges))) for s in (1.0, 1.5, 2.0)]
    shown = [Dots("matrices", found.along["ridge"], each) for each in found.left[: min(len(least), 12)]]
    return Curves([*lines, *shown], x="ridge δ", y="error of the ridge's inverse", log="xy")


@claim(
    items={"J7.7": ("determinants", "nonzero eigenvalues", "number of zeros", "variance by either matrix")},
    says=r"$\det(I_m+AB)=\det(I_n+BA)$ for $A$ of size $m\times n$ and $B$ of size $n\times m$; $XX^\top/n$ and "
    r"$X^\top X/n$ have the same nonzero eigenvalues, the larger one $|p-n|$ zeros more; so for $p>n$ the variance of "
    r"ridgeless least squares is $\frac{\sigma^2}n\sum_i1/\lambda_{p-n+i}(\hat\Sigma)="
    r"\frac{\sigma^2}p\sum_i1/\lambda_i(X^\top X/p)$.",
    needs="X of full rank",
    symbols={
        r"A, B": "two matrices whose products in both orders are square",
        r"X": "the data, $p$ features in rows and $n$ samples in columns",
        r"\sigma^2": "the variance of the noise",
        r"\hat\Sigma": r"the sample covariance $XX^\top/n$",
        r"\lambda_i": "eigenvalues, in ascending order",
    },
    why=r"If $BAv=\lambda v$ with $\lambda\ne0$, then $Av$ is an eigenvector of $AB$ for the same $\lambda$: the "
    "nonzero eigenvalues are common, and the determinants of $I+AB$ and $I+BA$ are products over them. So the "
    r"variance of a fit with more features than samples can be read off the small matrix $X^\top X$, whose limiting "
    "spectrum is that of the problem with features and samples exchanged.",
    notice=r"The covariance of 40 features from 15 samples has 25 eigenvalues zero, and its other 15 lie on those of "
    "the matrix of inner products of the samples.",
)
def shared_spectrum(key, *, matrices: Annotated[int, Interval(ge=1, le=1000)] = 16, noise: Positive = 0.4):
    draw = generator(key)
    determinants, values, zeros, variances = [], [], [], []
    for _ in range(matrices):
        left, right = draw.integers(-3, 4, (3, 5)), draw.integers(-3, 4, (5, 3))
        small, large = np.eye(3, dtype=int) + left @ right, np.eye(5, dtype=int) + right @ left
        # Whole numbers below 1e9, which elimination in floating point misses by less than a millionth.
        other = np.eye(5, dtype=int) - right @ left
        determinants.append([round(np.linalg.det(each)) for each in (small, large, other)])
        x = draw.standard_normal((40, 15))
        outer, inner = np.linalg.eigvalsh(x @ x.T / 15), np.linalg.eigvalsh(x.T @ x / 15)
        values.append([outer[25:], inner])
        zeros.append([(abs(outer) < 1e-12 * outer[-1]).sum(), 40 - 15])
        chain = noise / 15 * (1 / outer[25:]).sum(), noise / 40 * (1 / np.linalg.eigvalsh(x.T @ x / 40)).sum()
        variances.append([*chain, float(conditional_bias_variance(x.T, np.ones(40), noise).variance)])
    chain = np.asarray(variances)
    return {
        "determinants": Exact(*np.asarray(determinants).T[:2], aside={"negative": np.asarray(determinants)[:, 2]}),
        "nonzero eigenvalues": Identity(*np.swapaxes(values, 0, 1), scale=10.0, size=40.0),
        "number of zeros": Exact(*np.asarray(zeros).T),
        "variance by either matrix": Identity(
            chain[:, :2], chain[:, 2:], condition=100.0, size=40.0, aside={"samples per feature": 15 / 40}
        ),
    }


@shared_spectrum.control("σ²/n before the eigenvalues of XᵀX/p", of="variance by either matrix")
def wrong_normalisation(evidence):
    return replace(evidence, left=evidence.left * np.asarray([1, 1 / evidence.aside["samples per feature"]]))


@shared_spectrum.control("the larger matrix without its zeros", of="number of zeros")
def no_zeros(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@shared_spectrum.control("det(I − BA), the sign of a product lost", of="determinants")
def other_sign(evidence):
    return replace(evidence, right=evidence.aside["negative"])


@shared_spectrum.picture
def both_spectra(pieces):
    """The eigenvalues of the p × p covariance and of the n × n matrix of inner products, for one draw, in order."""
    outer, inner = (
        np.asarray(side)[0] for side in (pieces["nonzero eigenvalues"].left, pieces["nonzero eigenvalues"].right)
    )
    none = int(np.asarray(pieces["number of zeros"].left)[0])
    places = np.arange(1, none + len(outer) + 1)
    return Curves(
        [
            Line("XᵀX/n, 15 × 15", places[none:], inner),
            Dots("XXᵀ/n, 40 × 40", places, np.append(np.zeros(none), outer)),
        ],
        x="place in ascending order",
        y="eigenvalue",
    )
