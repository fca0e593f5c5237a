"""Lazy."""
