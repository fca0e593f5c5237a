"""Among all solutions of an underdetermined problem, gradient methods find the one nearest to where they start.

arora 8.1, handbook 12.1 and 12.2, jagannath Example 4.1 and Lemma 4.2, lucchi Theorem 71 and Figure 11.2.
"""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.linalg
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.auditor import selected
from deeptheory.implicit_bias.least_squares import descent_iterate, nearest_solution, unseen_projection
from deeptheory.lab import Exact, Identity, assume, claim
from deeptheory.lab.pictures import Dots, Line, Plane

RUNS = (
    "constant steps",
    "shrinking steps",
    "random steps",
    "heavy ball",
    "one sample a step",
    "log cosh of the errors",
)
TIMES = np.array([0, 1, 2, 5, 20, 60])


def descended(design, labels, starts, step, steps):
    """Gradient descent on the mean of squares (1/n)‖Xw − y‖² from several starts: all iterates, times first."""
    weights, path = np.array(starts), []
    for _ in range(steps + 1):
        path.append(weights)
        weights = weights - 2 * step / len(labels) * (weights @ design.T - labels) @ design
    return np.array(path)


def ended(design, labels, starts, random, step, steps):
    """Where the runs of `RUNS` end from every start, in one compiled call, and where Adam does."""
    count, period = len(labels), 64
    rates = step * np.ones((len(RUNS), period))
    rates[2] = step * random.uniform(0.1, 1.5, period)
    weights = np.ones((len(RUNS), period, count))
    # One sample a step: its error counts n times, in an order drawn anew for every turn, with a step that suits it.
    orders = np.array([random.permutation(count) for _ in range(period // count + 1)]).ravel()[:period]
    weights[4] = count * np.eye(count)[orders]
    rates[4] = 0.9 / count / np.max(np.sum(design**2, 1))
    shrinking = (np.arange(len(RUNS)) == 1) * 0.3
    momentum = (np.arange(len(RUNS)) == 3) * 0.8
    hyperbolic = (np.arange(len(RUNS)) == 5) * 1.0

    def run(start, rate, share, decay, friction, cosh):
        def loss(w, share=1.0):
            error = design @ w - labels
            # log cosh e as log(1 + 2 sinh²(e/2)): cosh of an error below 1e-8 is 1 in floating point.
            return jnp.sum(share * ((1 - cosh) * error**2 / 2 + cosh * jnp.log1p(2 * jnp.sinh(error / 2) ** 2)))

        def schedule(t):
            return rate[t % period] / (1 + decay * jnp.log1p(t))

        method = optax.sgd(schedule, momentum=friction)
        return selected(method, loss, start, steps=steps, tolerance=1e-25, draws=share, drawn=loss)

    per_run = jax.vmap(run, in_axes=(None, 0, 0, 0, 0, 0))
    found = jax.jit(jax.vmap(per_run, in_axes=(0, None, None, None, None, None)))(
        starts, rates, weights, shrinking, momentum, hyperbolic
    )
    return np.asarray(found.point), np.asarray(found.fitted)


def signed(design, labels, start, steps):
    """Descent by the signs of the gradient, steps falling like 1/t: it leaves the span of the rows."""
    weights = np.array(start)
    for t in range(steps):
        weights = weights - 0.2 / (1 + t / 20) * np.sign(design.T @ (design @ weights - labels))
    return weights


@claim(
    items={
        "A8.3": "limits of the runs",
        "H12.1": ("dimension of the solutions", "errors along what the rows do not see"),
        "H12.2": ("limits of the runs", "least norm from zero"),
        "H12.3": "part of the iterates that the rows do not see",
        "J4.1": ("weights after t steps", "steps that converge"),
        "J4.2": ("limits of the runs", "least norm from zero"),
        "L11.3": ("limits of the runs", "weights after t steps", "steps that converge"),
        "L11.4": "feet of perpendiculars on a line",
    },
    says=r"Steps along gradients of any loss of the errors $Xw-y$ never leave $w_0+\operatorname{span}(x_i)$. Whatever "
    r"the schedule, the momentum and the samples used, a run that fits the data ends at "
    r"$\operatorname{argmin}_{Xw=y}\|w-w_0\|_2=w_0+X^+(y-Xw_0)$; from 0 at $X^\top(XX^\top)^{-1}y$.",
    needs="fewer samples than weights, linearly independent rows; a loss that is least at error 0",
    full=dict(rows=10, columns=40, steps=200_000),
    symbols={
        r"X,y": "the data, one row $x_i$ a sample, fewer rows than columns, and the labels",
        r"w,w_0": "the weights, and where the run starts",
        r"X^+": "the pseudo-inverse",
    },
    why=r"The gradient of $\sum_i\ell(\langle w,x_i\rangle-y_i)$ is $\sum_i\ell'_ix_i$, a combination of rows, so "
    r"is every sum of such gradients, with any steps, momentum or choice of samples. The part of $w_0$ orthogonal to "
    r"all rows is therefore kept. Two solutions differ by a vector orthogonal to all rows; so exactly one solution "
    r"differs from $w_0$ by a combination of rows, and by Pythagoras it is the nearest one.",
    notice=r"Each run ends at the foot of the perpendicular from its start to the solutions, a line here. Steps may "
    r"go beyond the line and come back, but never along it: no gradient has a part in that direction.",
)
def nearest_interpolator(
    key,
    *,
    rows: Annotated[int, Interval(ge=2, le=50)] = 4,
    columns: Annotated[int, Interval(ge=3, le=200)] = 10,
    steps: Annotated[int, Interval(ge=1000, le=1_000_000)] = 40_000,
):
    assume(rows < columns, "more columns than rows")
    draw = generator(key)
    # Rows of unequal lengths and angles; singular values within a factor of three, so that runs come to an end.
    left, right = (np.linalg.qr(draw.standard_normal((size, rows)))[0] for size in (rows, columns))
    singular = draw.uniform(1.0, 3.0, rows)
    design, labels = left * singular @ right.T, draw.standard_normal(rows)
    starts = np.stack([np.zeros(columns), draw.standard_normal(columns)])
    points, fitted = ended(design, labels, starts, draw, 0.9 / singular.max() ** 2, steps)
    assume(fitted.all(), "enough steps for all runs to fit the data")
    # The nearest solution from its own conditions: w + Xᵀμ = w₀ and Xw = y, solved as they stand.
    system = np.block([[np.eye(columns), design.T], [design, np.zeros((rows, rows))]])
    nearest = np.linalg.solve(system, np.column_stack([starts, np.broadcast_to(labels, (2, rows))]).T).T[:, :columns]
    # Beside the runs, the closed form.
    closest = np.stack([nearest_solution(design, labels, start) for start in starts])
    points = np.concatenate([points, closest[:, None]], axis=1)
    elsewhere = np.stack([signed(design, labels, start, 4000) for start in starts])
    # Gradient descent on the mean of squares, whose longest step is n/σ².
    longest = rows / singular.max() ** 2
    path = descended(design, labels, starts, 0.3 * longest, TIMES[-1])
    # With ∇½‖Xw − y‖² in the closed form a step is twice as long, over n; and half of that without the square's two.
    closed, halved = (
        [
            [descent_iterate(design, labels, step_size=size, steps=int(t), start=start) for start in starts]
            for t in TIMES
        ]
        for size in (0.6 * longest / rows, 0.3 * longest / rows)
    )
    shares = np.array([0.5, 0.99, 1.01, 1.5])
    far = [descended(design, labels, starts[:1], share * longest, 400)[-1, 0] for share in shares]
    null = scipy.linalg.null_space(design)
    aside = nearest[0] + draw.standard_normal((50, columns - rows)) @ null.T
    # A plane figure of the same: two equations in three unknowns.
    planes, heights, from_ = draw.standard_normal((2, 3)), draw.standard_normal(2), 2 * draw.standard_normal((3, 3))
    size = np.linalg.norm(starts[1]) + np.linalg.norm(nearest[1])
    # A loss down by 25 digits leaves an error down by 12; the slowest curvature of log cosh and momentum is near 1.
    end: dict[str, Any] = dict(scale=size, error=1e-10 * size)
    exact: dict[str, Any] = dict(scale=size, condition=9.0, size=columns)
    axis = {"start": np.array([0.0, 1.0])}
    return {
        "limits of the runs": Identity(
            points,
            np.broadcast_to(nearest[:, None], points.shape),
            **end,
            along=axis,
            aside={"by signs": np.broadcast_to(elsewhere[:, None], points.shape), "run": [*RUNS, "closed form"]},
        ),
        "least norm from zero": Identity(
            np.stack([points[0, 0], nearest_solution(design, labels)]),
            design.T @ np.linalg.solve(design @ design.T, labels),
            **end,
            aside={"start": starts[1]},
        ),
        "part of the iterates that the rows do not see": Identity(
            path @ unseen_projection(design).T,
            np.broadcast_to(starts @ null @ null.T, path.shape),
            **exact,
            aside={"iterates": path},
        ),
        "weights after t steps": Identity(
            path[TIMES],
            np.array(closed),
            **exact,
            along={"steps": TIMES.astype(float)},
            aside={"half": np.array(halved)},
        ),
        "steps that converge": Exact(
            np.array([np.linalg.norm(design @ w - labels) < np.linalg.norm(labels) for w in far]),
            shares < 1,
            along={"step over n/σ²": shares},
        ),
        "dimension of the solutions": Exact(
            np.array([np.linalg.matrix_rank(unseen_projection(design), tol=1e-8)]), np.array([columns - rows])
        ),
        "errors along what the rows do not see": Identity(
            aside @ design.T, np.broadcast_to(labels, (50, rows)), scale=30 * size, condition=9.0, size=columns
        ),
        "feet of perpendiculars on a line": figure(planes, heights, from_),
    }


def figure(planes, heights, starts):
    """lucchi Figure 11.2: descent from several starts to the line in which two planes meet."""
    step = 0.45 * len(planes) / np.linalg.norm(planes, 2) ** 2
    condition = np.linalg.cond(planes) ** 2
    paths = descended(planes, heights, starts, step, int(40 * condition))
    along = np.cross(*planes)
    along = along / np.linalg.norm(along)
    on_line = np.linalg.solve(np.vstack([planes, along]), np.append(heights, 0.0))
    feet = on_line + np.outer((starts - on_line) @ along, along)
    frame = np.stack([along, planes[0] - along * (planes[0] @ along)], 1)
    frame = frame / np.linalg.norm(frame, axis=0)
    thin = np.unique(np.geomspace(1, len(paths), 40).astype(int) - 1)
    return Identity(paths[-1], feet, scale=10.0, condition=condition, aside={"paths": (paths[thin] - on_line) @ frame})


@nearest_interpolator.picture
def perpendicular_feet(pieces):
    """Three runs from above, in the plane of the line of solutions and of the normal of the first equation."""
    paths = np.asarray(pieces["feet of perpendiculars on a line"].aside["paths"])
    spread = np.abs(paths[..., 0]).max() * 1.2
    marks = [Line("solutions", [-spread, spread], [0.0, 0.0], dashed=True)]
    for i in range(paths.shape[1]):
        marks += [
            Line("gradient descent", *paths[:, i].T, arrow=True),
            Dots("start", paths[:1, i, 0], paths[:1, i, 1]),
        ]
    return Plane(marks, x="along the line of solutions", y="across it")


@nearest_interpolator.control("descent by signs ends there too", of="limits of the runs")
def by_signs(evidence):
    return replace(evidence, left=evidence.aside["by signs"])


@nearest_interpolator.control("least norm whatever the start", of="limits of the runs")
def start_forgotten(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right[:1], evidence.right.shape))


@nearest_interpolator.control("the least norm, reached from elsewhere", of="least norm from zero")
def from_elsewhere(evidence):
    return replace(evidence, right=evidence.right + evidence.aside["start"])


@nearest_interpolator.control("all of the iterates stays", of="part of the iterates that the rows do not see")
def nothing_moves(evidence):
    return replace(evidence, left=evidence.aside["iterates"])


@nearest_interpolator.control("a gradient without its factor two", of="weights after t steps")
def half_the_gradient(evidence):
    return replace(evidence, right=evidence.aside["half"])


@nearest_interpolator.control("steps up to 2n/σ²", of="steps that converge")
def twice_the_steps(evidence):
    return replace(evidence, right=evidence.along["step over n/σ²"] < 2)


@nearest_interpolator.control("one dimension less", of="dimension of the solutions")
def one_less(evidence):
    return replace(evidence, right=evidence.right - 1)


@nearest_interpolator.control("the feet on the line through zero", of="feet of perpendiculars on a line")
def through_zero(evidence):
    return replace(evidence, right=evidence.right - evidence.right.mean(0))
