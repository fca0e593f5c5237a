"""Calculus: the tools of the trade, with bounds that are certain.

- `operator_norms`: norms of vectors and of matrices as operators, exact or between two bounds; Cauchy and Schwarz.
- `derivatives`: derivatives as limits of difference quotients, checks of a gradient, gradients by hand.
- `taylor`: Taylor's polynomial and its remainder in three forms, with a bound that is certain.
- `mean_values`: mean values of functions of several variables, at a point and as integrals.
- `intervals`: interval arithmetic on JAX functions: what a function can return on a box, for certain.
- `interval_rules`: primitives of JAX on intervals, each rounded outward.
- `branch_and_bound`: the largest value of something over a box, between what is met and what is possible.
- `certified`: range, Lipschitz and smoothness constants, curvature and regularity of a given function on a box.
- `matrices`: subspaces, spectra with multiplicities, the Loewner order, sums of rank-one parts.
- `polynomials_by_roots`: roots as eigenvalues, and from where on one polynomial stays below another.
- `probability_spaces`: σ-algebras of finite spaces by their atoms, measures on them, and what can be measured.
- `expectations`: expectations by the density and by the tail, moments and affine maps of Gaussians.
- `topology`: topologies of few points, the simplest rational in a gap, least covers of an interval.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
