"""Compound tasks: where success at k sub-tasks rises, what a scaling law makes of it, and what the metric hides."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from scipy.optimize import brentq, minimize_scalar

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Law, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row, seen
from deeptheory.skills.compound_tasks import (
    compound_success,
    level_scale,
    level_step,
    resolvable_success,
    scaled_success,
    steepest_logistic_rise,
    transition_width,
)

STEPS = np.array([1, 2, 3, 5])
LEVELS = np.array([0.1, 0.5, 0.9])
MANY = np.array([1, 2, 10, 100])


@claim(
    items={
        "H15.2": "all steps succeed",
        "H15.3": ("step at which success passes a level", "half height for many steps"),
    },
    says=r"$k$ independent sub-tasks all succeed with chance $p^k$, which passes a level $q$ at $p=q^{1/k}$: half "
    r"height is at $2^{-1/k}\approx1-(\ln2)/k$, so the more sub-tasks, the closer to 1 the rise.",
    needs="independent sub-tasks of equal chance",
    full=dict(trials=1_000_000),
    symbols={
        "k": "the number of sub-tasks",
        "p": "the chance that one of them succeeds",
        "q": "a level of success at the whole task",
    },
    why=r"Independent chances multiply. As a function of $p$ the product is a power, convex and steepest at $p=1$ with "
    r"slope $k$; it is exponential in $k$, not in $p$. With ten sub-tasks a chance of 0.7 each is still a success of 3 "
    "percent, so no threshold such as 0.5 to 0.7 serves all tasks.",
    notice="The curves of more sub-tasks rise later and steeper, all of them up to $p=1$. They pass half height "
    "farther and farther to the right.",
)
def compound_task_rise(key, *, trials: Trials = 300_000):
    step = np.array([0.6, 0.75, 0.9])
    tried = generator(key).random((len(step), trials, int(STEPS[-1]))) < step[:, None, None]
    together = np.stack([tried[..., :k].all(-1) for k in STEPS], 1).astype(float)
    k, level = np.meshgrid(MANY[1:], LEVELS, indexing="ij")
    crossing = [
        brentq(lambda p, k=k, q=q: np.prod([p] * k) - q, 0, 1, xtol=1e-14)
        for k, q in zip(k.flat, level.flat, strict=True)
    ]
    many = 4.0 ** np.arange(2, 8)
    return {
        "all steps succeed": Law(
            compound_success(step[:, None], STEPS), together, along={"step": step, "steps": STEPS}, exact=True,
            aside={"one less": compound_success(step[:, None], STEPS - 1 + (STEPS == 1))},
        ),
        "step at which success passes a level": Identity(
            level_step(level, k), np.array(crossing).reshape(k.shape), error=1e-12,
            along={"steps": MANY[1:], "level": LEVELS}, aside={"first order": 1 + np.log(level) / k},
        ),
        "half height for many steps": Limit(
            many, np.abs(many * (1 - level_step(0.5, many.astype(int))) - np.log(2)), order=1.0,
            aside={"off": abs(0.5 - np.log(2))},
        ),
    }  # fmt: skip


@compound_task_rise.control("one sub-task less", of="all steps succeed")
def one_step_less(evidence):
    return replace(evidence, predicted=evidence.aside["one less"])


@compound_task_rise.control("1 − ln(1/q)/k exactly", of="step at which success passes a level")
def first_order(evidence):
    return replace(evidence, left=evidence.aside["first order"])


@compound_task_rise.control("half height at 1 − 1/(2k)", of="half height for many steps")
def half_over_k(evidence):
    return replace(evidence, y=evidence.y + evidence.aside["off"])


@compound_task_rise.picture
def powers(pieces):
    """Success at the whole task against the chance of one step: means over trials on the curves of pᵏ; half heights."""
    together = pieces["all steps succeed"]
    p = np.linspace(0, 1, 101)
    marks: list[Any] = [Level("half height", y=0.5)]
    for i, k in enumerate(STEPS):
        name = f"k = {k}"
        marks += [
            Line(name, p, compound_success(p, int(k))),
            seen(name, together.along["step"], together.observed[:, i]),
        ]
    marks += [Line(f"k = {k}", p, compound_success(p, int(k))) for k in MANY[2:]]
    return Curves(marks, x="chance p of one sub-task", y="success at all k")


@claim(
    items={
        "H15.4": ("where success passes a level", "steepest rise", "width of the rise", "steepest rise of a logistic"),
        "H15.8": ("where success passes a level", "width of the rise"),
    },
    says=r"If a step has loss $(N_c/N)^a$, success at $k$ steps is half at $N_c(k/\ln2)^{1/a}$, rises by at most $a/e$ "
    r"per $e$-fold of $N$ and takes $3.08/a$ $e$-folds from 10 to 90 %, for every $k$. A logistic $p$ of rate $s$ "
    r"gives slopes $s(k/(k+1))^{k+1}\le s/e$.",
    needs="independent steps; the loss −ln p of a step a power law of the scale, or p logistic in its logarithm",
    symbols={
        "k": "the number of steps that must all succeed",
        "p": "the chance of one step",
        "N": "the scale; one step has loss 1 at $N_c$",
        "a": "the exponent of the scaling law of a step",
        "s": "the rate of a logistic curve in $\\ln N$",
    },
    why=r"The loss of $k$ steps is $k(N_c/N)^a=(k^{1/a}N_c/N)^a$: the same law at a scale $k^{1/a}$ times as large. On "
    r"a logarithmic axis the curve of success is moved and keeps its shape, the distribution function of a Gumbel "
    r"variable. With a logistic $p$ the shape changes a little and is at most $4/e$ times as steep as for one step.",
    notice="On the logarithmic axis all curves are one curve, moved to the right with $k$. On the linear axis the same "
    "curves start later and look sudden or gradual by where the axis ends. The loss of one step is a straight line in "
    "doubly logarithmic axes throughout.",
    explore={"exponent": (0.1, 0.2, 0.34, 0.5, 1.0)},
)
def compound_metric_shifts(*, exponent: Annotated[float, Interval(ge=0.05, le=2)] = 0.34):
    critical = 3.0

    def at(log_scale, k):
        """The chance of one step, multiplied k times by itself."""
        return np.exp(-((critical / np.exp(log_scale)) ** exponent)) ** k

    ends = np.log(critical) - 4 / exponent, np.log(critical) + (12 + np.log(100)) / exponent
    roots = np.array([[brentq(lambda u, k=k, q=q: at(u, k) - q, *ends, xtol=1e-13) for q in LEVELS] for k in MANY])

    def steepest(curve, k, low, high):
        h = 1e-20  # a complex step: the derivative to rounding
        found: Any = minimize_scalar(lambda u: -np.imag(curve(u + 1j * h, k)) / h, bounds=(low, high), method="bounded")
        return -found.fun

    rises = np.array([steepest(at, k, *ends) for k in MANY])
    logistic = np.array([steepest(lambda u, k: (1 + np.exp(-u)) ** -k, int(k), -5, 12) for k in MANY])
    half = (level_scale(LEVELS, MANY[:, None], exponent, critical=critical), np.exp(roots))
    labels = {"steps": MANY}
    return {
        "where success passes a level": Identity(
            *half, error=1e-9 * half[0] / exponent, along={**labels, "level": LEVELS},
            aside={"linear": level_scale(LEVELS, 1, exponent, critical=critical) * MANY[:, None]},
        ),
        "steepest rise": Identity(np.full(len(MANY), exponent / np.e), rises, error=1e-7, along=labels),
        "width of the rise": Identity(
            np.full(len(MANY), transition_width(exponent)), roots[:, 2] - roots[:, 0], along=labels,
            error=1e-10 / exponent,
        ),
        "steepest rise of a logistic": Identity(
            steepest_logistic_rise(MANY), logistic, error=1e-7, along=labels,
            aside={"k": (MANY / (MANY + 1)) ** MANY},
        ),
    }  # fmt: skip


@compound_metric_shifts.control("k times the scale of one step", of="where success passes a level")
def proportional_shift(evidence):
    return replace(evidence, left=evidence.aside["linear"])


@compound_metric_shifts.control("the rise is steeper by the root of k", of="steepest rise")
def sharpening(evidence):
    return replace(evidence, left=evidence.left * np.sqrt(evidence.along["steps"]))


@compound_metric_shifts.control("levels of 1/e² instead of a tenth", of="width of the rise")
def other_levels(evidence):
    return replace(evidence, left=evidence.left * np.log(2 / np.log(10 / 9)) / np.log(np.log(10) / np.log(10 / 9)))


@compound_metric_shifts.control("exponent k for k + 1", of="steepest rise of a logistic")
def one_power_less(evidence):
    return replace(evidence, left=evidence.aside["k"])


@compound_metric_shifts.picture
def side_by_side(pieces, settings):
    """Success at k steps against scale on a logarithmic (left) and a linear axis (middle), and the loss of a step."""
    a, critical = settings["exponent"], 3.0
    logs = np.geomspace(level_scale(1e-3, 1, a, critical=critical), level_scale(0.99, 100, a, critical=critical), 121)
    line = np.linspace(0, level_scale(0.5, 10, a, critical=critical), 122)[1:]
    names = [f"k = {k}" for k in MANY]
    left, middle = (
        [Line(name, x, scaled_success(x, int(k), a, critical=critical)) for name, k in zip(names, MANY, strict=True)]
        for x in (logs, line)
    )
    loss = Line("loss of one step", logs, (critical / logs) ** a)
    return Row(
        [
            Curves([*left, Level("half", y=0.5)], x="scale N", y="success", log="x"),
            Curves(middle, x="scale N", y="success"),
            Curves([loss], x="scale N", y="loss −ln p", log="xy"),
        ]
    )


@claim(
    items={"H15.5": ("answers entirely right", "digits right", "wrong digits", "tests without a success")},
    says=r"Of sums whose $L$ digits are right with chance $p$ each, a share $p^L$ is entirely right, a share $p$ of "
    r"the digits is, and $L(1-p)$ are wrong: the first jumps with scale, the others do not. A test of $M$ sums shows "
    r"no success with chance $(1-p^L)^M$.",
    needs="digits wrong independently, with chance (10/N)^½ at scale N",
    symbols={
        "L": "the number of digits of an answer",
        "p": "the chance that a digit is right",
        "M": "the number of sums in the test",
    },
    why="All metrics read the same answers. Exact match multiplies the chances of the digits, the share of right "
    "digits averages them, and the edit distance adds up their complements. A finite test rounds what lies below about "
    "one success in all its items to zero, so that a larger test sees the ability earlier.",
    notice="Exact match lies at zero and then rises; digits right and wrong move steadily over the same scales. The "
    "dashed lines show where tests of 10 and of 1000 sums begin to see anything.",
)
def metric_artefacts(key, *, trials: Trials = 20_000, digits: Annotated[int, Interval(ge=4, le=8)] = 6):
    rng, scales, items = generator(key), 10.0 * 4.0 ** np.arange(1, 6), 10
    right = 1 - (10 / scales) ** 0.5
    first, second = (rng.integers(0, 10 ** (digits - 1), (trials, items)) for _ in range(2))
    places = 10 ** np.arange(digits)
    truth = (first + second)[..., None] // places % 10
    exact, share, wrong = np.empty((3, len(scales), trials, items))
    for i, p in enumerate(right):
        slip = rng.random(truth.shape) >= p  # a digit that slips becomes one of the nine others
        answer = (truth + slip * rng.integers(1, 10, truth.shape, dtype=np.int8)) % 10
        exact[i] = (answer @ places) == first + second
        share[i], wrong[i] = (answer == truth).mean(-1), (answer != truth).sum(-1)
    success, labels = right**digits, {"scale": scales}
    return {
        "answers entirely right": Law(
            success, exact.mean(-1), along=labels, exact=True, scale=np.sqrt(success),
            aside={"one less": right ** (digits - 1)},
        ),
        "digits right": Law(right, share.mean(-1), along=labels, exact=True, aside={"exact": success}),
        "wrong digits": Law(
            digits * (1 - right), wrong.mean(-1), along=labels, exact=True, aside={"less": (digits - 1) * (1 - right)}
        ),
        "tests without a success": Law(
            ((1 - success) ** items)[:2], (exact[:2].sum(-1) == 0).astype(float), exact=True,
            along={"scale": scales[:2]}, scale=1.0, aside={"one less": ((1 - success) ** (items - 1))[:2]},
        ),
    }  # fmt: skip


@metric_artefacts.control("a product of L − 1 digits", of="answers entirely right")
@metric_artefacts.control("M − 1 sums", of="tests without a success")
def one_less(evidence):
    return replace(evidence, predicted=evidence.aside["one less"])


@metric_artefacts.control("the share of answers for the share of digits", of="digits right")
def share_of_answers(evidence):
    return replace(evidence, predicted=evidence.aside["exact"])


@metric_artefacts.control("L − 1 digits may be wrong", of="wrong digits")
def a_digit_never_wrong(evidence):
    return replace(evidence, predicted=evidence.aside["less"])


@metric_artefacts.picture
def metrics(pieces, settings):
    """Three metrics of the same answers against scale: the laws as curves, means over tests as dots; what tests see."""
    digits, x = settings["digits"], np.geomspace(12, 10 * 4.0**5, 80)
    p = 1 - (10 / x) ** 0.5
    curves = {"answers entirely right": p**digits, "digits right": p, "wrong digits": digits * (1 - p)}
    marks = {
        name: [Line(name, x, curve), seen(name, pieces[name].along["scale"], pieces[name].observed)]
        for name, curve in curves.items()
    }
    seen_from = {items: 10 / (1 - resolvable_success(items) ** (1 / digits)) ** 2 for items in (10, 1000)}
    sees = [Line(f"seen by {items} sums", [at, at], [0, 1], dashed=True) for items, at in seen_from.items()]
    left = Curves([*marks["answers entirely right"], *marks["digits right"], *sees], x="scale N", y="share", log="x")
    return Row([left, Curves(marks["wrong digits"], x="scale N", y="digits of a sum", log="xy")])
