"""Light tails: the two regimes of sub-exponential variables, their sums and maxima, squares, products, Orlicz norms."""

from dataclasses import replace
from functools import cache, partial
from math import factorial

import numpy as np
import scipy.special
import scipy.stats
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from deeptheory.foundations.concentration import bernoulli_proxy, log_bernstein
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration.sub_exponential import (
    SubExponential,
    SubGamma,
    finite_log_moment,
    independent_sum,
    log_light_tail,
    log_sub_gamma_tail,
    log_two_regime_tail,
    maximum_bound,
    orlicz_norm,
    square_of_sub_gaussian,
    sub_gamma_deviation,
    variance_proxy,
)
from deeptheory.lab import Chain, Count, Identity, Inequality, Limit, claim
from deeptheory.lab.pictures import Curves, Level, Line

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


@cache
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
    says=r"A centred $X$ with $\ln\mathbb Ee^{\lambda X}\le\nu^2\lambda^2/2$ for $|\lambda|\le1/b$ has "
    r"$P(X\ge t)\le e^{-t^2/2\nu^2}$ up to $t=\nu^2/b$ and $\le e^{-t/b+\nu^2/2b^2}$ beyond, all that Chernoff's "
    r"method makes of the two constants; $e^{-\min(t^2/2\nu^2,\,t/2b)}$ is weaker and agrees up to the bend. "
    r"Exact tails of exponential, $\chi^2$, Poisson and coin sums obey it, the $\nu^2$ of $n$ copies being $n\nu^2$ "
    r"and $b$ the same. For exponentials the best $b$, with the least $\nu^2$ there, gives Cramér's exponent "
    r"$t-\ln(1+t)$, which the tails reach: $-\frac1n\ln P(S_n\ge nt)\to t-\ln(1+t)$.",
    needs="independent copies; upper tails; 1, 10 and 100 copies, two scales for each law",
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
    rates = -gamma_tail(0.5 * copies, copies) / copies / (0.5 - np.log(1.5))
    return {
        "optimum": Identity(np.stack([log_light_tail(grid, each) for each in some]), np.array(best), error=1e-9),
        "bend": Identity(log_light_tail(bends, stacked), log_two_regime_tail(bends, stacked)),
        "forms": Inequality(np.stack([log_light_tail(grid, each) for each in some]), np.stack(
            [log_two_regime_tail(grid, each) for each in some]), log=True),
        "tails": Inequality(exact, np.asarray(log_light_tail(t, law)), log=True),
        "best scale": Identity(np.array(found), np.log1p(at) - at, error=1e-9),
        "Cramér": Limit(copies, np.abs(rates - 1), order=1.0),
    }  # fmt: skip


@two_regimes_of_light_tails.control("the Gaussian tail for every deviation", of="tails")
def without_the_linear_regime(evidence):
    _, t, law = tails_and_bounds()
    return replace(evidence, bound=np.asarray(log_light_tail(t, SubExponential(law.proxy))))


@two_regimes_of_light_tails.control("half the scale", of="tails")
def half_the_scale(evidence):
    _, t, law = tails_and_bounds()
    return replace(evidence, bound=np.asarray(log_light_tail(t, SubExponential(law.proxy, law.scale / 2))))


@two_regimes_of_light_tails.control("ν in place of ν²", of="tails")
def root_of_the_proxy(evidence):
    _, t, law = tails_and_bounds()
    return replace(evidence, bound=np.asarray(log_light_tail(t, law._replace(proxy=np.sqrt(law.proxy)))))


@two_regimes_of_light_tails.control("the variance in place of ν²", of="best scale")
def only_the_variance(evidence):
    at = np.array([0.1, 0.5, 2.0, 8.0])
    return replace(evidence, left=np.asarray(log_light_tail(at, SubExponential(1.0, 1.001))))


@two_regimes_of_light_tails.control("e^{−t/b} in the linear regime", of="forms")
def whole_slope(evidence):
    grid = np.geomspace(0.01, 50, 25)
    some = [SubExponential(v, b) for v, b in ((4.0, 4.0), (1.0, 3.0), (7.0, 0.5))]
    return replace(evidence, bound=np.stack([-np.minimum(grid**2 / (2 * v), grid / b) for v, b in some]))


