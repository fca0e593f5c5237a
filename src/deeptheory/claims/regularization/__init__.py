"""Claims about regularization."""
