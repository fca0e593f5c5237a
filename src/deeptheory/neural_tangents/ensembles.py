"""Laws of trained networks over their initialization, with the arguments of neural-tangents 0.6.5.

`diag_reg` is a ridge, in units of the mean of the kernel's diagonal unless `diag_reg_absolute_scale`. Reference:
`neural_tangents.predict` of Novak et al. 2020, Neural Tangents: fast and easy infinite neural networks in Python; Lee
et al. 2019, Wide neural networks of any depth evolve as linear models under gradient descent.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.entrances import door, doors
from deeptheory.kernels.finite.tangents import Axes
from deeptheory.kernels.regression.predictions import (
    Eigenbasis,
    flow,
    predicted,
    predicted_ensemble,
    trained,
    trained_ensemble,
)
from deeptheory.neural_tangents.requests import Get, answered, asked, check_inputs, is_array
from deeptheory.neural_tangents.shapes import Layout, matrix, paired
from deeptheory.neural_tangents.squared_loss import Numbers, over_times, regularized_basis, regularized_solver

__all__ = ["Gaussian", "gp_inference", "gradient_descent_mse_ensemble"]


class Gaussian(NamedTuple):
    """Mean, shaped as outputs, and covariance, shaped as the kernel."""

    mean: Any
    covariance: Any


def _named(kernel: Any, name: str) -> Any:
    """Return one kernel of several, or the only one."""
    if is_array(kernel):
        return kernel
    value = getattr(kernel, name, None)
    if value is None:
        raise ValueError(f'the prediction needs the kernel "{name}", which was not given')
    return value


def _given(kernel: Any) -> list[tuple[str, Any]]:
    """Return the kernels that were given, with what to add to the name of their argument."""
    if is_array(kernel):
        return [("", kernel)]
    parts = [(f".{name}", getattr(kernel, name, None)) for name in ("nngp", "ntk")]
    return [(name, part) for name, part in parts if part is not None]


def gp_inference(
    k_train_train: Any,
    y_train: Numbers,
    diag_reg: float = 0.0,
    diag_reg_absolute_scale: bool = False,
    trace_axes: Axes = (-1,),
) -> Callable[..., Any]:
    """Return `predict_fn(get, k_test_train, k_test_test)`: the Gaussian law of outputs at convergence.

    "nngp" is the posterior of the Gaussian process with kernel Σ, "ntk" the ensemble of trained networks (mean by Θ,
    covariance by Θ and Σ), "ntkgp" the posterior of the process with kernel Θ. Without `k_test_train` on the training
    set: N(y, 0). With `k_test_test` the covariance is returned too.
    """
    y_train = jnp.asarray(y_train)
    layout = Layout(y_train, trace_axes)
    known = _given(k_train_train)
    if not known:
        raise TypeError(f"k_train_train must be a kernel or hold nngp or ntk, got {k_train_train!r:.60}")
    for part, kernel in known:
        layout.check(f"k_train_train{part}", kernel)

    @lru_cache(2)
    def solve(name: str) -> Callable[[Any], Any]:
        return regularized_solver(_named(k_train_train, name), diag_reg, diag_reg_absolute_scale)

    def one(name: str, k_test_train: Any, k_test_test: Any) -> Any:
        if name not in ("nngp", "ntk", "ntkgp"):
            raise ValueError(f'get must be "nngp", "ntk" or "ntkgp", got {name!r}')
        trains = "nngp" if name == "nngp" else "ntk"
        theta = _named(k_train_train, trains)
        if k_test_train is None:
            mean = y_train.astype(theta.dtype)
            return mean if k_test_test is None else Gaussian(mean, jnp.zeros_like(theta))
        cross = _named(k_test_train, trains)
        kept = tuple(cross.shape[::2])
        weights = solve(trains)(matrix(cross).T)  # Θ⁻¹Θ(X, x)
        mean = layout.shaped(weights.T @ layout.flat(y_train), kept)
        if k_test_test is None:
            return mean
        if name == "ntk" and (is_array(k_train_train) or is_array(k_test_train)):
            raise ValueError('the covariance of "ntk" predictions needs both nngp and ntk of train and test sets')
        starts = "ntk" if name == "ntkgp" else "nngp"
        prior = matrix(_named(k_test_test, starts))
        if name == "ntk":
            crossed = matrix(_named(k_test_train, "nngp")) @ weights
            covariance = prior - crossed - crossed.T + weights.T @ matrix(_named(k_train_train, "nngp")) @ weights
        else:
            covariance = prior - matrix(cross) @ weights
        return Gaussian(mean, paired(covariance, kept))

    def predict_fn(get: Get = None, k_test_train: Any = None, k_test_test: Any = None) -> Any:
        names = asked(get, default=("nngp", "ntk"))
        for part, kernel in _given(k_test_train):
            layout.check_cross(f"k_test_train{part}", kernel)
            for own, other in _given(k_test_test):
                wanted = tuple(extent for extent in kernel.shape[::2] for _ in range(2))
                if np.shape(other) != wanted:
                    raise ValueError(f"k_test_test{own} must have shape {wanted}, got {np.shape(other)}")
        return answered(get, "Gaussians", {name: one(name, k_test_train, k_test_test) for name in names})

    return door(predict_fn)


class _Kernels(NamedTuple):
    nngp: Any = None
    ntk: Any = None


def gradient_descent_mse_ensemble(
    kernel_fn: Callable[..., Any],
    x_train: Any,
    y_train: Numbers,
    learning_rate: float = 1.0,
    diag_reg: float = 0.0,
    diag_reg_absolute_scale: bool = False,
    trace_axes: Axes = (-1,),
    **kernel_fn_train_train_kwargs: Any,
) -> Callable[..., Any]:
    """Return `predict_fn(t, x_test, get, compute_cov)`: mean and covariance of infinitely many trained networks.

    "ntk" trains all layers, "nngp" only the last (Bayesian inference in the limit t=None). Means start from zero, the
    mean of networks at initialization; the covariance carries their spread along.
    """
    check_inputs(kernel_fn_train_train_kwargs, x_train=x_train)
    y_train = jnp.asarray(y_train)
    layout = Layout(y_train, trace_axes)
    found: dict[str, Any] = {}

    def computed(x1: Any, x2: Any, names: tuple[str, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Ask for all kernels at once: they share most of their work."""
        if len(names) < 2:
            return {name: kernel_fn(x1, x2, name, **kwargs) for name in names}
        both = kernel_fn(x1, x2, names, **kwargs)
        return {name: getattr(both, name) for name in names}

    def training(names: tuple[str, ...]) -> _Kernels:
        missing = tuple(name for name in names if name not in found)
        with jax.ensure_compile_time_eval():  # once, also when the first call is inside a compiled function
            fresh = computed(x_train, None, missing, kernel_fn_train_train_kwargs)
        for name, kernel in fresh.items():
            layout.check(f"the {name} of x_train", kernel)
        found.update(fresh)
        return _Kernels(**found)

    @lru_cache(2)
    def basis(name: str) -> Eigenbasis:
        return regularized_basis(_named(training((name,)), name), diag_reg, diag_reg_absolute_scale)

    @lru_cache(4)
    def limit(names: tuple[str, ...]) -> Callable[..., Any]:
        return gp_inference(training(names), y_train, diag_reg, diag_reg_absolute_scale, trace_axes)

    def test_kernels(x_test: Any, names: tuple[str, ...], compute_cov: bool, own: dict[str, Any]) -> tuple[Any, Any]:
        cross, both = dict(kernel_fn_train_train_kwargs), dict(kernel_fn_train_train_kwargs)
        for name, value in own.items():
            base = kernel_fn_train_train_kwargs.get(name)
            both[name] = cross[name] = value
            if isinstance(value, tuple) and isinstance(base, tuple):
                cross[name] = (value[0], base[0])
        k_td = _Kernels(**computed(x_test, x_train, names, cross))
        return k_td, kernel_fn(x_test, None, "nngp", **both) if compute_cov else None

    def at_time(name: str, t: Any, k_dd: _Kernels, k_td: Any, nngp_tt: Any) -> Any:
        y, own = layout.flat(y_train), basis(name)
        cross = None if k_td is None else matrix(getattr(k_td, name))

        def law(time: Any) -> Any:
            rule = flow(time)
            if cross is None:
                if nngp_tt is None:
                    return trained(own, rule, y), None
                if name == "nngp":
                    shrunk = own.vectors * (own.values * jnp.exp(-2 * own.values * time)) @ own.vectors.T
                    return trained(own, rule, y), shrunk
                return tuple(trained_ensemble(own, rule, y, matrix(k_dd.nngp)))
            if nngp_tt is None:
                return predicted(own, rule, y, cross), None
            prior = matrix(nngp_tt)
            if name == "nngp":  # as without noise, where twice the time shrinks the covariance
                return predicted(own, rule, y, cross), prior - cross @ own.transform(flow(2 * time), cross.T)
            sigmas = {"covariance": matrix(k_dd.nngp), "cross_covariance": matrix(_named(k_td, "nngp"))}
            return tuple(predicted_ensemble(own, rule, y, cross, other_covariance=prior, **sigmas))

        mean, covariance = over_times(law, t, learning_rate / y_train.size)
        kept = layout.kept if k_td is None else tuple(getattr(k_td, name).shape[::2])
        mean = layout.shaped(mean, kept)
        return mean if covariance is None else Gaussian(mean, paired(covariance, kept))

    def predict_fn(
        t: float | Numbers | None = None,
        x_test: Any = None,
        get: Get = None,
        compute_cov: bool = False,
        **kernel_fn_test_test_kwargs: Any,
    ) -> Any:
        names = asked(get, default=("nngp", "ntk"))
        if not set(names) <= {"nngp", "ntk"}:
            raise ValueError(f'get must be "nngp", "ntk" or both, got {get!r}')
        needed = tuple(n for n in ("nngp", "ntk") if n in names or (n == "nngp" and compute_cov))
        check_inputs(kernel_fn_train_train_kwargs | kernel_fn_test_test_kwargs, x_test=x_test)
        k_dd = training(needed)
        k_td, nngp_tt = None, True if compute_cov else None
        if x_test is not None:
            k_td, nngp_tt = test_kernels(x_test, needed, compute_cov, kernel_fn_test_test_kwargs)
        if t is None:
            return limit(needed)(get, k_test_train=k_td, k_test_test=nngp_tt)
        return answered(get, "Gaussians", {name: at_time(name, t, k_dd, k_td, nngp_tt) for name in names})

    return door(predict_fn, infinite=("t",), trusted=("x_test", "kernel_fn_test_test_kwargs"), t="[0, ∞]")


doors(
    __name__,
    trusted=("x_train", "kernel_fn_train_train_kwargs"),
    learning_rate="[0, ∞)",
    diag_reg="[0, ∞)",
)
