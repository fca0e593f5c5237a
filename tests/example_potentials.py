"""Potentials on seven weights that the tests of this room try one after another."""

import numpy as np

from deeptheory.implicit_bias.potentials import EUCLIDEAN, hypentropy, quadratic, squared_norm

_draw = np.random.default_rng(5)
_root = np.eye(7) + _draw.standard_normal((7, 3)) @ np.diag([0.5, 1.0, 2.0]) @ _draw.standard_normal((3, 7)) / 20
MATRIX = _root @ _root.T
POTENTIALS = {
    "euclidean": EUCLIDEAN,
    "quadratic": quadratic(MATRIX),
    "p = 1.5": squared_norm(1.5),
    "p = 3": squared_norm(3.0),
    "hypentropy": hypentropy(0.3),
    "hypentropy, a scale a coordinate": hypentropy(np.linspace(0.2, 2, 7)),
}
