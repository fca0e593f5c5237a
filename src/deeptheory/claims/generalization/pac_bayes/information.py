"""How much a learning rule knows of its sample, and the generalization gap that this allows."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval
from scipy.stats import entropy, norm

from deeptheory.foundations.concentration import bernoulli_proxy
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.pac_bayes.information import (
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
from deeptheory.lab.pictures import Curves, Dots, Line, seen

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
    items={
        "H11.4": (
            "information by entropies",
            "processing loses information",
            "at most the logarithm of the class",
            "ceiling attained",
            "Gaussian means",
            "infinite without noise",
        )
    },
    says=r"$I(A(S);S)=H(A(S))-H(A(S)|S)$ never grows when the output is processed further and is at most the logarithm "
    r"of the number of hypotheses. For the mean of $n$ values of variance $\tau^2$ plus noise of variance $s^2$ it is "
    r"$\frac12\ln(1+\tau^2/ns^2)$ nats, infinite without noise.",
    needs="finitely many samples and hypotheses, or Gaussian ones",
    symbols={
        r"A(S)": "what a learning rule makes of the sample $S$, possibly at random",
        r"I": "mutual information, in nats",
        r"H": "entropy; given $S$, its mean over samples",
        r"n": "the number of values in the sample, 5 here",
        r"\tau^2,\ s^2": "the variance of each value, and of the noise that the rule adds",
    },
    why=r"Information is what is gained about one variable from the other: the entropy of the output less what the "
    r"rule's own randomness leaves of it. A relabeling of outputs keeps all of it; one output for each of as many "
    r"equally likely samples attains the logarithm. For Gaussians the ratio of variances with and without the sample, "
    r"$\tau^2/n+s^2$ and $s^2$, is all that enters.",
    notice=r"A noisy mean tells little about its sample once the noise exceeds the spread of the mean, "
    r"$\tau/\sqrt n=0.67$; with less noise every halving adds nearly $\ln2$, without end.",
    full=dict(trials=200_000),
)
def sample_information_values(key, *, count: Count = 60, trials: Trials = 100_000):
    draw = generator(key)
    informations, differences, processed, hypotheses = np.empty((4, count))
    for i in range(count):
        _, listed, _, channel = random_problem(draw)
        output = listed.law @ channel
        informations[i] = sample_information(listed, channel)
        differences[i] = entropy(output) - np.sum(listed.law * entropy(channel, axis=1))
        # Every fourth output is only relabeled, which loses nothing.
        further = draw.dirichlet(np.full(3, 0.5), 4) if i % 4 else np.eye(4)[draw.permutation(4)]
        processed[i] = sample_information(listed, channel @ further)
        hypotheses[i] = channel.shape[1]
    one_to_one = sample_information(enumerate_samples(np.full(4, 0.25), 1), np.eye(4))
    n, spread, noise = 5, 1.5, np.array([0.3, 0.6])
    mean = draw.standard_normal((2, trials)) * spread / n**0.5
    output = mean + draw.standard_normal((2, trials)) * noise[:, None]
    ratios = norm.logpdf(output, mean, noise[:, None]) - norm.logpdf(
        output, 0.0, np.sqrt(noise**2 + spread**2 / n)[:, None]
    )
    return {
        "information by entropies": Identity(informations, differences, scale=np.log(hypotheses), condition=10.0),
        "processing loses information": Inequality(processed, informations, error=1e-13),
        # The last rule has an output of its own for each of four equally likely samples.
        "at most the logarithm of the class": Inequality(
            np.append(informations, one_to_one),
            np.log(np.append(hypotheses, 4)),
            error=1e-14,
            aside={"one fewer": np.log(np.append(hypotheses, 4) - 1)},
        ),
        "ceiling attained": Identity(one_to_one, np.log(4)),
        "Gaussian means": Law(
            np.array([gaussian_mean_information(n, spread=spread, noise=float(s)) for s in noise]),
            ratios,
            along={"noise": noise},
            exact=True,
            aside={"n": n, "spread": spread},
        ),
        "infinite without noise": Exact(np.isinf([gaussian_mean_information(n, spread=spread, noise=0.0)]), [True]),
    }


def along_noise(evidence, samples, noise):
    """The information of a noisy mean of so many values as the evidence's."""
    spread = float(evidence.aside["spread"])
    return np.array([gaussian_mean_information(samples, spread=spread, noise=float(s)) for s in noise])


