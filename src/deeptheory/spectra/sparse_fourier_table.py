"""How many samples sparse Fourier transforms need by their authors' theorems, without constants (arora, Table 19.1).

Reference: arora Table 19.1, which names the authors of each row; Nakos, Song and Wang 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import among, inside
from deeptheory.spectra.arguments import Numbers, floating

__all__ = ["SPARSE_TRANSFORMS", "SparseTransform", "transform_samples"]

log = np.log2


@dataclass(frozen=True)
class SparseTransform:
    """One theorem: how many samples it takes as a function of (k, n, d), its time in words, and what it rests on."""

    samples: Callable[[Any, Any, Any], Any]
    says: str
    time: str
    filters: bool
    isometry: bool


SPARSE_TRANSFORMS = {
    "CT06": SparseTransform(lambda k, n, d: k * log(n) ** 6, "k log⁶n", "poly(n)", False, True),
    "RV08": SparseTransform(
        lambda k, n, d: k * log(k) ** 2 * log(k * log(n)) * log(n), "k log²k log(k log n) log n", "Õ(n)", False, True
    ),
    "HIKP12": SparseTransform(
        lambda k, n, d: k * log(n) ** d * log(n / k), "k logᵈn log(n/k)", "k logᵈn log(n/k)", True, False
    ),
    "CGV13": SparseTransform(lambda k, n, d: k * log(k) ** 3 * log(n), "k log³k log n", "Õ(n)", False, True),
    "IK14": SparseTransform(lambda k, n, d: d**d * k * log(n), "2^(d log d) k log n", "Õ(n)", True, False),
    "Bou14": SparseTransform(lambda k, n, d: k * log(k) * log(n) ** 2, "k log k log²n", "Õ(n)", False, True),
    "HR16": SparseTransform(lambda k, n, d: k * log(k) ** 2 * log(n), "k log²k log n", "Õ(n)", False, True),
    "Kap16": SparseTransform(
        lambda k, n, d: 2**d**2 * k * log(n), "2^(d²) k log n", "2^(d²) k log^(d+O(1)) n", True, False
    ),
    "KVZ19": SparseTransform(
        lambda k, n, d: k**3 * log(k) ** 2 * log(n) ** 2, "k³ log²k log²n", "k³ log²k log²n", True, True
    ),
    "NSW19": SparseTransform(lambda k, n, d: k * log(k) * log(n), "k log k log n", "Õ(n)", False, False),
}
"""by the names of the table; its first row, [GMS05] with k log^O(d) n, has no exponent to compute with"""


def transform_samples(
    reference: str, sparsity: Numbers, size: Numbers, dimension: Numbers = 1
) -> Float[np.ndarray, "..."] | np.floating:
    """Return a theorem's number of samples up to its constant, for k terms in n positions of d dimensions.

    Logarithms are to base 2. The constants differ by orders of magnitude: numbers of one row at several sizes can be
    compared, and of several rows their growth, but not which of two needs fewer samples at one size.
    """
    among(SPARSE_TRANSFORMS, reference=reference)
    k, n, d = np.broadcast_arrays(*(np.asarray(floating(each)) for each in (sparsity, size, dimension)))
    inside(1, n, sparsity=k)
    return SPARSE_TRANSFORMS[reference].samples(k, n, d)[()]


doors(__name__, sparsity="[1, ∞)", size="[2, ∞)", dimension="[1, 20]")
