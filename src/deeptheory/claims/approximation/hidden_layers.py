"""One against two hidden layers: a floor under every network with one, and a network with two below it."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.approximation.separation import (
    ball_density_cdf,
    ball_root_density,
    best_ridge_error,
    draw_ball_density,
    one_layer_floor,
    radial_energy,
    sphere_tube_share,
    unit_volume_radius,
)
from deeptheory.approximation.shells import Shells, two_stage_error, two_stage_network
from deeptheory.foundations.balls import ball_volume
from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.lab import Identity, Inequality, Limit, Trend, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row


def alternating_shells(dimension, shells=6):
    """Six shells of alternating sign where most of the mass of φ² begins, each 1/(5R) wide: frequencies near 2.5R."""
    radius = unit_volume_radius(dimension)
    edges = dimension / (4 * np.pi * radius) + np.arange(shells + 1) / (5 * radius)
    return Shells(edges, (-1.0) ** np.arange(shells))


def ridge_fit_errors(keys, target, dimension, directions, points):
    """Squared errors on fresh points of the best sum of ridge functions along these directions, fitted to others.

    Each ridge function is free: 40 hats along its line. So it contains, nearly, what any activation could do.
    """
    knots = 1.1 * target.edges[-1] * np.linspace(-1, 1, 40)

    def features(x):
        hats = np.maximum(0, 1 - np.abs((x @ directions.T)[:, :, None] - knots) / (knots[1] - knots[0]))
        return np.concatenate([np.ones((len(x), 1)), hats.reshape(len(x), -1)], axis=1)

    seen, fresh = (draw_ball_density(one, dimension, points) for one in keys)
    design = features(seen)
    values = target(np.linalg.norm(seen, axis=1))
    weights = np.linalg.solve(design.T @ design + np.eye(design.shape[1]), design.T @ values)
    return (features(fresh) @ weights - target(np.linalg.norm(fresh, axis=1))) ** 2


@claim(
    items={
        "L4.15": (
            "energy by frequency",
            "floor under the best single unit",
            "floor under four fitted directions",
            "floor at width 2ⁿ",
            "error of two hidden layers",
        ),
        "L4.18": ("squares by the first layer", "values away from the edges", "error of two hidden layers"),
    },
    says=r"Under $\varphi^2$ one hidden layer of $m$ units misses a radial $g$ by at least "
    r"$\int|\widehat{g\varphi}|^2\max(1-m\,c_n,0)d\omega$. For six shells that is above $\frac14$ at $m=2^n$, "
    r"$n=4,8,14,20$; an explicit network with two hidden layers misses at most $\frac1{30}$.",
    needs=r"squared error in $L^2(\varphi^2)$; any activation, weights and constants",
    symbols={
        r"\varphi^2": r"the density whose root has the indicator of a ball as transform",
        "m": "the hidden units of the network with one hidden layer",
        "g": r"the target, $\pm1$ on shells of $\|x\|$ and 0 elsewhere",
        "c_n": r"the share of the sphere $\|\omega\|=\rho$ that one tube covers",
        "n": "the dimension",
    },
    why=r"Times $\varphi$, a ridge function has its frequencies in one tube around its direction, a network of $m$ "
    "units in $m$ tubes. The target is radial, so what it has at a frequency length is spread evenly over a sphere, "
    "of which a tube covers a share that falls exponentially with $n$: the rest is missed. Two layers do not care: "
    "the first adds up squares, which are functions of one coordinate, and the second climbs and falls at the radii "
    "of the shells.",
    notice="The floor for $2^n$ units stays between 0.28 and 0.4 in all dimensions, more than ten times what the "
    "explicit network with its 600 to 7,000 units can miss at most. For a single unit the floor is hardly below the "
    "best that one unit of any kind can do: it gives away little. On the right, the target and the root of the "
    "density.",
)
def one_against_two_hidden_layers(key, *, points: Annotated[int, Interval(ge=6000, le=20_000)] = 8000):
    rng, keys = generator(key), iter(jax.random.split(key, 8))
    frequencies = np.linspace(0.01, 16, 480)
    ends = np.array([119, 239, 479])
    dimensions = np.array([4, 8, 14, 20])
    floors, wide, errors, units, within, single, thinner = [], [], [], [], [], [], []
    for n in dimensions.tolist():
        target, step = alternating_shells(n), 0.06 / np.sqrt(n)
        radius = unit_volume_radius(n)
        energy = radial_energy(target, target.edges, n, frequencies, nodes=24)
        mass = np.diff(ball_density_cdf(target.edges[[0, -1]], n))[0]
        within.append([mass - np.trapezoid(energy[: end + 1], frequencies[: end + 1]) for end in ends])
        floors.append(one_layer_floor(energy, frequencies, n, 2.0**n))
        wide.append(one_layer_floor(energy, frequencies, n, 8.0**n))
        single.append([one_layer_floor(energy, frequencies, n, 1), best_ridge_error(target, target.edges, n, nodes=24)])
        bare = energy * (1 - sphere_tube_share(2 * frequencies / radius, n))
        thinner.append(np.trapezoid(bare, frequencies))
        errors.append(two_stage_error(target, n, step=step, ramp=0.002))
        units.append(two_stage_network(target, n, step=step, ramp=0.002).units)
    # Four directions, evenly spread in the plane and at random in higher dimension, each with a free ridge function.
    above, thin = [], []
    for n in (2, 3, 4):
        target = alternating_shells(n)
        energy = radial_energy(target, target.edges, n, frequencies, nodes=24)
        angles = np.pi * np.arange(4) / 4
        lines = np.stack([np.cos(angles), np.sin(angles)], axis=1) if n == 2 else unit_vectors(rng, 4, n)
        floor = one_layer_floor(energy, frequencies, n, 4)
        above.append(ridge_fit_errors([next(keys), next(keys)], target, n, lines, points) - floor)
        half = sphere_tube_share(2 * frequencies / unit_volume_radius(n), n)
        thin.append(np.trapezoid(energy * np.maximum(1 - 4 * half, 0), frequencies) - floor)
    # A small network seen from inside: coordinates at knots, midway between them, and anywhere.
    n, step, ramp = 6, 0.1, 0.01
    target = alternating_shells(n)
    network = two_stage_network(target, n, step=step, ramp=ramp)
    inside = np.concatenate([np.zeros((300, n)), np.full((300, n), 0.5), rng.uniform(size=(300, n))])
    x = step * (rng.integers(-8, 8, (900, n)) + inside)
    square, band = np.sum(x**2, axis=1), n * step**2 / 8 + ramp
    gap = np.min(np.abs(square[:, None] - target.edges**2), axis=1)
    found, meant, away = network(x), target(np.sqrt(square)), gap > band
    narrow = gap > n * step**2 / 16 + ramp
    drawn = draw_ball_density(next(keys), n, 16_000)
    missed = (network(drawn) - target(np.linalg.norm(drawn, axis=1))) ** 2
    certain = two_stage_error(target, n, step=step, ramp=ramp)
    single = np.array(single)
    return {
        "energy by frequency": Limit(
            frequencies[ends], np.array(within).mean(0), order=1.0, aside={"volume": ball_volume(dimensions).mean()}
        ),
        "floor under the best single unit": Inequality(
            single[:, 0], single[:, 1], error=2e-3, along={"dimension": dimensions}, aside={"thin": np.array(thinner)}
        ),
        "floor under four fitted directions": Trend(
            np.array(above), along={"dimension": [2, 3, 4]}, aside={"thin": np.array(thin)}
        ),
        "floor at width 2ⁿ": Inequality(
            np.full(len(floors), 0.25),
            np.array(floors),
            along={"dimension": dimensions},
            aside={"wider": np.array(wide)},
        ),
        "squares by the first layer": Inequality(
            np.stack([network.squared_norm(x) - square, square - network.squared_norm(x)]),
            np.stack([np.full(900, n * step**2 / 4), np.zeros(900)]),
            scale=1.0,
            error=1e-12,
        ),
        "values away from the edges": Identity(
            found[away], meant[away], scale=1.0, error=1e-9, aside={"found": found[narrow], "meant": meant[narrow]}
        ),
        "error of two hidden layers": Inequality(
            np.array(errors),
            np.full(len(errors), 1 / 30),
            along={"dimension": dimensions},
            aside={"units": np.array(units)},
        ),
        "error within what is certain": Inequality(
            missed.mean(), certain, error=5 * missed.std() / np.sqrt(16_000), aside={"jumps": target.jumps}
        ),
    }


@one_against_two_hidden_layers.control("the mass of the unit ball's density", of="energy by frequency")
def not_a_density(evidence):
    return replace(evidence, y=evidence.y + np.abs(evidence.aside["volume"] - 1))


@one_against_two_hidden_layers.control("tubes of half the radius", of="floor under the best single unit")
def half_the_radius(evidence):
    return replace(evidence, quantity=evidence.aside["thin"])


@one_against_two_hidden_layers.control("four tubes of half the radius", of="floor under four fitted directions")
def four_of_half_the_radius(evidence):
    return replace(evidence, differences=evidence.differences - evidence.aside["thin"][:, None])


@one_against_two_hidden_layers.control("at every width, even 8ⁿ", of="floor at width 2ⁿ")
def much_wider(evidence):
    return replace(evidence, bound=evidence.aside["wider"])


@one_against_two_hidden_layers.control(
    "step²/8 a coordinate, as if squares had second derivative one", of="squares by the first layer"
)
def half_the_error(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@one_against_two_hidden_layers.control("bands of half the error of the squares", of="values away from the edges")
def narrow_bands(evidence):
    return replace(evidence, left=evidence.aside["found"], right=evidence.aside["meant"])


@one_against_two_hidden_layers.control("one hidden layer does as well, at width 2ⁿ", of="error of two hidden layers")
def one_layer_alone(evidence):
    return replace(evidence, quantity=np.full(len(evidence.quantity), 0.25))


@one_against_two_hidden_layers.picture
def floor_and_network(pieces):
    """Squared error that 2ⁿ units in one layer are certain to have, and that two layers are certain to keep (left);
    the target, along a line through the centre in four dimensions (right)."""
    floor, reached = pieces["floor at width 2ⁿ"], pieces["error of two hidden layers"]
    single = pieces["floor under the best single unit"]
    n = floor.along["dimension"]
    words = [f"{units} units" for units in reached.aside["units"]]
    left = [
        Line("2ⁿ units in one layer, floor", n, floor.bound),
        Line("one unit, floor", n, single.quantity, dashed=True),
        Dots("one unit, best", n, single.bound),
        Dots("two layers, ceiling", n, reached.quantity, words=words),
    ]
    target, s = alternating_shells(4), np.linspace(-2, 2, 801)
    right = [
        Line("target", s, target(np.abs(s))),
        Line("root of the density", s, ball_root_density(np.abs(s), 4)),
    ]
    return Row(
        [
            Curves(left, x="dimension n", y="mean squared error", log="y", ys=(0.01, 1)),
            Curves(right, x="position along a line", y="value"),
        ]
    )
