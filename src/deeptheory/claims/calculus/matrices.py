"""Spans, traces, orders and singular vectors of matrices (lucchi 1.1, 1.4)."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from deeptheory.calculus.matrices import (
    characteristic_polynomial,
    loewner_order,
    rank_one_terms,
    spectrum,
    subspaces,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Dots, Line, Plane, Row, Table


def determinant(rows):
    """The determinant of a matrix of whole numbers, by expansion along the first row."""
    if len(rows) == 1:
        return int(rows[0][0])
    return sum((-1) ** j * int(rows[0][j]) * determinant(np.delete(rows[1:], j, 1)) for j in range(len(rows)))


def largest_minor(a):
    """The rank by definition: the size of the largest square part with a determinant that is not zero."""
    return max(
        (k for k in range(1, min(a.shape) + 1) for rows in combinations(range(a.shape[0]), k)
         for columns in combinations(range(a.shape[1]), k) if determinant(a[np.ix_(rows, columns)])),
        default=0,
    )  # fmt: skip


def without_negative_minors(a):
    """Whether all principal minors are at least zero, which for symmetric matrices is positive semidefinite."""
    every = (list(each) for k in range(1, len(a) + 1) for each in combinations(range(len(a)), k))
    return all(determinant(a[np.ix_(each, each)]) >= 0 for each in every)


def with_eigenvalues(rng, values):
    """A matrix of whole numbers with the given eigenvalues, and no more eigenvectors than it must have."""
    lower = np.tril(rng.integers(-2, 3, (len(values),) * 2), -1) + np.eye(len(values), dtype=int)
    triangle = np.diag(values) + np.triu(rng.integers(-2, 3, (len(values),) * 2), 1)
    return lower @ triangle @ np.round(np.linalg.inv(lower)).astype(int)


@claim(
    items={
        "L1.1": "dimension of a span",
        "L1.11": ("traces", "number of distinct eigenvalues"),
        "L1.12": "which matrix is larger",
    },
    says=r"The rank of a matrix is the size of its largest minor that is not zero. $\mathrm{tr}\,AB=\mathrm{tr}\,BA$, "
    r"and $\mathrm{tr}\,A=\sum\lambda_i$. The distinct eigenvalues are the distinct roots of $\det(A-\lambda I)$. "
    r"$A\succeq B$ if and only if no principal minor of $A-B$ is negative.",
    needs="matrices of small whole numbers, where all of this is decided exactly",
    symbols={
        r"\mathrm{tr}": "the sum of the diagonal",
        r"\lambda_i": "eigenvalues, as often as they are roots of the characteristic polynomial",
        r"A\succeq B": r"$u^\top(A-B)u\ge0$ for all $u$, the Loewner order of symmetric matrices",
        r"\text{minor}": "the determinant of a square part; principal if its rows and columns have the same numbers",
    },
    why=r"Both traces of products are $\sum_{ij}A_{ij}B_{ji}$. The second coefficient of the characteristic "
    r"polynomial is minus the trace, and also minus the sum of its roots. A root may be multiple, so there can be "
    r"fewer distinct eigenvalues than rows; how many has nothing to do with the multiplicity of any one. The order "
    r"asks for all directions at once, so comparing eigenvalues one by one is not enough: the eigenvectors may differ.",
    notice=r"Ellipses $u^\top A^{-1}u=1$ of three matrices: the larger contains the smaller. Two of them cross, and "
    r"neither of those is larger, though the eigenvalues of one are larger one by one.",
)
def spans_traces_and_orders(key, *, trials: Trials = 40):
    rng = generator(key)
    flat = [rng.integers(-2, 3, (4, r)) @ rng.integers(-1, 2, (r, 4)) for r in rng.integers(1, 4, trials)]
    parallel = [len({tuple(c / c[np.flatnonzero(c)[0]]) for c in a.T if c.any()}) for a in flat]
    left, right = rng.integers(-4, 5, (trials, 3, 5)), rng.integers(-4, 5, (trials, 5, 3))
    squares = left @ right
    roots = rng.integers(-2, 3, (trials, 4))
    found = [spectrum(with_eigenvalues(rng, each).astype(float)) for each in roots]
    ones, others = ([(s + s.T).astype(float) for s in rng.integers(-2, 3, (trials, 3, 3))] for _ in range(2))
    raised = [a + 4 * np.eye(3) * (i % 3) for i, a in enumerate(ones)]
    larger = [without_negative_minors(a - b) for a, b in zip(raised, others, strict=True)]
    sorted_ = [
        bool((np.linalg.eigvalsh(a) >= np.linalg.eigvalsh(b) - 1e-9).all()) for a, b in zip(raised, others, strict=True)
    ]
    sums = [-int(characteristic_polynomial(a.astype(float))[1]) for a in squares]
    return {
        "dimension of a span": Exact(
            np.array([subspaces(a.astype(float)).rank for a in flat]),
            np.array([largest_minor(a) for a in flat]),
            aside={"directions": np.array(parallel)},
        ),
        "traces": Exact(
            np.stack([np.trace(squares, axis1=1, axis2=2), sums]),
            np.stack([np.trace(right @ left, axis1=1, axis2=2)] * 2),
            aside={"transposed": np.einsum("nij,nij->n", left, np.swapaxes(right, 1, 2)[:, ::-1])},
        ),
        "number of distinct eigenvalues": Exact(
            np.array([len(each.values) for each in found]),
            np.array([len(set(each)) for each in roots]),
            aside={"multiplicity": np.array([each.algebraic[0] for each in found])},
        ),
        "which matrix is larger": Exact(
            np.array([loewner_order(a, b).relation in ("≽", "=") for a, b in zip(raised, others, strict=True)]),
            np.array(larger),
            aside={"one by one": np.array(sorted_)},
        ),
    }


@spans_traces_and_orders.control("as many dimensions as the vectors have directions", of="dimension of a span")
def directions(evidence):
    return replace(evidence, right=np.minimum(evidence.aside["directions"], 4))


@spans_traces_and_orders.control("the rows of one factor in the other order", of="traces")
def reversed_rows(evidence):
    return replace(evidence, right=np.stack([evidence.aside["transposed"]] * 2))


@spans_traces_and_orders.control(
    "as many distinct eigenvalues as the multiplicity of λ as a root, as printed",
    erratum="L1.11a",
    of="number of distinct eigenvalues",
)
def multiplicity(evidence):
    return replace(evidence, right=evidence.aside["multiplicity"])


@spans_traces_and_orders.control("larger if its eigenvalues are, one by one", of="which matrix is larger")
def one_by_one(evidence):
    return replace(evidence, right=evidence.aside["one by one"])


@spans_traces_and_orders.picture
def ellipses(pieces):
    """Ellipses of three positive definite matrices: one contains the two others, which cross each other."""
    angles = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    shown = {"diag(4, 4)": np.diag([4.0, 4]), "diag(3, 1)": np.diag([3.0, 1]), "diag(0.8, 2.5)": np.diag([0.8, 2.5])}
    marks = [Line(name, *(np.sqrt(np.diag(a))[:, None] * circle)) for name, a in shown.items()]
    names = list(shown)
    compared = [(one, other, loewner_order(shown[one], shown[other]).relation) for one, other in combinations(names, 2)]
    table = Table({"A": [c[0] for c in compared], "relation": [c[2] for c in compared], "B": [c[1] for c in compared]})
    return Row([Plane(marks, x="first coordinate", y="second coordinate"), table])


@claim(
    items={
        "L1.13": (
            "vectors are mapped to vectors",
            "singular values",
            "bases of the column space",
            "sum of rank-one parts",
        ),
    },
    says=r"$A=UDV^\top$ maps $v_i$ to $\sigma_iu_i$, and $A^\top$ maps $u_i$ back to $\sigma_iv_i$; $\sigma_i^2$ are "
    r"the eigenvalues of $A^\top A$. The first $\mathrm{rank}(A)$ columns of $U$ are a basis of the column space, and "
    r"$A=\sum_{i\le r}\sigma_iu_iv_i^\top$.",
    needs="real 5 × 4 matrices of rank 2, with the vectors of NumPy's decomposition",
    symbols={
        r"u_i,\ v_i": "columns of the orthogonal matrices $U$ and $V$, the singular vectors",
        r"\sigma_i": "singular values, the diagonal of $D$, largest first",
        r"r": "the rank of $A$, the number of singular values that are not zero",
    },
    why=r"$A^\top A$ is symmetric, so it has orthonormal eigenvectors $v_i$; their images are orthogonal again, since "
    r"$\langle Av_i,Av_j\rangle=\langle v_i,A^\top Av_j\rangle$, and have length $\sigma_i$. Where $\sigma_i=0$ the "
    r"image is zero, and $u_i$ only fills up the basis: it is orthogonal to the column space instead of lying in it.",
    notice=r"A disc with two marked directions through the three steps: $V^\top$ turns (or reflects) it, $D$ "
    r"stretches it along the axes, $U$ turns it again. The axes of the ellipse are $\sigma_iu_i$.",
)
def singular_vectors(key, *, trials: Trials = 16):
    rng = generator(key)
    matrices = rng.normal(size=(trials, 5, 2)) @ rng.normal(size=(trials, 2, 4))
    left, values, right = np.linalg.svd(matrices)
    spans = [subspaces(a) for a in matrices]
    joined = [
        np.linalg.matrix_rank(np.hstack([a, each.columns]), tol=1e-9) for a, each in zip(matrices, spans, strict=True)
    ]
    whole = [np.linalg.matrix_rank(np.hstack([a, u]), tol=1e-9) for a, u in zip(matrices, left, strict=True)]
    grams = np.linalg.eigvalsh(np.swapaxes(matrices, 1, 2) @ matrices)[:, ::-1]
    size = np.linalg.norm(matrices, axis=(1, 2))[:, None, None]
    # A rank-one sum from the eigenvectors of AᵀA alone: Σ A vᵢvᵢᵀ.
    vectors = np.linalg.eigh(np.swapaxes(matrices, 1, 2) @ matrices)[1][:, :, ::-1][:, :, :2]
    return {
        "vectors are mapped to vectors": Identity(
            np.concatenate(
                [
                    np.swapaxes(matrices @ np.swapaxes(right, 1, 2), 1, 2),
                    np.swapaxes(np.swapaxes(matrices, 1, 2) @ left[:, :, :4], 1, 2),
                ],
                2,
            ),
            np.concatenate([np.swapaxes(left[:, :, :4] * values[:, None], 1, 2), right * values[:, :, None]], 2),
            scale=size,
            size=20,
            aside={"inverse": np.concatenate([np.swapaxes(left[:, :, :4], 1, 2), right], 2)},
        ),
        "singular values": Identity(
            values[:, :2] ** 2, grams[:, :2], scale=grams[:, :1], size=20, aside={"values": values[:, :2]}
        ),
        "bases of the column space": Exact(
            np.array(joined),
            np.array([np.linalg.matrix_rank(a, tol=1e-9) for a in matrices]),
            aside={"all": np.array(whole)},
        ),
        "sum of rank-one parts": Identity(
            np.array([rank_one_terms(a)[:2].sum(0) for a in matrices]),
            matrices @ vectors @ np.swapaxes(vectors, 1, 2),
            scale=size,
            size=40,
            condition=100.0,  # eigenvectors of AᵀA, whose gap is a square
            aside={"first": np.array([rank_one_terms(a)[0] for a in matrices])},
        ),
    }


@singular_vectors.control("vectors mapped to unit vectors", of="vectors are mapped to vectors")
def unit_images(evidence):
    return replace(evidence, right=evidence.aside["inverse"])


@singular_vectors.control("singular values are eigenvalues of AᵀA, without the root", of="singular values")
def no_root(evidence):
    return replace(evidence, left=evidence.aside["values"])


@singular_vectors.control(
    "all columns of U are a basis of the column space, as printed", erratum="L1.13b", of="bases of the column space"
)
def all_columns(evidence):
    return replace(evidence, left=evidence.aside["all"])


@singular_vectors.control("one part fewer", of="sum of rank-one parts")
def one_fewer(evidence):
    return replace(evidence, left=evidence.aside["first"])


@singular_vectors.picture
def three_steps(pieces):
    """The unit disc and two marked directions: as they are, after Vᵀ, after D, and after U."""
    a = np.array([[1.2, 0.8], [-0.2, 0.9]])
    u, values, vt = np.linalg.svd(a)
    angles = np.linspace(0, 2 * np.pi, 121)
    disc = np.stack([np.cos(angles), np.sin(angles)])
    panels = []
    for name, step in {"the disc": np.eye(2), "Vᵀ": vt, "D Vᵀ": np.diag(values) @ vt, "U D Vᵀ = A": a}.items():
        marks: list[Line | Dots] = [Line("disc", *(step @ disc))]
        for number, vector in enumerate(np.eye(2), 1):
            end = step @ vector
            marks.append(Line(f"image of e{number}", [0, end[0]], [0, end[1]], arrow=True))
        if name.endswith("A"):
            marks.append(Dots("σu", *(u * values)))
        panels.append(Plane(marks, x="first coordinate", y="second coordinate", title=name, xs=(-2, 2), ys=(-2, 2)))
    return Row(panels)
