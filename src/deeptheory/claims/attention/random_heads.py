"""Tokens under random query, key and value matrices: who gathers, and who stays apart (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.attention.blocks import Heads, block_velocity
from deeptheory.attention.clusters import random_tokens
from deeptheory.attention.random_heads import pair_energy, random_head
from deeptheory.attention.regimes import clustered_share
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, seen

ENSEMBLES = ("ginibre", "wigner", "ginibre tied", "wigner tied")
BETAS = np.array([1.0, 16.0])
STEPS, STEP = 100, 0.3


@jax.jit
def shares(tokens, heads):
    """Share of pairs together at time 30, for each temperature and each set of tokens with its head."""

    def at(beta, start, head):
        def step(now, _):
            half = now + STEP / 2 * block_velocity(now, beta, head)
            moved = now + STEP * block_velocity(half, beta, head)  # the midpoint rule: what matters is where it ends
            return moved / jnp.linalg.norm(moved, axis=-1, keepdims=True), None

        return clustered_share(jax.lax.scan(step, start, length=STEPS)[0], 1e-2)

    return jax.vmap(jax.vmap(at, (None, 0, 0)), (0, None, None))(BETAS, tokens, heads)


@jax.jit
def climbs(tokens, matrices):
    """Velocity times the sum of weights, and the gradient of the pair energy, with V = QᵀK each of the matrices."""

    def at(matrix):
        head = Heads(jnp.eye(len(matrix))[None], matrix[None], matrix[None])
        sums = jnp.sum(jnp.exp(tokens @ matrix @ tokens.T), axis=-1, keepdims=True)
        slope = jax.grad(pair_energy)(tokens, matrix, 1.0)
        return sums * block_velocity(tokens, 1.0, head), slope - jnp.sum(slope * tokens, -1, keepdims=True) * tokens

    return jax.vmap(at)(matrices)


@jax.jit
def responses(poles, push, betas, matrix):
    """How the velocity changes when tokens at two poles are pushed, at each temperature."""
    head = Heads(jnp.eye(len(matrix))[None], matrix[None], matrix[None])
    return jax.vmap(lambda beta: jax.jvp(lambda x: block_velocity(x, beta, head), (poles,), (push,))[1])(betas)


@claim(
    items={"J14.13": ("climb of the energy", "hold of the smaller pole", "independent gather more than tied")},
    says=r"With $V=Q^\top K=W$ symmetric tokens climb $\sum_{ij}e^{\beta x_i^\top Wx_j}/2\beta$. At the poles of an "
    r"eigenvector a group of $q$ against $p$ holds together at the rate $\lambda(qe^{\beta\lambda}-pe^{-\beta\lambda})"
    r"/(qe^{\beta\lambda}+pe^{-\beta\lambda})$: in the cold both stay. Tokens under independent $Q,K,V$ gather.",
    needs="entries of variance 1/d; the comparison at d = 32, n = 16, β = 16, time 30, chosen after a look at five β, "
    "and judged on fresh matrices",
    symbols={
        r"Q,K,V": "the query, key and value matrices",
        r"W": "their tie, a symmetric matrix",
        r"\beta": "the inverse temperature",
        r"x_i": "token $i$, a unit vector",
        r"p,q": "how many tokens are at either pole; the rate is that of the group of $q$",
        r"\lambda": "the eigenvalue of $W$ that belongs to the axis",
    },
    why=r"When the values are tied to the scores, a token attends most to where its pull goes: tokens at one pole of a "
    "leading eigenvector see each other and hardly the opposite pole, so cold tokens stay at two poles. At "
    "$\\beta=0$ the pull is the same for all and the smaller pole loses. Independent values know nothing of the "
    "scores: all tokens get nearly the same pull, and follow it together.",
    notice=r"Hot, all four ensembles gather. In the cold those with values tied to the scores stay in several groups; "
    "those with independent values gather all the same.",
    full=dict(trials=256),
)
def tied_values_keep_tokens_apart(
    key,
    *,
    trials: Trials = 64,
    smaller: Annotated[int, Interval(ge=2, le=5)] = 3,
):
    dimension, count = 32, 16
    keys = jax.random.split(key, trials)
    tokens = random_tokens(key, trials, count, dimension)
    found = []
    for ensemble in ENSEMBLES:
        heads = [random_head(each, dimension, ensemble) for each in keys]
        found.append(np.asarray(shares(tokens, Heads(*map(np.stack, zip(*heads, strict=True))))))
    gathered = np.stack(found)

    ties = [random_head(each, dimension, tie).values[0] for tie in ENSEMBLES[2:] for each in keys[:8]]
    moved, slope = map(np.asarray, climbs(tokens[0], np.stack(ties)))

    # The group of q at one pole: two of its tokens are pushed apart along a direction across the axis.
    matrix = ties[-1]
    values, vectors = np.linalg.eigh(matrix)
    axis, level, across = vectors[:, -1], values[-1], vectors[:, 3]
    larger, betas = 7, np.array([0.0, 0.1, 0.3, 1.0, 3.0])
    poles = np.repeat([axis, -axis], [larger, smaller], axis=0)
    push = np.zeros_like(poles)
    push[-1], push[-2] = across, -across
    change = np.asarray(responses(poles, push, betas, matrix))
    near, far = smaller * np.exp(betas * level), larger * np.exp(-betas * level)
    hold = level * (near - far) / (near + far)
    return {
        "climb of the energy": Identity(
            moved[8:],
            slope[8:],
            scale=np.abs(slope).max(),
            size=dimension,
            condition=10,
            aside={"moved": moved[:8], "slope": slope[:8]},
        ),
        "hold of the smaller pole": Identity(
            change,
            -hold[:, None, None] * push,
            scale=2.0,
            size=dimension,
            condition=10,
            aside={"without temperature": np.array(level * (smaller - larger) / (smaller + larger)), "push": push},
        ),
        "independent gather more than tied": Trend(
            gathered[:2, -1] - gathered[2:, -1],
            along={"matrices": ["Ginibre", "Wigner"]},
            aside={"shares": gathered, "betas": BETAS},
        ),
    }


@tied_values_keep_tokens_apart.control("a tie without symmetry", of="climb of the energy")
def without_symmetry(evidence):
    return replace(evidence, left=evidence.aside["moved"], right=evidence.aside["slope"])


@tied_values_keep_tokens_apart.control("the rate without temperature, at all β", of="hold of the smaller pole")
def without_temperature(evidence):
    steady = np.asarray(evidence.aside["without temperature"])
    return replace(evidence, right=np.broadcast_to(-steady * np.asarray(evidence.aside["push"]), evidence.left.shape))


@tied_values_keep_tokens_apart.control("as much more in the heat, at β = 1", of="independent gather more than tied")
def in_the_heat(evidence):
    shares = np.asarray(evidence.aside["shares"])
    return replace(evidence, differences=shares[:2, 0] - shares[2:, 0] - np.asarray(evidence.differences))


@tied_values_keep_tokens_apart.picture
def gathering(pieces):
    """Share of pairs together at time 30 in four ensembles of random matrices, against the inverse temperature."""
    aside = pieces["independent gather more than tied"].aside
    names = ("Q, K, V Ginibre", "QᵀK Wigner, V ⪰ 0", "Q, K Ginibre, V = QᵀK", "QᵀK Wigner, V = QᵀK")
    marks = [seen(name, aside["betas"], each) for name, each in zip(names, np.asarray(aside["shares"]), strict=True)]
    return Curves(marks, x="inverse temperature β", y="share of pairs together", log="x", ys=(0, 1.05))
