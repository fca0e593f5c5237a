from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from deeptheory.graphs import edge_flags, message_passing, refinement, weisfeiler_leman

from .ingredients import KEY

TRIANGLE = refinement.neighbour_views(np.array([[0, 1], [1, 2], [2, 0]]), 3)

RECORDS: dict[str, Callable[[], Any]] = {
    "Views": lambda: TRIANGLE,
    "EdgeFlags": lambda: edge_flags.init_edge_flags(KEY, width=4, depth=1),
    "Colouring": lambda: weisfeiler_leman.colour_refinement([nx.path_graph(4)]),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "edge_flags.edge_scores": {"edges": np.array([[0, 1], [1, 2]])},
    "edge_flags.train_edge_flags": {
        "network": edge_flags.init_edge_flags(KEY, width=4, depth=1, ensemble=(2,)),
        "edges": np.array([[0, 1], [1, 2]]), "flags": np.array([True, False]), "steps": 2,
    },
    "higher_order.tuple_refinement": {"graphs": [nx.path_graph(4)]},
    "message_passing.averaged": {"messages": np.ones((3, 2)), "places": np.array([0, 0, 1]), "count": 2},
    "message_passing.greatest": {"messages": np.ones((3, 2)), "places": np.array([0, 0, 1]), "count": 2},
    "message_passing.summed": {"messages": np.ones((3, 2)), "places": np.array([0, 0, 1]), "count": 2},
    "message_passing.init_layers": {"widths": [1, 4, 4]},
    "message_passing.pass_messages": {
        "layers": message_passing.init_layers(KEY, [1, 4, 4]), "states": np.ones((3, 1)),
    },
    "refinement.distinct_views": {
        "own": np.zeros(3, int), "starts": np.array([0, 1, 3, 4]), "things": np.array([1, 0, 2, 1]),
    },
    "refinement.neighbour_views": {"edges": np.array([[0, 1], [1, 2]]), "nodes": 3},
    "refinement.refine": {"start": np.zeros(3, int)},
    "twins.bridge_twins": {"graph": nx.cycle_graph(3), "node": 0, "edge": (1, 2)},
    "weisfeiler_leman.best_accuracy": {"colours": {"a": 1, "b": 2}, "labels": {"a": 0, "b": 5}},
    "weisfeiler_leman.views_of": {"graphs": [nx.path_graph(4)]},
    "weisfeiler_leman.computation_tree": {"node": 0},
    "weisfeiler_leman.edge_colours": {"graphs": [nx.path_graph(4)]},
    "weisfeiler_leman.labels_by_colour": {"colours": {"a": 1, "b": 2}, "labels": {"a": 0, "b": 5}},
    "weisfeiler_leman.mixed_colours": {"colours": {"a": 1, "b": 1}, "labels": {"a": 0, "b": 5}},
    "weisfeiler_leman.node_colours": {"graphs": [nx.path_graph(4)]},
}  # fmt: skip

FOUND = """
message_passing.averaged, count: billion
message_passing.greatest, count: billion
message_passing.pass_messages, states: longer
message_passing.summed, count: billion
refinement.distinct_views, own: longer
refinement.distinct_views, starts: longer
refinement.distinct_views, things: empty
refinement.distinct_views, things: longer
refinement.refine, rounds: million
refinement.refine, start: empty
refinement.refine, start: longer
weisfeiler_leman.computation_tree, node: text
weisfeiler_leman.node_colours, graphs: text
"""

MAY_BE_EMPTY = """
refinement.neighbour_views, edges
"""
