import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import sqrtm

from deeptheory.alignment.softmax_mixtures import mixture_draws, softmax_loss
from deeptheory.alignment.trajectories import eigenspace_preconditioner, orthogonal_floor, ridge_descent


@pytest.mark.item("J13.2")
def test_descent_is_the_recursion_written_out():
    means = np.eye(4)[:3]
    inputs, labels = mixture_draws(jax.random.key(0), means, count=20, precision=9.0)
    start = np.random.default_rng(0).standard_normal((3, 4))
    samples = (jnp.asarray(inputs), jnp.asarray(labels))
    last, path = ridge_descent(softmax_loss, jnp.asarray(start), samples, step=0.1, decay=0.2)
    point = start
    for input, label in zip(inputs, labels, strict=True):
        chances = np.exp(point @ input)
        residual = chances / chances.sum() - np.eye(3)[label]
        point = point - 0.1 * (np.outer(residual, input) + 0.2 * point)
    assert np.allclose(last, point, atol=1e-6) and path.shape == (21, 3, 4)


@pytest.mark.item("J13.15")
def test_the_floor_is_where_the_recursion_of_the_variance_rests():
    settings = {"step": 0.05, "decay": 0.3, "precision": 8.0, "directions": 20}
    variance = 0.0
    for _ in range(3000):
        variance = (1 - 0.05 * 0.3) ** 2 * variance + 0.05**2 * 20 * 0.7 / 8
    assert np.isclose(orthogonal_floor(0.7, **settings), variance, rtol=1e-12)


@pytest.mark.item("J13.17")
def test_with_all_eigenvectors_the_preconditioner_is_full_matrix_adagrads():
    draw = np.random.default_rng(1).standard_normal((30, 5))
    moment = draw.T @ draw / 30
    full = np.linalg.inv(np.real(sqrtm(moment)) + 0.1 * np.eye(5))
    assert np.allclose(eigenspace_preconditioner(moment, 5, damping=0.1), full)


@pytest.mark.item("J13.17")
def test_outliers_have_their_own_scale_and_the_bulk_one_in_common():
    moment = np.diag([9.0, 4.0, 0.5, 0.3, 0.1])
    found = eigenspace_preconditioner(moment, 2, damping=1e-9)
    assert np.allclose(found, np.diag([1 / 3, 1 / 2, *[0.3**-0.5] * 3]))


def test_descent_with_too_long_steps_has_no_floor():
    with pytest.raises(ValueError, match=r"step \* decay must lie in \(0, 2\)"):
        orthogonal_floor(0.5, step=10.0, decay=0.5, precision=1.0, directions=3)
