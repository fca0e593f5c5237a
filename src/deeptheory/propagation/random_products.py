"""Products of random matrices: exact moments of a signal and of the gradients, at any widths, depth and variance.

Weights are listed from the input on; W_k is d_k × d_{k−1} with independent entries of mean zero and variance σ².

`variance` is σ², and `widths` are (d₀, …, d_L).
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, polygamma

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = [
    "LogNorm",
    "depth_scale",
    "forward_fourth_moment",
    "forward_second_moment",
    "fourth_moment_after",
    "gradient_moment_bound",
    "gram_second_moment",
    "layer_gradient_moment",
    "log_norm_law",
    "second_moment_through",
]

Number = float | Float[AnyArray, "*k"]
Widths = Sequence[Annotated[int, "[1, 1e6]"]]


def second_moment_through(
    left: Float[AnyArray, "a rows"], right: Float[AnyArray, "columns b"], variance: Number
) -> Number:
    """E‖AWB‖² = σ²‖A‖²‖B‖² in Frobenius norms, for W with uncorrelated entries of mean zero (lucchi Lemma 48).

    For random A and B that are independent of W and of each other the squares are replaced by their means. That they be
    uncorrelated does not suffice.
    """
    return variance * np.sum(np.square(left)) * np.sum(np.square(right))


def forward_second_moment(widths: Widths, variance: Number, square: Number = 1.0) -> Number:
    """E‖W_L⋯W₁x‖² = ∏ σ²d_k ‖x‖², with widths (d₀, …, d_L) and ‖x‖² = `square` (lucchi Cor. 49)."""
    return math.prod(float(width) for width in widths[1:]) * variance ** (len(widths) - 1) * square


def fourth_moment_after(rows: int, variance: Number, fourth: float, square: Number, fourth_powers: Number) -> Number:
    """E‖Wξ‖⁴ = d(d+2)σ⁴E‖ξ‖⁴ + (κ − 3)dσ⁴E Σξ_i⁴ for W with d = `rows` and kurtosis κ = `fourth` (lucchi Lemma 50).

    `square` is E‖ξ‖⁴, the mean of the squared square, and `fourth_powers` is EΣξ_i⁴; W and ξ are independent. Only
    for κ = 3 does it depend on the length of ξ alone.
    """
    return variance**2 * rows * ((rows + 2) * square + (fourth - 3) * fourth_powers)


def forward_fourth_moment(widths: Widths, variance: Number, square: Number = 1.0) -> Number:
    """E‖W_L⋯W₁x‖⁴ = ∏ σ⁴d_k(d_k + 2) ‖x‖⁴ for Gaussian entries, with ‖x‖² = `square` (lucchi eq. 6.46)."""
    return math.prod(float(d) * (d + 2) for d in widths[1:]) * variance ** (2 * len(widths) - 2) * square**2


def gram_second_moment(widths: Widths, variance: Number) -> Number:
    """E‖MᵀM‖² in Frobenius norm for the Gaussian product M = W_L⋯W₁ of matrices of widths (d₀, …, d_L).

    With A = WᵀA'W both tr A² and (tr A)² follow a linear recursion, tr A² ↦ σ⁴[(n² + n) tr A² + n (tr A)²] and
    (tr A)² ↦ σ⁴[2n tr A² + n² (tr A)²], n the columns of W. For equal widths the sum is
    σ^{4L}[(d(d+2))^{L+1} − (d(d−1))^{L+1}]/3. Reference: lucchi Thm 52; the moments of Wishart matrices in Muirhead
    1982, Aspects of Multivariate Statistical Theory, ch. 3.
    """
    trace, squared = float(widths[-1]), float(widths[-1]) ** 2
    for n in map(float, reversed(widths[:-1])):
        trace, squared = (n * n + n) * trace + n * squared, 2 * n * trace + n * n * squared
    return trace * variance ** (2 * (len(widths) - 1))


def layer_gradient_moment(
    widths: Widths, layer: int, variance: Number, *, square: Number = 1.0, label_square: Number = 1.0
) -> Number:
    """The exact E‖∂ℓ/∂W_k‖² for ℓ = ½‖y − W_L⋯W₁x‖² and Gaussian weights, with k = `layer` counted from 1.

    σ² E‖W_{k−1}⋯W₁x‖⁴ E‖MᵀM‖² + E‖Mᵀy‖² E‖W_{k−1}⋯W₁x‖² with M = W_L⋯W_{k+1}: the product of the two parts of the
    gradient is odd in W_k and has mean zero. `square` is ‖x‖², `label_square` is ‖y‖². Half the bound of lucchi Lemma
    51, at any width.
    """
    if not 1 <= layer < len(widths):
        raise ValueError(f"layer must lie in [1, {len(widths) - 1}], got {layer}")
    before, after = widths[:layer], widths[layer:]
    own = variance * forward_fourth_moment(before, variance, square) * gram_second_moment(after, variance)
    back = math.prod(float(d) for d in after[:-1]) * variance ** (len(after) - 1) * label_square
    return own + back * forward_second_moment(before, variance, square)


def gradient_moment_bound(
    width: Annotated[int, "[1, 1e6]"],
    depth: int,
    variance: Number,
    *,
    square: Number = 1.0,
    label_square: Number = 1.0,
) -> Number:
    """A bound on E‖∂ℓ/∂W_k‖² for all layers: (2ρ/3σ²)[σ⁴d(d+2)]^L + 2γ(σ²d)^{L−1} (lucchi Thm 52).

    For L = `depth` Gaussian matrices of one width d and the squared loss, ρ = ‖x‖⁴, γ = ‖x‖²‖y‖². At least twice the
    exact `layer_gradient_moment`.
    """
    own = 2 * square**2 / (3 * variance) * (variance**2 * width * (width + 2.0)) ** depth
    return own + 2 * square * label_square * (variance * width) ** (depth - 1)


class LogNorm(NamedTuple):
    """Mean and variance of log‖W_L⋯W₁x‖² − log‖x‖²."""

    mean: float
    variance: float


def log_norm_law(widths: Widths, variance: float) -> LogNorm:
    """What a single random network does to a length: log‖W_L⋯W₁x‖² − log‖x‖² has mean Σ ψ(d_k/2) + log 2σ².

    For Gaussian entries the ratios of successive squares are independent σ²χ² variables: the variance is Σ ψ'(d_k/2).
    At σ² = 1/d the mean square is kept while a typical one falls like e^{−L/d}. `widths` are (d₀, …, d_L), `variance`
    is σ², and ψ is the digamma function. Reference: lucchi Cor. 49 for the mean square; Cohen and Newman 1984; Newman
    1986, The distribution of Lyapunov exponents.
    """
    half = np.asarray(widths[1:], float) / 2
    return LogNorm(float(np.sum(digamma(half) + np.log(2 * variance))), float(np.sum(polygamma(1, half))))


def depth_scale(width: Annotated[int, "[1, 1e6]"], variance: float) -> float:
    """The number of layers in which the mean square of a signal changes by the factor e: 1/|log dσ²|; ∞ at σ² = 1/d.

    σ² = 1/d, Xavier's or Glorot's rule for equal widths, is where neither signal nor gradient vanishes or explodes
    with depth (lucchi Sec. 6.2.3).
    """
    change = abs(np.log(width * variance))
    return float(1 / change) if change else float("inf")


doors(
    __name__, variance="(0, ∞)", square="[0, ∞)", label_square="[0, ∞)", fourth="[1, ∞)", fourth_powers="[0, ∞)",
    rows="[1, 1e6]", depth="[1, 1e4]",
)  # fmt: skip
