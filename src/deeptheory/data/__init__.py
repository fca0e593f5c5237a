"""Data that ships with the package: small enough to carry, real enough to matter.

- `handwriting`: handwritten digits: the first 3,000 training and 1,000 test images of MNIST, averaged over 2×2 pixels
  to 14×14.
"""

from deeptheory.data.handwriting import Digits as Digits, digits as digits
from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
