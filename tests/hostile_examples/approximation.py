from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.approximation import shells, templates, thresholds
from deeptheory.approximation.boxes import BoxNetwork
from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.approximation.staircases import hinges, staircase

from .ingredients import KEY, LAW

LINE = {"f": np.sin, "low": 0.0, "high": 1.0}

SQUARE = {"f": lambda x: np.sin(x[..., 0]), "low": np.zeros(2), "high": np.ones(2)}

SMOOTH = {"activation": np.tanh, "at": 0.5}

WAVES = ShallowNetwork(np.ones((2, 1)), np.zeros(2), np.ones(2), np.cos)

DRAWS = {"vectors": np.array([[1.0, 0.2], [0.5, -1.0], [0.3, 0.8], [-0.6, 0.1]]), "probabilities": LAW, "samples": 3}

EDGES = np.array([0.5, 0.8, 1.3])

SHELLS = shells.Shells(EDGES, np.array([1.0, -1.0]))

COSINE_SUM = thresholds.CosineSum(np.array([0.5, 1.2]), np.array([[0.7, -0.4], [0.3, 1.1]]), np.array([0.1, 0.35]))

NETWORK = shells.two_stage_network(SHELLS, 2, step=0.2, ramp=0.01)

GRAMMAR = templates.Grammar(2, 3, 1)

OBJECTS = templates.objects(GRAMMAR)

