import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special

from deeptheory.implicit_bias.embeddings import (
    hessian_curvature,
    moment_embedding,
    moment_parametrization,
    moment_potential,
    ridge_embedding,
    ridge_parametrization,
    ridge_potential,
)
from deeptheory.implicit_bias.potentials import ENTROPY, hypentropy, quadratic
from deeptheory.implicit_bias.reparametrization import induced_metric, lie_brackets, mirror_flow, reparametrized_flow

RNG = np.random.default_rng(23)
DIRECTIONS = np.array([[1.0, 0.0], [0.3, 1.0], [0.8, -0.6], [-0.2, 0.9]])
ATOMS = np.array([[1.0, 0.2], [-0.7, 0.8], [-0.3, -1.0], [0.9, -0.8], [0.1, 0.3]])
POINT = np.array([0.4, -0.3])


def profile(s):
    """log cosh, a parabola, cosh − 1 and a quartic, one for each ridge."""
    return jnp.stack([jnp.log(jnp.cosh(s[0])), 0.7 * s[1] ** 2, jnp.cosh(s[2]) - 1, s[3] ** 4 / 12 + s[3] ** 2 / 2])


def summed(w):
    s = DIRECTIONS @ w
    return jnp.sum(profile(s))


def least_entropy(w):
    """Σ p log p over shares with this mean, by a solver that knows nothing of the dual."""
    rows = np.vstack([ATOMS.T, np.ones(5)])
    found = scipy.optimize.minimize(
        lambda p: np.sum(p * np.log(p)),
        np.linalg.lstsq(rows, np.append(w, 1.0))[0],
        jac=lambda p: np.log(p) + 1,
        constraints={"type": "eq", "fun": lambda p: rows @ p - np.append(w, 1.0), "jac": lambda p: rows},
        bounds=[(1e-9, 1)] * 5,
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    return found.x, found.fun


@pytest.mark.parametrize(
    ("potential", "value"), [(ridge_potential(DIRECTIONS, profile), summed), (moment_potential(ATOMS), None)]
)
def test_gradient_inverse_and_metric_are_derivatives_of_the_value(potential, value):
    sides = 1e-5 * np.eye(2)
    slope = [(potential.value(POINT + side) - potential.value(POINT - side)) / 2e-5 for side in sides]
    bend = [(potential.gradient(POINT + side) - potential.gradient(POINT - side)) / 2e-5 for side in sides]
    np.testing.assert_allclose(potential.gradient(POINT), slope, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(potential.inverse(potential.gradient(POINT)), POINT, rtol=1e-12)
    np.testing.assert_allclose(potential.metric(POINT) @ np.array(bend), np.eye(2), atol=1e-7)
    if value is not None:
        np.testing.assert_allclose(potential.value(POINT), value(POINT), rtol=1e-14)


def test_shares_of_largest_entropy_against_a_solver():
    shares, value = least_entropy(POINT)
    np.testing.assert_allclose(moment_potential(ATOMS).value(POINT), value, rtol=1e-9)
    np.testing.assert_allclose(np.square(moment_embedding(ATOMS)(POINT)) / 4, shares, atol=1e-6)


@pytest.mark.item("A8.23")
def test_embeddings_by_quadrature_and_by_hand():
    found = ridge_embedding(DIRECTIONS, profile)(POINT)
    s = DIRECTIONS @ POINT
    bends = (
        lambda x: 1 / np.cosh(x) ** 2,
        lambda x: 1.4,
        np.cosh,
        lambda x: x**2 + 1,
    )
    lengths = [
        scipy.integrate.quad(lambda x, b=bend: np.sqrt(b(x)), 0, end)[0] for bend, end in zip(bends, s, strict=True)
    ]
    np.testing.assert_allclose(found, lengths, rtol=1e-12)
    # The integral of 1/cosh is Gudermann's function.
    np.testing.assert_allclose(found[0], 2 * np.arctan(np.tanh(s[0] / 2)), rtol=1e-13)


@pytest.mark.item("A8.23")
def test_parametrizations_of_the_book_come_back():
    """A quarter of the entropy gives squares, ½wᵀΣ⁻¹w a linear map, hypentropy a map with one parameter a weight."""
    ones, w = np.ones(2), np.array([0.5, 2.3])

    def quarter(s):
        return (s * jnp.log(s) - s) / 4

    theta = ridge_embedding(np.eye(2), quarter, origin=ones)(w)
    np.testing.assert_allclose(theta, np.sqrt(w) - 1, rtol=1e-12)
    recover = jax.jit(ridge_parametrization(np.eye(2), quarter, origin=ones))
    np.testing.assert_allclose(recover(theta), w, rtol=1e-12)
    np.testing.assert_allclose(
        ridge_potential(np.eye(2), quarter, origin=ones).gradient(w), ENTROPY.gradient(w) / 4, rtol=1e-12
    )
    root = np.array([[1.2, 0.3], [0.3, 0.7]])
    linear = ridge_parametrization(np.linalg.inv(root), lambda s: s**2 / 2)
    np.testing.assert_allclose(linear(w), root @ w, rtol=1e-12)
    np.testing.assert_allclose(
        ridge_potential(np.linalg.inv(root), lambda s: s**2 / 2).metric(w),
        quadratic(np.linalg.inv(root @ root)).metric(w),
    )
    small = hypentropy(0.6)
    whole = ridge_parametrization(
        np.eye(2), lambda s: 0.36 / 4 * (2 - jnp.sqrt(4 + (s / 0.36) ** 2) + s / 0.36 * jnp.arcsinh(s / 0.72))
    )
    there = ridge_embedding(
        np.eye(2), lambda s: 0.36 / 4 * (2 - jnp.sqrt(4 + (s / 0.36) ** 2) + s / 0.36 * jnp.arcsinh(s / 0.72))
    )(w)
    np.testing.assert_allclose(
        jax.jit(lambda t: induced_metric(whole, t))(there), small.metric(w), rtol=1e-10, atol=1e-12
    )


@pytest.mark.item("A8.23")
@pytest.mark.parametrize("family", ["ridges", "moments"])
def test_flows_are_mirror_flows_of_the_potential(family):
    if family == "ridges":
        potential, embed = ridge_potential(DIRECTIONS, profile), ridge_embedding(DIRECTIONS, profile)
        model = ridge_parametrization(DIRECTIONS, profile)
    else:
        potential, embed, model = moment_potential(ATOMS), moment_embedding(ATOMS), moment_parametrization(ATOMS)
    start = np.asarray(embed(POINT))
    np.testing.assert_allclose(model(start), POINT, rtol=1e-11)
    np.testing.assert_allclose(induced_metric(model, start), potential.metric(POINT), rtol=1e-10)
    np.testing.assert_allclose(jax.jit(lambda t: lie_brackets(model, t))(start), 0, atol=1e-10)
    times = np.array([0.1, 0.4])

    def loss(w):
        return jnp.sum((w - jnp.array([0.1, 0.4])) ** 2) + 0.3 * jnp.sin(2 * w[0] + w[1])

    theta = reparametrized_flow(model, loss, start, times)
    mirrored = mirror_flow(potential, loss, POINT, times)
    np.testing.assert_allclose(jax.vmap(model)(theta), mirrored, atol=1e-8)


def test_beside_its_image_the_parametrization_need_not_commute():
    embed, model = ridge_embedding(DIRECTIONS, profile), ridge_parametrization(DIRECTIONS, profile)
    slopes = np.asarray(jax.jacobian(embed)(POINT))
    aside = np.linalg.svd(slopes)[0][:, 2]
    theta = np.asarray(embed(POINT)) + 0.3 * aside
    np.testing.assert_allclose(model(theta), POINT, rtol=1e-9)  # straight above the image lies the same w
    assert np.abs(jax.jit(lambda t: lie_brackets(model, t))(theta)).max() > 1e-3


def test_curvature_of_spheres_planes_and_images():
    corners = np.vstack([np.eye(2), np.zeros((1, 2))])
    potential, w = moment_potential(corners), np.array([0.3, 0.5])

    def simplex(w):
        return w @ jnp.log(w) + (1 - w.sum()) * jnp.log(1 - w.sum())

    # Three atoms: an octant of the sphere of radius 2.
    metric, curved = np.linalg.inv(potential.metric(w)), np.asarray(hessian_curvature(simplex, w))
    np.testing.assert_allclose(curved[0, 1, 0, 1] / np.linalg.det(metric), 0.25, rtol=1e-12)
    np.testing.assert_allclose(curved, -np.swapaxes(curved, 0, 1), atol=1e-12)
    np.testing.assert_allclose(curved, np.transpose(curved, (2, 3, 0, 1)), atol=1e-12)
    separable = hessian_curvature(lambda w: jnp.sum(w * jnp.log(w)) + w[0] ** 4, w)
    np.testing.assert_allclose(separable, 0, atol=1e-12)


def test_curvature_against_christoffel_symbols():
    """R_ijij from derivatives of the metric alone, by finite differences of the symbols."""

    def metric(w):
        return np.asarray(jax.hessian(summed)(w))

    def symbols(w):
        step = 1e-5
        turned = np.array([(metric(w + step * e) - metric(w - step * e)) / (2 * step) for e in np.eye(2)])
        first = (turned + np.transpose(turned, (1, 0, 2)) - np.transpose(turned, (1, 2, 0))) / 2
        return np.einsum("kl,ijl->kij", np.linalg.inv(metric(w)), first)

    here, step = symbols(POINT), 1e-4
    slope = np.array([(symbols(POINT + step * e) - symbols(POINT - step * e)) / (2 * step) for e in np.eye(2)])
    # R(∂₀, ∂₁)∂₁ = (∂₀Γ^m₁₁ − ∂₁Γ^m₀₁ + Γ^m₀ₙΓⁿ₁₁ − Γ^m₁ₙΓⁿ₀₁)∂_m, and its part along ∂₀.
    turned = slope[0, :, 1, 1] - slope[1, :, 0, 1] + here[:, 0] @ here[:, 1, 1] - here[:, 1] @ here[:, 0, 1]
    found = hessian_curvature(summed, POINT)[0, 1, 0, 1]
    np.testing.assert_allclose(found, metric(POINT)[0] @ turned, rtol=1e-3)


def test_outside_the_domain_there_is_no_answer():
    assert np.isnan(moment_potential(ATOMS).gradient(np.array([2.0, 0.0]))).all()
    exponential = ridge_potential(np.eye(2), jnp.exp)
    np.testing.assert_allclose(exponential.inverse(np.array([2.0, 0.1])), np.log([2.0, 0.1]), rtol=1e-12)
    assert np.isnan(exponential.inverse(np.array([-1.0, 0.5]))).all()
