"""SVAG: two gradients combined into one with more noise, whose small steps simulate the diffusion (arora 12.4)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.gradient_noise import svag_gradient, svag_moment_factors, svag_weights
from deeptheory.diffusions.weak_order import (
    LinearOracle,
    diffusion_moments,
    linear_oracle,
    sgd_moments,
    three_losses,
    two_point_noise,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row


def amplified(oracle, ell):
    """The oracle of SVAG: all pairs of draws, combined with its weights."""
    one, other = svag_weights(ell)
    slopes, shifts = (np.add.outer(one * each, other * each).ravel() for each in (oracle.slopes, oracle.shifts))
    return LinearOracle(slopes, shifts, np.outer(oracle.probabilities, oracle.probabilities).ravel())


@claim(
    items={
        "A12.26": ("first draw", "mean of the gradient", "covariance of the gradient"),
        "A12.27": (
            "mean of the gradient",
            "covariance of the gradient",
            "third and fourth cumulants by counting",
            "third and fourth cumulants by powers",
        ),
        "A12.28": ("stationary variance", "weak error", "weak error with skewed noise"),
        "A12.29": ("noise on the same samples", "covariance of the noise"),
    },
    says=r"SVAG's gradient $\frac{1+\sqrt{2\ell-1}}2g_1+\frac{1-\sqrt{2\ell-1}}2g_2$ keeps the mean, multiplies the "
    r"covariance by $\ell$, the third cumulant by $\frac{3\ell-1}2$ and the fourth by $\frac{\ell^2+2\ell-1}2$. With "
    r"$\ell$ steps of $\eta/\ell$ it is within $C\eta/\ell$ of the diffusion of $\eta$, even where the noise is "
    r"skewed.",
    needs="two independent draws of one oracle; ℓ ≥ 1; a fixed horizon",
    symbols={
        r"\ell": "the amplification; one is plain stochastic gradient descent",
        "g_1,g_2": "two independent stochastic gradients at the same point",
        r"\eta": "the learning rate whose diffusion is meant",
        "C": "a number that depends on the horizon and the test function",
    },
    why=r"The weights add up to one and their squares to $\ell$. Small steps with amplified noise keep the noise per "
    r"unit of time, and per unit of variance the skewness becomes $\frac{3\ell-1}{2\ell^{3/2}}$: it vanishes, as the "
    r"theorem on diffusions wants, without anything Gaussian being added. The excess kurtosis stays at half its "
    r"value; it does not matter.",
    notice=r"The stationary variance leaves that of plain descent, $6\eta/(1-\eta)$, and approaches that of the "
    r"diffusion, $6\eta$. With skewed noise plain descent is off by its third cumulant, and the distance still falls "
    r"like $1/\ell$.",
    explore={"rate": (0.05, 0.1, 0.2)},
)
def variance_amplification_simulates_the_diffusion(
    key,
    *,
    rate: Annotated[float, Interval(ge=0.02, le=0.25)] = 0.1,
    skewness: Annotated[float, Interval(ge=-4, le=4)] = 2.0,
):
    random, ells = generator(key), np.array([1, 2, 4, 16])
    law = two_point_noise(skewness)
    z, p = law.values, np.outer(law.probabilities, law.probabilities).ravel()
    base = np.array([0.0, 1.0, law.probabilities @ z**3, law.probabilities @ z**4 - 3])
    seen = []
    for ell in ells:
        one, other = svag_weights(float(ell))
        pairs = np.add.outer(one * z, other * z).ravel()
        m = [p @ pairs**n for n in (1, 2, 3, 4)]
        seen.append([m[0], m[1], m[2], m[3] - 3 * m[1] ** 2])
    seen, factors = np.array(seen), svag_moment_factors(ells).T
    weights = np.array(svag_weights(ells))
    powers = np.array([(weights**n).sum(0) for n in (1, 2, 3, 4)]).T

    first, second, true = random.standard_normal((3, 6))
    z1, z2, sigma = first - true, second - true, 0.7
    printed = np.array([(a * z1 + b * z2) / ell for ell, a, b in zip(ells, *weights, strict=True)])
    combined = np.array([svag_gradient(true + sigma * z1, true + sigma * z2, float(ell)) for ell in ells])
    # Its noise at scale √ℓ·σ has the covariance of one draw; at scale ℓσ, as in the problem, one ℓ-th of it.
    shares = np.array(
        [p @ (np.add.outer(a * z, b * z).ravel() / ell**0.5) ** 2 for ell, a, b in zip(ells, *weights, strict=True)]
    )

    def final(oracle, ell, degree, horizon=4.0):
        steps = round(horizon / rate) * int(ell)
        return sgd_moments(amplified(oracle, float(ell)), rate / ell, steps, degree=degree, start=0.5)

    variance = np.array([final(three_losses(), ell, 2, 40.0)[-1, 2] for ell in ells])
    fine = np.array([8, 16, 32, 64, 128])
    skewed = linear_oracle(1.0, two_point_noise(-skewness))
    errors = {}
    for name, oracle, power in (("order", three_losses(), 2), ("skewed", skewed, 3)):
        limit = diffusion_moments(oracle, rate, round(4.0 / rate), degree=power, start=0.5)[:, power]
        found = [final(oracle, ell, power)[:: int(ell), power] for ell in (1, *fine)]
        errors[name] = np.array([np.abs(each - limit).max() for each in found])
    return {
        "first draw": Identity(combined[0], true + sigma * z1),
        "mean of the gradient": Identity(np.stack([powers[:, 0], seen[:, 0] + 1]), 1.0, condition=10.0),
        "covariance of the gradient": Identity(np.stack([powers[:, 1], seen[:, 1]]), ells, condition=10.0),
        "third and fourth cumulants by counting": Identity(
            seen[:, 2:], base[2:] * factors[:, 2:], scale=ells[:, None] ** 2.0, condition=100.0
        ),
        "third and fourth cumulants by powers": Identity(
            powers[:, 2:], factors[:, 2:], condition=100.0, aside={"ells": ells}
        ),
        "noise on the same samples": Identity(combined, true + ells[:, None] * sigma * printed, scale=10.0),
        "covariance of the noise": Identity(shares, 1.0, condition=10.0, aside={"as printed": shares / ells}),
        "stationary variance": Identity(variance, 6 * rate / (1 - rate / ells), condition=1e3, along={"ell": ells}),
        "weak error": Rate(fine, errors["order"][1:], exponent=-1.0, rivals=(-0.5, -2.0)),
        "weak error with skewed noise": Rate(fine, errors["skewed"][1:], exponent=-1.0, rivals=(-0.5, -2.0)),
    }


@variance_amplification_simulates_the_diffusion.control(
    "third cumulants multiplied by ℓ^(3/2)", of="third and fourth cumulants by powers"
)
def like_a_scale(evidence):
    ells = np.asarray(evidence.aside["ells"], float)[:, None]
    return replace(evidence, right=ells ** np.array([1.5, 2.0]))


@variance_amplification_simulates_the_diffusion.control("6η/(1 − η) for every ℓ", of="stationary variance")
def as_plain(evidence):
    return replace(evidence, right=evidence.right[0] + 0 * evidence.right)


@variance_amplification_simulates_the_diffusion.control("√(2ℓ + 1) for √(2ℓ − 1)", of="covariance of the gradient")
def plus_for_minus(evidence):
    return replace(evidence, right=evidence.right + 1)


@variance_amplification_simulates_the_diffusion.control("covariance Σ at the scale ℓσ", of="covariance of the noise")
def at_the_printed_scale(evidence):
    return replace(evidence, left=evidence.aside["as printed"])


@variance_amplification_simulates_the_diffusion.picture
def closing_in(pieces, settings):
    """Stationary variance by ℓ (left), and the distance to the diffusion for even and for skewed noise (right)."""
    stationary, order = pieces["stationary variance"], pieces["weak error"]
    skewed = pieces["weak error with skewed noise"]
    ells, rate = np.asarray(stationary.along["ell"]), settings["rate"]
    fine = np.geomspace(1, 16, 60)
    left = [
        Dots("late in the run", ells, stationary.left),
        Line("predicted", fine, 6 * rate / (1 - rate / fine)),
        Level("diffusion", y=6 * rate),
    ]
    right = [Dots("three losses, E x²", order.x, order.y), Dots("skewed noise, E x³", skewed.x, skewed.y)]
    right += [Line("∝ 1/ℓ", order.x, order.y[-1] * order.x[-1] / np.asarray(order.x, float))]
    return Row(
        [
            Curves(left, x="amplification ℓ", y="stationary variance", log="x"),
            Curves(right, x="amplification ℓ", y="distance to the diffusion", log="xy"),
        ]
    )
