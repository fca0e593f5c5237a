"""Threads and flags of a run in the calling process, told by a digest: two that differ do not look alike.

This stands beside `platform`, which decides what a run observes: how surroundings are told decides nothing.
"""

import hashlib
import os
import sys

from deeptheory.lab.platform import CHANGING, PINNED, described, here

__all__ = ["surroundings"]

SETTINGS = (
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_disable_jit",
    "jax_disable_most_optimizations",
    "jax_enable_x64",
    "jax_numpy_dtype_promotion",
    "jax_platforms",
    "jax_random_seed_offset",
    "jax_threefry_partitionable",
)
"""What a process can set in JAX itself, after its start, that may change the bits of a run."""


def surroundings() -> str:
    """What `here` says and, of a process that is not pinned, a digest of its variables and JAX's settings."""
    said = here()
    if said == described():
        return said
    variables = sorted(pair for pair in os.environ.items() if pair[0] in PINNED or pair[0].startswith(CHANGING))
    config = getattr(sys.modules.get("jax"), "config", None)
    settings = [str(getattr(config, name, None)) for name in SETTINGS]
    return f"{said} {hashlib.sha256(repr((variables, settings)).encode()).hexdigest()[:8]}"
