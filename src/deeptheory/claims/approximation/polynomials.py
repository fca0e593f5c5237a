"""Weierstrass' theorem with numbers: Bernstein's polynomials, Landau's, and what each needs (lucchi Sec. 3.3, 3.5)."""

from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Annotated

import numpy as np
from annotated_types import Interval, MinLen
from scipy.stats import binom

from deeptheory.approximation.polynomials import (
    bernstein_basis,
    bernstein_degree,
    bernstein_polynomial,
    landau_constant,
    landau_error_bound,
    landau_polynomial,
    lipschitz_bernstein_bound,
)
from deeptheory.lab import Chain, Identity, Inequality, Limit, Rate, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row, power_law

X = np.linspace(0, 1, 241)
EVEN = Annotated[tuple[int, ...], Interval(ge=2, le=512), "increasing", MinLen(3)]


def kink(x):
    return np.abs(x - 0.5)


def worst(f, polynomial, x=X):
    return np.abs(polynomial(x) - f(x)).max()


@claim(
    items={
        "L3.6": "values of the basis",
        "L3.7": ("spread of the basis", "error at a kink", "rate at a kink", "links of the proof"),
        "L3.8": "values on other intervals",
    },
    says=r"$b_k^m(x)=\binom mkx^k(1-x)^{m-k}$ is a law on $0,\dots,m$ with mean square distance $x(1-x)/m$ of $k/m$ "
    r"from $x$. So $q_m=\sum_kf(\frac km)b_k^m$ is within $\epsilon/2+R/(4m\delta^2)$ of $f$, hence within $\epsilon$ "
    r"for $m>R/(2\epsilon\delta^2)$; at the kink $|x-\frac12|$ its error is $\binom m{m/2}2^{-m-1}$.",
    needs="f continuous on [0, 1], or on [a, b] by t = (x − a)/(b − a); even m at the kink",
    symbols={
        r"b_k^m": "the basis polynomial number $k$ of degree $m$",
        "q_m": "Bernstein's polynomial of $f$",
        r"\epsilon": "the error that is wanted",
        r"\delta": r"a distance within which $f$ changes by at most $\epsilon/2$",
        "R": r"the largest difference of two values of $f$",
    },
    why=r"$b_k^m(x)$ is the probability of $k$ heads in $m$ throws of a coin that shows head with probability $x$. So "
    r"$q_m(x)$ is the mean of $f$ at the share of heads, and that share is near $x$ by the law of large numbers. Where "
    r"it is within $\delta$ it costs $\epsilon/2$; how often it is farther away, Chebyshev's inequality bounds by the "
    r"variance over $\delta^2$. At the kink the error is the mean distance of the share of heads from one half.",
    notice="Left, the four basis polynomials of degree 3: at every place they add up to 1, and each is largest at its "
    r"$k/m$. Middle, Bernstein's polynomials round the kink off and approach it slowly. Right, the error there falls "
    r"like $m^{-1/2}$.",
    explore={"degrees": ((4, 16, 64), (16, 64, 256))},
)
def bernstein_polynomials(*, degrees: EVEN = (4, 16, 64, 256)):
    degrees = tuple(2 * (m // 2) for m in degrees)
    places = [Fraction(j, 24) for j in range(25)]
    exact = [[float(comb(12, k) * x**k * (1 - x) ** (12 - k)) for x in places] for k in range(13)]
    x = np.arange(25) / 24
    spreads = [((x - np.arange(m + 1)[:, None] / m) ** 2 * bernstein_basis(m, x)).sum(0) for m in degrees]
    kinks = np.array([worst(kink, bernstein_polynomial(kink, m)) for m in degrees])
    # One or two throws of a fair coin leave it as far from ½ as can be: Chebyshev's inequality is attained.
    throws, deltas = np.array([1, 2, 8, 40]), np.array([0.5, 0.5, 0.3, 0.1]) * (1 - 1e-9)
    away = [
        (bernstein_basis(m, X) * (np.abs(X - np.arange(m + 1)[:, None] / m) > d)).sum(0)
        for m, d in zip(throws.tolist(), deltas, strict=True)
    ]
    # (f, its Lipschitz constant, its largest difference of values)
    targets = [(kink, 1.0, 0.5), (lambda x: np.sin(5 * x), 5.0, 2.0), (lambda x: np.abs(np.sin(5 * x)), 5.0, 1.0)]
    wanted = [1.0, 0.5]
    least = [[bernstein_degree(e, e / (2 * rho), r) for e in wanted] for _, rho, r in targets]
    errors = [
        [worst(f, bernstein_polynomial(f, m)) for m in row] for (f, _, _), row in zip(targets, least, strict=True)
    ]
    ends = np.array([[-2.0, 3.0], [5.0, 5.5], [0.0, 1.0]])
    pulled = [bernstein_polynomial(np.cos, 7, low, high)(low + (high - low) * x) for low, high in ends]
    means = [
        np.cos(low + (high - low) * np.arange(8) / 7) @ binom.pmf(np.arange(8)[:, None], 7, x) for low, high in ends
    ]
    return {
        "values of the basis": Identity(bernstein_basis(12, x), np.array(exact), condition=12),
        "spread of the basis": Identity(
            np.array(spreads),
            np.array([x * (1 - x) / m for m in degrees]),
            condition=max(degrees),
            along={"degree": np.array(degrees)},
            aside={"nobody": np.array([x**2 * (1 - x) ** m for m in degrees])},
        ),
        "links of the proof": Chain(
            {
                "share beyond δ": (
                    np.array(away),
                    X * (1 - X) / (throws * deltas**2)[:, None],
                ),
                "spread": (X * (1 - X), np.full(len(X), 0.25)),
                "error": (np.array(errors), np.tile(wanted, (len(targets), 1))),
                "error of Lipschitz functions": (
                    np.array([[worst(f, bernstein_polynomial(f, m)) for m in degrees] for f, _, _ in targets]),
                    np.array([[lipschitz_bernstein_bound(rho, m) for m in degrees] for _, rho, _ in targets]),
                ),
            },
            aside={"throws": throws},
        ),
        "error at a kink": Identity(
            kinks,
            np.array([float(Fraction(comb(m, m // 2), 2 ** (m + 1))) for m in degrees]),
            condition=max(degrees),
            along={"degree": np.array(degrees)},
        ),
        "rate at a kink": Rate(np.array(degrees), kinks, exponent=-0.5, rivals=(-1.0,), resolution=0.1),
        "values on other intervals": Identity(
            np.array(pulled), np.array(means), scale=1.0, condition=10, aside={"ends": ends, "x": x}
        ),
    }


@bernstein_polynomials.control("C(m − 1, k) in place of C(m, k)", of="values of the basis")
def fewer_ways(evidence):
    return replace(evidence, right=evidence.right * (1 - np.arange(13) / 12)[:, None])


@bernstein_polynomials.control("the sum started at k = 1", of="spread of the basis")
def without_nobody(evidence):
    return replace(evidence, left=evidence.left - evidence.aside["nobody"])


@bernstein_polynomials.control("variance over m + 1 throws", of="links of the proof")
def one_more_throw(evidence):
    small, large = evidence.links["share beyond δ"]
    throws = evidence.aside["throws"][:, None]
    return replace(evidence, links={"share beyond δ": (small, large * throws / (throws + 1))})


@bernstein_polynomials.control("1/√(2πm) already at finite degree", of="error at a kink")
def the_limit(evidence):
    return replace(evidence, right=1 / np.sqrt(2 * np.pi * evidence.along["degree"]))


@bernstein_polynomials.control(
    "pulled back by (1 − x)a + xb, which leads the other way", of="values on other intervals"
)
def the_other_way(evidence):
    x, led = evidence.aside["x"], []
    for low, high in evidence.aside["ends"]:
        at = low + (high - low) * x
        f = bernstein_polynomial(lambda t, a=low, b=high: np.cos(a + (b - a) * t), 7)
        led.append(f((1 - at) * low + at * high))
    return replace(evidence, left=np.array(led))


@bernstein_polynomials.picture
def coins(pieces):
    """The basis of degree 3 (left), polynomials near a kink (middle), and the error at the kink (right)."""
    basis = [Line(f"k = {k}", X, each) for k, each in enumerate(bernstein_basis(3, X))]
    rounded = [Line(f"m = {m}", X, bernstein_polynomial(kink, m)(X)) for m in (4, 16, 64)]
    return Row(
        [
            Curves([*basis, Level("their sum", y=1.0)], x="place x", y="basis polynomial of degree 3"),
            Curves([Line("|x − ½|", X, kink(X), thin=True), *rounded], x="place x", y="value"),
            Curves(
                power_law("error", pieces["rate at a kink"], rivals={-1.0: "1/m"}), x="degree m", y="error", log="xy"
            ),
        ]
    )


Powers = Annotated[tuple[int, ...], Interval(ge=2, le=4096), "increasing", MinLen(3)]


@claim(
    items={"L3.13": ("integrals of the kernel", "value at the end", "error falls", "weights fall", "largest error")},
    says=r"$P_n(x)=\frac1{J_n}\int_0^1f(t)[1-(t-x)^2]^ndt$ with $J_n=\int_{-1}^1(1-u^2)^ndu$ is a polynomial within "
    r"$\epsilon/2+M/(\delta^2(n+1))$ of $f$ on $[0,1]$ if $f$ is continuous and vanishes at both ends, since "
    r"$\int_{-1}^1u^2(1-u^2)^ndu=J_{n+1}/(2(n+1))$ and $J_{n+1}<J_n$.",
    needs="f(0) = f(1) = 0 (subtract the chord first); where f(1) ≠ 0 the polynomials tend to f(1)/2 there",
    symbols={
        "P_n": "Landau's polynomial, of degree $2n$",
        "J_n": r"the weight of the kernel, about $\sqrt{\pi/n}$",
        "M": "a bound on $|f|$",
        r"\epsilon": "the error that is wanted",
        r"\delta": r"a distance within which $f$, continued by 0, changes by at most $\epsilon/2$",
    },
    why="The kernel $(1-u^2)^n/J_n$ is a density that gathers at $0$, so $P_n(x)$ is a mean of $f$ near $x$; and it "
    "is a polynomial in $x$, since $x$ appears in the kernel only. With its second moment one proceeds as with coins. "
    "At an end of the interval half of the kernel lies outside, where $f$ counts as zero: that does no harm exactly "
    "if $f$ is zero there too.",
    notice="Left, $t(1-t)$ and its polynomials; both ends are approached from above. Middle, the same for $f(t)=t$: "
    "at $x=1$ the polynomials go to one half, however large $n$. Right, the errors: one falls like $n^{-1/2}$, the "
    "other tends to a half.",
)
def landau_polynomials(*, powers: Powers = (4, 16, 64, 256, 1024)):
    few = [n for n in powers if n <= 64] or [4]
    exact = [[_moment(n, 0), _moment(n, 2)] for n in few]
    ours = [[landau_constant(n), landau_constant(n + 1) / (2 * (n + 1))] for n in few]
    ends = np.array([landau_polynomial(_hill, n, np.zeros(1))[0] for n in powers])
    hills = np.array([np.abs(landau_polynomial(_hill, n, X) - _hill(X)).max() for n in powers])
    lines = np.array([np.abs(landau_polynomial(lambda t: t, n, X) - X).max() for n in powers])
    masses = np.array([landau_constant(n) for n in powers])
    after = np.array([landau_constant(n + 1) for n in powers])
    n = np.array(powers)
    # t(1 − t) has slope at most 1 and is at most ¼; the best ε for each n.
    wanted = np.linspace(0.05, 2.0, 40)
    bounds = np.array([min(landau_error_bound(e, e / 2, 0.25, k) for e in wanted) for k in powers])
    return {
        "integrals of the kernel": Identity(
            np.array(ours),
            np.array(exact),
            condition=max(few),
            aside={"before": masses[: len(few)] / (2 * np.array(few) + 2)},
        ),
        # ∫₀¹ t(1 − t²)ⁿ dt = 1/(2(n + 1)), and half the second moment.
        "value at the end": Identity(
            ends,
            np.array([(1 - _moment(k, 2) * (k + 1)) / (2 * (k + 1)) / _moment(k, 0) for k in powers]),
            condition=max(powers),
            aside={"first": 1 / (2 * (n + 1) * masses)},
        ),
        "error falls": Limit(n, hills, order=0.5, aside={"line": lines}),
        "weights fall": Identity(after / masses, (2 * n + 2) / (2 * n + 3), condition=max(powers), along={"power": n}),
        "largest error": Inequality(hills, bounds, along={"power": n}),
    }


def _hill(t):
    return t * (1 - t)


def _moment(n, power):
    """∫₋₁¹ u^power (1 − u²)ⁿ du in rationals: the binomial expansion, term by term."""
    return float(sum(Fraction((-1) ** k * comb(n, k) * 2, 2 * k + power + 1) for k in range(n + 1)))


@landau_polynomials.control("the n-th integral for the next one in the second moment", of="integrals of the kernel")
def the_weight_before(evidence):
    return replace(evidence, left=np.stack([evidence.left[:, 0], evidence.aside["before"]], 1))


@landau_polynomials.control("t for t(1 − t) at the end", of="value at the end")
def first_moment(evidence):
    return replace(evidence, right=evidence.aside["first"])


@landau_polynomials.control("f(0) = 0 is enough, as printed", erratum="L3.13a", of="error falls")
def one_end(evidence):
    return replace(evidence, y=evidence.aside["line"])


@landau_polynomials.control("the ratio of integrals one degree earlier", of="weights fall")
def one_before(evidence):
    return replace(evidence, right=2 * evidence.along["power"] / (2 * evidence.along["power"] + 1))


@landau_polynomials.control("M/(n + 1) alone, as if f changed by nothing within δ = 1", of="largest error")
def nothing_within(evidence):
    return replace(evidence, bound=0.25 / (evidence.along["power"] + 1))


@landau_polynomials.picture
def both_ends(pieces):
    """A function that vanishes at both ends (left), one that does not (middle), and the errors of both (right)."""
    falls = pieces["error falls"]
    panels = []
    for f, name in ((_hill, "t(1 − t)"), (lambda t: t, "t")):
        marks = [Line(f"n = {n}", X, landau_polynomial(f, n, X)) for n in (4, 16, 256)]
        panels.append(Curves([Line(name, X, f(X), thin=True), *marks], x="place x", y="value"))
    errors = [
        *power_law("error for t(1 − t)", falls),
        Line("error for t", falls.x, falls.aside["line"], rival="if only f(0) = 0"),
    ]
    return Row([*panels, Curves(errors, x="power n", y="largest error", log="xy")])
