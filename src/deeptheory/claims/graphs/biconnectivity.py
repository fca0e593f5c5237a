"""Blocks of a graph, the bridges and cut vertices where it falls apart, and the tree they form (handbook 3.3, 3.4)."""

from dataclasses import replace
from itertools import combinations
from typing import Annotated

import networkx as nx
import numpy as np
from annotated_types import Interval

from deeptheory.graphs.biconnectivity import block_cut_tree, blocks, bridges, cut_vertices
from deeptheory.graphs.weisfeiler_leman import graphs_up_to
from deeptheory.lab import Exact, Inequality, claim
from deeptheory.lab.pictures import Graph, Row

# Two triangles that share a node, a third one, and three bridges.
EXAMPLE = ["01", "12", "20", "23", "34", "42", "45", "56", "67", "75", "78", "39"]


def blocks_by_definition(graph):
    """The largest sets of two or more nodes that are connected, and stay so whichever one of them goes."""
    sets = [frozenset(each) for size in range(2, len(graph) + 1) for each in combinations(graph, size)]
    stable = [s for s in sets if all(nx.is_connected(graph.subgraph(s - gone)) for gone in [set(), *({v} for v in s)])]
    return [each for each in stable if not any(each < larger for larger in stable)]


def words(families):
    """Families of sets of nodes, each as one word."""
    return np.array([" ".join(sorted("".join(map(str, sorted(each))) for each in sets)) for sets in families])


def parts_without(graph, *, nodes=(), edges=()):
    """The number of components that are left without these nodes and edges."""
    return sum(1 for _ in nx.connected_components(nx.restricted_view(graph, nodes, edges)))


@claim(
    items={
        "H3.5": (
            "blocks by definition",
            "blocks by another program",
            "bridges",
            "cut vertices",
            "blocks and cut vertices form a tree",
            "two paths within a block",
        )
    },
    says="One depth-first search finds the blocks of a graph, the largest parts that no single node disconnects, with "
    "bridges and cut vertices. Blocks and cut vertices form a tree in each part, and two nodes of a block of at least "
    "three have two disjoint paths.",
    needs="no loops or parallel edges, and blocks have an edge; all graphs with up to seven nodes against networkx, up "
    "to five against the definitions; disjoint paths counted by flows in all blocks with up to six",
    symbols={
        r"\text{block}": "a largest part that stays connected when any single node is removed",
        r"\text{bridge, cut vertex}": "an edge, or a node, without which its component falls apart",
        r"\text{disjoint paths}": "paths that share no node but their ends",
    },
    why="Bridges are the blocks of one edge, cut vertices the nodes in several blocks. Two blocks cannot share two "
    "nodes: together they would stay connected without any one node, and be one block. "
    "Likewise a cycle of blocks would be one block, so they hang together as a tree. A depth-first search meets no "
    "edge between two branches; a branch therefore belongs to the block above exactly if some edge leads from it past "
    "the node where it branched off. And if one node lay on all paths between two others, its removal would part them.",
    notice="On the left, a graph with three triangles and three bridges. On the right its six blocks, each named by "
    "its nodes, and the cut vertices that join them: there is no cycle, and all leaves are blocks. Node 2 joins two "
    "blocks though it ends no bridge. A bridge is the smallest block and has one path between its two nodes, which is "
    "why two paths are promised only from three nodes on.",
)
def blocks_form_a_tree(*, nodes: Annotated[int, Interval(ge=5, le=7)] = 7):
    graphs, few = graphs_up_to(nodes), graphs_up_to(5)
    edges, places = ([(graph, each) for graph in few for each in of(graph)] for of in (nx.edges, nx.nodes))
    found, trees = [blocks(graph) for graph in graphs], [block_cut_tree(graph) for graph in graphs]
    parts = [[part for part in nx.connected_components(graph) if len(part) > 1] for graph in graphs]
    alone = [graph for graph in graphs_up_to(6) if blocks(graph) == [frozenset(graph)]]
    ways = [[len(list(nx.node_disjoint_paths(graph, u, v))) for u, v in combinations(graph, 2)] for graph in alone]
    return {
        "blocks by definition": Exact(words(map(blocks, few)), words(map(blocks_by_definition, few))),
        "blocks by another program": Exact(words(found), words(map(nx.biconnected_components, graphs))),
        "bridges": Exact(
            np.array([set(edge) in bridges(graph) for graph, edge in edges]),
            np.array([parts_without(graph, edges=[edge]) > parts_without(graph) for graph, edge in edges]),
            aside={"in no triangle": np.array([not set(graph[u]) & set(graph[v]) for graph, (u, v) in edges])},
        ),
        "cut vertices": Exact(
            np.array([node in cut_vertices(graph) for graph, node in places]),
            np.array([parts_without(graph, nodes=[node]) > parts_without(graph) for graph, node in places]),
            aside={"end of a bridge": np.array([any(node in b for b in bridges(graph)) for graph, node in places])},
        ),
        # A forest has as many nodes as edges and trees together; each tree spans one component that has edges.
        "blocks and cut vertices form a tree": Exact(
            np.array([[len(tree) - tree.number_of_edges(), parts_without(tree)] for tree in trees]),
            np.array([[len(each)] * 2 for each in parts]),
            aside={"blocks": np.array(list(map(len, found))), "nodes": np.array(list(map(len, trees)))},
        ),
        "two paths within a block": Inequality(
            2,
            np.concatenate([each for graph, each in zip(alone, ways, strict=True) if len(graph) > 2]),
            aside={"in every block": np.concatenate(ways)},
        ),
    }


