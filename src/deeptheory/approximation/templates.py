"""Objects made of parts that are made of parts: a template for each object, or detectors for the parts, level by level.

An object of level D has s places, and in each of them one of r objects of level D − 1; those of level 0 are single
inputs, 0 or 1. An image shows an object if in each place at least one part is shown: an and of ors of ands of ors ….
Networks here are layers of threshold units, which fire if a weighted sum reaches a threshold.

Reference: handbook Sec. 1.2.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = ["Grammar", "Layer", "any_template", "hierarchy", "objects", "objects_apart", "run_layers", "unseen_pair"]

MOST_ENTRIES = 2**24


class Layer(NamedTuple):
    """Threshold units, a row of weights each: a unit fires, with the value 1, if w·x ≥ its threshold."""

    weights: Float[np.ndarray, "_ _"]
    thresholds: Float[np.ndarray, " _"]


@dataclass(frozen=True)
class Grammar:
    """How objects are composed: `places` s of `parts` r each, over `levels` D; with the counts that follow from it."""

    places: int
    parts: int
    levels: int

    @property
    def inputs(self) -> int:
        """(sr)^D, one for each part of the lowest level."""
        return (self.places * self.parts) ** self.levels

    @property
    def choices(self) -> int:
        """N = s + s² + … + s^D, how often a part is chosen to make one object."""
        return sum(self.places**level for level in range(1, self.levels + 1))

    @property
    def objects(self) -> int:
        """r^N, the ways to choose."""
        return self.parts**self.choices

    @property
    def detectors(self) -> int:
        """(1 + s)(1 + sr + … + (sr)^(D−1)), the units of a hierarchy."""
        return (1 + self.places) * sum((self.places * self.parts) ** level for level in range(self.levels))

    @property
    def tests(self) -> int:
        """c_D for c_d = s c_{d−1}^r and c_0 = 1, the ors of inputs that have to be true all at once."""
        count = 1
        for _ in range(self.levels):
            count = self.places * count**self.parts
        return count


def objects(grammar: Grammar) -> Float[np.ndarray, "objects inputs"]:
    """Return all objects, each as the image that shows nothing else: the least inputs that are seen."""
    _refuse_large(grammar, grammar.objects)
    found = np.ones((1, 1))
    for _ in range(grammar.levels):
        # One part in its place, with the other parts of that place empty.
        single = np.concatenate([np.kron(row, found) for row in np.eye(grammar.parts)])
        chosen = list(product(range(len(single)), repeat=grammar.places))
        found = single[np.array(chosen)].reshape(len(chosen), -1)
    return found


def hierarchy(grammar: Grammar) -> list[Layer]:
    """Return the network of 2D layers with an or for each place and an and for each part, over all levels."""
    _refuse_large(grammar, grammar.inputs)
    layers, count = [], grammar.inputs
    for _ in range(grammar.levels):
        for size, least in ((grammar.parts, 1), (grammar.places, grammar.places)):
            count //= size
            layers.append(Layer(np.kron(np.eye(count), np.ones((1, size))), np.full(count, float(least))))
    return layers


def any_template(grammar: Grammar, *, merged: bool = False) -> list[Layer]:
    """Return the flat network: templates of whole objects in one hidden layer, and an or of them.

    A template is the and of all inputs of one object. `merged` uses other weights: a unit then holds the r objects
    that differ in their first part of the lowest level, so that there are r times fewer. No weights can do better, as
    any two of `objects_apart` are kept apart by an `unseen_pair`.
    """
    shown = objects(grammar)
    leaves = grammar.places**grammar.levels
    weights, least = shown, leaves
    if merged:
        first = shown.argmax(1)[:, None] // grammar.parts == np.arange(grammar.inputs) // grammar.parts
        weights = np.unique(np.where(first, 1.0, grammar.parts * shown), axis=0)
        least = grammar.parts * (leaves - 1) + 1
    count = len(weights)
    return [Layer(weights, np.full(count, float(least))), Layer(np.ones((1, count)), np.ones(1))]


def run_layers(layers: Sequence[Layer], x: Float[np.ndarray, "*n _"]) -> Float[np.ndarray, "*n _"]:
    """Return the values of the last layer for inputs x, with one input vector along the last axis."""
    for weights, thresholds in layers:
        if x.shape[-1] != weights.shape[1]:
            raise ValueError(f"x must have {weights.shape[1]} entries along its last axis, got {x.shape[-1]}")
        x = (x @ weights.T >= thresholds).astype(float)
    return x


def objects_apart(grammar: Grammar) -> Float[np.ndarray, "apart inputs"]:
    """Return r^(N−1) objects, no two of which differ in one part of the lowest level alone.

    Those whose choices on the lowest level, as numbers from 0 to r − 1, add up to a multiple of r.
    """
    shown = objects(grammar)
    return shown[shown @ (np.arange(grammar.inputs) % grammar.parts) % grammar.parts == 0]


def unseen_pair(
    grammar: Grammar, one: Float[np.ndarray, " inputs"], other: Float[np.ndarray, " inputs"]
) -> tuple[Float[np.ndarray, " inputs"], Float[np.ndarray, " inputs"]] | None:
    """Return images u, v with u + v = one + other that both show no object, for two objects; None if there are none.

    A threshold unit that fires for both objects fires for u or for v, as w·u + w·v is the same sum: so no unit of a
    flat network may hold both. There is no such pair if and only if the objects differ in at most one part of the
    lowest level.
    """
    for image in (one, other):
        if not _is_object(grammar, image):
            raise ValueError(f"one and other must be objects of {grammar.inputs} inputs, got {image}")
    return _unseen(grammar, grammar.levels, one, other)


def _is_object(grammar: Grammar, image: np.ndarray) -> bool:
    if len(image) != grammar.inputs or not np.isin(image, (0, 1)).all():
        return False
    shown = image
    for _ in range(grammar.levels):
        shown = shown.reshape(-1, grammar.places, grammar.parts).any(-1).all(-1)
    return bool(np.all(shown) and image.sum() == grammar.places**grammar.levels)


def _unseen(grammar: Grammar, level: int, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    a, b = (image.reshape(grammar.places, grammar.parts, -1) for image in (one, other))
    u, v = a.copy(), b.copy()
    differ = np.flatnonzero((a != b).any((1, 2)))
    if len(differ) > 1:
        # What both have in common is less than either: too little in one place of u, and in another of v.
        i, k = differ[:2]
        u[i], v[i] = np.maximum(a[i], b[i]), np.minimum(a[i], b[i])
        u[k], v[k] = np.minimum(a[k], b[k]), np.maximum(a[k], b[k])
        return u.ravel(), v.ravel()
    if len(differ) == 0 or level == 1:
        return None
    i = differ[0]
    p, q = a[i].any(1).argmax(), b[i].any(1).argmax()
    if p == q:
        inner = _unseen(grammar, level - 1, a[i, p], b[i, p])
        if inner is None:
            return None
        u[i, p], v[i, p] = inner
        return u.ravel(), v.ravel()
    # Two different parts: half of each in u, the other halves in v.
    half = len(a[i, p]) // grammar.places
    u[i, p, half:], u[i, q, half:] = 0, b[i, q, half:]
    v[i, q, half:], v[i, p, half:] = 0, a[i, p, half:]
    return u.ravel(), v.ravel()


def _refuse_large(grammar: Grammar, rows: int) -> None:
    """Refuse arrays that would fill the memory."""
    if rows * grammar.inputs > MOST_ENTRIES:
        raise ValueError(f"grammar must need at most {MOST_ENTRIES} weights in a layer, got {rows * grammar.inputs}")


doors(__name__, places="[2, 16]", parts="[2, 16]", levels="[1, 6]")
