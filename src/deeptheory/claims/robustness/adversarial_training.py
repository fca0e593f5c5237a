"""Training against an adversary: what it minimises, and why its step is a gradient step."""

from dataclasses import replace
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.optimize import minimize
from scipy.special import expit

from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Trend, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, Surface
from deeptheory.networks.mlp import init_mlp
from deeptheory.robustness.adversarial_training import directional_slope, train_adversarially, worst_of_many
from deeptheory.robustness.attacks import ascend, fast_gradient_sign
from deeptheory.robustness.separation import separated_points
from deeptheory.robustness.threats import Threat

MEANS, POINTS = np.array([0.9, 0.6, 0.45]), 300
CORNERS = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T


def logits(weights, x):
    score = x @ weights
    return jnp.stack([-score / 2, score / 2], axis=1)


def loss(weights, move):
    """Logistic loss of one perturbed input with label 1."""
    return logistic_loss(weights @ (jnp.array([0.4, -0.3, 0.7]) + move))


@jax.jit
def trained(inputs, labels, radius):
    """Attack all inputs, take a gradient step at the points found, and so on until nothing changes."""
    slope = jax.grad(lambda w, x: jnp.mean(label_cross_entropy(logits(w, x), labels)))

    def step(weights, _):
        moved = fast_gradient_sign(jax.tree_util.Partial(logits, weights), inputs, labels, Threat(radius))
        return weights - 2.0 * slope(weights, moved), None

    return jax.lax.scan(step, jnp.full(3, 0.1), length=2000)[0]


def solved(inputs, signs, inside, beside):
    """The minimiser of the mean of log(1 + exp(−y w·x + inside·‖w‖₁)) + beside·‖w‖₁, by BFGS: no attack in it."""

    def objective(w):
        size = np.abs(w).sum()
        margins = -signs * (inputs @ w) + inside * size
        pull = expit(margins)
        slope = -(pull * signs) @ inputs / len(signs) + (inside * pull.mean() + beside) * np.sign(w)
        return np.logaddexp(0, margins).mean() + beside * size, slope

    return minimize(objective, np.full(3, 0.5), jac=True, method="BFGS", options={"gtol": 1e-10}).x


@claim(
    items={
        "A18.6": "weights by two routes",
        "L12.18": "weights by two routes",
        "L12.19": ("slope of the worst loss", "slopes where maximisers tie"),
    },
    says=r"Descending the loss at attacked inputs minimises $\max_\delta\ell$: for logistic regression and "
    r"$\|\delta\|_\infty\le\epsilon$ the mean of $\log(1+e^{-y\,w\cdot x+\epsilon\|w\|_1})$. The slope of a maximum is "
    r"that at the maximiser; where several tie there are only one-sided slopes, the largest of theirs.",
    needs="the inner maximum is found exactly; for a gradient the maximiser is unique",
    full=dict(epsilons=(0.0, 0.05, 0.1, 0.15, 0.2)),
    symbols={
        r"\delta": "the perturbation",
        r"\ell": "the loss at the perturbed input",
        r"\epsilon": "how far it may move every coordinate",
        "x, y": "an input and its label, 1 or −1",
        "w": "the weights",
    },
    why="When the weights move a little, the best perturbation moves too, but at a maximum that changes the value only "
    "to second order, or not at all if it stays in its corner: the slope is that with the perturbation held fixed. For "
    r"logistic regression the best perturbation takes $\epsilon\|w\|_1$ from every margin. That is not a penalty "
    "beside the loss: it stops to pull where margins are large.",
    notice="Both routes end in the same weights, and a penalty beside the loss ends elsewhere. On the right, where a "
    "weight is zero two corners are equally bad: the worst loss has a kink, with a slope of its own to each side.",
)
def training_against_an_adversary(
    key, *, epsilons: Annotated[tuple[float, ...], Interval(ge=0.0, le=0.2)] = (0.0, 0.1, 0.2)
):
    random = generator(key)
    signs = np.where(random.random(POINTS) < 0.5, 1.0, -1.0)
    inputs = signs[:, None] * MEANS + random.standard_normal((POINTS, 3))
    found = np.stack([trained(inputs, (signs > 0).astype(int), e) for e in epsilons])
    within = np.stack([solved(inputs, signs, e, 0.0) for e in epsilons])
    beside = np.stack([solved(inputs, signs, 0.0, e / 2) for e in epsilons])  # half of the inputs' pull, as at w = 0

    weights, moves, h = random.standard_normal((4, 3)), 0.3 * CORNERS, 1e-5

    @jax.jit
    def largest(w):
        return jnp.max(jax.vmap(lambda move: loss(w, move))(moves))

    def worst(w):
        return float(largest(w))

    slopes = np.stack([worst_of_many(loss, w, moves).slope for w in weights])  # pyright: ignore[reportArgumentType]
    seen = np.array([[(worst(w + h * e) - worst(w - h * e)) / (2 * h) for e in np.eye(3)] for w in weights])
    still = np.stack([jax.grad(loss)(jnp.asarray(w), jnp.zeros(3)) for w in weights])
    tied = np.array([0.0, 0.5, -0.3])
    ways = np.concatenate([np.eye(3), -np.eye(3)])
    rises = np.array([(worst(tied + 1e-6 * v) - worst(tied)) / 1e-6 for v in ways])
    one = np.asarray(worst_of_many(loss, tied, moves).slope)  # pyright: ignore[reportArgumentType]
    line = np.linspace(-0.6, 0.6, 61)
    return {
        "weights by two routes": Identity(
            found,
            within,
            error=1e-6,  # of BFGS
            along={"epsilon": np.array(epsilons), "weight": np.arange(3)},
            aside={"beside": beside},
        ),
        "slope of the worst loss": Identity(slopes, seen, scale=1.0, error=1e-8, aside={"still": still}),
        "slopes where maximisers tie": Identity(
            np.array([directional_slope(loss, tied, moves, v) for v in ways]),  # pyright: ignore[reportArgumentType]
            rises,
            scale=1.0,
            error=1e-6,  # a one-sided difference of step 1e-6
            aside={
                "one": ways @ one,
                "line": line,
                "kink": np.array([worst(tied + t * np.eye(3)[0]) for t in line]),
            },
        ),
    }


