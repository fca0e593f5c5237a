"""Handwritten digits: the first 3,000 training and 1,000 test images of MNIST, averaged over 2×2 pixels to 14×14.

MNIST is by Y. LeCun, C. Cortes and C. Burges, made available under CC BY-SA 3.0; this excerpt carries the same licence.

Reference: LeCun, Bottou, Bengio and Haffner 1998.
"""

from importlib.resources import files
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from deeptheory.foundations.entrances import doors

__all__ = ["Digits", "digits"]


class Digits(NamedTuple):
    """Images as rows of side² numbers in [0, 1], labels 0 to 9."""

    train_images: Float[np.ndarray, "n pixels"]
    train_labels: Int[np.ndarray, "n"]
    test_images: Float[np.ndarray, "m pixels"]
    test_labels: Int[np.ndarray, "m"]


def digits(train: int = 3000, test: int = 1000, *, side: int = 14) -> Digits:
    """The first `train` training and `test` test images, in the order of MNIST; with `side` 7 or 2 averaged further."""
    if side not in (14, 7, 2):
        raise ValueError(f"side must be 14, 7 or 2 pixels, got {side}")
    if not (1 <= train <= 3000 and 1 <= test <= 1000):
        raise ValueError(f"there are 3,000 training and 1,000 test images, got train = {train}, test = {test}")
    with files("deeptheory.data").joinpath("digits.npz").open("rb") as file, np.load(file) as kept:
        images = {part: _averaged(kept[f"{part}_images"] / 255.0, side) for part in ("train", "test")}
        labels = {part: kept[f"{part}_labels"].astype(np.int64) for part in ("train", "test")}
    return Digits(images["train"][:train], labels["train"][:train], images["test"][:test], labels["test"][:test])


def _averaged(images: Float[np.ndarray, "n 14 14"], side: int) -> Float[np.ndarray, "n pixels"]:
    block = 14 // side
    return images.reshape(-1, side, block, side, block).mean((2, 4)).reshape(len(images), -1)


doors(__name__)
