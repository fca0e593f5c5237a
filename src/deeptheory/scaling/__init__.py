"""Scaling laws: power laws of the loss in parameters, data and compute, fitted with intervals and spent well.

- `chinchilla`: the published laws of language models, and the best allocation of compute under such a law.
- `memorization`: a learner with an exact scaling law, to try extrapolation on.
- `power_laws`: fits of sums of power laws above a floor, with intervals for exponents and predictions.
- `resolution`: what linear pieces on a grid leave over, exactly: losses like N^(−4/d).
- `size_accounting`: parameters, operations and bytes of a transformer, counted and by rules of thumb.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
