"""The lazy-training theorem on networks and on the parabola that is its worst case (jagannath Thm 9.1)."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.integrate import quad

from deeptheory.kernels.lazy.linear_models import (
    LazyCertificate,
    gradient_flow,
    lazy_certificate,
    linearized_path,
    sharp_lazy_bounds,
)
from deeptheory.kernels.lazy.signed_network import jacobian_lipschitz_bound, signed_problem
from deeptheory.lab import Chain, Identity, Inequality, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line

Width = Annotated[int, Interval(ge=4, le=4096)]
Draws = Annotated[int, Interval(ge=1, le=64)]
Margin = Annotated[float, Interval(ge=0.01, le=50.0)]
SHAPE: dict[str, Any] = dict(count=4, dimension=6)


def parabola(theta, *, smallest, lipschitz, others=()):
    """f₁(θ) = sθ₁ − Lθ₁²/2, whose slope falls as fast as the Lipschitz constant allows; further outputs S_jθ_j."""
    first = smallest * theta[:1] - lipschitz * theta[:1] ** 2 / 2
    return jnp.concatenate([first, theta[1:] * np.asarray(others)])


class Trained(NamedTuple):
    """A run of the flow with all that the theorem speaks of, and what it promises for that run."""

    certificate: LazyCertificate
    times: np.ndarray
    distance: np.ndarray
    travel: np.ndarray
    deviation: np.ndarray
    least: np.ndarray
    smallest: float


@partial(jax.jit, static_argnums=0)
def watch(model, path):
    """Outputs and Jacobians along a path."""
    return jax.vmap(lambda theta: (model(theta), jax.jacobian(model)(theta)))(path)


def followed(model, start, y, *, lipschitz, span):
    """Train a model until its slowest mode is down by e^(−span), watching it at 40 times."""
    outputs, before = (np.asarray(part)[0] for part in watch(model, np.tile(start, (40, 1))))
    residual, values = y - outputs, np.linalg.svd(before, compute_uv=False)
    times = np.linspace(0, span * len(y) / values[-1] ** 2, 40)
    path = gradient_flow(model, start, y, times)
    lazy = start + np.asarray(linearized_path(before, residual, times))
    outputs, jacobians = (np.asarray(part) for part in watch(model, path))
    return Trained(
        lazy_certificate(before, residual, lipschitz=lipschitz),
        times,
        np.linalg.norm(outputs - y, axis=1),
        np.linalg.norm(path - start, axis=1),
        np.linalg.norm(path - lazy, axis=1),
        np.linalg.svd(jacobians, compute_uv=False)[:, -1],
        float(values[-1]),
    )


@claim(
    items={
        "J9.4": (
            "fall of the loss",
            "way of the parameters",
            "distance from the linearized path",
            "constants at the edge",
        ),
        "J9.7": "what the proof keeps",
    },
    says=r"If $LE<s^2/4$, $E=\|y-f(\theta_0)\|$, then at all times $R(\theta_t)\le R(\theta_0)e^{-s^2t/2n}$, "
    r"$\|\theta_t-\theta_0\|\le2E/s$ and, with constants that are ours, "
    r"$\|\theta_t-\bar\theta_t\|\le\min\{3E/s,28LS^2E^2/s^5\}$.",
    needs="L bounds the Lipschitz constant of Df in the operator norm; the inequality at the start",
    full=dict(draws=12, width=400),
    symbols={
        "L": "a Lipschitz constant of the derivative $Df$ of the $n$ outputs",
        "E": "the distance of the outputs from the targets at the start",
        "s,S": r"the least and the largest singular value of $Df(\theta_0)$",
        "R": r"the risk $\|y-f(\theta)\|^2/2n$",
        r"\bar\theta_t": "the path of the model linearized at the start",
    },
    why=r"Within distance $s/2L$ of the start $Df$ keeps half its least singular value $s$. There $\|y_t-y\|$ falls at "
    r"least $s/2$ times as fast as the parameters move, so $\|y_t-y\|+\frac s2\|\theta_t-\theta_0\|$ never grows: the "
    "way is at most $2E/s$, which by the condition is inside the ball. So the ball is never left, and the risk falls "
    "at the rate $2(s/2)^2/n$ or faster.",
    notice="The sum of the distance still to go and $s/2$ times the way never grows, on networks and on the parabola "
    "that is the worst case. With the whole $s$ in place of its half it grows on the parabola, for there the slope "
    "falls on the way.",
)
def lazy_training(key, *, draws: Draws = 2, width: Width = 60, margin: Margin = 0.98):
    runs = []
    for draw in jax.random.split(key, draws):
        network, start, x, y = signed_problem(draw, width=width, scale=1.5, **SHAPE)
        constant = jacobian_lipschitz_bound(network, x, width=width)
        outputs, jacobian = np.asarray(network.outputs(start, x)), np.asarray(network.jacobian(start, x))
        least = np.linalg.svd(jacobian, compute_uv=False)[-1]
        y = outputs + y * margin * least**2 / (4 * constant * np.linalg.norm(y))
        runs.append(followed(network.flat(x), start.ravel(), y, lipschitz=constant, span=8))
    # The parabola far inside and close to what the theorem allows, beside an output three times as strong: only the
    # least singular value may enter margin, rate, travel and radius.
    model = partial(parabola, smallest=1.4, lipschitz=0.6, others=(4.2,))
    for share in (0.02, margin):
        runs.append(followed(model, np.zeros(2), np.array([share * 1.4**2 / (4 * 0.6), 0]), lipschitz=0.6, span=8))
    falls, travels, deviations, sums, least = [], [], [], [], []
    whole = np.array([run.distance + run.smallest * run.travel for run in runs])
    for run in runs:
        promised = run.certificate
        assume(margin > 1 or promised.applies, "four times L times the distance is below the squared singular value")
        falls.append([2 * np.log(run.distance / run.distance[0])[1:], -promised.rate * run.times[1:]])
        travels.append([run.travel.max(), promised.travel, promised.radius])
        deviations.append([run.deviation.max(), promised.deviation])
        sums.append(run.distance + run.smallest / 2 * run.travel)
        least.append(-run.least / run.smallest)
    falls, travels, deviations, sums = np.array(falls), np.array(travels), np.array(deviations), np.array(sums)
    return {
        "fall of the loss": Inequality(falls[:, 0], falls[:, 1], log=True),
        "way of the parameters": Inequality(travels[:, 0], travels[:, 1]),
        "distance from the linearized path": Inequality(
            deviations[:, 0], deviations[:, 1], along={"run": np.arange(len(runs))}
        ),
        "what the proof keeps": Chain(
            {
                # Where everything is fitted the sum stands still, and the solver's last digits decide.
                "the sum never grows": (sums[:, 1:], sums[:, :-1]),
                "the Jacobian keeps half its least singular value": (np.array(least), -0.5),
                "the ball is not left": (travels[:, 0], travels[:, 2]),
            },
            error=1e-10,
            aside={
                "with the whole s": whole,
                "least": -np.array(least),
                "start": np.array([run.distance[0] for run in runs]),
            },
        ),
        "constants at the edge": constants_at_the_edge(),
    }


def constants_at_the_edge():
    """Where the theorem's constants come from, on the parabola beside a stronger linear output: at its full margin the
    travel allowed is the radius of the ball; there the least singular value is half of that at the start and the risk
    falls at the promised rate. The deviation is at most that of two travels, and at most what the comparison equation
    of the proof integrates to, its first term taken (S/s)² times for the sum to be one term."""
    smallest, largest, lipschitz = 1.4, 3.5, 0.6
    model = partial(parabola, smallest=smallest, lipschitz=lipschitz, others=(largest,))
    start, residual = np.diag([smallest, largest]), np.array([smallest**2 / (4 * lipschitz), 0.0])
    edge = lazy_certificate(start, residual, lipschitz=lipschitz)
    there = np.linalg.svd(jax.jacobian(model)(np.array([edge.radius, 0.0])), compute_uv=False)[-1]
    # The same model with outputs in units of 1/5 and parameters in units of 3; one datum more and the residual turned.
    other = lazy_certificate(start * 5 / 3, 5 * residual, lipschitz=lipschitz * 5 / 9)
    turned = np.array([0.6, 0.8, 0.0]) * residual[0]
    third = lazy_certificate(np.diag([smallest, largest, 2.0]), turned, lipschitz=lipschitz)
    near = lazy_certificate(start, 0.01 * residual, lipschitz=lipschitz)
    speed, distance = smallest**2, 0.01 * float(residual[0])

    def moved(t):
        """Jacobian's change times the residual, with t in units of n."""
        return lipschitz * distance**2 * 2 * np.exp(-speed * t / 4) / smallest

    def driven(t):
        """s_max times ‖r‖, r the difference of the outputs, integrated by variation of constants."""
        force = quad(lambda u: np.exp(-speed * (t - u) / 4 - speed * u), 0, t)[0]
        return largest * 5 * lipschitz * distance**2 * largest / smallest * force

    parts = [quad(part, 0, 200 / speed, limit=200, points=[10 / speed])[0] for part in (moved, driven)]
    deviation = parts[0] * (largest / smallest) ** 2 + parts[1]
    return Identity(
        np.array(
            [*(edge.margin, edge.travel, there, there**2, edge.deviation, near.deviation), *other, *third],
        ),
        np.array(
            [
                *(1.0, edge.radius, smallest / 2, edge.rate, edge.travel + residual[0] / smallest, deviation),
                *(edge.margin, edge.rate * (5 / 3) ** 2, edge.travel * 3, edge.radius * 3, edge.deviation * 3),
                *(edge.margin, edge.rate * 2 / 3, edge.travel, edge.radius, edge.deviation),
            ]
        ),
        error=1e-9,
    )


