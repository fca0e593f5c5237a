"""A two-layer network on the XOR mixture: blocks of Hessian and G-matrix on test data, in expectation, without noise.

The score is s = ⟨v, relu(WY)⟩ on inputs ±μ (label 1) and ±ν (label 0) with noise of covariance I/λ. With g = relu(WY):
∇²_{vv} has weights σ′(s) on ggᵀ and G_{vv} weights (σ(s) − y)²; the blocks of a neuron W_i have the same weights times
v_i² 1{W_i·Y > 0} on YYᵀ. The kink of the relu adds nothing to the Hessian at any input off the kink, so these are the
means of the test matrices; the Hessian of the mean loss has one more term, from the inputs on the kink.

Reference: jagannath Sec. 13.1.3, Thms 13.6 and 13.7.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from deeptheory.alignment.test_matrices import weighted_second_moment
from deeptheory.dynamics.xor_mixture import CLASSES, LABELS
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import inside

__all__ = ["PlaneBlocks", "xor_features", "xor_limit_blocks", "xor_plane_blocks", "xor_test_blocks"]

REACH = 9.0
"""Standard deviations beyond which a Gaussian is cut off."""

Output = Float[np.ndarray, " k"]
Plane = Float[np.ndarray, "k 2"]


class PlaneBlocks(NamedTuple):
    """Expected blocks of a network whose neurons lie in the plane of μ and ν: Hessian first, then G-matrix.

    `second` (2, K, K): the vv-blocks. `first` (2, K, 2, 2): the neurons' blocks in the coordinates of μ and ν; `bulk`
    (2, K): their other eigenvalue, with all directions orthogonal to the plane.
    """

    second: Float[np.ndarray, "2 k k"]
    first: Float[np.ndarray, "2 k 2 2"]
    bulk: Float[np.ndarray, "2 k"]


def xor_features(overlaps: Plane) -> Float[np.ndarray, "4 k"]:
    """Return g(Wϑ) for ϑ = μ, −μ, ν, −ν in rows: what spans the second layer's objects.

    `overlaps` are ⟨W_i, μ⟩ and ⟨W_i, ν⟩. Reference: jagannath Thm 13.7.
    """
    return np.maximum(CLASSES @ overlaps.T, 0)


def _weights(weights: np.ndarray, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """σ′(s) and (σ(s) − y)² for features with the neurons on the last axis."""
    chance = expit(features @ weights)
    return np.stack([chance * (1 - chance), (chance - labels) ** 2])


def _moments(weights: np.ndarray, neurons: np.ndarray, inputs: np.ndarray, labels: np.ndarray, mass: np.ndarray):
    """The vv-blocks, the W_iW_i-blocks and the mean weights of the latter, over inputs with masses."""
    fields = inputs @ neurons.T
    features = np.maximum(fields, 0)
    pair = (_weights(weights, features, labels) * mass).T * len(inputs)
    moved = pair[:, :, None] * (weights**2 * (fields > 0))[:, None]
    return weighted_second_moment(features, pair), weighted_second_moment(inputs, moved), moved.mean(0)


def xor_test_blocks(
    weights: Output,
    neurons: Float[np.ndarray, "k d"],
    inputs: Float[np.ndarray, "m d"],
    labels: Float[np.ndarray, " m"],
) -> tuple[Float[np.ndarray, "2 k k"], Float[np.ndarray, "2 k d d"]]:
    """Return the vv-blocks and the W_iW_i-blocks of test Hessian and test G-matrix, in this order on the first axis.

    `weights` are v, `neurons` W, `labels` 0 or 1. Off-diagonal blocks and the penalty are left out; of a single network
    `curvature.hessian` and `curvature.gradient_noise` give products with the whole. Reference: jagannath Sec. 13.1.3.
    """
    second, first, _ = _moments(weights, neurons, inputs, labels, np.full(len(inputs), 1 / len(inputs)))
    return second, first


def xor_limit_blocks(weights: Output, overlaps: Plane) -> Float[np.ndarray, "2 k k"]:
    """Return the limits λ → ∞ of the vv-blocks of Hessian and G-matrix, ¼Σ_ϑ w_ϑ g(Wϑ)g(Wϑ)ᵀ over ϑ = ±μ, ±ν.

    w_ϑ = σ′(v·g(Wϑ)) for the Hessian (the notes print σ′(v·g(Wν)) for every ϑ), (y_ϑ − σ(v·g(Wϑ)))² for the
    G-matrix. Of rank four at most, one for each centre that some neuron sees.
    Reference: jagannath Sec. 13.2 (Lemmas 4.4, 4.5).
    """
    features = xor_features(overlaps)
    return weighted_second_moment(features, _weights(weights, features, LABELS).T)


def _sector(angle: float, half: float, kinks: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre angles within `half` of an angle, in panels that meet at the kinks."""
    turns = (kinks - angle + np.pi) % (2 * np.pi) - np.pi
    ends = np.unique(np.concatenate([turns[np.abs(turns) < half], np.linspace(-half, half, 5)]))
    points, rule = np.polynomial.legendre.leggauss(nodes)
    middle, width = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    return (angle + middle[:, None] + width[:, None] * points).ravel(), np.outer(width, rule).ravel()


def xor_plane_blocks(weights: Output, overlaps: Plane, *, precision: float, nodes: int = 16) -> PlaneBlocks:
    """Return the expected blocks of a network whose neurons lie in span(μ, ν), by quadrature in that plane.

    `overlaps` (K × 2) are the neurons' coordinates there, `precision` is λ. In polar coordinates the kinks of all
    neurons are rays, so panels between them see smooth functions: `nodes` Gauss–Legendre points in each, and three
    times as many along the radius. For neurons with parts beside the plane, as during training, draw test data. Noise
    that moves the output by more than the radius has points is refused: Σ|v_i|‖W_i‖ beside √λ.
    """
    slope = float(np.abs(weights) @ np.linalg.norm(overlaps, axis=1))
    inside((REACH * slope / (3 * nodes)) ** 2, 1e16, precision=precision)
    spread, active = precision**-0.5, overlaps[np.any(overlaps != 0, axis=1)]
    directions = np.arctan2(active[:, 1], active[:, 0])
    kinks = np.concatenate([directions + np.pi / 2, directions - np.pi / 2])
    reach = REACH * spread
    half = np.arcsin(reach) if reach < 1 else np.pi
    points, rule = np.polynomial.legendre.leggauss(3 * nodes)
    inner, outer = max(0.0, 1 - reach), 1 + reach
    radius, radii = (outer + inner) / 2 + (outer - inner) / 2 * points, (outer - inner) / 2 * rule
    inputs, mass = [], []
    for centre in CLASSES:
        angles, arcs = _sector(np.arctan2(centre[1], centre[0]), half, kinks, nodes)
        rays = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        inputs.append((radius[:, None, None] * rays).reshape(-1, 2))
        density = np.exp(-precision * ((inputs[-1] - centre) ** 2).sum(-1) / 2) * precision / (8 * np.pi)
        mass.append(density * np.outer(radii * radius, arcs).ravel())
    labels = np.repeat(LABELS, [len(each) for each in mass])
    second, first, bulk = _moments(weights, overlaps, np.concatenate(inputs), labels, np.concatenate(mass))
    return PlaneBlocks(second, first, bulk / precision)


doors(__name__, labels="[0, 1]", precision="(0, 1e16]", nodes="[2, 200]")
