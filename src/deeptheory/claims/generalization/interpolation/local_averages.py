"""Local averages: the U-curve of bias and variance, neighbours, and kernel averages that interpolate and still learn.

jagannath Ch. 5, handbook 13.1.
"""

import itertools
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval
from scipy.spatial.distance import pdist

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.nadaraya_watson import (
    averaging_weights,
    box_kernel,
    nadaraya_watson_weights,
    singular_kernel,
    slope_at_data,
)
from deeptheory.generalization.interpolation.nearest_neighbours import (
    ball_volume,
    expected_nearest_distance,
    nearest_distances,
    neighbour_weights,
)
from deeptheory.generalization.interpolation.ridgeless import gaussian_bias_variance, ols_variance
from deeptheory.generalization.interpolation.smoothers import (
    optimism,
    polynomial_smoother,
    smoother_bias_variance,
    training_error,
)
from deeptheory.lab import Chain, Identity, Law, Positive, Rate, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen

Points = Annotated[int, Interval(ge=12, le=400)]
DEGREES = tuple(range(12))


def unit_noise(samples):
    """2n noise vectors ±√n eᵢ: their mean is zero and their covariance the identity, exactly and without drawing."""
    return samples**0.5 * np.concatenate([np.eye(samples), -np.eye(samples)])


def wave(x):
    """The function to be learned in the examples on [0, 1]."""
    return np.sin(7 * x) + x


