"""Markov and Chebyshev: what a mean and a variance alone say about tails, and the laws that attain it."""

from dataclasses import replace

import numpy as np
import scipy.stats

from deeptheory.foundations.concentration import chebyshev_bound, finite_law, markov_bound
from deeptheory.lab import Chain, Identity, Inequality, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, compared


@claim(
    items={"A1.4": ""},
    says=r"$P[X\ge t]\le\mathbb E X/t$ for every nonnegative variable (laws on five points, searched).",
    needs="X is nonnegative, t is positive",
    over=dict(values=Reals(0, 10, shape=(5,)), weights=Reals(0, 1, shape=(5,)), share=Reals(0.05, 3.0, log=True)),
    each="array",
    draws=128,
    symbols={r"X": "a nonnegative variable", r"t": "a positive threshold"},
    why=r"Replace every value below $t$ by 0 and every other one by $t$: no value grows, so the mean does not. The "
    r"mean of what is left is $t\,P[X\ge t]$.",
    notice=r"Each dot is a law with a threshold. None lies above the diagonal; those near it have little mass between "
    r"0 and $t$ and little beyond $t$. Mass below 0, which the bound does not allow, would lower the mean and not the "
    r"tail.",
)
def markov_bounds_every_tail(values, weights, share):
    law = finite_law(weights)
    # The threshold sits on a value of the law, or a little off: where tails jump the bound is nearest.
    threshold = np.maximum(share * np.abs(values[:, 0]), 1e-3)
    return Inequality((law * (values >= threshold[:, None])).sum(1), markov_bound((law * values).sum(1), threshold))


markov_bounds_every_tail.control("for variables of either sign", over=dict(values=Reals(-10, 10, shape=(5,))))


@markov_bounds_every_tail.picture
def tails_and_means(pieces):
    """Tail probabilities of laws on five points against the mean over the threshold, on the instances searched."""
    (piece,) = pieces.values()
    return compared(
        np.ravel(piece.bound), lambda bound: bound, np.ravel(piece.quantity), names=("bound", "laws"),
        x="mean over threshold", y="probability P[X ≥ t]", xs=(0, 2), ys=(0, 1.1),
    )  # fmt: skip


@claim(
    items={"A1.5": ""},
    says=r"$P[|X-\mathbb EX|\ge t]\le\operatorname{Var}X/t^2$ for every variable, nonnegative or not (laws on five "
    "points, searched).",
    needs="a finite variance",
    over=dict(values=Reals(-10, 10, shape=(5,)), weights=Reals(0, 1, shape=(5,)), share=Reals(0.05, 3.0, log=True)),
    each="array",
    draws=128,
    symbols={r"X": "a variable with a variance", r"t": "a positive deviation"},
    why=r"$(X-\mathbb EX)^2$ is nonnegative and its mean is the variance: Markov's bound at the threshold $t^2$. "
    r"Distances from another point than the mean have a larger mean square, and the variance does not bound them.",
    notice=r"Deviations from the mean stay below the diagonal. Deviations from zero, with the same variance, do not.",
)
def chebyshev_bounds_every_tail(values, weights, share):
    law = finite_law(weights)
    centred = values - (law * values).sum(1, keepdims=True)
    variance = (law * centred**2).sum(1)

    def tail_and_bound(away):
        threshold = np.maximum(share * away[:, 0], 1e-3)
        return (law * (away >= threshold[:, None])).sum(1), chebyshev_bound(variance, threshold)

    tail, bound = tail_and_bound(np.abs(values))
    return Inequality(*tail_and_bound(np.abs(centred)), aside={"from zero": tail, "bound from zero": bound})


@chebyshev_bounds_every_tail.control("deviations from zero instead of the mean")
def from_zero(evidence):
    return replace(evidence, quantity=evidence.aside["from zero"], bound=evidence.aside["bound from zero"])


@chebyshev_bounds_every_tail.picture
def deviations_and_variances(pieces):
    """Chances of deviations of laws on five points against the variance over the squared deviation, as searched."""
    (piece,) = pieces.values()
    ends, aside = np.array([0.0, 2.0]), piece.aside
    return Curves(
        [
            Line("bound", ends, ends),
            Dots("deviations from the mean", np.ravel(piece.bound), np.ravel(piece.quantity)),
            Dots("deviations", aside["bound from zero"], aside["from zero"], rival="from zero"),
        ],
        x="variance over t²", y="chance of a deviation t", xs=(0, 2), ys=(0, 1.1),
    )  # fmt: skip


