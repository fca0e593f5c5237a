"""Krylov spaces of a symmetric matrix that is known by its products: an orthonormal basis, grown one product at a time.

For eigenpairs the basis is kept whole and every new vector is made orthogonal to it, twice where the first time leaves
little (`expanded`): no eigenvalue comes back as a ghost. Each step reads the basis twice or four times, which from main
memory may take a fifth of a product with the Hessian of a network. Reference: Daniel, Gragg, Kaufman and Stewart 1976.
For quadratures two vectors are enough (`jacobi_coefficients`).

Why not a library: matfree makes as many Lanczos steps as are asked for beforehand, without restarts and without a stop
once a residual is small, and eigenpairs to a stated residual in bounded memory need both. lineax solves linear systems
and has no eigenvalues. For a trace, a diagonal or f(A)v of a fixed number of steps matfree serves as well: any product
here is a function of a vector, as it wants one.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

__all__ = ["Krylov", "expanded", "jacobi_coefficients", "krylov_start", "length", "ritz"]

SHORT = 0.25
"""the share of a product's length below which what is left of it is made orthogonal once more"""
EXHAUSTED = 64.0
"""What is left of a product, in units of its rounding error, when the space holds all that can be reached."""


class Krylov(NamedTuple):
    """An orthonormal basis in rows, the matrix in that basis, and the direction that comes next.

    `beta` is the length of what the last product had outside the basis; zero when nothing was left, and then
    `following` is zero too. `filled` counts the rows in use.
    """

    basis: Float[Array, "m p"]
    projected: Float[Array, "m m"]
    following: Float[Array, " p"]
    beta: Float[Array, ""]
    filled: Int[Array, ""]

    @property
    def alive(self) -> Bool[Array, ""]:
        """Whether a direction is left to go on with."""
        return self.beta > 0


def length(array: Float[Array, "..."]) -> Float[Array, ""]:
    """The root of the sum of squares, of numbers whose squares may be too large or too small for floating point."""
    largest = jnp.max(jnp.abs(array))
    unit = jnp.where(largest > 0, largest, 1)
    return unit * jnp.linalg.norm(jnp.ravel(array) / unit)


def krylov_start(start: Float[Array, " p"], size: int) -> Krylov:
    """The empty space that will grow from a vector, with room for `size` directions."""
    rows = jnp.zeros((size, start.size), start.dtype)
    unit = start / length(start)
    return Krylov(rows, jnp.zeros((size, size), start.dtype), unit, jnp.ones((), start.dtype), jnp.array(0))


def expanded(
    product: Callable[[Array], Array],
    space: Krylov,
    until: int | Int[Array, ""],
    enough: Callable[[Krylov], Bool[Array, ""]] | None = None,
) -> Krylov:
    """Grow a space by Lanczos steps until it has `until` directions, is `enough`, or nothing is left to grow into.

    Each step costs one product. The matrix in the basis is filled by columns: after a restart it is no longer
    tridiagonal in its first rows, and nothing here relies on that. At least one step is made.
    """
    begun = space.filled

    def unfinished(space: Krylov) -> Array:
        goes_on = (space.filled < until) & space.alive
        return goes_on if enough is None else goes_on & ((space.filled == begun) | ~enough(space))

    def step(space: Krylov) -> Krylov:
        at = space.filled
        # In place: `at[].set` looks at its bounds, and rewrites the whole basis at every step.
        basis = jax.lax.dynamic_update_index_in_dim(space.basis, space.following, at, 0)
        image = product(space.following)
        size = length(image)
        inside = basis @ image
        rest = image - inside @ basis
        # What is left of the basis is rounding of the image: it counts where little else is left. Twice is enough.
        again = lambda rest, inside: (rest - (more := basis @ rest) @ basis, inside + more)  # noqa: E731
        short = length(rest) < SHORT * size
        rest, inside = jax.lax.cond(short, again, lambda *same: same, rest, inside)
        left = length(rest)
        goes_on = left > EXHAUSTED * jnp.finfo(image.dtype).eps * size
        following = jnp.where(goes_on, rest / jnp.where(goes_on, left, 1), 0)
        projected = space.projected.at[at].set(inside).at[:, at].set(inside)
        return Krylov(basis, projected, following, jnp.where(goes_on, left, 0), at + 1)

    return jax.lax.while_loop(unfinished, step, space)


def ritz(space: Krylov, unused: Float[Array, ""]) -> tuple[Float[Array, " m"], Float[Array, "m m"]]:
    """Eigenvalues of the matrix in the basis, rising, and their vectors; rows not in use count as the value `unused`.

    It is chosen where it does no harm: on the other side of the first Rayleigh quotient than the value that is sought.
    """
    empty = jnp.where(jnp.arange(len(space.projected)) < space.filled, 0, unused)
    return jnp.linalg.eigh(space.projected + jnp.diag(empty))


def jacobi_coefficients(
    product: Callable[[Array], Array], start: Float[Array, " p"], steps: int
) -> tuple[Float[Array, " steps"], Float[Array, " steps"]]:
    """Diagonal α and what stands beside it, β, of the tridiagonal matrix that Lanczos makes from a vector.

    The Jacobi matrix of the spectral measure of `start`: its eigenvalues and the squared first entries of its vectors
    are the nodes and weights of Gauss quadrature. β after the last step is the length of what was left; from where
    nothing was left, both are zero.

    Nothing is made orthogonal again, and only two vectors are kept. In floating point an eigenvalue that has been found
    then comes back as ghosts, close copies that share its weight, and the new nodes that these would have been come
    some steps later: the quadrature stays right to rounding, polynomials to degree 2·steps − 1 included, and with
    steps beyond p it gets better still. Not for eigenpairs. Reference: Greenbaum 1989; Knizhnerman 1996.
    """

    def step(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        before, here, beta = carry
        rest = product(here) - beta * before
        alpha = here @ rest
        rest = rest - alpha * here
        left = length(rest)
        goes_on = left > EXHAUSTED * jnp.finfo(rest.dtype).eps * (jnp.abs(alpha) + beta)
        following = jnp.where(goes_on, rest / jnp.where(goes_on, left, 1), 0)
        beta = jnp.where(goes_on, left, 0)
        return (here, following, beta), (alpha, beta)

    unit = start / jnp.linalg.norm(start)
    return jax.lax.scan(step, (jnp.zeros_like(unit), unit, jnp.zeros((), unit.dtype)), length=steps)[1]
