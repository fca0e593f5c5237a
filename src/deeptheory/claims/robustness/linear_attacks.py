"""Attacks on linear classifiers, where the worst perturbation is known."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, claim
from deeptheory.lab.pictures import Curves, Line, Plane, Row
from deeptheory.robustness.attacks import as_it_is, ascend, fast_gradient_sign, targeted_gradient
from deeptheory.robustness.linear_classifiers import halfspace_radius
from deeptheory.robustness.minimal_perturbations import nearest_in_polyhedron
from deeptheory.robustness.threats import Threat, dual_order, nearest_allowed

ORDERS = (1.0, 2.0, np.inf)
NAMES = ("ℓ1", "ℓ2", "ℓ∞")


def norms(vectors, orders=ORDERS):
    return np.stack([np.linalg.norm(vectors, order, axis=-1) for order in orders])


@claim(
    items={
        "A18.1": "answers that stay",
        "A18.2": "margin left by projected ascent",
        "A18.4": "lead of a given label",
        "L12.2": ("margin left by projected ascent", "least perturbation that flips"),
        "L12.3": "margin left by projected ascent",
        "L12.4": "margin left by one sign step",
        "H2.1": "least perturbation that flips",
        "H2.2": "margin left by one sign step",
    },
    says=r"Over $\|\delta\|_p\le\epsilon$ the margin of a linear classifier falls to $y(w\cdot x+b)-\epsilon\|w\|_q$, "
    r"$\frac1p+\frac1q=1$; projected ascent ends there, for $p=\infty$ one sign step does. The answer flips at "
    r"$\epsilon=|w\cdot x+b|/\|w\|_q$; towards $y'$ the lead grows by $\epsilon\|w_{y'}-w_y\|_q$.",
    needs="a linear classifier, p one of 1, 2, ∞, no box",
    full=dict(points=400),
    symbols={
        r"\delta": "the perturbation",
        "p, q": "the order of its norm, and the dual order",
        r"\epsilon": "how long it may be",
        "y": "the label, 1 or −1",
        "w, b": "the classifier, the sign of $w\\cdot x+b$",
        "y'": "the label that a targeted attack wants, $w_y$ being the weights of a label's logit",
    },
    why=r"What a perturbation takes from the margin is $w\cdot\delta$ up to sign, and the largest inner product with "
    r"vectors of length $\epsilon$ is by definition $\epsilon$ times the dual norm: all coordinates at the wall for "
    r"$p=\infty$, along $w$ for $p=2$, one coordinate for $p=1$. The gradient is the same everywhere, so ascent with "
    "projections can only end at the maximum. The difference of two cross-entropies is a difference of two logits, "
    "since their normalising sums cancel.",
    notice="On the left the steps leave the ball and are put back at its nearest point; they slide along the boundary "
    "to where it is perpendicular to the gradient. On the right, of balls of one radius the one of the largest entry "
    "is the largest: in it most answers are lost.",
    explore={"epsilon": (0.1, 0.3, 0.6, 1.0)},
)
def worst_perturbations_of_linear_classifiers(
    key,
    *,
    points: Annotated[int, Interval(ge=50, le=1000)] = 100,
    epsilon: Annotated[float, Interval(ge=0.1, le=1.0)] = 0.3,
):
    random = generator(key)
    weights, bias = random.standard_normal(12) * np.geomspace(1, 0.1, 12), 0.3
    x = random.standard_normal((points, 12))
    signs = np.where(random.random(points) < 0.5, 1.0, -1.0)
    margins = signs * (x @ weights + bias)
    radii = epsilon * np.array([1.0, 1.5, 0.5])  # another one for each norm

    def lost(z):
        return -signs * (z @ weights + bias)

    pace = 60.0 * epsilon / float(np.linalg.norm(weights))  # the gradient is y·w: each step goes far beyond every ball
    found = [
        ascend(lost, x, Threat(float(r), p), steps=30, direction=as_it_is, step_size=pace).values
        for r, p in zip(radii, ORDERS, strict=True)
    ]
    dual, own = norms(weights, [dual_order(p) for p in ORDERS]), norms(weights)
    two = np.stack([-weights / 2, weights / 2])
    step = np.asarray(fast_gradient_sign(lambda z: jnp.asarray(z) @ two.T, x, (signs > 0).astype(int), Threat(epsilon)))
    # The least perturbation by a convex problem with one constraint, which knows nothing of dual norms.
    few = x[:8]
    side = np.sign(few @ weights + bias)

    def shortest(z, s, p):
        move = nearest_in_polyhedron(-s * weights[None], s * np.array([z @ weights + bias]), p)
        return np.linalg.norm(np.asarray(move, float), p)

    least = np.array([[shortest(z, s, p) for z, s in zip(few, side, strict=True)] for p in ORDERS])
    exact = np.stack([halfspace_radius(weights, bias, few, p) for p in ORDERS])
    stay = [float(np.mean(halfspace_radius(weights, bias, x, p) > epsilon)) for p in ORDERS]
    wide = float(np.mean(halfspace_radius(weights, bias, x, 2.0) > epsilon * np.sqrt(12)))
    rows, heads = np.arange(points), random.standard_normal((4, 12))
    labels = random.integers(4, size=points)
    targets = (labels + random.integers(1, 4, size=points)) % 4
    logits = x @ heads.T
    gap = logits[rows, targets] - logits[rows, labels]
    aimed = targeted_gradient(lambda z: jnp.asarray(z) @ heads.T, x, labels, targets, Threat(epsilon), steps=5).values
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    towards = np.sign(heads[targets] - shares @ heads)  # the gradient of −ℓ(x, y′) alone
    only = gap + epsilon * np.sum(towards * (heads[targets] - heads[labels]), 1)
    along = {"order": np.array(NAMES)}
    return {
        "margin left by projected ascent": Identity(
            -np.array(found),
            margins - (radii * dual)[:, None],
            scale=20.0,
            error=1e-9,  # of 30 steps along the sphere
            along=along,
            aside={"with its own norm": margins - (radii * own)[:, None], **path(epsilon)},
        ),
        "margin left by one sign step": Identity(
            signs * (step @ weights + bias),
            margins - epsilon * np.abs(weights).sum(),
            scale=20.0,
            aside={"cauchy": margins - epsilon * np.sqrt(12) * np.linalg.norm(weights)},
        ),
        "least perturbation that flips": Identity(
            least, exact, error=1e-8, along=along, aside={"own": exact * (dual / own)[:, None]}
        ),
        "answers that stay": Chain(
            {"ℓ∞ below ℓ2": (stay[2], stay[1]), "ℓ2 below ℓ1": (stay[1], stay[0])},
            aside={"wide": wide, "x": x, "weights": weights, "bias": bias, "epsilon": epsilon},
        ),
        "lead of a given label": Identity(
            aimed,
            gap + epsilon * np.abs(heads[targets] - heads[labels]).sum(1),
            scale=50.0,
            aside={"only": only},
        ),
    }


def path(epsilon):
    """Points before and after each projection when a curved objective is climbed in a disc of the plane."""
    center, point, before, after = np.zeros(2), np.zeros(2), [], []
    for _ in range(7):
        moved = point + 0.45 * epsilon * np.array([1.0, 0.4 + 3 * (0.9 - point[1] / epsilon)]) / 2
        point = np.asarray(nearest_allowed(moved, center, Threat(epsilon, 2.0)))
        before.append(moved)
        after.append(point)
    return {"before": np.array(before), "after": np.array(after)}


@worst_perturbations_of_linear_classifiers.control("the norm itself for its dual", of="margin left by projected ascent")
def own_norm(evidence):
    return replace(evidence, right=evidence.aside["with its own norm"])


@worst_perturbations_of_linear_classifiers.control("the bound of Cauchy and Schwarz", of="margin left by one sign step")
def cauchy_schwarz(evidence):
    return replace(evidence, right=evidence.aside["cauchy"])


@worst_perturbations_of_linear_classifiers.control("divided by the norm itself", of="least perturbation that flips")
def divided_by_own_norm(evidence):
    return replace(evidence, right=evidence.aside["own"])


@worst_perturbations_of_linear_classifiers.control("the ℓ2 ball that holds the ℓ∞ ball", of="answers that stay")
def larger_ball(evidence):
    below = evidence.links["ℓ∞ below ℓ2"][0]
    return replace(evidence, links={**evidence.links, "ℓ∞ below ℓ2": (below, evidence.aside["wide"])})


@worst_perturbations_of_linear_classifiers.control("the loss of the wanted label alone", of="lead of a given label")
def wanted_alone(evidence):
    return replace(evidence, left=evidence.aside["only"])


@worst_perturbations_of_linear_classifiers.picture
def steps_and_balls(pieces):
    """Projected ascent in a disc (left) and the share of answers no perturbation of a given length changes (right)."""
    trail, stay = pieces["margin left by projected ascent"].aside, pieces["answers that stay"].aside
    before, after, epsilon = np.asarray(trail["before"]), np.asarray(trail["after"]), float(stay["epsilon"])
    angle = np.linspace(0, 2 * np.pi, 120)
    marks = [Line("the ball", epsilon * np.cos(angle), epsilon * np.sin(angle))]
    start = np.zeros(2)
    for out, back in zip(before, after, strict=True):
        marks += [
            Line("gradient step", [start[0], out[0]], [start[1], out[1]], arrow=True),
            Line("projection", [out[0], back[0]], [out[1], back[1]], arrow=True),
        ]
        start = back
    lengths = np.linspace(0, 4 * epsilon, 80)
    x, weights, bias = (np.asarray(stay[name]) for name in ("x", "weights", "bias"))
    curves = [
        Line(name, lengths, np.mean(halfspace_radius(weights, float(bias), x, p)[:, None] > lengths, axis=0))
        for name, p in zip(NAMES, ORDERS, strict=True)
    ]
    return Row(
        [Plane(marks, x="first pixel", y="second pixel"), Curves(curves, x="radius ε", y="share of answers kept")]
    )
