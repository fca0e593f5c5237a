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
