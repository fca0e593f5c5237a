"""The landscape of dropout with two hidden units, in the plane."""

import itertools
from dataclasses import replace
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.regularization.autoencoder import AutoencoderLoss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Dots, Relief, Row, Stack, Surface
from deeptheory.landscapes.critical_points import distinct_points, find_critical_points


@claim(
    items={"A11.28": ("places of the minima and saddles", "values and curvatures", "ring without dropout")},
    says=r"$(M-u_1^2-u_2^2)^2+\lambda(u_1^4+u_2^4)$ has for $\lambda>0$ nine critical points: four minima "
    r"$u_1^2=u_2^2=M/(2+\lambda)$ of value $\lambda M^2/(2+\lambda)$, four saddles on the axes, $u^2=M/(1+\lambda)$, "
    r"and a maximum at $0$. Without dropout the minima form the circle $u_1^2+u_2^2=M$.",
    needs="M > 0",
    symbols={
        "u_1,u_2": "the weights of two hidden units, with one input and one output",
        "M": "the number to be fitted; 1 in the picture",
        r"\lambda": r"the strength of dropout, $p/(1-p)$; Figure 11.1 has 0, 0.6 and 2",
    },
    why=r"The loss alone sees $u_1^2+u_2^2$ only, so its minima form a circle. The penalty $u_1^4+u_2^4$ is least on a "
    r"circle where $|u_1|=|u_2|$, and largest on the axes, so it turns the circle into four valleys and four passes. "
    "It also grows with the radius, and draws all of them towards the origin.",
    notice="From left to right the circle breaks into four minima on the diagonals, with a pass on every axis between "
    "them, and all move inwards as dropout becomes stronger. The moat of the first surface is level all round, "
    "the others have four hollows in it.",
    explore={"strength": (0.2, 1.0, 2.0, 6.0)},
    full=dict(starts=2000),
)
def dropout_breaks_the_circle_of_minima(
    key,
    *,
    strength: Annotated[float, Interval(ge=0.05, le=20.0)] = 2.0,
    starts: Annotated[int, Interval(ge=100, le=10_000)] = 300,
):
    draw = generator(key)
    strengths = np.asarray([0.6, strength])
    targets = np.asarray([1.0, *np.exp(draw.uniform(np.log([0.4, 1.3]), np.log([0.8, 2.5])))])
    given = draw.uniform(-1.3, 1.3, (starts, 2))

    def found(target, power):
        """The critical points that descent on the slope finds, from starts as far apart as the landscape is wide."""
        scaled = jnp.asarray(np.sqrt(target) * given)
        return find_critical_points(AutoencoderLoss(jnp.full((1, 1), target), jnp.asarray(power)), scaled)

    places, kinds = np.zeros((2, 3, 9, 2)), np.zeros((2, 3, 9, 3))
    wanted, expected, counts = np.empty_like(places), np.empty_like(kinds), np.empty((2, 3), int)
    for (i, power), (j, target) in itertools.product(enumerate(strengths), enumerate(targets)):
        points = found(target, power)
        kept = [each for each in distinct_points(points.position, tolerance=1e-5) if points.slope[each] < 1e-9]
        order = sorted(kept, key=lambda each: tuple(np.round(np.asarray(points.position[each]), 6) + 0.0))
        counts[i, j] = len(kept)
        if len(kept) == 9:
            places[i, j] = np.asarray(points.position)[order]
            kinds[i, j] = np.column_stack([np.asarray(points.value), np.asarray(points.eigenvalues)])[order]
        corner, pass_ = (target / (2 + power)) ** 0.5, (target / (1 + power)) ** 0.5
        # By hand: the value and the two curvatures of each kind of point.
        least = (power * target**2 / (2 + power), 8 * power * target / (2 + power), 8 * target)
        saddle = (power * target**2 / (1 + power), -4 * power * target / (1 + power), 8 * target)
        by_hand = {(a * corner, b * corner): least for a in (-1, 1) for b in (-1, 1)}
        by_hand |= {point: saddle for a in (-1, 1) for point in ((a * pass_, 0.0), (0.0, a * pass_))}
        by_hand |= {(0.0, 0.0): (target**2, -4 * target, -4 * target)}
        wanted[i, j] = sorted(by_hand, key=lambda point: tuple(np.round(point, 6) + 0.0))
        expected[i, j] = [by_hand[tuple(point)] for point in wanted[i, j]]
    rings = [np.asarray(found(target, 0.0).position) for target in targets]
    radii = [np.sum(ring**2, axis=1) for ring in rings]
    on_ring = [radius[radius > 0.01 * target] for radius, target in zip(radii, targets, strict=True)]
    grid = np.linspace(-1.3, 1.3, 53)
    squares, fourths = grid[:, None] ** 2 + grid**2, grid[:, None] ** 4 + grid**4
    along = {"strength": strengths, "target": targets}
    return {
        "number of critical points": Exact(counts, np.full((2, 3), 9), along=along),
        "places of the minima and saddles": Identity(
            places,
            wanted,
            scale=1.0,
            error=1e-8,
            along=along,
            aside={"grid": grid, "surfaces": np.asarray([(1 - squares) ** 2 + p * fourths for p in (0.0, *strengths)])},
        ),
        "values and curvatures": Identity(kinds, expected, scale=8.0, error=1e-8, along=along),
        "ring without dropout": Identity(
            np.concatenate(on_ring),
            np.concatenate([np.full(len(each), target) for each, target in zip(on_ring, targets, strict=True)]),
            error=1e-6,
            aside={"places": rings[0][:40], "strengths": strengths},
        ),
    }


