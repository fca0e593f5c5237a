"""Dichotomies against brute force over parameters, and the arithmetic of growth functions."""

from itertools import combinations, product

import numpy as np
import pytest

from deeptheory.generalization.capacity.growth import (
    cover_count,
    half_space_dichotomies,
    interval_dichotomies,
    radon_labels,
    rectangle_dichotomies,
    sauer_power,
    sauer_sum,
    shatters,
    sine_frequency,
    sine_signs,
    threshold_dichotomies,
    vc_dimension,
)

DRAW = np.random.default_rng(5)


def patterns(rows):
    return {tuple(row) for row in np.asarray(rows, bool)}


def test_patterns_of_random_parameters_are_those_enumerated():
    line, plane = DRAW.standard_normal((5, 1)), DRAW.standard_normal((5, 2))
    ends = np.sort(DRAW.uniform(-4, 4, (20_000, 2)), axis=1)
    assert patterns(line[:, 0] <= ends[:, :1]) == patterns(threshold_dichotomies(line))
    assert patterns((ends[:, :1] <= line[:, 0]) & (line[:, 0] <= ends[:, 1:])) == patterns(interval_dichotomies(line))
    sides = np.sort(DRAW.uniform(-4, 4, (200_000, 2, 2)), axis=1)
    boxes = np.all((sides[:, 0, None] <= plane) & (plane <= sides[:, 1, None]), axis=2)
    assert patterns(boxes) == patterns(rectangle_dichotomies(plane))
    normals = DRAW.standard_normal((200_000, 3))
    assert patterns(normals[:, :2] @ plane.T + normals[:, 2:] > 0) == patterns(half_space_dichotomies(plane))


@pytest.mark.item("H7.3")
def test_half_spaces_on_points_that_are_not_in_general_position():
    collinear = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert len(half_space_dichotomies(collinear)) == 6  # the middle one cannot be alone
    assert not shatters(half_space_dichotomies, collinear)


def test_vc_dimension_against_the_definition():
    members = DRAW.random((12, 6)) < 0.5
    shattered = [
        len(chosen)
        for count in range(7)
        for chosen in combinations(range(6), count)
        if len({tuple(row) for row in members[:, list(chosen)]}) == 2**count
    ]
    assert vc_dimension(members) == max(shattered)


def test_equal_points_and_columns_that_are_not_neighbours():
    assert len(threshold_dichotomies(np.array([[1.0], [1.0], [2.0]]))) == 3
    assert vc_dimension(np.array([[a, False, b] for a in (False, True) for b in (False, True)])) == 2
    assert not sine_signs(10, 1)[0]  # sin π is not positive


def test_small_sets_attain_sauer():
    for n, h in [(5, 0), (5, 2), (4, 4)]:
        members = np.array([row for row in product((False, True), repeat=n) if sum(row) <= h])
        assert len(members) == sauer_sum(n, h)
        assert vc_dimension(members) == h
    assert sauer_sum(3, 7) == 8
    assert sauer_power(10, 2) == pytest.approx((np.e * 5) ** 2)


def test_cover_count_by_its_recurrence():
    # Cover's recurrence C(n+1, d) = C(n, d) + C(n, d−1), with one point always split two ways.
    for d in (1, 2, 3):
        for n in (1, 2, 5):
            assert cover_count(n + 1, d) == cover_count(n, d) + cover_count(n, d - 1)
    assert [cover_count(n, 2) for n in range(1, 7)] == [2, 4, 8, 14, 22, 32]


def test_radon_parts_have_hulls_that_meet():
    from scipy.optimize import linprog

    points = DRAW.standard_normal((5, 3))
    labels = radon_labels(points)
    a, b = points[labels], points[~labels]
    equal = np.vstack(
        [np.hstack([a.T, -b.T]), np.r_[np.ones(len(a)), np.zeros(len(b))], np.r_[np.zeros(len(a)), np.ones(len(b))]]
    )
    assert linprog(np.zeros(5), A_eq=equal, b_eq=[0, 0, 0, 1, 1], bounds=(0, None)).status == 0
    with pytest.raises(ValueError, match="d \\+ 2"):
        radon_labels(points[:4])


def test_signs_of_the_sine_in_high_precision():
    import mpmath

    with mpmath.workdps(40):
        for labels in product((False, True), repeat=4):
            k = sine_frequency(np.array(labels))
            signs = [mpmath.sin(mpmath.pi * k / mpmath.mpf(10) ** i) > 0 for i in range(1, 5)]
            assert tuple(signs) == labels == tuple(sine_signs(k, 4))
