from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from deeptheory.approximation.templates import (
    Grammar,
    any_template,
    hierarchy,
    objects,
    objects_apart,
    run_layers,
    unseen_pair,
)


def images(grammar):
    return np.array(list(product((0.0, 1.0), repeat=grammar.inputs)))


@pytest.mark.item("H1.8")
def test_a_face_is_seen_if_eyes_and_mouth_are():
    """By hand: two places, round or slit eyes, laughing or sad mouth."""
    face = Grammar(2, 2, 1)
    assert sorted(map(tuple, objects(face))) == [(0, 1, 0, 1), (0, 1, 1, 0), (1, 0, 0, 1), (1, 0, 1, 0)]
    by_hand = [(a or b) and (c or d) for a, b, c, d in images(face)]
    for layers in (hierarchy(face), any_template(face), any_template(face, merged=True)):
        np.testing.assert_array_equal(run_layers(layers, images(face))[:, 0], by_hand)
    assert (face.inputs, face.objects, face.detectors, face.tests) == (4, 4, 3, 2)


@pytest.mark.item("H1.8")
@pytest.mark.parametrize("grammar", [Grammar(3, 2, 1), Grammar(2, 3, 1), Grammar(2, 2, 2)])
def test_counts_are_those_of_the_networks(grammar):
    assert len(objects(grammar)) == len(any_template(grammar)[0].weights) == grammar.objects
    assert len(any_template(grammar, merged=True)[0].weights) == len(objects_apart(grammar))
    assert len(objects_apart(grammar)) == grammar.objects // grammar.parts
    assert sum(len(layer.weights) for layer in hierarchy(grammar)) == grammar.detectors


@pytest.mark.item("H1.8")
def test_pairs_of_objects_are_kept_apart_where_no_threshold_unit_holds_them():
    """A linear program looks for weights that fire for both objects and for no image without an object."""
    grammar = Grammar(3, 2, 1)
    every = images(grammar)
    empty = every[run_layers(hierarchy(grammar), every)[:, 0] == 0]
    for one, other in combinations(objects(grammar), 2):
        rows = np.vstack([np.hstack([empty, -np.ones((len(empty), 1))]), np.append(-one, 1.0), np.append(-other, 1.0)])
        bounds = np.append(-np.ones(len(empty)), [0.0, 0.0])
        possible = linprog(np.zeros(grammar.inputs + 1), A_ub=rows, b_ub=bounds, bounds=(None, None)).status == 0
        found = unseen_pair(grammar, one, other)
        assert possible == (found is None)
        if found is not None:
            np.testing.assert_array_equal(found[0] + found[1], one + other)


def test_pairs_of_two_levels_show_no_object():
    grammar = Grammar(2, 2, 2)
    alone = 0
    for one, other in combinations(objects(grammar), 2):
        found = unseen_pair(grammar, one, other)
        alone += found is None
        if found is not None:
            assert not run_layers(hierarchy(grammar), np.array(found)).any()
            np.testing.assert_array_equal(found[0] + found[1], one + other)
    assert alone == 64 * 4 // 2  # each object has four lowest parts, each with one other choice


def test_what_cannot_be_done_is_refused():
    face = Grammar(2, 2, 1)
    with pytest.raises(ValueError, match="must be objects of 4 inputs"):
        unseen_pair(face, np.array([1.0, 1, 1, 0]), objects(face)[0])
    with pytest.raises(ValueError, match="4 entries"):
        run_layers(hierarchy(face), np.ones((2, 3)))
    with pytest.raises(ValueError, match="at most"):
        objects(replace(face, levels=4))