@blocks_form_a_tree.control(
    "two disjoint paths in every block, as printed", erratum="H3.5a", of="two paths within a block"
)
def in_every_block(evidence):
    return replace(evidence, bound=evidence.aside["in every block"])


@blocks_form_a_tree.control(
    "blocks are what holds together when the bridges go, and the bridges", of="blocks by definition"
)
def without_bridges(evidence):
    few = graphs_up_to(5)
    held = [nx.connected_components(nx.restricted_view(graph, [], [tuple(b) for b in bridges(graph)])) for graph in few]
    rival = [
        [*(part for part in parts if len(part) > 1), *bridges(graph)] for graph, parts in zip(few, held, strict=True)
    ]
    return replace(evidence, right=words(rival))


@blocks_form_a_tree.control("a bridge is an edge in no triangle", of="bridges")
def no_triangle(evidence):
    return replace(evidence, right=evidence.aside["in no triangle"])


@blocks_form_a_tree.control("cut vertices are the ends of bridges", of="cut vertices")
def ends_of_bridges(evidence):
    return replace(evidence, right=evidence.aside["end of a bridge"])


@blocks_form_a_tree.control(
    "a cut vertex joins two blocks, so there is one block more than cut vertices",
    of="blocks and cut vertices form a tree",
)
def one_more(evidence):
    counted, whole = evidence.aside["blocks"], evidence.aside["nodes"]
    return replace(evidence, left=np.stack([counted - (whole - counted), evidence.left[:, 1]], 1))


@blocks_form_a_tree.picture
def blocks_and_their_tree(pieces):
    """A graph with its bridges and cut vertices (left), and the tree of its blocks and cut vertices (right)."""
    graph = nx.Graph([(u, v) for u, v in EXAMPLE])
    tree, cut, parting = block_cut_tree(graph), cut_vertices(graph), bridges(graph)
    names, where = list(graph), nx.kamada_kawai_layout(graph)
    joints = sorted(tree, key=lambda each: (len(each) == 2, -len(each)))  # so that cut vertices share their colour
    whole = Graph(
        [where[v] for v in names],
        [(names.index(u), names.index(v)) for u, v in graph.edges],
        kinds=["cut vertex" if v in cut else "other node" for v in names],
        edge_kinds=["bridge" if {u, v} in parting else "other edge" for u, v in graph.edges],
        labels=names,
        title="a graph",
    )
    glued = Graph(
        [np.mean([where[v] for v in each], axis=0) for each in joints],
        [(joints.index(one), joints.index(other)) for one, other in tree.edges],
        kinds=[
            "cut vertex" if len(each) == 1 else "block: a bridge" if each in parting else "other block"
            for each in joints
        ],
        edge_kinds=["lies in"] * tree.number_of_edges(),
        labels=["".join(sorted(each)) for each in joints],
        title="its block-cut tree",
    )
    return Row([whole, glued])
