"""A kernel is the same compiled or not, and its entries are the same in every set: of every layer, with and without
positions, for one, two and three inputs."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory import kernels as k
from kernel_layers import ACTIVATIONS, LAYERS, SHAPE, dense, pattern

pytestmark = pytest.mark.slow
KINKED = f"Numerical {len(ACTIVATIONS) - 1}"
"""Its loops over arcs would run in Python, for as long as all others together."""
CASES = [
    (name, rank)
    for i, (name, ranks) in enumerate(LAYERS.items())
    for rank in (ranks if "DEEPTHEORY_SOAK" in os.environ else [list(ranks)[i % len(ranks)]])
]
"""layers and axes of positions: in `make soak` all that a layer takes, otherwise one, in turn"""


def layers_in(part):
    return {type(part)}.union(
        *(layers_in(each) for each in (*getattr(part, "layers", ()), *getattr(part, "branches", ())))
    )


def test_every_layer_is_there():
    known = {each for each in vars(k).values() if isinstance(each, type) and issubclass(each, k.Layer)}
    found = set().union(*(layers_in(each) for ranks in LAYERS.values() for each in ranks.values()))
    assert known - found == {k.Layer, k.Activation, k.Identity}


@pytest.mark.parametrize(("name", "rank"), CASES)
def test_neither_compiling_nor_the_set_shows(name, rank):
    """Uncompiled, one input beside two others, or three by themselves where there is one axis of positions: shapes that
    come again cost no more."""
    network = k.serial(dense(1, 1.2, 0.4), LAYERS[name][rank], dense(1))
    x = np.random.default_rng(rank).standard_normal((3, *SHAPE[:rank], 2))
    graph = pattern(name, rank)

    def kernel(left, right=None):
        graphs = [None if graph is None or part is None else jnp.asarray(graph[part]) for part in (left, right)]
        return k.limit_kernel(network, x[left], None if right is None else x[right], pattern=tuple(graphs))

    first, rest, every = slice(1), slice(1, 3), slice(3)
    whole, beside = kernel(every), kernel(first, rest)
    pairs = [(beside, k.Kernel(whole.nngp[:1, 1:], whole.ntk[:1, 1:], whole.cov1[:1], whole.cov1[1:]))]
    if name != KINKED:
        with jax.disable_jit():
            pairs.append((kernel(every), whole) if rank == 1 else (kernel(first, rest), beside))
    for one, two in pairs:
        for field in ("nngp", "ntk", "cov1", "cov2"):
            found, expected = getattr(one, field), getattr(two, field)
            assert (found is None) == (expected is None)
            if expected is not None:
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max(), err_msg=field)


@pytest.mark.parametrize("name", [name for name, ranks in LAYERS.items() if 0 not in ranks])
def test_what_is_not_wanted_is_not_missed(name):
    """A field asked for alone is that of the whole kernel: of layers over positions at the end, behind an
    activation and a pool."""
    network = k.serial(dense(), k.Erf(), k.AvgPool((2,), None, "SAME"), dense(), LAYERS[name][1])
    x = np.random.default_rng(7).standard_normal((2, SHAPE[0], 2))
    graph = pattern(name, 1)
    graphs = (None if graph is None else jnp.asarray(graph[:2]), None)
    whole = k.limit_kernel(network, x, pattern=graphs)
    for field in ("nngp", "ntk", "cov1"):
        alone = getattr(k.limit_kernel(network, x, want=(field,), pattern=graphs), field)
        np.testing.assert_allclose(alone, getattr(whole, field), rtol=1e-12, err_msg=field)
