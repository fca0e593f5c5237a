"""The XOR mixture and a network with one hidden layer: where its training ends is decided by signs at the start.

Inputs ±μ (label 1) and ±ν (label 0), orthogonal unit vectors, with Gaussian noise of covariance I/λ; the network is
s(x) = ⟨v, relu(Wx)⟩ with K neurons, the loss logistic with penalty ½α(‖v‖² + ‖W‖²). Without noise a neuron is three
numbers, its weight v_i and its overlaps with μ and ν. The four centres are `CLASSES`, in the order +μ, −μ, +ν, −ν.

Reference: jagannath Ch. 12 Sec. 4.3; Ben Arous, Gheissari and Jagannath 2024.
"""

from fractions import Fraction
from itertools import product
from math import comb, factorial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from deeptheory.dynamics.projections import Projected
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.cross_entropy import binary_cross_entropy
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.flows import flow

__all__ = [
    "CLASSES",
    "LABELS",
    "class_strength",
    "class_strengths",
    "component_count",
    "components_by_exchange",
    "placement",
    "settled",
    "starting_classes",
    "success_probability",
    "xor_loss",
    "xor_model",
    "xor_population_loss",
    "xor_velocity",
]

CLASSES = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
LABELS = np.array([1.0, 1.0, 0.0, 0.0])


def xor_loss(
    fields: Float[Array, " k"], hidden: Float[Array, " m"], weights: Float[Array, " k"], label: Float[Array, ""]
) -> Float[Array, ""]:
    """Return −εs + log(1 + e^s), s = ⟨v, relu(fields)⟩, for the label ε; the hidden fields are not seen."""
    score = weights @ jax.nn.relu(fields)
    return binary_cross_entropy(score, label)


def xor_model(*, precision: float = np.inf, decay: float = 0.05) -> Projected:
    """Return the XOR problem for `projections`: hidden directions μ and ν, noise of covariance I/λ, penalty α.

    `precision` is λ, infinite without noise; `decay` is α. Jagannath drops the 1/λ, and lists v and the overlaps alone
    as what the loss depends on; the inner products of the weights' other parts belong to the Gram matrix too.
    Reference: jagannath Ch. 12 Sec. 4.3.
    """
    return Projected(xor_loss, CLASSES, LABELS, precision**-0.5, decay)


def xor_population_loss(
    weights: Float[np.ndarray, " 2"], gram: Float[np.ndarray, "4 4"], *, precision: float, decay: float
) -> float:
    """Return the mean loss of a network of two neurons, from its Gram matrix with μ and ν; the penalty is included.

    The two fields are Gaussian at each of the four centres, with covariance ⟨W_i, W_j⟩/λ; Gauss–Legendre panels meet at
    their kinks. `precision` is λ, `decay` α. Reference: jagannath Ch. 12 Sec. 4.3.
    """
    covariance = gram[:2, :2] / precision
    inverse = np.linalg.inv(covariance)
    nodes, rule = np.polynomial.legendre.leggauss(48)
    total = 0.0
    for centre, label in zip(CLASSES, LABELS, strict=True):
        middle = gram[:2, 2:] @ centre
        axes = []
        for each, spread in zip(middle, np.sqrt(np.diag(covariance)), strict=True):
            ends = np.sort([min(each - 9 * spread, 0), 0.0, max(each + 9 * spread, 0)])
            halves = np.diff(ends) / 2
            axes.append((np.add.outer(ends[:-1] + halves, 0 * nodes) + np.outer(halves, nodes), np.outer(halves, rule)))
        (x, x_rule), (y, y_rule) = [(points.ravel(), part.ravel()) for points, part in axes]
        score = np.add.outer(weights[0] * np.maximum(x, 0), weights[1] * np.maximum(y, 0))
        gap = np.stack(np.broadcast_arrays(x[:, None] - middle[0], y - middle[1]), axis=-1)
        density = np.exp(-np.einsum("...i,ij,...j", gap, inverse, gap) / 2) * np.sqrt(np.linalg.det(inverse))
        total += x_rule @ (binary_cross_entropy(score, label) * density) @ y_rule / (8 * np.pi)
    return float(total + decay / 2 * (weights @ weights + np.trace(gram[:2, :2])))


def xor_velocity(
    weights: Float[AnyArray, "*batch k"], overlaps: Float[AnyArray, "*batch k 2"], *, decay: float
) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch k 2"]]:
    """Return the velocity of the ballistic limit without noise: of the weights v and of the overlaps with μ and ν.

    Each of the four centres has a quarter of the mass and pulls with (ε − σ(s)) the neurons that are active there.
    Derivatives of relu at 0 count as 0. `decay` is α. Reference: jagannath Ch. 12 Sec. 4.3, where its fixed points are
    listed.
    """
    weights, overlaps = jnp.asarray(weights), jnp.asarray(overlaps)
    return _velocity(weights, overlaps, overlaps @ CLASSES.T > 0, decay)


def _velocity(weights: Array, overlaps: Array, active: Array, decay: Any) -> tuple[Array, Array]:
    """The velocity, given which neurons are active at which centre."""
    height = overlaps @ CLASSES.T * active
    residual = LABELS - jax.nn.sigmoid(jnp.einsum("...k,...kc->...c", weights, height))
    pulled = jnp.einsum("...c,...kc->...k", residual, height) / 4
    turned = weights[..., None] * jnp.einsum("...c,...kc,cd->...kd", residual, active * 1.0, CLASSES) / 4
    return pulled - decay * weights, turned - decay * overlaps


