"""Robust two-layer networks exist for nearly orthogonal inputs; gradient descent finds others."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Inequality, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen
from deeptheory.robustness.two_layer_robust import (
    attack_lengths,
    largest_correlation,
    network_outputs,
    robust_network,
    safe_radius,
    train_two_layer,
)


def drawn(key, count, dimension):
    """Inputs evenly drawn from the sphere of radius √d, the most correlated pair on one side; and labels ±1 in turn."""
    inputs = np.sqrt(dimension) * unit_vectors(generator(key), count, dimension)
    products = np.tril(inputs @ inputs.T, -1)
    first, second = np.unravel_index(np.argmax(np.abs(products)), products.shape)
    inputs[first] *= np.sign(products[first, second])
    return inputs, np.where(np.arange(count) % 2, 1.0, -1.0)


@claim(
    items={
        "L12.7": (
            "output at the inputs",
            "units of other inputs",
            "sign within the safe radius",
            "output vanishes at the safe radius",
        )
    },
    says=r"For $m$ inputs on the sphere of radius $\sqrt d$ with $|\langle x_i,x_j\rangle|\le cd$ a two-layer ReLU "
    r"network of width $m$ gives $f(x_i)=y_i$ and keeps its sign under every move shorter than $\frac{1-c}2\sqrt d$.",
    needs="c < 1; the book says a quarter for the half, which is true as well",
    symbols={
        "m": "how many inputs, and units",
        "d": "the dimension",
        "x_i, y_i": "inputs, and labels ±1",
        "c": "the largest correlation of two inputs",
        "f": "the network's output",
    },
    why=r"Each unit looks for one input: it is at 1 there and at $-1$ or below at all others, hence silent. A move of "
    r"length "
    r"$r$ changes no pre-activation by more than $2r/((1-c)\sqrt d)$, which is less than 1 up to the safe radius: the "
    r"own "
    "unit stays awake and the others stay silent. No two inputs are farther apart than $2\\sqrt d$, so that no "
    "network has "
    "a larger order.",
    notice="The output along straight lines from an input: towards the origin it falls fastest and is 0 exactly at the "
    "safe radius. In random directions it hardly changes.",
    explore={"dimension": (50, 100, 200)},
)
def robust_networks_exist(
    key,
    *,
    dimension: Annotated[int, Interval(ge=20, le=400)] = 100,
    inputs: Annotated[int, Interval(ge=2, le=60)] = 20,
):
    x, y = drawn(key, inputs, dimension)
    network, c, radius = robust_network(x, y), largest_correlation(x), safe_radius(x)
    before = x @ network.weights.T + network.biases
    others = before[~np.eye(inputs, dtype=bool)]
    draw = generator(jax.random.fold_in(key, 1))
    random = unit_vectors(draw, 200, dimension)
    towards = x[None] - x[:, None]
    towards = towards / np.maximum(np.linalg.norm(towards, axis=2, keepdims=True), 1e-9)
    share = np.linspace(0, 1.2, 61)
    moves = np.concatenate([np.repeat(random[None], inputs, 0), towards, -x[:, None] / np.sqrt(dimension)], 1)

    def kept(length):
        return y[:, None] * network_outputs(network, x[:, None] + length * moves)

    along = np.array([kept(s * radius)[0] for s in share])
    return {
        "output at the inputs": Identity(network_outputs(network, x), y, condition=dimension * 1.0, aside={"y": y}),
        "units of other inputs": Inequality(others, -1.0, error=1e-12, aside={"c": c}),
        "sign within the safe radius": Inequality(
            1e-9, kept(0.999 * radius), aside={"farther": kept((1 - c / 2) / (1 - c) * 0.999 * radius)}
        ),
        "output vanishes at the safe radius": Identity(
            kept(0.9 * radius)[:, -1],
            np.full(inputs, 0.1),
            condition=dimension * 10.0,
            aside={"share": share, "inward": along[:, -1], "random": along[:, :5], "quarter": np.full(inputs, 0.55)},
        ),
    }


@robust_networks_exist.control("outer weights of half the size", of="output at the inputs")
def half_outer(evidence):
    return replace(evidence, left=0.5 * np.asarray(evidence.left))


@robust_networks_exist.control("other units a tenth further down", of="units of other inputs")
def further_down(evidence):
    return replace(evidence, bound=-1.1)


@robust_networks_exist.control("a safe radius of (1 − c/2)√d/2", of="sign within the safe radius")
def half_the_correlation(evidence):
    return replace(evidence, bound=evidence.aside["farther"])


@robust_networks_exist.control("the output falls half as fast", of="output vanishes at the safe radius")
def half_as_fast(evidence):
    return replace(evidence, right=evidence.aside["quarter"])


@robust_networks_exist.picture
def along_lines(pieces):
    """Output times label along lines from the first input: straight inwards, and in five random directions."""
    aside = pieces["output vanishes at the safe radius"].aside
    marks = [Line("towards the origin", aside["share"], aside["inward"])]
    marks += [Line("random directions", aside["share"], values, thin=True) for values in aside["random"].T]
    return Curves(marks, x="length of the move, over the safe radius", y="output times label")


def flipping_all(network, x, y, direction):
    """The least length, in steps of a fifth, of a move against the labels along one direction that flips all inputs.

    No farther than √d, the length of an input, which stands for any longer one.
    """
    way = y[:, None] * direction / np.linalg.norm(direction)
    lengths = np.arange(0.2, np.sqrt(x.shape[1]), 0.2)
    flipped = (np.all(y * network_outputs(network, x - r * way) < 0) for r in lengths)
    return next((r for r, done in zip(lengths, flipped, strict=True) if done), np.sqrt(x.shape[1]))


@claim(
    items={
        "L12.8": (
            "moves that flip trained networks",
            "one move that flips every input",
            "the construction gains on them",
        )
    },
    says=r"Trained by gradient descent on the same inputs, networks of the same width are flipped by moves whose "
    r"length hardly grows with $d$ (with $m=d/8$), all of them along one direction, while the construction withstands "
    r"moves of order $\sqrt d$.",
    needs="inputs even on the sphere of radius √d, m = d/8 of them and as many units; 300 steps of logistic loss; "
    "medians over the inputs",
    full=dict(trials=48),
    scale="cited: gradient flow to infinity; here: 300 steps, all inputs fitted",
    symbols={"d": "the dimension", "m": "how many inputs, and units"},
    why=r"Gradient descent does not build one unit for each input. It adds up what all inputs ask for: units learn "
    r"sums of many $\pm x_i$, so that a move along the sum of $y_ix_i$ changes the output at every input a little, $m$ "
    r"times over. A move of length of order $\sqrt{d/m}$ is enough, which is a constant here; for all inputs at once "
    "it has to suit the most stubborn of them.",
    notice="Lengths of moves that flip trained networks become level as the dimension grows. One direction, along the "
    "sum of $y_ix_i$, serves all inputs and takes half as long again. What the construction certainly withstands is "
    "longer than the first in all of these dimensions, and passes the second.",
)
def descent_finds_fragile_networks(
    key,
    *,
    sizes: Annotated[Sizes, Interval(ge=128, le=512)] = (128, 256, 512),
    trials: Trials = 16,
):
    lengths, safe, margins, common = np.empty((4, len(sizes), trials))
    chance = np.empty(trials)
    for i, d in enumerate(sizes):
        for t in range(trials):
            own = jax.random.fold_in(key, 1000 * i + t)
            x, y = drawn(own, d // 8, d)
            network = train_two_layer(jax.random.fold_in(own, 1), x, y, width=d // 8)
            margins[i, t] = np.min(y * network_outputs(network, x))
            lengths[i, t] = np.median(attack_lengths(network, x))
            safe[i, t] = safe_radius(x)
            common[i, t] = flipping_all(network, x, y, y @ x)
            if d == sizes[-1]:
                chance[t] = flipping_all(network, x, y, generator(jax.random.fold_in(own, 2)).standard_normal(d))
    root = np.log(sizes[-1] / sizes[0])
    return {
        "training fits every input": Inequality(0.0, margins),
        # Exponents below a quarter, nearer to none than to the root.
        "moves that flip trained networks": Trend(
            root / 4 - np.log(lengths[-1] / lengths[0]),
            aside={
                "lengths": lengths, "safe": safe, "sizes": np.array(sizes),
                "construction": root / 4 - np.log(safe[-1] / safe[0]),
            },
        ),
        "one move that flips every input": Trend(
            root / 2 - np.log(common[-1] / common[0]),
            aside={"common": common, "random": np.log(common[-1] / chance)},
        ),
        "the construction gains on them": Trend(
            np.log(safe[-1] / lengths[-1]) - np.log(safe[0] / lengths[0]),
            aside={"growth": np.log(safe[-1] / safe[0]), "root": root},
        ),
    }  # fmt: skip


@descent_finds_fragile_networks.control("trained networks gain like d", of="the construction gains on them")
def gains_like_d(evidence):
    return replace(evidence, differences=evidence.aside["growth"] - evidence.aside["root"])


@descent_finds_fragile_networks.control(
    "moves as long as the construction withstands", of="moves that flip trained networks"
)
def like_the_construction(evidence):
    return replace(evidence, differences=evidence.aside["construction"])


@descent_finds_fragile_networks.control("a random direction for all", of="one move that flips every input")
def random_direction(evidence):
    return replace(evidence, differences=evidence.aside["random"])


@descent_finds_fragile_networks.picture
def lengths_by_dimension(pieces):
    """Lengths of moves that flip trained networks, one by one and all at once, and the construction's safe radius."""
    moves = pieces["moves that flip trained networks"]
    sizes, lengths = np.asarray(moves.aside["sizes"]), moves.aside["lengths"]
    root = np.mean(lengths[0]) * np.sqrt(sizes / sizes[0])
    marks = [
        seen("moves that flip trained networks", sizes, lengths),
        seen("one move for all inputs", sizes, pieces["one move that flips every input"].aside["common"]),
        seen("safe radius of the construction", sizes, moves.aside["safe"]),
        Line("", sizes, root, rival="order √d"),
    ]
    return Curves(marks, x="dimension d", y="length of the move", log="x", ys=(0, 12))
