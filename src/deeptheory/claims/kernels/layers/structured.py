"""Tangent kernels of networks with structure: on graphs and on images (arora 9.5)."""

from dataclasses import replace
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.kernels.finite.tangents import tangent_kernel
from deeptheory.kernels.layers.activations import Relu
from deeptheory.kernels.layers.combinators import serial
from deeptheory.kernels.layers.convolution import Conv
from deeptheory.kernels.layers.dense import Dense
from deeptheory.kernels.layers.graphs import closed_neighbourhoods, graph_network, padded_graphs
from deeptheory.kernels.layers.pooling import AvgPool, Flatten, GlobalAvgPool
from deeptheory.kernels.limits.dense_networks import fully_connected
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.lab import Identity, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen


def sampled_kernels(key, apply, shapes, inputs, trials):
    """Tangent kernels of random finite networks, (trials, n, n): `apply(weights, inputs)`, weights standard normal."""
    rng = generator(key)
    draws = [rng.standard_normal((trials, *shape)) for shape in shapes]
    return np.asarray(jax.jit(jax.vmap(lambda weights: tangent_kernel(apply, weights, inputs)))(draws))


def finite_graphs(weights, inputs):
    """A graph network: hear the neighbours, multiply, rectify; sum over nodes; read out."""
    nodes, hearing = inputs
    for weight in weights[:-1]:
        nodes = jax.nn.relu(hearing @ nodes @ (weight * (2 / weight.shape[0]) ** 0.5))
    return nodes.sum(axis=1) @ weights[-1] / weights[-1].shape[0] ** 0.5


def finite_images(weights, images, *, pooled):
    """A convolutional network with 3×3 windows and zeros outside, each convolution a product with the patches."""
    side = images.shape[1]
    for weight in weights[:-1]:
        wide = jnp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
        patches = [wide[:, i : i + side, j : j + side] for i in range(3) for j in range(3)]
        images = jax.nn.relu(jnp.concatenate(patches, axis=-1) @ (weight * (2 / weight.shape[0]) ** 0.5))
    features = images.mean(axis=(1, 2)) if pooled else images.reshape(images.shape[0], -1)
    return features @ weights[-1] / features.shape[1] ** 0.5


def upper(kernels):
    """The entries on and above the diagonal, trials last."""
    return np.asarray(kernels)[..., *np.triu_indices(np.shape(kernels)[-1])].swapaxes(0, -1)


def relu_layer(covariance, tangent):
    """One dense layer with weights √2 and a ReLU on matrices over all pairs: the arc-cosine formulas, in NumPy."""
    covariance = 2 * covariance
    tangent = covariance + 2 * tangent
    root = np.sqrt(np.diagonal(covariance))
    sizes = np.outer(root, root)
    angle = np.arccos(np.clip(np.divide(covariance, sizes, where=sizes > 0, out=np.zeros_like(sizes)), -1, 1))
    np.fill_diagonal(angle, 0.0)
    slope = (np.pi - angle) / (2 * np.pi)
    return sizes * (np.sin(angle) / (2 * np.pi) + slope * np.cos(angle)), tangent * slope


def against_the_diagonal(dots, finite):
    """Kernels of finite networks against those of the recursion, and the diagonal on which they belong."""
    entries = np.concatenate([each.x for each in dots])
    ends = 1.05 * np.array([min(entries.min(), 0.0), entries.max()])
    return Curves([Line("equal", ends, ends), *dots], x="tangent kernel by the recursion", y=f"mean over {finite}")


def recursion(x, *, layers, mixed, read, every=1):
    """The dynamic programme over all pairs of positions of all inputs: `mixed` what a layer hears, `read` the readout.

    `mixed` takes a matrix over pairs of positions to the next, before the first of `every` so many layers; `read` is
    the matrix (inputs, positions) of readouts.
    """
    rows = x.reshape(-1, x.shape[-1])
    covariance = rows @ rows.T / x.shape[-1]
    tangent = np.zeros_like(covariance)
    for layer in range(layers):
        if layer % every == 0:
            covariance, tangent = mixed(covariance), mixed(tangent)
        covariance, tangent = relu_layer(covariance, tangent)
    return read @ (covariance + tangent) @ read.T


def path(size):
    """The adjacency matrix of a path."""
    return np.eye(size, k=1) + np.eye(size, k=-1)


