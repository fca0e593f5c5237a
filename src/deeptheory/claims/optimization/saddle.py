"""Saddles: gradient descent may rest on one, perturbed gradient descent does not, and neither strays without progress.

arora 7.2 and 7.3.
"""

import functools
from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Distribution, Exact, Inequality, Law, Reals, Trials, assume, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Histogram, Line, Row, Stack, Surface
from deeptheory.landscapes.critical_points import is_second_order_stationary
from deeptheory.optimization.landscapes import CubicSaddle, PiecewiseQuadratic
from deeptheory.optimization.promises import improve_or_localize
from deeptheory.optimization.runs import trajectory
from deeptheory.optimization.saddle import perturbed_gradient_descent, uniform_ball

PIECES = 10


@claim(
    items={},
    says=r"A Gaussian direction times $rU^{1/d}$ is uniform in the ball: $P(\|\xi\|\le s)=(s/r)^d$, "
    r"$E\|\xi\|^2=r^2d/(d+2)$, and a coordinate has density proportional to $(r^2-x^2)^{(d-1)/2}$.",
    needs="U uniform on [0, 1], independent of the direction",
    symbols={
        r"\xi": "the perturbation",
        "r": "the radius of the ball",
        "U": "a uniform number between 0 and 1",
        "d": "the dimension",
        "s": "a distance up to $r$",
        "x": r"a coordinate of $\xi$",
    },
    why="A Gaussian vector has no preferred direction. The ball of radius $s$ has the share $(s/r)^d$ of the volume, "
    "so that the distance of a uniform point is the $d$-th root of a uniform number, times $r$. A slice of the ball "
    r"at height $x$ is a ball of one dimension less and of radius $\sqrt{r^2-x^2}$, whose volume is the density.",
    notice="In six dimensions most of the ball is near its surface: a distance drawn uniformly would leave far too "
    "many points near the centre. A single coordinate gathers around zero all the same, and more tightly than on the "
    "sphere.",
    explore={"dimension": (2, 6, 20)},
)
def perturbations_fill_the_ball(
    key,
    *,
    dimension: Annotated[int, Interval(ge=2, le=1000)] = 6,
    radius: Annotated[float, Interval(ge=1e-6, le=1e6)] = 0.3,
    trials: Trials = 100_000,  # twice the band of the test, at its level, is then 0.018: below the resolution of 0.02
):
    from scipy import special

    points = uniform_ball(key, (trials, dimension), radius=radius)
    share = np.linalg.norm(points, axis=1) / radius
    half = (dimension + 1) / 2  # (x/r + 1)/2 of a coordinate x is Beta(half, half)
    return {
        "law of the radius": Distribution(share**dimension, resolution=0.02, aside={"dimension": dimension}),
        "mean squared radius": Law(dimension / (dimension + 2), share**2, exact=True),
        "law of a coordinate": Distribution(
            special.betainc(half, half, (points[:, 0] / radius + 1) / 2),
            resolution=0.02,
            aside={"dimension": dimension},
        ),
    }


@perturbations_fill_the_ball.control("(s/r)^(d−1) for (s/r)^d", of="law of the radius")
def one_dimension_less(evidence):
    dimension = evidence.aside["dimension"]
    return replace(evidence, ranks=evidence.ranks ** ((dimension - 1) / dimension))


@perturbations_fill_the_ball.control("the distance is uniform on [0, r]", of="law of the radius")
def uniform_distance(evidence):
    return replace(evidence, ranks=evidence.ranks ** (1 / evidence.aside["dimension"]))


@perturbations_fill_the_ball.control("all points lie on the sphere: E‖ξ‖² = r²", of="mean squared radius")
def on_the_sphere(evidence):
    return replace(evidence, predicted=1.0)


@perturbations_fill_the_ball.control("a coordinate of the sphere, with exponent (d − 3)/2", of="law of a coordinate")
def coordinate_of_the_sphere(evidence):
    from scipy import special

    half = (evidence.aside["dimension"] + 1) / 2
    places = special.betaincinv(half, half, evidence.ranks)
    return replace(evidence, ranks=special.betainc(half - 1, half - 1, places))


