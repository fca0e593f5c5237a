"""Gradients of a deep linear network at random weights: exact means, bounds on them, and the variance that keeps them.

lucchi Sec. 6.2.3 and 6.3.
"""

from dataclasses import replace
from itertools import pairwise, product
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Law, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, HeatMap, Level, Line, Row, seen
from deeptheory.landscapes.linear_networks import LinearNetworkLoss, layer_gradients
from deeptheory.propagation.classifiers import softmax_gradient_bounds, softmax_layer_gradients
from deeptheory.propagation.random_products import gradient_moment_bound, layer_gradient_moment


@jax.jit
def gradient_of(function, point):
    """The gradient of a loss at flat weights."""
    return jax.grad(function)(point)


@claim(
    items={
        "L6.13": ("square of a sum", "equal summands"),
        "L6.14": "gradient of each layer",
        "L6.18": "lemma is twice the mean",
        "L6.19": ("mean squared gradient", "bound on the squared gradient", "what the bound gives away"),
        "L6.20": ("vanishing or exploding", "wide limit"),
    },
    says=r"For $\ell=\frac12\|y-W^{L:1}x\|^2$ and random weights $E\|\partial\ell/\partial W^k\|_F^2$ is half of "
    r"$2\sigma^2E\|W^{k-1:1}x\|^4E\|W^{k+1:L}W^{L:k+1}\|_F^2+2(d\sigma^2)^{L-1}\gamma$, below "
    r"$\frac{2\rho}{3\sigma^2}[\sigma^4d(d+2)]^L+2\gamma(\sigma^2d)^{L-1}$: it vanishes or explodes unless "
    r"$\sigma^2=1/d$.",
    needs="independent centred entries; Gaussian for the second bound",
    symbols={
        r"\ell": "the squared loss of one sample",
        "x, y": "its input and label",
        "W^k": "the matrices, $d\\times d$, from the input on; products of them with a colon",
        r"\sigma^2": "the variance of an entry",
        "L": "the depth",
        r"\rho, \gamma": r"$\|x\|^4$ and $\|x\|^2\|y\|^2$",
    },
    why=r"The gradient is $W^{k+1:L}(W^{L:1}x-y)$ times the signal at layer $k$. Its part with $y$ and its part with "
    r"the output differ by one factor $W^k$, so their product has mean zero and no factor 2 is needed. The rest are "
    r"moments of products of independent matrices: each layer multiplies by $d\sigma^2$, or by $\sigma^4d(d+2)$ and "
    r"$\sigma^4d(d-1)$.",
    notice=r"Below $\sigma^2=1/d$ gradients vanish with depth, above they explode, and at it, in a wide network, the "
    r"mean square of layer $k$ is $(L-k+1)\rho+\gamma$. Width is needed for that: at depth of the order of $d$ the "
    r"mean grows like $e^{2L/d}$. The bound is never tight, by a factor of two or more.",
)
def gradients_at_initialization(
    key,
    *,
    trials: Trials = 60_000,
    width: Annotated[int, Interval(ge=2, le=12)] = 6,
    gain: Annotated[float, Interval(ge=0.5, le=1.6)] = 1.2,
):
    random = generator(key)
    depth, variance = 3, gain / width
    # Lengths within limits: a short label would leave its part of the mean unseen.
    square, label = width * random.uniform(0.8, 1.2), width * random.uniform(2.0, 3.0)
    x, y = (
        length**0.5 * v / np.linalg.norm(v)
        for length, v in zip((square, label), random.standard_normal((2, width)), strict=True)
    )
    w = variance**0.5 * random.standard_normal((trials, depth, width, width))
    forward = [np.broadcast_to(x, (trials, width))]
    for k in range(depth):
        forward.append(np.einsum("tij,tj->ti", w[:, k], forward[-1]))
    error, observed = forward[-1] - y, []
    for k in reversed(range(depth)):
        observed.append(np.sum(error**2, axis=1) * np.sum(forward[k] ** 2, axis=1))
        error = np.einsum("tij,ti->tj", w[:, k], error)
    widths, layers = (width,) * (depth + 1), np.arange(1, depth + 1)
    stated = np.array(
        [layer_gradient_moment(widths, k, variance, square=square, label_square=label) for k in range(1, depth + 1)]
    )

    # The formula, on a network of unequal widths.
    uneven = (3, 4, 2, 5)
    matrices = [random.standard_normal((b, a)) for a, b in pairwise(uneven)]
    inputs, labels = random.standard_normal((3, 1)), random.standard_normal((5, 1))
    loss = LinearNetworkLoss(jnp.asarray(inputs), jnp.asarray(labels), uneven)
    slopes = gradient_of(loss, jnp.asarray(np.concatenate([m.ravel() for m in matrices])))
    written = np.concatenate([g.ravel() for g in layer_gradients(matrices, inputs, labels)])
    stray = layer_gradients(matrices, inputs, -labels)

    # All signs of three 2 × 2 matrices: an exact mean, of entries that are not Gaussian.
    signs = 0.6 * np.array(list(product((-1, 1), repeat=12)), float).reshape(-1, 3, 2, 2)
    u, v = np.array([1.0, 0.4]), np.array([-0.3, 0.8])
    exact, lemma = [], []
    for k in range(3):
        before, after = np.broadcast_to(u, (len(signs), 2)), np.broadcast_to(np.eye(2), (len(signs), 2, 2))
        for j in range(3):
            before = np.einsum("tij,tj->ti", signs[:, j], before) if j < k else before
            after = signs[:, j] @ after if j > k else after
        error = np.einsum("tij,tjl,tl->ti", after, signs[:, k], before) - v
        length = np.sum(before**2, axis=1)
        exact.append(np.mean(np.sum(np.einsum("tij,ti->tj", after, error) ** 2, axis=1) * length))
        gram = np.einsum("tij,til->tjl", after, after)
        own = np.mean(length**2) * np.mean(np.sum(gram**2, axis=(1, 2)))
        label_part = (2 * 0.36) ** 2 * (u @ u) * (v @ v)
        lemma.append(2 * 0.36 * own + 2 * label_part)

    grid = [
        (d, n, k, g / d, dict(square=input_square, label_square=label_square))
        for d, n, g in product((2, 5, 20), (2, 6, 12), (0.3, 1.0, 2.0))
        for k, input_square, label_square in product((1, n), (1.0, 0.4), (1.0, 7.0))
    ]
    moments = np.array([layer_gradient_moment((d,) * (n + 1), k, s, **both) for d, n, k, s, both in grid])
    bounds = np.array([gradient_moment_bound(d, n, s, **both) for d, n, _, s, both in grid])
    lost = [
        both["square"] ** 2 * s ** (2 * n - 1) / 3 * (d * (d + 2.0)) ** (k - 1) * (d * (d - 1.0)) ** (n - k + 1)
        for d, n, k, s, both in grid
    ]
    literal = np.array([[both["square"] ** 2, both["square"] * both["label_square"]] for *_, both in grid])  # ρ, γ
    smaller = [
        2 * rho / (3 * s) * (s * d) ** (2 * n) + 2 * gamma * (s * d) ** (n - 1)
        for (d, n, _, s, _), (rho, gamma) in zip(grid, literal, strict=True)
    ]
    swapped = [
        2 * gamma / (3 * s) * (s * s * d * (d + 2)) ** n + 2 * rho * (s * d) ** (n - 1)
        for (d, n, _, s, _), (rho, gamma) in zip(grid, literal, strict=True)
    ]

    gains, far = np.array([0.5, 0.8, 1.25, 2.0]), 1000
    deep = [
        layer_gradient_moment((far,) * 41, 1, g / far) / layer_gradient_moment((far,) * 21, 1, g / far) for g in gains
    ]
    wide = np.array([64, 256, 1024, 4096])
    rho, gamma = 1.3**2, 1.3 * 0.7
    limit = np.array([layer_gradient_moment((d,) * 6, 2, 1 / d, square=1.3, label_square=0.7) for d in wide])
    a, b = random.standard_normal((2, 200, 5))
    a[:20] = b[:20]
    sizes = 2 * np.sum(a**2, axis=1) + 2 * np.sum(b**2, axis=1)
    return {
        "square of a sum": Inequality(np.sum((a + b) ** 2, axis=1), sizes),
        "equal summands": Identity(np.sum((a + b) ** 2, axis=1)[:20], sizes[:20]),
        "gradient of each layer": Identity(
            slopes,
            written,
            scale=np.abs(written).max(),
            size=40,
            aside={"sign": np.concatenate([g.ravel() for g in stray])},
        ),
        "lemma is twice the mean": Identity(
            2 * np.array(exact),
            np.array(lemma),
            size=4096,
            along={"layer": np.arange(1, 4)},
            aside={"label": label_part},
        ),
        "mean squared gradient": Law(
            stated,
            np.stack(observed[::-1]),
            exact=True,
            along={"layer": layers},
            resolution=0.15,
            aside={"without label": stated - square * label * gain ** (depth - 1)},
        ),
        "bound on the squared gradient": Inequality(
            moments, bounds, aside={"smaller": np.array(smaller), "swapped": np.array(swapped)}
        ),
        "what the bound gives away": Identity(bounds / 2 - moments, lost, scale=bounds, size=12),
        "vanishing or exploding": Exact(
            np.sign(np.log(np.array(deep))).astype(int), np.where(gains < 1, -1, 1), along={"gain": gains}
        ),
        "wide limit": Limit(
            wide, np.abs(limit - (4 * rho + gamma)), order=1.0, aside={"fewer": np.abs(limit - (3 * rho + gamma))}
        ),
    }


