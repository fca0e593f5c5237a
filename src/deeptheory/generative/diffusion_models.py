"""Diffusion models: noising in steps, the exact denoiser of a mixture of Gaussians, a learnt one, and sampling back.

A step is x_{t+1} = √α_t x_t + √(1−α_t) z_t with fresh Gaussian z_t: the Ornstein–Uhlenbeck process seen at times where
it has forgotten the factors α_t. After it x_{t+1} = √ᾱ_t x_0 + √(1−ᾱ_t) z with ᾱ_t = α_0 ⋯ α_t. A level is a number
ᾱ in (0, 1): how much of the variance is still signal.

`level` is ᾱ and `schedule` the factors α_0, …, α_{T−1}; points are one a row.

Reference: arora 14.6; Sohl-Dickstein et al. 2015; Ho, Jain and Abbeel 2020.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside
from deeptheory.generative.mixtures import GaussianMixture, responsibilities

__all__ = [
    "cosine_schedule",
    "denoised",
    "denoising_error",
    "fit_denoiser",
    "gaussian_divergence_after",
    "kept_signal",
    "noised",
    "noised_mixture",
    "noising_path",
    "reverse_chain",
    "score",
    "sum_of_gaussians",
]

Schedule = Float[np.ndarray, " steps"]
Points = Float[np.ndarray, "n d"]
Denoiser = Callable[[Float[np.ndarray, "n d"], float], Float[np.ndarray, "n d"]]


def cosine_schedule(steps: int, *, least: float = 1e-8) -> Schedule:
    """Factors α_t whose products ᾱ_t follow cos²(πt/2T) down to `least`.

    What signal is left at the end is missing from the noise a sampler starts with: its law is then wrong by √least
    times the mean of the data, however many steps it takes. Reference: Nichol and Dhariwal 2021.
    """
    inside(0, 1, "()", least=least)
    kept = np.cos(np.pi / 2 * np.arange(steps + 1) / steps) ** 2
    kept = least + (1 - least) * kept
    return kept[1:] / kept[:-1]


def kept_signal(schedule: Schedule) -> Schedule:
    """ᾱ_t = α_0 ⋯ α_t: the share of variance that is signal after t + 1 steps."""
    inside(0, 1, "()", schedule=schedule)
    return np.cumprod(schedule)


def noised(draw: np.random.Generator, points: Points, level: float) -> Float[np.ndarray, "n d"]:
    """√ᾱ x + √(1−ᾱ) z at once: the law of the chain when its factors multiply to ᾱ."""
    return np.sqrt(level) * points + np.sqrt(1 - level) * draw.standard_normal(points.shape)


def noising_path(draw: np.random.Generator, points: Points, schedule: Schedule) -> Float[np.ndarray, "times n d"]:
    """x_0, x_1, …, x_T step by step (arora 14.18): the film of a picture that drowns in noise."""
    inside(0, 1, "()", schedule=schedule)
    affordable(path=(len(schedule) + 1, *points.shape))
    path = [points]
    for alpha in schedule:
        path.append(np.sqrt(alpha) * path[-1] + np.sqrt(1 - alpha) * draw.standard_normal(points.shape))
    return np.stack(path)


def sum_of_gaussians(
    first_mean: Float[np.ndarray, " d"],
    first_variance: float,
    second_mean: Float[np.ndarray, " d"],
    second_variance: float,
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d d"]]:
    """Mean and covariance of the sum of independent N(μ₁, σ₁²I) and N(μ₂, σ₂²I): μ₁ + μ₂ and (σ₁² + σ₂²)I.

    Reference: arora Problem 14.6.1.
    """
    return first_mean + second_mean, (first_variance + second_variance) * np.eye(len(first_mean))


def noised_mixture(mixture: GaussianMixture, level: float) -> GaussianMixture:
    """The law of x_t when x_0 has a mixture's: means √ᾱ μ_h, covariances ᾱΣ_h + (1−ᾱ)I, the same weights."""
    eye = np.eye(mixture.means.shape[1])
    covariances = level * mixture.covariances + (1 - level) * eye
    return GaussianMixture(mixture.weights, np.sqrt(level) * mixture.means, covariances)


def gaussian_divergence_after(mean: Float[np.ndarray, " d"], variances: Float[np.ndarray, " d"], level: float) -> float:
    """KL of x_t from N(0, I) for x_0 ~ N(m, diag v): ½ Σ(u − log(1+u) + ᾱm²), u = ᾱ(v−1); of order ᾱ|m|²/2 + ᾱ²."""
    inside(0, np.inf, "()", variances=variances)
    excess = level * (variances - 1)
    return 0.5 * float((excess - np.log1p(excess) + level * mean**2).sum())


