"""What is left of gradient flow on separable data when its growth is taken off: bounded, with a limit from the duals.

jagannath 4, lucchi 11. The flow is followed in s = log t, as in `max_margin`.
"""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np

from deeptheory.claims.implicit_bias.max_margin import SOLVER, Datasets, Dimension, LogTime, Points, drawn, settled
from deeptheory.foundations.margin_losses import EXPONENTIAL, LOGISTIC, polynomial_tail
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.separable import (
    logarithmic_flow,
    max_margin,
    residual_decay,
    residual_forces,
    residual_limit,
)
from deeptheory.lab import Bounded, Chain, Identity, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Line

LOSSES = {"exponential": EXPONENTIAL, "logistic": LOGISTIC, "polynomial": polynomial_tail(2.0)}
TOY = np.array([[1.5, 0.5], [0.5, 1.5], [2.0, 2.0], [3.0, 1.0], [1.0, 3.0], [2.5, 2.0]])
NEAR = np.array([[1.0, 2.0], [1.0, -1.5], [1.3, 0.4]])  # here a point of margin 1.3 decides
DEGENERATE = np.array([[1.0, 0.0], [1.0, 1.0], [3.0, 1.0]])  # the second point has margin 1 and dual weight 0


def approach(points, **prediction):
    """How the residual comes to its limit along the support vectors, over nine e-folds of the predicted rate."""
    solution = max_margin(points)
    times = np.append(0.0, np.linspace(7, 16, 7) / min(residual_decay(points, solution)))
    # The error falls to e^(−16), below what the usual tolerance leaves.
    path = logarithmic_flow(points, times, start=np.linspace(0, 1, points.shape[1]), tolerance=1e-12)
    error = path - np.outer(times, solution.vector) - residual_limit(points, solution)
    return Rate(np.exp(times[1:]), np.linalg.norm(error[1:] @ points[solution.support].T, axis=1), **prediction)


@claim(
    items={
        "J4.6": "length of the residual",
        "L11.8": ("length of the residual", "growth of the weights", "start does not matter"),
    },
    says=r"On almost all separable data the gradient flow of an exponential-tailed loss is "
    r"$w(t)=\hat w\log t+\rho(t)$ with $\hat w$ the max-margin vector and $\rho$ bounded, from any start.",
    needs="linearly separable; every support vector has a positive dual weight; exponential tail",
    full=dict(datasets=40),
    symbols={
        r"w(t)": "the weights at time $t$ of the gradient flow",
        r"\hat w": r"the max-margin vector: the shortest with $\langle\hat w,\bar x_i\rangle\ge1$ for all $i$, where "
        r"$\bar x_i$ is point $i$ times its label",
        r"\rho(t)": "the residual, what is left when the growth is taken off",
    },
    why=r"Once all points are on the right side the loss is a sum of $e^{-\langle w,\bar x_i\rangle}$, and only the "
    "points of least margin still count. So the gradient is a combination of support vectors with positive weights, "
    r"which is how the max-margin vector is built too. With $w=\hat w\log t+\rho$ their terms are "
    r"$e^{-\langle\rho,\bar x_i\rangle}/t$, just what is needed to make $\hat w\log t$ grow: the rest settles.",
    notice=r"The weights grow in proportion to $\log t$ while the residual stays where it is. Time runs to "
    "$e^{1000}$, far beyond any number of steps.",
    explore={"data": ("generic", "degenerate"), "dimension": (2, 5, 10)},
)
def separable_residual_is_bounded(
    key,
    *,
    datasets: Datasets = 6,
    count: Points = 30,
    dimension: Dimension = 5,
    horizon: LogTime = 1000.0,
    loss: Literal["logistic", "exponential", "polynomial"] = "logistic",
    data: Literal["generic", "degenerate"] = "generic",
):
    sets = drawn(key, datasets, count, dimension) if data == "generic" else [DEGENERATE]
    halvings = 2.0 ** -np.arange(6, -1, -1)
    random, sizes, lengths, slopes, norms, apart = generator(jax.random.fold_in(key, 1)), [], [], [], [], []
    expected = []
    for points in sets:
        solution = max_margin(points)
        end = settled(points, solution, horizon) if data == "generic" and loss != "polynomial" else horizon
        times = np.append(0.0, end * halvings)
        starts = np.zeros(points.shape[1]), random.normal(0, 3, points.shape[1])
        one, other = (logarithmic_flow(points, times, start=start, loss=LOSSES[loss])[1:] for start in starts)
        residual = one - np.outer(times[1:], solution.vector)
        sizes.append(np.linalg.norm(residual, axis=1))
        lengths.append(np.linalg.norm(one, axis=1))
        along = one @ solution.vector * solution.margin**2
        slopes.append((along[-1] - along[-2]) / (times[-1] - times[-2]))
        norms.append(1 / solution.margin)
        # Data sets run to different ends: what they are expected to reach is averaged like what they do.
        expected.append([times[1:] / solution.margin, times[1:] / solution.margin**2])
        apart.append((other[-1] - one[-1]) @ points[solution.support].T)
    return {
        "length of the residual": Bounded(
            horizon * halvings,
            np.mean(sizes, axis=0),
            error=SOLVER,
            aside={"lengths": np.mean(lengths, axis=0), "expected": np.mean(expected, axis=0)},
        ),
        "growth of the weights": Identity(np.array(slopes), 1.0, error=SOLVER, aside={"lengths": np.asarray(norms)}),
        "start does not matter": Identity(np.concatenate(apart), 0.0, scale=1.0, error=SOLVER),
    }


