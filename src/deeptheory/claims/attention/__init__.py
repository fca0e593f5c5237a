"""Claims about attention."""
