"""PAC-Bayes bounds for 0–1 losses: what each pays for its moment, and the printed ones as cases of one."""

from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.special import rel_entr
from scipy.stats import binom

from deeptheory.foundations.concentration import square_exponential_bound
from deeptheory.foundations.entropies import finite_kl
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.finite_classes import union_deviation
from deeptheory.generalization.pac_bayes.bounds import maurer_budget, mcallester_bound, pac_bayes_kl, pac_bayes_pinsker
from deeptheory.generalization.pac_bayes.comparison_bounds import (
    catoni_bound,
    catoni_comparison,
    comparison_bound,
    kl_comparison,
    kl_log_moment,
    log_moment,
    log_moment_at,
    simplified_pac_bayes_bound,
    square_comparison,
    weaker_pac_bayes_bound,
)
from deeptheory.lab import Chain, Exact, Identity, Inequality, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Line

SAMPLES = np.array([10, 20, 50, 200, 1000])


def summed_directly(value, samples, points):
    """The largest Σ_k Bin(k; n, r)·exp(n·Δ(r, k/n)) over a grid of r, term by term from SciPy's binomial."""
    k, risks = np.arange(samples + 1), points[:, None]
    return np.max(np.sum(np.exp(binom.logpmf(k, samples, risks) + samples * value(risks, k / samples)), axis=1))


def sharper_below_and_above(turn, delta):
    """At KL = 0: Theorem 5.6.1 below (5.8) at half as many examples as `turn`, and above it at twice as many."""
    few, many = (0.0, 0.0, turn / 2, delta), (0.0, 0.0, 2 * turn, delta)
    return {
        "Theorem 5.6.1 with fewer": (mcallester_bound(*few), weaker_pac_bayes_bound(*few)),
        "(5.8) with more": (weaker_pac_bayes_bound(*many), mcallester_bound(*many)),
    }