@claim(
    items={
        "A1.4": ("Markov, two points", "three named laws"),
        "A1.5": ("Chebyshev, three points", "Chebyshev, two points"),
    },
    says=r"Markov's bound is attained by $X\in\{0,t\}$, Chebyshev's by $X\in\{-t,0,t\}$ and by a fair sign; "
    r"exponential, $\chi^2$ and Bernoulli tails obey Markov, the exponential one within a factor $e$.",
    symbols={r"X": "a variable", r"t": "the threshold, or the deviation"},
    why=r"Equality needs all mass at 0 and at $t$: then replacing values below $t$ by 0 and the others by $t$ changes "
    r"nothing. For Chebyshev the same holds of $(X-\mathbb EX)^2$. An exponential variable of mean $\mu$ has tail "
    r"$e^{-t/\mu}$, and $\frac t\mu e^{-t/\mu}$ is largest at $t=\mu$.",
    notice=r"The step of a Bernoulli variable touches Markov's curve at $t=1$. The exponential tail comes nearest at "
    r"its mean, within a factor $e$, and is soon far below: the mean alone cannot see that a tail is light.",
)
def markov_and_chebyshev_are_attained():
    t, q = (grid.ravel() for grid in np.meshgrid(np.geomspace(0.1, 50, 9), np.linspace(0.05, 1, 9)))
    grid = np.append(np.geomspace(0.05, 40, 200), 1.0)
    grid.sort()
    laws = (scipy.stats.expon(scale=2.0), scipy.stats.chi2(3), scipy.stats.bernoulli(0.3))
    tails = np.stack([law.sf(np.nextafter(grid, 0)) for law in laws])
    bounds = np.stack([markov_bound(law.mean(), grid) for law in laws])
    return {
        "Markov, two points": Identity(q, markov_bound(q * t, t)),  # P[X = t] = q
        "Chebyshev, three points": Identity(q, chebyshev_bound(q * t**2, t), aside={"t": t}),  # P[X = ±t] = q/2 each
        "Chebyshev, two points": Identity(np.ones(9), chebyshev_bound(t[:9] ** 2, t[:9])),
        "three named laws": Chain(
            {
                "every tail is below the bound": (tails, bounds),
                "the exponential tail comes within 1/e": (np.exp(-1) - 1e-4, np.max(tails[0] / bounds[0])),
            },
            aside={"threshold": grid},
        ),
    }


@markov_and_chebyshev_are_attained.control("Markov with the constant two", of="Markov, two points")
def markov_doubled(evidence):
    return replace(evidence, right=2 * evidence.right)


@markov_and_chebyshev_are_attained.control("Chebyshev with t in place of t²", of="Chebyshev, three points")
def chebyshev_first_power(evidence):
    return replace(evidence, right=evidence.right * evidence.aside["t"])


@markov_and_chebyshev_are_attained.control("E X/(t + E X), in the form of Cantelli's bound", of="three named laws")
def like_cantelli(evidence):
    tails, bounds = evidence.links["every tail is below the bound"]
    return replace(evidence, links={"below": (tails, bounds / (1 + bounds))})


@markov_and_chebyshev_are_attained.picture
def three_laws(pieces):
    """Exact tails of an exponential, a chi-square and a Bernoulli variable under Markov's bound."""
    piece = pieces["three named laws"]
    tails, bounds = piece.links["every tail is below the bound"]
    names = ("exponential, mean 2", "chi-square, mean 3", "Bernoulli, mean 0.3")
    return Row(
        [
            Curves(
                [Line("Markov", piece.aside["threshold"], bound), Line("exact", piece.aside["threshold"], tail)],
                x="threshold t", y="probability P[X ≥ t]", title=name, log="xy", ys=(1e-4, 2),
            )
            for name, tail, bound in zip(names, np.asarray(tails), np.asarray(bounds), strict=True)
        ]
    )  # fmt: skip
