"""Convolutions of raw inputs, as they are compiled, against patches cut out one by one."""

from itertools import product

import numpy as np
import pytest

from deeptheory import kernels as k


def patches(x, window, strides, padding):
    """Return (inputs, positions…, what the window sees there)."""
    rank = len(window)
    if padding != "VALID":
        missing = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(x.shape[1:], window, strides, strict=False)]
        pads = [(0, 0), *((each // 2, each - each // 2) for each in missing), (0, 0)]
        x = np.pad(x, pads, mode="wrap" if padding == "CIRCULAR" else "constant")
    seen = np.lib.stride_tricks.sliding_window_view(x, window, tuple(range(1, rank + 1)))
    seen = seen[(slice(None), *(slice(None, None, s) for s in strides))]
    return seen.reshape(*seen.shape[: rank + 1], -1)


def check(count, extents, channels, window, strides, padding):
    x = np.random.default_rng(0).standard_normal((count, *extents, channels))
    seen = patches(x, window, strides, padding)
    names = ("nhp,mip->nmhi", "nhp,nip->nhi") if len(window) == 1 else ("nhwp,mijp->nmhiwj", "nhwp,nijp->nhiwj")
    found = k.limit_kernel(k.Conv(1, window, strides, padding), x)
    for name, one in zip(names, (found.nngp, found.cov1), strict=True):
        np.testing.assert_allclose(one, np.einsum(name, seen, seen) / seen.shape[-1], atol=1e-13)


@pytest.mark.parametrize(
    "case",
    [
        (2, (6,), 1, (3,), (1,), "SAME"),
        (1, (5,), 2, (3,), (2,), "CIRCULAR"),
        (2, (4, 3), 1, (3, 2), (1, 2), "SAME"),
    ],
)
def test_covariances_of_convolutions(case):
    """The first was wrong by half when shifted parts were added in place."""
    check(*case)


@pytest.mark.slow
@pytest.mark.parametrize("padding", ["SAME", "VALID", "CIRCULAR"])
@pytest.mark.parametrize("extents", [(5,), (7,), (3, 4)])
def test_covariances_of_all_convolutions(extents, padding):
    for count, channels, width, stride in product((1, 2), (1, 2), (2, 3), (1, 2)):
        window, strides = ((each,) * len(extents) for each in (width, stride))
        check(count, extents, channels, window, strides, padding)
