"""How often "with probability 1 − δ" fails: every such bound on problems where all samples can be enumerated."""

from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np
from scipy.special import gammaln, ndtri, xlog1py, xlogy
from scipy.stats import ksone

from deeptheory.foundations.concentration import binomial_log_probabilities, hoeffding_radius
from deeptheory.generalization.capacity.finite_classes import finite_class_deviation, union_deviation
from deeptheory.generalization.capacity.rademacher_bounds import complexity_deviation, empirical_complexity_deviation
from deeptheory.generalization.capacity.vc_bounds import (
    growth_deviation,
    sauer_deviation,
    vc_deviation,
    vc_dimension_deviation,
)
from deeptheory.generalization.networks.norm_bounds import frobenius_product_bound, path_norm_bound
from deeptheory.generalization.pac_bayes.bounds import (
    langford_seeger_budget,
    maurer_budget,
    mcallester_bound,
    pac_bayes_kl,
    pac_bayes_pinsker,
)
from deeptheory.generalization.pac_bayes.comparison_bounds import (
    catoni_bound,
    simplified_pac_bayes_bound,
    weaker_pac_bayes_bound,
)
from deeptheory.generalization.pac_bayes.description_length import occam_bound
from deeptheory.generalization.pac_bayes.gaussian_posteriors import monte_carlo_risk
from deeptheory.lab import Chain, Identity, Inequality, claim
from deeptheory.lab.pictures import Table

CASES = list(product((10, 20), (0.05, 0.2)))
DELTAS = np.array([delta for _, delta in CASES])
LABELS = np.array([f"n = {n}, δ = {delta:g}" for n, delta in CASES])
FIVE = 5
WORDS = np.array([1, 2, 3, 3])
"""Lengths of the words of a complete prefix code."""
TEMPERATURE = 40.0
"""Of Catoni's bound: so large that a sample without mistakes is all that matters."""
MEMORIZED = {10: 64, 20: 256}
"""Sample sizes of the norm bounds, whose margins are then powers of two, to which those bounds round."""
LOOSE = ("Rademacher, empirical", "VC", "Frobenius norms, three", "path norm, three")
"""How the names of bounds begin that hold even with a quarter of their deviation."""
STEP = 1e-11
"""How far above a jump a risk is taken."""


def binomials(n, risks):
    return np.exp(binomial_log_probabilities(n, risks))


def any_of(n, reach, *, sides=1):
    """The worst chance, over the risk of hypotheses with independent errors, that one deviates more than its reach.

    R_S of each is binomial, so the chance is 1 − ∏(1 − q), q a binomial tail; it is largest beside one of its jumps.
    """
    empirical, reach = np.arange(n + 1) / n, np.asarray(reach, float)
    jumps = (empirical[:, None] + np.concatenate([reach, -reach])).ravel()
    risks = np.unique(np.concatenate([jumps - STEP, jumps + STEP]))
    risks = risks[(risks > 0) & (risks < 1)]
    if not risks.size:  # the reach is more than everything
        return 0.0
    gap = risks[:, None, None] - empirical[:, None]
    broken = np.sum(binomials(n, risks)[:, :, None] * ((gap if sides == 1 else np.abs(gap)) > reach), axis=1)
    return float(np.max(1 - np.prod(1 - broken, axis=1)))


def beyond(levels, chances):
    """The worst chance, over the risk r, that a bound with these values on the outcomes lies below r."""
    risks = np.unique(levels) + STEP
    risks = risks[(risks > 0) & (risks < 1)]
    return float(np.max(np.sum(chances(risks) * (levels < risks[:, None]), axis=1), initial=0.0))


Q = np.concatenate([[0.0, 1.0], 1 / (1 + np.exp(-np.linspace(-6, 6, 19)))])
DIVERGENCE = np.maximum(np.log(2) + xlogy(Q, Q) + xlog1py(1 - Q, -Q), 0.0)
"""Posteriors on two hypotheses, the corners among them, and their divergence from the uniform prior."""


def mistakes(n):
    """All pairs of numbers of mistakes, one of each pair and its mirror image."""
    return np.triu_indices(n + 1)


