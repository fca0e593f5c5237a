"""Claims about reasoning."""
