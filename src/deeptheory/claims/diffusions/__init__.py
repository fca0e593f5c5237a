"""Claims about diffusions."""
