"""Matrix Bernstein: how far a sum of independent random matrices lies from its mean in spectral norm.

Reference: arora Lemma 1.1.8; Tropp 2015.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import log_bernstein
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = [
    "SumOfMatrices",
    "all_choices",
    "expected_matrix_norm",
    "log_matrix_tail",
    "matrix_variance",
    "row_sampling",
    "signed_matrices",
    "spectral_norms",
]

Numbers = float | int | np.number | Float[AnyArray, "..."]


class SumOfMatrices(NamedTuple):
    """Independent centred matrices, each uniform on its own finite list of outcomes: (summands, outcomes, n₁, n₂)."""

    outcomes: Float[AnyArray, "m k n1 n2"]

    @property
    def bound(self) -> float:
        """M, the largest spectral norm of an outcome."""
        return float(np.max(spectral_norms(self.outcomes)))


def spectral_norms(matrices: Float[AnyArray, "*batch n1 n2"]) -> Float[np.ndarray, "*batch"]:
    """The largest singular value ‖A‖ = max over unit u of |Au| of every matrix of a batch (last two axes)."""
    return np.asarray(np.linalg.norm(np.asarray(matrices), 2, axis=(-2, -1)))


def matrix_variance(matrices: SumOfMatrices) -> float:
    """V = max(‖ΣE XXᵀ‖, ‖ΣE XᵀX‖): both products are needed. Reference: arora Lemma 1.1.8."""
    x = np.asarray(matrices.outcomes)
    rows = np.tensordot(x, x, axes=([0, 1, 3], [0, 1, 3])) / x.shape[1]
    columns = np.tensordot(x, x, axes=([0, 1, 2], [0, 1, 2])) / x.shape[1]
    return float(max(spectral_norms(rows), spectral_norms(columns)))


def expected_matrix_norm(variance: Numbers, bound: Numbers, shape: tuple[int, int]) -> Numbers:
    """E‖ΣXᵢ‖ ≤ √(2V ln(n₁ + n₂)) + M ln(n₁ + n₂)/3 for independent centred n₁×n₂ matrices with ‖Xᵢ‖ ≤ M.

    `variance` is V, `bound` M and `shape` (n₁, n₂).

    Reference: arora Lemma 1.1.8, Tropp (2015) Thm 6.1.1.
    """
    dimension = jnp.log(shape[0] + shape[1])
    return (2 * variance * dimension) ** 0.5 + bound * dimension / 3


def log_matrix_tail(deviation: Numbers, variance: Numbers, bound: Numbers, shape: tuple[int, int]) -> Numbers:
    """ln of P[‖ΣXᵢ‖ ≥ t] ≤ (n₁ + n₂) exp(−(t²/2)/(V + Mt/3)).

    `deviation` is t, `variance` V, `bound` M and `shape` (n₁, n₂). Reference: arora Lemma 1.1.8.
    """
    return log_bernstein(deviation, variance, bound) + jnp.log(shape[0] + shape[1])


def signed_matrices(matrices: Float[AnyArray, "m n1 n2"]) -> SumOfMatrices:
    """Fixed matrices with independent fair signs. Reference: Tropp 2015, Ch. 4."""
    return SumOfMatrices(np.stack([matrices, -np.asarray(matrices)], 1))


def row_sampling(left: Float[AnyArray, "k n1"], right: Float[AnyArray, "k n2"], draws: int) -> SumOfMatrices:
    """The error of AᵀB estimated from `draws` uniform rows, as a sum: (k·aⱼbⱼᵀ − AᵀB)/draws with j uniform.

    A = `left` and B = `right` share their k rows. Reference: Tropp 2015, Sec. 6.4.
    """
    left, right = np.asarray(left), np.asarray(right)
    centred = len(left) * np.einsum("ki,kj->kij", left, right) - left.T @ right
    return SumOfMatrices(np.broadcast_to(centred / draws, (draws, *centred.shape)))


def all_choices(summands: int, outcomes: int) -> Int[np.ndarray, "all m"]:
    """Every way to choose one outcome for each summand: all of them equally likely."""
    affordable(choices=(summands, outcomes**summands))
    return np.indices((outcomes,) * summands).reshape(summands, -1).T


doors(__name__, summands="[1, 20]", outcomes="[1, 1000]", draws="[1, 1e6]", shape="[1, ∞)")
