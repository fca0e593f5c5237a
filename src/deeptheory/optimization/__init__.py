"""Optimization: gradient descent and its rates, saddles, and the landscapes to try them on.

- `conditioning`: gradient descent on a quadratic in its eigenbasis, and how many steps its condition number costs.
- `empirical_risk`: training as a flow on the empirical risk: how fast it falls, where the Hessian points down, which
  limit applies.
- `descent`: gradient descent with a fixed step, and how fast it is on quadratic, convex and other smooth
  functions.
- `landscapes`: functions to descend on whose smoothness, convexity and minimum are known in closed form.
- `saddle`: leaving strict saddles: gradient descent that shakes itself when it stands still, and certificates for its
  runs.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
