"""A generator trained against discriminators of two sizes: what the smaller one lets it miss, and who notices."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generative.adversarial_networks import best_discriminator, gan_value, mode_shares, train_adversarially
from deeptheory.generative.density_models import ring_of_gaussians
from deeptheory.generative.mixtures import sample_mixture
from deeptheory.generative.supports import birthday_test, near_duplicates
from deeptheory.lab import Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Plane, Row, Stack, seen
from deeptheory.networks.mlp import init_mlp

MODES, SPREAD, FEW, MANY = 8, 0.1, 64, 4096
RING = ring_of_gaussians(MODES, deviation=SPREAD)
NEAR, INSIDE = 4 * SPREAD, 1 - np.exp(-8)
"""the radius of a disc about each centre, and the mass of its Gaussian that is in it"""
BATCHES, SAMPLE = 160, 10
"""samples of the birthday test, and their size"""
GAMES = {"4 units, 64 data": (4, FEW), "4 units, 4096 data": (4, MANY), "32 units, 64 data": (32, FEW)}


@eqx.filter_jit
def play(keys, data, makers, judges):
    """Both networks of each game after 1,500 rounds, and the payoffs."""

    def one(key, own, maker, judge):
        return train_adversarially(key, own, maker, judge, rounds=1500, rate=4e-3)

    return eqx.filter_vmap(one)(keys, data, makers, judges)


def drawn(key, widths, trials, **scales):
    """Networks in single precision, one for each trial."""
    networks = init_mlp(key, widths, ensemble=(trials,), weight_scale=2**0.5, **scales)
    return jax.tree.map(lambda part: jnp.asarray(part, jnp.float32), networks)


def told(points):
    """Limits of the birthday test for the support of each generator, points a standard deviation apart being alike."""
    doubles = [near_duplicates(own.reshape(BATCHES, SAMPLE, 2), SPREAD) for own in points]
    return np.array([birthday_test(int(found.sum()), BATCHES, SAMPLE)[1:] for found in doubles]).T


@claim(
    items={
        "A16.6": "what a smaller discriminator lets pass",
        "A16.17": ("what a smaller discriminator lets pass", "payoff left on the table"),
        "A16.19": "support told by duplicates",
    },
    says="A generator of 8 Gaussians on a ring, trained against 4 hidden units, misses more of the law than against "
    "32, and 64 times the data are no substitute; telling discs from the rest would pay its opponent more. Duplicates "
    "do not tell it: points are sprayed.",
    needs="a generator 2–16–16–2 and rectified units, 1,500 rounds of Adam at rate 0.004, non-saturating; total "
    "variation over discs of four standard deviations about the centres, and the rest",
    full=dict(trials=64),
    scale="cited: networks on images; here: points of the plane",
    symbols={
        r"\text{payoff}": "$E\\log D(x)+E\\log(1-D(G(z)))$, which is $-\\log4$ at best against a perfect generator"
    },
    why="The generator needs to be right only in what its opponent can see, and four kinked lines see little: very "
    "different clouds have the same means of them. Then no gradient is left, and no data can bring one. More units see "
    "the gaps. The birthday test asks how many different points are made, and a wide cloud has more of them than eight "
    "narrow Gaussians: it finds copies, not absences.",
    notice="Left, points made against few units, right, against many, with 64 data; most of what a generator makes on "
    "the left lies between the modes. Below, total variation: data do not help, units do.",
)
def small_discriminators_let_modes_go(key, *, trials: Trials = 24):
    keys, draw = jax.random.split(key, 4), generator(key)
    data = np.stack([sample_mixture(draw, RING, MANY) for _ in range(trials)]).astype(np.float32)
    repeated = np.tile(data[:, :FEW], (1, MANY // FEW, 1))  # the law of few data, in the shape of many
    makers = drawn(keys[0], (2, 16, 16, 2), trials, bias_scale=0.1)
    seeds = jnp.asarray(draw.standard_normal((trials, BATCHES * SAMPLE, 2)), jnp.float32)
    real, both = np.append(np.full(MODES, INSIDE / MODES), 1 - INSIDE), np.array([INSIDE, 1 - INSIDE])
    distances, missed, lowest, shown = {}, {}, {}, {}
    for name, (units, count) in GAMES.items():
        judges = drawn(keys[1], (2, units, 1), trials, bias_scale=1.0)
        own = jax.random.split(keys[2], trials)
        trained = play(own, data if count == MANY else repeated, makers, judges)
        made = np.asarray(eqx.filter_vmap(lambda net, z: net(z))(trained.generator, seeds), float)
        shares = mode_shares(made, RING.means, radius=NEAR)
        cells = np.concatenate([shares, 1 - shares.sum(1, keepdims=True)], axis=1)
        distances[name] = np.abs(cells - real).sum(1) / 2
        two = np.stack([1 - cells[:, -1], cells[:, -1]], axis=1)
        payoff = np.asarray(trained.values, float)[:, -300:].mean(1)
        missed[name] = gan_value(both, two, best_discriminator(both, two)) - payoff
        lowest[name], shown[name] = told(made)[0], made[0, :400]
    fresh = np.stack([sample_mixture(draw, RING, BATCHES * SAMPLE) for _ in range(trials)])
    least, whole = told(fresh)
    few, many, large = GAMES
    reached = np.maximum(1 - distances[many], 1 / (BATCHES * SAMPLE))  # one of the points at least
    return {
        "what a smaller discriminator lets pass": Trend(
            distances[many] - distances[large],
            aside={
                "by data": distances[few] - distances[many], "by units": distances[few] - distances[large],
                "distances": np.array(list(distances.values())), "small": shown[few], "large": shown[large],
            },
        ),
        # The payoff that telling discs from the rest would bring, less the one that was reached.
        "payoff left on the table": Trend(missed[many], aside={"large": missed[large]}),
        # Its lower limit for what is made, over its upper one for data times the share of the law that is reached.
        "support told by duplicates": Trend(
            np.log(lowest[many] / (whole * reached)), aside={"data": np.log(least / whole)}
        ),
    }  # fmt: skip


@small_discriminators_let_modes_go.control(
    "64 times the data are worth half as much", of="what a smaller discriminator lets pass"
)
def data_instead(evidence):
    return replace(evidence, differences=evidence.aside["by data"] - evidence.aside["by units"] / 2)


@small_discriminators_let_modes_go.control("as much left by 32 units", of="payoff left on the table")
def left_by_many(evidence):
    return replace(evidence, differences=evidence.aside["large"] - evidence.differences)


@small_discriminators_let_modes_go.control("more than is there of the data themselves", of="support told by duplicates")
def more_than_the_data(evidence):
    return replace(evidence, differences=evidence.aside["data"])


@small_discriminators_let_modes_go.picture
def clouds_and_modes(pieces):
    """Points made against few units and against many; below, total variation by the number of data."""
    aside = pieces["what a smaller discriminator lets pass"].aside
    panels = [
        Plane(
            [Dots("made", *np.asarray(aside[size]).T), Dots("centres", *RING.means.T)],
            x="first coordinate", y="second coordinate", title=title, xs=(-4, 4), ys=(-4, 4),
        )
        for size, title in (("small", "4 units"), ("large", "32 units"))
    ]  # fmt: skip
    small, many, large = np.asarray(aside["distances"])
    marks = [
        seen("4 units", np.array([FEW, MANY]), np.stack([small, many])),
        seen("32 units", np.array([FEW]), large[None]),
    ]
    apart = Curves(marks, x="number of data", y="total variation", log="x", xs=(32, 8192), ys=(0, 1))
    return Stack([Row(panels), apart])
