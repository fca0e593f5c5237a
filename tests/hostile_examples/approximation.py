from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.approximation.boxes import BoxNetwork
from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.approximation.staircases import hinges, staircase

LINE = {"f": np.sin, "low": 0.0, "high": 1.0}
SQUARE = {"f": lambda x: np.sin(x[..., 0]), "low": np.zeros(2), "high": np.ones(2)}
SMOOTH = {"activation": np.tanh, "at": 0.5}
WAVES = ShallowNetwork(np.ones((2, 1)), np.zeros(2), np.ones(2), np.cos)

RECORDS: dict[str, Callable[[], Any]] = {
    "BoxNetwork": lambda: BoxNetwork(np.zeros((1, 2)), np.ones((1, 2)), np.ones(1), 0.1),
    "ShallowNetwork": lambda: hinges(np.sin, 3),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "boxes.box_network": {**SQUARE, "cells": 3},
    "boxes.bump": {"x": np.full((4, 2), 0.3), "low": np.zeros(2), "high": np.ones(2), "margin": 0.1},
    "boxes.piecewise_constant": {**SQUARE, "cells": 3},
    "compositions.composed": {"parts": [np.sin, hinges(np.sin, 3)]},
    "cosines.cosine_network": {**SQUARE, "degree": 3},
    "cosines.cosine_product": {"one": WAVES, "other": WAVES},
    "errors.certified_sup_error": {**LINE, "network": staircase(np.sin, 4), "lipschitz": 1.0, "cells": 8},
    "errors.grid_points": {"low": np.zeros(2), "high": np.ones(2), "points": 4},
    "errors.measured_error": {**SQUARE, "g": lambda x: x[..., 0], "points": 5, "norm": "L1"},
    "errors.best_in_span": {"features": np.ones((4, 1)), "target": np.arange(4.0), "norm": "sup"},
    "errors.sampled": {"f": np.sin, "x": np.ones(4)},
    "monomials.derivatives_at": {**SMOOTH, "at": np.array([0.5])},
    "monomials.lively_point": {"activation": np.tanh, "order": 3, "low": -1.0, "high": 1.0, "points": 9},
    "monomials.monomial_error_term": {**SMOOTH, "power": 2, "step": 0.01},
    "monomials.monomial_network": {**SMOOTH, "power": 2, "step": 0.01},
    "monomials.polynomial_network": {**SMOOTH, "coefficients": np.ones(3), "step": 0.01},
    "polynomials.bernstein_basis": {"degree": 3, "x": np.linspace(0, 1, 4)},
    "polynomials.bernstein_polynomial": {**LINE, "degree": 3},
    "polynomials.BernsteinPolynomial": {"coefficients": np.ones(3), "low": 0.0, "high": 1.0},
    "polynomials.landau_polynomial": {"f": np.sin, "n": 3, "x": np.linspace(0, 1, 4), "panels": 4},
    "requirements.neurons_needed": {**LINE, "error": 0.1, "how": hinges, "norm": "sup", "points": 65, "largest": 64},
    "ridges.as_powers_of_forms": {"exponents": (1, 2)},
    "ridges.lifted": {"directions": np.ones((1, 2)), "networks": [hinges(np.sin, 3)]},
    "ridges.polynomial_ridge_network": {**SMOOTH, "terms": [((1, 1), 1.0)], "step": 0.01},
    "ridges.ridge_sum": {"directions": np.ones((1, 2)), "profiles": [np.sin], "x": np.ones((3, 2))},
    "shallow.ShallowNetwork": {"weights": np.ones((4, 1)), "activation": np.tanh},
    "shallow.collapsed": {"matrices": [np.ones((2, 3))], "biases": [np.ones(2)]},
    "shallow.fit_output": {"activation": np.tanh},
    "shallow.relu": {"z": np.ones(3)},
    "shallow.scaled_sum": {"coefficients": [2.0], "networks": [hinges(np.sin, 3)]},
    "shallow.sigmoid": {"z": np.ones(3)},
    "shallow.threshold": {"z": np.ones(3)},
    "staircases.hinges": {**LINE, "units": 3},
    "staircases.sigmoid_staircase": {**LINE, "units": 3},
    "staircases.staircase": {**LINE, "units": 3},
}  # fmt: skip
