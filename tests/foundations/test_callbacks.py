import jax
import numpy as np
import pytest

from deeptheory.foundations.callbacks import asked


@pytest.mark.parametrize("batch", [(), (4,)])
def test_the_host_sees_and_answers_every_bit(batch):
    numbers, counts = np.random.default_rng(0).standard_normal((*batch, 3, 2)), np.full(batch, 2**40 + 1)
    answer = {
        "product": jax.ShapeDtypeStruct((3, 2), np.float64),
        "positive": jax.ShapeDtypeStruct((), bool),
        "count": jax.ShapeDtypeStruct((), np.int64),
    }

    def host(x, i):
        return {"product": x * np.pi, "positive": x.sum() > 0, "count": i + 1}

    def traced(x, i):
        return asked(host, answer, x, i)

    found = jax.jit(jax.vmap(traced) if batch else traced)(numbers, counts)
    np.testing.assert_array_equal(found["product"], numbers * np.pi)
    np.testing.assert_array_equal(found["positive"], numbers.sum((-1, -2)) > 0)
    np.testing.assert_array_equal(found["count"], 2**40 + 2)


def test_an_answer_does_not_move_with_what_was_asked():
    kind = jax.ShapeDtypeStruct((3,), np.float64)
    assert not jax.grad(lambda x: asked(lambda known: 2 * known, kind, x).sum())(np.ones(3)).any()


def test_numbers_of_single_precision_stay_so():
    with jax.enable_x64(False):
        kind = jax.ShapeDtypeStruct((2,), np.float32)
        found = jax.jit(lambda x: asked(lambda known: 2 * known, kind, x))(np.ones(2, np.float32))
    assert found.dtype == np.float32 and found.tolist() == [2.0, 2.0]
