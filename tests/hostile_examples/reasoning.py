from collections.abc import Callable
from typing import Any

import numpy as np

from deeptheory.architectures.language_models import init_language_model
from deeptheory.foundations.bits import all_bits
from deeptheory.reasoning import in_context, table_transformer, traces, word_problems

from .ingredients import KEY

LAYER = in_context.gradient_step_layer(2, 1, 3, 0.1)
TABLES = [np.array([[0, 1], [1, 0]])]
TABLE = table_transformer.transformer_of_tables(TABLES, places=4)
MODEL = init_language_model(KEY, vocabulary=3, context=6, width=4, layers=1)
BITS = all_bits(3)

RECORDS: dict[str, Callable[[], Any]] = {
    "LinearAttention": lambda: LAYER,
    "Problem": lambda: word_problems.TENNIS,
    "LanguageModel": lambda: MODEL,
    "TableTransformer": lambda: TABLE,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "in_context.attend": {"layer": LAYER, "tokens": np.ones((4, 3)), "examples": 3},
    "step_supervision.lines_of_thought": {"bits": BITS, "thoughts": BITS},
    "step_supervision.running_parity": {"bits": BITS},
    "step_supervision.silent_thoughts": {"bits": BITS},
    "step_supervision.spoken_thoughts": {"bits": BITS},
    "table_transformer.think_aloud": {
        "given": np.array([0, 1]), "tables": np.array([0, 0]), "reads": np.array([[0, 1], [2, 1]]),
    },
    "table_transformer.transformer_of_tables": {"tables": TABLES, "places": 4},
    "traces.arithmetic_trace": {"expression": "(1 + 2) * 3", "modulus": 5},
    "traces.balanced_trace": {"numbers": [1, 2, 3], "rule": "add"},
    "traces.depth": {"trace": traces.balanced_trace([1, 2, 3], "add")},
    "traces.edit_distance_trace": {"one": "ab", "other": "ba"},
    "traces.elimination_trace": {"matrix": np.array([[0, 1], [1, 1]]), "right": np.array([1, 2]), "modulus": 5},
    "traces.fan_in": {"trace": traces.balanced_trace([1, 2, 3], "add")},
    "traces.increasing_subsequence_trace": {"numbers": [1, 3, 2]},
    "traces.replayed": {"trace": traces.balanced_trace([1, 2, 3], "add")},
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
"""
