"""Double descent seen: random features, the norm behind it, descent on the way there, and ridge without a peak.

lucchi Fig. 13.1 and 13.2, handbook 13.1.2.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.filters import gradient_descent_filter, spectral_operator
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.ridge_risk import (
    average_ridge_risk,
    gaussian_norm_square,
    limiting_ridge_bias_variance,
    optimal_ridge,
    optimal_ridge_risk,
)
from deeptheory.generalization.interpolation.ridgeless import (
    bias_variance_of_operator,
    conditional_bias_variance,
    gaussian_bias_variance,
)
from deeptheory.implicit_bias.least_squares import descent_iterate, nearest_solution
from deeptheory.lab import Chain, Exact, Identity, Inequality, Law, Positive, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

WIDTHS = (3, 6, 12, 24, 40, 52, 60, 70, 90, 150, 400, 1500)
"""Numbers of random features, with sixty samples among them."""
SIGNAL = 2.25
"""The squared length r² of the coefficients, for the tuned ridge."""
ADDED = tuple(range(60, 121, 3))
"""Numbers of features along which the least norm of an interpolant may only fall."""


def penalized(features, labels, ridge):
    """The minimiser of ‖y − Φw‖² + c‖w‖², of least norm for c = 0, in as few dimensions as there are."""
    if features.shape[1] > 2 * len(labels):
        return features.T @ np.linalg.solve(features @ features.T + ridge * np.eye(len(labels)), labels)
    left, singular, right = np.linalg.svd(features, full_matrices=False)
    return (left.T @ labels * singular / (singular**2 + ridge)) @ right


def singular_values(designs):
    """Singular values of a batch of matrices, from the smaller Gram matrix."""
    flipped = np.swapaxes(designs, -1, -2)
    small = designs @ flipped if designs.shape[-2] < designs.shape[-1] else flipped @ designs
    return np.sqrt(np.maximum(np.linalg.eigvalsh(small), 0))


@claim(
    items={
        "L13.1": ("place of the peaks", "training error", "second descent", "rise up to the peak"),
        "H13.3": (
            "place of the peaks",
            "norm falls as features are added",
            "mean squared norm",
            "mean squared norm near the threshold",
        ),
    },
    says=r"Minimum-norm least squares on $p$ random ReLU features has its largest risk and norm at $p=n$, fits the "
    r"labels from there on, and with many features beats the best with $p<n$. Adding features never raises the least "
    r"norm of an interpolant.",
    needs="a signal stronger than the noise for the second descent; features added to those there are",
    scale="printed: networks on images; here: random features of Gaussian inputs",
    full=dict(trials=200),
    symbols={
        r"p": "the number of features",
        r"n": "the number of samples, 60 here",
        r"\beta_{in},\ \beta_{out}": "the true coefficients on the coordinates that are used, and on the others",
        r"\sigma_{out}^2": r"the noise and what the other coordinates add to it, $\sigma^2+\|\beta_{out}\|^2$",
    },
    why=r"With $p<n$ more features first help and then fit noise. At $p=n$ exactly one function of the class goes "
    r"through all labels, and to do so it needs huge weights. Beyond, many do, and the one of least norm is chosen: "
    r"weights on the old features alone are still allowed, so the least norm can only fall as features are added. On "
    r"$p\ge n+2$ Gaussian coordinates its mean square is known, $\|\beta_{in}\|^2\frac "
    r"np+\frac{n\,\sigma_{out}^2}{p-n-1}$: the second part is the noise, and explodes at $p=n$.",
    notice=r"Test risk and norm peak together at $p=n$, where the training error becomes zero. Far to the right the "
    r"risk is below the valley on the left.",
)
def random_features_descend_twice(
    key,
    *,
    trials: Trials = 64,
    noise: Positive = 0.04,
    ridge: Annotated[float, Interval(ge=0.0, le=1e4)] = 0.0,
    features: Literal["nested", "fresh"] = "nested",
):
    draw = generator(key)
    test, train, norm = np.empty((3, len(WIDTHS), trials))
    least = np.empty((len(ADDED), trials))
    for trial in range(trials):
        x = draw.standard_normal((360, 10)) / 10**0.5
        target = x @ draw.standard_normal(10)
        labels = target[:60] + noise**0.5 * draw.standard_normal(60)
        whole = np.maximum(x @ draw.standard_normal((10, WIDTHS[-1])), 0)
        for i, p in enumerate(WIDTHS):
            phi = whole[:, :p]
            weights = penalized(phi[:60], labels, ridge)
            test[i, trial] = np.mean((phi[60:] @ weights - target[60:]) ** 2) + noise
            train[i, trial] = np.mean((phi[:60] @ weights - labels) ** 2)
            norm[i, trial] = weights @ weights
        for i, p in enumerate(ADDED):
            if features == "fresh":
                whole = np.maximum(x @ draw.standard_normal((10, p)), 0)
            least[i, trial] = np.sum(penalized(whole[:60, :p], labels, 0.0) ** 2)
    widths = np.array(WIDTHS)
    below, above = widths < 60, widths >= 60
    middle = np.median(np.log(test), axis=1), np.median(np.log(norm), axis=1)
    best = np.min(np.log(test)[below], axis=0)
    # Norms with Gaussian coordinates, n = 40 and β spread over 200, in the setting of the misspecified model.
    counts, draws = np.array([10, 20, 100, 200, 30, 50]), min(15 * trials, 1500)
    designs = draw.standard_normal((draws, 40, 200))
    squares, exact = np.empty((6, draws)), np.empty(6)
    for i, p in enumerate(counts):
        used = designs[..., :p]
        flipped = np.swapaxes(used, 1, 2)
        small = used @ flipped if p > 40 else flipped @ used
        inverse = flipped @ np.linalg.inv(small) if p > 40 else np.linalg.solve(small, flipped)
        # The mean over the signs of the coordinates of β, and over the noise.
        squares[i] = ((inverse @ designs) ** 2).sum((1, 2)) / 200 + 0.09 * (inverse**2).sum((1, 2))
        exact[i] = gaussian_norm_square(40, int(p), inside=p / 200, outside=1 - p / 200, noise=0.09)
    return {
        "place of the peaks": Exact(widths[[int(np.argmax(middle[0])), int(np.argmax(middle[1]))]], np.array([60, 60])),
        "training error": Chain(
            {"fits": (train[above], 1e-10), "does not fit below": (1e-4, train[widths < 50])},
            aside={"at 52": train[WIDTHS.index(52)]},
        ),
        "rise up to the peak": Trend(
            np.log(test)[WIDTHS.index(60)] - best - np.log(2),
            aside={"widths": widths, "test": test, "train": train, "norm": norm},
        ),
        "second descent": Trend(best - np.log(test)[-1], aside={"soon": best - np.log(test)[WIDTHS.index(70)]}),
        # The first norms are large and ill-conditioned: rounding is relative to them.
        "norm falls as features are added": Inequality(least[1:], least[:-1], error=1e-9 * least[:-1]),
        "mean squared norm": Law(exact[:4], squares[:4], along={"features": counts[:4]}, exact=True),
        # Ten features from the threshold the norm is heavy-tailed.
        "mean squared norm near the threshold": Law(
            exact[4:], squares[4:], along={"features": counts[4:]}, exact=True, resolution=0.15
        ),
    }


random_features_descend_twice.control("with a ridge", of="place of the peaks", ridge=3.0, trials=8)
random_features_descend_twice.control(
    "a rise at p = n in spite of a ridge", of="rise up to the peak", ridge=3.0, trials=16
)


@random_features_descend_twice.control("labels fitted with 52 features for 60 samples", of="training error")
def fitted_before(evidence):
    return replace(evidence, links={"fits": (evidence.aside["at 52"], 1e-10)})


@random_features_descend_twice.control("with ten features more than samples already", of="second descent")
def soon_after_the_peak(evidence):
    return replace(evidence, differences=evidence.aside["soon"])


@random_features_descend_twice.picture
def peak_of_risk_and_norm(pieces):
    """Median test risk, training error and squared norm of minimum-norm fits against the number of features."""
    aside = pieces["rise up to the peak"].aside
    train = np.median(aside["train"], axis=1)
    curves = {
        "test risk": np.median(aside["test"], axis=1),
        "training error": np.where(train > 1e-6, train, np.nan),
        "squared norm of the weights": np.median(aside["norm"], axis=1),
    }
    marks: list[Any] = [kind(name, aside["widths"], values) for name, values in curves.items() for kind in (Line, Dots)]
    return Curves(
        [*marks, Level("p = n", x=60.0)], x="features p", y="risk, error and norm, medians over draws", log="xy"
    )


random_features_descend_twice.control(
    "new features for every width", of="norm falls as features are added", features="fresh", trials=8
)


@random_features_descend_twice.control("a norm that only fits noise", of="mean squared norm")
def noise_alone(evidence):
    share = evidence.along["features"] / 200
    seen = share * np.minimum(1, 40 / evidence.along["features"])
    return replace(evidence, predicted=evidence.predicted - seen)


@claim(
    items={
        "L13.7": (
            "iterates in closed form",
            "distance to the solution",
            "rate in the end",
            "risk in the end",
            "risk at the threshold grows",
            "no peak after ten steps",
            "place of the peak after many steps",
        )
    },
    says=r"Gradient descent from zero on least squares approaches the minimum-norm solution, "
    r"$\|w_t-\Phi^+y\|\le(1-\eta s_{min}^2)^t\|\Phi^+y\|$, in the end at exactly this rate. At $p=n$ its risk grows "
    r"with every tenfold of the steps from 10 to 10,000; stopped after 10 there is no peak.",
    needs=r"$\eta\le1/s_{max}^2$; full rank; labels with noise for the peak; risks are compared by the mean of their "
    r"logarithm",
    full=dict(trials=400),
    symbols={
        r"w_t": "the weights after $t$ steps from zero",
        r"\Phi": "the matrix of features, one row for each sample",
        r"\Phi^+y": "the least-squares solution of least norm",
        r"\eta": "the step size",
        r"s_{min}": "the smallest nonzero singular value of $\\Phi$",
    },
    why=r"Steps from zero stay in the span of the samples, so descent can end only at the solution of least norm, and "
    r"with its risk; along each singular direction the distance to it shrinks by $1-\eta s^2$ a step. At $p=n$ the "
    r"smallest singular value is close to zero: the part of the weights that makes the risk peak is also the part "
    r"that is learned last.",
    notice=r"After ten steps the risk shows no peak; with every tenfold of the steps more of it appears at $p=n$; "
    r"far from the threshold nothing changes any more.",
)
def descent_reaches_the_peak(
    key,
    *,
    trials: Trials = 60,
    noise: Annotated[float, Interval(ge=0.2, le=1.0)] = 0.25,
    steps: Sizes = (10, 100, 1000, 10_000),
):
    draw = generator(key)
    distances, bounds, ratios, gaps = [], [], [], []
    for shape in ((40, 10), (10, 40), (12, 8)):
        labels, rank = draw.standard_normal(shape[0]), min(shape)
        left, _, right = np.linalg.svd(draw.standard_normal(shape), full_matrices=False)
        singular = np.append(np.linspace(2.0, 1.2, rank - 1), 0.8)
        design = left * singular @ right
        eta, goal = 1 / singular[0] ** 2, np.linalg.pinv(design) @ labels
        slow = 1 - eta * singular[-1] ** 2
        weights, path = np.zeros(shape[1]), []
        for _ in range(400):
            path.append(np.linalg.norm(weights - goal))
            weights = weights - eta * design.T @ (design @ weights - labels)
        closed = np.asarray(descent_iterate(design, labels, step_size=eta, steps=400))
        gaps.append(
            [np.max(np.abs(closed - weights)), np.max(np.abs(goal - np.asarray(nearest_solution(design, labels))))]
        )
        distances.append(path)
        bounds.append(slow ** np.arange(400) * np.linalg.norm(goal))
        # Late in the run only the slowest direction is left; the step is where rounding does not show yet.
        late = int(min(399, np.log(1e-9) / np.log(slow)))
        ratios.append([path[late] / path[late - 1], slow])
    # Risks over p and steps at n = 30: a well-specified model of unit signal, noise integrated out.
    widths = np.array([6, 15, 24, 30, 36, 60, 120])
    risks, final = np.empty((len(steps), len(widths), trials)), np.empty((len(widths), trials))
    for j, p in enumerate(widths):
        beta = np.ones(p) / p**0.5
        designs = draw.standard_normal((trials, 30, p))
        final[j] = conditional_bias_variance(designs, beta, noise).risk
        for i, count in enumerate(steps):
            # A step that is safe for all designs: (√n + √p)² is about the largest square of a singular value.
            operator = spectral_operator(designs, gradient_descent_filter(1 / (30**0.5 + p**0.5 + 3) ** 2, count))
            risks[i, j] = bias_variance_of_operator(operator, designs, beta, np.eye(p), noise).risk
    at = int(np.flatnonzero(widths == 30)[0])
    ratios = np.array(ratios)
    return {
        "iterates in closed form": Identity(np.array(gaps), 0.0, scale=1.0, condition=1e3, size=40.0),
        "distance to the solution": Inequality(np.array(distances), np.array(bounds), error=1e-13),
        "rate in the end": Identity(ratios[:, 0], ratios[:, 1], error=1e-4, along={"s": ratios[:, 1]}),
        # Away from the threshold ten thousand steps are enough.
        "risk in the end": Identity(risks[-1, [0, 1, 5, 6]], final[[0, 1, 5, 6]], error=1e-3),
        # By a fifth at least each time. Beyond the threshold the risk is at its end before the last.
        "risk at the threshold grows": Trend(
            np.diff(np.log(risks[:, at]), axis=0) - np.log(1.2),
            aside={"twice as many": np.diff(np.log(risks[:-1, widths == 60][:, 0]), axis=0) - np.log(1.2)},
        ),
        "place of the peak after many steps": Exact(
            widths[np.argmax(np.median(risks[-1], axis=1))],
            30,
            aside={"widths": widths, "risks": np.median(risks, axis=2), "least norm": np.median(final, axis=1)},
        ),
        # No peak: the risk after the fewest steps grows with p all along.
        "no peak after ten steps": Trend(np.diff(np.log(risks[0, [1, 3, 5, 6]]), axis=0)),
    }


@descent_reaches_the_peak.control("(1 − η s_min)ᵗ, the singular value not squared", of="rate in the end")
def unsquared_rate(evidence):
    return replace(evidence, right=1 - (1 - evidence.right) ** 0.5)


@descent_reaches_the_peak.control("(1 − η s_min²)²ᵗ, the rate of the loss", of="distance to the solution")
def rate_of_the_loss(evidence):
    first = evidence.bound[:, :1]
    return replace(evidence, bound=evidence.bound**2 / first)


descent_reaches_the_peak.control(
    "the peak is there after ten steps too", of="place of the peak after many steps", steps=(2, 5, 10), trials=16
)


@descent_reaches_the_peak.control("with twice as many features as samples too", of="risk at the threshold grows")
def beyond_the_threshold(evidence):
    return replace(evidence, differences=evidence.aside["twice as many"])


@descent_reaches_the_peak.picture
def peak_in_time(pieces, settings):
    """Median risk against the number of features after several numbers of steps, and of the least-norm solution."""
    aside = pieces["place of the peak after many steps"].aside
    marks: list[Any] = [
        kind(f"{steps:,} steps", aside["widths"], risks)
        for steps, risks in zip(settings["steps"], aside["risks"], strict=True)
        for kind in (Line, Dots)
    ]
    end = Line("solution of least norm", aside["widths"], aside["least norm"], dashed=True)
    return Curves([*marks, end, Level("p = n", x=30.0)], x="features p", y="median risk", log="xy")


@claim(
    items={
        "H13.4": (
            "risk at the best ridge",
            "best risk by two routes",
            "the best ridge",
            "best risk along γ",
            "best risk along the features",
            "best risk along the samples",
            "risk without a ridge",
            "peak without a ridge",
            "risk without noise",
        ),
    },
    says=r"Ridge with $z=\gamma\sigma^2/r^2$ has the least limiting risk of all, $\frac12(c+\sqrt{c^2+4r^2\sigma^2})$ "
    r"with $c=r^2(1-\frac1\gamma)-\sigma^2$, without a peak; for a design its mean over directions is "
    r"$\sigma^2\operatorname{tr}(X^\top X+p\sigma^2/r^2)^{-1}$, which more rows never raise. Without ridge the risk "
    r"peaks at $n=p$.",
    needs="a signal without preferred direction; for the noiseless case a well-specified model",
    full=dict(trials=400),
    symbols={
        r"\gamma": "features per sample, $p/n$",
        r"z": "the ridge, per sample",
        r"r^2,\ \sigma^2": "the squared length of the coefficients and the variance of the noise",
        r"X": "the design, $n$ samples of $p$ features",
    },
    why=r"For coefficients without preferred direction, ridge with this $z$ is the mean of their posterior, and no "
    r"estimator has a smaller mean risk. More rows can then only help, since the posterior may ignore them. Without "
    r"ridge nothing limits the weights where the smallest singular value comes close to zero, at $n=p$.",
    notice=r"With 50 features and no ridge more data hurt as their number comes up to 50. The tuned ridge falls all "
    r"along, through the place of the peak.",
)
def tuned_ridge_has_no_peak(
    key, *, trials: Trials = 160, sizes: Sizes = (30, 60, 120), noise: Positive = 0.25, tuning: Positive = 1.0
):
    draw = generator(key)
    gammas = np.array([0.3, 1.0, 3.0])
    tuned = np.empty((len(sizes), 3, trials))
    for i, j in np.ndindex(len(sizes), 3):
        n, p = sizes[i], round(gammas[j] * sizes[i])
        singular = singular_values(draw.standard_normal((trials, n, p)))
        penalty = tuning * n * optimal_ridge(p / n, signal=SIGNAL, noise=noise)
        tuned[i, j] = average_ridge_risk(singular, p, float(penalty), signal=SIGNAL, noise=noise)
    limits = np.asarray(optimal_ridge_risk(gammas, signal=SIGNAL, noise=noise))
    factors, best = np.geomspace(0.01, 100, 81), np.asarray(optimal_ridge(gammas, signal=SIGNAL, noise=noise))
    others = [
        limiting_ridge_bias_variance(float(gamma), factors * z, signal=SIGNAL, noise=noise)
        for gamma, z in zip(gammas, best, strict=True)
    ]
    # For each design by its own matrix: bias over p unit directions and variance, solved rather than filtered.
    traces, solved = [], []
    for n, p in ((12, 5), (5, 12), (9, 9)):
        design, penalty = draw.standard_normal((n, p)), p * noise / SIGNAL
        inverse = np.linalg.inv(design.T @ design + penalty * np.eye(p))
        singular = np.linalg.svd(design, compute_uv=False)
        filtered = average_ridge_risk(singular, p, penalty, signal=SIGNAL, noise=noise)
        traces.append([noise * np.trace(inverse), float(filtered)])
        operator = inverse @ design.T
        solved.append(SIGNAL * np.sum((operator @ design - np.eye(p)) ** 2) / p + noise * np.sum(operator**2))
    # Nested coordinates (n = 40 of 200), and nested rows (p = 50).
    counts = np.array([10, 20, 30, 40, 50, 70, 110, 200])
    designs = draw.standard_normal((trials, 40, 200))
    nested = np.empty((len(counts), trials))
    for i, p in enumerate(counts):
        share = p / 200
        singular = singular_values(designs[..., :p])
        tuned_penalty = tuning * p * (1 - share + noise) / share
        inside = average_ridge_risk(singular, int(p), float(tuned_penalty), signal=share, noise=1 - share + noise)
        nested[i] = 1 - share + inside
    rows = np.array([10, 25, 40, 46, 50, 54, 60, 100, 200])
    data = draw.standard_normal((trials, 200, 50))
    by_rows, plain = np.empty((2, len(rows), trials))
    for i, n in enumerate(rows):
        singular = singular_values(data[:, :n])
        by_rows[i] = average_ridge_risk(singular, 50, 50 * noise * tuning, signal=1.0, noise=noise)
        plain[i] = average_ridge_risk(singular, 50, 0.0, signal=1.0, noise=noise)
    smooth = np.isin(rows, [10, 25, 100, 200])
    exact = np.array([gaussian_bias_variance(int(n), 50, signal=1.0, noise=noise).risk for n in rows[smooth]], float)
    silent = [np.mean(conditional_bias_variance(data[0, :n], np.eye(50), 0.0).bias) for n in rows]
    grid = np.geomspace(0.05, 20, 60)
    return {
        "risk at the best ridge": Law(
            limits, tuned, along={"gamma": gammas}, sizes=sizes, order=1.0, aside={"noise": noise}
        ),
        "best risk by two routes": Identity(np.array(traces), np.array(solved)[:, None], size=12.0, condition=10.0),
        "the best ridge": Chain(
            {
                "below all others": (limits[:, None], np.array([np.asarray(each.risk) for each in others])),
                "and reached": (np.array([np.min(np.asarray(each.risk)) for each in others]), limits + 1e-12),
            },
            aside={"noise": noise},
        ),
        "best risk along γ": Chain(
            {
                "it only rises": (
                    optimal_ridge_risk(grid[:-1], signal=SIGNAL, noise=noise),
                    optimal_ridge_risk(grid[1:], signal=SIGNAL, noise=noise),
                ),
                "finite at the threshold": (
                    optimal_ridge_risk(1.0, signal=SIGNAL, noise=noise),
                    (SIGNAL * noise) ** 0.5,
                ),
            },
            aside={"gamma": grid, "noise": noise},
        ),
        "best risk along the features": Trend(nested[:-1] - nested[1:], along={"features": counts[:-1]}),
        "best risk along the samples": Inequality(
            by_rows[1:], by_rows[:-1], aside={"rows": rows, "tuned": by_rows, "plain": plain}
        ),
        "risk without a ridge": Law(exact, plain[smooth], along={"samples": rows[smooth]}, exact=True, resolution=0.1),
        "peak without a ridge": Exact(rows[np.argmax(np.median(plain, axis=1))], 50),
        "risk without noise": Identity(
            np.array(silent), np.maximum(0.0, 1 - rows / 50), scale=1.0, condition=1e3, aside={"rows": rows}
        ),
    }


tuned_ridge_has_no_peak.control(
    "hardly any ridge, more rows", of="best risk along the samples", tuning=1e-6, trials=16, sizes=(20, 40)
)
tuned_ridge_has_no_peak.control(
    "hardly any ridge, more coordinates", of="best risk along the features", tuning=1e-6, trials=32, sizes=(20, 40)
)


@tuned_ridge_has_no_peak.control("the same with a quarter of the ridge", of="risk at the best ridge")
def quarter_of_the_ridge(evidence):
    noise = float(evidence.aside["noise"])
    rival = [
        limiting_ridge_bias_variance(float(g), float(g) * noise / SIGNAL / 4, signal=SIGNAL, noise=noise).risk
        for g in evidence.along["gamma"]
    ]
    return replace(evidence, predicted=np.array(rival, float))


@tuned_ridge_has_no_peak.control("a ridge of γσ², without the r²", of="the best ridge")
def without_the_signal(evidence):
    noise, reached = float(evidence.aside["noise"]), evidence.links["and reached"][1]
    risks = [limiting_ridge_bias_variance(g, g * noise, signal=SIGNAL, noise=noise).risk for g in (0.3, 1.0, 3.0)]
    return replace(evidence, links={"and reached": (np.array(risks, float), reached)})


@tuned_ridge_has_no_peak.control("r²(1 − p/n) left without noise", of="risk without noise")
def ratio_upside_down(evidence):
    return replace(evidence, right=np.maximum(0.0, 1 - 50 / evidence.aside["rows"]))


@tuned_ridge_has_no_peak.control("a limit below the least", of="the best ridge")
def below_the_least(evidence):
    smaller, larger = evidence.links["and reached"]
    return replace(evidence, links={"and reached": (smaller, larger - 1e-3)})


@tuned_ridge_has_no_peak.control("the same with hardly any ridge", of="best risk along γ")
def hardly_any(evidence):
    noise = float(evidence.aside["noise"])
    risks = np.array(
        [
            limiting_ridge_bias_variance(float(g), 1e-4, signal=SIGNAL, noise=noise).risk
            for g in evidence.aside["gamma"].tolist()
        ],
        float,
    )
    return replace(evidence, links={"it only rises": (risks[:-1], risks[1:])})


@tuned_ridge_has_no_peak.picture
def more_data(pieces):
    """Median risk with 50 features against the number of samples, without ridge and with the tuned one."""
    aside = pieces["best risk along the samples"].aside
    marks: list[Any] = [
        kind(name, aside["rows"], np.median(aside[key], axis=1))
        for name, key in (("tuned ridge", "tuned"), ("no ridge", "plain"))
        for kind in (Line, Dots)
    ]
    return Curves([*marks, Level("n = p", x=50.0)], x="samples n, with 50 features", y="median risk", log="xy")
