"""Gradient flow on homogeneous models ends in first-order points of the margin, not always the best of them.

arora 8.4, lucchi 11.1.2.
"""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from jax.flatten_util import ravel_pytree

from deeptheory.foundations.margin_losses import LOGISTIC
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.homogeneous import first_order_residual
from deeptheory.implicit_bias.homogeneous_training import homogeneous_flow
from deeptheory.implicit_bias.separable import max_margin
from deeptheory.lab import Identity, Inequality, Limit, Reals, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row

SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
CROSSED = np.array([[1.5, 1.2], [-1.2, -2.0], [1.0, -1.4], [-2.2, 2.5], [2.5, 2.0], [-1.0, 1.6]])
"""Two data sets that no line separates: the label of a point is the sign of the product of its coordinates."""
FOLLOWED = 1e-12
"""How well the flow is followed: shares of the loss magnify an error of the direction by the square of the length."""


def squares(points, weights):
    """Signed outputs of a net of four squares, two added and two subtracted: smooth, of degree 2 in its weights."""
    return np.sign(points[:, 0] * points[:, 1]) * (jnp.square(points @ weights.T) @ SIGNS)


def crossed_margins(weights):
    return squares(CROSSED, weights)


def corner_margins(weights):
    return squares(CORNERS, weights)


def gradients_by_hand(direction):
    """Of the outputs (not signed) at the crossed points, in all weights: 2 aⱼ⟨wⱼ, x⟩x."""
    slopes = 2 * SIGNS * (CROSSED @ direction.reshape(4, 2).T)
    return (slopes[:, :, None] * CROSSED[:, None, :]).reshape(len(CROSSED), -1)


def sine(direction, force):
    cosine = direction @ force / np.linalg.norm(direction) / np.linalg.norm(force)
    return np.sqrt(max(0.0, 1 - cosine**2))