@cache
def pac_bayes_bounds(price):
    """Risk bounds for every posterior, every pair of numbers of mistakes and every case, in one call each."""
    rows = [np.stack([*mistakes(n), *np.full((2, len(mistakes(n)[0])), [[n], [delta]])]) for n, delta in CASES]
    first, second, n, delta = np.concatenate(rows, axis=1)[..., None]
    risk = np.minimum((first * Q + second * (1 - Q)) / n, 1.0)
    given = np.broadcast_to(price * DIVERGENCE, risk.shape), n, delta
    maurer = maurer_budget(*given)
    return risk, {
        "PAC-Bayes, Maurer": pac_bayes_kl(risk, maurer),
        "PAC-Bayes, Langford–Seeger": pac_bayes_kl(risk, langford_seeger_budget(*given)),
        "PAC-Bayes, Pinsker": pac_bayes_pinsker(risk, maurer),
        "PAC-Bayes, McAllester": mcallester_bound(risk, *given),
        "PAC-Bayes, Catoni": catoni_bound(risk, *given, temperature=TEMPERATURE),
        "PAC-Bayes, handbook": simplified_pac_bayes_bound(risk, *given),
        "PAC-Bayes, weaker form": weaker_pac_bayes_bound(risk, *given),
    }


def pair_law(n, risks):
    """Chances of the pairs of `mistakes` of two hypotheses of one risk with independent errors."""
    first, second = mistakes(n)
    law = binomials(n, risks)
    return np.where(first == second, 1.0, 2.0) * law[:, first] * law[:, second]


def any_posterior(share, price):
    """The worst chance, over the risk of the two hypotheses, that some posterior breaks a bound; for every case."""
    risk, bounds = pac_bayes_bounds(price)
    ends = np.cumsum([len(mistakes(n)[0]) for n, _ in CASES])[:-1]
    found = {}
    for name, values in bounds.items():
        levels = np.split(np.min(risk + share * (np.asarray(values, float) - risk), axis=1), ends)
        found[name] = [beyond(each, partial(pair_law, n)) for each, (n, _) in zip(levels, CASES, strict=True)]
    return found


def two_functions(n, delta, share):
    """Chances, the worst of 99 risks, that the two complexity bounds fail for two hypotheses with independent errors.

    The complexity of two sets of losses that differ on m examples is E|sum of m signs|/2n.
    """
    both, one, other = (each.ravel() for each in np.indices((n + 1,) * 3))
    keep = both + one + other <= n
    both, one, other = both[keep], one[keep], other[keep]
    neither, m = n - both - one - other, np.arange(n + 1)
    walk = [float(binomials(k, 0.5) @ np.abs(2 * np.arange(k + 1) - k)) if k else 0.0 for k in m.tolist()]
    complexity = np.array(walk) / (2 * n)
    r = np.linspace(0.01, 0.99, 99)[:, None]
    ways = gammaln(n + 1) - sum(gammaln(each + 1.0) for each in (both, one, other, neither))
    law = np.exp(ways + (2 * both + one + other) * np.log(r) + (2 * neither + one + other) * np.log1p(-r))
    gap = r - np.minimum(both + one, both + other) / n
    mean = (law * complexity[one + other]).sum(1, keepdims=True)
    expected = share * complexity_deviation(mean, n, delta)
    seen = share * empirical_complexity_deviation(complexity[one + other], n, delta)
    return [float(np.max(np.sum(law * (gap > each), axis=1))) for each in (expected, seen)]


def memorizer(bound, samples, delta, share, *, classes=2):
    """Whether a norm bound fails for a linear classifier of norm 1 that knows the axes it has seen, of ten a sample.

    On the sample every margin is at least 1/√n; of the axes nine tenths at least were not seen, and are wrong. Of three
    classes each has a row with 1/√n at its own axes, and around their mean they are √(2/3) long together.
    """
    # Only the norm matters, of what the rows have not in common.
    layer = [np.ones((1, 1)) if classes == 2 else np.eye(3) / np.sqrt(3)]
    return float(share * bound(layer, size=1.0, margin=samples**-0.5, samples=samples, delta=delta) < 0.9)


