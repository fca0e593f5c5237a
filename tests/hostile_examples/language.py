from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from deeptheory.architectures.decoding import tempered
from deeptheory.architectures.language_models import init_language_model

MODEL = init_language_model(jax.random.key(0), vocabulary=3, context=4, width=4, layers=1)
TEXT = np.array([0, 1, 2, 1, 0, 0, 2, 1])
CHAIN = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.4, 0.5]])
OTHER = np.array([[0.4, 0.3, 0.3], [0.3, 0.5, 0.2], [0.2, 0.4, 0.4]])
START = np.array([0.2, 0.5, 0.3])
WINS = np.array([[0.0, 3.0, 1.0], [1.0, 0.0, 2.0], [2.0, 1.0, 0.0]])
REWARDS = np.array([0.5, -0.5, 1.0])
WORDS = np.array([True, False, True])

RECORDS: dict[str, Callable[[], Any]] = {"LanguageModel": lambda: MODEL}

EXAMPLES: dict[str, dict[str, Any]] = {
    "alphabets.alphabet_of": {"text": "banana"},
    "alphabets.symbol_numbers": {"text": "banana", "alphabet": "abn"},
    "alphabets.text_of": {"numbers": np.array([1, 0, 2]), "alphabet": "abn"},
    "character_models.loss_on_text": {"model": MODEL, "text": TEXT},
    "character_models.next_symbol_loss": {"model": MODEL, "windows": TEXT[:4].reshape(1, 4)},
    "character_models.train_next_symbol": {"model": MODEL, "text": TEXT, "steps": 2, "rows": 2},
    "cloze.cloze_score": {"human": CHAIN, "model": OTHER},
    "cloze.grouped_choices": {"law": CHAIN, "groups": np.array([0, 1, 0])},
    "cloze.independent_disagreement": {"human": START, "model": CHAIN[0], "words": WORDS},
    "cloze.most_telling_words": {"human": CHAIN, "model": OTHER},
    "cloze.pinsker_error": {"excess": 0.5},
    "cloze.question_error": {"human": START, "model": CHAIN[0], "words": WORDS},
    "decoding_rules.beam_perplexity": {"model": CHAIN, "start": START, "width": 2, "length": 3},
    "decoding_rules.decoded_model": {"model": CHAIN, "rule": tempered},
    "decoding_rules.decoding_table": {"source": CHAIN, "model": OTHER, "rules": {"pure": tempered}, "length": 3},
    "decoding_rules.expected_surprise": {"law": CHAIN},
    "decoding_rules.written_perplexity": {"model": CHAIN, "writer": OTHER, "start": START, "length": 3},
    "next_word.answer_loss": {
        "logits": np.ones((4, 3)), "numbers": np.array([0, 1, 2, 1]), "is_answer": np.array([False, True, True, True]),
    },
    "next_word.attention_flops": {"symbols": 12, "layers": 2, "length": 3, "width": 4},
    "next_word.attention_only_logits": {"numbers": np.array([0, 1, 2])},
    "ngrams.additive_ngrams": {"counts": WINS},
    "ngrams.count_ngrams": {"texts": TEXT, "order": 2, "vocabulary": 3},
    "ngrams.interpolated_ngrams": {"counts": WINS, "shares": (0.5, 0.25, 0.25)},
    "ngrams.kneser_ney_ngrams": {"counts": WINS},
    "ngrams.perplexity": {"surprise": np.array([0.5, 1.0, 2.0])},
    "preferences.bradley_terry": {"rewards": REWARDS},
    "preferences.fit_rewards": {"wins": WINS},
    "preferences.gibbs_policy": {"reference": START, "rewards": REWARDS, "beta": 0.5},
    "preferences.implicit_reward": {"policy": START, "reference": CHAIN[0], "beta": 0.5},
    "preferences.preference_loss": {"rewards": REWARDS, "wins": WINS},
    "preferences.preference_policy": {"reference": START, "wins": WINS, "beta": 0.5},
    "preferences.rewards_exist": {"wins": WINS},
    "preferences.rlhf_ascent": {"reference": START, "rewards": REWARDS, "beta": 0.5, "steps": 3},
    "preferences.rlhf_value": {"policy": START, "reference": CHAIN[0], "rewards": REWARDS, "beta": 0.5},
    "sources.context_chain": {"source": CHAIN},
    "sources.corpus_variance": {"source": CHAIN, "model": OTHER, "length": 4},
    "sources.cross_entropy_rate": {"source": CHAIN, "model": OTHER},
    "sources.draw_texts": {"source": CHAIN, "length": 4},
    "sources.entropy_rate": {"source": CHAIN},
    "sources.excess_entropy": {"source": CHAIN, "model": OTHER},
    "sources.of_order": {"source": CHAIN, "order": 2},
    "sources.order_of": {"source": CHAIN},
    "sources.stationary_contexts": {"source": CHAIN},
    "sources.switching_source": {"regimes": np.stack([CHAIN, OTHER]), "stay": 0.5},
    "sources.text_surprise": {"model": CHAIN, "texts": TEXT},
}  # fmt: skip

FREE_TEXT = """
alphabets.alphabet_of, text
alphabets.text_of, alphabet
sources.order_of, name
"""

FOUND = """
character_models.train_next_symbol, steps: million
ngrams.perplexity, surprise: float32
sources.draw_texts, length: billion
"""
