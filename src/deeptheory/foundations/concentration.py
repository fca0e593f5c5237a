"""Concentration of sums of independent variables: the classical tail bounds, and the exact tails they are held against.

Bounds whose values underflow are given as logarithms (`log_…`). The bounds are plain arithmetic and compose with `jit`,
`vmap` and `grad`; the exact tails are NumPy, computed in logarithms, and serve as oracles.

Reference: arora Sec. 1.1; Boucheron, Lugosi and Massart, Concentration Inequalities (2013), Ch. 2.
"""

from math import log

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, ndtr, xlog1py, xlogy

from deeptheory.foundations.arrays import AnyArray, namespace
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "bennett_exponent",
    "bernoulli_proxy",
    "berry_esseen_bound",
    "berry_esseen_limit",
    "binomial_log_probabilities",
    "both_sides",
    "chebyshev_bound",
    "finite_law",
    "gaussian_small_ball",
    "hoeffding_confidence",
    "hoeffding_radius",
    "hoeffding_samples",
    "log_bernstein",
    "log_binomial_coefficient",
    "log_binomial_deviation",
    "log_binomial_tail",
    "log_chernoff_lower",
    "log_chernoff_small",
    "log_chernoff_upper",
    "log_hoeffding",
    "log_hoeffding_lemma",
    "markov_bound",
    "normal_distance",
    "poisson_binomial",
    "square_exponential_bound",
]

Numbers = float | int | np.number | Float[AnyArray, "..."] | Int[AnyArray, "..."]

_TOUCH = 1e-12
"""A threshold that misses a value of the lattice by less than this share counts as touching it."""


def markov_bound(mean: Numbers, threshold: Numbers) -> Numbers:
    """Markov: P[X ≥ t] ≤ E X / t for X ≥ 0 and t > 0; attained by X in {0, t}.

    `mean` is E X, `threshold` t. Reference: arora Lemma 1.1.1.
    """
    positive(threshold=threshold)
    return mean / threshold


def chebyshev_bound(variance: Numbers, deviation: Numbers) -> Numbers:
    """Chebyshev: P[|X − E X| ≥ t] ≤ Var X / t², any X; attained by X in {−t, 0, t}.

    `variance` is Var X, `deviation` t. Reference: arora Lemma 1.1.2.
    """
    inside(0, np.inf, variance=variance)
    positive(deviation=deviation)
    return variance / deviation**2


def both_sides(log_bound: Numbers) -> Numbers:
    """The union of an upper and a lower tail with the same bound: twice the bound, in logarithms.

    `log_bound` is ln of the one-sided bound.
    """
    return log_bound + log(2)


def bennett_exponent(excess: Numbers) -> Numbers:
    """h(u) = (1 + u) ln(1 + u) − u for u ≥ −1: the exponent per unit of mean of a Poisson tail, and so of Chernoff's.

    Written as an integral of ln(1 + s), it is u²·(1/2 − u/6 + …); series below 1e-3, where the difference cancels.
    `excess` is u. Reference: Boucheron, Lugosi and Massart 2013, Sec. 2.7.
    """
    near = jnp.abs(excess) < 1e-3
    u = jnp.where(near, excess, 0.0)
    series = u * u * (0.5 + u * (-1 / 6 + u * (1 / 12 + u * (-1 / 20 + u * (1 / 30 - u / 42)))))
    far = jnp.where(near | (excess <= -1), 0.0, excess)
    return jnp.where(near, series, jnp.where(excess <= -1, 1.0, (1 + far) * jnp.log1p(far) - far))


def log_chernoff_small(mean: Numbers, excess: Numbers) -> Numbers:
    """ln of Chernoff's bound P[X ≥ (1 + δ)μ] ≤ exp(−δ²μ/3) for independent indicators and δ up to 1.8169.

    There the exponent passes the exact one, h(δ), and the bound becomes false. `mean` is μ, `excess` δ. Reference:
    arora Lemma 1.1.4.
    """
    inside(0, np.inf, mean=mean)
    inside(0, 1.8169, excess=excess)
    return -(excess**2) * mean / 3


