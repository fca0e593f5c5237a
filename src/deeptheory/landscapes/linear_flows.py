"""Gradient flow of deep linear networks on ½L⁻¹‖W_L⋯W₁ − W*‖²: what it conserves, and how the product moves.

Square matrices, listed from the input on. The loss is what matrix sensing with Gaussian measurements has on average.

`factors` are W₁, …, W_L stacked along the first axis, `target` is W*.

Reference: lucchi Ch. 6 Problem 1; Saxe, McClelland and Ganguli 2014; Arora, Cohen and Hazan 2018.
"""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["balanced_factors", "factor_velocity", "flow_factors", "imbalance", "mode_curve", "product_velocity"]

Matrix = Float[AnyArray, "d d"]
Factors = Float[AnyArray, "depth d d"]


def factor_velocity(factors: Factors, target: Matrix) -> Float[Array, "depth d d"]:
    """How each matrix moves: Ẇ_k = L⁻¹(W_L⋯W_{k+1})ᵀ(W* − W)(W_{k−1}⋯W₁)ᵀ (lucchi Ch. 6 Problem 1a)."""
    depth, size = len(factors), factors.shape[-1]
    before, after = [jnp.eye(size)], [jnp.eye(size)]
    for k in range(depth):
        before.append(factors[k] @ before[-1])
        after.append(after[-1] @ factors[depth - 1 - k])
    missing = target - before[-1]
    moves = [after[depth - 1 - k].T @ missing @ before[k].T for k in range(depth)]
    return jnp.stack(moves) / depth


def imbalance(factors: Factors) -> Float[Array, "pairs d d"]:
    """W_{k+1}ᵀW_{k+1} − W_kW_kᵀ for neighbouring matrices: conserved by the flow, zero if the weights are balanced."""
    one, other = factors[1:], factors[:-1]
    return jnp.einsum("kji,kjl->kil", one, one) - jnp.einsum("kij,klj->kil", other, other)


def balanced_factors(product: Matrix, depth: Annotated[int, "[1, 100]"]) -> Float[Array, "depth d d"]:
    """Balanced matrices with a given product W = UΣVᵀ: Σ^{1/L}Vᵀ first, then Σ^{1/L}, at last UΣ^{1/L}.

    Unlike a split of W at random, they stay balanced along the flow, with equal singular values at all times.
    """
    left, values, right = jnp.linalg.svd(jnp.asarray(product))
    root = jnp.diag(values ** (1 / depth))
    middle = [root] * depth
    middle[0] = middle[0] @ right
    middle[-1] = left @ middle[-1]
    return jnp.stack(middle)


def product_velocity(product: Matrix, target: Matrix, depth: Annotated[int, "[1, 100]"]) -> Float[Array, "d d"]:
    """How the product of balanced matrices moves: Ẇ = L⁻¹Σ_k [WWᵀ]^{(L−k)/L}(W* − W)[WᵀW]^{(k−1)/L}.

    For balanced weights the product knows all (lucchi Ch. 6 Problem 1f; Arora, Cohen and Hazan 2018). In the singular
    basis entry (i, j) of W* − W is multiplied by the mean over k of s_i^{2(L−k)/L} s_j^{2(k−1)/L}.
    """
    left, values, right = jnp.linalg.svd(jnp.asarray(product))
    powers = jnp.arange(depth) * 2 / depth
    rate = jnp.mean(values[:, None, None] ** powers[::-1] * values[None, :, None] ** powers, axis=-1)
    return left @ (rate * (left.T @ (target - product) @ right.T)) @ right


def flow_factors(
    factors: Factors, target: Matrix, *, time: float, steps: Annotated[int, "[1, 1e6]"] = 400
) -> Float[Array, "times depth d d"]:
    """The matrices along gradient flow at times 0, time/steps, …, time, by Runge–Kutta steps of fourth order.

    One compiled call. The error falls like steps⁻⁴: double the steps to see it.
    """
    kind = jnp.result_type(factors, target)
    return _flow(jnp.asarray(factors, kind), jnp.asarray(target, kind), jnp.asarray(time / steps, kind), steps)


def _runge_kutta(factors: Any, target: Any, step: Any, steps: int) -> Any:
    def body(w: Any, _: None) -> tuple:
        one = factor_velocity(w, target)
        two = factor_velocity(w + step / 2 * one, target)
        three = factor_velocity(w + step / 2 * two, target)
        four = factor_velocity(w + step * three, target)
        moved = w + step / 6 * (one + 2 * two + 2 * three + four)
        return moved, moved

    return jnp.concatenate([factors[None], jax.lax.scan(body, factors, None, length=steps)[1]])


_flow = jax.jit(_runge_kutta, static_argnums=3)


def mode_curve(
    start: float, target: float, depth: Annotated[int, "[1, 100]"], times: Float[np.ndarray, "t"]
) -> Float[np.ndarray, "t"]:
    """A singular value of the product along the flow from balanced weights aligned with the target.

    ṡ = s^{2−2/L}(s* − s): exponential for L = 1, logistic s*/(1 + (s*/s₀ − 1)e^{−s*t}) for L = 2, and the deeper the
    longer it waits and the faster it goes (lucchi Ch. 6 Problem 1f; Saxe, McClelland and Ganguli 2014). `start` is s₀,
    `target` is s*. Times must not decrease.
    """
    ordered = np.asarray(times, float)
    if np.any(np.diff(ordered) < 0) or ordered[0] < 0:
        raise ValueError("times must be at least 0 and not decrease")
    if depth == 1:
        return target + (start - target) * np.exp(-ordered)
    if depth == 2:
        # The same over s*, which may be zero or below.
        grown = -np.expm1(-target * ordered) / target if target else ordered
        return start / (np.exp(-target * ordered) + start * grown)
    flow = solve_ivp(
        lambda _, s: s ** (2 - 2 / depth) * (target - s),
        (0.0, max(float(ordered[-1]), 1e-300)),
        [start],
        t_eval=ordered,
        rtol=1e-11,
        atol=1e-300,
        method="LSODA",
    )
    return flow.y[0]


doors(__name__, time="[0, ∞)", start="(0, ∞)", target="(-∞, ∞)")
