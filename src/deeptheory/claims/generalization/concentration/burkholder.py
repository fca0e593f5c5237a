"""Burkholder: the moments of a martingale and of its square function, on trees and on stopped walks."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import scipy.special
import scipy.stats
from annotated_types import Interval

from deeptheory.generalization.concentration.martingales import (
    burkholder_constants,
    moment_norm,
    product_law,
    stopped_walk,
    tree_martingale,
    walk_until_one,
)
from deeptheory.lab import Bounded, Chain, Identity, Inequality, Limit, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

POWERS = (1.5, 3.0, 4.0)


@claim(
    items={"J6.16": ""},
    says=r"$\frac1{p^*-1}\|\sqrt{Q_n}\|_p\le\|X_n\|_p\le(p^*-1)\|\sqrt{Q_n}\|_p$, $p^*=\max(p,\frac p{p-1})$, for "
    r"every martingale on a binary tree of six steps and $p=1.5,3,4$; at $p=2$ the two norms are equal.",
    needs="p above one",
    over=dict(up=Reals(0, 1, shape=(63,)), down=Reals(0, 1, shape=(63,))),
    each="array",
    draws=96,
    generations=8,
    symbols={
        r"X_n": "the martingale after $n$ steps",
        r"Q_n": "the sum of its squared increments",
        r"\|\cdot\|_p": "the $p$-th root of the mean of the $p$-th power",
    },
    why=r"At $p=2$ the norms are equal because increments of a martingale are uncorrelated. For other $p$ Burkholder "
    r"found a function of $(x,q)$ that lies above $|x|^p-C_p^pq^{p/2}$, starts at zero or below, and does not grow in "
    r"mean along any martingale: so the mean of the smaller one is not positive at the end either.",
    notice=r"Each dot is a martingale: the norm of its end against the norm of its square function. All lie in the "
    r"cone between $1/(p^*-1)$ and $p^*-1$; trees of six steps fill only its middle.",
)
def burkholder_bounds_martingales(up, down, *, steps: Literal["fair", "drifting"] = "fair"):
    tree = tree_martingale(up, down)
    law = tree.probabilities if steps == "fair" else product_law(np.full((len(up), 6), 0.5))
    small, large = [], []
    for power in (*POWERS, 2.0):
        low, high = burkholder_constants(power)
        value, square = (moment_norm(part, law, power) for part in (tree.values(), tree.square_function()))
        small += [low * square, value]
        large += [value, high * square]
    return Inequality(np.stack(small, -1), np.stack(large, -1))


burkholder_bounds_martingales.control("steps up and down with equal chance but unequal size", steps="drifting")


@burkholder_bounds_martingales.control("the two norms equal at every p, as at p = 2")
def equal_norms(evidence):
    low = np.repeat([burkholder_constants(power)[0] for power in (*POWERS, 2.0)], 2)
    odd = np.arange(len(low)) % 2 == 1  # every second column is an upper bound
    return replace(
        evidence,
        quantity=np.where(odd, evidence.quantity, evidence.quantity / low),
        bound=np.where(odd, evidence.bound * low, evidence.bound),
    )


@burkholder_bounds_martingales.picture
def cones(pieces):
    """Norms of martingales on trees against those of their square functions, with the lines of both constants."""
    (piece,) = pieces.values()
    panels = []
    for i, power in enumerate(POWERS):
        low, high = burkholder_constants(power)
        square, value = np.asarray(piece.bound)[:, 2 * i + 1] / high, np.asarray(piece.quantity)[:, 2 * i + 1]
        ends = np.array([0.0, float(square.max())])
        marks = [Line("upper bound", ends, high * ends), Line("lower bound", ends, low * ends)]
        panels.append(
            Curves(
                [*marks, Dots("martingales", square, value)],
                x="norm of the square function",
                y="norm of the martingale",
                title=f"p = {power:g}",
            )
        )
    return Row(panels)  # fmt: skip


def ratio(law, power):
    """‖X_n‖_p / ‖√Q_n‖_p of a stopped walk."""
    places, times, chances = law
    return float(moment_norm(places, chances, power) / moment_norm(times**0.5, chances, power))


def near_the_middle(time, position):
    """Stop once the walk, four steps old or more, is within 1.6 √t of its start."""
    return (time >= 4) & (np.abs(position) <= 1.6 * time**0.5)


def stopped_paths(steps, stops):
    """Positions, times and chances of a stopped walk, one for each of its 2ⁿ paths."""
    walks = np.cumsum(2.0 * np.indices((2,) * steps).reshape(steps, -1) - 1, axis=0)
    halts = np.stack([stops(time, walk) for time, walk in enumerate(walks, 1)])
    halts[-1] = True
    last = np.argmax(halts, axis=0)
    return walks[last, np.arange(walks.shape[1])], last + 1.0, np.full(walks.shape[1], 0.5**steps)


@claim(
    items={"J6.16": ("p = 2", "p = 1.5", "the best constants", "all paths enumerated", "beyond a walk")},
    says=r"The walk stopped at its first visit of 1 has a ratio $\|X_n\|_p/\|\sqrt{Q_n}\|_p$ with positive limit in "
    r"$n$ for $p=1.5,3,4$, and 1 at $p=2$. Stopping once $|X|\le1.6\sqrt t$, $t\ge4$, makes it larger than "
    r"$\sqrt{p-1}$ at $p=4$, within $C_4=3$.",
    needs="p above one: at p = 1 the ratio of the walk stopped at 1 falls to zero like 1/log n",
    symbols={
        r"X_n,\ Q_n": "the stopped walk after $n$ steps at most, and the number of steps it made",
        r"\|\cdot\|_p": "the $p$-th root of the mean of the $p$-th power",
        r"t": "the time",
        r"C_p": r"Burkholder's constant $p^*-1$, $p^*=\max(p,\frac p{p-1})$",
    },
    why=r"Stopped at its first visit of 1 the walk ends at 1 almost surely, but late: the chance that it takes longer "
    r"than $t$ is of order $1/\sqrt t$. At $p=1$ the mean of $\sqrt{Q_n}$ then grows like $\log n$ while that of "
    r"$|X_n|$ stays of order 1; for $p>1$ the few long walks carry both norms. Stopping where the walk is small for "
    r"its age keeps those that are far away for their age, and raises the ratio above that of a Gaussian, $3^{1/4}$ "
    r"at $p=4$.",
    notice=r"For $p=1.5$, 3 and 4 the ratios settle, each between Burkholder's constants. At $p=1$, where there is no "
    r"inequality, the ratio goes on falling with every factor of 16.",
)
def burkholder_on_stopped_walks(*, first: Annotated[float, Interval(ge=1.0, le=1.9)] = 1.5):
    sizes = 16 ** np.arange(1, 6)
    laws = [walk_until_one(int(n)) for n in sizes]
    short = [stopped_walk(n, lambda time, x: np.abs(x) == 5) for n in (16, 64, 256)]
    outside = stopped_walk(512, near_the_middle)
    paths = stopped_paths(12, near_the_middle)
    few = sizes[:3]
    free = [scipy.stats.binom.pmf(np.arange(n + 1), n, 0.5) @ np.abs(2.0 * np.arange(n + 1) - n) ** 3 for n in few]
    normal = 2**1.5 * scipy.special.gamma(2.0) / np.pi**0.5
    low, high = zip(*(burkholder_constants(power) for power in POWERS), strict=True)
    within = np.asarray([[ratio(law, power) for law in (*laws, *short, outside)] for power in POWERS])
    ratios = np.concatenate([[[ratio(law, 1.0) for law in laws]], within[:, : len(laws)]])
    return {
        # Factorials up to 4096! are taken from their logarithms, up to 3e4, whose rounding every probability inherits.
        "p = 2": Identity([ratio(law, 2.0) for law in (*laws[:3], *short, outside)], 1.0, condition=3e4),
        "p = 1.5": Bounded(sizes, np.asarray([1 / ratio(law, first) for law in laws])),
        "p = 3": Bounded(sizes, np.asarray([ratio(law, 3.0) for law in laws])),
        "p = 4": Bounded(sizes, np.asarray([ratio(law, 4.0) for law in laws])),
        "walks that never stop": Limit(few, abs(np.asarray(free) / few**1.5 - normal), order=1.0),
        "the best constants": Identity(
            [*burkholder_constants(4.0), *burkholder_constants(4 / 3), *burkholder_constants(2.0)],
            [1 / 3, 3.0, 1 / 3, 3.0, 1.0, 1.0],
            condition=4.0,
        ),
        "all paths enumerated": Identity(
            [ratio(stopped_walk(12, near_the_middle), power) for power in POWERS],
            [ratio(paths, power) for power in POWERS],
            size=4096.0,
        ),
        "beyond a walk": Chain(
            {
                "more than √3": (3**0.5, ratio(outside, 4.0)),
                "all walks above c": (np.asarray(low), within.min(1)),
                "and below C": (within.max(1), np.asarray(high)),
            },
            aside={"sizes": sizes, "ratios": ratios, "power": np.asarray([1.0, *POWERS])},
        ),
    }


burkholder_on_stopped_walks.control("p = 1", of="p = 1.5", first=1.0)


@burkholder_on_stopped_walks.control("√(p − 1), enough for walks that do not stop", of="beyond a walk")
def unstopped_constant(evidence):
    return replace(evidence, links={"at most √3": evidence.links["more than √3"][::-1]})


@burkholder_on_stopped_walks.control("C = p* in place of p* − 1", of="the best constants")
def power_itself(evidence):
    return replace(evidence, right=np.asarray([1 / 4, 4.0, 1 / 4, 4.0, 1 / 2, 2.0]))


@burkholder_on_stopped_walks.picture
def ratios_of_stopped_walks(pieces):
    """Norm of a walk stopped at its first visit of 1, over that of its square function, along the longest time."""
    aside = pieces["beyond a walk"].aside
    rows = zip(aside["power"], aside["ratios"], strict=True)
    return Curves(
        [Line(f"p = {power:g}", aside["sizes"], row, dashed=bool(power == 1)) for power, row in rows],
        x="steps at most, n", y="ratio of the two norms", log="x", ys=(0, 1.8),
    )  # fmt: skip
