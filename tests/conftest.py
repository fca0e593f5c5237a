"""What every test shares: double precision, checked shapes, and the way to data that is not shipped."""

import os
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxtyping import install_import_hook

ROOMS = (
    "networks kernels spectra optimization generalization regularization attention graphs robustness skills diffusions"
).split()
_hook = install_import_hook([f"deeptheory.{room}" for room in ROOMS], "beartype.beartype")


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def key():
    return jax.random.key(20261115)


@pytest.fixture(scope="session")
def mnist():
    """The MNIST arrays, found beside the checkout or in the folder that DEEPTHEORY_DATA names."""
    root = Path(__file__).resolve().parents[1]
    folders = [Path(os.environ[name]) for name in ("DEEPTHEORY_DATA",) if name in os.environ] + [root.parent / "shared/data"]
    for folder in folders:
        if (folder / "mnist.npz").exists():
            return np.load(folder / "mnist.npz")
    message = "mnist.npz was not found: put it in a folder and name that folder in DEEPTHEORY_DATA"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
