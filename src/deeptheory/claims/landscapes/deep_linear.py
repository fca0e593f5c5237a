"""Deep linear networks: their critical points, the degenerate saddle at zero, and how saddles are left.

lucchi Sec. 6.1.2.
"""

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.landscapes.linear_networks import descended, flat, gradient_of, hessian_of, problem
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Limit, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.landscapes.linear_networks import (
    LinearNetworkLoss,
    bottleneck_critical_points,
    deep_critical_point,
    end_to_end,
    least_squares_map,
    projected_least_squares,
)
from deeptheory.landscapes.plateaus import plateau_time


@claim(
    items={
        "L6.8": "critical points project least squares",
        "L6.9": (
            "loss where descent ends",
            "negative curvature at saddles",
            "both signs at a saddle",
            "Hessian at zero",
        ),
    },
    says=r"At a critical point of a deep linear network $W_{H+1}\cdots W_1=P_C\,YX^\top(XX^\top)^{-1}$ with "
    r"$C=W_{H+1}\cdots W_2$. Descent reaches the global minimum; every other critical point is a saddle, with a "
    r"negative curvature if $W_H\cdots W_2$ has the rank $p$ of the narrowest hidden layer.",
    needs="XXᵀ invertible, the eigenvalues of Σ = YXᵀ(XXᵀ)⁻¹XYᵀ distinct and not zero",
    symbols={
        "W_1, \\dots, W_{H+1}": "the matrices, from the input on",
        "X, Y": "inputs and labels, one sample a column",
        "P_C": "the projection on the columns of $C$",
        "p": "the least width of a hidden layer",
    },
    why=r"In $W_1$ alone the loss is convex, and its normal equation says that what the later matrices can reach is "
    "reached: the residual of least squares is orthogonal to the columns of $C$. If the matrices in between have full "
    "rank, the network is as free as one of two matrices, whose saddles have a way down. If they have not, the way "
    "may begin flat, and the Hessian does not show it.",
    notice="All runs come down to one level, some after a wait near a saddle. On the right the least eigenvalue is "
    "negative at every critical point but one, which keeps the two largest eigenvectors. At zero, where all matrices "
    "have lost their rank, the Hessian vanishes, though it is a saddle too.",
)
def deep_networks_have_no_bad_minima(key, *, depth: Annotated[int, Interval(ge=3, le=4)] = 3):
    random = generator(key)
    x, y = problem(random, 4, 3, 30)
    widths = (4, *[2] * (depth - 1), 3)
    loss = LinearNetworkLoss(jnp.asarray(x), jnp.asarray(y), widths)
    values, _ = bottleneck_critical_points(x, y, width=2)
    names = [kept for count in range(3) for kept in combinations(range(3), count)]
    least, most, turned = [], [], []
    for kept in names:
        weights = deep_critical_point(x, y, kept, widths=widths)
        # Any basis of the hidden layers will do.
        bases = [random.standard_normal((2, 2)) for _ in weights[:-1]]
        weights = [
            (bases[k] if k < depth - 1 else np.eye(3)) @ w @ (np.linalg.inv(bases[k - 1]) if k else np.eye(4))
            for k, w in enumerate(weights)
        ]
        turned.append(weights)
        spectrum = np.linalg.eigvalsh(np.asarray(hessian_of(loss, flat(*weights))))
        least.append(spectrum[0])
        most.append(spectrum[-1])
    # The origin, and points where the later matrices have lost rank: critical too, and P_C a projection all the same.
    zero = [np.zeros(w.shape) for w in turned[0]]
    idle = [np.zeros_like(turned[0][0]), *(np.zeros((2, 2)) for _ in turned[0][1:-1]), random.standard_normal((3, 2))]
    everything = [*turned, zero, idle]
    slopes = [float(jnp.linalg.norm(gradient_of(loss, flat(*weights)))) for weights in everything]
    hessian = np.linalg.eigvalsh(np.asarray(hessian_of(loss, flat(*zero))))

    starts = random.standard_normal((12, sum(a * b for a, b in pairwise(widths))))
    runs, _ = descended(loss, jnp.asarray(0.5 * starts), 0.1)
    saddles = np.array([kept != (0, 1) for kept in names])
    signs = np.stack([np.array(least) < -1e-9, np.array(most) > 1e-9])[:, saddles]
    order = np.argsort([len(kept) for kept in names], kind="stable")
    return {
        "critical points project least squares": Identity(
            np.stack([end_to_end(weights) for weights in everything]),
            np.stack([projected_least_squares(end_to_end(weights[1:]), x, y) for weights in everything]),
            scale=1.0,
            error=1e-9 + max(slopes),
            aside={"whole": least_squares_map(x, y)},
        ),
        "loss where descent ends": Identity(
            runs[:, -1], (np.sum(y**2) - values[:2].sum()) / 2, error=1e-6, aside={"runs": runs}
        ),
        "negative curvature at saddles": Exact(
            np.array(least) < -1e-9,
            saddles,
            aside={"least": np.array(least)[order]},
        ),
        "both signs at a saddle": Exact(signs, np.ones_like(signs)),
        "Hessian at zero": Exact(
            np.array([bool(np.abs(hessian).max() < 1e-12), float(loss(flat(*zero))) > runs[0, -1] + 1e-3]),
            np.array([True, True]),
        ),
    }


