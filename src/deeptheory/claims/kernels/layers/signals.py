"""What passes forward and back through layers of random weights: norms, factors of the gradient, fresh weights."""

from dataclasses import replace
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from scipy.special import ndtr
from scipy.stats import binom

from deeptheory.claims.kernels.layers.tangent import ACTIVATIONS, HE, INPUTS, SCALES, Width, wide_limit
from deeptheory.kernels.limits.dense_networks import layerwise_ntk
from deeptheory.lab import Distribution, Exact, Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, power_law, seen
from deeptheory.networks.mlp import backpropagate, init_mlp, parameter_count, relu_excess_kurtosis

forward_factors = jax.jit(jax.vmap(lambda network, x: (backpropagate(network, x)[0], network(x)), in_axes=(0, None)))


def kurtosis_by_counting(hidden_widths):
    """3∏ E(2χ²/n)² with as many degrees of freedom k as neurons are active: E(χ²_k)² = k(k + 2), summed over k."""
    counts = [np.arange(width + 1) for width in hidden_widths]
    return 3 * np.prod([4 / k[-1] ** 2 * np.sum(binom.pmf(k, k[-1], 0.5) * k * (k + 2)) for k in counts])


@claim(
    items={
        "A9.20": "squared norms of the layers",
        "L7.17": ("kurtosis of the output", "kurtosis by counting", "Gaussian given the norm"),
        "J8.9": ("kurtosis of the output", "kurtosis by counting", "Gaussian given the norm"),
    },
    says=r"In a ReLU network with $c_\sigma=2$ every layer keeps $\mathbb E\|g^{(h)}(x)\|^2=\|x\|^2$ exactly, at any "
    r"width. The output is Gaussian given the last hidden layer, and has kurtosis exactly $3\prod_h(1+5/n_h)$: it "
    r"becomes Gaussian like 1/width.",
    needs="no biases; standard normal weights",
    symbols={
        r"c_\sigma": "the factor by which squared weights are scaled so that layers keep the norm",
        r"g^{(h)}(x)": r"the activations of layer $h$ at the input $x$",
        r"n_h": r"the number of neurons of layer $h$",
        r"\text{kurtosis}": "the mean fourth power over the squared mean square, 3 for a Gaussian",
    },
    why=r"Given the layer below, pre-activations are independent Gaussians, and a ReLU keeps each with probability "
    r"one half: the squared norm is multiplied by $\frac2{n_h}\chi^2$ with $\mathrm{Bin}(n_h,\frac12)$ degrees of "
    r"freedom. Its mean is 1, and its mean square $1+5/n_h$. Given the last hidden layer the output is Gaussian of "
    r"variance $\|g^{(L)}(x)\|^2$, a random variance, which makes the tails heavier by exactly these factors.",
    notice=r"The kurtosis of the output falls to 3, that of a Gaussian, like one over the width; means over networks "
    r"lie on the formula, which is exact at every width.",
    full=dict(trials=65_536),
)
def relu_norms(key, *, widths: Sizes = (16, 32), trials: Trials = 24_576, activation: Literal["ReLU", "erf"] = "ReLU"):
    x = INPUTS[2:]
    # c_σ = 1/E σ(z)² for a standard normal z.
    scale = float(ACTIVATIONS[activation][1].integrals(*jnp.ones(3), True)[0]) ** -0.5
    norms = []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = init_mlp(
            draw, (3, width, width, 1), ensemble=(trials,), activation=ACTIVATIONS[activation][0], weight_scale=scale
        )
        factors, outputs = forward_factors(network, x)
        norms.append([np.sum(np.asarray(g) ** 2, axis=(1, 2)) for g in factors[1:]])
    norms, size = np.array(norms), float(np.sum(x**2))
    along = {"width": np.array(widths), "layer": np.array([1, 2])}
    kurtosis = np.array([3 + relu_excess_kurtosis((width, width)) for width in widths])
    shapes = [(4,), (1, 2), (16, 16), (3, 40, 9)]
    return {
        # At width 16 the squared norm of the second layer swings by its own size: 24,576 networks resolve it to 4 %.
        "squared norms of the layers": Law(size, norms, exact=True, along=along),
        # Fourth powers of norms that swing by half their size: resolved to a seventh, half of what width 32 adds to 3.
        "kurtosis of the output": Law(
            kurtosis, 3 * (norms[:, 1] / size) ** 2, exact=True, along={"width": np.array(widths)}, resolution=0.15
        ),
        "kurtosis by counting": Identity(
            [3 + relu_excess_kurtosis(shape) for shape in shapes], [kurtosis_by_counting(shape) for shape in shapes]
        ),
        "Gaussian given the norm": Distribution(ndtr(np.asarray(outputs)[:, 0, 0] / np.sqrt(norms[-1, 1]))),
    }


