"""Sparse Fourier transforms: the few large coefficients of a long signal from samples at few random positions.

A mean of x_t ω^(−f·t) over random positions t estimates the coefficient of frequency f; medians of such means are right
at all frequencies at once, up to a fraction of the largest coefficient still missing. What is found is subtracted, and
the same samples serve again for what is left. Coefficients are x̂_f = n⁻¹ Σ x_t ω^(−f·t), `norm="forward"` in NumPy.

`sparsity` is k, `samples` B, the number of positions in a mean.

Reference: arora 19.3, Algorithm 5; Nakos, Song and Wang 2019.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Complex, Float, Int, Key, UInt32

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside
from deeptheory.foundations.randomness import generator

__all__ = [
    "HALVINGS",
    "Recovery",
    "SparseSpectrum",
    "coefficient_variance",
    "keep_largest",
    "lists_needed",
    "recover_spectrum",
    "recovery_rounds",
    "tail_level",
]

HALVINGS = 5
"""sets of samples, each of which halves the largest error once in every round"""
SAMPLES_PER_TERM = 12
"""samples of one mean for each coefficient looked for: what is still missing then blurs it by at most 1/√12 or so"""
SIDE = 0.6
"""side of the grid onto which coefficients are rounded between rounds, in units of ν"""
TOUCHED = 1 / 4
"""the share of the largest possible error from which on an estimate is believed: what is not believed was below a half
of it, if medians are off by at most a quarter too"""


@dataclass(frozen=True)
class SparseSpectrum:
    """A signal's spectrum of few terms: frequencies, their coefficients, and by how much any coefficient may be off."""

    shape: tuple[int, ...]
    frequencies: Int[np.ndarray, " terms"]
    coefficients: Complex[np.ndarray, " terms"]
    bound: float

    def dense(self) -> Complex[np.ndarray, "*shape"]:
        """Return the coefficients at all frequencies, as `numpy.fft.fftn(signal, norm="forward")` would."""
        spectrum = np.zeros(math.prod(self.shape), complex)
        spectrum[self.frequencies] = self.coefficients
        return spectrum.reshape(self.shape)


@dataclass(frozen=True)
class Recovery:
    """What `recover_spectrum` found, the estimates on the way, how many rounds it took and how much it read.

    In `steps` every round has its rounded beginning and then the estimate after each halving. Frequencies are numbered
    along the flattened signal; `numpy.unravel_index` gives them in each dimension.
    """

    spectrum: SparseSpectrum
    steps: tuple[SparseSpectrum, ...]
    rounds: int
    drawn: int
    read: int


def recover_spectrum(
    key: Key[Array, ""] | UInt32[Array, "2"],
    signal: Complex[np.ndarray, "first *others"] | Float[np.ndarray, "first *others"],
    sparsity: int,
    noise: float,
    largest: float,
    *,
    lists: int | None = None,
) -> Recovery:
    """Recover the coefficients of a signal that exceed its noise, from samples at random positions.

    `noise` is μ = ‖x̂₋ₖ‖₂/√k, what the coefficients besides the k = `sparsity` largest amount to (`tail_level`), or any
    larger number: the precision wanted where there is no noise. `largest` bounds all |x̂_f|. With high probability the
    answer, of at most 2k terms, is at no frequency off by more than μ. The signal may have any number of dimensions; it
    is read at 5 · lists · 12 k positions, drawn once and used in every round; `lists` is usually `lists_needed(n)`.

    Not for signals whose spectrum is not sparse, for which 60 k log₂ n exceeds n, nor to save time: every step takes a
    Fourier transform of size n for each list (some ten seconds at n = 2¹⁸), and saves only samples. The loop is that of
    Nakos, Song and Wang, *(Nearly) sample-optimal sparse Fourier transform in any dimension*, FOCS 2019 (arora,
    Algorithm 5). Ours are the numbers of samples, chosen by trial and not by proof, and that at most 2k terms are kept.
    """
    size, lists = signal.size, lists or lists_needed(signal.size)
    inside(1, size, sparsity=sparsity)
    inside(0, 1e13, **{"largest over noise, which rounding limits,": largest / noise})
    affordable(lists=(lists, size), samples=(HALVINGS, lists, SAMPLES_PER_TERM * sparsity))
    positions = generator(key).integers(size, size=(HALVINGS, lists, SAMPLES_PER_TERM * sparsity))
    samples = np.ravel(signal)[positions]
    estimate, level, rounds = np.zeros(signal.shape, complex), largest / 2, 1
    steps = [_sparse(estimate, 2 * level)]
    while True:
        for reduced, bound in _reduced(estimate, samples, positions, level, 2 * sparsity):
            steps.append(_sparse(reduced, bound))
        if steps[-1].bound <= noise:
            return Recovery(steps[-1], tuple(steps), rounds, positions.size, len(np.unique(positions)))
        estimate = SIDE * level * np.round(steps[-1].dense() / (SIDE * level))
        steps.append(_sparse(estimate, level))
        level, rounds = level / 2, rounds + 1