@deep_networks_have_no_bad_minima.control(
    "least squares itself, without the projection", of="critical points project least squares"
)
def unprojected(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.aside["whole"], evidence.right.shape))


@deep_networks_have_no_bad_minima.control(
    "no way down from points that keep two eigenvectors, whichever", of="negative curvature at saddles"
)
def one_is_enough(evidence):
    return replace(
        evidence, right=np.array([False if len(evidence.right) - k <= 3 else r for k, r in enumerate(evidence.right)])
    )


@deep_networks_have_no_bad_minima.control(
    "every saddle has negative curvature, whatever the rank", of="Hessian at zero"
)
def always_strict(evidence):
    return replace(evidence, right=np.array([False, True]))


@deep_networks_have_no_bad_minima.control("convex", of="both signs at a saddle")
def convex(evidence):
    return replace(evidence, right=np.stack([~evidence.right[0], evidence.right[1]]))


@deep_networks_have_no_bad_minima.picture
def runs_and_curvatures(pieces):
    """Descent from random weights (left), and the least eigenvalue at critical points, by what they keep (right)."""
    runs, least = (
        np.asarray(pieces["loss where descent ends"].aside["runs"]),
        pieces["negative curvature at saddles"].aside["least"],
    )
    steps = 100 * np.arange(runs.shape[1])
    ways = [Line("descent", steps[1:], run[1:] - runs[:, -1].min() + 1e-12, thin=True) for run in runs]
    kept = np.array([len(c) for count in range(3) for c in combinations(range(3), count)])
    return Row(
        [
            Curves(ways, x="step", y="loss above the minimum", log="xy", ys=(1e-9, 1.0)),
            Curves([Dots("critical points", kept, least)], x="eigenvectors kept", y="least eigenvalue of the Hessian"),
        ]
    )


@claim(
    items={
        "L6.10": (
            "Hessian of two matrices at zero",
            "Hessian of three matrices at zero",
            "time on the plateau, two matrices",
            "time on the plateau, three matrices",
            "time on the plateau, four matrices",
            "time on the plateau in full",
        )
    },
    says=r"At zero the Hessian of two matrices has the singular values of $YX^\top$ with both signs, that of three or "
    r"more vanishes. So from weights of size $\epsilon$ the loss stands still for a time that grows like "
    r"$\log(1/\epsilon)$ with two matrices and like $\epsilon^{-(L-2)}$ with $L\ge3$.",
    needs="gradient flow from balanced weights",
    symbols={
        "X, Y": "inputs and labels",
        r"\epsilon": "the size of the initial weights",
        "L": "the number of matrices",
    },
    why="The loss is a polynomial whose terms beside the constant have degree $L$ and more: with two matrices there is "
    r"a quadratic form, with three none. Near zero the flow is $\dot w=s\,w^{L-1}$: exponential for $L=2$, and for "
    r"$L\ge3$ it takes the time $\epsilon^{-(L-2)}/((L-2)s)$ to leave any small neighbourhood.",
    notice="Lines are the formula, dots the flow. Ten times smaller weights cost two matrices a "
    "constant time more, three matrices ten times as long, and four a hundred times.",
)
def the_origin_is_a_plateau(key, *, signal: Annotated[float, Interval(ge=0.2, le=5)] = 1.5):
    random = generator(key)
    x, y = problem(random, 3, 3, 20)
    spectra = {}
    for depth in (2, 3):
        loss = LinearNetworkLoss(jnp.asarray(x), jnp.asarray(y), (3, *[2] * (depth - 1), 3))
        size = sum(a * b for a, b in pairwise(loss.widths))
        spectra[depth] = np.linalg.eigvalsh(np.asarray(hessian_of(loss, jnp.zeros(size))))
    singular = np.linalg.svd(y @ x.T, compute_uv=False)

    from scipy.integrate import solve_ivp

    def waits(depth, size):
        """When half of the signal is reached by the flow of all weights, which start at one value."""

        def flow(_, w):
            return (signal - np.prod(w)) * np.prod(w) / w

        def half(_, w):
            return np.prod(w) - signal / 2

        half.terminal = True
        start = np.full(depth, size)
        return solve_ivp(flow, (0, 1e12), start, "DOP853", events=half, rtol=1e-9, atol=1e-14).t_events[0][0]

    sizes = np.geomspace(0.2, 0.002, 5)
    took = {depth: np.array([waits(depth, size) for size in sizes]) for depth in (2, 3, 4)}
    stated = {depth: np.array([plateau_time(size, signal, depth=depth) for size in sizes]) for depth in took}
    return {
        "Hessian of two matrices at zero": Identity(
            spectra[2],
            np.sort(np.concatenate([np.tile(singular, 2), -np.tile(singular, 2)])),
            scale=singular[0],
            size=20,
        ),
        "Hessian of three matrices at zero": Identity(spectra[3], 0.0, scale=singular[0]),
        "time on the plateau, two matrices": Limit(
            1 / sizes[1:],
            np.abs(np.diff(took[2]) * signal / np.log(sizes[:-1] / sizes[1:]) - 1),
            order=2.0,
            aside={"twice": np.abs(np.diff(took[2]) * 2 * signal / np.log(sizes[:-1] / sizes[1:]) - 1)},
        ),
        "time on the plateau, three matrices": Rate(
            1 / sizes, took[3], exponent=1.0, rivals=(0.5, 2.0), aside={"sizes": sizes, "took": took[2]}
        ),
        "time on the plateau, four matrices": Rate(1 / sizes, took[4], exponent=2.0, rivals=(1.0, 3.0)),
        "time on the plateau in full": Identity(
            np.stack(list(took.values())), np.stack(list(stated.values())), error=1e-5 * np.stack(list(stated.values()))
        ),
    }


