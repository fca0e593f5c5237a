"""Activations under their neural-tangents 0.6.5 names, arguments and defaults.

A function without words of its own shows those of the layer of its name in `deeptheory.kernels`. Reference:
`neural_tangents.stax` of Novak et al. 2020, Neural Tangents: fast and easy infinite neural networks in Python; for the
integrals Williams 1997, Cho and Saul 2009, Han et al. 2022.
"""

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
    """max(x, 0), the rectifier, whose kernels are the arc-cosine ones (Cho and Saul 2009).

    `do_stabilize` is accepted and not needed: correlations are normalized before they enter an arccosine.
    """
    return kernels.Relu()


@named
def LeakyRelu(alpha: Scalar, do_stabilize: bool = False) -> Layer:
    """max(x, 0) + α min(x, 0) with the slope α = `alpha` below zero; `do_stabilize` does nothing.

    Reference: Tsuchida, Roosta and Gallagher 2018.
    """
    return kernels.LeakyRelu(alpha)


@named
def ABRelu(a: Scalar, b: Scalar, do_stabilize: bool = False) -> Layer:
    """a·min(x, 0) + b·max(x, 0); `do_stabilize` does nothing, these kernels need no help.

    Reference: Tsuchida, Roosta and Gallagher 2018.
    """
    return kernels.Rectifier(a, b)


@named
def Abs(do_stabilize: bool = False) -> Layer:
    """|x|, the rectifier with slopes −1 and 1, which forgets the sign of its input; `do_stabilize` does nothing."""
    return kernels.Abs()


@named
def Erf(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Layer:
    """a·erf(b·x) + c, whose covariance is an arcsine (Williams 1997)."""
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
    """a·sin(b·x + c) with the phase c in radians, in closed form by the characteristic function of a Gaussian."""
    return kernels.Sin(a, b, c)


@named
def Cos(a: Scalar = 1.0, b: Scalar = 1.0, c: Scalar = 0.0) -> Layer:
    """a·cos(b·x + c) with the phase c in radians: the sine a quarter turn on."""
    return kernels.Cos(a, b, c)


@named
def Rbf(gamma: Scalar = 1.0) -> Layer:
    return kernels.Rbf(gamma)


@named
def Sign() -> Layer:
    return kernels.Sign()


@named
def Exp(a: Scalar = 1, b: Scalar = 1) -> Layer:
    """a·exp(b·x), of covariance a² exp(b²(v + v′ + 2k)/2) for variances v, v′: it overflows where these are large."""
    return kernels.Exp(a, b)


@named
def ExpNormalized(gamma: Scalar = 1, shift: Scalar | bool = -1, do_clip: bool = False) -> Layer:
    """The law √(vv′) exp(γ(ρ + shift)) of covariances with γ = `gamma`, which no finite network has.

    v and v′ are variances and ρ the correlation; `do_clip` does nothing. Reference: Shankar et al. 2020.
    """
    return kernels.ExpNormalized(gamma, 1 * shift)  # its own tests say `True` here and mean 1


@named
def Gaussian(a: Scalar = 1, b: Scalar = -1) -> Layer:
    """a·exp(b·x²), a bell for negative b; with b > 0 it has a second moment only for variances below 1/(4b)."""
    return kernels.Gaussian(a, b)


@named
def Gabor() -> Layer:
    return kernels.Gabor()


@named
def Hermite(degree: Annotated[int, "[0, 200]"]) -> Layer:
    """The normalized Hermite polynomial of that degree n, of covariance kⁿ for inputs of variance 1.

    Exact for inputs of any variance; neural-tangents assumes variance 1, where both agree. Reference: Daniely, Frostig
    and Singer 2016.
    """
    return kernels.Hermite(degree)


@named
def Monomial(degree: int) -> Layer:
    return kernels.Monomial(degree)


@named
def RectifiedMonomial(degree: int) -> Layer:
    return kernels.RectifiedMonomial(degree)


@named
def Polynomial(coef: Sequence[Scalar]) -> Layer:
    """Σ cₙxⁿ with `coef` c₀, c₁, …, lowest power first; exact, by the moments of two Gaussians."""
    return kernels.Polynomial(tuple(c if isinstance(c, jax.Array) else float(c) for c in coef))


@named
def Elementwise(
    fn: Callable[[Any], Any] | None = None,
    nngp_fn: Callable[[Any, Any, Any], Any] | None = None,
    d_nngp_fn: Callable[[Any, Any, Any], Any] | None = None,
) -> Layer:
    """Any activation φ = `fn` with known E[φ(u)φ(v)] = nngp_fn(k, a, b) and E[φ′(u)φ′(v)] = d_nngp_fn(k, a, b).

    k is the covariance of the Gaussians u and v, a and b are their variances. Functions of scalars, vectorized here;
    `d_nngp_fn` is the derivative of `nngp_fn` by k where it is left out.
    """
    several = [None if f is None else jnp.vectorize(f) for f in (fn, nngp_fn, d_nngp_fn)]
    return kernels.Elementwise(*several)


@named
def ElementwiseNumerical(fn: Callable[[Any], Any], deg: int, df: Callable[[Any], Any] | None = None) -> Layer:
    """Any elementwise `fn` by quadrature with `deg` nodes a direction; `df` is its derivative, found if None.

    For functions without kinks.
    """
    slope = None if df is None else jnp.vectorize(df)
    return kernels.Numerical(jnp.vectorize(fn), deg, (), slope)


doors(__name__, empty=("coef",), degree="[0, 150]", deg="[1, 2000]", gamma="[0, ∞)")
