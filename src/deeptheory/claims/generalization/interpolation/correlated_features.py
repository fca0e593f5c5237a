"""Ridge and ridgeless regression on correlated and on unseen features: limits that a general covariance has."""

import itertools
from dataclasses import replace
from typing import Any, Literal

import jax
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.correlated_risk import (
    Population,
    correlated_bias_variance,
    correlated_optimal_risk,
    population_of,
    seen_model,
)
from deeptheory.generalization.interpolation.ridge_risk import (
    limiting_ridge_bias_variance,
    optimal_ridge,
    optimal_ridge_risk,
)
from deeptheory.generalization.interpolation.ridgeless import gaussian_bias_variance, limiting_bias_variance
from deeptheory.lab import Chain, Identity, Law, Positive, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen
from deeptheory.spectra.entries import draw_entries

EIGENVALUES, WEIGHTS = np.array([0.25, 1.0, 4.0]), np.array([0.5, 0.25, 0.25])
SIGNALS = {
    "strong": np.array([0.1, 0.2, 0.7]),
    "weak": np.array([0.8, 0.15, 0.05]),
    "anywhere": WEIGHTS,
}
"""Shares of ‖β‖² in the three eigenspaces: along the strong features, along the weak ones, or without preference."""
CASES = ((0.5, 0.5, "rademacher"), (0.5, 2.0, "uniform"), (2.0, 0.1, "gaussian"), (2.0, 1.0, "gaussian"))
"""Features per sample γ, ridge λ, and the law of the entries of the rows before they are correlated."""
PARTLY_SEEN = ((0.3, 0.0), (0.3, 0.3), (1.5, 0.3), (2.5, 0.0))
"""Seen features per sample and ridge."""
ISOTROPIC = Population(np.ones(1), np.ones(1), np.ones(1))


def designs(key, samples, gamma, trials, entries):
    """Designs with the three eigenvalues on consecutive coordinates, and these eigenvalues."""
    values = np.repeat(EIGENVALUES, np.round(WEIGHTS * gamma * samples).astype(int))
    return draw_entries(key, (trials, samples, len(values)), entries) * values**0.5, values


def label_operator(x, penalty):
    """The matrix from labels to the minimiser of ‖y − Xw‖² + c‖w‖², by the smaller of the two normal equations."""
    flipped = np.swapaxes(x, 1, 2)
    if x.shape[1] < x.shape[2]:
        return flipped @ np.linalg.inv(x @ flipped + penalty * np.eye(x.shape[1]))
    return np.linalg.solve(flipped @ x + penalty * np.eye(x.shape[2]), flipped)


def conditional_parts(x, values, penalty, noise):
    """Bias for the three signals and variance given the design, the mean over the signs of β's coordinates taken."""
    operator = label_operator(x, penalty)
    left = np.eye(len(values)) - operator @ x
    spread = (left**2 * values[:, None]).sum(-2)
    bias = [np.mean(spread[:, values == t], axis=1) for t in EIGENVALUES]
    variance = noise * (operator**2 * values[:, None]).sum((-1, -2))
    return np.stack([shares @ np.asarray(bias) for shares in SIGNALS.values()]), variance


