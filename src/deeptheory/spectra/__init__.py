"""Spectra of random matrices: their limiting laws, outliers, transforms, and the proofs step by step.

- `arguments`: what the laws of this room take for a number: scalars, lists, whole numbers, NumPy and JAX arrays
  alike.
- `edges`: the laws of extreme eigenvalues: Tracy–Widom, by Fredholm determinants, and the hard edge of square
  matrices.
- `entries`: matrices with independent entries of a named law, and the exact mean moments of their sample covariances.
- `free_convolution`: free convolutions: the spectrum of a sum or a product of large matrices in general position to
  each other.
- `marchenko_pastur`: the Marchenko–Pastur law: the spectrum of a sample covariance whose dimension grows with the
  number of samples.
- `marchenko_pastur_proof`: the proof of the Marchenko–Pastur law on one matrix: what every step replaces, by how much,
  and what bounds it.
- `resolvents`: resolvents of symmetric matrices: functional calculus, rank-one changes, quadratic forms,
  concentration.
- `ridge_path`: ridge resolvents of a sample covariance in one direction: the path to the ridgeless bias, and its
  limit.
- `self_consistent`: sample covariances of a general population: Silverstein's equation, its density and the edges of
  its support.
- `semicircle`: the semicircle law of symmetric random matrices and the circular law of matrices without symmetry.
- `sparse_fourier`: sparse Fourier transforms: the few large coefficients of a long signal from samples at few random
  positions.
- `sparse_fourier_table`: how many samples sparse Fourier transforms need by their authors' theorems, without
  constants (arora, Table 19.1).
- `spectral_measure`: the empirical spectral measure of a matrix, 1/N at each eigenvalue: shares, linear statistics,
  and how far from I.
- `spiked`: spiked models: when a planted direction shows in the spectrum, where its eigenvalue lies, how much it is
  overlapped.
- `stieltjes`: stieltjes transforms of measures on the line, and the way back from a transform to its measure.
"""

from deeptheory.foundations.packages import submodules
from deeptheory.spectra.edges import tracy_widom_cdf as tracy_widom_cdf
from deeptheory.spectra.free_convolution import (
    free_additive_stieltjes as free_additive_stieltjes,
    free_multiplicative_stieltjes as free_multiplicative_stieltjes,
)
from deeptheory.spectra.marchenko_pastur import (
    marchenko_pastur_atom as marchenko_pastur_atom,
    marchenko_pastur_cdf as marchenko_pastur_cdf,
    marchenko_pastur_edges as marchenko_pastur_edges,
    marchenko_pastur_moment as marchenko_pastur_moment,
    marchenko_pastur_pdf as marchenko_pastur_pdf,
    marchenko_pastur_quantile as marchenko_pastur_quantile,
)
from deeptheory.spectra.self_consistent import (
    effective_ridge as effective_ridge,
    general_pdf as general_pdf,
    general_stieltjes as general_stieltjes,
)
from deeptheory.spectra.semicircle import (
    semicircle_cdf as semicircle_cdf,
    semicircle_pdf as semicircle_pdf,
    semicircle_stieltjes as semicircle_stieltjes,
    wigner_matrix as wigner_matrix,
)
from deeptheory.spectra.sparse_fourier import recover_spectrum as recover_spectrum
from deeptheory.spectra.spiked import (
    spiked_covariance_eigenvalue as spiked_covariance_eigenvalue,
    spiked_covariance_overlap as spiked_covariance_overlap,
    spiked_wigner_eigenvalue as spiked_wigner_eigenvalue,
    spiked_wigner_overlap as spiked_wigner_overlap,
)
from deeptheory.spectra.stieltjes import (
    marchenko_pastur_stieltjes as marchenko_pastur_stieltjes,
    stieltjes_transform as stieltjes_transform,
)

__getattr__ = submodules(__name__)