separable_residual_is_bounded.control(
    "a support vector of dual weight 0", of="length of the residual", data="degenerate"
)
separable_residual_is_bounded.control(
    "a polynomial tail", of="length of the residual", loss="polynomial", horizon=40.0, datasets=1
)


@separable_residual_is_bounded.control("a slope of 1/γ, the margin taken for its square", of="growth of the weights")
def margin_for_its_square(evidence):
    return replace(evidence, right=evidence.aside["lengths"])


@separable_residual_is_bounded.picture
def growth_and_residual(pieces):
    """Length of the weights and of the residual w − ŵ log t against log t, means over data sets."""
    found = pieces["length of the residual"]
    expected, rival = np.asarray(found.aside["expected"])
    marks = [
        Line("weights", found.x, expected),
        Dots("weights", found.x, found.aside["lengths"]),
        Line("", found.x, rival, rival="γ² for γ"),
        Line("residual", found.x, found.y),
        Dots("residual", found.x, found.y),
    ]
    return Curves(marks, x="logarithm of the time t", y="length of the vector", log="xy")


def largest_pushes():
    """d(½|r|²)/ds of the exact equation of motion, at the residual for which a point beyond the margin pushes most.

    One support vector e₁ and one point (ψ, height): r is orthogonal to the first and has ⟨r, x⟩ = 1 with the second.
    The velocity is written out from the flow itself, not from the split of the proof.
    """
    pushed, bound, slacks = [], [], []
    for psi, height, s in ((1.3, 0.7, 2.0), (2.0, -1.5, 1.0), (1.1, 3.0, 6.0), (4.0, 0.5, 0.3)):
        points = np.array([[1.0, 0.0], [psi, height]])
        limit = np.array([np.log(0.5), 0.0])  # weight · exp(−⟨w̃, e₁⟩) = α = 1, with weight 1/2
        residual = np.array([0.0, 1 / height])
        w = np.array([s, 0.0]) + limit + residual
        velocity = np.exp(s) * 0.5 * np.exp(-points @ w) @ points - np.array([1.0, 0.0])
        pushed.append(residual @ velocity)
        bound.append(np.exp(-(psi - 1) * s) * 0.5 * np.exp(-points[1] @ limit))
        slacks.append((psi - 1) * s)
    return np.array(pushed), np.array(bound), np.array(slacks)