def _reduced(
    estimate: Complex[np.ndarray, "*shape"],
    samples: Complex[np.ndarray, "halvings lists each"] | Float[np.ndarray, "halvings lists each"],
    positions: Int[np.ndarray, "halvings lists each"],
    level: float,
    most: int,
) -> Iterator[tuple[Complex[np.ndarray, "*shape"], float]]:
    """Halve the bound 2ν on the error of an estimate once with each set of samples: ν, ν/2, …, 2^(1−H) ν."""
    shape, (_, lists, each) = estimate.shape, positions.shape
    axes = tuple(range(1, len(shape) + 1))
    bound = 2 * level
    for places, values in zip(positions, samples, strict=True):
        missing = values - np.fft.ifftn(estimate, norm="forward").ravel()[places]
        # Samples put at their positions, zero elsewhere: a transform then holds a list's mean for every frequency.
        cells = (np.arange(lists)[:, None] * estimate.size + places).ravel()
        gathered = np.bincount(cells, missing.real.ravel(), lists * estimate.size).astype(complex)
        gathered.imag = np.bincount(cells, missing.imag.ravel(), lists * estimate.size)
        means = np.fft.fftn(gathered.reshape(lists, *shape), axes=axes).reshape(lists, -1) / each
        # A median of that size has a real or imaginary part of 1/√2 of it, which half of the means then reach.
        reach = np.abs(means) >= TOUCHED * bound / math.sqrt(2)
        candidates = np.flatnonzero(2 * np.count_nonzero(reach, axis=0) >= lists)
        middle = np.median(means.real[:, candidates], axis=0) + 1j * np.median(means.imag[:, candidates], axis=0)
        believed = np.abs(middle) >= TOUCHED * bound
        flat = estimate.flatten()
        flat[candidates[believed]] += middle[believed]
        # Fewer than 2k coefficients exceed μ: further terms are mistakes, and would blur the next estimates.
        terms = np.flatnonzero(flat)
        flat[terms[np.argsort(np.abs(flat[terms]))[:-most]]] = 0
        estimate, bound = flat.reshape(shape), bound / 2
        yield estimate, bound


def _sparse(estimate: Complex[np.ndarray, "*shape"], bound: float) -> SparseSpectrum:
    flat = estimate.ravel()
    found = np.flatnonzero(flat)
    return SparseSpectrum(estimate.shape, found, flat[found], bound)


def lists_needed(size: int) -> int:
    """Return the number of means of which a median is taken for a signal of n positions: odd, and at least log₂ n."""
    return math.ceil(math.log2(size)) // 2 * 2 + 1


def recovery_rounds(ratio: float) -> int:
    """Return the rounds of the algorithm if the largest coefficient is R* times the noise: 1 + ⌈log₂ R* − 5⌉₊.

    A round begins with errors below 2ν and ends with errors below ν/16; it is the last if that is at most μ. The next
    one begins with ν/2, and the first with ν = μR*/2. `ratio` is R*, the largest coefficient over the noise μ.
    """
    return 1 + max(0, math.ceil(math.log2(ratio) - HALVINGS))


def tail_level(spectrum: Complex[np.ndarray, "..."] | Float[np.ndarray, "..."], sparsity: int) -> float:
    """Return μ = ‖x̂₋ₖ‖₂/√k: the size of the coefficients besides the k largest, spread over k."""
    inside(1, spectrum.size, sparsity=sparsity)
    sizes = np.sort(np.abs(spectrum), axis=None)
    return float(np.linalg.norm(sizes[: spectrum.size - sparsity]) / math.sqrt(sparsity))


def coefficient_variance(
    spectrum: Complex[np.ndarray, "..."] | Float[np.ndarray, "..."], samples: int
) -> Float[np.ndarray, "..."]:
    """Return the mean of |estimate − x̂_f|² for every f: (‖x̂‖₂² − |x̂_f|²)/B, for a mean of B random samples.

    The other coefficients are what blurs an estimate; so B has to exceed their number if all are of one size, and
    subtracting what is known makes the rest visible with the same samples.
    """
    squares = np.abs(spectrum) ** 2
    return (squares.sum() - squares) / samples


def keep_largest(spectrum: SparseSpectrum, sparsity: int) -> SparseSpectrum:
    """Keep the k largest terms of a spectrum.

    If no coefficient was off by more than μ, the rest of the signal is now at most √10 ‖x̂₋ₖ‖₂ long; but a coefficient
    dropped may be off by more than before, which is why `bound` then is the largest term dropped and that together.
    """
    order = np.argsort(-np.abs(spectrum.coefficients), kind="stable")
    kept, dropped = np.sort(order[:sparsity]), order[sparsity:]
    bound = spectrum.bound + float(np.abs(spectrum.coefficients[dropped]).max(initial=0.0))
    return SparseSpectrum(spectrum.shape, spectrum.frequencies[kept], spectrum.coefficients[kept], bound)


doors(
    __name__,
    empty=("frequencies", "coefficients"),
    noise="(0, ∞)",
    largest="(0, ∞)",
    lists="[1, 10000]",
    ratio="(0, ∞)",
    samples="[1, ∞)",
    size="[1, ∞)",
    sparsity="[1, 1000000]",
)