relu_norms.control("an activation that is not homogeneous", of="squared norms of the layers", activation="erf")


@relu_norms.control("Gaussian at every width", of="kurtosis of the output")
def gaussian_outputs(evidence):
    return replace(evidence, predicted=3.0)


@relu_norms.picture
def kurtosis_along_the_width(pieces):
    """Kurtosis of the output of networks with two hidden layers of one width: the formula, and means over networks."""
    found, dense = pieces["kurtosis of the output"], np.arange(8, 129)
    return Curves(
        [
            Line("3(1 + 5/n)²", dense, [3 + relu_excess_kurtosis((n, n)) for n in dense.tolist()]),
            seen("observed", found.along["width"], found.observed),
            Line("", dense, np.full(len(dense), 3.0), rival="Gaussian at every width"),
        ],
        x="width n of both hidden layers",
        y="kurtosis",
        log="x",
    )


two_routes = jax.jit(
    lambda network, weights: (
        layerwise_ntk(network, INPUTS, backward_weights=weights),
        jax.jacobian(lambda network: network(INPUTS))(network),
    )
)


@claim(
    items={
        "A9.21": ("kernel of all layers", "kernel of each layer"),
        "J8.10": "kernel of all layers",
        "J8.8": "number of parameters",
    },
    says=r"Weight gradients are outer products $b^{(h)}g^{(h-1)\top}$ of a backward and a forward vector, so the "
    r"tangent kernel is $\sum_h(\langle g,g'\rangle+\sigma_b^2)\langle b,b'\rangle$, layer by layer equal to the Gram "
    r"matrix of the Jacobian.",
    needs="fully connected layers; derivatives of the activation where it has any",
    symbols={
        r"g^{(h)},b^{(h)}": r"the forward and the backward vector of layer $h$; a dash marks those of another input",
        r"\sigma_b": "the scale of the biases",
    },
    why="A weight multiplies one entry of the activations below and acts on the output through one entry above: by "
    "the chain rule its derivative is the product of a forward and a backward entry. The inner product of two such "
    "matrices is the product of the inner products of the vectors, and biases have the constant 1 as forward entry.",
    notice=r"Every entry of the kernel is the same by the vectors of the two passes and by the derivatives of all "
    r"parameters. Without the share of the biases they are not.",
)
def backpropagation_factorises(key, *, width: Width = 12, fresh: bool = False):
    first, second = jax.random.split(key)
    sizes = (3, width, width, 2)
    network, other = (init_mlp(draw, sizes, activation=erf, **SCALES) for draw in (first, second))
    layers, jacobian = two_routes(network, other.weights if fresh else network.weights)
    flat = [np.asarray(leaf).reshape(3, 2, -1) for leaf in jax.tree.leaves(jacobian)]
    grams = [np.einsum("nip,mkp->nmik", leaf, leaf) for leaf in flat]
    by_layer = np.array([weights + biases for weights, biases in zip(grams[:3], grams[3:], strict=True)])
    scale = np.max(np.abs(by_layer))
    return {
        "kernel of each layer": Identity(layers, by_layer, scale=scale, size=width**2),
        "kernel of all layers": Identity(
            np.sum(layers, axis=0),
            np.sum(by_layer, axis=0),
            scale=scale,
            size=width**2,
            aside={"biases": np.sum(grams[3:], axis=0)},
        ),
        "number of parameters": Exact(
            np.array([parameter_count(sizes), parameter_count((5, 1024, 1024, 1))]),
            np.array([sum(leaf.shape[2] for leaf in flat), 1_056_769]),
        ),
    }


