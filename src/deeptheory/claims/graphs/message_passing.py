"""Message passing sees what colour refinement sees: never more, and with sums as much (handbook 3.1, 3.2)."""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np
from scipy.spatial.distance import pdist

from deeptheory.graphs.message_passing import averaged, greatest, init_layers, pass_messages, summed
from deeptheory.graphs.refinement import Views, refine
from deeptheory.graphs.weisfeiler_leman import colour_refinement, graphs_up_to, views_of
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line

AGGREGATORS = {"sum": summed, "mean": averaged, "maximum": greatest}
BY_HAND = {"sum": np.sum, "mean": np.mean, "maximum": np.max}
LAYERS, WIDTH, NETWORKS = 4, 8, 4
SAME = 1e-10
"""states closer than this are taken for equal: rounding leaves 1e-15, and different colours lie 1e-6 apart or more"""


def neighbours(views):
    """Whom each node sees."""
    return np.split(views.seen, views.starts[1:-1])


def by_definition(layers, first, seen, combine):
    """States after each layer as the book writes them, node by node: update(own state, aggregate of the messages)."""
    states = [first]
    for layer in layers:
        heard = np.zeros((len(first), layer.bias.size))
        for v, others in enumerate(seen):
            if len(others):
                heard[v] = combine(states[-1][others] @ layer.heard[0], axis=0)
        states.append(np.tanh(states[-1] @ layer.own + heard + layer.bias))
    return states[1:]


def distinct(states):
    """How many rows there are that equal no earlier one."""
    _, later = np.triu_indices(len(states), 1)
    return len(states) - len(set(later[pdist(states, "chebyshev") < SAME].tolist()))


@claim(
    items={
        "H3.1": ("layers by their definition", "nodes renumbered"),
        "H3.3": ("nodes of one colour have one state", "as many states as colours", "graphs of equal colours"),
    },
    says=r"After $k$ layers of message passing nodes with one colour after $k$ rounds of refinement have one state, "
    "and graphs with the same colours one sum, whatever the weights. If messages are added, random weights give "
    "different colours different states.",
    needs="nodes start alike; all graphs with up to six nodes, refined together; four networks with weights at random",
    symbols={
        "k": "the number of layers, and of rounds of refinement",
        r"\text{colour}": "the name of a node's own colour and of the multiset of its neighbours' colours, before",
        r"\text{state}": "what the network has computed for a node, eight numbers here",
    },
    why="A layer computes a node's state from its own state and the multiset of its neighbours' states, as a round of "
    "refinement computes its colour. If colours have decided states so far they do so after the next layer. The other "
    "way round nothing may be lost: sums of states with generic weights differ where multisets do. Means and maxima "
    "of equal states do not change with their number, so that all nodes with a neighbour stay alike for ever.",
    notice="States and colours grow in number together when messages are added up. Averages and maxima find two "
    "kinds of nodes only, with and without neighbours: neither can count.",
    explore={"aggregate": ("sum", "mean", "maximum")},
)
def message_passing_sees_colours(key, *, aggregate: Literal["sum", "mean", "maximum"] = "sum"):
    graphs = graphs_up_to(6)
    views, graph_of = views_of(graphs), np.repeat(np.arange(len(graphs)), [len(graph) for graph in graphs])
    nodes, small = len(graph_of), sum(len(graph) for graph in graphs if len(graph) < 6)
    seen = neighbours(views)
    # The same graphs once more, their nodes numbered backwards: both in one compiled call.
    mirrored = [2 * nodes - 1 - each for each in reversed(seen)]
    both = Views(np.cumsum([0, *map(len, seen + mirrored)]), np.concatenate(seen + mirrored))
    first = np.ones((2 * nodes, 1))
    layers = init_layers(key, [1] + [WIDTH] * LAYERS, ensemble=(NETWORKS,))
    run = jax.jit(jax.vmap(lambda each: pass_messages(each, first, both, aggregate=AGGREGATORS[aggregate])[1:]))
    found = np.stack([np.asarray(each) for each in run(layers)], 1)  # networks, layers, nodes, width
    states, renumbered = found[:, :, :nodes], found[:, :, : nodes - 1 : -1]
    one = [type(layer)(*(part[0] for part in layer)) for layer in layers]
    literal = by_definition(one, first[:small], seen[:small], BY_HAND[aggregate])
    # Neighbours in one state count once: what a set in place of the multiset would mean.
    once = by_definition(
        one, first[:small], seen[:small], lambda rows, axis: np.sum(np.unique(rows.round(12), axis=0), axis)
    )

    colours = np.stack([refine(views, rounds=k).colours for k in range(LAYERS + 1)])
    models = np.stack([np.unique(each, return_index=True)[1][each] for each in colours])
    rounds = np.arange(1, LAYERS + 1)
    own = [states[:, k - 1, models[k]] for k in rounds]
    before = [states[:, k - 1, models[k - 1]] for k in rounds]

    sums = np.stack([np.add.reduceat(each[-1], np.flatnonzero(np.diff(graph_of, prepend=-1))) for each in states])
    kinds = [tuple(sorted(each.values())) for each in colour_refinement(graphs, rounds=LAYERS).colours]
    alike = np.array([kinds.index(kind) for kind in kinds])
    edges = [(len(graph), graph.number_of_edges()) for graph in graphs]
    few = np.array([edges.index(each) for each in edges])
    return {
        "layers by their definition": Identity(
            states[0, :, :small], np.stack(literal), scale=1.0, size=64, aside={"as sets": np.stack(once)}
        ),
        "nodes renumbered": Identity(renumbered, states, scale=1.0, size=64),
        "nodes of one colour have one state": Identity(
            states, np.stack(own, 1), scale=1.0, size=64, aside={"a round less": np.stack(before, 1)[:1]}
        ),
        "as many states as colours": Exact(
            [distinct(each) for each in states[0]],
            [int(each.max()) + 1 for each in colours[1:]],
            along={"layers": rounds},
        ),
        "graphs of equal colours": Identity(
            sums, sums[:, alike], scale=6.0, size=64, aside={"as many nodes and edges": sums[:, few]}
        ),
    }


@message_passing_sees_colours.control("neighbours in one state count once", of="layers by their definition")
def as_sets(evidence):
    return replace(evidence, right=evidence.aside["as sets"])


@message_passing_sees_colours.control("colours of one round less", of="nodes of one colour have one state")
def a_round_less(evidence):
    return replace(evidence, left=evidence.left[:1], right=evidence.aside["a round less"])


message_passing_sees_colours.control("averages give as many states", of="as many states as colours", aggregate="mean")


@message_passing_sees_colours.control(
    "graphs with as many nodes and edges have one sum of states", of="graphs of equal colours"
)
def nodes_and_edges(evidence):
    return replace(evidence, right=evidence.aside["as many nodes and edges"])


@message_passing_sees_colours.picture
def states_and_colours(pieces, settings):
    """Colours of all nodes of graphs with up to six nodes after each round, and states of one network by layers."""
    piece = pieces["as many states as colours"]
    layers = np.asarray(piece.along["layers"])
    marks = [Line("colours", layers, piece.right), Dots(f"states by {settings['aggregate']}", layers, piece.left)]
    return Curves(marks, x="layers, or rounds of refinement", y="different ones", log="y")
