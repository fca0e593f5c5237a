"""Claims about landscapes."""
