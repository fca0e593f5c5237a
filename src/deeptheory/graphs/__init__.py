"""Graphs: what message passing and colour refinement see of them."""

from deeptheory.graphs.weisfeiler_leman import (
    Colouring,
    block_counts,
    bridges,
    colour_refinement,
    computation_tree,
    edge_colours,
    graphs_up_to,
    labels_by_colour,
    mixed_colours,
    node_colours,
    resistance_distances,
    shortest_path_distances,
)

__all__ = [
    "Colouring",
    "block_counts",
    "bridges",
    "colour_refinement",
    "computation_tree",
    "edge_colours",
    "graphs_up_to",
    "labels_by_colour",
    "mixed_colours",
    "node_colours",
    "resistance_distances",
    "shortest_path_distances",
]
