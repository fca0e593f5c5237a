from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.neural_tangents import stax

from .ingredients import POINTS, affine

KERNEL = np.eye(3) + 0.2
TARGETS = np.array([[1.0], [-0.5], [0.3]])
PARAMETERS = jnp.ones((3, 2))


def linear(x1: Any, x2: Any = None, get: Any = None, **options: Any) -> Any:
    return x1 @ (x1 if x2 is None else x2).T


def loss(outputs: Any, targets: Any) -> Any:
    return 0.5 * jnp.mean((outputs - targets) ** 2)


def drawn(key: Any, shape: Any) -> Any:
    return shape, PARAMETERS


def scaled(number: float) -> Any:
    """A layer made by hand."""
    return stax.Dense(int(number))


EXAMPLES: dict[str, dict[str, Any]] = {
    "activations.ABRelu": {"a": 0.2, "b": 1.0},
    "activations.Elementwise": {"fn": jnp.tanh},
    "activations.ElementwiseNumerical": {"fn": jnp.tanh, "deg": 9},
    "activations.LeakyRelu": {"alpha": 0.1},
    "activations.Polynomial": {"coef": [0.5, 1.0]},
    "affine.Conv": {"out_chan": 2, "filter_shape": (3, 2)},
    "affine.ConvLocal": {"out_chan": 2, "filter_shape": (3, 2)},
    "affine.ConvTranspose": {"out_chan": 2, "filter_shape": (3, 2)},
    "batching.batch": {"kernel_fn": linear},
    "empirical.empirical_kernel_fn": {"f": affine},
    "empirical.empirical_nngp_fn": {"f": affine},
    "empirical.empirical_ntk_fn": {"f": affine},
    "empirical.empirical_ntk_vp_fn": {"f": affine, "x1": POINTS, "x2": POINTS, "params": PARAMETERS},
    "empirical.linearize": {"f": affine, "params": PARAMETERS},
    "empirical.taylor_expand": {"f": affine, "params": PARAMETERS},
    "ensembles.gp_inference": {"k_train_train": KERNEL, "y_train": TARGETS},
    "ensembles.gradient_descent_mse_ensemble": {"kernel_fn": linear, "x_train": POINTS, "y_train": TARGETS},
    "flows.gradient_descent": {"loss": loss, "k_train_train": KERNEL, "y_train": TARGETS},
    "monte_carlo.monte_carlo_kernel_fn":
        {"init_fn": drawn, "apply_fn": affine, "key": jax.random.PRNGKey(0), "n_samples": 2},
    "positions.ImageResize": {"shape": (-1, 4, 4, -1), "method": "linear"},
    "positions.Index": {"idx": (slice(None), 0, slice(1, 3))},
    "squared_loss.gradient_descent_mse": {"k_train_train": KERNEL, "y_train": TARGETS},
    "squared_loss.max_learning_rate": {"ntk_train_train": KERNEL},
    "stax.layer": {"layer_fn": scaled},
    "stax.parallel": {"layers": (stax.Dense(2), stax.Identity())},
    "stax.repeat": {"layer": stax.Dense(2)},
    "stax.serial": {"layers": (stax.Dense(2), stax.Relu())},
    "stax.unmask_fn": {"fn": affine},
}  # fmt: skip

ELSEWHERE = ("predict.ODEState",)
"""a record that JAX takes apart and fills with what it likes: who is given one looks at its numbers"""

INNER = ("Kernel",)
"""the record that kernel functions return"""

FOUND = """
affine.Dense, parameterization: number
batching.batch, kernel_fn: number
empirical.empirical_ntk_fn, implementation: billion
empirical.empirical_ntk_fn, vmap_axes: words
empirical.linearize, params: words
ensembles.gp_inference, diag_reg: nan
ensembles.gp_inference, diag_reg: negative
ensembles.gp_inference, y_train: longer
ensembles.gradient_descent_mse_ensemble, x_train: nan inside
flows.gradient_descent, y_train: complex
positions.AvgPool, window_shape: text
positions.DotGeneral, lhs: words
positions.DotGeneral, rhs: complex
positions.ImageResize, method: number
squared_loss.gradient_descent_mse, diag_reg: negative
squared_loss.max_learning_rate, ntk_train_train: nan inside
"""
