"""Stopping early: the time of training as a penalty (handbook 10)."""

from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.filters import gradient_descent_filter, ridge_filter
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Inequality, claim
from deeptheory.lab.pictures import Curves, Line

STEPS = np.unique(np.geomspace(1, 1_000_000, 800).astype(int))


class Problem(NamedTuple):
    """Singular values of a design with p features, and the noise on labels whose signal has variance one."""

    singular: np.ndarray
    features: int
    noise: float

    @property
    def rate(self):
        """Small: the first step is then nearly the null predictor."""
        return 0.002 / self.singular[0] ** 2

    @property
    def penalty(self):
        """The best one for ridge, in all directions."""
        return self.features * self.noise**2

    def filtered(self, spectral_filter):
        """Excess risk and training error of a filter of singular values, on average over signal and noise."""
        weights, p = spectral_filter(self.singular), self.features
        missed, variance = 1 - weights * self.singular, self.noise**2
        bias = (np.sum(missed**2) + p - len(missed)) / p
        return bias + variance * np.sum(weights**2), np.mean(missed**2 * (self.singular**2 / p + variance))

    def own_steps(self):
        """After how many steps gradient descent has learnt each direction as far as the best ridge does."""
        with np.errstate(divide="ignore"):
            return -np.log1p(self.singular**2 / self.penalty) / np.log1p(-self.rate * self.singular**2)


@claim(
    items={"H10.4": ("gap grows with the steps", "risk falls, then rises", "as good as the best ridge")},
    says=r"For gradient descent on least squares with more features than samples and no less noise than signal the gap "
    r"between risk and training error grows with the steps; the risk falls, then rises, and is at best nearly as good "
    r"as the best ridge, near $\lambda=1/\eta T$.",
    needs="isotropic features and signal; noise of once to twice the setting; exact risks for the drawn features, "
    "averaged over signal and noise by hand",
    symbols={
        r"\lambda": r"the penalty of ridge regression, at best $p\sigma^2$",
        r"\eta": "the step size",
        r"T": "the number of steps",
        r"p,\ \sigma^2": "the number of features and the variance of the noise; that of the signal is one",
    },
    why=r"After $T$ steps gradient descent has learned a direction of singular value $s$ up to the factor $(1-\eta "
    r"s^2)^T$, ridge up to $\lambda/(s^2+\lambda)$, which at $\lambda=p\sigma^2$ is best for each. The two agree at "
    r"$\eta T=\ln(1+s^2/\lambda)/s^2$, a little before $1/\lambda$ and first for strong directions: until the first of "
    r"these times every direction gains by a step, after the last every one loses. With less noise than signal "
    r"directions learned late may lower the risk by more than the training error.",
    notice=r"The training error only falls. The risk falls with it, turns, and rises as the noise is fitted; ridge, "
    r"drawn at the time $1/\lambda$, has its valley at nearly the same place and depth.",
    explore={"noise": (1.0, 1.4, 2.0, 3.0)},
)
def early_stopping(key, *, noise: Annotated[float, Interval(ge=0, le=4)] = 1.0):
    draw, problems, ratios = generator(key), [], np.linspace(1.2, 4, 6)
    for n, ratio, louder in zip(draw.integers(15, 80, 6), ratios, draw.uniform(1, 2, 6), strict=True):
        design = draw.standard_normal((n, round(n * ratio)))
        problems.append(Problem(np.linalg.svd(design, compute_uv=False), design.shape[1], noise * louder))
    curves = np.array([[each.filtered(gradient_descent_filter(each.rate, int(t))) for t in STEPS] for each in problems])
    risks, training = curves[..., 0], curves[..., 1]
    gaps = risks + np.array([[each.noise**2] for each in problems]) - training
    own, rates = [each.own_steps() for each in problems], np.array([each.rate for each in problems])
    first, last = (np.array([end(each) for each in own])[:, None] for end in (np.min, np.max))
    until, after = STEPS[1:] <= first, STEPS[:-1] >= last
    best, rows = risks.argmin(1), np.arange(len(problems))
    # ηTλ at the neighbours of the best step, and where the first and the last of all directions would have it.
    paces = rates * [each.penalty for each in problems]
    clock = paces[:, None] * STEPS
    before, beyond = clock[rows, best - 1], clock[rows, np.minimum(best + 1, len(STEPS) - 1)]
    with np.errstate(invalid="ignore"):  # without noise the last time is never
        earliest, latest = paces * first[:, 0], paces * last[:, 0]
    ridge = np.array([each.filtered(ridge_filter(each.penalty))[0] for each in problems])
    beside = np.array([[each.filtered(ridge_filter(1 / (each.rate * t)))[0] for t in STEPS] for each in problems])
    rises = (risks[:, :-1][after], 1.001 * risks.min(1)), (risks[:, 1:][after], risks[:, -1])  # by a thousandth in all
    return {
        "gap grows with the steps": Inequality(
            gaps[:, :-1],
            gaps[:, 1:],
            along={"features per sample": ratios, "step": STEPS[1:]},
            aside={"time": rates[1] * STEPS, "risk": risks, "training": training[1], "ridge": beside[1]},
        ),
        "risk falls, then rises": Chain(
            {
                "falls": (risks[:, 1:][until], risks[:, :-1][until]),
                "rises": (np.concatenate(rises[0]), np.concatenate(rises[1])),
            },
            aside={"risks": risks, "clock": clock},
        ),
        # For any design the two constants are 1.22 and 1.69 (Ali, Kolter and Tibshirani 2019).
        "as good as the best ridge": Chain(
            {
                "never better": (ridge, risks.min(1)),
                "nearly as good": (risks.min(1), 1.05 * ridge),
                "nearly as good at every time": (risks, 1.69 * beside),
                "no earlier": (earliest, beyond),
                "no later": (before, latest),
            }
        ),
    }


early_stopping.control("without noise", of="risk falls, then rises", noise=0.0)


early_stopping.control("noise of a tenth to a fifth of the signal", of="gap grows with the steps", noise=0.1)


@early_stopping.control("the risk falls until 1/ηλ, for which 1/ηT = λ", of="risk falls, then rises")
def falls_until_the_clock(evidence):
    risks, until = evidence.aside["risks"], np.asarray(evidence.aside["clock"])[:, 1:] <= 1
    return replace(evidence, links={"falls": (risks[:, 1:][until], risks[:, :-1][until])})


@early_stopping.control("λ = 1/2ηT, as for steps along the gradient of ‖y − Xw‖²", of="as good as the best ridge")
def twice_the_gradient(evidence):
    before, latest = evidence.links["no later"]
    return replace(evidence, links={"no later": (2 * np.asarray(before), latest)})


@early_stopping.control("the risk too grows with every step", of="gap grows with the steps")
def risk_grows(evidence):
    risks = evidence.aside["risk"]
    return replace(evidence, quantity=risks[:, :-1], bound=risks[:, 1:])


@early_stopping.picture
def valley(pieces):
    """Excess risk and training error of gradient descent along ηT, and the excess risk of ridge at 1/λ."""
    aside = pieces["gap grows with the steps"].aside
    time, risk = aside["time"], np.asarray(aside["risk"])[1]
    return Curves(
        [
            Line("risk, gradient descent", time, risk),
            Line("training error, gradient descent", time, aside["training"]),
            Line("risk, ridge", time, aside["ridge"], dashed=True),
        ],
        x="time ηT, or 1/λ", y="error", log="x", ys=(0, 2 * float(risk[0])),
        xs=(float(time[0]), 300 * float(time[np.argmin(risk)])),
    )  # fmt: skip
