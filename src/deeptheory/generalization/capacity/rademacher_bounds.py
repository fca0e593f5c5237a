"""What Rademacher complexity is bounded by, and what it bounds.

Reference: lucchi Sec. 8.4; arora Sec. 5.3; handbook Sec. 7.4; Bartlett and Mendelson 2002.
"""

import numpy as np
from jaxtyping import Float, Num

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.concentration import hoeffding_radius
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside, positive

__all__ = [
    "complexity_deviation",
    "empirical_complexity_deviation",
    "finite_class_complexity",
    "frobenius_network_complexity",
    "kernel_label_complexity",
    "label_energy",
    "linear_complexity",
    "vc_complexity",
]

Numbers = float | int | Num[AnyArray, "..."] | np.number


def linear_complexity(inputs: Float[np.ndarray, "n d"], radius: float = 1.0) -> float:
    """B·√(Σ‖xᵢ‖²)/n, at least R̂ of the linear ball and at most B·max‖xᵢ‖/√n; equal to R̂ for orthogonal inputs.

    At most √2 too large (Khintchine). `radius` is B. Reference: lucchi Lemma 63, arora Prob. 5.3.2.
    """
    inside(0, np.inf, "[)", radius=radius)
    return float(radius * np.sqrt(np.sum(inputs**2)) / len(inputs))


def finite_class_complexity(values: Float[np.ndarray, "functions n"]) -> float:
    """Massart: max_f ‖f‖₂·√(2 ln N)/n for N functions by their values on the sample. Reference: handbook 7.4.1."""
    return float(np.max(np.linalg.norm(values, axis=1)) * np.sqrt(2 * np.log(len(values))) / values.shape[1])


def vc_complexity(samples: Numbers, dimension: Numbers) -> Numbers:
    """√(2V·ln(en/V)/n) for classifiers ±1 of VC dimension V ≤ n: Massart with Sauer. Reference: handbook 7.4.1."""
    positive(dimension=dimension)
    inside(dimension, np.inf, samples=samples)
    n, v = np.asarray(samples, float), np.asarray(dimension, float)
    return np.sqrt(2 * v * np.log(np.e * n / v) / n)


def frobenius_network_complexity(samples: Numbers, layers: int, radius: float) -> Numbers:
    """(2B)^L/√n for L layers of any width with ReLU between, Frobenius norms at most B, inputs of norm at most 1.

    `radius` is B.

    Reference: lucchi Thm 65.
    """
    inside(1, np.inf, samples=samples, layers=layers)
    positive(radius=radius)
    return (2 * radius) ** layers / np.sqrt(np.asarray(samples, float))


def label_energy(gram: Float[AnyArray, "n n"], labels: Float[AnyArray, "*batch n"]) -> Float[np.ndarray, "*batch"]:
    """yᵀG⁺y, the squared norm of the smallest function that fits the labels in the range of G.

    Of the tangent kernel it is the squared distance that the weights of the linearized network travel from zero
    outputs. Reference: arora Problem 5.3.3; Arora, Du, Hu, Li and Wang 2019.
    """
    values, vectors = np.linalg.eigh(np.asarray(gram, float))
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    return np.asarray((np.asarray(labels, float) @ vectors[:, kept]) ** 2 @ (1 / values[kept]))


def kernel_label_complexity(
    gram: Float[AnyArray, "n n"], labels: Float[AnyArray, "*batch n"]
) -> Float[np.ndarray, "*batch"]:
    """√(2·yᵀG⁺y·tr G)/n, the capacity of the ball just large enough to interpolate the labels; the same for cG.

    Reference: arora Prob. 5.3.3, printed with G in place of its inverse; arora 9.11 and lucchi Ex. 7 P2b of the tangent
    kernel.
    """
    return np.asarray(np.sqrt(2 * label_energy(gram, labels) * np.trace(np.asarray(gram, float))) / len(gram))


def complexity_deviation(complexity: Numbers, samples: Numbers, delta: Numbers, *, width: float = 1.0) -> Numbers:
    """2R + width·√(log(1/δ)/(2n)): what R − R_S stays below for all f with values in an interval of that width.

    Reference: handbook 7.4.2 and arora Thm 5.3.1 with their constants; lucchi Thm 62 prints √2 times the last term.
    """
    return 2 * complexity + hoeffding_radius(samples, delta, width=width, sides=1)


def empirical_complexity_deviation(complexity: Numbers, samples: Numbers, delta: Numbers) -> Numbers:
    """2R̂ + 3√(log(2/δ)/(2n)) with the complexity of the sample itself, for values in [0, 1].

    Reference: handbook 7.4.2; the exercise of lucchi Ch. 8 prints √2 times the last term.
    """
    return 2 * complexity + 3 * hoeffding_radius(samples, delta)


doors(__name__, symmetric=("gram",))
