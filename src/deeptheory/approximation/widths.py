"""Fixed bases against adaptive ones: exact widths of the hull of waves whose Barron constant is one number.

The class is the symmetric convex hull of orthogonal functions of lengths a₁ ≥ a₂ ≥ …; for Barron's class these are the
waves (C/‖k‖)·cos 2πk·x and sin 2πk·x on the cube [0, 1]^d, all of constant C.

Reference: lucchi Remark 3; Barron 1993; Pinkus, n-Widths in Approximation Theory (1985); DeVore 1998 for adaptive
choices.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "adaptive_width",
    "best_fixed_basis",
    "fixed_basis_error",
    "fixed_width",
    "limiting_fixed_width",
    "wave_lengths",
]


def wave_lengths(dimension: int, largest: int, *, constant: float = 1.0) -> Float[np.ndarray, " waves"]:
    """Return the L² lengths C/(√2‖k‖) of the waves with whole frequencies 0 < ‖k‖ ≤ `largest`, falling.

    One for each k ≠ 0: of the pair ±k one is the cosine and one the sine. About V_d·largest^d numbers. `constant` is C.
    """
    affordable(frequencies=(2 * largest + 1,) * dimension)
    squares = np.zeros(1, int)
    for _ in range(dimension):
        squares = np.add.outer(squares, np.arange(-largest, largest + 1) ** 2).ravel()
        squares = squares[squares <= largest**2]
    return constant / np.sqrt(2.0 * np.sort(squares[squares > 0]))


def fixed_width(lengths: Float[np.ndarray, " waves"], terms: int) -> float:
    """Return the least worst squared error of any m fixed functions over the hull: its Kolmogorov width, squared.

    max over s > m of (s − m)/Σ_{i≤s} a_i⁻². The m functions span a space whose projection has a diagonal p with entries
    in [0, 1] and sum m, any such by Schur and Horn; the worst wave misses a_i²(1 − p_i), and p is filled like water.
    Only true of the whole class if `lengths` hold the waves that matter, about (d + 2)/2 times m of them; too few are
    refused. `terms` is m, `lengths` are the a_i, falling. Reference: lucchi Remark 3, Barron (1993) Theorem 6.
    """
    falling = np.sort(lengths)[::-1]
    if not 0 < terms < len(falling):
        raise ValueError(f"terms must lie between 1 and {len(falling) - 1}, the number of waves less one, got {terms}")
    s = np.arange(terms + 1, len(falling) + 1)
    levels = (s - terms) / np.cumsum(falling**-2.0)[terms:]
    best = int(np.argmax(levels))
    if best == len(levels) - 1 and falling[-1] < falling[0]:
        raise ValueError(f"lengths must reach beyond the {len(falling)} given waves for {terms} terms")
    return float(levels[best])


def best_fixed_basis(lengths: Float[np.ndarray, " waves"], terms: int) -> Float[np.ndarray, "terms waves"]:
    """Return m orthonormal rows, coefficients on the waves, that reach `fixed_width`: no wave is missed by more.

    The projection with the diagonal p_i = max(1 − width/a_i², 0) is made by plane rotations, each of which brings one
    entry of the diagonal to its place. `terms` is m, `lengths` are the a_i, falling.
    """
    affordable(projection=(len(lengths), len(lengths)))
    wanted = np.maximum(1 - fixed_width(lengths, terms) / lengths**2, 0.0)
    order = np.argsort(wanted)[::-1]
    aim = wanted[order]
    basis = np.eye(terms, len(lengths))
    have = np.concatenate([np.ones(terms), np.zeros(len(lengths) - terms)])
    # A coordinate is met while it is a unit vector of its own, or nothing but what one such has given: orthogonal ones.
    # Chan and Li: rotate a coordinate that has too much against one that has too little until one of them fits.
    high, low = terms - 1, terms
    while high >= 0 and low < len(lengths):
        excess, lack = have[high] - aim[high], aim[low] - have[low]
        if excess <= 1e-14:
            high -= 1
            continue
        if lack <= 1e-14:
            low += 1
            continue
        moved = min(excess, lack)
        _rotate(basis, high, low, have[high] - moved)
        have[[high, low]] = have[high] - moved, have[low] + moved
    placed = np.empty_like(basis)
    placed[:, order] = basis
    return placed


def _rotate(basis: np.ndarray, i: int, j: int, wanted: float) -> None:
    """Turn the plane of two coordinates, orthogonal here, until the first has the squared length `wanted`."""
    one, other = basis[:, i].copy(), basis[:, j].copy()
    a, b = one @ one, other @ other
    cosine, sine = np.sqrt((wanted - b) / (a - b)), np.sqrt((a - wanted) / (a - b))
    basis[:, i], basis[:, j] = cosine * one + sine * other, cosine * other - sine * one


def fixed_basis_error(lengths: Float[np.ndarray, " waves"], basis: Float[np.ndarray, "terms waves"]) -> float:
    """Return the worst squared error over the hull of the best combination of fixed functions, given in rows.

    `basis` holds their coefficients on the waves. The worst target of a hull is one of its corners, a single wave.
    """
    orthonormal = np.linalg.qr(basis.T)[0]
    return float(np.max(lengths**2 * (1 - np.sum(orthonormal**2, axis=1))))


def adaptive_width(lengths: Float[np.ndarray, " waves"], terms: int) -> float:
    """Return the worst squared error over the hull when each target may choose its own m waves.

    max over s > m of (s − m)/(Σ_{i≤s} 1/a_i)²: the worst target spreads its weight so that s waves are equally strong,
    and whichever m are taken, s − m are missed. Below max a_i²/(4m) always, so never slower than Maurey's 1/m.
    `lengths` are the a_i, falling, `terms` is m.
    """
    falling = np.sort(lengths)[::-1]
    if not 0 < terms < len(falling):
        raise ValueError(f"terms must lie between 1 and {len(falling) - 1}, the number of waves less one, got {terms}")
    s = np.arange(terms + 1, len(falling) + 1)
    return float(np.max((s - terms) / np.cumsum(1 / falling)[terms:] ** 2))


def limiting_fixed_width(dimension: int, terms: int, *, constant: float = 1.0) -> float:
    """Return (C²/2)·(2V_d/((d + 2)m))^(2/d), what `fixed_width` of the waves becomes for many terms m.

    V_d is the volume of the unit ball: up to ‖k‖ = R there are about V_d·R^d waves.
    """
    volume = np.exp(dimension / 2 * np.log(np.pi) - gammaln(dimension / 2 + 1))
    return float(constant**2 / 2 * (2 * volume / ((dimension + 2) * terms)) ** (2 / dimension))


doors(__name__, lengths="[1e-9, 1e9]", dimension="[1, 100]", largest="[1, 1e6]", terms="[0, 1e9]", constant="(0, 1e6]")
