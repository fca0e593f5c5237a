"""Linear networks: convex in each matrix, not in all, and without bad minima at any depth.

lucchi Sec. 6.1.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.critical_points import find_critical_points, inertia
from deeptheory.landscapes.linear_networks import (
    LinearNetworkLoss,
    best_first_matrix,
    best_second_matrix,
    bottleneck_critical_points,
    end_to_end,
    layer_gradients,
    least_squares_map,
    projected_least_squares,
)


@jax.jit
def gradient_of(function, point):
    """The gradient of a loss at flat weights."""
    return jax.grad(function)(point)


@jax.jit
def hessian_of(function, point):
    """The Hessian of a loss at flat weights."""
    return jax.hessian(function)(point)


@jax.jit
def descended(function, starts, step):
    """Losses along ten thousand steps of gradient descent from each start, every hundredth, and the last weights."""

    def run(start):
        body = lambda x, _: (jax.lax.fori_loop(0, 100, lambda _, w: w - step * jax.grad(function)(w), x),) * 2  # noqa: E731
        last, kept = jax.lax.scan(body, start, None, length=100)
        return jax.vmap(function)(jnp.concatenate([start[None], kept])), last

    return jax.vmap(run)(starts)


def flat(*weights):
    """Weights from the input on, as one vector."""
    return jnp.asarray(np.concatenate([np.ravel(each) for each in weights]))


def problem(random, inputs, outputs, samples):
    """Correlated inputs, and labels with noise that depend on them by a map of well separated singular values."""
    x = random.uniform(0.7, 1, (inputs, 1)) * np.linalg.qr(random.standard_normal((samples, inputs)))[0].T
    turns = (np.linalg.qr(random.standard_normal((size, size)))[0] for size in (inputs, outputs, inputs))
    mixing, left, right = turns
    spectrum = np.diag(np.linspace(1.5, 0.4, outputs) * random.uniform(0.95, 1.05, outputs))
    x = mixing @ x
    return x, left @ spectrum @ right[:outputs] @ x + 0.03 * random.standard_normal((outputs, samples))


@claim(
    items={
        "L6.4": ("gradients", "gradients by covariances"),
        "L6.5": ("best first matrix", "best second matrix", "alternating least squares", "not jointly convex"),
        "L6.6": "critical points project least squares",
        "L6.7": (
            "loss at critical points",
            "gradient at critical points",
            "directions down, counted",
            "where descent ends",
        ),
    },
    says=r"The critical points of $\|Y-ABX\|_F^2$ project least squares, $AB=P_A\Sigma_{yx}\Sigma_{xx}^{-1}$. "
    r"They keep a set $I$ of at most $p$ eigenvectors of $\Sigma_{yx}\Sigma_{xx}^{-1}\Sigma_{xy}$, with loss "
    r"$\mathrm{tr}\,\Sigma_{yy}-\sum_I\lambda_i$: only the largest $p$ are a minimum, all others have a way down.",
    needs="Σ_xx invertible, Σ of full rank with distinct eigenvalues, p hidden units",
    symbols={
        "X, Y": "inputs and labels, one sample a column",
        "A, B": "the second and the first matrix of the network",
        "P_A": "the projection on the columns of $A$",
        r"\Sigma_{xx}, \Sigma_{yx}, \Sigma_{yy}": r"$XX^\top$, $YX^\top$, $YY^\top$, and $\Sigma_{xy}$ the transpose",
        "I, p": "the eigenvectors kept, and the number of hidden units",
        r"\lambda_i": "the eigenvalues, from the largest",
    },
    why=r"For fixed $A$ the loss is a convex quadratic of $B$, and at its minimum $AB$ is the least-squares map seen "
    r"through the columns of $A$. What $A$ has to do is choose a subspace, and a subspace is stationary if it is "
    "spanned by eigenvectors. Turning a kept one towards a larger one that is left lowers the loss; so does waking an "
    "idle hidden unit.",
    notice="Each set of eigenvectors is a level of the loss. The more of the large ones are missing, the more ways "
    "lead down, and the only level with none is the lowest. Descent comes down from saddle to saddle and rests at "
    "that.",
)
def two_matrices_have_no_bad_minima(
    key, *, outputs: Annotated[int, Interval(ge=3, le=5)] = 4, width: Annotated[int, Interval(ge=1, le=3)] = 2
):
    random = generator(key)
    inputs = outputs + 1
    x, y = problem(random, inputs, outputs, 30)
    loss = LinearNetworkLoss(jnp.asarray(x), jnp.asarray(y), (inputs, width, outputs))
    b, a = random.standard_normal((width, inputs)), random.standard_normal((outputs, width))
    gradient = [np.asarray(each) for each in loss.weights(gradient_of(loss, flat(b, a)))]
    written = layer_gradients([b, a], x, y)
    xx, yx = x @ x.T, y @ x.T
    by_covariances = [-a.T @ (yx - a @ b @ xx), -(yx - a @ b @ xx) @ b.T]
    plus = [-a.T @ (yx + a @ b @ xx), -(yx + a @ b @ xx) @ b.T]
    ravelled = [np.concatenate([each.ravel() for each in pair]) for pair in (gradient, written, by_covariances, plus)]

    first, second = best_first_matrix(a, x, y), best_second_matrix(b, x, y)
    at_first, at_second = (
        loss.weights(gradient_of(loss, flat(first, a))),
        loss.weights(gradient_of(loss, flat(b, second))),
    )
    pair, falls = (b, a), []
    for _ in range(20):
        pair = (best_first_matrix(pair[1], x, y), pair[1])
        pair = (pair[0], best_second_matrix(pair[0], x, y))
        falls.append(float(loss(flat(*pair))))
    # (A, B) and (−A, −B) give one map; in the middle there is none.
    ends = float(loss(flat(*pair))), float(loss(flat(-pair[0], -pair[1])))

    values, listed = bottleneck_critical_points(x, y, width=width)
    # Half to twice as large: curvatures grow and shrink with the squares, and near zero their signs are not seen.
    turns = np.linalg.qr(random.standard_normal((2, len(listed), width, width)))[0]
    mixing = turns[0] * random.uniform(0.5, 2, (len(listed), 1, width)) @ turns[1]
    points = [flat(np.linalg.solve(c, each.first), each.second @ c) for c, each in zip(mixing, listed, strict=True)]
    slopes = np.array([float(jnp.linalg.norm(gradient_of(loss, point))) for point in points])
    spectra = np.stack([np.linalg.eigvalsh(np.asarray(hessian_of(loss, point))) for point in points])

    # Descent reaches minima; Newton steps on the gradient reach saddles too.
    starts = 0.5 * random.standard_normal((40, width * (inputs + outputs)))
    found = find_critical_points(loss, jnp.asarray(starts), steps=200)
    still = np.flatnonzero(np.asarray(found.slope) < 1e-10)
    maps = [[np.asarray(w) for w in loss.weights(found.position[place])] for place in still]
    runs, _ = descended(loss, jnp.asarray(0.02 * starts[:8]), 0.5)
    return {
        "gradients": Identity(ravelled[0], ravelled[1], scale=1.0, size=30),
        "gradients by covariances": Identity(ravelled[0], ravelled[2], scale=1.0, size=30, aside={"plus": ravelled[3]}),
        "best first matrix": Identity(at_first[0], 0.0, scale=1.0, size=30),
        "best second matrix": Identity(at_second[1], 0.0, scale=1.0, size=30),
        "alternating least squares": Inequality(falls[1:], falls[:-1], scale=1.0),
        "not jointly convex": Inequality(sum(ends) / 2, float(loss(jnp.zeros(len(points[0])))), scale=1.0),
        "critical points project least squares": Identity(
            np.stack([end_to_end(each) for each in maps]),
            np.stack([projected_least_squares(each[1], x, y, tolerance=1e-6) for each in maps]),
            scale=1.0,
            error=1e-6,
            aside={"whole": np.stack([least_squares_map(x, y)] * len(maps))},
        ),
        "loss at critical points": Identity(
            [float(loss(point)) for point in points],
            [(np.sum(y**2) - values[list(each.kept)].sum()) / 2 for each in listed],
            size=30,
            condition=10,
            aside={
                "kept": [len(each.kept) for each in listed],
                "eigenvalues": values,
                "index": [e.index for e in listed],
            },
        ),
        "gradient at critical points": Identity(slopes, 0.0, scale=1.0, size=30, condition=100),
        "directions down, counted": Exact(
            inertia(spectra, tolerance=1e-9)[:, 0],
            np.array([each.index for each in listed]),
            aside={
                "exchanges": [each.index - (width - len(each.kept)) * (outputs - len(each.kept)) for each in listed]
            },
        ),
        "where descent ends": Identity(
            runs[:, -1],
            (np.sum(y**2) - values[:width].sum()) / 2,
            error=1e-6,
            aside={"runs": runs, "smallest": (np.sum(y**2) - values[-width:].sum()) / 2},
        ),
    }


@two_matrices_have_no_bad_minima.control("Σ_yx + ABΣ_xx for Σ_yx − ABΣ_xx", of="gradients by covariances")
def other_sign(evidence):
    return replace(evidence, right=evidence.aside["plus"])


@two_matrices_have_no_bad_minima.control("convex in both matrices together", of="not jointly convex")
def jointly_convex(evidence):
    return replace(evidence, quantity=evidence.bound, bound=evidence.quantity)


@two_matrices_have_no_bad_minima.control(
    "the map is that of least squares, unprojected", of="critical points project least squares"
)
def unprojected(evidence):
    return replace(evidence, right=evidence.aside["whole"])


@two_matrices_have_no_bad_minima.control("idle hidden units add no way down", of="directions down, counted")
def no_idle_units(evidence):
    return replace(evidence, right=np.array(evidence.aside["exchanges"]))


@two_matrices_have_no_bad_minima.control("the smallest p are kept at the minimum", of="where descent ends")
def smallest_kept(evidence):
    return replace(evidence, right=evidence.aside["smallest"])


@two_matrices_have_no_bad_minima.picture
def levels(pieces):
    """Critical levels by the number of ways down (left); descent from near the origin, past those levels (right)."""
    values, runs = pieces["loss at critical points"], np.asarray(pieces["where descent ends"].aside["runs"])
    marks = [Dots("critical points", values.aside["index"], values.left)]
    steps = 100 * np.arange(runs.shape[1])
    ways = [Line("descent", steps, run, thin=True) for run in runs]
    ends = steps[[0, -1]]
    lines = [
        Line("critical levels", ends, np.full(2, level), thin=True) for level in np.unique(np.round(values.left, 9))
    ]
    return Row(
        [
            Curves(marks, x="ways down (Morse index)", y="loss"),
            Curves([*ways, *lines], x="step", y="loss"),
        ]
    )
