"""Two-layer networks of which the first layer is trained: outputs, gradient, Gram matrix, its limit, training.

f(x) = m^{-1/2} Σ_r a_r σ(w_r·x) with w_r ~ N(0, I), where only the w_r are trained (arora 9.7, lucchi Ex. 7 P1).

`weights` has the w_r as rows, `amplitudes` are the a_r and m is their number; `step_size` is the length of a step along
the gradient.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.activations import slope_of
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator
from deeptheory.kernels.layers.activations import Activation as Layer, Relu

__all__ = [
    "FirstLayerTrace",
    "first_layer_coefficient",
    "first_layer_gradient",
    "first_layer_gram",
    "first_layer_limit",
    "first_layer_outputs",
    "first_layer_series",
    "first_layer_spectrum",
    "init_first_layer",
    "train_first_layer",
]

Inputs = Float[AnyArray, "n d"]
Weights = Float[AnyArray, "m d"]
Amplitudes = Float[AnyArray, " m"]
Activation = Callable[[Array], Array]
RELU = Relu()


def init_first_layer(
    key: Key[Array, ""], width: int, inputs: int, *, mirrored: bool = False
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]:
    """Draw weights w_r ~ N(0, I) and amplitudes a_r = ±1.

    A `mirrored` network holds every weight vector twice, with a and −a: its outputs are zero at the start and its
    tangent kernel is that of the half.
    """
    if width < 1 or inputs < 1 or (mirrored and width % 2):
        raise ValueError(f"width and inputs are at least 1, and a mirrored width even; got {width} and {inputs}")
    draw = generator(key)
    count = width // 2 if mirrored else width
    weights, signs = draw.standard_normal((count, inputs)), draw.choice([-1.0, 1.0], count)
    return (np.concatenate([weights, weights]), np.concatenate([signs, -signs])) if mirrored else (weights, signs)


def first_layer_outputs(
    weights: Weights, amplitudes: Amplitudes, x: Inputs, *, activation: Activation = jax.nn.relu
) -> Float[Array, " n"]:
    """Return f(xᵢ) = m^{-1/2} Σ_r a_r σ(w_r·xᵢ) (arora 9.7)."""
    weights = jnp.asarray(weights)
    return activation(jnp.asarray(x) @ weights.T) @ jnp.asarray(amplitudes) / np.sqrt(weights.shape[0])


def first_layer_gradient(
    weights: Weights,
    amplitudes: Amplitudes,
    x: Inputs,
    residual: Float[AnyArray, " n"],
    *,
    activation: Activation = jax.nn.relu,
) -> Float[Array, "m d"]:
    """Return Σᵢ rᵢ ∂f(xᵢ)/∂w_r = m^{-1/2} a_r Σᵢ rᵢ σ′(w_r·xᵢ) xᵢ; with r = f(X) − y the gradient of ½‖f(X) − y‖²."""
    x, weights = jnp.asarray(x), jnp.asarray(weights)
    slopes = slope_of(activation)(x @ weights.T)
    pulled = slopes * jnp.asarray(residual)[:, None] * jnp.asarray(amplitudes)
    return pulled.T @ x / np.sqrt(weights.shape[0])


@partial(jax.jit, static_argnames="activation")
def first_layer_gram(
    weights: Weights,
    x: Inputs,
    *,
    amplitudes: Amplitudes | None = None,
    activation: Activation = jax.nn.relu,
) -> Float[Array, "n n"]:
    """Return H_ij = (1/m) xᵢ·xⱼ Σ_r a_r² σ′(w_r·xᵢ)σ′(w_r·xⱼ), the tangent kernel of the first layer.

    Amplitudes ±1, the default, drop out; others do not (lucchi Ex. 8 P2 prints the kernel without them). For the ReLU
    the sum counts the neurons active on both inputs (lucchi Ex. 7 P1).
    """
    x, weights = jnp.asarray(x), jnp.asarray(weights)
    slopes = slope_of(activation)(x @ weights.T)
    squares = 1.0 if amplitudes is None else jnp.asarray(amplitudes) ** 2
    return (x @ x.T) * ((slopes * squares) @ slopes.T) / weights.shape[0]


@partial(jax.jit, static_argnames="layer")
def first_layer_limit(
    x: Inputs, other: Float[AnyArray, "k d"] | None = None, *, layer: Layer = RELU
) -> Float[Array, "n k"]:
    """Return H^∞_ij = xᵢ·xⱼ E_w σ′(w·xᵢ)σ′(w·xⱼ) for w ~ N(0, I) and inputs of any length (arora 9.2).

    For the ReLU xᵢ·xⱼ (π − ∠(xᵢ, xⱼ))/2π: arora 9.8 with the factor xᵢ·xⱼ that is missing there, lucchi 7.14. Its
    diagonal is ‖xᵢ‖²/2, so the trace is n/2 on the sphere. Another activation as a layer
    of the engine (`Erf()`, `Numerical(softplus)`).
    """
    x = jnp.asarray(x)
    far = x if other is None else jnp.asarray(other)
    product = x @ far.T
    left, right = jnp.sum(x**2, 1)[:, None], jnp.sum(far**2, 1)[None]
    same = jnp.eye(x.shape[0], dtype=bool) if other is None else None  # the angle of an input with itself is zero
    return product * layer.integrals(product, left, right, same)[1]


def first_layer_coefficient(degree: int) -> float:
    """Return the coefficient c_p of ρᵖ in ρ(π − arccos ρ)/2π: 1/4 for p = 1, zero for p = 0 and other odd p.

    For even p it is ((p − 3)!!/(p − 2)!!)/(2π(p − 1)), with (−1)!! = 0!! = 1 (arora Ch. 9 Ex. 3a).
    """
    if degree == 1:
        return 0.25
    if degree % 2 or degree == 0:
        return 0.0
    ratio = np.prod(np.arange(1, degree - 2, 2) / np.arange(2, degree - 1, 2))
    return float(ratio / (2 * np.pi * (degree - 1)))


def first_layer_series(cosines: Float[AnyArray, "..."], *, terms: int) -> Float[np.ndarray, "..."]:
    """Return ρ/4 + (1/2π) Σ_{l<terms} (2l)!/(4ˡ(l!)²) ρ^{2l+2}/(2l + 1), which sums to ρ/4 + ρ arcsin(ρ)/2π.

    Terms fall like l^{-3/2} at |ρ| = 1, so there the error falls only like terms^{-1/2} (lucchi Ex. 7 P2a).
    """
    rho = np.asarray(cosines, float)
    total, coefficient = rho / 4, 1.0
    for order in range(terms):
        total = total + coefficient * rho ** (2 * order + 2) / ((2 * order + 1) * 2 * np.pi)
        coefficient *= (2 * order + 1) / (2 * order + 2)
    return np.asarray(total)


def first_layer_spectrum(degrees: int) -> tuple[Float[np.ndarray, " degrees"], Float[np.ndarray, " degrees"]]:
    """Return the eigenvalues of H* on the unit sphere of four dimensions, by degree 0, 1, … of their harmonics.

    Beside them stand the multiplicities (l + 1)². The harmonics of degree l are Chebyshev polynomials U_l of cosines,
    so that λ_l = ∫(π − θ) sin 2θ sin((l + 1)θ) dθ/2π²(l + 1), which is 1/16 for l = 1, 4/π²(l − 1)²(l + 3)² for even l
    and zero for all others: H* does not see odd functions that are not linear.
    """
    order = np.arange(degrees, dtype=float)
    values = np.where(order % 2 == 0, 4 / (np.pi * np.where(order == 1, 1.0, order - 1) * (order + 3)) ** 2, 0.0)
    return np.where(order == 1, 1 / 16, values), (order + 1) ** 2


class FirstLayerTrace(NamedTuple):
    """Outputs before each step and after the last, the trained weights, and how far each has moved."""

    outputs: Float[Array, "time n"]
    weights: Float[Array, "m d"]
    movement: Float[Array, " m"]


@partial(jax.jit, static_argnames=("steps", "activation"))
def train_first_layer(
    weights: Weights,
    amplitudes: Amplitudes,
    x: Inputs,
    y: Float[AnyArray, " n"],
    *,
    step_size: float | Float[Array, ""],
    steps: int,
    activation: Activation = jax.nn.relu,
) -> FirstLayerTrace:
    """Train the first layer by gradient descent on ½‖f(X) − y‖²."""

    def step(present, _):
        outputs = first_layer_outputs(present, amplitudes, x, activation=activation)
        gradient = first_layer_gradient(present, amplitudes, x, outputs - y, activation=activation)
        return present - step_size * gradient, outputs

    start = jnp.asarray(weights, jnp.result_type(weights, amplitudes, x, y, step_size))
    trained, path = jax.lax.scan(step, start, None, length=steps)
    last = first_layer_outputs(trained, amplitudes, x, activation=activation)
    return FirstLayerTrace(jnp.concatenate([path, last[None]]), trained, jnp.linalg.norm(trained - start, axis=1))


doors(
    __name__,
    degree="[0, 1e6]",
    terms="[0, 1e5]",
    width="[1, 1e7]",
    inputs="[1, 1e6]",
    steps="[0, 1e7]",
    step_size="[0, ∞)",
    degrees="[1, 1e7]",
)
