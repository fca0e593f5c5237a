"""Capacity of a class: how much it can do on a sample, and what that bounds.

- `covers`: covers of the parameter ball, parameter-Lipschitz losses, and the bound the two give together (arora 5.2).
- `finite_classes`: finitely many hypotheses: the union bound, what it costs, and the exact law of the largest
  deviation beside it.
- `growth`: what a class can do on finitely many points: dichotomies by enumeration, growth functions, shattering, VC
  dimension.
- `rademacher`: rademacher complexity: exact over all signs where they are few, by draws otherwise; suprema in closed
  form.
- `rademacher_bounds`: what Rademacher complexity is bounded by, and what it bounds.
- `risks`: what learning is about: the risk on the distribution, on the sample, their gap, and who minimises
  which.
- `solution_sets`: zero loss with more parameters than data: the solutions are not points but a manifold of dimension
  k − n.
- `stability`: algorithmic stability: what replacing one example changes, measured on coupled runs, and the bounds on
  it.
- `symmetrization`: ghost sample and random signs, with every expectation exact: samples from a finite set are walks
  on a lattice.
- `uniform_convergence`: where uniform convergence fails: one gradient step on a signal plus high-dimensional noise
  (Nagarajan and Kolter).
- `paired_samples`: how far uniform convergence fails at least: a search over pairs of samples, and a case where the
  answer is known.
- `vc_bounds`: bounds in the growth function and the VC dimension, and how many samples a network would need by them.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
