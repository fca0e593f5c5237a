"""The digits that ship with the package are those of MNIST."""

import numpy as np
import pytest

from deeptheory.data import digits


def test_images_are_averages_over_two_by_two_pixels(mnist):
    ours = digits(train=50, test=20)
    for images, labels, name in (
        (ours.train_images, ours.train_labels, "train"),
        (ours.test_images, ours.test_labels, "test"),
    ):
        pooled = sum(mnist[f"x_{name}"][: len(images), i::2, j::2].astype(float) for i in (0, 1) for j in (0, 1)) / 4
        np.testing.assert_allclose(images * 255, pooled.reshape(len(images), -1), atol=0.5)
        np.testing.assert_array_equal(labels, mnist[f"y_{name}"][: len(images)])


def test_too_many_are_refused():
    with pytest.raises(ValueError, match="3,000 training"):
        digits(train=3001)


def test_coarser_images_are_averages_of_the_finer():
    fine, coarse, coarsest = (digits(train=3, test=2, side=side) for side in (14, 7, 2))
    image = fine.train_images[1].reshape(14, 14)
    assert coarse.train_images[1].reshape(7, 7)[2, 5] == pytest.approx(image[4:6, 10:12].mean())
    assert coarsest.test_images[1, 3] == pytest.approx(fine.test_images[1].reshape(14, 14)[7:, 7:].mean())
    with pytest.raises(ValueError, match="side must be 14, 7 or 2 pixels, got 8"):
        digits(side=8)
