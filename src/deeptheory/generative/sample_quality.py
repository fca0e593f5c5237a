"""What samples show of a model that gives no density: how well they are told from data, and how sharp images are."""

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from deeptheory.foundations.entrances import doors

__all__ = ["sharpness", "two_sample_accuracy"]


def two_sample_accuracy(first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "n d"]) -> float:
    """Return the share of points of two samples of one size whose nearest other point is of their own sample.

    The accuracy of a nearest-neighbour classifier, each point left out in turn. In the mean it is (n − 1)/(2n − 1) for
    samples of one law, whatever the law: about ½. For many points it lies between ½ and the best classifier's
    ½(1 + TV). Below ½ by many standard errors one sample copies the other. Points must differ within a sample; in high
    dimension it is slow and sees little. Reference: Lopez-Paz and Oquab 2017, Revisiting classifier two-sample tests.
    """
    both = np.concatenate([first, second])
    own = np.repeat([0, 1], len(first))
    nearest = np.asarray(KDTree(both).query(both, k=2)[1])
    if nearest.max() == len(both):
        raise ValueError(
            "points must be less than 1e154 apart: squares of their distances are no floating-point numbers"
        )
    # Among equal points the tree may name the point itself second.
    other = np.where(nearest[:, 0] == np.arange(len(both)), nearest[:, 1], nearest[:, 0])
    return float(np.mean(own[other] == own))


def sharpness(images: Float[np.ndarray, "n height width"]) -> Float[np.ndarray, " n"]:
    """Return the mean over inner pixels of |4x − sum of the four neighbours|, the discrete Laplacian, of each image.

    Averaging over neighbours lowers it and noise raises it: it compares images of one kind, of one contrast. Images of
    three pixels a side or more. Reference: arora Fig. 14.3.
    """
    if min(images.shape[1:]) < 3:
        raise ValueError(f"images must have at least three pixels a side, got {images.shape[1]} by {images.shape[2]}")
    around = images[:, :-2, 1:-1] + images[:, 2:, 1:-1] + images[:, 1:-1, :-2] + images[:, 1:-1, 2:]
    return np.abs(4 * images[:, 1:-1, 1:-1] - around).mean((1, 2))


doors(__name__)
