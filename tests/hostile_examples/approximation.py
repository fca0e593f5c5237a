from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.approximation import shells, thresholds

from .ingredients import KEY, LAW

DRAWS = {"vectors": np.array([[1.0, 0.2], [0.5, -1.0], [0.3, 0.8], [-0.6, 0.1]]), "probabilities": LAW, "samples": 3}
EDGES = np.array([0.5, 0.8, 1.3])
SHELLS = shells.Shells(EDGES, np.array([1.0, -1.0]))
WAVES = thresholds.CosineSum(np.array([0.5, 1.2]), np.array([[0.7, -0.4], [0.3, 1.1]]), np.array([0.1, 0.35]))
NETWORK = shells.two_stage_network(SHELLS, 2, step=0.2, ramp=0.01)

RECORDS: dict[str, Callable[[], Any]] = {
    "CosineSum": lambda: WAVES,
    "GaussianBump": lambda: thresholds.GaussianBump(np.array([0.3, -0.2]), 0.8),
    "Shells": lambda: SHELLS,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "barron.barron_constant": {"magnitude": lambda rho: np.exp(-rho), "dimension": 2},
    "barron.cosine_barron_constant": {"amplitudes": np.ones(3), "frequencies": np.ones((3, 2))},
    "barron.grid_barron_constant": {"values": np.ones((4, 5))},
    "maurey.greedy_draws": DRAWS,
    "maurey.maurey_bounds": DRAWS,
    "maurey.maurey_error": DRAWS,
    "maurey.sampled_errors": DRAWS | {"trials": 2},
    "separation.best_ridge_error": {"target": np.cos, "edges": EDGES, "dimension": 3},
    "separation.limiting_tube_share": {"dimension": 3, "ratio": 2.0},
    "separation.one_layer_floor": {"energy": np.ones(4), "frequencies": np.arange(1.0, 5.0), "width": 2.0},
    "separation.radial_energy": {"target": np.cos, "edges": EDGES, "dimension": 3, "frequencies": np.arange(1.0, 5.0)},
    "separation.tube_share": {"dimension": 3, "ratio": 2.0},
    "shells.Shells": {"edges": EDGES, "signs": np.array([1.0, -1.0])},
    "shells.TwoStageNetwork": {
        "first": NETWORK.first, "first_bias": NETWORK.first_bias, "second": NETWORK.second,
        "second_bias": NETWORK.second_bias, "output": NETWORK.output, "step": 0.2, "ramp": 0.01,
    },
    "shells.two_stage_error": {"dimension": 2, "step": 0.1, "ramp": 0.01},
    "shells.two_stage_network": {"dimension": 2, "step": 0.1, "ramp": 0.01},
    "thresholds.CosineSum": {"amplitudes": np.ones(2), "frequencies": np.ones((2, 3)), "phases": np.zeros(2)},
    "thresholds.expected_threshold_error": {"x": np.array([[0.5, 0.1], [0.0, -0.4]]), "units": 4},
    "thresholds.threshold_integral": {"nodes": 8},
    "thresholds.threshold_network": {"key": KEY, "target": WAVES, "units": 5},
    "widths.adaptive_width": {"lengths": np.array([3.0, 2.0, 1.0, 0.5]), "terms": 1},
    "widths.best_fixed_basis": {"lengths": np.array([3.0, 2.0, 1.0, 0.5]), "terms": 1},
    "widths.fixed_basis_error": {"lengths": np.array([3.0, 2.0, 1.0]), "basis": np.ones((1, 3))},
    "widths.fixed_width": {"lengths": np.array([3.0, 2.0, 1.0, 0.5]), "terms": 1},
    "widths.limiting_fixed_width": {"dimension": 2, "terms": 5},
    "widths.wave_lengths": {"dimension": 2, "largest": 4},
}  # fmt: skip
