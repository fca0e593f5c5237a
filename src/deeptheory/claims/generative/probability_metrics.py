"""Integral probability metrics: each class of test functions sees its own distance, and some see too little."""

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.stats import wasserstein_distance

from deeptheory.foundations.randomness import generator
from deeptheory.generative.probability_metrics import (
    best_lipschitz_critic,
    integral_metric,
    kernel_metric,
    moment_distance,
    moment_tensor,
    optimal_transport,
)
from deeptheory.lab import Chain, Count, Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Level

SOLVER = 1e-8
"""what linear programs solved to feasibility 1e-10 may be off"""


def distances(points):
    return np.linalg.norm(points[:, None] - points, axis=-1)


@claim(
    items={
        "A16.3": (
            "moments of a Gaussian and of three points",
            "best polynomial of norm one",
            "squared error of sample moments",
        ),
        "A16.4": (
            "Lipschitz functions on the line",
            "Lipschitz functions in the plane",
            "best polynomial of norm one",
            "sets",
            "triangle inequality",
        ),
    },
    says=r"$d_{\mathcal F}(P,Q)=\sup_{f\in\mathcal F}|E_Pf-E_Qf|$ is symmetric with a triangle inequality: the cost of "
    "transport for 1-Lipschitz $f$, total variation for sets, the norm of a difference of moments for normalised "
    "polynomials. It may vanish for different laws.",
    needs="laws on finitely many points, where every supremum is a linear program or a norm",
    full=dict(pairs=40),
    symbols={
        r"\mathcal F": "the class of test functions",
        "P, Q": "two laws",
        "d": "the integral probability metric of the class",
    },
    why="The supremum of a sum is at most the sum of suprema, which is the triangle inequality. For Lipschitz "
    "functions the dual linear program asks for the cheapest way to carry one law into the other. For polynomials of "
    "degree $k$ the difference is linear in the coefficients, so the best ones of norm one point along the difference "
    "of moments. Samples miss a Gaussian's $k$-th moment by $((2k-1)!!-m_k^2)/n$ squared on average, where $m_k$ is "
    "that moment and $n$ the number of points: high moments are seen late.",
    notice=r"Three points at $0$ and $\pm\sqrt3$ have the first five moments of a Gaussian exactly; the sixth is 9 "
    "instead of 15. A class of polynomials up to degree five calls the two laws equal.",
)
def what_test_functions_see(key, *, pairs: Count = 6):
    draw = generator(key)
    plane, line = draw.standard_normal((2, pairs, 8, 2))
    line = line[..., :1]
    p, q, r = draw.dirichlet(np.ones(8), size=(3, pairs))
    gap = [best_lipschitz_critic(a, b, distances(x)).gap for a, b, x in zip(p, q, line, strict=True)]
    area = [wasserstein_distance(x[:, 0], x[:, 0], a, b) for a, b, x in zip(p, q, line, strict=True)]
    apart = [best_lipschitz_critic(a, b, distances(x)).gap for a, b, x in zip(p, q, plane, strict=True)]
    cost = [optimal_transport(a, b, distances(x)).cost for a, b, x in zip(p, q, plane, strict=True)]
    corners = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(float)
    sets = [integral_metric(a, b, corners) for a, b in zip(p, q, strict=True)]
    reached, norms, sums = [], [], []
    for a, b, x in zip(p, q, plane, strict=True):
        for order in (1, 2, 3):
            difference = moment_tensor(x, a, order) - moment_tensor(x, b, order)
            best = difference / np.linalg.norm(difference.ravel())
            values = np.tensordot(x, best, 1)
            for _ in range(order - 1):  # contract one index after the other with each point
                values = np.einsum("n...i,ni->n...", values, x)
            reached.append(values @ (a - b))
            norms.append(moment_distance(x, a, x, b, order))
            sums.append(np.abs(difference).sum())
    nodes, weights = hermegauss(40)
    three, thirds = np.sqrt(3) * np.array([[-1.0], [0.0], [1.0]]), np.array([1, 4, 1]) / 6
    moments = np.array(
        [
            [moment_tensor(x, law, k).item() if k else 1.0 for k in range(7)]
            for x, law in ((three, thirds), (nodes[:, None], weights / weights.sum()))
        ]
    )
    factorials = np.array([1, 0, 1, 0, 3, 0, 15])  # (k−1)!! for even k
    # Five points of Gauss and Hermite share a Gaussian's moments up to the ninth; every sample of up to three of them.
    five, fifths = hermegauss(5)
    fifths = fifths / fifths.sum()
    missed = np.zeros((3, 4))
    for i, k in np.ndindex(3, 4):
        for sample in product(range(5), repeat=i + 1):
            drawn = np.array(sample)
            off = moment_distance(five[drawn, None], np.full(i + 1, 1 / (i + 1)), five[:, None], fifths, k + 1)
            missed[i, k] += fifths[drawn].prod() * off**2
    counts, squares = np.arange(1, 4), np.array([1, 3, 15, 105])  # (2k−1)!!

    def every(metric):
        ways = ((p, r), (p, q), (q, r), (r, p))
        return np.array([[metric(x, a, b) for x, a, b in zip(plane, *way, strict=True)] for way in ways])

    far = np.array(
        [
            every(lambda x, a, b: optimal_transport(a, b, distances(x)).cost),
            every(lambda x, a, b: kernel_metric(a, b, np.exp(-(distances(x) ** 2) / 2))),
            every(lambda x, a, b: integral_metric(a, b, corners)),
        ]
    ).swapaxes(0, 1)
    # Three points in a row: the way round by the middle one is no detour.
    row = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    here = np.eye(3)
    legs = [optimal_transport(here[i], here[j], row).cost for i, j in ((0, 2), (0, 1), (1, 2))]
    return {
        "Lipschitz functions on the line": Identity(np.array(gap), np.array(area), scale=1.0, error=SOLVER),
        "Lipschitz functions in the plane": Identity(np.array(apart), np.array(cost), scale=1.0, error=SOLVER),
        "sets": Identity(np.array(sets), np.abs(p - q).sum(-1) / 2, scale=1.0, aside={"l1": np.abs(p - q).sum(-1)}),
        "best polynomial of norm one": Identity(
            np.array(reached), np.array(norms), condition=100.0, aside={"sum of differences": np.array(sums)}
        ),
        "moments of a Gaussian and of three points": Identity(
            moments,
            np.array([factorials - [0, 0, 0, 0, 0, 0, 6], factorials]),
            scale=15.0,
            along={"law": ["three points", "Gaussian"], "order": np.arange(7)},
            condition=100.0,
        ),
        "squared error of sample moments": Identity(
            missed,
            (squares - factorials[1:5] ** 2) / counts[:, None],
            scale=105.0,
            size=125.0,
            along={"points": counts, "order": np.arange(1, 5)},
            aside={"without the square": squares / counts[:, None]},
        ),
        "triangle inequality": Chain(
            {
                "by way of a third law": (far[0], far[1] + far[2] + SOLVER),
                "either way": (np.abs(far[0] - far[3]), np.full_like(far[0], SOLVER)),
                "three points in a row": (np.abs(legs[0] - legs[1] - legs[2]), SOLVER),
            },
            aside={"legs": legs},
        ),
    }