def log_chernoff_upper(mean: Numbers, excess: Numbers) -> Numbers:
    """ln of Chernoff's upper tail at every δ > 0: P[X ≥ (1 + δ)μ] ≤ exp(−δ²μ/(2 + δ)), from ln(1 + δ) ≥ 2δ/(2 + δ).

    `mean` is μ, `excess` δ. Reference: Mitzenmacher and Upfal, Probability and Computing (2005), Ch. 4.
    """
    inside(0, np.inf, mean=mean, excess=excess)
    return -(excess**2) * mean / (2 + excess)


def log_chernoff_lower(mean: Numbers, shortfall: Numbers) -> Numbers:
    """ln of Chernoff's lower tail P[X ≤ (1 − δ)μ] ≤ exp(−δ²μ/2), 0 < δ ≤ 1.

    `mean` is μ, `shortfall` δ. Reference: arora Lemma 1.1.4.
    """
    inside(0, np.inf, mean=mean)
    inside(0, 1, shortfall=shortfall)
    return -(shortfall**2) * mean / 2


def log_hoeffding(deviation: Numbers, widths: Float[AnyArray, "*batch n"]) -> Numbers:
    """ln of Hoeffding's one-sided bound P[X − E X ≥ t] ≤ exp(−2t²/Σ(bᵢ − aᵢ)²), X a sum of independent Xᵢ in [aᵢ, bᵢ].

    `widths` are bᵢ − aᵢ along the last axis. `deviation` is t. Reference: arora Lemma 1.1.5, jagannath Thm 5.4.
    """
    inside(0, np.inf, deviation=deviation)
    return -2 * deviation**2 / (widths**2).sum(-1)


def log_hoeffding_lemma(rate: Numbers, width: Numbers) -> Numbers:
    """Hoeffding's lemma: ln E exp(λ(X − E X)) ≤ λ²(b − a)²/8, the largest sub-Gaussian growth of X in [a, b].

    `rate` is λ, `width` b − a.

    Reference: Hoeffding 1963.
    """
    return rate**2 * width**2 / 8


def hoeffding_radius(
    samples: Numbers, delta: Numbers, *, width: Numbers = 1.0, sides: int = 2, log_means: Numbers = 0.0
) -> Numbers:
    """Half-width (b − a)√((ln N + ln(sides/δ))/(2n)) that a mean of n values keeps to with probability 1 − δ.

    `sides` is 1 when only one direction matters; `log_means` is ln N for N means at once, by the union bound. NumPy in,
    NumPy out; JAX likewise. Reference: lucchi (8.1) to (8.3).
    """
    positive(samples=samples, width=width)
    inside(0, 1, "(]", delta=delta)
    inside(0, np.inf, log_means=log_means)
    logs = namespace(samples, delta, width, log_means).log(delta)
    return width * ((log_means + log(sides) - logs) / (2 * samples)) ** 0.5


def hoeffding_samples(radius: Numbers, delta: Numbers, *, width: Numbers = 1.0) -> Numbers:
    """Sample size (a real number) at which the radius is reached: n = (b − a)² ln(2/δ)/(2ε²).

    ε is the `radius`, b − a the `width` of the values' range, and both sides count. Reference: lucchi (8.1).
    """
    positive(radius=radius, width=width)
    inside(0, 1, "(]", delta=delta)
    return width**2 * jnp.log(2 / delta) / (2 * radius**2)


def hoeffding_confidence(samples: Numbers, radius: Numbers, *, width: Numbers = 1.0) -> Numbers:
    """Chance δ = 2 exp(−2nε²/(b − a)²) that a mean of n values misses by more than the radius; lucchi (8.1).

    `radius` is ε, `width` b − a.
    """
    positive(samples=samples, radius=radius, width=width)
    return jnp.exp(both_sides(-2 * samples * radius**2 / width**2))


