"""Claims about robustness."""
