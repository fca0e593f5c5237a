"""Emergence of skills: how far an error set can concentrate on few skills of a random skill graph."""

from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval
from scipy.optimize import brentq
from scipy.special import entr, gammaln
from scipy.stats import binom

from deeptheory.generalization.pac_bayes.bounds import binary_kl
from deeptheory.lab import Chain, Inequality, Integers, Law, Limit, Reals, Trials, claim
from deeptheory.lab.pictures import Curves, Line
from deeptheory.skills.emergence import (
    change_of_measure_concentration,
    containing_share,
    emergence_margin,
    exact_concentration,
    first_moment_concentration,
    log_first_moment,
    searched_concentration,
    skill_graph,
    worst_concentration,
)

MEASURE = np.array([0.4, 0.3, 0.2, 0.1])
# (skills, size of the set Z, edges of a piece k, share θ of pieces in error); θ keeps clear of the binomial's tail
# probabilities, where the worst set of a finite graph would fall short of the limit by more than exponentially little.
SETTINGS = ((12, 3, 8, 0.1), (10, 2, 8, 0.1), (12, 3, 4, 0.03))


@claim(
    items={"A15.24": ("degree", "variance", "containing")},
    says=r"In a cluster of $|T|$ pieces with $k$ skills each, a skill of measure $\mu$ has a degree of mean $k|T|\mu$ "
    r"and variance $k|T|\mu(1-\mu)$, and a share $1-(1-\mu)^k$ of the pieces uses it: only its share of the edges is "
    r"$\mu$.",
    needs="skills of a piece drawn independently from the measure, repetition allowed",
    full=dict(trials=400_000),
)
def skill_degrees(key, *, trials: Trials = 100_000, texts: Annotated[int, Interval(ge=2, le=1000)] = 10):
    k = 5
    clusters = skill_graph(key, trials * texts, len(MEASURE), k, measure=MEASURE).reshape(trials, texts, -1)
    degrees = clusters.sum(1).T.astype(float)
    mean = k * texts * MEASURE
    labels = {"measure": MEASURE}
    return {
        "degree": Law(mean, degrees, along=labels, exact=True),
        "variance": Law(mean * (1 - MEASURE), (degrees - mean[:, None]) ** 2, along=labels, exact=True),
        "containing": Law(containing_share(MEASURE, k), (clusters > 0).mean(1).T, along=labels, exact=True),
    }


@skill_degrees.control("the pieces that contain a skill have its measure", of="containing")
def footnote(evidence):
    return replace(evidence, predicted=MEASURE)


@skill_degrees.control("Poisson degrees", of="variance")
def poisson(evidence):
    return replace(evidence, predicted=evidence.predicted / (1 - MEASURE))


@claim(
    items={"A15.30": "theorem", "A15.32": "exact"},
    says=r"With high probability over the random skill graph, for every set of $\theta|T|$ error pieces all but an "
    r"$\alpha$ fraction of the skills have at most $\beta\theta k|T|/|S|$ edges into it, $\beta$ the least number with "
    r"$k\,\mathrm{kl}(\beta\alpha\|\alpha)\ge(H(\theta)+H(\alpha)|S|/|T|)/\theta$. The worst $\beta$ itself tends to "
    r"the mean of the top $\theta$ of a Binomial$(k,\alpha)$ over its mean.",
    needs="at most θ|T| error pieces; edges drawn independently, uniform skills and pieces; |T| much larger than |S|",
    full=dict(texts=100_000),
    explore={"measure": ("uniform", "skewed"), "texts": (5000, 20_000)},
)
def worst_error_sets(
    key,
    *,
    texts: Annotated[int, Interval(ge=100, le=1_000_000)] = 20_000,
    trials: Trials = 12,
    measure: Literal["uniform", "skewed"] = "uniform",
    errors: Literal["a θ share", "all pieces"] = "a θ share",
):
    worst, bound, first, limit = [], [], np.empty((len(SETTINGS), trials)), []
    for i, (skills, group, k, theta) in enumerate(SETTINGS):
        weights = None if measure == "uniform" else np.arange(1.0, skills + 1) / (skills * (skills + 1) / 2)
        for t in range(trials):
            draw = jax.random.fold_in(key, 100 * i + t)
            # Every set Z on the first graph; on the others one fixed Z, whose worst case is then an independent draw.
            graph = skill_graph(draw, texts, skills, k, measure=weights)
            ratios = worst_concentration(graph, group, theta, among=None if t == 0 else 1)
            first[i, t] = ratios[0]
            if errors == "all pieces":
                ratios = graph[:, -group:].sum(keepdims=True) / (k * group / skills * theta * texts)
            worst.append(ratios.max())
            bound.append(first_moment_concentration(group / skills, theta, k, skills_per_text=skills / texts))
        limit.append(exact_concentration(group / skills, theta, k))
    labels = {"setting": np.array([f"|S|={s} |Z|={g} k={k} θ={t}" for s, g, k, t in SETTINGS])}
    return {
        "theorem": Inequality(np.array(worst), np.array(bound)),
        "exact": Law(np.array(limit), first, along=labels, exact=True),
    }


