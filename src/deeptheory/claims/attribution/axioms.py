"""The axioms of Shapley: what they ask, that the values obey them, and that nothing else does."""

from dataclasses import replace
from typing import Any

import numpy as np

from deeptheory.attribution.axioms import AXIOMS, schemes_obeying
from deeptheory.attribution.shapley import banzhaf_values, shapley_by_orders
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

PLAYERS = 4


@claim(
    items={
        "A10.10": ("sum of the values", "interchangeable players", "a player without effect", "sum of two games"),
        "A10.11": ("dimension of the schemes left", "payments of the only scheme"),
    },
    says=r"Shapley values add up to $U([N])-U(\emptyset)$, are equal for interchangeable players, zero for a player "
    r"without effect and additive in $U$; on games with $U(\emptyset)=0$ they are the only such payments, and none of "
    "the first three can be spared.",
    needs="utility of the empty coalition zero, or subtracted; up to four players, payments linear in $U$",
    symbols={"U": "the utility of a coalition", "[N]": "all players", r"\emptyset": "no players"},
    why=r"Along any order the gains telescope from $U(\emptyset)$ to $U([N])$; that is efficiency, and the others hold "
    "order by order or by exchanging two players. Conversely games are sums of unanimity games, in which a "
    "coalition $T$ earns 1 together and nothing otherwise. There those outside $T$ are without effect and those inside "
    "interchangeable, so each member must get $1/|T|$. Written as linear equations in an unknown scheme, "
    "the axioms leave a space whose dimension can be counted.",
    notice="The dots are sums of the values of random games; they lie on the line that subtracts what nobody earns. "
    "Where the empty coalition already earns something, the sum is not the utility of all.",
)
def shapley_axioms(key):
    draw = generator(key)
    tables = draw.integers(-9, 10, (24, 2**PLAYERS)).astype(float)
    # Players 0 and 1 are made interchangeable, 3 without effect: the table is read at the set with them exchanged.
    sets = np.arange(2**PLAYERS)
    exchanged = (sets & ~3) | (sets & 1) << 1 | (sets & 2) >> 1
    alike = (tables + tables[:, exchanged])[:, sets & 7]
    paid, others = shapley_by_orders(alike), shapley_by_orders(tables)
    counts = np.array([2, 3, 4])
    without = ("nothing", *AXIOMS)
    found = [
        [schemes_obeying(n, [a for a in AXIOMS if a != gone]).dimension for n in counts.tolist()] for gone in without
    ]
    expected = [0 * counts, counts, counts * 2 ** (counts - 1) - 2**counts + 1, counts - 1]
    scheme = schemes_obeying(PLAYERS).scheme
    grounded = tables[:, 1:] - tables[:, :1]
    rounding: dict[str, Any] = {"scale": 9.0, "size": 24.0}
    return {
        "sum of the values": Identity(
            others.sum(1),
            tables[:, -1] - tables[:, 0],
            aside={"everyone": tables[:, -1], "nobody": tables[:, 0]},
            **rounding,
        ),
        "interchangeable players": Identity(
            paid[:, 0],
            paid[:, 1],
            aside={"joining": alike[:, 1] - alike[:, 0], "after": alike[:, 3] - alike[:, 1]},
            **rounding,
        ),
        "a player without effect": Identity(paid[:, 3], np.zeros(len(paid)), **rounding),
        "sum of two games": Identity(shapley_by_orders(tables + alike), others + paid, **rounding),
        "dimension of the schemes left": Exact(
            np.array(found), np.array(expected), along={"axiom left out": np.array(without), "N": counts}
        ),
        "payments of the only scheme": Identity(
            grounded @ scheme.T, others, scale=9.0, condition=100.0, size=16.0, aside={"tables": tables}
        ),
    }


@shapley_axioms.control("the values add up to U([N]), as printed", of="sum of the values", erratum="A10.10a")
def everything(evidence):
    return replace(evidence, right=evidence.aside["everyone"])


@shapley_axioms.control("gains in the order of the names", of="interchangeable players")
def in_order(evidence):
    return replace(evidence, left=evidence.aside["joining"], right=evidence.aside["after"])


@shapley_axioms.control("one parameter less is left without efficiency", of="dimension of the schemes left")
def normalized(evidence):
    expected = np.array(evidence.right)
    expected[1] -= 1
    return replace(evidence, right=expected)


@shapley_axioms.control("the axioms leave the Banzhaf value", of="payments of the only scheme")
def another(evidence):
    return replace(evidence, right=banzhaf_values(evidence.aside["tables"]))


@shapley_axioms.picture
def sums(pieces):
    """Sums of Shapley values of random games against what all players earn beyond nobody."""
    piece = pieces["sum of the values"]
    total, ends = np.asarray(piece.left), np.array([-18.0, 18.0])
    marks = [
        Line("U([N]) − U(∅)", ends, ends),
        Dots("sum of the values", np.asarray(piece.right), total),
        Dots("sum of the values", np.asarray(piece.aside["everyone"]), total, rival="against U([N]), as printed"),
        Level("", y=0.0),
    ]
    return Curves(marks, x="what all players earn", y="sum of the Shapley values")
