"""Diffusions: stochastic gradient descent beside its stochastic differential equation, in exact expectations.

- `coupled_errors`: how far stochastic gradient descent on any loss is from its diffusion, by runs of both on the same
  random numbers.
- `diagonal_networks`: diagonal linear networks fitted by gradient flow, descent and descent with noisy labels.
- `distances`: how far two distributions are apart in the eyes of test functions.
- `fluctuations`: how stochastic gradient descent scatters around its mean: covariances, which are made of the noise.
- `gradient_noise`: the noise of mini-batch gradients: its covariance, how it changes with the batch, and how SVAG
  amplifies it.
- `processes`: paths of processes with stationary independent increments: Brownian motion and others.
- `stochastic_equations`: Itô stochastic differential equations: paths, generators, and the one that belongs to SGD.
- `torus_semigroups`: expectations of stochastic gradient descent and of its diffusion for parameters on a torus, to
  rounding.
- `valleys`: noise along a valley of minima: two factors u·v fitted to a number, where everything can be worked out.
- `weak_order`: how close stochastic gradient descent stays to its diffusion on quadratic losses, in exact moments, no
  sampling.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