@sample_information_values.control("n − 1 for n in the variance of the mean", of="Gaussian means")
def one_value_less(evidence):
    return replace(evidence, predicted=along_noise(evidence, int(evidence.aside["n"]) - 1, evidence.along["noise"]))


@sample_information_values.control("in bits", of="information by entropies")
def bits(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / np.log(2))


@sample_information_values.control("every further processing loses a hundredth", of="processing loses information")
def always_lost(evidence):
    return replace(evidence, bound=0.99 * np.asarray(evidence.bound))


@sample_information_values.control("the logarithm of one hypothesis fewer", of="at most the logarithm of the class")
def one_hypothesis_fewer(evidence):
    return replace(evidence, bound=evidence.aside["one fewer"])


@sample_information_values.picture
def noisy_mean(pieces):
    """Information of the noisy mean of a sample about that sample, along the noise; dots are means of log-ratios."""
    law = pieces["Gaussian means"]
    n, noise = int(law.aside["n"]), np.geomspace(0.05, 5, 80)
    return Curves(
        [
            Line("½ ln(1 + τ²/ns²)", noise, along_noise(law, n, noise)),
            seen("sampled", law.along["noise"], law.observed),
            Line("as for one value", noise, along_noise(law, 1, noise), rival="the variance without its 1/n"),
        ],
        x="standard deviation of the noise, s",
        y="information in nats",
        log="x",
    )


@claim(
    items={
        "H11.5": (
            "gap below the bound",
            "gap by hand",
            "rare losses, sharper proxy",
            "best proxy of a coin",
            "bound attained for little information",
        )
    },
    says=r"$|\mathbb E[R-R_S]|\le\sqrt{2\sigma^2I/n}$, $I$ in nats, with $\sigma^2$ a sub-Gaussian variance proxy of "
    r"the loss: $\frac14$ for losses in $[0,1]$, $\frac{1-2p}{2\ln((1-p)/p)}$ for a loss that is 1 with probability "
    r"$p$ or $1-p$. The variance in its place is not enough.",
    needs="independent examples; the proxy, not the variance: rare losses tell them apart",
    symbols={
        r"R,\ R_S": "risk and empirical risk of what the learning rule returns",
        r"\sigma^2": r"a number with $\mathbb Ee^{t(\ell-\mathbb E\ell)}\le e^{\sigma^2t^2/2}$ for all $t$",
        r"I": "the mutual information of the rule's output and the sample",
        r"n": "the number of examples",
        r"p": "the probability of a loss of 1, or of 0",
    },
    why=r"By the change of measure from independent output and sample to the true pair, $t\,\mathbb E[R-R_S]\le "
    r"I+\sigma^2t^2/2n$ for every $t$, and the best $t$ gives the root. It is reached in the limit by a rule that "
    r"repeats a fair coin slightly more often than not. A rule that picks, of $K$ hypotheses, one without loss on its "
    r"only example has gap $(1-p)-(1-p)^K$ and information $\ln K-\mathbb E\ln N$, $N$ the number without loss: rare "
    r"zeros have a tiny variance, and yet they are found.",
    notice=r"Each of $K$ hypotheses is without loss with probability 0.01. With enough of them the gap nears 1, above "
    r"the bound with the variance of the loss and below that with its proxy.",
    full=dict(count=1000),
)
def information_and_gap(key, *, count: Count = 300):
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
    proxies = np.array([float(bernoulli_proxy(p)) for p, _ in WITNESSES])
    gap, information = np.array(rare).T
    # As printed: the variance of the loss, and the information in the book's unit, bits, in which it is larger.
    variance, bits = np.array([p * (1 - p) for p, _ in WITNESSES]), information / np.log(2)
    coins, tilts = np.array([0.001, 0.05, 0.3, 0.8]), np.linspace(0.01, 30, 30_000)[:, None]
    tilts = np.concatenate([-tilts, tilts])
    needed = 2 * (np.log1p(coins * np.expm1(tilts)) - coins * tilts) / tilts**2
    coin = enumerate_samples(np.full(2, 0.5), 1)
    small = 1e-3
    channel = 0.5 + small * np.array([[1, -1], [-1, 1]])
    repeated = expected_gap(coin, channel, 1.0 - np.eye(2), np.full(2, 0.5))
    reached = information_bound(sample_information(coin, channel), 1)
    return {
        # The last rule, on one example, all but reaches its bound.
        "gap below the bound": Inequality(
            np.append(gaps, repeated),
            np.append(bounds, reached),
            error=1e-13,
            aside={"samples": np.append(np.full(count, 3), 1)},
        ),
        "gap by hand": Identity(enumerated, zero_loss_witness(p, k), condition=10.0),
        "rare losses, sharper proxy": Inequality(
            gap, information_bound(information, 1, proxy=proxies), aside={"printed": np.sqrt(2 * variance * bits)}
        ),
        # The largest of a grid of tilts, a thousandth apart: short of the largest of all by the square of that.
        "best proxy of a coin": Identity(bernoulli_proxy(coins), needed.max(0), error=1e-6),
        # To leading order both are the excess ε; the bound is ε(1 + ε²/3 + …).
        "bound attained for little information": Identity(repeated, reached, error=small**3),
    }


