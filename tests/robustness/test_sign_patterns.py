"""Regions of ReLU networks against points drawn at random, by hand, and by counting."""

import itertools

import numpy as np
import pytest

from deeptheory.robustness.lipschitz import local_jacobians, relu_outputs
from deeptheory.robustness.sign_patterns import affine_regions


def everywhere(normals, limits, own):
    return True


def random_layers(widths):
    draw = np.random.default_rng(4)
    return [(draw.standard_normal((b, a)), draw.standard_normal(b)) for a, b in itertools.pairwise(widths)]


def awake(layers, x):
    """The signs of all hidden units at a point, layer by layer."""
    signs = []
    for matrix, bias in layers[:-1]:
        x = matrix @ x + bias
        signs.append(tuple(bool(z >= 0) for z in x))
        x = np.maximum(x, 0)
    return tuple(signs)


@pytest.mark.item("H2.6")
def test_without_a_cut_all_patterns_come_and_points_find_theirs():
    layers, centre = random_layers((2, 3, 2, 2)), np.array([0.2, -0.5])
    parts = list(affine_regions(layers, centre, everywhere))
    patterns = [part.awake for part in parts]
    assert patterns[0] == awake(layers, centre)
    assert set(patterns) == {(a[:3], a[3:]) for a in itertools.product([False, True], repeat=5)} and len(patterns) == 32
    found = dict(zip(patterns, parts, strict=True))
    for x in centre + 3 * np.random.default_rng(1).standard_normal((200, 2)):
        part, move = found[awake(layers, x)], x - centre
        assert np.all(part.normals @ move >= part.limits)
        np.testing.assert_allclose(part.slopes @ move + part.offsets, relu_outputs(layers, x), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(part.slopes, local_jacobians(layers, x[None])[0], atol=1e-12)
        for other in patterns:
            if other != part.awake:
                assert not np.all(found[other].normals @ move >= found[other].limits)


def test_what_is_cut_is_cut_with_all_below_it():
    layers, asked = random_layers((2, 3, 2, 2)), []

    def own_side(normals, limits, own):
        asked.append(len(limits))
        return own

    (only,) = affine_regions(layers, np.zeros(2), own_side)
    assert only.awake == awake(layers, np.zeros(2)) and sorted(asked) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    (whole,) = affine_regions(layers[-1:], np.array([1.0, 2.0]), everywhere)
    assert whole.awake == () and whole.normals.shape == (0, 2)
    np.testing.assert_allclose(whole.offsets, layers[-1][0] @ [1.0, 2.0] + layers[-1][1])
