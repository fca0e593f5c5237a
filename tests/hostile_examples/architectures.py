from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.architectures import attention_layers, decoding, language_models, pretrained, tokenization, transformers
from deeptheory.architectures.feature_maps import Convolution
from deeptheory.architectures.normalizers import BatchNorm, init_layer_norm
from deeptheory.architectures.resnets import ConvBlock

from .ingredients import KEY, POINTS

TOKENS = np.array([[0.2, 0.4], [1.0, -0.3], [-0.5, 0.8]])

WORDS = {"A": 0.4, "B": 0.35}

LOGS = jnp.log(jnp.array([[0.2, 0.8], [0.6, 0.4]]))

CHAIN: dict[str, Any] = {"step": lambda state, tokens: (state, LOGS[tokens]), "state": (), "first": np.array([0, 1])}

IDS = np.array([[[0, 1, 2, 1]], [[2, 2, 0, 1]]])
MODEL = language_models.init_language_model(KEY, vocabulary=3, context=4, width=4, layers=1)

IMAGE = np.linspace(0.1, 0.9, 32).reshape(1, 4, 4, 2)

KERNELS = np.linspace(-0.5, 0.9, 54).reshape(3, 3, 3, 2)

LAYERED = {"images": IMAGE, "kernels": KERNELS, "bias": np.ones(3)}

CONVOLUTION = Convolution(KERNELS, np.ones(3), 1, 1)

SQUARE = Convolution(np.ones((2, 3, 3, 2)), np.ones(2), 1, 1)

NORM = BatchNorm(np.ones(2), np.zeros(2))

BLOCK = ConvBlock(SQUARE, NORM)

SPAN = {"low": -1.0, "high": 1.0, "points": 20}

POOLED = {"images": IMAGE, "window": 2}


def bell(t: Any) -> Any:
    return jnp.exp(-(t**2))


