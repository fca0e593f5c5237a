"""Weight decay on a scale-invariant loss is a learning rate that grows exponentially (arora 13.3)."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row
from deeptheory.normalization.normalizers import NormalizedNetwork, layer_norm, unnormalized
from deeptheory.normalization.weight_decay import (
    decayed_descent,
    equivalent_decay,
    equivalent_rates,
    heavy_ball,
    momentum_rates,
    momentum_root,
)

SHAPES = ((8, 6), (8, 8))


def loss(weights, rest, batch, normalize):
    """Squared loss of a network with fixed gains, shifts and top, on one batch of inputs and targets."""
    (x, target), (gains, shifts, top) = batch, rest
    return jnp.mean((NormalizedNetwork(weights, gains, shifts, top, normalize)(x) - target) ** 2)


first_gradient = jax.jit(jax.grad(loss), static_argnames="normalize")


def flat(path):
    """A trajectory of trees as one matrix, a row a step."""
    return np.concatenate([np.asarray(leaf).reshape(len(leaf), -1) for leaf in jax.tree.leaves(path)], 1)


def directions(path):
    """The rows, at unit length."""
    return path / np.linalg.norm(path, axis=1, keepdims=True)


NUDGE = 1e-9


def parting(path, twin):
    """How much nearby runs part, by step: the condition number of the direction, which multiplies rounding."""
    apart = np.linalg.norm(directions(path) - directions(twin), axis=1, keepdims=True)
    return 1 + 10 * np.maximum.accumulate(apart) / NUDGE


def _near(path, twin) -> dict[str, Any]:
    return dict(scale=1.0, condition=parting(path, twin), size=len(path))


@partial(jax.jit, static_argnames="normalize")
def trained(start, rest, batches, rates, decays, *, normalize):
    """The trajectory under given rates and decays, and the loss of each step's batch."""
    gradient = jax.grad(lambda w, batch: loss(w, rest, batch, normalize))
    path = decayed_descent(gradient, start, rates=rates, decays=decays, batches=batches)
    before = jax.tree.map(lambda leaf: leaf[:-1], path)
    return path, jax.vmap(lambda w, batch: loss(w, rest, batch, normalize))(before, batches)


@jax.jit
def with_momentum(start, rest, batches, rates, momentum, decay, before, before_rate):
    gradient = jax.grad(lambda w, batch: loss(w, rest, batch, layer_norm))
    return heavy_ball(
        gradient,
        start,
        rates=rates,
        momentum=momentum,
        decay=decay,
        before=before,
        before_rate=before_rate,
        batches=batches,
    )


