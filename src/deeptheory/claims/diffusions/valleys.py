"""The shape of gradient noise decides where along a valley of minima training ends (arora 12.1, footnote 4)."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.valleys import (
    Factors,
    fair_changes,
    gaussian_label_noise,
    isotropic_mean_square_sharpness,
    isotropic_noise,
    label_noise,
    label_noise_imbalance,
    on_the_valley,
    product_descent,
    valley_drift,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, Limit, Trials, claim
from deeptheory.lab.pictures import Dots, Line, Plane

STEPS = np.array([49, 100, 289])
LABELS = (label_noise, gaussian_label_noise)
SIGNS = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])


@claim(
    items={
        "A12.6": (
            "imbalance after one step",
            "drift along the valley",
            "imbalance under label noise",
            "mean imbalance under isotropic noise",
            "squared sharpness under isotropic noise",
        )
    },
    says=r"On the valley $uv=y$ of $\frac12(uv-y)^2$ noise of labels with variance $\sigma^2$, and isotropic noise of "
    r"the same trace, drift alike: $x=\ln(u/v)$ by $-\sigma^2\tanh x$ in time $t=\eta^2k$. But the first goes to the "
    r"flattest point, $D=D_0e^{-\sigma^2t}$, while the second grows sharper: $\mathbb E\,S^2=S_0^2e^{2\sigma^2t}$.",
    needs="small steps: ηS well below 2",
    symbols={
        "u,v,y": "two factors, and the number that their product is fitted to",
        r"\sigma^2": "the variance of the labels' noise",
        "x": "the place along the valley; at zero it is flattest",
        r"t=\eta^2k": "the clock of noise: $k$ steps of size $\\eta$",
        "D": "the imbalance $u^2-v^2=2y\\sinh x$, at the start $D_0$",
        "S": "the sharpness $u^2+v^2=2y\\cosh x$, at the start $S_0$",
    },
    why=r"The gradient of an example is its residual times $(v,u)$, and so is the noise that labels bring: it points "
    r"across the valley, and one step turns $D$ into exactly $D(1-\eta^2g^2)$. Isotropic noise leaves the mean of $D$ "
    r"alone, but kicks it along the valley by $\sqrt2\sigma S$ a unit of time; as $x$ is a bent function of "
    r"$D$, the same drift of $x$ comes out. Nothing stops the spreading, and the sharp ends of the valley weigh most.",
    notice=r"All runs start at one point, with noise of one trace. Under label noise they slide together towards the "
    r"balanced point $u=v$. Under isotropic noise they scatter along the valley, more of them towards the middle, but "
    r"some far out where it is narrow: the mean sharpness rises.",
    explore={"deviation": (0.4, 0.7, 1.4)},
)
def noise_shape_decides_where_a_valley_ends(
    key,
    *,
    trials: Trials = 2048,
    deviation: Annotated[float, Interval(ge=0.3, le=1.5)] = 0.7,
    target: Annotated[float, Interval(ge=0.5, le=1.5)] = 0.8,
    clock: Annotated[float, Interval(ge=0.1, le=0.3)] = 0.2,
):
    draw, variance = generator(key), deviation**2
    places = np.array([0.6, 1.0])
    start = on_the_valley(places, target=target)

    def ran(noise, steps, runs):
        """Runs from both places until σ²t is at the clock: times × places × runs."""
        spread = Factors(*(np.repeat(np.asarray(each)[:, None], runs, 1) for each in start))
        setting = dict(rate=float(np.sqrt(clock / variance / steps)), target=target)
        path = product_descent(draw, spread, noise, steps=int(steps), deviation=deviation, **setting)
        return path, fair_changes(path, **setting)

    # Along the curve of label noise there is hardly any spread to average over.
    across = np.array([[ran(noise, steps, trials // 8)[0].imbalance[-1] for noise in LABELS] for steps in STEPS])
    means, squares = [], []
    for steps in STEPS:
        path, fair = ran(isotropic_noise, steps, trials)
        left = np.exp(2 * clock * (1 - np.arange(1, steps + 1) / steps))[:, None, None]
        means.append(path.imbalance[-1] - fair.sum(0))
        squares.append(path.imbalance[-1] ** 2 + 4 * target**2 - (2 * left * path.imbalance[:-1] * fair).sum(0))
    imbalance, sharpness, time = start.imbalance, start.sharpness, clock / variance
    shared: dict[str, Any] = dict(sizes=np.sqrt(STEPS), order=1, aside={"clock": clock})
    valley = np.stack(on_the_valley(np.linspace(-1.6, 2.4, 80), target=target))
    ends = {"isotropic": np.stack(path)[:, -1, 1, :400], "valley": valley, "start": np.stack(start)[:, 1]}
    ends["label"] = np.stack(on_the_valley(np.arcsinh(across[-1, 0, 1] / (2 * target)), target=target))
    drawn: dict[str, Any] = shared | {"aside": {**ends, "clock": clock}}
    many = Factors(*(np.repeat(each, 64) for each in start))
    return {
        **one_step(target, variance),
        # Fair signs scatter by their size and nothing else.
        "squared kicks of fair signs": Identity(
            np.asarray(label_noise(draw, many, deviation)) ** 2, variance * np.asarray([many.second, many.first]) ** 2
        ),
        "imbalance under label noise": Law(
            np.broadcast_to(label_noise_imbalance(imbalance, time, variance=variance), (2, 2)),
            across,
            along={"noise": np.array(["fair signs", "Gaussian"]), "place": places},
            **shared,
        ),
        "mean imbalance under isotropic noise": Law(imbalance, np.array(means), along={"place": places}, **shared),
        # On the valley S² is D² + 4y²; off it by what is left of the last kicks.
        "squared sharpness under isotropic noise": Law(
            isotropic_mean_square_sharpness(sharpness, time, variance=variance),
            np.array(squares),
            along={"place": places},
            **drawn,
        ),
    }


def one_step(target, variance):
    """One step from many places of the valley, averaged over fair signs for the noise: exact for second moments."""
    places, rates = np.linspace(-2, 2, 9)[:, None, None], np.array([0.08, 0.04, 0.02, 0.01])[:, None]
    at, (one, other) = on_the_valley(places, target=target), np.sqrt(variance) * SIGNS.T
    kicks = {"label": (one * at.second, one * at.first)}
    kicks["isotropic"] = tuple(np.sqrt(at.sharpness / 2) * each for each in (one, other))
    after = {name: Factors(*(z - rates * kick for z, kick in zip(at, by, strict=True))) for name, by in kicks.items()}
    means = np.array([each.imbalance.mean(-1) for each in after.values()])
    factors = np.array([1 - rates[:, 0] ** 2 * variance, np.ones(len(rates))])[:, None]
    # Gradient flow keeps D, and so brings every point back to the valley at D = 2y·sinh x.
    shifts = [np.arcsinh(each.imbalance / (2 * target)).mean(-1) - places[..., 0] for each in after.values()]
    drifts = np.array(shifts) / rates[:, 0] ** 2
    far = np.abs(drifts - valley_drift(places[..., 0], variance=variance)).max(1)
    return {
        "imbalance after one step": Identity(
            means,
            factors * at.imbalance[..., 0],
            scale=at.sharpness[..., 0],
            condition=10.0,
            along={"noise": np.array(list(kicks)), "place": places.ravel(), "rate": rates.ravel()},
            aside={"unsquared": (1 - rates[:, 0] ** 2 * np.sqrt(variance)) * at.imbalance[..., 0]},
        ),
        # The largest distance over the places, for each noise.
        "drift along the valley": Limit(
            1 / rates.ravel(), far.max(0), order=1, aside={"isotropic without drift": np.abs(drifts[1]).max(0)}
        ),
    }


@noise_shape_decides_where_a_valley_ends.control("isotropic noise does not drift", of="drift along the valley")
def without_drift(evidence):
    return replace(evidence, y=evidence.aside["isotropic without drift"])


@noise_shape_decides_where_a_valley_ends.control("1 − η²σ for 1 − η²σ²", of="imbalance after one step")
def deviation_for_variance(evidence):
    right = np.array(evidence.right)
    right[0] = evidence.aside["unsquared"]
    return replace(evidence, right=right)


@noise_shape_decides_where_a_valley_ends.control("label noise leaves D alone", of="imbalance after one step")
def kept_by_both(evidence):
    return replace(evidence, right=np.stack([evidence.right[1], evidence.right[1]]))


@noise_shape_decides_where_a_valley_ends.control("D₀e^(−σ²t/2)", of="imbalance under label noise")
def half_the_rate(evidence):
    return replace(evidence, predicted=evidence.predicted * np.exp(evidence.aside["clock"] / 2))


@noise_shape_decides_where_a_valley_ends.control("S₀²e^(σ²t)", of="squared sharpness under isotropic noise")
def half_the_growth(evidence):
    return replace(evidence, predicted=evidence.predicted * np.exp(-evidence.aside["clock"]))


@noise_shape_decides_where_a_valley_ends.control(
    "isotropic noise shrinks D as label noise does", of="mean imbalance under isotropic noise"
)
def as_labels(evidence):
    return replace(evidence, predicted=evidence.predicted * np.exp(-evidence.aside["clock"]))


@noise_shape_decides_where_a_valley_ends.picture
def scattered(pieces):
    """Factors after training from one point of the valley: under label noise, and isotropic noise of equal trace."""
    aside = pieces["squared sharpness under isotropic noise"].aside
    marks = [
        Line("minima, uv = y", *aside["valley"]),
        Dots("isotropic noise", *aside["isotropic"]),
        Dots("label noise", *aside["label"][:, :40]),
        Dots("start", *aside["start"][:, None]),
    ]
    return Plane(marks, x="first factor u", y="second factor v", xs=(0.3, 3.3))
