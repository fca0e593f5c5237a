"""Squared loss in closed form for one network, with the arguments of neural-tangents 0.6.5.

The loss is ½ mean (f − y)², the mean over all entries of y: time t of gradient flow is t · learning_rate / y.size in
the units of `kernels.predictions`.

`diag_reg` is a ridge, in units of the mean of the kernel's diagonal unless `diag_reg_absolute_scale`. Reference:
`neural_tangents.predict` of Novak et al. 2020, Neural Tangents: fast and easy infinite neural networks in Python; Lee
et al. 2019, Wide neural networks of any depth evolve as linear models under gradient descent.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import door, doors
from deeptheory.kernels.finite.tangents import Axes
from deeptheory.kernels.regression.predictions import Eigenbasis, diagonalize, factored, flow, predicted, trained
from deeptheory.neural_tangents.shapes import Layout, check_symmetric, matrix

__all__ = ["gradient_descent_mse", "max_learning_rate"]

Numbers = Float[AnyArray, "..."]


def _ridge(kernel: Any, diag_reg: float, absolute: bool) -> Any:
    return diag_reg if absolute else diag_reg * jnp.trace(kernel) / kernel.shape[0]


def regularized_basis(kernel: Any, diag_reg: float, absolute: bool) -> Eigenbasis:
    # Also inside a compiled caller the decomposition of a known kernel happens once, now.
    with jax.ensure_compile_time_eval():
        kernel = matrix(kernel)
        return diagonalize(kernel, ridge=_ridge(kernel, diag_reg, absolute))


def regularized_solver(kernel: Any, diag_reg: float, absolute: bool) -> Callable[[Any], Any]:
    with jax.ensure_compile_time_eval():
        kernel = matrix(kernel)
        # One unit: a relative diag_reg of 1e-4 serves thousands of inputs in single precision, where more would refuse.
        factor = factored(kernel, ridge=_ridge(kernel, diag_reg, absolute), units=1)
    return lambda b: cho_solve(factor, b)


def over_times(function: Callable[[Any], Any], t: Any, rate: float) -> Any:
    """Map over times of any shape, which become leading axes."""
    t = jnp.asarray(t)
    t = t if jnp.issubdtype(t.dtype, jnp.floating) else t.astype(jnp.result_type(float))
    results = jax.vmap(function)(t.reshape(-1) * rate)
    return jax.tree.map(lambda a: a.reshape(*t.shape, *a.shape[1:]), results)


def gradient_descent_mse(
    k_train_train: Numbers,
    y_train: Numbers,
    learning_rate: float = 1.0,
    diag_reg: float = 0.0,
    diag_reg_absolute_scale: bool = False,
    trace_axes: Axes = (-1,),
) -> Callable[..., Any]:
    """Return `predict_fn(t, fx_train_0, fx_test_0, k_test_train)`: outputs after gradient flow on squared loss.

    `t=None` is the limit. Leave out a set by passing None for its initial outputs. The kernel has the shape of y beside
    itself, (n, n, k, k, …), without `trace_axes`.
    """
    y_train = jnp.asarray(y_train)
    layout = Layout(y_train, trace_axes)
    layout.check("k_train_train", k_train_train)

    @lru_cache(1)
    def basis() -> Eigenbasis:
        return regularized_basis(k_train_train, diag_reg, diag_reg_absolute_scale)

    @lru_cache(1)
    def solve() -> Callable[[Any], Any]:
        return regularized_solver(k_train_train, diag_reg, diag_reg_absolute_scale)

    def predict_fn(
        t: float | Numbers | None = None,
        fx_train_0: float | Numbers | None = 0.0,
        fx_test_0: float | Numbers | None = None,
        k_test_train: Numbers | None = None,
    ) -> Any:
        if fx_test_0 is not None and k_test_train is None:
            raise ValueError("predictions on a test set need k_test_train")
        if fx_train_0 is not None:
            layout.check_outputs("fx_train_0", fx_train_0, layout.kept)
        if k_test_train is not None:
            layout.check_cross("k_test_train", k_test_train)
            if fx_test_0 is not None:
                layout.check_outputs("fx_test_0", fx_test_0, tuple(k_test_train.shape[::2]))
        y = layout.flat(y_train)
        start = 0.0 if fx_train_0 is None else layout.flat(jnp.broadcast_to(jnp.asarray(fx_train_0), y_train.shape))
        # Without a test set these stand empty and unused.
        cross = jnp.zeros((0, y.shape[0])) if k_test_train is None else matrix(k_test_train)
        kept = () if k_test_train is None else tuple(k_test_train.shape[::2])
        test = jnp.zeros(())
        if t is None:
            train = y_train.astype(k_train_train.dtype)
            if fx_test_0 is not None:
                test = layout.shaped(cross @ solve()(y - start), kept)
        else:
            rate = learning_rate / y_train.size
            train = None
            if fx_train_0 is not None:
                path = over_times(lambda s: trained(basis(), flow(s), y, outputs=start + jnp.zeros_like(y)), t, rate)
                train = layout.shaped(path, layout.kept)
            if fx_test_0 is not None:
                change = over_times(lambda s: predicted(basis(), flow(s), y, cross, outputs=start), t, rate)
                test = layout.shaped(change, kept)
        if fx_test_0 is not None:
            test = jnp.asarray(fx_test_0) + test
        if fx_test_0 is None:
            return train
        return test if fx_train_0 is None else (train, test)

    return door(predict_fn, infinite=("t",), t="[0, ∞]")


def max_learning_rate(
    ntk_train_train: Numbers, y_train_size: int | None = None, momentum: float = 0.0, eps: float = 1e-12
) -> Any:
    """Return the largest stable learning rate for squared loss, 2(1 + momentum) y.size/(λ_max + eps).

    `y_train_size` is y.size, the number of rows of the kernel if None; `momentum` lies in [0, 1).
    """
    check_symmetric("ntk_train_train", ntk_train_train)
    kernel = matrix(ntk_train_train)
    factor = kernel.shape[0] if y_train_size is None else y_train_size
    return 2 * (1 + momentum) * factor / (jnp.linalg.eigvalsh(kernel)[-1] + eps)


doors(
    __name__,
    learning_rate="[0, ∞)",
    diag_reg="[0, ∞)",
    y_train_size="[1, ∞)",
    momentum="[0, 1)",
    eps="[0, ∞)",
)
