"""Networks trained to flag bridges: half of what matters without distances, most of it with them (handbook 3.3)."""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np

from deeptheory.graphs.biconnectivity import bridges
from deeptheory.graphs.edge_flags import edge_scores, init_edge_flags, train_edge_flags
from deeptheory.graphs.refinement import refine
from deeptheory.graphs.twins import bridge_twins
from deeptheory.graphs.weisfeiler_leman import (
    best_accuracy,
    colour_refinement,
    edge_colours,
    graphs_up_to,
    shortest_path_distances,
    views_of,
)
from deeptheory.lab import Exact, Identity, Inequality, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level

DISTANCES = {"neighbours": None, "shortest paths": shortest_path_distances}
all_scores = jax.jit(jax.vmap(edge_scores, in_axes=(0, None, None)))
FAR = 12
"""more distances than occur among ten nodes, with the infinite one"""


def twins(size):
    """Pairs of twins from every connected graph of this size with a cycle, joined at each kind of node."""
    found = []
    for graph in graphs_up_to(size, connected=True):
        circles = [edge for edge in graph.edges if frozenset(edge) not in bridges(graph)]
        if len(graph) == size and circles:
            kinds = refine(views_of([graph]), start=np.array([int(v in circles[0]) for v in graph])).colours
            joints = [node for place, node in enumerate(graph) if kinds[place] not in kinds[:place]]
            found += [twin for node in joints for twin in bridge_twins(graph, node, circles[0])]
    return found


class Edges:
    """The edges of several graphs: their ends numbered through, which are bridges, and which join two copies."""

    def __init__(self, graphs):
        self.graphs = graphs
        starts = np.cumsum([0, *map(len, graphs)])
        listed = [(i, u, v) for i, graph in enumerate(graphs) for u, v in graph.edges]
        places = [{v: start + j for j, v in enumerate(graph)} for graph, start in zip(graphs, starts, strict=False)]
        parting = [bridges(graph) for graph in graphs]
        self.ends = np.array([(places[i][u], places[i][v]) for i, u, v in listed])
        self.flags = np.array([frozenset((u, v)) in parting[i] for i, u, v in listed])
        self.joins = np.array([u[0] == v[0] for _, u, v in listed])
        self.keys = [(i, frozenset((u, v))) for i, u, v in listed]

    def ceiling(self, sees, chosen):
        """Share of the chosen edges that the best rule by colours gets right."""
        colours = edge_colours(self.graphs, colour_refinement(self.graphs, distance=DISTANCES[sees]))
        kept = [key for key, is_chosen in zip(self.keys, chosen, strict=True) if is_chosen]
        labels = dict(zip(self.keys, self.flags.tolist(), strict=True))
        return best_accuracy({key: colours[key] for key in kept}, labels)


def trained(key, sees, seen, unseen, networks):
    """Whether each network is right at each edge, of the graphs it was trained on and of others."""
    network = init_edge_flags(key, width=8, depth=2, labels=1 if DISTANCES[sees] is None else FAR, ensemble=(networks,))
    views = views_of(seen.graphs, distance=DISTANCES[sees])
    network, _ = train_edge_flags(network, views, seen.ends, seen.flags, steps=120, step_size=0.02)
    both = Edges(seen.graphs + unseen.graphs)
    views = views_of(both.graphs, distance=DISTANCES[sees])
    scores = np.asarray(all_scores(network, views, both.ends))
    return np.split((scores > 0) == both.flags, [len(seen.flags)], axis=1)


@claim(
    items={
        "H3.10": (
            "edges between copies, without distances",
            "best rules by colours",
            "errors with distances, on unseen graphs",
            "without distances, no network is above the best rule",
        )
    },
    says="Trained to flag bridges in twins that refinement confuses, networks that see neighbours get exactly half of "
    "the edges between copies right. With distances they make less than half of these errors on average, on larger "
    "graphs than they have seen.",
    needs="two copies of a graph joined by an edge, and twins with one edge crossed; 12 networks of two layers and "
    "eight units, 120 steps of Adam, chosen for cost after a first look; trained on copies with four nodes and "
    "tried on five",
    symbols={
        r"\text{twins}": "two graphs with the same colours, node by node; the joining edge is a bridge in one only",
        r"\text{best rule}": "the commonest answer for each pair of colours at the ends of an edge",
    },
    why="A network without distances has one state for namesakes in both twins, so one answer for the joining edge: "
    "right in one of them and wrong in the other, however long it is trained. Among distances the joining edge is told "
    "by how much farther one copy is from the other's nodes when there is no second way, and training finds that.",
    notice="Without distances every network stands at one half exactly, on the graphs of its training as on others. "
    "With distances the seen graphs are learnt nearly without error, and most of the unseen ones are right.",
)
def networks_trained_to_flag_bridges(
    key, *, sees: Literal["neighbours", "shortest paths"] = "shortest paths", networks: Trials = 12
):
    seen, unseen = Edges(twins(4)), Edges(twins(5))
    without = trained(key, "neighbours", seen, unseen, networks)
    told = without if sees == "neighbours" else trained(key, sees, seen, unseen, networks)
    between = [
        [right[:, each.joins].sum(1) for right, each in zip(side, (seen, unseen), strict=True)]
        for side in (without, told)
    ]
    joins = np.array([each.joins.sum() for each in (seen, unseen)])
    return {
        "edges between copies, without distances": Exact(
            np.array(between[0]),
            np.tile(joins[:, None] // 2, networks),
            along={"graphs": ["seen", "unseen"], "network": np.arange(networks)},
        ),
        "best rules by colours": Identity(
            [seen.ceiling(each, seen.joins) for each in DISTANCES], [0.5, 1.0], along={"sees": list(DISTANCES)}
        ),
        "errors with distances, on unseen graphs": Inequality(
            1 - between[1][1].mean() / joins[1],
            (1 - unseen.ceiling("neighbours", unseen.joins)) / 2,
            aside={"right": np.array(between) / joins[:, None]},
        ),
        "without distances, no network is above the best rule": Inequality(
            without[0].mean(1),
            seen.ceiling("neighbours", np.ones(len(seen.flags), bool)),
            aside={"with distances": told[0].mean(1)},
        ),
    }


networks_trained_to_flag_bridges.control(
    "networks that see neighbours only", of="errors with distances, on unseen graphs", sees="neighbours"
)


@networks_trained_to_flag_bridges.control(
    "distances do not help beyond the best rule", of="without distances, no network is above the best rule"
)
def no_help(evidence):
    return replace(evidence, quantity=evidence.aside["with distances"])


@networks_trained_to_flag_bridges.control("the best rule by colours sees distances", of="best rules by colours")
def neighbours_suffice(evidence):
    return replace(evidence, right=np.ones(2))


@networks_trained_to_flag_bridges.picture
def right_between_copies(pieces):
    """Share of the edges between copies that each network gets right, with and without distances."""
    right = np.sort(pieces["errors with distances, on unseen graphs"].aside["right"], axis=-1)
    places = np.arange(1, right.shape[-1] + 1)
    marks = [
        Dots(f"{sees}, {graphs} graphs", places, right[i, j])
        for i, sees in enumerate(("neighbours", "distances"))
        for j, graphs in enumerate(("seen", "unseen"))
    ]
    return Curves(
        [*marks, Level("best rule by neighbours", y=0.5)],
        x="network, from worst to best",
        y="share right",
        ys=(0.4, 1.02),
    )
