"""Claims about language."""