@claim(
    items={},
    says=r"On features of covariance $\Sigma$ ridge regression has in the limit $p/n\to\gamma$ the bias "
    r"$r^2\kappa'\kappa^2\sum g_kt_k/(t_k+\kappa)^2$ and the variance $\sigma^2(\kappa'-1)$, where "
    r"$\lambda=\kappa(1-\gamma\sum w_kt_k/(t_k+\kappa))$ and $\kappa'=d\kappa/d\lambda$.",
    needs=r"rows $\Sigma^{1/2}z$, z independent with slightly more than four moments; γ away from one without ridge",
    symbols={
        r"\Sigma": "the covariance of the features, with eigenvalues $t_k$ of shares $w_k$",
        r"\gamma": "features per sample",
        r"r^2,\ g_k": r"the squared length of the coefficients, and its shares in the eigenspaces of $\Sigma$",
        r"\kappa": "the effective ridge",
        r"\sigma^2": "the variance of the noise",
        r"\lambda": "the ridge",
    },
    why=r"Too few samples act like a larger ridge: each direction is shrunk by $t_k/(t_k+\kappa)$ as if the covariance "
    r"were known and the ridge $\kappa$. Its derivative by $\lambda$ says how much noise is let through. Without ridge "
    r"$\kappa=0$ for $\gamma<1$, and the variance $\sigma^2\gamma/(1-\gamma)$ is the same for every $\Sigma$; for "
    r"$\gamma>1$ a positive $\kappa$ solves $\gamma\sum w_kt_k/(t_k+\kappa)=1$. For a signal without preferred "
    r"direction $\lambda=\gamma\sigma^2/r^2$ is best whatever $\Sigma$ is, with risk $\sigma^2(\kappa/\lambda-1)$.",
    notice=r"Below the threshold all curves are one: without bias only the noise counts, and its cost does not depend "
    r"on the covariance. Beyond it the place of the signal counts: soon after the threshold one along strong features "
    r"is learned best; far beyond, where little is learned of any, it has most to lose.",
    full=dict(sizes=(60, 120, 240), trials=300),
)
def correlated_ridge_risk(key, *, sizes: Sizes = (24, 48, 96), trials: Trials = 240, noise: Positive = 0.25):
    assume(all(n % 12 == 0 and n >= 24 for n in sizes), "sizes of 24 or more that 12 divides, so that shares are exact")
    gammas = (1 / 3, 2.0)
    bias, plain = np.empty((len(sizes), 4, 3, trials)), np.empty((len(sizes), 2, 3, trials))
    variance, bare = np.empty((len(sizes), 4, trials)), np.empty((len(sizes), 2, trials))
    tuned = np.empty((len(sizes), 2, trials))
    for i, samples in enumerate(sizes):
        for j, (gamma, ridge, entries) in enumerate(CASES):
            x, values = designs(jax.random.fold_in(key, 10 * i + j), samples, gamma, trials, entries)
            parts, variance[i, j] = conditional_parts(x, values, samples * ridge, noise)
            bias[i, j] = parts
        for j, gamma in enumerate(gammas):
            x, values = designs(jax.random.fold_in(key, 10 * i + 4 + j), samples, gamma, trials, "gaussian")
            plain[i, j], bare[i, j] = conditional_parts(x, values, 0.0, noise)
            best = samples * float(optimal_ridge(gamma, signal=1.0, noise=noise))
            parts, rest = conditional_parts(x, values, best, noise)
            tuned[i, j] = parts[list(SIGNALS).index("anywhere")] + rest
    people = [Population(EIGENVALUES, WEIGHTS, shares) for shares in SIGNALS.values()]
    limits = [[correlated_bias_variance(each, g, z, signal=1.0, noise=noise) for each in people] for g, z, _ in CASES]
    ends = [[correlated_bias_variance(each, g, signal=1.0, noise=noise) for each in people] for g in gammas]
    best = [correlated_optimal_risk(EIGENVALUES, WEIGHTS, g, signal=1.0, noise=noise) for g in gammas]
    # What the closed forms for isotropic features say, on both sides of the threshold.
    ratios, grid = np.array([0.2, 0.9, 1.1, 4.0]), np.geomspace(1e-2, 10, 7)
    one, known = [], []
    for gamma in ratios:
        one += [*correlated_bias_variance(ISOTROPIC, gamma, grid, signal=2.0, noise=noise)]
        known += [*limiting_ridge_bias_variance(float(gamma), grid, signal=2.0, noise=noise)]
        ridgeless = correlated_bias_variance(ISOTROPIC, gamma, signal=2.0, noise=noise)
        one.append(
            np.append(np.asarray(ridgeless), correlated_optimal_risk(*ISOTROPIC[:2], gamma, signal=2.0, noise=noise))
        )
        closed = limiting_bias_variance(float(gamma), signal=2.0, noise=noise)
        known.append(np.append(np.asarray(closed), optimal_ridge_risk(float(gamma), signal=2.0, noise=noise)))
    factors = np.geomspace(0.05, 20, 121)
    around = [correlated_bias_variance(people[2], g, factors * g * noise, signal=1.0, noise=noise).risk for g in gammas]
    case, signal = np.asarray([f"γ={g:g}, λ={z:g}" for g, z, _ in CASES]), np.asarray(list(SIGNALS))
    shared: dict[str, Any] = dict(sizes=sizes, order=1.0)
    return {
        "bias with a ridge": Law(
            np.array([[each.bias for each in row] for row in limits]),
            bias,
            along={"case": case, "signal": signal},
            **shared,
        ),
        "variance with a ridge": Law(
            np.array([row[0].variance for row in limits]),
            variance,
            along={"case": case},
            aside={"noise": noise},
            **shared,
        ),
        # Below the threshold there is none.
        "bias without a ridge": Law(
            np.array([each.bias for each in ends[1]]), plain[:, 1], along={"signal": signal}, **shared
        ),
        "variance without a ridge": Law(
            np.array([row[0].variance for row in ends]),
            bare,
            along={"gamma": np.asarray(gammas)},
            aside={"noise": noise},
            **shared,
        ),
        "no bias with fewer features than samples": Identity(plain[:, 0], 0.0, scale=1.0, condition=1e3),
        "risk at the best ridge": Law(
            np.array(best), tuned, along={"gamma": np.asarray(gammas)}, aside={"noise": noise}, **shared
        ),
        "the best ridge": Chain(
            {
                "below all others": (np.array(best)[:, None], np.array(around) * (1 + 1e-14)),
                # The middle of the grid is the stated ridge.
                "and reached there": (np.array(around)[:, 60], np.array(best) * (1 + 1e-12)),
            }
        ),
        "features without correlation": Identity(
            np.concatenate(one), np.concatenate(known), scale=2.0, condition=100.0
        ),
    }