def cycle(size):
    """The adjacency matrix of a cycle."""
    return path(size) + np.eye(size, k=size - 1) + np.eye(size, k=1 - size)


STAR = np.zeros((4, 4))
STAR[0, 1:] = STAR[1:, 0] = 1.0
ADJACENCIES = (path(2), path(3), STAR, cycle(4))
FEATURES = tuple(
    np.array([[1.0, 0.2], [0.3, -0.7], [-0.5, 0.9], [0.8, 0.6]])[: len(each)] * (1 + 0.2 * index)
    for index, each in enumerate(ADJACENCIES)
)


def graph_kernel(inputs, **settings):
    x, pattern = inputs
    return np.asarray(limit_kernel(graph_network(**settings), x, want=("ntk",), pattern=(pattern, None)).ntk)


@claim(
    items={"A9.26": ("mean over finite networks", "recursion by another route", "hexagon and two triangles")},
    says="With one hidden layer the mean tangent kernel of finite graph networks is exactly a recursion over pairs of "
    "nodes: sum over what each node hears, take the ReLU step, in the end sum over all pairs. It cannot tell a "
    "hexagon from two triangles.",
    needs="ReLU, no biases, standard normal weights; for the hexagon and the triangles equal features at all nodes",
    scale="printed: graph classification benchmarks; here four graphs of 2 to 4 nodes, networks of 8 neurons",
    symbols={
        r"\text{tangent kernel}": "the inner product, for two graphs, of the derivatives of the output by all weights",
        r"\text{what a node hears}": "itself and its neighbours: a block sums over them once, before its layers",
        r"\text{ReLU step}": (
            r"$\Theta\mapsto\Theta\dot\Sigma+\Sigma$, from the tangent kernel of one layer to that of the next, with "
            r"the covariance $\Sigma$ of its outputs and $\dot\Sigma$ of its slopes"
        ),
    },
    why="Summing over neighbours is linear and the same for all networks, so it acts on the covariance of two nodes "
    "as two sums, one for each. Random weights then make the outputs at two nodes Gaussian with that covariance, and "
    "the ReLU has its known mean products. The readout sums over nodes, its kernel therefore over pairs of nodes. "
    "With one hidden layer neurons are independent and the mean is exact at every width; deeper it holds in the "
    "limit. Every node of a hexagon and of two triangles hears two others like itself if all features are equal, so no "
    "round tells the graphs apart.",
    notice="Each dot is a pair of graphs, a graph with itself among them: the mean over finite networks of eight "
    "neurons against the kernel. They lie on the diagonal up to chance; bars are two standard errors.",
    full=dict(trials=131_072),
)
def graph_tangent_kernel(
    key,
    *,
    trials: Trials = 12_288,
    hears: Literal["itself too", "its neighbours alone"] = "itself too",
):
    features, adjacency = padded_graphs(FEATURES, ADJACENCIES)
    pattern = closed_neighbourhoods(adjacency)
    known = adjacency if hears == "its neighbours alone" else pattern
    inputs = (features, adjacency + np.eye(adjacency.shape[1]))
    one = sampled_kernels(key, finite_graphs, ((2, 8), (8, 1)), inputs, trials)
    graphs, size = adjacency.shape[:2]
    whole = np.zeros((graphs, size, graphs, size))
    whole[np.arange(graphs), :, np.arange(graphs)] = adjacency + np.eye(size)
    whole = whole.reshape(graphs * size, -1)
    readout = np.kron(np.eye(graphs), np.ones(size))
    stepwise = [
        recursion(features, layers=layers, mixed=lambda pairs: whole @ pairs @ whole.T, read=readout, every=every)
        for layers, every in ((2, 1), (4, 2))
    ]
    alike = np.stack([cycle(6), np.kron(np.eye(2), cycle(3))])
    kernel = graph_kernel((np.ones((2, 6, 1)), closed_neighbourhoods(alike)), blocks=2, layers=2)
    limit = [graph_kernel((features, known), blocks=2, layers=layers) for layers in (1, 2)]
    return {
        # With 8 neurons a kernel swings by its own size: 12,288 networks resolve the mean to 4 %.
        "mean over finite networks": Law(upper(graph_kernel((features, known), blocks=1)), upper(one), exact=True),
        # Nodes that hear the same have the angle zero, which rounding of the cosine turns into its root.
        "recursion by another route": Identity(np.array(limit), np.array(stepwise), error=1e-6),
        "hexagon and two triangles": Identity(kernel, kernel[0, 0], error=1e-6 * kernel[0, 0]),
    }


