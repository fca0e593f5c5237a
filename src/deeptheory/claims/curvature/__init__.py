"""Curvature."""