@what_test_functions_see.control("the whole l1 distance", of="sets")
def the_whole_sum(evidence):
    return replace(evidence, right=evidence.aside["l1"])


@what_test_functions_see.control("coefficients of size one each", of="best polynomial of norm one")
def separate_coefficients(evidence):
    return replace(evidence, right=evidence.aside["sum of differences"])


@what_test_functions_see.control(
    "three points share the sixth moment too", of="moments of a Gaussian and of three points"
)
def sixth_moment(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right[1], (2, 7)))


@what_test_functions_see.control("the square of the moment not taken off", of="squared error of sample moments")
def square_left_on(evidence):
    return replace(evidence, right=evidence.aside["without the square"])


@what_test_functions_see.control("the larger of two legs bounds the way", of="triangle inequality")
def ultrametric(evidence):
    way, first, second = evidence.aside["legs"]
    return replace(evidence, links=evidence.links | {"three points in a row": (way, max(first, second) + SOLVER)})


@what_test_functions_see.picture
def seven_moments(pieces):
    """Moments of the standard Gaussian and of its law on three points, by order."""
    piece = pieces["moments of a Gaussian and of three points"]
    orders = np.asarray(piece.along["order"])
    marks = [
        Dots("Gaussian", orders - 0.06, piece.left[1]),
        Dots("three points", orders + 0.06, piece.left[0]),
        Level("degree five", x=5.5),
    ]
    return Curves(marks, x="order of the moment", y="moment")
