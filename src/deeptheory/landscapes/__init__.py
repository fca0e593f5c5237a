"""Landscapes: critical points found, classified and, where they can be, enumerated with their Morse index.

- `convexity`: convexity and what may stand in for it: gaps of chords and tangents, and the constants of three relaxed
  notions.
- `critical_points`: critical points of any function: found, told apart, classified by the Hessian, and by the
  definition where it fails.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