@lazy_training.control("three times the rate", of="fall of the loss")
def three_times(evidence):
    return replace(evidence, bound=3 * np.asarray(evidence.bound))


@lazy_training.control("half the travel", of="way of the parameters")
def half_travel(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@lazy_training.control("a deviation of ¼ L E²/s³", of="distance from the linearized path")
def small_deviation(evidence):
    # Of the runs only the last but one, the parabola far inside, has the second bound as the smaller; S = 3s there.
    share = np.where(evidence.along["run"] == len(evidence.bound) - 2, 0.25 / (28 * 9), 1)
    return replace(evidence, bound=share * evidence.bound)


lazy_training.control("targets five times too far", of="what the proof keeps", margin=5.0, draws=1)


@lazy_training.control("the sum with the whole s never grows", of="what the proof keeps")
def whole_singular_value(evidence):
    sums = evidence.aside["with the whole s"]
    return replace(evidence, links={"the sum with the whole s never grows": (sums[:, 1:], sums[:, :-1])})


@lazy_training.control("the Jacobian keeps three quarters of its least singular value", of="what the proof keeps")
def three_quarters(evidence):
    return replace(evidence, links={"three quarters": (-evidence.aside["least"], -0.75)})


@lazy_training.control(
    "half the least singular value at the end of the margin is all of it", of="constants at the edge"
)
def all_of_it(evidence):
    return replace(evidence, right=evidence.right * np.where(np.arange(len(evidence.right)) == 2, 2.0, 1.0))


@lazy_training.picture
def never_grows(pieces):
    """What the proof watches along training, in units of its start: solid a network and the parabola, dashed the "
    "rival."""
    chain = pieces["what the proof keeps"]
    start, whole = chain.aside["start"][:, None], chain.aside["with the whole s"]
    later, before = chain.links["the sum never grows"]
    sums = np.concatenate([before[:, :1], later], axis=1)
    share = np.linspace(0, 1, sums.shape[1])
    marks = [Line(name, share, (sums / start)[run]) for name, run in (("network", 0), ("parabola", -1))]
    rival = Line("parabola", share, (whole / start)[-1], rival="with the whole s")
    return Curves(
        [*marks, rival], x="share of the training time", y="‖y_t − y‖ + s‖θ_t − θ_0‖/2, relative to the start"
    )


SMALLEST, LIPSCHITZ = 1.4, 0.6
ATTAINED = ((0.1, (1.9, 1.6)), (0.245, (2.5,)), (0.45, ()))
"""LE/s² of the worst cases, and the singular values of the outputs beside the parabola."""


@claim(
    items={
        "J9.4": ("way of the worst models", "rate of the worst models", "models beyond the threshold", "every model")
    },
    says=r"The best constants of lazy training: as long as $2LE<s^2$, with $q^2=1-2LE/s^2$, the risk is at most "
    r"$R(\theta_0)e^{-2s^2q^2t/n}$ and $\|\theta_t-\theta_0\|\le\frac sL(1-q)$. The model "
    r"$(s\theta_1-L\theta_1^2/2,S_2\theta_2,\dots,S_n\theta_n)$ attains both as $t\to\infty$, and beyond "
    r"$2LE=s^2$ it is left with the distance $E-s^2/2L$.",
    needs="L bounds the Lipschitz constant of Df in the operator norm; all S_j at least s, and only the first output "
    "of the worst model has to move",
    scale="attained: n from 1 to 3; networks: n = 4, at 0.98 of the condition",
    full=dict(draws=12),
    symbols={
        "L": "a Lipschitz constant of the derivative $Df$ of the $n$ outputs",
        "E": "the distance of the outputs from the targets at the start",
        "s": r"the least singular value of $Df(\theta_0)$; $S_j$ those of further outputs",
        "q": "the share of $s$ that is left at the end of the way",
        "R": r"the risk $\|y-f(\theta)\|^2/2n$",
    },
    why="At distance $a$ from the start the least singular value is at least $s-La$, so the distance to the targets "
    "falls by at least $s-La$ for each unit of way. Integrated, $E$ is used up when $sa-La^2/2=E$, that is at "
    r"$a=\frac sL(1-q)$, with $sq$ left of the slope. The parabola $s\theta-L\theta^2/2$ has exactly this slope, so "
    "nothing better holds; its top is at $s^2/2L$, and farther targets are never reached.",
    notice=r"The way of the worst model meets the curve $\frac sL(1-q)$, below the theorem's $2E/s$, and the curve "
    "goes on to twice the theorem's margin. Beyond it the targets lie above the parabola's top.",
)
def sharp_lazy_training(key, *, draws: Draws = 2, width: Width = 40):
    ends, rates, bounds = [], [], []
    for share, others in ATTAINED:
        model = partial(parabola, smallest=SMALLEST, lipschitz=LIPSCHITZ, others=others)
        y = np.array([share * SMALLEST**2 / LIPSCHITZ, *np.zeros(len(others))])
        bound = sharp_lazy_bounds(smallest=SMALLEST, lipschitz=LIPSCHITZ, distance=y[0], count=len(y))
        # The slope of log R where the distance is down to about e⁻¹² and e⁻¹³ of that at the start, and the end.
        clock = len(y) / (2 * SMALLEST**2 * (1 - 2 * share))
        times = np.array([24, 26, 60]) * clock
        path = gradient_flow(model, np.zeros(len(y)), y, times)
        left = np.linalg.norm([np.asarray(model(theta)) - y for theta in path], axis=1)
        ends.append(np.linalg.norm(path[-1]))
        rates.append(2 * np.log(left[0] / left[1]) / (times[1] - times[0]))
        bounds.append(bound)
    one = partial(parabola, smallest=SMALLEST, lipschitz=LIPSCHITZ)
    beyond = np.array([0.6, 0.8, 1.0]) * SMALLEST**2 / LIPSCHITZ
    left = [
        target - float(one(gradient_flow(one, np.zeros(1), np.array([target]), np.array([150.0]))[0])[0])
        for target in beyond
    ]
    shares = [share for share, _ in ATTAINED]
    travels, falls = [[end, bound.travel] for end, bound in zip(ends, bounds, strict=True)], []
    for draw in jax.random.split(key, draws):
        network, start, x, y = signed_problem(draw, width=width, scale=1.5, **SHAPE)
        constant = jacobian_lipschitz_bound(network, x, width=width)
        values = np.linalg.svd(np.asarray(network.jacobian(start, x)), compute_uv=False)
        distance = 0.49 * values[-1] ** 2 / constant  # twice as far as the printed condition allows
        y = np.asarray(network.outputs(start, x)) + y * distance / np.linalg.norm(y)
        times = np.linspace(0, 8 * len(y) / values[-1] ** 2, 20)[1:]
        model = network.flat(x)
        path = gradient_flow(model, start.ravel(), y, times)
        bound = sharp_lazy_bounds(smallest=values[-1], lipschitz=constant, distance=distance, count=len(y))
        left_over = np.linalg.norm(np.asarray(jax.vmap(model)(jnp.asarray(path))) - y, axis=1)
        shares.append(0.49)
        travels.append([np.linalg.norm(path - start.ravel(), axis=1).max(), bound.travel])
        falls.append([2 * np.log(left_over / distance), -bound.rate * times])
    travels, falls = np.array(travels), np.array(falls)
    return {
        "way of the worst models": Identity(np.array(ends), np.array([bound.travel for bound in bounds]), error=1e-9),
        # At e⁻¹² the slope still differs from its limit by a few parts in a hundred thousand.
        "rate of the worst models": Identity(np.array(rates), np.array([bound.rate for bound in bounds]), error=2e-4),
        "models beyond the threshold": Identity(np.array(left), beyond - SMALLEST**2 / (2 * LIPSCHITZ), error=1e-8),
        # The worst models, which attain their bounds up to the solver's error, and networks.
        "every model": Chain(
            {"travel": (travels[:, 0], travels[:, 1]), "logarithm of the risk": (falls[:, 0], falls[:, 1])},
            error=1e-8,
            aside={"LE/s²": np.array(shares)},
        ),
    }


@sharp_lazy_training.control("q² = 1 − LE/s², with LE for 2LE", of="every model")
def without_the_two(evidence):
    travel, bound = evidence.links["travel"]
    share = evidence.aside["LE/s²"]
    return replace(
        evidence, links={"travel": (travel, bound * (1 - np.sqrt(1 - share)) / (1 - np.sqrt(1 - 2 * share)))}
    )


@sharp_lazy_training.picture
def way_to_the_targets(pieces):
    """How far the parameters of the worst models travel, in units of s/L, against how far the targets are."""
    share = np.linspace(0, 0.5, 100)
    shares, count = pieces["every model"].aside["LE/s²"], len(ATTAINED)
    return Curves(
        [
            Line("best constant: 1 − q", share, 1 - np.sqrt(1 - 2 * share)),
            Dots("worst models", shares[:count], pieces["way of the worst models"].left * LIPSCHITZ / SMALLEST),
            Line("the theorem: 2E/s", share[share <= 0.25], 2 * share[share <= 0.25]),
            Level("margin of the theorem", x=0.25),
            Level("nothing beyond is reached", x=0.5),
        ],
        x="distance E of the targets, times L/s²",
        y="way of the parameters times L/s",
    )


@sharp_lazy_training.control("the printed travel 2E/s attained", of="way of the worst models")
def twice_the_distance(evidence):
    return replace(evidence, right=2 * np.array([share for share, _ in ATTAINED]) * SMALLEST / LIPSCHITZ)


@sharp_lazy_training.control("the printed rate s²/2n attained", of="rate of the worst models")
def printed_rate(evidence):
    return replace(evidence, right=np.array([SMALLEST**2 / (2 * (1 + len(others))) for _, others in ATTAINED]))


@sharp_lazy_training.control("everything fitted up to L E = s²", of="models beyond the threshold")
def fitted(evidence):
    return replace(evidence, right=np.zeros(3))
