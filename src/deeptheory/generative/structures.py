"""Hidden structure of a table of data: principal components, nonnegative factors, topics, an orthogonal dictionary.

Data are one point a row. These look for factors only; no law of the data is learnt (arora Sec. 14.1).

`rank` is k, the number of atoms.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["Factors", "nonnegative_factors", "orthogonal_dictionary", "principal_components", "topics"]

Data = Float[np.ndarray, "n d"]


class Factors(NamedTuple):
    """Codes times atoms approximate the data; the loss before each step, or once for what needs no steps."""

    codes: Float[np.ndarray, "n k"]
    atoms: Float[np.ndarray, "k d"]
    losses: Float[np.ndarray, " steps"]


def _at_most(rank: int, data: np.ndarray) -> None:
    inside(1, min(data.shape), "[]", rank=rank)


def principal_components(data: Data, *, rank: int) -> Factors:
    """The k directions of largest variance, as orthonormal atoms, and the coordinates of the centred data in them.

    The loss is what is left: the sum of the other eigenvalues of the covariance (with 1/n).
    """
    _at_most(rank, data)
    centred = data - data.mean(0)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    return Factors(left[:, :rank] * values[:rank], right[:rank], np.array([(values[rank:] ** 2).sum() / len(data)]))


def nonnegative_factors(draw: np.random.Generator, data: Data, *, rank: int, steps: int = 500) -> Factors:
    """Codes and atoms without negative entries with small ‖X − CA‖², by multiplicative updates: the loss never rises.

    Lee and Seung (2001). A local minimum, found from a random start; unique up to order and scale only where the data
    are separable or nearly so.
    """
    _at_most(rank, data)
    inside(0, np.inf, "[)", data=data)
    codes, atoms = draw.random((len(data), rank)) + 0.1, draw.random((rank, data.shape[1])) + 0.1
    losses, tiny = np.empty(steps), np.finfo(float).tiny
    for step in range(steps):
        losses[step] = ((data - codes @ atoms) ** 2).sum()
        codes = codes * (data @ atoms.T) / np.maximum(codes @ (atoms @ atoms.T), tiny)
        atoms = atoms * (codes.T @ data) / np.maximum((codes.T @ codes) @ atoms, tiny)
    return Factors(codes, atoms, losses)


def topics(draw: np.random.Generator, counts: Data, *, rank: int, steps: int = 500) -> Factors:
    """Topics (laws over words, one an atom) and proportions of each document, of high likelihood for word counts.

    Expectation–maximization for p(word | document) = Σ_k proportion · topic; the loss is the negative log likelihood
    over the number of words, and never rises. Every document and the whole vocabulary must have words.
    """
    _at_most(rank, counts)
    inside(0, np.inf, "[)", counts=counts)
    inside(0, np.inf, "(]", **{"the words of a document": counts.sum(1), "the uses of a word": counts.sum(0)})
    codes = draw.dirichlet(np.ones(rank), len(counts))
    atoms = draw.dirichlet(np.ones(counts.shape[1]), rank)
    losses, tiny = np.empty(steps), np.finfo(float).tiny
    for step in range(steps):
        mixed = np.maximum(codes @ atoms, tiny)
        losses[step] = -(counts * np.log(mixed)).sum() / counts.sum()
        ratio = counts / mixed
        codes, atoms = codes * (ratio @ atoms.T), atoms * (codes.T @ ratio)
        codes = codes / np.maximum(codes.sum(1, keepdims=True), tiny)
        atoms = atoms / np.maximum(atoms.sum(1, keepdims=True), tiny)
    return Factors(codes, atoms, losses)


def orthogonal_dictionary(draw: np.random.Generator, data: Data, *, nonzeros: int, steps: int = 100) -> Factors:
    """An orthonormal dictionary in which every point has a code with at most so many nonzeros; the loss never rises.

    Codes keep the largest coefficients, which is the best choice for orthonormal atoms; given codes the best
    orthonormal atoms are the polar factor of (codes)ᵀ(data). More atoms than dimensions are a harder problem.
    """
    d = data.shape[1]
    inside(1, d, "[]", nonzeros=nonzeros)
    atoms = np.linalg.qr(draw.standard_normal((d, d)))[0]
    codes, losses = np.zeros_like(data), np.empty(steps)
    for step in range(steps):
        codes = data @ atoms.T
        small = np.argsort(np.abs(codes), axis=1)[:, : d - nonzeros]
        np.put_along_axis(codes, small, 0.0, axis=1)
        losses[step] = ((data - codes @ atoms) ** 2).sum()
        left, _, right = np.linalg.svd(codes.T @ data)
        atoms = left @ right
    return Factors(codes, atoms, losses)


doors(__name__, steps="[1, 1e6]")