RECORDS: dict[str, Callable[[], Any]] = {
    "BoxNetwork": lambda: BoxNetwork(np.zeros((1, 2)), np.ones((1, 2)), np.ones(1), 0.1),
    "CosineSum": lambda: COSINE_SUM,
    "GaussianBump": lambda: thresholds.GaussianBump(np.array([0.3, -0.2]), 0.8),
    "Grammar": lambda: GRAMMAR,
    "ShallowNetwork": lambda: hinges(np.sin, 3),
    "Shells": lambda: SHELLS,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "barron.barron_constant": {"magnitude": lambda rho: np.exp(-rho), "dimension": 2},
    "barron.cosine_barron_constant": {"amplitudes": np.ones(3), "frequencies": np.ones((3, 2))},
    "barron.grid_barron_constant": {"values": np.ones((4, 5))},
    "boxes.box_network": {**SQUARE, "cells": 3},
    "boxes.bump": {"x": np.full((4, 2), 0.3), "low": np.zeros(2), "high": np.ones(2), "margin": 0.1},
    "boxes.piecewise_constant": {**SQUARE, "cells": 3},
    "compositions.composed": {"parts": [np.sin, hinges(np.sin, 3)]},
    "cosines.cosine_network": {**SQUARE, "degree": 3},
    "cosines.cosine_product": {"one": WAVES, "other": WAVES},
    "errors.best_in_span": {"features": np.ones((4, 1)), "target": np.arange(4.0), "norm": "sup"},
    "errors.certified_error": {**LINE, "network": staircase(np.sin, 4), "lipschitz": 1.0, "cells": 8},
    "errors.grid_points": {"low": np.zeros(2), "high": np.ones(2), "points": 4},
    "errors.measured_error": {**SQUARE, "g": lambda x: x[..., 0], "points": 5, "norm": "L1"},
    "errors.sampled": {"f": np.sin, "x": np.ones(4)},
    "maurey.greedy_draws": DRAWS,
    "maurey.maurey_bounds": DRAWS,
    "maurey.maurey_error": DRAWS,
    "maurey.sampled_errors": DRAWS | {"trials": 2},
    "monomials.derivatives_at": {**SMOOTH, "at": np.array([0.5])},
    "monomials.lively_point": {"activation": np.tanh, "order": 3, "low": -1.0, "high": 1.0, "points": 9},
    "monomials.monomial_error_term": {**SMOOTH, "power": 2, "step": 0.01},
    "monomials.monomial_network": {**SMOOTH, "power": 2, "step": 0.01},
    "monomials.polynomial_network": {**SMOOTH, "coefficients": np.ones(3), "step": 0.01},
    "polynomials.BernsteinPolynomial": {"coefficients": np.ones(3), "low": 0.0, "high": 1.0},
    "polynomials.bernstein_basis": {"degree": 3, "x": np.linspace(0, 1, 4)},
    "polynomials.bernstein_polynomial": {**LINE, "degree": 3},
    "polynomials.landau_polynomial": {"f": np.sin, "n": 3, "x": np.linspace(0, 1, 4), "panels": 4},
    "requirements.neurons_needed": {**LINE, "error": 0.1, "how": hinges, "norm": "sup", "points": 65, "largest": 64},
    "ridges.as_powers_of_forms": {"exponents": (1, 2)},
    "ridges.lifted": {"directions": np.ones((1, 2)), "networks": [hinges(np.sin, 3)]},
    "ridges.polynomial_ridge_network": {**SMOOTH, "terms": [((1, 1), 1.0)], "step": 0.01},
    "ridges.ridge_sum": {"directions": np.ones((1, 2)), "profiles": [np.sin], "x": np.ones((3, 2))},
    "separation.best_ridge_error": {"target": np.cos, "edges": EDGES, "dimension": 3},
    "separation.limiting_tube_share": {"dimension": 3, "ratio": 2.0},
    "separation.one_layer_floor": {"energy": np.ones(4), "frequencies": np.arange(1.0, 5.0), "width": 2.0},
    "separation.radial_energy": {"target": np.cos, "edges": EDGES, "dimension": 3, "frequencies": np.arange(1.0, 5.0)},
    "separation.tube_share": {"dimension": 3, "ratio": 2.0},
    "shallow.ShallowNetwork": {"weights": np.ones((4, 1)), "activation": np.tanh},
    "shallow.collapsed": {"matrices": [np.ones((2, 3))], "biases": [np.ones(2)]},
    "shallow.fit_output": {"activation": np.tanh},
    "shallow.scaled_sum": {"coefficients": [2.0], "networks": [hinges(np.sin, 3)]},
    "shells.Shells": {"edges": EDGES, "signs": np.array([1.0, -1.0])},
    "shells.TwoStageNetwork": {
        "first": NETWORK.first,
        "first_bias": NETWORK.first_bias,
        "second": NETWORK.second,
        "second_bias": NETWORK.second_bias,
        "output": NETWORK.output,
        "step": 0.2,
        "ramp": 0.01,
    },
    "shells.two_stage_error": {"dimension": 2, "step": 0.1, "ramp": 0.01},
    "shells.two_stage_network": {"dimension": 2, "step": 0.1, "ramp": 0.01},
    "staircases.hinges": {**LINE, "units": 3},
    "staircases.sigmoid_staircase": {**LINE, "units": 3},
    "staircases.steps_at": {"f": np.sin, "knots": np.array([0.0, 0.3, 0.7])},
    "staircases.staircase": {**LINE, "units": 3},
    "templates.Grammar": {"places": 2, "parts": 3, "levels": 1},
    "templates.any_template": {"grammar": GRAMMAR},
    "templates.hierarchy": {"grammar": GRAMMAR},
    "templates.objects": {"grammar": GRAMMAR},
    "templates.objects_apart": {"grammar": GRAMMAR},
    "templates.run_layers": {"layers": templates.hierarchy(GRAMMAR), "x": np.ones((3, 6))},
    "templates.unseen_pair": {"grammar": GRAMMAR, "one": OBJECTS[0], "other": OBJECTS[-1]},
    "thresholds.CosineSum": {"amplitudes": np.ones(2), "frequencies": np.ones((2, 3)), "phases": np.zeros(2)},
    "thresholds.expected_threshold_error": {"x": np.array([[0.5, 0.1], [0.0, -0.4]]), "units": 4},
    "thresholds.threshold_integral": {"nodes": 8},
    "thresholds.threshold_network": {"key": KEY, "target": COSINE_SUM, "units": 5},
    "widths.adaptive_width": {"lengths": np.array([3.0, 2.0, 1.0, 0.5]), "terms": 1},
    "widths.best_fixed_basis": {"lengths": np.array([3.0, 2.0, 1.0, 0.5]), "terms": 1},
    "widths.fixed_basis_error": {"lengths": np.array([3.0, 2.0, 1.0]), "basis": np.ones((1, 3))},
    "widths.fixed_width": {"lengths": np.array([3.0, 2.0, 1.0, 0.5]), "terms": 1},
    "widths.limiting_fixed_width": {"dimension": 2, "terms": 5},
    "widths.wave_lengths": {"dimension": 2, "largest": 4},
}
