"""Pac bayes."""
