"""In what sense Gaussian noise is a ball of radius β√d, and in what sense it is not."""

from dataclasses import replace

import jax
import numpy as np
from scipy.special import ndtr
from scipy.stats import chi

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Distribution, Identity, Law, Limit, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Line, Row
from deeptheory.robustness.gaussian_ball import (
    ball_marginal_cdf,
    ball_marginal_total_variation,
    ball_total_variation,
    gaussian_length_moments,
)


@claim(
    items={
        "A18.16": (
            "mean length",
            "variance of the length",
            "deviation of the length in the limit",
            "one coordinate",
            "the whole laws",
            "total variation by two routes",
            "law of a coordinate of the ball",
        )
    },
    says=r"The length of $\delta\sim N(0,\beta^2I_d)$ over $\beta\sqrt d$ has mean tending to 1 and deviation like "
    r"$1/\sqrt{2d}$, and one coordinate is within total variation of order $1/d$ of one of the uniform ball of radius "
    r"$\beta\sqrt d$; yet the total variation of the two laws themselves tends to 1.",
    full=dict(trials=200_000),
    symbols={
        r"\delta": "the noise",
        r"\beta": "its standard deviation in each coordinate",
        "d": "the dimension",
    },
    why=r"The squared length is a sum of $d$ independent squares, so it concentrates at $d\beta^2$ with relative "
    r"deviation of order $1/\sqrt d$. A single coordinate of the ball has density proportional to "
    "$(1-x^2/d)^{(d-1)/2}$, which tends to the Gaussian's. But the ball has nearly all of its volume within $1/d$ of "
    r"its surface, and the Gaussian shell, though thin, is $\sqrt d$ times as thick as that.",
    notice="In 64 dimensions both laws live near length one, and yet the Gaussian's lengths spread to both sides "
    "while the ball ends at one and hugs it. So the laws hardly overlap: their total variation grows with the "
    "dimension, while that of one coordinate vanishes.",
)
def gaussian_is_not_a_ball(key, *, sizes: Sizes = (2, 8, 32, 64), trials: Trials = 60_000):
    beta, lengths = 0.7, np.empty((len(sizes), trials))
    for i, d in enumerate(sizes):
        noise = beta * generator(jax.random.fold_in(key, i)).standard_normal((trials, d))
        lengths[i] = np.linalg.norm(noise, axis=1) / (beta * np.sqrt(d))
    mean, deviation = np.array([gaussian_length_moments(d) for d in sizes]).T
    dimensions = np.array([4, 16, 64, 256, 1024])
    far = np.array([gaussian_length_moments(int(d))[1] for d in dimensions])
    coordinate = np.array([ball_marginal_total_variation(int(d)) for d in dimensions])
    apart = np.array([ball_total_variation(int(d)) for d in dimensions])
    # Both distances again as half the sum of |differences| over fine cells, from distribution functions alone: the
    # lengths have (r/√d)^d and χ, the coordinates the ball's own function, which points drawn from a ball must follow.
    few, cells = np.array([1, 2, 3, 8]), np.linspace(0, 9, 90_001)  # in units of √d, where the ball ends
    laws = [
        [(np.minimum(cells, 1) ** d, chi.cdf(d**0.5 * cells, d)) for d in few],
        [(2 * ball_marginal_cdf(d**0.5 * cells, int(d)), 2 * ndtr(d**0.5 * cells)) for d in few],
    ]
    summed = [[np.sum(np.abs(np.diff(ball) - np.diff(gauss))) / 2 for ball, gauss in row] for row in laws]
    found = [[ball_total_variation(int(d)) for d in few], [ball_marginal_total_variation(int(d)) for d in few]]
    points = generator(jax.random.fold_in(key, 1000)).standard_normal((trials, 4))
    # The first two of four coordinates of a uniform point of the sphere are uniform on the disc.
    disc = 2**0.5 * points[:, 0] / np.linalg.norm(points, axis=1)
    labels = {"d": np.array(sizes)}
    return {
        "mean length": Law(mean, lengths, along=labels, exact=True, aside={"largest": lengths[-1, :4000]}),
        "variance of the length": Law(deviation**2, (lengths - mean[:, None]) ** 2, along=labels, exact=True),
        "deviation of the length in the limit": Limit(dimensions, np.abs(far * np.sqrt(2 * dimensions) - 1), order=1.0),
        "one coordinate": Limit(dimensions, coordinate, order=1.0),
        "the whole laws": Limit(dimensions, 1 - apart, order=0.5, aside={"coordinate": coordinate}),
        # A cell in which the densities cross is off by its square, 1e-8, and so is the room's own trapezoidal rule.
        "total variation by two routes": Identity(
            np.array(found),
            np.array(summed),
            error=2e-7,
            along={"of": np.array(["length", "coordinate"]), "d": few},
        ),
        "law of a coordinate of the ball": Distribution(ball_marginal_cdf(disc, 2)),
    }


@gaussian_is_not_a_ball.control("the two laws are very close", of="the whole laws")
def very_close(evidence):
    return replace(evidence, y=1 - evidence.y)


@gaussian_is_not_a_ball.control("the mean length is 1 at every dimension", of="mean length")
def already_one(evidence):
    return replace(evidence, predicted=np.ones_like(evidence.predicted))


@gaussian_is_not_a_ball.control("the length spreads by 1/√d", of="deviation of the length in the limit")
def wider_spread(evidence):
    # |deviation·√d − 1| in place of |deviation·√(2d) − 1|; the deviation lies below its limit.
    return replace(evidence, y=np.abs((1 - evidence.y) / np.sqrt(2) - 1))


@gaussian_is_not_a_ball.picture
def lengths_and_distances(pieces):
    """Lengths of Gaussian vectors and of points of the ball (left), and total variation between them (right)."""
    length, whole = pieces["mean length"], pieces["the whole laws"]
    d, r = int(np.asarray(length.along["d"])[-1]), np.linspace(0.6, 1.4, 200)
    densities = [
        Line("Gaussian", r, d**0.5 * chi.pdf(d**0.5 * r, d)),
        Line("ball", r[r <= 1], d * r[r <= 1] ** (d - 1)),
    ]
    samples = length.aside["largest"]
    left = Histogram(densities, samples=samples, x="length over β√d", y="density", title=f"d = {d}", ys=(0, 15))
    away = [
        Dots("the whole laws", whole.x, 1 - np.asarray(whole.y)),
        Dots("one coordinate", whole.x, whole.aside["coordinate"]),
    ]
    return Row([left, Curves(away, x="dimension d", y="total variation", log="x", ys=(0, 1))])
