"""Deep-learning theory you can run."""
