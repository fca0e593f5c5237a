"""Graphs: where they fall apart, and what message passing and colour refinement see of them.

- `biconnectivity`: bridges, cut vertices, blocks and the tree they form, by one depth-first search.
- `weisfeiler_leman`: colour refinement on graphs, plain and with distances, and what its colours can and cannot tell.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
