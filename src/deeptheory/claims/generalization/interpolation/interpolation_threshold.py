"""Around the interpolation threshold: planted linear models, bias and variance across it, and what makes the peak.

lucchi 13.1 and 13.2, jagannath Ch. 7 Fig. 1.1.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import scipy.special
import scipy.stats
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.polynomials import legendre_features
from deeptheory.generalization.interpolation.ridgeless import (
    excess_risk,
    gaussian_bias_variance,
    gaussian_prediction_risk,
    limiting_bias_variance,
)
from deeptheory.lab import Distribution, Exact, Identity, Law, Limit, Positive, Rate, Share, Sizes, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Histogram, Level, Line, seen
from deeptheory.spectra.edges import hard_edge_cdf
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges

SAMPLES, COORDINATES = 32, 128
"""The setting of lucchi Fig. 13.2."""
CHECKED = (8, 16, 24, 44, 64, 128)
"""Numbers of features at which risks are compared with their exact means."""
PEAK = (16, 24, 28, 30, 31, 32, 33, 34, 36, 40, 64)
"""Numbers of features among which the variance should be largest at the number of samples."""


@claim(
    items={"L13.2": ("risk of the planted predictor", "risk of other predictors", "residual of the fit")},
    says=r"With labels $w_*\cdot\phi(x)+\epsilon$ the risk of $w_*$ is $\sigma^2$ and that of any other $w$ larger by "
    r"$\|w-w_*\|_\Sigma^2$; the empirical risk of the least-squares weights is $\sigma^2(1-p/n)$ on average.",
    needs="noise of mean zero and variance σ² given x",
    symbols={
        r"w_*,\ \phi(x)": "the planted coefficients, and the features: Legendre polynomials up to degree 5",
        r"\sigma^2": "the variance of the noise $\\epsilon$",
        r"\|v\|_\Sigma^2": r"the mean of $(v\cdot\phi(x))^2$ over inputs",
        r"p,\ n": "the numbers of coefficients and of samples, 6 and 20 for the labels on the left",
    },
    why=r"A label differs from $w\cdot\phi$ by its noise and by $(w_*-w)\cdot\phi$, and the noise is uncorrelated with "
    r"all that depends on $x$. Least squares leaves of the noise what is orthogonal to the $p$ features, $n-p$ of its "
    r"$n$ directions. Noise whose mean depends on $x$ is a signal, and $w_*$ then no longer the best.",
    notice=r"On fresh labels the planted weights, at distance 0, lose $\sigma^2$, three others more by their squared "
    r"distance. The fitted weights lose less than the noise on the sample that they were fitted to: $1-p/n$ of it.",
    full=dict(trials=1_000_000),
)
def planted_risk(
    key, *, trials: Trials = 150_000, noise: Positive = 0.3, tilt: Annotated[float, Interval(ge=0, le=1)] = 0.0
):
    draw = generator(key)
    planted = draw.standard_normal(6)
    weights = planted + np.concatenate([np.zeros((1, 6)), draw.standard_normal((3, 6)) / 2])
    x = draw.uniform(size=trials)
    features = legendre_features(x, 5)
    # `tilt` gives the noise a mean that depends on x, which is then part of the signal.
    labels = features @ planted + noise**0.5 * draw.standard_normal(trials) + tilt * features[:, 1]
    losses = (labels - weights @ features.T) ** 2
    predicted = noise + np.asarray(excess_risk(weights, planted, np.eye(6)))
    shapes, repeats = np.array([[6, 20], [6, 16], [3, 20], [2, 12]]), trials // 20
    residual = np.empty((len(shapes), repeats))
    for i, (p, n) in enumerate(shapes):
        rows = legendre_features(draw.uniform(size=n * repeats), int(p) - 1).reshape(repeats, n, p)
        answers = rows @ planted[:p] + noise**0.5 * draw.standard_normal((repeats, n))
        fitted = (np.linalg.pinv(rows) @ answers[..., None])[..., 0]
        residual[i] = ((answers - (rows @ fitted[..., None])[..., 0]) ** 2).mean(1)
    p, n = shapes.T
    return {
        "risk of the planted predictor": Law(predicted[:1], losses[:1], exact=True),
        "risk of other predictors": Law(predicted[1:], losses[1:], exact=True),
        "residual of the fit": Law(
            noise * (1 - p / n), residual, exact=True, along={"samples": n}, aside={"noise": noise, "p": p}
        ),
    }


planted_risk.control("noise whose mean depends on x", of="risk of the planted predictor", tilt=0.4, trials=20_000)


@planted_risk.control("the empirical risk of the fitted weights taken for σ²", of="residual of the fit")
def unbiased_training(evidence):
    return replace(evidence, predicted=np.full(np.shape(evidence.predicted), evidence.aside["noise"]))


@planted_risk.control("n − p − 1 directions of the noise left", of="residual of the fit")
def one_direction_less(evidence):
    left = np.asarray(evidence.along["samples"]) - evidence.aside["p"]
    return replace(evidence, predicted=evidence.predicted * (left - 1) / left)


@planted_risk.picture
def risk_by_distance(pieces, settings):
    """Mean loss on fresh labels by distance from the planted weights, and of fitted weights on their own samples."""
    noise = settings["noise"]
    planted, others, fitted = pieces.values()
    distances = np.append(0.0, np.asarray(others.predicted) - noise)
    return Curves(
        [
            Line("fresh labels", distances, noise + distances),
            seen("fresh labels", distances[:1], planted.observed),
            seen("fresh labels", distances[1:], others.observed),
            Line("the sample fitted to", distances[[0, -1]], np.repeat(fitted.predicted[:1], 2)),
            seen("the sample fitted to", np.zeros(1), np.asarray(fitted.observed)[:1]),
            Line("", distances[[0, -1]], np.repeat(noise, 2), rival="σ² on the sample fitted to as well"),
        ],
        x="squared distance from the planted weights",
        y="mean squared error",
        ys=(0, 1.05 * (noise + distances.max())),
    )


def weights_from_labels(x):
    """The matrix of minimum-norm least squares, from the smaller of the two Gram matrices."""
    flipped = np.swapaxes(x, -1, -2)
    if x.shape[-1] <= x.shape[-2]:
        return np.linalg.solve(flipped @ x, flipped)
    return np.swapaxes(np.linalg.solve(x @ flipped, x), -1, -2)


@claim(
    items={
        "L13.5": (
            "risk far from the threshold",
            "risk near the threshold",
            "bias above the threshold",
            "no bias below the threshold",
            "variance",
            "place of the peak",
        ),
        "J7.10": ("place of the peak", "without noise", "what makes the peak"),
    },
    says=r"Minimum-norm least squares on the first $p$ of 128 Gaussian features and $n=32$ samples has most variance "
    r"at $p=n$ and the exact mean risk $(\|w_{out}\|^2+\sigma^2)(1+\frac p{n-p-1})$ below, $\|w_{in}\|^2(1-\frac "
    r"np)+(\|w_{out}\|^2+\sigma^2)(1+\frac n{p-n-1})$ above: noise, bias and variance.",
    needs=r"independent standard normal features; $|p-n|\ge2$ for a finite mean; $\|w\|=1$ and noise of variance ¼ "
    r"for the peak and the cut",
    symbols={
        r"p": "the number of features used",
        r"n": "the number of samples",
        r"w_{in},\ w_{out}": "the coefficients of the features that are used, and of the others",
        r"\sigma^2": "the variance of the noise",
    },
    why=r"Features left out are noise to those that are used. What it does is divided by the singular values of the "
    r"design, and at $p=n$ the least of them is close to zero. Three things must meet for the peak: noise, small "
    r"singular values, and test inputs along their directions. Without noise nothing is left of the excess risk there; "
    r"with singular values below $\sqrt n/4$ cut off, or test inputs without a share along them, less than a fifth, in "
    r"the mean of its logarithm.",
    notice=r"The bias falls up to $p=n$ and stays level beyond, where every further feature brings as much signal as "
    r"is missed of it; all of the peak is variance. Beyond it more features spread the noise over more directions, and "
    r"the risk ends below where it began.",
    full=dict(trials=4000),
)
def bias_and_variance_across_the_threshold(
    key, *, trials: Trials = 1800, noise: Positive = 0.25, ridge: Annotated[float, Interval(ge=0, le=100)] = 0.0
):
    draw = generator(key)
    x = draw.standard_normal((trials, SAMPLES, COORDINATES))
    weights = draw.choice([-1.0, 1.0], COORDINATES) / COORDINATES**0.5
    features = np.array(CHECKED)
    parts, exact = np.empty((2, len(features), trials)), np.empty((2, len(features)))
    for i, p in enumerate(features):
        inverse, share = weights_from_labels(x[..., :p]), p / COORDINATES
        # The features left out stay what they are, part of the labels; the label noise is integrated out.
        fitted = ((inverse @ (x[..., p:] @ weights[p:])[..., None]) ** 2).sum((1, 2)) + noise * (inverse**2).sum((1, 2))
        missed = weights[:p] - (inverse @ (x[..., :p] @ weights[:p])[..., None])[..., 0]
        parts[:, i] = 1 - share + (missed**2).sum(1), fitted
        found = gaussian_bias_variance(SAMPLES, int(p), signal=share, noise=1 - share + noise)
        exact[:, i] = 1 - share + float(found.bias), float(found.variance)
    peaks = []
    for p in PEAK:
        singular = np.linalg.svd(x[:100, :, :p], compute_uv=False)
        peaks.append(np.median(((singular / (singular**2 + ridge)) ** 2).sum(1)))
    # A well-specified model at p = n: what the noise does along each singular direction, and three ways to stop it.
    left, singular, right = np.linalg.svd(x[..., :SAMPLES])
    shares = (np.swapaxes(left, 1, 2) @ draw.standard_normal((trials, SAMPLES, 1)))[..., 0] * noise**0.5 / singular
    signal = (right @ weights[:SAMPLES, None])[..., 0]
    small = singular < SAMPLES**0.5 / 4
    whole = (shares**2).sum(1)
    cut = (np.where(small, signal, shares) ** 2).sum(1)
    apart = (np.where(small, 0.0, shares) ** 2).sum(1)
    noiseless = (np.linalg.solve(x[:50, :, :SAMPLES], (x[:50, :, :SAMPLES] @ weights[:SAMPLES])[..., None]))[..., 0]
    far, near = np.abs(features - SAMPLES) >= 16, np.abs(features - SAMPLES) < 16
    above = features > SAMPLES
    risk = np.array(
        [
            gaussian_prediction_risk(SAMPLES, int(p), inside=share, outside=1 - share, noise=noise)
            for p, share in zip(features, features / COORDINATES, strict=True)
        ]
    )
    total, along = parts.sum(0) + noise, {"features": features}
    return {
        "risk far from the threshold": Law(risk[far], total[far], along={"features": features[far]}, exact=True),
        # Eight to twelve features from the threshold risks are heavy-tailed: a fifth is what a quick run resolves.
        "risk near the threshold": Law(
            risk[near],
            total[near],
            along={"features": features[near]},
            exact=True,
            resolution=0.2,
            aside={"noise": noise},
        ),
        "bias above the threshold": Law(
            exact[0, above], parts[0, above], along={"features": features[above]}, exact=True
        ),
        "no bias below the threshold": Identity(parts[0, ~above], exact[0, ~above, None], scale=1.0, condition=1e6),
        "variance": Law(exact[1], parts[1], along=along, exact=True, resolution=0.2, aside={"noise": noise}),
        "place of the peak": Exact(np.array([PEAK[int(np.argmax(peaks))]]), np.array([SAMPLES])),
        "without noise": Identity(
            noiseless, np.broadcast_to(weights[:SAMPLES], noiseless.shape), scale=1.0, condition=1e6
        ),
        "what makes the peak": Trend(
            np.log(whole / 5) - np.log([cut, apart]), along={"without": np.array(["values", "overlap"])}
        ),
    }


@bias_and_variance_across_the_threshold.control("unused features missed but not fitted as noise", of="variance")
def only_label_noise(evidence):
    share, noise = evidence.along["features"] / COORDINATES, evidence.aside["noise"]
    return replace(evidence, predicted=evidence.predicted * noise / (1 - share + noise))


@bias_and_variance_across_the_threshold.control("p/(n − p) in place of p/(n − p − 1)", of="risk near the threshold")
def limit_at_finite_size(evidence):
    p, noise = evidence.along["features"], float(evidence.aside["noise"])
    share = p / COORDINATES
    limits = [
        limiting_bias_variance(q / SAMPLES, signal=each, noise=1 - each + noise).risk
        for q, each in zip(p, share, strict=True)
    ]
    return replace(evidence, predicted=np.array(limits, float) + 1 - share + noise)


bias_and_variance_across_the_threshold.control("with a ridge of 20", of="place of the peak", ridge=20.0, trials=100)


@bias_and_variance_across_the_threshold.control("less than a hundredth is left of the peak", of="what makes the peak")
def next_to_nothing(evidence):
    return replace(evidence, differences=np.asarray(evidence.differences) - np.log(20))


@bias_and_variance_across_the_threshold.picture
def dots_line_threshold(pieces):
    """Measured risk, bias and variance as dots, their exact means as lines, and the threshold."""
    known = (
        pieces["risk far from the threshold"].predicted[0],
        pieces["variance"].predicted[0],
        pieces["no bias below the threshold"].right[0, 0],
    )
    noise = float(known[0] - known[1] - known[2])
    grid = np.arange(2, COORDINATES + 1)
    lines = np.full((3, len(grid)), np.nan)
    for place in np.flatnonzero(abs(grid - SAMPLES) > 2):
        share = grid[place] / COORDINATES
        found = gaussian_bias_variance(SAMPLES, int(grid[place]), signal=share, noise=1 - share + noise)
        lines[1:, place] = 1 - share + float(found.bias), float(found.variance)
    lines[0] = lines[1] + lines[2] + noise
    marks: list[Any] = [Line(part, grid, line) for part, line in zip(("risk", "bias", "variance"), lines, strict=True)]
    for name, part in (
        ("risk far from the threshold", "risk"),
        ("risk near the threshold", "risk"),
        ("variance", "variance"),
        ("bias above the threshold", "bias"),
    ):
        marks.append(seen(part, pieces[name].along["features"], pieces[name].observed))
    return Curves([*marks, Level("p = n", x=SAMPLES)], x="features p", y="squared error", log="y", ys=(0.05, 30))


def least_law(samples, at):
    """P[n² λ_min ≤ x] for a square Gaussian matrix of n rows: Edelman's density, by Gauss's rule in √λ."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.sqrt(at / samples)[:, None]
    root = (nodes + 1) / 2 * ends
    scale = samples / np.sqrt(2 * np.pi) * scipy.special.gamma((samples + 1) / 2)
    tricomi = scipy.special.hyperu((samples - 1) / 2, -0.5, root**2 / 2)
    return (2 * scale * np.exp(-samples * root**2 / 2) * tricomi * ends) @ weights / 2


