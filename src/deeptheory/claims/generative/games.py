"""Gradient play of a zero-sum game: spirals, circles and contractions; and games that no pure pair of moves settles."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.calculus.expectations import gaussian_product_rule
from deeptheory.foundations.randomness import generator
from deeptheory.generative.games import bilinear_step, mixed_equilibrium, play, pure_equilibria, pure_values
from deeptheory.lab import Chain, Count, Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row

RULES = ("simultaneous", "extragradient", "look-ahead", "competitive")
ALL = ("alternating", "competitive", "extragradient", "look-ahead", "simultaneous")
SPREADS = np.array([1.0, 0.5])


@jax.jit
def trajectories(shift, weights, mean, rates):
    """Rounds of play of a generator h + Sθ against a discriminator w·x: E w·x over real data less over made ones."""

    def payoff(theta, w):
        return w @ (mean - jnp.asarray(SPREADS) * theta)

    def at(rate, rule):
        return play(payoff, shift, weights, rule=rule, rate=rate, steps=24)

    return {rule: jax.vmap(lambda rate, rule=rule: at(rate, rule))(rates) for rule in (*RULES, "alternating")}


@claim(
    items={
        "A16.10": ("first round by hand", "squared distance by rounds"),
        "A16.11": ("squared distance by rounds", "what alternating steps conserve"),
        "A16.21": "squared distance by rounds",
    },
    says=r"For $\max_w\min_\theta$ of $w\cdot(m-S\theta)$ let $a=\eta s$. A round multiplies the squared distance to "
    r"the equilibrium by $1+a^2$ with simultaneous steps, $1-a^2+a^4$ with extragradient, $1-3a^2+4a^4$ with "
    r"look-ahead, $1/(1+a^2)$ with competitive ones; alternating ones conserve $u^2+w^2+auw$.",
    needs="a linear discriminator, the identity as measuring function, a generator that shifts its seeds",
    symbols={
        r"\theta, w": "the parameters of generator and discriminator",
        "m": "the mean of the data",
        "S": "how far each parameter of the generator shifts, a diagonal matrix with entries $s$",
        r"\eta": "the learning rate",
        "u": r"a coordinate of the distance of $\theta$ from the equilibrium",
    },
    why="Each coordinate is a game of two numbers with payoff $-s\\,uw$, whose gradients turn the plane without "
    "shrinking it: a step along a tangent of a circle ends outside. Moving one player after the other makes the map "
    "preserve area, hence ellipses while $a<2$. A gradient taken ahead points inward, and a competitive step solves "
    "both "
    "moves at once, which is an implicit step and contracts at every rate.",
    notice="The payoff swings up and down and never improves for long. Simultaneous steps spiral out, alternating "
    "steps run round an ellipse, the three that anticipate the opponent spiral in.",
)
def play_of_a_bilinear_game(key):
    draw, rates = generator(key), np.array([0.1, 0.4, 0.7, 1.5])
    theta, w, mean = draw.standard_normal((3, 2)) + 1
    paths = {rule: [np.asarray(part) for part in path] for rule, path in trajectories(theta, w, mean, rates).items()}
    a = rates[:, None] * SPREADS
    factor = {
        "simultaneous": 1 + a**2,
        "extragradient": 1 - a**2 + a**4,
        "look-ahead": 1 - 3 * a**2 + 4 * a**4,
        "competitive": 1 / (1 + a**2),
    }
    rest = mean / SPREADS
    distances = {rule: (moved - rest) ** 2 + weights**2 for rule, (moved, weights) in paths.items()}
    rounds = np.arange(25)[:, None]
    expected = {rule: distances[rule][:, :1] * factor[rule][:, None] ** rounds for rule in RULES}
    moved, weights = paths["alternating"]
    u = moved - rest
    conserved = u**2 + weights**2 + a[:, None] * u * weights
    first = np.concatenate([paths["simultaneous"][0][:, 1], paths["simultaneous"][1][:, 1]], axis=1)
    eta = rates[:, None]
    by_hand = np.concatenate([theta + eta * SPREADS * w, w + eta * (mean - SPREADS * theta)], axis=1)
    shown = {rule: np.stack([part[1, :, 0] for part in path], axis=-1) for rule, path in paths.items()}
    return {
        "first round by hand": Identity(
            first,
            by_hand,
            scale=10.0,
            aside={"turned": np.concatenate([2 * theta - by_hand[:, :2], by_hand[:, 2:]], 1)},
        ),
        "squared distance by rounds": Identity(
            np.array([distances[rule] for rule in RULES]),
            np.array([expected[rule] for rule in RULES]),
            # The distance is a difference from the equilibrium, which rounds to its own size.
            scale=np.array([expected[rule] for rule in RULES]) + np.max(rest**2),
            size=25.0,
            condition=10.0,
            along={"rule": RULES, "rate": rates},
            aside={"factors": np.array([factor[rule] for rule in RULES]), "start": distances["simultaneous"][:, 0]},
        ),
        "what alternating steps conserve": Identity(
            conserved,
            np.broadcast_to(conserved[:, :1], conserved.shape),
            scale=np.max(distances["alternating"]) + np.max(rest**2),
            size=25.0,
            along={"rate": rates},
            aside={"distance": distances["alternating"], "rest": rest, **shown},
        ),
    }


@play_of_a_bilinear_game.control("a generator that descends its reward", of="first round by hand")
def descending(evidence):
    return replace(evidence, right=evidence.aside["turned"])


def with_factor(evidence, which, factors):
    right = np.array(evidence.right)
    right[which] = evidence.aside["start"][:, None] * factors[:, None] ** np.arange(25)[:, None]
    return replace(evidence, right=right)


@play_of_a_bilinear_game.control("simultaneous steps keep their distance", of="squared distance by rounds")
def circling(evidence):
    return with_factor(evidence, 0, np.ones_like(evidence.aside["factors"][0]))


@play_of_a_bilinear_game.control("extragradient without its fourth power", of="squared distance by rounds")
def shrinking(evidence):
    return with_factor(evidence, 1, 2 - evidence.aside["factors"][0])


@play_of_a_bilinear_game.control(
    "competitive steps shrink the distance, not its square", of="squared distance by rounds"
)
def twice_as_fast(evidence):
    return with_factor(evidence, 3, evidence.aside["factors"][3] ** 2)


@play_of_a_bilinear_game.control("alternating steps run round circles", of="what alternating steps conserve")
def circles(evidence):
    distance = evidence.aside["distance"]
    return replace(evidence, left=distance, right=np.broadcast_to(distance[:, :1], distance.shape))


@play_of_a_bilinear_game.picture
def spirals(pieces):
    """One coordinate of generator and discriminator under each rule, and the payoff by rounds."""
    aside = pieces["what alternating steps conserve"].aside
    rest = aside["rest"][0]
    names = (*RULES, "alternating")
    plane = [Line(rule, aside[rule][:, 0], aside[rule][:, 1], arrow=True) for rule in names]
    swings = [Line(rule, np.arange(25), aside[rule][:, 1] * (rest - aside[rule][:, 0])) for rule in names]
    return Row(
        [
            Plane(
                [*plane, Dots("equilibrium", [rest], [0.0])],
                x="generator",
                y="discriminator",
                xs=(rest - 6, rest + 6),
                ys=(-6, 6),
            ),
            Curves(swings, x="round", y="payoff", ys=(-8, 8)),
        ]
    )


MEAN, SPREAD = 0.5, 1.0
STARTS = np.array([[0.6, -0.3, 0.2, 0.1], [0.3, 0.2, 0.1, 0.0], [-0.5, 0.3, 0.0, 0.0]])
"""how far generator and discriminator start from their equilibrium"""
NODES, MASSES = gaussian_product_rule(1, 12)


def adversarial_payoff(made: Any, judged: Any) -> Any:
    """E tanh(w·φ) over N(½, 1) less over θ₁ + θ₂z, with φ = (x, x²): no player's payoff is convex or concave."""
    real, fake = MEAN + SPREAD * NODES[:, 0], made[0] + made[1] * NODES[:, 0]
    score = lambda x: jnp.tanh(judged[0] * x + judged[1] * x**2)  # noqa: E731
    return MASSES @ (score(real) - score(fake))


