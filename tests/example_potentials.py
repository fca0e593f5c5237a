"""Potentials of mirror descent in seven dimensions, one of a kind."""

import numpy as np

from deeptheory.implicit_bias.potentials import EUCLIDEAN, hypentropy, quadratic, squared_norm

RNG = np.random.default_rng(5)
MATRIX = np.eye(7) + RNG.standard_normal((7, 3)) @ np.diag([0.5, 1.0, 2.0]) @ RNG.standard_normal((3, 7)) / 20
MATRIX = MATRIX @ MATRIX.T
POTENTIALS = {
    "euclidean": EUCLIDEAN,
    "quadratic": quadratic(MATRIX),
    "p = 1.5": squared_norm(1.5),
    "p = 3": squared_norm(3.0),
    "hypentropy": hypentropy(0.3),
    "hypentropy, a scale a coordinate": hypentropy(np.linspace(0.2, 2, 7)),
}
