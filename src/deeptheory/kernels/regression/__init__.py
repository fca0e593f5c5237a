"""Regression with a kernel: predictions, solvers, tiles for many inputs, eigenfunctions.

- `classifier`: the tangent-kernel classifier: kernel ridge regression on class indicators, ridge and depth chosen by
  leaving out.
- `disk`: A kernel on disk, tile by tile: an interrupted computation goes on where it stopped, and damage is mended.
- `disk_files`: the files of a kernel on disk: arrays that have their room from the beginning, and the journal of
  finished tiles.
- `mercer`: kernels as integral operators and as Hilbert spaces: eigenfunctions, Mercer's expansion, and norms of
  functions.
- `predictions`: what training on squared loss makes of a model with a fixed kernel: one formula, a spectral filter
  for each protocol.
- `solvers`: kernel systems beyond a dense factorization: preconditioned conjugate gradients that report their
  residual.
- `tiles`: kernels of many inputs in tiles: symmetry used, tiles spread over devices, or rows sharded.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