def turned(rule, rates, first):
    """Twelve rounds of a bilinear game at each rate, from the first pair on."""
    rounds = [[np.linalg.matrix_power(bilinear_step(rule, a), t) for a in rates] for t in range(13)]
    return np.einsum("tsij,sj->tsi", rounds, first)


@jax.jit
def network_paths(made, judged, rate):
    """The players' parameters along 150 rounds of each rule, from a batch of starts."""

    def one(rule):
        return jax.vmap(lambda x, y: play(adversarial_payoff, x, y, rule=rule, rate=rate, steps=150))(made, judged)

    return {rule: one(rule) for rule in ALL}


@claim(
    items={"A16.21": ("parameters near the equilibrium", "distance after 150 rounds from afar")},
    says=r"A generator $\theta_1+\theta_2z$ against $\tanh(w_1x+w_2x^2)$ on Gaussian data: near equilibrium every rule "
    r"of play turns singular directions of $\partial E\phi/\partial\theta$ like $uv$ at rate $\eta s$. Competitive "
    "steps reach it from afar, simultaneous ones leave.",
    needs="the identity as measuring function, expectations by quadrature; near: a start 10⁻⁸ away; afar: three starts "
    "0.4 to 0.7 away, η = 0.4",
    symbols={
        r"\theta, w": "the parameters of generator and discriminator",
        "z": "a Gaussian seed",
        r"\phi": "$(x,x^2)$, what the discriminator sees of a point",
        r"\eta": "the learning rate",
        "s": "a singular value of the derivative of the mean features by the parameters of the generator",
        "uv": "the payoff of a bilinear game of one number a player: the deviations along a pair of singular "
        "directions",
    },
    why="Where the generator makes the data's law and the discriminator is silent, both gradients vanish and so do the "
    "second derivatives of each player alone: what is left is the product of the two deviations, a bilinear game. Its "
    "matrix is $((1,0),(2m,2\\sigma))$ by hand, for data of mean $m$ and deviation $\\sigma$. That competitive "
    "steps settle is no property of the payoff, which has "
    "nothing to hold a player still, but of how the players move.",
    notice="From one start, simultaneous steps wind outward until the discriminator saturates; competitive ones wind "
    "inward and stay. The payoff is the same. They need not always: at half the rate the same start is lost.",
)
def play_of_a_small_network_game(key):
    draw, rate, tiny = generator(key), 0.4, 1e-8
    rest = np.array([MEAN, SPREAD])
    slope = np.array([[1.0, 0.0], [2 * MEAN, 2 * SPREAD]])  # of (Ex, Ex²) = (θ₁, θ₁² + θ₂²), one row each
    left, sizes, right = np.linalg.svd(slope)
    start = draw.standard_normal((2, 2))
    starts = (
        np.concatenate([rest + tiny * start[:1], rest + STARTS[:, :2]]),
        np.concatenate([tiny * start[1:], STARTS[:, 2:]]),
    )
    paths = {rule: [np.asarray(each) for each in path] for rule, path in network_paths(*starts, rate).items()}
    seen, expected, gone = [], [], {}
    for rule, (made, judged) in paths.items():
        # In these coordinates the payoff is Σ s·x·y to leading order.
        pair = np.stack([(made[0] - rest) @ right.T, -judged[0] @ left], axis=-1)[:13] / tiny
        seen.append(pair)
        expected.append(turned(rule, rate * sizes, pair[0]))
        gone[rule] = np.linalg.norm(np.concatenate([made - rest, judged], axis=2), axis=2)[1:]
    shown = {rule: np.stack([made[1, :, 0], judged[1, :, 0]], axis=1) for rule, (made, judged) in paths.items()}
    return {
        # Terms of the next order are 10⁻⁸ of the square of what the deviations have grown to.
        "parameters near the equilibrium": Identity(
            np.array(seen), np.array(expected), scale=np.abs(expected).max(),
            error=10 * tiny * np.square(expected).max(), along={"rule": ALL}, aside={"first": np.array(seen)[:, :1]},
        ),
        "distance after 150 rounds from afar": Chain(
            {
                "competitive steps come near": (gone["competitive"][:, -1], 0.01 * gone["competitive"][:, 0]),
                "simultaneous ones go away": (gone["simultaneous"][:, 0], gone["simultaneous"][:, -1]),
            },
            aside={"distance, alternating": gone["alternating"], **shown},
        ),
    }  # fmt: skip


