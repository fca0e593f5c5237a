"""The Hugging Face side of the decoding benchmark: `generate` of GPT-2 as its users call it. Speaks JSON lines."""

import json
import os
import sys
import time
from functools import cache
from importlib.metadata import version

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from safetensors.torch import load_file  # pyright: ignore[reportMissingImports]
from transformers import GPT2Config, GPT2LMHeadModel  # pyright: ignore[reportMissingImports]
from transformers.utils import logging  # pyright: ignore[reportMissingImports]

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
logging.set_verbosity_error()


@cache
def model(path, heads):
    """The model with the weights of a file, ready to generate."""
    weights = load_file(path)
    vocabulary, width = weights["wte.weight"].shape
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("h."))
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=len(weights["wpe.weight"]), n_embd=width, n_layer=layers, n_head=heads,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    made = GPT2LMHeadModel(config)
    made.transformer.load_state_dict(weights, strict=False)
    return made.eval()


def generated(request):
    network, ids = model(request["path"], request["heads"]), torch.tensor(request["ids"])
    settings = {"attention_mask": torch.ones_like(ids), "max_new_tokens": request["length"], "pad_token_id": 0}
    if request["way"] == "beam":
        settings |= {"num_beams": request["width"], "do_sample": False, "length_penalty": 0.0, "output_scores": True}
    else:
        settings |= {"do_sample": True, "top_k": 0, "top_p": 1.0} | request["law"]
    with torch.inference_mode():
        start = time.perf_counter()
        answer = network.generate(ids, return_dict_in_generate=True, **settings)
        seconds = time.perf_counter() - start
        logs = torch.log_softmax(network(ids).logits[:, -1], -1)
    new = answer.sequences[:, ids.shape[1] :]
    assert new.shape == (len(ids), request["length"])
    # Samples differ by their random numbers; what must not differ is the law they begin with.
    return seconds, answer.sequences_scores if request["way"] == "beam" else logs.max(-1).values


def main():
    versions = f"transformers {version('transformers')}, torch {torch.__version__}, Python {sys.version.split()[0]}"
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        seconds, value = generated(json.loads(line))
        print(json.dumps({"seconds": seconds, "value": np.asarray(value).tolist()}), flush=True)


main()
