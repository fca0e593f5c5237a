"""Claims about spectra."""
