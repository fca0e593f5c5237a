"""The central limit theorem with its rate, and how little mass a Gaussian has near its mean."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import scipy.interpolate
import scipy.optimize
import scipy.special
import scipy.stats
from annotated_types import Interval

from deeptheory.foundations.concentration import (
    berry_esseen_bound,
    berry_esseen_limit,
    gaussian_small_ball,
    normal_distance,
)
from deeptheory.lab import Chain, Identity, Inequality, Limit, Printed, Rate, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line


def sum_distance(terms: int, law: str) -> float:
    """Kolmogorov distance of a standardized sum of `terms` independent variables from the normal law, exactly."""
    if law == "signs of sizes 2^i":  # every value −(2ⁿ−1), …, 2ⁿ−1 in steps of two, equally likely
        count = 2 ** min(terms, 16)
        return normal_distance(np.arange(count) - (count - 1) / 2, np.full(count, 1 / count))
    if law == "exponential":
        x = np.linspace(-4, 4, 40_001)
        return float(np.max(np.abs(scipy.stats.gamma.cdf(terms + x * terms**0.5, terms) - scipy.stats.norm.cdf(x))))
    if law == "uniform":
        # The density of a sum of uniforms is a B-spline, its distribution function a finite sum; 24 terms stay exact.
        x = np.linspace(-4, 4, 4001)
        spline = scipy.interpolate.BSpline.basis_element(np.arange(terms + 1.0), extrapolate=False).antiderivative()
        at = np.clip(terms / 2 + x * (terms / 12) ** 0.5, 0, terms)
        return float(np.max(np.abs(spline(at) - spline(0.0) - scipy.stats.norm.cdf(x))))
    chance = {"coin": 0.5, "biased": 0.2, "mirrored": 0.8}[law]
    counts = np.arange(terms + 1.0)
    return normal_distance(counts, scipy.stats.binom.pmf(counts, terms, chance))


@claim(
    items={
        "A1.6": (
            "coins",
            "exponential variables",
            "uniform variables",
            "Lindeberg's condition",
            "constant of the distance",
            "mirrored coins",
            "Berry–Esseen",
        )
    },
    says=r"The standardized sum of $n$ equal independent terms comes within $0.469\,\mathbb E|X|^3/(\sigma^3\sqrt n)$ "
    r"of the normal law; its distance times $\sqrt n$ tends to $(|\gamma|/6+s/2)/\sqrt{2\pi}$. The least constant for "
    r"terms of two values is Esseen's $(3+\sqrt{10})/(6\sqrt{2\pi})$.",
    needs="no term dominates (Lindeberg): the distance need not fall for terms whose sizes double",
    full=dict(largest=14),
    symbols={
        r"n": "the number of terms",
        r"X,\ \sigma": "a centred term and its standard deviation",
        r"\gamma": r"its skewness, $\mathbb EX^3/\sigma^3$",
        r"s": r"the step of the lattice its values lie on, over $\sigma$; 0 if there is none",
    },
    why=r"To second order the logarithm of the characteristic function of a sum is that of a Gaussian; the third "
    r"order, of size $\gamma/\sqrt n$, tilts the law. A lattice adds jumps of height near $s/\sqrt{2\pi n}$, of which "
    r"the continuous limit misses half. Where both vanish, as for uniform terms, the next order $1/n$ remains. If one "
    r"term dominates, the sum keeps its shape.",
    notice=r"Coins and exponentials follow lines of slope $-\frac12$, at the height that skewness and lattice "
    r"predict; sums of uniform variables are much nearer the normal law, and their dots fall with slope $-1$. "
    r"Berry and Esseen's bound for coins lies above by about a sixth.",
)
def sums_become_normal(
    *,
    largest: Annotated[int, Interval(ge=6, le=16)] = 10,
    terms: Literal["equal", "doubling"] = "equal",
):
    sizes = 2 ** np.arange(2, largest + 1)
    law = "coin" if terms == "equal" else "signs of sizes 2^i"
    lindeberg = np.asarray([sum_distance(int(n) if terms == "equal" else 2 + i, law) for i, n in enumerate(sizes)])
    distance = {
        law: np.asarray([sum_distance(int(n), law) for n in sizes]) for law in ("coin", "biased", "exponential")
    }
    few = np.asarray([3, 6, 12, 24])
    uniform = np.asarray([sum_distance(int(n), "uniform") for n in few])
    skew = {"coin": 0.0, "biased": 0.6 / 0.16**0.5, "exponential": 2.0}
    step = {"coin": 2.0, "biased": 1 / 0.16**0.5, "exponential": 0.0}
    third = {"coin": 1.0, "biased": 0.16 * 0.68 / 0.16**1.5, "exponential": 12 / np.e - 2}
    limits = {law: berry_esseen_limit(skew[law], step[law]) for law in distance}
    # Near the mean the terms of order 1/n vanish: what is left of √n·distance falls like 1/n. The mean of
    # the biased coins is kept a whole number, so that the lattice always lies alike about it.
    phased = np.asarray([sum_distance(5 * int(n), "biased") for n in sizes]) * (5 * sizes) ** 0.5
    scaled = np.stack([distance["coin"] * sizes**0.5, phased, distance["exponential"] * sizes**0.5])
    away = np.abs(scaled - np.asarray([[limits[law]] for law in ("coin", "biased", "exponential")])).max(0)
    worst = 2 - 10**0.5 / 2
    p = np.linspace(0.01, 0.99, 9801)
    spread = (p * (1 - p)) ** 0.5
    ratio = berry_esseen_limit((1 - 2 * p) / spread, 1 / spread) / ((p**2 + (1 - p) ** 2) / spread)
    return {
        "coins": Rate(
            sizes, distance["coin"], exponent=-0.5, resolution=0.05, rivals=(-1.0,), aside={"limit": limits["coin"]}
        ),
        "exponential variables": Rate(
            sizes, distance["exponential"], exponent=-0.5, resolution=0.05, aside={"limit": limits["exponential"]}
        ),
        "uniform variables": Rate(few, uniform, exponent=-1.0, resolution=0.1, rivals=(-0.5,)),
        "Lindeberg's condition": Limit(sizes, lindeberg, order=0.5),
        "constant of the distance": Limit(sizes, away, order=1.0),
        # One of the two is farthest from the normal law just before a jump, the other just after it.
        "mirrored coins": Identity(
            distance["biased"], [sum_distance(int(n), "mirrored") for n in sizes], scale=1.0, size=float(sizes[-1])
        ),
        "Berry–Esseen": Chain(
            {
                "distance below the bound": (
                    np.stack(list(distance.values())),
                    np.stack([berry_esseen_bound(third[law], sizes) for law in distance]),
                ),
                "no law on two points does worse than Esseen's": (ratio, (3 + 10**0.5) / (6 * (2 * np.pi) ** 0.5)),
                "which is reached": (
                    (3 + 10**0.5) / (6 * (2 * np.pi) ** 0.5) * (1 - 1e-6),
                    ratio[np.argmin(abs(p - worst))],
                ),
                "the constant is above the least": (max(ratio), berry_esseen_bound(1.0, 1.0)),
                "and within 15 % of it": (berry_esseen_bound(1.0, 1.0), 1.15 * max(ratio)),
            }
        ),
    }


sums_become_normal.control(
    "without Lindeberg's condition: sizes that double", of="Lindeberg's condition", terms="doubling"
)


@sums_become_normal.control("the lattice step counted whole", of="constant of the distance")
def whole_step(evidence):
    return replace(evidence, y=evidence.y + 0.5 * 2.0 / (2 * np.pi) ** 0.5)


@sums_become_normal.control("half of Berry and Esseen's bound", of="Berry–Esseen")
def half_the_constant(evidence):
    distance, bound = evidence.links["distance below the bound"]
    return replace(evidence, links={"half of the bound": (distance, np.asarray(bound) / 2)})


@sums_become_normal.picture
def distances_from_normal(pieces):
    """Largest difference between the law of a standardized sum and the normal law, along the number of terms."""
    marks = []
    for name, piece in (("coins", pieces["coins"]), ("exponentials", pieces["exponential variables"])):
        marks.append(Line(f"{name}, predicted", piece.x, float(piece.aside["limit"]) / np.sqrt(piece.x)))
        marks.append(Dots(name, piece.x, piece.y))
    uniform = pieces["uniform variables"]
    bound = np.asarray(pieces["Berry–Esseen"].links["distance below the bound"][1])[0]
    marks.append(Dots("uniform terms", uniform.x, uniform.y))
    marks.append(Line("Berry–Esseen bound for coins", pieces["coins"].x, bound, dashed=True))
    return Curves(marks, x="terms n", y="distance from the normal law", log="xy")


@claim(
    items={"A1.10": ""},
    says=r"A centred Gaussian has $\frac23\frac t\sigma<P[|X|\le t]<\frac45\frac t\sigma$ for $t\le\sigma$, the upper "
    "limit for every $t$.",
    needs=r"the lower limit: $t\le1.0794\,\sigma$",
    over=dict(sigma=Reals(1e-3, 1e3, log=True), ratio=Reals(1e-4, 1.0793, log=True), any=Reals(1e-4, 1e3, log=True)),
    each="array",
    symbols={
        r"X,\ \sigma": "a centred Gaussian and its standard deviation",
        r"t": "the half-width of an interval around 0",
    },
    why=r"The probability is the area under the density, which is largest at 0, where it is $1/\sigma\sqrt{2\pi}$: so "
    r"the area is at most $\sqrt{2/\pi}\,t/\sigma=0.798\,t/\sigma$. It is concave in $t$, so it lies above the chord "
    r"from 0 to any point of its graph: at $t=\sigma$ it is 0.683, above $\frac23$. No line through 0 stays below a "
    r"probability for ever.",
    notice=r"The exact curve runs between the two lines up to $t=1.08\,\sigma$, and close to the upper one at first. "
    r"There it crosses the lower line, which goes on to values that no probability has.",
)
def gaussian_mass_near_the_mean(sigma, ratio, any):
    inside, everywhere = (scipy.special.erf(value / 2**0.5) for value in (ratio, any))
    lower, upper = gaussian_small_ball(np.minimum(ratio, 1) * sigma, sigma)
    beyond = np.maximum(ratio, 1)  # the forms are straight lines, here continued
    far = gaussian_small_ball(np.minimum(any, 1) * sigma, sigma)[1] * np.maximum(any, 1)
    bounds = np.stack([inside, upper * beyond, far], -1)
    return Inequality(np.stack([lower * beyond, inside, everywhere], -1), bounds)


gaussian_mass_near_the_mean.control(
    "the lower limit with no condition on t, as printed", erratum="A1.10a", over=dict(ratio=Reals(1e-4, 50.0, log=True))
)


@gaussian_mass_near_the_mean.control("√(2/π), the best upper constant, as the lower one")
def density_below(evidence):
    return replace(evidence, quantity=evidence.quantity * np.asarray([1.5 * (2 / np.pi) ** 0.5, 1.0, 1.0]))


@gaussian_mass_near_the_mean.picture
def between_two_lines(pieces):
    """Mass of a Gaussian within t of its mean, in units of its deviation, between the two lines of the lemma."""
    (piece,) = pieces.values()
    lower, inside, _ = np.asarray(piece.quantity).T
    near, far, ratio = np.array([0.0, 1.0794]), np.array([1.0794, 1.7]), np.linspace(0, 1.7, 100)
    return Curves(
        [
            Line("4/5 · t/σ", [0.0, 1.7], [0.0, 0.8 * 1.7]),
            Line("exact", ratio, scipy.special.erf(ratio / 2**0.5)),
            Dots("instances searched", 1.5 * lower, inside),  # the lower limit is two thirds of t/σ
            Line("2/3 · t/σ", near, 2 / 3 * near),
            Line("2/3 · t/σ", far, 2 / 3 * far, rival="for every t, as printed in Lemma 1.1.7"),
        ],
        x="distance t from the mean, in standard deviations σ", y="probability P[|X| ≤ t]", xs=(0, 1.7), ys=(0, 1.2),
    )  # fmt: skip


@claim(
    items={"A1.10": ("where the lines cross", "the best upper constant")},
    says=r"$P[|X|\le t]=\frac23\frac t\sigma$ at $t=1.0794\,\sigma$; the best upper constant is $\sqrt{2/\pi}$, and "
    r"$\frac45$ is above it by 0.27 %.",
    symbols={
        r"X,\ \sigma": "a centred Gaussian and its standard deviation",
        r"t": "the half-width of an interval around 0",
    },
    why=r"Over $t/\sigma$ the probability is twice the mean density on $[0,t]$, in units of $\sigma$. The density "
    r"falls away from 0, so this mean falls too: from $\sqrt{2/\pi}$ at 0 through $\frac23$, at one point only.",
    notice=r"The curve starts at $\sqrt{2/\pi}=0.7979$, just below $\frac45$, and falls through $\frac23$ at $1.0794$.",
)
def gaussian_mass_constants():
    def gap(ratio):
        return ratio * float(gaussian_small_ball(2.0, 2.0)[0]) - scipy.special.erf(ratio / 2**0.5)

    ratios = 2.0 ** np.arange(1, -8, -0.25)
    best = scipy.special.erf(ratios / 2**0.5) / ratios
    return {
        "where the lines cross": Printed(scipy.optimize.brentq(gap, 0.5, 3.0), 1.0794, digits=4),
        "the best upper constant": Chain(
            {
                "the density at the mean is the best constant": (best, (2 / np.pi) ** 0.5),
                "and is approached": ((2 / np.pi) ** 0.5 * (1 - 1e-4), best[-1]),
                "4/5 is above it": ((2 / np.pi) ** 0.5, gaussian_small_ball(3.0, 3.0)[1]),
                "by less than 0.27 %": (gaussian_small_ball(3.0, 3.0)[1], 1.0027 * (2 / np.pi) ** 0.5),
            },
            aside={"ratios": ratios, "over": best},
        ),
    }


@gaussian_mass_constants.control("the crossing at t = σ, the usual hypothesis", of="where the lines cross")
def crossing_at_sigma(evidence):
    return replace(evidence, printed=1.0)


@gaussian_mass_constants.control("0.79, the density at the mean cut off after two digits", of="the best upper constant")
def cut_off(evidence):
    return replace(evidence, links={"below": (evidence.aside["over"], 0.79)})


@gaussian_mass_constants.picture
def mass_over_width(pieces):
    """P[|X| ≤ t] over t/σ along t/σ, with the constants of the lemma and the best one."""
    aside = pieces["the best upper constant"].aside
    return Curves(
        [
            Line("exact", aside["ratios"], aside["over"]),
            Level("4/5", y=0.8),
            Level("2/3", y=2 / 3),
            Level("1.0794", x=float(pieces["where the lines cross"].ours)),
        ],
        x="distance t from the mean, in standard deviations σ", y="P[|X| ≤ t] over t/σ", ys=(0.4, 0.85),
    )  # fmt: skip
