"""Convolutions of images: turned kernels, strides, paddings, and what an output sees (lucchi 10.1.2, 10.1.3)."""

from dataclasses import replace
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import scipy.signal

from deeptheory.architectures.feature_maps import convolve_images, correlate_images, output_size
from deeptheory.architectures.receptive_fields import parameter_counts, receptive_field_sizes, seen_inputs
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Images, Line, Row

PLACED = (((1, 1), (0, 0)), ((2, 2), (1, 1)), ((1, 3), (2, 0)))


def by_hand(x, kernels, bias, stride, padding):
    """The printed sum over channels and taps, with zeros outside the image and the kernel's indices turned."""
    filters, height, width, _ = kernels.shape
    rows = len(range(-padding[0], x.shape[0] + padding[0] - height + 1, stride[0]))
    columns = len(range(-padding[1], x.shape[1] + padding[1] - width + 1, stride[1]))
    y = np.zeros((rows, columns, filters)) + bias
    for i, j, u, v in product(range(rows), range(columns), range(height), range(width)):
        a, b = i * stride[0] + u - padding[0], j * stride[1] + v - padding[1]
        if 0 <= a < x.shape[0] and 0 <= b < x.shape[1]:
            y[i, j] += kernels[:, height - 1 - u, width - 1 - v] @ x[a, b]
    return y


