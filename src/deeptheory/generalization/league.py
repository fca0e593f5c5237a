"""Every bound that applies to a trained classifier, side by side with its true gap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.generalization.compression import compression_bound, truncate
from deeptheory.generalization.description_length import occam_bound
from deeptheory.generalization.finite_classes import union_deviation
from deeptheory.generalization.model_layers import ModelLayers, found_layers, given_layers
from deeptheory.generalization.norm_bounds import (
    frobenius_product_bound,
    neyshabur_bound,
    spectrally_normalized_bound,
    stable_rank_bound,
)
from deeptheory.generalization.norms import margin_loss, margins
from deeptheory.generalization.pac_bayes import binary_kl_upper_inverse, maurer_budget, pac_bayes_kl
from deeptheory.generalization.vc_bounds import piecewise_linear_dimension, sauer_deviation
from deeptheory.phase import everywhere
from deeptheory.robustness.smoothing import clopper_pearson_lower

__all__ = ["Entry", "League", "rank_bounds"]

BITS = 32
SCALES = np.geomspace(1e-3, 0.3, 10)
"""Noise levels of the randomised network; all are paid for."""
DRAWS = 200
"""Networks drawn to estimate the error of the randomised one."""
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Cuts of singular values tried for the truncated network; all are paid for."""


@dataclass(frozen=True)
class Entry:
    """One bound on the risk: R ≤ value with probability 1 − δ if `unmet` is empty; `guessing` errs 1 − 1/k."""

    name: str
    where: str
    value: float | None
    unmet: tuple[str, ...] = ()
    of: str = "the network"
    invariant: str = ""
    guessing: float = 1.0

    @property
    def valid(self) -> bool:
        return self.value is not None and not self.unmet

    @property
    def vacuous(self) -> bool:
        return self.value is not None and self.value >= 1

    def verdict(self) -> str:
        """What the value is worth, in a word."""
        if self.value is None:
            return self.unmet[0]
        if not self.valid:
            return "not a bound here"
        return "vacuous" if self.vacuous else "worse than guessing" if self.value >= self.guessing else "says something"

    def shown(self) -> str:
        """The value, marked when an assumption is not met."""
        if self.value is None:
            return "—"
        number = (
            f"{self.value:.3f}"
            if self.value < 10
            else f"{self.value:,.0f}"
            if self.value < 1e6
            else f"{self.value:.0e}"
        )
        return number if self.valid else f"({number})"


@dataclass(frozen=True)
class League:
    """The bounds of one network, best valid one first, with its errors on training and test data."""

    entries: list[Entry]
    train_error: float
    test_error: float
    samples: int
    tested: int
    delta: float
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        return self.test_error - self.train_error

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(f"no bound is called {name!r}; there are {', '.join(entry.name for entry in self.entries)}")

    def summary(self) -> str:
        return (
            f"training error {self.train_error:.4f} ({self.samples:,} examples), test error {self.test_error:.4f} "
            f"({self.tested:,}), gap {self.gap:.4f}; each bound by itself holds with probability {1 - self.delta:g}"
        )

    def __str__(self) -> str:
        rows = [("bound", "risk at most", "worth", "assumption not met", "does not change with")]
        rows += [(e.name, e.shown(), e.verdict(), "; ".join(e.unmet) or "none", e.invariant) for e in self.entries]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)) for row in rows]
        about = [f"{name}: {text}" for name, text in self.facts.items()]
        return "\n".join(
            [self.summary(), *about, "", lines[0], "-" * len(lines[0]), *(line.rstrip() for line in lines[1:])]
        )


