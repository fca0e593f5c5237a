"""Stieltjes transforms against mpmath quadrature, resolvents, and their inversion."""

import mpmath
import numpy as np
import pytest

from deeptheory.spectra import stieltjes as st
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_atom, marchenko_pastur_edges, marchenko_pastur_pdf


@pytest.mark.item("J7.6")
@pytest.mark.parametrize("ratio", (0.3, 1.0, 2.5))
@pytest.mark.parametrize("z", (0.7 + 0.2j, -0.4, 3.5 - 1j))
def test_closed_form_against_high_precision_quadrature(ratio, z):
    variance = 1.3
    low, high = (mpmath.mpf(variance) * (1 + sign * mpmath.sqrt(ratio)) ** 2 for sign in (-1, 1))

    def integrand(angle):
        x = low + (high - low) * mpmath.sin(angle / 2) ** 2
        weight = ((high - low) / 2 * mpmath.sin(angle)) ** 2 / (2 * mpmath.pi * variance * ratio * x)
        return weight / (x - z)

    exact = complex(mpmath.quad(integrand, mpmath.linspace(0, mpmath.pi, 9))) - max(0, 1 - 1 / ratio) / z
    assert complex(st.marchenko_pastur_stieltjes(z, ratio, variance)) == pytest.approx(exact, rel=1e-10)


@pytest.mark.item("J6.7")
def test_transform_is_the_normalised_trace_of_the_resolvent(key):
    matrix = np.diag([1.0, 2.0, 5.0])
    z = np.asarray([[0.5 + 1j, -2.0], [3 - 0.1j, 1e3j]])
    traces = [[np.trace(np.linalg.inv(matrix - w * np.eye(3))) / 3 for w in row] for row in z]
    np.testing.assert_allclose(st.stieltjes_transform(np.asarray([1.0, 2.0, 5.0]), z), traces, rtol=1e-13)
    batch = st.stieltjes_transform(np.asarray([[1.0, 2.0], [3.0, 4.0]]), 1j)
    assert batch.shape == (2,)
    weighted = st.stieltjes_transform(np.asarray([1.0, 2.0]), 1j, np.asarray([0.9, 0.1]))
    assert weighted == pytest.approx(0.9 / (1 - 1j) + 0.1 / (2 - 1j))


@pytest.mark.item("J6.10")
def test_iteration_finds_the_root_in_the_upper_half_plane():
    z = np.asarray([0.5 + 0.3j, 4 + 1j])
    for ratio in (0.2, 3.0):
        found = st.marchenko_pastur_iteration(z, ratio, 2.0, steps=1000)
        assert np.all(found.imag > 0)
        np.testing.assert_allclose(found, st.marchenko_pastur_stieltjes(z, ratio, 2.0), rtol=1e-12)
        assert np.all(abs(st.marchenko_pastur_equation(found, z, ratio, 2.0)) < 1e-14)


def test_iteration_says_when_it_has_not_converged():
    with pytest.raises(ArithmeticError, match="200 steps"):
        st.marchenko_pastur_iteration(1 + 1e-3j, 0.5)
    with pytest.raises(ArithmeticError, match="1 steps"):
        st.marchenko_pastur_iteration([0.5 + 0.3j, 4 + 1j], 0.5, steps=1)


@pytest.mark.item("J6.8")
def test_inversion_recovers_density_and_masses():
    ratio = 0.5
    low, high = marchenko_pastur_edges(ratio)
    x = np.linspace(low + 0.1, high - 0.1, 20)
    density = st.inverted_density(lambda z: st.marchenko_pastur_stieltjes(z, ratio), x, 1e-7)
    np.testing.assert_allclose(density, marchenko_pastur_pdf(x, ratio), rtol=1e-5)
    above = st.inverted_mass(lambda z: st.marchenko_pastur_stieltjes(z, 2.0), -0.1, 0.1, 1e-3)
    assert above == pytest.approx(float(marchenko_pastur_atom(2.0)), abs=5e-3)
    points = np.asarray([0.0, 1.0])
    half = st.inverted_mass(lambda z: st.stieltjes_transform(points, z), 0, 3, 1e-3)
    assert half == pytest.approx(0.75, abs=1e-3)


@pytest.mark.item("J6.9")
def test_difference_bound_on_random_measures():
    draw = np.random.default_rng(0)
    for _ in range(50):
        one, two = np.sort(draw.standard_normal((2, 6)), axis=1)
        grid = np.sort(np.concatenate([one, two]))
        distance = abs((one[:, None] <= grid).mean(0) - (two[:, None] <= grid).mean(0)).max()
        z = draw.standard_normal() + 1j * draw.uniform(0.05, 2)
        gap = abs(st.stieltjes_transform(one, z) - st.stieltjes_transform(two, z))
        assert gap <= st.stieltjes_difference_bound(distance, z.imag) * (1 + 1e-12)


def test_total_mass_and_bad_input():
    assert st.total_mass(lambda z: 0.25 * st.stieltjes_transform(np.zeros(1), z), 1e8) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="epsilon"):
        st.inverted_density(lambda z: z, np.zeros(2), 0.0)
    with pytest.raises(ValueError, match="low must not exceed high"):
        st.inverted_mass(lambda z: z, 1.0, 0.0, 0.1)
    with pytest.raises(ValueError, match="ratio"):
        st.marchenko_pastur_stieltjes(1j, -1.0)
