"""Concentration."""
