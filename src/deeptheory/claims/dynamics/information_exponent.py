"""How many samples online gradient descent needs to find a hidden direction: the information exponent (jagannath 11).

The overlap of the iterate with the hidden direction is an exact one-dimensional Markov chain, so its mean hitting times
come from a small linear system and carry no sampling noise; simulation confirms them where it is cheap.
"""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy import stats

from deeptheory.dynamics.information_exponent import (
    descent_time,
    escape_rate,
    information_exponent,
    mixture_series,
    overlap_velocity,
    principal_component_series,
    squared_loss_slope,
    teacher_student_series,
)
from deeptheory.dynamics.spherical_sgd import (
    mean_hitting_time,
    overlap_chain,
    overlap_step,
    spherical_sgd,
    spherical_step,
)
from deeptheory.foundations.hermite import hermite_link
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Distribution, Exact, Identity, Law, Limit, Rate, Sizes, Trials, assume, claim

LINEAR, CUBIC = hermite_link(1), hermite_link(3)
COLLOCATION = 0.01
"""Error of a mean hitting time at the default number of nodes, by comparison with twice as many."""

Dimension = Annotated[int, Interval(ge=8, le=1000)]
Step = Annotated[float, Interval(ge=1e-4, le=2.0)]

whole_step = jax.jit(spherical_step, static_argnames="link")
chain_step = jax.jit(overlap_step, static_argnames="link")


@jax.jit
def both_slopes(student, teacher):
    """The derivative of the squared loss in the student's field: by differentiation, and as the room has it."""
    slope = jax.grad(lambda field, target: (CUBIC(field) - CUBIC(target)) ** 2)
    return jax.vmap(slope)(student, teacher), squared_loss_slope(CUBIC, student, teacher)


def limiting_velocity(settings):
    """The limiting velocity v of the overlap, taken apart by its powers of the step δ.

    Linear in δ is −φ′(m)(1 − m²), with φ from Hermite coefficients; quadratic −½m E c² with c the derivative of the
    loss, which for the linear link is −4m(1 − m).
    """
    overlap, sides = np.linspace(0.0, 0.9, 10), []
    for link, step in settings:
        forward, backward = (overlap_velocity(link, overlap, step=sign * step) for sign in (1, -1))
        slope = np.polynomial.Polynomial(teacher_student_series(link, degree=60)).deriv()(overlap)
        sides.append([(forward - backward) / 2, -step * slope * (1 - overlap**2)])
        if link is LINEAR:
            sides.append([(forward + backward) / 2, -4 * step**2 * overlap * (1 - overlap)])
    return Identity(*np.swapaxes(sides, 0, 1), scale=1.0, size=64)


