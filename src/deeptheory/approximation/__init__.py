"""Approximation: what networks can represent, with how many neurons, and with which certainty.

- `barron`: the Barron constant in closed form, by quadrature and from values on a grid; where it is infinite.
- `boxes`: functions of several inputs on boxes: constant on each, or as a ReLU network of two hidden layers with soft
  edges.
- `compositions`: functions of functions: how errors of the parts add up, and a square by depth.
- `cosines`: cosine networks: closed under products, hence universal by Stone and Weierstrass, and built by Fejér's
  means.
- `errors`: distances between functions: measured on grids, bounded between the points, and the least in a linear span.
- `maurey`: means met by few of their terms: exact errors of random draws, draws without chance, signed measures.
- `monomials`: monomials and polynomials from one smooth activation, by finite differences in the weight.
- `polynomials`: Weierstrass' theorem twice: Bernstein's polynomials and Landau's, with the degree a wanted error needs.
- `requirements`: how many neurons does f need? A construction is made larger until its error is verified to
  fit: on a grid, by a Lipschitz constant, or by interval arithmetic.
- `ridges`: from one dimension to many: sums of ridge functions g(θ·x), and networks whose units are ridges.
- `separation`: one against two hidden layers: a band-limited density, tubes in frequency space, and the floor they put
  under every network with one hidden layer.
- `shallow`: networks with one hidden layer: evaluation, sums of them, and the best output weights for given units.
- `shells`: radial targets of signed shells, and the network with two hidden layers that finds the norm first.
- `staircases`: networks of one input, built by hand: staircases of thresholds or sigmoids, and hinges.
- `templates`: objects made of parts: a template for each object, or detectors for parts, level by level.
- `thresholds`: functions as integrals over threshold units, and networks drawn from them: Barron's construction.
- `transforms`: the Fourier transform on grids, its gradient and convolution rules, and closed forms.
- `widths`: fixed bases against adaptive terms, by the exact widths of the hull of waves.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
