"""Performance curves of skills and of tuples: the figure, monotonicity, tensorization."""

from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import jax
import numpy as np
from scipy.optimize import brentq

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Inequality, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen
from deeptheory.skills.competence import recombined_error_share, recombined_graph
from deeptheory.skills.emergence import (
    emergence_margin,
    exact_concentration,
    first_moment_concentration,
    skill_graph,
    worst_concentration,
)
from deeptheory.skills.performance_curves import feasible_exclusions, performance_curve, tuple_performance_curve

FIGURE = ((4, 0.1), (8, 0.1), (16, 0.1), (8, 0.05), (8, 0.2))


@claim(
    items={"A15.33": ("points of the figure", "curves that exist")},
    says=r"The curve $\beta\theta$ over $1-\alpha$ is the zero of condition (15.16). At $\theta=0.1$ there are "
    r"$\alpha,\beta$ with $\beta\theta<1$ that satisfy it for $k=2$ as for $k=4,8,16$: for $k=2$ with $\alpha$ between "
    r"0.083 and 0.197.",
    needs="uniform skills and pieces, many more pieces than skills",
    symbols={
        r"\alpha": "the share of skills that is given up",
        r"\beta": "the concentration of errors on the worst of them",
        r"\theta": "the share of pieces in error",
        "k": "the number of skills of a piece",
    },
    why=r"The bracket in (15.16) is minus the relative entropy of coins of chance $\beta\alpha$ and $\alpha$, which "
    r"grows with $\beta$ up to $\ln(1/\alpha)$ at $\beta=1/\alpha$. So there is a $\beta$ exactly if $k\ln(1/\alpha)$ "
    r"exceeds $H(\theta)/\theta$. For two skills a piece this asks for small $\alpha$ and leaves $\beta$ large, and "
    r"yet $\beta\theta$ is below 1 on a short range.",
    notice="More skills a piece push the curve down, more errors push it up. The curve for $k=2$ is short and high, "
    "but it is there: the caption of the book's figure says it does not exist.",
)
def performance_curve_figure():
    alpha = np.array([0.1, 0.2, 0.3, 0.4])

    def entropy(p):
        return -p * np.log(p) - (1 - p) * np.log(1 - p)

    def printed(b, a, t, k):
        """The left side of (15.16), symbol by symbol."""
        bracket = entropy(b * a) - b * a * np.log(1 / a) - (1 - b * a) * np.log(1 / (1 - a))
        return entropy(t) + k * t * bracket

    roots = [[brentq(printed, 1 + 1e-9, 1 / a - 1e-12, args=(a, t, k)) for a in alpha] for k, t in FIGURE]
    curves = [performance_curve(alpha, theta, k) for k, theta in FIGURE]
    ks, theta = np.array([1, 2, 4, 8, 16]), 0.1
    # By search: any pair at which the printed condition holds, with β > 1, αβ < 1 and a share of edges below one.
    shares = np.arange(0.03, 1, 0.03)
    found = [
        any(printed(b, a, theta, int(k)) < 0 for a in shares for b in np.linspace(1, min(1 / a, 1 / theta), 22)[1:-1])
        for k in ks
    ]
    return {
        "points of the figure": Identity(
            np.array(curves), np.array(roots) * [[t] for _, t in FIGURE], error=1e-8,
            along={"skills a piece, errors": np.array([f"{k}, {t}" for k, t in FIGURE]), "given up": alpha},
            aside={"one less": np.array([performance_curve(alpha, theta, k - 1) for k, theta in FIGURE])},
        ),
        "curves that exist": Exact(
            np.array(found), np.array([feasible_exclusions(theta, int(k)) is not None for k in ks]),
            along={"skills a piece": ks}, aside={"printed": ks > 2},
        ),
    }  # fmt: skip


@performance_curve_figure.control("k − 1 skills a piece", of="points of the figure")
def one_skill_less(evidence):
    return replace(evidence, left=evidence.aside["one less"])


@performance_curve_figure.control(
    "for k = 2 valid α, β do not exist, as printed", of="curves that exist", erratum="A15.33a"
)
def none_for_two(evidence):
    return replace(evidence, right=evidence.aside["printed"])


