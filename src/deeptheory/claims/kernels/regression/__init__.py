"""Regression."""
