"""Gaussian laws given some of their values, and the band that holds a stated share of them."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Float, Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.regression.predictions import GaussianLaw

__all__ = ["band_coverage", "conditional_law"]


def conditional_law(
    law: GaussianLaw,
    given: Int[AnyArray, " k"],
    values: Float[AnyArray, "*draws k"],
) -> GaussianLaw:
    """Return the law of the other coordinates of a Gaussian vector, in their order, when some are known.

    Mean μ_t + Σ_tX Σ_XX⁻¹ (f_X − μ_X), one for each row of values, and covariance Σ_tt − Σ_tX Σ_XX⁻¹ Σ_Xt, whatever the
    values are (lucchi Def. 26, Thm 56). The block Σ_XX must be invertible. Outputs of a trained model with a kernel of
    its own are `predictions.predicted_ensemble`.
    """
    mean, covariance = jnp.asarray(law.mean), jnp.asarray(law.covariance)
    known = np.asarray(given)
    if len(known) != len(set(known.tolist())) or not ((known >= 0) & (known < len(mean))).all():
        raise ValueError(f"given must name different coordinates from 0 to {len(mean) - 1}, got {known.tolist()}")
    rest = np.setdiff1d(np.arange(len(mean)), known)
    cross = covariance[rest][:, known]
    gain = jnp.linalg.solve(covariance[known][:, known], cross.T)
    shift = (jnp.asarray(values) - mean[known]) @ gain
    return GaussianLaw(mean[rest] + shift, covariance[rest][:, rest] - cross @ gain)


def band_coverage(deviations: float | Float[AnyArray, "..."] = 2.0) -> Float[Array, "..."]:
    """Return the share of a Gaussian law within z standard deviations of its mean, erf(z/√2) (lucchi Fig. 7.3)."""
    return erf(jnp.asarray(deviations) / np.sqrt(2))


doors(__name__, deviations="[0, ∞)")
