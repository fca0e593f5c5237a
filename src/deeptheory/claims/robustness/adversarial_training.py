"""Training against an adversary: what it minimises, and why its step is a gradient step."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.optimize import minimize
from scipy.special import expit

from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.robustness.adversarial_training import directional_slope, worst_of_many
from deeptheory.robustness.attacks import fast_gradient_sign
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
    "weight is zero two corners are equally bad: the worst loss has a kink and rises to both sides.",
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