@claim(
    items={
        "A13.10": ("weights", "first step by hand"),
        "A13.11": ("weights", "directions", "rate and decay from the schedule"),
        "A13.12": "momentum",
        "A13.13": ("directions", "cosine schedule", "losses along the way"),
    },
    says=r"On a scale-invariant loss, descent at rate $\eta$ with weight decay $\lambda$ visits the same directions "
    r"as plain descent at rates $\eta_t=\eta(1-\eta\lambda)^{-(2t+1)}$, with $\hat w_t=w_t/(1-\eta\lambda)^t$; with "
    r"momentum $\gamma$, $1-\eta\lambda$ becomes the larger root of $x^2-(1+\gamma-\eta\lambda)x+\gamma$.",
    needs="a scale-invariant loss in every batch; ηλ < 1; with momentum ηλ ≤ (1 − √γ)²",
    scale="printed: deep networks with normalization; here two hidden layers under layer normalization",
    symbols={
        r"\eta,\lambda": "learning rate and weight decay",
        r"\eta_t": "the rate at step $t$ that replaces both",
        r"\hat w_t,w_t": "the weights after $t$ steps without and with decay",
        r"\gamma": "the momentum",
    },
    why=r"Weight decay shrinks $w$ by $1-\eta\lambda$ a step, and a step from smaller weights turns the direction "
    r"more: the gradient at $cw$ is that at $w$ over $c$. Instead of shrinking the weights by a factor one may "
    r"enlarge the rate by its square. A schedule $\eta_t,\lambda_t$ is treated step by step: $\eta_t/(P_tP_{t+1})$ "
    r"with $P_t=\prod_{s<t}(1-\eta_s\lambda_s)$. Momentum adds a second-order recursion, whose root takes the place "
    r"of the factor.",
    notice="Right, two curves of the loss that lie on each other, though one rate is constant and the other grows "
    "hundreds of times. Without normalization they part within a few steps.",
    explore={"decay": (0.1, 0.5, 1.0)},
)
def weight_decay_is_an_exponential_rate(
    key,
    *,
    rate: Annotated[float, Interval(ge=0.01, le=0.5)] = 0.05,
    decay: Annotated[float, Interval(ge=0.01, le=2.0)] = 0.5,
    momentum: Annotated[float, Interval(ge=0.0, le=0.9)] = 0.5,
    steps: Annotated[int, Interval(ge=10, le=400)] = 120,
    network: Literal["normalized", "plain"] = "normalized",
):
    random, normalize = generator(key), layer_norm if network == "normalized" else unnormalized
    start = tuple(jnp.asarray(random.standard_normal(shape)) for shape in SHAPES)
    beside = jax.tree.map(lambda w: w + NUDGE * random.standard_normal(w.shape), start)
    rest = (tuple(1 + random.uniform(-0.3, 0.3, (2, 8))), tuple(0.3 * random.standard_normal((2, 8))))
    # Gain and shift of the first layer are fixed as well: alone they would not be scale invariant.
    rest = (*rest, random.standard_normal((1, 8)))
    x = random.standard_normal((steps, 16, 6))
    batches = (x, np.sin(2 * x[..., :1]) + 0.1 * random.standard_normal((steps, 16, 1)))

    def run(rates, decays, start=start):
        path, losses = trained(start, rest, batches, rates, np.broadcast_to(decays, steps), normalize=normalize)
        return flat(path), np.asarray(losses)

    constant = np.full(steps, rate)
    time = np.arange(steps)
    growing = rate * (1 - rate * decay) ** -(2.0 * time + 1)
    (decayed, seen), (plain, plainly) = run(constant, decay), run(growing, 0.0)
    literal = run(growing / rate, 0.0)[0]
    kept = (1 - rate * decay) ** np.arange(steps + 1.0)[:, None]
    waved, varied = rate * (0.6 + 0.4 * np.cos(np.pi * time / steps)), decay * (1 + time / steps)
    cosine, exotic = run(waved, varied)[0], run(np.asarray(equivalent_rates(waved, varied)), 0.0)[0]
    found = equivalent_decay(growing[0], growing[1] / growing[0] - 1)

    resting = dict(momentum=momentum, before_rate=rate)
    heavy = flat(with_momentum(start, rest, batches, constant, decay=decay, before=start, **resting))
    root = momentum_root(rate, decay, momentum)
    moving = resting | {"before_rate": rate * root}
    earlier = jax.tree.map(lambda w: root * w, start)
    rates = momentum_rates(rate, decay, momentum, steps=steps)
    light = flat(with_momentum(start, rest, batches, rates, decay=0.0, before=earlier, **moving))
    first = run(constant, decay)[0][1]
    slope = jax.tree.map(lambda g: g[None], first_gradient(start, rest, (x[0], batches[1][0]), normalize=normalize))
    by_hand = decayed[0] - rate * decay * decayed[0] - rate * flat(slope)[0]
    nudged = flat(with_momentum(beside, rest, batches, constant, decay=decay, before=beside, **resting))
    near, near_cosine, near_momentum = (
        _near(path, twin)
        for path, twin in (
            (decayed, run(constant, decay, beside)[0]),
            (cosine, run(waved, varied, beside)[0]),
            (heavy, nudged),
        )
    )
    return {
        "first step by hand": Identity(
            first, by_hand, condition=10.0, aside={"decayed by λ": by_hand + (rate - 1) * decay * decayed[0]}
        ),
        "weights": Identity(plain * kept / np.linalg.norm(decayed, axis=1, keepdims=True), directions(decayed), **near),
        "directions": Identity(
            directions(plain),
            directions(decayed),
            **near,
            aside={"without η": directions(literal), "rates": growing, "losses": seen, "plain losses": plainly},
        ),
        "losses along the way": Identity(plainly, seen, **(near | {"condition": 10 * near["condition"][:-1, 0]})),
        "cosine schedule": Identity(directions(exotic), directions(cosine), **near_cosine),
        "rate and decay from the schedule": Identity(np.array(found), np.array([rate, decay]), condition=1e3),
        "momentum": Identity(
            directions(light), directions(heavy), **near_momentum, aside={"as without": directions(plain)}
        ),
    }


weight_decay_is_an_exponential_rate.control(
    "without normalization", of="losses along the way", network="plain", steps=20
)


@weight_decay_is_an_exponential_rate.control("rates (1 − ηλ)^(−(2t+1)), without the factor η", of="directions")
def without_the_rate(evidence):
    return replace(evidence, left=evidence.aside["without η"])


@weight_decay_is_an_exponential_rate.control("weights that shrink by λ, not ηλ", of="first step by hand")
def decay_alone(evidence):
    return replace(evidence, right=evidence.aside["decayed by λ"])


@weight_decay_is_an_exponential_rate.control("1 − ηλ for the root", of="momentum")
def no_root(evidence):
    return replace(evidence, left=evidence.aside["as without"])


@weight_decay_is_an_exponential_rate.picture
def same_losses(pieces, settings):
    """The two rates by step (left), and the loss of each step's batch under both (right)."""
    aside = pieces["directions"].aside
    time = np.arange(len(aside["rates"]))
    rates = [Line("without decay", time, aside["rates"]), Level("with weight decay", y=settings["rate"])]
    losses = [
        Line("with weight decay", time, aside["losses"]),
        Line("growing rate, no decay", time, aside["plain losses"], dashed=True),
    ]
    return Row([Curves(rates, x="step", y="learning rate", log="y"), Curves(losses, x="step", y="loss of the batch")])