@claim(
    items={
        "A8.36": ("first-order condition along the flow", "first-order point at the end", "margin of the corners"),
        "A8.37": ("gradient off the limit", "gradient where the bound is attained", "share of the other points"),
    },
    says=r"Gradient flow on $\sum_ie^{-y_if_i(w)}$, $f_i$ smooth of degree $\alpha$, comes to a direction $\bar w$ "
    r"along $\sum_i\lambda_iy_i\nabla f_i(\bar w)$, $\lambda_i>0$ only on points of least margin. On the way "
    r"$|\nabla f_i(w_t)-\nabla f_i(g_t\bar w)|\le Bg_t^{\alpha-1}|\delta_t|$; other points lose their share of the "
    r"loss.",
    needs="the direction and the shares of the loss have limits",
    symbols={
        r"f_i": "the output at point $i$ with label $y_i$, as a function of the weights $w$",
        r"\alpha": r"the degree: $f_i(cw)=c^\alpha f_i(w)$; here 2",
        r"\bar w": "the limit of the direction, of length 1",
        r"\lambda_i": "multipliers",
        r"g_t,\delta_t": r"length of the weights and error of the direction: $w_t=g_t(\bar w+\delta_t)$",
        r"B": r"the largest norm of the second derivative of $f_i$ at unit weights",
    },
    why=r"The velocity of the flow is $\sum_ie^{-y_if_i}y_i\nabla f_i$. As the weights grow, points of larger margin "
    r"fade like $e^{-g^\alpha(m_i-m)}$, so it is made of the gradients of the nearest points, with positive weights. A "
    "direction that settles must be the direction of its own velocity: that is the first-order condition, labels "
    "included.",
    notice="Margins from several random starts on the four corners: all come to 1, the best there is, when the weights "
    "have grown by a factor of a few hundred; the loss is then far below the smallest number.",
)
def homogeneous_flow_ends_at_first_order(key, *, starts: Annotated[int, Interval(ge=1, le=8)] = 3):
    random = generator(key)
    lengths = np.append(0.0, np.linspace(3, 7, 9))
    near = lengths[:7]  # beyond, margins are as close to the best as the flow is to its path
    condition, unsigned, ends, corners, gaps, shares = [], [], [], [], [], []
    bent, bound, met = [], [], []
    for _ in range(starts):
        start = 0.2 * random.standard_normal((4, 2))
        run = homogeneous_flow(crossed_margins, start, lengths, degree=2.0, tolerance=FOLLOWED)
        signs = np.sign(CROSSED[:, 0] * CROSSED[:, 1])
        pairs = list(zip(run.directions[1:], run.shares[1:], strict=True))
        condition.append([sine(v, (p * signs) @ gradients_by_hand(v)) for v, p in pairs])
        unsigned.append([sine(v, p @ gradients_by_hand(v)) for v, p in pairs])
        limit = run.directions[-1]
        ends.append(first_order_residual(crossed_margins, limit.reshape(4, 2), degree=2.0).residual)
        corners.append(homogeneous_flow(corner_margins, start, near, degree=2.0, tolerance=FOLLOWED).margin)
        outside = run.margins[-1] > 1.01 * run.margin[-1]
        log_share = np.log(run.shares[1:5, outside].sum(1)) / np.exp(2 * run.log_norms[1:5])
        gap = run.margins[-1][outside].min() - run.margin[-1]
        shares.append(np.abs(log_share / gap + 1))
        gaps.append(np.abs(log_share / run.margins[-1][outside].min() + 1))
        for deviation in (run.directions[1] - limit, random.standard_normal(8), np.tile(CROSSED[0], 4)):
            size = np.exp(run.log_norms[1])
            change = gradients_by_hand(size * (limit + deviation)) - gradients_by_hand(size * limit)
            bent.append(np.linalg.norm(change, axis=1))
            bound.append(2 * np.sum(CROSSED**2, axis=1) * size * np.linalg.norm(deviation))
        met.append((bent[-1][0], bound[-1][0]))  # the deviation along the point itself, in every square
    grown, (left, right) = np.exp(2 * lengths), np.transpose(met)
    return {
        "first-order condition along the flow": Limit(
            np.sqrt(grown[1:]), np.max(condition, axis=0), order=1.0, aside={"unsigned": np.max(unsigned, axis=0)}
        ),
        # What is left of the direction at this length of the path.
        "first-order point at the end": Identity(np.array(ends), 0.0, scale=1.0, error=np.exp(-lengths[-1])),
        "margin of the corners": Limit(
            grown[1:7], np.max(np.abs(1 - np.array(corners)[:, 1:]), axis=0), order=1.0,
            aside={"margins": np.array(corners), "lengths": near},
        ),
        "gradient off the limit": Inequality(np.array(bent), np.array(bound), error=1e-9),
        "gradient where the bound is attained": Identity(left, right, error=1e-10 * right, aside={"half": right / 2}),
        "share of the other points": Limit(
            grown[1:5], np.max(shares, axis=0), order=0.5, aside={"whole": np.max(gaps, axis=0)}
        ),
    }  # fmt: skip


@homogeneous_flow_ends_at_first_order.control("the labels left out", of="first-order condition along the flow")
def labels_left_out(evidence):
    return replace(evidence, y=evidence.aside["unsigned"])


@homogeneous_flow_ends_at_first_order.control("a best margin of √2 / 2", of="margin of the corners")
def smaller_best(evidence):
    return replace(evidence, y=np.max(np.abs(np.sqrt(0.5) - evidence.aside["margins"][:, 1:]), axis=0))


@homogeneous_flow_ends_at_first_order.control("B a half of it", of="gradient where the bound is attained")
def half_the_bound(evidence):
    return replace(evidence, right=evidence.aside["half"])


@homogeneous_flow_ends_at_first_order.control(
    "shares that fall with the margin, not with its excess", of="share of the other points"
)
def whole_margin(evidence):
    return replace(evidence, y=evidence.aside["whole"])


@homogeneous_flow_ends_at_first_order.picture
def margins_of_the_corners(pieces):
    """Normalized margin against the growth of the weights, from random starts, on the corners of a square."""
    seen = pieces["margin of the corners"].aside
    marks: list[Any] = [Line(f"start {i + 1}", seen["lengths"], each) for i, each in enumerate(seen["margins"])]
    marks.append(Level("best margin", y=1.0))
    return Curves(marks, x="length of the path, in units of the weights", y="normalized margin")


def relu_margins(points, labels):
    """Signed outputs of a net with one layer of ReLUs and biases in it: degree 2 in its weights."""
    return lambda w: labels * (jax.nn.relu(points @ w["in"].T + w["bias"]) @ w["out"])


