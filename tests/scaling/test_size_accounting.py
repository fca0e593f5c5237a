"""Counts of parameters and operations beside a real model's arrays and XLA's own estimate."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.architectures.language_models import init_language_model
from deeptheory.scaling.size_accounting import (
    counted_flops,
    forward_flops,
    key_value_bytes,
    parameter_count,
    rough_parameters,
    training_bytes,
    training_flops,
)


@pytest.mark.item("H13.9")
@pytest.mark.parametrize(("width", "layers", "heads"), [(8, 1, 2), (12, 3, 3)])
def test_parameters_and_operations_of_a_model(width, layers, heads):
    model = init_language_model(jax.random.key(0), vocabulary=11, context=7, width=width, layers=layers, heads=heads)
    count = parameter_count(vocabulary=11, context=7, width=width, layers=layers)
    assert count.total == sum(np.size(leaf) for leaf in jax.tree.leaves(model))
    assert count.non_embedding == count.total - 18 * width
    ids = jnp.zeros((1, 5), int)
    assert counted_flops(model, ids) == forward_flops(5, vocabulary=11, width=width, layers=layers)


@pytest.mark.item("H13.9")
def test_gpt2_small_has_124_million_parameters():
    count = parameter_count(vocabulary=50257, context=1024, width=768, layers=12)
    assert count.total == 124_439_808  # as published
    assert count.non_embedding / rough_parameters(768, 12) == pytest.approx(1 + 13 / (12 * 768), rel=1e-4)
    assert training_flops(70e9, 1.4e12) == pytest.approx(5.88e23)
    assert training_bytes(10**9) == 16 * 10**9
    assert key_value_bytes(1024, width=768, layers=12) == 1024 * 12 * 2 * 768 * 2


def test_products_inside_loops_are_counted_as_often_as_they_run():
    a = jnp.ones((3, 4, 4))

    def power(x):
        return jax.lax.scan(lambda carry, _: (carry @ x[0], None), x[1], None, length=5)[0]

    assert counted_flops(power, a) == 5 * 2 * 4**3
    assert counted_flops(jax.jit(lambda x: jnp.einsum("bij,bjk->bik", x, x)), a) == 3 * 2 * 4**3
    assert counted_flops(jnp.sin, a) == 0