@correlated_ridge_risk.control("isotropic features of the same trace", of="variance with a ridge")
def same_trace(evidence):
    mean = float(WEIGHTS @ EIGENVALUES)
    people = Population(np.array([mean]), np.ones(1), np.ones(1))
    noise = float(evidence.aside["noise"])
    rival = [correlated_bias_variance(people, g, z, signal=1.0, noise=noise).variance for g, z, _ in CASES]
    return replace(evidence, predicted=np.array(rival, float))


@correlated_ridge_risk.control("degrees of freedom over n, without κ'", of="variance with a ridge")
def no_slope(evidence):
    noise = evidence.aside["noise"]
    share = evidence.predicted / noise
    return replace(evidence, predicted=noise * share / (1 + share))


@correlated_ridge_risk.control("the signal anywhere", of="bias with a ridge")
def no_alignment(evidence):
    return replace(evidence, predicted=np.broadcast_to(evidence.predicted[:, 2:], evidence.predicted.shape))


@correlated_ridge_risk.control(
    "(1 − 1/γ) βᵀΣβ, as if the unseen directions did not depend on Σ", of="bias without a ridge"
)
def projected_signal(evidence):
    power = np.array([shares @ EIGENVALUES for shares in SIGNALS.values()])
    return replace(evidence, predicted=power / 2)


@correlated_ridge_risk.control("variance σ²/(γ−1) above the threshold, whatever Σ", of="variance without a ridge")
def isotropic_above(evidence):
    gamma, noise = evidence.along["gamma"], evidence.aside["noise"]
    return replace(evidence, predicted=np.where(gamma < 1, evidence.predicted, noise / (gamma - 1)))