@performance_curve_figure.picture
def both_plots():
    """Share of edges in error over the share of skills: θ = 0.1 and several k (left), k = 8 and several θ (right)."""
    skills = np.linspace(0.02, 0.98, 193)

    def line(name, theta, k):
        return Line(name, skills, theta * np.asarray(first_moment_concentration(1 - skills, theta, k)))

    words: dict[str, Any] = dict(x="share of skills 1 − α", y="share of edges in error βθ", ys=(0, 1), xs=(0, 1))
    left = [line(f"k = {k}", 0.1, k) for k in (2, 4, 8, 16)]
    right = [line(f"θ = {theta}, or {size}-tuples", theta, 8) for theta, size in ((0.05, 1), (0.1, 2), (0.2, 4))]
    return Row([Curves(left, **words), Curves([*right, Dots("example (0.8, 0.16)", [0.8], [0.16])], **words)])


@claim(
    items={"A15.34": ("fewer errors, lower curve", "more skills, lower curve", "slope in the share of errors")},
    says=r"Where $\beta\theta\le1$, a smaller $\theta$ or a larger $k$ gives a lower curve $\beta\theta$, though "
    r"$\beta$ itself grows as $\theta$ shrinks: with $v=\beta\theta$, $\frac{d}{d\theta}\theta\,\mathrm{kl}(\alpha "
    r"v/\theta\|\alpha)=\ln\frac{1-\alpha v/\theta}{1-\alpha}<0$.",
    needs="βθ ≤ 1 at the larger θ and smaller k",
    symbols={
        r"\theta": "the share of pieces in error",
        "k": "the number of skills of a piece",
        r"\beta": "the concentration of errors",
        "v": "the share of edges in error, $\\beta\\theta$",
        r"\alpha": "the share of skills that is given up",
        r"\mathrm{kl}": "the relative entropy of two coins",
    },
    why=r"The curve solves $k\theta\,\mathrm{kl}(\alpha v/\theta\|\alpha)=H(\theta)$. At fixed $v$ the left side falls "
    r"as $\theta$ grows; the right side rises up to one half, and beyond it the left side falls faster as long as "
    r"$v\le1$. So the $v$ that balances them rises. The proof in the book shows that $H(\theta)/\theta$ falls, which "
    r"is about $\beta$ and goes the other way.",
    notice=r"The share of edges in error grows with the share of pieces in error (left) while the concentration falls "
    "(right). Where the curve passes 1 it says nothing, and there it may turn.",
)
def monotone_curves(*, region: Literal["below one", "everywhere"] = "below one"):
    alpha, theta, k = np.linspace(0.02, 0.95, 40), np.linspace(0.01, 0.99, 99), np.array([1, 2, 3, 4, 8, 16, 32, 64])
    beta = np.asarray(first_moment_concentration(alpha[:, None, None], theta[:, None], k))
    curve = theta[:, None] * beta
    most = 1.0 if region == "below one" else np.inf

    def links(larger, smaller, of):
        """Neighbours on the grid, of which both say something and the larger lies in the region."""
        told = np.isfinite(larger) & np.isfinite(smaller) & (of <= most)
        return smaller[told], larger[told]

    fewer = links(curve[:, 1:], curve[:, :-1], curve[:, 1:])
    more = links(curve[..., :-1], curve[..., 1:], curve[..., :-1])
    concentrations = links(beta[:, 1:], beta[:, :-1], curve[:, 1:])

    above = curve - theta[:, None]  # what is in error beyond an even share
    halved = links(above[..., -2] / 2, above[..., -1], curve[..., -2])  # of 32 and of 64 skills

    a, t, v = (each.ravel() for each in np.meshgrid(alpha[::4], theta[::10], (0.5, 0.8, 1.0), indexing="ij"))
    a, t, v = (each[(v > t) & (a * v < t)] for each in (a, t, v))
    stepped = t + 1e-20j  # a complex step: the derivative to rounding
    b = a * v / stepped
    spent = stepped * (b * np.log(b / a) + (1 - b) * np.log((1 - b) / (1 - a)))
    slope = np.log((1 - a * v / t) / (1 - a))
    rounding = 1 + np.abs(np.log(1 - a * v / t)) + 1 / (1 - a * v / t)
    return {
        "fewer errors, lower curve": Chain(
            {"between neighbouring shares of errors": fewer},
            error=1e-9 * fewer[1], aside={"smaller": concentrations[0], "larger": concentrations[1]},
        ),
        "more skills, lower curve": Chain(
            {"between neighbouring numbers of skills": more},
            error=1e-9 * more[1], aside={"twice as many": halved[0], "half as far": halved[1]},
        ),
        "slope in the share of errors": Identity(
            slope, spent.imag / 1e-20, scale=rounding,
            aside={"at fixed β": a * v / t * np.log(v / t) + (1 - a * v / t) * slope},
        ),
    }  # fmt: skip


