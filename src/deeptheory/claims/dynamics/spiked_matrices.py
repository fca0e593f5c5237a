"""Online gradient descent on a spiked matrix in high dimension: its paths, its phase transition, its diffusion.

The pair of overlap and rest is an exact Markov chain of two numbers, so thousands of dimensions cost nothing
(jagannath 12.4).
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen
from scipy import stats

from deeptheory.dynamics.online import online_step
from deeptheory.dynamics.spiked_tensors import (
    ballistic_fixed_points,
    ballistic_velocity,
    equator_variance,
    rest_on_the_equator,
    spiked_tensor_chain,
    spiked_tensor_loss,
    spiked_tensor_samples,
    spiked_tensor_step,
    tensor_statistics,
)
from deeptheory.foundations.flows import flow
from deeptheory.lab import Distribution, Exact, Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Field, Level, Line, Row, Stack, seen

TIMES = np.array([0.1, 0.25, 0.5, 1.0])
Dimensions = Annotated[Sizes, Interval(ge=20, le=100_000), MinLen(3)]
Signal = Annotated[float, Interval(ge=0.1, le=4.0)]


@partial(jax.jit, static_argnames="order")
def stepped(x, v, tensors, noise, signal, step, order):
    """Statistics after one step: of whole vectors with their tensors, and of the two numbers with three of noise."""
    whole = jax.vmap(lambda y: tensor_statistics(online_step(spiked_tensor_loss, x, y, step), v))(tensors)
    return whole, jnp.stack(spiked_tensor_step(*tensor_statistics(x, v), *noise, signal=signal, step=step, order=order))


def noise_numbers(tensors, x, v, signal):
    """The three numbers of noise that belong to a tensor: those of ∇⟨W, x^{⊗k}⟩ made isotropic.

    W is contracted with x in all places but one, for each of the places.
    """
    order = tensors.ndim - 1
    power = v
    for _ in range(order - 1):
        power = power[..., None] * v
    noise, slope = tensors - signal * power, 0.0
    for place in range(order):
        rest = np.moveaxis(noise, place + 1, 1)
        for _ in range(order - 1):
            rest = rest @ x
        slope = slope + rest
    length, unit = np.linalg.norm(x), x / np.linalg.norm(x)
    normal = (slope - np.outer(slope @ unit, unit) * (1 - order**-0.5)) / (order**0.5 * length ** (order - 1))
    side = x - (x @ v) * v
    along, beside = normal @ v, normal @ side / np.linalg.norm(side)
    return along, beside, (normal**2).sum(1) - along**2 - beside**2


@claim(
    items={"J12.4": ("paths", "paths of order three", "fluctuations"), "J12.7": ("paths", "paths of order three")},
    says=r"With steps $c_\delta/N$ the statistics $(m,r)$ of online gradient descent on a spiked tensor follow "
    r"$\dot m=2m(\lambda km^{k-2}-kR^{2(k-1)})$, $\dot r=-4kR^{2(k-1)}(r-c_\delta)$ as $N\to\infty$, at a distance of "
    r"order $N^{-1/2}$.",
    needs="Gaussian noise; (m, r) at the start fixed while N grows",
    full=dict(sizes=(200, 800, 3200)),
    symbols={
        r"c_\delta": "the length of a step, times the dimension",
        r"N": "the dimension",
        r"m": "the overlap of the estimate with the hidden direction",
        r"r": "the squared length of what the estimate has beside it",
        r"\lambda": "the strength of the signal",
        r"k": "the order of the tensor",
        r"R": r"the length of the estimate, $R^2=m^2+r$",
    },
    why=r"A step changes the statistics by $\delta$ times drift and corrector on average, and at random by a "
    r"martingale whose variance per step is $\delta$ times the volatility. After the $t/\delta$ steps of a time $t$ "
    "the first add up to the differential equation; the second to a variance of the order of the volatility, $1/N$.",
    notice="Dots are means of exact chains in the largest dimension; the curves are the limit. Without the corrector "
    "$r$ would fall to zero and the overlap would rise further.",
    explore={"signal": (0.5, 1.0, 1.5, 2.0, 3.0)},
)
def spiked_descent_follows_its_limit(
    key, *, sizes: Dimensions = (60, 240, 960), trials: Trials = 2048, signal: Signal = 2.0
):
    first, second, *keys = jax.random.split(key, 4)
    ranks, sides = np.empty(0), []
    for each, order, size in ((first, 2, 12), (second, 3, 6)):
        v = np.eye(size)[0]
        x = np.linspace(0.7, -0.4, size)
        tensors = spiked_tensor_samples(each, v, signal=signal, order=order, count=12288)
        noise = noise_numbers(tensors, x, v, signal)
        whole, two = stepped(x, v, tensors, noise, signal, 0.05, order)
        sides.append((whole.T, two))
        ranks = stats.chi2.cdf(noise[2], size - 2)
    # At λ = 2 alone λ could stand in the place of a factor 2; with a weak signal the overlap moves far.
    problems = {"paths": (2, signal, 1.0, (0.3, 0.6)), "paths of order three": (3, 0.25 * signal, 0.25, (0.9, 0.5))}
    pieces = {
        "chain against whole vectors": Identity(*np.concatenate(sides, axis=-1), scale=10.0, size=200.0),
        "law of the remaining directions": Distribution(ranks, aside={"freedom": size - 2}),
    }
    for each, (name, (order, strength, ratio, start)) in zip(keys, problems.items(), strict=True):
        setting = {"signal": strength, "order": order}
        paths = [
            spiked_tensor_chain(
                k, dimension=n, ratio=ratio, times=ratio * TIMES, start=start, replicas=trials, **setting
            )
            for k, n in zip(jax.random.split(each, len(sizes)), sizes, strict=True)
        ]
        observed = np.moveaxis(np.array(paths), -2, -1)
        predicted, bare = (
            np.asarray(
                flow(lambda _, u, c=c, s=setting: ballistic_velocity(u, ratio=c, **s), np.array(start), ratio * TIMES)
            )
            for c in (ratio, 0.0)
        )
        pieces[name] = Law(
            predicted,
            observed,
            sizes=sizes,
            order=1.0,
            scale=1.0,
            along={"time": ratio * TIMES, "statistic": ["m", "r"]},
            aside={"bare": bare, "start": np.array(start), "signal": strength},
        )
    gaps = np.linalg.norm(pieces["paths"].observed - pieces["paths"].predicted[..., None], axis=2).max(1)
    # A distance does not see the sign of a deviation, so what the mean is off, of order 1/N, adds a share of order 1/N.
    pieces["fluctuations"] = Rate(
        np.array(sizes, float), gaps, exponent=-0.5, resolution=0.12, rivals=(-0.25, -1.0), order=1.0
    )
    return pieces


@spiked_descent_follows_its_limit.control("one remaining direction more", of="law of the remaining directions")
def one_more_direction(evidence):
    freedom = evidence.aside["freedom"]
    return replace(evidence, ranks=stats.chi2.cdf(stats.chi2.ppf(evidence.ranks, freedom), freedom + 1))


@spiked_descent_follows_its_limit.control("gradient flow on the population loss, without corrector", of="paths")
def without_corrector(evidence):
    return replace(evidence, predicted=np.asarray(evidence.aside["bare"]))


@spiked_descent_follows_its_limit.control("without corrector, order three", of="paths of order three")
def without_corrector_of_order_three(evidence):
    return replace(evidence, predicted=np.asarray(evidence.aside["bare"]))


@spiked_descent_follows_its_limit.picture
def paths_over_time(pieces):
    """Overlap and rest over time for matrices: limit, means over runs, and the limit without its corrector."""
    found = pieces["paths"]
    start, strength = np.asarray(found.aside["start"]), float(found.aside["signal"])
    grid = np.linspace(0, TIMES[-1], 60)
    panels = []
    fields = [partial(ballistic_velocity, signal=strength, ratio=ratio) for ratio in (1.0, 0.0)]
    limit, bare = (np.asarray(flow(lambda _, u, f=field: f(u), start, grid)) for field in fields)
    for which, name in enumerate(("overlap m", "rest r")):
        marks = [
            Line("limit", grid, limit[:, which]),
            seen("runs", TIMES, np.asarray(found.observed)[-1, :, which]),
            Line("limit", grid, bare[:, which], rival="no corrector"),
        ]
        panels.append(Curves(marks, x="time", y=name))
    return Row(panels)


@claim(
    items={"J12.8": ("rest points", "stability of rest points", "overlap at the end"), "J12.10": "overlap at the end"},
    says=r"For $k=2$ and $c_\delta=1$ the fixed points $(m,r)$ are $(0,0)$, never stable; $(0,1)$, stable if and only "
    r"if $\lambda<1$; and for $\lambda>1$ $(\pm\sqrt{\lambda-1},1)$, stable. From a random start the overlap ends at "
    r"$m^2=\max(\lambda-1,0)$.",
    needs="steps 1/N, Gaussian noise, N → ∞",
    symbols={
        r"k": "the order of the tensor: a matrix",
        r"c_\delta": "the dimension times the length of a step",
        r"m": "the overlap of the estimate with the hidden direction",
        r"r": "the squared length of what the estimate has beside it",
        r"\lambda": "the strength of the signal",
    },
    why=r"The corrector keeps $r$ at one as if by a spring, $\dot r=-8R^2(r-1)$. On that line "
    r"$\dot m=4m(\lambda-1-m^2)$: a pitchfork at $\lambda=1$, where the largest eigenvalue of a spiked Wigner matrix, "
    r"of entries of variance $1/N$, leaves the bulk.",
    notice=r"Thin lines are runs in 2,000 dimensions from random starts. Below the transition all stay near $(0,1)$; "
    r"above it they leave it to both sides, for $(\pm\sqrt{\lambda-1},1)$.",
    full=dict(sizes=(400, 800, 1600), trials=1024),
)
def spiked_matrix_transition(key, *, sizes: Dimensions = (200, 400, 800), trials: Trials = 384):
    signals = np.array([0.5, 0.8, 1.5, 2.0, 3.0])
    found = [ballistic_fixed_points(signal=float(signal)) for signal in signals]
    places = [(p.overlap, p.rest, signal) for points, signal in zip(found, signals, strict=True) for p in points]
    expected = [
        (m, r, signal)
        for signal in signals
        for m, r in ((0.0, 0.0), (0.0, 1.0), (max(signal - 1, 0) ** 0.5, 1.0))[: 2 + (signal > 1)]
    ]
    at_one = np.array([ballistic_velocity(np.ones(2), signal=float(signal)) for signal in signals[signals > 1]])
    stable = [point.stable for points in found for point in points]
    predicted = [r == 1 and (m > 0 or signal < 1) for m, r, signal in expected]
    swept, shown = signals[[0, 2, 3]], signals[[0, 3]]
    first, *keys = jax.random.split(key, 1 + len(sizes))
    ends = [
        [
            spiked_tensor_chain(k, dimension=n, signal=float(signal), times=np.array([4.0]), replicas=trials)[0, :, 0]
            for signal, k in zip(swept, jax.random.split(each, len(swept)), strict=True)
        ]
        for each, n in zip(keys, sizes, strict=True)
    ]
    grid = np.linspace(0.05, 1.5, 30)
    paths = [
        spiked_tensor_chain(k, dimension=2000, signal=float(signal), times=grid, replicas=8)
        for signal, k in zip(shown, jax.random.split(first, len(shown)), strict=True)
    ]
    return {
        "rest points": Identity(
            np.array([ballistic_velocity(np.array(place[:2]), signal=place[2]) for place in expected]),
            0.0,
            scale=10.0,
            aside={"at (1, 1)": at_one},
        ),
        "rest points by search": Identity(np.array(places), np.array(expected), scale=1.0, condition=10.0),
        "stability of rest points": Exact(
            np.array(stable), np.array(predicted), aside={"at (0, 1)": np.array([p[:2] == (0, 1) for p in expected])}
        ),
        "overlap at the end": Law(
            np.maximum(swept - 1, 0),
            np.array(ends) ** 2,
            sizes=sizes,
            order=1.0,
            scale=1.0,
            along={"signal": swept},
            aside={"paths": np.array(paths), "signals": shown},
        ),
    }


@spiked_matrix_transition.control("(1, 1) for every λ > 1, as printed", of="rest points", erratum="J12.8a")
def printed_fixed_point(evidence):
    return replace(evidence, left=np.asarray(evidence.aside["at (1, 1)"]))


@spiked_matrix_transition.control("(0, 1) stable for every λ", of="stability of rest points")
def always_stable(evidence):
    return replace(evidence, right=np.asarray(evidence.right) | np.asarray(evidence.aside["at (0, 1)"]))


@spiked_matrix_transition.control("the overlap of the top eigenvector, 1 − 1/λ²", of="overlap at the end")
def eigenvector(evidence):
    signals = np.asarray(evidence.along["signal"])
    return replace(evidence, predicted=np.maximum(1 - signals**-2.0, 0))


@spiked_matrix_transition.picture
def portraits(pieces):
    """Velocity of overlap and rest, with eight runs in 2,000 dimensions, at two λ; and the rest points along λ."""
    found = pieces["overlap at the end"]
    m, r = np.meshgrid(np.linspace(-1.5, 1.5, 13), np.linspace(0.1, 1.6, 9))
    panels = []
    for signal, paths in zip(np.asarray(found.aside["signals"]), np.asarray(found.aside["paths"]), strict=True):
        velocity = np.asarray(ballistic_velocity(np.stack([m, r], -1), signal=float(signal)))
        points = ballistic_fixed_points(signal=float(signal))
        marks: list[Any] = [Line("runs", *path.T, thin=True) for path in np.moveaxis(paths, 1, 0)]
        for stable, name in ((True, "stable"), (False, "not stable")):
            places = [(side * p.overlap, p.rest) for p in points if p.stable is stable for side in (-1, 1)]
            marks.append(Dots(name, *np.array(places).T))
        panels.append(
            Field(
                marks, at_x=m.ravel(), at_y=r.ravel(), u=velocity[..., 0].ravel(), v=velocity[..., 1].ravel(),
                x="overlap m", y="rest r", title=f"λ = {signal:g}",
            )
        )  # fmt: skip
    overlap, _, signals = np.asarray(pieces["rest points by search"].left).T
    away, dense = overlap > 1e-6, np.linspace(1, 3.2, 80)
    overlaps = Curves(
        [
            Line("√(λ − 1)", dense, np.sqrt(dense - 1)),
            Dots("rest points found", signals[away], overlap[away]),
            Line("", dense[1:], np.ones(len(dense) - 1), rival="(1, 1) for every λ > 1, as printed"),
        ],
        x="signal λ",
        y="overlap m of the rest point",
    )
    return Stack([Row(panels), overlaps])


@claim(
    items={"J12.9": ("variance of the overlap", "length of the rest")},
    says=r"Near the equator $\tilde u=\sqrt N m$ is a diffusion: $d\tilde u=4\tilde u(\lambda-r)dt+2\sqrt{2r}\,dB$, "
    r"$dr=-8r(r-1)dt$. At $r=1$ it is an Ornstein–Uhlenbeck process, of variance "
    r"$e^{8(\lambda-1)t}+(e^{8(\lambda-1)t}-1)/(\lambda-1)$, bounded if and only if $\lambda<1$.",
    needs="spiked matrix, steps 1/N, N → ∞; x drawn from N(0, I/N), or r at the start elsewhere",
    full=dict(sizes=(100, 400, 1600), trials=32768),
    symbols={
        r"\tilde u": r"the overlap $m$ on the scale $1/\sqrt N$ of a random start",
        r"N": "the dimension",
        r"\lambda": "the strength of the signal",
        r"r": "the squared length of the estimate beside the hidden direction",
        r"B": "a Brownian motion",
        r"t": "time: a step takes $1/N$",
    },
    why=r"On its own scale the overlap feels the volatility $N\delta\cdot8R^2=8r$ of the noise's component along the "
    r"hidden direction, which vanished before. The drift near the equator is linear, $4m(\lambda-R^2)$ with $R^2=r$; "
    r"$r$ has no noise left in the limit and does not see so small an overlap.",
    notice=r"Below $\lambda=1$ the variance comes to rest at $1/(1-\lambda)$, at $\lambda=1$ it grows in a straight "
    "line, above it exponentially: that is how a random start leaves the equator.",
)
def equator_is_diffusive(key, *, sizes: Dimensions = (60, 240, 480), trials: Trials = 20_480):
    signals, times = np.array([0.5, 1.0, 1.25]), np.array([0.1, 0.2, 0.4])
    keys = jax.random.split(key, (2, len(sizes)))
    squares = []
    for each, n in zip(keys[0], sizes, strict=True):
        paths = [
            spiked_tensor_chain(k, dimension=n, signal=float(signal), times=times, replicas=trials)[..., 0]
            for signal, k in zip(signals, jax.random.split(each, len(signals)), strict=True)
        ]
        squares.append(n * np.array(paths) ** 2)
    early, begin = np.array([0.05, 0.1, 0.2]), 0.3
    rests = [
        spiked_tensor_chain(k, dimension=n, signal=1.0, times=early, start=(0.0, begin), replicas=trials // 32)[..., 1]
        for k, n in zip(keys[1], sizes, strict=True)
    ]
    return {
        "variance of the overlap": Law(
            np.array([equator_variance(times, signal=float(signal)) for signal in signals]),
            np.array(squares),
            sizes=sizes,
            order=1.0,
            # A mean of squares of Gaussians, extrapolated: 10 % without a hundred thousand runs; rivals are 40 % off.
            resolution=0.1,
            along={"signal": signals, "time": times},
        ),
        "length of the rest": Law(
            rest_on_the_equator(early, begin),
            np.array(rests),
            sizes=sizes,
            order=1.0,
            along={"time": early},
            aside={"begin": begin},
        ),
    }


@equator_is_diffusive.control("noise 2√r for 2√(2r)", of="variance of the overlap")
def half_the_noise(evidence):
    signals, times = np.asarray(evidence.along["signal"]), np.asarray(evidence.along["time"])
    added = np.array([equator_variance(times, signal=float(signal), start=0.0) for signal in signals])
    return replace(evidence, predicted=evidence.predicted - added / 2)


@equator_is_diffusive.control("r² − 1 for r − 1", of="length of the rest")
def squared_rest(evidence):
    times, begin = np.asarray(evidence.along["time"]), float(evidence.aside["begin"])
    # dr = −8r(r² − 1)dt is solved by r^(−2) − 1 falling like e^(−16t).
    return replace(evidence, predicted=(1 + (begin**-2 - 1) * np.exp(-16 * times)) ** -0.5)


@equator_is_diffusive.picture
def spreading(pieces):
    """Variance of √N times the overlap over time, below, at and above the transition; dots are runs."""
    found = pieces["variance of the overlap"]
    signals, times = np.asarray(found.along["signal"]), np.asarray(found.along["time"])
    grid, marks = np.linspace(0, times[-1], 60), []
    for row, signal in enumerate(signals):
        name = f"λ = {signal:g}"
        marks.append(Line(name, grid, equator_variance(grid, signal=float(signal))))
        marks.append(seen(name, times, np.asarray(found.observed)[-1, row]))
    return Curves([*marks, Level("at rest for λ = 0.5", y=2.0)], x="time", y="N m², mean over runs")