backpropagation_factorises.control(
    "an independent copy of the weights on the way back", of="kernel of each layer", fresh=True
)


@backpropagation_factorises.control("without the share of the biases", of="kernel of all layers")
def without_biases(evidence):
    return replace(evidence, right=evidence.right - evidence.aside["biases"])


@backpropagation_factorises.picture
def two_routes_to_the_kernel(pieces):
    """Entries of the tangent kernel: by forward and backward vectors against the Gram matrix of the Jacobian."""
    found = pieces["kernel of all layers"]
    by_vectors, by_jacobian = np.ravel(found.left), np.ravel(found.right)
    ends = np.asarray([by_jacobian.min(), by_jacobian.max()])
    return Curves(
        [
            Line("equal", ends, ends),
            Dots("all layers", by_jacobian, by_vectors),
            Dots("", by_jacobian, by_vectors - np.ravel(found.aside["biases"]), rival="without the biases"),
        ],
        x="entry by the Jacobian",
        y="entry by the two passes",
    )


@backpropagation_factorises.control("parameters of a layer k = L too", of="number of parameters")
def one_layer_more(evidence):
    return replace(evidence, left=evidence.left + np.array([2 * 3, 1 * 2]))


tangent_with = jax.jit(
    jax.vmap(
        lambda network, weights: layerwise_ntk(network, INPUTS, backward_weights=weights).sum(0)[:, :, 0, 0],
        in_axes=(0, 0),
    )
)


@claim(
    items={"A9.24": ("difference that fresh weights make", "distance from the limit")},
    says=r"Replacing the weights by an independent copy on the way back changes the tangent kernel by order "
    r"$\mathrm{width}^{-1/2}$ only, so the limit may be computed as if forward and backward pass were independent.",
    needs="output weights of mean zero, independent of the rest",
    full=dict(widths=(64, 128, 256, 512)),
    symbols={"\\mathrm{width}": "the number of neurons in each of two hidden layers"},
    why="Forward and backward pass share the weight matrices, so they are not independent. What is shared enters the "
    "backward vectors only through projections on the few forward vectors, a handful of directions out of as many as "
    "there are neurons; output weights of mean zero see nothing of them on average. With output weights all equal the "
    "backward vector has a mean, which meets the forward vectors again.",
    notice=r"Both the change by fresh weights and the distance of the kernel so computed from the limit fall like "
    r"$\mathrm{width}^{-1/2}$.",
)
def fresh_weights_on_the_way_back(
    key, *, widths: Sizes = (32, 64, 128, 256), trials: Trials = 160, readout: Literal["normal", "ones"] = "normal"
):
    limit = np.asarray(wide_limit(INPUTS, hidden_layers=2, **HE).ntk)
    differences, distances = [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network, copy = (
            init_mlp(part, (3, width, width, 1), ensemble=(trials,), **HE) for part in jax.random.split(draw)
        )
        last, fresh = (
            (network.weights[2], copy.weights[2]) if readout == "normal" else [np.ones((trials, 1, width))] * 2
        )
        network = replace(network, weights=(*network.weights[:2], last))
        own, other = (
            np.asarray(tangent_with(network, weights)) for weights in (network.weights, (*copy.weights[:2], fresh))
        )
        differences.append(np.linalg.norm(own - other, axis=(1, 2)) / np.linalg.norm(limit))
        distances.append(np.linalg.norm(other - limit, axis=(1, 2)) / np.linalg.norm(limit))
    return {
        "difference that fresh weights make": Rate(
            np.array(widths), np.array(differences), exponent=-0.5, rivals=(-1.0, 0.0)
        ),
        "distance from the limit": Rate(np.array(widths), np.array(distances), exponent=-0.5),
    }


fresh_weights_on_the_way_back.control(
    "output weights all equal to one", of="difference that fresh weights make", readout="ones"
)


@fresh_weights_on_the_way_back.picture
def fresh_or_not(pieces):
    """What an independent copy of the weights on the way back changes, and how far that kernel is from the limit."""
    marks = power_law("change by fresh weights", pieces["difference that fresh weights make"])
    marks += power_law("distance from the limit", pieces["distance from the limit"])
    return Curves(marks, x="width", y="relative distance", log="xy")
