"""Changes of coordinates that make data linearly separable (lucchi 2.1)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.generalization.capacity.growth import linearly_separable
from deeptheory.lab import Exact, claim
from deeptheory.lab.pictures import Curves, Dots, HeatMap, Plane, Row
from deeptheory.networks.rings import polar_coordinates, polygon_features, ring_points

SIDES = np.arange(2, 9)
RADII = np.array([1.05, 1.1, 1.2, 1.3, 1.5, 1.9, 2.2])
"""of the outer ring; the corners of polygons around the inner one are at 2, 1.41, 1.24, 1.15, 1.11, 1.08"""


@claim(
    items={"L2.1": ("separable or not", "separable by a layer of ReLUs")},
    says=r"Two rings around each other are parted by no line, nor after any linear map; in polar coordinates, or in "
    r"squares, they are. The ReLU features $\max(0,u_k^\top x-r)$ of $K$ directions at equal angles part them exactly "
    r"if the outer radius is above $r/\cos(\pi/K)$.",
    needs="rings of radius $r=1$ and above, sampled at 840 points, corners of every polygon among them",
    symbols={
        "u_k": "$K$ unit vectors at equal angles",
        "r": "the radius of the inner ring",
        r"r/\cos(\pi/K)": "the distance of the corners of a regular polygon with $K$ sides around it",
    },
    why="Two sets can be parted by a line exactly if their hulls do not meet, and the centre is in the hull of both "
    "rings, also after a linear map. New coordinates that are not linear may pull the hulls apart: the radius alone "
    "does. The ReLUs are all zero inside a polygon around the inner ring, so an outer point in there looks like an "
    "inner one, and a point outside gives at least one of them something positive to add up.",
    notice="On the left no line parts the two colours, in the middle a vertical one does. On the right, how many "
    "directions are needed for which outer radius: three suffice only beyond twice the inner one, two never do.",
)
def rings_become_separable(key, *, changes: Annotated[int, Interval(ge=1, le=50)] = 5):
    rng = generator(key)
    inner, outer = ring_points(840, radius=1.0), ring_points(840, radius=1.5)
    # A twelfth of the points will do for the plane; 840 has all corners of polygons with two to eight sides.
    few, labels = np.concatenate([inner[::12], outer[::12]]), np.repeat([-1.0, 1.0], 70)
    maps = rng.standard_normal((changes, 2, 2))
    coordinates = [few, *(few @ matrix for matrix in maps), polar_coordinates(few), few**2]
    parted = [linearly_separable(each, labels) for each in coordinates]
    by_layer = [
        [
            linearly_separable(
                polygon_features(np.concatenate([inner, radius * inner]), sides=int(sides), radius=1.0),
                np.repeat([-1.0, 1.0], len(inner)),
            )
            for radius in RADII
        ]
        for sides in SIDES
    ]
    return {
        "separable or not": Exact(
            np.array(parted),
            np.array([False] * (1 + changes) + [True, True]),
            aside={"linear": np.array([False] + [True] * (changes + 2)), "points": few, "labels": labels},
        ),
        "separable by a layer of ReLUs": Exact(
            np.array(by_layer),
            RADII * np.cos(np.pi / SIDES)[:, None] > 1,
            along={"directions": SIDES, "outer radius": RADII},
        ),
    }


@rings_become_separable.control("a linear change of coordinates is enough", of="separable or not")
def linear_change(evidence):
    return replace(evidence, right=evidence.aside["linear"])


@rings_become_separable.control("one direction less is enough", of="separable by a layer of ReLUs")
def one_less(evidence):
    sides, radii = evidence.along["directions"], evidence.along["outer radius"]
    return replace(evidence, right=radii * np.cos(np.pi / (sides[:, None] + 1)) > 1)


@rings_become_separable.picture
def rings_in_coordinates(pieces):
    """The rings in the plane and in polar coordinates, and which layers of ReLUs part them."""
    aside, layer = pieces["separable or not"].aside, pieces["separable by a layer of ReLUs"]
    points, labels = aside["points"], aside["labels"]
    panels = []
    for each, x, y in (
        (points, "first coordinate", "second coordinate"),
        (polar_coordinates(points), "radius", "angle"),
    ):
        marks = [Dots(name, *each[labels == label].T) for name, label in (("inner ring", -1), ("outer ring", 1))]
        panels.append((Plane if each is points else Curves)(marks, x=x, y=y))
    shades = HeatMap(
        np.asarray(layer.left, float),
        list(layer.along["directions"]),
        list(layer.along["outer radius"]),
        x="outer radius",
        y="directions",
        value="separable",
    )
    return Row([*panels, shades])
