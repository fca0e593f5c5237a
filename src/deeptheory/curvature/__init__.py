"""Curvature of a loss along training.

- `edge_of_stability`: the largest Hessian eigenvalue of a loss, and how it moves while gradient descent trains.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
