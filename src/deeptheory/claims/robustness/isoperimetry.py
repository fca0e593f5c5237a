"""Isoperimetry: sets that grow least, the price of robustness in accuracy, and the price of fitting noise smoothly."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import chi, chi2, ncx2, norm

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Distribution, Identity, Inequality, Law, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row
from deeptheory.robustness.isoperimetry import (
    cap_measure,
    isoperimetric_quotient,
    law_of_robustness,
    log_lipschitz_tail,
    log_noise_fitting_chance,
    regular_polygon_quotient,
)
from deeptheory.robustness.smoothing import smoothed_probability_bound


def star_polygons(draw, count, corners):
    """Polygons around the origin, at sorted angles and random radii: they do not cross themselves."""
    angle = np.sort(2 * np.pi * draw.random((count, corners)), 1)
    radius = 0.4 + draw.random((count, corners))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)


def grown(p, shift, dimension):
    """Measures, after growing by ε, of sets of Gaussian measure p: slab, outside, ball, outside, a wide strip."""
    slab, hole = ndtri((1 + p) / 2), ndtri((2 - p) / 2)
    ball, outside = np.sqrt(chi2.ppf(p, dimension)), np.sqrt(chi2.isf(p, dimension))
    return np.array(
        [
            2 * ndtr(slab + shift) - 1,
            2 * ndtr(-np.maximum(hole - shift, 0)),
            chi2.cdf((ball + shift) ** 2, dimension),
            chi2.sf(np.maximum(outside - shift, 0) ** 2, dimension),
            ndtr(ndtri(p) + shift) - ndtr(-30 - shift),  # from −30 on: a half-space, but for rounding
        ]
    )


def log_tails(t, dimension):
    """log P(|g − E g| ≥ t) of 1-Lipschitz g on N(0, I/d): a coordinate, the length, the largest one; of a cap."""
    root = np.sqrt(dimension)
    length = chi.mean(dimension) / root
    below = chi.logcdf(np.maximum(length - t, 0) * root, dimension)
    largest = quad(lambda v: 1 - ndtr(v) ** dimension - (v < 0), -12, 12, points=[0, 3], limit=400)[0] / root
    tops = dimension * norm.logcdf((largest - t) * root)
    above = np.log(-np.expm1(dimension * norm.logcdf((largest + t) * root)))
    return np.array(
        [
            np.log(2) + norm.logsf(t * root),
            np.logaddexp(chi.logsf((length + t) * root, dimension), below),
            np.logaddexp(tops, above),
            np.log(2 * cap_measure(t, dimension)),
        ]
    )


@claim(
    items={
        "H2.3": (
            "polygons",
            "regular polygons",
            "half-spaces grow least",
            "tails of Lipschitz functions",
        )
    },
    says=r"$4\pi A\le P^2$ for every polygon. Under $N(0,I)$ a set of measure $p$ grown by $\varepsilon$ has at least "
    r"$\Phi(\Phi^{-1}(p)+\varepsilon)$, and $L$-Lipschitz functions of $N(0,I/d)$ or the unit sphere leave their mean "
    "by $t$ with probability at most $2e^{-dt^2/(2L^2)}$.",
    needs="sets and functions with exact measures",
    symbols={
        "A, P": "area and perimeter",
        r"\varepsilon": "how far every point of the set may move",
        r"\Phi": "the normal distribution function",
        "L": "the Lipschitz constant",
        "d": "the dimension",
        "t": "a deviation",
    },
    why="Of all sets with the same measure some grow least when their points may move a little: discs in the plane, "
    "half-spaces under a Gaussian, caps on the sphere. In many dimensions even the least growth is fast: a set of half "
    "the measure, grown by a few times $d^{-1/2}$, is nearly everything. A Lipschitz function is near its median on "
    "such a grown set, so it is nearly constant.",
    notice="Left, polygons with their quotients: the rounder, the nearer to 1. Right, a half-space of measure one half "
    "grows least of all sets; balls and slabs grow faster.",
)
def isoperimetric_inequalities(key, *, dimension: Annotated[int, Interval(ge=2, le=200)] = 10):
    draw = generator(key)
    polygons = [star_polygons(draw, 40, corners) for corners in (3, 4, 6, 12, 40)]
    quotients = np.array([isoperimetric_quotient(each) for each in polygons])
    sides = np.arange(3, 60)
    angles = [2 * np.pi * np.arange(m) / m for m in sides]
    corners = [isoperimetric_quotient(np.stack([np.cos(a), np.sin(a)], -1)) for a in angles]
    p, shift = (each.ravel() for each in np.meshgrid([0.05, 0.3, 0.5, 0.8], np.linspace(0.05, 2.5, 25)))
    dimensions, slopes, t = np.array([10, 100, 1000]), np.array([0.7, 1.0, 3.0]), np.linspace(0.02, 0.6, 30)
    # L times a function of constant 1 leaves its mean by t where that leaves its own by t/L.
    exact = np.array([[log_tails(t / slope, int(d)) for slope in slopes] for d in dimensions])
    bound = log_lipschitz_tail(t, lipschitz=slopes[:, None, None], dimension=dimensions[:, None, None, None])
    return {
        "polygons": Inequality(
            np.append(quotients, corners), 1.0, aside={"corners": polygons[3][:3], "shown": quotients[3][:3]}
        ),
        "regular polygons": Identity(
            np.array(corners),
            np.array([regular_polygon_quotient(int(m)) for m in sides]),
            condition=50.0,
            aside={"inscribed": np.sinc(2 / sides)},
        ),
        "half-spaces grow least": Inequality(
            ndtr(ndtri(p) + shift),
            grown(p, shift, dimension),
            aside={"faster": ndtr(ndtri(p) + 1.1 * shift), "p": p, "shift": shift},
        ),
        "tails of Lipschitz functions": Inequality(
            np.maximum(exact, -700.0),
            np.broadcast_to(np.maximum(bound, -690.0), exact.shape),
            log=True,
            along={"dimension": dimensions, "Lipschitz constant": slopes},
            aside={
                "twice": np.maximum(2 * bound - np.log(2), -690.0),
                "unsquared": np.maximum(np.log(2) + (bound - np.log(2)) * slopes[:, None, None], -690.0),
            },
        ),
    }


@isoperimetric_inequalities.control("squares enclose the most: 16 A ≤ P²", of="polygons")
def squares_are_best(evidence):
    return replace(evidence, bound=np.pi / 4)


@isoperimetric_inequalities.control("the share of the circle that an inscribed polygon fills", of="regular polygons")
def inscribed_share(evidence):
    return replace(evidence, right=evidence.aside["inscribed"])


@isoperimetric_inequalities.control("growth by a tenth more", of="half-spaces grow least")
def a_tenth_more(evidence):
    return replace(evidence, quantity=evidence.aside["faster"])


@isoperimetric_inequalities.control("without the two in the exponent", of="tails of Lipschitz functions")
def without_the_two(evidence):
    return replace(evidence, bound=np.broadcast_to(evidence.aside["twice"], np.shape(evidence.quantity)))


@isoperimetric_inequalities.control("L for L² under the square of the deviation", of="tails of Lipschitz functions")
def unsquared(evidence):
    return replace(evidence, bound=np.broadcast_to(evidence.aside["unsquared"], np.shape(evidence.quantity)))


@isoperimetric_inequalities.picture
def round_and_growing(pieces, settings):
    """Three polygons and a circle (left); measure of sets of one half when grown, against the half-space (right)."""
    shapes = pieces["polygons"]
    circle = np.linspace(0, 2 * np.pi, 100)
    marks = [Line("circle: 1", np.cos(circle), np.sin(circle))]
    for corners, quotient in zip(shapes.aside["corners"], shapes.aside["shown"], strict=True):
        closed = np.concatenate([corners, corners[:1]])
        marks.append(Line(f"4πA/P² = {quotient:.2f}", closed[:, 0], closed[:, 1]))
    shift = np.linspace(0, 2.5, 60)
    names = ("slab", "outside of a slab", "ball", "outside of a ball")
    sets = grown(np.full(60, 0.5), shift, settings["dimension"])[:4]
    curves = [Line(name, shift, values) for name, values in zip(names, sets, strict=True)]
    curves.append(Line("half-space", shift, ndtr(shift)))
    return Row([Plane(marks, x="across", y="upwards"), Curves(curves, x="growth ε", y="measure")])


def disc_accuracies(mean, spread, radius, shift):
    """Accuracy and robust accuracy of the answer 'inside a disc' for a Gaussian class around a point of the plane."""
    return tuple(ncx2.cdf((np.maximum(r, 0) / spread) ** 2, 2, (mean / spread) ** 2) for r in (radius, radius - shift))


@claim(
    items={"H2.4": ("no region keeps more", "two Gaussian classes", "an example in numbers")},
    says=r"A Gaussian class answered rightly with probability $a$ is answered rightly under every move of length "
    r"$\varepsilon$ with probability at most $\Phi(\Phi^{-1}(a)-\varepsilon/s)$; linear classifiers attain it. At "
    r"distance 3 with $s=1$ and $\varepsilon=\frac12$ these are 0.9987 and 0.9938.",
    needs="classes N(±μ, s²I); moves in Euclidean length",
    full=dict(trials=400_000),
    symbols={
        "a": "the accuracy",
        r"\varepsilon": "the length of the move",
        r"\Phi": "the normal distribution function",
        "s": "the standard deviation of the class in each direction",
    },
    why="A point is answered robustly if its whole ball lies in the right region. What is lost is the rim of the "
    "region, and by Gaussian isoperimetry no region of the same probability has less rim than a half-space, whose "
    r"quantile moves by exactly $\varepsilon/s$. So accuracy limits robustness through quantiles; a sum of "
    "probabilities plays no part. The handbook calls its inequality a simplification.",
    notice="Robust accuracies of discs and strips lie below the curve of half-planes, for every size of them. The line "
    "where both accuracies add to 1 is crossed by ordinary problems.",
)
def accuracy_limits_robustness(
    key, *, trials: Trials = 40_000, shift: Annotated[float, Interval(ge=0.2, le=0.8)] = 0.5
):
    radius = np.linspace(0.6, 6, 40)
    accuracy, robust = disc_accuracies(1.0, 1.0, radius, shift)
    strip = np.array(
        [[ndtr(w) - ndtr(-w - 1) for w in radius], [ndtr(w - shift) - ndtr(-w - 1 + shift) for w in radius]]
    )
    outside = np.array([ncx2.sf((r / 1.5) ** 2, 2, (4 / 1.5) ** 2) for r in (radius, radius + shift)])
    spread = np.array([np.ones(40), np.ones(40), np.full(40, 1.5)])
    regions = np.array([[accuracy, *strip[:1], outside[0]], [robust, strip[1], outside[1]]])
    regions = np.clip(regions, 1e-12, 1 - 1e-12)
    limit = np.asarray(smoothed_probability_bound(regions[0], shift, spread))
    draw, distances, spreads = generator(key), np.array([0.5, 1.0, 2.0]), np.array([0.5, 1.5, 1.0])
    sides = np.sign(draw.random((3, trials)) - 0.5)
    points = sides * distances[:, None] + spreads[:, None] * draw.standard_normal((3, trials))
    counts = np.sum(sides * points > shift, 1)
    kept = np.asarray(smoothed_probability_bound(ndtr(distances / spreads), shift, spreads))
    return {
        "no region keeps more": Inequality(
            regions[1],
            limit,
            error=1e-10,
            aside={"accuracy": regions[0], "shift": shift},
        ),
        "two Gaussian classes": Share(
            counts, trials, kept, resolution=0.04, along={"distance": distances},
            aside={"squared": ndtr((distances - shift**2) / spreads), "unscaled": ndtr(distances / spreads - shift)},
        ),
        "an example in numbers": Identity(
            np.array([1 - quad(norm.pdf, -40, -3)[0], 1 - quad(norm.pdf, -40, -2.5)[0]]),
            np.array([ndtr(3.0), float(smoothed_probability_bound(float(ndtr(3.0)), 0.5, 1.0))]),
            error=1e-7,
            aside={"subtracted": np.array([ndtr(3.0), ndtr(3.0) - 0.5 * norm.pdf(3.0)])},
        ),
    }  # fmt: skip


@accuracy_limits_robustness.control("the square of the move", of="two Gaussian classes")
def squared_move(evidence):
    return replace(evidence, predicted=evidence.aside["squared"])


@accuracy_limits_robustness.control("the move itself, not over s", of="two Gaussian classes")
def unscaled_move(evidence):
    return replace(evidence, predicted=evidence.aside["unscaled"])


@accuracy_limits_robustness.control("the rim by the density at the edge", of="an example in numbers")
def density_at_the_edge(evidence):
    return replace(evidence, right=evidence.aside["subtracted"])


@accuracy_limits_robustness.control("a limit that is lower by a twentieth", of="no region keeps more")
def lower_limit(evidence):
    return replace(evidence, bound=0.95 * np.asarray(evidence.bound))


@accuracy_limits_robustness.picture
def accuracies(pieces):
    """Accuracy and robust accuracy of discs and strips, the limit, and the line where they add to 1."""
    seen = pieces["no region keeps more"]
    a = np.linspace(0.01, 0.999, 200)
    marks: list[Line | Dots] = [
        Line("half-planes: the most", a, smoothed_probability_bound(a, float(seen.aside["shift"]), 1.0)),
        Line("", a, 1 - a, rival="accuracy + robustness = 1"),
    ]
    for name, x, y in zip(("discs", "strips"), seen.aside["accuracy"], seen.quantity, strict=False):
        marks.append(Dots(name, x, y))
    return Curves(marks, x="accuracy", y="robust accuracy", xs=(0, 1), ys=(0, 1))


@claim(
    items={
        "H2.5": (
            "chance of fitting noise",
            "best linear fit of noise",
            "law of the best linear fit",
            "random features that fit noise",
        )
    },
    says=r"With probability $1-\delta$ only those of $N$ functions with values in $[-1,1]$ fit $n$ random signs on "
    r"$N(0,I/d)$ to mean squared error $1-\varepsilon$ whose Lipschitz constant is at least "
    r"$\varepsilon\sqrt{nd/(32(\ln N+\ln(2/\delta)))}$. Linear classes of $p$ parameters need about "
    r"$\frac\varepsilon2\sqrt{nd/p}$.",
    needs="Gaussian inputs, fair independent signs; p parameters of 32 bits are N = 2^(32p) functions",
    full=dict(trials=16_000),
    symbols={
        "N": "how many functions the class has",
        "n": "samples",
        "d": "the dimension",
        r"\varepsilon": "by how much the mean squared error is below that of guessing zero, which is 1",
        r"\delta": "the probability of failure",
        "p": "parameters",
    },
    why="To fit noise a function must correlate with it on the sample. A smooth function of a high-dimensional input "
    r"is nearly constant (isoperimetry), so its correlation with $n$ signs is tiny, of the order $L/\sqrt{nd}$, and "
    "only a large class contains one that is lucky. Counting the class gives the law: to fit noise smoothly takes "
    "about $nd$ parameters, not $n$.",
    notice="Steepness of random-feature fits of pure noise: enormous where there are as many features as samples, "
    "falling with more, and always above the law, a hundred times and more: its constants are generous, and 32 bits a "
    "parameter make a large class. Overparametrization buys robustness.",
)
def fitting_noise_is_steep(key, *, trials: Trials = 4000):
    draw = generator(key)
    n, d, p = np.array([20, 40, 20, 40]), np.array([6, 6, 12, 12]), np.array([2, 3, 6, 2])
    correlation = np.empty((4, trials))
    for i in range(4):
        x = draw.standard_normal((trials, n[i], p[i])) / np.sqrt(d[i])
        signs = 2.0 * draw.integers(0, 2, (trials, n[i], 1)) - 1
        correlation[i] = np.sum(np.mean(signs * x, 1) ** 2, 1)
    # One linear function of slope L: its mean product with the labels is N(0, L²/(nd)), whatever the labels are.
    slope, epsilon = np.linspace(0.05, 0.5, 10), 0.5
    sizes, dimensions = np.array([50, 100, 400]), np.array([5, 20])
    exact = norm.logsf(epsilon / 2 * np.sqrt(sizes[:, None, None] * dimensions[:, None]) / slope)
    promised = log_noise_fitting_chance(
        sizes[:, None, None] * 1.0, dimensions[:, None] * 1.0, log_class=0.0, epsilon=epsilon, lipschitz=slope
    )
    samples, inputs, features = 700, 12, np.array([400, 700, 1000, 2000, 6000])
    x = draw.standard_normal((samples, inputs)) / np.sqrt(inputs)
    y = 2.0 * draw.integers(0, 2, samples) - 1
    weights = draw.standard_normal((int(features[-1]), inputs))
    steep, errors = np.empty(5), np.empty(5)
    for i, count in enumerate(features):
        hidden = np.maximum(x @ weights[:count].T, 0)
        gram = hidden.T @ hidden if count < samples else hidden @ hidden.T
        ridge = 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram))
        solved = np.linalg.solve(gram + ridge, hidden.T @ y if count < samples else y)
        outer = solved if count < samples else hidden.T @ solved
        errors[i] = np.mean((hidden @ outer - y) ** 2)
        gradients = ((hidden > 0) * outer) @ weights[:count]
        steep[i] = np.max(np.linalg.norm(gradients, axis=1))
    reached = np.minimum(1 - errors, 1.0)
    law = law_of_robustness(
        float(samples), float(inputs), log_class=32 * np.log(2) * features, epsilon=reached, delta=0.5
    )
    return {
        "chance of fitting noise": Inequality(
            np.maximum(exact, -700.0),
            np.maximum(promised, -690.0),
            log=True,
            aside={"quarter": -sizes[:, None, None] * (
                dimensions[:, None] * epsilon**2 / (4 * slope**2))},
        ),
        "best linear fit of noise": Law(
            p / (n * d), correlation, exact=True, resolution=0.25, along={"case": np.arange(4)},
            aside={"samples": p / (n * n)},
        ),
        # The mean product of one coordinate with the labels is N(0, 1/nd), so the whole is χ²_p/nd.
        "law of the best linear fit": Distribution(
            chi2.cdf(correlation * (n * d)[:, None], p[:, None]).ravel(),
            aside={"one more": chi2.cdf(correlation * (n * d)[:, None], p[:, None] + 1).ravel()},
        ),
        "random features that fit noise": Inequality(
            law, steep, along={"features": features},
            aside={
                "steep": steep,
                "order": np.sqrt(samples * inputs / features),
                "exchanged": reached * np.sqrt(samples * features / (1024 * np.log(2) * inputs)),
            },
        ),
    }  # fmt: skip


@fitting_noise_is_steep.control("a quarter for the thirty-second in the exponent", of="chance of fitting noise")
def larger_exponent(evidence):
    return replace(evidence, bound=np.maximum(evidence.aside["quarter"], -690.0))


@fitting_noise_is_steep.control("samples for dimensions", of="best linear fit of noise")
def samples_for_dimensions(evidence):
    return replace(evidence, predicted=evidence.aside["samples"])


@fitting_noise_is_steep.control("p + 1 degrees of freedom", of="law of the best linear fit")
def one_parameter_more(evidence):
    return replace(evidence, ranks=evidence.aside["one more"])


@fitting_noise_is_steep.control("parameters above the line, dimensions below", of="random features that fit noise")
def exchanged(evidence):
    return replace(evidence, quantity=evidence.aside["exchanged"])


@fitting_noise_is_steep.picture
def steepness(pieces):
    """Largest slope of random-feature fits of pure noise (700 samples, 12 dimensions), and the law below it."""
    fits = pieces["random features that fit noise"]
    features = np.asarray(fits.along["features"])
    marks = [
        Line("seen at the samples", features, fits.aside["steep"]),
        Line("law of robustness, 32-bit parameters", features, fits.quantity),
        Line("order √(nd/p)", features, fits.aside["order"], dashed=True),
    ]
    return Curves(marks, x="features p", y="largest slope", log="xy")
