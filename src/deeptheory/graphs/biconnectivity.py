"""Where a graph falls apart: bridges, cut vertices, blocks, and the tree in which the blocks hang together.

A block, or biconnected component, is a largest part that stays connected whichever of its nodes is removed (handbook
3.3.1). Blocks here have at least one edge, so that a node without neighbours lies in none; a bridge with its two ends
is one. Two blocks share at most one node, which is then a cut vertex, or articulation point. All of it comes from one
depth-first search, in time proportional to nodes and edges (Hopcroft and Tarjan 1973). It is a loop in Python: a
million edges take about four seconds, and 400 MB beside the graph. Not for graphs much beyond that.

`graph` is an undirected graph of networkx.
"""

from collections.abc import Hashable

import networkx as nx

from deeptheory.foundations.entrances import doors

__all__ = ["block_counts", "block_cut_tree", "blocks", "bridges", "cut_vertices"]


def blocks(graph: nx.Graph) -> list[frozenset]:
    """Biconnected components, each as the set of its nodes, in the order in which a depth-first search leaves them."""
    _simple(graph)
    found: list[frozenset] = []
    number: dict[Hashable, int] = {}  # in order of discovery
    low: dict[Hashable, int] = {}  # the earliest node that one reaches from below by a single edge upwards
    for root in graph:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        path, waiting = [(root, None, iter(graph[root]))], []
        while path:
            node, parent, others = path[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    path.append((other, node, iter(graph[other])))
                    waiting.append(other)
                    break
                if other != parent:
                    low[node] = min(low[node], number[other])
            else:
                path.pop()
                if parent is None:
                    continue
                low[parent] = min(low[parent], low[node])
                if low[node] >= number[parent]:  # nothing below climbs past the parent, which closes a block
                    closed = [parent]
                    while closed[-1] != node:
                        closed.append(waiting.pop())
                    found.append(frozenset(closed))
    return found


def bridges(graph: nx.Graph) -> set[frozenset]:
    """Edges without which their component falls apart: those that are a block by themselves (handbook 3.3.1)."""
    return {block for block in blocks(graph) if len(block) == 2}


def block_counts(graph: nx.Graph) -> dict[Hashable, int]:
    """Number of blocks that each node lies in; two or more exactly at cut vertices (handbook 3.3.1)."""
    return _counted(graph, blocks(graph))


def _counted(graph: nx.Graph, parts: list[frozenset]) -> dict[Hashable, int]:
    counts = dict.fromkeys(graph, 0)
    for block in parts:
        for node in block:
            counts[node] += 1
    return counts


def cut_vertices(graph: nx.Graph) -> set[Hashable]:
    """Nodes without which their component falls apart, also called articulation points (handbook 3.3.1)."""
    return {node for node, count in block_counts(graph).items() if count > 1}


def block_cut_tree(graph: nx.Graph) -> nx.Graph:
    """The tree by which blocks hang together at cut vertices, one for each component that has an edge (handbook 3.4).

    Its nodes are sets: each block, and each cut vertex as a set of one; an edge says which lies in which.
    """
    parts, tree = blocks(graph), nx.Graph()
    counts = _counted(graph, parts)
    tree.add_nodes_from(parts)
    tree.add_edges_from((block, frozenset([node])) for block in parts for node in block if counts[node] > 1)
    return tree


def _simple(graph: nx.Graph) -> None:
    kind = "directed" if graph.is_directed() else "a multigraph" if graph.is_multigraph() else ""
    if kind or nx.number_of_selfloops(graph):
        found = f"is {kind}" if kind else f"has a loop at {next(nx.nodes_with_selfloops(graph))!r}"
        raise ValueError(f"graph must be undirected, without loops and parallel edges; this one {found}")


doors(__name__)
