"""Degrees of networks in their parameters: k without normalization, one or zero with it (arora 13.1, 13.2)."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.normalization.homogeneity import (
    degree_of_homogeneity,
    euler_degree,
    invariant_leaves,
    scaled,
)
from deeptheory.normalization.normalizers import (
    batch_norm,
    group_norm,
    init_normalized_network,
    layer_norm,
    normalization_jacobian,
)

WIDTH = 8


@jax.jit
def plain_degrees(weights, direction, x, bias, factor):
    """Degrees of output, gradient and Hessian, and Euler's, of ReLU networks of depths 1, 2, … in one batch.

    The layers beyond the depth of a network let everything pass, so that all have one shape.
    """

    def of_depth(depth):
        def network(w):
            def layer(hidden, given):
                matrix, place = given
                return jnp.where(place < depth, jax.nn.relu(hidden @ matrix.T + bias), hidden), None

            return jax.lax.scan(layer, x, (w, jnp.arange(len(w))))[0]

        slope = jax.grad(lambda w: jnp.sum(network(w)))

        def bend(w):
            return jax.jvp(slope, (w,), (direction,))[1]

        found = [degree_of_homogeneity(f, weights, factor=factor) for f in (network, slope, bend)]
        return jnp.stack([*found, euler_degree(network, weights)])

    return jax.vmap(of_depth)(1 + jnp.arange(len(weights)))


@claim(
    items={
        "A13.3": (
            "degree of the output",
            "degree of the gradient",
            "Euler's identity",
            "degrees of sums, products and compositions",
        ),
        "A13.4": ("degree of the output", "degree of the gradient", "degree of the Hessian", "Euler's identity"),
    },
    says=r"A ReLU network of depth $k$ without biases is $k$-homogeneous in its parameters: $f(cw)=c^kf(w)$ and "
    r"$\langle w,\nabla f\rangle=kf$. Its gradient has degree $k-1$ and its Hessian $k-2$.",
    needs="ReLU, no biases, all parameters scaled together",
    symbols={
        "k": "the number of layers of weights",
        "f": "the network at a fixed input",
        "w": "all its parameters",
        "c": "any positive number",
    },
    why="Each layer is linear in its weights, and ReLU lets a positive factor pass; so each of the $k$ layers "
    "contributes one factor $c$. A derivative with respect to the parameters takes one power away. Sums and ReLUs keep "
    "a degree, products add degrees and quotients subtract them.",
    notice="The gradient grows like a power of the weights, and the power grows with depth: at depth eight, weights a "
    "tenth larger give gradients twice as large. Numbers like these make deep networks finicky.",
    explore={"bias": (0.0, 0.1, 1.0)},
)
def relu_networks_are_homogeneous(key, *, bias: Annotated[float, Interval(ge=0.0, le=1.0)] = 0.0):
    random, depths, factor = generator(key), np.arange(1, 9), 1.7
    x = random.standard_normal((5, WIDTH))
    weights, direction = random.standard_normal((2, 8, WIDTH, WIDTH)) / np.sqrt(WIDTH / 2)
    output, gradient, curvature, euler = np.asarray(plain_degrees(weights, direction, x, bias, factor)).T
    w = jnp.asarray(random.standard_normal(6))
    cubic, quadratic = (lambda w: w[0] * w[1] * w[2] + w[3] ** 3), (lambda w: w[4] ** 2 + w[5] * w[0])
    algebra = [
        degree_of_homogeneity(f, w, factor=factor)
        for f in (
            lambda w: cubic(w) + w[5] ** 3,
            lambda w: jax.nn.relu(jnp.abs(cubic(w))),
            lambda w: cubic(w) * quadratic(w),
            lambda w: cubic(w) / quadratic(w),
            lambda w: quadratic(w) / (w @ w),
        )
    ]
    return {
        "degree of the output": Identity(output, depths, scale=1.0, condition=100.0, along={"depth": depths}),
        "degree of the gradient": Identity(gradient, depths - 1, scale=1.0, condition=100.0, along={"depth": depths}),
        "degree of the Hessian": Identity(
            curvature[1:], depths[1:] - 2, scale=1.0, condition=100.0, along={"depth": depths[1:]}
        ),
        "Euler's identity": Identity(euler, depths, scale=1.0, condition=100.0, along={"depth": depths}),
        "degrees of sums, products and compositions": Identity(
            np.array(algebra), np.array([3.0, 3.0, 5.0, 1.0, 0.0]), scale=1.0, condition=1e3
        ),
    }


relu_networks_are_homogeneous.control("with biases", of="degree of the output", bias=0.1)


@relu_networks_are_homogeneous.control("hidden layers counted only", of="Euler's identity")
def hidden_layers_only(evidence):
    return replace(evidence, right=evidence.right - 1)


@relu_networks_are_homogeneous.control("the gradient keeps the degree", of="degree of the gradient")
def degree_kept(evidence):
    return replace(evidence, right=evidence.right + 1)


@relu_networks_are_homogeneous.picture
def degrees_by_depth(pieces):
    """Measured degrees of a network, its gradient and its Hessian, by depth (left); growth with the weights (right)."""
    marks = []
    for name in ("output", "gradient", "Hessian"):
        piece = pieces[f"degree of the {name}"]
        marks += [Line(name, piece.along["depth"], piece.right), Dots(name, piece.along["depth"], piece.left)]
    c = np.geomspace(0.5, 2, 40)
    growth = [Line(f"depth {k}", c, c ** float(pieces["degree of the gradient"].left[k - 1])) for k in (2, 4, 8)]
    return Row(
        [
            Curves(marks, x="depth k", y="degree of homogeneity"),
            Curves(growth, x="factor on all weights", y="factor on the gradient", log="xy"),
        ]
    )


def without_top(name):
    """All parameters below the last normalization: not its gain, its shift, nor what follows."""
    return name not in (".gains[1]", ".shifts[1]", ".top")


KINDS = (layer_norm, partial(group_norm, groups=2), batch_norm)


@jax.jit
def loss(network, x, target):
    return jnp.mean((network(x) - target) ** 2)


@jax.jit
def feature_degrees(network, x, factor):
    """The degrees of both hidden layers and of the output in all parameters."""
    hidden = [degree_of_homogeneity(lambda n, i=i: n.features(x)[i], network, factor=factor) for i in (0, 1)]
    return jnp.stack([*hidden, degree_of_homogeneity(lambda n: n(x), network, factor=factor)])


@jax.jit
def one_layer(scales, weights, top, x, epsilon):
    """Outputs, and the size of the gradient of their sum, of a layer under normalization, by the scale of weights."""

    def outputs(w):
        return jax.nn.relu(layer_norm(x @ w.T, epsilon=epsilon)) @ top.T

    slopes = jax.vmap(lambda c: jnp.linalg.norm(jax.grad(lambda w: jnp.sum(outputs(w)))(c * weights)))(scales)
    return jax.vmap(lambda c: outputs(c * weights))(scales), slopes


@claim(
    items={
        "A13.5": ("means and variances after normalization", "derivative of the normalization"),
        "A13.6": ("invariant parts", "loss of scaled weights"),
        "A13.7": ("degree of the features", "loss of scaled weights"),
        "A13.27": ("what ε leaves of the output", "change of the output with ε", "stunted gradient"),
    },
    says=r"With layer, group or batch normalization features $\mathrm{ReLU}(\gamma N(Wx)+\beta)$ have degree one in "
    r"all parameters; with what follows the last normalization fixed the loss is scale invariant, up to a share of "
    r"order $\varepsilon/s^2$ where $\varepsilon$ is added to the variance $s^2$.",
    needs="ReLU; no constant rows; ε = 0 for exact invariance",
    symbols={
        "N": "the normalizer: minus the mean, over the deviation",
        "W, x": "the weights of a layer, and its input",
        r"\gamma,\beta": "gain and shift after the normalization",
        "s": "the deviation that the normalizer divides by",
        r"\varepsilon": "a small number that libraries add to $s^2$",
    },
    why="Mean and deviation of a vector have the degree that the vector has, so their quotient has degree zero: what "
    "comes in at any size leaves at size one. Gain and shift are parameters too and give degree one, which ReLU keeps. "
    r"The next normalization forgets it again. With $\varepsilon$ in the root the quotient is "
    r"$(1+\varepsilon/s^2)^{-1/2}$ times what it was, and $s$ shrinks with the weights.",
    notice=r"The defect falls as the square of the factor on the weights. On the right: without $\varepsilon$ the "
    r"gradient grows like one over the weights for ever; with it, it stops growing where $s^2$ meets $\varepsilon$.",
    explore={"epsilon": (1e-7, 1e-5, 1e-3)},
)
def normalized_networks_are_scale_invariant(key, *, epsilon: Annotated[float, Interval(ge=1e-8, le=1e-2)] = 1e-5):
    random, factor = generator(key), 3.0
    x = jnp.asarray(random.standard_normal((6, 4)))
    target = jnp.asarray(random.standard_normal((6, 2)))
    features, losses, parts = [], [], []
    for index, normalize in enumerate(KINDS):
        network = init_normalized_network(jax.random.fold_in(key, index), (4, WIDTH, WIDTH, 2), normalize=normalize)
        features.append(feature_degrees(network, x, factor))
        versions = (network, scaled(network, factor, of=without_top), scaled(network, factor))
        losses.append([float(loss(each, x, target)) for each in versions])
        parts.append(invariant_leaves(lambda n: loss(n, x, target), network, tolerance=1e-9))
    a = random.standard_normal((5, WIDTH)) * 3 + 1
    unit = np.asarray(layer_norm(a))
    grouped = np.asarray(group_norm(a, groups=2)).reshape(5, 2, -1)
    statistics = np.stack(
        [np.abs(unit.mean(1)), unit.std(1), grouped.std(2)[:, 1], np.asarray(batch_norm(a)).std(0)[:5]]
    )
    derivative = np.asarray(jax.vmap(jax.jacobian(layer_norm))(jnp.asarray(a)))
    no_scale = np.array([(np.eye(WIDTH) - 1 / WIDTH) / row.std() for row in a])

    # ε: one layer of weights under a normalization, at larger and at smaller and smaller weights.
    scales, tiny = np.geomspace(1, 30, 5), np.geomspace(1e-5, 1e-6, 4) * np.sqrt(epsilon / 1e-5)
    line = np.geomspace(1e-5, 1e2, 29)
    every = np.concatenate([scales, tiny, line])
    (exact, sharp), (soft, blunt) = (one_layer(every, network.weights[0], network.top, x, e) for e in (0.0, epsilon))
    defects = np.linalg.norm(soft - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    # Both sides of the ReLU shrink by one factor, each input by its own: N is (Wx − mean)/√(s² + ε).
    ratio = every[:9, None, None] * np.std(x @ network.weights[0].T, axis=1)[:, None] / np.sqrt(epsilon)
    whole = np.asarray(exact)[:9]
    return {
        "means and variances after normalization": Identity(statistics, np.array([0.0, 1, 1, 1])[:, None], scale=1.0),
        "derivative of the normalization": Identity(
            derivative, [np.asarray(normalization_jacobian(row)) for row in a], scale=1.0, aside={"no scale": no_scale}
        ),
        "degree of the features": Identity(np.array(features), np.array([1.0, 1.0, 2.0]), scale=1.0, condition=100.0),
        "invariant parts": Exact([" ".join(each) for each in parts], [".weights[0] .weights[1]"] * 3),
        "loss of scaled weights": Identity(
            np.array(losses)[:, 1], np.array(losses)[:, 0], condition=100.0, aside={"top too": np.array(losses)[:, 2]}
        ),
        "what ε leaves of the output": Identity(
            np.asarray(soft)[:9],
            whole / np.sqrt(1 + ratio**-2),
            scale=np.max(np.abs(soft[:9]), axis=(1, 2), keepdims=True),
            condition=10.0,
            size=8.0,
            aside={"beside s": whole / (1 + np.sqrt(epsilon) / ratio)},
        ),
        "change of the output with ε": Rate(
            scales,
            defects[:5],
            exponent=-2.0,
            rivals=(-1.0,),
            aside={
                "scale": line,
                "sharp": np.asarray(sharp[9:]),
                "soft": np.asarray(blunt[9:]),
            },
        ),
        "stunted gradient": Rate(tiny, np.asarray(blunt[5:9]), exponent=0.0, rivals=(-1.0,)),
    }


@normalized_networks_are_scale_invariant.control("the scale is not divided out", of="derivative of the normalization")
def scale_kept(evidence):
    return replace(evidence, right=evidence.aside["no scale"])


@normalized_networks_are_scale_invariant.control(
    "features of degree two: weights and input each count", of="degree of the features"
)
def degree_two(evidence):
    return replace(evidence, right=evidence.right + np.array([0.0, 1.0, 0.0]))


@normalized_networks_are_scale_invariant.control("the top is trained and scaled too", of="loss of scaled weights")
def top_scaled(evidence):
    return replace(evidence, left=evidence.aside["top too"])


@normalized_networks_are_scale_invariant.control("ε beside s, not s²", of="what ε leaves of the output")
def beside_the_deviation(evidence):
    return replace(evidence, right=evidence.aside["beside s"])


@normalized_networks_are_scale_invariant.picture
def epsilon_shows(pieces, settings):
    """The invariance defect by the size of the weights (left), and the gradient with and without ε (right)."""
    defect = pieces["change of the output with ε"]
    aside = defect.aside
    falls = [
        Dots("defect", defect.x, defect.y),
        Line("size⁻²", defect.x, defect.y[-1] * (np.asarray(defect.x) / defect.x[-1]) ** -2.0),
        Line("size⁻¹", defect.x, defect.y[0] / np.asarray(defect.x), rival="as if ε stood beside s, not s²"),
    ]
    grows = [
        Line("ε = 0", aside["scale"], aside["sharp"]),
        Line(f"ε = {settings['epsilon']:g}", aside["scale"], aside["soft"]),
    ]
    return Row(
        [
            Curves(falls, x="factor on the weights", y="relative change of the output", log="xy"),
            Curves(grows, x="factor on the weights", y="size of the gradient", log="xy"),
        ]
    )
