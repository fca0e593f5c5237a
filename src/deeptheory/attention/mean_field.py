"""Infinitely many tokens: the velocity that a distribution of tokens makes, and the density on the circle it moves.

A distribution μ of tokens moves by ∂_t μ + div(X[μ] μ) = 0 with

    X[μ](x) = P⊥_x ∫ e^{β⟨x,y⟩} y dμ(y) / ∫ e^{β⟨x,y⟩} dμ(y)

(jagannath eqs. 14.2.1–14.2.4; the domain is S^{d−1} throughout). On the circle μ has a density ρ(θ), and X is an
angular velocity v(θ), two convolutions.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from scipy.special import ive

from deeptheory.attention.clusters import tangent
from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors

__all__ = [
    "circle_velocity",
    "density_flow",
    "fastest_mode",
    "mean_field_velocity",
    "mode_growth",
    "poisson_density",
    "synchrony",
]

Density = Float[AnyArray, "grid"]


def mean_field_velocity(
    points: Float[AnyArray, "m d"],
    atoms: Float[AnyArray, "n d"],
    inverse_temperature: Scalar,
    weights: Float[AnyArray, "n"] | None = None,
) -> Float[Array, "m d"]:
    """X[μ] at any points of the sphere, of the distribution that puts `weights` (1/n unless given) on the atoms.

    At the atoms themselves, with equal weights, it is the velocity of n tokens, `clusters.token_velocity`.
    `inverse_temperature` is β.
    """
    points, atoms = jnp.asarray(points), jnp.asarray(atoms)
    scores = inverse_temperature * (points @ atoms.T)
    if weights is not None:
        scores = scores + jnp.log(jnp.asarray(weights))
    return tangent(points, jax.nn.softmax(scores, axis=-1) @ atoms)


def circle_velocity(density: Density, inverse_temperature: Scalar) -> Float[Array, "grid"]:
    """Angular velocity v(θ) = ∫ e^{β cos(φ−θ)} sin(φ−θ) ρ(φ) dφ / ∫ e^{β cos(φ−θ)} ρ(φ) dφ at angles 2πk/grid.

    By fast Fourier transforms; the integrals converge faster than any power of the grid while ρ is smooth.
    `inverse_temperature` is β.
    """
    density = jnp.asarray(density)
    angles = 2 * jnp.pi * jnp.arange(density.shape[0]) / density.shape[0]
    kernel = jnp.exp(inverse_temperature * (jnp.cos(angles) - 1))  # a factor e^β cancels in the quotient
    spectrum = jnp.fft.rfft(density)

    def seen(weight: Array) -> Array:
        return jnp.fft.irfft(jnp.conj(jnp.fft.rfft(weight)) * spectrum, density.shape[0])

    return seen(kernel * jnp.sin(angles)) / seen(kernel)


def _change(density: Array, inverse_temperature: Scalar) -> Array:
    flux = jnp.fft.rfft(density * circle_velocity(density, inverse_temperature))
    waves = jnp.arange(flux.shape[0])
    # Products have twice the waves of their factors; the upper third is dropped, so that none returns as another.
    return -jnp.fft.irfft(jnp.where(3 * waves < density.shape[0], 1j * waves, 0) * flux, density.shape[0])


@partial(jax.jit, static_argnames="substeps")
def density_flow(
    density: Density, times: Float[AnyArray, "t"], inverse_temperature: Scalar, *, substeps: int = 32
) -> Float[Array, "t grid"]:
    """Density on the circle at increasing times, from `density` at time zero, at the angles 2πk/grid.

    ∂_t ρ = −∂_θ(ρ v[ρ]) by a Fourier method with `substeps` Runge–Kutta steps of order four between neighbouring times;
    mass is kept to rounding. The density sharpens toward points, e^{t/2}-fold at β = 0: stop while the grid still
    resolves it, or follow tokens instead. `inverse_temperature` is β.
    """
    density, times = jnp.asarray(density, float), jnp.asarray(times, float)

    def advance(now: Array, interval: Array) -> tuple[Array, Array]:
        h = interval / substeps

        def step(now: Array, _: None) -> tuple[Array, None]:
            first = _change(now, inverse_temperature)
            second = _change(now + h / 2 * first, inverse_temperature)
            third = _change(now + h / 2 * second, inverse_temperature)
            fourth = _change(now + h * third, inverse_temperature)
            return now + h / 6 * (first + 2 * second + 2 * third + fourth), None

        now, _ = jax.lax.scan(step, now, length=substeps)
        return now, now

    intervals = jnp.diff(times, prepend=jnp.zeros(1))
    return jax.lax.scan(advance, density, intervals)[1]


def mode_growth(
    modes: Num[np.ndarray, "*shape"] | int, inverse_temperature: float
) -> Float[np.ndarray, "*shape"] | float:
    """Rate at which the ripple cos kθ on the uniform density grows: k² I_k(β) / (β I_0(β)), Bessel functions.

    At β = 0 only k = 1 grows, at rate ½. In the cold I_k/I_0 ≈ e^{−k²/2β}, and the fastest ripple has about √(2β)
    crests: so many clusters form first, long before they merge. `modes` are the k, `inverse_temperature` is β.
    """
    modes = np.asarray(modes, float)
    if inverse_temperature == 0:
        return np.where(modes == 1, 0.5, 0.0)[()]
    return modes**2 * ive(modes, inverse_temperature) / (inverse_temperature * ive(0, inverse_temperature))


def fastest_mode(inverse_temperature: float) -> int:
    """The number of crests of the ripple that grows fastest on the uniform density: argmax_k of `mode_growth`."""
    modes = np.arange(1, 10 + int(3 * np.sqrt(inverse_temperature)))
    return int(modes[np.argmax(mode_growth(modes, inverse_temperature))])


def poisson_density(angles: Float[np.ndarray, "*shape"], radius: float) -> Float[np.ndarray, "*shape"]:
    """The density (1 − r²) / 2π(1 − 2r cos θ + r²), whose mean direction has length r.

    `radius` is r in (0, 1).
    """
    return (1 - radius**2) / (2 * np.pi * (1 - 2 * radius * np.cos(angles) + radius**2))


def synchrony(times: Float[np.ndarray, "t"], radius: float) -> Float[np.ndarray, "t"]:
    """Length r(t) of the mean of infinitely many tokens on the circle at β = 0, from a `poisson_density` of length r₀.

    The density stays of this form with ṙ = r(1 − r²)/2, so r² is logistic: r² / (1 − r²) = e^t r₀² / (1 − r₀²) (Ott and
    Antonsen 2008). `radius` is r₀.
    """
    return 1 / np.sqrt(1 + (1 / radius**2 - 1) * np.exp(-np.asarray(times)))


doors(
    __name__,
    infinite=("weights",),
    substeps="[1, 1e5]",
    times="[0, 1e4]",
    radius="(0, 1)",
    modes="[0, 1e6]",
    inverse_temperature="[0, 1e6]",
    density="[0, ∞)",
)
