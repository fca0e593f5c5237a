"""A convolutional network from image to probability: filters, ReLU, pooling, a linear layer, a sigmoid.

Reference: lucchi Sec. 10.1; LeCun, Bottou, Bengio and Haffner 1998.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.architectures.feature_maps import Convolution, init_convolution, output_size, same_padding
from deeptheory.architectures.pooling import global_max_pool, max_pool
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = ["ConvolutionalNetwork", "init_convolutional_network"]

Batch = Float[AnyArray, "n rows columns channels"]


class ConvolutionalNetwork(eqx.Module):
    """P(Y = 1 | x) = 1/(1 + e^(−f(x))), f a linear function of pooled feature maps (lucchi Sec. 10.1, Fig. 10.3–10.12).

    Every convolution is followed by ReLU and max pooling over `pool` × `pool` windows. The last maps are flattened, or
    with `everywhere` summarized by the maximum over all places: with circular boundary and pool 1 the answer is then
    the same, to the last digit, wherever in the image a pattern stands.
    """

    convolutions: tuple[Convolution, ...]
    weights: Float[AnyArray, " _features"]
    bias: Float[AnyArray, ""]
    pool: int = eqx.field(static=True, default=2)
    everywhere: bool = eqx.field(static=True, default=False)

    def maps(self, x: Batch) -> Float[Array, "n new_rows new_columns filters"]:
        """The feature maps after the last pooling."""
        for convolution in self.convolutions:
            x = max_pool(jax.nn.relu(convolution(x)), window=self.pool)
        return jnp.asarray(x)

    def score(self, x: Batch) -> Float[Array, " n"]:
        """The number f(x) whose sigmoid is the probability: the log-odds."""
        maps = self.maps(x)
        features = global_max_pool(maps) if self.everywhere else maps.reshape(len(x), -1)
        if features.shape[-1] != self.weights.shape[-1]:
            raise ValueError(
                f"the linear layer takes {self.weights.shape[-1]} features, got {features.shape[-1]} from images of "
                f"{x.shape[1]} × {x.shape[2]}"
            )
        return features @ self.weights + self.bias

    def __call__(self, x: Batch) -> Float[Array, " n"]:
        return jax.nn.sigmoid(self.score(x))


def init_convolutional_network(
    key: Key[Array, ""],
    size: int,
    channels: int,
    filters: Sequence[int],
    *,
    window: int = 3,
    pool: int = 2,
    everywhere: bool = False,
    boundary: str = "zeros",
) -> ConvolutionalNetwork:
    """A network for square images of `size`; each entry of `filters` adds a convolution that is padded to keep it.

    `channels` are those of the image, `window` is the odd side of all filters, and every layer ends with max pooling
    over `pool` × `pool` places; `everywhere` and `boundary` ("zeros" or "circular") as in `ConvolutionalNetwork`.
    Filters as `init_convolution` draws them, head N(0, 1/features).
    """
    padding = same_padding(window)
    widths = [channels, *filters]
    keys = jax.random.split(key, len(widths))
    layers = []
    for each, before, after in zip(keys, widths, filters, strict=False):
        layers.append(init_convolution(each, before, after, window, padding=padding, boundary=boundary))
        size = output_size(size, window=pool, stride=pool)
    features = widths[-1] * (1 if everywhere else size**2)
    head = generator(keys[-1]).standard_normal(features) / np.sqrt(features)
    return ConvolutionalNetwork(tuple(layers), head, np.zeros(()), pool, everywhere)


doors(
    __name__,
    size="[1, 4096]",
    channels="[1, 65536]",
    filters="[1, 65536]",
    window="[1, 1023]",
    pool="[1, 65536]",
)
