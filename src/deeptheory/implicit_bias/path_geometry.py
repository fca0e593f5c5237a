"""Path-SGD: descent in a geometry that does not see how a network's hidden units are scaled.

A hidden ReLU unit whose incoming weights are multiplied by c > 0 and whose outgoing ones are divided by c computes the
same. Gradient descent tells such networks apart, the products of weights along paths from inputs to outputs do not.
Layers are weight matrices (out × in) of a network without biases, as in `generalization.networks.norms`.

`power` is p of the norm of paths, `step_size` η.

Reference: Neyshabur, Salakhutdinov and Srebro 2015; arora 8.1.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors

__all__ = ["path_curvatures", "path_descent", "rescaled_units"]

Layers = Sequence[Float[AnyArray, "_out _in"]]


def rescaled_units(layers: Layers, factors: Sequence[Float[AnyArray, " _units"]]) -> list[Any]:
    """Multiply what enters each hidden unit by its factor c > 0 and divide what leaves it by c: the same function.

    `factors` has one vector for each hidden layer, one positive number a unit.
    """
    if len(factors) != len(layers) - 1:
        raise ValueError(
            f"factors must have one vector for each of {len(layers) - 1} hidden layers, got {len(factors)}"
        )
    for factor, layer in zip(factors, layers[:-1], strict=True):
        if np.shape(factor) != np.shape(layer)[:1]:
            raise ValueError(
                f"factors must have one number for each of {len(layer)} hidden units, got shape {np.shape(factor)}"
            )
    ones = np.ones(np.shape(layers[0])[1]), np.ones(len(layers[-1]))
    before, after = [ones[0], *factors], [*factors, ones[1]]
    return [a[:, None] * layer / b for layer, a, b in zip(layers, after, before, strict=True)]


def path_curvatures(layers: Layers, *, power: float = 2.0) -> list[Float[Array, "_out _in"]]:
    """Return κ_e = (Σ over paths through the weight e of ∏ |other weights on the path|^p)^(2/p), a matrix a layer.

    Changing w_e by δ changes the vector of all path products by exactly √κ_e·|δ| in the ℓp norm. For p = 2 it is what
    flows into the edge's lower end times what flows out of its upper end, both through squared weights. Linear cost.

    Reference: Neyshabur, Salakhutdinov and Srebro 2015, (9); arora 8.1.
    """
    sizes = [jnp.abs(jnp.asarray(layer)) for layer in layers]
    # The largest weight of a layer is taken out, so that no power over- or underflows; every path has one of them.
    tops = [jnp.where((top := jnp.max(size)) > 0, top, 1.0) for size in sizes]
    powers = [(size / top) ** power for size, top in zip(sizes, tops, strict=True)]
    below, above = [jnp.ones(powers[0].shape[1])], [jnp.ones(powers[-1].shape[0])]
    for each in powers[:-1]:
        below.append(each @ below[-1])
    for each in powers[:0:-1]:
        above.append(each.T @ above[-1])
    whole = jnp.prod(jnp.stack(tops))
    return [
        (up[:, None] * down) ** (2 / power) * (whole / top) ** 2
        for down, up, top in zip(below, reversed(above), tops, strict=True)
    ]


def path_descent(step_size: float, *, power: float = 2.0) -> optax.GradientTransformationExtraArgs:
    """Path-SGD: w_e ← w_e − (η/κ_e) ∂L/∂w_e with κ of `path_curvatures`, for parameters that are a sequence of layers.

    Each weight, the others held fixed, minimizes η w_e ∂L/∂w_e + ½‖π(w) − π(w_t)‖_p², where π is the vector of all
    path products: one coordinate at a time what steepest descent in the path norm is for all together. Rescaled units
    stay rescaled: gradients are divided by c where weights are multiplied by it, and κ by c². A weight on paths that
    are all broken elsewhere has κ = 0 and gradient 0, and stays.

    Reference: Neyshabur, Salakhutdinov and Srebro 2015, Algorithm 1 and Thm 4.1; arora 8.1.
    """

    def update(updates: Any, state: Any, params: Any = None, **_: Any) -> tuple[Any, Any]:
        if params is None:
            raise ValueError("path descent needs the layers beside their gradients: give params to update")
        leaves, tree = jax.tree.flatten(params)
        curvatures = jax.tree.unflatten(tree, path_curvatures(leaves, power=power))

        def move(gradient: Any, curvature: Any) -> Any:
            return -step_size * jnp.where(curvature > 0, gradient / jnp.where(curvature > 0, curvature, 1.0), 0.0)

        return jax.tree.map(move, updates, curvatures), state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)  # type: ignore[arg-type]


doors(__name__, power="(0, 100]", step_size="(0, ∞)")