@cache
def worst_failures(share=1.0, price=1.0):
    """The worst chance of failure of every bound in every case, its deviation multiplied by `share`.

    At price 0 nothing is paid for choosing: unions over one hypothesis, words of no bits, no divergence.
    """
    hypotheses = FIVE if price else 1
    found = any_posterior(share, price)
    for n, delta in CASES:
        reaches = {
            "Hoeffding, two-sided": (2, [hoeffding_radius(n, delta)]),
            "union, one-sided": (1, [union_deviation(n, hypotheses, delta, sides=1)] * FIVE),
            "union, two-sided": (2, [union_deviation(n, hypotheses, delta)] * FIVE),
            "finite class": (1, [finite_class_deviation(n, hypotheses, delta)] * FIVE),
            "Occam": (1, occam_bound(price * WORDS, n, delta)),
        }
        row = {name: any_of(n, share * np.asarray(reach), sides=sides) for name, (sides, reach) in reaches.items()}
        row |= dict(zip(("Rademacher", "Rademacher, empirical"), two_functions(n, delta, share), strict=True))
        empirical = np.arange(n + 1) / n
        errors = np.resize(np.arange(n + 1.0), pac_bayes_bounds(price)[0].shape)  # one shape, one compilation
        sampled = np.asarray(monte_carlo_risk(errors, n, delta)).ravel()[: n + 1]
        row["sampled risk"] = beyond(empirical + share * (sampled - empirical), partial(binomials, n))
        many = 10 * n
        thresholds = {
            "VC, growth function": growth_deviation(many, np.log(2 * many + 1), delta),
            "VC, Sauer": sauer_deviation(many, 1, delta),
            "VC, printed dimension form": vc_dimension_deviation(many, 1, delta),
            "VC, explicit": vc_deviation(many, 1, delta),
        }
        # Thresholds on a line with labels 0: sup (R − R_S) is the one-sided Kolmogorov–Smirnov statistic.
        row |= {name: float(ksone.sf(min(share * float(reach), 1.0), many)) for name, reach in thresholds.items()}
        for classes, words in ((2, ""), (3, ", three classes")):
            for name, bound in {"Frobenius norms": frobenius_product_bound, "path norm": path_norm_bound}.items():
                row[name + words] = memorizer(bound, MEMORIZED[n], delta, share, classes=classes)
        for name, chance in row.items():
            found.setdefault(name, []).append(chance)
    return {name: np.array(chances) for name, chances in found.items()}


def stacked(failures, *names):
    return np.stack([failures[name] for name in names or failures])


@claim(
    items={},
    says=r"Each bound promised with probability $1-\delta$ fails with probability at most $\delta$ on the worst of "
    r"the risks tried, all samples enumerated. With a quarter of its deviation, a few with a "
    r"twentieth, it fails more often.",
    needs="0–1 losses; 10 and 20 examples, ten times as many for thresholds, 64 and 256 for norms; δ = 0.05 and 0.2; "
    "a grid of 21 posteriors, and of 99 risks for complexities; bounds known only up to constants are not here",
    symbols={r"\delta": "the probability with which a bound may fail"},
    why=r"A bound is proved for the worst case of each of its steps, and the steps are not worst at once: Hoeffding's "
    r"tail is not reached by sums, the union bound counts overlaps twice, a growth function is paid for twice the "
    r"sample. What loses nothing is exact: the limit of a sampled risk inverts the binomial tail itself, and fails "
    r"with probability $\delta$. Catoni's bound at a high temperature is about samples without a mistake only and "
    r"fails with $\delta-\delta^2/4$; those of Maurer and of Langford and Seeger fail most there too, with "
    r"$1-(1-q)^2$, $q=\delta/4\sqrt n$ and $(\delta/2n)^{n/(n-1)}$.",
    notice=r"At 1 all of $\delta$ is spent, above it a bound would be broken. Two bounds come near 1; the union bound "
    r"spends 22 to 30 %, PAC-Bayes bounds other than Catoni's at most 16 %, and bounds by growth functions and norms "
    r"nothing that can be seen. With a quarter of the deviation each spends more than $\delta$, VC bounds, "
    r"empirical complexities and norms of three classes with a twentieth.",
)
def failure_rates():
    worst, quarter, twentieth = (worst_failures(share) for share in (1.0, 0.25, 0.05))
    near = [name for name in worst if not name.startswith(LOOSE)]
    loose = [name for name in worst if name.startswith(LOOSE)]
    n = np.array([n for n, _ in CASES])
    no_mistake = np.stack([DELTAS / (4 * np.sqrt(n)), (DELTAS / (2 * n)) ** (n / (n - 1)), DELTAS / 2])
    union = worst["union, one-sided"] / DELTAS
    labels = {"bound": np.array(list(worst)), "case": LABELS}
    return {
        "probability of failure": Inequality(
            stacked(worst), np.broadcast_to(DELTAS, (len(worst), len(CASES))), along=labels
        ),
        "a quarter of the deviation": Inequality(
            DELTAS, stacked(quarter, *near), along={"bound": np.array(near), "case": LABELS}
        ),
        "a twentieth of the deviation": Inequality(
            DELTAS, stacked(twentieth, *loose), along={"bound": np.array(loose), "case": LABELS}
        ),
        # Risks are taken a little above a jump.
        "sampled risk spends all of δ": Identity(worst["sampled risk"], DELTAS, error=1e-9),
        "samples without a mistake": Identity(
            stacked(worst, "PAC-Bayes, Maurer", "PAC-Bayes, Langford–Seeger", "PAC-Bayes, Catoni"),
            1 - (1 - no_mistake) ** 2,
            error=1e-9,
        ),
        "share that the union bound spends": Chain({"at least": (0.22, union), "at most": (union, 0.3)}),
    }


