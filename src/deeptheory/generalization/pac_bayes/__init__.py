"""PAC-Bayes, description length and information: what a learner may know of its sample.

- `bounds`: PAC-Bayes bounds and the small-number arithmetic they stand on: the binary relative entropy and its
  inverses.
- `change_of_measure`: changing from a posterior to a prior: relative entropies in closed form and the inequality of
  Donsker and Varadhan.
- `comparison_bounds`: PAC-Bayes with any convex comparison of risk and empirical risk, for 0–1 losses: the moment it
  costs, exactly.
- `description_length`: occam's razor: a hypothesis with a short description cannot fit a sample by luck.
- `gaussian_posteriors`: networks with a Gaussian law on every weight: sampled outputs, divergence from a prior,
  training on a risk bound.
- `linear_posteriors`: linear classifiers drawn around a direction: the Gibbs risk in closed form, and the posterior
  that bounds it best.
- `information`: information between a sample and what is learnt from it, and the generalization gap it allows;
  finite and exact.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
