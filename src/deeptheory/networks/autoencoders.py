"""Linear autoencoders x ↦ DCx through m < d numbers: loss, gradient, and the best one, which truncates the data's SVD.

Data are the columns of X, d × n. The loss is L = 1/(2n) ‖X − DCX‖²_F, the mean of ½‖x − DCx‖²; lucchi 2.3 prints it
with three normalisations. The autoencoder UUᵀ of `deeptheory.regularization.autoencoder` has tied weights and dropout.

`encoder` is C, `decoder` D, and `data` X has the examples as columns.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors

__all__ = [
    "LinearAutoencoder",
    "autoencoder_gradient",
    "least_autoencoder_loss",
    "optimal_autoencoder",
    "reconstruction_loss",
    "train_autoencoder",
    "truncated_svd",
]

Data = Float[np.ndarray, "d n"]
Encoder = Float[np.ndarray, "m d"]
Decoder = Float[np.ndarray, "d m"]


class LinearAutoencoder(NamedTuple):
    """The matrix C that compresses d numbers to m and the matrix D that takes them back."""

    encoder: Float[np.ndarray, "m d"]
    decoder: Float[np.ndarray, "d m"]


def reconstruction_loss(encoder: Encoder, decoder: Decoder, data: Data) -> float:
    """Return 1/(2n) ‖X − DCX‖²_F."""
    return float(np.sum((data - decoder @ (encoder @ data)) ** 2) / (2 * data.shape[1]))


def autoencoder_gradient(encoder: Encoder, decoder: Decoder, data: Data) -> LinearAutoencoder:
    """Return the gradient of `reconstruction_loss`: means over the data of Dᵀ(y − x)xᵀ and (y − x)(Cx)ᵀ, y = DCx."""
    code = encoder @ data
    error = (decoder @ code - data) / data.shape[1]
    return LinearAutoencoder(decoder.T @ error @ data.T, error @ code.T)


def truncated_svd(matrix: Float[np.ndarray, "d n"], *, rank: int) -> Float[np.ndarray, "d n"]:
    """Return X_r = U_r Σ_r V_rᵀ: no matrix of rank at most r is nearer to X in the Frobenius norm (Eckart and Young).

    Its distance is √(σ²_{r+1} + σ²_{r+2} + …). It is the only nearest one if σ_r > σ_{r+1}.
    Reference: lucchi Theorem 12.
    """
    if rank > min(matrix.shape):
        raise ValueError(f"rank must be at most {min(matrix.shape)} for a matrix of shape {matrix.shape}, got {rank}")
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return (left[:, :rank] * values[:rank]) @ right[:rank]


def optimal_autoencoder(data: Data, *, width: int) -> LinearAutoencoder:
    """Return C = U_mᵀ and D = U_m, the first m left singular vectors of the data: no pair has a smaller loss.

    So have C = M U_mᵀ, D = U_m M⁻¹ for every invertible M. Their product projects onto the principal components of the
    data about the origin; those about the mean are another subspace unless the data are centred.

    Args:
        data: X, one column for each example.
        width: m, how many numbers the code has.

    Reference: lucchi Theorem 13; Baldi and Hornik 1989.
    """
    _narrow(data, width)
    basis = np.linalg.svd(data, full_matrices=False)[0][:, :width]
    return LinearAutoencoder(basis.T, basis)


def least_autoencoder_loss(data: Data, *, width: int) -> float:
    """Return the loss of the best autoencoder, 1/(2n) Σ_{i>m} σᵢ²."""
    _narrow(data, width)
    return float(np.sum(np.linalg.svd(data, compute_uv=False)[width:] ** 2) / (2 * data.shape[1]))


def train_autoencoder(
    start: LinearAutoencoder, data: Data, *, step_size: float, steps: int
) -> tuple[LinearAutoencoder, Float[np.ndarray, " steps"]]:
    """Run gradient descent on both matrices; return them after the last step, and the loss before each.

    All local minima are global and saddles are strict, so from a random start it ends at the least loss; but zero
    matrices are a saddle to stay at (Baldi and Hornik 1989).
    """
    weights, losses = start, []
    for _ in range(steps):
        losses.append(reconstruction_loss(*weights, data))
        slopes = autoencoder_gradient(*weights, data)
        weights = LinearAutoencoder(*(w - step_size * slope for w, slope in zip(weights, slopes, strict=True)))
    return weights, np.array(losses)


def _narrow(data: np.ndarray, width: int) -> None:
    if not 1 <= width <= min(data.shape):
        raise ValueError(f"width must lie in [1, {min(data.shape)}] for data of shape {data.shape}, got {width}")


doors(__name__, rank="[1, ∞)", step_size="(0, ∞)", steps="[1, 1e5]")