@gradients_at_initialization.control("3/2 for 2", of="square of a sum")
def three_halves(evidence):
    return replace(evidence, bound=0.75 * evidence.bound)


@gradients_at_initialization.control("δ = W^{L:1}x + y", of="gradient of each layer")
def other_sign(evidence):
    return replace(evidence, right=evidence.aside["sign"])


@gradients_at_initialization.control("a factor 1 for 2 in the label's part only", of="lemma is twice the mean")
def label_once(evidence):
    return replace(evidence, right=evidence.right - evidence.aside["label"])


@gradients_at_initialization.control("without the part of the label", of="mean squared gradient")
def without_label(evidence):
    return replace(evidence, predicted=evidence.aside["without label"])


@gradients_at_initialization.control("σ⁴d² for σ⁴d(d + 2)", of="bound on the squared gradient")
def width_squared(evidence):
    return replace(evidence, bound=evidence.aside["smaller"])


@gradients_at_initialization.control("ρ and γ exchanged", of="bound on the squared gradient")
def exchanged(evidence):
    return replace(evidence, bound=evidence.aside["swapped"])


@gradients_at_initialization.control("stable at σ = 1/d", of="vanishing or exploding")
def other_threshold(evidence):
    return replace(evidence, right=np.ones(len(evidence.right), int))