@claim(
    items={"L11.13": ("margin at the end", "smoothed margin never falls", "first-order point at the end")},
    says=r"Gradient flow on a homogeneous ReLU network comes to a first-order point of $\min\frac12|\theta|^2$ subject "
    r"to $y_if(\theta;x_i)\ge1$, once $L<\frac1n$ (exponential loss), with $-\log(nL)/|\theta|^2$ never falling. On "
    r"orthogonally separable data its margin is $1/(2|\hat w_+|+2|\hat w_-|)$.",
    needs="exponential loss; for the value: ⟨x, x′⟩ > 0 within and < 0 between the classes, bias input included; units "
    "that look to their own class",
    symbols={
        r"\theta": r"all weights of the net $f(\theta;x)=\sum_jv_j\max(0,\langle w_j,x\rangle+b_j)$",
        r"x_i,y_i": "the points and their labels",
        r"L": "the mean loss of the $n$ points",
        r"\hat w_\pm": "the max-margin vector of one class alone, against the origin, with a constant added to the "
        "inputs",
    },
    why=r"The margin cannot fall because the loss decreases fastest for the growth it costs: growth of $|\theta|$ "
    "comes from the component of the gradient along the weights, and any other component turns them towards larger "
    "margins. On such data every unit ends up with one class, where it is a linear machine; units of a class line up "
    r"with its max-margin vector, and a product $v\cdot w$ of size $|\hat w|$ costs least, $2|\hat w|$, with equal "
    r"factors.",
    notice="Margins from two random starts: both rise to the line, which is computed from two linear problems without "
    "a network.",
)
def relu_flow_comes_to_two_machines(key, *, units: Annotated[int, Interval(ge=2, le=12)] = 4):
    random = generator(key)
    labels, lengths = np.repeat([1.0, -1.0], 4), np.append(0.0, np.linspace(0.5, 8, 16))
    centre, noise = random.standard_normal(3), random.standard_normal((8, 3))
    noise *= (random.uniform(0.3, 1, 8) / np.linalg.norm(noise, axis=1))[:, None]
    # Centres three apart from zero and noise of at most one: no choice of noise breaks the hypothesis.
    points = labels[:, None] * 3 * centre / np.linalg.norm(centre) + noise
    lifted, net = np.column_stack([points, np.ones(8)]), relu_margins(points, labels)
    sizes = np.array([1 / max_margin(lifted[labels == sign]).margin for sign in (1, -1)])
    margins, before, after, cubes, ends, losses = [], [], [], [], [], []
    for _ in range(2):
        # Every unit looks towards its own class: one that sees only the other dies, and stays on its kink for ever.
        signs, tilt = np.where(np.arange(units) % 2 == 0, 1.0, -1.0), random.standard_normal((units, 3))
        tilt *= 0.8 / np.linalg.norm(tilt, axis=1, keepdims=True)
        inside = np.outer(signs * random.uniform(1.5, 2.5, units), centre / np.linalg.norm(centre)) + tilt
        out = signs * random.uniform(0.5, 1, units)
        start = {"in": inside, "bias": 0.3 * random.standard_normal(units), "out": out}
        run = homogeneous_flow(net, start, lengths, degree=2.0)
        below = run.log_losses[:-1] < 0  # a sum below 1 is a mean below 1/n
        before.append(run.smoothed[:-1][below])
        after.append(run.smoothed[1:][below])
        # As if the degree were 3: −log(nL)/|θ|³, with |θ|² = −log(nL) over the smoothed margin.
        cubed = np.abs(run.smoothed) ** 1.5 / np.abs(run.log_losses) ** 0.5
        cubes.append(np.stack([cubed[:-1][below], cubed[1:][below]]))
        margins.append(run.margin)
        losses.append(run.log_losses[-1])
        ends.append(first_order_residual(net, ravel_pytree(start)[1](run.directions[-1]), degree=2.0).residual)
    margins, best = np.array(margins), 1 / (2 * sizes.sum())
    late = margins[:, 8:]
    aside = {
        "margins": margins,
        "lengths": lengths,
        "best": best,
        "other": np.max(np.abs(1 - late * 2 * np.sqrt(2 * np.sum(sizes**2))), axis=0),
    }
    return {
        "margin at the end": Limit(np.exp(2 * lengths[8:]), np.max(1 - late / best, axis=0), order=1.0, aside=aside),
        "smoothed margin never falls": Inequality(
            np.concatenate(before),
            np.concatenate(after),
            error=1e-9,
            aside={"of degree 3": np.concatenate(cubes, axis=1)},
        ),
        "first-order point at the end": Identity(np.array(ends), 0.0, scale=1.0, error=np.exp(1 - lengths[-1])),
        "loss below 1e-30": Inequality(np.array(losses), np.full(2, -30 * np.log(10))),
    }