@claim(
    items={
        "J5.1": ("test", "training", "averages", "fresh", "U", "neighbours"),
        "H13.1": ("test", "training", "averages", "fresh", "U", "least squares"),
    },
    says=r"The expected error on a fresh label is noise plus squared bias plus variance. At the training inputs a "
    r"polynomial with $p$ coefficients has variance $\sigma^2p/n$, which grows, and a bias that falls: a U-shaped "
    r"curve. Fresh labels there are missed by $2\sigma^2\operatorname{tr}S/n$ more than the old ones by predictions "
    r"$Sy$.",
    needs="noise of mean zero and variance σ², independent across labels",
    symbols={
        r"p": "the number of coefficients, one more than the degree",
        r"n": "the number of training inputs, 30 here",
        r"\sigma^2": "the variance of the noise",
        r"S": r"the matrix from labels to predictions; its trace is $p$ for least squares",
        r"y": "the labels of the sample",
    },
    why=r"The label's own noise, the miss of the average prediction and the prediction's fluctuation are uncorrelated, "
    r"so their squares add. A projection on $p$ functions keeps $p$ of $n$ directions of the noise. The fit has seen "
    r"the old labels: their noise and that of the predictions are correlated, which makes the training error too small "
    r"by $2\sigma^2\operatorname{tr}S/n$; for weighted averages of neighbours alike. Gaussian features at fresh inputs "
    r"cost $\sigma^2p/(n-p-1)$ instead.",
    notice=r"Bias falls and variance rises with the degree: their sum has its least value in the middle. The training "
    r"error falls all the way and says nothing about it.",
    explore={"noise": (0.05, 0.25, 0.6), "points": (20, 30, 60)},
    full=dict(trials=20_000),
)
def bias_variance_curve(
    key,
    *,
    points: Annotated[int, Interval(ge=20, le=400)] = 30,
    noise: Annotated[float, Interval(ge=0.01, le=0.6)] = 0.25,
    trials: Trials = 4000,
):
    draw = generator(key)
    x, at = np.sort(draw.uniform(size=points)), draw.uniform(size=25)
    truth, target = wave(x), wave(at)
    labels = truth + noise**0.5 * unit_noise(points)
    errors, split, own, residual = (np.empty((len(DEGREES), *shape)) for shape in ((25,), (25,), (2,), ()))
    predicted, curve = np.empty(len(DEGREES)), np.empty((2, len(DEGREES)))
    new = truth + noise**0.5 * draw.standard_normal((trials, points))
    fresh = truth + noise**0.5 * draw.standard_normal((trials, points))
    misses = np.empty((len(DEGREES), trials))
    for i, degree in enumerate(DEGREES):
        fitted = np.polynomial.Chebyshev.fit  # another basis and another solver than the room's
        answers = np.array([fitted(x, each, degree, domain=[0, 1])(at) for each in labels])
        errors[i] = ((answers - target) ** 2).mean(0)
        split[i] = smoother_bias_variance(polynomial_smoother(x, at, degree=degree), truth, target, noise).risk
        hat = polynomial_smoother(x, x, degree=degree)
        found = smoother_bias_variance(hat, truth, truth, noise)
        curve[:, i] = np.mean(found.bias), np.mean(found.variance)
        residual[i] = np.mean((labels - labels @ hat.T) ** 2)
        own[i] = training_error(hat, truth, noise), noise + np.mean(found.risk) - optimism(hat, noise)
        misses[i] = np.mean((fresh - new @ hat.T) ** 2, axis=1)
        predicted[i] = noise + np.mean(found.risk)
    # Neighbours at the inputs themselves: k = 1 interpolates, k = n is flat.
    counts = np.arange(1, points + 1)
    near = [neighbour_weights(x[:, None], x[:, None], neighbours=int(k)) for k in counts]
    parts = np.array([[np.mean(p) for p in smoother_bias_variance(each, truth, truth, noise)] for each in near])
    by_labels = [np.mean((labels @ each.T - truth) ** 2) for each in near]
    # Bell-shaped weights: unlike projections and plain averages they have ‖S‖² ≠ tr S.
    averages = [
        nadaraya_watson_weights(x[:, None], x[:, None], kernel=lambda u: np.exp(-(u**2)), bandwidth=h)
        for h in (0.02, 0.1, 0.5)
    ]
    old, new_labels = ([np.mean((answer - labels @ each.T) ** 2) for each in averages] for answer in (labels, truth))
    stated = [(training_error(each, truth, noise), optimism(each, noise)) for each in averages]
    designs = draw.standard_normal((trials, 20, 8))
    # Random points leave gaps, and the largest condition number of the fits grows with the degree.
    shared: dict[str, Any] = dict(condition=1e6, size=float(points))
    along, coefficients = {"degree": np.array(DEGREES)}, 1 + np.array(DEGREES)
    best = np.min(curve.sum(0))
    return {
        "test": Identity(errors, split, scale=np.max(np.abs(errors), 1, keepdims=True), along=along, **shared),
        "training": Identity(
            np.stack([residual, residual], 1),
            own,
            along=along,
            aside={"optimism": noise * coefficients / points},
            **shared,
        ),
        "averages": Identity(
            np.transpose([old, noise + np.array(new_labels) - old]), np.array(stated), scale=1.0, size=float(points)
        ),
        "fresh": Law(predicted, misses, along=along, exact=True, aside={"noise": noise, "parts": curve}),
        "U": Chain(
            {
                "bias falls": (curve[0, 1:], curve[0, :-1] + 1e-12),
                "variance is σ²p/n": (curve[1], noise * coefficients / points + 1e-12),
                "and no less": (noise * coefficients / points - 1e-12, curve[1]),
                "too simple": (best, curve.sum(0)[0] / 2),
                "too rich": (best, curve.sum(0)[-1] / 1.2),
            },
            aside={"one fewer": noise * (coefficients - 1) / points},
        ),
        "neighbours": Identity(
            np.stack([by_labels, parts[:, 1]]),
            np.stack([parts.sum(1), noise / counts]),
            scale=np.max(by_labels),
            size=float(points),
        ),
        "least squares": Law(
            np.array(gaussian_bias_variance(20, 8, noise=noise).variance),
            np.asarray(ols_variance(designs, np.eye(8), noise)),
            exact=True,
            aside={"fixed design": noise * 8 / 20},
        ),
    }


@bias_variance_curve.control("the noise of the fresh label forgotten", of="fresh")
def without_noise(evidence):
    return replace(evidence, predicted=evidence.predicted - evidence.aside["noise"])


@bias_variance_curve.control(
    "σ²p/n, the variance at the training inputs, for fresh Gaussian features", of="least squares"
)
def fixed_design_variance(evidence):
    return replace(evidence, predicted=np.array(evidence.aside["fixed design"]))


@bias_variance_curve.control("training error lower by σ²p/n only", of="training")
def half_the_optimism(evidence):
    return replace(evidence, right=evidence.right + evidence.aside["optimism"][:, None] * np.array([0, 1]))


@bias_variance_curve.control("as many coefficients as the degree, one fewer than there are", of="U")
def one_coefficient_fewer(evidence):
    variance = evidence.links["variance is σ²p/n"][0]
    return replace(evidence, links={"variance is σ²k/n": (variance, evidence.aside["one fewer"])})


