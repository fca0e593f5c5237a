"""Curvature of a loss along training.

- `sharpness`: the largest Hessian eigenvalue of a loss, and how it moves while gradient descent trains.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