def log_bernstein(deviation: Numbers, variance: Numbers, bound: Numbers) -> Numbers:
    """ln of Bernstein's bound P[ΣXᵢ ≥ t] ≤ exp(−(t²/2)/(ΣE Xᵢ² + Mt/3)), Xᵢ independent, centred, |Xᵢ| ≤ M.

    Only Xᵢ ≤ M is used. Both constants are the best: they are the first two terms of Bennett's exponent. `deviation` is
    t, `variance` ΣE Xᵢ² and `bound` M. Reference: arora Lemma 1.1.6.
    """
    inside(0, np.inf, deviation=deviation, variance=variance, bound=bound)
    return -(deviation**2) / 2 / (variance + bound * deviation / 3)


def gaussian_small_ball(radius: Numbers, sigma: Numbers = 1.0) -> tuple[Numbers, Numbers]:
    """Limits ((2/3)·t/σ, (4/5)·t/σ) of P[|X| ≤ t] for X ~ N(0, σ²) and t ≤ 1.0793 σ.

    The lower one is false beyond, the upper one true and of no use. `radius` is t, `sigma` σ. Reference: arora Lemma
    1.1.7.
    """
    positive(sigma=sigma)
    inside(0, 1.0793 * sigma, "(]", radius=radius)
    return 2 * radius / (3 * sigma), 4 * radius / (5 * sigma)


def berry_esseen_bound(third: Numbers, samples: Numbers) -> Numbers:
    """Distance of a standardized sum of n equal terms from the normal law: at most 0.469·E|X|³/(σ³√n).

    `third` is E|X − E X|³/σ³. The constant is Shevtsova's (2013); none below 0.40973 is true (Esseen, 1956).
    """
    inside(1, np.inf, third=third, samples=samples)
    return 0.469 * third / samples**0.5


def berry_esseen_limit(skewness: Numbers, step: Numbers) -> Numbers:
    """√n times that distance as n grows: (|γ|/6 + s/2)/√(2π), γ the skewness and s the lattice step of X/σ (else 0).

    Reference: Esseen, On the Liapounoff limit of error in the theory of probability (1945).
    """
    return (abs(skewness) / 6 + step / 2) / (2 * np.pi) ** 0.5


def square_exponential_bound(rate: Numbers, proxy: Numbers) -> Numbers:
    """E exp(λX²) ≤ 1/√(1 − 2λs²) for a centred sub-Gaussian X of variance proxy s² and 0 ≤ λ < 1/(2s²).

    A mean of m independent losses in [0, 1] has s² = 1/(4m). `rate` is λ, `proxy` s². Reference: arora Sec. 5.6, the
    step before (5.10).
    """
    positive(proxy=proxy)
    inside(0, 1 / (2 * proxy), "[)", rate=rate)
    return (1 - 2 * rate * proxy) ** -0.5


def bernoulli_proxy(probability: Numbers) -> Float[np.ndarray, "..."]:
    """Smallest variance proxy of a coin, (1 − 2p)/(2·ln((1 − p)/p)), and ¼ for a fair one (Kearns and Saul 1998).

    Larger than the variance p(1 − p) of every coin that is not fair. `probability` is p.
    """
    inside(0, 1, "()", probability=probability)
    p = np.asarray(probability, float)
    tilt = 1 - 2 * p
    near = np.abs(tilt) < 0.5  # where the two logarithms cancel
    log_odds = np.where(near, 2 * np.arctanh(np.where(near, tilt, 0.0)), np.log1p(-p) - np.log(p))
    return np.where(tilt == 0, 0.25, tilt / (2 * np.where(tilt == 0, 1.0, log_odds)))


# Exact tails ---------------------------------------------------------------------------------------------------------


