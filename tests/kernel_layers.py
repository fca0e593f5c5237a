"""Every layer with a kernel in its ways, small: what tests ask of all layers, they ask of these."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory import kernels as k

ACTIVATIONS = (
    k.Relu(), k.LeakyRelu(0.3), k.Abs(), k.Sign(), k.Erf(), k.SigmoidLike(), k.Gelu(), k.Sin(), k.Rbf(0.5), k.Gabor(),
    k.Gaussian(), k.Exp(0.6, 0.5), k.Polynomial((0.3, 1.0, 0.2)), k.RectifiedMonomial(0), k.RectifiedMonomial(1),
    k.RectifiedMonomial(2), k.Hermite(2), k.Numerical(jnp.tanh, 8), k.Numerical(jax.nn.relu, 8, (0.0,)),
)  # fmt: skip
"""those that a finite network has"""
SHAPE, WIDTH = (3, 2), 4
"""positions along each axis, as many as inputs have, and channels of every layer with weights"""
PATTERNS = np.random.default_rng(5).uniform(0.2, 1.0, (3, *SHAPE, *SHAPE)).astype(np.float32)
EDGES = np.array([[[0, 1], [1, 1], [2, 0]], [[0, 2], [1, 0], [0, -1]], [[2, 1], [0, 0], [1, 2]]])


def dense(width: int = WIDTH, W_std: float = 1.1, b_std: float | None = 0.3, **settings: Any) -> k.Dense:
    return k.Dense(width, W_std, b_std, **settings)


def branches(join: k.Layer, width: int = WIDTH) -> k.Layer:
    """Two branches of their own, one with an activation before its weights."""
    return k.serial(k.FanOut(2), k.parallel(k.serial(k.Erf(), dense(width)), dense(b_std=None)), join)


def _anywhere() -> dict[str, k.Layer]:
    laws = {f"{type(each).__name__} {i}": each for i, each in enumerate((*ACTIVATIONS, k.Cos(), k.ExpNormalized(0.7)))}
    return laws | {
        "Dense": dense(),
        "Dense, standard": k.serial(dense(parameterization="standard"), k.Relu(), dense(parameterization="standard")),
        "Elementwise": k.Elementwise(jnp.sin, *map(_law_of_sines, (False, True))),
        "LayerNorm": k.LayerNorm(),
        "Dropout": k.serial(k.Relu(), k.Dropout(0.6), dense(), k.Dropout(0.8)),
        "FanInSum": branches(k.FanInSum()),
        "FanInProd": branches(k.FanInProd()),
        "FanInConcat": branches(k.FanInConcat(), 2 * WIDTH),
        "repeat": k.repeat(k.serial(k.Relu(), dense()), 2),
    }  # fmt: skip


def _law_of_sines(slope: bool) -> Any:
    """sin has the covariance e^{−(a+b)/2} sinh k, and so its slope cosh k."""
    return lambda c, a, b: jnp.exp(-(a + b) / 2) * (jnp.cosh(c) if slope else jnp.sinh(c))


def _over_positions(rank: int) -> dict[str, k.Layer]:
    window, strides = (2, 1)[:rank], (2, 1)[:rank]
    made: dict[str, k.Layer] = {
        "Flatten": k.serial(k.Relu(), k.Flatten()),
        "GlobalAvgPool": k.GlobalAvgPool(),
        "GlobalSumPool": k.GlobalSumPool(),
        "LayerNorm over positions": k.LayerNorm((1, -1)),
        "FanInConcat of positions": branches(k.FanInConcat(1)),
        "ImageResize": k.ImageResize((2, 3)[:rank]),
        "Index": k.Index((slice(1, 3), 0)[:rank]),
        "Contraction": k.Contraction(np.linspace(-1.0, 1.0, 6).reshape(3, 2), (((0,), (0,)), ((), ()))),
        "Aggregate": k.Aggregate(),
        "Aggregate over an axis": k.Aggregate((0,), decode=jnp.sqrt),
        "Aggregate over edges": k.Aggregate((0,), listed=True),
        "SelfAttention": k.SelfAttention(WIDTH, 4, 4, 4, W_key_std=1.3, b_std=0.2),
        "SelfAttention, places added": k.SelfAttention(
            WIDTH, 4, 4, 4, embedding="SUM", embedding_decay=lambda d: jnp.exp(-d), embed_values=True
        ),
        "SelfAttention, places appended": k.SelfAttention(
            WIDTH, 4, 4, 4, mechanism="RELU", embedding="CONCAT", embedding_width=3
        ),
        "SelfAttention, square root": k.SelfAttention(WIDTH, 4, 4, 4, linear_scaling=False, mechanism="IDENTITY"),
        "convolution, standard": k.Conv(WIDTH, window, None, "SAME", 1.2, 0.3, parameterization="standard"),
    }
    for padding in ("SAME", "VALID", "CIRCULAR"):
        for kind in (k.Conv, k.ConvLocal, k.ConvTranspose):
            made[f"{kind.__name__}, {padding}"] = k.serial(k.Relu(), kind(WIDTH, window, strides, padding, 1.2, 0.3))
        for pool in (k.AvgPool, k.SumPool):
            made[f"{pool.__name__}, {padding}"] = pool(window, strides, padding)
    made["AvgPool, edges"] = k.AvgPool((2,) * rank, None, "SAME", normalize_edges=True)
    return made


LAYERS: dict[str, dict[int, k.Layer]] = {}
"""by name, and by the number of axes of positions"""
for _rank in (0, 1, 2):
    for _name, _layer in (_anywhere() | (_over_positions(_rank) if _rank else {})).items():
        LAYERS.setdefault(_name, {})[_rank] = _layer


def pattern(name: str, rank: int) -> np.ndarray | None:
    """The graphs of three inputs, for layers that need one."""
    if not name.startswith("Aggregate"):
        return None
    return EDGES if "edges" in name else PATTERNS if rank == 2 and "axis" not in name else PATTERNS[:, :, 0, :, 0]
