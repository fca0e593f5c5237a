"""What parts one hidden layer from two: a band-limited density, and tubes in frequency space."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.approximation.separation import (
    ball_density_cdf,
    ball_root_density,
    covered_share,
    draw_ball_density,
    limiting_tube_share,
    sphere_tube_share,
    tube_share,
    unit_volume_radius,
)
from deeptheory.foundations.balls import ball_volume
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Inequality, Limit, Share, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line


def over_slices(distance, dimension, radius):
    """∫ cos(2π x·ω) over the ball, slice by slice across x: Gauss and Legendre in the angle."""
    at, weights = np.polynomial.legendre.leggauss(80)
    angle = np.pi / 2 * at
    slices = ball_volume(dimension - 1) * (radius * np.cos(angle)) ** dimension * np.pi / 2 * weights
    return np.cos(2 * np.pi * radius * np.outer(distance, np.sin(angle))) @ slices


@claim(
    items={
        "L4.16": (
            "transform of the ball's indicator",
            "total mass",
            "mass within a distance",
            "lengths of drawn points",
        )
    },
    says=r"$\varphi(x)=(R/\|x\|)^{n/2}J_{n/2}(2\pi R\|x\|)$ has the indicator of the ball of radius $R$ as its "
    r"Fourier transform, and $\int\varphi^2$ is the ball's volume: $\varphi^2$ is a density exactly if the volume is "
    r"one, $R=\Gamma(n/2+1)^{1/n}/\sqrt\pi$. Then $P(\|X\|\le t)=J_{n/2}^2+2\sum_{j\ge1}J^2_{n/2+j}$ at $2\pi Rt$.",
    needs="any dimension n",
    symbols={
        r"\varphi": "the root of the density, a function on $n$ dimensions",
        "R": "the radius of the ball of frequencies",
        "n": "the dimension",
        r"J_{n/2}": "Bessel's function",
        "X": r"a random point with the density $\varphi^2$",
    },
    why="The transform of a radial indicator is an integral over slices of the ball, which is Bessel's. That both "
    r"ways of counting energy agree (Parseval) makes $\int\varphi^2$ the volume of the ball. The unit ball of "
    "frequencies gives a density in no dimension: its volume is never one. Sums of squares of "
    "neighbouring Bessel functions have derivatives that cancel but for one term, $nJ^2_{n/2}(z)/z$, the density of "
    "the length.",
    notice=r"In one dimension $\varphi$ is the sinc. In higher ones it stays near its top for longer and then falls "
    r"faster, like $\|x\|^{-(n+1)/2}$; the sinc of the length, drawn for three dimensions, is another function.",
)
def root_density_of_a_ball(key, *, trials: Trials = 20_000):
    dimensions = (1, 2, 3, 8, 20)
    distances = np.array([0.05, 0.3, 0.8, 1.5, 2.5])
    at, weights = np.polynomial.legendre.leggauss(200)
    reach = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    found, sliced, units, masses, missing = [], [], [], [], []
    for n in dimensions:
        radius = unit_volume_radius(n)
        found.append(ball_root_density(distances, n))
        sliced.append(over_slices(distances, n, radius))
        units.append(ball_root_density(distances, n, radius=1.0))
        end = 2.0 * np.sqrt(n)
        s = end * (1 + at) / 2
        area = n * ball_volume(n) * s ** (n - 1)
        masses.append(
            [end / 2 * weights @ (area * ball_root_density(s, n) ** 2), ball_density_cdf(np.array([end]), n)[0]]
        )
        missing.append(1 - ball_density_cdf(reach * np.sqrt(n), n))
    lengths = np.linalg.norm(draw_ball_density(key, 5, trials), axis=1)
    cuts = np.array([0.85, 1.1, 1.8])
    masses = np.array(masses)
    return {
        "transform of the ball's indicator": Identity(
            np.array(found), np.array(sliced), scale=1.0, size=80.0, condition=10.0,
            along={"dimension": dimensions, "distance": distances}, aside={"unit ball": np.array(units)},
        ),
        "total mass": Limit(
            reach, np.array(missing).mean(0), order=1.0, aside={"volumes": ball_volume(np.array(dimensions))}
        ),
        "mass within a distance": Identity(
            masses[:, 0], masses[:, 1], size=200.0, condition=100.0, along={"dimension": dimensions}
        ),
        "lengths of drawn points": Share(
            np.sum(lengths[:, None] <= cuts, axis=0), trials, ball_density_cdf(cuts, 5), along={"length": cuts},
            resolution=0.1,
        ),
    }  # fmt: skip


@root_density_of_a_ball.control("the ball of radius one for that of volume one", of="transform of the ball's indicator")
def unit_ball(evidence):
    return replace(evidence, left=evidence.aside["unit ball"])


@root_density_of_a_ball.control("the sinc of the length in every dimension", of="transform of the ball's indicator")
def sinc_of_the_length(evidence):
    scale = [2 * unit_volume_radius(n) for n in evidence.along["dimension"]]
    return replace(evidence, left=np.sinc(np.outer(scale, evidence.along["distance"])))


@root_density_of_a_ball.control("the total mass of the unit ball's root", of="total mass")
def volumes_of_unit_balls(evidence):
    return replace(evidence, y=evidence.y + np.mean(np.abs(evidence.aside["volumes"] - 1)))


@root_density_of_a_ball.control("each square counted once, not twice", of="mass within a distance")
def once(evidence):
    n = np.array(evidence.along["dimension"])
    first = np.array([ball_root_density(np.array([2 * np.sqrt(d)]), d)[0] for d in n.tolist()])
    radius = np.array([unit_volume_radius(d) for d in n.tolist()])
    square = first**2 * (2 * np.sqrt(n) / radius) ** n  # J² at the end
    return replace(evidence, right=(evidence.right + square) / 2)


@root_density_of_a_ball.control("the lengths in six dimensions", of="lengths of drawn points")
def one_dimension_more(evidence):
    return replace(evidence, predicted=ball_density_cdf(evidence.along["length"], 6))


@root_density_of_a_ball.picture
def roots(pieces):
    """The root of the density along a line through the centre, in one, three and ten dimensions, and the sinc."""
    s = np.linspace(0.0, 4.0, 241)
    marks = [Line(f"n = {n}", s, ball_root_density(s, n)) for n in (1, 3, 10)]
    marks += [Line("", s, np.sinc(2 * unit_volume_radius(3) * s), rival="sinc of the length, n = 3")]
    return Curves(marks, x="length ‖x‖", y="root of the density φ(x)")


@claim(
    items={
        "L4.17": (
            "share of a ball in one tube",
            "share in high dimension",
            "points in a tube",
            "union within the sum",
        )
    },
    says="One tube of radius 1 through the centre fills the share "
    r"$I_{1/r^2}(\frac{n-1}2,\frac32)\sim2\sqrt{r^2-1}\sqrt{n/2\pi}\,r^{-n}$ of the ball of radius $r$, and $m$ tubes "
    r"at most $m$ times as much: the base of the decay is $r$, so $m\,e^{-n}$ bounds it for $r>e$ and large $n$ only.",
    needs="lines through the centre, r ≥ 1",
    explore={"ratio": (1.5, 2.0, 3.0)},
    symbols={
        "r": "the radius of the ball over that of the tubes",
        "n": "the dimension",
        "m": "the number of tubes: hidden units of a network with one hidden layer",
        "I_x(a,b)": "the distribution function of a Beta variable",
    },
    why="A point of the ball is in the tube if its part across the line is short. In high dimension nearly all of a "
    "point lies across any given line, so that its length has to be small too, and volume goes with the power $n$ of "
    "the length: the share is about that of the unit ball in the ball of radius $r$. Tubes overlap, so shares add at "
    "most.",
    notice="Every line is straight in the dimension, steeper for larger balls: $r=2$ decays like $2^{-n}$, slower "
    "than $e^{-n}$, and $r=4$ faster. As the frequencies a target needs grow, networks need exponentially many units "
    "to reach them.",
)
def tubes_cover_little(key, *, ratio: Annotated[float, Interval(ge=1.5, le=3.0)] = 2.0, trials: Trials = 40_000):
    draw = generator(key)
    dimensions, ratios = np.array([2, 3, 5, 10, 20, 40]), ratio * np.array([0.75, 1.0, 2.0])
    at, weights = np.polynomial.legendre.leggauss(120)
    rho = (1 + at) / 2
    shares = np.array([[tube_share(n, r) for r in ratios] for n in dimensions.tolist()])
    slices = np.array(
        [
            [
                (n - 1) * ball_volume(n - 1) * weights / 2 @ (rho ** (n - 2) * 2 * np.sqrt(r * r - rho**2))
                / (ball_volume(n) * r ** float(n)) for r in ratios
            ]
            for n in dimensions.tolist()
        ]
    )  # fmt: skip
    high = np.array([20, 40, 80, 160, 300])
    exact = np.array([tube_share(n, ratio) for n in high.tolist()])
    limits = np.array([limiting_tube_share(n, ratio) for n in high.tolist()])
    n, tubes = 3, (1, 2, 4)
    ball = unit_vectors(draw, trials, n) * ratio * draw.uniform(0, 1, (trials, 1)) ** (1 / n)
    directions = unit_vectors(draw, tubes[-1], n)
    union = np.array([covered_share(ball, directions[:m]) for m in tubes])
    across = np.eye(n)[:1]
    single = round(covered_share(ball, across) * trials)
    return {
        "share of a ball in one tube": Identity(
            shares, slices, error=1e-12 * shares, condition=100.0, along={"dimension": dimensions, "ratio": ratios}
        ),
        "share in high dimension": Limit(
            high.astype(float), np.abs(exact / limits - 1), order=1.0, aside={"exact": exact, "ratio": np.array(ratio)}
        ),
        "points in a tube": Share(
            np.array([single]),
            trials,
            np.array([tube_share(n, ratio)]),
            resolution=0.1,
            aside={"one more": np.array([tube_share(n + 1, ratio)])},
        ),
        # Five standard errors of a share.
        "union within the sum": Inequality(
            union, np.array(tubes) * tube_share(n, ratio), error=2.5 / np.sqrt(trials), along={"tubes": np.array(tubes)}
        ),
    }


@tubes_cover_little.control("1/2 for 3/2, the share of the sphere", of="share of a ball in one tube")
def of_the_sphere(evidence):
    shares = [sphere_tube_share(evidence.along["ratio"], n) for n in evidence.along["dimension"].tolist()]
    return replace(evidence, left=np.array(shares))


@tubes_cover_little.control("decay like e⁻ⁿ whatever the ball", of="share in high dimension")
def base_e(evidence):
    ratio = float(evidence.aside["ratio"])
    right = 2 * np.sqrt(ratio**2 - 1) * np.sqrt(evidence.x / (2 * np.pi)) * np.exp(-evidence.x)
    return replace(evidence, y=np.abs(evidence.aside["exact"] / right - 1))


@tubes_cover_little.control("√(n/4π) for √(n/2π)", of="share in high dimension")
def other_prefactor(evidence):
    ratio = float(evidence.aside["ratio"])
    right = 2 * np.sqrt(ratio**2 - 1) * np.sqrt(evidence.x / (4 * np.pi)) * ratio**-evidence.x
    return replace(evidence, y=np.abs(evidence.aside["exact"] / right - 1))


@tubes_cover_little.control("the share in one dimension more", of="points in a tube")
def higher(evidence):
    return replace(evidence, predicted=evidence.aside["one more"])


@tubes_cover_little.control("tubes that are counted as one", of="union within the sum")
def as_one(evidence):
    return replace(evidence, bound=evidence.bound / evidence.along["tubes"])


@tubes_cover_little.picture
def shares_by_dimension(pieces):
    """Share of a ball that one tube fills, by dimension, for three balls; beside them the printed decay."""
    n, found = np.arange(2, 41), pieces["share of a ball in one tube"]
    marks: list[Line | Dots] = []
    for r, slices in zip(found.along["ratio"].tolist(), np.asarray(found.right).T, strict=True):
        marks += [Line(f"r = {r:g}", n, [tube_share(d, r) for d in n.tolist()])]
        marks += [Dots(f"r = {r:g}", found.along["dimension"], slices)]
    marks += [Line("", n, np.exp(-n.astype(float)), rival="e⁻ⁿ")]
    return Curves(marks, x="dimension n", y="share of the ball in one tube", log="y")
