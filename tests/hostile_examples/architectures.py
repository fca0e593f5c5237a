from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.architectures import attention_layers, decoding, language_models, pretrained, tokenization, transformers

from .ingredients import KEY

TOKENS = np.array([[0.2, 0.4], [1.0, -0.3], [-0.5, 0.8]])
WORDS = {"A": 0.4, "B": 0.35}
LOGS = jnp.log(jnp.array([[0.2, 0.8], [0.6, 0.4]]))
CHAIN: dict[str, Any] = {"step": lambda state, tokens: (state, LOGS[tokens]), "state": (), "first": np.array([0, 1])}
MODEL = language_models.init_language_model(KEY, vocabulary=3, context=4, width=4, layers=1)

RECORDS: dict[str, Callable[[], Any]] = {
    "Linear": lambda: attention_layers.init_linear(KEY, 2, 2),
    "EncoderBlock": lambda: transformers.init_encoder_block(KEY, 2, 3),
    "FeedForward": lambda: transformers.init_feed_forward(KEY, 2, 3),
    "LanguageModel": lambda: MODEL,
    "LayerNorm": lambda: transformers.init_layer_norm(2),
    "MultiHeadAttention": lambda: attention_layers.init_attention(KEY, 2),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "attention_layers.Linear": {"weight": TOKENS, "bias": np.zeros(2)},
    "attention_layers.MultiHeadAttention": {"heads": 1},
    "attention_layers.attention_entropy": {"weights": np.array([0.25, 0.75])},
    "attention_layers.init_attention": {"width": 4, "heads": 2},
    "decoding.Ending": {"step": CHAIN["step"], "end": 1},
    "decoding.beam_search": CHAIN | {"width": 2, "length": 2},
    "decoding.exact_search": CHAIN | {"length": 2},
    "decoding.greedy_search": CHAIN | {"length": 2},
    "decoding.sample_sequences": CHAIN | {"key": KEY, "length": 2, "law": decoding.tempered},
    "decoding.sequence_law": CHAIN | {"length": 2, "law": decoding.tempered},
    "decoding.top_k": {"logits": TOKENS, "k": 2},
    "language_models.init_language_model": {"vocabulary": 3, "context": 4, "width": 4, "layers": 1},
    "listings.listed_attention": {"tokens": TOKENS[None]},
    "listings.listed_beam_search": {"initial": WORDS, "expansions": {"A": WORDS}, "width": 2, "steps": 2},
    "listings.listed_block": {"tokens": TOKENS[None]},
    "listings.tree_beam_search": {"initial": WORDS, "expansions": {"A": WORDS}, "width": 2, "steps": 2},
    "pretrained.embedding_table": {"words": ["a", "b", "c"], "ids": np.array([0, 1, 2]), "embedding": TOKENS},
    "pretrained.gpt2_model": {"arrays": pretrained.gpt2_arrays(MODEL)},
    "tokenization.BytePairs": {"merges": ((0, 1),), "tokens": (*tokenization.ALPHABET, b'!"')},
    "tokenization.train_byte_pairs": {"text": "low lower lowest", "vocabulary": 260},
    "transformers.FeedForward": {"activation": jax.nn.relu},
    "transformers.LayerNorm": {"gain": np.ones(3), "shift": np.zeros(3)},
    "transformers.init_decoder_block": {"width": 2, "hidden": 3},
    "transformers.init_encoder_block": {"width": 2, "hidden": 3},
    "transformers.init_feed_forward": {"width": 2, "hidden": 3},
    "transformers.residual_encoder_block": {"activation": jnp.tanh},
    "transformers.sinusoidal_positions": {"count": 5, "width": 4},
    "vision_transformers.init_vision_transformer": {"image": 4, "size": 2, "width": 4, "layers": 1},
    "vision_transformers.patchify": {"images": np.ones((4, 4, 1)), "size": 2},
    "vision_transformers.unpatchify": {"patches": np.ones((4, 4)), "size": 2, "height": 4, "width": 4},
}

# A block, a model and a cache are made by their own functions; files are tried with nonsense in `test_pretrained`.
ELSEWHERE = """
decoding.Found
language_models.Cache
language_models.CausalBlock
language_models.LanguageModel
pretrained.read_safetensors
pretrained.write_safetensors
transformers.DecoderBlock
transformers.EncoderBlock
vision_transformers.VisionTransformer
"""
