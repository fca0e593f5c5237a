"""Cosine networks: closed under products, hence universal by Stone and Weierstrass, and built by Fejér's means.

Reference: lucchi Ch. 3 Problem 2; Fejér 1904; Zygmund, Trigonometric Series (1959), Ch. III.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.fft import dctn

from deeptheory.approximation.errors import grid_points, sampled
from deeptheory.approximation.shallow import ShallowNetwork
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable

__all__ = ["cosine_network", "cosine_product"]


def cosine_product(one: ShallowNetwork, other: ShallowNetwork) -> ShallowNetwork:
    """Return the product of two cosine networks as one of width 2·m₁·m₂, exactly (lucchi Ch. 3 Problem 2).

    cos u cos v = (cos(u + v) + cos(u − v))/2 unit by unit: cosine networks are an algebra.
    """
    if one.activation is not np.cos or other.activation is not np.cos:
        raise ValueError("both networks must have the activation np.cos")
    if one.weights.shape[1] != other.weights.shape[1]:
        raise ValueError(f"inputs must agree, got {one.weights.shape[1]} and {other.weights.shape[1]}")
    affordable(units=(2, one.units, other.units, one.weights.shape[1]))
    sign = np.array([1.0, -1.0])[:, None, None]
    weights = one.weights[:, None] + sign[..., None] * other.weights
    biases = one.biases[:, None] + sign * other.biases
    output = np.broadcast_to(one.output[:, None] * other.output / 2, biases.shape)
    return ShallowNetwork(weights.reshape(-1, weights.shape[-1]), biases.ravel(), output.ravel(), np.cos)


def cosine_network(
    f: Callable[..., Any], degree: int, low: Float[np.ndarray, " d"], high: Float[np.ndarray, " d"]
) -> ShallowNetwork:
    """Return Fejér's mean of the cosine series of f on a box, as a network of cosines that is near f in the sup norm.

    With t = (x − low)/(high − low) the series has terms ∏ cos(πkⱼtⱼ), 0 ≤ kⱼ < n = `degree`, damped by ∏(1 − kⱼ/n); a
    product of cosines is a mean of cosines of π(k₁t₁ ± k₂t₂ ± …), one unit each: ((2n − 1)ᵈ + 1)/2 in all. The means
    converge uniformly for every continuous f, as the kernel is positive; like 1/n up to a logarithm for a Lipschitz
    one, and not faster for a smooth one. Coefficients by the midpoint rule on 4n points a side. f takes points of
    shape (m, d).
    """
    d, points = len(low), 4 * degree
    affordable(grid=(points,) * d + (d,), units=((2 * degree) ** d, d))
    values = sampled(f, grid_points(low, high, points, ends=False), coordinates=True).reshape((points,) * d)
    series = np.asarray(dctn(values, type=2))[(slice(0, degree),) * d] / (2 * points) ** d
    frequencies, output = [], []
    for k in product(range(degree), repeat=d):
        damping = np.prod([(1 - each / degree) * (2 if each else 1) for each in k])
        first = next((i for i, each in enumerate(k) if each), d)
        # The first frequency keeps its sign, as the cosine is even; those that are zero have none.
        signs = list(product(*[(1, -1) if each and i > first else (1,) for i, each in enumerate(k)]))
        frequencies += [np.multiply(k, sign) for sign in signs]
        output += [series[k] * damping / len(signs)] * len(signs)
    weights = np.pi * np.array(frequencies, float) / (high - low)
    return ShallowNetwork(weights, -weights @ low, np.array(output), np.cos)


doors(__name__, degree="[1, 100000]")