@play_of_a_small_network_game.control("a seed's scale seen once, not twice", of="parameters near the equilibrium")
def scale_once(evidence):
    # σ in place of 2σ in the matrix of the game.
    sizes = np.linalg.svd(np.array([[1.0, 0.0], [2 * MEAN, SPREAD]]))[1]
    turns = [turned(rule, 0.4 * sizes, first[0]) for rule, first in zip(ALL, evidence.aside["first"], strict=True)]
    return replace(evidence, right=np.array(turns))


@play_of_a_small_network_game.control("alternating steps come near too", of="distance after 150 rounds from afar")
def alternating_settles(evidence):
    path = evidence.aside["distance, alternating"]
    return replace(evidence, links=evidence.links | {"competitive steps come near": (path[:, -1], 0.01 * path[:, 0])})


@play_of_a_small_network_game.picture
def two_spirals(pieces):
    """The first parameters of generator and discriminator over 150 rounds from one start, by rule of play."""
    aside = pieces["distance after 150 rounds from afar"].aside
    marks = [Line(rule, *np.asarray(aside[rule]).T, arrow=True) for rule in ("simultaneous", "competitive")]
    return Plane(
        [*marks, Dots("equilibrium", [MEAN], [0.0])], x="generator θ₁", y="discriminator w₁", xs=(-3, 4), ys=(-3, 3)
    )


