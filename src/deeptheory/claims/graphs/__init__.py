"""Claims about graphs."""
