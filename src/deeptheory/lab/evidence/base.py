"""What all evidence shares: a kind, a judgement, a violation to search for, and what the record keeps of it."""

import dataclasses
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

Kind = TypeVar("Kind")
Verdict = Literal["holds", "refuted", "inconclusive"]

LEVEL = 1e-6
"""Chance of a false refutation that one claim may spend in one run; its pieces of evidence share it."""

RESOLUTION = 0.05
"""Relative deviation that statistical evidence must be able to see before a statement may hold."""

EPSILON = float(np.finfo(np.float64).eps)

FEWEST = 8
"""Entries that every axis keeps in the record."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason, how strong it is, and the smallest deviation that would have been refuted.

    Of an inequality also how close it comes to equality: `tightness` at best, and `strata` cell by cell along its own
    axis, as `{"by": name of the axis, "cells": how many, "median": …, "smallest": …, "where": the slackest cell}`.
    """

    verdict: Verdict
    reason: str
    strength: str
    resolution: float | None = None
    tightness: float | None = None
    statistical: bool = False
    strata: dict[str, Any] | None = None

    def doubted(self, reason: str) -> "Judgement":
        """The same judgement turned inconclusive."""
        return dataclasses.replace(self, verdict="inconclusive", reason=reason)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labelled numbers that know how they are to be judged. Each kind is a frozen dataclass and a JAX pytree.

    `aside` holds further arrays, or lists of words, by name. They are stored but not judged: pictures show them, and
    controls that re-read the evidence may put them in the place of what was judged.
    """

    aside: dict[str, Any] = dataclasses.field(default_factory=dict, kw_only=True)
    kinds: ClassVar[dict[str, type["Evidence"]]] = {}
    strength: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        Evidence.kinds[cls.__name__] = cls

    def __post_init__(self) -> None:
        # JAX sorts the keys of plain dictionaries, but axes (`along`) and links of a chain come in an order.
        for name, value in vars(self).items():
            if type(value) is dict:
                object.__setattr__(self, name, OrderedDict(value))

    def judge(self, level: float = LEVEL) -> Judgement:
        """Return the verdict that follows from these numbers alone."""
        for name, value in numbers(self).items():
            if not np.all(np.isfinite(value)):
                return self.inconclusive(f"{name} is not finite")
            if value.size == 0:
                return self.inconclusive(f"{name} is empty")
        return self.judgement(level)

    def judgement(self, level: float) -> Judgement:
        raise NotImplementedError

    def violation(self) -> Any:
        """How far each instance is beyond the statement, in units of its scale; positive means violated."""
        raise TypeError(f"{type(self).__name__} evidence cannot be searched for violations")

    def thinned(self) -> "Evidence":
        """What the store keeps for figures, where there is too much: every k-th entry along what is longest.

        The judgement is made on everything before anything is stored. What lies aside loses the same entries where it
        has as many, so that a picture finds the two side by side; what is of another length is kept as it is.
        """
        arrays = numbers(self).values()
        longest = max((length for array in arrays for length in array.shape), default=0)
        every = min(-(-sum(array.size for array in arrays) // 2**15), longest // FEWEST)
        if every <= 1:
            return self

        def kept(leaf: Any) -> Any:
            shape = np.shape(leaf)
            if longest not in shape:
                return leaf
            return np.asarray(leaf)[tuple(slice(None, None, every if length == longest else 1) for length in shape)]

        aside = {name: kept(value) for name, value in self.aside.items()}
        return dataclasses.replace(jax.tree.map(kept, dataclasses.replace(self, aside={})), aside=aside)

    def inconclusive(self, reason: str) -> Judgement:
        return Judgement("inconclusive", reason, self.strength)


@dataclass_transform(frozen_default=True)
def kind(cls: type[Kind]) -> type[Kind]:
    """Make a class of evidence a frozen dataclass and a pytree."""
    return jax.tree_util.register_dataclass(dataclass(frozen=True, eq=False)(cls))


def static(default: Any) -> Any:
    """A field that is a setting, not an array."""
    return dataclasses.field(default=default, metadata={"static": True})


def coordinates() -> Any:
    """The field that labels the axes of the other arrays, in order."""
    return dataclasses.field(default_factory=dict)


def namespace(*arrays: Any):
    """NumPy for NumPy arrays, jax.numpy where one of them is traced.

    `foundations.arrays` has the same for rooms; here it counts among what judges, on which every record rests.
    """
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np


def numbers(evidence: Evidence) -> dict[str, np.ndarray]:
    """The numeric arrays of a piece of evidence by name, without those that lie aside."""
    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(dataclasses.replace(evidence, aside={})):
        array = np.asarray(leaf)
        if array.dtype.kind in "fiub":
            found[jax.tree_util.keystr(path).lstrip(".")] = array
    return found


def grouped(trials: np.ndarray, most: int = 2**14) -> np.ndarray:
    """Group trials (last axis) into means, at least 8 of them, so that about `most` numbers remain.

    This preserves the mean and, in expectation, the error of the mean.
    """
    trials = np.asarray(trials)
    if trials.size <= most or trials.ndim == 0:
        return trials
    keep = max(8, most * trials.shape[-1] // trials.size)
    size = trials.shape[-1] // keep
    return trials if size < 2 else trials[..., : size * keep].reshape(*trials.shape[:-1], keep, size).mean(-1)
