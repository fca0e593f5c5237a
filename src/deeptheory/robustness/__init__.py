"""Robustness: what a classifier keeps when its input is moved, and how that can be certified.

- `adversarial_training`: gradient steps on the loss at attacked inputs, the risk it lowers, and why the step is
  right.
- `attacks`: ascent on the loss inside a threat model, with the true gradient, its signs, or an estimate from queries.
- `gaussian_ball`: in what sense a Gaussian in d dimensions is a ball of radius β√d: its length and its coordinates,
  not its law.
- `isoperimetry`: how much sets must grow, tails of Lipschitz functions, and the law of robustness.
- `lipschitz`: Lipschitz constants of ReLU networks from both sides and exactly, and the radius they certify.
- `linear_classifiers`: where the worst perturbation is known: radii, adversarial losses and errors in closed form.
- `masking`: defences that hide the gradient, and the attacks that go round them.
- `minimal_perturbations`: the least perturbation that changes an answer: exact for small ReLU networks, from above by
  any attack.
- `noise_training`: training on noisy copies, so that the base classifier of a smoothing answers well around each
  point.
- `separation`: how far apart classes lie, and what intertwined classes and memorised noise cost.
- `sign_flips`: outputs and gradients of random two-layer networks, and the one step that flips a sign.
- `sign_patterns`: the patterns of awake and silent units of a ReLU network, and the region where each occurs.
- `smoothed_attacks`: attacks on the vote of noisy copies, each input within its own radius.
- `smoothing`: randomized smoothing: what Gaussian votes certify, how well a finite number of votes certifies it, and
  its limits.
- `two_layer_robust`: a two-layer network that is as robust as can be, and the fragile ones that training finds.
- `threats`: which perturbations an adversary may add, and the nearest allowed one, exactly.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
