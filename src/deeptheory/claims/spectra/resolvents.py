"""Resolvents: functions of a matrix as contour integrals of them, and how a change of rank one moves them."""

from dataclasses import replace
from typing import Annotated

import numpy as np
import scipy.linalg
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Trials, claim, parts
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Plane
from deeptheory.spectra.entries import draw_entries
from deeptheory.spectra.resolvents import (
    contour_function,
    contour_weight,
    leave_one_out_transforms,
    rank_one_solve,
    rank_one_trace_change,
    resolvent,
    spectral_function,
)
from deeptheory.spectra.spectral_measure import empirical_cdf, linear_statistic, sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import stieltjes_transform

PLACES = np.asarray([1 + 0.5j, 0.3 + 0.1j, -0.5 + 0.2j, 2.5 - 0.3j, 6 + 2j])
"""Points off the real line, in both half planes, over the spectrum and beside it."""


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


@functions_of_a_matrix.control("the powers of the mean eigenvalue for the means of powers", of="moments as traces")
def powers_of_the_mean(evidence):
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
        "J6.11": ("solution after the change", "resolvent after the change"),
        "J6.12": (
            "trace of the resolvent",
            "change of the trace at most 1/Im z",
            "numbers that attain 1/Im z",
            "one sample left out",
            "one sample moves the transform by at most 1/(N Im z)",
        ),
    },
    says=r"$(A+tvv^\top)^{-1}v=A^{-1}v/(1+t\langle v,A^{-1}v\rangle)$. A change $c\,vv^\top$ moves the trace of a "
    r"resolvent by $-c\langle v,R^2v\rangle/(1+c\langle v,Rv\rangle)$, at most $1/|\operatorname{Im}z|$ in modulus; "
    r"so leaving one sample out moves $S_N$ by at most $1/(N\operatorname{Im}z)$.",
    needs="A and A + t v vᵀ invertible; for the trace, A symmetric",
    symbols={
        r"A": "a matrix",
        r"v": r"a vector, and $vv^\top$ the matrix of rank one that is added",
        r"t,c": "how much of it is added",
        r"R": "the resolvent $(A-z)^{-1}$",
        r"z": "a point off the real line",
        r"S_N": r"the Stieltjes transform of a sample covariance in $N$ dimensions, the mean of $1/(\lambda-z)$",
    },
    why=r"$A+tvv^\top$ maps $A^{-1}v$ to $v$ times $1+t\langle v,A^{-1}v\rangle$, and that is the first formula. "
    "Adding a matrix of rank one moves the eigenvalues past one another by at most one place: the new ones lie "
    r"between the old. The points $1/(x-z)$ lie on a circle of diameter $1/|\operatorname{Im}z|$, on which their "
    "moves are disjoint arcs, all in one sense: in no direction do they get farther than a diameter. One number "
    r"moved from $\operatorname{Re}z-\operatorname{Im}z$ to $\operatorname{Re}z+\operatorname{Im}z$ attains it.",
    notice=r"The changes of the trace, in units of $1/\operatorname{Im}z$, stay inside the unit circle, and some come "
    "close to it. Next to the line most are small: only where an eigenvalue lies beside $z$ is much moved.",
)
def rank_one_changes(
    key,
    *,
    size: Annotated[int, Interval(ge=2, le=100)] = 12,
    matrices: Trials = 64,
):
    draw = generator(key)
    square, vector = draw.standard_normal((matrices, size, size)), draw.standard_normal((matrices, size))
    factor = draw.uniform(-2, 2, matrices)
    changed = square + factor[:, None, None] * vector[:, :, None] * vector[:, None]
    solved = np.linalg.solve(changed, vector[..., None])[..., 0]
    formula = rank_one_solve(square, vector, factor)
    plain = np.linalg.solve(square, vector[..., None])[..., 0]
    rival = plain / (1 + factor * np.einsum("ki,kij,kj->k", vector, square, vector))[:, None]
    condition = (np.linalg.cond(square) * np.linalg.cond(changed))[:, None]
    symmetric = (square + np.swapaxes(square, 1, 2)) / 2
    moved = symmetric + factor[:, None, None] * vector[:, :, None] * vector[:, None]
    places = draw.uniform(-2, 2, 4) + 1j * np.geomspace(0.03, 3, 4)
    after, origin = (stieltjes_transform(np.linalg.eigvalsh(each), places).T * size for each in (moved, symmetric))
    direct = after - origin
    traces = np.asarray([rank_one_trace_change(symmetric, vector, factor, z) for z in places])
    behind = [rank_one_solve(symmetric - z * np.eye(size), vector + 0j, factor) for z in places]
    before = [(resolvent(moved, z) @ vector[..., None])[..., 0] for z in places]
    # A number a moved to b: 1/(x − z) runs over a circle of diameter 1/Im z, of which these two are opposite points.
    numbers = [rank_one_trace_change(np.asarray([[z.real - z.imag]]), np.ones(1), 2 * z.imag, z) for z in places]
    few, many, low = 20, 2000, 1 + 0.02j
    x = draw.standard_normal((few, many))
    covariance = x @ x.T / many
    whole = stieltjes_transform(np.linalg.eigvalsh(covariance), low)
    chosen = np.arange(0, many, 10)
    without = np.linalg.eigvalsh(covariance - np.einsum("ik,jk->kij", x[:, chosen], x[:, chosen]) / many)
    left_out = stieltjes_transform(without, low)
    size_of = 1 / places.imag[:, None]
    return {
        "solution after the change": Identity(
            solved,
            formula,
            scale=abs(solved).max(1, keepdims=True),
            condition=condition,
            size=size,
            aside={"rival": rival},
        ),
        "resolvent after the change": Identity(
            parts(before),
            parts(behind),
            scale=parts(abs(np.asarray(before))).max((2, 3), keepdims=True),
            condition=1e4,
            size=size,
        ),
        "trace of the resolvent": Identity(
            parts(direct), parts(traces), scale=size_of[..., None], condition=1e3, size=size
        ),
        "change of the trace at most 1/Im z": Inequality(abs(direct), size_of * np.ones(matrices)),
        "numbers that attain 1/Im z": Identity(abs(np.asarray(numbers)), 1 / places.imag),
        "one sample left out": Identity(
            parts(leave_one_out_transforms(x, low)[chosen]),
            parts(left_out),
            scale=1 / low.imag,
            condition=100.0,
            size=few,
        ),
        "one sample moves the transform by at most 1/(N Im z)": Inequality(
            abs(left_out - whole),
            np.full(len(chosen), 1 / (few * low.imag)),
            along={"sample": chosen},
            aside={"dimensions per sample": few / many},
        ),
    }