@the_origin_is_a_plateau.control(
    "curvature at zero with three matrices as with two", of="Hessian of three matrices at zero"
)
def curved_at_zero(evidence):
    return replace(evidence, right=np.resize([-1.0, 1.0], len(evidence.left)) * evidence.scale)


@the_origin_is_a_plateau.control("the singular values of one sign only", of="Hessian of two matrices at zero")
def one_sign(evidence):
    return replace(evidence, right=np.abs(evidence.right))


@the_origin_is_a_plateau.control("a rate of 2s for s", of="time on the plateau, two matrices")
def twice_the_rate(evidence):
    return replace(evidence, y=evidence.aside["twice"])


@the_origin_is_a_plateau.control("the time without the (L − 2)", of="time on the plateau in full")
def without_depth(evidence):
    return replace(evidence, right=evidence.right * np.array([[1.0], [1.0], [2.0]]))


@the_origin_is_a_plateau.picture
def waiting_times(pieces):
    """The time until half of the signal is learnt, by the size of the initial weights, for two to four matrices."""
    sizes = pieces["time on the plateau, three matrices"].aside["sizes"]
    observed, stated = pieces["time on the plateau in full"].left, pieces["time on the plateau in full"].right
    marks = [
        each
        for depth, seen, line in zip((2, 3, 4), observed, stated, strict=True)
        for each in (Dots(f"{depth} matrices", sizes, seen), Line(f"{depth} matrices", sizes, line))
    ]
    return Curves(marks, x="size of the initial weights ε", y="time to half of the signal", log="xy")


@jax.jit
def crossings(loss, saddle, direction, draws, sizes, step, edge, start):
    """The time, between steps, at which noisy descent is further from a saddle than `edge` along a direction."""

    def one(size, draws):
        def body(w, draw):
            moved = w - step * jax.grad(loss)(w) + size * draw
            return moved, jnp.abs((moved - saddle) @ direction)

        far = jax.lax.scan(body, start, draws)[1]
        first = jnp.argmax(far > edge)
        before = jnp.log(far[first - 1])
        return first + (jnp.log(edge) - before) / (jnp.log(far[first]) - before), jnp.any(far > edge), far

    return jax.vmap(lambda size: jax.vmap(lambda d: one(size, d))(draws))(sizes)


