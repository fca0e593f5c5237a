import equinox as eqx
import jax
import numpy as np
import pytest

from deeptheory.architectures.vision_transformers import init_vision_transformer, patchify, unpatchify

run = eqx.filter_jit(lambda model, images: model(images))

IMAGES = np.random.default_rng(0).standard_normal((2, 4, 6, 3))


@pytest.mark.item("L10.42")
def test_patches_and_back():
    patches = np.asarray(patchify(IMAGES, 2))
    assert patches.shape == (2, 6, 12)
    np.testing.assert_array_equal(patches[1, 4], IMAGES[1, 2:4, 2:4].ravel())
    np.testing.assert_array_equal(unpatchify(patches, 2, height=4, width=6), IMAGES)
    with pytest.raises(ValueError, match="size must divide the height 4 and the width 6 of the images, got 4"):
        patchify(IMAGES, 4)
    with pytest.raises(ValueError, match="6 patches of 12 numbers must be 4 × 4 pixels in squares of side 2"):
        unpatchify(patches, 2, height=4, width=4)


@pytest.mark.item("L10.42")
def test_embedded_patches_are_a_strided_convolution():
    model = init_vision_transformer(jax.random.key(0), image=6, size=2, channels=3, width=5, layers=0, heads=1)
    images = np.random.default_rng(1).standard_normal((2, 6, 6, 3))
    kernel = np.asarray(model.embedding.weight).reshape(2, 2, 3, 5)
    convolved = jax.lax.conv_general_dilated(
        images, kernel, (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    expected = convolved.reshape(2, 9, 5) + np.asarray(model.embedding.bias) + np.asarray(model.positions)
    np.testing.assert_allclose(model.tokens(images), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.item("L10.42")
def test_without_positions_patches_may_change_places():
    model = init_vision_transformer(jax.random.key(0), image=6, size=2, width=8, layers=1, classes=3)
    images = np.random.default_rng(1).standard_normal((2, 6, 6, 1))
    mixed = unpatchify(patchify(images, 2)[:, np.random.default_rng(2).permutation(9)], 2, height=6, width=6)
    assert np.abs(run(model, images) - run(model, mixed)).max() > 1e-2
    placeless = type(model)(model.embedding, 0 * model.positions, model.blocks, model.head, 2)
    np.testing.assert_allclose(run(placeless, images), run(placeless, mixed), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="images must have 9 patches, got 4"):
        model(images[:, :4, :4])
