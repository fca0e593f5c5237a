"""The one place where threads, precision flags and versions are set and written down."""

import functools
import hashlib
import os
import sys
from importlib.metadata import version
from pathlib import Path

__all__ = ["PINNED", "described", "environment", "here", "remember_compilations"]

PINNED = {
    # One thread for everything a worker does: then the number of jobs changes neither the bits nor the speed of one.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",
    "PJRT_NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "0",
    "JAX_DEFAULT_PRNG_IMPL": "threefry2x32",
    # Sums over sets are taken in one order.
    "PYTHONHASHSEED": "0",
    # Equinox's run-time error callbacks would keep compiled programs out of the cache.
    "EQX_ON_ERROR": "nan",
}

CHANGING = ("EQX_", "JAX_", "MKL_", "NPY_", "OMP_", "OPENBLAS_", "XLA_")
"""What variables begin with that may change the bits of a run: a worker sees none of them that is not pinned."""


def environment() -> dict[str, str]:
    """The variables of a worker: those of this process, less what could change the bits of a run, and the pinned."""
    return {name: value for name, value in os.environ.items() if not name.startswith(CHANGING)} | PINNED


@functools.cache
def described() -> str:
    """Versions and flags on which the bits of a worker's run depend."""
    flags = hashlib.sha256(repr((sorted(PINNED.items()), CHANGING)).encode()).hexdigest()[:8]
    return f"{_versions()}, one thread, flags {flags}"


def here() -> str:
    """The same for a run in this process: a worker is pinned, any other process has the threads and flags it has."""
    relevant = {name: value for name, value in os.environ.items() if name in PINNED or name.startswith(CHANGING)}
    return described() if relevant == PINNED else f"{_versions()}, threads and flags of the calling process"


def _versions() -> str:
    python = ".".join(map(str, sys.version_info[:2]))
    machine = os.uname().machine if hasattr(os, "uname") else sys.platform
    libraries = ", ".join(f"{name} {version(name)}" for name in ("jax", "jaxlib", "numpy", "scipy"))
    return f"python {python}, {libraries}, {machine}"


def remember_compilations(folder: Path) -> None:
    """Keep compiled programs on disk, where a later process finds them."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
