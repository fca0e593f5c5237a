"""Claims about generalization."""
