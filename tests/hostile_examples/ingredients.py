"""What the tables of several rooms share: arrays by their shape, a few points, layers and functions."""

from typing import Any

import jax
import numpy as np

SIZES = {"d": 3, "p": 3, "m": 5, "nx": 6, "ny": 6}
KEY = jax.random.key(0)
LAYERS = [np.linspace(-0.5, 0.9, 12).reshape(4, 3), np.linspace(0.8, -0.4, 8).reshape(2, 4)]
LAW = np.array([0.2, 0.3, 0.1, 0.4])
POINTS = np.array([[1.0, 0.2, 0.1], [0.5, 1.0, -0.3], [0.8, -0.4, 1.2]])


def array(kind: str, dimensions: str) -> np.ndarray:
    """An array of numbers in (0, 1); symmetric and positive definite where rows and columns have one name."""
    words = [word for word in dimensions.split() if word[0] not in "*." or word == "*shape"]
    words = ["n"] * (dimensions == "...") + words
    shape = tuple(int(w) if w.isdigit() else SIZES.get(w.rstrip("+1"), 4) + w.endswith("+1") for w in words)
    if kind in ("Int", "UInt"):
        return np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
    if kind == "Bool":
        return np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 == 0
    made = np.linspace(0.1, 0.9, np.prod(shape, dtype=int)).reshape(shape) ** 1.1
    if len(words) > 1 and words[-1] == words[-2]:
        made = np.eye(shape[-1]) + 0.2 * np.ones(shape)
    return made.astype(complex) + 0.1j if kind == "Complex" else made


def square(x: Any) -> Any:
    return (x**2).sum()


def affine(parameters: Any, x: Any) -> Any:
    return x @ parameters
