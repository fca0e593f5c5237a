"""Cloze questions against all subsets of words."""

from itertools import product

import numpy as np
import pytest

from deeptheory.language.cloze import (
    cloze_score,
    grouped_choices,
    independent_disagreement,
    most_telling_words,
    pinsker_error,
    question_error,
)

RNG = np.random.default_rng(4)
HUMAN, MODEL = RNG.dirichlet(np.ones(5), (2, 30))


@pytest.mark.item("A15.14")
def test_a_sure_human_and_a_torn_model():
    score = cloze_score(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    assert (score.entropy, score.cross_entropy, score.excess) == pytest.approx((0, np.log(2), np.log(2)))
    score = cloze_score(HUMAN, MODEL)
    np.testing.assert_allclose(score.cross_entropy, -(HUMAN * np.log(MODEL)).sum(1))
    np.testing.assert_allclose(score.excess, score.cross_entropy + (HUMAN * np.log(HUMAN)).sum(1))
    with pytest.raises(ValueError, match="model must be laws that sum to 1"):
        cloze_score(np.array([0.5, 0.5]), np.array([0.5, 0.6]))


def test_no_question_is_more_telling():
    words = most_telling_words(HUMAN, MODEL)
    found = np.asarray(question_error(HUMAN, MODEL, words))
    for row in range(30):
        gaps = [
            abs(HUMAN[row, list(a)].sum() - MODEL[row, list(a)].sum())
            for a in map(np.array, product([False, True], repeat=5))
        ]
        assert found[row] == pytest.approx(max(gaps))
    assert np.all(found <= pinsker_error(cloze_score(HUMAN, MODEL).excess))


def test_answers_on_their_own_differ_more():
    even = np.array([0.5, 0.5])
    assert independent_disagreement(even, even, np.array([True, False])) == 0.5
    assert question_error(even, even, np.array([True, False])) == 0
    assert pinsker_error(2.0) == 1.0


@pytest.mark.item("A15.27")
def test_coarser_choices_show_less_of_the_excess():
    whole = cloze_score(HUMAN, MODEL).excess
    groups = np.array([0, 1, 0, 2, 1])
    coarse = grouped_choices(HUMAN, groups)
    np.testing.assert_allclose(coarse[:, 0], HUMAN[:, 0] + HUMAN[:, 2])
    assert np.all(cloze_score(coarse, grouped_choices(MODEL, groups)).excess <= whole + 1e-12)
    np.testing.assert_allclose(cloze_score(*(grouped_choices(p, np.arange(5)) for p in (HUMAN, MODEL))).excess, whole)