@claim(
    items={
        "J4.8": "limit of the residual",
        "J4.9": ("links of the proof", "largest push of one point"),
        "L11.9": ("limit of the residual", "approach by curvature", "approach by slack", "links of the proof"),
    },
    says=r"Along the support vectors the residual has the limit $\tilde w$ with "
    r"$e^{-\langle\tilde w,\bar x_i\rangle}=n\alpha_i$, $\alpha$ the dual weights, and approaches it like "
    r"$t^{-\kappa}$, $\kappa$ the smaller of the least eigenvalue of $\sum\alpha_i\bar x_i\bar x_i^\top$ on their span "
    r"and the slack $\theta-1$ of the next point.",
    needs="mean exponential loss; linearly independent support vectors, all of positive dual weight",
    full=dict(datasets=40),
    symbols={
        r"\tilde w": "the limit of the residual along the support vectors",
        r"\bar x_i": "a point times its label",
        r"n": "the number of points",
        r"\alpha_i": r"the dual weights: the max-margin vector is $\hat w=\sum_i\alpha_i\bar x_i$",
        r"\kappa": "the rate at which the residual comes to its limit",
        r"\theta": "the least margin among the points that are not support vectors, in units where those have 1",
    },
    why=r"In the time $s=\log t$ the residual obeys $\dot\rho=\frac1n\sum_ie^{-\langle\rho,\bar x_i\rangle}\bar "
    r"x_i-\hat w$ over the support vectors, up to terms $e^{-(\theta-1)s}$ of the other points. It rests where the "
    "weights of the points are the dual weights. Linearised there, its modes decay with the eigenvalues of "
    r"$\sum_i\alpha_i\bar x_i\bar x_i^\top$; the slower of these and of the disturbance decides.",
    notice=r"Two data sets on straight lines whose slopes are known beforehand: one held back by the curvature, at "
    r"$t^{-1/4}$, the other by a point just beyond the margin, at $t^{-0.3}$.",
)
def residual_limit_follows_from_the_duals(
    key,
    *,
    datasets: Datasets = 6,
    count: Points = 30,
    dimension: Dimension = 5,
    horizon: LogTime = 1000.0,
):
    early, ratios, sizes, links = np.linspace(0.5, 6, 12), [], [], []
    for points in [*drawn(key, datasets, count, dimension), TOY]:
        solution = max_margin(points)
        support, limit = solution.support, residual_limit(points, solution)
        times = np.concatenate([[0.0], early, [settled(points, solution, horizon)]])
        error = logarithmic_flow(points, times) - np.outer(times, solution.vector) - limit
        ratios.append(np.exp(-(error[-1] + limit) @ points[support].T) / solution.duals[support])
        sizes.append(np.full(support.sum(), float(len(points))))
        forces, half = residual_forces(points, solution, early, error[1:-1]), np.sum(error[1:-1] ** 2, axis=1) / 2
        # ∫ of the bound from one time to the next; beyond e⁵⁰ it says nothing and is cut off.
        slack = residual_decay(points, solution)[1]
        grown = forces.log_bound[:-1] + np.log(-np.expm1(-slack * np.diff(early)) / slack)
        links.append([forces.support, forces.share, half[1:], half[:-1] + np.exp(np.minimum(grown, 50.0))])
    shrink, share, after, allowed = (np.concatenate(part) for part in zip(*links, strict=True))
    pushed, bound, slacks = largest_pushes()
    sizes = np.concatenate(sizes)
    return {
        "limit of the residual": Identity(np.concatenate(ratios), sizes, error=SOLVER * sizes),
        "approach by curvature": approach(TOY, exponent=-0.25, resolution=0.05, rivals=(-1.0, -0.5)),
        "approach by slack": approach(NEAR, exponent=-0.3, resolution=0.05, rivals=(-1.0, -1.3)),
        "links of the proof": Chain(
            {
                "support vectors shrink the residual": (shrink, 0 * shrink),
                "the others push by at most their bound": (share, np.ones_like(share)),
                "so the residual grows by at most an integral": (after, allowed),
            },
            error=SOLVER,
        ),
        # One point beyond the margin can push by 1/e of the bound, where ⟨r, x⟩ = 1, and by no more.
        "largest push of one point": Identity(pushed * np.e, bound, error=1e-9 * bound, aside={"slack": slacks}),
    }


@residual_limit_follows_from_the_duals.picture
def approaches(pieces):
    """Distance of the residual to its limit along the support vectors, against time, for two data sets."""
    marks = []
    for name, exponent in (("curvature", -0.25), ("slack", -0.3)):
        piece = pieces[f"approach by {name}"]
        time, error = np.asarray(piece.x), np.asarray(piece.y)
        label = f"{name} decides: exponent −{-exponent:g}"
        marks += [Dots(label, time, error), Line(label, time, error[0] * (time / time[0]) ** exponent)]
    return Curves(marks, x="time t", y="distance to the limit", log="xy")


@residual_limit_follows_from_the_duals.control("a push of a quarter of the bound at most", of="links of the proof")
def quarter_of_the_bound(evidence):
    name = "the others push by at most their bound"
    share, whole = evidence.links[name]
    return replace(evidence, links={**evidence.links, name: (share, whole / 4)})


@residual_limit_follows_from_the_duals.control(
    "a push that falls with the square root of time", of="largest push of one point"
)
def half_the_slack(evidence):
    return replace(evidence, right=evidence.right * np.exp(evidence.aside["slack"] / 2))


@residual_limit_follows_from_the_duals.control("the sample size left out", of="limit of the residual")
def without_sample_size(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@residual_limit_follows_from_the_duals.control("a step size of 0.1 in the flow", of="limit of the residual")
def with_step_size(evidence):
    return replace(evidence, right=evidence.right / 0.1)