@dropout_breaks_the_circle_of_minima.control("minima at M/(1+λ) in each weight", of="places of the minima and saddles")
def one_for_two(evidence):
    strengths, targets = evidence.along["strength"][:, None, None, None], evidence.along["target"][:, None, None]
    corner = np.all(np.asarray(evidence.right) != 0, axis=-1, keepdims=True)
    moved = np.sign(evidence.right) * np.sqrt(targets / (1 + strengths))
    return replace(evidence, right=np.where(corner, moved, evidence.right))


@dropout_breaks_the_circle_of_minima.control("M in place of M² in the values", of="values and curvatures")
def linear_values(evidence):
    right = np.array(evidence.right)
    right[..., 0] /= evidence.along["target"][:, None]
    return replace(evidence, right=right)


@dropout_breaks_the_circle_of_minima.control(
    "saddles that bend down as much as the maximum does", of="values and curvatures"
)
def flat_passes(evidence):
    right = np.array(evidence.right)
    right[..., 1] = np.where(right[..., 1] < 0, -4.0 * evidence.along["target"][:, None], right[..., 1])
    return replace(evidence, right=right)


@dropout_breaks_the_circle_of_minima.control(
    "the squared radius 2M/(2+λ) that the minima have with dropout", of="ring without dropout"
)
def shrunk_ring(evidence):
    return replace(evidence, right=2 / (2 + min(evidence.aside["strengths"])) * np.asarray(evidence.right))


@dropout_breaks_the_circle_of_minima.picture
def landscapes(pieces):
    """The loss over the plane of the two weights, without dropout and with it: as a surface in space (above) and from
    above, with level sets and critical points (below)."""
    piece = pieces["places of the minima and saddles"]
    grid, surfaces = piece.aside["grid"], np.asarray(piece.aside["surfaces"])
    found = [pieces["ring without dropout"].aside["places"], *np.asarray(piece.left)[:, 0]]
    kinds = [None, *np.asarray(pieces["values and curvatures"].left)[:, 0]]
    columns = []
    for strength, heights, points, kind in zip((0.0, *piece.along["strength"]), surfaces, found, kinds, strict=True):
        marks = [Dots("critical points", points[:, 0], points[:, 1])]
        if kind is not None:
            names = np.where(kind[:, 1] > 0, "minima", np.where(kind[:, 2] > 0, "saddles", "maximum"))
            marks = [Dots(name, *points[names == name].T) for name in ("minima", "saddles", "maximum")]
        seen: dict[str, Any] = dict(columns=grid, rows=grid, value="loss")
        # Cut off where the rim rises steeply, a little above the maximum in the middle, which is 1.
        relief = Relief(
            marks, x="first weight", y="second weight", title=f"λ = {strength:g}", heights=heights, top=1.1, **seen
        )
        flat = Surface(
            marks,
            x="weight of the first unit",
            y="weight of the second unit",
            heights=np.minimum(heights, 3.0),
            levels=8,
            **seen,
        )
        columns.append(Stack([relief, flat]))
    return Row(columns)
