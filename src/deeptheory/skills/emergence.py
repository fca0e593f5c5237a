"""Emergence of skills on a random skill graph: how many of a skill's text pieces can lie in one small error set.

A degree-k skill cluster draws k skills for each text piece, independently from a measure on the skills. A model fails
on a set Y of θ|T| pieces. For a set Z of α|S| skills let β be the number of its edges into Y over the expected number
αkθ|T|; the worst β over Y and Z bounds what any error set of that size can do to any α fraction of the skills.
Reference: arora 15.8–15.9; Arora and Goyal 2023. Entropies are in nats.

Arguments bear the names of these letters: `alpha` is α, `beta` β, `theta` θ, `k` the number of skills a piece; `texts`
is |T| and `skills` |S|.
"""

from itertools import combinations
from typing import Annotated

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import entr, xlog1py
from scipy.stats import binom

from deeptheory.foundations.concentration import log_binomial_coefficient
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside, laws
from deeptheory.foundations.randomness import generator

__all__ = [
    "change_of_measure_concentration",
    "containing_share",
    "emergence_margin",
    "exact_concentration",
    "first_moment_concentration",
    "log_first_moment",
    "searched_concentration",
    "skill_graph",
    "worst_concentration",
]

Fractions = float | int | Float[np.ndarray, "..."]
Counts = int | Int[np.ndarray, "..."]


def skill_graph(
    key: Key[Array, ""], texts: int, skills: int, k: int, *, measure: Float[np.ndarray, " skills"] | None = None
) -> Int[np.ndarray, "texts skills"]:
    """Draw a degree-k skill cluster: how often each text piece uses each skill; rows sum to k.

    The measure on skills is uniform unless given. Clusters of a corpus share the skills and are drawn with separate
    keys. Reference: arora Defs 15.8.4–15.8.6.
    """
    if min(texts, skills, k) < 1:
        raise ValueError(f"texts, skills and k must be at least 1, got {texts}, {skills}, {k}")
    affordable(graph=(texts, skills), draws=(texts, k))
    if measure is not None:
        laws(measure=measure)
        if len(measure) != skills:
            raise ValueError(f"measure must have one entry for each of {skills} skills, got {len(measure)}")
    rng = generator(key)
    chosen = rng.integers(0, skills, (texts, k)) if measure is None else rng.choice(skills, (texts, k), p=measure)
    cells = chosen + skills * np.arange(texts)[:, None]
    return np.bincount(cells.ravel(), minlength=texts * skills).reshape(texts, skills)


def containing_share(measure: Fractions, k: int) -> Fractions:
    """Share of text pieces that use a skill of this measure at all: 1 − (1 − μ)^k, nearly k·μ and not μ.

    arora's note 25 gives μ, which is the share of the edges.
    """
    return -np.expm1(k * np.log1p(-np.asarray(measure)))[()]


def worst_concentration(
    graph: Int[np.ndarray, "texts skills"], group: int, theta: float, *, among: int | None = None
) -> Float[np.ndarray, " groups"]:
    """Worst β for each set Z of `group` skills: the error set takes the θ|T| pieces with most edges into Z.

    The maximum over all Z is the worst case of the theorem; `among` keeps only the first so many sets.
    """
    inside(0, 1, "()", theta=theta)
    texts, skills = graph.shape
    if not 1 <= group < skills:
        raise ValueError(f"group must lie in 1..{skills - 1}, got {group}")
    size = round(theta * texts)
    edges_each = int(graph[0].sum())
    found = []
    for members in list(combinations(range(skills), group))[:among]:
        counts = np.bincount(graph[:, members].sum(1), minlength=edges_each + 1)[::-1]
        taken = np.minimum(np.cumsum(counts), size)  # pieces used once all counts down to this one are allowed
        edges = np.diff(taken, prepend=0) @ np.arange(edges_each, -1, -1)
        found.append(edges / (edges_each * group / skills * size))
    return np.array(found)


def searched_concentration(
    key: Key[Array, ""], graph: Int[np.ndarray, "texts skills"], group: int, theta: float, *, starts: int = 16
) -> float:
    """A large β found by alternating best error sets and best skill sets from random starts, for many skills.

    A lower bound on the worst β, where enumerating the sets Z is out of reach.
    """
    inside(0, 1, "()", theta=theta)
    inside(1, graph.shape[1], group=group)
    texts, skills = graph.shape
    size, rng, best = round(theta * texts), generator(key), 0
    for _ in range(starts):
        members, edges, before = rng.permutation(skills)[:group], 0, -1
        while edges > before:
            before = edges
            pieces = np.argpartition(-graph[:, members].sum(1), size - 1)[:size]
            degrees = graph[pieces].sum(0)
            members = np.argpartition(-degrees, group - 1)[:group]
            edges = int(degrees[members].sum())
        best = max(best, edges)
    return float(best / (graph[0].sum() * group / skills * size))


