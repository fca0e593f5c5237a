"""Data that ships with the package: small enough to carry, real enough to matter."""

from deeptheory.data.digits import Digits, digits

__all__ = ["Digits", "digits"]
