"""Claims about generative."""
