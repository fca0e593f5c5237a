"""Azuma, McDiarmid and Burkholder: sums with a past, functions of independent variables, moments of martingales."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import scipy.special
import scipy.stats
from annotated_types import Interval

from deeptheory.foundations.concentration import both_sides, log_binomial_deviation, log_hoeffding
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration.martingales import (
    bounded_differences,
    burkholder_constants,
    log_azuma,
    log_azuma_ranges,
    log_mcdiarmid,
    moment_norm,
    product_law,
    stopped_walk,
    tree_martingale,
    walk_until_one,
)
from deeptheory.lab import Bounded, Chain, Identity, Inequality, Integers, Limit, Printed, Reals, claim
from deeptheory.lab.evidence import NEVER
from deeptheory.lab.pictures import Curves, Dots, Line, Row


def log_tail(law, away, threshold):
    """ln P[|·| ≥ threshold] of finite laws, a row each; a value just reached counts."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log((law * (away >= threshold[:, None] * (1 - 1e-12))).sum(1)), NEVER)


@claim(
    items={"J6.15": ""},
    says=r"For martingale differences $|D_k|\le c_k$, $P[|\sum D_k|\ge t]\le2e^{-t^2/(2\sum c_k^2)}$, and with "
    r"$2e^{-2t^2/\sum w_k^2}$ where the $k$-th difference always lies in some interval of width $w_k$ (all leaves of "
    "binary trees of six steps, searched; and fair signs).",
    needs="each difference has mean zero given the past",
    over=dict(
        up=Reals(0, 1, shape=(63,)),
        down=Reals(0, 1, shape=(63,)),
        bounds=Reals(1e-2, 1, log=True, shape=(6,)),
        share=Reals(0.05, 1),
        n=Integers(1, 200),
    ),
    each="array",
    draws=96,
    generations=8,
)
def azuma_bounds_martingales(up, down, bounds, share, n, *, steps: Literal["fair", "repeated"] = "fair"):
    level = np.floor(np.log2(np.arange(63) + 1)).astype(int)
    up, down = up * bounds[:, level], down * bounds[:, level]
    tree = tree_martingale(up, down)
    # Widths node by node, their largest on each level: the interval may move with the past.
    both = np.where((up == 0) | (down == 0), 0.0, up + down)
    widths = np.stack([both[:, level == k].max(1) for k in range(6)], -1)
    law = tree.probabilities
    if steps == "repeated":  # always up or always down: the first step decides all others
        law = np.zeros_like(law)
        law[:, [0, -1]] = 0.5
    threshold = share * bounds.sum(1)
    tail = log_tail(law, np.abs(tree.values()), threshold)
    signs = np.maximum(log_binomial_deviation(n, 0.5, share * n / 2), NEVER)
    limits = (
        both_sides(log_azuma(threshold, bounds)),
        both_sides(log_azuma_ranges(threshold, np.maximum(widths, 1e-3 * bounds))),
        both_sides(log_azuma(share * n, n[:, None] ** 0.5)),
    )
    return Inequality(np.stack([tail, tail, signs], -1), np.maximum(np.stack(limits, -1), NEVER), log=True)


@azuma_bounds_martingales.control("the exponent −2t²/(2Σc²), as printed", erratum="J6.15a")
def printed_exponent(evidence):
    first = (evidence.bound - np.log(2)) * np.asarray([2.0, 1.0, 2.0]) + np.log(2)
    return replace(evidence, bound=np.maximum(first, NEVER))


azuma_bounds_martingales.control(
    "bounded steps that all repeat the first",
    steps="repeated",
    over=dict(up=Reals(0.8, 1, shape=(63,)), down=Reals(0.8, 1, shape=(63,)), share=Reals(0.5, 0.8)),
)