@rank_one_changes.control("⟨v, Av⟩ in the denominator", of="solution after the change")
def without_the_inverse(evidence):
    return replace(evidence, right=evidence.aside["rival"])


@rank_one_changes.control(
    "1/(M Im z) for one sample left out", of="one sample moves the transform by at most 1/(N Im z)"
)
def over_the_samples(evidence):
    return replace(evidence, bound=evidence.bound * evidence.aside["dimensions per sample"])


@rank_one_changes.control("half of 1/|Im z| for drawn matrices", of="change of the trace at most 1/Im z")
def half_the_modulus(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@rank_one_changes.picture
def changes_of_the_trace(pieces):
    """Changes of the trace of the resolvent, complex numbers, times Im z; they stay in the unit disc."""
    found, height = (
        np.asarray(pieces["trace of the resolvent"].left),
        1 / np.asarray(pieces["numbers that attain 1/Im z"].right),
    )
    turn = np.linspace(0, 2 * np.pi, 200)
    marks = [Line("bound", np.cos(turn), np.sin(turn))]
    marks += [Dots(f"Im z = {v:.2g}", *(v * each).T) for v, each in zip(height, found, strict=True)]
    return Plane(marks, x="real part, times Im z", y="imaginary part, times Im z")


@rank_one_changes.control(
    "half of 1/|Im z|: points on the circle are at most a radius apart", of="numbers that attain 1/Im z"
)
def a_radius(evidence):
    return replace(evidence, right=evidence.right / 2)
