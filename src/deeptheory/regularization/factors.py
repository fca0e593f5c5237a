"""Factors of a matrix, M = U Vᵀ: the least dropout penalty among them, and the rotations that reach it.

`width` is d₁, the number of columns of both factors.

Reference: arora Thm 11.1.1; Mianjy, Arora and Vidal 2018.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, traced
from deeptheory.foundations.entrances import doors
from deeptheory.regularization.sensing import expected_dropout_regularizer

__all__ = [
    "balanced_factors",
    "equalization_defect",
    "equalize",
    "equalized_factors",
    "induced_regularizer",
    "nuclear_norm",
    "nuclear_norm_chain",
    "unequalizable_residual",
]

Rationals = Sequence[Sequence[int | Fraction]]


def nuclear_norm(matrix: Float[AnyArray, "rows columns"]) -> Float[Array, ""]:
    """Return the sum of the singular values. Reference: Horn and Johnson 2013, Matrix Analysis, 7.4."""
    return jnp.sum(jnp.linalg.svd(matrix, compute_uv=False))


def induced_regularizer(matrix: Float[AnyArray, "d2 d0"], width: int) -> Float[Array, ""]:
    """Return the least expected regularizer over all factors of M, Θ(M) = ‖M‖²_*/d₁ with ‖·‖_* the nuclear norm.

    For Gaussian measurements and d₁ ≥ rank M; below the rank there are no factors, which is said unless M is traced.
    arora eq. 11.6.
    """
    _wide_enough(matrix, width)
    return nuclear_norm(matrix) ** 2 / width


def _wide_enough(matrix: Float[AnyArray, "d2 d0"], width: int) -> None:
    if not traced(matrix, width) and width < min(matrix.shape):
        singular = np.linalg.svd(np.asarray(matrix), compute_uv=False)
        if (rank := int(np.sum(singular > 1e-6 * singular[0]))) > width:
            raise ValueError(
                f"width must be at least the rank of the matrix, {rank}, or it has no factors; got {width}"
            )


def nuclear_norm_chain(left: Float[AnyArray, "d2 d1"], right: Float[AnyArray, "d0 d1"]) -> dict[str, Float[Array, ""]]:
    """Return the four members of R ≥ (Σ‖uⱼ‖‖vⱼ‖)²/d₁ = (Σ‖uⱼvⱼᵀ‖_*)²/d₁ ≥ ‖U Vᵀ‖²_*/d₁, each by its own definition.

    The first step is Cauchy–Schwarz, the second that a rank-one matrix has one singular value, the third the triangle
    inequality. arora, proof of eq. 11.6.
    """
    width = left.shape[1]
    products = jnp.linalg.norm(left, axis=0) * jnp.linalg.norm(right, axis=0)
    rank_one = jax.vmap(lambda u, v: nuclear_norm(jnp.outer(u, v)))(jnp.asarray(left).T, jnp.asarray(right).T)
    return {
        "regularizer": expected_dropout_regularizer(left, right),
        "cauchy_schwarz": jnp.sum(products) ** 2 / width,
        "rank_one": jnp.sum(rank_one) ** 2 / width,
        "triangle": induced_regularizer(left @ right.T, width),
    }


def balanced_factors(
    matrix: Float[AnyArray, "d2 d0"], width: Annotated[int, "[1, 1e4]"]
) -> tuple[Float[Array, "d2 {width}"], Float[Array, "d0 {width}"]]:
    """Split a matrix M = W S Yᵀ evenly, U = W S^½ and V = Y S^½, with zero columns up to the width.

    Then UᵀU = VᵀV = S. The book's compact decomposition has only rank M columns; the padding is what lets a rotation of
    d₁ columns act. A width below the number of singular values keeps the largest. arora, proof of Thm 11.1.1.
    """
    rotation, singular, reflection = jnp.linalg.svd(matrix, full_matrices=False)
    kept = min(width, singular.shape[0])
    root = jnp.sqrt(singular[:kept])
    padding = ((0, 0), (0, width - kept))
    return jnp.pad(rotation[:, :kept] * root, padding), jnp.pad(reflection[:kept].T * root, padding)


def equalize(gram: Float[AnyArray, "d d"]) -> Float[np.ndarray, "d d"]:
    """Return a rotation Q, det Q = 1, for which Qᵀ G Q has a constant diagonal, whatever the symmetric matrix G.

    The mean of the eigenvectors of the traceless part is a direction in which that part vanishes; a reflection takes
    the first axis there, and the remaining block is traceless again. The reflections alone may give det Q = −1, which
    the last column's sign repairs. NumPy, one small eigenproblem a step: O(d⁴).

    On the host only: many rotations do this, and which one is found hangs on the order and the signs of eigenvectors,
    so that it jumps as G moves and has no derivative that would mean something. The diagonal it gives is tr G/d.

    Reference: arora, proof of Thm 11.1.1.
    """
    gram = np.asarray(gram)
    if not np.allclose(gram, gram.T, rtol=0, atol=1e-8 * (1 + np.abs(gram).max())):
        raise ValueError("gram must be symmetric")
    size = gram.shape[0]
    rotation = np.eye(size, dtype=gram.dtype)
    block = gram - np.trace(gram) / size * np.eye(size, dtype=gram.dtype)
    for step in range(size - 1):
        direction = np.linalg.eigh(block)[1].sum(axis=1)
        direction /= np.linalg.norm(direction)
        # The sign that keeps the reflection vector long: no cancellation when the direction is already the first axis.
        if direction[0] > 0:
            direction = -direction
        normal = -direction
        normal[0] += 1
        reflection = np.eye(len(normal), dtype=gram.dtype) - 2 * np.outer(normal, normal) / (normal @ normal)
        rotation[:, step:] = rotation[:, step:] @ reflection
        block = (reflection @ block @ reflection)[1:, 1:]
    if np.linalg.det(rotation) < 0:
        rotation[:, -1] *= -1
    return rotation


def equalized_factors(
    matrix: Float[AnyArray, "d2 d0"], width: Annotated[int, "[1, 300]"]
) -> tuple[Float[Array, "d2 {width}"], Float[Array, "d0 {width}"]]:
    """Return factors of M at which the expected regularizer equals Θ(M): every column has squared norm ‖M‖_*/d₁.

    arora Thm 11.1.1, for the balanced factors of M rather than for the pair one happens to have. Needs d₁ ≥ rank M. On
    the host only, as `equalize`; Θ(M) itself, `induced_regularizer`, has derivatives.
    """
    _wide_enough(matrix, width)
    left, right = balanced_factors(matrix, width)
    rotation = equalize(left.T @ left)
    return left @ rotation, right @ rotation


def unequalizable_residual(
    left: Float[AnyArray, "*batch 2 2"],
    right: Float[AnyArray, "*batch 2 2"],
    *,
    angles: int = 64,
    refinements: int = 30,
) -> Float[Array, "*batch"]:
    """Return how far the best rotation leaves a pair of 2×2 factors from equal column products.

    min over rotations Q of max over columns j of | ‖(UQ)ⱼ‖‖(VQ)ⱼ‖ − ‖U Vᵀ‖_*/2 |, by a grid of angles and a
    golden-section search around its best point: an upper bound on the minimum, and no proof that it is not zero (see
    `equalization_defect` for that). A quarter turn only swaps the columns, so half of it covers everything.
    """
    target = jnp.sum(jnp.linalg.svd(left @ jnp.swapaxes(right, -1, -2), compute_uv=False), axis=-1) / 2

    def worst(angle):
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        rotation = jnp.stack([jnp.stack([cosine, -sine], -1), jnp.stack([sine, cosine], -1)], -2)
        products = jnp.linalg.norm(left @ rotation, axis=-2) * jnp.linalg.norm(right @ rotation, axis=-2)
        return jnp.max(jnp.abs(products - target[..., None]), axis=-1)

    grid = jnp.linspace(0, jnp.pi / 2, angles, endpoint=False)
    values = jax.vmap(lambda angle: worst(jnp.broadcast_to(angle, target.shape)))(grid)
    best = grid[jnp.argmin(values, axis=0)]
    golden = (5**0.5 - 1) / 2

    def shrink(_, bracket):
        low, high = bracket
        inner_low, inner_high = high - golden * (high - low), low + golden * (high - low)
        smaller = worst(inner_low) < worst(inner_high)
        return jnp.where(smaller, low, inner_low), jnp.where(smaller, inner_high, high)

    step = jnp.pi / 2 / angles
    low, high = jax.lax.fori_loop(0, refinements, shrink, (best - step, best + step))
    return jnp.minimum(jnp.min(values, axis=0), worst((low + high) / 2))


def equalization_defect(left: Rationals, right: Rationals) -> Fraction:
    """Decide in rational arithmetic whether some rotation gives a pair of 2×2 factors equal column products ‖U Vᵀ‖_*/2.

    Zero exactly when one does. With ‖Uq‖² = a + x·e and ‖Vq‖² = b + y·e, where e is the unit vector at twice the angle
    of q, the second column has −e, so both products equal t exactly when e ⊥ a y + b x and (x·e)(y·e) = t² − a b. The
    first equation fixes e up to sign, and 4t² = ‖M‖² + 2|det M| is rational; what is left of the second is returned.
    """
    (u11, u12), (u21, u22) = [[Fraction(entry) for entry in row] for row in left]
    (v11, v12), (v21, v22) = [[Fraction(entry) for entry in row] for row in right]

    def halves(first, cross, second):
        return (first + second) / 2, ((first - second) / 2, cross)

    a, x = halves(u11**2 + u21**2, u11 * u12 + u21 * u22, u12**2 + u22**2)
    b, y = halves(v11**2 + v21**2, v11 * v12 + v21 * v22, v12**2 + v22**2)
    matrix = [[p * r + q * s for r, s in ((v11, v12), (v21, v22))] for p, q in ((u11, u12), (u21, u22))]
    determinant = matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0]
    square = (sum(entry**2 for row in matrix for entry in row) + 2 * abs(determinant)) / 4
    wanted = square - a * b
    normal = (a * y[0] + b * x[0], a * y[1] + b * x[1])
    length = normal[0] ** 2 + normal[1] ** 2
    if length:
        return (x[0] * -normal[1] + x[1] * normal[0]) * (y[0] * -normal[1] + y[1] * normal[0]) / length - wanted
    # a y = −b x: every direction meets the first equation, and (x·e)(y·e) takes all values from −(b/a)|x|² to 0.
    lowest = -(b / a) * (x[0] ** 2 + x[1] ** 2) if a else Fraction(0)
    return min(Fraction(0), wanted - lowest) if wanted < 0 else wanted


doors(__name__, width="[1, ∞)", angles="[1, 1e4]", refinements="[0, 1000]")
