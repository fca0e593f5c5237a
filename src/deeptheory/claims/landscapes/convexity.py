"""Convexity, tested by chords and tangents, and what it gives: one valley, and no critical point above its floor.

arora Ch. 6, warm-up, and the relaxed notions of Sec. 6.2.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, Limit, Rate, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.convexity import LogCoshLoss, QuarticCone, chord_gap, regularity_constants, tangent_gap
from deeptheory.landscapes.critical_points import find_critical_points
from deeptheory.landscapes.symmetry import NeuronSumLoss
from deeptheory.optimization.landscapes import Quadratic, SineBowl
from deeptheory.optimization.runs import trajectory


@jax.jit
def gaps_between(function, first, second, shares):
    """Gap of the chord and of the tangent for each pair of points."""
    chords = jax.vmap(lambda w, v, a: chord_gap(function, w, v, a))(first, second, shares)
    return chords, jax.vmap(lambda w, v: tangent_gap(function, w, v))(first, second)


@jax.jit
def values_at(function, points):
    """The values of a function at points."""
    return jax.vmap(function)(points)


@jax.jit
def descended(function, start):
    """Where a thousand steps of gradient descent end."""
    return trajectory(function, optax.sgd(0.2), start, steps=1000).position[-1]


@claim(
    items={
        "A6.1": ("quadratic chords", "quadratic tangents", "losses below their chords", "losses above their tangents"),
        "A6.2": ("segment between two minima", "stationary points are global"),
        "L5.3": ("quadratic chords", "losses below their chords", "segment between two minima"),
        "L5.23": ("losses below their chords", "losses above their tangents", "quadratic chords", "quadratic tangents"),
        "H4.2": ("quadratic chords", "losses below their chords"),
        "H4.3": ("segment between two minima", "stationary points are global"),
    },
    says=r"A convex $f$ lies below its chords, $f(\alpha w+(1-\alpha)w')\le\alpha f(w)+(1-\alpha)f(w')$, and above its "
    r"tangents, $f(w')\ge f(w)+\langle\nabla f(w),w'-w\rangle$. Hence the segment between two global minima is one of "
    "global minima, and every stationary point is global.",
    needs="f convex and differentiable",
    symbols={
        "f": "the function; here a loss with more parameters than samples, so that many fit",
        r"\alpha": "the share of the first point, between 0 and 1",
        "w, w'": "two points",
        r"\nabla f": "the gradient",
    },
    why="Along a line the slope of a convex function only grows. So the function stays below any chord and above any "
    "tangent. Between two global minima the chord is level, and nothing can be below it. Where the gradient vanishes "
    "the tangent is level, and nothing is below that.",
    notice="Between two solutions the convex loss is flat at zero. The loss of a network of two neurons has two "
    "solutions as well, one the other with its neurons exchanged, and a hill between them: no convex function does "
    "that.",
    explore={"samples": (2, 4, 5)},
)
def convexity_by_chords_and_tangents(
    key,
    *,
    pairs: Annotated[int, Interval(ge=8, le=10_000)] = 400,
    samples: Annotated[int, Interval(ge=2, le=5)] = 4,
):
    random = generator(key)
    first, second = 2 * random.standard_normal((2, pairs, 6))
    shares, steps = random.uniform(0.05, 0.95, pairs), np.linspace(0, 1, 41)
    starts = random.standard_normal((6, 6))
    starts[:, 3:] = starts[:, :3]  # where two neurons are equal they remain so

    def seen(function, minimum, other):
        """Gaps of chords and tangents, values between two minima, and at what descent and Newton steps end in."""
        chords, tangents = gaps_between(function, first, second, shares)
        segment = values_at(function, jnp.asarray(minimum + steps[:, None] * (other - minimum)))
        ends = jax.vmap(lambda start: descended(function, start))(jnp.asarray(starts))
        found = find_critical_points(function, ends)
        return tuple(np.asarray(each) for each in (chords, tangents, segment, found.value, found.slope))

    # Fewer samples than parameters: any vector of their null space may be added to a solution.
    features, teacher = random.standard_normal((samples, 6)), random.normal([[1.5], [-1.0]], 0.3, (2, 3))
    function = LogCoshLoss(jnp.asarray(features), jnp.asarray(features @ teacher.ravel()))
    null = np.eye(6) - np.linalg.pinv(features) @ features
    chords, tangents, segment, level, _ = seen(function, teacher.ravel(), 2 * null @ starts[0] + teacher.ravel())
    values = np.asarray(values_at(function, np.concatenate([first, second])))
    mixed = shares * values[:pairs] + (1 - shares) * values[pairs:]

    inputs = random.standard_normal((20, 3))
    network = NeuronSumLoss(jnp.asarray(inputs), jnp.asarray(np.tanh(inputs @ teacher.T).sum(1)))
    rival = seen(network, teacher.ravel(), teacher[::-1].ravel())
    assume(rival[4].max() < 1e-9, "descent with two equal neurons has come to rest")

    spectrum = random.standard_normal(6)  # of either sign: the two formulas hold for any quadratic
    basis, _ = np.linalg.qr(random.standard_normal((6, 6)))
    matrix = basis * spectrum @ basis.T
    bowl = Quadratic(jnp.asarray((matrix + matrix.T) / 2), jnp.asarray(random.standard_normal(6)))
    quadratic_chords, quadratic_tangents = gaps_between(bowl, first, second, shares)
    half = np.einsum("ki,ij,kj->k", first - second, matrix, first - second) / 2
    size = dict(scale=np.abs(values_at(bowl, first)) + np.abs(values_at(bowl, second)) + np.abs(half), size=36)
    length = np.linalg.norm(first - second, axis=1)
    return {
        "quadratic chords": Identity(
            quadratic_chords, shares * (1 - shares) * half, **size, aside={"shares": shares, "half": half}
        ),
        "quadratic tangents": Identity(quadratic_tangents, half, **size),
        "losses below their chords": Inequality(
            mixed - chords, mixed, aside={"gap": chords, "length": length, "network": rival[0]}
        ),
        "losses above their tangents": Inequality(
            values[pairs:] - tangents, values[pairs:], aside={"network": rival[1]}
        ),
        "segment between two minima": Identity(
            segment, 0.0, scale=values.mean(), aside={"steps": steps, "network": rival[2]}
        ),
        "stationary points are global": Identity(level, 0.0, scale=values.mean(), aside={"network": rival[3]}),
    }


@convexity_by_chords_and_tangents.control("chords of a sum of two neurons", of="losses below their chords")
def network_chords(evidence):
    return replace(evidence, quantity=-evidence.aside["network"], bound=0.0)


@convexity_by_chords_and_tangents.control("tangents of a sum of two neurons", of="losses above their tangents")
def network_tangents(evidence):
    return replace(evidence, quantity=-evidence.aside["network"], bound=0.0)


@convexity_by_chords_and_tangents.control("between two minima of a sum of two neurons", of="segment between two minima")
def network_segment(evidence):
    return replace(evidence, left=evidence.aside["network"])


@convexity_by_chords_and_tangents.control(
    "stationary points of a sum of two neurons", of="stationary points are global"
)
def network_stationary(evidence):
    return replace(evidence, left=evidence.aside["network"])


@convexity_by_chords_and_tangents.control("α² for α(1 − α)", of="quadratic chords")
def share_squared(evidence):
    return replace(evidence, right=evidence.aside["shares"] ** 2 * evidence.aside["half"])


@convexity_by_chords_and_tangents.control("a tangent gap without its half", of="quadratic tangents")
def without_half(evidence):
    return replace(evidence, right=2 * evidence.right)


@convexity_by_chords_and_tangents.picture
def between_two_solutions(pieces):
    """The loss along the segment between two global minima (left), and the gap of chords by their length (right)."""
    segment, chords = pieces["segment between two minima"], pieces["losses below their chords"]
    steps, length = segment.aside["steps"], chords.aside["length"]
    way = [Line("convex", steps, segment.left), Line("two neurons", steps, segment.aside["network"])]
    gaps = [Dots("convex", length, chords.aside["gap"]), Dots("two neurons", length, chords.aside["network"])]
    return Row(
        [
            Curves(way, x="share of the second minimum", y="loss"),
            Curves(gaps, x="distance of the two points", y="chord − function"),
        ]
    )


@jax.jit
def run(function, start, step):
    """Two thousand steps of gradient descent."""
    return trajectory(function, optax.sgd(step), start, steps=2000)


@claim(
    items={
        "A6.7": ("constants of quadratics", "constant of x² + 3 sin²x"),
        "A6.8": (
            "fall of the gap a step",
            "fall of the distance a step",
            "hypotheses of the quartic",
            "fall of the quartic",
            "prefactor of the quartic",
        ),
    },
    says=r"With $\eta=1/L$ a function with $\|\nabla f\|^2\ge\mu(f-f^*)$ falls by the factor $1-\mu/2L$ a step; with "
    r"$\eta=\mu/L^2$ and $\langle\nabla f,w-w^*\rangle\ge\mu\|w-w^*\|^2$ the squared distance falls by "
    r"$1-\mu^2/L^2$. Weak quasi-convexity gives no geometric rate: $w^4$, continued linearly, falls like "
    r"$1/(8\eta t)^2$.",
    needs="f is L-smooth with a unique minimum",
    symbols={
        r"\eta": "the step size",
        "L": "the smoothness: the largest curvature",
        r"f^*, w^*": "the minimum and where it is",
        r"\mu": "the constant of the inequality; in the usual convention of the first it is half of this",
        "t": "the number of steps",
    },
    why=r"A step of size $1/L$ gains at least $\|\nabla f\|^2/2L$, which the first inequality makes a share of what "
    r"is left to gain. The second makes $w^*$ nearer: of $\|w-\eta\nabla f-w^*\|^2$ the cross term wins over "
    r"$\eta^2\|\nabla f\|^2\le\eta^2L^2\|w-w^*\|^2$. Weak quasi-convexity compares $\langle\nabla f,w-w^*\rangle$ with "
    r"$f-f^*$, which near a flat minimum is far smaller than $\|w-w^*\|^2$: on $w^4$ the step $4\eta w^3$ shrinks "
    r"faster than $w$.",
    notice=r"Left, where only the loss is on a logarithmic axis, geometric rates are straight lines and the run on "
    r"$w^4$ flattens out. Right, on two logarithmic axes, it settles on the line of slope $-2$, and a geometric rate "
    "bends down without end. The function is convex, smooth and has one minimum: what it lacks is curvature there.",
)
def relaxed_convexity_and_rates(
    key, *, dimension: Annotated[int, Interval(ge=2, le=50)] = 6, start: Annotated[float, Interval(ge=0.5, le=4)] = 2.0
):
    random = generator(key)
    # The constants of quadratics: attained along the flattest eigenvector, which is among the points.
    spectra = np.sort(random.uniform(0.1, 1.0, (5, dimension)))
    points = np.concatenate([np.eye(dimension), random.standard_normal((50, dimension))])
    origin = jnp.zeros(dimension)
    found = [
        regularity_constants(Quadratic(jnp.diag(jnp.asarray(each)), origin), jnp.asarray(points), origin)
        for each in spectra
    ]
    sine = SineBowl()
    grid = np.linspace(0.01, 40, 40_001)[:, None]
    sines = regularity_constants(sine, jnp.asarray(grid), jnp.zeros(1))
    slope = 2 * grid + 3 * np.sin(2 * grid)

    # One step from each point of a grid, for which the worst case is searched.
    bowl, mu = np.linspace(0.01, 0.45, 100), 2 * 0.17553
    ends = np.asarray(values_at(sine, jnp.asarray(grid - slope / 8))) / np.asarray(values_at(sine, jnp.asarray(grid)))
    secant = float(sines.restricted_secant)
    nearer = ((grid - secant / 64 * slope) / grid)[:, 0] ** 2

    cone = QuarticCone()
    states = run(cone, jnp.array([start]), 1 / 12)
    times = np.array([125, 250, 500, 1000, 2000])
    values = np.asarray(states.value)[times]
    line = np.linspace(-3, 3, 601)
    value, rise = (np.asarray(each) for each in jax.jit(jax.vmap(jax.value_and_grad(cone)))(line[:, None]))
    return {
        "constants of quadratics": Identity(
            np.array(found), np.stack([2 * spectra[:, 0], np.full(5, 2.0), spectra[:, 0]], axis=1), size=dimension
        ),
        "constant of x² + 3 sin²x": Identity(
            float(sines.polyak_lojasiewicz), np.min(slope**2 / (grid**2 + 3 * np.sin(grid) ** 2))
        ),
        "fall of the gap a step": Inequality(
            np.concatenate([(1 - bowl) ** 2, ends]),
            np.concatenate([1 - bowl, np.full(len(ends), 1 - mu / 16)]),
            aside={"quadratics": len(bowl)},
        ),
        "fall of the distance a step": Inequality(
            np.concatenate([(1 - bowl**2) ** 2, nearer]),
            np.concatenate([1 - bowl**2, np.full(len(nearer), 1 - (secant / 8) ** 2)]),
        ),
        "hypotheses of the quartic": Chain(
            {
                "weakly quasi-convex with constant 1": (value, rise[:, 0] * line),
                "weakly smooth": (rise[:, 0] ** 2, 16 * value),
            }
        ),
        "fall of the quartic": Rate(times, values, exponent=-2.0, rivals=(-1.0, -3.0), aside={"path": states.value}),
        "prefactor of the quartic": Limit(times, np.abs((8 * times / 12) ** 2 * values - 1), order=1.0),
    }


@relaxed_convexity_and_rates.control("twice the constant for Polyak–Łojasiewicz: 1 − μ/L", of="fall of the gap a step")
def factor_two(evidence):
    return replace(evidence, bound=2 * evidence.bound - 1)


@relaxed_convexity_and_rates.control("1 − 2μ²/L² for the distance", of="fall of the distance a step")
def factor_two_of_distance(evidence):
    return replace(evidence, bound=2 * evidence.bound - 1)


@relaxed_convexity_and_rates.control(
    "the constant of a quadratic is λ_min, as with a half before ‖∇f‖²", of="constants of quadratics"
)
def other_convention(evidence):
    return replace(evidence, right=evidence.right * np.array([0.5, 1, 1]))


@relaxed_convexity_and_rates.control(
    "a geometric rate under weak quasi-convexity, as printed", erratum="A6.8a", of="fall of the quartic"
)
def geometric(evidence):
    # f(w_t) ≤ C ρ^t with ρ < 1 means that −log f(w_t) grows like t.
    return replace(evidence, y=-np.log(evidence.y), exponent=1.0, rivals=())


@relaxed_convexity_and_rates.control("1/(4ηt)² for 1/(8ηt)²", of="prefactor of the quartic")
def prefactor_of_four(evidence):
    return replace(evidence, y=np.abs((evidence.y + 1) / 4 - 1))


@relaxed_convexity_and_rates.picture
def straight_and_bent(pieces):
    """Gradient descent on w⁴ continued linearly (dots) on logarithmic axes, beside the laws t⁻² and a geometric one."""
    quartic = pieces["fall of the quartic"]
    path, t = np.asarray(quartic.aside["path"]), np.unique(np.geomspace(1, 2000, 60).astype(int))
    marks = [
        Dots("w⁴", t, path[t]),
        Line("1/(8ηt)²", t, (12 / (8 * t)) ** 2),
        Line("w⁴", t, path[0] * 0.9**t, rival="geometric"),
    ]
    one = np.arange(0, 60)
    fast = [
        Line("Polyak–Łojasiewicz, μ/2L = 1/10", one, 0.9**one),
        Line("restricted secant, μ/L = 1/4", one, (15 / 16) ** one),
        Dots("w⁴", one, path[one]),
    ]
    return Row(
        [
            Curves(fast, x="step t", y="bound, and f on w⁴", log="y"),
            Curves(marks, x="step t", y="value f(w_t)", log="xy", ys=(1e-7, 30)),
        ]
    )
