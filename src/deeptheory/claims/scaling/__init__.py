"""Claims about scaling."""
