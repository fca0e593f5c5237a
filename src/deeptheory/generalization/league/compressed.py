"""The row of the league about a shorter network: layers of low rank, numbers rounded."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.generalization.league.network import AT_ONCE, Network, changed_bits
from deeptheory.generalization.league.table import Entry
from deeptheory.generalization.networks.compression import rounded, rounded_bits
from deeptheory.generalization.pac_bayes.bounds import pac_bayes_kl
from deeptheory.generalization.pac_bayes.description_length import occam_risk

__all__ = ["Shorter", "compressed_row", "described"]

SHARES = (0.0, 0.1, 0.2, 0.4, 0.6)
"""Cuts of singular values, as shares of the largest; the ranks they leave are paid for."""
LEVELS = (3, 7, 15, 31, 255)
"""Values that a rounded number may take; which of these is paid for."""
LARGEST = 1024
"""Matrices with more rows and columns are rounded, not truncated: their singular values take too long."""


class Shorter(NamedTuple):
    """A network that takes `bits` to write down; `about` says how it was shortened."""

    tree: Any
    bits: float
    about: str


class Described(NamedTuple):
    """An array as its description gives it back, the bits of that, and its rank if it is a product of two factors."""

    values: Float[np.ndarray, "..."]
    bits: float
    rank: int


def _singular(array: Float[np.ndarray, "..."]) -> tuple[np.ndarray, ...] | None:
    """Singular vectors and values of an array as a matrix, unless it is a vector or too large."""
    matrix = array.reshape(len(array), -1) if array.ndim > 1 else array[None]
    return np.linalg.svd(matrix, full_matrices=False) if 1 < min(matrix.shape) <= LARGEST else None


def described(
    array: Float[np.ndarray, "..."], parts: tuple[np.ndarray, ...] | None, share: float, levels: int
) -> Described:
    """An array with its small singular values dropped and the rest rounded.

    With singular vectors and values as `parts`, values below share times the largest are dropped and two factors are
    rounded; the rank, one of min(h, w) + 1, is written too. Where factors would be no fewer numbers than the array, it
    is rounded itself.
    """
    ranks = 0.0 if parts is None else float(np.log2(len(parts[1]) + 1))
    if parts is not None and (rank := _rank(parts, share)):
        u, s, v = parts
        factors = u[:, :rank] * np.sqrt(s[:rank]), v[:rank] * np.sqrt(s[:rank])[:, None]
        (left, one), (right, two) = (rounded(factor, levels) for factor in factors)
        product = (left * float(one)) @ (right * float(two))
        bits = rounded_bits(left, levels) + rounded_bits(right, levels) + ranks
        return Described(product.reshape(array.shape), bits, rank)
    codes, step = rounded(array, levels)
    return Described(codes * float(step), rounded_bits(codes, levels) + ranks, 0)


def _rank(parts: tuple[np.ndarray, ...] | None, share: float) -> int:
    """How many singular values stay; 0 where two factors of that rank would be no fewer numbers than the array."""
    if parts is None:
        return 0
    u, s, v = parts
    rank = int(np.sum((s >= share * s[0]) & (s > 0)))
    return rank if rank * (len(u) + v.shape[1]) < len(u) * v.shape[1] else 0


def shorter_networks(tree: Any, start: Any) -> Iterator[Shorter]:
    """The network at every cut and rounding, around 0 and, if there is a start, around that.

    Numbers that are not real are written as they are, unless they are those of the start.
    """
    numbers, rest = eqx.partition(tree, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(numbers)
    price = changed_bits(rest, start) + np.log2(len(LEVELS)) + (start is not None)
    origins = [[np.zeros(leaf.shape) for leaf in leaves]]
    if start is not None:
        origins.append([np.asarray(leaf, float) for leaf in jax.tree.leaves(eqx.filter(start, eqx.is_inexact_array))])
    for origin in origins:
        moved = [np.asarray(leaf, float) - centre for leaf, centre in zip(leaves, origin, strict=True)]
        parts = [_singular(each) for each in moved]
        # Shares that leave the same ranks give the same networks.
        shares = {tuple(_rank(part, share) for part in parts): share for share in SHARES}
        for share in reversed(shares.values()):
            for levels in LEVELS:
                pieces = [described(each, part, share, levels) for each, part in zip(moved, parts, strict=True)]
                new = [
                    jnp.asarray((centre + piece.values).astype(leaf.dtype))
                    for leaf, centre, piece in zip(leaves, origin, pieces, strict=True)
                ]
                cut = ", ".join(str(piece.rank) for piece in pieces if piece.rank)
                about = (f"layers of rank {cut}, " if cut else "") + f"numbers rounded to {levels:,} values"
                whole = eqx.combine(jax.tree.unflatten(structure, new), rest)
                yield Shorter(whole, price + sum(piece.bits for piece in pieces), about)


def compressed_row(
    network: Network,
    inputs: Any,
    labels: Int[AnyArray, " n"],
    delta: float,
    progress: Callable[[str], None] = lambda text: None,
) -> Entry:
    """The best of the shorter networks by Occam's bound. A bound for that network; every choice is in its bits."""
    name, where = "compression, truncated and rounded", "arora Thm 5.5.3"
    of, invariant = "the network truncated and rounded", "layer times c, another over c"
    if network.tree is None or not jax.tree.leaves(eqx.filter(network.tree, eqx.is_inexact_array)):
        return Entry(name, where, None, ("needs parameters or layers",), of=of, invariant=invariant)
    n = len(labels)

    def mistakes(each: Shorter, inputs: Any, labels: Any) -> float:
        return float(np.mean(np.argmax(network.outputs(each.tree, inputs), axis=1) != labels))

    # The choice is paid for however it is made: a part of a large sample serves.
    few = np.unique(np.linspace(0, n - 1, AT_ONCE).astype(int))
    some, least, best = (inputs[few], labels[few]), np.inf, None
    for count, each in enumerate(shorter_networks(network.tree, network.start), 1):
        progress(f"compression: network {count}")
        budget = (each.bits * np.log(2) - np.log(delta)) / n
        if -np.expm1(-budget) >= least:
            continue  # not even without errors
        value = float(pac_bayes_kl(mistakes(each, *some), budget))
        if value < least:
            least, best = value, each
    assert best is not None  # the first is below infinity
    error = mistakes(best, inputs, labels)
    value, detail = occam_risk(error, best.bits, n, delta), f"{best.bits:,.0f} bits, training error {error:.4f}"
    return Entry(name, where, float(value), of=of, invariant=invariant, detail=(best.about, detail))
