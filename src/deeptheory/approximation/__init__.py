"""Approximation: what networks can represent, with how many neurons, and with which certainty.

- `barron`: the Barron constant in closed form, by quadrature and from values on a grid; where it is infinite.
- `maurey`: means met by few of their terms: exact errors of random draws, draws without chance, signed measures.
- `separation`: one against two hidden layers: a band-limited density, tubes in frequency space, and the floor they put
  under every network with one hidden layer.
- `shells`: radial targets of signed shells, and the network with two hidden layers that finds the norm first.
- `thresholds`: functions as integrals over threshold units, and networks drawn from them: Barron's construction.
- `transforms`: the Fourier transform on grids, its gradient and convolution rules, and closed forms.
- `widths`: fixed bases against adaptive terms, by the exact widths of the hull of waves.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
