"""Sparse Fourier transforms against NumPy's, full enumeration, and the table's own numbers at powers of two."""

import itertools

import jax
import numpy as np
import pytest

from deeptheory.foundations.randomness import generator
from deeptheory.spectra.sparse_fourier import (
    HALVINGS,
    SAMPLES_PER_TERM,
    SparseSpectrum,
    coefficient_variance,
    keep_largest,
    lists_needed,
    recover_spectrum,
    recovery_rounds,
    tail_level,
)
from deeptheory.spectra.sparse_fourier_table import SPARSE_TRANSFORMS, transform_samples


def sparse_signal(key, shape, sparsity, noise=0.0):
    draw = generator(key)
    spectrum = noise * (draw.standard_normal(shape) + 1j * draw.standard_normal(shape))
    spectrum.flat[draw.choice(spectrum.size, sparsity, replace=False)] = np.exp(2j * np.pi * draw.random(sparsity))
    return np.fft.ifftn(spectrum, norm="forward")


@pytest.mark.item("A19.2")
@pytest.mark.parametrize("shape", [(512,), (13, 37), (8, 8, 8)])
def test_sparse_signals_are_recovered_to_rounding_in_any_dimension(shape):
    signal = sparse_signal(jax.random.key(1), shape, 3)
    found = recover_spectrum(jax.random.key(2), signal, 3, noise=1e-12, largest=1.0)
    np.testing.assert_allclose(found.spectrum.dense(), np.fft.fftn(signal, norm="forward"), rtol=0, atol=1e-12)
    assert len(found.spectrum.frequencies) == 3
    assert found.rounds == recovery_rounds(1e12) == 36


@pytest.mark.item("A19.2")
def test_no_coefficient_is_off_by_more_than_the_noise():
    for trial in range(5):
        signal = sparse_signal(jax.random.key(trial), (1024,), 4, noise=1e-3)
        spectrum = np.fft.fft(signal, norm="forward")
        noise, largest = tail_level(spectrum, 4), np.abs(spectrum).max()
        found = recover_spectrum(jax.random.key(100 + trial), signal, 4, noise, largest)
        assert np.abs(found.spectrum.dense() - spectrum).max() <= found.spectrum.bound <= noise
        pruned = keep_largest(found.spectrum, 4)
        assert set(pruned.frequencies) == set(np.argsort(np.abs(spectrum))[-4:])
        assert np.abs(pruned.dense() - spectrum).max() <= pruned.bound
        assert np.linalg.norm(pruned.dense() - spectrum) <= np.sqrt(10 * 4) * noise


@pytest.mark.item("A19.2")
def test_only_the_drawn_positions_are_read():
    key, signal = jax.random.key(3), sparse_signal(jax.random.key(1), (4096,), 1)
    found = recover_spectrum(key, signal, 1, noise=1e-6, largest=1.0)
    assert found.drawn == HALVINGS * lists_needed(4096) * SAMPLES_PER_TERM == 780
    positions = generator(key).integers(4096, size=found.drawn)
    spoilt = np.full(4096, 1e9 + 0j)
    spoilt[positions] = signal[positions]
    again = recover_spectrum(key, spoilt, 1, noise=1e-6, largest=1.0)
    assert found.read == len(set(positions.tolist())) < 4096 / 5
    np.testing.assert_array_equal(found.spectrum.dense(), again.spectrum.dense())


@pytest.mark.item("A19.2")
def test_variance_of_an_estimate_agrees_with_all_pairs_of_positions():
    spectrum = generator(jax.random.key(0)).standard_normal((6, 2)) @ [1, 1j]
    signal, frequencies = np.fft.ifft(spectrum, norm="forward"), np.arange(6)
    modulated = signal[:, None] * np.exp(-2j * np.pi * np.outer(np.arange(6), frequencies) / 6)
    estimates = np.array([(modulated[s] + modulated[t]) / 2 for s, t in itertools.product(range(6), repeat=2)])
    np.testing.assert_allclose(estimates.mean(0), spectrum, atol=1e-12)
    np.testing.assert_allclose((np.abs(estimates - spectrum) ** 2).mean(0), coefficient_variance(spectrum, 2))


@pytest.mark.item("A19.2")
def test_rounds_are_counted_as_the_printed_loop_does():
    for ratio in (0.5, 1.0, 31.9, 32.0, 32.1, 64.0, 100.0, 2.0**20, 1e12):
        level, rounds = ratio / 2, 1
        while level * 2 ** (1 - HALVINGS) > 1:
            level, rounds = level / 2, rounds + 1
        assert recovery_rounds(ratio) == rounds


def test_a_dropped_term_counts_as_missing():
    spectrum = SparseSpectrum((4,), np.array([0, 2, 3]), np.array([1.0, -3.0, 2j]), 0.1)
    kept = keep_largest(spectrum, 2)
    np.testing.assert_array_equal(kept.dense(), [0, 0, -3, 2j])
    assert kept.bound == pytest.approx(1.1)


@pytest.mark.item("A19.3")
def test_table_at_powers_of_two():
    # At k = 16, n = 2^32, d = 2 every logarithm of the table is whole: log k = 4, log n = 32, log(k log n) = 9.
    ours = {name: transform_samples(name, 16, 2**32, 2) for name in SPARSE_TRANSFORMS}
    assert ours == {
        "CT06": 2**34, "RV08": 2**13 * 9, "HIKP12": 2**14 * 28, "CGV13": 2**15, "IK14": 2**11, "Bou14": 2**16,
        "HR16": 2**13, "Kap16": 2**13, "KVZ19": 2**26, "NSW19": 2**11,
    }  # fmt: skip


def test_wrong_wishes_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="sparsity must lie in"):
        recover_spectrum(jax.random.key(0), np.ones(4), 5, 0.1, 1.0)
    with pytest.raises(ValueError, match="which rounding limits"):
        recover_spectrum(jax.random.key(0), np.ones(4), 1, 1e-20, 1.0)
    with pytest.raises(ValueError, match="reference must be one of"):
        transform_samples("FFT65", 2, 8)
