"""Finite."""
