"""Claims about propagation."""
