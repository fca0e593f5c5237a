"""Singular vectors and what they span (lucchi 1.4)."""

from dataclasses import replace

import numpy as np

from deeptheory.calculus.matrices import rank_one_terms, subspaces
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Dots, Line, Plane, Row, Stack

SIGNED = np.array([3.0, -2.0, 1.2, -0.5])
"""eigenvalues of symmetric matrices, up to a tenth"""


@claim(
    items={
        "L1.13": (
            "vectors are mapped to vectors",
            "singular values",
            "bases of the column space",
            "sum of rank-one parts",
            "symmetric matrices",
        ),
        "L1.21": "vectors are mapped to vectors",
    },
    says=r"$A=UDV^\top$ maps $v_i$ to $\sigma_iu_i$, and $A^\top$ maps $u_i$ back to $\sigma_iv_i$; $\sigma_i^2$ are "
    r"the eigenvalues of $A^\top A$. The first $\mathrm{rank}(A)$ columns of $U$ are a basis of the column space, and "
    r"$A=\sum_{i\le r}\sigma_iu_iv_i^\top$. If $A=A^\top$, then $\sigma_i=|\lambda_i|$ and "
    r"$u_i=\mathrm{sign}(\lambda_i)v_i$.",
    needs="real 5 × 4 matrices of rank 2, with the vectors of NumPy's decomposition; symmetric 4 × 4 matrices with "
    "eigenvalues of both signs and of different size",
    symbols={
        r"u_i,\ v_i": "columns of the orthogonal matrices $U$ and $V$, the singular vectors",
        r"\sigma_i": "singular values, the diagonal of $D$, largest first",
        r"r": "the rank of $A$, the number of singular values that are not zero",
        r"\lambda_i": "the eigenvalues of a symmetric $A$, those of largest size first",
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
    # Sizes at least a tenth apart, in random directions: the trace of σuvᵀ is σ⟨u, v⟩.
    turned, wanted = np.linalg.qr(rng.normal(size=(trials, 4, 4)))[0], SIGNED * rng.uniform(0.9, 1.1, (trials, 4))
    symmetric = np.einsum("nij,nj,nkj->nik", turned, wanted, turned)
    parts = [np.trace(rank_one_terms((a + a.T) / 2), axis1=1, axis2=2) for a in symmetric]
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
            np.array([joined, [each.columns.shape[1] for each in spans]]),
            np.array([[np.linalg.matrix_rank(a, tol=1e-9) for a in matrices]] * 2),
            along={"of": ["columns with those of A", "columns alone"], "matrix": np.arange(trials)},
            aside={"all": np.array([whole, [len(u) for u in left]])},
        ),
        "sum of rank-one parts": Identity(
            np.array([rank_one_terms(a)[:2].sum(0) for a in matrices]),
            matrices @ vectors @ np.swapaxes(vectors, 1, 2),
            scale=size,
            size=40,
            condition=100.0,  # eigenvectors of AᵀA, whose gap is a square
            aside={"first": np.array([rank_one_terms(a)[0] for a in matrices])},
        ),
        "symmetric matrices": Identity(np.array(parts), wanted, scale=np.abs(SIGNED).max(), size=40),
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


@singular_vectors.control("U = V for every symmetric matrix", of="symmetric matrices")
def without_signs(evidence):
    return replace(evidence, right=np.abs(evidence.right))


@singular_vectors.control("λᵢ with its sign, both sorted from the largest on", of="symmetric matrices")
def both_sorted(evidence):
    return replace(evidence, right=-np.sort(-np.asarray(evidence.right), axis=1))


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
    return Stack([Row(panels[:2]), Row(panels[2:])])