@claim(
    items={"J6.15": ("reference", "exponent", "ranges"), "L8.17": ("sum",)},
    says=r"At $n=100$ fair signs, $P[|S|\ge20]=0.0569$ and $P[|S|\ge30]=0.0035$, within Azuma's bound. Its exponent is "
    r"the best: that of fair signs tends to $t^2/2n$ for small $t/n$. With ranges $w_k=2c_k$ both forms agree, and "
    r"McDiarmid's bound for a sum is Hoeffding's.",
    symbols={
        r"n": "the number of signs",
        r"S": "their sum",
        r"t": "the deviation",
        r"w_k,\ c_k": "the width of the interval of the $k$-th difference, and the bound on its size",
    },
    why=r"By Cramér's theorem the sum of $n$ fair signs exceeds $xn$ with a probability whose logarithm, over $n$, "
    r"tends to minus the relative entropy of coins with chances $\frac{1\pm x}2$ and fair ones. This is "
    r"$x^2/2+x^4/12+\dots$, and Azuma's exponent is its first term: a larger one would be false for small $x$.",
    notice=r"The exact rate of fair signs touches Azuma's exponent from above as the deviation becomes small; an "
    r"exponent twice as large lies above the rate, so such a bound would lie below the probability.",
)
def azuma_constants():
    share = 1 / 2.0 ** np.arange(2, 9)
    rates = [float(scipy.stats.entropy([(1 + x) / 2, (1 - x) / 2], [0.5, 0.5])) for x in share]
    azuma = -np.asarray([log_azuma(x, np.ones(1)) for x in share])
    t, bounds = np.asarray([0.5, 2.0, 7.0]), np.asarray([0.3, 1.0, 2.5, 0.7])
    return {
        "reference": Printed(
            np.exp(log_binomial_deviation(100, 0.5, np.asarray([10.0, 15.0]))), [0.0569, 0.0035], digits=4
        ),
        "exponent": Limit(
            1 / share, abs(np.asarray(rates) / azuma - 1), order=2.0, aside={"rate": np.asarray(rates), "azuma": azuma}
        ),
        "ranges": Identity(log_azuma_ranges(t, 2 * bounds), log_azuma(t, bounds)),
        "sum": Identity(log_mcdiarmid(t, bounds), log_hoeffding(t, bounds)),
    }


@azuma_constants.control("the printed exponent, twice as large", erratum="J6.15a", of="exponent")
def twice(evidence):
    return replace(evidence, y=abs((evidence.y + 1) / 2 - 1))


@azuma_constants.picture
def exponents(pieces):
    """Exact exponential rate at which a share x of fair signs is exceeded, over x², beside Azuma's exponent."""
    piece = pieces["exponent"]
    x, rate, azuma = 1 / np.asarray(piece.x), piece.aside["rate"], piece.aside["azuma"]
    return Curves(
        [
            Dots("fair signs, exact", x, rate / x**2),
            Line("Azuma", x, azuma / x**2),
            Line("exponent", x, 2 * azuma / x**2, rival="as printed, twice as large"),
        ],
        x="deviation per sign x = t/n", y="exponent over nx²", log="x", ys=(0.4, 1.1),
    )  # fmt: skip


@claim(
    items={"L8.17": ""},
    says=r"$P[|g(X)-\mathbb Eg(X)|\ge\epsilon]\le2e^{-2\epsilon^2/\sum c_i^2}$ for every function $g$ of six "
    r"independent bits, whatever their chances, with $c_i$ the most that the $i$-th bit alone can change (enumerated, "
    r"searched).",
    needs="independent coordinates",
    over=dict(table=Reals(0, 1, shape=(64,)), p=Reals(0, 1, shape=(6,)), mixed=Reals(0, 1), share=Reals(0.01, 1)),
    each="array",
    draws=96,
    generations=8,
    symbols={
        r"g(X)": "a function of independent bits",
        r"\epsilon": "the deviation from its mean",
        r"c_i": "the most by which the $i$-th bit alone can change it",
    },
    why=r"Reveal the bits one after another and follow the mean of $g$ given what is known: a martingale, whose $i$-th "
    r"step lies in an interval of width $c_i$, because the bits that are still hidden do not know the one just seen. "
    r"Azuma's inequality with ranges is the rest.",
    notice=r"Each dot is a function of six bits with a threshold: the exact probability lies below the bound, by a "
    r"factor that grows into the tail. For bits that are copies of one the martingale has a single large step, and "
    r"the bound is broken.",
)
def mcdiarmid_bounds_functions_of_bits(
    table, p, mixed, share, *, bits: Literal["independent", "equal"] = "independent"
):
    # Between an arbitrary function and a sum of bits, where the bound is nearest to being reached.
    outcomes = (np.arange(64)[:, None] >> np.arange(5, -1, -1)) & 1
    table = mixed[:, None] * table + (1 - mixed[:, None]) * outcomes.mean(1)
    law = product_law(p)
    if bits == "equal":
        law = np.zeros_like(law)
        law[:, 0], law[:, -1] = 1 - p[:, 0], p[:, 0]
    away = np.abs(table - (law * table).sum(1, keepdims=True))
    differences = bounded_differences(table.reshape(-1, *(2,) * 6), variables=6)
    threshold = np.maximum(share * away.max(1), 1e-9)
    return Inequality(log_tail(law, away, threshold), both_sides(log_mcdiarmid(threshold, differences)), log=True)


