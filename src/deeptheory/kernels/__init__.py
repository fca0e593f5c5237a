"""Kernels: one description of a network gives its finite form and its wide limit; tangent kernels of finite ones.

- `finite`: finite networks: their tangent kernels, linearizations and random features.
- `layers`: layers: a finite map each, and the law its covariances follow when channels grow without bound.
- `lazy`: lazy training: how far wide networks move, and what they learn meanwhile.
- `limits`: limits of infinite width: the recursion through a network and the Gaussian integrals it needs.
- `regression`: regression with a kernel: predictions, solvers, tiles for many inputs, eigenfunctions.
"""

from deeptheory.foundations.packages import submodules
from deeptheory.kernels.finite.tangents import (
    functional as functional,
    kernel_spectrum as kernel_spectrum,
    linearize as linearize,
    output_kernel as output_kernel,
    tangent_kernel as tangent_kernel,
    tangent_product as tangent_product,
    taylor_expand as taylor_expand,
)
from deeptheory.kernels.layers.activations import (
    Abs as Abs,
    Activation as Activation,
    Cos as Cos,
    Elementwise as Elementwise,
    Erf as Erf,
    Exp as Exp,
    ExpNormalized as ExpNormalized,
    Gabor as Gabor,
    Gaussian as Gaussian,
    Gelu as Gelu,
    Hermite as Hermite,
    LeakyRelu as LeakyRelu,
    Monomial as Monomial,
    Numerical as Numerical,
    Polynomial as Polynomial,
    Rbf as Rbf,
    RectifiedMonomial as RectifiedMonomial,
    Rectifier as Rectifier,
    Relu as Relu,
    SigmoidLike as SigmoidLike,
    Sign as Sign,
    Sin as Sin,
)
from deeptheory.kernels.layers.attention import SelfAttention as SelfAttention
from deeptheory.kernels.layers.combinators import (
    FanInConcat as FanInConcat,
    FanInProd as FanInProd,
    FanInSum as FanInSum,
    FanOut as FanOut,
    Identity as Identity,
    Parallel as Parallel,
    Serial as Serial,
    parallel as parallel,
    repeat as repeat,
    serial as serial,
)
from deeptheory.kernels.layers.convolution import Conv as Conv, ConvLocal as ConvLocal, ConvTranspose as ConvTranspose
from deeptheory.kernels.layers.dense import Dense as Dense
from deeptheory.kernels.layers.graphs import graph_network as graph_network
from deeptheory.kernels.layers.layer import Layer as Layer
from deeptheory.kernels.layers.masks import MaskedArray as MaskedArray, masked as masked
from deeptheory.kernels.layers.normalization import Dropout as Dropout, LayerNorm as LayerNorm
from deeptheory.kernels.layers.pooling import (
    AvgPool as AvgPool,
    Flatten as Flatten,
    GlobalAvgPool as GlobalAvgPool,
    GlobalSumPool as GlobalSumPool,
    SumPool as SumPool,
)
from deeptheory.kernels.layers.positions import (
    Aggregate as Aggregate,
    Contraction as Contraction,
    ImageResize as ImageResize,
    Index as Index,
)
from deeptheory.kernels.limits.kernel import Kernel as Kernel, continued_kernel as continued_kernel
from deeptheory.kernels.limits.recursion import limit_kernel as limit_kernel
from deeptheory.kernels.regression.classifier import tangent_classifier as tangent_classifier
from deeptheory.kernels.regression.disk import disk_kernel as disk_kernel
from deeptheory.kernels.regression.predictions import (
    descent as descent,
    diagonalize as diagonalize,
    effective_dimension as effective_dimension,
    flow as flow,
    interpolation as interpolation,
    predicted as predicted,
    predicted_ensemble as predicted_ensemble,
    ridge_regression as ridge_regression,
    trained as trained,
    trained_ensemble as trained_ensemble,
)
from deeptheory.kernels.regression.solvers import solve_kernel as solve_kernel
from deeptheory.kernels.regression.tiles import sharded_kernel as sharded_kernel, tiled_kernel as tiled_kernel

__getattr__ = submodules(__name__)
