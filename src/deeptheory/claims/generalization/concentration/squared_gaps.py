"""The exponential of the squared gap, which PAC-Bayes bounds are made of: its mean, and the best constant."""

from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.stats

from deeptheory.foundations.concentration import finite_law, square_exponential_bound
from deeptheory.lab import Identity, Inequality, Integers, Limit, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Level


@claim(
    items={"A5.34": ""},
    says=r"For losses in $[0,1]$ and any prior, $\mathbb E_S\mathbb E_Pe^{(m/2)\Delta^2}\le2/\sqrt3$, so at most a "
    r"share $\delta$ of samples has $\mathbb E_Pe^{(m/2)\Delta^2}>2/\delta$ (four hypotheses on two points, exactly).",
    needs="losses in [0, 1]; a prior that does not depend on the sample",
    over=dict(
        m=Integers(1, 400, log=True),
        p=Reals(0, 1),
        losses=Reals(0, 1, shape=(4, 2)),
        prior=Reals(0, 1, shape=(4,)),
        delta=Reals(1e-2, 1, log=True),
    ),
    each="array",
    draws=64,
    generations=8,
    symbols={
        r"S,\ P": "the sample, and a prior over hypotheses fixed before it",
        r"m": "the size of the sample",
        r"\Delta": "the gap between the mean loss of a hypothesis on the population and on the sample",
        r"\delta": "the probability with which the bound may fail",
    },
    why=r"A mean of $m$ losses in $[0,1]$ is sub-Gaussian with variance proxy $1/4m$, and for such a gap $\mathbb "
    r"Ee^{\frac m2\Delta^2}\le(1-2\cdot\frac m2\cdot\frac1{4m})^{-1/2}=2/\sqrt3$: the square is a Gaussian mixture of "
    r"exponentials $e^{\lambda\Delta}$, and each is bounded. This holds for every hypothesis, so for the mean over a "
    r"prior that does not know the sample; Markov's inequality is the rest.",
    notice=r"Each dot is a class of four hypotheses on two points, as found by a search for the largest mean. None "
    r"comes above $2/\sqrt3$, whatever the size of the sample.",
)
def exponential_of_the_squared_gap(m, p, losses, prior, delta, *, span: Literal["unit", "signs"] = "unit"):
    counts = np.arange(401)
    law = np.where(counts <= m[:, None], scipy.stats.binom.pmf(counts, m[:, None], p[:, None]), 0.0)
    slope = (losses[..., 1] - losses[..., 0]) * (2 if span == "signs" else 1)
    gap = slope[:, :, None] * (p[:, None] - np.minimum(counts / m[:, None], 1))[:, None, :]
    moments = (finite_law(prior)[:, :, None] * np.exp(m[:, None, None] / 2 * gap**2)).sum(1)
    exceeded, sooner = ((law * (moments > share / delta[:, None] * (1 + 1e-12))).sum(1) for share in (2, 1))
    mean = (law * moments).sum(1)
    least = square_exponential_bound(m / 2, 1 / (4 * m))
    return Inequality(
        np.stack([mean, least, exceeded], -1),
        np.stack([least, np.full_like(p, 2.0), delta], -1),
        aside={"sooner": sooner, "samples": m},
    )


exponential_of_the_squared_gap.control("losses in [−1, 1], where the mean grows like √m", span="signs")


@exponential_of_the_squared_gap.control("1/δ in place of 2/δ")
def without_two(evidence):
    return replace(evidence, quantity=np.stack([*evidence.quantity.T[:2], evidence.aside["sooner"]], -1))


@exponential_of_the_squared_gap.picture
def means_under_the_constant(pieces):
    """Mean of the exponential squared gap, over samples and prior, of classes of four hypotheses as searched."""
    (piece,) = pieces.values()
    return Curves(
        [
            Dots("classes", np.ravel(piece.aside["samples"]), np.asarray(piece.quantity)[:, 0]),
            Level("2/√3", y=2 / 3**0.5),
        ],
        x="samples m", y="mean of the exponential", log="x", ys=(0.98, 1.2),
    )  # fmt: skip


@claim(
    items={"A5.34": ("fair coins", "Gaussian variables", "ten samples")},
    says=r"$2/\sqrt3$ is the best constant: a fair coin's loss reaches it like $1/m$; it is the value of "
    r"$\mathbb Ee^{\lambda X^2}=(1-2\lambda s^2)^{-1/2}$ for a Gaussian of the largest variance, $s^2=1/(4m)$.",
    symbols={
        r"m": "the size of the sample",
        r"X,\ s^2": "a centred Gaussian and its variance",
        r"\lambda": "the factor in the exponent, $m/2$ here",
    },
    why=r"The error of a fair coin has the largest variance that a loss in $[0,1]$ can have, $\frac14$. Its mean over "
    r"$m$ samples becomes Gaussian, so the exponential moment tends to the Gaussian's at $\lambda s^2=\frac18$, which "
    r"is $(1-\frac14)^{-1/2}=2/\sqrt3$; the next order of the central limit theorem, for a symmetric law, is $1/m$.",
    notice=r"The moment rises to $2/\sqrt3=1.155$ from below, and is nearly there with eight samples. With twice the "
    r"variance, a proxy of $1/2m$, it would come to $\sqrt2$.",
)
def squared_gap_constant():
    sizes = 2 ** np.arange(3, 11)
    means = []
    for m in sizes:
        counts = np.arange(m + 1)
        means.append(scipy.stats.binom.pmf(counts, m, 0.5) @ np.exp(m / 2 * (counts / m - 0.5) ** 2))
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    spread = np.asarray([0.1, 0.4, 0.9])
    gaussian = (weights * np.exp(0.3 * spread[:, None] ** 2 * nodes**2)).sum(1) / (2 * np.pi) ** 0.5
    return {
        "fair coins": Limit(
            sizes,
            np.abs(np.asarray(means) - square_exponential_bound(sizes / 2, 1 / (4 * sizes))),
            order=1.0,
            aside={"means": np.asarray(means)},
        ),
        "Gaussian variables": Identity(gaussian, square_exponential_bound(0.3, spread**2), condition=10.0),
        "ten samples": Identity(square_exponential_bound(5.0, 1 / 40), 2 / 3**0.5),
    }


@squared_gap_constant.control("√2, from a proxy of 1/2m in place of 1/4m", of="ten samples")
def twice_the_proxy(evidence):
    return replace(evidence, right=2**0.5)


@squared_gap_constant.control("fair coins come to √2, the moment of twice the variance", of="fair coins")
def twice_the_variance(evidence):
    return replace(evidence, y=np.abs(evidence.aside["means"] - 2**0.5))


@squared_gap_constant.picture
def moments_of_fair_coins(pieces):
    """Mean of exp((m/2)·gap²) for a fair coin along the sample size, with its limit."""
    piece = pieces["fair coins"]
    return Curves(
        [
            Dots("fair coin, exact", piece.x, piece.aside["means"]),
            Level("2/√3", y=2 / 3**0.5),
            Level("√2", y=2**0.5, rival="of twice the variance"),
        ],
        x="samples m", y="mean of the exponential", log="x", ys=(1.1, 1.5),
    )  # fmt: skip