@claim(
    items={
        "L13.6": (
            "least eigenvalue below the threshold",
            "least eigenvalue above the threshold",
            "law of the least eigenvalue",
            "approach to the law of the hard edge",
            "order of the least eigenvalue",
            "law of the inverse's diagonal",
            "inverse without a mean",
        )
    },
    says=r"The least nonzero eigenvalue of $\bar\Sigma$ tends to $(1-\sqrt\gamma)^2$ on both sides of the threshold. "
    r"At $p=n$ it is of order $n^{-2}$: $n^2\lambda_{min}$ has the law $1-e^{-x/2-\sqrt x}$ up to $O(1/n)$, and "
    r"$(\Phi^\top\Phi)^{-1}$ has no mean for $p=n-1$ and $p=n$.",
    needs="Gaussian features",
    symbols={
        r"\bar\Sigma": "the sample covariance of $p$ features",
        r"\gamma": "features per sample, $p/n$",
        r"n": "the number of samples",
        r"\lambda_{min}": "the least eigenvalue at $p=n$",
        r"x": r"the value of $n^2\lambda_{min}$",
        r"\Phi": "the design, $n\\times p$",
        r"\chi^2_k": "the sum of the squares of $k$ standard normal variables",
    },
    why=r"A column of the design keeps, after projection off the others, $n-p+1$ coordinates, and an entry of the "
    r"diagonal of the inverse is one over their squared length, $1/\chi^2_{n-p+1}$. At $p=n$ that is a single "
    r"Gaussian: it can be as near to zero as it likes, so the inverse exists, but has no mean. With $n$ columns one "
    r"of them is near zero, and $n^2\lambda_{min}$ keeps a law without a gap at zero.",
    notice=r"The least eigenvalue of square designs, in units of $n^{-2}$, follows the law of the hard edge; most mass "
    r"is near zero, and there the density has no bound.",
    full=dict(trials=64_000),
)
def conditioning_at_the_threshold(
    key, *, trials: Trials = 18_000, sizes: Sizes = (100, 200, 400), columns: Literal["square", "two less"] = "square"
):
    draw = generator(key)
    edges, few = {}, max(trials // 60, 8)
    for name, gamma in (("least eigenvalue below the threshold", 0.16), ("least eigenvalue above the threshold", 6.25)):
        least = np.empty((len(sizes), few))
        for i, larger in enumerate(sizes):
            n = larger if gamma < 1 else round(larger / gamma)
            designs = draw.standard_normal((few, min(n, round(gamma * n)), larger))
            # Nonzero eigenvalues of the two Gram matrices are the same; the smaller one has no others.
            least[i] = np.linalg.eigvalsh(designs @ np.swapaxes(designs, 1, 2))[:, 0] / n
        edges[name] = Law(marchenko_pastur_edges(gamma)[0], least, sizes=sizes, order=2 / 3, resolution=0.1)
    squares = draw.standard_normal((trials, 20, 20 if columns == "square" else 18))
    least = np.linalg.svd(squares, compute_uv=False)[:, -1] ** 2 / 20
    grown = np.array([4, 12, 36])
    orders = [np.linalg.svd(draw.standard_normal((trials // 6, n, n)), compute_uv=False)[:, -1] ** 2 / n for n in grown]
    # Ranks of 1/((ΦᵀΦ)⁻¹)₁₁ in its law; at p = n that of χ²₁, whose inverse has no mean.
    inverses = np.linalg.inv(np.swapaxes(squares, 1, 2) @ squares)[:, 0, 0]
    tall = draw.standard_normal((trials, 12, 8))
    entries = np.linalg.inv(np.swapaxes(tall, 1, 2) @ tall)[:, 0, 0]
    # P(1/χ²₁ > t) = erf(1/√(2t)) falls like t^{−1/2}: too slowly for a mean.
    beyond = np.array([10.0, 40.0])
    many, at = 2 ** np.arange(2, 9), np.linspace(0.02, 12, 60)
    return edges | {
        "law of the least eigenvalue": Distribution(hard_edge_cdf(400 * least)),
        "approach to the law of the hard edge": Limit(
            many, [np.max(np.abs(least_law(int(n), at) - hard_edge_cdf(at))) for n in many], order=1.0
        ),
        "order of the least eigenvalue": Rate(grown, np.array(orders), exponent=-2.0),
        "law of the inverse's diagonal": Distribution(scipy.stats.chi2.cdf(1 / entries, 12 - 8 + 1)),
        "inverse without a mean": Share(
            np.array([np.sum(inverses > t) for t in beyond]),
            trials,
            scipy.stats.chi2.cdf(1 / beyond, 1),
            resolution=0.2,  # a tail of one in eight
            along={"beyond": beyond},
        ),
    }


conditioning_at_the_threshold.control(
    "two features fewer than samples", of="law of the least eigenvalue", columns="two less", trials=2000
)


@conditioning_at_the_threshold.control(
    "λ_min of order 1/n, as s_min ~ n^(−1/2) of the matrix itself", of="order of the least eigenvalue"
)
def singular_value_order(evidence):
    return replace(evidence, exponent=-1.0)


@conditioning_at_the_threshold.control("n − p degrees of freedom", of="law of the inverse's diagonal")
def one_degree_less(evidence):
    inverted = scipy.stats.chi2.ppf(evidence.ranks, 5)
    return replace(evidence, ranks=scipy.stats.chi2.cdf(inverted, 4))


@conditioning_at_the_threshold.control("the edge 1 − √γ, not squared", of="least eigenvalue below the threshold")
def unsquared_edge(evidence):
    return replace(evidence, predicted=evidence.predicted**0.5)


@conditioning_at_the_threshold.control("the law of the limit up to O(1/n²)", of="approach to the law of the hard edge")
def second_order(evidence):
    return replace(evidence, order=2.0)


@conditioning_at_the_threshold.picture
def hard_edge(pieces):
    """The least eigenvalue of 20 × 20 Gaussian designs, times n², under the density of the hard edge."""
    ranks = np.clip(np.asarray(pieces["law of the least eigenvalue"].ranks), 0.0, 1 - 1e-12)
    # 1 − rank = e^(−x/2 − √x), solved for √x.
    values = (np.sqrt(1 - 2 * np.log1p(-ranks)) - 1) ** 2
    grid = np.linspace(0.02, 8, 200)
    density = (0.5 + 0.5 / np.sqrt(grid)) * np.exp(-grid / 2 - np.sqrt(grid))
    return Histogram(
        [Line("½(1 + 1/√x) exp(−x/2 − √x)", grid, density)],
        samples=values[values < 8],
        bins=60,
        area=float(np.mean(values < 8)),
        x="n² λ_min",
        y="density",
        ys=(0, 2.5),
    )
