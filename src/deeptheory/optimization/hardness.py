"""Functions that no method minimizes fast: a hidden valley, and a polynomial that asks for a satisfying assignment."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["Haystack", "SatisfiabilityPolynomial", "satisfiability_polynomial"]


class Haystack(eqx.Module):
    """A linear function on the cube with a valley of radius below ½ hidden at one corner.

    f(x) = Σx_i − depth·(1 − |x − v|²/r²)³₊: outside the ball of `radius` r around the `hidden` corner v the gradient is
    (1, …, 1), whatever v, so that a query there says only that v is not near.

    Reference: arora 2.5.1.
    """

    hidden: Float[AnyArray, "n"]
    radius: float = 0.4
    depth: float = 5.0

    def __call__(self, x: Float[AnyArray, "n"]) -> Float[Array, ""]:
        share = jnp.sum((x - self.hidden) ** 2) / self.radius**2
        return jnp.sum(x) - self.depth * jnp.maximum(1 - share, 0.0) ** 3


class SatisfiabilityPolynomial(eqx.Module):
    """What `satisfiability_polynomial` returns: formulas of one size can be stacked, for `vmap` over them.

    variables: of each literal of each clause, counted from 0. signs: 1 for a literal, −1 for its negation, 0 for none.

    Its value at w is Σ(wᵢ² − wᵢ)² + Σ over clauses of ∏ wrong², where a literal is wrong by 1 − wᵢ and its negation by
    wᵢ: zero exactly at satisfying assignments. Reference: arora Ch. 2, footnote 1.
    """

    variables: Int[Array, "*k c l"]
    signs: Int[Array, "*k c l"]

    def __call__(self, w: Float[Array, "n"]) -> Float[Array, ""]:
        value = w[self.variables]
        wrong = jnp.where(self.signs > 0, 1 - value, jnp.where(self.signs < 0, value, 1.0))
        return jnp.sum((w**2 - w) ** 2) + jnp.sum(jnp.prod(wrong, axis=-1) ** 2)


def satisfiability_polynomial(clauses: Sequence[Sequence[int]]) -> SatisfiabilityPolynomial:
    """Return a polynomial that is nowhere negative, and 0 somewhere exactly if the clauses can be satisfied together.

    p(w) = Σ_i (w_i² − w_i)² + Σ_clauses (Π of (1 − w_i) for a literal i and w_i for −i)², variables counted from 1.
    With three literals a clause its degree is 6. The first sum makes each w_i 0 or 1, the second lets no clause fail.
    Its zeros are the satisfying assignments, isolated minima all: the Hessian there is diagonal, 2 + 2 times the number
    of clauses that hold by that variable alone. Whether the global minimum is 0 is as hard to find out as 3SAT.

    Reference: arora Ch. 2, footnote 1.
    """
    for clause in clauses:
        if not clause or any(not isinstance(literal, int | np.integer) or literal == 0 for literal in clause):
            raise ValueError(f"clauses must be lists of whole numbers other than 0, got {list(clause)}")
    longest = max((len(clause) for clause in clauses), default=1)
    padded = np.array([[*clause, *[0] * (longest - len(clause))] for clause in clauses], int).reshape(-1, longest)
    return SatisfiabilityPolynomial(jnp.asarray(np.maximum(np.abs(padded) - 1, 0)), jnp.asarray(np.sign(padded)))


doors(__name__, radius="(0, 0.5)")