def denoised(mixture: GaussianMixture, points: Points, level: float) -> Float[np.ndarray, "n d"]:
    """E[x_0 | x_t], the best denoiser, for data from a mixture: components weighed by p(h | x_t).

    In component h it is μ_h + √ᾱ Σ_h (ᾱΣ_h + (1−ᾱ)I)⁻¹ (x_t − √ᾱ μ_h).
    """
    noisy = noised_mixture(mixture, level)
    share = responsibilities(noisy, points)
    gains = np.sqrt(level) * np.linalg.solve(noisy.covariances, mixture.covariances)
    parts = mixture.means + np.einsum("nki,kij->nkj", points[:, None] - noisy.means, gains)
    return np.einsum("nk,nkj->nj", share, parts)


def score(mixture: GaussianMixture, points: Points, level: float) -> Float[np.ndarray, "n d"]:
    """∇ log p_t at noisy points, from the denoiser: (√ᾱ E[x_0 | x_t] − x_t)/(1 − ᾱ) (Tweedie).

    Reference: Tweedie's formula, Robbins 1956; Efron 2011.
    """
    return (np.sqrt(level) * denoised(mixture, points, level) - points) / (1 - level)


def denoising_error(denoiser: Denoiser, clean: Points, noisy: Points, level: float) -> float:
    """The mean over points of ‖x_0 − denoiser(x_t, ᾱ)‖²; least for E[x_0 | x_t]."""
    inside(len(clean), len(clean), "[]", **{"the number of noisy points": len(noisy)})
    return float(((np.asarray(denoiser(noisy, level), float) - clean) ** 2).sum(1).mean())


def fit_denoiser(
    draw: np.random.Generator, points: Points, levels: Schedule, *, features: int = 200, ridge: float = 1e-4
) -> Denoiser:
    """A denoiser learnt from clean points alone: at each level a regression of x_0 on random features of x_t.

    Rectified features of random directions and thresholds stand in for a network's hidden layer, so the fit is one
    least-squares problem a level; every point is noised eight times. It answers at the levels it was trained at.
    """
    inside(0, 1, "()", levels=levels)
    affordable(features=(8 * len(points), features))
    d = points.shape[1]
    directions = draw.standard_normal((d, features))
    thresholds = 2 * draw.standard_normal(features)

    def hidden(x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.ones((len(x), 1)), x, np.maximum(x @ directions - thresholds, 0)], 1)

    readouts = []
    clean = np.tile(points, (8, 1))
    for level in levels:
        lifted = hidden(noised(draw, clean, float(level)))
        gram = lifted.T @ lifted + ridge * len(clean) * np.eye(lifted.shape[1])
        readouts.append(np.linalg.solve(gram, lifted.T @ clean))

    def denoiser(x: np.ndarray, level: float) -> np.ndarray:
        nearest = int(np.argmin(np.abs(levels - level)))
        if abs(levels[nearest] - level) > 1e-9:
            raise ValueError(f"level must be one of the {len(levels)} trained ones, got {level}")
        return hidden(x) @ readouts[nearest]

    return denoiser


def reverse_chain(
    draw: np.random.Generator, denoiser: Denoiser, schedule: Schedule, noise: Points, *, stochastic: bool = True
) -> Float[np.ndarray, "times n d"]:
    """From noise back to data: x_T, …, x_0, each step with x_0 in p(x_t | x_{t+1}, x_0) replaced by its denoised value.

    With `stochastic=False` the same marginals are followed without fresh noise, which inverts the chain into one map
    from noise to data. With the exact denoiser the law of x_0 tends to that of the data as steps become many and short.
    Reference: Ho, Jain and Abbeel 2020; without noise Song, Meng and Ermon 2021.
    """
    kept = np.concatenate([[1.0], kept_signal(schedule)])
    affordable(path=(len(kept), *noise.shape))
    path = [noise]
    for after, before in zip(kept[:0:-1], kept[-2::-1], strict=True):
        x, clean = path[-1], np.asarray(denoiser(path[-1], float(after)), float)
        residue = (x - np.sqrt(after) * clean) / np.sqrt(1 - after)
        fresh = (1 - before) / (1 - after) * (1 - after / before) if stochastic else 0.0
        path.append(np.sqrt(before) * clean + np.sqrt(max(1 - before - fresh, 0.0)) * residue)
        if fresh > 0:
            path[-1] = path[-1] + np.sqrt(fresh) * draw.standard_normal(x.shape)
    return np.stack(path)


doors(
    __name__,
    steps="[1, 1e6]",
    level="(0, 1)",
    features="[1, 5000]",
    ridge="(0, ∞)",
    first_variance="[0, ∞)",
    second_variance="[0, ∞)",
)
