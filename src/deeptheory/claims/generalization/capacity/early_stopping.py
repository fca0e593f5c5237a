"""Stopping early: the time of training as a penalty (handbook 10)."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.filters import gradient_descent_filter, ridge_filter
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Inequality, claim
from deeptheory.lab.pictures import Curves, Line


@claim(
    items={"H10.4": ("gap grows with the steps", "risk falls, then rises", "as good as the best ridge")},
    says=r"For gradient descent on noisy least squares with more features than samples the gap between risk and "
    r"training error grows with the steps, the risk falls and then rises, and the best stopping time does nearly as "
    r"well as the best ridge, near $\lambda=1/\eta T$.",
    needs="exact risks for the drawn features, averaged over signal and noise by hand",
    symbols={
        r"\lambda": "the penalty of ridge regression",
        r"\eta": "the step size",
        r"T": "the number of steps",
    },
    why=r"After $T$ steps gradient descent has learned a direction of singular value $s$ up to the factor $(1-\eta "
    r"s^2)^T$, ridge up to $\lambda/(s^2+\lambda)$: both leave out what lies below $s^2\approx1/\eta T$ or $\lambda$. "
    r"Strong directions are learned first and carry mostly signal; weak ones come last, and there the noise is "
    r"divided by a small number. Stopping keeps the first and leaves the last.",
    notice=r"The training error only falls. The risk falls with it, turns, and rises as the noise is fitted; ridge, "
    r"drawn at the time $1/\lambda$, has its valley at nearly the same place and depth.",
    explore={"noise": (0.2, 0.5, 1.0, 2.0)},
)
def early_stopping(key, *, noise: Annotated[float, Interval(ge=0, le=10)] = 1.0, clock: Literal["ηT", "(ηT)²"] = "ηT"):
    draw, n, p = generator(key), 40, 60
    singular = np.linalg.svd(draw.standard_normal((n, p)), compute_uv=False)
    rate = 0.02 / singular[0] ** 2  # small: the first step is then nearly the null predictor
    steps = np.unique(np.geomspace(1, 20_000, 60).astype(int))
    risks = np.array([_filtered_risks(singular, gradient_descent_filter(rate, int(t)), p, noise) for t in steps])
    penalties = 1 / (rate * np.geomspace(1, 20_000, 200))
    ridges = np.array([_filtered_risks(singular, ridge_filter(c), p, noise)[0] for c in penalties])
    elapsed = (rate * steps[int(np.argmin(risks[:, 0]))]) ** (1 if clock == "ηT" else 2)
    best, training = int(np.argmin(risks[:, 0])), risks[:, 1]
    gap = risks[:, 0] + noise**2 - training
    return {
        "gap grows with the steps": Inequality(
            gap[:-1],
            gap[1:],
            aside={
                "time": rate * steps,
                "risk": risks[:, 0],
                "training": training,
                "ridge time": 1 / penalties,
                "ridge": ridges,
            },
        ),
        "risk falls, then rises": Chain(
            {"falls": (risks[best, 0], 0.8 * risks[0, 0]), "rises": (1.2 * risks[best, 0], risks[-1, 0])}
        ),
        "as good as the best ridge": Chain(
            {
                "nearly as good": (risks[best, 0], 1.05 * ridges.min()),
                "never better": (ridges.min(), risks[best, 0]),
                "same place": (abs(np.log(penalties[int(np.argmin(ridges))] * elapsed)), np.log(3.0)),
            }
        ),
    }


def _filtered_risks(singular, spectral_filter, p, noise):
    """Excess risk and training error of an estimator that filters singular values, signal of unit norm, averaged."""
    weights, n = spectral_filter(singular), len(singular)
    missed = 1 - weights * singular
    bias = (np.sum(missed**2) + p - n) / p
    return bias + noise**2 * np.sum(weights**2), np.sum(missed**2 * (singular**2 / p + noise**2)) / n


early_stopping.control("without noise", of="risk falls, then rises", noise=0.0)


early_stopping.control("a penalty of 1/(ηT)²", of="as good as the best ridge", clock="(ηT)²")


@early_stopping.control("the risk too grows with every step", of="gap grows with the steps")
def risk_grows(evidence):
    risk = evidence.aside["risk"]
    return replace(evidence, quantity=risk[:-1], bound=risk[1:])


@early_stopping.picture
def valley(pieces):
    """Excess risk and training error of gradient descent along ηT, and the excess risk of ridge at 1/λ."""
    aside = pieces["gap grows with the steps"].aside
    return Curves(
        [
            Line("risk, gradient descent", aside["time"], aside["risk"]),
            Line("training error, gradient descent", aside["time"], aside["training"]),
            Line("risk, ridge", aside["ridge time"], aside["ridge"], dashed=True),
        ],
        x="time ηT, or 1/λ", y="error", log="x", ys=(0, 2 * float(np.max(aside["risk"][0]))),
    )  # fmt: skip
