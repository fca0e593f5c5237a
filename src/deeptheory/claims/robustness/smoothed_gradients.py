"""How steep a smoothed function can be, in any dimension."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Inequality, Law, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Histogram, Level, Row, seen
from deeptheory.robustness.smoothing import gaussian_draws, gaussian_grid, smoothed_value_and_gradient

DIMENSIONS = (1, 10, 100)
DRAWS = 640


@claim(
    items={
        "A18.17": (
            "steepest functions",
            "functions from 0 to 1",
            "slopes of smoothed networks",
            "a function that is not bounded",
        )
    },
    says=r"The Gaussian average of a function with $|g|\le 1$ has gradient at most $\sqrt{2/\pi}/\beta$ in every "
    r"dimension, and $\mathrm{sign}\langle u,x\rangle$ attains it at its boundary; for $0\le g\le 1$ it is half of "
    r"that. Bounded above only, no constant serves: the average of $-x_1^2$ has gradient $-2x_1$.",
    needs="g bounded on both sides; the gradient is that of the average, not of the plurality label",
    full=dict(trials=400),
    symbols={
        "g": "the function that is averaged",
        r"\beta": "the standard deviation of the noise in each coordinate",
        "u": "a unit vector",
        "x_1": "the first coordinate of the point",
    },
    why="The derivative of a Gaussian average in a direction $u$ is the mean of $g$ times the noise along $u$, over "
    r"$\beta$. With $|g|\le1$ this is at most the mean size of one standard normal number, $\sqrt{2/\pi}$, in any "
    "dimension, and it is that if $g$ has the sign of the noise. A bound from above alone does not help, since $g$ "
    "may be as negative as it likes.",
    notice="From one dimension to a hundred the steepest average is equally steep, and a function between 0 and 1 "
    "half as steep. On the right, averages of random networks come close to the bound and do not pass it.",
)
def smoothed_gradient_bound(key, *, trials: Trials = 160):
    steepest, unit = np.empty((2, len(DIMENSIONS), trials))
    random = generator(jax.random.fold_in(key, 99))
    for i, d in enumerate(DIMENSIONS):
        direction = np.full(d, d**-0.5)
        nodes, _ = gaussian_draws(jax.random.fold_in(key, i), d, DRAWS * trials)
        # One batch of antithetic draws a trial: Stein's identity along u at a boundary point.
        halves = nodes.reshape(2, trials, DRAWS // 2, d).transpose(1, 0, 2, 3).reshape(trials, DRAWS, d)
        weights = np.full(DRAWS, 1 / DRAWS)
        for t, batch in enumerate(halves):
            for values, function in (
                (steepest, lambda x, u=direction: np.sign(x @ u)),
                (unit, lambda x, u=direction: (x @ u > 0) * 1.0),
            ):
                _, gradient = smoothed_value_and_gradient(function, np.zeros(d), 2.0, batch, weights)
                values[i, t] = gradient @ direction
    # Networks with a two-dimensional first layer: in any dimension their average is an integral over that plane.
    orders = [gaussian_grid(2, order) for order in (48, 32)]
    slopes, doubt = np.empty((2, trials))
    for t in range(trials):
        frame = np.linalg.qr(random.standard_normal((DIMENSIONS[t % 3] + 1, 2)))[0]
        inner, outer, offset = random.standard_normal((2, 12)), random.standard_normal(12), random.standard_normal(12)
        point = random.standard_normal(len(frame)) @ frame

        def network(x, inner=inner, outer=outer, offset=offset):
            return np.tanh(np.tanh(x @ inner + offset) @ outer)

        fine, coarse = (np.linalg.norm(smoothed_value_and_gradient(network, point, 1.0, *rule)[1]) for rule in orders)
        slopes[t], doubt[t] = fine, abs(fine - coarse)
    places = np.array([1.0, 4.0, 16.0, 64.0])
    parabola = [
        smoothed_value_and_gradient(lambda x: -(x[:, 0] ** 2), np.array([place, 0.3]), 1.0, *orders[0])[1]
        for place in places
    ]
    limit, labels = np.sqrt(2 / np.pi), {"d": np.array(DIMENSIONS)}
    return {
        "steepest functions": Law(limit / 2.0, steepest, along=labels, exact=True),
        "functions from 0 to 1": Law(limit / 4.0, unit, along=labels, exact=True),
        "slopes of smoothed networks": Inequality(slopes, limit, error=doubt),
        "a function that is not bounded": Rate(places, np.linalg.norm(parabola, axis=1), exponent=1.0),
    }


@smoothed_gradient_bound.control(
    "bounded above, some constant bounds the gradient, as printed",
    erratum="A18.17a",
    of="a function that is not bounded",
)
def some_constant(evidence):
    return replace(evidence, exponent=0.0)


@smoothed_gradient_bound.control("half of it, as for values in [0, 1]", of="slopes of smoothed networks")
def half_of_it(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@smoothed_gradient_bound.control("a constant that grows with the dimension", of="steepest functions")
def growing(evidence):
    return replace(evidence, predicted=np.sqrt(np.asarray(evidence.along["d"])) * evidence.predicted)


@smoothed_gradient_bound.picture
def steepest_averages(pieces):
    """Slopes of the steepest averages by dimension, β = 2 (left), and gradients of averages of networks (right)."""
    steepest, unit, networks = (
        pieces["steepest functions"],
        pieces["functions from 0 to 1"],
        pieces["slopes of smoothed networks"],
    )
    d = steepest.along["d"]
    slopes = [
        seen("sign⟨u, x⟩", d, steepest.observed),
        seen("1 where ⟨u, x⟩ > 0", d, unit.observed),
        Level("√(2/π)/β", y=float(np.max(steepest.predicted))),
        Level("half of it", y=float(np.max(unit.predicted))),
    ]
    right = Histogram(
        [Level("√(2/π)", x=float(np.max(networks.bound)))],
        samples=networks.quantity,
        bins=16,
        x="length of the gradient, β = 1",
        y="density",
    )
    return Row([Curves(slopes, x="dimension", y="slope at the boundary", log="x", ys=(0, 0.5)), right])
