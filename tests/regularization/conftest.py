"""What tests of the room share: descent to a minimum, by SciPy."""

import jax
import numpy as np
import pytest
import scipy.optimize


@pytest.fixture
def descend():
    """Minimise a JAX function of one flat vector from a start with L-BFGS."""

    def descended(objective, start):
        value_and_grad = jax.jit(jax.value_and_grad(objective))
        return scipy.optimize.minimize(
            lambda x: tuple(map(np.asarray, value_and_grad(x))),
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-10},
        )

    return descended