@perturbations_fill_the_ball.picture
def where_points_fall(pieces, settings):
    """Distances from the centre (left) and one coordinate (right) of the points, under their densities."""
    from scipy import special, stats

    dimension, half = settings["dimension"], (settings["dimension"] + 1) / 2
    s, x = np.linspace(0, 1, 100), np.linspace(-1, 1, 201)
    distances = np.asarray(pieces["law of the radius"].ranks)[:20_000] ** (1 / dimension)
    coordinates = 2 * special.betaincinv(half, half, np.asarray(pieces["law of a coordinate"].ranks)[:20_000]) - 1
    radius = [
        Line("ball", s, dimension * s ** (dimension - 1)),
        Line("ball", s, np.ones_like(s), rival="uniform distance"),
    ]
    own, sphere = (stats.beta.pdf((x + 1) / 2, shape, shape) / 2 for shape in (half, max(half - 1, 0.5)))
    coordinate = [
        Line("ball", x, own),
        Line("ball", x, sphere, rival="sphere"),
    ]
    return Row(
        [
            Histogram(radius, samples=distances, x="distance from the centre, over r", y="density"),
            Histogram(coordinate, samples=coordinates, x="a coordinate, over r", y="density"),
        ]
    )


@functools.partial(jax.jit, static_argnames=("patience",))
def escape(saddle, starts, draws, *, radius, tolerance, patience):
    """Perturbed runs from every start; whether each point is second-order stationary; the localization certificate."""
    method = perturbed_gradient_descent(step_size=1.0, radius=radius, tolerance=tolerance, patience=patience)

    def run(start, draws):
        states = trajectory(saddle, method, start, steps=len(draws), draws=draws)
        setting = dict(slope=tolerance, curvature=jnp.sqrt(saddle.hessian_lipschitz * tolerance))
        # Every tenth point is enough: whoever has arrived stays.
        check = jax.vmap(lambda point: is_second_order_stationary(saddle, point, **setting))
        settled = check(states.position[::10])
        restarts = states.memory.perturbed
        farthest, allowed = improve_or_localize(states.position, states.value, step_size=1.0, restarts=restarts)
        return states, settled, farthest, allowed

    return jax.vmap(run)(starts, draws)


