"""Interpolation: exact risks of methods that fit every point.

- `correlated_risk`: limiting risk of ridge and ridgeless regression on correlated features, well specified or not.
- `nadaraya_watson`: kernel averages of responses; with a kernel that is infinite at zero they pass through every data
  point.
- `nearest_neighbours`: averages over nearest neighbours, and how far apart neighbours are.
- `overfitting`: how badly noise hurts a method that fits it exactly: benign, tempered and catastrophic interpolants.
- `polynomials`: polynomial regression on [0, 1]: monomials, and Legendre polynomials, in which the test error is a
  sum of squares.
- `gaussian_equivalents`: limiting risk of ridge and ridgeless regression on random features φ(Wx), through their
  Gaussian equivalent.
- `ridge_risk`: risk and norm of ridge regression on both sides of the interpolation threshold, tuned or not.
- `ridgeless`: least squares without a penalty, below and above the interpolation threshold: exact risks and their
  limits.
- `smoothers`: regression by linear smoothers: predictions S y whose weights depend on the inputs alone, and the
  errors they make.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
