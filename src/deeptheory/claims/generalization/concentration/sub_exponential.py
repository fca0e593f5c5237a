"""Light tails: the two regimes of sub-exponential variables, their sums and their maxima."""

from dataclasses import replace

import numpy as np
import scipy.special
import scipy.stats
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from deeptheory.foundations.concentration import bernoulli_proxy
from deeptheory.generalization.concentration.sub_exponential import (
    SubExponential,
    finite_log_moment,
    independent_sum,
    log_light_tail,
    log_two_regime_tail,
    maximum_bound,
    variance_proxy,
)
from deeptheory.lab import Chain, Identity, Inequality, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

COPIES = np.array([1, 10, 100])
COIN = 0.1


def exponential(rate):
    """log E e^{λX} of a centred exponential variable."""
    return -rate - np.log1p(-rate)


def chi_square(rate):
    return -rate - 0.5 * np.log1p(-2 * rate)


def coin(rate):
    return finite_log_moment(rate, np.array([0.0, 1.0]), np.array([1 - COIN, COIN]))


def gamma_tail(t, n):
    return scipy.stats.gamma.logsf(n + t, n)


def poisson_tail(t, n):
    return scipy.stats.poisson.logsf(np.ceil(n + t) - 1, n)


def binomial_tail(t, n):
    most = n * (1 - COIN)  # beyond it the chance is zero
    return scipy.stats.binom.logsf(np.ceil(np.minimum(n * COIN + t, n * COIN + most) - 1e-9) - 1, n, COIN)


# Law: variance, log moment, scales b above the least one, and the exact upper tail of a centred sum of n.
LAWS = {
    "exponential": (1.0, exponential, (1.05, 2.0), gamma_tail),
    "chi-square": (2.0, chi_square, (2.1, 4.0), lambda t, n: scipy.stats.chi2.logsf(n + t, n)),
    "Poisson": (1.0, lambda r: np.expm1(r) - r, (0.2, 1.0), poisson_tail),
    "binomial": (COIN * (1 - COIN), coin, (0.1, 0.5), binomial_tail),
}  # fmt: skip


def reached(t, n, name):
    """The deviations of this law, its sum of n being confined for the coin."""
    return np.minimum(t, n * (1 - COIN)) if name == "binomial" else t


def pairs(name):
    variance, log_moment, scales, _ = LAWS[name]
    return [SubExponential(variance_proxy(log_moment, variance=variance, reach=1 / b), b) for b in scales]


def chernoff(t, law):
    """The least of ν²λ²/2 − λt over 0 ≤ λ ≤ 1/b, by search."""

    def objective(rate):
        return rate * (rate * law.proxy / 2 - t)

    edge = 1 / law.scale
    found = minimize_scalar(objective, bounds=(0, edge), method="bounded", options={"xatol": 1e-12})
    return min(found.fun, objective(edge))  # pyright: ignore[reportAttributeAccessIssue]


def tails_and_bounds():
    """ln P(X ≥ t) of sums, beside the constants of each: (laws, scales, copies, t) arrays."""
    exact, deviation, proxy, scale = (np.empty((len(LAWS), 2, len(COPIES), 40)) for _ in range(4))
    for i, (name, (variance, _, _, tail)) in enumerate(LAWS.items()):
        for j, one in enumerate(pairs(name)):
            for k, n in enumerate(COPIES.tolist()):
                total = independent_sum(SubExponential(np.full(n, one.proxy), one.scale))
                t = reached(np.geomspace(0.05, 30, 40) * np.sqrt(n * variance), n, name)
                exact[i, j, k], deviation[i, j, k] = tail(t, n), t
                proxy[i, j, k], scale[i, j, k] = float(total.proxy), float(total.scale)
    return exact, deviation, SubExponential(proxy, scale)