RECORDS: dict[str, Callable[[], Any]] = {
    "Linear": lambda: attention_layers.init_linear(KEY, 2, 2),
    "EncoderBlock": lambda: transformers.init_encoder_block(KEY, 2, 3),
    "FeedForward": lambda: transformers.init_feed_forward(KEY, 2, 3),
    "LanguageModel": lambda: MODEL,
    "LayerNorm": lambda: init_layer_norm(2),
    "MultiHeadAttention": lambda: attention_layers.init_attention(KEY, 2),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "attention_layers.Linear": {"weight": TOKENS, "bias": np.zeros(2)},
    "attention_layers.MultiHeadAttention": {"heads": 1},
    "attention_layers.attention_entropy": {"weights": np.array([0.25, 0.75])},
    "attention_layers.init_attention": {"width": 4, "heads": 2},
    "convolutional_networks.ConvolutionalNetwork": {
        "convolutions": (CONVOLUTION,),
        "weights": np.ones(12),
        "bias": np.zeros(()),
    },
    "convolutional_networks.init_convolutional_network": {"size": 8, "channels": 1, "filters": (2, 3)},
    "convolutions.continuous_convolution": {"f": bell, "h": bell, **SPAN},
    "convolutions.convolution_matrix": {"kernel": np.ones(3), "length": 4},
    "convolutions.convolve": {"signal": np.ones(5), "kernel": np.ones(3)},
    "convolutions.convolve_by_fft": {"signal": np.ones(5), "kernel": np.ones(3)},
    "convolutions.cross_correlate": {"signal": np.ones(5), "kernel": np.ones(3)},
    "convolutions.fourier_transform": {"signal": bell, **SPAN},
    "convolutions.integral_operator": {"kernel": lambda u, t: u * t, "signal": bell, **SPAN},
    "decoding.Ending": {"step": CHAIN["step"], "end": 1},
    "decoding.beam_search": CHAIN | {"width": 2, "length": 2},
    "decoding.exact_search": CHAIN | {"length": 2},
    "decoding.greedy_search": CHAIN | {"length": 2},
    "decoding.sample_sequences": CHAIN | {"key": KEY, "length": 2, "law": decoding.tempered},
    "decoding.sequence_law": CHAIN | {"length": 2, "law": decoding.tempered},
    "decoding.top_k": {"logits": TOKENS, "k": 2},
    "feature_maps.Convolution": {"kernels": KERNELS, "bias": np.ones(3)},
    "feature_maps.convolve_images": LAYERED,
    "feature_maps.convolve_images_by_fft": {key: LAYERED[key] for key in LAYERED if key in ("images", "kernels")},
    "feature_maps.correlate_images": LAYERED,
    "feature_maps.init_convolution": {"channels": 2, "filters": 3},
    "feature_maps.output_size": {"size": 9, "window": 3},
    "feature_maps.same_padding": {"window": 3},
    "filters.filter_gradient": {"images": IMAGE, "slopes": np.ones((1, 2, 2, 3)), "window": 3},
    "filters.learn_filters": {
        "start": KERNELS,
        "images": IMAGE,
        "targets": np.ones((1, 2, 2, 3)),
        "rate": 0.1,
        "steps": 2,
    },
    "filters.mean_square": {"kernels": KERNELS, "images": IMAGE, "targets": np.ones((1, 2, 2, 3))},
    "language_models.init_language_model": {"vocabulary": 3, "context": 4, "width": 4, "layers": 1},
    "listings.listed_attention": {"tokens": TOKENS[None]},
    "listings.listed_beam_search": {"initial": WORDS, "expansions": {"A": WORDS}, "width": 2, "steps": 2},
    "listings.listed_block": {"tokens": TOKENS[None]},
    "listings.tree_beam_search": {"initial": WORDS, "expansions": {"A": WORDS}, "width": 2, "steps": 2},
    "masked_language_models.init_masked_language_model": {"vocabulary": 3, "context": 4, "width": 4, "depth": 1},
    "normalizers.batch_statistics": {"z": POINTS},
    "normalizers.running_statistics": {"old": (np.zeros(3), np.ones(3)), "z": POINTS},
    "pooling.average_pool": POOLED,
    "pooling.max_pool": POOLED,
    "pretrained.embedding_table": {"words": ["a", "b", "c"], "ids": np.array([0, 1, 2]), "embedding": TOKENS},
    "pretrained.gpt2_model": {"arrays": pretrained.gpt2_arrays(MODEL)},
    "receptive_fields.parameter_counts": {"rows": 9, "columns": 9, "channels": 2, "filters": 5, "window": 3},
    "receptive_fields.receptive_field_sizes": {"windows": (3, 2), "strides": (1, 2)},
    "receptive_fields.seen_inputs": {"network": lambda x: x, "image": IMAGE[0], "place": (1, 2)},
    "receptive_fields.shift_equivariance_defect": {"network": lambda x: x, "images": IMAGE, "shift": (1, 2)},
    "receptive_fields.shift_invariance_defect": {"network": lambda x: x, "images": IMAGE, "shift": (1, 2)},
    "residual.Residual": {"branch": abs},
    "residual.deep_stack": {"weights": jnp.ones((2, 3, 3)), "x": POINTS},
    "residual.stack_jacobian": {"weights": jnp.ones((2, 3, 3)), "x": POINTS[0]},
    "resnets.BasicBlock": {"first": SQUARE, "first_norm": NORM, "second": SQUARE, "second_norm": NORM},
    "resnets.ConvBlock": {"convolution": SQUARE, "norm": NORM},
    "resnets.DenseBlock": {"norms": (NORM,), "convolutions": (SQUARE,)},
    "resnets.ResNet9": {
        "conv1": BLOCK,
        "conv2": BLOCK,
        "res1": (BLOCK, BLOCK),
        "conv3": BLOCK,
        "conv4": BLOCK,
        "res2": (BLOCK, BLOCK),
        "weights": np.ones((4, 2)),
        "bias": np.ones(4),
    },
    "resnets.init_basic_block": {"channels": 2, "filters": 3},
    "resnets.init_conv_block": {"channels": 2, "filters": 3},
    "resnets.init_dense_block": {"channels": 2, "growth": 3, "layers": 2},
    "resnets.init_resnet9": {"channels": 1, "classes": 2, "width": 1},
    "scalar_chains.first_order_rate": {"weights": np.ones(3), "gradient": np.ones(3)},
    "token_training.token_loss": {"model": MODEL, "inputs": IDS[0], "targets": IDS[0], "told": IDS[0] > 0},
    "token_training.train_on_tokens": {"model": MODEL, "inputs": IDS, "targets": IDS, "told": IDS > 0},
    "tokenization.BytePairs": {"merges": ((0, 1),), "tokens": (*tokenization.ALPHABET, b'!"')},
    "tokenization.train_byte_pairs": {"text": "low lower lowest", "vocabulary": 260},
    "transformers.FeedForward": {"activation": jax.nn.relu},
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
masked_language_models.MaskedLanguageModel
pretrained.read_safetensors
pretrained.write_safetensors
transformers.DecoderBlock
transformers.EncoderBlock
vision_transformers.VisionTransformer
"""

FREE_TEXT = """
tokenization.pieces_of_text, text
tokenization.train_byte_pairs, text
"""
