"""Finite networks approach their limit kernels at initialisation, in the mean and layer by layer."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.scipy.special import erf
from scipy.special import ndtr

from deeptheory.kernels.layers.activations import Erf, Numerical, Relu
from deeptheory.kernels.limits.dense_networks import conditional_covariance, fully_connected, layerwise_ntk
from deeptheory.kernels.limits.recursion import limit_kernel
from deeptheory.lab import Distribution, Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, power_law, seen
from deeptheory.networks.mlp import init_mlp, parameter_count

Width = Annotated[int, Interval(ge=2, le=8192)]
INPUTS = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 1.2]])
PAIRS = np.triu_indices(3)
APART = np.triu_indices(3, 1)
ACTIVATIONS = {"ReLU": (jax.nn.relu, Relu()), "erf": (erf, Erf())}
SCALES: dict[str, Any] = dict(weight_scale=1.3, bias_scale=0.4, input_scale=0.9)
"""With biases, in the parametrisation of lucchi 7.3 and jagannath 8.4."""
HE: dict[str, Any] = dict(weight_scale=2**0.5)
"""The ReLU network of arora 9.4: c_σ = 2, no biases."""


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


def angles(kernels):
    """Kernels divided by the roots of their diagonals, above the diagonal: common swings of the norms drop out."""
    sizes = np.sqrt(np.einsum("...ii->...i", kernels))
    return (kernels / sizes[..., :, None] / sizes[..., None, :])[..., *APART]


@claim(
    items={
        "L7.17": ("covariance of the output", "law of the output", "closed forms", "covariances, layer by layer"),
        "J8.9": ("covariance of the output", "law of the output", "closed forms", "covariances, layer by layer"),
        "A9.22": ("covariance of the output", "law of the output", "covariances, layer by layer"),
        "L7.18": ("mean of the tangent kernel", "tangent kernels, layer by layer"),
        "J8.10": "mean of the tangent kernel",
        "J8.11": ("mean of the tangent kernel", "tangent kernels, layer by layer"),
        "A9.23": ("mean of the tangent kernel", "tangent kernels, layer by layer"),
    },
    consistency=("closed forms",),
    says=r"With one hidden layer of finite width the output has covariance $\Sigma^{(2)}=\sigma_w^2\mathbb "
    r"E\,\phi\phi'+\sigma_b^2$ and the mean of the tangent kernel is $\Sigma^{(1)}\dot\Sigma^{(2)}+\Sigma^{(2)}$: "
    r"both limits are exact means, with no prefactor. With two and three hidden layers the limits are the same steps "
    r"again.",
    needs="standard normal weights and biases, scaled by the fan-in",
    scale="printed: width to infinity; here: exact means at width 64, the same at any, being means over neurons; the "
    "deeper recursions as formulas",
    full=dict(trials=65_536),
    symbols={
        r"\Sigma^{(h)}": r"the covariance of the pre-activations of layer $h$; $\dot\Sigma^{(h)}=\sigma_w^2\mathbb "
        r"E\,\dot\phi\dot\phi'$ with slopes $\dot\phi$",
        r"\phi": "the activation, ReLU and erf, at Gaussian values of the layer below; $\\phi'$ that at a second input",
        r"\sigma_w,\sigma_b": "the scales of weights and biases",
    },
    why="Given the layer below, a pre-activation is a sum of independent Gaussian weights, so its covariance is "
    r"$\sigma_w^2$ times the mean of $\phi\phi'$ over neurons plus $\sigma_b^2$. The tangent kernel adds the gradients "
    "of the last layer, which again give this covariance, to those of the layers below, which reach the output through "
    r"slopes $\sigma_w^2\dot\phi\dot\phi'$. With one hidden layer the neurons are independent, and the means exact at "
    "every width; deeper, they are so in the limit.",
    notice="The dots are means over networks with 64 neurons for six pairs of inputs, ReLU and erf. Without its base "
    "case, started at zero, the recursion loses the share of the first layer.",
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
        "covariance of the output": Law(
            np.array([k.nngp[PAIRS] for k in limits]), np.array(covariances), exact=True, along=along
        ),
        "mean of the tangent kernel": Law(
            np.array([k.ntk[PAIRS] for k in limits]),
            np.array(tangents),
            exact=True,
            along=along,
            sizes=np.array([width]),
        ),
        "law of the output": Distribution(ndtr(np.asarray(outputs) / np.sqrt(float(limits[-1].nngp[0, 0])))),
        "closed forms": Identity(np.array(generic), np.array(closed), error=1e-8),
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


@expected_kernels.control("pre-activations in the inductive step", of="covariance of the output")
def without_activation(evidence):
    return replace(
        evidence,
        predicted=limits_of(
            lambda first, second, layer: SCALES["weight_scale"] ** 2 * first.nngp + SCALES["bias_scale"] ** 2
        ),
    )


@expected_kernels.control("the covariance of layer 1 at every layer", of="covariance of the output")
def first_layer(evidence):
    return replace(evidence, predicted=limits_of(lambda first, second, layer: first.nngp))


@expected_kernels.control("the recursion without its base case, started at zero", of="mean of the tangent kernel")
def no_base_case(evidence):
    return replace(evidence, predicted=limits_of(lambda first, second, layer: second.nngp))


@expected_kernels.control("a last slope factor from the recursion instead of 1", of="mean of the tangent kernel")
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
    marks, ends = [], [0.0, 1.05 * float(np.max(pieces["mean of the tangent kernel"].predicted))]
    for piece, name in (
        ("covariance of the output", "covariance of the output"),
        ("mean of the tangent kernel", "tangent kernel"),
    ):
        evidence = pieces[piece]
        marks.append(seen(name, np.ravel(evidence.predicted), np.reshape(evidence.observed, (12, -1))))
    rival = limits_of(lambda first, second, layer: second.nngp)
    lost = np.mean(pieces["mean of the tangent kernel"].observed, axis=-1)
    marks.append(Dots("tangent kernel", np.ravel(rival), np.ravel(lost), rival="recursion started at zero"))
    return Curves(
        [Line("equal", ends, ends), *marks],
        x="kernel in the limit of infinite width",
        y="mean over networks",
    )


@expected_kernels.control("the prefactor 1/√p", of="mean of the tangent kernel")
def with_prefactor(evidence):
    return replace(evidence, observed=evidence.observed / parameter_count((3, int(evidence.sizes[0]), 1)) ** 0.5)


@claim(
    items={
        "A9.22": ("covariance angles", "covariance distance"),
        "L7.17": "covariance angles",
        "J8.9": "covariance angles",
        "A9.23": ("tangent kernel of an input with itself", "tangent angles", "tangent distance"),
        "L7.18": ("tangent kernel of an input with itself", "tangent angles", "tangent distance"),
        "J8.11": ("tangent angles", "tangent distance"),
        "L7.19": ("tangent angles", "tangent distance"),
    },
    says=r"In a ReLU network with two hidden layers $\Theta(x,x)$ has mean exactly $3\|x\|^2$ at any width; covariance "
    r"and tangent kernel of one network differ from the recursions $\Sigma^{(h)}$ and $\Theta^{(h)}$ by order "
    r"$\mathrm{width}^{-1/2}$, and only by order 1/width on average.",
    needs="no biases; standard normal weights over the root of the fan-in, and squares of the ReLU counted twice "
    r"($c_\sigma=2$); hidden layers of equal width",
    full=dict(widths=(64, 128, 256)),
    symbols={
        r"\Theta": r"the tangent kernel of the network, products $\langle\nabla f(x),\nabla f(x')\rangle$ of "
        "gradients in the weights",
        r"\Sigma^{(h)},\Theta^{(h)}": "covariance of the outputs and tangent kernel after $h$ layers, in the limit of "
        "infinite width",
        "x": "an input",
        r"\mathrm{width}": "the number of neurons in each hidden layer",
    },
    why="Layer by layer an inner product of hidden vectors is a mean over neurons, and for wide layers close to its "
    r"expectation given the layer below, with swings of order $\mathrm{width}^{-1/2}$. Swings have mean zero, so on "
    "average only their squares remain, of order 1/width. On the diagonal a ReLU whose squares are doubled keeps the "
    r"squared norm exactly in the mean, and each of three layers adds $\|x\|^2$.",
    notice=r"Distances of single networks from the limit, of either kernel, fall on lines of slope $-\frac12$. Like "
    "1/width fall only means over networks, in which the swings cancel. A few hundred networks do not settle these "
    "means to a tenth: the verdict is then inconclusive.",
    explore={"trials": (128, 512, 2048)},
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
    return pieces | {
        "tangent kernel of an input with itself": Law(3.0, diagonal, exact=True, along=along, resolution=0.1)
    }


@kernels_of_deep_networks.control("the covariance of one layer less", of="covariance angles")
def one_layer_less(evidence):
    return replace(evidence, predicted=angles(np.asarray(wide_limit(INPUTS, hidden_layers=1, **HE).nngp)))


@kernels_of_deep_networks.control("the output covariance in place of the tangent kernel", of="tangent angles")
def covariance_for_tangent(evidence):
    return replace(evidence, predicted=angles(np.asarray(wide_limit(INPUTS, hidden_layers=2, **HE).nngp)))


@kernels_of_deep_networks.control(
    "without the layer that the missing base case drops", of="tangent kernel of an input with itself"
)
def two_layers(evidence):
    return replace(evidence, predicted=2.0)


@kernels_of_deep_networks.picture
def towards_the_limit(pieces):
    """Relative distance of the kernels of single networks from their limits, with lines of slope −½."""
    marks = power_law("covariance", pieces["covariance distance"], rivals={-1.0: "1/width, the order of the mean"})
    marks += power_law("tangent kernel", pieces["tangent distance"])
    return Curves(marks, x="width", y="relative distance", log="xy")
