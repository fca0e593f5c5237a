"""What the Hessian says of a critical point, what only the definition says, and the three obstacles to descent.

arora Sec. 6.1, lucchi Defs. 22–24.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, Surface
from deeptheory.landscapes.critical_points import kind_of_point, sphere_extremes
from deeptheory.landscapes.obstacles import (
    QuarticForm,
    TiltedWell,
    Well,
    flow_time_in_well,
    tilted_well_critical_points,
)
from deeptheory.optimization.landscapes import QuarticSaddle
from deeptheory.optimization.runs import trajectory


@jax.jit
def around(function, radii, directions):
    """Hessian at the origin, and the extreme changes of value on spheres around it."""
    origin = jnp.zeros(directions.shape[1])
    return jax.hessian(function)(origin), sphere_extremes(function, origin, radii, directions)


@jax.jit
def around_all(matrices, cubics, quartics, radii, directions):
    """The same for each of many quartic forms."""
    return jax.vmap(lambda *form: around(QuarticForm(*form), radii, directions))(matrices, cubics, quartics)


@jax.jit
def changes(function, points):
    """Values at points."""
    return jax.vmap(function)(points)


def by_definition(low, high):
    """The kind of a critical point, from the signs of the change of value on spheres around it."""
    if np.all(low < 0) and np.all(high > 0):
        return "saddle"
    return "minimum" if np.all(low >= 0) else "maximum"


@claim(
    items={
        "A6.4": ("kinds by values around the point", "lowest and highest value around a saddle", "degenerate points"),
        "A6.5": ("kinds by values around the point", "degenerate points"),
        "L6.1": ("kinds by values around the point", "lowest and highest value around a saddle"),
        "L5.5": ("kinds by values around the point", "degenerate points"),
        "H5.1": ("kinds by values around the point", "degenerate points"),
    },
    says=r"At a critical point a positive definite Hessian means a local minimum, a negative definite one a local "
    "maximum, eigenvalues of both signs a saddle of $f$: values below and above within every radius. The "
    "rest is degenerate, and may be any of the three.",
    needs="two continuous derivatives",
    symbols={"f": "the function, twice differentiable"},
    why="To second order the value changes by half of $\\delta^\\top\\nabla^2f\\,\\delta$, and near enough nothing "
    "else matters if that has a sign. Along an eigenvector of eigenvalue zero it says nothing, and the next terms "
    "decide.",
    notice="On small circles around the centre of a saddle both signs occur, the more alike the smaller the circle is: "
    "the cubic and quartic terms fade first. The signs on the diagonal of the Hessian are not those of its "
    "eigenvalues, and judging by them goes wrong.",
)
def the_hessian_classifies(
    key,
    *,
    functions: Annotated[int, Interval(ge=8, le=1000)] = 60,
    radius: Annotated[float, Interval(ge=1e-4, le=0.05)] = 0.01,
):
    random = generator(key)
    radii, directions = jnp.array([radius, radius / 4]), jnp.asarray(random.standard_normal((1000, 3)))
    signs = np.resize([[1, 1, 1], [-1, -1, -1], [1, 1, -1], [1, -1, -1]], (functions, 3))
    basis, _ = np.linalg.qr(random.standard_normal((functions, 3, 3)))
    matrices = np.einsum("kia,ka,kja->kij", basis, signs * random.uniform(0.3, 2.0, (functions, 3)), basis)
    cubics, quartics = (jnp.asarray(random.standard_normal((functions, *(3,) * degree))) for degree in (3, 4))
    hessians, (low, high) = jax.tree.map(np.asarray, around_all(matrices, cubics, quartics, radii, directions))
    said = [kind_of_point(spectrum) for spectrum in np.linalg.eigvalsh(hessians)]
    diagonal = [kind_of_point(np.diag(hessian)) for hessian in hessians]
    seen = [by_definition(*each) for each in zip(low, high, strict=True)]

    # w⁴, −w⁴ and w³ have the same Hessian at 0.
    cubic, quartic = jnp.array([0.0, 0.0, 1.0]), jnp.array([1.0, -1.0, 0.0])
    powers = jnp.zeros((3, 1, 1)), cubic.reshape(3, 1, 1, 1), quartic.reshape(3, 1, 1, 1, 1)
    flat, (low, high) = jax.tree.map(np.asarray, around_all(*powers, radii, jnp.array([[1.0], [-1.0]])))
    degenerate = [
        f"{kind_of_point(hessian[0])}, {by_definition(*each)}"
        for hessian, each in zip(flat, zip(low, high, strict=True), strict=True)
    ]
    truth = ["degenerate, minimum", "degenerate, maximum", "degenerate, saddle"]

    # The simplest saddle, w₁² − w₂²: on the circle of radius r its values are r² cos 2θ.
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = jnp.asarray(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    sizes = np.array([1.0, 0.1, 0.01])
    simple = QuarticForm(jnp.diag(jnp.array([2.0, -2.0])), jnp.zeros((2,) * 3), jnp.zeros((2,) * 4))
    low, high = around(simple, jnp.asarray(sizes), circle)[1]
    plane = QuarticForm(simple.matrix, cubics[0, :2, :2, :2], quartics[0, :2, :2, :2, :2])
    waves = np.stack([changes(plane, r * circle) / r**2 for r in (1.0, 0.3, 0.01)])
    return {
        "kinds by values around the point": Exact(
            np.array(said), np.array(seen), aside={"diagonal": diagonal, "angles": angles, "waves": waves}
        ),
        "lowest and highest value around a saddle": Identity(
            np.stack([low, high]), np.stack([-(sizes**2), sizes**2]), along={"side": [0, 1], "radius": sizes}
        ),
        "degenerate points": Exact(np.array(degenerate), np.array(truth)),
    }


@the_hessian_classifies.control("the signs on the diagonal decide", of="kinds by values around the point")
def by_diagonal(evidence):
    return replace(evidence, left=np.array(evidence.aside["diagonal"]))


@the_hessian_classifies.control(
    "the values on a circle are of the size of its radius", of="lowest and highest value around a saddle"
)
def first_power(evidence):
    return replace(evidence, right=np.sign(evidence.right) * evidence.along["radius"])


@the_hessian_classifies.control("a semidefinite Hessian means a minimum", of="degenerate points")
def semidefinite(evidence):
    return replace(evidence, right=np.array(["degenerate, minimum"] * len(evidence.right)))


@the_hessian_classifies.picture
def around_a_saddle(pieces):
    """Change of value over r² on circles of three radii around a saddle: the smaller the circle, the purer the sign."""
    found = pieces["kinds by values around the point"].aside
    marks = [Line(f"r = {r}", found["angles"], wave) for r, wave in zip((1, 0.3, 0.01), found["waves"], strict=True)]
    return Curves([*marks, Level("", y=0.0)], x="angle on the circle, in radians", y="change of value over r²")


@jax.jit
def ends(function, starts, step):
    """Where three thousand steps of gradient descent end, and the ways there."""
    states = jax.vmap(lambda start: trajectory(function, optax.sgd(step), start, steps=3000))(starts)
    return states.position[:, -1], states.position[:, :200:4]


@claim(
    items={
        "A6.6": ("spurious minimum", "saddle", "flat region"),
        "H4.6": ("spurious minimum", "saddle", "flat region"),
    },
    says=r"Gradient descent ends in the minimum on whose side it starts, spurious or not; on the stable manifold of a "
    r"saddle it ends at the saddle; and on $1-e^{-w^2/2}$, whose only critical point is its minimum, the flow from "
    r"$w_0$ to $w_1$ takes $\frac12[\mathrm{Ei}(w_0^2/2)-\mathrm{Ei}(w_1^2/2)]$.",
    needs="small steps",
    symbols={
        "w_0, w_1": "where the flow starts, and a point nearer to the minimum",
        r"\mathrm{Ei}": "the exponential integral, which grows like $e^x/x$",
    },
    why="A step follows the slope where one stands and knows nothing else. In a spurious minimum and at a saddle there "
    r"is none. In a flat region there is one, but a small gradient does not mean a small gap as it would for a convex "
    r"function: $\dot w=-we^{-w^2/2}$, and integrating $dt=-e^{w^2/2}dw/w$ gives the time.",
    notice="Left, runs from both sides of the hill end in different minima, and only one is global. Middle, the run "
    "that starts exactly on the ridge comes to rest on the saddle, and its neighbours leave. Right, the time to come "
    "home grows like the exponential of half the squared distance; on a convex function it would grow like the square.",
)
def three_obstacles(
    key,
    *,
    tilt: Annotated[float, Interval(ge=0.05, le=1.2)] = 0.3,
    farthest: Annotated[float, Interval(ge=1.5, le=4.0)] = 3.5,
):
    random = generator(key)
    places, hill = tilted_well_critical_points(tilt)[[0, 2]], tilted_well_critical_points(tilt)[1]
    starts = np.concatenate([random.uniform(-2, hill - 0.05, 10), random.uniform(hill + 0.05, 2, 10)])
    reached, ways = ends(TiltedWell(tilt), jnp.asarray(starts[:, None]), 0.02)

    saddle = QuarticSaddle(0.5)
    ridge = np.stack([np.array([0.0, 0.002, -0.002]), np.full(3, 1.2)], axis=1)
    stopped, paths = ends(saddle, jnp.asarray(ridge), 0.05)

    from scipy.integrate import solve_ivp

    origins = np.linspace(1.5, farthest, 7)
    home = lambda t, w: w[0] - 1.0  # noqa: E731
    force = lambda t, w: -w * np.exp(-(w**2) / 2)  # noqa: E731
    nearer = lambda t, w: w[0] - 0.4  # noqa: E731
    nearer.terminal = True
    runs = [solve_ivp(force, (0, 1e6), [w], events=[home, nearer], rtol=1e-10, atol=1e-12) for w in origins]
    took = np.array([[times[0] for times in run.t_events] for run in runs]).T
    # On a convex function f(w_t) − f* ≤ ‖w₀ − w*‖²/2t.
    convex = origins**2 / (2 * float(Well()(jnp.ones(1))))
    well = np.where(starts < hill, places[0], places[1])
    return {
        "spurious minimum": Identity(
            reached[:, 0], well, error=1e-9, aside={"starts": starts, "ways": ways[..., 0], "global": places[0]}
        ),
        "saddle": Identity(
            stopped[:, 0], np.array([0.0, 0.5**0.5, -(0.5**0.5)]), scale=1.0, error=1e-9, aside={"paths": paths}
        ),
        "flat region": Identity(
            took,
            np.array([flow_time_in_well(origins, 1.0), flow_time_in_well(origins, 0.4)]),
            error=1e-7 * took,
            along={"end": np.array([1.0, 0.4]), "start": origins},
            aside={"convex": convex},
        ),
    }


@three_obstacles.control("descent finds the global minimum from anywhere", of="spurious minimum")
def always_global(evidence):
    return replace(evidence, right=np.full_like(evidence.right, evidence.aside["global"]))


@three_obstacles.control("the way down is found from the ridge itself", of="saddle")
def off_the_ridge(evidence):
    return replace(evidence, right=evidence.right[[1, 1, 2]])


@three_obstacles.control("times from w₀ alone: the end does not matter", of="flat region")
def end_forgotten(evidence):
    return replace(evidence, right=np.stack([evidence.right[0]] * 2))


@three_obstacles.control("no slower than on a convex function", of="flat region")
def as_convex(evidence):
    return Inequality(evidence.left[0], evidence.aside["convex"])


@three_obstacles.picture
def obstacles(pieces, settings):
    """Runs on a tilted double well (left), beside a saddle (middle), and the time that a flat region costs (right)."""
    wells, saddle, flat = pieces["spurious minimum"], pieces["saddle"], pieces["flat region"]
    grid = np.linspace(-1.8, 1.8, 121)
    bowl = TiltedWell(settings["tilt"])
    heights = np.asarray(jax.vmap(bowl)(jnp.asarray(grid[:, None])))
    down = np.interp(np.asarray(wells.left), grid, heights)
    well = [Line("f", grid, heights), Dots("where runs end", wells.left, down)]
    x, y = np.linspace(-1, 1, 41), np.linspace(-0.4, 1.3, 41)
    surface = [[float(QuarticSaddle(0.5)(jnp.array([a, b]))) for a in x] for b in y]
    ways = [Line("descent", path[:, 0], path[:, 1], arrow=True) for path in np.asarray(saddle.aside["paths"])]
    times = [
        Dots("observed", flat.along["start"], flat.left[0]),
        Line("predicted", flat.along["start"], flat.right[0]),
        Line("predicted", flat.along["start"], flat.aside["convex"], rival="as on a convex function"),
    ]
    return Row(
        [
            Curves(well, x="weight w", y="value f(w)"),
            Surface(
                ways, columns=x, rows=y, heights=surface, x="first weight w₁", y="second weight w₂", value="value f"
            ),
            Curves(times, x="start w₀", y="time to reach 1", log="y"),
        ]
    )