@information_and_gap.control(
    "the variance of the loss, information in bits, as printed", erratum="H11.5a", of="rare losses, sharper proxy"
)
def variance_for_proxy(evidence):
    return replace(evidence, bound=evidence.aside["printed"])


@information_and_gap.control("√(I/n) without the 2", of="bound attained for little information")
def without_two(evidence):
    return replace(evidence, right=np.sqrt(2) * np.asarray(evidence.right))


@information_and_gap.control("n + 1 for n", of="gap below the bound")
def one_example_more(evidence):
    n = np.asarray(evidence.aside["samples"])
    return replace(evidence, bound=np.asarray(evidence.bound) * np.sqrt(n / (n + 1)))


@information_and_gap.picture
def rare_zeros(pieces):
    """Gap of a rule that picks a hypothesis without loss on its one example, along the number of hypotheses, with the
    bounds by the sub-Gaussian proxy of the loss and by its variance."""
    p, counts = 0.01, np.unique(np.geomspace(2, 3000, 60).astype(int))
    gaps, informations = np.array([zero_loss_witness(p, int(k)) for k in counts]).T
    tried = [k for each, k in WITNESSES if each == p]
    found = [
        float(np.asarray(pieces["rare losses, sharper proxy"].quantity)[i])
        for i, (each, _) in enumerate(WITNESSES)
        if each == p
    ]
    return Curves(
        [
            Line("gap", counts, gaps),
            Dots("gap", tried, found),
            Line("√(2σ²I), proxy σ²", counts, information_bound(informations, 1, proxy=float(bernoulli_proxy(p)))),
            Line(
                "√(2 Var I)",
                counts,
                information_bound(informations, 1, proxy=p * (1 - p)),
                rival="as printed in 11.2.2",
            ),
        ],
        x="hypotheses K",
        y="expected gap, and bounds",
        log="x",
        ys=(0, 1.4),
    )


def slight_lean(samples, lean=0.01):
    """Fair coins, and a rule that says heads with probability ½ + lean · (share of heads − share of tails)."""
    law = np.full(2, 0.5)
    listed = enumerate_samples(law, samples)
    heads = 0.5 + lean * (1 - 2 * listed.outcomes).mean(1)
    return law, listed, 1.0 - np.eye(2), np.stack([heads, 1 - heads], 1)


