import itertools

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from deeptheory.kernels.finite.structure import factored_gradients
from deeptheory.kernels.finite.tangents import (
    functional,
    jacobian_kernel,
    kernel_alignment,
    kernel_spectrum,
    linearize,
    output_kernel,
    relative_drift,
    tangent_drift,
    tangent_kernel,
    tangent_product,
    taylor_expand,
)
from deeptheory.networks.mlp import init_mlp

pytestmark = pytest.mark.slow


def explicit(apply, parameters, x, other=None, other_apply=None):
    """The full kernel (n, m, k, k) from flat Jacobians."""
    flat, unflatten = jax.flatten_util.ravel_pytree(parameters)

    def jacobian(model, inputs):
        return np.asarray(jax.jit(jax.jacfwd(lambda p: model(unflatten(p), inputs)))(flat))

    left = jacobian(apply, x)
    right = left if other is None else jacobian(other_apply or apply, other)
    return np.einsum("nkp,mlp->nmkl", left, right)


def compiled(route, apply, parameters, x, other=None, **axes):
    """One compiled call: operation by operation the same costs seconds."""
    return jax.jit(lambda p: route(apply, p, x, other, **axes))(parameters)


def odd_network(parameters, x):
    """Dense weights on both sides, a shared weight, a scale, a bias over positions, and an unused parameter."""
    hidden = jnp.tanh(x @ parameters["first"] / 3 + 0.5 * parameters["bias"])
    hidden = jnp.einsum("nh,gh->ng", hidden, parameters["shared"])
    hidden = jnp.sin(hidden) @ parameters["shared"] * parameters["gain"]
    split = hidden.reshape(x.shape[0], 2, 2) @ parameters["positions"] + parameters["offset"]
    return split.reshape(x.shape[0], -1) @ (0.7 * parameters["last"].T)


@pytest.fixture
def odd():
    rng = np.random.default_rng(1)
    shapes = {
        "first": (3, 4), "bias": (1, 4), "shared": (4, 4), "gain": (4,), "positions": (2, 3), "offset": (3,),
        "last": (2, 6), "unused": (2,),
    }  # fmt: skip
    parameters = {name: jnp.asarray(rng.standard_normal(shape)) for name, shape in shapes.items()}
    return parameters, rng.standard_normal((5, 3)), rng.standard_normal((4, 3))


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("route", [tangent_kernel, jacobian_kernel])
def test_kernel_against_the_explicit_jacobian(odd, second, route):
    parameters, x, other = odd
    other = other if second else None
    expected = explicit(odd_network, parameters, x, other)
    choices = [{"trace_axes": ()}, {}, {"trace_axes": (), "diagonal_axes": (1,)}]
    if not second:
        choices += [{"trace_axes": (), "diagonal_axes": (0,)}, {"trace_axes": (0,)}]
    names = ("nmkl->nmkl", "nmkk->nm", "nmkk->nmk", "nnkl->nkl", "nnkl->kl")
    kernels = jax.jit(lambda p: [route(odd_network, p, x, other, **axes) for axes in choices])(parameters)
    for kernel, name, size in zip(kernels, names, (1, 2, 1, 1, 5), strict=False):
        np.testing.assert_allclose(kernel, np.einsum(name, expected) / size, rtol=1e-11, atol=1e-11)


