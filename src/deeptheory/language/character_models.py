"""Transformers that learn to continue a text, symbol by symbol: training in one compiled loop, and the loss on text.

The model is `architectures.language_models.LanguageModel`; draw one with `init_language_model`, train it with
`train_next_symbol`, score it with `loss_on_text` and let it write with the functions of `architectures.decoding`.

Reference: arora 15.1 and 15.2; lucchi 10.4.5; Vaswani et al. 2017.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Key

from deeptheory.architectures.language_models import LanguageModel
from deeptheory.architectures.token_training import Trained, token_loss
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside
from deeptheory.foundations.training import trained

__all__ = ["loss_on_text", "next_symbol_loss", "train_next_symbol", "training_flops"]

Text = Int[AnyArray, " n"]


def next_symbol_loss(model: LanguageModel, windows: Int[AnyArray, "rows n"]) -> Float[Array, ""]:
    """Mean cross-entropy of every symbol of the windows but the first, given those before it, in nats."""
    return token_loss(model, windows[:, :-1], windows[:, 1:])


def train_next_symbol(
    key: Key[Array, ""],
    model: LanguageModel,
    text: Text,
    *,
    steps: int,
    rows: int = 16,
    window: int | None = None,
    step_size: float = 1e-3,
    warmup: int = 0,
) -> Trained:
    """Train a model on random windows of a text by Adam, all steps in one compiled loop.

    Each step reads `rows` windows of `window` + 1 symbols (all positions of the model unless told) that start anywhere
    in the text. The step grows over the first `warmup` steps to `step_size` and falls along a cosine to a tenth of it.
    Pure in key and model, so that an ensemble trains in one call: stack the models leaf by leaf, then
    `jax.vmap(partial(train_next_symbol, steps=100), in_axes=(0, 0, None))(keys, models, text)`.

    Reference: Kingma and Ba 2015 for Adam; Loshchilov and Hutter 2017 for the cosine.
    """
    window = len(model.positions) if window is None else window
    if window > len(model.positions):
        raise ValueError(f"window must be at most the {len(model.positions)} positions of the model, got {window}")
    _readable(model, text, window)
    done = np.arange(steps)
    rising = np.minimum((done + 1) / (warmup + 1), 1.0)
    falling = 0.55 + 0.45 * np.cos(np.pi * np.maximum(done - warmup, 0) / max(steps - warmup, 1))
    rates = jnp.asarray(step_size * rising * falling, jnp.asarray(model.embedding).dtype)
    return _trained(key, model, jnp.asarray(text), rates, steps, rows, window)


def _readable(model: LanguageModel, text: Text, window: int) -> None:
    """Refuse texts that are too short for a window and the symbol after it, or have symbols the model does not know."""
    if len(text) < window + 1:
        raise ValueError(f"text must have at least {window + 1} symbols, a window and one more, got {len(text)}")
    if not isinstance(text, Tracer):
        inside(0, len(model.embedding) - 1, text=text)


@partial(jax.jit, static_argnames=("steps", "rows", "window"))
def _trained(key, model, text, rates, steps, rows, window):
    def loss(model, key):
        starts = jax.random.randint(key, (rows,), 0, len(text) - window)
        return next_symbol_loss(model, text[starts[:, None] + jnp.arange(window + 1)])

    method = optax.adam(lambda step: rates[step])
    return Trained(*trained(loss, method, jax.tree.map(jnp.asarray, model), jax.random.split(key, steps)))


def loss_on_text(model: LanguageModel, text: Text, *, rows: int = 16, window: int | None = None) -> float:
    """Mean cross-entropy on a text cut into windows, in nats a symbol: the exponential is the perplexity.

    A symbol is predicted from those before it in its window; what does not fill `rows` windows at the end is left out,
    or all is one batch where there are fewer. Longer windows see more, so that losses compare at equal windows only.
    """
    window = len(model.positions) if window is None else window
    _readable(model, text, window)
    count = (len(text) - 1) // window
    rows = min(rows, count)
    starts = np.arange(count - count % rows).reshape(-1, rows, 1) * window
    return float(_scored(model, jnp.asarray(np.asarray(text)[starts + np.arange(window + 1)])))


@jax.jit
def _scored(model, batches):
    return jnp.mean(jax.lax.map(partial(next_symbol_loss, model), batches))


def training_flops(*, vocabulary: int, window: int, width: int, layers: int) -> int:
    """Floating point operations of the matrix products of one training step, for every symbol read.

    Forward a layer takes 8w² for queries, keys, values and their output, 4nw for scores and averages over a window of
    n symbols (all of them: the mask saves nothing here), 16w² in the feed-forward part; the logits take 2Vw. Backward
    is twice as much. What remains (softmax, norms, Adam) is not counted: the floor of the time is this over the
    machine's speed at matrix products. `width` is w, `window` n, `vocabulary` V. Reference: Kaplan et al. 2020, Table
    1.
    """
    return 3 * (layers * (24 * width**2 + 4 * window * width) + 2 * vocabulary * width)


doors(
    __name__,
    steps="[1, 1e5]",
    rows="[1, 1e5]",
    window="[1, 1e5]",
    step_size="(0, ∞)",
    warmup="[0, 1e5]",
    vocabulary="[1, 1e6]",
    width="[1, 1e5]",
    layers="[1, 200]",
)
