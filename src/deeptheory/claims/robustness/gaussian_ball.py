"""In what sense Gaussian noise is a ball of radius β√d, and in what sense it is not."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.lab import Law, Limit, Rate, Sizes, Trials, claim
from deeptheory.randomness import generator
from deeptheory.robustness.gaussian_ball import (
    ball_marginal_total_variation,
    ball_total_variation,
    gaussian_length_moments,
)


@claim(
    items={"A18.16": ("length", "spread", "coordinate", "whole law")},
    says=r"$\|\delta\|/(\beta\sqrt d)$ has mean tending to 1 and standard deviation close to $1/\sqrt{2d}$, and one coordinate of "
    r"$N(0,\beta^2 I)$ comes within total variation of order $1/d$ of one coordinate of the uniform ball of radius $\beta\sqrt d$; but "
    r"the two laws themselves move apart: their total variation tends to 1.",
    full=dict(trials=20_000),
)
def gaussian_is_not_a_ball(key, *, sizes: Sizes = (2, 8, 32, 128), trials: Trials = 5000):
    beta = 0.7
    lengths = np.empty((len(sizes), trials))
    for i, d in enumerate(sizes):
        noise = beta * generator(jax.random.fold_in(key, i)).standard_normal((trials, d))
        lengths[i] = np.linalg.norm(noise, axis=1) / (beta * np.sqrt(d))
    moments = np.array([gaussian_length_moments(d) for d in sizes])
    dimensions = np.array([4, 16, 64, 256, 1024])
    return {
        "length": Law(moments[:, 0], lengths, along={"d": np.array(sizes)}, exact=True),
        "spread": Rate(np.array(sizes), np.abs(lengths - moments[:, :1]), exponent=-0.5, rivals=(0.0, -1.0)),
        "coordinate": Limit(
            dimensions, np.array([ball_marginal_total_variation(int(d)) for d in dimensions]), order=1.0
        ),
        "whole law": Limit(dimensions, 1 - np.array([ball_total_variation(int(d)) for d in dimensions]), order=0.5),
    }


@gaussian_is_not_a_ball.control("the two laws are very close", of="whole law")
def very_close(evidence):
    return replace(evidence, y=1 - evidence.y)


@gaussian_is_not_a_ball.control("the mean length is 1 at every dimension", of="length")
def already_one(evidence):
    return replace(evidence, predicted=np.ones_like(evidence.predicted))
