"""Colour refinement and the trees that message passing unrolls: round by round the same (handbook 3.2, 3.3.3)."""

from dataclasses import replace
from typing import Annotated

import networkx as nx
import numpy as np
from annotated_types import Interval

from deeptheory.graphs.weisfeiler_leman import colour_refinement, computation_tree, graphs_up_to, node_colours
from deeptheory.lab import Exact, claim
from deeptheory.lab.pictures import Curves, Dots, Line

ROUNDS = 5
TREES = np.array([1, 1, 1, 2, 3, 6, 11, 23, 47])
"""trees with 1 to 9 nodes up to isomorphism, as counted by Otter"""
LONGEST = 12


def numbered(names):
    """Names replaced by their order of first appearance: equal lists of numbers are equal partitions."""
    order = {}
    return [order.setdefault(name, len(order)) for name in names]


def by_definition(graphs, gathered):
    """Colours of all nodes of all graphs after each round: pairs of the own colour and what is gathered of others."""
    colours = {(i, v): 0 for i, graph in enumerate(graphs) for v in graph}
    rounds = [list(colours.values())]
    for _ in range(ROUNDS):
        pairs = [(own, gathered(colours[i, u] for u in graphs[i][v])) for (i, v), own in colours.items()]
        colours = dict(zip(colours, numbered(pairs), strict=True))
        rounds.append(list(colours.values()))
    return rounds


def told_apart(trees, rounds):
    """How many different lists of colours these trees have."""
    return len({tuple(sorted(each.values())) for each in colour_refinement(trees, rounds=rounds).colours})


@claim(
    items={
        "H3.2": ("colours after each round", "trees that are told apart", "rounds on a path"),
        "H3.8": "trees of each depth",
    },
    says=r"Colour refinement $c(v)\leftarrow(c(v),\{\{c(u):u\sim v\}\})$ tells two nodes apart in round $k$ exactly if "
    r"their graphs, unrolled from them, are different trees of depth $k$. It tells all trees of equally many nodes "
    r"apart, and needs $\lfloor(n-1)/2\rfloor$ rounds on a path of $n$ nodes.",
    needs="all nodes begin alike; graphs that are compared share one table of colours; all graphs with up to six nodes",
    symbols={
        "c(v)": "the colour of node $v$",
        r"\{\{\dots\}\}": "a multiset: what occurs twice counts twice",
        r"u\sim v": "$u$ is a neighbour of $v$",
        "n": "the number of nodes",
        "k": "the number of rounds, or the depth of the tree",
    },
    why="After one round a colour says how many neighbours a node has, after two how many neighbours each of them "
    "has: the tree of all walks of that length, in which nobody knows whether two of its nodes are the same one. "
    "The names of colours go on changing; what comes to rest is who shares one. In a tree walks that do not turn "
    "back are paths, so nothing is lost. On a path news travel from the ends to the middle, a node a round.",
    notice="More and more nodes of all graphs with up to six nodes are told apart, as many as there are trees of that "
    "depth. Who looks only at which colours occur among the neighbours, dashed, never learns more than whether a "
    "node has neighbours at all.",
)
def colours_are_unrolled_trees(*, nodes: Annotated[int, Interval(ge=4, le=6)] = 6):
    graphs, small = graphs_up_to(nodes), graphs_up_to(min(nodes, 5))
    after = [colour_refinement(graphs, rounds=k) for k in range(ROUNDS + 1)]
    ours = [numbered(node_colours(graphs, each).values()) for each in after]
    stated = by_definition(graphs, lambda seen: tuple(sorted(seen)))
    unrolled = [numbered(computation_tree(g, v, k) for g in small for v in g) for k in range(ROUNDS + 1)]
    few = [numbered(node_colours(small, colour_refinement(small, rounds=k)).values()) for k in range(ROUNDS + 1)]
    by_size = [list(nx.nonisomorphic_trees(n)) for n in range(1, len(TREES) + 1)]
    paths = np.arange(1, LONGEST + 1)
    return {
        "colours after each round": Exact(
            np.array(ours),
            np.array(stated),
            along={"round": np.arange(ROUNDS + 1), "node": np.arange(len(ours[0]))},
            aside={"sets": np.array(by_definition(graphs, frozenset))},
        ),
        "trees of each depth": Exact(
            np.array(unrolled),
            np.array(few),
            along={"depth": np.arange(ROUNDS + 1), "node": np.arange(len(few[0]))},
            aside={"a round later": np.array([*few[1:], few[-1]])},
        ),
        "trees that are told apart": Exact(
            np.array([told_apart(trees, None) for trees in by_size]),
            TREES,
            along={"nodes": np.arange(1, len(TREES) + 1)},
            aside={"by degrees": np.array([told_apart(trees, 1) for trees in by_size])},
        ),
        "rounds on a path": Exact(
            np.array([colour_refinement([nx.path_graph(int(n))]).rounds for n in paths]),
            (paths - 1) // 2,
            along={"nodes": paths},
        ),
    }


@colours_are_unrolled_trees.control("the set of the neighbours' colours", of="colours after each round")
def sets(evidence):
    return replace(evidence, right=evidence.aside["sets"])


@colours_are_unrolled_trees.control("trees of depth k are colours of round k + 1", of="trees of each depth")
def a_round_later(evidence):
    return replace(evidence, right=evidence.aside["a round later"])


@colours_are_unrolled_trees.control("the degrees of a tree are enough", of="trees that are told apart")
def degrees(evidence):
    return replace(evidence, left=evidence.aside["by degrees"])


@colours_are_unrolled_trees.control("n/2 rounds, rounded down", of="rounds on a path")
def half(evidence):
    return replace(evidence, right=np.asarray(evidence.along["nodes"]) // 2)


@colours_are_unrolled_trees.picture
def classes_by_round(pieces):
    """How many different nodes all small graphs have after each round: counted, by definition, and with sets."""
    seen = pieces["colours after each round"]
    rounds = np.asarray(seen.along["round"])
    ours, stated, sets = (np.max(each, 1) + 1 for each in (seen.left, seen.right, seen.aside["sets"]))
    marks = [
        Dots("colour refinement", rounds, ours),
        Line("colour refinement", rounds, stated),
        Line("", rounds, sets, rival="sets in place of multisets"),
    ]
    return Curves(marks, x="round k", y="nodes told apart")