graph_tangent_kernel.control(
    "a node that does not hear itself", of="mean over finite networks", hears="its neighbours alone"
)


@graph_tangent_kernel.picture
def pairs_of_graphs(pieces):
    """For each pair of the four graphs the mean tangent kernel of finite networks against that of the recursion."""
    dots = [
        seen(
            "pairs of graphs",
            pieces["mean over finite networks"].predicted,
            pieces["mean over finite networks"].observed,
        )
    ]
    return against_the_diagonal(dots, "networks of 8 neurons")


@graph_tangent_kernel.control("one block fewer", of="recursion by another route")
def one_block_fewer(evidence):
    features, adjacency = padded_graphs(FEATURES, ADJACENCIES)
    fewer = graph_kernel((features, closed_neighbourhoods(adjacency)), blocks=1)
    return replace(evidence, left=np.array([fewer, evidence.left[1]]))


@graph_tangent_kernel.control("the covariance in place of the tangent kernel", of="mean over finite networks")
def graph_covariance(evidence):
    features, adjacency = padded_graphs(FEATURES, ADJACENCIES)
    pattern = closed_neighbourhoods(adjacency)
    kernel = limit_kernel(graph_network(blocks=1), features, want=("nngp",), pattern=(pattern, None))
    return replace(evidence, predicted=upper(np.asarray(kernel.nngp)))


ENDS = {"pooled": (GlobalAvgPool(),), "flat": (Flatten(),), "windows": (AvgPool((2, 2), (2, 2)), Flatten())}


def image_network(*, layers, end="pooled", padding="SAME"):
    """Convolutions with ReLU, then the mean over pixels, all of them or means over windows, and a linear readout."""
    return serial(*(Conv(1, (3, 3), None, padding, 2**0.5), Relu()) * layers, *ENDS[end], Dense(1))


def image_kernel(x, **settings):
    return np.asarray(limit_kernel(image_network(**settings), x, want=("ntk",)).ntk)


def window_mean(images, side, *, wraps=False):
    """The mean over the 3×3 offsets of both positions of a pair at once, zero outside, on matrices over all pixels."""
    shifts = [np.roll(np.eye(side), offset, 1) if wraps else np.eye(side, k=offset) for offset in (-1, 0, 1)]
    moves = [np.kron(np.eye(images), np.kron(down, right)) for down in shifts for right in shifts]
    return lambda pairs: sum(move @ pairs @ move.T for move in moves) / 9


FLAT = dict(layers=1, end="flat")
IMAGES = np.array(np.random.default_rng(7).standard_normal((3, 4, 4, 2)))
IMAGES[1] = 0.8 * IMAGES[0] + 0.6 * IMAGES[1]
PIXELS = np.random.default_rng(8).standard_normal((5, 1, 1, 3))


