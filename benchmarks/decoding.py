"""Generation from a GPT-2-shaped model: beam search and sampling in batches, beside Hugging Face transformers.

Both have the same weights, through a safetensors file, the same prompts and a cache of keys and values, in single
precision on the processor. Beams are compared by the probabilities of the best sequences, sampling by the law of the
first token. A size is the width of the model; the largest is GPT-2 small.
"""

import tempfile
from pathlib import Path

import jax
import numpy as np
from jax.tree_util import Partial

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory.architectures.decoding import beam_search, sample_sequences, top_k, top_p
from deeptheory.architectures.language_models import LanguageModel, init_language_model
from deeptheory.architectures.pretrained import gpt2_arrays, gpt2_model, read_safetensors, write_safetensors

LAYERS = {128: 4, 256: 6, 768: 12}
VOCABULARY = {128: 1_000, 256: 8_000, 768: 50_257}
ROWS, READ, LENGTH, BEAMS = 8, 16, 48, 4
LAWS = {"top-k": (Partial(top_k, k=40), {"top_k": 40}), "top-p": (Partial(top_p, p=0.9), {"top_p": 0.9})}


def heads(size: int) -> int:
    return size // 64


def weights(folder: Path, size: int) -> Path:
    """A file with random weights for a size."""
    path = folder / f"{size}.safetensors"
    if not path.exists():
        model = init_language_model(
            jax.random.key(size), vocabulary=VOCABULARY[size], context=READ + LENGTH, width=size, layers=LAYERS[size],
            heads=heads(size), spread=3.0,
        )  # fmt: skip
        write_safetensors(path, {name: array.astype(np.float32) for name, array in gpt2_arrays(model).items()})
    return path


def prompts(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, VOCABULARY[size], (ROWS, READ))


def ours(folder: Path, way: str):
    models: dict[int, LanguageModel] = {}

    def run(size: int, seed: int):
        if size not in models:
            models[size] = gpt2_model(read_safetensors(weights(folder, size)), heads=heads(size))
        model, ids = models[size], prompts(size, seed).astype(np.int32)

        def beam():
            state, first = model.start(ids, length=LENGTH)
            found = beam_search(model.step, state, first, width=BEAMS, length=LENGTH)
            return jax.block_until_ready(found.log_probability[:, 0])

        def sample():
            state, first = model.start(ids, length=LENGTH)
            found = sample_sequences(jax.random.key(seed), model.step, state, first, length=LENGTH, law=LAWS[way][0])
            return jax.block_until_ready(found.log_probability)

        if way == "beam":
            return timed(beam)
        seconds, _ = timed(sample)
        return seconds, np.max(jax.nn.log_softmax(model(ids)[:, -1]), axis=-1)

    return run


def theirs(peer: Peer, folder: Path, way: str):
    def run(size: int, seed: int):
        request = {"path": str(weights(folder, size)), "heads": heads(size), "length": LENGTH, "width": BEAMS}
        request["ids"] = prompts(size, seed).tolist()
        request |= {"way": "beam"} if way == "beam" else {"way": "sample", "law": LAWS[way][1]}
        return peer.ask(**request)

    return run


def main(sizes: tuple[int, ...] = (128, 256, 768), rounds: int = 3) -> str:
    titles = {
        "beam": f"Beam search, {BEAMS} beams, {ROWS} prompts, {LENGTH} tokens each, by width",
        "top-k": f"Top-k sampling, k = 40, {ROWS} prompts, {LENGTH} tokens each, by width",
        "top-p": f"Top-p sampling, p = 0.9, {ROWS} prompts, {LENGTH} tokens each, by width",
    }
    peer, tables = Peer("transformers"), []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for way, title in titles.items():
                contenders = [
                    Contender("deeptheory", f"jax {jax.__version__}", ours(folder, way)),
                    Contender("transformers", peer.versions, theirs(peer, folder, way)),
                ]
                tables.append(compare(title, contenders, sizes, rounds=rounds, tolerance=1e-3))
    finally:
        peer.close()
    return "\n".join(tables)