worst_error_sets.control("all pieces, held to the bound for θ|T| of them", of="theorem", errors="all pieces")
worst_error_sets.control("skills that are not uniform", of="theorem", measure="skewed")


@worst_error_sets.control("the first-moment ratio is the worst one", of="exact")
def first_moment_is_attained(evidence):
    return replace(evidence, predicted=np.array([first_moment_concentration(g / s, t, k) for s, g, k, t in SETTINGS]))


@claim(
    items={"A15.30": ""},
    says=r"At finite sizes the choice of the skills costs a term: with high probability over the random skill graph, "
    r"error sets and skill sets found by search stay below the $\beta$ with "
    r"$k\theta\,\mathrm{kl}(\beta\alpha\|\alpha)=H(\theta)+H(\alpha)|S|/|T|$, though they pass the "
    r"one without $|S|/|T|$ when there are half as many skills as pieces.",
    needs="edges drawn independently, uniform skills and pieces",
    full=dict(texts=800, trials=16),
)
def many_skills(
    key,
    *,
    texts: Annotated[int, Interval(ge=50, le=10_000)] = 400,
    trials: Trials = 8,
    counting: Literal["pieces and skills", "pieces"] = "pieces and skills",
):
    alpha, theta, k, shares = 0.25, 0.1, 8, np.array([0.1, 0.5, 1.0])
    found = np.empty((len(shares), trials))
    for i, t in np.ndindex(*found.shape):
        draw, search = jax.random.fold_in(key, 2 * (100 * i + t)), jax.random.fold_in(key, 2 * (100 * i + t) + 1)
        skills = int(shares[i] * texts)
        found[i, t] = searched_concentration(search, skill_graph(draw, texts, skills, k), int(alpha * skills), theta)
    cost = shares if counting == "pieces and skills" else 0 * shares
    bounds = [first_moment_concentration(alpha, theta, k, skills_per_text=float(share)) for share in cost]
    return Inequality(found, np.array(bounds)[:, None], along={"skills per piece": shares})


many_skills.control("without the term |S|/|T|", counting="pieces")


