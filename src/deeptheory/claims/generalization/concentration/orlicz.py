"""Orlicz norms, and what they say about squares and products of sub-Gaussian variables."""

from dataclasses import replace
from functools import partial
from math import factorial

import numpy as np
import scipy.stats
from scipy.integrate import quad

from deeptheory.foundations.concentration import log_bernstein
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.concentration.sub_exponential import (
    SubGamma,
    finite_log_moment,
    log_sub_gamma_tail,
    orlicz_norm,
    square_of_sub_gaussian,
    sub_gamma_deviation,
    variance_proxy,
)
from deeptheory.lab import Count, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Line

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
    says=r"With $\|X\|_{\psi_p}=\inf\{K:\mathbb Ee^{(|X|/K)^p}\le2\}$, $P(|X|\ge t)\le2e^{-(t/K)^p}$ and "
    r"$\|XY\|_{\psi_1}\le\|X\|_{\psi_2}\|Y\|_{\psi_2}$; the norm is at most $\sigma\sqrt{8/3}$ for a proxy "
    r"$\sigma^2$. $X^2-\mathbb EX^2$ is sub-gamma with $v=16\sigma^4$, $c=2\sigma^2$; $\chi^2_k-k$ with $v=2k$, $c=2$.",
    needs="drawn laws have four values; products of dependent factors; sub-gamma: ln E e^{λZ} ≤ λ²v/2(1 − cλ)",
    symbols={
        r"\|X\|_{\psi_p}": "the Orlicz norm: $p=2$ of sub-Gaussian, $p=1$ of sub-exponential variables",
        r"K": "the value of the norm",
        r"\sigma^2": "the variance proxy of $X$",
        r"v,\ c": "the variance factor and the scale of a sub-gamma variable",
        r"\chi^2_k": "the sum of $k$ squares of standard Gaussians",
    },
    why=r"The tail is Markov's bound for $e^{(|X|/K)^p}$, whose mean is 2; a constant attains it. For products, "
    r"$|xy|\le\frac12(x^2+y^2)$ in the exponent and Cauchy–Schwarz. Tails of a sub-Gaussian variable give $\mathbb "
    r"EX^{2k}\le2\,k!\,(2\sigma^2)^k$, and the series over $k\ge2$ is geometric: a square is no longer sub-Gaussian, "
    r"but its moments grow no faster than an exponential's.",
    notice=r"The square of a Gaussian, centred: its tail is straight, with the slope $1/c=\frac12$. The sub-gamma "
    r"bound bends from the parabola of the variance into that slope. With half the scale it would fall below the tail.",
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
        "norms of named laws": Identity(np.array(found), closed, condition=16.0, along={"law": np.array(list(NORMS))}),
        "moment at the norm": Identity(np.array(moments), 2.0, error=1e-6),  # the quadrature, where χ²₁ is singular
        "norms of products": Inequality(np.array(products), np.array(factors), error=1e-12),
        "tails by the norm": Inequality(np.array(tails), np.array(allowed), error=1e-12),
        "norm by the variance proxy": Inequality(
            np.append(orlicz, closed[0]), np.sqrt(8 / 3 * np.append(proxies, 1.0)), error=1e-9
        ),
        "squares of sub-Gaussian variables": Inequality(np.array(squares), np.array(gammas), error=1e-12),
        "even moments": Inequality(np.array(even), 1.0),
        "series of the moments": Identity(
            2 * np.sum(shares[:, None] ** np.arange(2, 600), axis=1),
            (shares / c) ** 2 * v / (2 * (1 - shares)),
            condition=16.0,
        ),
        "chi-square tails": Inequality(
            np.stack([chi_squares.logsf(degrees + t), chi_squares.logcdf(degrees - below)]),
            np.stack([above, log_sub_gamma_tail(below, law._replace(scale=0.0))]),
            log=True,
            aside={"degrees": degrees, "deviation": t},
        ),
        "deviation at a given probability": Identity(
            np.asarray(sub_gamma_deviation(x, law)), 2 * np.sqrt(degrees * x) + 2 * x
        ),
        "tail and deviation are inverse": Identity(
            log_sub_gamma_tail(sub_gamma_deviation(x, law), law), np.broadcast_to(-x, (4, 60)), condition=8.0
        ),
        "sharper than Bernstein": Inequality(above, log_bernstein(t, law.variance, 3 * law.scale), log=True),
    }  # fmt: skip


