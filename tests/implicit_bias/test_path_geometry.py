import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from deeptheory.generalization.networks.norms import path_norm, relu_network
from deeptheory.implicit_bias.path_geometry import path_curvatures, path_descent, rescaled_units

RNG = np.random.default_rng(8)
LAYERS = [RNG.standard_normal(shape) for shape in ((4, 3), (3, 4), (2, 3))]
FACTORS = [np.exp(RNG.standard_normal(4)), np.exp(RNG.standard_normal(3))]


def path_products(layers):
    """The products of the weights along all paths, one by one."""
    units = [range(layers[0].shape[1]), *(range(len(layer)) for layer in layers)]
    return np.array(
        [np.prod([layer[path[i + 1], path[i]] for i, layer in enumerate(layers)]) for path in itertools.product(*units)]
    )


@pytest.mark.item("A8.39")
@pytest.mark.parametrize("power", [1.0, 2.0, 3.5])
def test_curvatures_against_all_paths(power):
    """Path products are linear in each weight, so a change by any δ is exactly √κ·|δ| in the ℓp norm."""
    found, products = path_curvatures(LAYERS, power=power), path_products(LAYERS)
    for place, layer in enumerate(LAYERS):
        for at in np.ndindex(layer.shape):
            changed = [each.copy() for each in LAYERS]
            changed[place][at] += 0.7
            moved = np.linalg.norm(path_products(changed) - products, power)
            np.testing.assert_allclose(np.asarray(found[place])[at], (moved / 0.7) ** 2, rtol=1e-12)


def test_curvatures_are_second_derivatives_of_the_squared_path_norm():
    squared = [np.asarray(each) * layer**2 for each, layer in zip(path_curvatures(LAYERS), LAYERS, strict=True)]
    # Every path crosses every layer once, so each layer's shares sum to the whole.
    np.testing.assert_allclose([each.sum() for each in squared], path_norm(LAYERS) ** 2, rtol=1e-12)


def test_a_chain_by_hand():
    two, three, five = ([[value]] for value in (2.0, 3.0, -5.0))
    found = path_curvatures([np.array(each) for each in (two, three, five)])
    np.testing.assert_allclose(np.ravel(found), [225.0, 100.0, 36.0])
    gradient = [np.array([[1.0]])] * 3
    method = path_descent(0.5)
    move, _ = method.update(gradient, method.init(None), [np.array(each) for each in (two, three, five)])
    np.testing.assert_allclose(np.ravel(move), [-0.5 / 225, -0.5 / 100, -0.5 / 36])


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_a_step_minimizes_one_weight_at_a_time(power):
    """η w ∂L/∂w + ½‖π(w) − π(w_t)‖², by a minimizer that knows values only."""
    gradient, products = [RNG.standard_normal(layer.shape) for layer in LAYERS], path_products(LAYERS)
    method = path_descent(0.3, power=power)
    moves, _ = method.update(gradient, method.init(None), LAYERS)
    for place, at in ((0, (1, 2)), (1, (2, 0)), (2, (0, 1))):

        def model(delta, place=place, at=at):
            changed = [each.copy() for each in LAYERS]
            changed[place][at] += delta
            far = np.linalg.norm(path_products(changed) - products, power)
            return 0.3 * gradient[place][at] * delta + far**2 / 2

        best = scipy.optimize.minimize_scalar(model, tol=1e-12).x
        np.testing.assert_allclose(np.asarray(moves[place])[at], best, rtol=1e-5)


def test_rescaled_units_compute_the_same_and_path_descent_keeps_them_so():
    inputs = RNG.standard_normal((5, 3))
    other = rescaled_units(LAYERS, FACTORS)
    np.testing.assert_allclose(relu_network(other, inputs), relu_network(LAYERS, inputs), rtol=1e-12)
    np.testing.assert_allclose(path_norm(other), path_norm(LAYERS), rtol=1e-12)

    def loss(layers):
        return jnp.sum(relu_network(layers, inputs) ** 3)

    method = path_descent(0.01)
    ends = []
    for start in (LAYERS, other):
        start = [jnp.asarray(each) for each in start]
        move, _ = method.update(jax.grad(loss)(start), method.init(start), start)
        ends.append([np.asarray(a + b) for a, b in zip(start, move, strict=True)])
    for one, two in zip(rescaled_units(ends[0], FACTORS), ends[1], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11)


def test_broken_paths_and_wide_ranges():
    silent = [np.array([[1.0], [2.0]]), np.array([[3.0, 0.0]])]
    found = path_curvatures(silent)
    np.testing.assert_allclose(np.ravel(found[0]), [9.0, 0.0])
    np.testing.assert_allclose(np.ravel(found[1]), [1.0, 4.0])
    method = path_descent(1.0)
    move, _ = method.update([np.array([[9.0], [0.0]]), np.zeros((1, 2))], method.init(silent), silent)
    np.testing.assert_allclose(np.ravel(move[0]), [-1.0, 0.0])
    large = [np.full((2, 2), 1e100), np.full((1, 2), 1e-100)]
    np.testing.assert_allclose(path_curvatures(large, power=4.0)[0], 2**0.0 * 1e-200, rtol=1e-12)


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match="2 hidden layers"):
        rescaled_units(LAYERS, FACTORS[:1])
    with pytest.raises(ValueError, match="4 hidden units"):
        rescaled_units(LAYERS, FACTORS[::-1])
    with pytest.raises(ValueError, match="give params"):
        path_descent(0.1).update(LAYERS, None)
