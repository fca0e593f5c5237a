import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.dynamics.effective import diffusion_paths, effective_dynamics, localizability

POINTS = np.array([[1.0, 2.0, 0.5], [-1.0, 0.5, 2.0], [0.3, -0.7, 1.0], [0.1, 0.2, -1.5]])
ANSWERS = np.array([0.2, -1.0, 0.4, 0.9])


def loss(x, sample):
    return (sample[1] - jnp.tanh(sample[0] @ x)) ** 2


def statistics(x):
    return jnp.stack([x[0], x @ x, jnp.sin(x[1]) * x[2]])


slopes = jax.jit(jax.vmap(jax.grad(loss), (None, 0)))


def by_hand(x, step):
    """Drift, corrector, volatility from Jacobian, Hessians and the covariance matrix itself."""
    gradients = np.asarray(slopes(x, (POINTS, ANSWERS)))
    noise = gradients - gradients.mean(0)
    covariance = noise.T @ noise / len(noise)
    jacobian = np.array([[1, 0, 0], 2 * x, [0, np.cos(x[1]) * x[2], np.sin(x[1])]])
    hessians = np.zeros((3, 3, 3))
    hessians[1] = 2 * np.eye(3)
    hessians[2, 1, 1] = -np.sin(x[1]) * x[2]
    hessians[2, 1, 2] = hessians[2, 2, 1] = np.cos(x[1])
    corrector = step / 2 * np.einsum("ij,kij->k", covariance, hessians)
    return jacobian, hessians, noise, jacobian @ gradients.mean(0), corrector, step * jacobian @ covariance @ jacobian.T


@pytest.mark.item("J12.1", "J12.3")
def test_dynamics_by_differentiation_are_those_of_the_matrices_written_out():
    x, step = np.array([0.4, -0.3, 0.8]), 0.2
    *_, drift, corrector, volatility = by_hand(x, step)
    ours = jax.jit(lambda x: effective_dynamics(loss, statistics, x, (POINTS, ANSWERS), step=step))(x)
    np.testing.assert_allclose(ours.drift, drift, rtol=1e-10)
    np.testing.assert_allclose(ours.corrector, corrector, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(ours.volatility, volatility, rtol=1e-10)
    np.testing.assert_allclose(ours.velocity, corrector - drift, rtol=1e-10)


def test_parameters_may_be_any_tree():
    tree = {"a": jnp.array([0.4]), "b": jnp.array([-0.3, 0.8])}

    def joined(p):
        return jnp.concatenate([p["a"], p["b"]])

    data = POINTS, ANSWERS
    ours = jax.jit(
        lambda t: effective_dynamics(
            lambda p, s: loss(joined(p), s), lambda p: statistics(joined(p)), t, data, step=0.2
        )
    )(tree)
    flat = jax.jit(lambda x: effective_dynamics(loss, statistics, x, data, step=0.2))(joined(tree))
    np.testing.assert_allclose(ours.volatility, flat.volatility, rtol=1e-12)


@pytest.mark.item("J12.2")
def test_localizability_is_its_five_lines_written_out():
    x, step = np.array([0.4, -0.3, 0.8]), 0.2
    jacobian, hessians, noise, *_ = by_hand(x, step)
    covariance = noise.T @ noise / len(noise)
    bent = np.einsum("kij,nij->nk", hessians, noise[:, :, None] * noise[:, None] - covariance)
    gradients = np.asarray(slopes(x, (POINTS, ANSWERS)))
    found = jax.jit(lambda x: localizability(loss, statistics, x, (POINTS, ANSWERS), step=step, iterations=200))(x)
    assert found.curvature == pytest.approx(step**0.5 * max(np.linalg.norm(h, 2) for h in hessians), rel=1e-6)
    assert found.slope == pytest.approx(np.linalg.norm(gradients.mean(0)))
    assert found.noise == pytest.approx(step**4 * np.mean(np.linalg.norm(noise, axis=1) ** 8))
    assert found.projected == pytest.approx(step**2 * np.max(np.mean((noise @ jacobian.T) ** 4, 0)))
    assert found.bent == pytest.approx(step**3 * np.max(np.mean(bent**2, 0)))


def test_paths_of_an_ornstein_uhlenbeck_process_have_its_covariance(key):
    pull, square = np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([[1.0, 0.3], [0.3, 0.5]])
    paths = diffusion_paths(
        key, lambda u: -pull @ u, lambda u: jnp.asarray(square), np.zeros((20_000, 2)), np.array([0.5, 4.0])
    )
    from scipy.linalg import solve_continuous_lyapunov

    stationary = solve_continuous_lyapunov(pull, square)
    np.testing.assert_allclose(np.cov(np.asarray(paths[-1]).T), stationary, atol=0.03)
