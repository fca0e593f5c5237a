"""The claims, by subject and theme. Importing this package imports none of them."""

from deeptheory.claims.tour import TOUR as TOUR