@claim(
    items={"J11.8": ("slope", "step", "other", "rest", "whole", "chain")},
    says=r"The overlap $m=\langle x,v\rangle$ of spherical online gradient descent is a Markov chain of its own: with "
    r"$a,w$ normal and $q\sim\chi^2_{N-2}$, "
    r"$m\leftarrow(m-\frac\delta Nc\sqrt{1-m^2}\,w)/\sqrt{1+(\delta c/N)^2(w^2+q)}$, $c$ the derivative of the loss.",
    needs="Gaussian inputs, a loss of ⟨a, x⟩ and ⟨a, v⟩ alone",
    full=dict(trials=8192, dimension=100),
)
def overlap_is_a_markov_chain(
    key, *, trials: Trials = 5120, dimension: Dimension = 32, step: Step = 0.3, remainder: bool = True
):
    first, second, third = jax.random.split(key, 3)
    x, a = generator(first).standard_normal((2, 8 * 1024, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    m, field = x[:, 0], np.sum(a * x, axis=1)
    other = (a[:, 0] - m * field) / np.sqrt(1 - m**2)
    rest = np.sum(a * a, axis=1) - field**2 - other**2
    kept = rest if remainder else 0 * rest
    slopes = both_slopes(field, a[:, 0])
    rate = 0.02  # long enough a step for its normalisation to matter
    left = whole_step(CUBIC, x, a, rate)[:, 0]
    right = chain_step(CUBIC, m, field, other, kept, rate)
    expected = mean_hitting_time(LINEAR, dimension=dimension, step=step)
    paths = spherical_sgd(second, LINEAR, dimension=dimension, step=step, steps=int(5 * expected), replicas=trials)
    passed = np.where((paths > 0.5).any(0), (paths > 0.5).argmax(0) + 1.0, np.inf)
    times = overlap_chain(third, LINEAR, dimension=dimension, step=step, replicas=trials).times[0]
    return {
        "slope": Identity(*slopes, scale=jnp.abs(slopes[0]).max()),
        "step": Identity(left, right, scale=1.0, condition=np.sqrt(dimension)),
        "other": Distribution(stats.norm.cdf(other)),
        "rest": Distribution(stats.chi2.cdf(rest, dimension - 2)),
        "whole": Law(expected, passed, exact=True),
        "chain": Law(expected, times, exact=True),
    }


overlap_is_a_markov_chain.control("the remaining N − 2 directions forgotten", of="step", remainder=False, trials=64)


@claim(
    items={"J11.13": ""},
    says=r"The information exponent, the order of the first term of the population loss in the overlap, is 1 for "
    r"linear, ReLU, tanh, cubic links and an unbalanced mixture, 2 for the square, the cosine, principal components "
    r"and a balanced mixture, 3 for the third Hermite polynomial.",
    needs="Gaussian inputs, squared loss; log-likelihood for the mixture",
)
def information_exponents_of_common_problems():
    links = {
        "linear": lambda x: x,
        "ReLU": jax.nn.relu,
        "tanh": jnp.tanh,
        "cube": lambda x: x**3,
        "square": lambda x: x**2,
        "cosine": jnp.cos,
        "third Hermite": CUBIC,
    }
    series = {name: teacher_student_series(link) for name, link in links.items()}
    series |= {
        "principal component": principal_component_series(1.0),
        "balanced mixture": mixture_series(0.0),
        "unbalanced mixture": mixture_series(0.5),
    }
    found = np.array([information_exponent(entry) or 0 for entry in series.values()])
    return Exact(found, np.array([1, 1, 1, 1, 2, 2, 3, 2, 2, 1]), along={"problem": list(series)})


@information_exponents_of_common_problems.control("order of the link at zero instead of its Hermite coefficients")
def order_at_zero(evidence):
    return replace(evidence, right=np.array([1, 1, 1, 3, 2, 2, 1, 2, 2, 1]))


@claim(
    items={"J11.14": ("velocity", "exponent 1", "constant", "exponent 2", "exponent 3", "strong", "simulated")},
    says=r"From the equator weak recovery takes of order $N$ samples for information exponent 1, "
    r"$N\log N/(2\lambda)$ for 2, with $\lambda$ the escape rate, and $N^2$ for 3 with steps $\delta\propto N^{-1/2}$: "
    r"$N\alpha_c$, $\alpha_c=1,\log N,N^{k-2}$. Behind it stands $dm/d(t/N)=-\delta\varphi'(m)(1-m^2)-O(\delta^2)$, "
    r"$\varphi$ the population loss.",
    needs="uniform start on the upper half sphere; δ of order one for k ≤ 2, of order N^(−1/2) for k = 3",
    full=dict(sizes=(32, 64, 128, 256, 512), trials=32768),
)
def recovery_time_follows_the_information_exponent(
    key,
    *,
    sizes: Sizes = (32, 64, 128, 256),
    trials: Trials = 12288,
    step: Step = 0.03,
    shrink: Annotated[float, Interval(ge=0.0, le=1.0)] = 0.5,
):
    numbers = np.array(sizes, float)
    linear = np.array([mean_hitting_time(LINEAR, dimension=n, step=0.1) for n in sizes])
    cosine = np.array([mean_hitting_time(jnp.cos, dimension=n, step=0.9, symmetric=True) for n in sizes])
    cubic = np.array([mean_hitting_time(CUBIC, dimension=n, step=step * n**-shrink) for n in sizes])
    rate = escape_rate(jnp.cos, step=0.9)
    first, *others = jax.random.split(key, 1 + len(sizes))
    run = overlap_chain(first, jnp.cos, dimension=sizes[0], step=0.9, replicas=trials, symmetric=True)
    strong = [  # samples N^(3/2), steps N^(−1/3): inside the window of the theorem
        overlap_chain(
            k, LINEAR, dimension=n, step=n ** (-1 / 3), replicas=64, max_steps=int(n**1.5), stop=False
        ).overlap
        for k, n in zip(others, sizes, strict=True)
    ]
    return {
        "velocity": limiting_velocity([(LINEAR, 0.1), (jnp.cos, 0.9)]),
        "exponent 1": Rate(numbers, linear, exponent=1.0, rivals=(0.5, 2.0)),
        "constant": Limit(numbers, np.abs(linear / numbers - descent_time(LINEAR, 0.0, 0.5, step=0.1)), order=0.5),
        "exponent 2": Rate(numbers, np.exp(rate * cosine / numbers), exponent=0.5, rivals=(0.0, 1.0)),
        "exponent 3": Rate(numbers, cubic, exponent=2.0, rivals=(1.0, 1.5, 3.0)),
        "strong": Limit(numbers, 1 - np.array(strong), order=0.5),
        "simulated": Law(cosine[0], run.times[0], exact=True),
    }


recovery_time_follows_the_information_exponent.control(
    "a step that does not shrink with N", of="exponent 3", shrink=0.0, sizes=(32, 64, 128), trials=64
)


@claim(
    items={"J11.15": ("exponent 1", "exponent 2", "exponent 3")},
    says=r"With far fewer than $N\alpha_c$ samples nothing is found: $\sup_{t\le\alpha N}|m_t|\to0$ for "
    r"$\alpha\ll\alpha_c$, here $\alpha=N^{-1/2},\sqrt{\log N},\sqrt N$ for information exponents 1, 2, 3.",
    needs="δ = O(1) for k ≤ 2, δ = O(α^(−1/2)) for k = 3",
    full=dict(sizes=(64, 256, 1024, 4096)),
)
def nothing_is_found_below_the_threshold(
    key,
    *,
    sizes: Sizes = (64, 256, 1024),
    trials: Trials = 96,
    factor: Annotated[float, Interval(ge=0.1, le=100.0)] = 1.0,
):
    keys = jax.random.split(key, (3, len(sizes)))
    problems = {
        "exponent 1": (LINEAR, lambda n: factor * n**-0.5, lambda alpha: 1.0),
        "exponent 2": (jnp.cos, lambda n: factor * np.sqrt(np.log(n)), lambda alpha: 0.9),
        "exponent 3": (CUBIC, lambda n: factor * n**0.5, lambda alpha: alpha**-0.5),
    }
    pieces = {}
    for row, (name, (link, ratio, step)) in zip(keys, problems.items(), strict=True):
        peaks = []
        for k, n in zip(row, sizes, strict=True):
            alpha = ratio(n)
            settings: dict[str, Any] = dict(dimension=n, step=step(alpha), max_steps=max(1, round(alpha * n)))
            # Short runs and wide scatter where the drift is at most linear, long runs and little where it is quadratic.
            replicas = trials if link is CUBIC else 4 * trials
            peaks.append(overlap_chain(k, link, replicas=replicas, stop=False, **settings).peak)
        pieces[name] = Limit(np.array(sizes, float), np.array(peaks), order=0.5)
    return pieces


nothing_is_found_below_the_threshold.control(
    "a multiple of N log N samples for exponent 2", of="exponent 2", factor=8.0, sizes=(64, 128, 256)
)


@claim(
    items={"J11.16": ("velocity", "descent", "dynamics", "ratio 1", "ratio 2", "ratio 3")},
    says=r"For information exponent $k\ge2$ most samples go into the search: from overlap 0.5 to 0.9 it takes of order "
    r"$N/\delta$ more, at the rate of the limiting dynamics, a share that falls like $1/\log N$ for $k=2$ and "
    r"$N^{-1/2}$ for $k=3$, while it stays of order one for $k=1$.",
    needs="δ of order one for k ≤ 2, of order N^(−1/2) for k = 3",
    full=dict(sizes=(32, 64, 128, 256, 512)),
)
def search_dominates_descent(*, sizes: Sizes = (32, 64, 128, 256)):
    numbers = np.array(sizes, float)
    problems = [(LINEAR, 0.1, 0.0, False), (jnp.cos, 0.9, 0.0, True), (CUBIC, 0.03, 0.5, False)]
    searches, descents, limits = np.empty((3, 3, len(sizes)))
    for i, (link, step, shrink, symmetric) in enumerate(problems):
        speed = overlap_velocity(link, np.linspace(0.5, 0.9, 9), step=step * min(sizes) ** -shrink)
        assume(np.all(speed > 0), "the step is short enough for the overlap to grow all the way from 0.5 to 0.9")
        for j, n in enumerate(sizes):
            settings: dict[str, Any] = dict(dimension=n, step=step * n**-shrink, symmetric=symmetric)
            searches[i, j] = mean_hitting_time(link, level=0.5, **settings)
            descents[i, j] = mean_hitting_time(link, level=0.9, start=0.5, **settings)
            limits[i, j] = n * descent_time(link, 0.5, 0.9, step=settings["step"])
    share = descents / searches
    search_limit = descent_time(LINEAR, 0.0, 0.5, step=0.1)
    per_descent = escape_rate(jnp.cos, step=0.9) * limits[1] / numbers
    return {
        "velocity": limiting_velocity([problem[:2] for problem in problems]),
        "descent": Rate(numbers, descents[2], exponent=1.5),
        "dynamics": Identity(descents[:, -1] / limits[:, -1], 1.0, error=COLLOCATION),
        "ratio 1": Limit(numbers, np.abs(share[0] - limits[0] / numbers / search_limit), order=0.5),
        "ratio 2": Rate(numbers, np.exp(per_descent / share[1]), exponent=0.5, rivals=(0.0,)),
        "ratio 3": Rate(numbers, share[2], exponent=-0.5, rivals=(0.0, -1.0)),
    }


@search_dominates_descent.control("descent in order N samples whatever the step", of="descent")
def order_dimension(evidence):
    return replace(evidence, exponent=1.0)
