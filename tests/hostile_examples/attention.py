from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from deeptheory.attention import blocks, residual

TOKENS = np.eye(3)[[0, 1, 2, 0]]
LAYER = blocks.Feedforward(0.3 * np.ones((3, 5)), 0.2 * np.ones((5, 3)), np.zeros(5))

RECORDS: dict[str, Callable[[], Any]] = {
    "Feedforward": lambda: LAYER,
    "Heads": lambda: blocks.Heads(*(np.eye(3)[None] for _ in range(3))),
    "Layers": lambda: residual.Layers(0.3 * np.ones((2, 3, 3)), 0.2 * np.ones((2, 3, 3)), np.zeros((2, 3))),
}


def _weights(_: Any) -> residual.Layers:
    return residual.Layers(0.3 * np.ones((3, 3)), 0.2 * np.ones((3, 3)), np.zeros(3))


EXAMPLES: dict[str, dict[str, Any]] = {
    "blocks.sphere_flow": {"velocity": lambda _, x: 0 * x, "tokens": TOKENS, "times": np.array([0.5, 1.0])},
    "blocks.stepped_sphere_flow": {"velocity": lambda _, x: 0 * x, "tokens": TOKENS, "times": np.array([0.5, 1.0])},
    "clusters.random_tokens": {"shape": (4, 3)},
    "mean_field.mode_growth": {"modes": 2, "inverse_temperature": 1.0},
    "metastability.cluster_history": {"tokens": TOKENS, "times": np.array([0.5, 1.0]), "inverse_temperature": 1.0},
    "metastability.merging_time": {"overlap": 0.5, "start": 0.1, "share": 0.3, "inverse_temperature": 1.0},
    "random_heads.random_head": {"dimension": 3, "ensemble": "wigner"},
    "regimes.padded_tokens": {"dimension": 2.0, "count": 4, "most": 3},
    "regimes.metastable_share": {"dimension": 2.0, "count": 4, "most": 3, "steps": 4},
    "regimes.share_after": {"dimension": 2.0, "count": 4, "most": 3, "steps": 4},
    "residual.euler_error": {"weights": _weights, "activation": jnp.tanh},
    "residual.neural_flow": {"weights": _weights, "times": np.array([0.5, 1.0]), "activation": jnp.tanh},
    "residual.stepped_neural_flow": {"weights": _weights, "times": np.array([0.5, 1.0]), "activation": jnp.tanh},
    "residual.residual_network": {"activation": jnp.tanh},
    "saddles.balanced_spectrum": {"tokens": np.concatenate([np.eye(3)[:2], -np.eye(3)[:2]])},
    "saddles.bipolar_spectrum": {"north": 3, "south": 1, "dimension": 3},
    "saddles.bipolar_tokens": {"north": 3, "south": 1, "dimension": 3},
    "saddles.energy_hessian": {"tokens": TOKENS},
    "saddles.saddle_index": {"tokens": TOKENS[[0, 0, 0, 0]]},
    "saddles.tangent_bases": {"tokens": TOKENS},
}  # fmt: skip

FOUND = """
clusters.attention_matrix, key: given
clusters.attention_matrix, query: given
equiangular.equiangular_overlap, count: billion
equiangular.equiangular_overlap, times: huge
mean_field.density_flow, density: float32
random_heads.random_head, ensemble: another word
residual.euler_error, x: longer
residual.residual_network, x: float32
"""