@claim(
    items={
        "L9.4": (
            "moment of kl",
            "moments of squares",
            "moment of Catoni's function",
            "moment of kl between √n and 2√n",
        ),
        "H11.2": ("moment of kl", "moment of kl between √n and 2√n", "moment of kl below n"),
        "A5.32": (
            "moments of squares",
            "moments of squares below their limits",
            "limit of the moment",
            "moment of a Gaussian",
            "where two bounds cross",
        ),
        "A5.29": ("moments of squares", "moment that McAllester pays"),
    },
    says=r"The moment $J_\Delta(n)=\sup_r\sum_k Bin(k;n,r)e^{n\Delta(r,k/n)}$ that a comparison function costs is "
    r"$\sum_k Bin(k;n,k/n)$ for kl, between $\sqrt n$ and $2\sqrt n$; 1 for Catoni's; below $1/\sqrt{1-c/2}$, its "
    r"limit, for $c(p-q)^2$ with $c<2$; at most $2n$ for $\frac{2(n-1)}n(p-q)^2$.",
    needs="independent examples, losses 0 or 1",
    symbols={
        r"J_\Delta(n)": "the moment, which enters a PAC-Bayes bound as $\\ln J$",
        r"n": "the number of examples",
        r"r": "the risk of a hypothesis; the largest value over all is paid",
        r"k": "its mistakes on the sample, a binomial variable",
        r"\Delta": "the function that compares risk $p$ and empirical risk $q$",
        r"c": r"the factor of a square: $\frac12$ in (5.8) of arora, 2 after Pinsker",
    },
    why=r"For kl the exponential cancels the powers of $r$ in the binomial probability, whatever $r$ is. For squares "
    r"the deviation of a mean is sub-Gaussian with proxy $\frac14$, and a Gaussian of that variance has the moment "
    r"$1/\sqrt{1-c/2}$: $2/\sqrt3$ at $c=\frac12$, below the 2 that (5.8) pays, and infinite at $c=2$, so there the "
    r"moment grows with $n$. At KL = 0 Theorem 5.6.1 is sharper than (5.8) below about $(2/\delta)^3$ examples. "
    r"For a Gaussian $z$ itself $\mathbb Ee^{z^2/(2+\epsilon)}=\sqrt{(2+\epsilon)/\epsilon}$ is unbounded.",
    notice=r"The moment of kl runs between its two lines. Squares with a fixed factor below 2 level off, so their "
    r"price does not depend on the sample; the factor $2(n-1)/n$ of Theorem 5.6.1 grows slowly, like $n^{1/4}$, and "
    r"the theorem pays $2n$ for it.",
)
def moments_of_comparisons(*, delta: Annotated[float, Interval(ge=0.03, le=0.5)] = 0.05):
    exact = [
        float(sum(Fraction(comb(n, k) * k**k * (n - k) ** (n - k), n**n) for k in range(n + 1)))
        for n in map(int, SAMPLES[:4])
    ]
    middle = np.concatenate([np.linspace(0.02, 0.98, 97), [0.5]])
    fixed, last = np.array([0.5, 1.0]), 2 * (SAMPLES - 1) / SAMPLES
    factors = np.stack([*np.broadcast_to(fixed[:, None], (2, len(SAMPLES))), last])
    squares = [[square_comparison(float(c)) for c in row] for row in factors]
    moments = np.exp([[log_moment(each, int(n)) for each, n in zip(row, SAMPLES, strict=True)] for row in squares])
    direct = [[summed_directly(each.value, n, middle) for each, n in zip(row, SAMPLES, strict=True)] for row in squares]
    ceiling = np.array([float(square_exponential_bound(c, 0.25)) for c in fixed])
    entropy = np.exp([kl_log_moment(int(n)) for n in range(1, 301)])
    count = np.arange(1, 301)
    small = np.array([1.0, 0.1, 0.01, 0.001])
    nodes = np.linspace(-600, 600, 400_001)
    gaussian = [np.sum(np.exp(nodes**2 / (2 + e) - nodes**2 / 2)) * 0.003 / np.sqrt(2 * np.pi) for e in small]
    return {
        "moment of kl": Identity(
            np.stack(
                [
                    np.exp([kl_log_moment(int(n)) for n in SAMPLES[:4]]),
                    [np.exp(log_moment_at(kl_comparison(), int(n), 0.3)) for n in SAMPLES[:4]],
                ]
            ),
            np.stack([exact, exact]),
            condition=1000.0,  # logarithms of factorials up to 200! carry the rounding
        ),
        "moments of squares": Identity(
            moments,
            direct,
            condition=1000.0,
            error=1e-9,
            aside={"factor two": np.exp([log_moment(square_comparison(2.0), int(n)) for n in SAMPLES])},
        ),
        "moment of Catoni's function": Identity(
            [log_moment_at(catoni_comparison(c), 40, np.linspace(0, 1, 11)) for c in (0.3, 1.0, 4.0)], 0.0, scale=100.0
        ),
        "moment of kl between √n and 2√n": Chain(
            {
                "√n from below": (np.sqrt(count), entropy),
                "2√n from above": (entropy, 2 * np.sqrt(count)),
            },
            error=1e-10,
        ),
        "moment of kl below n": Exact(entropy <= count + 1e-10, count >= 3),
        "moments of squares below their limits": Chain(
            {
                "below its limit": (moments[:2], np.broadcast_to(ceiling[:, None], moments[:2].shape)),
                "which (5.8) pays": (ceiling[0], 2.0),
            }
        ),
        "limit of the moment": Limit(SAMPLES, ceiling[1] - moments[1], order=1.0, aside={"moments": moments[1]}),
        "moment that McAllester pays": Inequality(np.log(moments[2]), np.log(2 * SAMPLES), log=True),
        "moment of a Gaussian": Identity(gaussian, np.sqrt((2 + small) / small), error=1e-8),
        "where two bounds cross": Chain(sharper_below_and_above((2 / delta) ** 3, delta), aside={"delta": delta}),
    }


@moments_of_comparisons.control("E exp(z²/(2+ε)) tends to √2", of="moment of a Gaussian")
def printed_moment(evidence):
    return replace(evidence, right=np.full(4, np.sqrt(2)))