@claim(
    items={
        "A16.12": (
            "values of the game of modes",
            "pairs of moves that settle it",
            "values where modes differ",
            "lotteries where modes differ",
            "order of the values",
        )
    },
    says=r"A generator of one mode against a discriminator that picks the mode to call real has no pure equilibrium: "
    r"with weights $p_1\ge p_2\ge\dots$ it can be made to pay $1+p_2$, the discriminator is sure of $p_1$ only. Mixing "
    r"closes the gap, at value $1$ and the data's law.",
    needs="the identity as measuring function; at least two modes have weight",
    symbols={"p_k": "the weights of the modes in the data, largest first"},
    why=r"The payoff is $1+p_k-1\{g=k\}$ for mode $g$ made and mode $k$ called real. Against any fixed $g$ the "
    "discriminator calls another mode real, and against any fixed $k$ the generator makes it: somebody always wants "
    "to move. By von Neumann's theorem lotteries over moves have one value, and it is the one at which the generator "
    "makes the data's law, whatever its weights.",
    notice="With equal weights the two pure values stay one apart however many modes there are; the value of mixed "
    "play lies between them and does not depend on the number. A generator that cannot mix must chase.",
)
def games_without_equilibrium(key, *, games: Count = 12):
    modes = np.arange(2, 9)
    tables = [1 + 1 / k - np.eye(int(k)) for k in modes]
    solved = [mixed_equilibrium(table) for table in tables]
    lowest, highest = np.array([pure_values(table) for table in tables]).T
    draw = generator(key)
    random = [draw.standard_normal((4, 5)) for _ in range(games)]
    values = [mixed_equilibrium(table) for table in random]
    gain, loss = np.array([[each.most_gain, each.least_loss] for each in values]).T
    pure = np.array([pure_values(table) for table in random])
    # What each lottery of one player guarantees is found by trying every move of the other.
    assured = np.array([(each.rows @ table).max() for each, table in zip(values, random, strict=True)])
    gained = np.array([(table @ each.columns).min() for each, table in zip(values, random, strict=True)])
    # At least half of an equal share: a mode of hardly any weight leaves the lotteries open.
    weights = [(1 / k + draw.dirichlet(np.ones(k))) / 2 for k in modes]
    uneven = [1 + p - np.eye(len(p)) for p in weights]
    mixed = [mixed_equilibrium(table) for table in uneven]
    settled = [int(pure_equilibria(table).sum()) for table in (*tables, *uneven)]
    second, largest = np.array([np.sort(p)[-2:] for p in weights]).T
    saddle = pure_equilibria(tables[0] + np.array([[0.0, 0.0], [2.0, 2.0]]))
    return {
        "values of the game of modes": Identity(
            np.array([lowest, highest, [each.least_loss for each in solved]]),
            np.array([1 / modes, 1 + 1 / modes, np.ones(7)]),
            error=1e-8,
            along={"value": ["pure, discriminator", "pure, generator", "mixed"], "modes": modes},
        ),
        "pairs of moves that settle it": Exact(
            np.array([*settled, *saddle.ravel().astype(int)]), np.array([*np.zeros(14, int), 0, 1, 0, 0])
        ),
        "values where modes differ": Identity(
            np.array([*np.array([pure_values(table) for table in uneven]).T, [each.least_loss for each in mixed]]),
            np.array([largest, 1 + second, np.ones(7)]),
            error=1e-8,
            along={"value": ["pure, discriminator", "pure, generator", "mixed"], "modes": modes},
            aside={"largest": largest},
        ),
        # The one lottery that makes the data's law, against calling all modes real alike.
        "lotteries where modes differ": Identity(
            np.concatenate([np.append(each.rows, each.columns) for each in mixed]),
            np.concatenate([np.append(p, np.full(len(p), 1 / len(p))) for p in weights]),
            scale=1.0,
            error=1e-7,
            aside={"modes": modes},
        ),
        "order of the values": Chain(
            {
                "pure below mixed": (pure[:, 0], gain + 1e-8),
                "mixed below pure": (loss, pure[:, 1] + 1e-8),
                "the two mixed values": (np.abs(gain - loss), 1e-8),
                "lotteries guarantee them": (np.abs(assured - loss) + np.abs(gained - gain), 1e-7),
            },
            aside={"pure": pure},
        ),
    }


