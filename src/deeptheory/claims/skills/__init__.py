"""Claims about skills."""
