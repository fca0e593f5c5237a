"""Layers under their neural-tangents 0.6.5 names, arguments and defaults; each is a triple of functions.

Reference: `neural_tangents.stax` of Novak et al. 2020, Neural Tangents: fast and easy infinite neural networks in
Python.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp

from deeptheory import kernels
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import among
from deeptheory.kernels.layers.layer import Layer, Scalar
from deeptheory.kernels.layers.masks import MaskedArray
from deeptheory.neural_tangents.activations import (
    ABRelu,
    Abs,
    Cos,
    Elementwise,
    ElementwiseNumerical,
    Erf,
    Exp,
    ExpNormalized,
    Gabor,
    Gaussian,
    Gelu,
    Hermite,
    LeakyRelu,
    Monomial,
    Polynomial,
    Rbf,
    RectifiedMonomial,
    Relu,
    Sigmoid_like,
    Sign,
    Sin,
)
from deeptheory.neural_tangents.affine import Conv, ConvLocal, ConvTranspose, Dense, GlobalSelfAttention
from deeptheory.neural_tangents.analytic import is_masked
from deeptheory.neural_tangents.positions import (
    Aggregate,
    AvgPool,
    DotGeneral,
    Flatten,
    GlobalAvgPool,
    GlobalSumPool,
    ImageResize,
    Index,
    LayerNorm,
    Slice,
    SumPool,
)
from deeptheory.neural_tangents.triples import Triple, layer_of, named, triple

__all__ = [
    "ABRelu",
    "Abs",
    "Aggregate",
    "AvgPool",
    "Conv",
    "ConvLocal",
    "ConvTranspose",
    "Cos",
    "Dense",
    "DotGeneral",
    "Dropout",
    "Elementwise",
    "ElementwiseNumerical",
    "Erf",
    "Exp",
    "ExpNormalized",
    "FanInConcat",
    "FanInProd",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gabor",
    "Gaussian",
    "Gelu",
    "GlobalAvgPool",
    "GlobalSelfAttention",
    "GlobalSumPool",
    "Hermite",
    "Identity",
    "ImageResize",
    "Index",
    "LayerNorm",
    "LeakyRelu",
    "MaskedArray",
    "Monomial",
    "Polynomial",
    "Rbf",
    "RectifiedMonomial",
    "Relu",
    "Sigmoid_like",
    "Sign",
    "Sin",
    "Slice",
    "SumPool",
    "layer",
    "parallel",
    "repeat",
    "serial",
    "unmask_fn",
]


@named
def serial(*layers: Any) -> Layer:
    return kernels.serial(*map(layer_of, layers))


@named
def parallel(*layers: Any) -> Layer:
    return kernels.parallel(*map(layer_of, layers))


@named
def repeat(layer: Any, n: int) -> Layer:
    """Compose a layer, or a block of layers, `n` times in a row, weights drawn anew each time."""
    return kernels.repeat(layer_of(layer), n)


def layer(layer_fn: Callable[..., Any]) -> Callable[..., Triple]:
    """Let the `kernel_fn` of a triple made by hand, a function of a `Kernel`, take inputs as well."""

    @wraps(layer_fn)
    def made(*args: Any, **kwargs: Any) -> Triple:
        return triple(layer_of(tuple(layer_fn(*args, **kwargs))), layer_fn.__name__)

    return made


def unmask_fn(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a network's outputs as arrays, 0 where they are masked."""

    def unmasked(part: Any) -> Any:
        return jnp.where(part.mask, 0, part.masked_value) if is_masked(part) else part

    @wraps(fn)
    def visible(*args: Any, **kwargs: Any) -> Any:
        return jax.tree.map(unmasked, fn(*args, **kwargs), is_leaf=is_masked)

    return visible


@named
def Identity() -> Layer:
    return kernels.Identity()


@named
def FanOut(num: int) -> Layer:
    """A tuple of `num` copies of the input, one for each branch of `parallel`."""
    return kernels.FanOut(num)


@named
def FanInSum() -> Layer:
    return kernels.FanInSum()


@named
def FanInProd() -> Layer:
    return kernels.FanInProd()


@named
def FanInConcat(axis: int = -1) -> Layer:
    return kernels.FanInConcat(axis)


@named
def Dropout(rate: Scalar, mode: str = "train") -> Layer:
    """Keep every unit with probability `rate` and scale it by 1/rate; in `mode` "test" nothing happens.

    Every pass of an input through the network draws its own mask: the diagonal of a kernel of one set, a pass with
    itself, grows by 1/rate, and all other entries stay. Reference: Srivastava et al. 2014; Schoenholz et al. 2017.
    """
    among(("train", "test"), mode=mode)
    return kernels.Dropout(rate, mode == "train")


doors(__name__, n="[0, 1e5]", num="[1, 1e5]", axis="[-64, 64]", rate="(0, 1]")