@training_against_an_adversary.control("a penalty beside the loss", of="weights by two routes")
def penalty_beside(evidence):
    return replace(evidence, right=evidence.aside["beside"])


@training_against_an_adversary.control("the slope at the input as it was", of="slope of the worst loss")
def at_the_clean_input(evidence):
    return replace(evidence, left=evidence.aside["still"])


@training_against_an_adversary.control("one maximiser gives a gradient at a tie", of="slopes where maximisers tie")
def one_of_the_maximisers(evidence):
    return replace(evidence, left=evidence.aside["one"])


@training_against_an_adversary.picture
def weights_and_kink(pieces):
    """Weights after training against larger and larger perturbations (left); the worst loss along a weight (right)."""
    routes, tie = pieces["weights by two routes"], pieces["slopes where maximisers tie"].aside
    epsilon = np.asarray(routes.along["epsilon"])
    marks = []
    for i in range(3):
        marks += [
            Line(f"weight {i + 1}", epsilon, np.asarray(routes.right)[:, i]),
            Dots(f"weight {i + 1}", epsilon, np.asarray(routes.left)[:, i]),
            Line("", epsilon, np.asarray(routes.aside["beside"])[:, i], rival="a penalty beside the loss"),
        ]
    kink = [Line("worst loss", np.asarray(tie["line"]), np.asarray(tie["kink"]))]
    return Row([Curves(marks, x="radius ε", y="weight"), Curves(kink, x="first weight", y="loss of the worst corner")])


EPSILON, GAP, COUNT = 0.12, 0.3, 40
SQUARE = EPSILON * np.stack(np.meshgrid(*[np.linspace(-1, 1, 21)] * 2), -1).reshape(-1, 2)
"""a lattice that fills the ball of the maximum norm"""
AXIS = np.linspace(-1.1, 1.1, 56)


@eqx.filter_jit
def answered(networks, points):
    return eqx.filter_vmap(lambda network, own: network(own))(networks, points)


@eqx.filter_jit
def stars(networks, points, labels, radius):
    """Where an attack takes each point, for each network."""

    def climb(network, own, known):
        return ascend(lambda z: label_cross_entropy(network(z), known), own, Threat(radius), steps=20).points

    return eqx.filter_vmap(climb)(networks, points, labels)


