"""Approximation: what networks can represent, with how many neurons, and with which certainty.

- `boxes`: functions of several inputs on boxes: constant on each, or as a ReLU network of two hidden layers with soft
  edges.
- `compositions`: functions of functions: how errors of the parts add up, and a square by depth.
- `cosines`: cosine networks: closed under products, hence universal by Stone and Weierstrass, and built by Fejér's
  means.
- `errors`: distances between functions: measured on grids, bounded between the points, and the least in a linear span.
- `monomials`: monomials and polynomials from one smooth activation, by finite differences in the weight.
- `polynomials`: Weierstrass' theorem twice: Bernstein's polynomials and Landau's, with the degree a wanted error needs.
- `requirements`: how many neurons does f need? A construction is made larger until its measured error fits.
- `ridges`: from one dimension to many: sums of ridge functions g(θ·x), and networks whose units are ridges.
- `shallow`: networks with one hidden layer: evaluation, sums of them, and the best output weights for given units.
- `staircases`: networks of one input, built by hand: staircases of thresholds or sigmoids, and hinges.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
