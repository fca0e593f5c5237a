"""Claims about optimization."""
