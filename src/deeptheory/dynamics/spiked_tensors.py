"""Estimating a rank-one tensor under noise by online gradient descent: two numbers tell everything.

Data Y = λ v^{⊗k} + W with standard normal entries, loss ‖Y − x^{⊗k}‖². With the overlap m = ⟨x, v⟩ and what is left
over, r = ‖x‖² − m² (`rest`), the pair (m, r) is a Markov chain of its own in every dimension, and with R² = m² + r and
steps δ = c/N it follows as N → ∞
    dm/dt = 2m(λk m^(k−2) − kR^(2k−2)),   dr/dt = −4kR^(2k−2)(r − c).

Reference: jagannath Ch. 12 Sec. 4; Ben Arous, Gheissari and Jagannath 2024.
"""

from functools import partial
from math import log
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from deeptheory.foundations.arrays import AnyArray, AnyKey
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator

__all__ = [
    "FixedPoint",
    "ballistic_fixed_points",
    "ballistic_velocity",
    "equator_variance",
    "equator_volatility",
    "rest_on_the_equator",
    "spiked_tensor_chain",
    "spiked_tensor_design",
    "spiked_tensor_loss",
    "spiked_tensor_population_loss",
    "spiked_tensor_samples",
    "spiked_tensor_step",
    "tensor_signal_threshold",
    "tensor_statistics",
]

BLOCK = 2**16
"""numbers drawn at once"""
Order = Annotated[int, "[2, 12]"]
Ratio = Annotated[float, "(0, 1e6]"]
Numbers = float | Float[AnyArray, "*shape"]


def spiked_tensor_loss(x: Float[AnyArray, " n"], tensor: Float[AnyArray, "..."]) -> Any:
    """Return ‖Y − x^{⊗k}‖² for a tensor Y with k axes of one length. Reference: jagannath Ch. 12 Sec. 4.1."""
    if set(jnp.shape(tensor)) != {len(x)}:
        raise ValueError(f"tensor must have axes of length {len(x)} as x has, got shape {jnp.shape(tensor)}")
    power = x = jnp.asarray(x)
    for _ in range(jnp.ndim(tensor) - 1):
        power = power[..., None] * x
    return jnp.sum((jnp.asarray(tensor) - power) ** 2)


def spiked_tensor_samples(
    key: AnyKey, direction: Float[np.ndarray, " n"], *, signal: float, order: Order = 2, count: int = 1
) -> Float[np.ndarray, "count ..."]:
    """Draw λ v^{⊗k} + W, `count` times: N^k numbers each, so for small N only; `spiked_tensor_chain` needs none.

    `signal` is λ, `direction` v and `order` k.
    """
    shape = (count, *[len(direction)] * order)
    affordable(samples=shape)
    power = direction
    for _ in range(order - 1):
        power = power[..., None] * direction
    return signal * power + generator(key).standard_normal(shape)


def spiked_tensor_design(
    direction: Float[np.ndarray, " n"], *, signal: float, order: Order = 2
) -> Float[np.ndarray, "count ..."]:
    """Return λ v^{⊗k} ± N^{k/2} e for all unit tensors e: 2N^k tensors of equal weight for exact expectations.

    Their noise has the first three moments of Gaussian noise. The noise of the gradient is linear in W, so means over
    these tensors give drift, corrector and volatility of `effective_dynamics` without error. For small N only. `signal`
    is λ, `direction` v and `order` k.
    """
    count, shape = len(direction) ** order, [len(direction)] * order
    affordable(design=(2 * count, count))
    power = direction
    for _ in range(order - 1):
        power = power[..., None] * direction
    noise = count**0.5 * np.concatenate([np.eye(count), -np.eye(count)])
    return signal * power + noise.reshape(2 * count, *shape)


def tensor_statistics(x: Float[AnyArray, " n"], direction: Float[AnyArray, " n"]) -> Any:
    """Return the summary statistics (m, r) of a vector. Reference: jagannath Ch. 12 Sec. 4.1."""
    x = jnp.asarray(x)
    m = x @ jnp.asarray(direction)
    return jnp.stack([m, x @ x - m**2])


def spiked_tensor_population_loss(overlap: Numbers, rest: Numbers, *, signal: float, order: Order = 2) -> Any:
    """Return Φ = −2λm^k + R^(2k), the mean loss without the constant λ² + N^k. jagannath Ch. 12 Sec. 4.1.

    `signal` is λ, `order` k.
    """
    overlap, rest = jnp.asarray(overlap), jnp.asarray(rest)
    return -2 * signal * overlap**order + (overlap**2 + rest) ** order


