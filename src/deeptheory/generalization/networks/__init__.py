"""Bounds that read a network: its norms, margins and compressions, and what it memorizes.

- `all_layer_margin`: the all-layer margin of Wei and Ma: how little must be added at all layers at once before the
  answer changes.
- `compression`: compression: networks and classifiers replaced by ones that take less to write down and say nearly
  the same.
- `memorization`: networks that memorize: labels corrupted by chance, training until they are fitted, and a network
  made to fit them.
- `norm_bounds`: margin bounds by norms of the layers.
- `norms`: norms, margins and Lipschitz constants of bias-free ReLU networks, given by their weight matrices (out ×
  in).
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
