"""How many samples online gradient descent needs to find a hidden direction: the information exponent (jagannath 11).

The overlap of the iterate with the hidden direction is an exact one-dimensional Markov chain, so its mean hitting times
come from a small linear system and carry no sampling noise; simulation confirms them where it is cheap.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy import stats

from deeptheory.dynamics.hitting_times import mean_hitting_time
from deeptheory.dynamics.single_index import (
    descent_time,
    escape_rate,
    information_exponent,
    mixture_series,
    overlap_velocity,
    principal_component_series,
    squared_loss_slope,
    teacher_student_series,
)
from deeptheory.dynamics.sphere import (
    overlap_chain,
    overlap_step,
    spherical_sgd,
    spherical_step,
)
from deeptheory.foundations.hermite import hermite_link
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Distribution, Exact, Identity, Law, Limit, Rate, Sizes, Trials, assume, claim
from deeptheory.lab.pictures import Curves, Dots, HeatMap, Level, Line, seen

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


@partial(jax.jit, static_argnames="link")
def printed_steps(link, x, a, rate):
    """One step as the definition has it, by differentiation: with the spherical gradient and with the plain one."""

    def stepped(x, a):
        slope = jax.grad(lambda y: (link(a @ y) - link(a[0])) ** 2)(x)
        moved = x - rate * (slope - (slope @ x) * x), x - rate * slope
        return tuple(each / jnp.linalg.norm(each) for each in moved)

    return jax.vmap(stepped)(x, a)


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
    items={
        "J11.8": (
            "gradient of the sample loss",
            "step as printed",
            "step of the chain",
            "samples needed, whole vectors",
        )
    },
    says=r"The overlap $m=\langle x,v\rangle$ of spherical online gradient descent is a Markov chain of its own: with "
    r"$a,w$ normal and $q\sim\chi^2_{N-2}$, $m\leftarrow(m-\frac\delta Nc\sqrt{1-m^2}\,w)/\sqrt{1+(\delta "
    "c/N)^2(w^2+q)}$, $c$ the derivative of the loss.",
    needs="Gaussian inputs, a loss of the sample's components along x and v alone",
    full=dict(trials=8192, dimension=100),
    symbols={
        r"m": "the overlap: the cosine of the angle between the iterate and the hidden direction",
        r"x": "the iterate, a unit vector",
        r"v": "the hidden direction, a unit vector",
        r"a": r"the sample's field: its component along $x$",
        r"w": "the sample's component along the part of $v$ that is orthogonal to $x$",
        r"q": "the squared length of the sample in the remaining $N-2$ directions",
        r"\delta": r"the step; a sample moves the iterate by $\delta/N$ times the gradient, in dimension $N$",
        r"c": "the derivative of the loss in the field",
    },
    why=r"A step moves $x$ along the sample, less its part along $x$, and then puts it back on the sphere. The loss "
    "sees the sample through two numbers, its components in the plane of $x$ and $v$; the other $N-2$ coordinates "
    "enter the new overlap only by their squared length, through the normalisation. A Gaussian sample has the same "
    "law in every orthonormal basis, so the three numbers are independent of each other and of the past.",
    notice=r"The share of runs that have not yet reached overlap one half: whole vectors and the chain of three "
    "numbers a step have one distribution, though the chain costs the same in any dimension.",
)
def overlap_is_a_markov_chain(key, *, trials: Trials = 5120, dimension: Dimension = 32, step: Step = 0.3):
    first, second, third = jax.random.split(key, 3)
    draw = generator(first)
    x, a = draw.standard_normal((2, 8 * 1024, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    m, field = x[:, 0], np.sum(a * x, axis=1)
    other = (a[:, 0] - m * field) / np.sqrt(1 - m**2)
    rest = np.sum(a * a, axis=1) - field**2 - other**2
    slopes = both_slopes(field, a[:, 0])
    # Steps long enough for their normalisation to matter, links with and without a gradient at zero.
    settings = [(CUBIC, 0.02), (CUBIC, 0.005), (jnp.cos, 0.4), (jnp.tanh, 0.1)]
    some, few = slice(1024), slice(128)
    known = m[some], field[some], other[some]
    left = np.stack([whole_step(link, x[some], a[some], rate)[:, 0] for link, rate in settings])
    right = np.stack([chain_step(link, *known, rest[some], rate) for link, rate in settings])
    forgotten = np.stack([chain_step(link, *known, 0 * rest[some], rate) for link, rate in settings])
    printed = [printed_steps(link, x[few], a[few], rate) for link, rate in settings]
    stepped = np.stack([whole_step(link, x[few], a[few], rate) for link, rate in settings])
    expected = mean_hitting_time(LINEAR, dimension=dimension, step=step)
    paths = spherical_sgd(second, LINEAR, dimension=dimension, step=step, steps=int(5 * expected), replicas=trials)
    passed = np.where((paths > 0.5).any(0), (paths > 0.5).argmax(0) + 1.0, np.inf)
    times = overlap_chain(third, LINEAR, dimension=dimension, step=step, replicas=trials).times[0]
    return {
        "gradient of the sample loss": Identity(*slopes, scale=jnp.abs(slopes[0]).max()),
        "step as printed": Identity(
            stepped,
            np.stack([along for along, _ in printed]),
            scale=1.0,
            condition=np.sqrt(dimension),
            aside={"unprojected": np.stack([plain for _, plain in printed])},
        ),
        "step of the chain": Identity(
            left, right, scale=1.0, condition=np.sqrt(dimension), aside={"forgotten": forgotten}
        ),
        "law of the other coordinate": Distribution(stats.norm.cdf(other)),
        "law of the remaining length": Distribution(
            stats.chi2.cdf(rest, dimension - 2), aside={"lengths": rest, "dimension": dimension}
        ),
        "samples needed, whole vectors": Law(expected, passed, exact=True),
        "samples needed, chain alone": Law(expected, times, exact=True),
    }


@overlap_is_a_markov_chain.control("the remaining N − 2 directions forgotten", of="step of the chain")
def forgotten_directions(evidence):
    return replace(evidence, right=evidence.aside["forgotten"])


@overlap_is_a_markov_chain.control("the gradient not projected on the sphere", of="step as printed")
def unprojected_gradient(evidence):
    return replace(evidence, right=evidence.aside["unprojected"])


@overlap_is_a_markov_chain.control("N − 1 remaining directions", of="law of the remaining length")
def one_direction_more(evidence):
    return replace(evidence, ranks=stats.chi2.cdf(evidence.aside["lengths"], evidence.aside["dimension"] - 1))


@overlap_is_a_markov_chain.picture
def hitting_times(pieces):
    """The share of runs that have not yet reached overlap ½, against samples: whole vectors and the chain."""

    def survival(times):
        reached = np.sort(np.asarray(times)[np.isfinite(times)])
        places = np.linspace(0, len(reached) - 1, 60).astype(int)
        return reached[places], 1 - places / np.size(times)

    return Curves(
        [
            Line("whole vectors", *survival(pieces["samples needed, whole vectors"].observed)),
            Dots("chain", *survival(pieces["samples needed, chain alone"].observed)),
            Level("mean, by a linear system", x=float(pieces["samples needed, chain alone"].predicted)),
        ],
        x="samples",
        y="share still below overlap ½",
    )


@claim(
    items={"J11.13": ""},
    says="The information exponent is 1 for linear, ReLU, tanh and cubic links and an unbalanced mixture, 2 for the "
    "square, the cosine, principal components and a balanced mixture, 3 for the third Hermite polynomial.",
    needs="Gaussian inputs, squared loss; log-likelihood for the mixture",
    symbols={
        r"\text{information exponent}": (
            "the order of the first term of the population loss in the overlap of the guess with the hidden direction"
        ),
        r"\text{link}": "the function that is applied to the projection on the hidden direction",
        r"\text{balanced}": "both components of the mixture of two Gaussians are as likely",
    },
    why=r"In Hermite polynomials of a Gaussian, with coefficients $c_j$, two copies of the link at overlap $m$ have "
    r"the mean product $\sum_jc_j^2m^j$, and the squared loss falls by twice that. So the first coefficient beyond "
    r"the constant that does not vanish decides, not how the link behaves at zero: the cube begins with a multiple of "
    r"the straight line.",
    notice=r"The first shaded cell of a row is the exponent. The cube, flat at zero, starts at order 1; the third "
    r"Hermite polynomial, steep at zero, not before 3; a mixture goes from 1 to 2 when it is balanced.",
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
    return Exact(
        found,
        np.array([1, 1, 1, 1, 2, 2, 3, 2, 2, 1]),
        along={"problem": list(series)},
        aside={"series": np.array(list(series.values()))},
    )


@information_exponents_of_common_problems.control("order of the link at zero instead of its Hermite coefficients")
def order_at_zero(evidence):
    return replace(evidence, right=np.array([1, 1, 1, 3, 2, 2, 1, 2, 2, 1]))


@information_exponents_of_common_problems.picture
def first_terms(pieces):
    """How much each power of the overlap weighs in the population loss: the terms of orders 1 to 6, as shares."""
    (piece,) = pieces.values()
    weight = np.abs(np.asarray(piece.aside["series"]))[:, 1:7]
    shares = weight / weight.sum(1, keepdims=True)
    return HeatMap(
        np.where(shares > 1e-10, shares, 0.0),  # what quadrature leaves of a zero
        rows=piece.along["problem"],
        columns=range(1, 7),
        x="power of the overlap",
        y="problem",
        value="share of all terms",
    )


@claim(
    items={
        "J11.14": (
            "drift of the overlap",
            "exponent 1",
            "time at exponent 1",
            "exponent 2",
            "exponent 3",
            "strong recovery",
            "simulated mean time",
        )
    },
    says=r"Online gradient descent on the sphere, started at random, reaches a fixed overlap with a hidden direction "
    r"after $N\alpha_c$ samples: of order $N$ for information exponent 1, $N\log N/(2\lambda)$ for 2, and $N^2$ for 3 "
    r"with steps $\delta\propto N^{-1/2}$.",
    needs="uniform start on the upper half sphere; δ of order one for k ≤ 2, of order N^(−1/2) for k = 3",
    full=dict(sizes=(32, 64, 128, 256, 512), trials=32768),
    symbols={
        r"N": "the dimension",
        r"\alpha_c": r"samples a dimension that are needed: $1,\log N,N^{k-2}$ for exponents $k=1$, 2 and above",
        r"k": "the information exponent: the order of the first term of the population loss in the overlap",
        r"\lambda": "the rate at which small overlaps grow when the exponent is 2",
        r"\delta": r"the step; a sample moves the iterate by $\delta/N$ times the gradient",
    },
    why=r"In the time $t/N$ the overlap $m$ follows $\dot m=-\delta\varphi'(m)(1-m^2)-O(\delta^2)$, $\varphi$ the "
    r"population loss. A random start has overlap of order $N^{-1/2}$, and the drift there is proportional to "
    r"$m^{k-1}$. For $k=1$ the pull is of order one from the beginning, and order $N$ samples are enough. For $k=2$ "
    "the overlap grows exponentially from $N^{-1/2}$, which takes a logarithm. For $k=3$ it starts almost without "
    "force, and small steps are needed for the noise not to drown it.",
    notice=r"The three kinds of problem take samples in proportion to $N$, to $N\log N$ and to $N^2$: the lines have "
    "these shapes and pass through the largest size. The information exponent alone decides which.",
    explore={"step": (0.015, 0.03, 0.045)},
)
def recovery_time_follows_the_information_exponent(
    key,
    *,
    sizes: Sizes = (32, 64, 128, 256),
    trials: Trials = 18_432,
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
        "drift of the overlap": limiting_velocity([(LINEAR, 0.1), (jnp.cos, 0.9)]),
        "exponent 1": Rate(numbers, linear, exponent=1.0, rivals=(0.5, 2.0)),
        "time at exponent 1": Limit(
            numbers, np.abs(linear / numbers - descent_time(LINEAR, 0.0, 0.5, step=0.1)), order=0.5
        ),
        "exponent 2": Rate(numbers, np.exp(rate * cosine / numbers), exponent=0.5, rivals=(0.0, 1.0)),
        "exponent 3": Rate(
            numbers, cubic, exponent=2.0, rivals=(1.0, 1.5, 3.0), aside={"linear": linear, "cosine": cosine}
        ),
        "strong recovery": Limit(numbers, 1 - np.array(strong), order=0.5),
        "simulated mean time": Law(cosine[0], run.times[0], exact=True),
    }


recovery_time_follows_the_information_exponent.control(
    "a step that does not shrink with N", of="exponent 3", shrink=0.0, sizes=(32, 64, 128), trials=64
)


@recovery_time_follows_the_information_exponent.picture
def samples_to_overlap_one_half(pieces):
    """Mean number of samples until the overlap is one half, by dimension, for information exponents 1, 2, 3."""
    last = pieces["exponent 3"]
    sizes, grid = np.asarray(last.x), np.geomspace(min(last.x), max(last.x), 60)
    shapes = {
        "exponent 1": (last.aside["linear"], lambda n: n),
        "exponent 2": (last.aside["cosine"], lambda n: n * np.log(n)),
        "exponent 3": (last.y, lambda n: n**2),
    }
    marks = []
    for name, (times, shape) in shapes.items():
        times = np.asarray(times)
        marks += [Dots(name, sizes, times), Line(name, grid, times[-1] * shape(grid) / shape(sizes[-1]))]
    return Curves(marks, x="dimension N", y="samples until overlap ½", log="xy")


@claim(
    items={"J11.15": ("exponent 1", "exponent 2", "exponent 3")},
    says=r"With far fewer than $N\alpha_c$ samples nothing is found: $\sup_{t\le\alpha N}|m_t|\to0$ for "
    r"$\alpha\ll\alpha_c$, here $\alpha=N^{-1/2},\sqrt{\log N},\sqrt N$ for information exponents 1, 2, 3.",
    needs="δ = O(1) for k ≤ 2, δ = O(α^(−1/2)) for k = 3",
    full=dict(sizes=(64, 256, 1024, 4096)),
    symbols={
        r"N": "the dimension",
        r"\alpha_c": r"samples a dimension that are needed: $1,\log N,N^{k-2}$ for exponents $k=1$, 2 and above",
        r"m_t": "the overlap after $t$ samples",
        r"\alpha": "samples a dimension that are used",
    },
    why=r"The drift of the overlap is at most of order $m^{k-1}/N$ a sample. As long as the overlap is small it "
    r"therefore gains little, and the noise, a martingale of variance $\delta^2/N^2$ a sample, adds at most of order "
    r"$\delta\sqrt{\alpha/N}$ in $\alpha N$ samples. Well below $\alpha_c$ neither of them brings the overlap to "
    "order one.",
    notice=r"The largest overlap of a whole run falls as the dimension grows, although the number of samples grows "
    "too: for exponent 3 even much faster than the dimension.",
)
def nothing_is_found_below_the_threshold(
    key,
    *,
    sizes: Sizes = (64, 256, 1024),
    trials: Trials = 96,
    factor: Annotated[float, Interval(ge=0.1, le=100.0)] = 1.0,
    excess: Annotated[float, Interval(ge=0.0, le=0.5)] = 0.0,
    shortened: Annotated[float, Interval(ge=1.0, le=100.0)] = 1.0,
):
    keys = jax.random.split(key, (3, len(sizes)))
    problems = {
        # `excess` is a power, of N or of log N, by which there are more samples; one half leads to the threshold.
        "exponent 1": (LINEAR, lambda n: factor * n ** (excess - 0.5), lambda alpha: 1.0),
        "exponent 2": (jnp.cos, lambda n: factor * np.log(n) ** (excess + 0.5), lambda alpha: 0.9),
        "exponent 3": (CUBIC, lambda n: factor * n ** (excess + 0.5), lambda alpha: alpha**-0.5 / shortened),
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
    "N samples for exponent 1", of="exponent 1", excess=0.5, sizes=(32, 64, 128)
)
# At a third of the longest step, as recovery asks for, 30 N² samples find the direction in 128 dimensions as in 16; at
# the longest one they do in 16 and less and less often beyond.
nothing_is_found_below_the_threshold.control(
    "30 N² samples in shorter steps for exponent 3",
    of="exponent 3",
    factor=30.0,
    excess=0.5,
    shortened=3.0,
    sizes=(12, 24, 48),
    trials=64,
)
nothing_is_found_below_the_threshold.control(
    "2 N log N samples for exponent 2", of="exponent 2", factor=2.0, excess=0.5, sizes=(64, 128, 256)
)


@nothing_is_found_below_the_threshold.picture
def largest_overlaps(pieces):
    """The largest overlap seen in runs with fewer samples than the threshold, mean over runs."""
    marks = [seen(name, piece.x, piece.y) for name, piece in pieces.items()]
    return Curves(marks, x="dimension N", y="largest overlap of a run", log="xy")


@claim(
    items={
        "J11.16": (
            "drift of the overlap",
            "samples for the descent",
            "descent follows its limit",
            "descent over search, exponent 1",
            "descent over search, exponent 2",
            "descent over search, exponent 3",
        )
    },
    says=r"For information exponent $k\ge2$ most samples go into the search: from overlap 0.5 to 0.9 it takes of order "
    r"$N/\delta$ more, at the rate of the limiting dynamics, a share that falls like $1/\log N$ for $k=2$ and "
    r"$N^{-1/2}$ for $k=3$, while it stays of order one for $k=1$.",
    needs="δ of order one for k ≤ 2, of order N^(−1/2) for k = 3",
    full=dict(sizes=(32, 64, 128, 256, 512)),
    symbols={
        r"k": "the information exponent",
        r"N": "the dimension",
        r"\delta": r"the step; a sample moves the iterate by $\delta/N$ times the gradient",
    },
    why=r"Once the overlap is of order one, so is the drift, and it runs along its differential equation in a time "
    r"$N/\delta$ that no longer asks how the start was. To get there from $N^{-1/2}$ takes a factor $\log N$ more for "
    "$k=2$ and a factor $N^{1/2}$ more for $k=3$, where the drift vanishes like $m^2$ at overlap $m=0$.",
    notice=r"The share of the descent stays level for exponent 1 and falls for the others, fastest for 3: in high "
    "dimension almost all samples are spent near the equator, where nothing seems to happen.",
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
        "drift of the overlap": limiting_velocity([problem[:2] for problem in problems]),
        "samples for the descent": Rate(numbers, descents[2], exponent=1.5),
        "descent follows its limit": Identity(descents[:, -1] / limits[:, -1], 1.0, error=COLLOCATION),
        "descent over search, exponent 1": Limit(
            numbers, np.abs(share[0] - limits[0] / numbers / search_limit), order=0.5
        ),
        "descent over search, exponent 2": Rate(numbers, np.exp(per_descent / share[1]), exponent=0.5, rivals=(0.0,)),
        "descent over search, exponent 3": Rate(
            numbers, share[2], exponent=-0.5, rivals=(0.0, -1.0), aside={"shares": share}
        ),
    }


@search_dominates_descent.control("descent in order N samples whatever the step", of="samples for the descent")
def order_dimension(evidence):
    return replace(evidence, exponent=1.0)


@search_dominates_descent.picture
def shares_of_the_descent(pieces):
    """Samples from overlap 0.5 to 0.9 over those up to 0.5, by dimension, for information exponents 1, 2, 3."""
    found = pieces["descent over search, exponent 3"]
    marks = []
    for exponent, share in enumerate(found.aside["shares"], start=1):
        marks += [Line(f"exponent {exponent}", found.x, share), Dots(f"exponent {exponent}", found.x, share)]
    return Curves(marks, x="dimension N", y="descent over search, in samples", log="xy")
