"""How a function answers when its parameters, all or some of them, are multiplied by a number.

Parameters are any tree of arrays. A part of it is chosen by a predicate on the names of its leaves, as JAX writes them
(`.weights[0]`, `['top']`): `degree(f, w, of=lambda name: "top" not in name)`.

Reference: arora 13.1 and 13.2; for Euler's identity Apostol 1974, Mathematical Analysis, ch. 12.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import numeric

__all__ = ["degree_of_homogeneity", "euler_degree", "invariance_defect", "invariant_leaves", "scaled"]

Chosen = Callable[[str], bool]


def _every(name: str) -> bool:
    return True


def _norm(tree: Any) -> Any:
    """The norm of all leaves together; in units of the largest entry, so that no square overflows or underflows."""
    flat = jnp.concatenate([jnp.ravel(jnp.abs(jnp.asarray(leaf))) for leaf in jax.tree.leaves(tree)])
    unit = jax.lax.stop_gradient(jnp.max(flat))
    unit = jnp.where(unit > 0, unit, 1.0)
    return unit * jnp.linalg.norm(flat / unit)


def scaled(parameters: Any, factor: Any, *, of: Chosen = _every) -> Any:
    """The parameters with every chosen leaf multiplied by a number."""
    numeric(parameters=parameters)
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: factor * leaf if of(jax.tree_util.keystr(path)) else leaf, parameters
    )


def degree_of_homogeneity(
    function: Callable[[Any], Any], parameters: Any, *, of: Chosen = _every, factor: Any = 2.0
) -> Any:
    """The degree k of f(cw) = cᵏ f(w), measured at one point and one factor: log(‖f(cw)‖/‖f(w)‖) / log c.

    A function that is not homogeneous also gets a number; it then depends on the factor and the point. Near a zero
    of f the number is lost in rounding. Reference: arora Def. 13.1.2.
    """
    if not isinstance(factor, Tracer) and factor == 1:
        raise ValueError("factor must be positive and other than 1, got 1")
    ratio = _norm(function(scaled(parameters, factor, of=of))) / _norm(function(parameters))
    if not isinstance(ratio, Tracer) and not 0 < ratio < jnp.inf:
        raise ValueError(f"f(cw)/f(w) must be positive and finite, got {ratio}: take another factor or point")
    return jnp.log(ratio) / jnp.log(factor)


def euler_degree(function: Callable[[Any], Any], parameters: Any, *, of: Chosen = _every) -> Any:
    """The degree by Euler's identity, Df(w)w = k f(w), as ⟨f, Df·w⟩/‖f‖²: one derivative instead of two values.

    Only the chosen leaves move. For a homogeneous function both degrees agree; where they differ it is not.
    """
    numeric(parameters=parameters)
    moving = scaled(jax.tree.map(jnp.ones_like, parameters), 0.0, of=lambda name: not of(name))
    direction = jax.tree.map(lambda leaf, on: leaf * on, parameters, moving)
    value, change = jax.jvp(function, (parameters,), (direction,))
    inner = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(value), jax.tree.leaves(change), strict=True))
    return inner / _norm(value) ** 2


def invariance_defect(
    function: Callable[[Any], Any], parameters: Any, *, of: Chosen = _every, factors: tuple[float, ...] = (0.1, 3.0)
) -> Any:
    """The largest ‖f(cw) − f(w)‖ over the factors, relative to ‖f(w)‖: zero for a scale-invariant function.

    Scale invariance is f(cw) = f(w) for all c > 0, degree zero (arora Def. 13.2.1). A small ε inside a normalization
    shows here, and grows as the factor falls.
    """
    if not factors:
        raise ValueError("factors must not be empty, got ()")
    value = function(parameters)
    moved = [function(scaled(parameters, factor, of=of)) for factor in factors]
    gaps = [_norm(jax.tree.map(jnp.subtract, each, value)) for each in moved]
    return jnp.max(jnp.stack(gaps)) / _norm(value)


def invariant_leaves(function: Callable[[Any], Any], parameters: Any, *, tolerance: float = 1e-6) -> list[str]:
    """The names of the parameter arrays each of which, scaled alone, leaves the function as it is.

    These are what weight decay cannot shrink in effect. Two arrays that are invariant alone are so together; a gain and
    its shift may be invariant together and not alone: ask `invariance_defect` with `of=`.
    """
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(parameters)]
    return [n for n in names if invariance_defect(function, parameters, of=lambda each, n=n: each == n) <= tolerance]


doors(__name__, factor="(0, ∞)", factors="(0, ∞)", tolerance="(0, 1)")
