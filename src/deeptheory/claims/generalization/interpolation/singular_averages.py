"""Averages with a singular kernel, which interpolate and still learn, and the spacing of points (jagannath Ch. 5)."""

import itertools
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval
from scipy.spatial.distance import pdist

from deeptheory.foundations.balls import ball_volume
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.interpolation.nadaraya_watson import (
    averaging_weights,
    box_kernel,
    nadaraya_watson_weights,
    singular_kernel,
    slope_at_data,
)
from deeptheory.generalization.interpolation.nearest_neighbours import (
    expected_nearest_distance,
    nearest_distances,
)
from deeptheory.lab import Identity, Law, Rate, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, seen

Points = Annotated[int, Interval(ge=12, le=400)]


@claim(
    items={
        "J5.3": ("weights add up to one", "nothing within reach", "values at the data", "approach to a label"),
        "J5.4": ("values at the data", "approach to a label", "coefficient of the cusp"),
    },
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
        "weights add up to one": Identity(np.array(sums), np.array(void), size=float(points)),
        "nothing within reach": Identity(np.array(outside), 0.0, scale=1.0),
        "values at the data": Identity(
            np.array(there),
            np.broadcast_to(y, (6, points)),
            scale=1.0,
            along={"h": bandwidths},
            aside={"way": ways, "courses": np.array(courses), "labels": y[pair]},
        ),
        "approach to a label": Rate(
            steps, np.abs(gaps[0]).mean(1), exponent=exponent, resolution=0.05, rivals=(2 * exponent,)
        ),
        # The next term is smaller by (ε/h)^a times the kernel sum of the others.
        "coefficient of the cusp": Identity(
            far,
            slopes,
            scale=np.max(np.abs(slopes), 1, keepdims=True),
            error=1e-5 * np.max(np.abs(slopes)),
            aside={"power": np.array([[0.3], [2.0]]) ** exponent},
        ),
    }


singular_average_interpolates.control("the same with a bounded kernel", of="values at the data", kernel="box")


@singular_average_interpolates.control("a coefficient without the power of the bandwidth", of="coefficient of the cusp")
def unscaled_slope(evidence):
    return replace(evidence, right=evidence.right * evidence.aside["power"])


@singular_average_interpolates.picture
def cusps(pieces, settings):
    """The average along a line through two data points, with a singular kernel and with a box; and the mean distance
    from a label against the distance from its data point."""
    aside, approach = pieces["values at the data"].aside, pieces["approach to a label"]
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
                y="local average of the labels",
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
    items={
        "J5.10": (
            "points on a torus",
            "few points",
            "rate on a line",
            "rate in the plane",
            "rate in space",
            "distance of any two points",
        )
    },
    says=r"Among $n$ uniform points of the unit cube the nearest one is at a distance of order $n^{-1/d}$, on the "
    r"torus $v_d^{-1/d}\Gamma(1+\frac1d)\frac{\Gamma(n)}{\Gamma(n+1/d)}$ on average, up to the chance that none is "
    r"within ½; the mean distance of two points does not shrink.",
    needs="independent uniform points",
    symbols={
        r"n": "the number of points",
        r"d": "the dimension",
        r"v_d": "the volume of the unit ball",
        r"\Gamma": "the Gamma function",
    },
    why=r"The ball around a point that reaches to its nearest neighbour holds a share of about $1/n$ of all points, so "
    r"its volume is about $1/n$ and its radius of order $n^{-1/d}$. On the torus all places are alike, and the "
    r"probability that a ball of volume $v_dr^d$ is empty, $(1-v_dr^d)^{n-1}$, integrates to a Beta function. Two "
    r"given points know nothing of the others, and stay as far apart as they are.",
    notice=r"With a thousand times as many points the nearest one is a thousand times nearer on the line, and only ten "
    r"times in space. The mean distance of two points is level.",
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
        "few points": Law(np.array([expected_nearest_distance(n, d) for n, d in few]), np.array(nearest), exact=True),
        "points on a torus": Law(exact, torus, along={"dimension": np.array([1, 2, 3]), "points": grown}, exact=True),
        # Rivals are the exponents of one dimension more and less. Near the walls of the cube, where a share n^(−1/d) of
        # the points lies, the nearest one is farther: the correction to the power.
        "rate on a line": Rate(grown, cube[0], exponent=-1.0, resolution=0.1, rivals=(-1 / 2,), order=1.0),
        "rate in the plane": Rate(grown, cube[1], exponent=-0.5, resolution=0.08, rivals=(-1.0, -1 / 3), order=0.5),
        "rate in space": Rate(grown, cube[2], exponent=-1 / 3, resolution=0.04, rivals=(-1 / 2, -1 / 4), order=1 / 3),
        "distance of any two points": Rate(grown, pairs, exponent=0.0, resolution=0.05),
    }


@nearest_spacing.control(
    "the distance of any two points shrinks so, as the text has it", of="distance of any two points"
)
def all_pairs_shrink(evidence):
    return replace(evidence, exponent=-0.5)


@nearest_spacing.control("(v n)^(−1/d), the radius of a ball with one point on average", of="points on a torus")
def typical_ball(evidence):
    dimension, points = evidence.along["dimension"][:, None], evidence.along["points"]
    volumes = np.array([ball_volume(int(d)) for d in evidence.along["dimension"]])[:, None]
    return replace(evidence, predicted=(volumes * points) ** (-1 / dimension))


@nearest_spacing.picture
def spacings(pieces):
    """Mean distance to the nearest of n points on tori of dimension one to three, and the mean distance of any two."""
    torus, pairs = pieces["points on a torus"], pieces["distance of any two points"]
    points = torus.along["points"]
    marks: list[Any] = []
    for i, d in enumerate(torus.along["dimension"]):
        name = f"nearest, d = {d}"
        marks += [Line(name, points, np.asarray(torus.predicted)[i]), seen(name, points, np.asarray(torus.observed)[i])]
    return Curves([*marks, seen("any two in the plane", pairs.x, pairs.y)], x="points n", y="mean distance", log="xy")
