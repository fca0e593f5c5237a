"""Equal filters everywhere, and pooling: patterns are recognized where they were never shown (lucchi 10.1)."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.architectures.convolutional_networks import init_convolutional_network
from deeptheory.architectures.pooling import max_pool
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Images, Row, seen
from deeptheory.networks.mlp import init_mlp

SIZE = 8
MOST = 0.9
"""the share of right answers from which on patterns count as recognized, and what is missing counts as lost"""
PATTERNS = np.array([[[1, 1, 1], [0, 1, 0], [0, 1, 0]], [[1, 0, 0], [1, 0, 0], [1, 1, 1]]], float)


def pictures(rng, count):
    """Noisy images with one of two patterns in the middle, and which it is."""
    kinds = rng.integers(0, 2, count)
    images = 0.2 * rng.standard_normal((count, SIZE, SIZE, 1))
    images[:, 2:5, 2:5, 0] += PATTERNS[kinds]
    return images, kinds.astype(float)


@partial(jax.jit, static_argnames=("score", "steps"))
def trained(networks, images, kinds, shifted, answers, *, score, steps, rate):
    """Shares of correct answers on moved images, of each network after gradient descent on the logistic loss."""

    def one(network):
        def loss(network):
            return jnp.mean(logistic_loss((2 * kinds - 1) * score(network, images)))

        def step(network, _):
            return jax.tree.map(lambda w, g: w - rate * g, network, jax.grad(loss)(network)), None

        network, _ = jax.lax.scan(step, network, None, length=steps)
        return jnp.mean((jax.lax.map(lambda x: score(network, x), shifted) > 0) == answers, 1)

    return jax.lax.map(one, networks)  # one after the other: a batch of kernels makes convolutions slow


@claim(
    items={
        "L10.2": ("score after shifts", "recognized where never shown", "lost by the dense network"),
        "L10.15": ("pooling after shifts", "change of a maximum"),
    },
    says="Equal filters everywhere and a maximum over all places answer alike wherever a pattern stands, and "
    r"recognize it where it was never shown; a dense network does not. Max pooling of stride $s$ passes on shifts "
    r"by multiples of $s$ only, and enlarges no change.",
    needs="circular boundary; patterns shown in the middle only; 32 networks of each kind, 200 steps at rate ½; "
    "recognized are nine of ten, lost is one of ten",
    symbols={"s": "the stride, equal to the window"},
    why="A shift of the image shifts every feature map, and a maximum over all places does not see where it is "
    "attained. In a dense network the weights of places where nothing was ever shown stay what they were. A window of "
    "pooling that has moved by less than its stride covers other entries, so the pooled map is a new one; its maxima "
    "are moved by no more than the entries are.",
    notice="Both networks know the patterns in the middle. Moved away, they are lost on the dense network, to chance "
    "and below; the convolutional one does not notice.",
)
def pooled_filters_ignore_shifts(key, *, trials: Trials = 32):
    rng = generator(key)
    images, kinds = pictures(rng, 32)
    tests, answers = pictures(rng, 512)  # so many that the networks cannot all know all of them
    shifted = jnp.asarray(np.stack([np.roll(tests, (s, s), (1, 2)) for s in range(SIZE)]))
    keys = jax.random.split(key, trials)
    filters = [init_convolutional_network(k, SIZE, 1, [4], pool=1, everywhere=True, boundary="circular") for k in keys]
    ensemble = jax.tree.map(lambda *leaves: np.stack(leaves), *filters)
    dense = init_mlp(key, (SIZE**2, 16, 1), ensemble=(trials,), weight_scale=2**0.5, input_scale=2**0.5 / SIZE)
    given = jnp.asarray(images), jnp.asarray(kinds), shifted, jnp.asarray(answers)
    by_filters = trained(ensemble, *given, score=lambda n, x: n.score(x), steps=200, rate=0.5)
    by_dense = trained(
        jax.tree.map(jnp.asarray, dense),
        *given,
        score=lambda n, x: n(x.reshape(len(x), -1))[:, 0],
        steps=200,
        rate=0.5,
    )
    by_filters, by_dense = np.asarray(by_filters).T, np.asarray(by_dense).T
    flat = init_convolutional_network(keys[0], SIZE, 1, [4], pool=1, boundary="circular")
    scores, flattened = jax.jit(lambda x: [jax.lax.map(n.score, x) for n in (filters[0], flat)])(shifted)
    x = rng.standard_normal((12, 12, 1))
    moves, strides, passed = range(6), (2, 3), []
    for stride in strides:
        pooled = np.asarray(max_pool(np.stack([np.roll(x, move, 0) for move in moves]), window=stride))
        shifts = [np.roll(pooled[0], places, 0) for places in range(12 // stride)]
        passed.append([any(np.array_equal(each, shift) for shift in shifts) for each in pooled])
    moved = x + rng.uniform(-0.3, 0.3, (40, 12, 12, 1)) * np.linspace(0, 1, 40)[:, None, None, None]
    moved[-1] = x + 0.3
    return {
        "score after shifts": Identity(
            scores,
            np.tile(scores[0], (SIZE, 1)),
            scale=1.0,
            size=9,
            aside={"flattened": flattened},
        ),
        "recognized where never shown": Trend(
            by_filters[3:6] - MOST,
            along={"shift": np.arange(3, 6)},
            aside={
                "filters": by_filters,
                "dense": by_dense,
                "images": np.concatenate([tests[:3, ..., 0], np.roll(tests[:3, ..., 0], 4, (1, 2))]),
            },
        ),
        "lost by the dense network": Trend(
            by_dense[0] - by_dense[3:6] - (1 - MOST),
            along={"shift": np.arange(3, 6)},
            aside={"filters": by_dense[0] - by_filters[3:6] - (1 - MOST)},
        ),
        "pooling after shifts": Exact(
            np.array(passed),
            np.array([[m % s == 0 for m in moves] for s in strides]),
            along={"stride": list(strides), "shift": list(moves)},
        ),
        "change of a maximum": Inequality(
            np.abs(np.asarray(max_pool(moved)) - np.asarray(max_pool(x))).max((1, 2, 3)),
            np.abs(moved - x).max((1, 2, 3)),
            along={"change": np.arange(40)},
        ),
    }


@pooled_filters_ignore_shifts.control("a weight of its own for every place", of="score after shifts")
def flattened(evidence):
    scores = np.asarray(evidence.aside["flattened"])
    return replace(evidence, left=scores, right=np.tile(scores[0], (len(scores), 1)))


@pooled_filters_ignore_shifts.control("by the dense network too", of="recognized where never shown")
def dense_too(evidence):
    return replace(evidence, differences=np.asarray(evidence.aside["dense"])[3:6] - MOST)


@pooled_filters_ignore_shifts.control("by filters and a maximum too", of="lost by the dense network")
def filters_too(evidence):
    return replace(evidence, differences=evidence.aside["filters"])


@pooled_filters_ignore_shifts.control("every shift is passed on", of="pooling after shifts")
def every_shift(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@pooled_filters_ignore_shifts.control("changes are halved", of="change of a maximum")
def halved(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@pooled_filters_ignore_shifts.picture
def moved_away(pieces):
    """Patterns in the middle, as shown, and moved; the share recognized by both kinds of networks."""
    found = pieces["recognized where never shown"]
    shifts = np.arange(SIZE)
    marks = [seen("filters and a maximum", shifts, found.aside["filters"]), seen("dense", shifts, found.aside["dense"])]
    words = ["as shown"] * 3 + ["moved by 4"] * 3
    accuracy = Curves(marks, x="shift down and to the right", y="share recognized", ys=(0, 1.02))
    return Row([Images(found.aside["images"], words), accuracy])