@correlated_ridge_risk.control("the tuned risk of isotropic features of the same trace", of="risk at the best ridge")
def tuned_isotropic(evidence):
    mean = np.array([float(WEIGHTS @ EIGENVALUES)])
    noise = float(evidence.aside["noise"])
    rival = [
        correlated_optimal_risk(mean, np.ones(1), float(g), signal=1.0, noise=noise) for g in evidence.along["gamma"]
    ]
    return replace(evidence, predicted=np.array(rival, float))


@correlated_ridge_risk.picture
def correlated_descent(pieces, settings):
    """Ridgeless risk along γ for a signal on the strong features, on the weak ones, and on isotropic features."""
    mean = float(WEIGHTS @ EIGENVALUES)
    people = {name: Population(EIGENVALUES, WEIGHTS, shares) for name, shares in SIGNALS.items()}
    people["isotropic"] = Population(np.array([mean]), np.ones(1), np.ones(1))
    gammas = np.geomspace(0.1, 8, 160)

    def risk(each, gamma):
        far = abs(gamma - 1) > 0.02
        return (
            float(correlated_bias_variance(each, float(gamma), signal=1.0, noise=settings["noise"]).risk)
            if far
            else np.nan
        )

    marks: list[Any] = [Line(name, gammas, [risk(each, gamma) for gamma in gammas]) for name, each in people.items()]
    bias, variance = (pieces[f"{part} without a ridge"].observed[-1] for part in ("bias", "variance"))
    marks += [Dots(name, 2.0, np.mean(each) + np.mean(variance[1])) for name, each in zip(SIGNALS, bias, strict=True)]
    return Curves(marks, x="features per sample γ = p/n", y="excess risk", log="xy", ys=(0.02, 5))