@claim(
    items={
        "L6.11": (
            "descent without noise stays",
            "descent with noise leaves",
            "steps for a tenfold smaller noise",
            "steps until it has left",
        )
    },
    says=r"Gradient descent that starts at a saddle of a two-matrix network stays; with noise of size $\sigma$ at each "
    r"step it leaves, and a tenfold smaller noise costs it $\ln10/\ln(1+\eta|\lambda_{\min}|)$ more steps, no more.",
    needs="a strict saddle with one way down; small noise",
    symbols={
        r"\sigma": "the size of the noise",
        r"\eta": "the step size",
        r"\lambda_{\min}": "the negative eigenvalue of the Hessian at the saddle",
    },
    why=r"Along the way down each step multiplies the distance from the saddle by $1+\eta|\lambda_{\min}|$, the noise "
    "gives it something to multiply. A tenth of the noise is a tenth of the distance at all times until the loss "
    "bends, so the run is the same, later by the number of steps in which the factor makes ten. The noises of all "
    r"steps add up, each with its power of the factor, to a Gaussian whose variance is a geometric sum, and the mean "
    "logarithm of its size is known.",
    notice="On a logarithmic axis all runs rise along parallel lines, one for each size of the noise, at equal "
    "distances. Without noise there is no line: the run stands still.",
)
def noise_leaves_saddles(key, *, trials: Trials = 2048, growth: Annotated[float, Interval(ge=0.05, le=0.3)] = 0.1):
    random = generator(key)
    x, y = problem(random, 3, 3, 20)
    loss = LinearNetworkLoss(jnp.asarray(x), jnp.asarray(y), (3, 1, 3))
    _, listed = bottleneck_critical_points(x, y, width=1)
    second = next(each for each in listed if each.kept == (1,))  # keeps the second eigenvector: one way down
    saddle = flat(second.first, second.second)
    values, vectors = np.linalg.eigh(np.asarray(hessian_of(loss, saddle)))
    step, rate = growth / abs(values[0]), np.log1p(growth)
    sizes, edge = np.array([1e-5, 1e-6, 1e-7]), 1e-3
    # So many that all of two thousand runs leave, but for one time in a million: P(|Z| < e^−x) is below e^−x.
    steps = int(np.ceil((np.log(edge / sizes[-1]) + 22) / rate))
    draws = jnp.asarray(random.standard_normal((trials, steps, len(saddle))))
    down = jnp.asarray(vectors[:, 0])
    times, left, far = crossings(loss, saddle, down, draws, jnp.asarray(sizes), step, edge, saddle)
    still, beside = (
        crossings(loss, saddle, down, draws[:1], jnp.zeros(1), step, edge, saddle + apart * down)[2]
        for apart in (0.0, 1e-9)
    )
    # The mean of ln|Z|, Z standard normal, is −(γ + ln 2)/2.
    calm, apart = round(np.log(14_000) / rate), np.log(edge / sizes) + (np.euler_gamma + np.log(2)) / 2
    return {
        # Rounding is noise too, and grows by the same factor: here until it is 14 000 times larger.
        "descent without noise stays": Identity(
            still[..., :calm], 0.0, scale=1.0, condition=1e5, aside={"beside": beside[..., :calm]}
        ),
        "descent with noise leaves": Exact(np.asarray(left), np.full((3, trials), True)),
        "steps for a tenfold smaller noise": Law(
            np.log(10) / rate,
            np.diff(np.asarray(times), axis=0),
            exact=True,
            along={"noise": sizes[1:]},
            resolution=0.01,
            aside={"far": np.asarray(far)[:, :6, : -round(14 / rate)], "growth": growth},
        ),
        "steps until it has left": Law(
            (apart + np.log((1 + growth) ** 2 - 1) / 2) / rate,
            np.asarray(times),
            exact=True,
            along={"noise": sizes},
            aside={"first step alone": 1 + apart / rate},
        ),
    }


@noise_leaves_saddles.control("a start 10⁻⁹ beside the saddle stays too", of="descent without noise stays")
def start_beside(evidence):
    return replace(evidence, left=evidence.aside["beside"])


@noise_leaves_saddles.control("ln 10/η|λ|, as in continuous time", of="steps for a tenfold smaller noise")
def continuous_time(evidence):
    return replace(evidence, predicted=np.log(10) / evidence.aside["growth"])


@noise_leaves_saddles.control("ln 10/(2η|λ|), the rate of the loss", of="steps for a tenfold smaller noise")
def rate_of_the_loss(evidence):
    return replace(evidence, predicted=np.log(10) / (2 * evidence.aside["growth"]))


@noise_leaves_saddles.control("the noise of the first step alone", of="steps until it has left")
def first_step_alone(evidence):
    return replace(evidence, predicted=np.asarray(evidence.aside["first step alone"]))


@noise_leaves_saddles.picture
def leaving(pieces):
    """Distance from the saddle along the way down, six runs for each size of the noise."""
    far = pieces["steps for a tenfold smaller noise"].aside["far"]
    t = np.arange(far.shape[2])
    names = [f"noise 10^{power}" for power in (-5, -6, -7)]
    marks = [Line(name, t, run, thin=True) for name, runs in zip(names, far, strict=True) for run in runs]
    return Curves(marks, x="step", y="distance along the way down", log="y", ys=(1e-8, 1.0))
