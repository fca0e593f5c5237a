"""Interpolation."""