def settled(
    weights: Float[AnyArray, "*batch k"],
    overlaps: Float[AnyArray, "*batch k 2"],
    *,
    decay: float | Float[Array, ""],
    time: float | Float[Array, ""] = 200.0,
    steps: int = 400,
) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch k 2"]]:
    """Return weights and overlaps after a long time of the ballistic limit without noise, by Runge–Kutta steps.

    An overlap that comes to zero is pushed back from both sides and stays there. So who is active is held during a
    step, and an overlap that has then changed sign is set to zero. Near a fixed point the slowest mode falls like
    e^(−2αt). Pure: wrap it in `jit`. `decay` is α.
    """
    kind = jnp.result_type(CLASSES)
    length = jnp.array([time / steps], kind)

    def once(_: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        active = state[1] @ CLASSES.T > 0
        ahead, turned = flow(lambda _, now: _velocity(now[0], now[1], active, decay), state, length, substeps=1)
        return ahead[0], jnp.where(turned[0] * state[1] < 0, 0.0, turned[0])

    return lax.fori_loop(0, steps, once, (jnp.asarray(weights, kind), jnp.asarray(overlaps, kind)))


def class_strength(decay: float) -> float:
    """Return Σv_i² over a class at a fixed point: −logit(4α) = log((1 − 4α)/4α), and 0 from α = 1/8 on.

    Printed as logit(−4α), which has no value. `decay` is α. Reference: jagannath Ch. 12 Sec. 4.3.
    """
    return float(np.log(max(1 / (4 * decay) - 1, 1.0)))


def class_strengths(
    weights: Float[AnyArray, "*batch k"], overlaps: Float[AnyArray, "*batch k 2"]
) -> Float[np.ndarray, "*batch 4"]:
    """Return |s| at the four centres: at a fixed point the sum of v_i² over each class."""
    weights, overlaps = np.asarray(weights), np.asarray(overlaps)
    return np.abs(np.einsum("...k,...kc->...c", weights, np.maximum(overlaps @ CLASSES.T, 0)))


def starting_classes(
    weights: Float[AnyArray, "*batch k"], overlaps: Float[AnyArray, "*batch k 2"]
) -> Int[np.ndarray, "*batch k"]:
    """Return the class that each neuron will end in: μ if its weight is positive, else ν, on the side of its overlap.

    Along the ballistic limit without noise v_i² − ‖overlaps‖² only shrinks by e^(−2αt), so a weight that begins larger
    than its overlaps keeps its sign; then the overlap with the other direction dies out, and the own one cannot
    change sign.
    """
    weights, overlaps = np.asarray(weights), np.asarray(overlaps)
    second = weights < 0
    own = np.where(second, overlaps[..., 1], overlaps[..., 0])
    return 2 * second + (own < 0)


def success_probability(neurons: int) -> Fraction:
    """Return the probability that K neurons that fall uniformly and independently into four classes occupy all:
    Σ_j (−1)^j C(4, j)(1 − j/4)^K, which is 3/32 for K = 4 (printed 3/27) and 1 − 4(3/4)^K for large K.

    Reference: jagannath Ch. 12 Sec. 4.3.
    """
    return sum((Fraction((-1) ** j * comb(4, j) * (4 - j) ** neurons, 4**neurons) for j in range(5)), Fraction(0))


def component_count(neurons: int) -> int:
    """Return the number of connected sets of fixed points for 0 < α < 1/8: 39 for K = 4, and 16 from K = 5 on.

    Which of the four classes are occupied tells the set, as long as a neuron is to spare through which the others can
    change places; when each neuron is alone in its class, every order of them is a set of its own.
    Reference: jagannath Ch. 12 Sec. 4.3 for K = 4; the formula is ours.
    """
    spare = sum(comb(4, occupied) for occupied in range(min(neurons, 5)))
    return spare + (factorial(neurons) * comb(4, neurons) if neurons <= 4 else 0)


def components_by_exchange(neurons: Annotated[int, "[1, 7]"]) -> int:
    """Count the connected sets of fixed points by joining assignments of K neurons to four classes or none.

    The points of an assignment have Σv_i² fixed over each occupied class and v_i ≠ 0; where a class has two neurons
    one of them can reach 0, which is a point of the assignment without it.
    """
    parent = {each: each for each in product(range(5), repeat=neurons)}

    def root(each: tuple[int, ...]) -> tuple[int, ...]:
        while parent[each] != each:
            parent[each] = each = parent[parent[each]]
        return each

    for each in list(parent):
        for place, kind in enumerate(each):
            if kind and each.count(kind) > 1:
                parent[root(each)] = root((*each[:place], 0, *each[place + 1 :]))
    return sum(parent[each] == each for each in parent)


def placement(
    classes: Int[np.ndarray, " k"], *, decay: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k 2"], Bool[np.ndarray, " 4"]]:
    """Return a fixed point: neurons in class 0…3 share its strength equally, those in class 4 are zero.

    Also which classes are occupied. Neurons of μ have m_i = ±v_i with v_i > 0, of ν with v_i < 0. `decay` is α.
    """
    sizes = np.bincount(classes, minlength=5)[:4]
    magnitude = np.append(np.sqrt(class_strength(decay) / np.maximum(sizes, 1)), 0.0)[classes]
    sign = np.append(2 * LABELS - 1, 0.0)[classes]
    directions = np.append(CLASSES, np.zeros((1, 2)), axis=0)[classes]
    return sign * magnitude, magnitude[:, None] * directions, sizes > 0


doors(
    __name__,
    infinite=("precision",),
    precision="(0, ∞]",
    decay="(0, 10]",
    neurons="[1, 10000]",
    classes="[0, 4]",
    time="[0, ∞)",
    steps="[1, 1e6]",
    symmetric=("gram",),
)