@monotone_curves.control("curves compared by β alone", of="fewer errors, lower curve")
def by_concentration(evidence):
    links = {"between concentrations": (evidence.aside["smaller"], evidence.aside["larger"])}
    return replace(evidence, links=links, error=1e-9 * evidence.aside["larger"])


monotone_curves.control("where the curve exceeds 1, too", of="fewer errors, lower curve", region="everywhere")


@monotone_curves.control("twice the skills halve what the curve has above θ", of="more skills, lower curve")
def in_proportion(evidence):
    links = {"between 32 and 64 skills": (evidence.aside["twice as many"], evidence.aside["half as far"])}
    return replace(evidence, links=links, error=1e-9 * evidence.aside["half as far"])


@monotone_curves.control("the slope at fixed β", of="slope in the share of errors")
def at_fixed_concentration(evidence):
    return replace(evidence, left=evidence.aside["at fixed β"])


@monotone_curves.picture
def along_errors():
    """Share of edges in error (left) and concentration (right) against the share of pieces in error, α = 0.2."""
    theta = np.linspace(0.005, 0.99, 198)
    beta = {k: np.asarray(first_moment_concentration(0.2, theta, k)) for k in (4, 8, 16)}
    left = [Line(f"k = {k}", theta, theta * each) for k, each in beta.items()]
    right = [Line(f"k = {k}", theta, each) for k, each in beta.items()]
    x = "share of pieces in error θ"
    return Row([Curves(left, x=x, y="share of edges βθ", ys=(0, 1.6)), Curves(right, x=x, y="concentration β")])


