"""Least squares: the excess of any other fit is the distance of its prediction from the best one, squared."""

from dataclasses import replace

import numpy as np

from deeptheory.foundations.filters import pseudo_inverse
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Line, Plane


@claim(
    items={"A19.1": ("excess of another fit", "best fit against a projection")},
    says=r"With $x^*=A^\dagger b$ and any $x'$: $\|Ax'-b\|^2=\|Ax^*-Ax'\|^2+\|Ax^*-b\|^2$.",
    needs="any real matrix, tall, wide or of deficient rank",
    symbols={
        "A, b": "a matrix and a right-hand side",
        r"A^\dagger": "the pseudo-inverse",
        "x^*": "the least-squares solution of least norm",
        "x'": "any other vector",
    },
    why="$Ax^*$ is the point of the range of $A$ nearest to $b$, so that $b-Ax^*$ is perpendicular to the range, and "
    "with it to $Ax^*-Ax'$. Then Pythagoras.",
    notice="A right angle at the nearest point of the range: both legs and the hypotenuse are drawn for one other fit, "
    "from their three lengths. If lengths added, and not their squares, the triangle would be flat.",
)
def excess_of_least_squares(key):
    draw = generator(key)
    whole, parts, rest, best, solved = [], [], [], [], []
    for rows, columns, rank in ((8, 3, 3), (5, 5, 5), (3, 7, 3), (9, 6, 2)):
        a = draw.standard_normal((rows, rank)) @ draw.standard_normal((rank, columns))
        b, other = draw.standard_normal(rows), draw.standard_normal(columns)
        star = np.asarray(pseudo_inverse(a)) @ b
        whole.append(np.sum((a @ other - b) ** 2))
        parts.append(np.sum((a @ star - a @ other) ** 2))
        rest.append(np.sum((a @ star - b) ** 2))
        best.append(np.sum((a @ star - b) ** 2))
        # The residual by another route: what Gram–Schmidt leaves of b after the first columns that span the range.
        basis = np.linalg.qr(a[:, :rank])[0]
        solved.append(np.sum(b**2) - np.sum((basis.T @ b) ** 2))
    whole, parts, rest = (np.array(each) for each in (whole, parts, rest))
    return {
        "excess of another fit": Identity(
            whole,
            parts + rest,
            condition=1e3,
            aside={"roots": (np.sqrt(parts) + np.sqrt(rest)) ** 2, "legs": np.stack([parts, rest])},
        ),
        "best fit against a projection": Identity(
            np.array(best), np.array(solved), scale=whole, condition=1e3, aside={"whole": whole}
        ),
    }


@excess_of_least_squares.control("lengths add, not their squares", of="excess of another fit")
def lengths_add(evidence):
    return replace(evidence, right=evidence.aside["roots"])


@excess_of_least_squares.control("the other fit is as good", of="best fit against a projection")
def as_good(evidence):
    return replace(evidence, left=evidence.aside["whole"])


@excess_of_least_squares.picture
def right_angle(pieces):
    """The triangle of b, the nearest point of the range and another fit, made of the three lengths of one system."""
    found = pieces["excess of another fit"]
    (across, up), whole = np.asarray(found.aside["legs"])[:, 0], float(np.asarray(found.left)[0])
    # Where the lengths of all three sides put b: above the nearest point exactly if the angle there is right.
    lean = (across + up - whole) / (2 * across**0.5)
    b, fit = (lean, np.sqrt(up - lean**2)), (np.sqrt(across), 0.0)
    marks = [
        Line("range of A", [-0.9 * up**0.5, 1.3 * fit[0]], [0, 0], thin=True),
        Line("‖Ax* − b‖", [0, b[0]], [0, b[1]]),
        Line("‖Ax* − Ax′‖", [0, fit[0]], [0, 0]),
        Line("‖Ax′ − b‖", [fit[0], b[0]], [0, b[1]]),
        Line("", [fit[0], -np.sqrt(up)], [0, 0], rival="as long as both together"),
    ]
    return Plane(marks, x="along the range, from the nearest point", y="away from the range")
