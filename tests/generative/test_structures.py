import numpy as np
import pytest

from deeptheory.generative.structures import nonnegative_factors, orthogonal_dictionary, principal_components, topics


@pytest.mark.item("A14.4")
def test_principal_components_leave_the_other_eigenvalues():
    data = np.random.default_rng(0).standard_normal((50, 4)) * [3.0, 2.0, 1.0, 0.5] + 1.0
    found = principal_components(data, rank=2)
    eigenvalues = np.linalg.eigvalsh(np.cov(data.T, bias=True))
    assert found.losses[0] == pytest.approx(eigenvalues[:2].sum())
    left = data - data.mean(0) - found.codes @ found.atoms
    assert (left**2).sum() / 50 == pytest.approx(eigenvalues[:2].sum())


@pytest.mark.item("A14.4")
def test_planted_factors_and_topics_are_found():
    draw = np.random.default_rng(1)
    # Every topic has words of its own, and some documents are of one topic: the factors are unique.
    atoms = np.kron(np.eye(3), np.ones(4)) + 0.1 * np.tile([1.0, 0, 1, 0], 3)
    atoms = atoms / atoms.sum(1, keepdims=True)
    codes = np.concatenate([np.repeat(np.eye(3), 10, 0), draw.dirichlet(np.ones(3), 70)])
    table = codes @ atoms
    factors = nonnegative_factors(draw, table, rank=3, steps=1000)
    mixed = topics(draw, 1000 * table, rank=3, steps=1000)
    for found in (factors, mixed):
        assert np.all(np.diff(found.losses) <= 1e-12)
        assert found.codes.min() >= 0
        assert found.atoms.min() >= 0
        rows = found.atoms / found.atoms.sum(1, keepdims=True)
        order = rows[:, ::4].argmax(0)
        np.testing.assert_allclose(found.codes @ found.atoms, table, atol=2e-3)
        np.testing.assert_allclose(rows[order], atoms, atol=0.03)


@pytest.mark.item("A14.4")
def test_a_planted_orthogonal_dictionary_is_found():
    draw = np.random.default_rng(2)
    truth = np.linalg.qr(draw.standard_normal((5, 5)))[0]
    codes = draw.standard_normal((300, 5)) * (draw.random((300, 5)).argsort(1) < 2)
    found = min(
        (orthogonal_dictionary(draw, codes @ truth, nonzeros=2) for _ in range(5)), key=lambda each: each.losses[-1]
    )
    assert np.all(np.diff(found.losses) <= 1e-9)
    assert found.losses[-1] < 1e-12
    matches = np.abs(found.atoms @ truth.T)
    np.testing.assert_allclose(np.sort(matches, 1)[:, -1], 1, atol=1e-6)