@claim(
    items={
        "A9.27": (
            "mean over finite networks, pooled",
            "mean over finite networks, not pooled",
            "recursion by another route",
            "images of one pixel",
        )
    },
    consistency=("images of one pixel",),
    says="With one hidden layer the mean tangent kernel of finite convolutional networks is exactly a recursion over "
    "pairs of pixels: average over the window, then take the ReLU step. With global pooling all pairs of pixels "
    "count, else those at equal positions.",
    needs="ReLU, no biases, standard normal weights divided by the root of window size times channels",
    scale="printed: CIFAR-10; here images of 4×4 pixels in two colours, networks of 8 channels",
    symbols={
        r"\text{tangent kernel}": "the inner product, for two images, of the derivatives of the output by all weights",
        r"\text{window}": r"the $3\times3$ pixels that a convolution hears at once, zeros outside the image",
        r"\text{ReLU step}": (
            r"$\Theta\mapsto\Theta\dot\Sigma+\Sigma$, from the tangent kernel of one layer to that of the next, with "
            r"the covariance $\Sigma$ of its outputs and $\dot\Sigma$ of its slopes"
        ),
        r"\text{global pooling}": (
            "the output reads the mean over all pixels; without it, each pixel has a weight of its own"
        ),
    },
    why="A convolution uses the same random weights at every pixel. So its outputs at a pixel of one image and a "
    "pixel of another are correlated by the mean, over the nine places of the window, of the correlations below; the "
    "ReLU acts on each such pair as in a dense network. If the output reads the mean over pixels, every pair of "
    "pixels contributes to the kernel; if it has separate weights for each pixel, or for means over small windows, "
    "only pairs at the same place share a weight. On images of one pixel with the window closed around it a "
    "convolution is a dense layer, and the kernel the fully connected one.",
    notice="Each dot is a pair of images: the mean over finite networks of eight channels against the kernel, for "
    "both ways to read the image out. All lie on the diagonal.",
    full=dict(trials=32_768),
)
def convolutional_tangent_kernel(key, *, trials: Trials = 6144):
    first, second = jax.random.split(key)
    pooled = sampled_kernels(first, partial(finite_images, pooled=True), ((18, 8), (8, 1)), IMAGES, trials)
    flat = sampled_kernels(second, partial(finite_images, pooled=False), ((18, 8), (128, 1)), IMAGES, trials)
    settings = dict(layers=1), FLAT, dict(layers=2), dict(layers=1, end="windows")
    one, apart, two, blurred = (image_kernel(IMAGES, **each) for each in settings)
    mixed = window_mean(3, 4)
    stepwise = recursion(IMAGES, layers=2, mixed=mixed, read=np.kron(np.eye(3), np.full(16, 1 / 16)))
    # Without pooling only pairs of equal pixels count: one readout for each pixel, and the mean of their kernels.
    halves = np.kron(np.eye(2), np.full((1, 2), 0.5))
    reads = np.eye(48), np.kron(np.eye(3), np.kron(halves, halves))
    pairs = (recursion(IMAGES, layers=1, mixed=mixed, read=read).reshape(3, -1, 3, len(read) // 3) for read in reads)
    separate, windows = (np.einsum("ipjp->ij", each) / each.shape[1] for each in pairs)
    dense = fully_connected(3, hidden_layers=1, weight_scale=2**0.5, input_scale=(2 / 3) ** 0.5)
    plain = np.asarray(limit_kernel(dense, PIXELS[:, 0, 0], want=("ntk",)).ntk) / 2
    wrapped = image_kernel(PIXELS, layers=1, padding="CIRCULAR")  # every pixel of the window is the one there is
    return {
        "mean over finite networks, pooled": Law(upper(one), upper(pooled), exact=True),
        "mean over finite networks, not pooled": Law(upper(apart), upper(flat), exact=True),
        "recursion by another route": Identity(
            np.array([two, apart, blurred]), np.array([stepwise, separate, windows]), size=1000
        ),
        "images of one pixel": Identity(wrapped, plain, size=1000),
    }


@convolutional_tangent_kernel.control("edges that wrap around", of="recursion by another route")
def wrapped_edges(evidence):
    read = np.kron(np.eye(3), np.full(16, 1 / 16))
    around = recursion(IMAGES, layers=2, mixed=window_mean(3, 4, wraps=True), read=read)
    return replace(evidence, right=np.array([around, *evidence.right[1:]]))


@convolutional_tangent_kernel.control("one pixel among zeros, with the whole window counted", of="images of one pixel")
def among_zeros(evidence):
    return replace(evidence, right=recursion(PIXELS, layers=1, mixed=window_mean(5, 1), read=np.eye(5)))


@convolutional_tangent_kernel.control("the kernel without pooling", of="mean over finite networks, pooled")
def not_pooled(evidence):
    return replace(evidence, predicted=upper(image_kernel(IMAGES, **FLAT)))


@convolutional_tangent_kernel.control("one layer fewer", of="recursion by another route")
def one_layer_fewer(evidence):
    return replace(evidence, left=np.array([image_kernel(IMAGES, layers=1), *evidence.left[1:]]))


@convolutional_tangent_kernel.picture
def pairs_of_images(pieces):
    """For each pair of the three images the mean tangent kernel of finite networks against that of the recursion."""
    ways = {"pooled": "mean over pixels read out", "not pooled": "each pixel read out by itself"}
    found = {name: pieces[f"mean over finite networks, {way}"] for way, name in ways.items()}
    dots = [seen(name, piece.predicted, piece.observed) for name, piece in found.items()]
    return against_the_diagonal(dots, "networks of 8 channels")
