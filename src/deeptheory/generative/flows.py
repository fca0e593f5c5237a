"""Normalizing flows: invertible maps to Gaussian noise, whose density is exact by the change of variables.

A flow f takes data x to noise h = f(x); its density is ρ(x) = μ(f(x))·|det J_f(x)| with μ = N(0, I). Coupling layers
keep some coordinates and scale and shift the others by functions of those kept: inverse and determinant cost one pass.
FlowJAX has more kinds of layers; it is not used because what is checked here, layer, inverse and determinant, is the
formula itself, and a flow of four arrays trains in one compiled loop without another dependency.

`flow` is a `CouplingFlow`, as `init_flow` draws it: `layers` coupling layers, with `hidden` units in the function of
what each keeps.

Reference: arora 14.5; Dinh, Krueger and Bengio 2015; Dinh, Sohl-Dickstein and Bengio 2017.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.core import Tracer
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, inside
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained

__all__ = [
    "CouplingFlow",
    "change_of_variables",
    "coupled",
    "flow_log_density",
    "flow_noise",
    "init_flow",
    "pointwise_convolution",
    "pointwise_log_determinant",
    "quadratic_coupling_log_density",
    "sample_flow",
    "standard_normal_log_density",
    "train_flow",
    "uncoupled",
]

Points = Float[AnyArray, "n d"]
Conditioner = Callable[[Float[Array, "n d"]], tuple[Float[Array, "n d"], Float[Array, "n d"]]]


def standard_normal_log_density(points: Points) -> Float[Array, " n"]:
    """log N(x; 0, I), the density μ of the noise that a flow maps to."""
    return -0.5 * (jnp.sum(jnp.square(points), -1) + points.shape[-1] * np.log(2 * np.pi))


def change_of_variables(
    function: Callable[[Float[Array, " d"]], Float[Array, " d"]], points: Points
) -> Float[Array, " n"]:
    """log ρ(x) = log μ(f(x)) + log|det J_f(x)| for any invertible f of one point, by automatic differentiation.

    Costs d derivatives and O(d³) a point (arora 14.13). An f whose Jacobian is singular at one of the points, or turns
    its orientation between two of them, is not invertible and is refused; that it passes is no proof that it is.
    """
    points = jnp.asarray(points)
    images = jax.vmap(function)(points)
    signs, logs = jnp.linalg.slogdet(jax.vmap(jax.jacfwd(function))(points))
    if not isinstance(signs, Tracer) and not (np.all(signs > 0) or np.all(signs < 0)):
        count = int(np.sum(np.asarray(signs) == 0))
        found = f"singular at {count} of the points" if count else "of both signs in determinant"
        raise ValueError(f"function must be invertible, got a Jacobian that is {found}")
    return standard_normal_log_density(images) + logs


def coupled(
    z: Points, kept: Float[AnyArray, " d"], conditioner: Conditioner
) -> tuple[Float[Array, "n d"], Float[Array, " n"]]:
    """One coupling layer and its log determinant: z_A stays, z_B ↦ z_B·exp(r(z_A)) + s(z_A) (arora 14.14, 14.15).

    `kept` is 1 on the coordinates of A and 0 on B; `conditioner` gets z with B set to zero and returns r and s for all
    coordinates, of which those of B are used. The Jacobian is triangular, so log det = Σ_B r. With a scale that may be
    zero the layer is not invertible; written as an exponential it is positive.
    """
    z = jnp.asarray(z)
    log_scale, shift = conditioner(z * kept)
    moved = 1 - jnp.asarray(kept)
    return z * jnp.exp(moved * log_scale) + moved * shift, jnp.sum(moved * log_scale, -1)


def uncoupled(z: Points, kept: Float[AnyArray, " d"], conditioner: Conditioner) -> Float[Array, "n d"]:
    """The inverse layer: (z_B − s(z_A))·exp(−r(z_A)); arora (14.17) prints a product with the scale, no quotient."""
    z = jnp.asarray(z)
    log_scale, shift = conditioner(z * kept)
    moved = 1 - jnp.asarray(kept)
    return (z - moved * shift) * jnp.exp(-moved * log_scale)


class CouplingFlow(NamedTuple):
    """Coupling layers of one shape, stacked: which coordinates each keeps, and the weights of its hidden layer."""

    kept: Float[AnyArray, "layers d"]
    inner: Float[AnyArray, "layers d hidden"]
    offset: Float[AnyArray, "layers hidden"]
    outer: Float[AnyArray, "layers hidden twice"]


def init_flow(key: Key[Array, ""], dimension: int, *, layers: int = 6, hidden: int = 32) -> CouplingFlow:
    """A flow whose layers keep the even and the odd coordinates in turn, near the identity (Real NVP)."""
    affordable(flow=(layers, 3 * dimension + 1, hidden))
    draw = generator(key)
    kept = (np.arange(dimension) + np.arange(layers)[:, None]) % 2
    inner = draw.standard_normal((layers, dimension, hidden)) * np.sqrt(2 / dimension)
    outer = 0.01 * draw.standard_normal((layers, hidden, 2 * dimension)) / np.sqrt(hidden)
    return CouplingFlow(kept.astype(float), inner, draw.standard_normal((layers, hidden)), outer)


def _conditioner(inner: AnyArray, offset: AnyArray, outer: AnyArray) -> Conditioner:
    def conditioner(z: Array) -> tuple[Array, Array]:
        log_scale, shift = jnp.split(jnp.tanh(z @ inner + offset) @ outer, 2, axis=-1)
        return 2 * jnp.tanh(log_scale / 2), shift  # a layer stretches by e² at most, which keeps training finite

    return conditioner


@jax.jit
def _to_noise(flow: CouplingFlow, points: Array) -> tuple[Array, Array]:
    def layer(carry: tuple[Array, Array], weights: CouplingFlow) -> tuple[tuple[Array, Array], None]:
        z, total = carry
        z, log_determinant = coupled(z, weights.kept, _conditioner(weights.inner, weights.offset, weights.outer))
        return (z, total + log_determinant), None

    points = points.astype(jnp.result_type(points, *flow))
    start = (points, jnp.zeros(points.shape[:1], points.dtype))
    return jax.lax.scan(layer, start, jax.tree.map(jnp.asarray, flow))[0]


@jax.jit
def _to_data(flow: CouplingFlow, noise: Array) -> Array:
    def layer(z: Array, weights: CouplingFlow) -> tuple[Array, None]:
        return uncoupled(z, weights.kept, _conditioner(weights.inner, weights.offset, weights.outer)), None

    noise = noise.astype(jnp.result_type(noise, *flow))
    return jax.lax.scan(layer, noise, jax.tree.map(jnp.asarray, flow), reverse=True)[0]


def flow_noise(flow: CouplingFlow, points: Points) -> tuple[Float[Array, "n d"], Float[Array, " n"]]:
    """h = f(x) and log|det J_f(x)|, the sum over layers."""
    inside(flow.kept.shape[1], flow.kept.shape[1], "[]", **{"the dimension of points": points.shape[1]})
    return _to_noise(flow, jnp.asarray(points))


def flow_log_density(flow: CouplingFlow, points: Points) -> Float[Array, " n"]:
    """The exact log likelihood of each point, in O(d) a layer once its scales are known."""
    noise, log_determinant = flow_noise(flow, points)
    return standard_normal_log_density(noise) + log_determinant


def sample_flow(draw: np.random.Generator, flow: CouplingFlow, samples: int) -> Float[Array, "samples d"]:
    """f⁻¹ of Gaussian noise: independent draws from the flow's density."""
    affordable(samples=(samples, flow.kept.shape[1]))
    return _to_data(flow, jnp.asarray(draw.standard_normal((samples, flow.kept.shape[1]))))


