"""Implicit bias."""