@claim(
    items={
        "A18.6": ("balls crossed: as usual and against an adversary", "balls crossed: examples made once and anew"),
        "A18.10": "balls crossed: as usual and against an adversary",
    },
    says=r"In the plane, with classes $2.5\,\epsilon$ apart: the boundary of a network trained as usual crosses the "
    r"$\ell_\infty$ balls of radius $\epsilon$ about many points; after adversarial training it crosses few. Examples "
    "made once, or random moves, do not do it.",
    needs="networks 2–64–2, 1,500 steps of Adam; every ball searched on a lattice of 21×21, not by the attack",
    full=dict(trials=288),
    symbols={r"\epsilon": "how far an adversary may move each coordinate, 0.12"},
    why="Training as usual stops to push where points are answered well, wherever the boundary then lies. Adversarial "
    "training descends the loss at the worst point of each ball, and goes on until the whole ball is answered well. "
    "The worst point depends on the boundary: when that has moved away from one set of examples, others are worse, "
    "so that a set made once is only walked round.",
    notice="Both networks answer every point rightly. Before, on the left, the boundary cuts through squares; marked "
    "in them are points that are answered wrongly. After, on the right, it runs round nearly all squares.",
)
def adversarial_training_moves_the_boundary(key, *, trials: Annotated[int, Interval(ge=8, le=512)] = 72):
    keys = jax.random.split(key, 3)
    drawn = [separated_points(jax.random.fold_in(keys[0], t), COUNT, gap=GAP) for t in range(trials)]
    points, labels = map(np.stack, zip(*drawn, strict=True))
    starts = init_mlp(keys[1], (2, 64, 2), ensemble=(trials,), weight_scale=1.4, bias_scale=1.0, input_scale=2.0)
    # Single precision trains twice as fast, and a boundary is not told to more digits.
    points, starts = jax.tree.map(lambda part: jnp.asarray(part, jnp.float32), (points, starts))

    def train(inputs, attack_steps=0, noise=0.0):
        def one(start, own, known):
            how: dict[str, Any] = dict(steps=1500, batch=COUNT, rate=0.02, attack_steps=attack_steps, noise=noise)
            return train_adversarially(keys[2], start, own, known, Threat(EPSILON), **how)[0]

        return eqx.filter_vmap(one)(starts, inputs, labels)

    def crossed(networks):
        """The share of points whose ball is not all answered with their label."""
        told = answered(networks, (points[:, :, None] + SQUARE.astype(points.dtype)).reshape(trials, -1, 2))
        told = np.argmax(told, axis=2).reshape(trials, COUNT, -1)
        return np.mean(np.any(told != np.asarray(labels)[..., None], axis=2), axis=1)

    usual, robust = train(points), train(points, attack_steps=5)
    found = {"before": stars(usual, points, labels, EPSILON), "after": stars(robust, points, labels, EPSILON)}
    once = train(found["before"])
    random = train(points, noise=EPSILON / np.sqrt(3))  # the deviation of an even law on the ball
    shares = {
        name: crossed(networks)
        for name, networks in {"usual": usual, "robust": robust, "once": once, "random": random}.items()
    }
    mesh = np.stack(np.meshgrid(AXIS, AXIS), -1).reshape(1, -1, 2)
    before, after = (jax.tree.map(lambda leaf: leaf[:1], networks) for networks in (usual, robust))
    shown = {"points": points[0], "labels": labels[0]}
    for name, network in {"before": before, "after": after}.items():
        logits = np.asarray(answered(network, jnp.asarray(mesh, points.dtype)))[0]
        shown[name] = (logits[:, 1] - logits[:, 0]).reshape(len(AXIS), -1)
        wrong = np.argmax(answered(network, found[name][:1])[0], axis=1) != labels[0]
        shown[f"stars {name}"] = np.asarray(found[name])[0][np.asarray(wrong)]
    return {
        "balls crossed: as usual and against an adversary": Trend(
            shares["usual"] - shares["robust"],
            aside=shown
            | {"random": shares["robust"] - shares["random"]}
            | {f"share {n}": s for n, s in shares.items()},
        ),
        "balls crossed: examples made once and anew": Trend(
            shares["once"] - shares["robust"],
            aside={"three quarters": (shares["usual"] + 3 * shares["robust"]) / 4 - shares["once"]},
        ),
    }


@adversarial_training_moves_the_boundary.control(
    "random moves of the same size do as well", of="balls crossed: as usual and against an adversary"
)
def random_moves(evidence):
    return replace(evidence, differences=evidence.aside["random"])


@adversarial_training_moves_the_boundary.control(
    "examples made once do three quarters of it", of="balls crossed: examples made once and anew"
)
def made_once(evidence):
    return replace(evidence, differences=evidence.aside["three quarters"])


@adversarial_training_moves_the_boundary.picture
def before_and_after(pieces):
    """The boundary (the level set) before adversarial training and after, with the ball about each point."""
    aside = pieces["balls crossed: as usual and against an adversary"].aside
    points, labels = np.asarray(aside["points"]), np.asarray(aside["labels"])
    x, y = EPSILON * np.array([-1, 1, 1, -1, -1]), EPSILON * np.array([-1, -1, 1, 1, -1])
    panels = []
    for name, title in {"before": "trained as usual", "after": "trained against an adversary"}.items():
        marks = [Line("balls", px + x, py + y, thin=True) for px, py in points]
        marks += [Dots(f"label {label}", points[labels == label, 0], points[labels == label, 1]) for label in (0, 1)]
        stars_x, stars_y = np.asarray(aside[f"stars {name}"]).reshape(-1, 2).T
        marks.append(Dots("answered wrongly", stars_x, stars_y))
        heights = np.clip(aside[name], -3, 3)
        panels.append(
            Surface(
                marks, columns=AXIS, rows=AXIS, heights=heights, levels=[0.0], value="logit of label 1 over 0",
                title=title, x="first coordinate", y="second coordinate", xs=(-1.1, 1.1), ys=(-1.1, 1.1),
            )
        )  # fmt: skip
    return Row(panels)