@gradients_at_initialization.control("L − k for L − k + 1", of="wide limit")
def one_layer_fewer(evidence):
    return replace(evidence, y=evidence.aside["fewer"])


@gradients_at_initialization.picture
def phases(pieces):
    """Mean squared gradients by layer (left); their order of magnitude by depth and variance, at width 100 (right)."""
    mean = pieces["mean squared gradient"]
    layers = mean.along["layer"]
    marks = [seen("observed", layers, mean.observed), Line("exact", layers, mean.predicted)]
    depths, gains = [2, 5, 10, 20, 40], [0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0]
    values = [[np.log10(layer_gradient_moment((100,) * (n + 1), 1, g / 100)) for g in gains] for n in depths]
    heat = HeatMap(
        values, depths, gains, x="width times variance, dσ²", y="depth L", value="log₁₀ of the mean square", middle=0.0
    )
    return Row([Curves(marks, x="layer k", y="mean squared gradient E‖∂ℓ/∂W^k‖²"), heat])


@claim(
    items={
        "L6.21": ("gradient of each layer", "bound on the squared gradient", "bound attained", "size along the depth")
    },
    says=r"With softmax and cross-entropy $\partial\ell/\partial W^l=W^{l+1:L}(p-y)(W^{l-1:1}x)^\top$, and since "
    r"$\|p-y\|^2\le2$ its square is at most $2\|W^{l+1:L}\|_{op}^2\|W^{l-1:1}x\|^2$ for any weights. At "
    r"$\sigma^2=1/d$ gradients keep their size with depth.",
    needs="one-hot labels; independent weights of variance σ² for the last part",
    symbols={
        r"\ell": "the cross-entropy of one sample",
        "W^l": "the matrices, from the input on; products of them with a colon",
        "p, y": "the probabilities that the network gives, and the one-hot label",
        "x": "the input",
        r"\sigma^2, d": "the variance of a weight, and the width",
        "L": "the depth",
    },
    why=r"The derivative of the cross-entropy in its logits is $p-y$, and goes back through the transposed matrices. "
    r"Both are probability vectors, so their difference is at most $\sqrt2$ long. Moments of independent factors do "
    r"not apply, because $p$ depends on all weights; norms of the factors do.",
    notice=r"Every gradient is below its bound, and those of a network that is sure and wrong reach it at depth one. "
    r"With $d\sigma^2=\frac12$ the squared gradient of the first layer about halves with each layer, at 1 it hardly "
    r"changes.",
)
def softmax_gradients(key, *, trials: Trials = 320, width: Annotated[int, Interval(ge=8, le=64)] = 24):
    random = generator(key)
    sizes = (4, 5, 3, 6, 3)
    matrices = [random.standard_normal((b, a)) for a, b in pairwise(sizes)]
    x = random.standard_normal(4)

    def entropy(flat):
        product, used = jnp.asarray(x), 0
        for a, b in pairwise(sizes):
            product, used = flat[used : used + a * b].reshape(b, a) @ product, used + a * b
        return -jax.nn.log_softmax(product)[1]

    gradient = jax.jit(jax.grad(entropy))(jnp.asarray(np.concatenate([m.ravel() for m in matrices])))
    written = np.concatenate([g.ravel() for g in softmax_layer_gradients(matrices, x, 1)])
    other = np.concatenate([g.ravel() for g in softmax_layer_gradients(matrices, x, 0)])

    squares, limits = [], []
    for _ in range(100):
        drawn = [random.standard_normal((b, a)) * random.choice([0.3, 1, 3]) for a, b in pairwise(sizes)]
        squares.append([np.sum(g**2) for g in softmax_layer_gradients(drawn, x, 2)])
        limits.append(softmax_gradient_bounds(drawn, x))
    # One matrix, sure of another class: p − y is a difference of two unit vectors.
    sure = [np.outer([60.0, 0.0, 0.0], x / (x @ x))]
    reached = np.sum(softmax_layer_gradients(sure, x, 1)[0] ** 2)

    depths, gains, logs = np.array([2, 16]), np.array([0.5, 1.0]), []
    unit = np.ones(width) / width**0.5
    for gain in gains:
        row = []
        for depth in depths:
            w = (gain / width) ** 0.5 * random.standard_normal((trials, depth, width, width))
            row.append([np.log(np.sum(softmax_layer_gradients(list(each), unit, 0)[0] ** 2)) for each in w])
        logs.append(row)
    logs = np.array(logs)  # gain, depth, trial
    slopes = (logs[:, -1] - logs[:, 0]) / (depths[-1] - depths[0])
    # Backwards a signal loses log d σ² and the typical −1/d a layer, as forwards: ψ(d/2) + log 2σ².
    from scipy.special import digamma

    typical = digamma(width / 2) + np.log(2 * gains / width)
    return {
        "gradient of each layer": Identity(
            gradient, written, scale=np.abs(written).max(), size=40, aside={"other label": other}
        ),
        "bound on the squared gradient": Inequality(np.array(squares), np.array(limits)),
        "bound attained": Identity(reached, softmax_gradient_bounds(sure, x)[0]),
        "size along the depth": Law(
            typical,
            slopes,
            exact=True,
            scale=1.0,
            along={"gain": gains},
            aside={"logs": logs.mean(-1), "depths": depths, "mean": np.log(gains)},
        ),
    }


@softmax_gradients.control("another label's one-hot vector", of="gradient of each layer")
def other_label(evidence):
    return replace(evidence, right=evidence.aside["other label"])


@softmax_gradients.control("‖p − y‖² ≤ 1", of="bound attained")
def shorter(evidence):
    return replace(evidence, right=evidence.right / 2)


@softmax_gradients.control("gradients change by (dσ²)² a layer", of="size along the depth")
def squared_rate(evidence):
    return replace(evidence, predicted=2 * evidence.predicted)


@softmax_gradients.picture
def by_depth(pieces):
    """The mean logarithm of the squared gradient of the first layer, by depth, for two variances."""
    found = pieces["size along the depth"].aside
    marks = [Line(f"dσ² = {gain:g}", found["depths"], row) for gain, row in zip((0.5, 1.0), found["logs"], strict=True)]
    return Curves([*marks, Level("", y=0.0)], x="depth", y="mean log ‖∂ℓ/∂W¹‖²")
