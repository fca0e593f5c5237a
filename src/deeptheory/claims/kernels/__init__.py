"""Claims about kernels."""
