"""Training loops against steps written out and a closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from deeptheory.foundations.training import trained

CURVATURES = np.array([1.0, 0.5, 2.0])


def test_gradient_descent_on_a_quadratic_in_closed_form():
    start = np.array([1.0, -2.0, 0.5])
    last, losses = trained(lambda x: CURVATURES @ x**2 / 2, optax.sgd(0.1), jnp.asarray(start), steps=7)
    path = start * (1 - 0.1 * CURVATURES) ** np.arange(8)[:, None]
    np.testing.assert_allclose(last, path[-1], rtol=1e-14)
    np.testing.assert_allclose(losses, path[:-1] ** 2 @ CURVATURES / 2, rtol=1e-14)


@pytest.mark.parametrize("has_aux", [False, True])
def test_adam_on_batches_step_by_step(has_aux):
    batches = np.random.default_rng(0).standard_normal((5, 3))
    parameters = {"w": np.array([0.3, -0.2, 1.0]), "c": np.array(0.5)}

    def loss(p, batch):
        value = jnp.mean((jnp.tanh(p["w"]) - batch) ** 2) + p["c"] ** 2
        return (value, p["c"]) if has_aux else value

    def slope(p, batch):
        inner = np.tanh(p["w"])
        return {"w": 2 / 3 * (inner - batch) * (1 - inner**2), "c": 2 * p["c"]}

    last, seen = jax.jit(lambda p: trained(loss, optax.adam(0.1), p, batches, has_aux=has_aux))(parameters)
    losses, others = seen if has_aux else (seen, None)
    now, first, second = parameters, *({"w": 0.0, "c": 0.0} for _ in range(2))
    for t, batch in enumerate(batches, start=1):
        assert losses[t - 1] == pytest.approx(np.mean((np.tanh(now["w"]) - batch) ** 2) + now["c"] ** 2, rel=1e-12)
        assert others is None or others[t - 1] == pytest.approx(float(now["c"]), rel=1e-12)
        g = slope(now, batch)
        first = {k: 0.9 * first[k] + 0.1 * g[k] for k in g}
        second = {k: 0.999 * second[k] + 0.001 * g[k] ** 2 for k in g}
        moves = {k: first[k] / (1 - 0.9**t) / (np.sqrt(second[k] / (1 - 0.999**t)) + 1e-8) for k in g}
        now = {k: now[k] - 0.1 * moves[k] for k in g}
    for name, value in now.items():
        np.testing.assert_allclose(last[name], value, rtol=1e-12)