@claim(
    items={},
    says=r"A centred $X$ with $\ln\mathbb Ee^{\lambda X}\le\nu^2\lambda^2/2$ for $|\lambda|\le1/b$ has $P(X\ge t)\le "
    r"e^{-t^2/2\nu^2}$ up to $t=\nu^2/b$ and $\le e^{-t/b+\nu^2/2b^2}$ beyond, all that Chernoff's method makes of "
    r"the two constants. $e^{-\min(t^2/2\nu^2,\,t/2b)}$ is weaker beyond the bend.",
    needs="mean zero, and a logarithm of the moment-generating function below a parabola near zero",
    scale="upper tails of sums of 1, 10 and 100 exponential, χ², Poisson and coin variables, each with two values of b",
    symbols={
        r"X,\ t": "a variable of mean zero, and the deviation asked for",
        r"\nu^2": "the variance proxy",
        r"b": "the scale: the moment-generating function is controlled up to $1/b$",
    },
    why=r"Markov's bound for $e^{\lambda X}$ gives $e^{\nu^2\lambda^2/2-\lambda t}$ for every $\lambda\le1/b$. The "
    r"best $\lambda$ would be $t/\nu^2$; as soon as this is beyond $1/b$ one has to stay there, and the exponent goes "
    r"on as a straight line. For copies the proxies add while $b$ stays, so the more copies the longer the Gaussian "
    r"regime. For exponentials the best pair of constants at each $t$ gives Cramér's exponent $t-\ln(1+t)$, which the "
    r"tails of many copies reach.",
    notice=r"Up to the bend both forms are one parabola; beyond, the bound of both regimes keeps the slope $1/b$ and "
    r"the common form $e^{-\min(t^2/2\nu^2,\,t/2b)}$ half of it. The parabola alone falls below the exact tail: far "
    r"out an exponential is not Gaussian.",
)
def two_regimes_of_light_tails():
    exact, t, law = tails_and_bounds()
    some = [SubExponential(v, b) for v, b in ((4.0, 4.0), (1.0, 3.0), (7.0, 0.5))]
    grid = np.geomspace(0.01, 50, 25)
    best = [[chernoff(t, law) for t in grid] for law in some]
    bends = np.array([v / b for v, b in some])
    stacked = SubExponential(*np.array(some).T)
    at = np.array([0.1, 0.5, 2.0, 8.0])

    def exponent(scale, deviation):
        proxy = variance_proxy(exponential, variance=1.0, reach=1 / scale)
        return float(log_light_tail(deviation, SubExponential(proxy, scale)))

    searched = [minimize_scalar(lambda b, t=t: exponent(b, t), bounds=(1.001, 40.0), method="bounded") for t in at]
    found = [each.fun for each in searched]  # pyright: ignore[reportAttributeAccessIssue]
    copies = 2 ** np.arange(4, 13)
    exponents = -gamma_tail(0.5 * copies, copies) / copies
    return {
        "best exponent in the proof": Identity(
            np.stack([log_light_tail(grid, each) for each in some]), np.array(best), error=1e-9
        ),
        "where the regimes meet": Identity(log_light_tail(bends, stacked), log_two_regime_tail(bends, stacked)),
        "two regimes above the exact form": Inequality(
            np.stack([log_light_tail(grid, each) for each in some]),
            np.stack([log_two_regime_tail(grid, each) for each in some]), log=True,
            aside={"deviation": grid, "proxy": np.array(some)[:, :1], "scale": np.array(some)[:, 1:]},
        ),
        "tails of named laws": Inequality(
            exact, np.asarray(log_light_tail(t, law)), log=True, aside={"deviation": t, **law._asdict()}),
        "best choice of the scale": Identity(np.array(found), np.log1p(at) - at, error=1e-9, aside={"deviation": at}),
        "exponent of many copies": Limit(copies, np.abs(exponents / (0.5 - np.log(1.5)) - 1), order=1.0,
            aside={"exponents": exponents, "deviation": 0.5}),
    }  # fmt: skip


@two_regimes_of_light_tails.control("the Gaussian tail for every deviation", of="tails of named laws")
def without_the_linear_regime(evidence):
    law = SubExponential(evidence.aside["proxy"])
    return replace(evidence, bound=np.asarray(log_light_tail(evidence.aside["deviation"], law)))


@two_regimes_of_light_tails.control("half the scale", of="tails of named laws")
def half_the_scale(evidence):
    law = SubExponential(evidence.aside["proxy"], evidence.aside["scale"] / 2)
    return replace(evidence, bound=np.asarray(log_light_tail(evidence.aside["deviation"], law)))


@two_regimes_of_light_tails.control("ν in place of ν²", of="tails of named laws")
def root_of_the_proxy(evidence):
    law = SubExponential(np.sqrt(evidence.aside["proxy"]), evidence.aside["scale"])
    return replace(evidence, bound=np.asarray(log_light_tail(evidence.aside["deviation"], law)))


