"""The landscape of dropout with two hidden units, in the plane."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.regularization.autoencoder import AutoencoderLoss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, claim
from deeptheory.lab.pictures import Dots, Row, Surface
from deeptheory.landscapes.critical_points import distinct_points, find_critical_points


@claim(
    items={"A11.28": ("places of the minima and saddles", "values and curvatures", "ring without dropout")},
    says=r"$(M-u_1^2-u_2^2)^2+\lambda(u_1^4+u_2^4)$ has for $\lambda>0$ nine critical points: four minima "
    r"$u_1^2=u_2^2=M/(2+\lambda)$ of value $\lambda M^2/(2+\lambda)$, four saddles on the axes, $u^2=M/(1+\lambda)$, "
    r"and a maximum at $0$. Without dropout the minima form the circle $u_1^2+u_2^2=M$.",
    symbols={
        "u_1,u_2": "the weights of two hidden units, with one input and one output",
        "M": "the number to be fitted, here 1",
        r"\lambda": r"the strength of dropout, $p/(1-p)$; Figure 11.1 has 0, 0.6 and 2",
    },
    why=r"The loss alone sees $u_1^2+u_2^2$ only, so its minima form a circle. The penalty $u_1^4+u_2^4$ is least on a "
    r"circle where $|u_1|=|u_2|$, and largest on the axes, so it turns the circle into four valleys and four passes. "
    "It also grows with the radius, and draws all of them towards the origin.",
    notice="From left to right the circle breaks into four minima on the diagonals, with a pass on every axis between "
    "them, and all move inwards as dropout becomes stronger.",
    full=dict(strengths=(0.2, 0.6, 2.0, 6.0), starts=2000),
)
def dropout_breaks_the_circle_of_minima(
    key,
    *,
    strengths: Annotated[tuple[float, ...], Interval(ge=0.05, le=20.0)] = (0.6, 2.0),
    starts: Annotated[int, Interval(ge=100, le=10_000)] = 300,
):
    draw = generator(key)
    given = jnp.asarray(draw.uniform(-1.3, 1.3, (starts, 2)))
    places, kinds, wanted, expected, counts = [], [], [], [], []
    for strength in strengths:
        found = find_critical_points(AutoencoderLoss(jnp.ones((1, 1)), jnp.asarray(strength)), given)
        kept = [each for each in distinct_points(found.position, tolerance=1e-5) if found.slope[each] < 1e-9]
        order = sorted(kept, key=lambda each: tuple(np.round(np.asarray(found.position[each]), 6) + 0.0))
        places.append(np.asarray(found.position)[order])
        kinds.append(np.column_stack([np.asarray(found.value), np.asarray(found.eigenvalues)])[order])
        corner, pass_ = (1 / (2 + strength)) ** 0.5, (1 / (1 + strength)) ** 0.5
        # By hand: the value and the two curvatures of each kind of point.
        least = (strength / (2 + strength), 8 * strength / (2 + strength), 8.0)
        saddle = (strength / (1 + strength), -4 * strength / (1 + strength), 8.0)
        by_hand = {(a * corner, b * corner): least for a in (-1, 1) for b in (-1, 1)}
        by_hand |= {point: saddle for a in (-1, 1) for point in ((a * pass_, 0.0), (0.0, a * pass_))}
        by_hand |= {(0.0, 0.0): (1.0, -4.0, -4.0)}
        wanted.append(sorted(by_hand, key=lambda point: tuple(np.round(point, 6) + 0.0)))
        expected.append([by_hand[point] for point in wanted[-1]])
        counts.append(len(kept))
    ring = find_critical_points(AutoencoderLoss(jnp.ones((1, 1)), jnp.asarray(0.0)), given)
    radii = np.sum(np.asarray(ring.position) ** 2, axis=1)
    grid = np.linspace(-1.3, 1.3, 53)
    squares = grid[:, None] ** 2 + grid**2
    surfaces = [(1 - squares) ** 2 + power * (grid[:, None] ** 4 + grid**4) for power in (0.0, *strengths)]
    whole = all(count == 9 for count in counts)
    return {
        "number of critical points": Exact(np.asarray(counts), np.full(len(strengths), 9)),
        "places of the minima and saddles": Identity(
            np.asarray(places) if whole else np.zeros((len(strengths), 9, 2)),
            np.asarray(wanted),
            scale=1.0,
            error=1e-8,
            along={"strength": np.asarray(strengths)},
            aside={"grid": grid, "surfaces": np.asarray(surfaces)},
        ),
        "values and curvatures": Identity(
            np.asarray(kinds) if whole else np.zeros((len(strengths), 9, 3)),
            np.asarray(expected),
            scale=8.0,
            error=1e-8,
            along={"strength": np.asarray(strengths)},
        ),
        "ring without dropout": Identity(
            radii[np.asarray(radii) > 0.01],
            1.0,
            error=1e-6,
            aside={"places": np.asarray(ring.position)[:40], "strengths": strengths},
        ),
    }


@dropout_breaks_the_circle_of_minima.control("minima at M/(1+λ) in each weight", of="places of the minima and saddles")
def one_for_two(evidence):
    strengths = evidence.along["strength"][:, None, None]
    corner = np.all(np.asarray(evidence.right) != 0, axis=2, keepdims=True)
    return replace(evidence, right=np.where(corner, np.sign(evidence.right) / np.sqrt(1 + strengths), evidence.right))


@dropout_breaks_the_circle_of_minima.control(
    "saddles as deep as they are without a penalty", of="values and curvatures"
)
def flat_passes(evidence):
    right = np.array(evidence.right)
    right[..., 1] = np.where(right[..., 1] < 0, -4.0, right[..., 1])
    return replace(evidence, right=right)


@dropout_breaks_the_circle_of_minima.control(
    "the squared radius 2M/(2+λ) that the minima have with dropout", of="ring without dropout"
)
def shrunk_ring(evidence):
    return replace(evidence, right=2 / (2 + min(evidence.aside["strengths"])))


@dropout_breaks_the_circle_of_minima.picture
def landscapes(pieces):
    """The loss over the plane of the two weights without dropout and with it, and its critical points."""
    piece = pieces["places of the minima and saddles"]
    grid, surfaces = piece.aside["grid"], np.asarray(piece.aside["surfaces"])
    found = [pieces["ring without dropout"].aside["places"], *np.asarray(piece.left)]
    kinds = [None, *np.asarray(pieces["values and curvatures"].left)]
    panels = []
    for strength, heights, points, kind in zip((0.0, *piece.along["strength"]), surfaces, found, kinds, strict=True):
        marks = [Dots("critical points", points[:, 0], points[:, 1])]
        if kind is not None:
            names = np.where(kind[:, 1] > 0, "minima", np.where(kind[:, 2] > 0, "saddles", "maximum"))
            marks = [Dots(name, *points[names == name].T) for name in ("minima", "saddles", "maximum")]
        panels.append(
            Surface(
                marks,
                x="weight of the first unit",
                y="weight of the second unit",
                title=f"λ = {strength:g}",
                columns=grid,
                rows=grid,
                heights=np.minimum(heights, 3.0),
                value="loss",
            )
        )
    return Row(panels)