def log_binomial_coefficient(n: Numbers, k: Numbers) -> Numbers:
    """ln C(n, k) by the log-gamma function, for real n ≥ k ≥ 0."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def binomial_log_probabilities(samples: Numbers, probability: Numbers) -> Float[np.ndarray, "... k"]:
    """ln Bin(k; n, p) for k = 0, 1, … on a last axis as long as the largest n asks for; −∞ where k > n.

    The law of n times an empirical 0–1 risk (lucchi 9.3). `samples` is n, `probability` p.
    """
    inside(1, 1e8, samples=samples)
    inside(0, 1, probability=probability)
    n, p = np.asarray(samples, float)[..., None], np.asarray(probability, float)[..., None]
    counts = np.arange(float(np.max(n)) + 1)
    possible = counts <= n
    k = np.where(possible, counts, 0.0)
    return np.where(possible, log_binomial_coefficient(n, k) + xlogy(k, p) + xlog1py(n - k, -p), -np.inf)


def _log_sum(terms: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    terms = np.where(chosen, terms, -np.inf)
    top = np.max(terms, -1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(np.log(np.exp(terms - top).sum(-1)) + top[..., 0], 0.0))


def log_binomial_tail(samples: Numbers, probability: Numbers, at_least: Numbers) -> Float[np.ndarray, "..."]:
    """ln P[B ≥ k] for B ~ Binomial(n, p) and any real k, summed in logarithms; −∞ where k > n.

    `samples` is n, `probability` p and `at_least` k.
    """
    terms = binomial_log_probabilities(samples, probability)
    counts = np.arange(terms.shape[-1])
    threshold = np.asarray(at_least, float)[..., None]
    return _log_sum(terms, counts >= threshold - _TOUCH * np.abs(threshold))


def log_binomial_deviation(samples: Numbers, probability: Numbers, deviation: Numbers) -> Float[np.ndarray, "..."]:
    """ln P[|B − np| ≥ t] for B ~ Binomial(n, p), summed in logarithms; −∞ where no count deviates so far.

    `samples` is n, `probability` p and `deviation` t.
    """
    terms = binomial_log_probabilities(samples, probability)
    counts = np.arange(terms.shape[-1])
    mean = (np.asarray(samples) * np.asarray(probability, float))[..., None]
    t = np.asarray(deviation, float)[..., None]
    return _log_sum(terms, np.abs(counts - mean) >= t - _TOUCH * (t + mean))


def poisson_binomial(probabilities: Float[AnyArray, "*batch n"]) -> Float[np.ndarray, "*batch m"]:
    """Chances of 0, 1, …, n successes in independent trials with these probabilities, by convolution. n² operations."""
    p = np.asarray(probabilities)
    law = np.ones((*p.shape[:-1], 1), p.dtype)
    for i in range(p.shape[-1]):
        grown = np.zeros((*law.shape[:-1], law.shape[-1] + 1), p.dtype)
        grown[..., :-1] = law * (1 - p[..., i : i + 1])
        grown[..., 1:] += law * p[..., i : i + 1]
        law = grown
    return law


def finite_law(weights: Float[AnyArray, "*batch n"]) -> Float[AnyArray, "*batch n"]:
    """Probabilities proportional to these nonnegative weights; the uniform law where all of them vanish."""
    total = weights.sum(-1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1 / weights.shape[-1])


def normal_distance(
    values: Float[AnyArray, " n"], probabilities: Float[AnyArray, " n"], *, standardize: bool = True
) -> float:
    """Kolmogorov distance between a finite law (values increasing) and the normal law of the same mean and variance.

    With `standardize=False` the values are compared with N(0, 1) as they are. The largest |F − Φ|, taken on both sides
    of every jump. Reference: arora Thm 1.1.3 for what tends to 0.
    """
    values, probabilities = np.asarray(values, float), np.asarray(probabilities, float)
    if standardize:
        mean = values @ probabilities
        values = (values - mean) / np.sqrt((values - mean) ** 2 @ probabilities)
    after = np.cumsum(probabilities)
    normal = ndtr(values)
    return float(max(np.max(np.abs(after - normal)), np.max(np.abs(after - probabilities - normal))))


doors(__name__, sides="[1, 2]", width="(0, ∞)", widths="[0, ∞)", deviation="[0, ∞)", log_means="[0, ∞)")
