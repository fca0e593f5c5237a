"""A transformer block as a velocity on the sphere, followed through depth (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.linalg import expm

from deeptheory.attention.blocks import Feedforward, Heads, block_velocity, sphere_flow
from deeptheory.attention.clusters import random_tokens
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Dots, Line, Plane


def pulls_by_loops(tokens, beta, heads, layer):
    """What each head, and the layer, adds to each token before the projection, by the printed sums."""
    pulls = np.zeros((len(heads.queries) + 1, *tokens.shape))
    for h, (query, key, value) in enumerate(zip(*heads, strict=True)):
        for i, x in enumerate(tokens):
            weights = [np.exp(beta * np.dot(query @ x, key @ y)) for y in tokens]
            pulls[h, i] = sum(w * value @ y for w, y in zip(weights, tokens, strict=True)) / sum(weights)
    for i, x in enumerate(tokens):
        pulls[-1, i] = layer.outer @ np.maximum(layer.inner @ x + layer.bias, 0)
    return pulls


def projected(tokens, pull):
    return np.stack([(np.eye(len(x)) - np.outer(x, x)) @ v for x, v in zip(tokens, pull, strict=True)])


@jax.jit
def velocities(tokens, beta, heads, layer):
    """Of one head, of all, of a full block, and of as many copies of the first head."""
    first = jax.tree.map(lambda each: each[:1], heads)
    copies = jax.tree.map(lambda each: jnp.repeat(each[:1], len(each), 0), heads)
    return tuple(block_velocity(tokens, beta, *block) for block in ((first,), (heads,), (heads, layer), (copies,)))


@claim(
    items={
        "J14.3": ("velocity of one head", "a lone token follows the power method"),
        "J14.6": ("velocity of several heads", "velocity of a full block", "equal heads add up"),
    },
    says=r"A transformer moves unit vectors by $\dot x_i=\mathbf P^\perp_{x_i}\big(\sum_h\sum_jA^h_{ij}V_hx_j"
    r"+w\sigma(ax_i+b)\big)$, whatever the heads do at each depth. A lone token has nothing to attend to but itself, "
    r"and is $x(t)=\Phi_tx(0)/|\Phi_tx(0)|$ with $\dot\Phi_t=V(t)\Phi_t$: the power method.",
    needs="heads are added, each with the sum of weights of its own; tokens start on the sphere",
    symbols={
        r"x_i": "token $i$, a unit vector",
        r"\mathbf P^\perp_x": "the projection across $x$",
        r"A^h_{ij}": r"attention in head $h$, proportional in $j$ to $e^{\beta\langle Q_hx_i,K_hx_j\rangle}$",
        r"V_h": "the value matrix of head $h$",
        r"w,\sigma,a,b": "outer matrix, activation, inner matrix and bias of the feed-forward layer",
        r"\Phi_t": "the matrix that the value matrices make up to depth $t$",
    },
    why=r"Layer normalization returns every token to the sphere, and in the limit of small steps only the part of the "
    "pull along the sphere is left. A single token pays all attention to itself, so it is pulled by $Vx$; dividing the "
    r"linear flow $\Phi_tx$ by its length satisfies exactly that equation. The length that is divided out does not "
    "matter, because the pull is linear.",
    notice=r"Each line is a lone token, moved by one value matrix that only changes its strength: all turn to its "
    "leading direction or to the opposite one. The points are the matrix exponential, divided by its length.",
    explore={"beta": (0.0, 1.5, 5.0)},
)
def blocks_move_tokens_on_the_sphere(
    key,
    *,
    count: Annotated[int, Interval(ge=2, le=32)] = 5,
    dimension: Annotated[int, Interval(ge=2, le=16)] = 3,
    heads: Annotated[int, Interval(ge=2, le=8)] = 3,
    beta: Annotated[float, Interval(ge=0.0, le=10.0)] = 1.5,
):
    rng = generator(key)
    drawn = Heads(*rng.standard_normal((3, heads, dimension, dimension)))
    layer = Feedforward(
        rng.standard_normal((dimension, 2 * dimension)),
        rng.standard_normal((2 * dimension, dimension)),
        rng.standard_normal(2 * dimension),
    )
    tokens = random_tokens(key, count, dimension)
    one, several, full, copies = map(np.asarray, velocities(tokens, beta, drawn, layer))
    pulls = pulls_by_loops(tokens, beta, drawn, layer)
    scale, size = np.abs(pulls).sum(0).max(), count * dimension
    scores = beta * np.max(np.abs(np.einsum("hka,hkb->hab", drawn.queries, drawn.keys))) * dimension
    summed, averaged = projected(tokens, pulls[:-1].sum(0)), projected(tokens, pulls[:-1].mean(0))

    # Values V(t) = (1 + cos t) W make Φ_t = exp((t + sin t) W). Every token is alone with its own copy of the flow.
    value = rng.standard_normal((dimension, dimension)) / np.sqrt(dimension)
    times = np.linspace(0.0, 3.0, 16)[1:]

    def alone(time, tokens):
        lone = Heads(np.eye(dimension)[None], np.eye(dimension)[None], (1 + jnp.cos(time)) * value[None])
        return jax.vmap(lambda token: block_velocity(token[None], beta, lone)[0])(tokens)

    tolerance = 1e-10
    found = sphere_flow(alone, tokens, times, tolerance=tolerance)
    carried = np.einsum("tab,ib->tia", np.stack([expm((t + np.sin(t)) * value) for t in times]), tokens)
    lengths = np.linalg.norm(carried, axis=-1, keepdims=True)
    steady = np.einsum("tab,ib->tia", np.stack([expm(2 * t * value) for t in times]), tokens)
    rounding = dict(scale=scale, size=size, condition=1 + scores)
    return {
        "velocity of one head": Identity(one, projected(tokens, pulls[0]), **rounding, aside={"unprojected": pulls[0]}),
        "velocity of several heads": Identity(several, summed, **rounding, aside={"averaged": averaged}),
        "velocity of a full block": Identity(
            full,
            projected(tokens, pulls.sum(0)),
            **rounding,
            aside={"layer outside": summed + pulls[-1]},
        ),
        "equal heads add up": Identity(
            copies, heads * projected(tokens, pulls[0]), **rounding, aside={"one head": one}
        ),
        "a lone token follows the power method": Identity(
            found,
            carried / lengths,
            scale=1.0,
            # Tokens that start near the least stable direction turn away from it at most at twice the norm.
            error=100 * tolerance * np.exp(2 * np.linalg.norm(value, 2)),
            along={"depth": times},
            aside={"values at depth zero": steady / np.linalg.norm(steady, axis=-1, keepdims=True)},
        ),
    }


@blocks_move_tokens_on_the_sphere.control("without the projection", of="velocity of one head")
def unprojected(evidence):
    return replace(evidence, right=evidence.aside["unprojected"])


@blocks_move_tokens_on_the_sphere.control("the mean over the heads", of="velocity of several heads")
def averaged_heads(evidence):
    return replace(evidence, right=evidence.aside["averaged"])


@blocks_move_tokens_on_the_sphere.control("the layer outside the projection", of="velocity of a full block")
def layer_outside(evidence):
    return replace(evidence, right=evidence.aside["layer outside"])


@blocks_move_tokens_on_the_sphere.control("equal heads act as one", of="equal heads add up")
def heads_as_one(evidence):
    return replace(evidence, right=evidence.aside["one head"])


@blocks_move_tokens_on_the_sphere.control(
    "value matrices that stay as at depth zero", of="a lone token follows the power method"
)
def steady_values(evidence):
    return replace(evidence, right=evidence.aside["values at depth zero"])


@blocks_move_tokens_on_the_sphere.picture
def power_method(pieces):
    """Lone tokens in two of their coordinates: the flow (lines) and the normalized matrix exponential (points)."""
    found = pieces["a lone token follows the power method"]
    paths, exact = np.asarray(found.left), np.asarray(found.right)
    marks = [Line("flow of a lone token", path[:, 0], path[:, 1], arrow=True) for path in paths.swapaxes(0, 1)]
    points = [Dots("matrix exponential", path[:, 0], path[:, 1]) for path in exact.swapaxes(0, 1)]
    return Plane([*marks, *points], x="first coordinate", y="second coordinate")
