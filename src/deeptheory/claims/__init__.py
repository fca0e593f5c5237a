"""The claims, by subject and theme. Importing this package imports none of them."""

TOUR: tuple[str, ...] = ()
"""The claims that `deeptheory tour` runs."""