@two_regimes_of_light_tails.picture
def regimes(pieces):
    """ln P(X ≥ t) of ten centred exponentials, the bound at b = 2, its common form, and the Gaussian part alone."""
    one = pairs("exponential")[1]
    total, t = independent_sum(SubExponential(np.full(10, one.proxy), one.scale)), np.linspace(0.5, 40, 80)
    lines = {
        "exact": gamma_tail(t, 10),
        "both regimes": log_light_tail(t, total),
        "e^(−min(t²/2ν², t/2b))": log_two_regime_tail(t, total),
        "Gaussian regime alone": log_light_tail(t, SubExponential(total.proxy)),
    }
    bend = Level("the regimes meet", x=float(total.proxy) / float(total.scale))
    marks = [Line(name, t, values) for name, values in lines.items()]
    return Curves([*marks, bend], x="t", y="ln P(X ≥ t), ten centred exponentials; b = 2", ys=(-40, 0))


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
    says=r"Of independent sub-exponential variables the $\nu^2$ add and the largest $b$ stays: exact tails of "
    r"$\sum a_i(E_i-1)$, $E_i$ exponential, obey it, and no less will do for equal ones. "
    r"The mean of the largest of $n$, dependent or not, is at most "
    r"$\sigma\sqrt{2\ln n}$ for sub-Gaussian and $b\ln n+\nu^2/2b$ for sub-exponential ones once "
    r"$\ln n\ge\nu^2/2b^2$. Of $n$ events of chance $1/n$, of which exactly one happens, the largest centred indicator "
    r"is $1-\frac1n$, and the bound with the coin's least proxy comes within order $1/n$ of it; independent Gaussians "
    r"reach 92 % at a million, exponentials $H_n-1$.",
    needs="identical proxies in a maximum; a = 1, 0.6, 0.3, 0.1 in the sum",
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
        "sum": Inequality(unequal_exponentials(t), np.asarray(log_light_tail(t, total)), log=True),
        "copies": Identity(np.stack(five), np.stack([copies, scales]), condition=16.0),
        "exclusive events": Inequality(1 - 1 / count, rare),
        "attained": Limit(count, rare / (1 - 1 / count) - 1, order=1.0),
        "Gaussian": Chain({
            "below the bound": (gaussian, np.asarray(maximum_bound(many, SubExponential(1.0)))),
            "0.92 of it at a million": (0.92 * np.sqrt(2 * np.log(1e6)), gaussian[-1]),
        }),
        "exponential": Inequality(
            harmonic[:, None], np.asarray(maximum_bound(many[:, None], SubExponential(proxies, scales)))
        ),
    }  # fmt: skip


@sums_and_maxima_of_light_tails.control("the mean of the scales", of="sum")
def mean_scale(evidence):
    t = np.geomspace(0.1, 80, 40)
    proxy = variance_proxy(exponential, variance=1.0, reach=1 / 1.02)
    law = SubExponential(np.sum(SHARES**2) * proxy, 1.02 * SHARES.mean())
    return replace(evidence, bound=np.asarray(log_light_tail(t, law)))


@sums_and_maxima_of_light_tails.control("the largest proxy instead of their sum", of="sum")
def largest_proxy(evidence):
    t = np.geomspace(0.1, 80, 40)
    proxy = variance_proxy(exponential, variance=1.0, reach=1 / 5.0)
    return replace(evidence, bound=np.asarray(log_light_tail(t, SubExponential(proxy * SHARES[0] ** 2))))


@sums_and_maxima_of_light_tails.control("the variance of the indicator for its proxy", of="exclusive events")
def indicator_variance(evidence):
    count = 4 ** np.arange(1, 9)
    return replace(evidence, bound=np.asarray(maximum_bound(count, SubExponential((1 - 1 / count) / count))))


@sums_and_maxima_of_light_tails.control("σ√(ln n)", of="exclusive events")
def without_the_two(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / np.sqrt(2))


@sums_and_maxima_of_light_tails.control("the square root of ln n for exponentials too", of="exponential")
def gaussian_maximum_of_exponentials(evidence):
    many = 10 ** np.arange(1, 7)
    proxy = variance_proxy(exponential, variance=1.0, reach=0.5)
    return replace(evidence, bound=np.asarray(maximum_bound(many, SubExponential(proxy)))[:, None])


NORMS = {
    "Gaussian": (2, lambda s: -0.5 * np.log1p(-2 * s) if s < 0.5 else np.inf, np.sqrt(8 / 3), scipy.stats.halfnorm.pdf),
    "exponential": (1, lambda s: -np.log1p(-s) if s < 1 else np.inf, 2.0, scipy.stats.expon.pdf),
    "chi-square": (
        1, lambda s: -0.5 * np.log1p(-2 * s) if s < 0.5 else np.inf, 8 / 3, partial(scipy.stats.chi2.pdf, df=1)),
    "gamma of shape 2": (
        1, lambda s: -2 * np.log1p(-s) if s < 1 else np.inf, 2 + np.sqrt(2), partial(scipy.stats.gamma.pdf, a=2)),
    "Rayleigh": (2, lambda s: -np.log1p(-2 * s) if s < 0.5 else np.inf, 2.0, scipy.stats.rayleigh.pdf),
}  # fmt: skip
"""Order, ln E e^{s|X|^order}, Orlicz norm in closed form, density of |X|."""


