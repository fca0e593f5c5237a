"""Claims about networks."""
