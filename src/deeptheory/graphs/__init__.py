"""Graphs: where they fall apart, and what message passing and colour refinement see of them.

- `aggregators`: what sum, mean and maximum keep of a multiset of neighbours.
- `biconnectivity`: bridges, cut vertices, blocks and the tree they form, by one depth-first search.
- `edge_flags`: networks that flag edges, and their training.
- `higher_order`: colours of pairs and triples of nodes, and two graphs that only triples tell apart.
- `message_passing`: layers of message passing with any aggregator, along neighbours or distances.
- `refinement`: colour refinement on arrays with millions of edges.
- `twins`: pairs of graphs that no message passing tells apart, with and without a bridge.
- `weisfeiler_leman`: colour refinement on graphs, plain and with distances, and what its colours can and cannot tell.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
