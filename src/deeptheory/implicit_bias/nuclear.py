"""The matrix of least nuclear norm among those that fit: found, and certified without a solver.

Measurements A₁, …, A_n of a matrix W are ⟨Aᵢ, W⟩ = yᵢ. Whatever the multipliers λ, every W that fits has
‖W‖_* ≥ ⟨λ, y⟩/‖ΣλᵢAᵢ‖, ‖·‖ the largest singular value: a λ for which a matrix attains this is its certificate. On the
host, in double precision.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["NuclearCertificate", "least_nuclear_norm", "nuclear_certificate"]

ROUNDS = 50_000
GAP = 1e-7
"""by how much, relatively, the norm found may be above the least one"""


class NuclearCertificate(NamedTuple):
    """Multipliers λ whose combination Y = ΣλᵢAᵢ shows, if it does, that a matrix W = UΣVᵀ has the least nuclear norm.

    off: ‖P_T Y − UVᵀ‖, T the tangent space {UAᵀ + BVᵀ}, 0 where the measurements can make UVᵀ on it. beside: the
    largest singular value of Y outside T. Below 1, with off = 0 and measurements that tell the matrices of T apart, W
    is the only matrix of least nuclear norm among those that fit the same measurements.
    """

    multipliers: Float[np.ndarray, " n"]
    combination: Float[np.ndarray, "a b"]
    off: float
    beside: float


def nuclear_certificate(
    matrix: Float[AnyArray, "a b"], measurements: Float[AnyArray, "n a b"], *, rank: int | None = None
) -> NuclearCertificate:
    """Return the shortest multipliers whose combination of measurements is UVᵀ on the tangent space of a matrix.

    `rank` is the number of singular values that count, those above 1e-9 of the largest if not given; a matrix that
    comes out of a run has all of them and wants to be told. The simplest candidate there is: one with `beside` < 1
    proves, one with more says nothing, since other multipliers may do; `least_nuclear_norm` finds these.

    Reference: Candès and Recht 2009, Section 3; arora Ch. 11, matrix sensing.
    """
    matrix, measurements = np.asarray(matrix, float), np.asarray(measurements, float)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int((values > 1e-9 * values[0]).sum()) if rank is None else rank
    if not 1 <= rank <= len(values):
        raise ValueError(f"rank must be from 1 to {len(values)}, got {rank}")
    left, right = left[:, :rank], right[:rank]
    columns, rows = left @ left.T, right.T @ right

    def tangent(given: np.ndarray) -> np.ndarray:
        return columns @ given + given @ rows - columns @ given @ rows

    wanted = left @ right
    seen = tangent(measurements).reshape(len(measurements), -1)
    multipliers = np.linalg.lstsq(seen.T, wanted.ravel())[0]
    combination = np.tensordot(multipliers, measurements, 1)
    on = tangent(combination)
    off, beside = np.linalg.norm(on - wanted), np.linalg.norm(combination - on, 2)
    return NuclearCertificate(multipliers, combination, float(off), float(beside))


def least_nuclear_norm(
    measurements: Float[AnyArray, "n a b"], labels: Float[AnyArray, " n"]
) -> tuple[Float[np.ndarray, "a b"], Float[np.ndarray, " n"]]:
    """Return a matrix of least nuclear norm among those with ⟨Aᵢ, W⟩ = yᵢ, and multipliers for ½‖·‖_*².

    By splitting: in turn the nearest matrix that fits, and singular values shrunk by a constant, until the norm is
    within 1e-7 of what the multipliers prove least, which is hundreds to thousands of decompositions; where that is
    not reached it is said. For matrices of up to some hundred rows and linearly independent measurements. The pair is
    what `auditor.solves` wants with `potentials.nuclear_norm`, once the matrix and the measurements are laid out as
    vectors.

    Reference: arora Ch. 8, "Meanings of implicit regularization"; Boyd et al. 2011, Section 3.
    """
    measurements, labels = np.asarray(measurements, float), np.asarray(labels, float)
    shape, flat = measurements.shape[1:], measurements.reshape(len(measurements), -1)
    inverse = np.linalg.pinv(flat)
    matrix = (inverse @ labels).reshape(shape)
    if np.linalg.norm(flat @ matrix.ravel() - labels) > 1e-9 * np.linalg.norm(labels):
        raise ValueError("no matrix fits the labels: the measurements contradict each other")
    if not labels.any():
        return matrix, np.zeros(len(labels))
    shrunk, dual, amount = matrix, np.zeros(shape), 0.3 * np.linalg.norm(matrix, 2)
    multipliers, norm = np.zeros(len(labels)), np.inf
    for count in range(ROUNDS):
        given = shrunk - dual
        matrix = given - (inverse @ (flat @ given.ravel() - labels)).reshape(shape)
        left, values, right = np.linalg.svd(matrix + dual, full_matrices=False)
        shrunk = (left * np.maximum(values - amount, 0.0)) @ right
        dual = dual + matrix - shrunk
        if count % 50 == 49:
            multipliers = inverse.T @ dual.ravel()
            multipliers = multipliers / np.linalg.norm(np.tensordot(multipliers, measurements, 1), 2)
            norm = float(np.linalg.norm(matrix, "nuc"))
            if norm <= (multipliers @ labels) * (1 + GAP / 100):
                return matrix, multipliers * norm
    if norm <= (multipliers @ labels) * (1 + GAP):
        return matrix, multipliers * norm
    raise ArithmeticError(
        f"the least nuclear norm was found to a share of {norm / (multipliers @ labels) - 1:.1e} only"
    )


doors(__name__)
