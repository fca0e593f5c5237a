"""Small character models predict a larger one: a scaling law fitted to sizes up to S, held against a run at 4S.

`python benchmarks/scaling_law.py tinyshakespeare.txt [STEPS] [SEEDS]` trains decoders of growing width on the first
nine tenths of a text, measures them on the rest, fits the losses of all but the largest and prints what it predicts
for that one beside what it reaches. All models see the same number of characters; the largest has four times the
parameters beside embeddings of the next. Whether the prediction covers is an answer, not an assumption: it need not.
"""

import sys
import time
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from deeptheory.architectures.language_models import init_language_model
from deeptheory.scaling.power_laws import exponent_interval, fit_scaling_law, predicted_interval
from deeptheory.scaling.size_accounting import parameter_count, training_flops

WIDTHS, LAYERS, HEADS, CONTEXT, ROWS = (8, 12, 16, 24, 32, 64), 2, 2, 64, 32


def read(path: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """Numbers of the characters of a text, for training and for measuring, and how many characters there are."""
    letters, ids = np.unique(list(path.read_text()), return_inverse=True)
    split = len(ids) * 9 // 10
    return ids[:split].astype(np.int32), ids[split:].astype(np.int32), len(letters)


def loss(model, windows):
    """Nats a character of windows with one character more than the model reads."""
    logits = model(windows[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, windows[:, 1:]).mean()


@cache
def adam(steps: int) -> optax.GradientTransformation:
    """One optimizer for all models, so that each size is compiled once."""
    return optax.adam(optax.cosine_decay_schedule(3e-3, steps))


@eqx.filter_jit
def train(optimizer, model, batches):
    """The model after one step for each batch."""
    arrays, rest = eqx.partition(model, eqx.is_array)

    def step(carry, windows):
        arrays, state = carry
        slope = jax.grad(lambda a: loss(eqx.combine(a, rest), windows))(arrays)
        moves, state = optimizer.update(slope, state)
        return (optax.apply_updates(arrays, moves), state), None

    (arrays, _), _ = jax.lax.scan(step, (arrays, optimizer.init(arrays)), batches)
    return eqx.combine(arrays, rest)


measured = eqx.filter_jit(loss)


def reached(text, width: int, steps: int, seed: int) -> float:
    """Loss on held-out text of a model that was trained for so many steps."""
    learn, held, vocabulary = text
    key = jax.random.key(seed)
    model = init_language_model(key, vocabulary=vocabulary, context=CONTEXT, width=width, layers=LAYERS, heads=HEADS)
    model = jax.tree.map(lambda array: jnp.asarray(array, jnp.float32), model)
    starts = np.random.default_rng(seed).integers(0, len(learn) - CONTEXT - 1, (steps, ROWS, 1))
    model = train(adam(steps), model, jnp.asarray(learn[starts + np.arange(CONTEXT + 1)]))
    tests = np.random.default_rng(0).integers(0, len(held) - CONTEXT - 1, (512, 1)) + np.arange(CONTEXT + 1)
    return float(measured(model, jnp.asarray(held[tests])))


def main(path: Path, steps: int = 1500, seeds: int = 3, widths: tuple[int, ...] = WIDTHS) -> str:
    text = read(path)
    counts = [parameter_count(vocabulary=text[2], context=CONTEXT, width=width, layers=LAYERS) for width in widths]
    sizes = np.array([each.non_embedding for each in counts])
    losses = np.empty((len(widths), seeds))
    for i, seed in np.ndindex(losses.shape):
        start = time.perf_counter()
        losses[i, seed] = reached(text, widths[i], steps, seed)
        print(
            f"  width {widths[i]}, seed {seed}: {losses[i, seed]:.4f}, {time.perf_counter() - start:.0f} s",
            file=sys.stderr,
        )
    means = losses.mean(1)
    tokens = float(steps * ROWS * CONTEXT)
    lines = [
        f"### Character models on {path.name}: {tokens:,.0f} characters read, {seeds} seeds", "",
        "| width | parameters N | 6ND | loss, nats | spread over seeds |", "| ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for width, size, mean, row in zip(widths, sizes, means, losses, strict=True):
        cost = training_flops(float(size), tokens)
        lines.append(f"| {width} | {size:,} | {cost:.1e} | {mean:.4f} | {row.std(ddof=min(1, seeds - 1)):.4f} |")
    for name, floor in (("with a floor", True), ("a pure power law", False)):
        fit = fit_scaling_law(sizes[:-1].astype(float), means[:-1], floor=floor)
        (low,), (high,) = exponent_interval(fit)
        least, most = predicted_interval(fit, float(sizes[-1]))
        says = "inside" if least <= means[-1] <= most else "outside"
        lines += ["", f"Fitted to the first {len(sizes) - 1}, {name}: exponent {low:.3f} to {high:.3f}; the largest is "
                      f"predicted at {least:.4f} to {most:.4f} and reaches {means[-1]:.4f}: {says}."]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(
            "python benchmarks/scaling_law.py TEXT [STEPS] [SEEDS]: TEXT must be a file, such as tinyshakespeare.txt"
        )
    print(main(Path(sys.argv[1]), *map(int, sys.argv[2:4])))
