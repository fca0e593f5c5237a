"""Claims about attribution."""
