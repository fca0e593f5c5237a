"""Weights from a file: the safetensors format read with NumPy, and language models under the names of GPT-2.

A file is eight bytes that say how long its header is, a header in JSON (name → kind, shape, place) and the arrays one
after the other. Nothing is ever downloaded.

Reference: lucchi Sec. 10.4.5, Listing 10.5, for the table of embeddings; Radford et al. 2019 for GPT-2; the format
is that of the safetensors library, Hugging Face (2022).
"""

import json
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jaxtyping import Array, Float, Int

from deeptheory.architectures.attention_layers import Linear, MultiHeadAttention
from deeptheory.architectures.language_models import CausalBlock, LanguageModel
from deeptheory.architectures.normalizers import LayerNorm
from deeptheory.architectures.transformers import FeedForward
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["embedding_table", "gpt2_arrays", "gpt2_model", "read_safetensors", "write_safetensors"]

KINDS = {
    "F64": np.dtype("<f8"), "F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("<i8"), "I32": np.dtype("<i4"), "I16": np.dtype("<i2"), "I8": np.dtype("i1"),
    "U8": np.dtype("u1"), "BOOL": np.dtype("bool"),
}  # fmt: skip


def read_safetensors(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of a safetensors file by name; a file that is cut off or not of this format is refused."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"path must name a file that can be read, got {str(path)!r}: {error.strerror}") from None
    start = 8 + int.from_bytes(content[:8], "little")
    if len(content) < 8 or start > len(content):
        raise ValueError(f"{path} is no safetensors file: its {len(content)} bytes end before its header does")
    try:
        header = json.loads(content[8:start])
        entries = {name: _entry(**entry) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f"{path} is no safetensors file: its header is not the JSON of one") from None
    data = memoryview(content)[start:]
    return {name: _array(f"{name} in {path}", data, *entry) for name, entry in entries.items()}


def _entry(dtype: Any, shape: Any, data_offsets: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Kind, shape and place of an array, as the header has to say them."""
    if any(type(number) is not int or number < 0 for number in (*shape, *data_offsets)):
        raise ValueError("no sizes")
    begin, end = data_offsets
    return str(dtype), tuple(shape), begin, end


def _array(name: str, data: memoryview, kind: str, shape: tuple[int, ...], begin: int, end: int) -> np.ndarray:
    if kind not in KINDS:
        raise ValueError(f"{name} must be of a kind in {', '.join(KINDS)}, got {kind!r}")
    if not begin <= end <= len(data):
        raise ValueError(f"{name} is cut off: its bytes {begin} to {end} are not among the {len(data)} there are")
    if end - begin != prod(shape) * KINDS[kind].itemsize:
        raise ValueError(f"{name} must have {prod(shape)} numbers of kind {kind}, got {end - begin} bytes")
    return np.frombuffer(data[begin:end], KINDS[kind]).reshape(shape)


def write_safetensors(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name into a safetensors file."""
    names = {dtype: kind for kind, dtype in KINDS.items()}
    header, parts, place = {}, [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        if array.dtype not in names:
            raise ValueError(f"{name} must be of a kind in {', '.join(KINDS)}, got {array.dtype}")
        header[name] = {
            "dtype": names[array.dtype], "shape": array.shape, "data_offsets": [place, place + array.nbytes]
        }  # fmt: skip
        place += array.nbytes
        parts.append(array.tobytes())
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *parts]))


