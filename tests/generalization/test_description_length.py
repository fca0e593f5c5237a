"""Decision lists and their code against evaluation by hand and Hoeffding's bound."""

from fractions import Fraction

import numpy as np
import pytest

from deeptheory.generalization import description_length as d
from deeptheory.generalization.concentration import log_hoeffding


def test_a_list_is_read_from_the_top():
    rules = d.DecisionList(((0, 1), (3, 0)), 1)  # x₀ → 1; else ¬x₁ → 0; else 1
    x = np.asarray([[1, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(rules(x), [1, 0, 1])


@pytest.mark.parametrize("variables", [1, 2, 3])
def test_the_code_is_prefix_free_and_read_back(variables):
    lists = d.decision_lists(variables, 2)
    words = [d.encode(rules, variables) for rules in lists]
    assert len(set(words)) == len(lists) == 2 + 8 * variables + 2 * (4 * variables) ** 2
    assert [d.decode(word, variables) for word in words] == lists
    assert d.prefix_free(words) and d.kraft_sum(words) <= 1
    assert not d.prefix_free(["0", "01"])
    assert not d.prefix_free(["0", "11", "01"])  # the two need not be neighbours in length


def test_the_code_wastes_nothing_when_literals_fill_their_bits():
    words = [d.encode(rules, 2) for rules in d.decision_lists(2, 3)]
    assert d.kraft_sum(words) == 1 - Fraction(1, 16)


def test_the_bound_spends_each_share():
    bound = float(d.occam_bound(7, 90, 0.2))
    assert float(log_hoeffding(90 * bound, np.ones(90))) == pytest.approx(np.log(0.2 / 2**7))


def test_impossible_lists_are_refused():
    with pytest.raises(ValueError, match=r"variables must lie in \[1, 50\], got 0"):
        d.decision_lists(0, 1)
