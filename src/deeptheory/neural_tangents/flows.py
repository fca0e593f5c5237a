"""Training with any loss in function space, with the arguments and defaults of neural-tangents 0.6.5.

Reference: `neural_tangents.predict.gradient_descent` of Novak et al. 2020, Neural Tangents: fast and easy infinite
neural networks in Python; Lee et al. 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import door, doors
from deeptheory.foundations.guards import numeric
from deeptheory.kernels.finite.function_space import FunctionPath, function_flow
from deeptheory.kernels.finite.tangents import Axes
from deeptheory.neural_tangents.shapes import Layout, matrix
from deeptheory.neural_tangents.squared_loss import Numbers

__all__ = ["gradient_descent"]

DOUBLINGS = 40
"""Horizons tried for t=None, each twice the one before."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ODEState:
    """Outputs on both sets and their velocities (None without momentum)."""

    fx_train: Any = None
    fx_test: Any = None
    qx_train: Any = None
    qx_test: Any = None


def gradient_descent(
    loss: Callable[[Any, Any], Any],
    k_train_train: Numbers,
    y_train: Numbers | Int[AnyArray, "..."],
    learning_rate: float = 1.0,
    momentum: float | None = None,
    trace_axes: Axes = (-1,),
) -> Callable[..., Any]:
    """Return `predict_fn(t, fx_train_or_state_0, fx_test_0, k_test_train)` for gradient flow on `loss(fx, y_train)`.

    Time is t · learning_rate; with momentum it is the heavy ball f̈ = −Θ∇ℓ − (1 − momentum)/√learning_rate ḟ at time
    t · √learning_rate. Integrated on the host by an adaptive stiff solver: not for use inside `jit`. `t=None`
    integrates until outputs stop, and is refused where they do not (cross-entropy on separable targets).
    """
    y_train = jnp.asarray(y_train)
    layout = Layout(y_train, trace_axes)
    layout.check("k_train_train", k_train_train)
    theta = matrix(k_train_train)
    gradient = jax.grad(lambda fx: loss(fx, y_train))
    scale = learning_rate if momentum is None else learning_rate**0.5
    friction = None if momentum is None else (1 - momentum) / scale

    def slope(flat: Any) -> Any:
        return layout.flat(gradient(layout.shaped(flat, layout.kept)))

    def integrate(times: Any, state: ODEState, cross: Any) -> FunctionPath:
        def flat(value: Any) -> Any:
            return None if value is None else np.asarray(layout.flat(value), float)

        return function_flow(
            slope,
            theta,
            flat(state.fx_train),
            np.asarray(times, float),
            other_kernel=cross,
            other_outputs=flat(state.fx_test),
            friction=friction,
            velocity=flat(state.qx_train),
            other_velocity=flat(state.qx_test),
        )

    def predict_fn(
        t: float | Numbers | None = None,
        fx_train_or_state_0: Any = 0.0,
        fx_test_0: float | Numbers | None = None,
        k_test_train: Numbers | None = None,
    ) -> Any:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((t, fx_train_or_state_0, fx_test_0))):
            raise ValueError("gradient_descent integrates on the host: call its predict_fn outside jit, vmap and grad")
        given = isinstance(fx_train_or_state_0, ODEState)
        state = fx_train_or_state_0 if given else ODEState(fx_train_or_state_0, fx_test_0)
        if given and fx_test_0 is not None:
            raise ValueError("a state already holds the outputs on the test set: leave fx_test_0 out")
        if state.fx_test is not None and k_test_train is None:
            raise ValueError("predictions on a test set need k_test_train")
        if momentum is None and (state.qx_train is not None or state.qx_test is not None):
            raise ValueError("the state has velocities, but momentum is None")
        if k_test_train is not None:
            layout.check_cross("k_test_train", k_test_train)
        kept = layout.kept if k_test_train is None else tuple(k_test_train.shape[::2])
        for name, own in (("fx_train", layout.kept), ("fx_test", kept), ("qx_train", layout.kept), ("qx_test", kept)):
            if (outputs := getattr(state, name)) is not None:
                numeric(**{f"{name}_0": outputs})
                layout.check_outputs(f"{name}_0", outputs, own)
        cross = None if k_test_train is None else matrix(k_test_train)
        test = layout.shaped(jnp.zeros((_count(kept), y_train.size // _count(layout.kept))), kept)
        start = _broadcast(state, y_train, test)

        def shaped(path: FunctionPath, lead: tuple[int, ...]) -> ODEState:
            def one(value: Any, own: tuple[int, ...]) -> Any:
                if value is None:
                    return None
                return jnp.asarray(layout.shaped(jnp.asarray(value).reshape(*lead, *value.shape[1:]), own))

            return ODEState(
                one(path.outputs, layout.kept),
                one(path.other_outputs, kept),
                one(path.velocities, layout.kept),
                one(path.other_velocities, kept),
            )

        if t is None or np.all(np.isinf(t)):
            final = _limit(lambda times, at: shaped(integrate(times, at, cross), ()), start, theta)
        else:
            times = np.asarray(t, float)
            if np.isinf(times).any():
                raise ValueError("t must be finite, or infinite throughout: the limit is found alone")
            final = shaped(integrate(times.reshape(-1) * scale, start, cross), times.shape)
        if given:
            return final
        if fx_test_0 is None:
            return final.fx_train
        return final.fx_test if fx_train_or_state_0 is None else (final.fx_train, final.fx_test)

    return door(predict_fn, infinite=("t",), t="[0, ∞]")


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def _broadcast(state: ODEState, y: Any, test: Any) -> ODEState:
    def fill(value: Any, like: Any) -> Any:
        return None if value is None else jnp.broadcast_to(jnp.asarray(value), like.shape)

    train = 0.0 if state.fx_train is None else state.fx_train
    return ODEState(fill(train, y), fill(state.fx_test, test), fill(state.qx_train, y), fill(state.qx_test, test))


def _limit(integrate: Callable, state: ODEState, theta: Any) -> ODEState:
    """Go on for twice as long each time until nothing moves."""
    horizon = 8 / float(jnp.linalg.norm(theta, 2))
    for _ in range(DOUBLINGS):
        after = integrate([horizon], state)
        pairs = [(after.fx_train, state.fx_train), (after.fx_test, state.fx_test)]
        moved = max(float(jnp.abs(a - b).max()) for a, b in pairs if b is not None)
        size = 1 + max(float(jnp.abs(a).max()) for a, b in pairs if b is not None)
        state, horizon = after, 2 * horizon
        if moved < 1e-8 * size:
            return state
    raise ValueError("outputs do not come to rest with this loss: ask for a finite time t")


doors(__name__, learning_rate="(0, ∞)", momentum="[0, 1]")
