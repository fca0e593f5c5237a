"""The linear scaling rule on quadratic losses: how far off it is, and where it breaks (arora 12.1, 12.3)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.weak_order import sgd_moments, three_losses
from deeptheory.lab import Identity, Inequality, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row

START = 2.0


def batch_moments(rate, batch, steps):
    """Mean and second moment after 0, 1, … steps on the three losses with batches drawn with replacement."""
    return sgd_moments(three_losses().amplified(batch**-0.5), rate, steps, degree=2, start=START)


@claim(
    items={
        "A12.20": (
            "mean along the run",
            "variance along the run",
            "difference along the rate",
            "difference along the factor",
            "bound on the difference of means",
        ),
        "A12.21": ("stationary variance", "growth beyond the edge"),
        "A12.1": ("descent against its flow", "noisy descent against its flow"),
    },
    says=r"Runs with $(B,\eta)$ and $(\kappa B,\kappa\eta)$ differ at equal times by at most $C(1+\kappa)\eta$ in "
    r"mean. On the three losses the second has stationary variance $\frac{6\eta/B}{1-\kappa\eta}$, which explodes at "
    r"$\kappa\eta=1$. Descent is within $O(\eta)$ of the flow, noisy descent within $O(\sqrt\eta)$.",
    needs="draws with replacement; times kη that both runs visit; the losses (x−3)², (x+3)², x²+9",
    symbols={
        r"B,\eta": "batch size and learning rate",
        r"\kappa": "the factor on both",
        "C": "a number that depends on the horizon and the test function",
    },
    why=r"Both runs follow one diffusion, since it sees only $\eta/B$; the one with larger steps does so with error "
    r"of order $\kappa\eta$. On a quadratic of curvature 2 a step multiplies deviations by $1-2\kappa\eta$ and adds "
    r"noise of variance $24\kappa^2\eta^2/\kappa B$; the balance is $6\eta/B$ over $1-\kappa\eta$. The diffusion has "
    r"no such denominator and does not see the edge.",
    notice=r"The variance hardly moves over a decade of batch sizes, then leaves for infinity at the edge, where the "
    r"iteration is unstable with or without noise; the diffusion does not see it. On the right descent lags behind its "
    r"flow by the rate, noisy descent by the root of it.",
    explore={"rate": (0.005, 0.01, 0.02)},
)
def linear_scaling_and_its_edge(
    *, rate: Annotated[float, Interval(ge=1e-3, le=0.02)] = 0.01, batch: Annotated[int, Interval(ge=1, le=64)] = 2
):
    horizon, factors = 1.0, np.array([1, 2, 4, 5, 10])
    steps = int(round(horizon / rate / 20) * 20)
    one = batch_moments(rate, batch, steps)[-1]
    many = np.array([batch_moments(rate * k, batch * k, steps // k)[-1] for k in factors])
    shrink = (1 - 2 * factors * rate) ** (steps / factors)
    variance = 6 * rate / batch / (1 - factors * rate) * (1 - shrink**2)
    small = rate / 2.0 ** np.arange(6)
    times = [int(round(horizon / each / 20) * 20) for each in small]
    apart = [
        abs(batch_moments(e, batch, n)[-1] - batch_moments(4 * e, 4 * batch, n // 4)[-1])
        for e, n in zip(small, times, strict=True)
    ]
    tiny = 1e-4  # at so small a rate the difference is linear in κ − 1 to a part in a thousand
    growth = np.array([2, 3, 5, 9])
    fine = batch_moments(tiny, batch, 7200)
    grown = [abs(batch_moments(tiny * k, batch * k, 7200 // k)[7200 // k, 1] - fine[7200 // k * k, 1]) for k in growth]

    edge = np.array([0.1, 0.5, 0.9, 0.99])  # κη
    late = [batch_moments(e, batch * e / rate, 4000)[-1, 2] for e in edge]
    unstable = np.array([1.02, 1.1])
    beyond = [np.log(batch_moments(e, batch, 200)[[100, 200], 2]) for e in unstable]
    curve = np.linspace(0.02, 0.97, 60)

    # A quadratic of several curvatures, noiseless and noisy, against its flow.
    etas = 0.1 / 2.0 ** np.arange(2, 8)
    curvatures = np.array([0.3, 0.7, 1.0, 1.6, 2.2])

    def lag(eta):
        k = np.round(np.arange(1, 101) / 100 / eta)
        reached = (1 - eta * curvatures) ** k[:, None]
        return np.linalg.norm(reached - np.exp(-k[:, None] * eta * curvatures), axis=1).max()

    noisy = []
    for eta in etas:
        moments = sgd_moments(three_losses(), eta, round(1 / eta), degree=2, start=START)
        path = START * np.exp(-2 * eta * np.arange(len(moments)))
        noisy.append(np.sqrt((moments[:, 2] - 2 * path * moments[:, 1] + path**2).max()))
    return {
        "mean along the run": Identity(many[:, 1], START * shrink, condition=1e3, along={"factor": factors}),
        "variance along the run": Identity(many[:, 2] - many[:, 1] ** 2, variance, scale=1.0, condition=1e3),
        "difference along the rate": Rate(small, np.array(apart)[:, 2], exponent=1.0, rivals=(0.5, 2.0)),
        "difference along the factor": Rate(
            growth - 1.0, np.array(grown), exponent=1.0, rivals=(0.5, 2.0), resolution=0.1
        ),
        "bound on the difference of means": Inequality(
            np.abs(many - one)[:, 1], 4 * np.exp(-2.0) * START * (1 + factors) * rate
        ),
        "stationary variance": Identity(
            np.array(late),
            6 * rate / batch / (1 - edge),
            condition=1e4,
            aside={"curve": curve, "level": 6 * rate / batch, "diffusion": np.full(4, 6 * rate / batch)},
        ),
        "growth beyond the edge": Identity(
            [(after - before) / 100 for before, after in beyond],
            2 * np.log(2 * unstable - 1),
            error=2e-2 * np.log(1.04),
            aside={"rates": unstable},
        ),
        "descent against its flow": Rate(etas, np.array([lag(eta) for eta in etas]), exponent=1.0, rivals=(0.5,)),
        "noisy descent against its flow": Rate(etas, np.array(noisy), exponent=0.5, rivals=(1.0,)),
    }


@linear_scaling_and_its_edge.control("the variance of the smaller batch, at every κ", of="variance along the run")
def same_variance(evidence):
    return replace(evidence, right=np.full(len(evidence.right), evidence.right[0]))


@linear_scaling_and_its_edge.control("the variance of the diffusion, at every κ", of="stationary variance")
def no_edge(evidence):
    return replace(evidence, right=evidence.aside["diffusion"])


@linear_scaling_and_its_edge.control("an edge at κη = 2, the curvature taken as one", of="growth beyond the edge")
def late_edge(evidence):
    return replace(evidence, right=2 * np.log(np.abs(1 - evidence.aside["rates"])))


@linear_scaling_and_its_edge.picture
def to_the_edge(pieces):
    """Stationary variance by κη, exact and seen (left); the lag of descent and of noisy descent behind flow (right)."""
    stationary = pieces["stationary variance"]
    descent, noisy = pieces["descent against its flow"], pieces["noisy descent against its flow"]
    curve, level = stationary.aside["curve"], float(stationary.aside["level"])
    left = [
        Line("predicted", curve, level / (1 - curve)),
        Dots("late in the run", [0.1, 0.5, 0.9], np.asarray(stationary.left)[:3]),
        Line("diffusion", curve, np.full(len(curve), level), dashed=True),
        Level("κη = 1", x=1.0),
    ]
    right = [Dots("descent", descent.x, descent.y), Dots("noisy descent", noisy.x, noisy.y)]
    right += [
        Line("∝ η", descent.x, descent.y[-1] * descent.x / descent.x[-1]),
        Line("∝ √η", noisy.x, noisy.y[-1] * (noisy.x / noisy.x[-1]) ** 0.5),
    ]
    return Row(
        [
            Curves(left, x="step κη, half of step times curvature", y="stationary variance", log="y", xs=(0.0, 1.05)),
            Curves(right, x="learning rate η", y="largest distance to the flow", log="xy"),
        ]
    )
