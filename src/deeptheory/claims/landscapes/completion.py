"""Matrix completion: what the observed entries determine, descent finds, and what they leave open it guesses.

arora, end of Sec. 6.4.2.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row
from deeptheory.landscapes.factorization import CompletionLoss

RATES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8)


@jax.jit
def completed(vectors, observed, starts):
    """How far descent on the observed entries of each zzᵀ ends from all of it."""

    def one(z, mask, start):
        loss = CompletionLoss(jnp.outer(z, z), mask)
        end = jax.lax.fori_loop(0, 2000, lambda _, x: x - 0.2 * jax.grad(loss)(x), start)
        return jnp.linalg.norm(jnp.outer(end, end) - jnp.outer(z, z))

    return jax.vmap(one)(vectors, observed, starts)


def recovered(random, vectors, observed):
    """Whether descent from a random start recovers zzᵀ to a hundredth."""
    starts = random.normal(0, vectors.shape[1] ** -0.5, vectors.shape)
    return np.asarray(completed(jnp.asarray(vectors), jnp.asarray(observed), jnp.asarray(starts))) < 0.01


def drawn(random, trials, dimension, rate):
    """Symmetric sets of entries, each observed with one probability."""
    upper = np.triu(random.uniform(size=(trials, dimension, dimension)) < rate)
    return upper | np.swapaxes(upper, 1, 2)


@claim(
    items={
        "A6.24": (
            "failures on spread-out vectors",
            "recovery from separate blocks",
            "recovery of a concentrated vector",
        )
    },
    says=r"Of $zz^\top$, with $|z_i|$ equal and a share 0.8 of entries observed, gradient descent recovers all in "
    r"at least 95 % of runs. If the entries fall into $c$ blocks with none between it does in a share $2^{-(c-1)}$; "
    r"for $z=e_1$ at most in a share $p(2p-p^2)^{d-1}$.",
    needs="rank one, dimension about ten, each entry observed with probability p",
    symbols={
        "z": "a unit vector",
        "c": "the number of blocks that no observed entry joins",
        "p": "the share of entries observed",
        "d": "the dimension",
        "e_1": "the first unit vector",
    },
    why=r"Observed entries are equations $x_ix_j=z_iz_j$. Between blocks without a common entry the sign is free: "
    r"each of $c-1$ relative signs is right with probability one half. If $z=e_1$, the one entry that is not zero must "
    r"be seen, and for every other $i$ the entry $(1,i)$ or $(i,i)$, or else $x_i$ is free: a vector whose weight is "
    "in few places needs nearly all of them observed.",
    notice="For a spread-out vector recovery sets in once the observed entries connect all coordinates, and is then "
    "sure. For a vector in one place it stays rare even at four fifths of the entries.",
)
def completion_from_some_entries(key, *, trials: Trials = 400, dimension: Annotated[int, Interval(ge=6, le=12)] = 8):
    random = generator(key)
    spread = random.choice([-1.0, 1.0], (trials, dimension)) / dimension**0.5
    shares = [int(np.sum(recovered(random, spread, drawn(random, trials, dimension, rate)))) for rate in RATES]
    single = np.tile(np.eye(dimension)[0], (trials, 1))
    found = [int(np.sum(recovered(random, single, drawn(random, trials, dimension, rate)))) for rate in RATES]
    bounds = np.array(RATES) * (2 * np.array(RATES) - np.array(RATES) ** 2) ** (dimension - 1)

    # Two and three blocks that are observed entirely, and nothing between them.
    many, counts = 16 * trials, []
    for blocks in (2, 3):
        group = np.arange(6) // (6 // blocks)
        masks = np.broadcast_to(group[:, None] == group, (many, 6, 6))
        counts.append(int(np.sum(recovered(random, random.choice([-1.0, 1.0], (many, 6)) / 6**0.5, masks))))
    return {
        "failures on spread-out vectors": Chance(
            trials - shares[-1], trials, 0.05, aside={"shares": np.array(shares) / trials}
        ),
        "recovery from separate blocks": Share(
            np.array(counts),
            many,
            np.array([0.5, 0.25]),
            along={"blocks": [2, 3]},
            resolution=0.2,  # 2⁻ᶜ⁺¹ against 1/c
        ),
        "recovery of a concentrated vector": Chance(
            found[-1],
            trials,
            bounds[-1],
            aside={"shares": np.array(found) / trials, "bounds": bounds, "lost": trials - found[-1]},
        ),
    }


@completion_from_some_entries.control("three tenths of the entries are enough", of="failures on spread-out vectors")
def few_entries(evidence):
    share = evidence.aside["shares"][1]
    return replace(evidence, failures=round(float(evidence.trials * (1 - share))))


@completion_from_some_entries.control("1/c for c blocks", of="recovery from separate blocks")
def one_over_blocks(evidence):
    return replace(evidence, predicted=1 / np.array(evidence.along["blocks"]))


@completion_from_some_entries.control(
    "a vector in one place is recovered as often", of="recovery of a concentrated vector"
)
def as_often(evidence):
    return replace(evidence, failures=evidence.aside["lost"], at_most=0.05)


@completion_from_some_entries.picture
def by_share(pieces):
    """The share of runs that recover all entries, by the share observed, for both kinds of vectors."""
    one = pieces["recovery of a concentrated vector"].aside
    marks = [
        Line("spread out", RATES, pieces["failures on spread-out vectors"].aside["shares"]),
        Line("in one place", RATES, one["shares"]),
        Line("in one place, at most", RATES, one["bounds"], dashed=True),
        Level("all", y=1.0),
    ]
    return Row([Curves(marks, x="share of entries observed p", y="share of runs that recover all")])
