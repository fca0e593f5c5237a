import os
import subprocess
import sys
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.kernels.layers.activations import Relu
from deeptheory.kernels.layers.combinators import serial
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.disk import disk_kernel
from deeptheory.kernels.regression.tiles import own_entries, sharded_kernel, tile_corners, tiled_kernel

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X, OTHER = RNG.standard_normal((11, 3)), RNG.standard_normal((6, 3))


def kernel(x, other):
    """Marks entries computed as a diagonal tile, so that the tests see which way they came."""
    own = other is None
    other = x if own else other
    product = x @ other.T
    return {"tanh": jnp.tanh(product), "diagonal": jnp.full(product.shape, float(own)) * jnp.eye(*product.shape)}


@pytest.mark.parametrize("tile", [1, 4, 5, 11, 50])
def test_tiles_make_the_whole(tile):
    seen = []
    result = tiled_kernel(kernel, X, tile=tile, progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_allclose(result["tanh"], np.tanh(X @ X.T), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(result["diagonal"]), 1)
    rows = -(-11 // min(tile, 11))
    assert seen[-1] == (rows * (rows + 1) // 2,) * 2
    result = tiled_kernel(kernel, X, OTHER, tile=tile)
    np.testing.assert_allclose(result["tanh"], np.tanh(X @ OTHER.T), rtol=1e-12)


def test_pairs_of_positions_are_exchanged_too():
    images = RNG.standard_normal((7, 2, 3))

    def full(x, other):
        return jnp.einsum("nhc,mgc->nmhg", x, x if other is None else other)

    result = tiled_kernel(full, images, tile=3, pairs=2)
    np.testing.assert_allclose(result, np.einsum("nhc,mgc->nmhg", images, images), rtol=1e-12)


def test_corners_cover_everything_and_are_checked():
    covered = np.zeros((11, 11), int)
    for i, j in tile_corners(11, 11, 4, symmetric=True):
        covered[i : i + 4, j : j + 4] += 1
        covered[j : j + 4, i : i + 4] += 1
    assert (covered > 0).all()
    with pytest.raises(ValueError, match="at least 1"):
        tile_corners(3, 3, 0, symmetric=False)


def test_sizes_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match=r"pairs must lie in \[1, 32\], got 0"):
        tiled_kernel(kernel, X, tile=4, pairs=0)
    with pytest.raises(ValueError, match="pairs must be at most 1 for a kernel with 2 axes, got 2"):
        tiled_kernel(kernel, X, tile=4, pairs=2)
    with pytest.raises(ValueError, match="x must not be empty"):
        tiled_kernel(kernel, X[:0])


DOORS = [tiled_kernel, sharded_kernel, disk_kernel]


def ntk(x, other):
    return limit_kernel(serial(Dense(8), Relu(), Dense(1)), x, other, want=("ntk",)).ntk


@pytest.mark.parametrize("door", DOORS)
def test_an_input_that_the_kernel_function_refuses_is_refused_in_tiles_too(door, tmp_path):
    bad = np.where(np.arange(11)[:, None] == 7, 0.0, X)
    folder = (tmp_path / "k",) if door is disk_kernel else ()
    with pytest.raises(ValueError, match=r"row 7 of x is refused by the kernel function: .*is zero"):
        door(*folder, ntk, bad)
    with pytest.raises(ValueError, match=r"row 7 of other is refused by the kernel function: .*is zero"):
        door(*folder, ntk, X, bad)
    assert not list(tmp_path.iterdir())
    allowed = door(*folder, lambda x, other: x @ x.T, bad[6:8])  # this one refuses nothing
    np.testing.assert_allclose(allowed[0, 0], bad[6] @ bad[6], rtol=1e-12)


@pytest.mark.parametrize("door", DOORS)
def test_inputs_that_are_no_numbers_are_refused_before_anything_is_written(door, tmp_path):
    bad = np.where(np.arange(11)[:, None] == 7, np.nan, X)
    folder = (tmp_path / "k",) if door is disk_kernel else ()
    for inputs in ((bad,), (X, bad)):
        with pytest.raises(ValueError, match=r"finite"):
            door(*folder, ntk, *inputs)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("rows", "columns", "height", "width"), [(11, 11, 4, 4), (11, 6, 4, 5), (3, 8, 3, 3)])
def test_every_entry_belongs_to_one_tile(rows, columns, height, width):
    owners = np.zeros((rows, columns), int)
    for corner in tile_corners(rows, columns, height, width, symmetric=False):
        owners[own_entries(corner, height, width)] += 1
    np.testing.assert_array_equal(owners, 1)


def test_several_devices():
    """Four host devices need a process of their own."""
    script = textwrap.dedent(
        """
        import jax
        import numpy as np
        import jax.numpy as jnp
        import deeptheory.neural_tangents as nt
        from deeptheory.kernels.regression.tiles import sharded_kernel, tiled_kernel

        assert len(jax.devices()) == 4
        x = np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)
        rows = sharded_kernel(lambda a, b: jnp.tanh(a @ b.T), x)
        assert {s.data.shape for s in rows.addressable_shards} == {(2, 8)}
        assert len({s.device for s in rows.addressable_shards}) == 4
        expected = np.tanh(x @ x.T)
        np.testing.assert_allclose(rows, expected, atol=1e-5)
        uneven = sharded_kernel(lambda a, b: jnp.tanh(a @ b.T), x[:6], x)
        np.testing.assert_allclose(uneven, expected[:6], atol=1e-5)
        tiles = tiled_kernel(lambda a, b: jnp.tanh(a @ (a if b is None else b).T), x, tile=3, devices=jax.devices())
        np.testing.assert_allclose(tiles, expected, atol=1e-5)
        _, _, kernel_fn = nt.stax.serial(nt.stax.Dense(1), nt.stax.Relu(), nt.stax.Dense(1))
        whole = kernel_fn(x, None)
        for size in (0, 3):
            parts = nt.batch(kernel_fn, batch_size=size)(x, None)
            np.testing.assert_allclose(parts.ntk, whole.ntk, atol=1e-5)
            np.testing.assert_allclose(parts.cov1, whole.cov1, atol=1e-5)
            cross = nt.batch(kernel_fn, batch_size=size)(x, x[:5], "nngp")
            np.testing.assert_allclose(cross, kernel_fn(x, x[:5], "nngp"), atol=1e-5)
        """
    )
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    run = subprocess.run([sys.executable, "-c", script], env={**os.environ, **flags}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
