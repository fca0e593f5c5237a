"""Decision lists and their code against evaluation by hand and Hoeffding's bound."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from deeptheory.foundations.concentration import log_hoeffding
from deeptheory.generalization.pac_bayes import description_length as d


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


def test_risk_by_a_short_description_fails_as_rarely_as_it_says():
    """Hypotheses of two and three bits, n examples: the chance that either is worse than its bound, by enumeration."""
    n, delta = 20, 0.2
    errors = np.arange(n + 1)
    for risk in (0.05, 0.3, 0.5, 0.9):
        law = binom.pmf(errors, n, risk)
        for bits in (0, 2, 3):
            failing = law[np.asarray(d.occam_risk(errors / n, bits, n, delta)) < risk].sum()
            assert failing <= delta * 2.0**-bits


def test_risk_by_a_short_description_by_hand():
    # Without errors kl(0‖r) = −log(1 − r).
    assert d.occam_risk(0.0, 3, 10, 0.5) == pytest.approx(1 - 2 ** (-4 / 10))
    assert d.occam_risk(1.0, 3, 10, 0.5) == 1
    assert np.all(d.occam_risk(np.array([0.1, 0.4]), 5, 50, 0.1) <= np.array([0.1, 0.4]) + d.occam_bound(5, 50, 0.1))


@pytest.mark.parametrize("word", ["", "0", "1", "0e", "001", "1zz", "111111", "10010", "zebra"])
def test_what_is_no_word_of_the_code_is_refused(word):
    with pytest.raises(ValueError, match="word must describe a decision list on 3 bits, got"):
        d.decode(word, 3)


@pytest.mark.parametrize("rule", [(-2, 1), (6, 1), (1, 2)])
def test_a_rule_about_bits_that_are_not_there_has_no_word(rule):
    with pytest.raises(ValueError, match="a rule on 3 bits is a literal below 6 and 0 or 1, got"):
        d.encode(d.DecisionList((rule,), 0), 3)