@moments_of_comparisons.control("the moment of kl is at most n for every n", of="moment of kl below n")
def every_count(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@moments_of_comparisons.control("Maurer's 2√n without its 2", of="moment of kl between √n and 2√n")
def no_two(evidence):
    return replace(
        evidence, links={"√n from above": (evidence.links["2√n from above"][0], evidence.links["√n from below"][0])}
    )


@moments_of_comparisons.control("the factor 2 in place of 2(n − 1)/n", of="moments of squares")
def factor_two(evidence):
    return replace(evidence, left=np.stack([*np.asarray(evidence.left)[:2], evidence.aside["factor two"]]))


@moments_of_comparisons.control("the 2 that (5.8) pays is enough for Theorem 5.6.1", of="moment that McAllester pays")
def pays_two(evidence):
    return replace(evidence, bound=np.full(len(SAMPLES), np.log(2)))


@moments_of_comparisons.control("a limit one hundredth smaller", of="moments of squares below their limits")
def smaller_limit(evidence):
    below, limit = evidence.links["below its limit"]
    return replace(evidence, links={"below its limit": (below, 0.99 * np.asarray(limit))})


@moments_of_comparisons.control("the limit 2/√3 of c = ½ at c = 1", of="limit of the moment")
def other_limit(evidence):
    return replace(evidence, y=np.abs(2 / np.sqrt(3) - evidence.aside["moments"]))


@moments_of_comparisons.control("the two bounds cross at (2/δ)² examples", of="where two bounds cross")
def earlier_crossing(evidence):
    delta = float(evidence.aside["delta"])
    return replace(evidence, links=sharper_below_and_above((2 / delta) ** 2, delta))


@moments_of_comparisons.picture
def prices(pieces):
    """The moment that each comparison function costs along the number of examples, with what the books pay for it."""
    growth, squares = pieces["moment of kl between √n and 2√n"].links, np.asarray(pieces["moments of squares"].left)
    least, entropy = growth["√n from below"]
    count, shown = np.asarray(least) ** 2, slice(2, None)
    return Curves(
        [
            Line("√n and 2√n", count[shown], np.sqrt(count[shown])),
            Line("√n and 2√n", count[shown], 2 * np.sqrt(count[shown])),
            Dots("kl", SAMPLES[:4], np.asarray(entropy)[SAMPLES[:4] - 1]),
            Dots("2(n−1)/n·(p−q)²", SAMPLES, squares[2]),
            Line("2n, paid by Theorem 5.6.1", SAMPLES, 2 * SAMPLES),
            Dots("(p−q)²", SAMPLES, squares[1]),
            Dots("½(p−q)²", SAMPLES, squares[0]),
            Line("2, paid by (5.8)", SAMPLES, np.full(len(SAMPLES), 2.0)),
        ],
        x="examples n",
        y="moment that is paid for",
        log="xy",
    )


@claim(
    items={
        "A5.29": ("bounds in closed form", "bounds as printed"),
        "A5.30": "one hypothesis against Hoeffding",
        "A5.31": "finite class against the union bound",
        "A5.32": ("bounds in closed form", "bounds as printed"),
        "H11.2": ("bounds in closed form", "bounds as printed", "which bound is tighter"),
        "L9.4": "bounds in closed form",
        "L9.6": ("bounds in closed form", "bounds as printed", "which bound is tighter", "twice as far as Pinsker"),
    },
    says=r"Each printed PAC-Bayes bound is the general one, $\Delta(\mathbb E_QR,\mathbb E_QR_S)\le(KL+\ln\frac "
    r"J\delta)/n$, solved for the risk: squares with $2m$, 2 and $n$ give Theorem 5.6.1, (5.8) and the handbook's, kl "
    r"with $2\sqrt n$ Maurer's and, after Pinsker, half of the deviation of Theorem 70.",
    needs="the bounds below 1, where the square can be solved",
    symbols={
        r"\Delta": r"a comparison function: $\frac{2(m-1)}m(p-q)^2$, $\frac12(p-q)^2$, $2(p-q)^2$, kl or Catoni's",
        r"\mathbb E_QR,\ \mathbb E_QR_S": "risk and empirical risk of a hypothesis drawn from the posterior $Q$",
        r"KL": "the relative entropy of posterior and prior",
        r"J": "what is paid for the moment of $\\Delta$",
        r"\delta": "the probability with which a bound may fail",
        r"n,\ m": "the number of examples",
    },
    why=r"A square of the difference is solved by a root, Catoni's function by an exponential; kl has no closed "
    r"inverse and is solved numerically. Pinsker's $\mathrm{kl}(q\|p)\ge2(p-q)^2$ turns Maurer's bound into a root "
    r"that is never smaller. With a posterior on one hypothesis Theorem 5.6.1 pays $\ln2m$ more than Hoeffding's "
    r"bound, and with a uniform prior as much more than the union bound.",
    notice=r"All bounds of one posterior as its divergence grows. kl and Catoni's function, which know that few "
    r"mistakes vary little, are far below the roots. Theorem 70 as printed lies twice as far above the empirical risk "
    r"as Pinsker's root; it is true, only loose.",
)
def printed_pac_bayes_bounds(key, *, count: Annotated[int, Interval(ge=8, le=2000)] = 200):
    draw = generator(key)
    n = np.round(np.exp(draw.uniform(np.log(200), np.log(1e5), count)))
    empirical, divergence = draw.uniform(0, 0.5, count), n * draw.uniform(0, 0.05, count)
    delta = np.exp(draw.uniform(np.log(1e-3), np.log(0.2), count))

    def solved(comparison, moment):
        return comparison_bound(comparison, empirical, (divergence + np.log(moment / delta)) / n)

    budget = np.asarray(maurer_budget(divergence, n, delta))
    pinsker = np.asarray(pac_bayes_pinsker(empirical, budget))
    entropic = np.asarray(pac_bayes_kl(empirical, budget))
    square = square_comparison(2 * (n - 1) / n)  # a factor of its own for every instance
    forms = {
        "McAllester": (mcallester_bound(empirical, divergence, n, delta), solved(square, 2 * n)),
        "weaker": (weaker_pac_bayes_bound(empirical, divergence, n, delta), solved(square_comparison(0.5), 2.0)),
        "simplified": (simplified_pac_bayes_bound(empirical, divergence, n, delta), solved(square_comparison(2.0), n)),
        "Maurer": (entropic, solved(kl_comparison(), 2 * np.sqrt(n))),
        "Pinsker": (pinsker, solved(square_comparison(2.0), 2 * np.sqrt(n))),
        "Catoni": (
            catoni_bound(empirical, divergence, n, delta, temperature=1.5),
            solved(catoni_comparison(1.5), 1.0),
        ),
    }
    ours, solutions = (np.stack([np.asarray(pair[side]) for pair in forms.values()]) for side in (0, 1))
    solutions = np.where(ours >= 1, 1.0, solutions)
    # The same written out as printed; what kl is at the bound, in place of its inverse.
    printed = [
        empirical + np.sqrt((divergence + np.log(2 * n / delta)) / (2 * (n - 1))),
        empirical + np.sqrt(2 * (divergence + np.log(2 / delta)) / n),
        empirical + np.sqrt((divergence + np.log(n / delta)) / (2 * n)),
        rel_entr(empirical, entropic) + rel_entr(1 - empirical, 1 - entropic),
    ]
    theorem_70 = empirical + np.sqrt(2 / n * (divergence + np.log(2 * np.sqrt(n) / delta)))
    one = np.asarray(mcallester_bound(0.0, 0.0, n, delta))
    hoeffding = np.asarray(union_deviation(n, 1, delta, sides=1))
    class_size = np.round(np.exp(draw.uniform(0, 12, count)))
    price = np.asarray(finite_kl(np.eye(3)[:1], np.full(3, 1 / 3)))
    finite = mcallester_bound(0.0, np.log(class_size), n, delta)
    union = union_deviation(n, class_size, delta, sides=1)
    return {
        "bounds in closed form": Identity(
            np.minimum(ours, 1.0),
            solutions,
            scale=1.0,
            along={"bound": np.array(list(forms))},
            aside={"factor two": np.minimum(solved(square_comparison(2.0), 2 * n), solutions[0])},
        ),
        "bounds as printed": Identity(
            np.stack([*ours[:3], (divergence + np.log(2 * np.sqrt(n) / delta)) / n]),
            np.stack(printed),
            scale=1.0,
            aside={"without half": empirical + np.sqrt((divergence + np.log(n / delta)) / n)},
        ),
        "which bound is tighter": Chain(
            {"kl below Pinsker": (entropic, pinsker), "Pinsker below Theorem 70": (pinsker, theorem_70)},
            aside={"empirical": empirical},
        ),
        "twice as far as Pinsker": Identity(theorem_70 - empirical, 2 * (pinsker - empirical), condition=100.0),
        "one hypothesis against Hoeffding": Identity(
            2 * (n - 1) * one**2 - 2 * n * hoeffding**2,
            np.log(2 * n),
            scale=np.log(2 * n / delta),
            condition=10.0,
            aside={"with n": 2 * n * (one**2 - hoeffding**2)},
        ),
        "finite class against the union bound": Identity(
            np.append(2 * (n - 1) * np.asarray(finite) ** 2 - 2 * n * union**2, price[0]),
            np.append(np.log(2 * n), np.log(3)),
            scale=np.append(np.log(2 * n * class_size / delta), 1.0),
            condition=10.0,
        ),
    }


@printed_pac_bayes_bounds.control("2m under McAllester's root for 2(m − 1)", of="bounds in closed form")
def one_example_more(evidence):
    return replace(evidence, right=np.stack([evidence.aside["factor two"], *np.asarray(evidence.right)[1:]]))


@printed_pac_bayes_bounds.control("n under the handbook's root for 2n", of="bounds as printed")
def without_half(evidence):
    right = np.asarray(evidence.right)
    return replace(evidence, right=np.stack([*right[:2], evidence.aside["without half"], right[3]]))


@printed_pac_bayes_bounds.control("Pinsker with 3(p − q)² for 2(p − q)²", of="which bound is tighter")
def three_squares(evidence):
    empirical = evidence.aside["empirical"]
    entropic, pinsker = evidence.links["kl below Pinsker"]
    return replace(evidence, links={"kl below": (entropic, empirical + np.sqrt(2 / 3) * (pinsker - empirical))})


@printed_pac_bayes_bounds.control("Theorem 70's deviation is what Pinsker gives", of="twice as far as Pinsker")
def printed_twice(evidence):
    return replace(evidence, right=np.asarray(evidence.right) / 2)


@printed_pac_bayes_bounds.control("2m for 2(m − 1) with one hypothesis", of="one hypothesis against Hoeffding")
def all_examples(evidence):
    return replace(evidence, left=evidence.aside["with n"])


@printed_pac_bayes_bounds.control(
    "the union bound and PAC-Bayes pay the same", of="finite class against the union bound"
)
def no_price(evidence):
    return replace(evidence, right=np.append(np.zeros(len(evidence.right) - 1), evidence.right[-1]))


@printed_pac_bayes_bounds.picture
def along_the_divergence(pieces):
    """Bounds on the risk along KL per example, for 300 examples, an empirical risk of 3 % and δ = 0.05."""
    n, delta, empirical = 300.0, 0.05, 0.03
    share = np.linspace(0, 0.1, 81)
    budget = np.asarray(maurer_budget(share * n, n, delta))
    pinsker = np.asarray(pac_bayes_pinsker(empirical, budget))
    same = empirical, share * n, n, delta
    return Curves(
        [
            Line("kl with 2√n", share, pac_bayes_kl(empirical, budget)),
            Line("Catoni, temperature 1.5", share, catoni_bound(*same, temperature=1.5)),
            Line("Pinsker", share, pinsker),
            Line("Theorem 5.6.1", share, mcallester_bound(*same)),
            Line("(5.8)", share, weaker_pac_bayes_bound(*same)),
            Line("Theorem 70", share, empirical + 2 * (pinsker - empirical), dashed=True),
        ],
        x="divergence per example, KL/n",
        y="bound on the risk",
        ys=(0, 0.6),
    )