@two_regimes_of_light_tails.control("the variance in place of ν²", of="best choice of the scale")
def only_the_variance(evidence):
    law = SubExponential(1.0, 1.001)
    return replace(evidence, left=np.asarray(log_light_tail(evidence.aside["deviation"], law)))


@two_regimes_of_light_tails.control("e^{−t/b} in the linear regime", of="two regimes above the exact form")
def whole_slope(evidence):
    t, proxy, scale = (evidence.aside[name] for name in ("deviation", "proxy", "scale"))
    return replace(evidence, bound=-np.minimum(t**2 / (2 * proxy), t / scale))


@two_regimes_of_light_tails.control("Cramér's exponent of a Gaussian, t²/2", of="exponent of many copies")
def gaussian_exponent(evidence):
    return replace(evidence, y=np.abs(evidence.aside["exponents"] / (evidence.aside["deviation"] ** 2 / 2) - 1))


@two_regimes_of_light_tails.picture
def regimes(pieces):
    """Logarithm of P(X ≥ t) for a sum of ten centred exponentials, and what the constants at b = 2 say of it."""
    piece, ten = pieces["tails of named laws"], (0, 1, 1)  # the law, its second scale, ten copies
    t, proxy, scale = (np.asarray(piece.aside[name])[ten] for name in ("deviation", "proxy", "scale"))
    law = SubExponential(proxy, scale)
    return Curves(
        [
            Line("exact", t, np.asarray(piece.quantity)[ten]),
            Line("both regimes", t, np.asarray(piece.bound)[ten]),
            Line("common form", t, log_two_regime_tail(t, law)),
            Line("bound", t, log_light_tail(t, SubExponential(proxy)), rival="the Gaussian regime alone"),
            Level("the regimes meet", x=float(proxy[0] / scale[0])),
        ],
        x="deviation t", y="logarithm of P(X ≥ t)", xs=(0, 40), ys=(-30, 0),
    )  # fmt: skip


SHARES = np.array([1.0, 0.6, 0.3, 0.1])


def unequal_exponentials(t):
    """ln P(Σ aᵢ(Eᵢ − 1) ≥ t) for different aᵢ, by partial fractions."""
    s = t[:, None] + SHARES.sum()
    weights = [np.prod([a / (a - other) for other in SHARES if other != a]) for a in SHARES]
    return -s[:, 0] + np.log(np.exp(s - s / SHARES) @ np.array(weights))  # relative to the slowest


def gaussian_maximum(n):
    """E max of n independent standard normals."""
    law = scipy.stats.norm
    return quad(lambda x: x * n * np.exp(law.logpdf(x) + (n - 1) * law.logcdf(x)), -8, 12, limit=200, epsabs=1e-12)[0]


