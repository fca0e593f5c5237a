"""Attention: what self-attention layers compute, and how tokens move through them.

- `blocks`: transformer blocks as velocities on the sphere: heads, feed-forward layer, and a flow through any depth.
- `clusters`: tokens of a self-attention layer as particles on the sphere, and how they cluster.
- `equiangular`: equiangular tokens under self-attention: the whole flow closes on their one common overlap, solved in
  closed form.
- `gibbs`: Gibbs measures on finitely many states: what inverse temperature does to them, and attention as one of them.
- `mean_field`: infinitely many tokens: the velocity that a distribution of tokens makes, and the density on the circle
  it moves.
- `metastability`: clusters that wait: two groups of tokens merge only after a time exponential in the inverse
  temperature.
- `random_heads`: heads of random matrices, in four ensembles, for clustering beyond identity matrices.
- `regimes`: where tokens cluster: one traced function of temperature and dimension, made for phase diagrams.
- `residual`: residual networks, and the neural differential equations of which they are Euler's discretisation.
- `saddles`: critical points of the interaction energy of tokens on the sphere: exact Hessians, indices, spectra.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
