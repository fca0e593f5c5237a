"""Activations: elementwise functions, and covariances through their Gaussian integrals.

Reference: Williams 1997; Cho and Saul 2009; Daniely, Frostig and Singer 2016; Han et al. 2022, Fast neural kernel
embeddings for general activations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import pi, sqrt
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from deeptheory.foundations.activations import slope_of
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Demand, Layer, Scalar, check_shape, one_block
from deeptheory.kernels.limits import integrals, quadrature
from deeptheory.kernels.limits.block import Block, coincident, left_of, right_of, variances
from deeptheory.kernels.limits.close_pairs import (
    is_equal,
    jump_deficit,
    rectified_deficit,
    smooth_deficit,
    subtracted_deficit,
)
from deeptheory.kernels.limits.integrals import Pair, Same

__all__ = [
    "Abs",
    "Activation",
    "Cos",
    "Elementwise",
    "Erf",
    "Exp",
    "ExpNormalized",
    "Gabor",
    "Gaussian",
    "Gelu",
    "Hermite",
    "LeakyRelu",
    "Monomial",
    "Numerical",
    "Polynomial",
    "Rbf",
    "RectifiedMonomial",
    "Rectifier",
    "Relu",
    "SigmoidLike",
    "Sign",
    "Sin",
]


@dataclass(frozen=True)
class Activation(Layer):
    """An elementwise φ, given by `function`, with its Gaussian `integrals`.

    Those of a `steep` one take the deficit of nearly parallel inputs: rounding of their covariance would show.
    """

    steep: ClassVar[bool] = False

    def function(self, x: Array) -> Array:
        raise NotImplementedError

    def integrals(self, k: Array, a: Array, b: Array, same: Same) -> Pair:
        raise NotImplementedError

    def bend(self, a: Array) -> Array | None:
        """Return E[x²φ′²] − E[xφφ′]²/E[φ²], by which φ of longer and shorter variables differ; None if unknown.

        It is F_pq − F_p F_q/F for F(p, q) = E[φ(eᵖx)φ(e^q x)] at 0.
        """
        zero, one = jnp.zeros_like(a), jnp.ones_like(a)

        def product(p: Array, q: Array) -> Array:
            return self.integrals(a * jnp.exp(p + q), a * jnp.exp(2 * p), a * jnp.exp(2 * q), None)[0]

        def along(p: Array) -> tuple[Array, Array]:
            return jax.jvp(partial(product, p), (zero,), (one,))

        (mean, slope), (_, mixed) = jax.jvp(along, (zero,), (one,))
        return mixed - slope**2 / jnp.where(mean > 0, mean, 1)

    def init(self, key, shape):
        check_shape(type(self).__name__, shape)
        return shape, ()

    def apply(self, parameters, x, *, key=None, **extra):
        return self.function(x)

    def record(self, block):
        return variances(one_block(type(self).__name__, block))

    def demand(self, wanted):
        return Demand(wanted.full, True, wanted.full_variances)

    def gaussian(self, block: Any) -> Block:
        block = one_block(type(self).__name__, block)
        if not block.gaussian:
            raise ValueError(
                f"{type(self).__name__} needs Gaussian inputs: put a Dense or convolutional layer right before it"
            )
        return block

    def kernel(self, block, left, right):
        block = self.gaussian(block)
        ends, same, deficit = (left_of(block, left), right_of(block, right)), coincident(block), block.deficit
        known = {"deficit": deficit} if self.steep and deficit is not None else {}
        mean, slope = self.integrals(block.covariance, *ends, same, **known)
        if deficit is not None:
            deficit = self._deficit(deficit, mean, slope, ends)
        tangent = None if block.tangent is None else block.tangent * slope
        return block.replace(covariance=mean, tangent=tangent, deficit=deficit, gaussian=False)

    def _deficit(self, deficit: Array, mean: Array, slope: Array, ends: tuple[Array, Array]) -> Array:
        after, slopes = zip(*(self.integrals(each, each, each, True) for each in ends), strict=True)
        subtracted = subtracted_deficit(mean, *after, equal=is_equal(deficit, *ends))
        one, two = map(self.bend, ends)
        if one is None or two is None:
            return subtracted
        # Ends of the way from k to √(ab); at its far end the mean of those at a and at b, nearly the same.
        slope = (slope + (slopes[0] + slopes[1]) / 2) / 2
        return smooth_deficit(subtracted, deficit, *ends, slope, (one + two) / 2)


@dataclass(frozen=True)
class Rectifier(Activation):
    """below·min(x, 0) + above·max(x, 0): ReLU (0, 1), leaky ReLU (α, 1), absolute value (−1, 1)."""

    below: Scalar = 0.0
    above: Scalar = 1.0
    steep = True

    def function(self, x):
        return self.below * jnp.minimum(x, 0) + self.above * jnp.maximum(x, 0)

    def integrals(self, k, a, b, same):
        return integrals.rectifier(k, a, b, same, below=self.below, above=self.above)

    def kernel(self, block, left, right):
        block = self.gaussian(block)
        if block.deficit is None:
            return super().kernel(block, left, right)
        known = block.deficit, block.surplus, left_of(block, left), right_of(block, right)
        mean, slope, deficit = rectified_deficit(*known, below=self.below, above=self.above)
        tangent = None if block.tangent is None else block.tangent * slope
        return block.replace(covariance=mean, tangent=tangent, deficit=deficit, gaussian=False)

    def approach(self, gap, left, right):
        # The new gap is concave in the old one, so it is least at an end; the new 1 + cos θ exceeds the old one.
        both = jnp.stack([gap, 2 - gap])
        one = jnp.ones_like(both)
        after = rectified_deficit(both, None, one, one, below=self.below, above=self.above)[2]
        return jnp.min(after) / ((self.below**2 + self.above**2) / 2)


def Relu() -> Rectifier:
    """max(x, 0), the rectifier; its kernels are the arc-cosine ones (Cho and Saul 2009)."""
    return Rectifier(0.0, 1.0)


def LeakyRelu(alpha: Scalar) -> Rectifier:
    """max(x, 0) + α min(x, 0): `alpha` is the slope below zero, 0 the rectifier and −1 the absolute value."""
    return Rectifier(alpha, 1.0)


def Abs() -> Rectifier:
    """|x|, the rectifier with slopes −1 and 1; even, so it forgets the sign of its input."""
    return Rectifier(-1.0, 1.0)


@dataclass(frozen=True)
class Sign(Activation):
    """sign x; its tangent kernel is 0, the derivative being 0 almost everywhere."""

    steep = True

    def function(self, x):
        return jnp.sign(x)

    def integrals(self, k, a, b, same):
        return integrals.sign(k, a, b, same)

    def kernel(self, block, left, right):
        block = self.gaussian(block)
        if block.deficit is None:
            return super().kernel(block, left, right)
        a, b = left_of(block, left), right_of(block, right)
        deficit, surplus = (
            jnp.where((a > 0) & (b > 0), gap, 0) for gap in jump_deficit(block.deficit, block.surplus, a, b, height=2)
        )
        tangent = None if block.tangent is None else jnp.zeros_like(block.tangent)
        covariance = (surplus - deficit) / 2
        return block.replace(covariance=covariance, tangent=tangent, deficit=deficit, surplus=surplus, gaussian=False)

    def approach(self, gap, left, right):
        return gap  # it grows: 2θ/π ≥ 1 − cos θ up to a right angle


@dataclass(frozen=True)
class Erf(Activation):
    """output·erf(inner·x) + shift, whose covariance is an arcsine (Williams 1997).

    `output` scales the values, `inner` the inputs and `shift` is added at the end.
    """

    output: Scalar = 1.0
    inner: Scalar = 1.0
    shift: Scalar = 0.0
    steep = True

    def function(self, x):
        return self.output * jax.scipy.special.erf(self.inner * x) + self.shift

    def integrals(self, k, a, b, same, deficit=None):
        square = self.inner**2
        deficit = None if deficit is None else square * deficit
        mean, slope = integrals.error_function(square * k, square * a, square * b, same, deficit)
        return self.output**2 * mean + self.shift**2, (self.output**2 * square) * slope


def SigmoidLike() -> Erf:
    """½ erf(x/2.402…) + ½, the nearest such function to the sigmoid on [−5, 5]."""
    return Erf(0.5, 1 / 2.4020563531719796, 0.5)


@dataclass(frozen=True)
class Gelu(Activation):
    """xΦ(x); `approximate` replaces Φ by a tanh in the finite network alone.

    Reference: Hendrycks and Gimpel 2016; Tsuchida, Pearce, van der Heide, Roosta and Gallagher 2021.
    """

    approximate: bool = False
    steep = True

    def function(self, x):
        return jax.nn.gelu(x, approximate=self.approximate)

    def integrals(self, k, a, b, same, deficit=None):
        return integrals.gelu(k, a, b, same, deficit)


@dataclass(frozen=True)
class Sin(Activation):
    """output·sin(inner·x + phase), in closed form by the characteristic function of a Gaussian.

    `output` scales the values, `inner` is the frequency, `phase` is in radians (0: odd, π/2: the cosine).
    """

    output: Scalar = 1.0
    inner: Scalar = 1.0
    phase: Scalar = 0.0
    steep = True

    def function(self, x):
        return self.output * jnp.sin(self.inner * x + self.phase)

    def integrals(self, k, a, b, same, deficit=None):
        square = self.inner**2
        deficit = None if deficit is None else square * deficit
        mean, slope = integrals.sine(square * k, square * a, square * b, same, deficit, phase=self.phase)
        return self.output**2 * mean, (self.output**2 * square) * slope


def Cos(output: Scalar = 1.0, inner: Scalar = 1.0, phase: Scalar = 0.0) -> Sin:
    """output·cos(inner·x + phase): the sine a quarter turn on, with the same arguments as `Sin`."""
    return Sin(output, inner, phase + pi / 2)


def Rbf(gamma: Scalar = 1.0) -> Sin:
    """√2 sin(√(2γ)x + π/4), whose covariance is exp(−γ E(u − v)²): `gamma` is γ of the radial kernel it makes.

    Reference: Rahimi and Recht 2007.
    """
    return Sin(sqrt(2), (2 * gamma) ** 0.5, pi / 4)


@dataclass(frozen=True)
class Exp(Activation):
    """output·exp(inner·x), of covariance output² exp(inner² (a + b + 2k)/2): it overflows for large variances.

    Reference: Daniely, Frostig and Singer 2016.
    """

    output: Scalar = 1.0
    inner: Scalar = 1.0

    def function(self, x):
        return self.output * jnp.exp(self.inner * x)

    def integrals(self, k, a, b, same):
        square = self.inner**2
        mean, slope = integrals.exponential(square * k, square * a, square * b, same)
        return self.output**2 * mean, (self.output**2 * square) * slope


@dataclass(frozen=True)
class Gaussian(Activation):
    """output·exp(rate·x²), a bell for a negative `rate`.

    A positive rate has E φ² only for variances below 1/(4·rate); from there on the answer is infinite.
    """

    output: Scalar = 1.0
    rate: Scalar = -1.0
    steep = True

    def function(self, x):
        return self.output * jnp.exp(self.rate * x**2)

    def integrals(self, k, a, b, same, deficit=None):
        mean, slope = integrals.bell(k, a, b, same, deficit, rate=self.rate)
        return self.output**2 * mean, self.output**2 * slope


@dataclass(frozen=True)
class Gabor(Activation):
    """exp(−x²) sin x, a wave in a bell: odd, and almost zero beyond |x| = 2."""

    steep = True

    def function(self, x):
        return jnp.exp(-(x**2)) * jnp.sin(x)

    def integrals(self, k, a, b, same, deficit=None):
        return integrals.gabor(k, a, b, same, deficit)


@dataclass(frozen=True)
class ExpNormalized(Activation):
    """The law √(ab) exp(γ(ρ + shift)) of covariances; no finite network has it. Reference: Shankar et al. 2020."""

    gamma: Scalar = 1.0
    shift: Scalar = -1.0

    def function(self, x):
        raise ValueError("ExpNormalized is a law of covariances: no finite network has it")

    def integrals(self, k, a, b, same):
        return integrals.normalized_exponential(k, a, b, same, gamma=self.gamma, shift=self.shift)


@dataclass(frozen=True)
class Polynomial(Activation):
    """Σ cₙxⁿ with `coefficients` c₀, c₁, …, lowest power first; exact, by the moments of two Gaussians."""

    coefficients: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if len(self.coefficients) > 151:  # the moments of higher powers leave floating point
            raise ValueError(f"coefficients must be at most 151, of degree 150, got {len(self.coefficients):,} of them")

    def function(self, x):
        return jnp.polyval(jnp.asarray(self.coefficients[::-1], x.dtype), x)

    def integrals(self, k, a, b, same):
        return integrals.polynomial(k, a, b, same, coefficients=self.coefficients)


def Monomial(degree: int) -> Polynomial:
    """xⁿ for a whole `degree` n ≥ 0."""
    return Polynomial((*(0.0,) * _degree(degree), 1.0))


@dataclass(frozen=True)
class Hermite(Activation):
    """The normalized Hermite polynomial: covariance kⁿ for inputs of variance 1 (exact for any variance here).

    Reference: Daniely, Frostig and Singer 2016.
    """

    degree: Annotated[int, "[0, 200]"]

    def function(self, x):
        before, value = jnp.zeros_like(x), jnp.ones_like(x)
        for n in range(self.degree):
            before, value = value, (x * value - sqrt(n) * before) / sqrt(n + 1)
        return value

    def integrals(self, k, a, b, same):
        return integrals.hermite(k, a, b, same, degree=self.degree)


@dataclass(frozen=True)
class RectifiedMonomial(Activation):
    """xⁿ for x ≥ 0 and 0 elsewhere: the step at `degree` 0, the rectifier at 1 (Cho and Saul 2009)."""

    degree: int
    steep = True

    def __post_init__(self) -> None:
        _degree(self.degree)

    def function(self, x):
        return jnp.where(x >= 0, x, 0) ** self.degree if self.degree else (x >= 0).astype(x.dtype)

    def integrals(self, k, a, b, same, deficit=None):
        return integrals.rectified_power(k, a, b, same, deficit, degree=self.degree)

    def bend(self, a):
        return jnp.zeros_like(a)  # φ of a longer variable is a multiple

    def kernel(self, block, left, right):
        block = self.gaussian(block)
        if self.degree == 1:
            return Relu().kernel(block, left, right)
        if block.deficit is None or self.degree:
            return super().kernel(block, left, right)
        a, b = left_of(block, left), right_of(block, right)
        some, both = (a > 0) | (b > 0), (a > 0) & (b > 0)
        deficit, mean = jump_deficit(block.deficit, block.surplus, a, b, height=1)
        tangent = None if block.tangent is None else jnp.zeros_like(block.tangent)
        return block.replace(
            covariance=jnp.where(both, mean, jnp.where(some, 0.5, 1.0)),
            deficit=jnp.where(both, deficit, jnp.where(some, 0.5**0.5 - 0.5, 0.0)),
            tangent=tangent,
            gaussian=False,
        )

    def approach(self, gap, left, right):
        if self.degree == 1:
            return Relu().approach(gap, left, right)
        return 0.0 if self.degree else gap / 2  # θ/π


@dataclass(frozen=True)
class Elementwise(Activation):
    """Any activation whose E[φ(u)φ(v)] = mean(k, a, b) is known; `slope`, E[φ'φ'], is ∂mean/∂k unless given.

    `call` is φ, for finite networks; k is the covariance of u and v, a and b are their variances.
    """

    call: Callable[[Any], Any] | None = None
    mean: Callable[[Any, Any, Any], Any] | None = None
    slope: Callable[[Any, Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.call is None and self.mean is None:
            raise ValueError("Elementwise needs a function for finite networks, a mean for infinite ones, or both")

    def bend(self, a):
        return None  # the mean need not have derivatives at parallel variables

    def function(self, x):
        if self.call is None:
            raise ValueError("this Elementwise layer was given no function, so it has no finite network")
        return self.call(x)

    def integrals(self, k, a, b, same):
        if self.mean is None:
            raise ValueError("this Elementwise layer was given no Gaussian integral: use Numerical instead")
        if self.slope is None:
            return integrals.by_price(self.mean)(k, a, b, same)
        return self.mean(k, a, b), self.slope(k, a, b)


@dataclass(frozen=True)
class Numerical(Activation):
    """Any activation, by quadrature with `nodes` points a direction.

    Smooth: the trapezoidal rule, exponentially accurate. With `kinks`, the places where the function or one of its
    derivatives jumps, the plane is cut there and the same accuracy is kept (at about ten times the cost).

    `call` is φ; `derivative` is φ′, found by differentiation if None.
    """

    call: Callable[[Any], Any]
    nodes: int = 32
    kinks: tuple[float, ...] = ()
    derivative: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ValueError(f"a quadrature needs at least 1 node, got {self.nodes}")

    def bend(self, a):
        return None  # nodes do not follow a correlation of 1

    def function(self, x):
        return self.call(x)

    def integrals(self, k, a, b, same):
        slope = self.derivative or slope_of(self.call)
        rule = partial(quadrature.kinked_integrals, kinks=self.kinks) if self.kinks else quadrature.smooth_integrals
        return rule(self.call, slope, nodes=self.nodes)(k, a, b, same)


def _degree(degree: int) -> int:
    if degree < 0:
        raise ValueError(f"a degree must not be negative, got {degree}")
    return degree


doors(__name__, degree="[0, 150]", nodes="[1, 2000]", gamma="[0, ∞)")