def rank_bounds(
    model: Callable[[Any], Any],
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    *,
    delta: float = 0.05,
    layers: Sequence[Any] | None = None,
    initial: Any = None,
    key: Any = None,
) -> League:
    """Return the league of a trained classifier, at confidence 1 − δ; arguments as in `deeptheory.league`."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}")
    equinox = _is_equinox(model)
    inputs, labels = _data("train", *train)
    held_inputs, held_labels = _data("test", *test)
    predict = jax.jit(jax.vmap(model)) if equinox else model
    outputs, held_outputs = _outputs(predict, inputs), _outputs(predict, held_inputs)
    if max(labels.max(), held_labels.max()) >= outputs.shape[1]:
        raise ValueError(
            f"labels go up to {max(labels.max(), held_labels.max())} but there are {outputs.shape[1]} outputs"
        )
    found = found_layers(model) if equinox and layers is None else given_layers(layers) if layers else None
    errors = int(np.sum(np.argmax(held_outputs, axis=1) != held_labels))
    train_error = float(np.mean(np.argmax(outputs, axis=1) != labels))
    entries = [
        Entry(
            "hold-out, exact binomial",
            "arora Ch. 1, exact tail",
            float(1 - clopper_pearson_lower(len(held_labels) - errors, len(held_labels), delta)),
            invariant="anything that keeps the predictions",
        ),
        Entry(
            "Hoeffding, one function",
            "lucchi 8.1",
            float(train_error + union_deviation(len(labels), 1, delta, sides=1)),
            ("the network was chosen with these data",),
            invariant="anything that keeps the predictions",
        ),
        *_counting(found, train_error, len(labels), outputs.shape[1], delta),
        *_by_norms(found, inputs, margins(outputs, labels), outputs.shape[1], delta),
        _truncated(model if equinox and layers is None else None, inputs, labels, delta),
        _randomised(model if equinox else None, initial, inputs, labels, delta, key),
    ]
    entries = [replace(entry, guessing=1 - 1 / outputs.shape[1]) for entry in entries]
    order = sorted(entries, key=lambda e: (not e.valid, e.value is None, e.value if e.value is not None else 0.0))
    facts = {} if found is None else _facts(found)
    return League(order, train_error, errors / len(held_labels), len(labels), len(held_labels), delta, facts)


def _facts(found: ModelLayers) -> dict[str, str]:
    shapes = ", ".join(f"{m.shape[0]}×{m.shape[1]}" for m in found.matrices)
    return {"layers": f"{len(found.matrices)} ({shapes}), {found.parameters:,} parameters"}


def _is_equinox(model: Any) -> bool:
    try:
        import equinox as eqx
    except ImportError:
        return False
    return isinstance(model, eqx.Module)


def _data(name: str, inputs: Any, labels: Any) -> tuple[Any, np.ndarray]:
    inputs, labels = jnp.asarray(inputs), np.asarray(labels)
    if len(inputs) != len(labels) or len(labels) == 0:
        raise ValueError(f"the {name} data have {len(inputs)} inputs and {len(labels)} labels")
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise ValueError(f"the {name} labels must be whole numbers from 0, one for each input")
    if not bool(jnp.all(jnp.isfinite(inputs))):
        raise ValueError(f"the {name} inputs contain numbers that are not finite")
    return inputs, labels


def _outputs(predict: Callable, inputs: Any) -> np.ndarray:
    outputs = np.asarray(predict(inputs), float)
    if outputs.ndim != 2 or outputs.shape[0] != len(inputs) or outputs.shape[1] < 2:
        raise ValueError(f"the model must give one output for each of at least two classes, got shape {outputs.shape}")
    return outputs


def _counting(found: ModelLayers | None, error: float, n: int, classes: int, delta: float) -> list[Entry]:
    """Bounds that count parameters."""
    occam, vc = "Occam, 32 bits a parameter", "VC dimension of order W·L·log W"
    if found is None:
        return [
            Entry(occam, "arora Thm 5.2.1", None, ("needs layers",)),
            Entry(vc, "lucchi 8.3", None, ("needs layers",)),
        ]
    dimension = piecewise_linear_dimension(found.parameters, len(found.matrices))
    unmet = ("constant of the dimension unknown, taken as 1",) + (("more than two classes",) if classes > 2 else ())
    kept = "the values of the parameters"
    bits = float(error + occam_bound(BITS * found.parameters, n, delta))
    capacity = float(error + sauer_deviation(n, dimension, delta))
    return [
        Entry(occam, "arora Thm 5.2.1", bits, invariant=kept),
        Entry(vc, "lucchi 8.3", capacity, unmet, invariant=kept),
    ]


def _by_norms(found: ModelLayers | None, inputs: Any, values: np.ndarray, classes: int, delta: float) -> list[Entry]:
    """Margin bounds, each at the decile of the margins where it is smallest."""
    layers_and_units = "layer times c, another over c; units of the inputs"
    named = {
        "Frobenius product": ("Golowich et al. 2018", layers_and_units),
        "spectral with stable ranks": ("arora Thm 5.5.6", layers_and_units),
        "spectrally normalised": ("handbook 8.3, Bartlett et al. 2017", layers_and_units),
        "PAC-Bayes margin": ("handbook 8.3, Neyshabur et al. 2018", "layer times c, another over c"),
    }
    if found is None or not found.matrices:
        return [Entry(name, where, None, ("needs layers",), invariant=inv) for name, (where, inv) in named.items()]
    flat = np.asarray(inputs, float).reshape(len(values), -1)
    size, radius = float(np.sqrt(np.mean(np.sum(flat**2, axis=1)))), float(np.max(np.linalg.norm(flat, axis=1)))
    n, layers = len(values), found.matrices
    bounds = {
        "Frobenius product": lambda g: frobenius_product_bound(layers, size=size, margin=g, samples=n, delta=delta),
        "spectral with stable ranks": lambda g: stable_rank_bound(layers, radius=radius, margin=g, samples=n),
        "spectrally normalised": lambda g: spectrally_normalized_bound(
            layers, size=size, margin=g, samples=n, delta=delta
        ),
        "PAC-Bayes margin": lambda g: neyshabur_bound(layers, radius=radius, margin=g, samples=n, delta=delta),
    }
    common = ("biases are not zero",) if found.biases else ()
    common += ("a convolution is read by its patches",) if found.convolutions else ()
    entries = []
    for name, (where, invariant) in named.items():
        unmet = ("order only, constant taken as 1",) if name != "Frobenius product" else ("norms not fixed beforehand",)
        unmet += ("more than two classes",) if name == "Frobenius product" and classes > 2 else ()
        tried = [g for g in np.quantile(values, np.linspace(0.05, 0.95, 10)) if g > 0]
        value = min((margin_loss(values, g) + bounds[name](g) for g in tried), default=np.inf)
        missing = () if tried else ("no positive margins",)
        entries.append(Entry(name, where, float(value), unmet + common + missing, invariant=invariant))
    return entries


def _truncated(model: Any, inputs: Any, labels: np.ndarray, delta: float) -> Entry:
    """The network with small singular values dropped: fewer numbers to write down. A bound for that network."""
    name, where = "compression by truncated layers", "arora Thm 5.5.3"
    if model is None:
        return Entry(name, where, None, ("needs an Equinox model",), of="the truncated network")
    import equinox as eqx

    def linear(node):
        return isinstance(node, eqx.nn.Linear)

    def weights(tree):
        return [leaf.weight for leaf in jax.tree.leaves(tree, is_leaf=linear) if linear(leaf)]

    if not weights(model):
        return Entry(name, where, None, ("needs linear layers",), of="the truncated network")
    total = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))
    best = np.inf
    for share in SHARES:
        cut = [truncate(np.asarray(w, float), share) for w in weights(model)]
        ranks = [int(np.linalg.matrix_rank(w)) for w in cut]
        numbers = [min(r * (w.shape[0] + w.shape[1]), w.size) for r, w in zip(ranks, cut, strict=True)]
        count = total - sum(w.size for w in cut) + sum(numbers)
        smaller = eqx.tree_at(
            weights, model, [jnp.asarray(w, old.dtype) for w, old in zip(cut, weights(model), strict=True)]
        )
        error = np.mean(np.argmax(np.asarray(jax.vmap(smaller)(inputs)), axis=1) != labels)
        best = min(best, error + compression_bound(count, 2.0**BITS, len(labels), delta / len(SHARES)))
    return Entry(name, where, float(best), of="the truncated network", invariant="layer times c, another over c")


def _randomised(model: Any, initial: Any, inputs: Any, labels: np.ndarray, delta: float, key: Any) -> Entry:
    """PAC-Bayes for the network with Gaussian noise on its parameters, prior around the initial model; kl inverted.

    Both laws have the same variance s², so the divergence is ‖w − w₀‖²/2s². Half of δ pays for the bound at all noise
    levels, half for the Monte Carlo estimate of the noisy network's error.
    """
    name, where, of = "PAC-Bayes, kl inverted", "lucchi Thm 69, Maurer 2004", "the network with noise on its weights"
    if model is None:
        return Entry(name, where, None, ("needs an Equinox model",), of=of)
    import equinox as eqx
    from jax.flatten_util import ravel_pytree

    trained, fixed = eqx.partition(model, eqx.is_inexact_array)
    flat, restore = ravel_pytree(trained)
    start = jnp.zeros_like(flat) if initial is None else ravel_pytree(eqx.filter(initial, eqx.is_inexact_array))[0]
    if start.shape != flat.shape:
        raise ValueError(f"the initial model has {start.size} parameters and the trained one {flat.size}")

    def error(point, inputs, labels):
        noise = point["scale"] * jax.random.normal(point["draw"], flat.shape, flat.dtype)
        noisy = eqx.combine(restore(flat + noise), fixed)
        return jnp.mean(jnp.argmax(jax.vmap(noisy)(inputs), axis=1) != labels)

    choosing, judging = jax.random.split(jax.random.key(0) if key is None else key)
    distance = float(jnp.sum((flat - start) ** 2))

    def bound(scale, estimate):
        divergence = distance / (2 * scale**2)
        budget = maurer_budget(divergence, len(labels), delta / 2 / len(SCALES))
        return float(pac_bayes_kl(min(estimate, 1.0), budget))

    def errors(draw, scales):
        points = {"draw": jax.random.split(draw, len(scales)), "scale": jnp.asarray(scales, flat.dtype)}
        return everywhere(error, points, inputs, labels, batch=1)

    # As many points to choose the noise as to judge it: then both are the same program.
    rough = errors(choosing, np.repeat(SCALES, DRAWS // len(SCALES))).reshape(len(SCALES), -1).mean(1)
    chosen = float(SCALES[int(np.argmin([bound(s, float(r)) for s, r in zip(SCALES, rough, strict=True)]))])
    estimate = float(np.mean(errors(judging, np.full(DRAWS, chosen))))
    certain = float(binary_kl_upper_inverse(estimate, np.log(2 / (delta / 2)) / DRAWS))
    return Entry(name, where, bound(chosen, certain), of=of, invariant="nothing: parameters are compared one by one")
