"""How steep a smoothed function can be, in any dimension."""

from dataclasses import replace
from typing import Literal

import jax
import numpy as np

from deeptheory.lab import Inequality, Law, Trials, claim
from deeptheory.randomness import generator
from deeptheory.robustness.smoothing import gaussian_draws, gaussian_grid, smoothed_value_and_gradient

DIMENSIONS = (1, 10, 100)
DRAWS = 640


@claim(
    items={"A18.17": ("steepest", "unit interval", "networks")},
    says=r"The Gaussian average of a function with $|g|\le 1$ has gradient at most $\sqrt{2/\pi}/\beta$ in every "
    r"dimension, and $\mathrm{sign}\langle u,x\rangle$ attains it at its boundary; for $0\le g\le 1$ it is half of "
    r"that.",
    needs="g bounded on both sides; the gradient is that of the average, not of the plurality label",
    full=dict(trials=400),
)
def smoothed_gradient_bound(key, *, trials: Trials = 160, bounded: Literal["both sides", "above"] = "both sides"):
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
            value = np.tanh(x @ inner + offset) @ outer
            return np.tanh(value) if bounded == "both sides" else np.minimum(4 * value, 1.0)

        fine, coarse = (np.linalg.norm(smoothed_value_and_gradient(network, point, 1.0, *rule)[1]) for rule in orders)
        slopes[t], doubt[t] = fine, abs(fine - coarse)
    limit, labels = np.sqrt(2 / np.pi), {"d": np.array(DIMENSIONS)}
    return {
        "steepest": Law(limit / 2.0, steepest, along=labels, exact=True),
        "unit interval": Law(limit / 4.0, unit, along=labels, exact=True),
        "networks": Inequality(slopes, limit, error=doubt),
    }


smoothed_gradient_bound.control("bounded above only, as printed", erratum="A18.17a", of="networks", bounded="above")


@smoothed_gradient_bound.control("a constant that grows with the dimension", of="steepest")
def growing(evidence):
    return replace(evidence, predicted=np.sqrt(np.array(DIMENSIONS)) * evidence.predicted)
