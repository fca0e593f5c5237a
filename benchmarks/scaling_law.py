"""Small character models predict a larger one: a scaling law fitted to sizes up to S, held against runs at 4S.

`python -m benchmarks scaling_law` trains decoders of growing width on the text of `benchmarks.character_model`, with
several seeds each, measures them on what is held out, fits the mean losses of all but the largest, weighted by the
spread of seeds, and prints what the fit predicts for that one beside what it reaches. All read as many characters; the
largest has four times the parameters beside embeddings of the next. Whether the prediction covers is an answer, not an
assumption: it need not.
"""

import sys
import time

import jax
import numpy as np

from benchmarks.character_model import corpus
from deeptheory.architectures.language_models import init_language_model
from deeptheory.language.character_models import loss_on_text, train_next_symbol
from deeptheory.scaling.power_laws import exponent_interval, fit_scaling_law, predicted_interval
from deeptheory.scaling.size_accounting import parameter_count, training_flops

WIDTHS, LAYERS, HEADS, CONTEXT, ROWS = (8, 12, 16, 24, 32, 64), 2, 2, 64, 32
STEPS, SEEDS, RATE = 1500, 3, 3e-3


def reached(width: int, seed: int) -> float:
    """Loss on held-out text of a model that was trained on the rest."""
    learn, held_out, vocabulary = corpus()
    first, second = jax.random.split(jax.random.key(seed))
    model = init_language_model(first, vocabulary=vocabulary, context=CONTEXT, width=width, layers=LAYERS, heads=HEADS)
    found = train_next_symbol(second, model, learn, steps=STEPS, rows=ROWS, step_size=RATE)
    return loss_on_text(found.model, held_out)


def main() -> str:
    vocabulary = corpus()[2]
    counts = [parameter_count(vocabulary=vocabulary, context=CONTEXT, width=width, layers=LAYERS) for width in WIDTHS]
    sizes = np.array([float(each.non_embedding) for each in counts])
    losses = np.empty((len(WIDTHS), SEEDS))
    for i, seed in np.ndindex(losses.shape):
        start = time.perf_counter()
        losses[i, seed] = reached(WIDTHS[i], seed)
        print(
            f"  width {WIDTHS[i]}, seed {seed}: {losses[i, seed]:.4f}, {time.perf_counter() - start:.0f} s",
            file=sys.stderr,
        )
    means, tokens = losses.mean(1), float(STEPS * ROWS * CONTEXT)
    # Three seeds say little of one size's spread, so that of all sizes is taken together.
    spread = np.sqrt(losses.var(1, ddof=1).mean())
    errors = np.full(len(WIDTHS), spread / SEEDS**0.5)
    lines = [
        f"### Character models: {tokens:,.0f} characters read, {SEEDS} seeds, spread of one run {spread:.4f}", "",
        "| width | parameters N | 6ND | loss, nats |", "| ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for width, size, mean in zip(WIDTHS, sizes, means, strict=True):
        lines.append(f"| {width} | {size:,.0f} | {training_flops(size, tokens):.1e} | {mean:.4f} |")
    for name, floor in (("with a floor", True), ("a pure power law", False)):
        fit = fit_scaling_law(sizes[:-1], means[:-1], floor=floor, errors=errors[:-1])
        (low,), (high,) = exponent_interval(fit)
        least, most = predicted_interval(fit, sizes[-1])
        says = "inside" if least <= means[-1] <= most else "outside"
        lines += [
            "",
            f"Fitted to the first {len(sizes) - 1}, {name}: exponent {low:.3f} to {high:.3f}; the largest is predicted "
            f"at {least:.4f} to {most:.4f} and reaches {means[-1]:.4f} ± {errors[-1]:.4f}: {says}.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(main())
