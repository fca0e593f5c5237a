"""Finite networks approach their limit kernels: at initialisation, layer by layer, and while they train."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.scipy.special import erf
from scipy.special import erf as error_function, ndtr
from scipy.stats import binom

from deeptheory.kernels.layers.activations import Erf, Numerical, Relu
from deeptheory.kernels.lazy.training import train_with_kernel
from deeptheory.kernels.limits.fully_connected import conditional_covariance, fully_connected, layerwise_ntk
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.kernels.regression.predictions import kernel_training
from deeptheory.lab import Distribution, Exact, Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, seen
from deeptheory.networks.mlp import backpropagate, init_mlp, parameter_count, relu_excess_kurtosis

Width = Annotated[int, Interval(ge=2, le=8192)]
INPUTS = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 1.2]])
PAIRS = np.triu_indices(3)
APART = np.triu_indices(3, 1)
ACTIVATIONS = {"ReLU": (jax.nn.relu, Relu()), "erf": (erf, Erf())}
SCALES: dict[str, Any] = dict(weight_scale=1.3, bias_scale=0.4, input_scale=0.9)
"""With biases, in the parametrisation of lucchi 7.3 and jagannath 8.4."""
HE: dict[str, Any] = dict(weight_scale=2**0.5)
"""The ReLU network of arora 9.4: c_σ = 2, no biases."""

POINTS = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [0, -0.6, 0.8], [-0.8, 0, 0.6], [0.8, 0, 0.6], [0.6, -0.8, 0]]
)
"""Six points to train on, then two to watch."""
TARGETS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
STEPS = 40
TRAINED = dict(weight_scale=1.5, bias_scale=0.3)


def wide_limit(x, **settings):
    """Covariance and tangent kernel of an infinitely wide network at the inputs x."""
    return limit_kernel(fully_connected(x.shape[1], **settings), x, want=("nngp", "ntk"))


both_kernels = jax.jit(
    jax.vmap(
        lambda net, x: (conditional_covariance(net, x), layerwise_ntk(net, x).sum(0)[:, :, 0, 0], net(x)[0, 0]),
        in_axes=(0, None),
    )
)
generic_and_closed = jax.jit(
    lambda k, own: [layer.integrals(k, own[:, None], own, None) for layer in (Numerical(erf, 128), Erf())]
)
forward_factors = jax.jit(jax.vmap(lambda network, x: (backpropagate(network, x)[0], network(x)), in_axes=(0, None)))


def angles(kernels):
    """Kernels divided by the roots of their diagonals, above the diagonal: common swings of the norms drop out."""
    sizes = np.sqrt(np.einsum("...ii->...i", kernels))
    return (kernels / sizes[..., :, None] / sizes[..., None, :])[..., *APART]


def kurtosis_by_counting(hidden_widths):
    """3∏ E(2χ²/n)² with as many degrees of freedom k as neurons are active: E(χ²_k)² = k(k + 2), summed over k."""
    counts = [np.arange(width + 1) for width in hidden_widths]
    return 3 * np.prod([4 / k[-1] ** 2 * np.sum(binom.pmf(k, k[-1], 0.5) * k * (k + 2)) for k in counts])


@claim(
    items={
        "A9.20": "norms",
        "L7.17": ("kurtosis", "moments", "Gaussian given the norm"),
        "J8.9": ("kurtosis", "moments", "Gaussian given the norm"),
    },
    says=r"In a ReLU network with $c_\sigma=2$ every layer keeps $\mathbb E\|g^{(h)}(x)\|^2=\|x\|^2$ exactly, at any "
    r"width, and the output, Gaussian of variance $\|g^{(L)}(x)\|^2$ given the last hidden layer, has kurtosis exactly "
    r"$3\prod_h(1+5/n_h)$: squared norms are multiplied by $\frac2{n_h}\chi^2$ with Bin$(n_h,\frac12)$ degrees of "
    r"freedom. It becomes Gaussian like 1/width.",
    needs="no biases; standard normal weights",
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
        "norms": Law(size, norms, exact=True, along=along),
        # Fourth powers of norms that swing by half their size: resolved to a seventh, half of what width 32 adds to 3.
        "kurtosis": Law(
            kurtosis, 3 * (norms[:, 1] / size) ** 2, exact=True, along={"width": np.array(widths)}, resolution=0.15
        ),
        "moments": Identity(
            [3 + relu_excess_kurtosis(shape) for shape in shapes], [kurtosis_by_counting(shape) for shape in shapes]
        ),
        "Gaussian given the norm": Distribution(ndtr(np.asarray(outputs)[:, 0, 0] / np.sqrt(norms[-1, 1]))),
    }


relu_norms.control("an activation that is not homogeneous", of="norms", activation="erf")


@relu_norms.control("Gaussian at every width", of="kurtosis")
def gaussian_outputs(evidence):
    return replace(evidence, predicted=3.0)


@claim(
    items={
        "L7.17": ("covariance", "normal", "closed form", "covariances, layer by layer"),
        "J8.9": ("covariance", "normal", "closed form", "covariances, layer by layer"),
        "A9.22": ("covariance", "normal", "covariances, layer by layer"),
        "L7.18": ("tangent", "tangent kernels, layer by layer"),
        "J8.10": "tangent",
        "J8.11": ("tangent", "tangent kernels, layer by layer"),
        "A9.23": ("tangent", "tangent kernels, layer by layer"),
    },
    consistency=("closed form",),
    says=r"With one hidden layer of finite width the output has covariance "
    r"$\Sigma^{(2)}=\sigma_w^2\mathbb E\,\phi\phi'+\sigma_b^2$ and the mean of the tangent kernel is "
    r"$\Sigma^{(1)}\dot\Sigma^{(2)}+\Sigma^{(2)}$: both limits are exact means, without any prefactor. With two and "
    r"three hidden layers the "
    r"limits are the same steps again.",
    needs="standard normal weights and biases, scaled by the fan-in",
    scale="printed: width to infinity; here: exact means at width 64, the same at any, being means over neurons; the "
    "deeper recursions as formulas",
    full=dict(trials=65_536),
    symbols={
        r"\Sigma^{(h)}": r"the covariance of the pre-activations of layer $h$; $\dot\Sigma^{(h)}=\sigma_w^2\mathbb "
        r"E\,\phi'\phi'$",
        r"\phi": "the activation, ReLU and erf, at Gaussian pre-activations of the layer below",
        r"\sigma_w,\sigma_b": "the scales of weights and biases",
    },
    why=r"Given the layer below, a pre-activation is a sum of independent Gaussian weights, so its covariance is "
    r"$\sigma_w^2$ times the mean of "
    r"$\phi\phi'$ over neurons plus $\sigma_b^2$. The tangent kernel adds the gradients of the last layer, which again "
    r"give this covariance, to those of the "
    r"layers below, which reach the output through a slope $\sigma_w^2\phi'\phi'$. With one hidden layer the neurons "
    r"are independent, and the means exact "
    r"at every width; deeper, they are so in the limit.",
    notice=r"The dots are means over networks with 64 neurons for six pairs of inputs, ReLU and erf. Without its base "
    r"case, started at zero, "
    r"the recursion loses the share of the first layer.",
)
def expected_kernels(key, *, width: Width = 64, trials: Trials = 16_384):
    covariances, tangents, limits = [], [], []
    for draw, (activation, layer) in zip(jax.random.split(key), ACTIVATIONS.values(), strict=True):
        network = init_mlp(draw, (3, width, 1), ensemble=(trials,), activation=activation, **SCALES)
        covariance, tangent, outputs = both_kernels(network, INPUTS)
        covariances.append(np.asarray(covariance)[:, *PAIRS].T)
        tangents.append(np.asarray(tangent)[:, *PAIRS].T)
        limits.append(wide_limit(INPUTS, hidden_layers=1, activation=layer, **SCALES))
    kernels = [
        [wide_limit(INPUTS, hidden_layers=h, activation=layer, **SCALES) for h in (1, 2, 3)]
        for _, layer in ACTIVATIONS.values()
    ]
    deep = [np.array([[getattr(k, kind) for k in each] for each in kernels]) for kind in ("nngp", "ntk")]
    written = np.moveaxis(np.array([recursion_by_hand(name) for name in ACTIVATIONS]), 2, 0)
    first = wide_limit(INPUTS, hidden_layers=0, **SCALES).nngp
    generic, closed = generic_and_closed(first, jnp.diag(first))
    along = {"activation": np.array(list(ACTIVATIONS)), "pair": np.arange(6)}
    return {
        "covariance": Law(np.array([k.nngp[PAIRS] for k in limits]), np.array(covariances), exact=True, along=along),
        "tangent": Law(
            np.array([k.ntk[PAIRS] for k in limits]),
            np.array(tangents),
            exact=True,
            along=along,
            sizes=np.array([width]),
        ),
        "normal": Distribution(ndtr(np.asarray(outputs) / np.sqrt(float(limits[-1].nngp[0, 0])))),
        "closed form": Identity(np.array(generic), np.array(closed), error=1e-8),
        "covariances, layer by layer": Identity(deep[0], written[0], scale=10.0, size=30.0),
        "tangent kernels, layer by layer": Identity(
            deep[1], written[1], scale=10.0, size=30.0, aside={"covariances": written[0]}
        ),
    }


def layer_by_hand(name, covariance):
    """E φφ′ and E φ̇φ̇′ for Gaussian pre-activations: the arc-cosine formulas for ReLU, the arcsine for erf."""
    own = np.diag(covariance)
    if name == "ReLU":
        sizes = np.sqrt(np.outer(own, own))
        angle = np.arccos(np.clip(covariance / sizes, -1, 1))
        np.fill_diagonal(angle, 0.0)
        slope = (np.pi - angle) / (2 * np.pi)
        return sizes * (np.sin(angle) / (2 * np.pi) + slope * np.cos(angle)), slope
    sizes = np.outer(1 + 2 * own, 1 + 2 * own)
    return 2 / np.pi * np.arcsin(2 * covariance / np.sqrt(sizes)), 4 / np.pi / np.sqrt(sizes - 4 * covariance**2)


def recursion_by_hand(name):
    """Σ and Θ of networks with one to three hidden layers: Θ ← Θ Σ̇ + Σ, from Θ = Σ in the first."""
    weight, bias = SCALES["weight_scale"] ** 2, SCALES["bias_scale"] ** 2
    covariance = tangent = SCALES["input_scale"] ** 2 * INPUTS @ INPUTS.T + bias
    found = []
    for _ in range(3):
        values, slopes = layer_by_hand(name, covariance)
        covariance = weight * values + bias
        tangent = covariance + weight * slopes * tangent
        found.append([covariance, tangent])
    return found


def limits_of(change):
    """Rival predictions: one number for each activation and pair, from the limit kernels of one hidden layer."""
    rivals = []
    for _, layer in ACTIVATIONS.values():
        first, second = (wide_limit(INPUTS, hidden_layers=h, activation=layer, **SCALES) for h in (0, 1))
        rivals.append(np.asarray(change(first, second, layer))[PAIRS])
    return np.array(rivals)


@expected_kernels.control("pre-activations in the inductive step", of="covariance")
def without_activation(evidence):
    return replace(
        evidence,
        predicted=limits_of(
            lambda first, second, layer: SCALES["weight_scale"] ** 2 * first.nngp + SCALES["bias_scale"] ** 2
        ),
    )


@expected_kernels.control("the covariance of layer 1 at every layer", of="covariance")
def first_layer(evidence):
    return replace(evidence, predicted=limits_of(lambda first, second, layer: first.nngp))


@expected_kernels.control("the recursion without its base case, started at zero", of="tangent")
def no_base_case(evidence):
    return replace(evidence, predicted=limits_of(lambda first, second, layer: second.nngp))


@expected_kernels.control("a last slope factor from the recursion instead of 1", of="tangent")
def one_slope_more(evidence):
    def change(first, second, layer):
        own = jnp.diag(second.nngp)
        slope = layer.integrals(second.nngp, own[:, None], own, jnp.eye(3, dtype=bool))[1]
        return second.ntk * SCALES["weight_scale"] ** 2 * slope

    return replace(evidence, predicted=limits_of(change))


@expected_kernels.control("one layer fewer", of="covariances, layer by layer")
def one_layer_fewer(evidence):
    return replace(evidence, right=np.roll(evidence.right, 1, axis=1))


@expected_kernels.control("Θ + Σ without the slopes Σ̇", of="tangent kernels, layer by layer")
def without_slopes(evidence):
    shift = SCALES["input_scale"] ** 2 * INPUTS @ INPUTS.T + SCALES["bias_scale"] ** 2
    return replace(evidence, right=shift + np.cumsum(evidence.aside["covariances"], axis=1))


@expected_kernels.picture
def means_and_limits(pieces):
    """Means over networks of one hidden layer against the kernels of the limit; on the diagonal they agree."""
    marks, ends = [], [0.0, 1.05 * float(np.max(pieces["tangent"].predicted))]
    for piece, name in (("covariance", "covariance of the output"), ("tangent", "tangent kernel")):
        evidence = pieces[piece]
        marks.append(seen(name, np.ravel(evidence.predicted), np.reshape(evidence.observed, (12, -1))))
    rival = limits_of(lambda first, second, layer: second.nngp)
    lost = np.mean(pieces["tangent"].observed, axis=-1)
    marks.append(Dots("tangent kernel", np.ravel(rival), np.ravel(lost), rival="recursion started at zero"))
    return Curves([Line("equal", ends, ends), *marks], x="limit", y="mean over networks")


@expected_kernels.control("the prefactor 1/√p", of="tangent")
def with_prefactor(evidence):
    return replace(evidence, observed=evidence.observed / parameter_count((3, int(evidence.sizes[0]), 1)) ** 0.5)


@claim(
    items={
        "A9.22": ("covariance angles", "covariance distance"),
        "L7.17": "covariance angles",
        "J8.9": "covariance angles",
        "A9.23": ("diagonal", "tangent angles", "tangent distance"),
        "L7.18": ("diagonal", "tangent angles", "tangent distance"),
        "J8.11": ("tangent angles", "tangent distance"),
        "L7.19": ("tangent angles", "tangent distance"),
    },
    says=r"In a ReLU network with two hidden layers $\Theta(x,x)$ has mean exactly $3\|x\|^2$ at any width; covariance "
    r"and tangent kernel of one network differ from the recursions $\Sigma^{(h)}$ and $\Theta^{(h)}$ by order "
    r"$\mathrm{width}^{-1/2}$, and only by order 1/width on average.",
    needs="no biases; standard normal weights; hidden layers of equal width",
    full=dict(widths=(64, 128, 256)),
    symbols={
        r"\Theta": "the tangent kernel of the network",
        r"\Sigma^{(h)},\Theta^{(h)}": "covariance and tangent kernel after $h$ layers, in the limit of infinite width",
        "x": "an input",
    },
    why=r"Layer by layer an inner product of hidden vectors is a mean over neurons, and for wide layers close to its "
    r"expectation given the layer "
    r"below, with swings of order $\mathrm{width}^{-1/2}$. Swings have mean zero, so on average only their squares "
    r"remain, of order 1/width. On the diagonal a ReLU whose squares are doubled keeps the squared norm exactly in the "
    r"mean, and each of three layers adds $\|x\|^2$.",
    notice=r"Distances of single networks from the limit, of either kernel, fall on lines of slope $-\frac12$.",
    explore={"trials": (128, 512, 2048), "widths": ((16, 32, 64), (32, 64, 128))},
)
def kernels_of_deep_networks(key, *, widths: Sizes = (32, 64, 128), trials: Trials = 2048):
    kernel = wide_limit(INPUTS, hidden_layers=2, **HE)
    limit = np.asarray(kernel.nngp), np.asarray(kernel.ntk)
    observed = []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = init_mlp(draw, (3, width, width, 1), ensemble=(trials,), **HE)
        observed.append([np.asarray(kernel) for kernel in both_kernels(network, INPUTS)])
    pieces = {}
    for which, name in enumerate(("covariance", "tangent")):
        found = np.array([kernels[which] for kernels in observed])
        distance = np.linalg.norm(found - limit[which], axis=(2, 3)) / np.linalg.norm(limit[which])
        pieces[f"{name} distance"] = Rate(np.array(widths), distance, exponent=-0.5, rivals=(-1.0, 0.0))
        # Cosines are compared on the scale 1.
        pieces[f"{name} angles"] = Law(
            angles(limit[which]), angles(found).transpose(0, 2, 1), sizes=np.array(widths), order=1, scale=1.0
        )
    diagonal = np.einsum("wtii->wit", found) / np.sum(INPUTS**2, axis=1)[:, None]
    # At width 32 a kernel swings by half its size, so 2,048 networks resolve its mean to 6 %.
    along = {"width": np.array(widths), "input": np.arange(3)}
    return pieces | {"diagonal": Law(3.0, diagonal, exact=True, along=along, resolution=0.1)}


@kernels_of_deep_networks.control("the covariance of one layer less", of="covariance angles")
def one_layer_less(evidence):
    return replace(evidence, predicted=angles(np.asarray(wide_limit(INPUTS, hidden_layers=1, **HE).nngp)))


@kernels_of_deep_networks.control("the output covariance in place of the tangent kernel", of="tangent angles")
def covariance_for_tangent(evidence):
    return replace(evidence, predicted=angles(np.asarray(wide_limit(INPUTS, hidden_layers=2, **HE).nngp)))


@kernels_of_deep_networks.control("without the layer that the missing base case drops", of="diagonal")
def two_layers(evidence):
    return replace(evidence, predicted=2.0)


@kernels_of_deep_networks.picture
def towards_the_limit(pieces):
    """Relative distance of the kernels of single networks from their limits, with lines of slope −½."""
    return falling({"covariance distance": "covariance", "tangent distance": "tangent kernel"}, pieces)


def falling(names, pieces, y="relative distance"):
    """Means over networks against the width, each with a line of its predicted slope through the first."""
    marks = []
    for piece, name in names.items():
        rate, first = pieces[piece], np.mean(pieces[piece].y[0])
        line = first * (np.asarray(rate.x) / rate.x[0]) ** rate.exponent
        marks += [seen(name, rate.x, rate.y), Line(name, rate.x, line)]
    return Curves(marks, x="width", y=y, log="xy")


two_routes = jax.jit(
    lambda network, weights: (
        layerwise_ntk(network, INPUTS, backward_weights=weights),
        jax.jacobian(lambda network: network(INPUTS))(network),
    )
)


@claim(
    items={"A9.21": ("gram", "layers"), "J8.10": "gram", "J8.8": "count"},
    says=r"Weight gradients are outer products $b^{(h)}g^{(h-1)\top}$ of a backward and a forward vector, so the "
    r"tangent kernel is $\sum_h(\langle g,g'\rangle+\sigma_b^2)\langle b,b'\rangle$, layer by layer equal to the Gram "
    r"matrix of the Jacobian.",
    needs="fully connected layers; derivatives of the activation where it has any",
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
        "layers": Identity(layers, by_layer, scale=scale, size=width**2),
        "gram": Identity(
            np.sum(layers, axis=0),
            np.sum(by_layer, axis=0),
            scale=scale,
            size=width**2,
            aside={"biases": np.sum(grams[3:], axis=0)},
        ),
        "count": Exact(
            np.array([parameter_count(sizes), parameter_count((5, 1024, 1024, 1))]),
            np.array([sum(leaf.shape[2] for leaf in flat), 1_056_769]),
        ),
    }


backpropagation_factorises.control("an independent copy of the weights on the way back", of="layers", fresh=True)


@backpropagation_factorises.control("without the share of the biases", of="gram")
def without_biases(evidence):
    return replace(evidence, right=evidence.right - evidence.aside["biases"])


@backpropagation_factorises.control("parameters of a layer k = L too", of="count")
def one_layer_more(evidence):
    return replace(evidence, left=evidence.left + np.array([2 * 3, 1 * 2]))


tangent_with = jax.jit(
    jax.vmap(
        lambda network, weights: layerwise_ntk(network, INPUTS, backward_weights=weights).sum(0)[:, :, 0, 0],
        in_axes=(0, 0),
    )
)


@claim(
    items={"A9.24": ("difference", "limit")},
    says=r"Replacing the weights by an independent copy on the way back changes the tangent kernel by order "
    r"$\mathrm{width}^{-1/2}$ only, so the limit may be computed as if forward and backward pass were independent.",
    needs="output weights of mean zero, independent of the rest",
    full=dict(widths=(64, 128, 256, 512)),
    symbols={"\\mathrm{width}": "the number of neurons in each of two hidden layers"},
    why=r"Forward and backward pass share the weight matrices, so they are not independent. What is shared enters the "
    r"backward vectors only through "
    r"projections on the few forward vectors, a handful of directions out of as many as there are neurons; output "
    r"weights of mean zero see nothing of "
    r"them on average. With output weights all equal the backward vector has a mean, which meets the forward vectors "
    r"again.",
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
        "difference": Rate(np.array(widths), np.array(differences), exponent=-0.5, rivals=(-1.0, 0.0)),
        "limit": Rate(np.array(widths), np.array(distances), exponent=-0.5),
    }


fresh_weights_on_the_way_back.control("output weights all equal to one", of="difference", readout="ones")


@fresh_weights_on_the_way_back.picture
def fresh_or_not(pieces):
    """What an independent copy of the weights on the way back changes, and how far that kernel is from the limit."""
    return falling({"difference": "change by fresh weights", "limit": "distance from the limit"}, pieces)


watched = jax.jit(
    jax.vmap(
        lambda network, x, y, other, step: train_with_kernel(network, x, y, other, step_size=step, steps=STEPS),
        in_axes=(0, None, None, None, None),
    )
)
predicted = jax.jit(
    jax.vmap(
        lambda outputs, others, kernel, y, step: kernel_training(
            kernel[: len(y), : len(y)], kernel[len(y) :, : len(y)], outputs, others, y, step_size=step, steps=STEPS
        ),
        in_axes=(0, 0, None, None, None),
    )
)


def training_limits():
    """Limit kernels of the trained network on all points, and the step that is stable for them."""
    limits = wide_limit(POINTS, hidden_layers=1, activation=Erf(), **TRAINED)
    return limits, 1 / float(np.linalg.eigvalsh(limits.ntk[:6, :6])[-1])


def integrated(residuals, step):
    """The integrals of ‖y − f‖ and of ‖y − f‖² over training time, for each run."""
    sizes = np.linalg.norm(residuals, axis=2)
    return step * np.array([sizes.sum(axis=1), (sizes**2).sum(axis=1)])


def frozen_integrals(kernel, y):
    """Their means when a frozen kernel trains and the outputs start as the Gaussian of the limit."""
    limits, step = training_limits()
    starts = np.random.default_rng(0).multivariate_normal(np.zeros(8), limits.nngp, size=1024)
    return integrated(predicted(starts[:, :6], starts[:, 6:], kernel, y, step)[0] - y, step).mean(axis=1)


def trained_by_hand(network, y, step):
    """Outputs on six points before each step and after the last, and the kernel's drift after each quarter of them."""
    weights, biases = (list(map(np.array, part)) for part in (network.weights, network.biases))
    x, sigma, bias, paths, kernels = POINTS[:6], TRAINED["weight_scale"], TRAINED["bias_scale"], [], []
    for _ in range(STEPS + 1):
        u = x @ weights[0].T + bias * biases[0]
        hidden = sigma / u.shape[1] ** 0.5 * error_function(u)
        slopes = sigma / u.shape[1] ** 0.5 * weights[1] * 2 / np.pi**0.5 * np.exp(-(u**2))
        paths.append((hidden @ weights[1].T)[:, 0] + bias * biases[1])
        kernels.append(hidden @ hidden.T + bias**2 + (x @ x.T + bias**2) * (slopes @ slopes.T))
        pull = step * (y - paths[-1])
        moves = slopes.T * pull @ x, pull @ hidden, bias * pull @ slopes, bias * pull.sum()
        for value, move in zip((*weights, *biases), moves, strict=True):
            value += move
    moved = np.linalg.norm(np.array(kernels[STEPS // 4 :: STEPS // 4]) - kernels[0], axis=(1, 2))
    return np.array(paths), moved / np.linalg.norm(kernels[0])


@claim(
    items={
        "L7.19": ("drift", "outputs", "run by hand"),
        "J8.12": ("drift", "outputs", "integral", "squared integral", "run by hand"),
    },
    says=r"While a wide erf network trains, its tangent kernel moves by order 1/width, and its outputs follow descent "
    r"with the frozen limit kernel, $\dot f=-\Theta(f-y)$, up to order $\mathrm{width}^{-1/2}$; the integrals of "
    r"$\|y-f\|$ and $\|y-f\|^2$ tend to those of that descent.",
    needs="targets of fixed size, so that the integrated residual stays bounded; a fixed number of steps",
    scale="printed: widths to infinity; here: one hidden layer of 64 to 512, six points, 40 steps",
    full=dict(widths=(128, 256, 512, 1024, 2048)),
    symbols={
        "f,y": "the outputs of the network and their targets",
        r"\Theta": "the tangent kernel in the limit of infinite width",
        r"\mathrm{width}": "the number of neurons in the hidden layer",
    },
    why=r"The kernel is a mean over neurons, each of which moves by order $\mathrm{width}^{-1/2}$ with a sign of its "
    r"own; over all of them the "
    r"changes cancel to order 1/width. As long as the residual stays integrable in time nothing accumulates. The "
    r"outputs then see a frozen kernel, "
    r"and their distance from the limit is that of the kernel at the start, $\mathrm{width}^{-1/2}$.",
    notice=r"The kernel moves by 1/width of its size, twice as steep as the outputs approach the path of the limit "
    r"kernel.",
    explore={"widths": ((16, 32, 64, 128), (32, 64, 128, 256), (64, 128, 256, 512))},
)
def kernel_stays_put_in_training(
    key,
    *,
    widths: Sizes = (64, 128, 256, 512),
    trials: Trials = 160,
    targets: Literal["fixed", "growing"] = "fixed",
):
    limits, step = training_limits()
    drifts, gaps, integrals, runs = [], [], [], []
    for draw, width in zip(jax.random.split(key, len(widths)), widths, strict=True):
        network = init_mlp(draw, (3, width, 1), ensemble=(trials,), activation=erf, **TRAINED)
        y = TARGETS * (width**0.5 if targets == "growing" else 1.0)
        outputs, others, drift = (np.asarray(part) for part in watched(network, POINTS[:6], y, POINTS[6:], step))
        expected = predicted(outputs[:, 0], others[:, 0], limits.ntk, y, step)
        gap = np.abs(np.concatenate([outputs, others], axis=2) - np.concatenate(expected, axis=2))
        path, moved = trained_by_hand(jax.tree.map(lambda leaf: leaf[0], network), y, step)
        runs.append((np.append(outputs[0], 10 * drift[0]), np.append(path, 10 * moved)))
        drifts.append(drift.max(axis=1))
        gaps.append(gap.max(axis=(1, 2)))
        # Most of the spread comes from the outputs at the start. What the frozen kernel makes of the same start is
        # taken off, and its mean over Gaussian starts put back: the mean stays, up to order 1/width, the spread goes.
        spread = integrated(expected[0] - y, step) - frozen_integrals(limits.ntk, y)[:, None]
        integrals.append(integrated(outputs - y, step) - spread)
    sizes, integrals = np.array(widths), np.array(integrals)
    bounded, squared = frozen_integrals(limits.ntk, TARGETS)
    return {
        "drift": Rate(sizes, np.array(drifts), exponent=-1.0, rivals=(-0.5, 0.0)),
        "outputs": Rate(sizes, np.array(gaps), exponent=-0.5, rivals=(0.0,)),
        "integral": Law(bounded, integrals[:, 0], sizes=sizes, order=1),
        "squared integral": Law(squared, integrals[:, 1], sizes=sizes, order=1),
        "run by hand": Identity(*np.moveaxis(np.asarray(runs), 1, 0), error=1e-10),
    }


kernel_stays_put_in_training.control("targets that grow like √width", targets="growing", of="drift")


@kernel_stays_put_in_training.control("the output covariance as the kernel of training", of="integral")
def covariance_trains(evidence):
    return replace(evidence, predicted=frozen_integrals(training_limits()[0].nngp, TARGETS)[0])


@kernel_stays_put_in_training.picture
def frozen_kernel(pieces):
    """The drift of the kernel in training and the distance of the outputs from the frozen limit, against the width."""
    names = {"drift": "drift of the kernel", "outputs": "outputs from the frozen limit"}
    return falling(names, pieces, y="relative drift, distance of outputs")
