"""AdaBoost, and why it is steepest descent in the ℓ1 norm with exact line search.

A table of answers M has an entry Mᵢⱼ = yᵢ hⱼ(xᵢ) for point i and weak learner j: 1 where it is right, −1 where it is
wrong, in between where it is unsure. A vote w has margins M w; the loss is Σᵢ exp(−(M w)ᵢ).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray, traced
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["CYCLING_ANSWERS", "Boosting", "adaboost", "cycle_margin", "line_search_step"]

CYCLING_ANSWERS: Float[np.ndarray, "8 8"] = np.array(
    [
        [-1, 1, 1, 1, 1, -1, -1, 1],
        [-1, 1, 1, -1, -1, 1, 1, 1],
        [1, -1, 1, 1, 1, -1, 1, 1],
        [1, -1, 1, 1, -1, 1, 1, 1],
        [1, -1, 1, -1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, -1, 1],
        [1, 1, 1, 1, -1, -1, 1, -1],
    ],
    float,
)
"""Eight points and eight learners on which AdaBoost ends at the margin 1/3, although 3/8 is possible (Rudin, Daubechies
and Schapire, JMLR 5, 2004)."""


class Boosting(NamedTuple):
    """A run of AdaBoost: the vote after each round, which learner was taken, and its edge."""

    votes: Float[Array, "rounds learners"]
    chosen: Int[Array, " rounds"]
    edges: Float[Array, " rounds"]
    log_losses: Float[Array, " rounds"]


def line_search_step(edge: float | Float[Array, "*batch"]) -> float | Float[Array, "*batch"]:
    """Return ½ log((1+r)/(1−r)), the step along one ±1 learner of edge r that minimizes the exponential loss exactly.

    The edge r = Σᵢ pᵢ Mᵢⱼ is that learner's advantage over chance under the shares p of the loss. It grows without
    bound as r → 1: these steps are not bounded, which the max-margin theorem asks. Reference: arora 8.3.2.
    """
    return jnp.arctanh(edge)


@partial(jax.jit, static_argnames="rounds")
def _boost(answers, start, rounds):
    def one_round(vote, _):
        margins = answers @ vote
        edges = jax.nn.softmax(-margins) @ answers
        best = jnp.argmax(jnp.abs(edges))
        vote = vote.at[best].add(line_search_step(edges[best]))
        return vote, (vote, best, edges[best], jax.nn.logsumexp(-answers @ vote))

    return Boosting(*lax.scan(one_round, start, length=rounds)[1])


def adaboost(
    answers: Float[AnyArray, "points learners"],
    *,
    rounds: int,
    start: Float[AnyArray, " learners"] | None = None,
) -> Boosting:
    """Run AdaBoost on a table of ±1 answers: each round takes the learner of largest edge, by the exact step.

    A learner that is wrong more often than right is taken with its sign turned. Each round multiplies the loss by
    √(1 − r²). For entries strictly between −1 and 1 the step is AdaBoost's usual one, no longer the exact minimizer. A
    learner that is never wrong ends the game at once (an infinite vote) and is refused. `start` tilts the first
    shares. Reference: arora 8.3.2.
    """
    table = jnp.asarray(answers)
    inside(-1, 1, "[]", answers=answers)
    if not traced(answers) and np.any(np.abs(np.sum(np.asarray(answers), axis=0)) == len(table)):
        raise ValueError("a learner is right on every point, or wrong on every point: its vote alone is infinite")
    begin = jnp.zeros(table.shape[1], table.dtype) if start is None else jnp.asarray(start, table.dtype)
    return _boost(table, begin, rounds)


def cycle_margin(
    edges: Float[AnyArray, "*batch rounds"],
) -> Float[AnyArray, "*batch"] | np.floating:
    """Return the margin AdaBoost tends to if it goes round a cycle of edges r for ever.

    Σ −log(1 − r²)/Σ log((1+r)/(1−r)): what the log loss falls in one cycle over what the votes grow. Three equal edges
    of the golden ratio (√5−1)/2 give exactly 1/3. Edges in (0, 1). Reference: Rudin, Daubechies and Schapire 2004;
    arora 8.3.2.
    """
    inside(0, 1, "()", edges=edges)
    xp = edges.__array_namespace__()
    fall, growth = -xp.log1p(-(edges**2)), xp.log1p(edges) - xp.log1p(-edges)
    return fall.sum(-1) / growth.sum(-1)


doors(__name__, rounds="[1, 10000000]", edge="(-1, 1)")