mcdiarmid_bounds_functions_of_bits.control("bits that are copies of one", bits="equal")


@mcdiarmid_bounds_functions_of_bits.picture
def functions_searched(pieces):
    """Exact tails of functions of six bits against McDiarmid's bound, both as logarithms, on the instances searched."""
    (piece,) = pieces.values()
    bound, tail = np.ravel(piece.bound), np.ravel(piece.quantity)
    ends = np.array([-8.0, np.log(2)])
    return Curves(
        [Line("bound", ends, ends), Dots("functions", bound, tail)],
        x="logarithm of the bound", y="logarithm of the probability", xs=(-5, 0.7), ys=(-12, 0.7),
    )  # fmt: skip


@claim(
    items={"L8.17": ("largest deviation", "median", "tails")},
    says=r"The largest deviation $\sup_f|\frac1n\sum f(X_i)-\mathbb Ef|$ over functions with values in $[0,1]$ has "
    r"differences at most $1/n$, however many functions; the median of values in $[0,1]$ has differences up to 1. "
    r"Exact tails of both obey McDiarmid's bound.",
    full=dict(draws=40),
    symbols={r"X_1,\dots,X_n": "independent points, seven here", r"f": "a function of a class"},
    why=r"One of $n$ points moves every mean by at most $1/n$, and the largest of many numbers moves by no more than "
    r"each of them: so a class of any size has the differences of a single mean. The median can jump from one end to "
    r"the other when the point in the middle is replaced, and McDiarmid's bound says nothing about it.",
    notice=r"For the largest deviation bound and exact tails fall together. For the median the bound hardly falls, as "
    r"if a single point decided all.",
)
def mcdiarmid_statistics(key, *, draws: Annotated[int, Interval(ge=1, le=200)] = 6):
    draw = generator(key)
    n, points = 7, 3
    samples = np.stack(np.meshgrid(*(np.arange(points),) * n, indexing="ij"), -1).reshape(-1, n)
    largest, middle, tails, bounds, thresholds = [], [], [], [], []
    for _ in range(draws):
        law, functions = draw.dirichlet(np.ones(points)), draw.uniform(0, 1, (5, points))
        functions[0] = np.arange(points) == 0  # an indicator moves by the whole range
        values = np.sort(draw.uniform(0, 1, points))
        values[0], values[-1] = 0.0, 1.0
        chances = law[samples].prod(1)
        gaps = np.abs(functions[:, samples].mean(2) - (functions @ law)[:, None]).max(0)
        medians = np.median(values[samples], axis=1)
        for statistic, kept in ((gaps, largest), (medians, middle)):
            differences = bounded_differences(statistic.reshape((points,) * n), variables=n)
            kept.append(differences)
            away = np.abs(statistic - chances @ statistic)
            at = np.quantile(away, [0.3, 0.6, 0.9, 1.0], method="inverted_cdf")
            at = np.maximum(at, 1e-9)
            thresholds.append(at)
            tails.append([np.log(chances @ (away >= t * (1 - 1e-12)) + 1e-300) for t in at])
            bounds.append([both_sides(log_mcdiarmid(t, differences)) for t in at])
    return {
        "largest deviation": Inequality(np.asarray(largest), 1 / n),
        "median": Identity(np.asarray(middle), 1.0),
        "tails": Inequality(
            np.asarray(tails), np.asarray(bounds), log=True, aside={"thresholds": np.asarray(thresholds)}
        ),
    }