@games_without_equilibrium.control("pure moves with one value", of="values of the game of modes")
def one_value(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@games_without_equilibrium.control("one pair of moves in every game", of="pairs of moves that settle it")
def settled_by_modes(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@games_without_equilibrium.control("the largest weight for the second", of="values where modes differ")
def best_mode_called(evidence):
    low, _, mixed = evidence.right
    return replace(evidence, right=np.array([low, 1 + evidence.aside["largest"], mixed]))


@games_without_equilibrium.control("modes made all alike", of="lotteries where modes differ")
def all_alike(evidence):
    modes = evidence.aside["modes"]
    return replace(evidence, right=np.repeat(1 / modes, 2 * modes))


@games_without_equilibrium.control("no gap between pure values", of="order of the values")
def no_gap(evidence):
    low, high = evidence.aside["pure"].T
    return replace(evidence, links=evidence.links | {"pure below mixed": (high, low + 1e-8)})


@games_without_equilibrium.picture
def values_by_modes(pieces):
    """What each player is sure of with pure moves, and with lotteries, by the number of modes."""
    piece = pieces["values of the game of modes"]
    modes = piece.along["modes"]
    marks = [Line(name, modes, row) for name, row in zip(piece.along["value"], piece.right, strict=True)]
    marks += [Dots(name, modes, row) for name, row in zip(piece.along["value"], piece.left, strict=True)]
    return Curves(marks, x="number of modes", y="payoff to the discriminator")
