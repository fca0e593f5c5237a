"""Bridges and cut vertices by their definition: take an edge or a node away and count what is left."""

import networkx as nx


def bridges_by_deletion(graph):
    """Edges without which there is one component more."""
    whole = nx.number_connected_components(graph)
    return {
        frozenset(edge)
        for edge in graph.edges
        if nx.number_connected_components(nx.restricted_view(graph, (), [edge])) > whole
    }


def pieces_without(graph, node):
    """Components into which the component of a node falls when the node goes: one for each block at it."""
    own = nx.node_connected_component(graph, node) - {node}
    return nx.number_connected_components(graph.subgraph(own)) if own else 0
