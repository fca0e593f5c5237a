"""Claims about architectures."""