@jax.jit
def _fitted(flow: CouplingFlow, batches: Array, rate: Array) -> tuple[CouplingFlow, Array]:
    def loss(weights: tuple[Array, ...], batch: Array) -> Array:
        noise, log_determinant = _to_noise(CouplingFlow(jnp.asarray(flow.kept), *weights), batch)
        return -jnp.mean(standard_normal_log_density(noise) + log_determinant)

    method = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(rate))
    weights, losses = trained(loss, method, tuple(jnp.asarray(each) for each in flow[1:]), batches)
    return CouplingFlow(jnp.asarray(flow.kept), *weights), -losses


def train_flow(
    draw: np.random.Generator,
    flow: CouplingFlow,
    points: Float[np.ndarray, "n d"],
    *,
    steps: int = 500,
    batch: int = 256,
    rate: float = 5e-3,
) -> tuple[CouplingFlow, Float[Array, " steps"]]:
    """Maximize the exact log likelihood of the points by Adam on random batches, in one compiled call.

    Returns the flow and the mean log likelihood of each batch before its step. Standardize the points first.
    """
    affordable(batches=(steps, batch, points.shape[1]))
    batches = points[draw.integers(len(points), size=(steps, batch))]
    return _fitted(flow, jnp.asarray(batches), jnp.asarray(rate))


def pointwise_convolution(
    images: Float[np.ndarray, "n height width channels"], matrix: Float[np.ndarray, "channels channels"]
) -> Float[np.ndarray, "n height width channels"]:
    """A 1×1 convolution: every pixel's channels multiplied by one invertible matrix W (GLOW).

    Reference: Kingma and Dhariwal 2018.
    """
    pointwise_log_determinant(matrix, 1)
    return images @ matrix.T


def pointwise_log_determinant(matrix: Float[np.ndarray, "channels channels"], pixels: int) -> float:
    """log|det| of a 1×1 convolution: the Jacobian is block diagonal, W once a pixel, so pixels · log|det W|.

    It is diagonal, as arora Sec. 14.5 says, only if W is: channels scaled and not mixed. A singular W is refused.
    """
    values = np.linalg.svd(matrix, compute_uv=False)
    if values[-1] <= len(values) * np.finfo(float).eps * values[0]:
        raise ValueError(f"matrix must be invertible, got singular values from {values[-1]:.3g} to {values[0]:.3g}")
    return pixels * float(np.log(values).sum())


def quadratic_coupling_log_density(
    points: Float[np.ndarray, "n 4"], first: Float[np.ndarray, "3"], second: Float[np.ndarray, "3"]
) -> Float[np.ndarray, " n"]:
    """log density of (z₁, z₂, e^{a₀}z₃ + a₁z₁² + a₂z₂², e^{b₀}z₄ + b₁z₁² + b₂z₂²), z ~ N(0, I) (arora Problem 14.5.1).

    The map keeps z₁, z₂ and its Jacobian is triangular with determinant e^{a₀+b₀}. `first` is (a₀, a₁, a₂), `second`
    (b₀, b₁, b₂).
    """
    squares = points[:, :2] ** 2
    third = (points[:, 2] - squares @ first[1:]) * np.exp(-first[0])
    fourth = (points[:, 3] - squares @ second[1:]) * np.exp(-second[0])
    return -0.5 * (squares.sum(1) + third**2 + fourth**2) - first[0] - second[0] - 2 * np.log(2 * np.pi)


doors(
    __name__,
    dimension="[2, 4096]",
    layers="[1, 1000]",
    hidden="[1, 100000]",
    steps="[1, 100000]",
    batch="[1, 1e6]",
    rate="(0, 1]",
    samples="[1, ∞)",
)
