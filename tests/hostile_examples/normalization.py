from typing import Any

import jax.numpy as jnp
import numpy as np

from .ingredients import LAYERS, POINTS, square

HOMOGENEOUS = {"function": square, "parameters": np.ones(3)}

EXAMPLES: dict[str, dict[str, Any]] = {
    "homogeneity.degree_of_homogeneity": HOMOGENEOUS,
    "homogeneity.euler_degree": HOMOGENEOUS,
    "homogeneity.invariance_defect": HOMOGENEOUS,
    "homogeneity.invariant_leaves": HOMOGENEOUS,
    "homogeneity.scaled": {"parameters": np.ones(3), "factor": 2.0},
    "normalizers.NormalizedNetwork": {
        "weights": (LAYERS[0],), "gains": (np.ones(4),), "shifts": (np.ones(4),), "top": LAYERS[1], "normalize": abs,
    },
    "normalizers.deep_outputs": {
        "weights": np.ones((2, 3, 3)), "top": np.ones((1, 3)), "x": POINTS, "normalize": lambda a: a,
    },
    "normalizers.group_norm": {"groups": 2},
    "normalizers.init_normalized_network": {"widths": (3, 4, 1)},
    "product_models.logistic_minimizer": {"margins": np.array([1.0, 0.5, -0.2])},
    "product_models.product_descent": {"factors": np.array([0.5, 1.2]), "steps": 3},
    "spheres.CircleWaves": {"cosines": np.ones(2), "sines": np.ones(2)},
    "spheres.sphere_smoothness": {"function": lambda w: w[0] / jnp.linalg.norm(w), "starts": POINTS, "steps": 3},
    "weight_decay.decayed_descent":
        {"gradient": lambda w, *batch: w, "start": np.ones(3), "rates": np.full(4, 0.1), "decays": 0.2},
    "weight_decay.equivalent_rates": {"rates": np.full(4, 0.1), "decays": 0.2},
    "weight_decay.heavy_ball": {"gradient": lambda w, *batch: w, "start": np.ones(3), "rates": np.full(4, 0.1)},
    "weight_decay.momentum_rates": {"rate": 0.1, "decay": 0.1, "momentum": 0.5},
    "weight_decay.momentum_root": {"rate": 0.1, "decay": 0.1, "momentum": 0.5},
    "weight_decay.unrolled_square_norm": {"rates": np.full(4, 0.1), "decays": 0.2},
}  # fmt: skip

MAY_BE_NAN = ("normalizers.batch_norm", "normalizers.group_norm", "normalizers.layer_norm")
"""without ε a constant row has no deviation to be divided by"""

FOUND = """
weight_decay.decayed_descent, batches: given
weight_decay.decayed_descent, batches: words
weight_decay.heavy_ball, before: given
weight_decay.heavy_ball, batches: a key
equilibrium.effective_rate, rate: huge
equilibrium.equilibrium_norm, rate: huge
homogeneity.euler_degree, parameters: words
homogeneity.scaled, parameters: objects
normalizers.deep_outputs, x: float32
product_models.explosion_rate, product: two
weight_decay.heavy_ball, start: complex
"""