def test_equinox_modules_and_convolutions(key):
    class Network(eqx.Module):
        convolution: eqx.nn.Conv2d
        norm: eqx.nn.LayerNorm
        mlp: eqx.nn.MLP

        def __call__(self, x):
            return self.mlp(self.norm(jax.nn.gelu(self.convolution(x)).ravel()))

    one, two = jax.random.split(key)
    module = Network(
        eqx.nn.Conv2d(1, 2, 2, key=one), eqx.nn.LayerNorm(18), eqx.nn.MLP(18, 2, 5, 2, activation=jnp.tanh, key=two)
    )
    apply, parameters = functional(module, single=True)
    x = np.random.default_rng(0).standard_normal((3, 1, 4, 4))
    kernel = compiled(tangent_kernel, apply, parameters, x, trace_axes=())
    np.testing.assert_allclose(kernel, explicit(apply, parameters, x), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("second", [False, True], ids=["same inputs", "other inputs"])
def test_shared_weights_in_patches_of_every_kind(second):
    """Strides, dilations, paddings, two orders of axes; few positions (pairs of them) and many (a Jacobian); groups."""
    draw = np.random.default_rng(0).standard_normal
    weights = {
        "wide": draw((3, 3, 2, 5)),
        "strided": draw((6, 5, 2, 2)),
        "few": draw((12, 6, 2, 1)),
        "grouped": draw((12, 4, 1, 1)),
        "last": draw((12, 2)) / 5,
    }

    def network(w, x):
        def convolve(z, kernel, strides, padding, numbers, **options):
            return jax.lax.conv_general_dilated(z, kernel, strides, padding, dimension_numbers=numbers, **options)

        z = jnp.tanh(convolve(x, w["wide"], (2, 1), "SAME", ("NHWC", "HWIO", "NHWC"), rhs_dilation=(1, 2)))
        z = jnp.moveaxis(z, -1, 1)
        z = jnp.tanh(convolve(z, w["strided"], (2, 2), ((0, 1), (1, 0)), ("NCHW", "OIHW", "NCHW"), lhs_dilation=(1, 1)))
        z = jnp.tanh(convolve(z, w["few"], (2, 2), "VALID", ("NCHW", "OIHW", "NCHW")))
        z = jnp.tanh(convolve(z, w["grouped"], (1, 1), "VALID", ("NCHW", "OIHW", "NCHW"), feature_group_count=3))
        return jnp.mean(z, (2, 3)) @ w["last"]

    x, other = draw((3, 6, 5, 2)), draw((4, 6, 5, 2)) if second else None
    expected = explicit(network, weights, x, other)
    outputs, factors = factored_gradients(network, weights, x)
    kept = {each.forward.shape[1:] for each in factors if each.forward is not None}
    assert kept == {(2, 12), (1, 12)}  # patches of "few", and the last layer
    for axes, name in (({"trace_axes": ()}, "nmkl->nmkl"), ({}, "nmkk->nm")):
        kernel = compiled(tangent_kernel, network, weights, x, other, **axes)
        scale = outputs.shape[1] if not axes else 1
        np.testing.assert_allclose(kernel, np.einsum(name, expected) / scale, rtol=1e-10, atol=1e-12)
    if not second:
        mean = compiled(tangent_kernel, network, weights, x, trace_axes=(0,))
        np.testing.assert_allclose(mean, np.einsum("nnkl->kl", expected) / 3, rtol=1e-10)
        alone = compiled(tangent_kernel, network, weights, x, trace_axes=(), diagonal_axes=(0,))
        np.testing.assert_allclose(alone, np.einsum("nnkl->nkl", expected), rtol=1e-10)


USES = {
    "as it is": lambda p, x: jnp.tanh(x @ p[0] + p[1]) @ p[2],
    "with signs": lambda p, x: p[1] - jnp.tanh(-p[1] - x @ -p[0]) @ p[2],
    "turned": lambda p, x: jnp.tanh(x @ p[0].T + p[1]) @ p[2],
    "bent": lambda p, x: jnp.tanh(x @ p[0] ** 2 + p[1]) @ p[2],
    "without bias": lambda p, x: jnp.tanh(x @ p[0]) @ p[2],
}


@pytest.mark.parametrize("first, second", [("with signs", "with signs"), *itertools.product(["as it is"], USES)])
def test_two_models_with_the_same_weights(first, second):
    draw = np.random.default_rng(0).standard_normal
    parameters, x, other = [draw((3, 3)), draw(3), draw((3, 3))], draw((2, 3)), draw((4, 3))
    expected = explicit(USES[first], parameters, x, other, USES[second])
    kernel = compiled(tangent_kernel, USES[first], parameters, x, other, other_apply=USES[second], trace_axes=())
    np.testing.assert_allclose(kernel, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("sizes", [(3, 8), (8, 3), (3, 4), (4, 3)], ids=str)
def test_images_of_two_sizes(sizes):
    """A patch each, a few (pairs of positions) or many (a Jacobian): any two of them meet."""
    draw = np.random.default_rng(0).standard_normal
    parameters = [draw((3, 3, 2, 5)), draw((5, 2))]

    def network(p, x):
        z = jax.lax.conv_general_dilated(x, p[0], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.tanh(z).mean((1, 2)) @ p[1]

    x, other = (draw((count, size, size, 2)) for count, size in zip((3, 2), sizes, strict=True))
    kernel = compiled(tangent_kernel, network, parameters, x, other, trace_axes=())
    np.testing.assert_allclose(kernel, explicit(network, parameters, x, other), rtol=1e-11, atol=1e-12)


def test_dense_weights_are_never_turned_into_jacobians(key):
    network = init_mlp(key, (7, 90, 90, 3), bias_scale=0.3)
    apply, parameters = functional(network)
    x = np.random.default_rng(0).standard_normal((11, 7))
    text = str(jax.make_jaxpr(lambda p: tangent_kernel(apply, p, x))(parameters))
    assert "90,90" in text and "11,3,90" in text
    assert "3,90,90" not in text and "11,90,90" not in text


def test_product_is_the_kernel_times_the_vector(odd):
    parameters, x, other = odd
    v = np.random.default_rng(3).standard_normal((4, 2))
    expected = np.einsum("nmkl,ml->nk", explicit(odd_network, parameters, x, other), v)
    np.testing.assert_allclose(tangent_product(odd_network, parameters, x, other)(v), expected, rtol=1e-11)
    own = np.einsum("nmkl,ml->nk", explicit(odd_network, parameters, other), v)
    np.testing.assert_allclose(tangent_product(odd_network, parameters, other)(v), own, rtol=1e-11)


def test_output_kernel(odd):
    parameters, x, other = odd
    left, right = odd_network(parameters, x), odd_network(parameters, other)
    np.testing.assert_allclose(output_kernel(odd_network, parameters, x, other), left @ right.T / 2, rtol=1e-12)
    full = output_kernel(odd_network, parameters, x, other, trace_axes=())
    np.testing.assert_allclose(full, np.einsum("nk,ml->nmkl", left, right), rtol=1e-12)


@pytest.mark.item("L7.14")
def test_linearized_kernel_does_not_move(odd):
    parameters, x, _ = odd
    moved = jax.tree.map(lambda p: p + 0.3, parameters)
    linear = linearize(odd_network, parameters)
    flat, unflatten = jax.flatten_util.ravel_pytree(parameters)
    jacobian = jax.jacfwd(lambda p: odd_network(unflatten(p), x))(flat)
    expected = odd_network(parameters, x) + jacobian @ (jax.flatten_util.ravel_pytree(moved)[0] - flat)
    np.testing.assert_allclose(linear(moved, x), expected, rtol=1e-12)
    drift = jax.jit(lambda p: (tangent_drift(linear, parameters, p, x), tangent_drift(odd_network, parameters, p, x)))
    still, moving = map(float, drift(moved))
    assert still < 1e-13 and moving > 0.1


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
def test_taylor_polynomial_of_a_function_with_known_series(degree):
    def exponential(p, x):
        return jnp.exp(p["a"] * x)

    x, step = jnp.linspace(-1, 1, 5), 0.7
    series = sum((x * step) ** k / _factorial(k)
                 for k in range(degree + 1))  # fmt: skip
    expanded = taylor_expand(exponential, {"a": jnp.asarray(0.2)}, degree)
    np.testing.assert_allclose(expanded({"a": jnp.asarray(0.9)}, x), jnp.exp(0.2 * x) * series, rtol=1e-12)


def _factorial(k):
    return float(np.prod(np.arange(1, k + 1)))


def test_alignment_and_spectrum():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(6)
    features = rng.standard_normal((6, 9))
    kernel = features @ features.T
    cosine = y @ kernel @ y / (np.linalg.norm(kernel) * (y @ y))
    assert float(kernel_alignment(kernel, np.outer(y, y))) == pytest.approx(cosine, rel=1e-12)
    shifted = features - features.mean(0)
    centred = kernel_alignment(kernel, np.outer(y - y.mean(), y - y.mean()), centred=True)
    plain = kernel_alignment(shifted @ shifted.T, np.outer(y - y.mean(), y - y.mean()))
    assert float(centred) == pytest.approx(float(plain), rel=1e-12)
    spectrum = kernel_spectrum(kernel, y)
    _, singular, right = np.linalg.svd(features.T)
    np.testing.assert_allclose(spectrum.values, singular**2, rtol=1e-10)
    np.testing.assert_allclose(spectrum.energy, (right @ y) ** 2 / (y @ y), rtol=1e-9)
    assert float(spectrum.cumulative[-1]) == pytest.approx(1)


def test_drift_is_the_length_of_the_change_not_the_change_of_length():
    assert float(relative_drift(np.diag([0.0, 5.0]), np.diag([3.0, 4.0]))) == pytest.approx(10**0.5 / 5)
    assert float(relative_drift(-np.eye(3), np.eye(3))) == pytest.approx(2)


def test_bad_axes(odd):
    parameters, x, _ = odd
    with pytest.raises(ValueError, match="rank 2"):
        tangent_kernel(odd_network, parameters, x, trace_axes=(2,))
    with pytest.raises(ValueError, match="both traced and diagonal"):
        tangent_kernel(odd_network, parameters, x, trace_axes=(1,), diagonal_axes=(-1,))
    with pytest.raises(ValueError, match="degree"):
        taylor_expand(odd_network, parameters, -1)


def test_a_module_without_parameters_is_refused():
    class Torch:
        """What JAX sees of a module of another library: one leaf that is no array."""

        def __call__(self, x):
            return x

    with pytest.raises(ValueError, match="functional needs an Equinox module with parameters, got a Torch"):
        functional(Torch())
