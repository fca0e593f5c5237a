"""Spectra of random matrices."""

from deeptheory.spectra.marchenko_pastur import (
    ENTRY_LAWS,
    draw_entries,
    entry_moment,
    expected_spectral_moment,
    marchenko_pastur_atom,
    marchenko_pastur_cdf,
    marchenko_pastur_edges,
    marchenko_pastur_moment,
    marchenko_pastur_pdf,
    marchenko_pastur_quantile,
    sample_covariance_eigenvalues,
    spectral_distance,
)

__all__ = [
    "ENTRY_LAWS",
    "draw_entries",
    "entry_moment",
    "expected_spectral_moment",
    "marchenko_pastur_atom",
    "marchenko_pastur_cdf",
    "marchenko_pastur_edges",
    "marchenko_pastur_moment",
    "marchenko_pastur_pdf",
    "marchenko_pastur_quantile",
    "sample_covariance_eigenvalues",
    "spectral_distance",
]