@mcdiarmid_statistics.control("the median moves by 1/n at most, like a mean", of="median")
def median_like_a_mean(evidence):
    return Inequality(evidence.left, 1 / np.shape(evidence.left)[-1])


@mcdiarmid_statistics.control("differences half as large", of="largest deviation")
def half_the_difference(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@mcdiarmid_statistics.control("four times the exponent, as from differences half as large", of="tails")
def four_times_the_exponent(evidence):
    return replace(evidence, bound=np.log(2) + 4 * (np.asarray(evidence.bound) - np.log(2)))


@mcdiarmid_statistics.picture
def tails_of_statistics(pieces):
    """Exact tails of the largest deviation and of the median, and McDiarmid's bounds, along the threshold."""
    piece = pieces["tails"]
    at, tail, bound = piece.aside["thresholds"], np.asarray(piece.quantity), np.asarray(piece.bound)
    panels = []
    for start, title in ((0, "largest deviation of five means"), (1, "median")):
        x, exact, above = (np.ravel(each[start::2]) for each in (at, tail, bound))
        order = np.argsort(x)
        marks = [Line("bound", x[order], np.exp(above[order])), Dots("exact", x, np.exp(exact))]
        panels.append(Curves(marks, x="deviation from the mean", y="probability", title=title, log="y"))
    return Row(panels)


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
    items={"J6.16": ("p = 2", "p = 1.5", "p = 3", "p = 4", "Gaussian", "constants", "paths", "beyond a walk")},
    says=r"The walk stopped at its first visit of 1 has a ratio $\|X_n\|_p/\|\sqrt{Q_n}\|_p$ with positive limit in "
    r"$n$ for $p=1.5,3,4$, and 1 at $p=2$. Without stopping the ratio tends to the Gaussian's $\|N\|_p$; stopping once "
    r"$|X|\le1.6\sqrt t$, $t\ge4$, makes it larger than $\sqrt{p-1}$ at $p=4$, within $C_4=3$ (twelve steps of it "
    r"also path by path). The constants at $p=4$ and $\frac43$ are $\frac13$ and 3.",
    needs="p above one: at p = 1 the ratio of the walk stopped at 1 falls to zero like 1/log n",
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
    return {
        # Factorials up to 4096! are taken from their logarithms, up to 3e4, whose rounding every probability inherits.
        "p = 2": Identity([ratio(law, 2.0) for law in (*laws[:3], *short, outside)], 1.0, condition=3e4),
        "p = 1.5": Bounded(sizes, np.asarray([1 / ratio(law, first) for law in laws])),
        "p = 3": Bounded(sizes, np.asarray([ratio(law, 3.0) for law in laws])),
        "p = 4": Bounded(sizes, np.asarray([ratio(law, 4.0) for law in laws])),
        "Gaussian": Limit(few, abs(np.asarray(free) / few**1.5 - normal), order=1.0),
        "constants": Identity(
            [*burkholder_constants(4.0), *burkholder_constants(4 / 3), *burkholder_constants(2.0)],
            [1 / 3, 3.0, 1 / 3, 3.0, 1.0, 1.0],
            condition=4.0,
        ),
        "paths": Identity(
            [ratio(stopped_walk(12, near_the_middle), power) for power in POWERS],
            [ratio(paths, power) for power in POWERS],
            size=4096.0,
        ),
        "beyond a walk": Chain(
            {
                "more than √3": (3**0.5, ratio(outside, 4.0)),
                "all walks above c": (np.asarray(low), within.min(1)),
                "and below C": (within.max(1), np.asarray(high)),
            }
        ),
    }


burkholder_on_stopped_walks.control("p = 1", of="p = 1.5", first=1.0)


@burkholder_on_stopped_walks.control("√(p − 1), enough for walks that do not stop", of="beyond a walk")
def unstopped_constant(evidence):
    return replace(evidence, links={"at most √3": evidence.links["more than √3"][::-1]})
