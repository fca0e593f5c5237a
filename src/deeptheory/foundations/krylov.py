"""Krylov spaces of a symmetric matrix that is known by its products: an orthonormal basis, grown one product at a time.

The basis is kept whole and every new vector is made orthogonal to it, twice where the first time leaves little. That
costs 4mp to 8mp operations a step, little beside a product with the Hessian of a network, and no eigenvalue comes back
as a ghost. Reference: Daniel, Gragg, Kaufman and Stewart 1976.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

__all__ = ["Krylov", "expanded", "krylov_start", "ritz"]

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


def krylov_start(start: Float[Array, " p"], size: int) -> Krylov:
    """The empty space that will grow from a vector, with room for `size` directions."""
    rows = jnp.zeros((size, start.size), start.dtype)
    unit = start / jnp.linalg.norm(start)
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
        size = jnp.linalg.norm(image)
        inside = basis @ image
        rest = image - inside @ basis
        # What is left of the basis is rounding of the image: it counts where little else is left. Twice is enough.
        again = lambda rest, inside: (rest - (more := basis @ rest) @ basis, inside + more)  # noqa: E731
        short = jnp.linalg.norm(rest) < SHORT * size
        rest, inside = jax.lax.cond(short, again, lambda *same: same, rest, inside)
        length = jnp.linalg.norm(rest)
        goes_on = length > EXHAUSTED * jnp.finfo(image.dtype).eps * size
        following = jnp.where(goes_on, rest / jnp.where(goes_on, length, 1), 0)
        projected = space.projected.at[at].set(inside).at[:, at].set(inside)
        return Krylov(basis, projected, following, jnp.where(goes_on, length, 0), at + 1)

    return jax.lax.while_loop(unfinished, step, space)


def ritz(space: Krylov, unused: Float[Array, ""]) -> tuple[Float[Array, " m"], Float[Array, "m m"]]:
    """Eigenvalues of the matrix in the basis, rising, and their vectors; rows not in use count as the value `unused`.

    It is chosen where it does no harm: on the other side of the first Rayleigh quotient than the value that is sought.
    """
    empty = jnp.where(jnp.arange(len(space.projected)) < space.filled, 0, unused)
    return jnp.linalg.eigh(space.projected + jnp.diag(empty))
