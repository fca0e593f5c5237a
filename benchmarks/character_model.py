"""A character transformer trained on a play: symbols a second, beside the same model compiled by PyTorch.

Both start from the same weights and read as many windows of the same text, drawn anew, by Adam in single precision;
values that are compared are losses on text held out. A size is the width of the model. The text is
`../shared/data/tinyshakespeare.txt`, or the file that DEEPTHEORY_TEXT names.

`python -m benchmarks.character_model 64 20` takes width 64 and 20 steps, to see that all contenders run.
"""

import os
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Contender, Peer, compare, needed, refuse, timed
from deeptheory.architectures.language_models import LanguageModel, init_language_model
from deeptheory.architectures.pretrained import gpt2_arrays
from deeptheory.language.alphabets import alphabet_of, symbol_numbers
from deeptheory.language.character_models import loss_on_text, train_next_symbol, training_flops

LAYERS, WINDOW, ROWS, STEPS, RATE = 4, 64, 32, 100, 1e-3
SIZES = (64, 128, 256)
HELD_OUT = 20_000
PATH = Path(os.environ.get("DEEPTHEORY_TEXT", Path(__file__).parents[2] / "shared" / "data" / "tinyshakespeare.txt"))


@cache
def corpus() -> tuple[np.ndarray, np.ndarray, int]:
    """The text as numbers, what is held out of it, and how many characters there are."""
    text = needed(PATH, "name the file of a text in DEEPTHEORY_TEXT").read_text()
    if len(text) < 2 * HELD_OUT:
        refuse(
            f"{PATH} has {len(text)} characters: at least {2 * HELD_OUT} are needed, of which {HELD_OUT} are held out"
        )
    alphabet = alphabet_of(text)
    numbers = symbol_numbers(text, alphabet)
    return numbers[:-HELD_OUT], numbers[-HELD_OUT:], len(alphabet)


@cache
def start(width: int) -> LanguageModel:
    _, _, vocabulary = corpus()
    return init_language_model(
        jax.random.key(width), vocabulary=vocabulary, context=WINDOW, width=width, layers=LAYERS, heads=width // 32
    )


def ours(steps: int):
    def run(width: int, seed: int):
        text, held_out, _ = corpus()
        key, model = jax.random.key(seed), start(width)

        def work():
            found = train_next_symbol(key, model, text, steps=steps, rows=ROWS, step_size=RATE)
            return jax.block_until_ready(found).model

        seconds, trained = timed(work)
        return seconds, loss_on_text(trained, held_out, rows=ROWS)

    return run


def theirs(peer: Peer, folder: Path, steps: int, variant: str):
    def run(width: int, seed: int):
        path = folder / f"{width}.npz"
        if not path.exists():
            text, held_out, _ = corpus()
            weights = {name: array.astype(np.float32) for name, array in gpt2_arrays(start(width)).items()}
            arrays: dict[str, Any] = {**weights, "text": text, "held_out": held_out}
            np.savez(path, **arrays)
        return peer.ask(path=str(path), heads=width // 32, layers=LAYERS, window=WINDOW, rows=ROWS, steps=steps,
                        rate=RATE, seed=seed, variant=variant)  # fmt: skip

    return run


def recorded(kept: dict, name: str, work):
    """The same work, with seconds and losses kept for the second table."""

    def run(width: int, seed: int):
        seconds, loss = work(width, seed)
        kept.setdefault((width, name), []).append((seconds, float(loss)))
        return seconds, loss

    return run


def speed_of_products(width: int, rounds: int = 30) -> float:
    """Operations a second of the largest matrix product of the model, symbols × width by width × 4 width."""
    one, other = jnp.ones((ROWS * WINDOW, width), jnp.float32), jnp.ones((width, 4 * width), jnp.float32)
    product = jax.jit(jnp.matmul)
    product(one, other).block_until_ready()
    best = np.inf
    for _ in range(rounds):
        begun = time.perf_counter()
        product(one, other).block_until_ready()
        best = min(best, time.perf_counter() - begun)
    return 2 * ROWS * WINDOW * 4 * width**2 / best


def summary(kept: dict, sizes: tuple[int, ...], steps: int) -> str:
    """Markdown: symbols a second, losses at equal symbols, and the share of the floor that matrix products set."""
    lines = ["| width | who | symbols a second | loss held out, nats | share of the floor |"]
    lines.append("| ---: | --- | ---: | ---: | ---: |")
    vocabulary = corpus()[2]
    for width in sizes:
        flops = training_flops(vocabulary=vocabulary, window=WINDOW, width=width, layers=LAYERS)
        floor = speed_of_products(width) / flops
        for (size, name), runs in kept.items():
            if size == width:
                speed = ROWS * WINDOW * steps / min(seconds for seconds, _ in runs[1:] or runs)
                loss = np.mean([loss for _, loss in runs])
                lines.append(f"| {width} | {name} | {speed:,.0f} | {loss:.3f} | {speed / floor:.0%} |")
    told = f"{ROWS * WINDOW * steps:,} symbols read; the floor is the time of the matrix products alone, at their best."
    return "\n".join([*lines, "", told, ""])


def main(sizes: tuple[int, ...] = SIZES, rounds: int = 3, steps: int = STEPS) -> str:
    peer, kept = Peer("torch", script="character_model"), {}
    works = {"deeptheory": (f"jax {jax.__version__}", ours(steps))}
    try:
        with tempfile.TemporaryDirectory() as name:
            for variant in ("compiled", "eager"):
                works[f"PyTorch, {variant}"] = (peer.versions, theirs(peer, Path(name), steps, variant))
            contenders = [
                Contender(who, versions, recorded(kept, who, work)) for who, (versions, work) in works.items()
            ]
            title = (
                f"Character transformer, {LAYERS} layers, {ROWS} windows of {WINDOW}, {steps} steps of Adam, by width"
            )
            # Batches are drawn anew on each side, so that losses agree as those of two seeds do.
            return compare(title, contenders, sizes, rounds=rounds, tolerance=0.05) + "\n" + summary(kept, sizes, steps)
    finally:
        peer.close()


if __name__ == "__main__":
    print(main((int(sys.argv[1]),), rounds=1, steps=int(sys.argv[2])) if len(sys.argv) == 3 else main())
