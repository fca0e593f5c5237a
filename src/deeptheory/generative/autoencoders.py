"""Variational autoencoders: Gaussian encoder and decoder of one hidden layer, bounds on the likelihood, training.

Hidden z ~ N(0, I_d); decoder p(x | z) = N(μ_θ(z), σ_θ(z)² I_n); encoder q(z | x) = N(μ_φ(x), σ_φ(x)² I_d), all
scales one number (arora 14.9, 14.10). Points are one a row.

`noise` is ε, samples × points × hidden coordinates; `latent` is d, the number of hidden coordinates.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key
from scipy.special import roots_hermitenorm

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained

__all__ = [
    "GaussianNet",
    "VariationalAutoencoder",
    "bound_terms",
    "gaussian_encoder_divergence",
    "importance_bound",
    "init_variational_autoencoder",
    "net_output",
    "sample_autoencoder",
    "standard_grid_evidence",
    "train_variational_autoencoder",
]

Points = Float[AnyArray, "n x"]
Noise = Float[AnyArray, "samples n z"]


class GaussianNet(NamedTuple):
    """A hidden layer of tanh units, and from it a mean and the logarithm of one scale: the last column of `outer`."""

    inner: Float[AnyArray, "inputs hidden"]
    offset: Float[AnyArray, " hidden"]
    outer: Float[AnyArray, "hidden outputs"]
    shift: Float[AnyArray, " outputs"]


class VariationalAutoencoder(NamedTuple):
    """Encoder and decoder, each a mean and a scale; no scale of the decoder lies below `floor`."""

    encoder: GaussianNet
    decoder: GaussianNet
    floor: float


def net_output(
    net: GaussianNet, inputs: Float[AnyArray, "*b inputs"]
) -> tuple[Float[Array, "*b mean"], Float[Array, "*b"]]:
    """The mean and the logarithm of the scale that a net gives each input."""
    out = jnp.tanh(inputs @ net.inner + net.offset) @ net.outer + net.shift
    return out[..., :-1], out[..., -1]


def init_variational_autoencoder(
    key: Key[Array, ""], dimension: int, *, latent: int = 2, hidden: int = 32, floor: float = 0.01
) -> VariationalAutoencoder:
    """Random hidden layers, small outputs. Without a floor the likelihood has no maximum: a scale may shrink."""
    affordable(net=(dimension + latent, hidden))
    draw = generator(key)

    def net(inputs: int, outputs: int) -> GaussianNet:
        inner = draw.standard_normal((inputs, hidden)) / np.sqrt(inputs)
        outer = 0.3 * draw.standard_normal((hidden, outputs + 1)) / np.sqrt(hidden)
        return GaussianNet(inner, draw.standard_normal(hidden), outer, np.zeros(outputs + 1))

    return VariationalAutoencoder(net(dimension, latent), net(latent, dimension), floor)


def bound_terms(model: VariationalAutoencoder, points: Points, noise: Noise) -> Float[Array, "samples n"]:
    """log p(x, z) − log q(z | x) at z = μ_φ(x) + σ_φ(x)ε: the mean over samples is an unbiased estimate of the ELBO.

    The terms are arora (14.12) with the constant −(n/2) log 2π that it leaves out. The mean is meant: the sum over s
    samples, as (14.11) prints it, estimates s times the bound.
    """
    return _terms(model, points, noise)


@jax.jit
def _terms(model: VariationalAutoencoder, points: Array, noise: Array) -> Array:
    mean, log_scale = net_output(model.encoder, points)
    z = mean + jnp.exp(log_scale)[:, None] * noise
    centre, log_spread = net_output(model.decoder, z)
    log_spread = jnp.logaddexp(log_spread, jnp.log(model.floor))
    n, d = points.shape[-1], z.shape[-1]
    misfit = jnp.sum((points - centre) ** 2, -1) * jnp.exp(-2 * log_spread) + 2 * n * log_spread
    hidden = jnp.sum(z**2, -1) - jnp.sum(jnp.square(noise), -1) - 2 * d * log_scale
    return -0.5 * (misfit + hidden + n * np.log(2 * np.pi))


def importance_bound(model: VariationalAutoencoder, points: Points, noise: Noise) -> Float[Array, " n"]:
    """log of the mean of p(x, z)/q(z | x) over samples: between the ELBO and log p(x), and rising with their number."""
    return _importance(model, points, noise)


@jax.jit
def _importance(model: VariationalAutoencoder, points: Array, noise: Array) -> Array:
    return jax.scipy.special.logsumexp(_terms(model, points, noise), axis=0) - np.log(noise.shape[0])


def gaussian_encoder_divergence(mean: Float[AnyArray, "*b d"], scale: Float[AnyArray, "*b"]) -> Float[Array, "*b"]:
    """KL(N(μ, σ²I_d) ‖ N(0, I_d)) = ½(‖μ‖² + d(σ² − 1 − log σ²)), the part of the ELBO that needs no samples."""
    inside(0, np.inf, "()", scale=scale)
    variance = jnp.square(scale)
    return 0.5 * (jnp.sum(jnp.square(mean), -1) + mean.shape[-1] * (variance - 1 - jnp.log(variance)))


def standard_grid_evidence(model: VariationalAutoencoder, points: Points, *, order: int = 200) -> Float[Array, " n"]:
    """log p(x) for one hidden coordinate, by Gauss–Hermite quadrature over the prior of z.

    `order` is the number of nodes.
    """
    inside(1, 1, "[]", **{"the number of hidden coordinates": model.decoder.inner.shape[0]})
    return _over_the_prior(model, points, *roots_hermitenorm(order))


@jax.jit
def _over_the_prior(model: VariationalAutoencoder, points: Array, nodes: Array, weights: Array) -> Array:
    centre, log_spread = net_output(model.decoder, nodes[:, None])
    log_spread = jnp.logaddexp(log_spread, jnp.log(model.floor))[:, None]
    n = points.shape[-1]
    squares = jnp.sum((jnp.asarray(points) - centre[:, None]) ** 2, -1)
    logs = -0.5 * squares * jnp.exp(-2 * log_spread) - n * log_spread - 0.5 * n * np.log(2 * np.pi)
    return jax.scipy.special.logsumexp(logs, axis=0, b=(weights / np.sqrt(2 * np.pi))[:, None])


def sample_autoencoder(
    draw: np.random.Generator, model: VariationalAutoencoder, samples: int, *, noisy: bool = True
) -> Float[Array, "samples x"]:
    """Draws of x from the model; with `noisy=False` the decoder's mean alone, which is what is usually shown."""
    affordable(samples=(samples, model.decoder.shift.shape[0]))
    hidden = draw.standard_normal((samples, model.decoder.inner.shape[0]))
    noise = draw.standard_normal((samples, model.decoder.shift.shape[0] - 1))
    return _decoded(model, hidden, noise * float(noisy))


