"""Activations under their neural-tangents 0.6.5 names, arguments and defaults."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp

from deeptheory import kernels
from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Layer, Scalar
from deeptheory.neural_tangents.triples import named

__all__ = [
    "ABRelu",
    "Abs",
    "Cos",
    "Elementwise",
    "ElementwiseNumerical",
    "Erf",
    "Exp",
    "ExpNormalized",
    "Gabor",
    "Gaussian",
    "Gelu",
    "Hermite",
    "LeakyRelu",
    "Monomial",
    "Polynomial",
    "Rbf",
    "RectifiedMonomial",
    "Relu",
    "Sigmoid_like",
    "Sign",
    "Sin",
]


@named
def Relu(do_stabilize: bool = False) -> Layer:
    """`do_stabilize` is accepted and not needed: correlations are normalized before they enter an arccosine."""
    return kernels.Relu()


@named
def LeakyRelu(alpha: Scalar, do_stabilize: bool = False) -> Layer:
    return kernels.LeakyRelu(alpha)


@named
def ABRelu(a: Scalar, b: Scalar, do_stabilize: bool = False) -> Layer:
    """a·min(x, 0) + b·max(x, 0); `do_stabilize` does nothing, these kernels need no help."""
    return kernels.Rectifier(a, b)


@named
def Abs(do_stabilize: bool = False) -> Layer:
    return kernels.Abs()


@named
def Erf(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Layer:
    return kernels.Erf(a, b, c)


@named
def Sigmoid_like() -> Layer:
    """½ erf(x/2.402…) + ½, the nearest such function to the sigmoid on [−5, 5]."""
    return kernels.SigmoidLike()


@named
def Gelu(approximate: bool = False) -> Layer:
    return kernels.Gelu(approximate)


@named
def Sin(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Layer:
    return kernels.Sin(a, b, c)


@named
def Cos(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Layer:
    return kernels.Cos(a, b, c)


@named
def Rbf(gamma: Scalar = 1.0) -> Layer:
    return kernels.Rbf(gamma)


@named
def Sign() -> Layer:
    return kernels.Sign()


@named
def Exp(a: Scalar = 1, b: Scalar = 1) -> Layer:
    return kernels.Exp(a, b)


@named
def ExpNormalized(gamma: Scalar = 1, shift: Scalar | bool = -1, do_clip: bool = False) -> Layer:
    return kernels.ExpNormalized(gamma, 1 * shift)  # its own tests say `True` here and mean 1


@named
def Gaussian(a: Scalar = 1, b: Scalar = -1) -> Layer:
    return kernels.Gaussian(a, b)


@named
def Gabor() -> Layer:
    return kernels.Gabor()


@named
def Hermite(degree: Annotated[int, "[0, 200]"]) -> Layer:
    """Exact for inputs of any variance; neural-tangents assumes variance 1, where both agree."""
    return kernels.Hermite(degree)


@named
def Monomial(degree: int) -> Layer:
    return kernels.Monomial(degree)


@named
def RectifiedMonomial(degree: int) -> Layer:
    return kernels.RectifiedMonomial(degree)


@named
def Polynomial(coef: Sequence[Scalar]) -> Layer:
    return kernels.Polynomial(tuple(c if isinstance(c, jax.Array) else float(c) for c in coef))


@named
def Elementwise(
    fn: Callable[[Any], Any] | None = None,
    nngp_fn: Callable[[Any, Any, Any], Any] | None = None,
    d_nngp_fn: Callable[[Any, Any, Any], Any] | None = None,
) -> Layer:
    """Functions of scalars, vectorized here."""
    several = [None if f is None else jnp.vectorize(f) for f in (fn, nngp_fn, d_nngp_fn)]
    return kernels.Elementwise(*several)


@named
def ElementwiseNumerical(fn: Callable[[Any], Any], deg: int, df: Callable[[Any], Any] | None = None) -> Layer:
    """Any elementwise `fn` by quadrature with `deg` nodes a direction; `df` is its derivative, found if None."""
    slope = None if df is None else jnp.vectorize(df)
    return kernels.Numerical(jnp.vectorize(fn), deg, (), slope)


doors(__name__, empty=("coef",), degree="[0, 150]", deg="[1, 2000]", gamma="[0, ∞)")