def gpt2_model(arrays: Mapping[str, np.ndarray], *, heads: int | None = None) -> LanguageModel:
    """The language model whose weights have GPT-2's names (wte.weight, h.0.attn.c_attn.weight, …).

    A prefix "transformer." is taken off, and what is no weight (masks, a second copy of the embedding) left out. The
    file does not say how many heads there are: GPT-2 has one for each 64 coordinates, which is taken unless told.
    """
    named = {name.removeprefix("transformer."): array for name, array in arrays.items()}

    def get(name: str, *shape: int) -> Float[Array, "..."]:
        if name not in named:
            raise ValueError(f"arrays must have one called {name!r}, got {len(named)} others")
        array = np.asarray(named[name])
        if array.ndim != len(shape) or any(
            want not in (-1, have) for want, have in zip(shape, array.shape, strict=True)
        ):
            wanted = " × ".join("any" if size < 0 else str(size) for size in shape)
            raise ValueError(f"{name} must have shape {wanted}, got {' × '.join(map(str, array.shape))}")
        kind = array.dtype if array.dtype == np.float64 else np.float32
        return jnp.asarray(array.astype(kind))

    embedding = get("wte.weight", -1, -1)
    width = embedding.shape[1]
    heads = heads or max(1, width // 64)
    if width % heads:
        raise ValueError(f"heads must divide the width {width}, got {heads}")

    def norm(name: str) -> LayerNorm:
        return LayerNorm(get(f"{name}.weight", width), get(f"{name}.bias", width))

    def affine(name: str, inputs: int, outputs: int) -> Linear:
        return Linear(get(f"{name}.weight", inputs, outputs), get(f"{name}.bias", outputs))

    def block(name: str) -> CausalBlock:
        joint = affine(f"{name}.attn.c_attn", width, 3 * width)
        weights, biases = jnp.split(joint.weight, 3, axis=1), jnp.split(joint.bias, 3)
        query, key, value = (Linear(weight, bias) for weight, bias in zip(weights, biases, strict=True))
        hidden = get(f"{name}.mlp.c_fc.bias", -1).shape[0]
        first = affine(f"{name}.mlp.c_fc", width, hidden)
        return CausalBlock(
            norm(f"{name}.ln_1"),
            MultiHeadAttention(query, key, value, affine(f"{name}.attn.c_proj", width, width), heads=heads),
            norm(f"{name}.ln_2"),
            FeedForward(first, affine(f"{name}.mlp.c_proj", hidden, width), jax.nn.gelu),
        )

    layers = len({name.split(".")[1] for name in named if name.startswith("h.")})
    if not layers:
        raise ValueError("arrays must have the weights of at least one block, h.0, got none")
    blocks = tuple(block(f"h.{layer}") for layer in range(layers))
    return LanguageModel(embedding, get("wpe.weight", -1, width), blocks, norm("ln_f"))


def gpt2_arrays(model: LanguageModel) -> dict[str, np.ndarray]:
    """The weights of a language model under GPT-2's names: the inverse of `gpt2_model`."""
    arrays = {"wte.weight": model.embedding, "wpe.weight": model.positions}
    arrays |= {"ln_f.weight": model.norm.gain, "ln_f.bias": model.norm.shift}
    for number, block in enumerate(model.blocks):
        layer, forward = block.attention, block.feed_forward
        three = (layer.query, layer.key, layer.value)
        joint = Linear(jnp.concatenate([a.weight for a in three], 1), jnp.concatenate([a.bias for a in three]))
        maps = {
            "attn.c_attn": joint,
            "attn.c_proj": layer.output, "mlp.c_fc": forward.first, "mlp.c_proj": forward.second,
        }  # fmt: skip
        for name, affine in maps.items():
            arrays |= {f"h.{number}.{name}.weight": affine.weight, f"h.{number}.{name}.bias": affine.bias}
        for name, norm in {"ln_1": block.first_norm, "ln_2": block.second_norm}.items():
            arrays |= {f"h.{number}.{name}.weight": norm.gain, f"h.{number}.{name}.bias": norm.shift}
    return {name: np.asarray(array) for name, array in arrays.items()}


def embedding_table(
    words: Sequence[str],
    ids: Int[AnyArray, " n"],
    embedding: Float[AnyArray, "vocabulary d"],
    *,
    shown: int = 8,
) -> str:
    """Table of tokens, their ids, the lengths of their embeddings and the first `shown` coordinates, a line each.

    What lucchi's Listing 10.5 prints for Table 10.2. (The last format string of the listing does not parse in the text
    we have of the book: names stand in quotes that do not match. That may be the text's fault.)
    """
    ids, embedding = np.asarray(ids), np.asarray(embedding)
    if len(words) != len(ids):
        raise ValueError(f"words must be as many as ids, {len(ids)}, got {len(words)}")
    if ids.min() < 0 or ids.max() >= len(embedding):
        raise ValueError(f"ids must lie in [0, {len(embedding) - 1}], got {ids.min()} to {ids.max()}")
    rows = [f"{'Token':<20} {'Token ID':<10} {'L2 Norm':<10} Embedding Vector", "-" * 90]
    for word, number in zip(words, ids, strict=True):
        vector = embedding[number]
        first = ", ".join(f"{each:.3f}" for each in vector[:shown]) + (", ..." if len(vector) > shown else "")
        rows.append(f"{word:<20} {number:<10} {np.linalg.norm(vector):<10.4f} [{first}]")
    return "\n".join(rows)


doors(__name__, heads="[1, 1e4]", shown="[1, 1e5]")