def spiked_tensor_step(
    overlap: Numbers,
    rest: Numbers,
    normal: Numbers,
    other: Numbers,
    square: Numbers,
    *,
    signal: float | Float[Array, ""],
    step: float | Float[Array, ""],
    order: Order = 2,
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Return overlap and rest after one step, given three numbers: the noise costs no more in any dimension.

    For a fixed x the noise of the gradient, ∇⟨W, x^{⊗k}⟩, is Gaussian with covariance kR^(2k−2)(I + (k−1)x̂x̂ᵀ).
    `normal` and `other` are its standard normals along v and along the part of x orthogonal to v, `square` the squared
    length (chi-square, N − 2 degrees) of those in all remaining directions; `step` is δ. `signal` is λ, `order` k.
    """
    m, r = jnp.asarray(overlap), jnp.asarray(rest)
    length = m**2 + r
    side, radius = jnp.sqrt(r), jnp.sqrt(length)
    strength = jnp.sqrt(order * length ** (order - 1))
    along = (m * normal + side * other) / radius * (order**0.5 - 1)
    shrink = 1 - 2 * order * step * length ** (order - 1)
    pull = 2 * signal * order * step * m ** (order - 1)
    first = m * shrink + pull + 2 * step * strength * (normal + along * m / radius)
    second = side * shrink + 2 * step * strength * (other + along * side / radius)
    return first, second**2 + (2 * step * strength) ** 2 * square


@partial(jax.jit, static_argnames="order")
def _advance(state, normals, squares, lengths, signal, order):
    def once(state, drawn):
        *noise, length = drawn
        return spiked_tensor_step(*state, *noise, signal=signal, step=length, order=order), None

    return lax.scan(once, state, (normals[0], normals[1], squares, lengths))[0]


def spiked_tensor_chain(
    key: AnyKey,
    *,
    dimension: int,
    signal: float,
    order: Order = 2,
    ratio: Ratio = 1.0,
    times: Float[np.ndarray, " times"],
    start: tuple[float, float] | None = None,
    replicas: int = 64,
) -> Float[np.ndarray, "times replicas 2"]:
    """Run (m, r) of online gradient descent with steps δ = c/N as the exact Markov chain it is, O(1) a step in any N.

    `ratio` is c, `times` increase and count δ a step, `start` is (m, r) or None for x drawn from N(0, I/N). Nothing is
    approximated; whole vectors with explicit tensors have the same law. `signal` is λ, `order` k and `replicas` the
    number of chains. Reference: jagannath Ch. 12 Sec. 4.1.
    """
    random, step = generator(key), ratio / dimension
    stops = np.round(np.asarray(times) / step).astype(int)
    affordable(draws=(int(stops.max()), replicas, 3), path=(len(stops), replicas, 2))
    if start is None:
        m = random.standard_normal(replicas) / dimension**0.5
        r = random.chisquare(dimension - 1, replicas) / dimension
    else:
        m, r = (np.full(replicas, float(value)) for value in start)
    state, path, done = (jnp.asarray(m), jnp.asarray(r)), [], 0
    far = np.diff(stops, prepend=0).max() > 1024
    block = max(1, min(1024 if far else 64, BLOCK // replicas))
    for stop in stops:
        while done < stop:
            # Blocks of one shape, compiled once; steps beyond the last have length zero and leave all where it is.
            lengths = np.where(np.arange(block) < stop - done, step, 0.0)
            normals = random.standard_normal((2, block, replicas))
            squares = random.chisquare(dimension - 2, (block, replicas))
            state = _advance(state, normals, squares, lengths, signal, order)
            done += min(block, stop - done)
        path.append(np.stack([np.asarray(part) for part in state], axis=-1))
    return np.stack(path)


def ballistic_velocity(
    state: Float[AnyArray, "*shape 2"], *, signal: float, order: Order = 2, ratio: float = 1.0
) -> Float[Array, "*shape 2"]:
    """Return (dm/dt, dr/dt) in the limit N → ∞ at steps c/N; c (`ratio`) times 4kR^(2k−2) is the corrector.

    `signal` is λ, `order` k.

    Reference: jagannath Ch. 12 Sec. 4.1.
    """
    state = jnp.asarray(state)
    m, r = state[..., 0], state[..., 1]
    force = order * (m**2 + r) ** (order - 1)
    return jnp.stack([2 * signal * order * m ** (order - 1) - 2 * m * force, -4 * force * (r - ratio)], axis=-1)


class FixedPoint(NamedTuple):
    """A fixed point (m, r) of the ballistic limit and the eigenvalues of its linearization, largest real part first."""

    overlap: float
    rest: float
    eigenvalues: tuple[complex, complex]

    @property
    def stable(self) -> bool:
        """Whether all that is near returns; never at (0, 0), which r leaves even where the linearization vanishes."""
        return self.rest > 0 and self.eigenvalues[0].real < 0


def tensor_signal_threshold(order: Order = 2, *, ratio: float = 1.0) -> float:
    """Return the least λ with a fixed point of positive overlap: c for matrices, above it grows with the order.

    λm^(k−2) = (m² + c)^(k−1) has a solution if and only if λ ≥ ((2k−2)/k)^(k−1) (k/(k−2))^((k−2)/2) c^(k/2). `order` is
    k and `ratio` c = δN, steps times dimension.
    """
    if order == 2:
        return ratio
    return ((2 * order - 2) / order) ** (order - 1) * (order / (order - 2)) ** (order / 2 - 1) * ratio ** (order / 2)


def ballistic_fixed_points(*, signal: float, order: Order = 2, ratio: Ratio = 1.0) -> tuple[FixedPoint, ...]:
    """Return the fixed points with m ≥ 0 in order of m: (0, 0), (0, c), and those with λm^(k−2) = (m² + c)^(k−1).

    For matrices the last is m² = λ − c. Of even order −m is a fixed point with m. Jagannath Ch. 12 Sec. 4.1 lists (1,
    0) and (1, 1) for k = 2, c = 1 in the place of (0, 1) and (√(λ−1), 1). `signal` is λ, `order` k and `ratio` c.
    """
    from scipy.optimize import brentq

    def gap(square: float) -> float:
        return log(signal) + (order / 2 - 1) * log(square) - (order - 1) * log(square + ratio)

    squares: list[Any] = []
    if order == 2:
        squares += [signal - ratio] * (signal > ratio)
    elif signal > tensor_signal_threshold(order, ratio=ratio):
        summit, far = ratio * (order - 2) / order, 1.0
        near = summit
        while gap(near) > 0:
            near /= 2
        while gap(summit + far) > 0:
            far *= 2
        squares += [brentq(gap, near, summit), brentq(gap, summit, summit + far)]
    places = [(0.0, 0.0), (0.0, ratio), *((square**0.5, ratio) for square in squares)]
    jacobian = jax.jacfwd(partial(ballistic_velocity, signal=signal, order=order, ratio=ratio))
    found = []
    for overlap, rest in places:
        place = overlap, rest
        values = np.linalg.eigvals(np.asarray(jacobian(jnp.asarray(place, jnp.result_type(float)))))
        first, second = sorted(map(complex, values), key=lambda value: -value.real)
        found.append(FixedPoint(overlap, rest, (first, second)))
    return tuple(found)


def equator_variance(time: Numbers, *, signal: float, start: Annotated[float, "[0, ∞)"] = 1.0) -> Any:
    """Return Var √N m of the matrix problem near the equator at c = 1 and r = 1, where √N m is an Ornstein–Uhlenbeck
    process d(√N m) = 4(λ − 1)√N m dt + 2√2 dB: start·e^(8(λ−1)t) + (e^(8(λ−1)t) − 1)/(λ − 1).

    At λ = 1 it is start + 8t. `signal` is λ, `time` t. Reference: jagannath Ch. 12 Sec. 4.2.
    """
    growth = 8 * (signal - 1) * np.asarray(time)
    spread = 8 * np.asarray(time) if signal == 1 else np.expm1(growth) / (signal - 1)
    return start * np.exp(growth) + spread


def equator_volatility(rest: Numbers, *, order: Order = 2, ratio: float = 1.0) -> Any:
    """Return the volatility 4ck r^(k−1) of √N m where m = 0: 8r for matrices at c = 1. jagannath Ch. 12 Sec. 4.2.

    `ratio` is c, `rest` r and `order` k.
    """
    return 4 * ratio * order * np.asarray(rest) ** (order - 1)


def rest_on_the_equator(time: Numbers, start: Annotated[float, "(0, ∞)"]) -> Any:
    """Return r(t) of the matrix problem at m = 0 and c = 1: dr = −8r(r − 1)dt, solved by 1/(1 + (1/r₀ − 1)e^(−8t)).

    Printed with r² − 1 in jagannath Ch. 12 Sec. 4.2. `start` is r₀, `time` t.
    """
    return 1 / (1 + (1 / start - 1) * np.exp(-8 * np.asarray(time)))


doors(
    __name__,
    dimension="[3, 1e9]",
    signal="(0, 1e6]",
    ratio="[0, 1e6]",
    step="(0, ∞)",
    rest="[0, ∞)",
    square="[0, ∞)",
    replicas="[1, 1e6]",
    count="[1, 1e6]",
    times="[0, ∞)",
    time="[0, ∞)",
)
