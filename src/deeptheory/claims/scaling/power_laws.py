"""Fitted scaling laws: whether their intervals cover, and whether small runs predict a larger one."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Interval
from scipy.stats import norm, t as student

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, Share, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen
from deeptheory.scaling.memorization import (
    fact_chances,
    memorization_law,
    memorization_loss,
    memorization_variance,
    memorize,
)
from deeptheory.scaling.power_laws import (
    ScalingLaw,
    exponent_interval,
    fit_scaling_law,
    loss_at,
    predicted_interval,
)

LEVEL = 0.95
ONE = ScalingLaw(np.array(1.69), np.array([40.0]), np.array([0.34]))
TWO = ScalingLaw(np.array(1.69), np.array([406.4, 410.7]), np.array([0.34, 0.28]))


def _covered(low: Any, high: Any, truth: Any, *, shrunk: float = 1.0) -> int:
    """How many intervals, shrunk about their middle, contain the truth."""
    return int((np.abs((low + high) / 2 - truth) < shrunk * (high - low) / 2).sum())


@claim(
    items={
        "A15.11": ("exponent of parameters", "exponent of data"),
        "H13.6": ("exponent of one law", "loss at ten times the size", "exponent without a floor"),
    },
    says=r"95 % intervals from a fit of $E+\sum_jA_jx_j^{-a_j}$ to log losses contain the exponents, and the "
    r"loss at ten times the largest size, in 95 % of experiments, with the quantile of Student's law for the points "
    r"left over. Without $E$ the exponent is too small.",
    needs="independent noise in proportion to the loss, small enough for the fit to be nearly linear in it",
    full=dict(trials=8000),
    symbols={
        "E": "the floor of the loss",
        "A_j": "coefficients",
        "x_j": "sizes: parameters, data",
        "a_j": "their exponents",
    },
    why="Close to the truth the fitted constants are linear in the noise, so that their covariance is that of linear "
    "least squares, and its unknown scale is estimated from few residuals: hence Student's law, which is much wider "
    "than the normal one for three points left over. A pure power law has to bend where the floor takes over and "
    "settles on an exponent in between, with a narrow interval in the wrong place.",
    notice="Nearly all of the intervals drawn contain the true exponent. Dashed, the pure power law fits the small "
    "sizes well and leaves the truth beyond them.",
)
def fitted_intervals_cover(
    key, *, trials: Trials = 3000, noise: Annotated[float, Interval(ge=0.0005, le=0.003)] = 0.002
):
    rng = generator(key)
    sizes = np.geomspace(1e3, 1e6, 6)
    losses = loss_at(ONE, sizes) * np.exp(noise * rng.standard_normal((trials, len(sizes))))
    few = min(trials, 300)
    fit, pure = fit_scaling_law(sizes, losses), fit_scaling_law(sizes, losses[:few], floor=False)
    one, ten = [end[..., 0] for end in exponent_interval(fit)], 10 * sizes[-1]
    ahead = predicted_interval(fit, ten)
    pairs = np.array([(n, d) for n in np.geomspace(1e7, 1e10, 4) for d in np.geomspace(1e9, 1e12, 4)])
    table = loss_at(TWO, *pairs.T) * np.exp(noise * rng.standard_normal((trials, len(pairs))))
    joint = fit_scaling_law(pairs, table)
    low, high = exponent_interval(joint)

    def share(interval: Any, truth: Any, freedom: float, **more: Any):
        normal = _covered(interval[0], interval[1], truth, shrunk=float(norm.ppf(0.975) / student.ppf(0.975, freedom)))
        short = _covered(
            interval[0], interval[1], truth, shrunk=float(student.ppf(0.95, freedom) / student.ppf(0.975, freedom))
        )
        return Share(
            _covered(interval[0], interval[1], truth),
            trials,
            LEVEL,
            aside={"normal": normal, "one-sided": short, **more},
        )

    some = {"low": one[0][:40], "high": one[1][:40], "sizes": sizes, "losses": losses[0]}
    return {
        "exponent of one law": share(one, ONE.exponents[0], fit.freedom, **some),
        "loss at ten times the size": share(
            ahead,
            loss_at(ONE, ten),
            fit.freedom,
            few=few,
            pure=_covered(*predicted_interval(pure, ten), loss_at(ONE, ten)),
        ),
        "exponent of parameters": share((low[:, 0], high[:, 0]), TWO.exponents[0], joint.freedom),
        "exponent of data": share((low[:, 1], high[:, 1]), TWO.exponents[1], joint.freedom),
        # By a tenth of itself at least.
        "exponent without a floor": Trend(
            0.9 * ONE.exponents[0] - pure.law.exponents[:, 0],
            aside={"with a floor": 0.9 * ONE.exponents[0] - fit.law.exponents[:, 0]},
        ),
    }


@fitted_intervals_cover.control("normal quantiles with three points left over", of="exponent of one law")
@fitted_intervals_cover.control("normal quantiles ahead", of="loss at ten times the size")
def normal_quantiles(evidence):
    return replace(evidence, count=evidence.aside["normal"])


@fitted_intervals_cover.control("a one-sided quantile on both sides of a", of="exponent of parameters")
@fitted_intervals_cover.control("a one-sided quantile on both sides of b", of="exponent of data")
def one_sided(evidence):
    return replace(evidence, count=evidence.aside["one-sided"])


@fitted_intervals_cover.control("a pure power law", of="loss at ten times the size")
def without_floor(evidence):
    return replace(evidence, count=evidence.aside["pure"], trials=evidence.aside["few"])


@fitted_intervals_cover.control("too small with a floor as well", of="exponent without a floor")
def with_a_floor(evidence):
    return replace(evidence, differences=evidence.aside["with a floor"])


@fitted_intervals_cover.picture
def intervals(pieces):
    """Intervals of the exponent from forty experiments (left); one experiment with and without a floor."""
    aside = pieces["exponent of one law"].aside
    low, high = aside["low"], aside["high"]
    left = [
        Dots("intervals", np.arange(len(low)), (low + high) / 2, (high - low) / 2),
        Line("true exponent", [-1, len(low)], [float(ONE.exponents[0])] * 2),
    ]
    sizes, losses = aside["sizes"], aside["losses"]
    x = np.geomspace(sizes[0], 1e3 * sizes[-1], 80)
    fit, pure = fit_scaling_law(sizes, losses), fit_scaling_law(sizes, losses, floor=False)
    low, high = predicted_interval(fit, x)
    right = [
        Line("fitted law", x, loss_at(fit.law, x), low=low, high=high),
        Line("", x, loss_at(pure.law, x), rival="a pure power law"),
        Dots("losses of runs", sizes, losses),
        Level("floor", y=float(ONE.floor)),
    ]
    return Row(
        [
            Curves(left, x="experiment", y="exponent"),
            Curves(right, x="size", y="loss", log="xy"),
        ]
    )


@claim(
    items={
        "H13.8": ("loss of a learner", "exponent of the data", "loss at four times the size"),
        "H13.6": "loss at four times the size",
    },
    says=r"A learner that knows what it has seen of facts with chances $\propto k^{-(1+\alpha)}$ misses a share like "
    r"$D^{-\alpha/(1+\alpha)}$. Fitted to runs with up to $S$ examples, the law contains this exponent and the loss of "
    r"runs with $4S$ in its intervals of level 95 % as often as it says.",
    needs="a number of facts so large that the rarest are unseen throughout; known errors of the losses",
    full=dict(trials=4000),
    symbols={
        "k": "the rank of a fact",
        r"\alpha": "how fast their chances fall",
        "D": "the average number of examples",
        "S": "the largest number of examples in the fit",
    },
    why="A fact is missed if it was never drawn, with chance $e^{-Dp_k}$. So after $D$ examples those of chance below "
    r"about $1/D$ are unknown, from rank $D^{1/(1+\alpha)}$ on, and together they have chance "
    r"$D^{-\alpha/(1+\alpha)}$. The loss is an exact sum, so that what small runs predict can be held against the "
    "truth, and not only against another run.",
    notice="The dots are means of runs; the six sizes up to the line were fitted with a floor, the bar is the "
    "interval of one prediction, and the dot beyond the line was not used. Choose another $\\alpha$ to see the "
    "exponent change.",
    explore={"alpha": (0.75, 1.0, 1.25, 1.5)},
)
def small_runs_predict_a_larger_one(
    key, *, trials: Trials = 3000, alpha: Annotated[float, Interval(ge=0.75, le=1.5)] = 1.25
):
    facts, floor, learners, few = 400, 1.0, 1000, min(trials, 300)
    chances = fact_chances(alpha, facts)
    samples = 16.0 * 2.0 ** np.arange(6)
    largest = 4 * samples[-1]
    parts = jax.random.split(key, len(samples) + 1)
    missed = np.stack(
        [
            memorize(part, chances, facts, float(size), runs=trials, learners=learners)
            for part, size in zip(parts, [*samples, largest], strict=True)
        ]
    )
    truth = np.asarray(memorization_loss(chances, facts, np.append(samples, largest)))
    errors = np.sqrt(memorization_variance(chances, facts, samples) / learners)
    losses, known = floor + missed[:-1].T, np.broadcast_to(errors, (trials, len(samples)))
    fit, pure = (
        fit_scaling_law(samples, losses, errors=known),
        fit_scaling_law(samples, losses[:few], errors=known[:few], floor=False),
    )
    low, high = map(np.asarray, predicted_interval(fit, largest))
    law = memorization_law(alpha)
    first, last = [end[..., 0] for end in exponent_interval(fit)]
    target = floor + truth[-1]
    return {
        "loss of a learner": Law(
            truth, missed, along={"examples": np.append(samples, largest)}, exact=True,
            aside={"one less": memorization_loss(chances, facts, np.append(samples, largest) - 1)},
        ),
        "exponent of the data": Share(
            _covered(first, last, law.exponents[1]), trials, LEVEL,
            aside={"capacity": _covered(first, last, law.exponents[0])},
        ),
        "loss at four times the size": Share(
            _covered(low, high, target), trials, LEVEL,
            aside={
                "pure": _covered(*predicted_interval(pure, largest), target), "few": few,
                "double": _covered(low, high, floor + memorization_loss(chances, facts, largest / 2)),
                "floor": fit.law.floor[0], "coefficient": fit.law.coefficients[0, 0],
                "exponent": fit.law.exponents[0, 0],
                "low": low[0], "high": high[0], "runs": missed[:, 0],
            },
        ),
    }  # fmt: skip


@small_runs_predict_a_larger_one.control("one example less", of="loss of a learner")
def one_example_less(evidence):
    return replace(evidence, predicted=evidence.aside["one less"])


@small_runs_predict_a_larger_one.control("exponent α, that of the capacity", of="exponent of the data")
def of_capacity(evidence):
    return replace(evidence, count=evidence.aside["capacity"])


@small_runs_predict_a_larger_one.control("a pure power law without a floor", of="loss at four times the size")
def no_floor(evidence):
    return replace(evidence, count=evidence.aside["pure"], trials=evidence.aside["few"])


@small_runs_predict_a_larger_one.control("the loss at twice the size", of="loss at four times the size")
def at_twice(evidence):
    return replace(evidence, count=evidence.aside["double"])


@small_runs_predict_a_larger_one.picture
def predicted_and_run(pieces, settings):
    """Loss above the floor against examples: runs, the exact law, and what the first runs predict for the last size."""
    seen_at = pieces["loss of a learner"]
    x, sizes = np.geomspace(12, 3000, 60), np.asarray(seen_at.along["examples"])
    aside = pieces["loss at four times the size"].aside
    chances = fact_chances(settings["alpha"], 400)
    fitted = aside["floor"] - 1 + aside["coefficient"] * x ** -aside["exponent"]
    middle, half = (aside["low"] + aside["high"]) / 2 - 1, (aside["high"] - aside["low"]) / 2
    return Curves(
        [
            Line("exact law", x, memorization_loss(chances, 400, x)),
            Line("fitted to the smaller runs", x, fitted, dashed=True),
            seen("means of all runs", sizes, seen_at.observed),
            Dots("interval of one prediction", [sizes[-1]], [middle], [half]),
            Level("largest size fitted", x=float(sizes[-2])),
        ],
        x="examples D", y="loss above the floor", log="xy",
    )  # fmt: skip
