"""Concentration beyond sums of bounded variables.

- `martingales`: martingales and functions of independent variables: Azuma, McDiarmid, Burkholder, with every law
  computed exactly.
- `matrix_concentration`: matrix Bernstein: how far a sum of independent random matrices lies from its mean in
  spectral norm.
- `sub_exponential`: light tails: sub-Gaussian and sub-exponential variables by their moment-generating functions, and
  by Orlicz norms.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
