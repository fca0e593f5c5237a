"""Factorizing a symmetric matrix: every critical point, every way down, and what unobserved entries change.

arora Sec. 6.4.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval
from scipy.optimize import brentq

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Surface
from deeptheory.landscapes.critical_points import distinct_points, find_critical_points, is_second_order_stationary
from deeptheory.landscapes.factorization import (
    FactorizationLoss,
    aligned,
    aligned_curvature,
    factorization_critical_points,
    factorization_curvature,
    factorization_gradient,
    rank_one_improvement,
    rank_one_loss,
    top_eigenvector_hessian,
)
from deeptheory.landscapes.obstacles import TiltedWell, tilted_well_critical_points
from deeptheory.optimization.runs import trajectory

SPECTRUM = (5.0, 3.0, 2.0, 1.0)


@jax.jit
def derivatives(function, points):
    """Gradient and Hessian at each point."""
    return jax.vmap(jax.grad(function))(points), jax.vmap(jax.hessian(function))(points)


@partial(jax.jit, static_argnames="steps")
def descent_ends(function, starts, step, *, steps):
    """Where gradient descent ends."""
    run = lambda start: trajectory(function, optax.sgd(step), start, steps=steps).position[-1]  # noqa: E731
    return jax.vmap(run)(starts)


def rotated(random, spectrum):
    """A symmetric matrix with these eigenvalues and its eigenvectors."""
    basis, _ = np.linalg.qr(random.standard_normal((len(spectrum), len(spectrum))))
    matrix = basis * np.array(spectrum) @ basis.T
    return (matrix + matrix.T) / 2, basis


@claim(
    items={
        "A6.16": ("where descent ends", "loss at critical points"),
        "A6.17": ("gradient", "Hessian"),
        "A6.18": ("critical points found and listed", "curvatures at critical points", "directions down, counted"),
    },
    says=r"$f(x)=\frac14\|M-xx^\top\|_F^2$ has $\nabla f=(xx^\top-M)x$ and $\nabla^2f=\|x\|^2I+2xx^\top-M$. Its "
    r"critical points are $0$ and $\pm\sqrt{\lambda_i}v_i$, with curvature $2\lambda_i$ along $v_i$ and "
    r"$\lambda_i-\lambda_j$ along $v_j$: all but $\pm\sqrt{\lambda_1}v_1$ have a way down, and descent finds these.",
    needs="M symmetric, positive semidefinite, with distinct positive eigenvalues",
    symbols={
        "M": "a symmetric matrix",
        "x": "the vector whose outer product is to be near $M$",
        r"\lambda_i, v_i": "eigenvalues, from the largest, and eigenvectors of $M$",
    },
    why=r"$\nabla f=0$ reads $Mx=\|x\|^2x$: an eigenvector whose squared length is its eigenvalue, or zero. There the "
    r"Hessian is diagonal in the eigenbasis, and along $v_1$ its entry $\lambda_i-\lambda_1$ is negative unless "
    r"$i=1$: exchanging the kept eigenvector for a larger one helps.",
    notice="The critical point that keeps the $i$-th eigenvector has exactly $i-1$ ways down, to those before it, and "
    "the origin has all four: a staircase. With a repeated eigenvalue any unit vector of its eigenspace serves, and "
    "the points form a sphere.",
)
def top_eigenvector_landscape(
    key,
    *,
    starts: Annotated[int, Interval(ge=20, le=2000)] = 600,
    largest: Annotated[float, Interval(ge=3.5, le=20)] = 5.0,
):
    random = generator(key)
    spectrum = (largest, *SPECTRUM[1:])
    matrix, basis = rotated(random, spectrum)
    loss = FactorizationLoss(jnp.asarray(matrix))
    points = random.standard_normal((20, 4))
    gradients, hessians = derivatives(loss, jnp.asarray(points))
    written = np.stack([factorization_gradient(x[:, None], matrix)[:, 0] for x in points])
    curved = np.stack([top_eigenvector_hessian(x, matrix) for x in points])

    listed = factorization_critical_points(matrix)
    spread = np.geomspace(0.05, 1.2 * largest**0.5, starts)[:, None]
    found = find_critical_points(loss, jnp.asarray(spread * unit_vectors(random, starts, 4)))
    kept = [place for place in distinct_points(found.position, tolerance=1e-5) if found.slope[place] < 1e-8]
    places = np.concatenate([[s * each.factor[:, 0] for s in (1, -1)] for each in listed[1:]] + [[np.zeros(4)]])
    nearest = [np.linalg.norm(np.asarray(found.position)[kept] - place, axis=1).min() for place in places]
    _, exact = derivatives(loss, jnp.asarray(np.stack([each.factor[:, 0] for each in listed])))
    spectra = np.linalg.eigvalsh(np.asarray(exact))
    lam = np.array(spectrum)
    by_hand = np.array([[lam[i] - other if j != i else 2 * other for j, other in enumerate(lam)] for i in range(4)])
    by_hand = np.sort(np.concatenate([-lam[None], by_hand]), axis=1)

    # What is left beside v₁ falls by 1 − η(λ₁ − λ₂) a step or faster: to e^(−32) of what it was.
    step = 0.05 / largest
    steps = int(32 / (step * (largest - spectrum[1])))
    ends = np.asarray(descent_ends(loss, jnp.asarray(random.standard_normal((30, 4))), step, steps=steps))
    return {
        "gradient": Identity(gradients, written, scale=largest, size=16, error=1e-12),
        "Hessian": Identity(
            hessians,
            curved,
            scale=largest,
            size=16,
            error=1e-12,
            aside={"one outer product": curved - points[:, :, None] * points[:, None]},
        ),
        "critical points found and listed": Exact(
            np.array([len(kept), int(np.sum(np.array(nearest) < 1e-7))]),
            np.array([9, 9]),
            along={"which": ["found", "listed"]},
        ),
        "curvatures at critical points": Identity(
            spectra, by_hand, scale=largest, size=16, along={"kept": np.arange(5)}
        ),
        "directions down, counted": Exact(np.array([each.index for each in listed]), np.sum(by_hand < 0, axis=1)),
        "where descent ends": Identity(
            np.abs(ends @ basis),
            np.array([largest**0.5, 0.0, 0.0, 0.0]),
            scale=largest**0.5,
            error=1e-8,
            along={"start": np.arange(len(ends)), "eigenvector": np.arange(1, 5)},
        ),
        "loss at critical points": Identity(
            np.array([each.value for each in listed]),
            [float(loss(jnp.asarray(each.factor[:, 0]))) for each in listed],
            scale=largest**2,
        ),
    }


@top_eigenvector_landscape.control("∇²f with one outer product: ‖x‖²I + xxᵀ − M", of="Hessian")
def one_outer_product(evidence):
    return replace(evidence, right=evidence.aside["one outer product"])


@top_eigenvector_landscape.control("the origin is no critical point: two a rank", of="critical points found and listed")
def without_origin(evidence):
    return replace(evidence, right=evidence.right - 1)


@top_eigenvector_landscape.control(
    "curvature λ_i for 2λ_i along the kept eigenvector", of="curvatures at critical points"
)
def half_along_itself(evidence):
    largest = evidence.right == np.max(evidence.right, axis=1, keepdims=True)
    return replace(evidence, right=np.where(largest, 0.5, 1) * evidence.right)


@top_eigenvector_landscape.control("descent ends at λ₁v₁", of="where descent ends")
def without_root(evidence):
    return replace(evidence, right=evidence.right**2)


@top_eigenvector_landscape.picture
def staircase(pieces):
    """Eigenvalues of the Hessian at each kind of critical point: as many below zero as eigenvectors come before."""
    names = ["0", "√λ₁v₁", "√λ₂v₂", "√λ₃v₃", "√λ₄v₄"]
    marks = [
        Dots("eigenvalues", np.full(4, place), spectrum, words=[name] * 4)
        for place, (name, spectrum) in enumerate(zip(names, pieces["curvatures at critical points"].left, strict=True))
    ]
    return Curves(
        [*marks, Level("", y=0.0)],
        x="critical point: 0, then √λᵢvᵢ for i = 1 to 4",
        y="eigenvalues of the Hessian",
    )


@jax.jit
def promises(function, points, direction):
    """Value, slopes and curvatures along the point itself and along a direction, for each point."""

    def at(x):
        gradient, hessian = jax.grad(function)(x), jax.hessian(function)(x)
        unit = x / jnp.linalg.norm(x)
        return jnp.stack(
            [
                function(x),
                jnp.abs(gradient @ unit),
                unit @ hessian @ unit,
                jnp.abs(gradient @ direction),
                direction @ hessian @ direction,
            ]
        )

    return jax.vmap(at)(points)


@jax.jit
def settled(function, points, slopes):
    """Which points are second-order stationary with these slopes and a curvature of −¼."""
    check = lambda x, e: is_second_order_stationary(function, x, slope=e, curvature=0.25)  # noqa: E731
    return jax.vmap(lambda e: jax.vmap(lambda x: check(x, e))(points))(slopes)


@claim(
    items={
        "A6.20": "slopes and curvatures by norm and overlap",
        "A6.19": "slopes and curvatures by norm and overlap",
        "A6.21": "slope where nothing curves down",
        "A6.22": ("slope where little curves down", "smallest slope attained"),
        "A6.14": "loss at second-order stationary points",
        "A6.15": "loss at second-order stationary points",
    },
    says=r"For $f(x)=\frac14\|zz^\top-xx^\top\|_F^2$ with $\|z\|=1$, if along neither $x$ nor $z$ the curvature is "
    r"below $-\frac14$, one of the slopes is at least $\min(f,1)/\sqrt2$, and no larger constant will do. So every "
    r"$(\tau/\sqrt2,\frac14)$-second-order stationary point has $f\le\tau$, for $\tau<1$.",
    needs="z a unit vector",
    symbols={
        "z, x": "the vector to be found, and that at hand",
        r"\tau": "how far above the minimum $f$ may be",
        r"(\epsilon,\gamma)": r"a point with $\|\nabla f\|\le\epsilon$ and $\lambda_{\min}\ge-\gamma$ is stationary to "
        "second order",
    },
    why=r"Everything depends on $r=\|x\|^2$ and $s=\langle x,z\rangle$: the slopes are $|r^2-s^2|/\sqrt r$ and "
    r"$|s||r-1|$, the curvature along $z$ is $r+2s^2-1$. If that is not too negative $x$ is away from zero, and then "
    r"both slopes vanish only at $x=\pm z$. The worst ratio of slope to value over the region is a problem of two "
    r"variables; it is attained where the curvature is just $-\frac14$ and the slopes are equal, $r=\frac12$, "
    r"$s^2=\frac18$.",
    notice="Below the dashed line the curvature along $z$ is under $-\\frac14$, and one goes down by it. Above it the "
    "larger slope, in shades, is zero at the two minima only. The dot is where the slope is smallest for its value.",
)
def directions_of_improvement(key, *, dimension: Annotated[int, Interval(ge=2, le=20)] = 4):
    random = generator(key)
    z = np.linalg.qr(random.standard_normal((dimension, dimension)))[0][:, 0]
    loss = FactorizationLoss(jnp.asarray(np.outer(z, z)))
    points = random.standard_normal((400, dimension)) * np.geomspace(0.05, 2, 400)[:, None] / dimension**0.5
    points += np.outer(random.uniform(-1.2, 1.2, 400), z)
    seen = np.asarray(promises(loss, jnp.asarray(points), jnp.asarray(z)))
    square, overlap = np.sum(points**2, axis=1), points @ z
    stated = np.stack([rank_one_loss(square, overlap), *rank_one_improvement(square, overlap)], axis=1)

    # All points of all dimensions are (r, s) with s² ≤ r.
    r, share = (each.ravel() for each in np.meshgrid(np.linspace(0.002, 3, 500), np.linspace(0, 1, 200)))
    s = share * np.sqrt(r)
    value, (along_x, bend_x, along_z, bend_z) = rank_one_loss(r, s), rank_one_improvement(r, s)
    slope, low = np.maximum(along_x, along_z), np.minimum(value, 1)

    taus = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
    near = np.concatenate([np.outer(np.linspace(0.4, 1.6, 200), z) * sign for sign in (1, -1)])
    near = np.concatenate([near + 0.2 * random.standard_normal((400, dimension)) / dimension**0.5, near, points])
    stationary = np.asarray(settled(loss, jnp.asarray(near), jnp.asarray(taus / 2**0.5)))
    height = np.asarray(jax.vmap(loss)(jnp.asarray(near)))
    highest = np.array([height[chosen].max() for chosen in stationary])
    # The spurious minimum of a tilted well is stationary to any order, and lies above the global one.
    wells = jax.vmap(TiltedWell(0.3))(jnp.asarray(tilted_well_critical_points(0.3)[:, None]))
    spurious = float(wells[2] - wells[0])
    clear = {gamma: np.minimum(bend_x, bend_z) >= -gamma for gamma in (0.0, 0.25, 1 / 3)}

    def attained(square, gamma):
        """Slopes over value, and the curvature along z, where the last is −γ: the best constant if slopes are equal."""
        overlap = np.sqrt((1 - gamma - square) / 2)
        along_x, _, along_z, bend_z = rank_one_improvement(square, overlap)
        value = rank_one_loss(square, overlap)
        return np.array([along_x / value, along_z / value, bend_z])

    best = attained(brentq(lambda r: float(np.diff(attained(r, 0.0)[:2])[0]), 0.4, 0.9), 0.0)[0]
    corner = 0.5
    return {
        "slopes and curvatures by norm and overlap": Identity(
            seen, stated, scale=1 + square[:, None] ** 2, size=dimension**2, aside={"s": overlap}
        ),
        "slope where nothing curves down": Inequality(
            (best * low)[clear[0.0]], slope[clear[0.0]], aside={"x alone": np.asarray(along_x)[clear[0.0]]}
        ),
        "slope where little curves down": Inequality(
            (low / 2**0.5)[clear[0.25]],
            slope[clear[0.25]],
            aside={"third": (low / 2**0.5)[clear[1 / 3]], "third slope": slope[clear[1 / 3]]},
        ),
        "smallest slope attained": Identity(attained(corner, 0.25), [2**-0.5, 2**-0.5, -0.25], scale=1.0),
        "loss at second-order stationary points": Inequality(
            highest, taus, along={"tau": taus}, aside={"spurious": spurious}
        ),
    }


@directions_of_improvement.control("curvature r + s² − 1 along z", of="slopes and curvatures by norm and overlap")
def one_square_less(evidence):
    right = evidence.right.copy()
    right[:, 4] -= evidence.aside["s"] ** 2
    return replace(evidence, right=right)


@directions_of_improvement.control("x alone is enough", of="slope where nothing curves down")
def x_alone(evidence):
    return replace(evidence, bound=evidence.aside["x alone"])


@directions_of_improvement.control("a constant of 3/4", of="slope where little curves down")
def larger_constant(evidence):
    return replace(evidence, quantity=0.75 * 2**0.5 * evidence.quantity)


@directions_of_improvement.control("curvature down to −1/3 with the same constant", of="slope where little curves down")
def more_curvature(evidence):
    return replace(evidence, quantity=evidence.aside["third"], bound=evidence.aside["third slope"])


@directions_of_improvement.control("a landscape with a spurious minimum", of="loss at second-order stationary points")
def with_spurious_minimum(evidence):
    return replace(evidence, quantity=np.full(len(evidence.bound), evidence.aside["spurious"]))


@directions_of_improvement.picture
def slopes_over_the_invariants(pieces):
    """The larger of the two slopes over r = ‖x‖² and s = ⟨x, z⟩; below the dashed line z leads down by curvature."""
    s, r = np.linspace(-1.3, 1.3, 81), np.linspace(0.02, 1.7, 61)
    overlap, square = np.meshgrid(s, r)
    along_x, _, along_z, _ = rank_one_improvement(square, overlap)
    heights = np.where(overlap**2 <= square, np.maximum(along_x, along_z), np.nan)
    edge = np.linspace(-0.5, 0.5, 60)
    marks = [
        Line("curvature −¼ along z", edge, 0.75 - 2 * edge**2, dashed=True),
        Line("r = s²: x is a multiple of z", s, s**2),
        Dots("minima", [-1.0, 1.0], [1.0, 1.0]),
        Dots("least slope for its value", [-(8**-0.5), 8**-0.5], [0.5, 0.5]),
    ]
    x, y = "overlap s = ⟨x, z⟩", "squared length r = ‖x‖²"
    return Surface(
        marks, columns=s, rows=r, heights=heights, value="larger slope", x=x, y=y, xs=(-1.3, 1.3), ys=(0.0, 1.7)
    )


@jax.jit
def towards(points, optimum):
    """Curvature towards the nearest rotation of an optimum, its bound, and that rotation, for each point."""
    curved = jax.vmap(lambda x: aligned_curvature(x, optimum))(points)
    return *curved, jax.vmap(lambda x: aligned(x, optimum))(points)


@claim(
    items={
        "A6.23": (
            "curvatures at critical points",
            "curvature towards the optimum",
            "bound on the curvature towards the optimum",
            "where descent ends",
        )
    },
    says=r"With $r$ columns the critical points of $\frac14\|M-XX^\top\|_F^2$ keep a set $I$ of at most $r$ "
    r"eigenvectors of $M=ZZ^\top$. Along $\Delta=X-ZR$, to the nearest optimum, the curvature is "
    r"$\frac12\|\Delta\Delta^\top\|^2-\frac32\|E\|^2+4\langle\nabla f,\Delta\rangle\le-\frac12\|E\|^2+4\langle\nabla "
    r"f,\Delta\rangle$, with $E=M-XX^\top$.",
    needs="R the rotation for which ZR is nearest to X",
    symbols={
        "X": "the factor at hand, with $r$ columns",
        "M, Z": "the matrix, and a factor of it with $r$ columns",
        "I": "which eigenvectors a critical point keeps",
        r"\Delta, R": "the difference from the optimum that a rotation $R$ brings nearest",
        "E": "what is left of the matrix",
        "f": "the loss",
    },
    why=r"Rotating the columns of $X$ changes nothing, so the optimum to compare with is the nearest one: then "
    r"$X^\top ZR$ is symmetric and positive, which gives $\|\Delta\Delta^\top\|^2\le2\|E\|^2$. Expanding "
    r"$M=(X-\Delta)(X-\Delta)^\top$ in the second derivative leaves three terms. At a critical point the last is zero "
    "and what remains is negative unless $E=0$: no enumeration is needed.",
    notice="The bound holds at all points, and the critical points, where the slope does not help, lie below zero. "
    "Towards an optimum that was not rotated first the curvature may be positive.",
)
def the_nearest_optimum_leads_down(
    key, *, dimension: Annotated[int, Interval(ge=4, le=12)] = 6, rank: Annotated[int, Interval(ge=2, le=3)] = 2
):
    random = generator(key)
    spectrum = np.concatenate([np.sort(random.uniform(1, 4, rank))[::-1], np.zeros(dimension - rank)])
    matrix, basis = rotated(random, spectrum)
    optimum = basis[:, :rank] * np.sqrt(spectrum[:rank])
    # A full-rank matrix for the enumeration: more to choose from than columns.
    rich, _ = rotated(random, np.sort(random.uniform(0.5, 4, dimension))[::-1])
    loss = FactorizationLoss(jnp.asarray(rich))
    listed = factorization_critical_points(rich, rank=rank)
    gradients, hessians = derivatives(loss, jnp.asarray(np.stack([each.factor.ravel() for each in listed])))
    spectra, slopes = np.linalg.eigvalsh(np.asarray(hessians)), np.abs(np.asarray(gradients)).max()

    points = random.standard_normal((60, dimension, rank)) * np.geomspace(0.1, 2, 60)[:, None, None]
    critical = [each.factor for each in factorization_critical_points(matrix, rank=rank) if each.value > 1e-9]
    turned = [x @ np.linalg.qr(random.standard_normal((rank, rank)))[0] for x in critical for _ in range(4)]
    both = np.concatenate([points, np.stack(turned)])
    curvature, bound, nearest = map(np.asarray, towards(jnp.asarray(both), jnp.asarray(optimum)))
    direct = np.array([factorization_curvature(x, matrix, x - near) for x, near in zip(both, nearest, strict=True)])
    # Away from an optimum that is turned at random.
    other = [optimum @ np.linalg.qr(random.standard_normal((rank, rank)))[0] * random.choice([-1, 1]) for _ in both]
    astray = np.array([factorization_curvature(x, matrix, x - far) for x, far in zip(both, other, strict=True)])
    ends = descent_ends(
        FactorizationLoss(jnp.asarray(matrix)), jnp.asarray(points[:20].reshape(20, -1)), 0.02, steps=3000
    )
    left = np.asarray(jax.vmap(FactorizationLoss(jnp.asarray(matrix)))(ends))
    size = dict(scale=1 + np.sum(both**2, axis=(1, 2)) ** 2, size=dimension**2)
    return {
        "curvatures at critical points": Identity(
            spectra, np.stack([each.spectrum for each in listed]), scale=4.0, size=dimension**2, error=10 * slopes
        ),
        "curvature towards the optimum": Identity(
            direct, curvature, **size, aside={"left": np.sum((matrix - both @ both.swapaxes(1, 2)) ** 2, axis=(1, 2))}
        ),
        "bound on the curvature towards the optimum": Inequality(
            direct, bound, scale=size["scale"], aside={"astray": astray, "critical": len(turned)}
        ),
        "where descent ends": Identity(left, 0.0, scale=1.0, error=1e-6),
    }


@the_nearest_optimum_leads_down.control("no critical point has a way down", of="curvatures at critical points")
def zero_columns(evidence):
    return replace(evidence, right=np.abs(evidence.right))


@the_nearest_optimum_leads_down.control("−½‖E‖² for −(3/2)‖E‖²", of="curvature towards the optimum")
def other_share(evidence):
    return replace(evidence, right=evidence.right + evidence.aside["left"])


@the_nearest_optimum_leads_down.control(
    "towards an optimum that is not the nearest", of="bound on the curvature towards the optimum"
)
def not_aligned(evidence):
    return replace(evidence, quantity=evidence.aside["astray"])


@the_nearest_optimum_leads_down.picture
def below_the_bound(pieces):
    """Curvature towards the nearest optimum against its bound; the critical points are on the left of zero."""
    found = pieces["bound on the curvature towards the optimum"]
    count = int(found.aside["critical"])
    low = float(min(found.quantity.min(), found.bound.min()))
    ends = np.array([low, 10.0])
    marks = [
        Dots("any point", found.bound[:-count], found.quantity[:-count]),
        Dots("critical points", found.bound[-count:], found.quantity[-count:]),
        Line("equal", ends, ends),
    ]
    return Curves(marks, x="bound −½‖E‖² + 4⟨∇f, Δ⟩", y="curvature along Δ", xs=(low, 10.0), ys=(low, 10.0))