@claim(
    items={
        "A15.35": ("groups that hold a mistaken piece", "worst sets of groups", "worst sets below the lemma"),
        "A15.36": "tuples after scaling as skills before",
        "H15.6": ("worst sets below the lemma", "tuples after scaling as skills before"),
    },
    says=r"Pieces merged in groups of $k'$ are pieces of $k$ random $k'$-tuples of skills; a share of at most "
    r"$k'\theta$ of them is mistaken, and the emergence theorem holds for them as it stands. So loss $\delta/k'$ gives "
    r"for $k'$-tuples the curve that $\delta$ gives for skills.",
    needs="independent skills; many more groups than tuples",
    full=dict(trials=80),
    symbols={
        "k, k'": "the number of skills of a piece, and of pieces in a group and skills in a tuple",
        r"\theta": "the share of mistaken pieces",
        r"\delta": "the average loss of a piece",
    },
    why="A group has $kk'$ independent skills, which can be read as $k$ independent $k'$-tuples: the same random graph "
    r"with $|S|^{k'}$ skills. Its loss is the sum of $k'$ losses, so that $2k'\delta$ bounds the share of mistaken "
    "groups. Halving the loss therefore lifts pairs to where single skills were, halving it again 4-tuples.",
    notice="The worst error sets on pairs, found in graphs that were merged and not drawn as pairs, follow the exact "
    "law for $k$ edges, and lie far above that of $2k$. On the right, a halved loss puts the curve of pairs on that of "
    "skills.",
)
def tuples_by_tensorization(key, *, trials: Trials = 24):
    texts, skills, k, size = 16_000, 3, 4, 2
    alpha, theta, groups = 3 / 9, np.array([0.05, 0.1, 0.2]), 8_000
    chosen = list(combinations(range(9), 3))
    first, worst = np.empty((len(theta), trials)), np.empty((len(theta), 2 * len(chosen)))
    for t, part in enumerate(jax.random.split(key, trials)):
        drawn, merged = jax.random.split(part)
        graph = recombined_graph(merged, skill_graph(drawn, texts, skills, k), size)
        for i, share in enumerate(theta):
            ratios = worst_concentration(graph, 3, float(share), among=None if t < 2 else 1)
            first[i, t] = ratios[0]
            if t < 2:
                worst[i, t * len(chosen) : (t + 1) * len(chosen)] = ratios
    rng, few = generator(jax.random.fold_in(key, 1)), 60
    mistaken, sizes = np.array([3, 6, 12]), np.array([2, 3, 4])
    orders = rng.permuted(np.tile(np.arange(few), (200 * trials, 1)), axis=1)
    bad = np.array([[(orders.reshape(len(orders), -1, s) < m).any(2).mean(1) for s in sizes] for m in mistaken])
    exact = np.array([[recombined_error_share(int(m), few, int(s)) for s in sizes] for m in mistaken])
    bound = np.asarray(first_moment_concentration(alpha, theta, k, skills_per_text=9 / groups))
    given_up, delta = np.array([0.1, 0.2, 0.3, 0.5]), 0.1
    singles = [brentq(lambda b, a=a: emergence_margin(a, b, 2 * delta, 8), 1 + 1e-9, 1 / a - 1e-12) for a in given_up]
    tuples = [tuple_performance_curve(given_up, delta / s, 8, size=int(s)) for s in sizes]
    next_size = [tuple_performance_curve(given_up, delta / s, 8, size=int(s) + 1) for s in sizes]
    return {
        "groups that hold a mistaken piece": Law(
            exact, bad, along={"mistaken pieces": mistaken, "group": sizes}, exact=True,
            aside={"union": mistaken[:, None] * sizes / few},
        ),
        "worst sets of groups": Law(
            exact_concentration(alpha, theta, k), first, along={"errors": theta}, exact=True,
            aside={"all edges": exact_concentration(alpha, theta, k * size)},
        ),
        "worst sets below the lemma": Inequality(
            worst, np.broadcast_to(bound[:, None], worst.shape), along={"errors": theta},
            aside={"all edges": first_moment_concentration(alpha, theta, k * size, skills_per_text=9 / groups)},
        ),
        "tuples after scaling as skills before": Identity(
            np.array(tuples), np.broadcast_to(2 * delta * np.array(singles), (3, 4)), error=1e-8,
            along={"tuple": sizes, "given up": given_up},
            aside={"next": np.array(next_size)},
        ),
    }  # fmt: skip


@tuples_by_tensorization.control("the union bound attained", of="groups that hold a mistaken piece")
def union(evidence):
    return replace(evidence, predicted=evidence.aside["union"])


@tuples_by_tensorization.control("kk′ edges of a group", of="worst sets of groups")
def all_edges(evidence):
    return replace(evidence, predicted=evidence.aside["all edges"])


@tuples_by_tensorization.control("kk′ edges of a group in the theorem", of="worst sets below the lemma")
def all_edges_in_the_theorem(evidence):
    return replace(evidence, bound=np.broadcast_to(evidence.aside["all edges"][:, None], evidence.quantity.shape))


@tuples_by_tensorization.control("tuples one longer", of="tuples after scaling as skills before")
def longer_tuples(evidence):
    return replace(evidence, left=evidence.aside["next"])


@tuples_by_tensorization.picture
def pairs_and_scaling(pieces):
    """Worst concentration of errors on a third of the pairs (left); curves of tuples at losses δ and δ/2 (right)."""
    worst = pieces["worst sets of groups"]
    x = np.linspace(0.02, 0.3, 60)
    left = [
        Line("k edges of a group", x, exact_concentration(1 / 3, x, 4)),
        seen("k edges of a group", worst.along["errors"], worst.observed),
        Line("", x, exact_concentration(1 / 3, x, 8), rival="2k edges of a group"),
    ]
    skills = np.linspace(0.05, 0.95, 91)
    right = [
        Line("skills, loss δ", skills, tuple_performance_curve(1 - skills, 0.05, 8)),
        Line("pairs, loss δ", skills, tuple_performance_curve(1 - skills, 0.05, 8, size=2)),
        Line("pairs, loss δ/2", skills, tuple_performance_curve(1 - skills, 0.025, 8, size=2), dashed=True),
    ]
    return Row(
        [
            Curves(left, x="share of groups in error", y="concentration β"),
            Curves(right, x="share of skills or pairs 1 − α", y="share of edges in error", ys=(0, 1)),
        ]
    )
