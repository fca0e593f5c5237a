from typing import Any

import numpy as np

EXAMPLES: dict[str, dict[str, Any]] = {
    "binomial.clopper_pearson_lower": {"successes": 2, "trials": 5},
    "binomial.clopper_pearson_upper": {"successes": 2, "trials": 5},
    "filters.pseudo_inverse_filter": {"singular": np.array([0.5, 2.0])},
}  # fmt: skip

INNER = (
    "entrances",
    "flows",
    "guards",
    "hermite.Link",
    "krylov",
    "packages",
    "shapes",
    "wishes",
)

FOUND = """
concentration.log_binomial_deviation, deviation: negative
concentration.log_hoeffding, widths: negated
"""
