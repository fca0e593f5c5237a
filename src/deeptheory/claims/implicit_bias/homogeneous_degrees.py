"""Gradient flow on homogeneous models of two degrees: a diagonal network finds the ℓ1 margin, cubes their own.

arora 8.4.
"""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.implicit_bias.homogeneous import sine
from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.homogeneous_training import homogeneous_flow
from deeptheory.implicit_bias.margins import largest_margin
from deeptheory.lab import Identity, Inequality, Limit, claim
from deeptheory.lab.pictures import Curves, Level, Line

VOTED = np.array([[3.0, 1.0, 1.0], [1.0, 2.0, -1.0], [4.0, 3.0, 2.0]])
"""Signed points with the best ℓ1 vote (1, 2, 0)/3, by hand: margins 5/3, 5/3 and 10/3, and under weights (1, 2, 0)/3
of the points edges 5/3, 5/3 and −1/3. Near-ties between two votes would be settled in the logarithm of the length."""
LENGTHS = np.append(0.0, np.linspace(3, 7, 9))
FOLLOWED = 1e-12
"""How well the flow is followed: shares of the loss magnify an error of the direction by the length's power."""


def apart(draw, count, dimension):
    """Signed points at distance 1 or more from a random plane."""
    noise, direction = draw.standard_normal((count, dimension)), draw.standard_normal(dimension)
    direction /= np.linalg.norm(direction)
    return noise + (1 - np.min(noise @ direction)) * direction


def power_sum(points, degree):
    """Outputs Σⱼ⟨wⱼ, x⟩^α of two units, at every point."""
    return lambda weights: jnp.sum((points @ weights.reshape(2, -1).T) ** degree, axis=1)


