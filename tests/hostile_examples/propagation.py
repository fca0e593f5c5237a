from typing import Any

import numpy as np

from .ingredients import LAYERS

EXAMPLES: dict[str, dict[str, Any]] = {
    "classifiers.softmax_gradient_bounds": {"weights": LAYERS, "x": np.ones(3)},
    "classifiers.softmax_layer_gradients": {"weights": LAYERS, "x": np.ones(3), "label": 1},
    "random_products.forward_fourth_moment": {"widths": (3, 2)},
    "random_products.forward_second_moment": {"widths": (3, 2)},
    "random_products.fourth_moment_after": {"fourth": 3.0, "square": 4.0, "fourth_powers": 2.0},
    "random_products.gram_second_moment": {"widths": (3, 2)},
    "random_products.layer_gradient_moment": {"widths": (3, 2, 2), "layer": 1},
    "random_products.log_norm_law": {"widths": (3, 2)},
}  # fmt: skip

FOUND = """
classifiers.softmax_layer_gradients, x: longer
"""
