"""Residual networks, and the neural differential equations of which they are Euler's discretisation.

Reference: jagannath eqs. 14.1.1 and 14.1.2; Hairer, Nørsett and Wanner 1993, Sec. II.8, for the error of Euler's
method.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import flow, followed

__all__ = ["Layers", "euler_error", "neural_flow", "residual_network", "stepped_neural_flow"]

Points = Float[AnyArray, "n d"]
Activation = Callable[[Array], Array]


class Layers(NamedTuple):
    """Weights of a residual network, layers along the first axis: w (outer), a (inner) and b (bias) of w σ(a x + b).

    Without the first axis they are the weights of a differential equation at one time.
    """

    outer: Float[AnyArray, "*layers d m"]
    inner: Float[AnyArray, "*layers m d"]
    bias: Float[AnyArray, "*layers m"]


def _branch(layer: Layers, x: Array, activation: Activation) -> Array:
    if layer.inner.shape[-1] != x.shape[-1] or layer.outer.shape[-2] != x.shape[-1]:
        shapes = f"{layer.outer.shape} and {layer.inner.shape}"
        raise ValueError(f"weights must act on points of {x.shape[-1]} numbers, got matrices of shape {shapes}")
    return activation(x @ layer.inner.T + layer.bias) @ layer.outer.T


def residual_network(layers: Layers, x: Points, activation: Activation = jnp.tanh) -> Float[Array, "depth n d"]:
    """All representations x(0), …, x(L) of a batch in a residual network, x(k+1) = x(k) + w(k) σ(a(k) x(k) + b(k)).

    The last is fed to a linear head. Weights `outer` divided by L make it Euler's method for `neural_flow` up to time
    one. Reference: jagannath eq. 14.1.1; He, Zhang, Ren, Sun 2016.
    """
    start = jnp.asarray(x, float)

    def skip(now: Array, layer: Layers) -> tuple[Array, Array]:
        after = now + _branch(layer, now, activation)
        return after, after

    later = jax.lax.scan(skip, start, jax.tree.map(jnp.asarray, layers))[1]
    return jnp.concatenate([start[None], later])


def neural_flow(
    weights: Callable[[Array], Layers],
    x: Points,
    times: Float[AnyArray, "t"],
    activation: Activation = jnp.tanh,
    *,
    begin: float = 0.0,
    tolerance: float = 1e-10,
) -> Float[np.ndarray, "t n d"]:
    """Solution of ẋ = w(t) σ(a(t) x + b(t)) at increasing times, from the points `x` at time `begin`.

    `weights` gives the matrices at a time, and is written in JAX. The flow is invertible, because the equation with
    weights(T − t) and outer matrix −w leads back, and so it keeps the order of points on a line. Adaptive steps
    (Dormand–Prince of order eight) on the host, without derivatives: for those see `stepped_neural_flow`.
    Reference: jagannath eq. 14.1.2; Chen, Rubanova, Bettencourt, Duvenaud 2018.
    """
    shape = np.shape(x)

    @jax.jit
    def velocity(time: Array, state: Array) -> Array:
        return _branch(weights(time), state.reshape(shape), activation).ravel()

    start = np.asarray(x, float).ravel()
    with jax.enable_x64(True):
        return followed(velocity, begin, start, times, method="DOP853", tolerance=tolerance).reshape(-1, *shape)


def stepped_neural_flow(
    weights: Callable[[Array], Layers],
    x: Points,
    times: Float[AnyArray, "t"],
    activation: Activation = jnp.tanh,
    *,
    begin: float = 0.0,
    substeps: int = 16,
) -> Float[Array, "t n d"]:
    """Solution of ẋ = w(t) σ(a(t) x + b(t)) as `neural_flow` has it, by equal steps of Runge–Kutta of order four.

    Pure, for `jit`, `vmap` and `grad` in all that `weights` closes over: what a neural differential equation is
    trained by. `substeps` are taken up to each time; the error falls as their fourth power, and nobody watches it.
    Reference: jagannath eq. 14.1.2; Chen, Rubanova, Bettencourt, Duvenaud 2018.
    """
    return flow(
        lambda time, now: _branch(weights(time), now, activation), jnp.asarray(x), times, begin=begin, substeps=substeps
    )


def euler_error(
    weights: Callable[[Array], Layers],
    x: Float[AnyArray, "d"],
    activation: Activation = jnp.tanh,
    *,
    tolerance: float = 1e-10,
) -> Float[np.ndarray, "d"]:
    """The limit of L (x_L − x(1)) as depth L grows: the error of the residual network against its flow, times depth.

    A step of length h = 1/L misses ½h²ẍ, and the flow carries what was missed to the end, so the limit is e(1) of
    ė = ∂f/∂x e − ½ẍ, e(0) = 0, with f the velocity and ẍ = ∂f/∂t + (∂f/∂x) f.
    """
    size = np.size(x)

    def velocity(time: Array, state: Array) -> Array:
        return _branch(weights(time), state, activation)

    @jax.jit
    def both(time: Array, state: Array) -> Array:
        now, error = state[:size], state[size:]
        speed = velocity(time, now)
        acceleration = jax.jvp(velocity, (time, now), (jnp.ones_like(time), speed))[1]
        carried = jax.jvp(lambda at: velocity(time, at), (now,), (error,))[1]
        return jnp.concatenate([speed, carried - acceleration / 2])

    start = np.concatenate([np.asarray(x, float), np.zeros(size)])
    with jax.enable_x64(True):
        path = followed(both, 0.0, start, np.ones(1), method="DOP853", tolerance=tolerance)
    return path[-1, size:]


doors(__name__, tolerance="[1e-13, 1e-2]", substeps="[1, 1e5]")