@claim(
    items={"A15.32": ""},
    says=r"The exact worst concentration lies below that of $k\,\mathrm{kl}(\beta\alpha\|\alpha)=\ln(1/\theta)$, and "
    r"that below the theorem's $k\,\mathrm{kl}(\beta\alpha\|\alpha)=H(\theta)/\theta$. The first is the mean of the "
    r"top $\theta$ of a Binomial$(k,\alpha)$ over its mean, and the other two solve their equations.",
    needs="|T| much larger than |S|; where no β is below 1/α the trivial 1/α stands",
    over=dict(alpha=Reals(1e-3, 0.95), theta=Reals(1e-3, 0.95), k=Integers(1, 64, log=True)),
    each="array",
    draws=128,
)
def performance_curves(alpha, theta, k, *, tail: Literal["relative entropy", "gaussian"] = "relative entropy"):
    exact, text = exact_concentration(alpha, theta, k), first_moment_concentration(alpha, theta, k)
    sharper = change_of_measure_concentration(alpha, theta, k)
    links = {}
    # Each curve by its definition, from above and from below. At 1/α the entropy is log 1/α, the most there is.
    most = k * np.log(1 / alpha)
    for name, beta, budget in (
        ("change of measure", sharper, -np.log(theta)),
        ("first moment", text, (entr(theta) + entr(1 - theta)) / theta),
    ):
        spent, budget = k * np.asarray(binary_kl(np.minimum(beta * alpha, 1), alpha)), np.minimum(budget, most)
        links |= {f"{name} keeps its budget": (spent, budget), f"{name} spends its budget": (budget, spent)}
    x = np.arange(65)
    at = (x, k[:, None], alpha[:, None])
    # The best event of probability θ takes the largest values first, the last of them in part.
    top = (x * np.clip(theta[:, None] - binom.sf(*at), 0, binom.pmf(*at))).sum(-1) / (theta * k * alpha)
    links |= {"exact not above the top θ": (exact, top), "exact not below the top θ": (top, exact)}
    if tail == "gaussian":
        sharper = 1 + np.sqrt(2 * np.log(1 / theta) * (1 - alpha) / (k * alpha))
    sharper, text = np.minimum(sharper, 1 / alpha), np.minimum(text, 1 / alpha)
    links |= {
        "exact below change of measure": (exact, sharper),
        "change of measure below first moment": (sharper, text),
    }
    return Chain(links, error=1e-9 / alpha)


performance_curves.control("a Gaussian tail of the binomial variance", tail="gaussian")


@claim(
    items={"A15.31": ("limit", "threshold", "binomials")},
    says=r"The logarithm of the expected number of bad pairs, over $|T|$, tends to the left side of (15.16) at fixed "
    r"$|S|$, and the $\beta$ at which it changes sign to that of the theorem; and $\binom{N}{tN}\le e^{NH(t)}$ at "
    r"every size, with $H$ in nats.",
)
def first_moment_bound():
    texts = 10.0 ** np.arange(3, 8)
    alpha, theta, k, skills = 0.25, 0.1, 8, 12

    def moment(beta, size):
        return log_first_moment(size, skills, alpha, beta, theta, k) / size

    gaps = [abs(moment(2.5, size) - emergence_margin(alpha, 2.5, theta, k)) for size in texts]
    beta = first_moment_concentration(alpha, theta, k)
    roots = np.array([brentq(moment, 1.5, 3.99, args=(size,)) for size in texts])
    n, share = np.meshgrid([2.0, 10.0, 100.0, 10_000.0], np.linspace(0.02, 0.98, 49))
    parts = np.round(share * n)
    chosen = gammaln(n + 1) - gammaln(parts + 1) - gammaln(n - parts + 1)
    return {
        "limit": Limit(texts, np.array(gaps), order=1.0),
        "threshold": Limit(texts, np.abs(roots - beta), order=1.0),
        "binomials": Inequality(chosen, n * (entr(parts / n) + entr(1 - parts / n)), log=True),
    }


@first_moment_bound.control("2 for e, with H still in nats", of="binomials")
def mixed_bases(evidence):
    return replace(evidence, bound=evidence.bound * np.log(2))


@first_moment_bound.control("without the entropy of the choice of Y", of="limit")
def no_choice(evidence):
    return replace(evidence, y=evidence.y + entr(0.1) + entr(0.9))


@performance_curves.picture
def edges_in_error(pieces):
    """The share of edges in error against the share of skills: the theorem, a change of measure, the exact curve."""
    skills = np.linspace(0.05, 0.95, 91)
    curves = {
        "theorem": first_moment_concentration,
        "change of measure": change_of_measure_concentration,
        "exact": exact_concentration,
    }
    marks = [Line(name, skills, 0.1 * np.asarray(curve(1 - skills, 0.1, 8))) for name, curve in curves.items()]
    return Curves(marks, x="share of skills 1 − α", y="share of edges in error βθ", ys=(0, 1))