@claim(
    items={},
    says=r"Of independent sub-exponential variables the $\nu^2$ add and the largest $b$ stays. The mean of the "
    r"largest of $n$, dependent or not, is at most $\sigma\sqrt{2\ln n}$ for sub-Gaussian and $b\ln n+\nu^2/2b$ for "
    r"sub-exponential ones if $\ln n\ge\nu^2/2b^2$; rare events come within order $1/n$ of it.",
    needs="identical proxies in a maximum; a sum of exponentials of sizes 1, 0.6, 0.3 and 0.1",
    symbols={
        r"\nu^2,\ b": "the variance proxy of a sub-exponential variable, and its scale",
        r"n": "how many variables there are",
        r"\sigma^2": "the variance proxy of a sub-Gaussian variable, whose scale is 0",
    },
    why=r"Logarithms of moment-generating functions of independent variables add, as long as $\lambda$ is in reach of "
    r"all. For a maximum, $e^{\lambda\mathbb E\max}\le\mathbb E\sum e^{\lambda X_i}\le n\,e^{\lambda^2\nu^2/2}$, with "
    r"no word about dependence; take logarithms and the best $\lambda\le1/b$. Nothing is lost when the sum has one "
    r"large term at a time: of $n$ events of chance $1/n$ exactly one happens, and the largest centred indicator is "
    r"$1-\frac1n$.",
    notice=r"The largest of $n$ Gaussians grows like the root of $\ln n$ and comes to 92 % of its bound at a million; "
    r"the largest of $n$ exponentials grows like $\ln n$ itself, $H_n-1$, and soon leaves any root behind.",
)
def sums_and_maxima_of_light_tails():
    t = np.geomspace(0.1, 80, 40)
    scales = np.array([1.02, 1.3, 2.0, 5.0])
    proxies = np.array([variance_proxy(exponential, variance=1.0, reach=1 / b) for b in scales])
    total = independent_sum(SubExponential(SHARES**2 * proxies[:, None], SHARES * scales[:, None]))
    total = SubExponential(*(np.asarray(each)[:, None] for each in total))
    copies = [variance_proxy(lambda r: 5 * exponential(r), variance=5.0, reach=1 / b) for b in scales]
    five = independent_sum(SubExponential(np.repeat(proxies[:, None], 5, axis=1), scales[:, None]))
    count = 4 ** np.arange(1, 9)
    rare = np.asarray(maximum_bound(count, SubExponential(bernoulli_proxy(1 / count))))
    many = 10 ** np.arange(1, 7)
    gaussian = np.array([gaussian_maximum(n) for n in many.tolist()])
    harmonic = scipy.special.digamma(many + 1.0) + np.euler_gamma - 1
    return {
        "sum of unequal exponentials": Inequality(
            unequal_exponentials(t), np.asarray(log_light_tail(t, total)), log=True,
            aside={"deviation": t, "proxies": proxies, "scales": scales},
        ),
        "sum of equal copies": Identity(np.stack(five), np.stack([copies, scales]), condition=16.0),
        "largest of n exclusive events": Inequality(1 - 1 / count, rare, aside={"count": count}),
        "bound is approached": Limit(count, rare / (1 - 1 / count) - 1, order=1.0),
        "largest of n Gaussians": Chain({
            "below the bound": (gaussian, np.asarray(maximum_bound(many, SubExponential(1.0)))),
            "0.92 of it at a million": (0.92 * np.sqrt(2 * np.log(1e6)), gaussian[-1]),
        }),
        "largest of n exponentials": Inequality(
            harmonic[:, None], np.asarray(maximum_bound(many[:, None], SubExponential(proxies, scales))),
            aside={"count": many, "proxies": proxies},
        ),
    }  # fmt: skip


@sums_and_maxima_of_light_tails.control("the mean of the scales", of="sum of unequal exponentials")
def mean_scale(evidence):
    proxy, scale = evidence.aside["proxies"][0], evidence.aside["scales"][0]
    law = SubExponential(np.sum(SHARES**2) * proxy, scale * SHARES.mean())
    return replace(evidence, bound=np.asarray(log_light_tail(evidence.aside["deviation"], law)))


@sums_and_maxima_of_light_tails.control("the largest proxy instead of their sum", of="sum of unequal exponentials")
def largest_proxy(evidence):
    law = SubExponential(evidence.aside["proxies"][-1] * SHARES[0] ** 2)
    return replace(evidence, bound=np.asarray(log_light_tail(evidence.aside["deviation"], law)))


@sums_and_maxima_of_light_tails.control(
    "the variance of the indicator for its proxy", of="largest of n exclusive events"
)
def indicator_variance(evidence):
    count = evidence.aside["count"]
    return replace(evidence, bound=np.asarray(maximum_bound(count, SubExponential((1 - 1 / count) / count))))


@sums_and_maxima_of_light_tails.control("σ√(ln n)", of="largest of n exclusive events")
def without_the_two(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / np.sqrt(2))


@sums_and_maxima_of_light_tails.control("the square root of ln n for exponentials too", of="largest of n exponentials")
def gaussian_maximum_of_exponentials(evidence):
    law = SubExponential(evidence.aside["proxies"][2])
    return replace(evidence, bound=np.asarray(maximum_bound(evidence.aside["count"], law))[:, None])


@sums_and_maxima_of_light_tails.picture
def largest_of_many(pieces):
    """Mean of the largest of n independent Gaussians and exponentials along n, with the bounds."""
    piece = pieces["largest of n exponentials"]
    count = piece.aside["count"]
    gaussian, root = pieces["largest of n Gaussians"].links["below the bound"]
    law = SubExponential(piece.aside["proxies"][2])
    return Curves(
        [
            Line("bound, Gaussian", count, root),
            Dots("Gaussians, exact", count, gaussian),
            Line("bound, exponential", count, np.min(np.asarray(piece.bound), axis=1)),
            Dots("exponentials, exact", count, np.ravel(piece.quantity)),
            Line("bound, exponential", count, maximum_bound(count, law), rival="with the root of ln n"),
        ],
        x="variables n", y="mean of the largest", log="x",
    )  # fmt: skip