def finite_norm(values, law, order):
    powers = np.abs(values) ** order
    return orlicz_norm(lambda s: finite_log_moment(s, powers, law, centred=False), order=order)


@claim(
    items={},
    says=r"$\|X\|_{\psi_p}=\inf\{K:\mathbb Ee^{(|X|/K)^p}\le2\}$ is $\sigma\sqrt{8/3}$ for a Gaussian ($p=2$), 2 "
    r"for an exponential ($p=1$) and $8/3$ for $\chi^2_1$. $P(|X|\ge t)\le2e^{-(t/K)^p}$, attained by constants; "
    r"$\|XY\|_{\psi_1}\le\|X\|_{\psi_2}\|Y\|_{\psi_2}$, attained by $Y=X$; $\|X\|_{\psi_2}\le\sqrt{8/3}\,\sigma$ for "
    r"sub-Gaussian $X$ of proxy $\sigma^2$, attained by Gaussians. Then $X^2-\mathbb EX^2$ and its negative are "
    r"sub-gamma: $\ln\mathbb Ee^{\lambda Z}\le\lambda^2v/2(1-c\lambda)$ with $v=16\sigma^4$, $c=2\sigma^2$, "
    r"the sum over $k\ge2$ of $\mathbb EX^{2k}\lambda^k/k!\le2(2\sigma^2\lambda)^k$. "
    r"A centred $\chi^2_k$ has $v=2k$, $c=2$ above and $c=0$ below, and exceeds $2\sqrt{kx}+2x$ with "
    r"probability at most $e^{-x}$, as sub-gamma variables do $\sqrt{2vx}+cx$; their tails are "
    r"below Bernstein's $e^{-t^2/2(v+ct)}$.",
    needs="drawn laws have four values; products of dependent factors",
)
def squares_products_and_orlicz_norms(key, *, count: Count = 24):
    draw = generator(key)
    closed = np.array([norm for _, _, norm, _ in NORMS.values()])
    found = [orlicz_norm(log_moment, order=order) for order, log_moment, _, _ in NORMS.values()]
    moments = [
        quad(
            lambda x, d=density, p=order, k=norm: d(x) * np.exp((x / k) ** p),
            0,
            200 if order == 1 else 25,
            limit=500,
            points=[1e-6, 1.0, 8.0],
        )[0]
        for order, _, norm, density in NORMS.values()
    ]
    products, factors, tails, allowed, orlicz, proxies, squares, gammas, even = ([] for _ in range(9))
    # Relative to 1/c, where c is the scale of the square.
    rates = np.concatenate([-np.geomspace(0.01, 20, 12), np.geomspace(0.01, 0.99, 12)])
    for index in range(count):
        law = draw.dirichlet(np.full(4, 0.3))
        x, y = draw.standard_normal((2, 4)) * draw.uniform(0.2, 3, (2, 1))
        if index % 4 == 0:
            y = x
        if index == 0:
            x = y = np.full(4, 1.7)
        product, one, other = finite_norm(x * y, law, 1), finite_norm(x, law, 2), finite_norm(y, law, 2)
        products.append(product)
        factors.append(one * other)
        size = np.abs(x)
        tails.append([law[size >= t].sum() for t in size])
        allowed.append(2 * np.exp(-((size / one) ** 2)))
        if index == 0:
            continue  # a constant has no variance
        centred, spread = x - law @ x, float(law @ (x - law @ x) ** 2)
        unit = centred / np.sqrt(spread)
        proxy = variance_proxy(lambda r, u=unit, law=law: finite_log_moment(r, u, law), variance=1.0)
        orlicz.append(finite_norm(unit, law, 2))
        proxies.append(proxy)
        even.append([law @ unit ** (2 * k) / (2 * factorial(k) * (2 * proxy) ** k) for k in range(2, 9)])
        v, c = square_of_sub_gaussian(proxy)
        squares.append([finite_log_moment(r / c, unit**2, law) for r in rates])
        gammas.append((rates / c) ** 2 * v / (2 * (1 - np.maximum(rates, 0))))
    degrees, t = np.array([1, 5, 50, 1000])[:, None], np.geomspace(0.05, 40, 60)
    t = t * np.sqrt(2 * degrees)
    law, x = SubGamma(2.0 * degrees, 2.0), np.geomspace(1e-3, 300, 60)
    above = np.asarray(log_sub_gamma_tail(t, law))
    v, c, shares = *square_of_sub_gaussian(0.7), np.geomspace(0.01, 0.9, 9)
    below, chi_squares = np.minimum(t, 0.7 * degrees), scipy.stats.chi2(degrees)
    return {
        "norms": Identity(np.array(found), closed, condition=16.0, along={"law": np.array(list(NORMS))}),
        "moment at the norm": Identity(np.array(moments), 2.0, error=1e-6),  # the quadrature, where χ²₁ is singular
        "products": Inequality(np.array(products), np.array(factors), error=1e-12),
        "tail": Inequality(np.array(tails), np.array(allowed), error=1e-12),
        "proxy": Inequality(np.append(orlicz, closed[0]), np.sqrt(8 / 3 * np.append(proxies, 1.0)), error=1e-9),
        "squares": Inequality(np.array(squares), np.array(gammas), error=1e-12),
        "even moments": Inequality(np.array(even), 1.0),
        "series": Identity(
            2 * np.sum(shares[:, None] ** np.arange(2, 600), axis=1),
            (shares / c) ** 2 * v / (2 * (1 - shares)),
            condition=16.0,
        ),
        "chi-square": Inequality(
            np.stack([chi_squares.logsf(degrees + t), chi_squares.logcdf(degrees - below)]),
            np.stack([above, log_sub_gamma_tail(below, law._replace(scale=0.0))]),
            log=True,
        ),
        "deviation": Identity(
            np.asarray(sub_gamma_deviation(x, law)), 2 * np.sqrt(degrees * x) + 2 * x
        ),
        "inverse": Identity(
            log_sub_gamma_tail(sub_gamma_deviation(x, law), law), np.broadcast_to(-x, (4, 60)), condition=8.0
        ),
        "Bernstein": Inequality(above, log_bernstein(t, law.variance, 3 * law.scale), log=True),
    }  # fmt: skip


