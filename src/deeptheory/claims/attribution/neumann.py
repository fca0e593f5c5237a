"""The Neumann series of an inverse: where it converges, and what its first terms miss."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.attribution.inverse_products import by_neumann_series, neumann_error
from deeptheory.curvature.operators import hessian
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line

TERMS = np.array([1, 2, 5, 20, 50])


def quadratic(weights, rows):
    return jnp.mean((rows @ weights) ** 2) / 2


def partial_sums(matrix, vectors, terms):
    """The first terms of the series for A⁻¹v, v in rows, from products with the Hessian of a quadratic loss."""
    # Rows √n·L of the loss ½‖Lᵀw‖², so that its Hessian is A = LLᵀ.
    curvature = hessian(quadratic, jnp.zeros(len(matrix)), len(matrix) ** 0.5 * np.linalg.cholesky(matrix).T)
    return np.stack(
        [by_neumann_series(curvature, jnp.asarray(vectors), scale=1.0, terms=int(r)).vectors for r in terms]
    )


@claim(
    items={
        "A10.5": "the whole series",
        "A10.6": "largest eigenvalue of the error",
        "A10.7": ("largest eigenvalue of the error", "error of an inverse product"),
    },
    says=r"For positive definite $A$ with $\lambda_{\max}<2$, $A^{-1}=\sum_{i\ge0}(I-A)^i$; with $\lambda_{\max}\le1$ "
    r"the first $r$ terms $S_r$ miss exactly $\lambda_{\max}(A^{-1}-S_r)=(1-\lambda_{\min})^r/\lambda_{\min}$, and "
    r"$S_rv$ needs $r-1$ products with $A$ and is within that times $\|v\|$.",
    needs="largest eigenvalue below 2 for convergence, at most 1 for the error",
    symbols={
        "A": "the matrix, such as a Hessian; known by its products",
        r"\lambda_{\max}, \lambda_{\min}": "largest and least eigenvalue",
        "S_r": "the first $r$ terms of the series",
        "v": "a vector",
    },
    why=r"In the eigenbasis the series is a geometric one for each eigenvalue, $\sum(1-\lambda)^i=1/\lambda$, which "
    r"converges if $|1-\lambda|<1$. Its tail after $r$ terms is $(1-\lambda)^r/\lambda$, largest at the least "
    r"eigenvalue. The first term is $v$ itself; each further one is $v_{j+1}=v+(I-A)v_j$, "
    "one product.",
    notice="Errors fall geometrically, at the pace of the least eigenvalue alone; counting one term too many shifts "
    "the line.",
    explore={"least": (0.02, 0.05, 0.1, 0.3)},
)
def neumann_series(
    key,
    *,
    least: Annotated[float, Interval(ge=0.02, le=0.5)] = 0.05,
    largest: Annotated[float, Interval(ge=0.6, le=2.1)] = 1.5,
):
    draw = generator(key)
    basis = np.linalg.qr(draw.standard_normal((6, 6)))[0]
    low, wide = (np.append([least], draw.uniform(least, 1, 4)) for _ in range(2))
    matrix, other = ((basis * np.append(values, top)) @ basis.T for values, top in ((low, 1.0), (wide, largest)))
    sums = partial_sums(matrix, np.eye(6), TERMS)
    inverse = (basis / np.append(low, 1.0)) @ basis.T
    errors = inverse - (sums + np.swapaxes(sums, 1, 2)) / 2
    top = np.linalg.eigvalsh(errors)[:, -1]
    vectors = np.concatenate([basis[:, :1].T, draw.standard_normal((3, 6))])  # the slowest direction, and some others
    found = partial_sums(matrix, vectors, TERMS)
    missed = np.linalg.norm(vectors @ inverse - found, axis=2)
    bound = np.array([neumann_error(least, int(r)) for r in TERMS])
    lengths = np.linalg.norm(vectors, axis=1)
    many = int(np.ceil(36 / least))  # (1 − λ)^r below rounding
    whole = partial_sums(other, np.eye(6), [many])[0]
    return {
        "the whole series": Identity(whole, (basis / np.append(wide, largest)) @ basis.T, scale=1 / least, size=many),
        "largest eigenvalue of the error": Identity(top, bound, scale=1 / least, size=TERMS * 6.0, along={"r": TERMS}),
        "error of an inverse product": Inequality(
            missed,
            bound[:, None] * lengths,
            error=1e-13 / least,
            along={"r": TERMS, "v": np.array(["slowest", "random", "random ", "random  "])},
        ),
    }


neumann_series.control("a largest eigenvalue of 2.1", of="the whole series", largest=2.1)


@neumann_series.control("one term more is counted", of="largest eigenvalue of the error")
def one_term_more(evidence):
    least = 1 / np.asarray(evidence.scale)
    return replace(evidence, right=evidence.right * (1 - least))


@neumann_series.control("one term more is counted in the bound", of="error of an inverse product")
def one_product_more(evidence):
    # The bound falls by 1 − λ_min a term.
    bound = np.asarray(evidence.bound)
    pace = (bound[1] / bound[0]) ** (1 / (TERMS[1] - TERMS[0]))
    return replace(evidence, bound=bound * pace)


@neumann_series.picture
def geometric_fall(pieces, settings):
    """Largest eigenvalue of what the first r terms miss, with the geometric law."""
    piece, least = pieces["largest eigenvalue of the error"], settings["least"]
    r = np.linspace(0, TERMS[-1], 60)
    marks = [
        Line("(1 − λ)^r / λ", r, (1 - least) ** r / least),
        Line("(1 − λ)^r / λ", r, (1 - least) ** (r + 1) / least, rival="one term more"),
        Dots("seen", TERMS, piece.left),
    ]
    return Curves(marks, x="terms r", y="largest eigenvalue of the error", log="y")
