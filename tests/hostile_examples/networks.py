from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from deeptheory.networks import autoencoders, computation_graphs, from_scratch, logit_losses, mlp, pieces, tent

from .ingredients import KEY

STEPS = {"a": ("sin", "x"), "f": ("multiply", "a", "x")}
GRAPH = computation_graphs.ComputationGraph(STEPS, "f")
LEAVES = {"x": 0.5}
CELL = {"pre": ("multiply", "w", "before"), "sum": ("add", "pre", "x"), "h": ("tanh", "sum")}
AFFINE = from_scratch.init_glorot(KEY, (3, 4, 1))
LOGITS, TARGET = np.array([0.3, -1.2, 2.0]), np.array([0.0, 1.0, 0.0])
PIECES = tent.tent_layers(2)
PLANE = np.array([[0.2, 0.4], [1.0, -0.3], [-0.5, 0.8], [0.6, 0.9]])
TENT = [((Fraction(1), Fraction(0)), (Fraction(-1), Fraction(2)))]

RECORDS: dict[str, Callable[[], Any]] = {
    "ComputationGraph": lambda: GRAPH,
    "LinearAutoencoder": lambda: autoencoders.optimal_autoencoder(PLANE.T, width=1),
    "Perceptron": lambda: logit_losses.Perceptron(np.array([0.5, -1.0]), np.array([[0.3, 1.0], [-0.7, 0.2]])),
    "Affine": lambda: from_scratch.init_glorot(KEY, (3, 1))[0],
    "MLP": lambda: mlp.init_mlp(KEY, (3, 4, 1)),
    "PiecewiseAffine": lambda: pieces.through_points((0, 1), (0, 2), 1, -1),
    "TwoGaussians": lambda: from_scratch.crossed_gaussians(),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "computation_graphs.ComputationGraph": {"steps": STEPS, "output": "f"},
    "computation_graphs.clamped_derivative": {"leaves": LEAVES, "node": "a"},
    "computation_graphs.evaluate": {"leaves": LEAVES},
    "computation_graphs.perceptron_graph": {"widths": (2, 2, 1), "activation": "tanh"},
    "activations.ridge": {"activation": "tanh"},
    "activations.ridge_slopes": {"activation": "tanh"},
    "activations.sigmoid_derivative": {"z": PLANE},
    "autoencoders.train_autoencoder": {"data": PLANE.T, "steps": 3},
    "linear_maps.affine_parts": {"function": lambda x: 2 * x + 1},
    "linear_maps.collapsed": {"layers": [np.ones((2, 3)), np.ones((1, 2))]},
    "linear_maps.is_affine": {"function": lambda x: 2 * x + 1},
    "linear_maps.is_linear": {"function": lambda x: 2 * x},
    "linear_maps.superposition_defect": {"function": lambda x: 2 * x + 1},
    "logit_losses.binary_residual": {"logits": PLANE[:, 0], "labels": np.array([0.0, 1.0, 0.5, 0.0])},
    "logit_losses.softmax_residual": {"logits": LOGITS, "target": TARGET},
    "logit_losses.perceptron_outputs": {"x": PLANE},
    "logit_losses.perceptron_slopes": {"x": PLANE},
    "logit_losses.train_perceptron": {"x": PLANE, "steps": 3},
    "rings.polar_coordinates": {"points": PLANE},
    "rings.polygon_features": {"points": PLANE},
    "recurrences.unroll": {"steps": CELL, "carried": {"before": "h"}, "output": "h", "length": 3, "inputs": ["x"]},
    "reverse_mode.backpropagate": {"leaves": LEAVES},
    "reverse_mode.forward_accumulation": {"leaves": LEAVES},
    "reverse_mode.hessian_vector_product": {"leaves": LEAVES, "vector": {"x": 1.0}},
    "reverse_mode.sum_over_paths": {"leaves": LEAVES, "node": "a"},
    "reverse_mode.trace": {"leaves": LEAVES},
    "from_scratch.bayes_logits": {"x": PLANE},
    "from_scratch.population_cross_entropy": {"model": lambda x: x[..., 0]},
    "from_scratch.printed_gradient": {"network": AFFINE, "y": np.array([0.0, 1.0, 1.0, 0.0])},
    "from_scratch.printed_probabilities": {"z": np.linspace(-3, 3, 4)},
    "from_scratch.train_classifier": {"network": AFFINE, "y": np.array([0.0, 1.0, 1.0, 0.0]), "steps": 3},
    "pieces.PiecewiseAffine": {"knots": (Fraction(1),), "pieces": tuple(TENT[0])},
    "pieces.layers_from_arrays": {"weights": [np.ones((2, 1)), np.ones((1, 2))], "biases": [np.ones(2), np.ones(1)]},
    "pieces.minimal_shallow_units": {"low": 0, "high": 2},
    "pieces.network_function": {"layers": PIECES},
    "pieces.pieces_on_a_grid": {"layers": PIECES, "low": 0, "high": 1},
    "pieces.propagate": {"layers": PIECES},
    "pieces.relu_nodes": {"layers": PIECES},
    "pieces.shallow_layers": {"low": 0, "high": 2},
    "pieces.through_points": {"knots": (0, 1), "values": (0, 2)},
    "tent.fit_sawtooth": {"iterates": 1, "widths": (2,), "starts": 2, "steps": 2},
}  # fmt: skip

FOUND = """
tent.sawtooth, x: complex
from_scratch.train_classifier, gradient: number
from_scratch.train_classifier, steps: million
linear_maps.superposition_defect, beta: negative
"""

ELSEWHERE = """
recurrences.tie
"""

SIGNED = """
linear_maps.superposition_defect, beta
"""