@jax.jit
def _decoded(model: VariationalAutoencoder, hidden: Array, noise: Array) -> Array:
    centre, log_spread = net_output(model.decoder, hidden)
    return centre + jnp.exp(jnp.logaddexp(log_spread, jnp.log(model.floor)))[:, None] * noise


@jax.jit
def _fitted(
    model: VariationalAutoencoder, batches: Array, noise: Array, rate: Array
) -> tuple[VariationalAutoencoder, Array]:
    floor = model.floor

    def loss(nets: tuple[GaussianNet, GaussianNet], inputs: tuple[Array, Array]) -> Array:
        return -jnp.mean(bound_terms(VariationalAutoencoder(*nets, floor), *inputs))

    nets = jax.tree.map(jnp.asarray, (model.encoder, model.decoder))
    (encoder, decoder), losses = trained(loss, optax.adam(rate), nets, (batches, noise))
    return VariationalAutoencoder(encoder, decoder, floor), -losses


def train_variational_autoencoder(
    draw: np.random.Generator,
    model: VariationalAutoencoder,
    points: Float[np.ndarray, "n x"],
    *,
    steps: int = 500,
    batch: int = 256,
    rate: float = 5e-3,
) -> tuple[VariationalAutoencoder, Float[Array, " steps"]]:
    """Maximize the ELBO by Adam with one reparametrized sample a point, in one compiled call.

    Returns the model and the estimate of the bound for each batch before its step.
    """
    affordable(batches=(steps, batch, points.shape[1]))
    batches = points[draw.integers(len(points), size=(steps, batch))]
    noise = draw.standard_normal((steps, 1, batch, model.decoder.inner.shape[0]))
    return _fitted(model, jnp.asarray(batches), jnp.asarray(noise), jnp.asarray(rate))


doors(
    __name__,
    dimension="[1, 10000]",
    latent="[1, 1000]",
    hidden="[1, 100000]",
    floor="(0, ∞)",
    order="[2, 1000]",
    steps="[1, 100000]",
    batch="[1, 1e6]",
    rate="(0, 1]",
    samples="[1, ∞)",
)
