"""Stochastic gradient descent near a minimum: progress, noise, and three ways to be rid of the noise (lucchi 5.7)."""

import functools
import itertools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Limit, Positive, Rate, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.optimization.methods import variance_reduced
from deeptheory.optimization.noise_moments import (
    least_squares_solution,
    sgd_distances,
    sgd_plateau,
    variance_reduced_distances,
)
from deeptheory.optimization.runs import averaged_positions, trajectory

EVERY = 3
"""steps between two snapshots"""


@functools.partial(jax.jit, static_argnames="corrected")
def runs_on_all_paths(features, labels, start, rates, paths, *, corrected=False):
    """Positions, their averages, and the gradients of all examples there, for each sequence of examples."""

    def loss(x, picked):
        return jnp.mean((features[picked] @ x - labels[picked]) ** 2) / 2

    def whole(x):
        return jnp.mean((features @ x - labels) ** 2) / 2

    method = variance_reduced(rates[0], function=whole, every=EVERY) if corrected else optax.sgd(lambda k: rates[k])

    def run(path):
        states = trajectory(loss, method, start, steps=len(path), batches=path)
        single = jax.vmap(lambda x: jax.vmap(lambda i: jax.grad(loss)(x, i))(jnp.arange(len(labels))))(states.position)
        return states.position, averaged_positions(states), single

    return jax.vmap(run)(paths)


@jax.jit
def moments_of(features, labels, start, schedules, sizes):
    """Mean squared distances under several schedules, corrected ones under a constant step, and plateaus."""
    plain = jax.vmap(lambda rates: sgd_distances(features, labels, start, rates))(schedules)

    def corrected(size):
        steps = schedules.shape[1]
        return variance_reduced_distances(features, labels, start, step_size=size, every=EVERY, steps=steps)

    plateaus = jax.vmap(lambda size: jnp.trace(sgd_plateau(features, labels, step_size=size)))(sizes)
    return plain, jax.vmap(corrected)(sizes[:1]), plateaus


@claim(
    items={
        "L5.20": (
            "distance step by step, over all paths",
            "progress and variance",
            "plateau along the step",
            "size of the plateau",
            "averaged iterates",
            "decreasing steps",
            "reduced variance",
        )
    },
    says=r"$E\|x_{k+1}-x^*\|^2-E\|x_k-x^*\|^2=-2\eta_kE(x_k-x^*)^\top\nabla f(x_k)+\eta_k^2E\|\nabla f_i(x_k)\|^2$. On "
    r"least squares a constant step ends on a plateau, $\frac\eta2\mathrm{tr}(H^{-1}\Sigma)$ for small $\eta$; its "
    r"averages and $\eta_k\propto1/k$ fall like $1/k$ instead, and gradients corrected at a snapshot geometrically.",
    needs="one example a step, drawn uniformly; steps small enough for second moments to settle",
    symbols={
        "x_k, x^*": "the point after $k$ steps, and the minimizer",
        r"\eta_k": r"the step size, $\eta$ where it is constant",
        "f_i, f": "the loss of the example drawn, and the mean over all",
        "H": "the Hessian of $f$",
        r"\Sigma": r"the covariance of the gradients $\nabla f_i(x^*)$",
    },
    why=r"Write out the square of $x_k-\eta_k\nabla f_i(x_k)-x^*$: the cross term is progress, since the mean gradient "
    r"points away from $x^*$, the square of the gradient is what noise adds. Near $x^*$ progress shrinks with the "
    r"distance and noise does not, so they balance where the squared distance is of order $\eta$. Averages cancel "
    r"noise of changing sign; steps $1/k$ let noise die out but still add up to infinity; a correction that removes "
    r"noise in proportion to the distance leaves no balance but zero.",
    notice="On the left, the run with a constant step stops at its plateau; its averages, and the run with falling "
    "steps, go on along a line of slope minus one; the corrected run drops off. On the right, the plateau over the "
    r"step: for small steps the dots settle on the line $\frac\eta2\mathrm{tr}(H^{-1}\Sigma)$. The larger the residual "
    "that no fit removes, the more the gradients differ at the minimizer, and the higher the plateau.",
    explore={"residual": (0.5, 1.0, 2.0)},
)
def noise_and_three_remedies(
    key, *, residual: Positive = 1.0, horizon: Annotated[int, Interval(ge=1024, le=65_536)] = 8192
):
    random = generator(key)
    count, steps = 3, 5
    features, start = random.uniform(0.5, 1.0, (count, 2)) * [[1, -1], [1, 1], [-1, 1]], np.array([1.5, -1.0])
    # Labels off any fit: residuals are proportional to the one vector that no weights can reach.
    off = np.linalg.svd(features)[0][:, -1]
    labels = features @ random.standard_normal(2) + residual * off
    solution = np.asarray(least_squares_solution(features, labels))
    curvature = features.T @ features / count
    steep, flat = np.linalg.eigvalsh(curvature)[[-1, 0]]
    paths = jnp.asarray(list(itertools.product(range(count), repeat=steps)))
    sizes = 0.3 * 0.5 ** np.arange(6)
    falling = 4 / flat / (np.arange(horizon) + 8 * steep / flat)
    schedules = np.stack([*np.broadcast_to(sizes[:3, None], (3, horizon)), falling])
    exact, sharp, plateaus = jax.tree.map(np.asarray, moments_of(features, labels, start, schedules, sizes))

    seen, changes, terms, variance_only = [], [], [], []
    for rates, corrected in ((schedules[0, :steps], False), (falling[:steps], False), (schedules[0, :steps], True)):
        where, means, single = map(
            np.asarray, runs_on_all_paths(features, labels, start, rates, paths, corrected=corrected)
        )
        away = where - solution
        square = np.sum(away**2, 2).mean(0)
        seen.append(square)
        if corrected:
            continue
        seen.append(np.sum((means - solution) ** 2, 2).mean(0))
        gradient, mean_square = single[:, :-1].mean(2), np.sum(single[:, :-1] ** 2, 3).mean((0, 2))
        progress = -2 * rates * np.sum(away[:, :-1] * gradient, 2).mean(0)
        changes.append(np.diff(square))
        terms.append(progress + rates**2 * mean_square)
        variance_only.append(progress + rates**2 * (mean_square - np.sum(gradient**2, 2).mean(0)))
    stated = [exact.iterate[0], exact.average[0], exact.iterate[3], exact.average[3], sharp[0]]

    noise = (features * (labels - features @ solution)[:, None] ** 2).T @ features / count
    small = np.trace(np.linalg.solve(curvature, noise)) / 2
    times = np.unique(np.geomspace(1, horizon, 200).astype(int))
    late = horizon // 2 ** np.arange(4)[::-1]
    passes = 128 * 2 ** np.arange(4)  # once the flat direction alone is left, whatever the start and the examples were
    lost = -np.log(sharp[0, passes] / sharp[0, 0])
    paths_of = dict(zip(("constant", "average", "falling", "corrected"), np.array(stated)[[0, 1, 2, 4]], strict=True))
    return {
        "distance step by step, over all paths": Identity(
            np.array(seen),
            np.array(stated)[:, : steps + 1],
            size=len(paths) * count,
            along={
                "run": ["constant step", "its averages", "falling steps", "their averages", "corrected"],
                "step": np.arange(steps + 1),
            },
        ),
        "progress and variance": Identity(
            np.array(changes),
            np.array(terms),
            scale=np.max(seen),
            size=len(paths) * count,
            along={"steps": ["constant", "falling"], "step": np.arange(steps)},
            aside={"variance": np.array(variance_only)},
        ),
        "plateau along the step": Identity(
            exact.iterate[:3, -1],
            plateaus[:3],
            error=1e-9,
            along={"step size": sizes[:3]},
        ),
        "size of the plateau": Limit(
            1 / sizes, np.abs(plateaus / sizes / small - 1), order=1.0, aside={"plateau": plateaus, "small": small}
        ),
        # What the start has left in the average falls like 1/k².
        "averaged iterates": Rate(late, exact.average[0, late], exponent=-1.0, rivals=(-0.5, -2.0), order=1.0),
        "decreasing steps": Rate(late, exact.iterate[3, late], exponent=-1.0, rivals=(-0.5, -2.0), order=1.0),
        # A geometric fall is a logarithm in proportion to the number of steps.
        "reduced variance": Rate(
            passes,
            lost,
            exponent=1.0,
            rivals=(0.0, 0.5),
            order=1.0,
            aside={"times": times} | {name: path[times] for name, path in paths_of.items()},
        ),
    }