@squares_products_and_orlicz_norms.control("√2·σ for a Gaussian", of="norm by the variance proxy")
def root_two(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) * np.sqrt(6 / 8))


@squares_products_and_orlicz_norms.control("E exp ≤ e in place of 2", of="norms of named laws")
def to_e(evidence):
    # 1/√(1 − 2s) = e for the Gaussian, and so on.
    e = np.e
    right = [np.sqrt(2 / (1 - e**-2)), 1 / (1 - 1 / e), 2 / (1 - e**-2), 1 / (1 - e**-0.5), np.sqrt(2 / (1 - 1 / e))]
    return replace(evidence, right=np.array(right))


@squares_products_and_orlicz_norms.control(
    "a product of sub-Gaussian variables is sub-Gaussian", of="norms of products"
)
def product_in_the_second_norm(evidence):
    rare, x = np.array([1e-3, 1 - 1e-3]), np.array([1.0, 0.0])
    return replace(evidence, quantity=finite_norm(x * x, rare, 2), bound=finite_norm(x, rare, 2) ** 2)


@squares_products_and_orlicz_norms.control("the tail without its factor two", of="tails by the norm")
def tail_without_two(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@squares_products_and_orlicz_norms.control("the scale of a Gaussian's square is σ²", of="chi-square tails")
def half_scale(evidence):
    law = SubGamma(2.0 * evidence.aside["degrees"], 1.0)
    bound = log_sub_gamma_tail(evidence.aside["deviation"], law)
    return replace(evidence, quantity=evidence.quantity[0], bound=np.asarray(bound))


@squares_products_and_orlicz_norms.control("the variance of a Gaussian's square is σ⁴", of="chi-square tails")
def half_variance(evidence):
    law = SubGamma(1.0 * evidence.aside["degrees"], 2.0)
    bound = log_sub_gamma_tail(evidence.aside["deviation"], law)
    return replace(evidence, quantity=evidence.quantity[0], bound=np.asarray(bound))


@squares_products_and_orlicz_norms.picture
def square_of_a_gaussian(pieces):
    """Logarithm of the upper tail of a centred chi-square variable of one degree, with the sub-gamma bound."""
    piece = pieces["chi-square tails"]
    t = piece.aside["deviation"][0]
    return Curves(
        [
            Line("exact", t, np.asarray(piece.quantity)[0, 0]),
            Line("sub-gamma, v = 2, c = 2", t, np.asarray(piece.bound)[0, 0]),
            Line("Bernstein's form", t, np.asarray(pieces["sharper than Bernstein"].bound)[0]),
            Line("sub-gamma", t, log_sub_gamma_tail(t, SubGamma(2.0, 1.0)), rival="with c = 1, half the scale"),
        ],
        x="deviation t", y="logarithm of the tail", xs=(0, 30), ys=(-20, 0),
    )  # fmt: skip


@squares_products_and_orlicz_norms.control(
    "the square of every variable as that of a Gaussian", of="squares of sub-Gaussian variables"
)
def gaussian_variance_for_all(evidence):
    # 0 and ±1 with chance a fifth: the variance of the square is 0.16, the proxy 0.23.
    values, law = np.array([-1.0, 0.0, 1.0]), np.array([0.1, 0.8, 0.1])
    proxy = variance_proxy(lambda r: finite_log_moment(r, values, law), variance=0.2)
    rates = np.geomspace(0.01, 1, 20)
    moments = np.array([finite_log_moment(r, values**2, law) for r in rates])
    return replace(evidence, quantity=moments, bound=rates**2 * 2 * proxy**2 / (2 * (1 - 2 * proxy * rates)))
