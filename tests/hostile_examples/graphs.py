from collections.abc import Callable
from typing import Any

import networkx as nx

from deeptheory.graphs import weisfeiler_leman

RECORDS: dict[str, Callable[[], Any]] = {
    "Colouring": lambda: weisfeiler_leman.colour_refinement([nx.path_graph(4)]),
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "weisfeiler_leman.computation_tree": {"node": 0},
    "weisfeiler_leman.edge_colours": {"graphs": [nx.path_graph(4)]},
    "weisfeiler_leman.labels_by_colour": {"colours": {"a": 1, "b": 2}, "labels": {"a": 0, "b": 5}},
    "weisfeiler_leman.mixed_colours": {"colours": {"a": 1, "b": 1}, "labels": {"a": 0, "b": 5}},
    "weisfeiler_leman.node_colours": {"graphs": [nx.path_graph(4)]},
}  # fmt: skip

FOUND = """
weisfeiler_leman.computation_tree, node: text
weisfeiler_leman.node_colours, graphs: text
"""