@claim(
    items={
        "L10.8": ("one channel", "sizes in the figures"),
        "L10.9": "many channels, strides and paddings",
        "L10.10": ("sizes in the figures", "sizes of all small layers"),
    },
    says=r"A layer of filters has $Y[i,j,m]=\sum_{c,u,v}X[is+u-p,js+v-p,c]\,K^{(m)}[H-1-u,W-1-v,c]+b^{(m)}$, and "
    r"along each axis $\lfloor(N+2p-F)/s\rfloor+1$ outputs: for $F=3$ 9 give 7, with stride 3 give 3, with padding "
    r"1 give 9.",
    needs="zeros outside the image",
    symbols={
        "X,Y": "input and output, with rows, columns and channels",
        "K^{(m)},b^{(m)}": "the $m$-th filter, of $H$ rows and $W$ columns, and its bias",
        "s,p": "stride and padding",
        "N,F": "entries and window along one axis",
    },
    why=r"The first window begins $p$ places before the image, the last one that fits begins $N+p-F$ places into it, "
    r"and the stride counts the steps between, rounded down. The turned indices make it a convolution in the sense of "
    r"mathematics; frameworks leave the turn out and learn the turned filter instead. The book's centred display "
    r"leaves it out too, and is a correlation.",
    notice="Sizes fall by steps as the stride grows, because what is left at the far end is not seen by any window. "
    "Rounding up would count windows that hang over the edge.",
)
def images_through_filters(key):
    rng = generator(key)
    x, kernels, bias = rng.standard_normal((7, 6, 3)), rng.standard_normal((4, 3, 2, 3)), rng.standard_normal(4)
    layers = [convolve_images(x, kernels, bias, stride=s, padding=p) for s, p in PLACED]
    hands = [by_hand(x, kernels, bias, s, p) for s, p in PLACED]
    unturned = [correlate_images(x, kernels, bias, stride=s, padding=p) for s, p in PLACED]
    image, kernel = rng.standard_normal((4, 4)), rng.standard_normal((3, 3))
    one = convolve_images(image[..., None], kernel[None, ..., None])[..., 0]
    cases = [c for c in product(range(1, 10), range(1, 5), range(1, 4), range(3)) if c[1] <= c[0] + 2 * c[3]]

    def traced(size, window, stride, padding):
        def layer(x, k):
            return correlate_images(x, k, stride=stride, padding=padding)

        shapes = jax.ShapeDtypeStruct((size, size, 1), float), jax.ShapeDtypeStruct((1, window, window, 1), float)
        return jax.eval_shape(layer, *shapes).shape[0]

    figures = [(9, 3, 1, 0), (9, 3, 3, 0), (9, 3, 1, 1), (4, 3, 1, 0)]
    array = np.array(cases)
    return {
        "one channel": Identity(
            one,
            scipy.signal.convolve2d(image, kernel, mode="valid"),
            scale=1.0,
            size=9,
            aside={"not turned": scipy.signal.correlate2d(image, kernel, mode="valid")},
        ),
        "many channels, strides and paddings": Identity(
            np.concatenate([np.ravel(y) for y in layers]),
            np.concatenate([np.ravel(y) for y in hands]),
            scale=1.0,
            size=18,
            aside={"not turned": np.concatenate([np.ravel(y) for y in unturned])},
        ),
        "sizes in the figures": Exact(
            np.array([traced(*case) for case in figures]), np.array([7, 3, 9, 2]), along={"layer": figures}
        ),
        "sizes of all small layers": Exact(
            np.array([output_size(n, window=f, stride=s, padding=p) for n, f, s, p in cases]),
            np.array([traced(*case) for case in cases]),
            aside={"cases": array, "up": -((array[:, 1] - array[:, 0] - 2 * array[:, 3]) // array[:, 2]) + 1},
        ),
    }


@images_through_filters.control("kernel not turned", of="one channel")
def plain_correlation(evidence):
    return replace(evidence, right=evidence.aside["not turned"])


@images_through_filters.control("no filter turned", of="many channels, strides and paddings")
def framework(evidence):
    return replace(evidence, left=evidence.aside["not turned"])


@images_through_filters.control("padding counted once", of="sizes in the figures")
def one_sided(evidence):
    sizes = [(n + p - f) // s + 1 for n, f, s, p in np.asarray(evidence.along["layer"])]
    return replace(evidence, left=np.array(sizes))


@images_through_filters.control("rounded up", of="sizes of all small layers")
def rounded_up(evidence):
    return replace(evidence, left=np.asarray(evidence.aside["up"]))


@images_through_filters.picture
def staircases(pieces):
    """Outputs by input size for a window of three, padding one and three strides, counted and by the formula."""
    sizes = pieces["sizes of all small layers"]
    cases, counted, up = (np.asarray(a) for a in (sizes.aside["cases"], sizes.right, sizes.aside["up"]))
    marks = []
    for stride in (1, 2, 3):
        own = (cases[:, 1] == 3) & (cases[:, 2] == stride) & (cases[:, 3] == 1)
        name = f"stride {stride}"
        marks += [Line(name, cases[own, 0], np.asarray(sizes.left)[own]), Dots(name, cases[own, 0], counted[own])]
    marks += [Line("", cases[own, 0], up[own], rival="rounded up, stride 3")]
    return Curves(marks, x="input size N", y="output size")


@claim(
    items={"L10.13": ("inputs seen", "weights saved by sharing")},
    says=r"An output of layer $l$ sees $r_l=r_{l-1}+(F_l-1)\prod_{k<l}s_k$ inputs along each axis, $r_0=1$. With one "
    r"filter for all places a layer of $M$ filters on $C$ channels has $F^2CM$ weights, a dense one between the same "
    r"sizes $HWC\cdot H'W'M$.",
    needs="no padding in the way; generic weights",
    symbols={
        "F_l,s_l": "window and stride of layer $l$",
        "r_l": "inputs seen along one axis",
        "H,W,C": "rows, columns and channels of the input, with a prime of the output",
        "M": "filters",
    },
    why=r"Neighbouring places of layer $l-1$ look at inputs that are $\prod_{k<l}s_k$ apart, so a window of $F_l$ of "
    r"them adds $F_l-1$ such distances to what one of them sees. Strides multiply, windows only add: without strides "
    r"the field grows like the depth, with strides of 2 like $2^l$.",
    notice="The places with a gradient, on a dark ground, fill a square that grows with depth: in four layers from "
    "side 3 to side 9 without strides, and to side 27 with three of them.",
)
def receptive_fields_grow_with_depth(key):
    rng = generator(key)
    stacks = {
        "plain": ((3, 3, 3, 3), (1, 1, 1, 1)),
        "strided": ((3, 3, 2, 3), (2, 2, 2, 1)),
        "wide": ((5, 1, 4, 2), (1, 3, 1, 2)),
    }
    observed, masks = [], []
    for windows, strides in stacks.values():
        kernels = [jnp.asarray(rng.uniform(0.5, 1.5, (1, f, f, 1))) for f in windows]
        for depth in range(1, 5):

            def network(x, kernels=kernels, strides=strides, depth=depth):
                for k, s in zip(kernels[:depth], strides[:depth], strict=True):
                    x = correlate_images(x, k, stride=s)
                return x

            seen = seen_inputs(network, np.ones((31, 31, 1)), (0, 0))
            observed.append(int(seen.any(1).sum()))
            masks.append(seen)
    predicted = [receptive_field_sizes(*stack) for stack in stacks.values()]
    size = {"rows": 9, "columns": 8, "channels": 2, "filters": 5, "window": 3, "stride": 2, "padding": 1}
    places = jax.eval_shape(
        lambda x, k: correlate_images(x, k, stride=2, padding=1),
        jax.ShapeDtypeStruct((9, 8, 2), float),
        jax.ShapeDtypeStruct((5, 3, 3, 2), float),
    )
    return {
        "inputs seen": Exact(
            np.array(observed).reshape(3, 4),
            np.array(predicted),
            along={"stack": list(stacks), "layer": [1, 2, 3, 4]},
            aside={
                "masks": np.array(masks).reshape(3, 4, 31, 31).astype(float),
                "without strides": np.array([receptive_field_sizes(windows) for windows, _ in stacks.values()]),
            },
        ),
        "weights saved by sharing": Exact(
            np.array(parameter_counts(**size)),
            np.array([5 * 3 * 3 * 2, places.size * 3 * 3 * 2, 9 * 8 * 2 * places.size]),
            along={"layer": ["shared", "local", "dense"]},
        ),
    }


@receptive_fields_grow_with_depth.control("strides do not matter", of="inputs seen")
def strides_left_out(evidence):
    return replace(evidence, right=evidence.aside["without strides"])


@receptive_fields_grow_with_depth.picture
def fields(pieces):
    """Which inputs one output sees after one to four layers, without strides and with; and how many."""
    seen = pieces["inputs seen"]
    masks = np.asarray(seen.aside["masks"])
    shown = np.concatenate([masks[0], masks[1]])
    labels = [f"{stack}, layer {layer}" for stack in list(seen.along["stack"])[:2] for layer in range(1, 5)]
    layers = np.arange(1, 5)
    marks = [
        mark
        for i, name in enumerate(seen.along["stack"])
        for mark in (Line(name, layers, seen.right[i]), Dots(name, layers, seen.left[i]))
    ]
    return Row([Images(shown, labels), Curves(marks, x="layer", y="inputs seen along one axis")])