@claim(
    items={
        "A8.36": ("margin of the diagonal network", "first-order condition of a cube"),
        "A8.37": ("gradient off the limit", "change of the gradient with the length", "where the bound is attained"),
    },
    says=r"Gradient flow on $\sum_ie^{-\langle u^{\odot2}-v^{\odot2},\bar x_i\rangle}$ finds the largest $\ell_1$ "
    r"margin $\max_{\|w\|_1\le1}\min_i\langle w,\bar x_i\rangle$. For $f_i=\sum_j\langle w_j,\bar x_i\rangle^\alpha$, "
    r"$\alpha=2,3$: $|\nabla f_i(gv)-\nabla f_i(g\bar w)|\le Bg^{\alpha-1}|v-\bar w|$ with $B=\alpha(\alpha-1)"
    r"|\bar x_i|^\alpha$.",
    needs="first weights that are not zero; one best vote; v and the limit of length 1",
    symbols={
        r"u,v,w": "weights; in the bound $v$ is any direction",
        r"\bar x_i": "point $i$ times its label",
        r"\alpha": "the degree of the outputs in the weights",
        r"g,\bar w": "the length of the weights, and the direction they come to",
        r"B": r"the largest second derivative of $f_i$ at weights of length 1",
    },
    why="A product $w=u^2-v^2$ costs at least $|w|$ in squared weights, so the margin per squared length is one per "
    r"$\ell_1$ norm; no weight begins at zero, so none stays there that would better the vote, and the end is that of "
    r"a linear programme. A second derivative of degree $\alpha-2$ is at most $Bg^{\alpha-2}$ between two directions "
    r"of length $g$, and the way between them is $g|v-\bar w|$ long.",
    notice="The margin of the diagonal network, from several random starts, rises to the value of the linear "
    "programme; the largest Euclidean margin is another number.",
)
def diagonal_networks_and_cubes(key, *, starts: Annotated[int, Interval(ge=1, le=8)] = 3):
    draw = generator(key)
    margins = [
        homogeneous_flow(
            lambda w: VOTED @ (w[:3] ** 2 - w[3:] ** 2),
            draw.uniform(0.3, 1.0, 6),
            LENGTHS,
            degree=2.0,
            tolerance=FOLLOWED,
        ).margin
        for _ in range(starts)
    ]
    best, euclidean = largest_margin(VOTED, norm=1.0).margin, largest_margin(VOTED).margin
    others = apart(draw, 6, 3)
    # One unit: of two, both may last and share the points, and how fast the condition comes is then another matter. On
    # the side of the points, since from the other one the flow passes by zero.
    unit = 0.3 * draw.standard_normal(3)
    unit *= np.sign(unit @ others.sum(0))
    cube = homogeneous_flow(lambda w: (others @ w) ** 3, unit, LENGTHS[:-2], degree=3.0, tolerance=FOLLOWED)
    condition, alike = [], []
    for direction, shares in zip(cube.directions[1:], cube.shares[1:], strict=True):
        slopes = 3 * (others @ direction)[:, None] ** 2 * others  # by hand, of ⟨w, x⟩³ in w
        condition.append(sine(direction, shares @ slopes))
        alike.append(sine(direction, slopes.sum(0)))
    limit, size = np.append(cube.directions[-1], np.zeros(3)), float(np.exp(cube.log_norms[1]))
    turned = draw.standard_normal((23, 6))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    lengths, changes, bounds, doubled = np.linalg.norm(others, axis=1), [], [], []
    for degree in (2, 3):
        slope = jax.jit(jax.jacobian(power_sum(others, degree)))

        def change(at, g, slope=slope):
            return np.linalg.norm(slope(g * at) - slope(g * limit), axis=1)

        largest = degree * (degree - 1) * lengths**degree
        changes.append([change(at, size) for at in turned])
        bounds.append([largest * size ** (degree - 1) * np.linalg.norm(at - limit) for at in turned])
        doubled.append([np.log2(change(at, 2 * size) / change(at, size)) for at in turned])
    # One unit along a point, moved along it: the second derivative is the largest there is.
    steep, along = jax.jit(jax.jacobian(power_sum(others[:1], 3))), np.append(others[0] / lengths[0], np.zeros(3))
    steps = 0.1 / 2.0 ** np.arange(5)
    moved = [np.linalg.norm(steep(size * (1 - step) * along) - steep(size * along)) for step in steps]
    attained = np.array(moved) / (6 * lengths[0] ** 3 * size**2 * steps)
    return {
        "margin of the diagonal network": Limit(
            np.exp(2 * LENGTHS[1:]),
            np.max(1 - np.array(margins)[:, 1:] / best, axis=0),
            order=0.75,
            aside={"margins": np.array(margins), "best": best, "euclidean": euclidean},
        ),
        "value of the linear programme": Identity(np.array([best]), np.array([5 / 3])),
        "first-order condition of a cube": Limit(
            np.exp(LENGTHS[1:-2]), np.array(condition), order=1.0, aside={"alike": np.array(alike)}
        ),
        "gradient off the limit": Inequality(
            np.array(changes), np.array(bounds), error=1e-9, along={"degree": np.array([2, 3])}
        ),
        "change of the gradient with the length": Identity(
            np.array(doubled), np.broadcast_to(np.array([1.0, 2.0])[:, None, None], np.shape(doubled)), error=1e-6
        ),
        "where the bound is attained": Limit(
            1 / steps, np.abs(1 - attained), order=1.0, aside={"half": np.abs(1 - 2 * attained)}
        ),
    }


@diagonal_networks_and_cubes.control("the largest ℓ2 margin", of="margin of the diagonal network")
def euclidean_margin(evidence):
    margins, other = np.asarray(evidence.aside["margins"])[:, 1:], evidence.aside["euclidean"]
    return replace(evidence, y=np.max(np.abs(margins - other) / np.maximum(margins, other), axis=0))


@diagonal_networks_and_cubes.control("one multiplier for all points", of="first-order condition of a cube")
def all_points_alike(evidence):
    return replace(evidence, y=evidence.aside["alike"])


@diagonal_networks_and_cubes.control("g to the power α", of="change of the gradient with the length")
def one_power_more(evidence):
    return replace(evidence, right=np.asarray(evidence.right) + 1)


@diagonal_networks_and_cubes.control("B of half the size", of="where the bound is attained")
def half_the_bound(evidence):
    return replace(evidence, y=evidence.aside["half"])


@diagonal_networks_and_cubes.picture
def up_to_the_programme(pieces):
    """Margin over the squared length of the weights, from random starts, and the value of the linear programme."""
    seen = pieces["margin of the diagonal network"].aside
    marks: list = [Line(f"start {i + 1}", LENGTHS[1:], each[1:]) for i, each in enumerate(np.asarray(seen["margins"]))]
    marks += [
        Level("largest ℓ1 margin", y=float(seen["best"])),
        Level("largest ℓ2 margin", y=float(seen["euclidean"])),
    ]
    return Curves(marks, x="length of the path, in units of the weights", y="normalized margin")
