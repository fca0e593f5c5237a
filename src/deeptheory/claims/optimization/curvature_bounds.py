"""What bounds on the curvature say of a function and its gradient; which directions lead down (lucchi 5.1, 5.5).

The for-all statements are searched over functions of one variable with piecewise constant curvature; the smoothness
constant is 1 where nothing else is said.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.optimization.gradient_descent import PIECES
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Inequality, Reals, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.optimization.descent import descent_cosine, least_gap, longest_descent
from deeptheory.optimization.landscapes import PiecewiseQuadratic, Quadratic


@claim(
    items={"L5.11": "", "L5.23": ""},
    says=r"If all curvatures of $f$ lie in $[\mu,L]$, $\mu>0$, then $f$ is above its tangent at $x$ by at least "
    r"$\frac\mu2|y-x|^2$ and at most $\frac L2|y-x|^2$, and slopes differ by at least $\mu|y-x|$ and at most $L|y-x|$.",
    needs="curvature between μ and L; searched over functions of one variable, L from 0.2 to 5",
    over=dict(
        convexity=Reals(0.02, 0.9),
        excess=Reals(0, 1, shape=(PIECES,)),
        start=Reals(0.1, 10),
        end=Reals(-3, 12),
        smoothness=Reals(0.2, 5, log=True),
    ),
    symbols={
        "f": "the function",
        r"\mu": "the strong convexity: the least curvature",
        "L": "the smoothness: the largest",
        "x, y": "two points",
    },
    why=r"The slope changes by the integral of the curvature, at least $\mu$ and at most $L$ for each unit of way; the "
    r"height above the tangent is the integral of that. In more dimensions the same holds along the line between the "
    r"points, with $\mu I\preceq\nabla^2f\preceq LI$. For $\mu=0$ the lower parabola is the tangent itself: a convex "
    r"function lies above its tangents.",
    notice=r"On the left one function stays between the parabolas that touch it at one point. On the right each dot "
    r"is a function and two points, its height above the tangent over $\frac12|y-x|^2$: a mean of "
    r"curvatures, so it lies between the least, its own $\mu$, and $L$. Functions that bend as little as they may, or "
    r"as much, lie on the lines.",
)
def between_two_parabolas(convexity, excess, start, end, smoothness):
    mu, bends = smoothness * convexity, smoothness * (convexity + (1 - convexity) * excess)
    function = PiecewiseQuadratic(jnp.arange(1.0, PIECES), bends)
    (value, slope), (other, last) = (jax.value_and_grad(function)(x[None]) for x in (start, end))
    above, way = other - value - slope[0] * (end - start), jnp.abs(end - start)
    turn = jnp.abs(last - slope)[0]
    links = {
        "above the lower parabola": (mu / 2 * way**2, above),
        "below the upper parabola": (above, smoothness / 2 * way**2),
        "slopes apart": (mu * way, turn),
        "slopes together": (turn, smoothness * way),
    }
    error = rounding(jnp.stack([value, other, slope[0] * end, slope[0] * start]))
    shown = {"above": above / smoothness, "convexity": convexity, "curvatures": bends / smoothness}
    return Chain(links, error=error, aside=shown | {"way": way, "parabola without L": way**2 / 2})


between_two_parabolas.control("curvature below μ, down to −1/4", over=dict(excess=Reals(-0.25, 1, shape=(PIECES,))))


@between_two_parabolas.control("½|y − x|² and |y − x| above, without the L")
def both_without_smoothness(evidence):
    (above, _), (turn, _) = evidence.links["below the upper parabola"], evidence.links["slopes together"]
    half, way = evidence.aside["parabola without L"], evidence.aside["way"]
    return replace(evidence, links={"below the upper parabola": (above, half), "slopes together": (turn, way)})


@between_two_parabolas.control("μ|y − x|² without the half")
def without_the_half(evidence):
    lower, above = evidence.links["above the lower parabola"]
    return replace(evidence, links={"twice the lower parabola": (2 * lower, above)})


@between_two_parabolas.control("a third of L for a half")
def a_third(evidence):
    above, upper = evidence.links["below the upper parabola"]
    return replace(evidence, links={"two thirds of the upper parabola": (above, upper * 2 / 3)})


@between_two_parabolas.picture
def mean_curvatures(pieces):
    """One of the functions with its tangent and two parabolas (left); height above the tangent of all (right)."""
    aside = pieces[""].aside
    chosen = int(np.argmin(np.abs(aside["convexity"] - 0.15)))
    least, touched, x = float(aside["convexity"][chosen]), PIECES / 2, np.linspace(0, PIECES, 100)
    function = PiecewiseQuadratic(jnp.arange(1.0, PIECES), jnp.asarray(aside["curvatures"][chosen]))
    value, slope = jax.value_and_grad(lambda place: function(place[None]))(touched)
    tangent, half = float(value) + float(slope) * (x - touched), (x - touched) ** 2 / 2
    one = Curves(
        [
            Line("the function", x, [float(function(jnp.array([each]))) for each in x]),
            Line("its tangent", x, tangent, dashed=True),
            Line("the upper parabola, L", x, tangent + half),
            Line("the lower parabola, μ", x, tangent + least * half),
        ],
        x="place",
        y="value",
    )
    told = aside["way"] > 0.1
    ends = np.array([0.0, 0.9])
    means = Curves(
        [
            Dots("functions", aside["convexity"][told], 2 * aside["above"][told] / aside["way"][told] ** 2),
            Line("the upper parabola, L", ends, np.ones(2)),
            Line("the lower parabola, μ", ends, ends),
            Line("the lower parabola, μ", ends, 2 * ends, rival="without the half"),
        ],
        x="strong convexity, μ/L",
        y="height above the tangent / ½L|y − x|²",
        ys=(0, 1.2),
    )
    return Row([one, means])


@claim(
    items={"L5.12": ""},
    says=r"On an $L$-smooth function, convex or not, $f(x)-f^*\ge\frac1{2L}\|\nabla f(x)\|^2$.",
    needs="curvature between −L and L, and an infimum f*; searched over functions of one variable, L from 0.2 to 5",
    over=dict(
        curvatures=Reals(-1, 1, shape=(PIECES,)),
        ends=Reals(0.05, 1, shape=(2,)),
        start=Reals(-3, 12),
        smoothness=Reals(0.2, 5, log=True),
    ),
    symbols={
        "L": "the smoothness: no curvature is larger in size",
        "f, f^*": "the function and its infimum",
        "x": "any point",
    },
    why=r"A step of size $1/L$ against the gradient lowers the parabola above $f$ by $\frac1{2L}\|\nabla f\|^2$, and "
    r"$f$ at least as much. It cannot lead below $f^*$. So a large slope is a proof of height, without any convexity; "
    r"the other direction, a bound of the height by the slope, is what the Polyak–Łojasiewicz condition asks for.",
    notice=r"Every function is on or above the line, parabolas on it. Far above it lie points that are high but flat, "
    r"among them local minima: nothing bounds the height from above.",
)
def a_slope_is_a_proof_of_height(curvatures, ends, start, smoothness):
    bends = smoothness * curvatures.at[jnp.array([0, -1])].set(ends)  # bent up far out, so that there is an infimum
    function = PiecewiseQuadratic(jnp.arange(1.0, PIECES), bends)
    value, slope = jax.value_and_grad(function)(start[None])
    square, gap = slope[0] ** 2, value - function.minimum
    values = jax.vmap(lambda x: function(x[None]))(jnp.arange(0.0, PIECES))
    error = rounding(jnp.append(values, value))
    aside = {"share": square / (2 * smoothness), "gap": gap, "without L": square / 2}
    return Inequality(least_gap(square, smoothness=smoothness), gap, error=error, aside=aside)


a_slope_is_a_proof_of_height.control("curvature beyond L", over=dict(curvatures=Reals(-1, 1.5, shape=(PIECES,))))


@a_slope_is_a_proof_of_height.control("1/L for 1/(2L)")
def without_two(evidence):
    return replace(evidence, quantity=2 * evidence.quantity)


@a_slope_is_a_proof_of_height.control("½‖∇f‖², without the L")
def without_smoothness(evidence):
    return replace(evidence, quantity=evidence.aside["without L"])


@a_slope_is_a_proof_of_height.control("the gap is at most that: a slope bounds the height")
def other_way(evidence):
    return replace(evidence, quantity=evidence.bound, bound=evidence.quantity)


@a_slope_is_a_proof_of_height.picture
def slopes_and_heights(pieces):
    """The height above the infimum by the squared slope over 2L, for every function and point tried."""
    aside = pieces[""].aside
    least = np.linspace(0, 10, 100)
    return Curves(
        [
            Dots("functions", aside["share"], aside["gap"]),
            Line("‖∇f‖²/2L", least, least),
            Line("‖∇f‖²/2L", least, 2 * least, rival="‖∇f‖²/L"),
        ],
        x="squared slope over 2L, ‖∇f‖²/2L",
        y="height f − f*",
        xs=(0, 10),
        ys=(0, 30),
    )


@jax.jit
def along_directions(matrices, points, ways, shares):
    """Gradients, and values at the given multiples of each way, for each quadratic at its point."""

    def one(matrix, x, s, alphas):
        function = Quadratic(matrix, jnp.zeros(len(x)))
        return jax.grad(function)(x), function(x), jax.vmap(lambda a: function(x + a * s))(alphas)

    return jax.vmap(one)(matrices, points, ways, shares)


@claim(
    items={"L5.4": ("which directions lead down", "below all the way", "back at the same height")},
    says=r"A short step along $s$ leads down if $\nabla f^\top s<0$, that is if the angle of $s$ and $-\nabla f$ is in "
    r"$[0,\pi/2)$; at $\pi/2$ it need not. On an $L$-smooth function it leads down for every "
    r"$\alpha<2|\nabla f^\top s|/(L\|s\|^2)$, and on $\frac L2\|x\|^2$ for no longer.",
    needs="f differentiable; for the length, curvature between −L and L",
    symbols={
        "s": "the direction, not zero",
        r"\nabla f": "the gradient at the point $x$",
        r"\alpha": r"how many times $s$ the step is",
        "L": "the smoothness",
    },
    why=r"Near $x$ the value changes by $\alpha\nabla f^\top s$, and by nothing else of first order, so its sign "
    r"decides. Curvature adds at most $\frac L2\alpha^2\|s\|^2$, which catches up when "
    r"$\alpha=2|\nabla f^\top s|/(L\|s\|^2)$; on a round bowl exactly then. At a right angle the first term is "
    r"missing, and the second decides: up, if $f$ is convex.",
    notice="On the left, the change of value per length of a short step, by angle: a cosine, which crosses zero at a "
    "right angle. On the right, the values along directions of descent, with lengths in units of the guaranteed one: "
    "none is above its start before 1, and the round bowl is back exactly there.",
)
def directions_of_descent(key, *, instances: Annotated[int, Interval(ge=20, le=2000)] = 200):
    random = generator(key)
    steep = 2.0
    basis, _ = np.linalg.qr(random.standard_normal((instances, 3, 3)))
    spectra = random.uniform(-steep, steep, (instances, 3))
    quarter = instances // 4
    spectra[:quarter] = steep  # round bowls
    matrices = np.einsum("kia,ka,kja->kij", basis, spectra, basis)
    points, ways = random.standard_normal((2, instances, 3))
    # At a right angle on round bowls, to the last digit: whole numbers.
    points[:3], ways[:3], matrices[:3] = np.eye(3), np.roll(np.eye(3), 1, axis=0), steep * np.eye(3)
    slopes = np.einsum("kij,kj->ki", matrices, points)
    cosines = np.asarray(descent_cosine(slopes, ways))
    reach = np.asarray(longest_descent(slopes, ways, smoothness=steep))
    down = cosines > 0
    shares = np.array([1e-7, *np.arange(1, 10) / 10, 0.999, 1.0, 1.05])
    multiples = np.where(down, reach, 1.0)[:, None] * shares
    _, before, after = map(np.asarray, along_directions(matrices, points, ways, multiples))
    change = after - before[:, None]
    length = multiples[:, 0] * np.linalg.norm(ways, axis=1)
    clear = (np.abs(cosines) > 1e-4) | (cosines == 0)
    round_bowl = down & (np.arange(instances) < quarter)
    size = np.abs(before[:, None]) + np.abs(after)
    return {
        "which directions lead down": Exact(
            (change[:, 0] < 0)[clear],
            (cosines > 0)[clear],
            aside={
                "angle": np.arccos(np.clip(cosines, -1, 1)),
                "slope": change[:, 0] / length / np.linalg.norm(slopes, axis=1),
                "closed": (cosines >= 0)[clear],
            },
        ),
        "below all the way": Inequality(
            after[down, :-2],
            np.broadcast_to(before[down, None], after[down, :-2].shape),
            error=1e-12,
            scale=1.0,
            aside={
                "change": change[down] / size[down].max(1, keepdims=True),
                "shares": shares,
                "beyond": after[down, -1:],
            },
        ),
        "back at the same height": Identity(
            after[round_bowl, -2],
            before[round_bowl],
            scale=1 + size[round_bowl, -2],
            size=9,
            aside={"half way": after[round_bowl, 5], "bowls": (change / size.max(1, keepdims=True))[round_bowl]},
        ),
    }


@directions_of_descent.control("angles up to π/2, that one included", of="which directions lead down")
def closed_interval(evidence):
    return replace(evidence, right=evidence.aside["closed"])


@directions_of_descent.control("a twentieth longer leads down too", of="below all the way")
def a_twentieth_longer(evidence):
    return replace(evidence, quantity=evidence.aside["beyond"], bound=np.asarray(evidence.bound)[:, :1])


@directions_of_descent.control("back after half of it, |∇f·s|/(L‖s‖²)", of="back at the same height")
def half_of_it(evidence):
    return replace(evidence, left=evidence.aside["half way"])


@directions_of_descent.picture
def angles_and_lengths(pieces):
    """Slope of a short step by its angle to −∇f (left); values along directions of descent (right)."""
    short, way, bowl = (
        pieces["which directions lead down"].aside,
        pieces["below all the way"].aside,
        pieces["back at the same height"].aside,
    )
    angle = np.linspace(0, np.pi, 100)
    left = [
        Dots("seen", short["angle"], short["slope"]),
        Line("−cos of the angle", angle, -np.cos(angle)),
        Level("π/2", x=np.pi / 2),
    ]
    shares = np.asarray(way["shares"])
    right = [Line("any", shares, each, thin=True) for each in way["change"][::8]]
    right += [Line("round bowls", shares, each) for each in bowl["bowls"][:6]]
    return Row(
        [
            Curves(left, x="angle of s and −∇f", y="change of f / (α‖s‖‖∇f‖)"),
            Curves([*right, Level(y=0.0)], x="α, in units of the guaranteed length", y="change of f, relative"),
        ]
    )
