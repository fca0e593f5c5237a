"""What intertwined classes and memorised label noise cost in robustness."""

from dataclasses import replace

import numpy as np
from scipy.spatial import KDTree

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, Law, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row, seen
from deeptheory.robustness.separation import (
    checkerboard_robustness,
    memorised_radius,
    opposite_distances,
    robust_accuracy_on_grid,
)

CELL, BOARD = 40, 160


def kernel_answers(draw, board, samples, width):
    """Answers of a Gaussian-weighted vote of random points of the board, everywhere on its periodic grid."""
    votes = np.zeros(board.shape)
    rows, columns = draw.integers(0, len(board), (2, samples))
    np.add.at(votes, (rows, columns), 2 * board[rows, columns] - 1)
    frequency = np.fft.fftfreq(len(board))
    smooth = np.exp(-2 * (np.pi * width) ** 2 * np.add.outer(frequency**2, frequency**2))
    # A vote of the whole board breaks ties, and becomes the constant answer as the width grows.
    return (np.real(np.fft.ifft2(np.fft.fft2(votes + 1e-3) * smooth)) > 0).astype(int)


@claim(
    items={
        "H2.8": ("board that is answered perfectly", "fitted answers against both", "where a constant answer wins"),
    },
    says=r"On a checkerboard with cells of side $s$ the perfect answer is robust to moves of $\ell_\infty$ length "
    r"$\varepsilon$ on a share $(1-2\varepsilon/s)^2$ only; from $\varepsilon=s(1-2^{-1/2})/2$ on a constant answer, "
    "right on half of the board, is more robust. Fitted answers keep no more.",
    needs="points even on a periodic board; votes of 4,000 random points at seven widths, fixed before",
    symbols={"s": "the side of a cell", r"\varepsilon": "the length of the move, in each coordinate"},
    why="A point is answered robustly if its whole box of moves has one colour, and for the perfect answer that is the "
    r"inner square of each cell, of side $s-2\varepsilon$. No classifier can be right about both sides of an edge "
    r"closer than $\varepsilon$: where classes are intertwined, most points are near an edge.",
    notice="Left, the perfect answer falls below the constant one. Right, accuracy and robust accuracy of narrow to "
    "wide votes: they follow the perfect answer while they resolve the cells, and end at the constant answer. Wiggly "
    "answers of very narrow votes are less robust than both.",
)
def intertwined_classes(key):
    draw = generator(key)
    board = (np.add.outer(np.arange(BOARD) // CELL, np.arange(BOARD) // CELL) % 2).astype(int)
    reaches = np.arange(0, 20)
    perfect = np.array([robust_accuracy_on_grid(board, board, int(r)) for r in reaches])[:, 1]
    widths = np.array([0.7, 1.5, 3.0, 6.0, 9.0, 20.0, 60.0])
    fitted = np.array(
        [[robust_accuracy_on_grid(kernel_answers(draw, board, 4000, w), board, r) for w in widths] for r in (2, 4, 8)]
    )
    epsilon = np.array([2.0, 4.0, 8.0])
    best = np.maximum(checkerboard_robustness(epsilon, float(CELL)), 0.5)
    fine = np.linspace(0, 0.5, 100_001)
    crossing = fine[np.argmax(checkerboard_robustness(fine, 1.0) < 0.5)]
    return {
        "board that is answered perfectly": Identity(
            perfect,
            checkerboard_robustness(reaches * 1.0, float(CELL)),
            aside={"one": np.maximum(1 - reaches / CELL, 0) ** 2, "reaches": reaches},
        ),
        "fitted answers against both": Inequality(
            fitted[..., 1], best[:, None] * np.ones(len(widths)), error=0.01, aside={"fitted": fitted, "widths": widths}
        ),
        "where a constant answer wins": Identity(
            crossing, (1 - 2**-0.5) / 2, error=1e-4, aside={"quarter": 0.25}
        ),
    }  # fmt: skip


@intertwined_classes.control("an inner square of side s − ε", of="board that is answered perfectly")
def one_side(evidence):
    return replace(evidence, right=evidence.aside["one"])


@intertwined_classes.control("half of the accuracy is robust", of="fitted answers against both")
def half_is_robust(evidence):
    return replace(evidence, bound=evidence.aside["fitted"][..., 0] / 2)


@intertwined_classes.control("at a quarter of the cell", of="where a constant answer wins")
def at_a_quarter(evidence):
    return replace(evidence, right=evidence.aside["quarter"])


@intertwined_classes.picture
def accurate_or_robust(pieces):
    """Robust accuracy of the perfect and the constant answer (left); accuracies of votes by their width (right)."""
    votes = pieces["fitted answers against both"]
    share = np.linspace(0, 0.5, 100)
    left = [
        Line("perfect answer", share, checkerboard_robustness(share, 1.0)),
        Line("constant answer", share, np.full(100, 0.5)),
        Level("a constant answer wins", x=(1 - 2**-0.5) / 2),
        Line("", share, (1 - share) ** 2, rival="an inner square of side s − ε"),
    ]
    fitted, widths = votes.aside["fitted"], votes.aside["widths"] / CELL
    right = [Line("accuracy", widths, fitted[0, :, 0])]
    right += [Line(f"robust at ε = s/{CELL // r}", widths, row[:, 1]) for r, row in zip((2, 4, 8), fitted, strict=True)]
    return Row(
        [
            Curves(left, x="ε over the side of a cell", y="robust accuracy"),
            Curves(right, x="width of the vote, over the side of a cell", y="share of the board", log="x"),
        ]
    )


def majority(points, labels, neighbours):
    """The label that most of the nearest points have, each one itself among them."""
    near = KDTree(points, boxsize=1.0).query(points, neighbours)[1]
    return (labels[near].mean(1) > 0.5).astype(int)


@claim(
    items={"H2.9": ("radius that a memoriser keeps", "falls with the wrong labels", "majorities keep more")},
    says="A classifier that reproduces $n$ labels per unit area, a share $q$ of them wrong, surely keeps on average a "
    r"radius of $\frac1{4\sqrt{nq}}$ around points of a class: more data or more wrong labels make it smaller. Votes "
    "of the 15 nearest forget the noise.",
    needs="points even on a torus, one true class, nearest-neighbour answers",
    full=dict(trials=64),
    symbols={"n": "points per unit area", "q": "the share of labels that are wrong"},
    why="A wrong label that is reproduced owns a cell of its own among the right ones, so around every point there is "
    "an adversarial one at the distance of the nearest wrong label: of order $(nq)^{-1/2}$ in the plane, and half of "
    "that is safe. A vote among several neighbours gives up the training labels that are wrong, and with them the "
    "cells.",
    notice="The radius falls like one over the root of the number of wrong labels, on the exact line. Votes of 15 "
    "neighbours reproduce fewer labels and keep several times the radius.",
)
def memorised_noise(key, *, trials: Trials = 32):
    draw, shares, count = generator(key), np.array([0.02, 0.04, 0.08]), 3000
    radius, voted = np.empty((3, trials)), np.empty((3, 4))
    for i, share in enumerate(shares):
        for t in range(trials):
            points = draw.random((count, 2))
            wrong = (draw.random(count) < share).astype(int)
            half = opposite_distances(points, wrong, period=1.0)[wrong == 0] / 2
            radius[i, t] = half.mean()
            if t >= 4:  # votes keep so much more that four boards are enough to see it
                continue
            votes = majority(points, wrong, 15)
            # Where a vote leaves no wrong label at all, half the side of the torus is what it keeps.
            known = votes.max() > 0
            voted[i, t] = opposite_distances(points, votes, period=1.0)[votes == 0].mean() / 2 if known else 0.25
    exact = np.array([memorised_radius(float(count), float(share)) for share in shares])
    return {
        "radius that a memoriser keeps": Law(
            exact,
            radius,
            exact=True,
            resolution=0.25,  # sixty wrong labels at the smallest share: the mean radius varies by a tenth
            along={"share": shares},
            aside={"distance": 2 * exact, "voted": voted},
        ),
        "falls with the wrong labels": Rate(shares, radius, exponent=-0.5, rivals=(-1.0, -0.25), resolution=0.12),
        "majorities keep more": Inequality(1.5 * radius.mean(1), voted.mean(1), aside={"radius": radius.mean(1)}),
    }


@memorised_noise.control("the whole distance to the nearest wrong label", of="radius that a memoriser keeps")
def whole_distance(evidence):
    return replace(evidence, predicted=evidence.aside["distance"])


@memorised_noise.control("votes keep what memorisers do", of="majorities keep more")
def as_much(evidence):
    return replace(evidence, bound=evidence.aside["radius"])


@memorised_noise.picture
def radius_by_noise(pieces):
    """Mean radius around rightly labelled points by the share of wrong labels: memorised, and after a vote of 15."""
    law = pieces["radius that a memoriser keeps"]
    shares = np.asarray(law.along["share"])
    line = np.geomspace(0.02, 0.08, 50)
    marks = [
        Line("exact", line, [memorised_radius(3000.0, float(q)) for q in line]),
        seen("memorised", shares, law.observed),
        seen("vote of 15", shares, law.aside["voted"]),
        Line("", line, memorised_radius(3000.0, 0.02) * (line / 0.02) ** -1.0, rival="like 1/q"),
    ]
    return Curves(marks, x="share of wrong labels q", y="radius kept", log="xy")
