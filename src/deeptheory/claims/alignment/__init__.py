"""Claims about alignment."""