@bias_variance_curve.picture
def u_curve(pieces):
    """Squared bias, variance, training error and error on fresh labels against the degree; dots are means of draws."""
    fresh, training = pieces["fresh"], pieces["training"]
    degree, (bias, variance) = fresh.along["degree"], np.asarray(fresh.aside["parts"])
    return Curves(
        [
            Line("squared bias", degree, bias),
            Line("variance", degree, variance),
            Line("error on fresh labels", degree, fresh.predicted),
            seen("error on fresh labels", degree, fresh.observed),
            Line("training error", degree, np.asarray(training.left)[:, 0], dashed=True),
        ],
        x="degree of the polynomial",
        y="squared error at the training inputs",
        ys=(0, 1.2 * float(np.max(fresh.predicted))),
    )


@claim(
    items={"J5.2": ("parts", "resampled", "interpolates", "one neighbour")},
    says=r"Given the inputs, the average of the $k$ nearest responses misses a fresh label by $\sigma^2+(f(x_0)-\frac1k"
    r"\sum_\ell f(x_{(\ell)}))^2+\frac{\sigma^2}k$; with $k=1$ it interpolates and has variance $\sigma^2$, "
    r"$2\sigma^2$ and a bias in all.",
    needs="responses of independent noise with mean zero; no ties among distances",
    full=dict(trials=100_000),
)
def neighbour_average_splits(
    key, *, trials: Trials = 30_000, noise: Positive = 0.25, averaged: Literal["responses", "values"] = "responses"
):
    draw = generator(key)
    counts = np.array([1, 2, 5, 20, 200])
    x, at = draw.uniform(size=(200, 2)), draw.uniform(0.1, 0.9, (1, 2))
    truth, target = wave(x.sum(1)), wave(at.sum(1))
    nearest = np.argsort(((x - at) ** 2).sum(1))

    def fits(labels):
        """Running means of the responses from the nearest point outwards."""
        return (np.cumsum(labels[..., nearest], -1) / np.arange(1, 201))[..., counts - 1]

    spread = noise**0.5 if averaged == "responses" else 0.0
    exact = fits(truth + spread * unit_noise(200))
    drawn = fits(truth + spread * draw.standard_normal((trials, 200)))
    # A fresh label above and below the target by its deviation: the mean over its noise.
    misses = np.mean([(target + sign * noise**0.5 - drawn) ** 2 for sign in (-1, 1)], axis=0)
    weights = [neighbour_weights(x, at, neighbours=int(k)) for k in counts]
    found = [smoother_bias_variance(each, truth, target, noise) for each in weights]
    bias, variance = (np.array([float(np.asarray(each[part])[0]) for each in found]) for part in (0, 1))
    inside = neighbour_weights(x, x, neighbours=1) @ (labels := truth + spread * draw.standard_normal(200))
    along = {"neighbours": counts}
    return {
        "parts": Identity(
            np.stack([(exact.mean(0) - target) ** 2, exact.var(0)]),
            np.stack([bias, variance]),
            scale=np.max(exact**2),
            size=200.0,
            along={"part": np.array(["bias", "variance"]), **along},
        ),
        "resampled": Law(noise + bias + variance, misses.T, along=along, exact=True, aside={"noise": noise}),
        "interpolates": Identity(inside, labels),
        "one neighbour": Identity(((exact[:, 0] - target) ** 2).mean() + noise, 2 * noise + bias[0], size=200.0),
    }


neighbour_average_splits.control("the average of the values f(x₍ₗ₎)", of="parts", averaged="values", trials=8)


@neighbour_average_splits.control("variance σ²/k², that of a sum of k shares", of="resampled")
def squared_count(evidence):
    k, noise = evidence.along["neighbours"], evidence.aside["noise"]
    return replace(evidence, predicted=evidence.predicted - noise / k + noise / k**2)


