"""Vision transformer: an image cut into patches, each a token, read by transformer encoder blocks.

Reference: lucchi Fig. 10.24; Dosovitskiy et al. 2020.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.architectures.attention_layers import Linear, init_linear
from deeptheory.architectures.transformers import EncoderBlock, init_encoder_block
from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.randomness import generator

__all__ = ["VisionTransformer", "init_vision_transformer", "patchify", "unpatchify"]

Images = Float[AnyArray, "*batch height width channels"]


def patchify(images: Images, size: int) -> Float[Array, "*batch patches numbers"]:
    """Cut images into square patches, row by row, each flattened to size · size · channels numbers.

    A linear map of patches is a convolution whose kernel and stride are both the patch. Reference: lucchi Fig. 10.24.
    """
    images = jnp.asarray(images)
    *batch, height, width, channels = images.shape
    if height % size or width % size:
        raise ValueError(f"size must divide the height {height} and the width {width} of the images, got {size}")
    cut = images.reshape(*batch, height // size, size, width // size, size, channels)
    return jnp.swapaxes(cut, -4, -3).reshape(*batch, -1, size * size * channels)


def unpatchify(
    patches: Float[AnyArray, "*batch patches numbers"], size: int, *, height: int, width: int
) -> Float[Array, "*batch height width channels"]:
    """Put patches together again: the inverse of `patchify` for images of a height and a width.

    `size` is the side of a patch.
    """
    patches = jnp.asarray(patches)
    *batch, count, numbers = patches.shape
    if height % size or width % size or count * size * size != height * width or numbers % (size * size):
        raise ValueError(
            f"{count} patches of {numbers} numbers must be {height} × {width} pixels in squares of side {size}"
        )
    cut = patches.reshape(*batch, height // size, width // size, size, size, -1)
    return jnp.swapaxes(cut, -4, -3).reshape(*batch, height, width, -1)


class VisionTransformer(eqx.Module):
    """Patches through an affine embedding, plus positions, through encoder blocks; their mean through an affine head.

    With all positions zero the output does not change when patches change places: the blocks commute with every
    permutation and the mean forgets it. Reference: Dosovitskiy et al. (2020), with a mean for a class token.
    """

    embedding: Linear
    positions: Float[AnyArray, "patches d"]
    blocks: tuple[EncoderBlock, ...]
    head: Linear
    size: int = eqx.field(static=True)

    def tokens(self, images: Images) -> Float[Array, "*batch patches d"]:
        """Tokens after the last block."""
        patches = patchify(images, self.size)
        if patches.shape[-2] != len(self.positions):
            raise ValueError(f"images must have {len(self.positions)} patches, got {patches.shape[-2]}")
        tokens = self.embedding(patches) + self.positions
        for block in self.blocks:
            tokens = block(tokens)
        return tokens

    def __call__(self, images: Images) -> Float[Array, "*batch classes"]:
        return self.head(self.tokens(images).mean(axis=-2))


def init_vision_transformer(
    key: Key[Array, ""],
    *,
    image: int,
    size: int,
    channels: int = 1,
    width: int = 32,
    layers: int = 2,
    heads: int = 2,
    classes: int = 10,
) -> VisionTransformer:
    """Draw a vision transformer for square images of side `image` in patches of side `size`.

    `width` is that of the tokens, feed-forward networks have four times as many nodes; `size` must divide `image`.
    """
    if image % size:
        raise ValueError(f"size must divide the side {image} of the images, got {size}")
    first, second, third, *rest = jax.random.split(key, layers + 3)
    positions = generator(second).standard_normal(((image // size) ** 2, width)) / np.sqrt(width)
    blocks = tuple(init_encoder_block(each, width, 4 * width, heads=heads) for each in rest)
    embedding = init_linear(first, size * size * channels, width)
    return VisionTransformer(embedding, jnp.asarray(positions), blocks, init_linear(third, width, classes), size)


doors(
    __name__,
    size="[1, 1e4]",
    height="[1, 1e5]",
    image="[1, 1e4]",
    channels="[1, 1e4]",
    width="[1, 1e5]",
    layers="[0, 200]",
    heads="[1, 1e4]",
    classes="[1, 1e6]",
)
