from typing import Any

import numpy as np

from deeptheory.scaling.chinchilla import HOFFMANN
from deeptheory.scaling.power_laws import fit_scaling_law

SIZES = 10.0 ** np.arange(2, 8)
SHARES = np.array([0.4, 0.3, 0.2])

RECORDS: dict[str, Any] = {
    "ScalingLaw": lambda: HOFFMANN,
    "ScalingFit": lambda: fit_scaling_law(SIZES, 1 + 3 * SIZES**-0.4),
}
EXAMPLES: dict[str, dict[str, Any]] = {
    **{
        f"memorization.{name}": {"chances": SHARES}
        for name in ("memorization_loss", "memorization_variance", "memorize")
    },
    "power_laws.fit_scaling_law": {"sizes": SIZES, "losses": 1 + 3 * SIZES**-0.4, "errors": 0.01 * np.ones(6)},
    "power_laws.loss_at": {"sizes": (1e9, 1e10)},
    "power_laws.predicted_interval": {"sizes": (1e9,)},
    "resolution.grid_interpolant": {
        "function": lambda x: x.sum(-1),
        "points": np.linspace(0.1, 0.9, 8).reshape(4, 2),
        "cells": 3,
    },
    "resolution.simplex_error": {"vertices": np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 1.0]]), "curvature": np.eye(2)},
    "size_accounting.counted_flops": {"function": lambda x: x @ x.T, "arguments": (np.ones((2, 3)),)},
}
