import numpy as np
import pytest

from deeptheory.attribution.axioms import (
    axiom_gaps,
    equal_split,
    null_players,
    schemes_obeying,
    symmetric_players,
)
from deeptheory.attribution.shapley import banzhaf_values, coalitions, shapley_values


def example():
    """Four players: 0 and 1 interchangeable, 3 of no use."""
    masks = coalitions(4)
    return 2.0 * (masks[:, 0] & masks[:, 1]) + masks[:, 2] * (masks[:, 0] | masks[:, 1])


def other():
    masks = coalitions(4)
    return 1.5 * masks[:, 0] + masks[:, 2] * masks[:, 3] + 0.5


def test_null_and_symmetric_players_are_found():
    np.testing.assert_array_equal(null_players(example()), [False, False, False, True])
    np.testing.assert_array_equal(np.argwhere(np.triu(symmetric_players(example()), 1)), [[0, 1]])


@pytest.mark.item("A10.10")
def test_shapley_keeps_every_axiom_and_others_break_the_one_they_should():
    gaps = axiom_gaps(shapley_values, example(), other())
    assert max(gaps.values()) < 1e-14
    broken = {
        scheme: [name for name, gap in axiom_gaps(scheme, example(), other()).items() if gap > 1e-9]
        for scheme in (banzhaf_values, equal_split, first_comes_first, shared_by_all)
    }
    assert broken[banzhaf_values] == ["efficiency"]
    assert broken[equal_split] == ["linearity"]
    assert broken[first_comes_first] == ["symmetry"]
    assert broken[shared_by_all] == ["null player"]


def first_comes_first(table):
    """Gains in the order of the players' names."""
    return np.diff(table[[0, 1, 3, 7, 15]])


def shared_by_all(table):
    return np.full(4, (table[-1] - table[0]) / 4)


@pytest.mark.parametrize("players", [1, 2, 3, 4])
@pytest.mark.item("A10.11")
def test_the_axioms_leave_one_scheme(players):
    found = schemes_obeying(players)
    assert found.dimension == 0
    units = np.eye(2**players)[1:]
    np.testing.assert_allclose(found.scheme, shapley_values(units).T, atol=1e-12)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_without_an_axiom_many_schemes_are_left(players):
    """On the game that T wins: without efficiency one number for each |T|; without symmetry any shares in T."""
    dimension = {
        left_out: schemes_obeying(players, [a for a in ("efficiency", "symmetry", "null player") if a != left_out])[0]
        for left_out in ("efficiency", "symmetry", "null player")
    }
    shares = players * 2 ** (players - 1) - (2**players - 1)
    assert dimension == {"efficiency": players, "symmetry": shares, "null player": players - 1}


def test_unknown_axioms_are_refused():
    with pytest.raises(ValueError, match="fairness"):
        schemes_obeying(3, ["fairness"])
