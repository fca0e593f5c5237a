"""Gradient flow of a reparametrized model beside mirror flow: which parametrizations have a mirror map.

arora 8.1.2 to 8.1.4.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.mirror import bregman_projection
from deeptheory.implicit_bias.potentials import ENTROPY, EUCLIDEAN, hypentropy, quadratic
from deeptheory.implicit_bias.reparametrization import (
    dual_point,
    gram_entries,
    induced_metric,
    lie_brackets,
    mirror_flow,
    mirror_violations,
    products,
    reparametrized_flow,
    squares,
    squares_apart,
)
from deeptheory.lab import Identity, Limit, Rate, Trials, claim
from deeptheory.lab.pictures import Dots, Line, Plane

QUARTER = ENTROPY._replace(
    value=lambda w: ENTROPY.value(w) / 4,
    gradient=lambda w: np.log(w) / 4,
    inverse=lambda z: np.exp(4 * z),
    metric=lambda w: 4 * ENTROPY.metric(w),
)
ROOT = np.array([[1.2, 0.3, 0.0], [0.3, 0.7, -0.2], [0.0, -0.2, 0.9]])
"""the square root of Σ"""


def linear(theta):
    return ROOT @ theta


@claim(
    items={
        "A8.15": "paths of flow and mirror flow",
        "A8.16": ("metrics and inverse Hessians", "paths of flow and mirror flow", "violations of the condition"),
        "A8.17": ("metrics and inverse Hessians", "paths of flow and mirror flow", "steps of linear models"),
        "A8.18": ("metrics and inverse Hessians", "paths of flow and mirror flow"),
    },
    says=r"Gradient flow of $L(G(\theta))$ moves $w=G(\theta)$ by $\dot w=-\partial G\,\partial G^\top\nabla L$. If "
    r"$\partial G\,\partial G^\top=(\nabla^2R)^{-1}$ at $w$, that is the mirror flow of $R$, for every $L$: for "
    r"$G=\sqrt\Sigma\,\theta$ with $R=\frac12w^\top\Sigma^{-1}w$, for $G=\theta^{\odot2}$ with "
    r"$R=\frac14\sum(w_i\log w_i-w_i)$. For $u^{\odot2}-v^{\odot2}$ it can hold along a flow only.",
    needs="differentiable losses; θ ≠ 0 in every coordinate of the squares",
    full=dict(trials=200),
    symbols={
        r"L": "any differentiable loss of the weights",
        r"\theta,G,w": r"parameters, parametrization and weights $w=G(\theta)$",
        r"\partial G": "the Jacobian",
        r"R": r"the potential of the mirror flow $\frac{d}{dt}\nabla R(w)=-\nabla L(w)$",
        r"\Sigma": "a positive definite matrix",
        r"u,v": r"parameters, where $\theta$ is a pair",
    },
    why=r"By the chain rule $\dot\theta=-\partial G^\top\nabla L$ and $\dot w=\partial G\,\dot\theta$. Mirror flow is "
    r"$\dot w=-(\nabla^2R)^{-1}\nabla L$. The loss enters both in the same way, so only the matrices in "
    r"front need to agree. For a linear $G$ this holds for steps of any size too. The flow of $u^{\odot2}-v^{\odot2}$ "
    r"keeps $u\odot v$; where that is what it was at the start the metric is a function of $w$, and elsewhere another.",
    notice="Dots, the weights of a model of squares trained by gradient flow, on the curve of mirror flow with the "
    "entropy; with an entropy that is not divided by four it takes the same way at another speed.",
)
def flows_of_two_geometries(key, *, trials: Trials = 16):
    draw = generator(key)
    thetas = draw.standard_normal((trials, 3))
    design, labels = draw.standard_normal((2, 3)), draw.standard_normal(2)

    def loss(w):
        return jnp.sum((design @ w - labels) ** 2) / 2 + 0.5 * jnp.sum(jnp.sin(2 * w))

    sigma = ROOT @ ROOT
    inverse = np.linalg.inv(sigma)

    def geometry(theta):
        # Hessians by differentiation of the potentials as they are printed.
        def entropy(w):
            return jnp.sum(w * jnp.log(w) - w) / 4

        hessians = jax.hessian(lambda w: w @ inverse @ w / 2)(linear(theta)), jax.hessian(entropy)(squares(theta))
        metrics = induced_metric(linear, theta), induced_metric(squares, theta)
        return jnp.stack(metrics), jnp.stack(hessians)

    found, bent = (np.asarray(each) for each in jax.jit(jax.vmap(geometry))(thetas))
    wanted = np.linalg.inv(bent)
    times, start = np.linspace(0.0, 1.5, 16), draw.uniform(0.6, 1.4, 3)
    # What a step is off grows along the way, for some draws several thousandfold.
    precise = {"rtol": 1e-12}
    ways = [
        reparametrized_flow(linear, loss, start, times, **precise) @ ROOT.T,
        reparametrized_flow(squares, loss, start, times, **precise) ** 2,
    ]
    mirrored = [
        mirror_flow(quadratic(inverse), loss, linear(start), times, **precise),
        mirror_flow(QUARTER, loss, start**2, times, **precise),
    ]
    hurried = [mirrored[0], mirror_flow(ENTROPY, loss, start**2, times)]
    # Steps: θ ← θ − η√Σ∇L and w ← w − ηΣ∇L, side by side.
    slope, theta, weights, stepped = jax.jit(jax.grad(loss)), start, linear(start), []
    plain, unturned = linear(start), []
    for _ in range(10):
        theta = theta - 0.3 * ROOT.T @ np.asarray(slope(linear(theta)))
        weights = weights - 0.3 * sigma @ np.asarray(slope(weights))
        stepped.append([linear(theta), weights])
        plain = plain - 0.3 * np.asarray(slope(plain))
        unturned.append(plain)
    steps = np.array(stepped)
    # u² − v² from (α, −α): the hyperbolic entropy is its mirror map along the flow, and nowhere else.
    pair = np.full(3, 0.7), np.full(3, -0.7)
    along = reparametrized_flow(squares_apart, loss, pair, times).reshape(-1, 2, 3)
    elsewhere = draw.uniform(0.5, 1.5, (2, trials, 3))
    u, v = elsewhere
    known = np.abs((u**2 + v**2) / np.sqrt((u**2 - v**2) ** 2 + 4 * 0.7**4) - 1).max(1)
    entropy = hypentropy(0.7).value
    violated = [
        mirror_violations(linear, lambda w: w @ inverse @ w / 2, thetas),
        mirror_violations(squares, QUARTER.value, thetas),
        mirror_violations(squares_apart, entropy, (along[:, 0], along[:, 1])),
        mirror_violations(squares_apart, entropy, tuple(elsewhere)),
    ]
    return {
        "metrics and inverse Hessians": Identity(
            found, wanted, scale=np.abs(found).max((2, 3))[..., None, None], condition=100.0
        ),
        # Two integrations, each to a relative tolerance of 1e-12.
        "paths of flow and mirror flow": Identity(
            np.array(ways),
            np.array(mirrored),
            scale=2.0,
            error=1e-7,
            along={"geometry": np.arange(2), "time": times},
            aside={"entropy itself": np.array(hurried)},
        ),
        "violations of the condition": Identity(
            np.concatenate(violated), np.append(np.zeros(2 * trials + len(times)), known), scale=1.0, error=1e-7
        ),
        "steps of linear models": Identity(
            steps[:, 0],
            steps[:, 1],
            scale=np.abs(steps).max(),
            size=10,
            condition=100.0,
            aside={"without Σ": np.array(unturned)},
        ),
    }


@flows_of_two_geometries.picture
def one_way(pieces):
    """The first two weights of a model of squares under gradient flow, and of mirror flow with the entropy."""
    piece = pieces["paths of flow and mirror flow"]
    found, predicted, hurried = (
        np.asarray(each)[1, :, :2] for each in (piece.left, piece.right, piece.aside["entropy itself"])
    )
    way = np.concatenate([predicted, hurried])  # both are on one way, at other times
    return Plane(
        [
            Line("mirror flow with a quarter of the entropy", *way[way[:, 0].argsort()].T),
            Dots("gradient flow of squares", *found.T),
            Dots("", *hurried.T, rival="the entropy not divided by four, at the same times"),
        ],
        x="first weight",
        y="second weight",
    )


@flows_of_two_geometries.control("the entropy not divided by four", of="paths of flow and mirror flow")
def not_divided(evidence):
    return replace(evidence, right=evidence.aside["entropy itself"])


@flows_of_two_geometries.control("a half for the quarter of the entropy", of="metrics and inverse Hessians")
def half_the_entropy(evidence):
    # Twice the potential of squares has half the inverse Hessian; that of the linear model stays.
    return replace(evidence, right=np.asarray(evidence.right) * np.array([1.0, 0.5])[:, None, None])


@flows_of_two_geometries.control("u² − v² keeps the condition off its flow too", of="violations of the condition")
def for_every_theta(evidence):
    # (8.11) in place of (8.10): as for the other two, no violation wherever θ is.
    return replace(evidence, right=np.zeros_like(evidence.right))


@flows_of_two_geometries.control("steps of the weights themselves, w − η∇L", of="steps of linear models")
def without_the_metric(evidence):
    return replace(evidence, right=evidence.aside["without Σ"])


@claim(
    items={
        "A8.13": "limits of four parametrizations",
        "A8.19": "two metrics at one value",
        "A8.22": ("Lie brackets", "how far two orders part"),
        "A8.23": ("weights after a pull", "where the order of two pulls matters", "how far two orders part in w"),
    },
    says=r"$u^{\odot2}-v^{\odot2}$ has several metrics at one $w$. Yet its Lie brackets $[\nabla G_i,\nabla "
    r"G_j]=\nabla^2G_i\nabla G_j-\nabla^2G_j\nabla G_i$ are 0: pulls along the gradients commute, and each start has a "
    r"mirror map. Entries of $UU^\top$ do not: two pulls by $s$ in the other order part by $s^2[\nabla G_i,\nabla "
    "G_j]$.",
    needs="starts at which ∂G∂G^⊤ is invertible",
    full=dict(trials=200),
    symbols={
        r"u,v,U": "parameters",
        r"G_i": r"the outputs of the parametrization $w=G(\theta)$",
        r"[\cdot,\cdot]": "the Lie bracket of two gradients",
        r"s": "for how long each output pulls the parameters along its gradient",
    },
    why=r"Along gradient flow $\dot\theta=-\sum_i\partial_iL\,\nabla G_i(\theta)$. If the pulls commute only their "
    r"totals $\mu=-\int\nabla L$ matter, whatever the loss and the order: $w$ is a function of $\mu$, the gradient of "
    r"a convex one, and its inverse is the gradient of the potential. If they do not, and their bracket moves $w$ "
    r"too, $w$ depends on the order: no function of $\mu$, and no mirror map.",
    notice="Four ways to the line of solutions, three of them from zero, all by gradient flow on one loss. Products "
    "and differences of squares, started alike, go one way to one point; the others end elsewhere.",
)
def commuting_parametrizations(key, *, trials: Trials = 8):
    draw = generator(key)
    pairs, factors = draw.uniform(0.4, 1.6, (trials, 2, 2)), draw.standard_normal((trials, 2, 2))
    duals = draw.uniform(-0.6, 0.6, (trials, 2))
    sizes = 0.02 / 2.0 ** np.arange(4)

    def seen(pair, factor, dual):
        brackets = [lie_brackets(squares, pair[0]), lie_brackets(products, pair), lie_brackets(squares_apart, pair)]
        pulled = dual_point(products, pair, dual, steps=200)

        def two_pulls(size, order):
            first, second = size * order
            return dual_point(gram_entries, dual_point(gram_entries, factor, first, steps=9), second, steps=9).ravel()

        orders = np.eye(3)[:2], np.eye(3)[1::-1]
        ends = jax.vmap(jax.vmap(two_pulls, in_axes=(None, 0)), in_axes=(0, None))(sizes, jnp.stack(orders))
        weights = jax.vmap(jax.vmap(lambda end: gram_entries(end.reshape(2, 2))))(ends)
        bracket = lie_brackets(gram_entries, factor)[0, 1]
        found = [each.ravel() for each in brackets], products(pulled), bracket
        return *found, ends[:, 1] - ends[:, 0], weights[:, 1] - weights[:, 0]

    zero, reached, bracket, orders, in_weights = jax.jit(jax.vmap(seen))(pairs, factors, duals)
    a, b = pairs[:, 0], pairs[:, 1]
    # u̇ = μv, v̇ = μu: hyperbolic rotations, so uv after a pull by μ is known.
    turned = a * b * np.cosh(2 * duals) + (a**2 + b**2) / 2 * np.sinh(2 * duals)
    by_hand = np.concatenate([2 * factors[:, 1], -2 * factors[:, 0]], axis=1)
    # The bracket moves U by AU with A = ((0, 2), (−2, 0)), and so M = UUᵀ by AM − MA.
    gram, turn = factors @ np.swapaxes(factors, 1, 2), np.array([[0.0, 2.0], [-2.0, 0.0]])
    moved = (turn @ gram - gram @ turn)[:, [0, 0, 1], [0, 1, 1]]
    parted = np.asarray(orders)
    # θ = (1, 0) and (√2, 1) both have u² − v² = 1.
    alike = np.array([[[1.0], [0.0]], [[2**0.5], [1.0]]])
    twice = jax.jit(jax.vmap(lambda pair: induced_metric(squares_apart, pair)))(alike)[:, 0, 0]

    # Four models on one equation, three of them from w = 0; each limit is that of its mirror map.
    row, label = draw.uniform(0.5, 1.2, (1, 2)), draw.uniform(0.8, 1.2, 1)

    def loss(w):
        return jnp.sum((row @ w - label) ** 2) / 2

    times, none = np.append(np.linspace(0, 6, 50), 100.0), np.zeros(2)
    begin, scale = draw.uniform(0.3, 0.7, (2, 2))
    runs = {
        "weights themselves": reparametrized_flow(lambda w: w, loss, none, times),
        "squares": reparametrized_flow(squares, loss, begin, times) ** 2,
        "products": products(np.split(reparametrized_flow(products, loss, (2 * scale, none), times), 2, axis=1)),
        "squares apart": squares_apart(
            np.split(reparametrized_flow(squares_apart, loss, (scale, scale), times), 2, axis=1)
        ),
    }
    limits, other = (
        [
            bregman_projection(EUCLIDEAN, row, label),
            bregman_projection(ENTROPY, row, label, begin**power),
            bregman_projection(hypentropy(factor * scale), row, label),
            bregman_projection(hypentropy(factor * scale), row, label),
        ]
        for power, factor in ((2, 1.0), (1, 2.0))
    )
    return {
        "limits of four parametrizations": Identity(
            np.array([way[-1] for way in runs.values()]),
            np.array(limits),
            scale=1.0,
            error=1e-7,
            aside={
                "model": list(runs),
                "ways": np.array(list(runs.values()))[:, :-1],
                "equation": np.append(row, label),
                "of the parameters": np.array(other),
            },
        ),
        "two metrics at one value": Identity(np.asarray(twice), np.array([4.0, 12.0])),
        "Lie brackets": Identity(
            np.concatenate([*map(np.asarray, zero), np.asarray(bracket)], axis=1),
            np.concatenate([np.zeros((trials, sum(each.shape[1] for each in zero))), by_hand], axis=1),
            scale=4.0,
        ),
        "weights after a pull": Identity(
            np.asarray(reached), turned, error=1e-9, aside={"without turning": a * b * np.exp(2 * duals)}
        ),
        "where the order of two pulls matters": Rate(
            1 / sizes, np.linalg.norm(parted, axis=2).mean(0), exponent=-2.0, rivals=(-1.0, -3.0)
        ),
        "how far two orders part": Limit(
            1 / sizes, np.linalg.norm(parted / sizes[:, None] ** 2 - by_hand[:, None], axis=2).max(0), order=1.0
        ),
        "how far two orders part in w": Limit(
            1 / sizes,
            np.linalg.norm(np.asarray(in_weights) / sizes[:, None] ** 2 - moved[:, None], axis=2).max(0),
            order=1.0,
            aside={"moved": np.asarray(in_weights), "sizes": sizes},
        ),
    }


@commuting_parametrizations.picture
def four_ways(pieces):
    """The weights of four models under gradient flow, to the line of solutions of one equation."""
    aside = pieces["limits of four parametrizations"].aside
    first, second, label = np.asarray(aside["equation"])
    ends = np.asarray(pieces["limits of four parametrizations"].left)[:, 0]
    line = np.array([ends.min() - 0.15, ends.max() + 0.15])
    marks = [Line("solutions", line, (label - first * line) / second, dashed=True)]
    ways = dict(zip(map(str, aside["model"]), np.asarray(aside["ways"]), strict=True))
    # Products go the way of the differences, and are drawn dashed over them.
    for name in sorted(ways, key="products".__eq__):
        way, said = ways[name], {"squares apart": "differences of squares"}.get(name, name)
        marks += [Line(said, *way.T, arrow=True, dashed=name == "products"), Dots(said, way[-1:, 0], way[-1:, 1])]
    return Plane(marks, x="first weight", y="second weight")


@commuting_parametrizations.control("all end at the nearest solution", of="limits of four parametrizations")
def all_nearest(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right[:1], evidence.right.shape))


@commuting_parametrizations.control(
    "from the start of the parameters, not of the weights", of="limits of four parametrizations"
)
def start_of_the_parameters(evidence):
    # θ₀ for w₀ = θ₀² in the entropy, and the factor 2α of a product for the α of squares.
    return replace(evidence, right=evidence.aside["of the parameters"])


@commuting_parametrizations.control("one metric at one value", of="two metrics at one value")
def one_metric(evidence):
    return replace(evidence, right=np.full(2, 4.0))


@commuting_parametrizations.control("the entries of UUᵀ commute too", of="Lie brackets")
def all_commute(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@commuting_parametrizations.control("one w for both orders, up to smaller terms", of="how far two orders part in w")
def one_w(evidence):
    return replace(
        evidence, y=np.linalg.norm(evidence.aside["moved"] / evidence.aside["sizes"][:, None] ** 2, axis=2).max(0)
    )


@commuting_parametrizations.control("products that grow exponentially", of="weights after a pull")
def exponentially(evidence):
    return replace(evidence, right=evidence.aside["without turning"])
