"""How much a learning rule knows of its sample, and the generalization gap that this allows."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.stats import entropy, norm

from deeptheory.foundations.concentration import bernoulli_proxy
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.pac_bayes.mutual_information import (
    coordinate_information,
    enumerate_samples,
    expected_gap,
    gaussian_mean_information,
    information_bound,
    on_average_stability,
    sample_information,
    zero_loss_witness,
)
from deeptheory.lab import Chain, Count, Exact, Identity, Inequality, Law, Trials, claim

WITNESSES = ((0.05, 60), (0.01, 300), (0.001, 3000))


def random_problem(draw, *, hypotheses=4, outcomes=3, samples=3):
    """A law of outcomes, all samples of it, losses, and a rule: Gibbs at a random temperature, or any channel."""
    law = draw.dirichlet(np.full(outcomes, 0.7))
    listed = enumerate_samples(law, samples)
    losses = np.where(
        draw.random() < 0.5, draw.random((hypotheses, outcomes)), draw.integers(0, 2, (hypotheses, outcomes))
    )
    empirical = losses[:, listed.outcomes].mean(-1).T
    if draw.random() < 0.7:
        channel = np.exp(-np.exp(draw.uniform(-1, 4)) * empirical)
        channel /= channel.sum(1, keepdims=True)
    else:
        channel = draw.dirichlet(np.full(hypotheses, 0.5), len(empirical))
    return law, listed, losses.astype(float), channel


@claim(
    items={"H11.4": ("entropies", "processing", "ceiling", "Gaussian", "infinite")},
    says=r"$I(A(S);S)=H(A(S))-H(A(S)|S)$, in nats. It never grows when the output is processed further and is at most "
    r"the logarithm of the number of hypotheses, which a rule attains that gives each of as many equally likely "
    r"samples one of its own. For the mean of $n$ values of variance $\tau^2$ plus noise of variance $s^2$ it is "
    r"$\frac12\ln(1+\tau^2/ns^2)$, and infinite without noise.",
    needs="finitely many samples and hypotheses, or Gaussian ones",
    full=dict(trials=200_000),
)
def sample_information_values(key, *, count: Count = 60, trials: Trials = 100_000):
    draw = generator(key)
    informations, differences, processed, ceilings = np.empty((4, count))
    for i in range(count):
        _, listed, _, channel = random_problem(draw)
        output = listed.law @ channel
        informations[i] = sample_information(listed, channel)
        differences[i] = entropy(output) - np.sum(listed.law * entropy(channel, axis=1))
        processed[i] = sample_information(listed, channel @ draw.dirichlet(np.full(3, 0.5), 4))
        ceilings[i] = np.log(channel.shape[1])
    fair = enumerate_samples(np.full(4, 0.25), 1)
    n, spread, noise = 5, 1.5, np.array([0.3, 0.6])
    mean = draw.standard_normal((2, trials)) * spread / n**0.5
    output = mean + draw.standard_normal((2, trials)) * noise[:, None]
    ratios = norm.logpdf(output, mean, noise[:, None]) - norm.logpdf(
        output, 0.0, np.sqrt(noise**2 + spread**2 / n)[:, None]
    )
    return {
        "entropies": Identity(informations, differences, scale=ceilings, condition=10.0),
        "processing": Inequality(processed, informations, error=1e-13),
        "ceiling": Chain(
            {
                "at most the logarithm": (informations, ceilings),
                "attained": (np.log(4), sample_information(fair, np.eye(4)) + 1e-14),
            }
        ),
        "Gaussian": Law(
            np.array([gaussian_mean_information(n, spread=spread, noise=float(s)) for s in noise]), ratios, exact=True
        ),
        "infinite": Exact(np.isinf([gaussian_mean_information(n, spread=spread, noise=0.0)]), [True]),
    }


@sample_information_values.control("the variance of the mean without its 1/n", of="Gaussian")
def one_value(evidence):
    values = [gaussian_mean_information(1, spread=1.5, noise=s) for s in (0.3, 0.6)]
    return replace(evidence, predicted=np.array(values))


@sample_information_values.control("in bits", of="entropies")
def bits(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / np.log(2))


@claim(
    items={"H11.5": ("bound", "witness", "rare losses", "proxy", "tight")},
    says=r"$|\mathbb E[R-R_S]|\le\sqrt{2\sigma^2I/n}$, $I$ in nats, with $\sigma^2$ a sub-Gaussian variance proxy of "
    r"the loss: $\frac14$ for losses in $[0,1]$, reached in the limit by a rule that repeats a fair coin slightly more "
    r"often than not; $\frac{1-2p}{2\ln((1-p)/p)}$ for a loss that is 1 with probability $p$ or $1-p$. A rule that "
    r"picks among $K$ hypotheses one without loss on its only example has gap $(1-p)-(1-p)^K$ and information $\ln "
    r"K-\mathbb E\ln N$, $N$ the number without loss.",
    needs="independent examples; the proxy, not the variance: rare losses tell them apart",
    full=dict(count=1000),
)
def information_and_gap(key, *, count: Count = 300, proxy: Literal["sub-Gaussian", "variance"] = "sub-Gaussian"):
    draw = generator(key)
    gaps, bounds = np.empty((2, count))
    for i in range(count):
        law, listed, losses, channel = random_problem(draw)
        gaps[i] = abs(expected_gap(listed, channel, losses, law))
        bounds[i] = information_bound(sample_information(listed, channel), 3)
    # Six hypotheses, every pattern of their losses on the one example an outcome of its own.
    p, k = 0.2, 6
    patterns = np.indices((2,) * k).reshape(k, -1)
    law = np.prod(np.where(patterns == 0, p, 1 - p), axis=0)
    zeros = (patterns == 0).T.astype(float)
    chosen = np.where(zeros.sum(1, keepdims=True) > 0, zeros, 1.0)
    chosen /= chosen.sum(1, keepdims=True)
    listed = enumerate_samples(law, 1)
    enumerated = (expected_gap(listed, chosen, patterns.astype(float), law), sample_information(listed, chosen))
    rare = [zero_loss_witness(*each) for each in WITNESSES]
    spread = [bernoulli_proxy(p) if proxy == "sub-Gaussian" else p * (1 - p) for p, _ in WITNESSES]
    allowed = [information_bound(info, 1, proxy=float(s)) for (_, info), s in zip(rare, spread, strict=True)]
    coins, tilts = np.array([0.001, 0.05, 0.3, 0.8]), np.linspace(0.01, 30, 30_000)[:, None]
    tilts = np.concatenate([-tilts, tilts])
    needed = 2 * (np.log1p(coins * np.expm1(tilts)) - coins * tilts) / tilts**2
    coin = enumerate_samples(np.full(2, 0.5), 1)
    small = 1e-3
    channel = 0.5 + small * np.array([[1, -1], [-1, 1]])
    wrong = 1.0 - np.eye(2)
    return {
        "bound": Inequality(gaps, bounds, error=1e-13),
        "witness": Identity(enumerated, zero_loss_witness(p, k), condition=10.0),
        "rare losses": Inequality([gap for gap, _ in rare], np.array(allowed)),
        # The largest of a grid of tilts, a thousandth apart: short of the largest of all by the square of that.
        "proxy": Identity(bernoulli_proxy(coins), needed.max(0), error=1e-6),
        # To leading order both are the excess ε; the bound is ε(1 + ε²/3 + …).
        "tight": Identity(
            expected_gap(coin, channel, wrong, np.full(2, 0.5)),
            information_bound(sample_information(coin, channel), 1),
            error=small**3,
        ),
    }


information_and_gap.control(
    "the variance of the loss for its proxy", erratum="H11.5a", of="rare losses", proxy="variance"
)


@information_and_gap.control("√(I/n) without the 2", of="tight")
def without_two(evidence):
    return replace(evidence, right=np.sqrt(2) * np.asarray(evidence.right))


@claim(
    items={"H11.6": ("same", "chain")},
    says=r"The expected gap is the average over $i$ of what replacing example $i$ by a fresh one changes in the loss "
    r"at example $i$, and little information makes it small: $|stability|\le\frac1n\sum_i\sqrt{I(A;Z_i)/2}\le"
    r"\sqrt{\sum_iI(A;Z_i)/2n}\le\sqrt{I(A;S)/2n}$.",
    needs="independent examples, losses in [0, 1]",
    full=dict(count=1000),
)
def information_makes_stable(
    key, *, count: Count = 200, examples: Literal["independent", "copies of one"] = "independent",
    samples: Annotated[int, Interval(ge=2, le=6)] = 3,
):  # fmt: skip
    draw = generator(key)
    gap, stability, parts, sums, whole = np.empty((5, count))
    for i in range(count):
        law, listed, losses, channel = random_problem(draw, samples=samples)
        if examples == "copies of one":
            same = np.all(listed.outcomes == listed.outcomes[:, :1], axis=1)
            listed = listed._replace(law=np.where(same, law[listed.outcomes[:, 0]], 0.0))
        gap[i] = expected_gap(listed, channel, losses, law)
        stability[i] = on_average_stability(listed, channel, losses, law)
        informations = coordinate_information(listed, channel)
        parts[i] = np.mean(information_bound(informations, 1))
        sums[i] = information_bound(float(informations.sum()), samples)
        whole[i] = information_bound(sample_information(listed, channel), samples)
    links = {
        "each example by its own information": (np.abs(stability), parts),
        "Jensen": (parts, sums),
        "independent examples share the information": (sums, whole),
    }
    return {
        "same": Identity(gap, stability, scale=1.0),
        "chain": Chain(links, error=1e-7),  # a root turns the rounding of an information of zero into 1e-8
    }


information_makes_stable.control(
    "examples that are copies of one another", of="chain", examples="copies of one", count=40
)


@information_makes_stable.control("the change is counted twice", of="same")
def counted_twice(evidence):
    return replace(evidence, right=2 * np.asarray(evidence.right))
