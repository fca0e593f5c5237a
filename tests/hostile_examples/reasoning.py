from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.reasoning import in_context, step_supervision, table_transformer, traces, word_problems

from .ingredients import KEY

LAYER = in_context.gradient_step_layer(2, 1, 3, 0.1)
TABLE = table_transformer.transformer_of_table(np.array([[0, 1], [1, 0]]), places=4)
NETWORKS = step_supervision.init_recurrent(KEY, width=4, ensemble=(2,))
BITS = step_supervision.all_bits(3)

RECORDS: dict[str, Callable[[], Any]] = {
    "LinearAttention": lambda: LAYER,
    "Problem": lambda: word_problems.TENNIS,
    "Recurrent": lambda: step_supervision.init_recurrent(KEY, width=4),
    "TableTransformer": lambda: TABLE,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "in_context.attend": {"layer": LAYER, "tokens": np.ones((4, 3)), "examples": 3},
    "step_supervision.answers": {"bits": BITS},
    "step_supervision.running_parity": {"bits": BITS},
    "step_supervision.train_recurrent": {"network": NETWORKS, "bits": BITS, "told": np.ones((2, 3)), "steps": 2},
    "table_transformer.think_aloud": {"inputs": np.array([0, 1, 1, 0]), "start": 0, "steps": 3},
    "table_transformer.transformer_of_table": {"table": np.array([[0, 1], [1, 0]]), "places": 4},
    "traces.arithmetic_trace": {"expression": "(1 + 2) * 3", "modulus": 5},
    "traces.balanced_trace": {"numbers": [1, 2, 3], "rule": "add"},
    "traces.depth": {"trace": traces.balanced_trace([1, 2, 3], "add")},
    "traces.edit_distance_trace": {"one": "ab", "other": "ba"},
    "traces.fan_in": {"trace": traces.balanced_trace([1, 2, 3], "add")},
    "traces.increasing_subsequence_trace": {"numbers": [1, 3, 2]},
    "traces.wrong_steps": {"trace": traces.balanced_trace([1, 2, 3], "add")},
    "verifiers.chain_success": {"chances": [0.5, 0.25]},
    "verifiers.filtered_chains": {"step": 0.5, "steps": 3, "tries": 2},
    "verifiers.filtered_steps": {"step": 0.5, "steps": 3, "tries": 2},
    "verifiers.modular_success": {"step": 0.5, "steps": 3, "modulus": 3},
    "word_problems.chain_prompt": {"examples": [word_problems.CAFETERIA]},
    "word_problems.faulty_steps": {"text": "2 * 3 = 6. 5 + 6 = 11. The answer is 11."},
    "word_problems.read_answer": {"text": "The answer is 9."},
    "word_problems.standard_prompt": {"examples": [word_problems.CAFETERIA]},
}  # fmt: skip

FREE_TEXT = """
traces.edit_distance_trace, one
traces.edit_distance_trace, other
"""

FOUND = """
in_context.gradient_step_layer, step_size: negative
step_supervision.train_recurrent, steps: million
"""