@claim(
    items={"H11.6": ("gap is stability on average", "links of the proof")},
    says=r"The expected gap is the average over $i$ of what replacing example $i$ by a fresh one changes in the loss "
    r"at example $i$, and little information makes it small: "
    r"$|\cdot|\le\frac1n\sum_i\sqrt{I(A;Z_i)/2}\le\sqrt{\sum_iI(A;Z_i)/2n}\le\sqrt{I(A;S)/2n}$.",
    needs="independent examples, losses in [0, 1]",
    symbols={
        r"i,\ n": "an example's place in the sample, and the number of examples",
        r"|\cdot|": "the absolute value of this average: the stability on average",
        r"I(A;Z_i)": "what the output of the rule tells about example $i$, in nats",
        r"I(A;S)": "what it tells about the whole sample",
    },
    why=r"A sample with example $i$ replaced is a sample to which the old example is fresh: so the change averages to "
    r"the gap. Each change is bounded by the information on that one example, the mean of roots lies below the root of "
    r"the mean, and what is known of independent examples one by one adds up to no more than what is known of all. "
    r"Copies of one example break the last step: each is told about in full, and all together are no more than one.",
    notice=r"Each random rule is two dots, its stability and the bound by single examples, both below the line. A rule "
    r"that leans only slightly towards its sample, marked, comes up to the line: the chain is nearly an equality.",
    explore={"samples": (2, 3, 4)},
    full=dict(count=1000),
)
def information_makes_stable(
    key, *, count: Count = 200, examples: Literal["independent", "copies of one"] = "independent",
    samples: Annotated[int, Interval(ge=2, le=6)] = 3,
):  # fmt: skip
    draw = generator(key)
    gap, stability, parts, sums, whole = np.empty((5, count + 1))
    for i in range(count + 1):
        law, listed, losses, channel = random_problem(draw, samples=samples) if i < count else slight_lean(samples)
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
        "gap is stability on average": Identity(gap, stability, scale=1.0),
        # A root turns the rounding of an information of zero into 1e-8.
        "links of the proof": Chain(links, error=1e-7, aside={"n": samples}),
    }


information_makes_stable.control(
    "examples that are copies of one another", of="links of the proof", examples="copies of one", count=40
)


@information_makes_stable.control("the change is counted twice", of="gap is stability on average")
def counted_twice(evidence):
    return replace(evidence, right=2 * np.asarray(evidence.right))


@information_makes_stable.control("the information of the sample over n + 1", of="links of the proof")
def one_example_more_informs(evidence):
    n, links = int(evidence.aside["n"]), evidence.links
    smaller, larger = links["independent examples share the information"]
    return replace(evidence, links={"over n + 1": (smaller, np.sqrt(n / (n + 1)) * np.asarray(larger))})


@information_makes_stable.picture
def below_the_information(pieces):
    """Stability on average of random learning rules, and its bound by single examples, against the bound by the
    information on the whole sample."""
    links = pieces["links of the proof"].links
    stability, parts = (np.asarray(side) for side in links["each example by its own information"])
    whole = np.asarray(links["independent examples share the information"][1])
    ends = np.array([whole[-1] / 2, 1.2 * np.max(whole)])
    shown = whole > ends[0]
    return Curves(
        [
            Line("equal", ends, ends),
            Dots("by single examples", whole[shown], parts[shown]),
            Dots("stability", whole[shown], stability[shown]),
            Dots("a rule that leans slightly", whole[-1:], stability[-1:]),
        ],
        x="bound by the information on the sample, √(I(A;S)/2n)",
        y="stability, and its bound by single examples",
        log="xy",
        xs=(ends[0], ends[1]),
        ys=(ends[0] / 20, ends[1]),
    )
