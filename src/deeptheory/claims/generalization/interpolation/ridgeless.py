"""Least squares below and above the interpolation threshold: double descent."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.claims.generalization.interpolation.bias_and_variance import unit_noise
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridgeless import (
    conditional_bias_variance,
    gaussian_bias_variance,
    gaussian_prediction_risk,
    limiting_bias_variance,
    overparameterized_minimum,
)
from deeptheory.lab import Identity, Law, Positive, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, seen
from deeptheory.spectra.entries import draw_entries

SHAPES = ((40, 10), (40, 30), (30, 40), (10, 40))
"""Samples × features of the designs on which the conditional risk is checked, on both sides of the threshold."""
OTHERS = ((1.6, "rademacher"), (0.5, "uniform"))
"""Ratios and laws of features at which the double-descent curve is checked beside the Gaussian ones."""
SHOWN = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 1.12, 1.25, 1.5, 2.0, 2.6, 3.5, 5.0)
"""Ratios at which the risk of the largest designs is kept, to be shown along the curve."""
SIGNAL = 2.25  # r² of the double-descent curve
SAMPLES, COORDINATES, NOISE = 40, 200, 0.09
"""The setting of the misspecified model: β has 200 coordinates of equal size and norm one."""


@claim(
    items={"J7.3": ("bias", "variance", "risk")},
    says=r"Given the design, minimum-norm least squares has squared bias $\beta^\top\Pi\beta$, with $\Pi$ the "
    r"projection on the kernel of $X$, and variance $\frac{\sigma^2}n\operatorname{tr}\hat\Sigma^+$; they add up to "
    r"the mean of $\|\hat\beta-\beta\|^2$ over the noise.",
    needs="noise of mean zero and covariance σ²I, independent of the design; isotropic test inputs",
    symbols={
        r"\beta,\hat\beta": "the true coefficients and the shortest that fit the labels best",
        r"\Pi": "the projection on what the design does not see",
        r"X": "the design, one row a sample",
        r"\sigma^2": "the variance of the noise, which the slider moves",
        r"n": "the number of samples",
        r"\hat\Sigma^+": r"the pseudo-inverse of the sample covariance $X^\top X/n$",
    },
    why=r"The shortest solution is $X^+y=(I-\Pi)\beta+X^+\epsilon$: it keeps of $\beta$ what the rows of $X$ span, and "
    r"adds the noise divided by the singular values. The two have mean product zero, and the mean square of "
    r"$X^+\epsilon$ is $\sigma^2$ times the sum of the inverse squared singular values.",
    notice=r"Every design is three dots, on the line: means over noise vectors that have exactly the right mean and "
    r"covariance. Designs with more samples than features have no bias, and none is shown.",
    explore={"noise": (0.05, 0.25, 1.0)},
)
def conditional_risk(key, *, noise: Positive = 0.25, designs: Annotated[int, Interval(ge=1, le=1000)] = 8):
    draw = generator(key)
    observed, predicted, condition = np.empty((3, 4, designs)), np.empty((3, 4, designs)), np.empty((4, designs))
    squares = draw.uniform(0.3, 3.0, (4, designs))  # r² = ‖β‖²
    for i, j in np.ndindex(4, designs):
        samples, features = SHAPES[i]
        beta = draw.standard_normal(features)
        beta *= squares[i, j] ** 0.5 / np.linalg.norm(beta)
        design = draw.standard_normal((samples, features))
        labels = design @ beta + noise**0.5 * unit_noise(samples)
        estimates = np.linalg.lstsq(design, labels.T)[0].T
        centre = estimates.mean(0)
        observed[0, i, j] = ((centre - beta) ** 2).sum()
        observed[1, i, j] = ((estimates - centre) ** 2).sum(1).mean()
        observed[2, i, j] = ((estimates - beta) ** 2).sum(1).mean()
        found = conditional_bias_variance(design, beta, noise)
        predicted[:, i, j] = found.bias, found.variance, found.risk
        condition[i, j] = np.linalg.cond(design) ** 2
    along = {"design": np.asarray([f"{samples}×{features}" for samples, features in SHAPES])}
    shared = dict(scale=observed[2], condition=condition, size=40.0, along=along, aside={"squares": squares})
    names = ("bias", "variance", "risk")
    return {name: Identity(observed[part], predicted[part], **shared) for part, name in enumerate(names)}


@conditional_risk.control("the bias averaged over directions, r²(1 − n/p), for the one direction at hand", of="bias")
def averaged_bias(evidence):
    mean = np.asarray([max(0.0, 1 - samples / features) for samples, features in SHAPES])
    return replace(evidence, right=mean[:, None] * evidence.aside["squares"])


@conditional_risk.control("σ²/p for σ²/n", of="variance")
def over_features(evidence):
    ratio = np.asarray([samples / features for samples, features in SHAPES])
    return replace(evidence, right=ratio[:, None] * evidence.right)


@conditional_risk.picture
def parts_of_the_error(pieces):
    """Squared bias, variance and risk of each design: the mean over noise against the formula."""
    marks: list[Any] = []
    for name, piece in pieces.items():
        left, right = np.ravel(piece.left), np.ravel(piece.right)
        marks.append(Dots(name, right[right > 1e-9], left[right > 1e-9]))
    risks = np.ravel(pieces["risk"].right)
    ends = np.array([np.min(np.ravel(pieces["variance"].right)), np.max(risks)])
    return Curves(
        [Line("equal", ends, ends), *marks], x="value by the formula", y="value by the mean over the noise", log="xy"
    )


@claim(
    items={
        "J7.4": (
            "variance",
            "bias",
            "no bias below the threshold",
            "risk with other features",
            "least risk beyond the threshold",
        ),
        "J5.11": ("variance", "bias", "no bias below the threshold"),
    },
    says=r"As $p/n\to\gamma$, ridgeless least squares on isotropic features has bias 0 and variance "
    r"$\sigma^2\gamma/(1-\gamma)$ for $\gamma<1$, bias $r^2(1-1/\gamma)$ and variance $\sigma^2/(\gamma-1)$ for "
    r"$\gamma>1$; for $r>\sigma$ the risk beyond the threshold is least at $\gamma=r/(r-\sigma)$.",
    needs="independent features of mean zero, variance one and slightly more than four moments; γ away from one",
    full=dict(sizes=(80, 120, 200), gammas=(0.2, 0.5, 0.8, 1.25, 2.0, 4.0), trials=256),
    symbols={
        r"n": "the number of samples",
        r"p": "the number of features, all of which are fitted",
        r"\gamma": "features per sample, $p/n$",
        r"\text{ridgeless}": "the shortest of the coefficient vectors that fit the labels best",
        r"\text{risk}": r"bias plus variance: the mean squared distance of that vector from the true one, $\beta$",
        r"r": r"the length of $\beta$; 1.5 here",
        r"\sigma^2": "the variance of the noise on the labels",
    },
    why=r"The variance is $\sigma^2/n$ times the sum of $1/\lambda$ over the nonzero eigenvalues $\lambda$ of the "
    r"sample covariance. Near $p=n$ the smallest of them goes to zero, so the variance explodes; on either side the "
    r"Marchenko–Pastur law gives its value in closed form. With fewer features than samples everything can be learned "
    r"and there is no bias; with more, only the projection of $\beta$ onto the span of the $n$ samples can be "
    r"seen, and the share $1-n/p$ of its squared length is lost.",
    notice=r"The risk peaks at $\gamma=1$ and falls again beyond it: with $r>\sigma$ there is a second valley at "
    r"$\gamma=r/(r-\sigma)$, where the single dot stands. The observed risks, means over designs of the largest size, "
    r"follow the curve on both sides although it is a limit; their error bars grow towards the threshold. The printed "
    r"variance is negative below it, which none can be.",
    explore={"noise": (0.05, 0.1, 0.25, 0.5, 1.0)},
)
def double_descent(
    key,
    *,
    sizes: Sizes = (30, 60, 120),
    gammas: Annotated[tuple[float, ...], Interval(ge=0.05, le=20.0)] = (0.2, 0.5, 1.6, 3.0),
    trials: Trials = 128,
    noise: Positive = 0.25,
    design: Literal["isotropic", "correlated"] = "isotropic",
):
    assume(
        all(n * abs(1 - gamma) >= 15 for n in sizes for gamma in gammas),
        "n |1 − γ| of at least 15: nearer the threshold the risk has tails too heavy for a mean",
    )
    assume(min(gammas) < 1 < max(gammas), "ratios on both sides of the threshold")
    cases = [*((gamma, "gaussian") for gamma in gammas), *OTHERS]
    limits = [limiting_bias_variance(gamma, signal=SIGNAL, noise=noise) for gamma, _ in cases]

    def designs(branch, count, samples, features, entries):
        x = draw_entries(branch, (count, samples, features), entries)
        if design == "correlated":  # neighbours share half of their variance, and each keeps variance one
            x = (x + np.roll(x, 1, axis=2)) / 2**0.5
        # The law is for every β: the mean over many directions a design has little of the bias's fluctuation left.
        beta = generator(jax.random.fold_in(branch, 1)).standard_normal((48, features))
        beta *= SIGNAL**0.5 / np.linalg.norm(beta, axis=-1, keepdims=True)
        found = conditional_bias_variance(x, beta, noise)
        return x, found._replace(bias=np.mean(found.bias, axis=1))

    bias, variance = np.empty((2, len(sizes), len(cases), trials))
    for i, j in np.ndindex(len(sizes), len(cases)):
        samples, (gamma, entries) = sizes[i], cases[j]
        branch = jax.random.fold_in(key, len(cases) * i + j)
        x, found = designs(branch, trials, samples, round(gamma * samples), entries)
        bias[i, j] = found.bias
        # The mean square of the design is one on average: its fluctuation is taken off, to first order.
        variance[i, j] = found.variance + float(limits[j].variance) * ((x**2).mean((1, 2)) - 1)
    counts = [round(gamma * sizes[-1]) for gamma in SHOWN]
    risks = [
        designs(jax.random.fold_in(key, 1000 + j), max(trials // 8, 2), sizes[-1], features, "gaussian")[1].risk
        for j, features in enumerate(counts)
    ]
    ratios = np.asarray(gammas)
    below, above = np.flatnonzero(ratios < 1), np.flatnonzero(ratios > 1)
    predicted = np.asarray(limits)
    grid, places = np.linspace(1.1, 20, 189_001), ((1.0, 0.25), (2.25, 0.25), (0.5, 0.2))  # r², σ²
    curves = [np.asarray(limiting_bias_variance(grid, signal=square, noise=level).risk) for square, level in places]
    count = len(gammas)
    return {
        "variance": Law(
            predicted[:count, 1],
            variance[:, :count],
            along={"gamma": ratios},
            sizes=sizes,
            order=1.0,
            aside={"ratios": np.asarray(counts) / sizes[-1], "risks": np.asarray(risks)},
        ),
        "bias": Law(predicted[above, 0], bias[:, above], along={"gamma": ratios[above]}, sizes=sizes, order=1.0),
        "no bias below the threshold": Identity(
            bias[:, below],
            0.0,
            scale=SIGNAL,
            condition=100.0,
            along={"size": np.asarray(sizes), "gamma": ratios[below]},
        ),
        "risk with other features": Law(
            predicted[count:].sum(1),
            (bias + variance)[:, count:],
            along={"features": np.asarray([entries for _, entries in OTHERS])},
            sizes=sizes,
            order=1.0,
        ),
        # The grid's step, 1e-4, is left in the place of the minimum and its square in the value.
        "least risk beyond the threshold": Identity(
            np.asarray([[grid[np.argmin(curve)], np.min(curve)] for curve in curves]),
            np.asarray([overparameterized_minimum(signal=square, noise=level) for square, level in places]),
            error=np.asarray([1e-4, 1e-8]),
            along={"signal and noise": np.asarray(places)[:, 0], "of": np.asarray(["place", "value"])},
            aside={"squares": np.asarray([[square / (square - level)] for square, level in places])},
        ),
    }


@double_descent.control("variance γ/(γ−1) below the threshold", of="variance")
def printed_variance(evidence):
    return replace(evidence, predicted=np.sign(evidence.along["gamma"] - 1) * evidence.predicted)


@double_descent.control("r(1 − 1/γ) for the bias", of="bias")
def root_of_the_signal(evidence):
    return replace(evidence, predicted=evidence.predicted / SIGNAL**0.5)


@double_descent.control("the least risk at r²/(r² − σ²)", of="least risk beyond the threshold")
def squares_for_lengths(evidence):
    right = np.array(evidence.right)
    right[:, :1] = evidence.aside["squares"]
    return replace(evidence, right=right)


@double_descent.control("bias r²(1 − 1/γ) also below the threshold", of="no bias below the threshold")
def bias_everywhere(evidence):
    return replace(evidence, right=SIGNAL * (1 - 1 / evidence.along["gamma"])[:, None])


double_descent.control(
    "correlated features", of="variance", design="correlated", sizes=(30, 60), gammas=(0.2, 3.0), trials=32
)


@double_descent.picture
def descent_curve(pieces, settings):
    """Bias, variance and excess risk along γ: limits as curves, means of the largest designs with 2 standard errors."""
    grid = np.concatenate([1 - np.geomspace(0.9, 0.02, 80), [1.0], 1 + np.geomspace(0.02, 5, 80)])
    limit = limiting_bias_variance(np.where(grid == 1, 2.0, grid), signal=SIGNAL, noise=settings["noise"])
    parts = {part: np.where(grid == 1, np.nan, getattr(limit, part)) for part in ("bias", "variance", "risk")}
    marks: list[Any] = [Line(part, grid, values) for part, values in parts.items()]
    marks += [seen(part, pieces[part].along["gamma"], pieces[part].observed[-1]) for part in ("bias", "variance")]
    dense = pieces["variance"].aside
    marks.append(seen("risk", dense["ratios"], dense["risks"]))
    below = grid[grid < 1]
    printed = settings["noise"] * below / (below - 1)
    marks += [Line("variance γ/(γ − 1)", below, printed, rival="a misprint below γ = 1"), Level("γ = 1", x=1.0)]
    place, least = overparameterized_minimum(signal=SIGNAL, noise=settings["noise"])
    marks += [Dots("least risk beyond γ = 1", [place], [least])] if place < grid[-1] else []
    return Curves(marks, x="features per sample γ = p/n", y="excess risk", log="x", ys=(-2, 5))


@claim(
    items={"H13.2": ("risk far from the threshold", "risk near the threshold")},
    says=r"Minimum-norm least squares on the first $p$ of $D$ Gaussian coordinates has expected squared error "
    r"$(\|\beta_{out}\|^2+\sigma^2)(1+\frac p{n-p-1})$ for $p\le n-2$ and $\|\beta_{in}\|^2(1-\frac np)+"
    r"(\|\beta_{out}\|^2+\sigma^2)(1+\frac n{p-n-1})$ for $p\ge n+2$, at every finite $n$.",
    needs=r"independent standard normal coordinates; $|p-n|\ge2$, or the mean is infinite",
    full=dict(trials=4000),
    symbols={
        r"p,\ D": "the number of coordinates that are used, of $D=200$",
        r"n": "the number of samples, 40 here",
        r"\beta_{in},\ \beta_{out}": "the coefficients of the coordinates that are used, and of the others",
        r"\sigma^2": "the variance of the noise, 0.09 here",
    },
    why=r"Unused coordinates are independent of those that are used, so their part of the labels is noise like any "
    r"other. What fitting costs is then the trace of an inverse Wishart matrix, which is known for every $n$: "
    r"$p/(n-p-1)$, or $n/(p-n-1)$ on the other side. Beyond $n$ the share $1-n/p$ of the signal is not seen.",
    notice=r"With the signal spread evenly, each coordinate up to $p=n$ costs more variance than it explains, and the "
    r"risk rises from the start to the peak. Beyond it falls, in the end below where it began. The dots are means over "
    r"designs; the formula is exact for every $n$, not a limit. Few designs leave wide intervals: the verdict is then "
    "inconclusive, not refuted.",
    explore={"trials": (16, 64, 500)},
)
def misspecified_double_descent(
    key,
    *,
    features: Annotated[tuple[int, ...], Interval(ge=1, le=200)] = (5, 10, 20, 60, 100, 200),
    near: Annotated[tuple[int, ...], Interval(ge=1, le=200)] = (30, 50),
    trials: Trials = 500,
):
    assume(all(abs(p - SAMPLES) > 8 for p in features + near), "|p − n| above 8, where the risk has four moments")
    draw = generator(key)
    x = draw.standard_normal((trials, SAMPLES, COORDINATES))
    # Many β a design, all with the same share of signal inside, take most of the labels' own fluctuation out.
    beta = draw.choice([-1.0, 1.0], (COORDINATES, 32)) / COORDINATES**0.5
    signal = x @ beta
    risks, exact = np.empty((len(features + near), trials)), np.empty(len(features + near))
    for i, p in enumerate(features + near):
        inverse = np.linalg.pinv(x[..., :p])
        share = p / COORDINATES
        # The label noise is integrated out; the unused coordinates stay what they are, part of the labels.
        misses = ((inverse @ signal - beta[:p]) ** 2).sum(1).mean(1)
        risks[i] = misses + NOISE * (inverse**2).sum((1, 2)) + 1 - share + NOISE
        exact[i] = gaussian_prediction_risk(SAMPLES, p, inside=share, outside=1 - share, noise=NOISE)
    far = len(features)
    return {
        "risk far from the threshold": Law(
            exact[:far], risks[:far], along={"features": np.asarray(features)}, exact=True
        ),
        # Ten features from the threshold the risk is heavy-tailed: a tenth is what a quick run can resolve.
        "risk near the threshold": Law(
            exact[far:], risks[far:], along={"features": np.asarray(near)}, exact=True, resolution=0.1
        ),
    }


@misspecified_double_descent.control("n − p for n − p − 1", of="risk far from the threshold")
def no_one_taken_off(evidence):
    p = np.asarray(evidence.along["features"], float)
    share, less = p / COORDINATES, np.minimum(p, SAMPLES)
    lost = share * np.where(p > SAMPLES, 1 - SAMPLES / p, 0.0)
    return replace(evidence, predicted=lost + (1 - share + NOISE) * (1 + less / np.abs(SAMPLES - p)))


@misspecified_double_descent.picture
def descent_with_more_coordinates(pieces):
    """Prediction error against the number of coordinates used: the exact formula and the means of designs."""
    marks: list[Any] = [Level("p = n", x=float(SAMPLES))]
    for counts in (np.arange(1, SAMPLES - 1), np.arange(SAMPLES + 2, COORDINATES + 1)):
        shares = counts / COORDINATES
        exact = [
            gaussian_prediction_risk(SAMPLES, int(p), inside=share, outside=1 - share, noise=NOISE)
            for p, share in zip(counts, shares, strict=True)
        ]
        marks.append(Line("exact", counts, np.asarray(exact, float)))
        there = replace(pieces["risk far from the threshold"], along={"features": counts})
        for says, control in (("n − p for n − p − 1", no_one_taken_off), ("unused only missed", missed_only)):
            marks.append(Line("", counts, control(there).predicted, rival=says))
    marks += [seen("observed", pieces[name].along["features"], pieces[name].observed) for name in pieces]
    return Curves(marks, x="coordinates used p", y="squared error on fresh labels", ys=(0, 8))


@misspecified_double_descent.control(
    "unused coordinates only missed, not fitted as noise", of="risk far from the threshold"
)
def missed_only(evidence):
    rival = [
        1 - p / COORDINATES + NOISE + gaussian_bias_variance(SAMPLES, int(p), signal=p / COORDINATES, noise=NOISE).risk
        for p in evidence.along["features"]
    ]
    return replace(evidence, predicted=np.asarray(rival))