@claim(
    items={"H13.2": ("risk of least squares", "risk over its limit")},
    says=r"If only $k$ of $p$ correlated Gaussian features are seen, the labels follow a linear model in these with a "
    r"noise larger by $\tau=\beta_2^\top(\Sigma_{22}-\Sigma_{21}\Sigma_{11}^{-1}\Sigma_{12})\beta_2$, missed and "
    r"fitted besides: least squares on $n\ge k+2$ samples has excess risk $\tau+(\sigma^2+\tau)\frac k{n-k-1}$.",
    needs="Gaussian features; a mean of least squares needs k ≤ n − 2",
    symbols={
        r"k,\ p": "the number of features seen, of all",
        r"\tau": "what the unseen features add that the seen ones do not tell",
        r"\beta_2": "the coefficients of the unseen features",
        r"\Sigma_{11},\ \Sigma_{12},\ \Sigma_{22}": "covariances of the seen, between seen and unseen, of the unseen",
        r"n": "the number of samples",
        r"\sigma^2": "the variance of the noise",
    },
    why=r"A Gaussian feature that is not seen is its regression on the seen ones plus a rest that is independent of "
    r"them. The regression moves the coefficients to $\beta_1+\Sigma_{11}^{-1}\Sigma_{12}\beta_2$, the rest is noise "
    r"of variance $\tau$: it is missed once, in the labels to predict, and fitted like other noise. Ridge and "
    r"minimum-norm regression have for the same reason the limiting risk of the seen features with noise "
    r"$\sigma^2+\tau$, plus $\tau$.",
    notice=r"Left: least squares at every size as the formula says; without fitting $\tau$ as noise the risk would be "
    r"far lower. Right: risks over their limits tend to one, below and above the threshold.",
    full=dict(sizes=(60, 120, 240), trials=300),
)
def unseen_correlated_features(
    key,
    *,
    sizes: Sizes = (30, 60, 120),
    trials: Trials = 320,
    noise: Positive = 0.25,
    unseen: Literal["regressed", "independent"] = "regressed",
):
    assume(min(sizes) >= 20, "sizes of 20 or more: below, least squares has too few moments")
    draw = generator(key)
    risks, limits = np.empty((len(sizes), 4, trials)), np.empty((len(sizes), 4))
    exact, missed = np.empty((2, len(sizes)))
    for (i, samples), (j, (gamma, ridge)) in itertools.product(enumerate(sizes), enumerate(PARTLY_SEEN)):
        used = round(gamma * samples)
        total = 4 * used // 3
        # Neighbours are correlated, and every fourth feature, of twice the coefficient, is unseen.
        order = np.argsort(np.arange(total) % 4 == 3, kind="stable")
        covariance = 0.6 ** abs(order[:, None] - order)
        # Several β a design take most of the labels' own fluctuation out.
        beta = draw.choice([-1.0, 1.0], (16, total)) * total**-0.5 * (1.0 + (np.arange(total) >= used))
        x = draw.standard_normal((trials, samples, total)) @ np.linalg.cholesky(covariance).T
        operator = label_operator(x[..., :used], samples * ridge)
        # The risk by its definition, against all features, the noise of the labels integrated out.
        mean = np.pad(np.swapaxes(operator @ (x @ beta.T), 1, 2), ((0, 0), (0, 0), (0, total - used)))
        spread = noise * ((covariance[:used, :used] @ operator) * operator).sum((-1, -2))
        risks[i, j] = (((mean - beta) @ covariance) * (mean - beta)).sum(-1).mean(-1) + spread
        known, closed, unfitted = [], [], []
        for each in beta:
            visible, coefficients, surplus = seen_model(covariance, each, used)
            if unseen == "independent":
                coefficients, surplus = each[:used], each[used:] @ covariance[used:, used:] @ each[used:]
            full: dict[str, float] = dict(signal=float(coefficients @ coefficients), noise=float(noise + surplus))
            people = population_of(visible, coefficients)
            known.append(surplus + correlated_bias_variance(people, used / samples, ridge, **full).risk)
            closed.append(surplus + gaussian_bias_variance(samples, used, **full).risk)
            unfitted.append(surplus + gaussian_bias_variance(samples, used, noise=noise).variance)
        limits[i, j] = np.mean(known)
        if j == 0:
            exact[i], missed[i] = np.mean(closed), np.mean(unfitted)
    case = np.asarray([f"k/n={g:g}, λ={z:g}" for g, z in PARTLY_SEEN])
    return {
        "risk of least squares": Law(
            exact,
            risks[:, 0],
            along={"samples": np.asarray(sizes)},
            exact=True,
            aside={"missed only": missed},
        ),
        # Each observation over the limit's formula at its own size: the covariance is another one for each.
        "risk over its limit": Law(np.ones(4), risks / limits[..., None], along={"case": case}, sizes=sizes, order=1.0),
    }


unseen_correlated_features.control(
    "unseen features as independent noise", of="risk over its limit", unseen="independent", sizes=(30, 60), trials=40
)


@unseen_correlated_features.control("unseen features missed, not fitted as noise", of="risk of least squares")
def missed_only(evidence):
    return replace(evidence, predicted=evidence.aside["missed only"])


@unseen_correlated_features.picture
def risks_and_their_limits(pieces):
    """Excess risk of least squares on the seen features along the number of samples; and risks of ridge and
    minimum-norm regression over their limits."""
    law, limit = pieces["risk of least squares"], pieces["risk over its limit"]
    sizes = law.along["samples"]
    ratios = [
        seen(str(case), limit.sizes, np.asarray(limit.observed)[:, j]) for j, case in enumerate(limit.along["case"])
    ]
    return Row(
        [
            Curves(
                [
                    Line("exact", sizes, law.predicted),
                    seen("observed", sizes, law.observed),
                    Line("τ not fitted", sizes, law.aside["missed only"], rival="unseen features only missed"),
                ],
                x="samples n, seen features k = 0.3 n",
                y="excess risk of least squares",
                ys=(0, 1.2 * float(np.max(law.predicted))),
            ),
            Curves([*ratios, Level("limit", y=1.0)], x="samples n", y="excess risk over its limit"),
        ]
    )