@claim(
    items={
        "A7.6": ("runs that have not escaped", "perturbations keep their distance"),
        "H5.5": "runs that have not escaped",
        "A7.4": "plain descent stays",
        "A7.11": "way allowed by the progress",
    },
    says=r"At a strict saddle with $\lambda_{\min}$ just below $-\sqrt{\rho\epsilon}$, gradient descent on the stable "
    r"manifold never comes to an $\epsilon$-second-order stationary point. Perturbed from a ball of radius $\epsilon$ "
    r"whenever $\|\nabla f\|\le\epsilon$, at most once every $T$ steps, it does in at least 95 % of runs.",
    needs="η = 1/ℓ, r = ε, T = 4ℓ/√(ρε); the constants in front of r and T are ours",
    full=dict(trials=500, dimension=20, steps=500),
    symbols={
        r"\epsilon": "the tolerance: a gradient shorter than this counts as none",
        r"\rho": "the Lipschitz constant of the Hessian; 2.5 here",
        r"\ell": "the largest curvature of the loss; 1 here",
        r"\eta": "the step size, $1/\\ell$",
        r"\lambda_{\min}": "the least curvature at a point: negative where there is a way down",
        r"T": "the patience: the number of steps before another perturbation",
        "f": "the loss",
    },
    why=r"Along the escaping direction gradient descent multiplies the distance from the saddle by "
    r"$1+\eta|\lambda_{\min}|$ at every step, so all it needs is a distance to begin with. A point in a small ball "
    r"has too little of it only if it lies in a thin slab around the stable manifold, which is a small share of the "
    r"ball. From anywhere else the run is out after a number of steps that grows with the logarithm of the dimension. "
    r"Between perturbations every move is paid for: no run strays farther than $\sqrt{2\eta t(f(x_0)-f(x_t))}$.",
    notice=r"Plain gradient descent comes straight down to the saddle and stays. The perturbed runs follow it, jump "
    r"within the tolerance where the gradient vanishes, and leave to either side. On the logarithmic axis below they "
    r"rise along parallel lines: whatever the jump, all escape at one rate, and a small jump costs little time. The "
    r"smaller the tolerance, the longer they linger.",
    explore={"perturbation": ("in the ball", "none"), "tolerance": (0.005, 0.02, 0.08)},
)
def perturbed_descent_escapes(
    key,
    *,
    trials: Trials = 320,
    dimension: Annotated[int, Interval(ge=2, le=200)] = 8,
    tolerance: Annotated[float, Interval(ge=1e-4, le=0.2)] = 0.02,
    hessian_lipschitz: Annotated[float, Interval(ge=0.2, le=5.0)] = 2.5,
    steps: Annotated[int, Interval(ge=10, le=5000)] = 300,
    offset: Annotated[float, Interval(ge=0, le=0.1)] = 0.0,  # how far from the stable manifold runs begin
    perturbation: Literal["in the ball", "none", "along the stable manifold"] = "in the ball",
):
    rho, gamma = hessian_lipschitz, (hessian_lipschitz * tolerance) ** 0.5
    patience = int(np.ceil(4 / gamma))
    saddle = CubicSaddle(1.01 * gamma, rho)  # ℓ = 1
    starts = generator(key).standard_normal((trials, dimension))
    starts[:, 0] = offset
    draws = uniform_ball(jax.random.fold_in(key, 1), (trials, steps, dimension))
    if perturbation == "along the stable manifold":
        draws[..., 0] = 0.0
    radius = 0.0 if perturbation == "none" else tolerance
    setting = dict(tolerance=tolerance, patience=patience)
    found = escape(saddle, jnp.asarray(starts), jnp.asarray(draws), radius=radius, **setting)
    states, settled, farthest, allowed = jax.tree.map(np.asarray, found)
    assume(np.abs(states.position[..., 0]).max() <= (1 + 1.01 * gamma) / rho, "the runs stay where the smoothness is 1")
    still, never, *_ = escape(saddle, jnp.asarray(starts), jnp.asarray(draws), radius=0.0, **setting)

    gaps = [np.diff(np.flatnonzero(each)).min(initial=steps) for each in states.memory.perturbed]
    # The first step, from far out, is where the bound is attained.
    some, time = slice(1, None, 5), np.arange(steps + 1)
    error = 2 * time * np.asarray(rounding(states.value, -1))
    return {
        "runs that have not escaped": Chance(
            int(np.sum(~settled.any(axis=1))),
            trials,
            0.05,
            aside={"perturbed": states.position[:8, :, :2], "plain": np.asarray(still.position)[:8, :, :2]},
        ),
        "plain descent stays": Exact(
            np.stack([np.asarray(never).any(axis=1), np.any(still.position[..., 0] != 0, axis=1)]),
            np.zeros((2, trials), bool),
        ),
        "perturbations keep their distance": Exact(np.asarray(gaps) > patience, np.ones(trials, bool)),
        "way allowed by the progress": Inequality(farthest[:, some] ** 2, allowed[:, some] ** 2, error=error[:, some]),
    }


perturbed_descent_escapes.control(
    "no perturbation: plain gradient descent", of="runs that have not escaped", perturbation="none"
)
perturbed_descent_escapes.control(
    "perturbed along the stable manifold only",
    of="runs that have not escaped",
    perturbation="along the stable manifold",
)


perturbed_descent_escapes.control("a start a millionth off the stable manifold", of="plain descent stays", offset=1e-6)


