"""Claims about approximation."""
