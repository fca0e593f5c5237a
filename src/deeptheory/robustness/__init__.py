"""Robustness: what a classifier keeps when its input is moved, and how that can be certified.

- `gaussian_ball`: in what sense a Gaussian in d dimensions is a ball of radius β√d: its length and its coordinates,
  not its law.
- `isoperimetry`: how much sets must grow, tails of Lipschitz functions, and the law of robustness.
- `lipschitz`: Lipschitz constants of ReLU networks from both sides and exactly, and the radius they certify.
- `noise_training`: training on noisy copies, so that the base classifier of a smoothing answers well around each
  point.
- `separation`: how far apart classes lie, and what intertwined classes and memorised noise cost.
- `sign_flips`: outputs and gradients of random two-layer networks, and the one step that flips a sign.
- `smoothing`: randomized smoothing: what Gaussian votes certify, how well a finite number of votes certifies it, and
  its limits.
- `two_layer_robust`: a two-layer network that is as robust as can be, and the fragile ones that training finds.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
