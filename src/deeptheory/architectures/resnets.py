"""Networks with shortcuts: convolutional blocks, basic residual blocks, dense blocks, and ResNet9.

Reference: lucchi Sec. 10.2, Listing 10.1; He, Zhang, Ren and Sun 2016; Huang, Liu, van der Maaten and Weinberger 2017.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.architectures.feature_maps import Convolution, init_convolution
from deeptheory.architectures.normalizers import BatchNorm, init_batch_norm
from deeptheory.architectures.pooling import global_max_pool, max_pool
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = [
    "BasicBlock", "ConvBlock", "DenseBlock", "ResNet9", "init_basic_block", "init_conv_block", "init_dense_block",
    "init_resnet9",
]  # fmt: skip

Batch = Float[AnyArray, "n rows columns channels"]
Maps = Float[Array, "n new_rows new_columns filters"]


class ConvBlock(eqx.Module):
    """Convolution, batch normalization, ReLU, and max pooling over `pool` × `pool` windows where that is not 1."""

    convolution: Convolution
    norm: BatchNorm
    pool: int = eqx.field(static=True, default=1)

    def __call__(self, x: Batch) -> Maps:
        return max_pool(jax.nn.relu(self.norm(self.convolution(x))), window=self.pool)


class BasicBlock(eqx.Module):
    """ReLU(N(conv(ReLU(N(conv x)))) + shortcut x); the shortcut is the identity, or a 1×1 convolution.

    The 1×1 convolution stands where stride or number of channels change. With gains of zero in the last normalization
    the block returns ReLU(shortcut x), the identity on what a ReLU left. Reference: lucchi Sec. 10.2, Fig. 10.15.
    """

    first: Convolution
    first_norm: BatchNorm
    second: Convolution
    second_norm: BatchNorm
    shortcut: Convolution | None = None

    def __call__(self, x: Batch) -> Maps:
        hidden = jax.nn.relu(self.first_norm(self.first(x)))
        kept = jnp.asarray(x) if self.shortcut is None else self.shortcut(x)
        return jax.nn.relu(self.second_norm(self.second(hidden)) + kept)


class DenseBlock(eqx.Module):
    """x_l = H_l([x_0, …, x_{l−1}]) with H = conv(ReLU(N(·))), every layer reading all maps before it, concatenated.

    Returns all of them concatenated: k₀ + L k channels, where each of L layers adds k. Reference: lucchi Sec. 10.2.
    """

    norms: tuple[BatchNorm, ...]
    convolutions: tuple[Convolution, ...]

    def __call__(self, x: Batch) -> Maps:
        seen = jnp.asarray(x)
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            seen = jnp.concatenate([seen, convolution(jax.nn.relu(norm(seen)))], -1)
        return seen


class ResNet9(eqx.Module):
    """The book's network of eight convolutions and a linear head, with two residual connections (lucchi Listing 10.1).

    Blocks: C → w → 2w (pooled), two of 2w with a skip, 4w and 8w (both pooled), two of 8w with a skip; then a maximum
    over `pool` × `pool` windows, flattened, and a linear layer on 8w numbers. As printed `pool` is 4: that leaves one
    place, which the head needs, only for images of 32 to 63 rows and columns. With `pool=None` the maximum is over
    all places, as the comment in the listing says, and any images of at least 8 × 8 will do. Normalized by the
    statistics of the batch at hand, as in training.
    """

    conv1: ConvBlock
    conv2: ConvBlock
    res1: tuple[ConvBlock, ConvBlock]
    conv3: ConvBlock
    conv4: ConvBlock
    res2: tuple[ConvBlock, ConvBlock]
    weights: Float[AnyArray, "_classes _features"]
    bias: Float[AnyArray, " _classes"]
    pool: int | None = eqx.field(static=True, default=4)

    def maps(self, x: Batch) -> Maps:
        """The feature maps before the head, an eighth of the height and width of the images."""
        out = self.conv2(self.conv1(x))
        out = self.res1[1](self.res1[0](out)) + out
        out = self.conv4(self.conv3(out))
        return self.res2[1](self.res2[0](out)) + out

    def __call__(self, x: Batch) -> Float[Array, "n classes"]:
        if np.ndim(x) != 4:
            raise ValueError(f"x must have shape (images, rows, columns, channels), got {np.shape(x)}")
        if min(x.shape[1:3]) < 8:
            raise ValueError(f"images must be at least 8 × 8, got {x.shape[1]} × {x.shape[2]}")
        maps = self.maps(x)
        if self.pool is None:
            return global_max_pool(maps) @ self.weights.T + self.bias
        flat = max_pool(maps, window=self.pool).reshape(len(x), -1)
        if flat.shape[-1] != self.weights.shape[-1]:
            raise ValueError(
                f"the head takes {self.weights.shape[-1]} numbers, got {flat.shape[-1]} from images of {x.shape[1]} × "
                f"{x.shape[2]}: with windows of {self.pool} × {self.pool} sides must be from {8 * self.pool} to "
                f"{16 * self.pool - 1}, or pool=None"
            )
        return flat @ self.weights.T + self.bias


def init_conv_block(key: Key[Array, ""], channels: int, filters: int, *, pool: int = 1) -> ConvBlock:
    """A block of 3×3 filters padded by 1, so that only the pooling changes the size.

    From `channels` maps to `filters`; `pool` 1 does not pool.
    """
    return ConvBlock(init_convolution(key, channels, filters, 3, padding=1), init_batch_norm(filters), pool)


def init_basic_block(
    key: Key[Array, ""], channels: int, filters: int, *, stride: int = 1, zero: bool = True
) -> BasicBlock:
    """A basic block; with `zero` the gains of its last normalization are 0, so that it starts as its shortcut.

    From `channels` maps to `filters`, the first convolution with this `stride`.

    Reference: Goyal et al. 2017 for the zero gains.
    """
    keys = jax.random.split(key, 3)
    last = init_batch_norm(filters)
    if zero:
        last = BatchNorm(np.zeros(filters), last.shift, last.epsilon)
    same = stride == 1 and channels == filters
    return BasicBlock(
        init_convolution(keys[0], channels, filters, 3, stride=stride, padding=1),
        init_batch_norm(filters),
        init_convolution(keys[1], filters, filters, 3, padding=1),
        last,
        None if same else init_convolution(keys[2], channels, filters, 1, stride=stride),
    )


def init_dense_block(key: Key[Array, ""], channels: int, growth: int, *, layers: int) -> DenseBlock:
    """A dense block of 3×3 convolutions that each add `growth` channels to those before.

    `layers` of them on `channels` maps: channels + layers · growth come out.
    """
    inputs = [channels + growth * layer for layer in range(layers)]
    keys = jax.random.split(key, layers)
    convolutions = tuple(init_convolution(k, c, growth, 3, padding=1) for k, c in zip(keys, inputs, strict=True))
    return DenseBlock(tuple(init_batch_norm(c) for c in inputs), convolutions)


def init_resnet9(key: Key[Array, ""], channels: int, classes: int, *, width: int = 64, pool: int | None = 4) -> ResNet9:
    """ResNet9 with first `width` 64 as printed: 6,575,370 numbers to learn for 3 channels and 10 classes.

    `pool` is the side of the last pooling, over all places if None.
    """
    keys = jax.random.split(key, 9)
    w = width
    sizes = [(channels, w, 1), (w, 2 * w, 2), (2 * w, 2 * w, 1), (2 * w, 2 * w, 1)]
    sizes += [(2 * w, 4 * w, 2), (4 * w, 8 * w, 2), (8 * w, 8 * w, 1), (8 * w, 8 * w, 1)]
    blocks = [init_conv_block(k, i, o, pool=p) for k, (i, o, p) in zip(keys, sizes, strict=False)]
    conv1, conv2, one, two, conv3, conv4, three, four = blocks
    head = generator(keys[8]).standard_normal((classes, 8 * w)) / np.sqrt(8 * w)
    return ResNet9(conv1, conv2, (one, two), conv3, conv4, (three, four), head, np.zeros(classes), pool)


doors(
    __name__,
    channels="[1, 65536]",
    filters="[1, 65536]",
    growth="[1, 4096]",
    layers="[1, 1000]",
    stride="[1, 65536]",
    pool="[1, 65536]",
    classes="[1, 65536]",
    width="[1, 1024]",
)