@squares_products_and_orlicz_norms.control("√2·σ for a Gaussian", of="proxy")
def root_two(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) * np.sqrt(6 / 8))


@squares_products_and_orlicz_norms.control("E exp ≤ e in place of 2", of="norms")
def to_e(evidence):
    # 1/√(1 − 2s) = e for the Gaussian, and so on.
    e = np.e
    right = [np.sqrt(2 / (1 - e**-2)), 1 / (1 - 1 / e), 2 / (1 - e**-2), 1 / (1 - e**-0.5), np.sqrt(2 / (1 - 1 / e))]
    return replace(evidence, right=np.array(right))


@squares_products_and_orlicz_norms.control("a product of sub-Gaussian variables is sub-Gaussian", of="products")
def product_in_the_second_norm(evidence):
    rare, x = np.array([1e-3, 1 - 1e-3]), np.array([1.0, 0.0])
    return replace(evidence, quantity=finite_norm(x * x, rare, 2), bound=finite_norm(x, rare, 2) ** 2)


@squares_products_and_orlicz_norms.control("the tail without its factor two", of="tail")
def tail_without_two(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


def chi_square_bound(*, variance, scale):
    degrees = np.array([1, 5, 50, 1000])[:, None]
    t = np.geomspace(0.05, 40, 60) * np.sqrt(2 * degrees)
    return np.asarray(log_sub_gamma_tail(t, SubGamma(variance * degrees, scale)))


@squares_products_and_orlicz_norms.control("the scale of a Gaussian's square is σ²", of="chi-square")
def half_scale(evidence):
    return replace(evidence, quantity=evidence.quantity[0], bound=chi_square_bound(variance=2.0, scale=1.0))


@squares_products_and_orlicz_norms.control("the variance of a Gaussian's square is σ⁴", of="chi-square")
def half_variance(evidence):
    return replace(evidence, quantity=evidence.quantity[0], bound=chi_square_bound(variance=1.0, scale=2.0))


@squares_products_and_orlicz_norms.control("the square of every variable as that of a Gaussian", of="squares")
def gaussian_variance_for_all(evidence):
    # 0 and ±1 with chance a fifth: the variance of the square is 0.16, the proxy 0.23.
    values, law = np.array([-1.0, 0.0, 1.0]), np.array([0.1, 0.8, 0.1])
    proxy = variance_proxy(lambda r: finite_log_moment(r, values, law), variance=0.2)
    rates = np.geomspace(0.01, 1, 20)
    moments = np.array([finite_log_moment(r, values**2, law) for r in rates])
    return replace(evidence, quantity=moments, bound=rates**2 * 2 * proxy**2 / (2 * (1 - 2 * proxy * rates)))
