"""Limits of infinite width: the recursion through a network and the Gaussian integrals it needs.

- `arcs`: angles of correlations: fast in single precision, with finite derivatives at coinciding inputs.
- `block`: covariances on their way through a network: what every layer reads and returns.
- `close_pairs`: nearly parallel inputs in single precision: the gap of a covariance to its largest value, carried on
  its own.
- `fixed_features`: what no method with features fixed in advance can learn from few samples, whatever its kernel.
- `dense_networks`: fully connected networks, the `networks.MLP` of the books: its wide limit, and its finite kernels
  layer by layer.
- `gaussian_processes`: gaussian laws given some of their values, and the band that holds a stated share of them.
- `inequalities`: inequalities that the analysis of wide networks leans on: of perturbed spectra, of growth in time,
  of light tails.
- `integrals`: gaussian integrals of activations: E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for a centred Gaussian pair (u, v).
- `kernel`: kernels of a network as its users get them, and how they go on through more layers.
- `quadrature`: gaussian integrals of any activation by quadrature, with declared kinks split off.
- `recursion`: exact kernels of an infinitely wide network, in tiles that use symmetry and stay in cache.
- `series`: kernels of unit vectors as power series in their inner product, and the features that such a series gives.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