@claim(
    items={"J5.3": ("weights", "empty", "at the data", "approach"), "J5.4": ("at the data", "approach", "slope")},
    says=r"The Nadaraya–Watson average with $K(u)=\|u\|^{-a}1(\|u\|\le1)$ has weights of sum one, is $Y_i$ at $X_i$ "
    r"for every bandwidth, and $f_n(x)-Y_i$ vanishes like $\|x-X_i\|^a$ with the coefficient "
    r"$h^{-a}\sum_{j\ne i}(Y_j-Y_i)K_h(X_j-X_i)$; where no point is within $h$ it is zero.",
    needs="distinct data points",
    symbols={
        r"K": "the kernel, singular at zero and zero beyond distance 1",
        r"a": "its exponent, 0.7 here",
        r"X_i,\ Y_i": "the data points and their labels",
        r"f_n": "the average of the labels with weights in proportion to $K_h(X_j-x)$",
        r"h": "the bandwidth; $K_h(u)=K(u/h)$",
    },
    why=r"Near $X_i$ the weight of $Y_i$ grows without limit while all others stay finite, so the average tends to "
    r"$Y_i$, whatever the bandwidth and however many points are within it. What the others pull is their weight over "
    r"that of $Y_i$, $(\|x-X_i\|/h)^a$ times a sum that does not depend on $x$ to leading order.",
    notice=r"Left: along a line through two data points the average has cusps that reach the labels exactly; with a "
    r"box in place of the singular kernel it passes by. Right: how it approaches a label, with the power $a$ of the "
    r"distance.",
    explore={"exponent": (0.5, 0.7, 1.0, 2.0)},
)
def singular_average_interpolates(
    key,
    *,
    points: Points = 60,
    exponent: Annotated[float, Interval(ge=0.5, le=3.0)] = 0.7,
    kernel: Literal["singular", "box"] = "singular",
):
    draw = generator(key)
    # In clusters of two or three, at most 0.15 from the middle: each has a neighbour within 0.3, the first bandwidth.
    middles = np.resize(draw.uniform(size=(points // 2, 2)), (points, 2))
    offsets = 0.15 * draw.uniform(size=(points, 1)) ** 0.5
    around = draw.uniform(0, 2 * np.pi, (points, 1))
    x, y = middles + offsets * np.hstack([np.cos(around), np.sin(around)]), draw.standard_normal(points)
    bandwidths = np.array([0.003, 0.03, points**-0.5, points**-0.25, 1.0, 10.0])
    shape = singular_kernel(exponent) if kernel == "singular" else box_kernel
    at = draw.uniform(size=(400, 2))
    sums, there, void, outside = [], [], [], []
    for h in bandwidths:
        weights = nadaraya_watson_weights(x, at, kernel=shape, bandwidth=float(h))
        empty = np.all(np.linalg.norm(at[:, None] - x, axis=2) > h, axis=1)
        sums.append(weights.sum(1))
        void.append(1.0 - empty)
        outside.append(np.max(np.abs(weights @ y)[empty], initial=0.0))
        there.append(nadaraya_watson_weights(x, x, kernel=shape, bandwidth=float(h)) @ y)
    steps = 10.0 ** -np.arange(3.0, 16.0, 3)
    turn = draw.uniform(0, 2 * np.pi, points)
    direction = np.stack([np.cos(turn), np.sin(turn)], 1)
    # The rate at which a neighbourhood of the data is reached, and what multiplies it, at two bandwidths.
    gaps, slopes = np.empty((2, 5, points)), np.empty((2, points))
    for i, h in enumerate((0.3, 2.0)):
        slopes[i] = slope_at_data(x, y, exponent=exponent, bandwidth=h)
        for j, step in enumerate(steps):
            # Distances to the own point are given, not subtracted, so that they may be far below rounding of x.
            lengths = np.linalg.norm(x[:, None] + step * direction[:, None] - x, axis=2)
            np.fill_diagonal(lengths, step)
            gaps[i, j] = (averaging_weights(shape(lengths / h)) * (y - y[:, None])).sum(1)
    # Along the line through two points of one cluster, with the singular kernel and with a box.
    ways = np.sort(
        np.concatenate([np.linspace(-1, 2, 301), np.geomspace(1e-6, 0.1, 30), 1 - np.geomspace(1e-6, 0.1, 30)])
    )
    pair = np.array([0, points // 2])
    line = x[pair[0]] + ways[:, None] * (x[pair[1]] - x[pair[0]])
    courses = [
        nadaraya_watson_weights(x, line, kernel=each, bandwidth=0.5) @ y
        for each in (singular_kernel(exponent), box_kernel)
    ]
    lasting = np.abs(slopes).min(1) > 0
    assume(bool(lasting.all()), "every point has a neighbour within the smaller bandwidth")
    far = gaps[:, -1] / steps[-1] ** exponent
    return {
        "weights": Identity(np.array(sums), np.array(void), size=float(points)),
        "empty": Identity(np.array(outside), 0.0, scale=1.0),
        "at the data": Identity(
            np.array(there),
            np.broadcast_to(y, (6, points)),
            scale=1.0,
            along={"h": bandwidths},
            aside={"way": ways, "courses": np.array(courses), "labels": y[pair]},
        ),
        "approach": Rate(steps, np.abs(gaps[0]).mean(1), exponent=exponent, resolution=0.05, rivals=(2 * exponent,)),
        # The next term is smaller by (ε/h)^a times the kernel sum of the others.
        "slope": Identity(
            far,
            slopes,
            scale=np.max(np.abs(slopes), 1, keepdims=True),
            error=1e-5 * np.max(np.abs(slopes)),
            aside={"power": np.array([[0.3], [2.0]]) ** exponent},
        ),
    }


singular_average_interpolates.control("the same with a bounded kernel", of="at the data", kernel="box")


@singular_average_interpolates.control("a coefficient without the power of the bandwidth", of="slope")
def unscaled_slope(evidence):
    return replace(evidence, right=evidence.right * evidence.aside["power"])


@singular_average_interpolates.picture
def cusps(pieces, settings):
    """The average along a line through two data points, with a singular kernel and with a box; and the mean distance
    from a label against the distance from its data point."""
    aside, approach = pieces["at the data"].aside, pieces["approach"]
    singular, box = np.asarray(aside["courses"])
    steps, gaps = np.asarray(approach.x), np.asarray(approach.y)
    return Row(
        [
            Curves(
                [
                    Line("singular kernel", aside["way"], singular),
                    Line("box", aside["way"], box, rival="a bounded kernel"),
                    Dots("labels", [0.0, 1.0], aside["labels"]),
                ],
                x="place on the line, in distances of the two points",
                y="average",
            ),
            Curves(
                [
                    Line("power a", steps, gaps[-1] * (steps / steps[-1]) ** settings["exponent"]),
                    Dots("observed", steps, gaps),
                ],
                x="distance from a data point",
                y="mean distance from its label",
                log="xy",
            ),
        ]
    )


@claim(
    items={"J5.10": ("torus", "few", "line", "plane", "space", "any two")},
    says=r"Among $n$ uniform points of the unit cube the nearest one is at a distance of order $n^{-1/d}$, on the "
    r"torus $v_d^{-1/d}\Gamma(1+\frac1d)\frac{\Gamma(n)}{\Gamma(n+1/d)}$ on average, up to the chance that none is "
    r"within ½; the mean distance of two points does not shrink.",
    needs="independent uniform points",
)
def nearest_spacing(key, *, sizes: Sizes = (100, 300, 1000, 3000), trials: Trials = 32):
    draw = generator(key)
    torus, cube = np.empty((2, 3, len(sizes), trials))
    exact = np.array([[expected_nearest_distance(n, d) for n in sizes] for d in (1, 2, 3)])
    pairs = np.empty((len(sizes), trials))
    for d, (i, n), trial in itertools.product((1, 2, 3), enumerate(sizes), range(trials)):
        # Small clouds vary more: a trial is the mean of as many as make up the largest size.
        clouds = draw.uniform(size=(max(sizes) // n, n, d))
        torus[d - 1, i, trial] = np.mean([nearest_distances(x, torus=True).mean() for x in clouds])
        cube[d - 1, i, trial] = np.mean([nearest_distances(x).mean() for x in clouds])
        if d == 2:
            pairs[i, trial] = pdist(clouds[0, :: max(n // 100, 1)]).mean()
    # All places of the torus are alike: one of the few points may be taken for the middle of the cube.
    few = ((2, 1), (6, 2), (12, 3))
    nearest = [np.linalg.norm(draw.uniform(-0.5, 0.5, (2000 * trials, n - 1, d)), axis=2).min(1) for n, d in few]
    grown = np.array(sizes)
    return {
        "few": Law(np.array([expected_nearest_distance(n, d) for n, d in few]), np.array(nearest), exact=True),
        "torus": Law(exact, torus, along={"dimension": np.array([1, 2, 3]), "points": grown}, exact=True),
        # The share of the points that lie at the boundary falls like n^(−1/d).
        "line": Rate(grown, cube[0], exponent=-1.0, resolution=0.1, order=1.0),
        "plane": Rate(grown, cube[1], exponent=-0.5, resolution=0.1, order=0.5),
        "space": Rate(grown, cube[2], exponent=-1 / 3, resolution=0.1, order=1 / 3),
        "any two": Rate(grown, pairs, exponent=0.0, resolution=0.05),
    }


@nearest_spacing.control("the distance of any two points shrinks so, as the text has it", of="any two")
def all_pairs_shrink(evidence):
    return replace(evidence, exponent=-0.5)


@nearest_spacing.control("(v n)^(−1/d), the radius of a ball with one point on average", of="torus")
def typical_ball(evidence):
    dimension, points = evidence.along["dimension"][:, None], evidence.along["points"]
    volumes = np.array([ball_volume(int(d)) for d in evidence.along["dimension"]])[:, None]
    return replace(evidence, predicted=(volumes * points) ** (-1 / dimension))
