"""Convolutions of signals against NumPy, SciPy and sums written out."""

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

from deeptheory.architectures.convolutions import (
    binomial_filter,
    continuous_convolution,
    convolution_matrix,
    convolve,
    convolve_by_fft,
    cross_correlate,
    fourier_transform,
    frequency_response,
    integral_operator,
)

RNG = np.random.default_rng(3)
F, H = RNG.standard_normal((2, 9)), RNG.standard_normal(4)


def box(t):
    return (abs(t) < 0.5) * 1.0


@pytest.mark.item("L10.5")
def test_sums_are_those_of_numpy_and_go_around_where_asked():
    for row in range(2):
        np.testing.assert_allclose(convolve(F, H)[row], np.convolve(F[row], H), atol=1e-14)
        np.testing.assert_allclose(
            convolve(F, H, boundary="valid")[row], np.convolve(F[row], H, mode="valid"), atol=1e-14
        )
        around = [sum(F[row, t] * H[(u - t) % 9] for t in range(9) if (u - t) % 9 < 4) for u in range(9)]
        np.testing.assert_allclose(convolve(F, H, boundary="circular")[row], around, atol=1e-14)


@pytest.mark.item("L10.14")
@pytest.mark.parametrize("boundary", ["full", "valid", "circular"])
def test_the_fourier_transform_gives_the_same_sums(boundary):
    np.testing.assert_allclose(convolve_by_fft(F, H, boundary=boundary), convolve(F, H, boundary=boundary), atol=1e-13)
    np.testing.assert_allclose(convolve_by_fft(F[0], H), scipy.signal.fftconvolve(F[0], H), atol=1e-13)


@pytest.mark.item("L10.7")
def test_correlation_slides_the_kernel_as_it_is():
    f = F[0]
    at = {u: sum(H[t] * f[u + t] for t in range(4) if 0 <= u + t < 9) for u in range(-3, 9)}
    np.testing.assert_allclose(cross_correlate(H, f), [at[u] for u in range(-3, 9)], atol=1e-14)
    np.testing.assert_allclose(cross_correlate(H, f, boundary="valid"), [at[u] for u in range(6)], atol=1e-14)
    around = [sum(H[t] * f[(u + t) % 9] for t in range(4)) for u in range(9)]
    np.testing.assert_allclose(cross_correlate(H, f, boundary="circular"), around, atol=1e-14)
    np.testing.assert_allclose(cross_correlate(H, f), cross_correlate(f, H)[::-1], atol=1e-14)
    np.testing.assert_allclose(cross_correlate(H, f), scipy.signal.correlate(f, H), atol=1e-14)


@pytest.mark.item("L10.5")
def test_matrices_are_toeplitz_and_the_circular_one_has_the_transform_as_eigenvalues():
    full = scipy.linalg.toeplitz([*H, *[0] * 8], [H[0], *[0] * 8])
    np.testing.assert_array_equal(convolution_matrix(H, length=9), full)
    around = np.asarray(convolution_matrix(H, length=9, boundary="circular"))
    np.testing.assert_array_equal(around, scipy.linalg.circulant([*H, *[0] * 5]))
    # Every Fourier wave is an eigenvector, with the transform of the kernel at its frequency as eigenvalue.
    waves = np.exp(2j * np.pi * np.outer(np.arange(9), np.arange(9)) / 9)
    np.testing.assert_allclose(around @ waves, waves * np.fft.fft(H, 9), atol=1e-12)


@pytest.mark.item("L10.44")
def test_a_valid_convolution_is_a_dense_layer_with_shared_weights():
    d, k = 9, 4
    w = np.zeros((d - k + 1, d))
    for row in range(1, d - k + 2):
        for column in range(row, k + row):
            w[row - 1, column - 1] = H[k + row - column - 1]
    np.testing.assert_array_equal(convolution_matrix(H, length=d, boundary="valid"), w)
    np.testing.assert_allclose(w @ F[0], np.convolve(F[0], H, mode="valid"), atol=1e-14)


@pytest.mark.item("L10.6")
def test_the_printed_filter_smooths():
    h = binomial_filter(4)
    np.testing.assert_array_equal(h * 16, [1, 4, 6, 4, 1])
    np.testing.assert_allclose(h, np.convolve(np.convolve([0.5, 0.5], [0.5, 0.5]), binomial_filter(2)))
    frequencies = np.linspace(0, 0.5, 7)
    np.testing.assert_allclose(
        frequency_response(h, frequencies, origin=2), np.cos(np.pi * frequencies) ** 4, atol=1e-15
    )
    _, freqz = scipy.signal.freqz(h, worN=2 * np.pi * frequencies)
    np.testing.assert_allclose(frequency_response(h, frequencies), freqz, atol=1e-15)


@pytest.mark.item("L10.3")
def test_a_gaussian_is_its_own_transform_and_a_box_becomes_a_sinc():
    u = np.linspace(-2, 2, 9)
    found = fourier_transform(lambda t: np.exp(-np.pi * t**2), u, low=-6, high=6)
    np.testing.assert_allclose(found, np.exp(-np.pi * u**2), atol=1e-14)
    box_seen = fourier_transform(box, u, low=-0.5, high=0.5, points=20000)
    np.testing.assert_allclose(box_seen, np.sinc(u), atol=1e-8)
    ramp = integral_operator(
        lambda u, t: (t < u) * 1.0, lambda t: 2 * t, np.array([0.25, 1.0]), low=0, high=1, points=100
    )
    np.testing.assert_allclose(ramp, [0.0625, 1.0], atol=1e-14)


@pytest.mark.item("L10.4")
def test_two_boxes_make_a_triangle():
    u = np.arange(-6, 7) / 5
    found = continuous_convolution(box, box, u, low=-1, high=1, points=40)
    np.testing.assert_allclose(found, np.maximum(1 - abs(u), 0), atol=1e-14)


def test_kernels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="no longer than the signal, got 4 taps for 3 entries"):
        convolve(np.ones(3), H, boundary="valid")
    with pytest.raises(ValueError, match="boundary must be full, valid or circular, got 'same'"):
        convolve_by_fft(np.ones(9), H, boundary="same")
    with pytest.raises(ValueError, match="high must exceed low"):
        continuous_convolution(box, box, np.ones(2), low=1, high=1)