@perturbed_descent_escapes.control("without the factor 2: √(ηt(f(x₀) − f(x_t)))", of="way allowed by the progress")
def no_factor_two(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@perturbed_descent_escapes.picture
def runs_at_the_saddle(pieces, settings):
    """Eight runs of plain and of perturbed gradient descent on the saddle, and how far each is along the way out."""
    rho = settings["hessian_lipschitz"]
    saddle = CubicSaddle(1.01 * (rho * settings["tolerance"]) ** 0.5, rho)
    aside = pieces["runs that have not escaped"].aside
    reach = 1.1 * max(float(np.abs(aside["perturbed"][..., 0]).max()), 0.1)
    x, y = np.linspace(-reach, reach, 41), np.linspace(-0.6 * reach, 0.6 * reach, 41)
    heights = jax.vmap(jax.vmap(saddle))(jnp.stack(jnp.meshgrid(jnp.asarray(x), jnp.asarray(y)), axis=-1))
    marks = [
        Line(name, *run[np.abs(run[:, 1]) < 0.6 * reach].T, arrow=True)
        for name, runs in (("perturbed", aside["perturbed"]), ("plain", aside["plain"]))
        for run in runs
    ]
    axes: dict[str, Any] = dict(x="escaping direction", y="a stable direction", value="loss")
    away = [Line("perturbed", np.arange(run.shape[0]), np.abs(run[:, 0])) for run in aside["perturbed"]]
    landscape = Surface(marks, columns=x, rows=y, heights=np.asarray(heights), **axes)
    way = pieces["way allowed by the progress"]
    gone, allowed = (np.sqrt(np.asarray(side)[:8].ravel()) for side in (way.quantity, way.bound))
    moved = gone > 1e-6
    ends = np.asarray([gone[moved].min(), allowed.max()])
    ways = [
        Dots("eight runs", allowed[moved], gone[moved]),
        Line("allowed", ends, ends),
        Line("", ends, ends / 2**0.5, rival="without the factor 2"),
    ]
    below = [
        Curves(away, x="step", y="distance from the saddle along the way out", log="y"),
        Curves(ways, x="way that the progress allows", y="way since the last perturbation", log="xy"),
    ]
    return Stack([landscape, Row(below)])


@claim(
    items={"A7.11": ""},
    says=r"Improve or localize: for $\eta\le1/\ell$ gradient descent is never farther from its start than "
    r"$\sqrt{2\eta t(f(x_0)-f(x_t))}$ at any time up to $t$, whatever the smooth function.",
    needs="curvature between −ℓ and ℓ; η ≤ 1/ℓ",
    over=dict(curvatures=Reals(-1, 1, shape=(PIECES,)), start=Reals(0.1, 10), step=Reals(0.02, 1)),
    symbols={
        r"\eta": "the step size",
        r"\ell": "the smoothness: no curvature is larger in size",
        "t": "the number of steps",
        "x_0, x_t": "the start, and the point after $t$ steps",
        "f": "the function",
    },
    why="The way from the start is at most the sum of $t$ steps, and the square of a sum is at most $t$ times the sum "
    r"of squares. A step of length $\eta\|\nabla f\|$ has lowered $f$ by at least $\frac\eta2\|\nabla f\|^2$, that is "
    r"by its square over $2\eta$. So a run that goes far must have made progress, and one that makes none stays where "
    "it is: this is how one sees that a run near a saddle either descends or can be analysed locally.",
    notice=r"No run is above the diagonal. After a single step some are on it, parabolas with $\eta=1/\ell$; after "
    "several the steps differ in length, and the bound is no longer attained. Without the factor 2 it would be "
    "crossed.",
)
def improve_or_localize_everywhere(curvatures, start, step, *, steps: Annotated[int, Interval(ge=1, le=200)] = 6):
    function = PiecewiseQuadratic(jnp.arange(1.0, PIECES), curvatures)
    states = trajectory(function, optax.sgd(step), start[None], steps=steps)
    farthest, allowed = improve_or_localize(states.position, states.value, step_size=step)
    # Squares: the root would magnify the rounding of a small decrease.
    error = 2 * step * jnp.arange(1, steps + 1) * rounding(states.value, -1)
    return Inequality(farthest[1:] ** 2, allowed[1:] ** 2, error=error)


improve_or_localize_everywhere.control("steps beyond 1/ℓ", over=dict(step=Reals(1.05, 1.95)))
improve_or_localize_everywhere.control("curvature beyond ℓ", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,))))


@improve_or_localize_everywhere.control("without the factor 2: √(ηt(f(x₀) − f(x_t)))")
def without_two(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@improve_or_localize_everywhere.picture
def far_only_by_progress(pieces):
    """How far each run has gone by each step, against how far its decrease allows: none lies above the diagonal."""
    found = pieces[""]
    allowed, gone = np.sqrt(np.maximum(found.bound, 0)), np.sqrt(found.quantity)
    ends = np.array([0.01, float(allowed.max())])
    first = np.zeros(allowed.shape, bool)
    first[:, 0] = True
    marks = [
        Dots("after several steps", allowed[~first], gone[~first]),
        Dots("after one step", allowed[first], gone[first]),
        Line("as far as allowed", ends, ends),
        Line("as far as allowed", ends, ends / 2**0.5, rival="without the factor 2"),
    ]
    limits = (float(ends[0]), float(ends[1]))
    axes: dict[str, Any] = dict(x="bound √(2ηt(f(x₀) − f(x_t)))", y="farthest from the start", log="xy")
    return Curves(marks, xs=limits, ys=limits, **axes)