def exact_concentration(alpha: Fractions, theta: Fractions, k: Annotated[Counts, "[1, 5000]"]) -> Fractions:
    """Worst β in the limit |T| ≫ |S|: the mean of the top θ of X ~ Binomial(k, α), over its mean kα.

    E[top θ of X] = min_t {t + E(X − t)₊/θ}, the minimum at a whole number t.
    """
    inside(0, 1, "()", alpha=alpha, theta=theta)
    alpha, theta, k = np.broadcast_arrays(np.asarray(alpha, float), np.asarray(theta, float), np.asarray(k))
    x = np.arange(np.max(k) + 1)
    mass = binom.pmf(x, k[..., None], alpha[..., None])
    excess = np.maximum(x[:, None] - x, 0)  # (x − t)₊, x down and t across
    tail = (x + mass @ excess / theta[..., None]).min(-1)
    return (tail / (k * alpha))[()]


def _ratio_at(alpha: np.ndarray, budget: Fractions) -> np.ndarray:
    """The β > 1 with kl(βα‖α) = budget, by bisection; infinite where no β below 1/α reaches the budget."""
    low, high = np.ones_like(alpha), 1 / alpha
    for _ in range(80):
        middle = np.sqrt(low) * np.sqrt(high)
        below = _divergence(middle, alpha) < budget
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(budget < -np.log(alpha), np.sqrt(low) * np.sqrt(high), np.inf)


def _divergence(ratio: Fractions, alpha: Fractions) -> Fractions:
    """kl(βα‖α), its second part as a difference of logarithms: 1 − βα has lost the digits of a small α."""
    hit = np.minimum(ratio * alpha, 1)
    return hit * np.log(ratio) + xlog1py(1 - hit, -hit) - (1 - hit) * np.log1p(-np.asarray(alpha))


def _entropy(share: Fractions) -> Fractions:
    """H(θ) = −θ ln θ − (1 − θ) ln(1 − θ)."""
    return entr(share) - xlog1py(1 - np.asarray(share), -np.asarray(share))


def first_moment_concentration(
    alpha: Fractions, theta: Fractions, k: Counts, *, skills_per_text: float = 0.0
) -> Fractions:
    """Least β that the emergence theorem allows: k·kl(βα‖α) = (H(θ) + H(α)|S|/|T|)/θ; infinite where there is none.

    The term with |S|/|T| = `skills_per_text` is what the union over skill sets costs at finite sizes.
    Reference: arora Thm 15.9.1, whose bracket is −kl(βα‖α).
    """
    inside(0, 1, "()", alpha=alpha, theta=theta)
    alpha, theta, k = np.broadcast_arrays(np.asarray(alpha, float), np.asarray(theta, float), np.asarray(k))
    entropy = _entropy(theta) + skills_per_text * _entropy(alpha)
    return _ratio_at(alpha, entropy / (k * theta))[()]


def change_of_measure_concentration(alpha: Fractions, theta: Fractions, k: Counts) -> Fractions:
    """A sharper β for |T| ≫ |S|: k·kl(βα‖α) = log(1/θ); infinite where there is none.

    Conditioning on an event of chance θ costs log(1/θ) of relative entropy, and k independent coins whose mean moved
    from α to βα cost at least k·kl(βα‖α) (Donsker and Varadhan).
    """
    inside(0, 1, "()", alpha=alpha, theta=theta)
    alpha, theta, k = np.broadcast_arrays(np.asarray(alpha, float), np.asarray(theta, float), np.asarray(k))
    return _ratio_at(alpha, -np.log(theta) / k)[()]


def emergence_margin(alpha: float, beta: float, theta: float, k: int) -> float:
    """Left side of the theorem's condition as printed; negative where it applies. Reference: arora (15.16)."""
    inside(0, 1, "()", alpha=alpha, theta=theta, alpha_beta=alpha * beta)
    return float(_entropy(theta) - k * theta * _divergence(beta, alpha))


def log_first_moment(
    texts: Annotated[float | int, "(0, ∞)"], skills: int, alpha: float, beta: float, theta: float, k: int
) -> float:
    """Logarithm of the printed bound on the expected number of bad pairs (Y, Z), by log-gamma at any size.

    log[|S||T|·C(|S|, α|S|)·C(|T|, θ|T|)·C(kθ|T|, βαkθ|T|)·α^{βαkθ|T|}·(1−α)^{(1−βα)kθ|T|}]. Reference: arora (15.17).
    """
    inside(0, 1, "()", alpha=alpha, theta=theta, alpha_beta=alpha * beta)
    edges = k * theta * texts
    hits = alpha * beta * edges
    chosen = (skills, alpha * skills), (texts, theta * texts), (edges, hits)
    choices = sum(log_binomial_coefficient(n, m) for n, m in chosen)
    return float(np.log(skills * texts) + choices + hits * np.log(alpha) + (edges - hits) * np.log1p(-alpha))


doors(__name__, starts="[1, 1e5]", k="[0, ∞)", measure="[0, 1]", skills_per_text="[0, ∞)")