@relu_flow_comes_to_two_machines.control("the two classes added in squares", of="margin at the end")
def added_in_squares(evidence):
    return replace(evidence, y=evidence.aside["other"])


@relu_flow_comes_to_two_machines.control("over |θ|³, as for one layer more", of="smoothed margin never falls")
def one_layer_more(evidence):
    before, after = evidence.aside["of degree 3"]
    return replace(evidence, quantity=before, bound=after)


@relu_flow_comes_to_two_machines.picture
def rising_margins(pieces):
    """Normalized margin of a ReLU network along the flow, from two starts, and what linear problems predict."""
    seen, marks = pieces["margin at the end"].aside, []
    for i, each in enumerate(seen["margins"]):
        marks.append(Line(f"start {i + 1}", seen["lengths"], each))
    marks.append(Level("predicted", y=float(seen["best"])))
    return Curves(marks, x="length of the path, in units of the weights", y="normalized margin")


@claim(
    items={"L11.13": ""},
    says=r"A mean logistic loss below $\frac{\ln2}n$, or a mean exponential loss below $\frac1n$, means that all $n$ "
    "points are classified correctly. Neither number can be larger.",
    needs="n points, any outputs",
    over=dict(
        wrong=Reals(-3.0, 0.0),
        others=Reals(-3.0, 60.0, shape=(4,)),
        count=Reals(1.0, 5.0),
    ),
    symbols={r"n": "the number of points"},
    why=r"A point on the wrong side costs at least $\ell(0)$, which is $\ln2$ for the logistic loss and 1 for the "
    "exponential one. All other losses are positive, so with one wrong point the mean is at least that over $n$, "
    "and near it only if the point is nearly right and the others cost next to nothing.",
    notice="Mean loss times $n$ against the margin of a point that is wrong: never below the line of its own loss; the "
    "logistic loss does go below 1.",
)
def small_loss_means_all_right(wrong, others, count):
    n = jnp.floor(count)
    counted = jnp.arange(4) < n - 1
    outputs = jnp.append(wrong, others)
    kept = jnp.append(True, counted)
    logistic = jnp.where(kept, LOGISTIC.value(outputs), 0.0).sum() / n
    exponential = jnp.where(kept, jnp.exp(-outputs), 0.0).sum() / n
    return Inequality(
        jnp.stack([jnp.log(2.0), 1.0]) / n, jnp.stack([logistic, exponential]), aside={"wrong": wrong, "n": n}
    )


@small_loss_means_all_right.control("below 1/n for the logistic loss too, as printed", erratum="L11.13a")
def one_over_n(evidence):
    return replace(evidence, quantity=evidence.quantity / np.array([np.log(2), 1.0]))


@small_loss_means_all_right.picture
def losses_of_a_wrong_point(pieces):
    """Mean loss times the number of points, against the margin of one wrong point, for two losses."""
    found = pieces[""]
    wrong, total = np.asarray(found.aside["wrong"]), np.asarray(found.bound) * np.asarray(found.aside["n"])[:, None]
    levels = [Level("ln 2", y=np.log(2)), Level("", y=1.0, rival="1, as printed")], [Level("1", y=1.0)]
    return Row(
        [
            Curves(
                [Dots("observed", wrong, total[:, place]), *lines],
                x="margin of a wrong point",
                y="mean loss times n",
                log="y",
                ys=(0.5, 100),
                title=title,
            )
            for place, (title, lines) in enumerate(zip(("Logistic loss", "Exponential loss"), levels, strict=True))
        ]
    )