@failure_rates.control("the bound of one hypothesis for the best of five", of="probability of failure")
def union_not_paid(evidence):
    return replace(
        evidence, quantity=stacked(worst_failures(price=0.0), "union, one-sided"), bound=DELTAS[None], along={}
    )


@failure_rates.control("words of no length", of="probability of failure")
def words_not_paid(evidence):
    return replace(evidence, quantity=stacked(worst_failures(price=0.0), "Occam"), bound=DELTAS[None], along={})


@failure_rates.control("no divergence in Catoni's bound", of="probability of failure")
def divergence_not_paid(evidence):
    quantity = stacked(worst_failures(price=0.0), "PAC-Bayes, Catoni")
    return replace(evidence, quantity=quantity, bound=DELTAS[None], along={})


@failure_rates.control("the normal limit of a sampled risk", of="sampled risk spends all of δ")
def wald(evidence):
    quantile = ndtri(1 - DELTAS)
    found = []
    for (n, _), z in zip(CASES, quantile, strict=True):
        seen = np.arange(n + 1) / n
        found.append(beyond(seen + z * np.sqrt(seen * (1 - seen) / n), partial(binomials, n)))
    return replace(evidence, left=np.array(found))


@failure_rates.control("Maurer's bound without its factor two", of="samples without a mistake")
def without_two(evidence):
    right = np.array(evidence.right)
    right[0] = 1 - (1 - DELTAS / (2 * np.sqrt([n for n, _ in CASES]))) ** 2
    return replace(evidence, right=right)


@failure_rates.control("with half of the deviation already", of="a quarter of the deviation")
def with_half(evidence):
    return replace(evidence, bound=stacked(worst_failures(0.5), *evidence.along["bound"].tolist()))


@failure_rates.control("with a quarter already, as the others", of="a twentieth of the deviation")
def with_a_quarter(evidence):
    return replace(evidence, bound=stacked(worst_failures(0.25), *evidence.along["bound"].tolist()))


@failure_rates.control("a union bound that spends half of δ", of="share that the union bound spends")
def half_is_spent(evidence):
    return replace(evidence, links={"half": (0.5, evidence.links["at least"][1])})


@failure_rates.picture
def shares_of_delta(pieces):
    """Probability of failure of each bound in units of δ: the most of four cases, and the least with less deviation."""
    piece = pieces["probability of failure"]
    spent = dict(zip(piece.along["bound"].tolist(), np.max(np.asarray(piece.quantity) / DELTAS, axis=1), strict=True))
    reduced = {
        name: (share, float(np.min(failures / DELTAS)))
        for share in ("a quarter", "a twentieth")
        for name, failures in zip(
            pieces[f"{share} of the deviation"].along["bound"].tolist(),
            np.asarray(pieces[f"{share} of the deviation"].bound),
            strict=True,
        )
    }
    names = sorted(spent, key=lambda name: -spent[name])
    return Table(
        {
            "bound": names,
            "share of δ that is spent": [float(f"{spent[name]:.2g}") for name in names],
            "of the deviation": [reduced[name][0] for name in names],
            "would spend": [float(f"{reduced[name][1]:.2g}") for name in names],
        }
    )
