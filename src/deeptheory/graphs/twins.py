"""Graphs that no message passing tells apart, one with a bridge where the other has none.

Reference: handbook 3.3; Zhang, Luo, Wang and He 2023. That covers share their colours: Angluin 1980, Local and global
properties in networks of processors.
"""

from collections.abc import Hashable

import networkx as nx

from deeptheory.foundations.entrances import doors
from deeptheory.graphs.biconnectivity import bridges

__all__ = ["bridge_twins"]


def bridge_twins(graph: nx.Graph, node: Hashable, edge: tuple[Hashable, Hashable]) -> tuple[nx.Graph, nx.Graph]:
    """Join two copies of a graph by a bridge, and then let the copies also exchange one end of an edge.

    Nodes are (v, 0) and (v, 1); both graphs join the two copies of `node`, which is a bridge in the first one. In the
    second the copies of `edge` {a, b} are crossed, (a, 0)–(b, 1) and (a, 1)–(b, 0), and nothing there is a bridge that
    was none. Both are double covers of one graph, so every node has the colours of its namesake at every round. Of a
    triangle this makes two triangles joined by an edge, and the hexagon with a long chord.
    """
    if node not in graph or not graph.has_edge(*edge) or not nx.is_connected(graph):
        raise ValueError(f"graph must be connected and have the node and the edge, got {node!r:.40} and {edge!r:.40}")
    if frozenset(edge) in bridges(graph):
        raise ValueError(f"edge must lie on a cycle, got the bridge {edge!r:.60}")
    a, b = edge
    joined = nx.Graph()
    joined.add_nodes_from((v, copy) for copy in (0, 1) for v in graph)
    joined.add_edges_from(((u, copy), (v, copy)) for copy in (0, 1) for u, v in graph.edges)
    joined.add_edge((node, 0), (node, 1))
    crossed = joined.copy()
    crossed.remove_edges_from(((a, copy), (b, copy)) for copy in (0, 1))
    crossed.add_edges_from(((a, copy), (b, 1 - copy)) for copy in (0, 1))
    return joined, crossed


doors(__name__)