@noise_and_three_remedies.control("the variance for the mean square of the gradient", of="progress and variance")
def variance_for_square(evidence):
    return replace(evidence, right=evidence.aside["variance"])


@noise_and_three_remedies.control("averages that count one step more", of="distance step by step, over all paths")
def one_more(evidence):
    right = np.array(evidence.right)
    step = evidence.along["step"][1:]
    right[[1, 3], 1:] *= (step / (step + 1)) ** 2
    return replace(evidence, right=right)


@noise_and_three_remedies.control("ηtr(H⁻¹Σ), without the half", of="size of the plateau")
def whole_trace(evidence):
    size = 1 / evidence.x
    return replace(evidence, y=np.abs(evidence.aside["plateau"] / size / evidence.aside["small"] / 2 - 1))


@noise_and_three_remedies.control("a plateau that does not depend on the step", of="plateau along the step")
def one_plateau(evidence):
    return replace(evidence, right=np.full_like(evidence.right, evidence.right[0]))


@noise_and_three_remedies.picture
def four_runs(pieces):
    """Mean squared distance to the minimizer of four runs by step (left), and the plateau by step size (right)."""
    paths, plateau = pieces["reduced variance"].aside, pieces["size of the plateau"]
    names = {
        "constant": "constant step",
        "average": "its averages",
        "falling": "steps like 1/k",
        "corrected": "corrected at snapshots",
    }
    runs = [Line(name, paths["times"], paths[which]) for which, name in names.items()]
    size = 1 / plateau.x
    floor = [
        Dots("plateau", size, plateau.aside["plateau"]),
        Line("(η/2) tr H⁻¹Σ", size, size * plateau.aside["small"]),
        Line("(η/2) tr H⁻¹Σ", size, 2 * size * plateau.aside["small"], rival="without the half"),
    ]
    return Row(
        [
            Curves(
                [*runs, Level("plateau", y=float(plateau.aside["plateau"][0]))],
                x="step k",
                y="mean squared distance",
                log="xy",
                ys=(1e-8, 10),
            ),
            Curves(floor, x="step size η", y="plateau", log="xy"),
        ]
    )
