from typing import Any

import numpy as np

from deeptheory.spectra.sparse_fourier import SparseSpectrum

TERMS = {"shape": (8,), "frequencies": np.array([1, 3]), "coefficients": np.array([1j, 2.0]), "bound": 0.1}
FEW = SparseSpectrum(**TERMS)
ROW = {"says": "k", "time": "n", "filters": False, "isometry": False}
SPECTRUM = {"population": [0.5, 2.0], "weights": [0.4, 0.6]}


def at_one(z: Any) -> Any:
    return 1 / (1 - z)


EXAMPLES: dict[str, dict[str, Any]] = {
    "edges.smallest_eigenvalue_scaling": {"dimension": 3, "samples": 5},
    "free_convolution.free_additive_moments": {"first": [0, 1, 0], "second": [0, 2, 0]},
    "free_convolution.free_additive_stieltjes": {"z": np.array([2j]), "first": at_one, "second": at_one},
    "free_convolution.free_multiplicative_moments": {"first": [1, 2], "second": [1, 3]},
    "free_convolution.free_multiplicative_stieltjes": {"z": np.array([0.5 + 2j]), "first": at_one, "second": at_one},
    "ridge_path.ridge_bias_slope_bound": {"smallest": 0.2, "largest": 2.0},
    "self_consistent.effective_ridge": SPECTRUM,
    "self_consistent.general_edges": SPECTRUM,
    "self_consistent.general_moment": SPECTRUM,
    "self_consistent.general_pdf": SPECTRUM,
    "self_consistent.general_stieltjes": SPECTRUM,
    "self_consistent.silverstein_inverse": SPECTRUM | {"v": -0.1},
    "sparse_fourier.Recovery": {"spectrum": FEW, "steps": (FEW,), "rounds": 1, "drawn": 9, "read": 8},
    "sparse_fourier.SparseSpectrum": TERMS,
    "sparse_fourier.keep_largest": {"spectrum": FEW, "sparsity": 1},
    "sparse_fourier.recover_spectrum": {"signal": np.ones(8), "sparsity": 1, "noise": 0.1, "largest": 1.0},
    "sparse_fourier_table.SparseTransform": ROW | {"samples": max},
    "sparse_fourier_table.transform_samples": {"reference": "NSW19", "sparsity": 2, "size": 8},
    "stieltjes.stieltjes_transform": {"points": [0.5, 1.0]},
}  # fmt: skip

SIGNED = """
semicircle.circular_radius_cdf, radius
semicircle.ginibre_largest_cdf, radius
semicircle.ginibre_radius_cdf, radius
"""

FOUND = """
edges.wishart_eigenvalue_below, trials: billion
"""

FREE_TEXT = """
sparse_fourier_table.SparseTransform, says
sparse_fourier_table.SparseTransform, time
"""
