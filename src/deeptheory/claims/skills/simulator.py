"""Emergence simulated from end to end, and the order in which tasks emerge."""

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any

import jax
import numpy as np
from annotated_types import Interval
from scipy.optimize import brentq
from scipy.special import entr, rel_entr

from deeptheory.lab import Chain, Identity, Law, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, Row, seen
from deeptheory.scaling.chinchilla import HOFFMANN
from deeptheory.skills.competence import mistaken_share
from deeptheory.skills.performance_curves import performance_curve
from deeptheory.skills.simulator import (
    cloze_loss,
    examples_for_success,
    frequency_success,
    simulate_emergence,
    simulate_tasks,
)

TASKS = 1 / np.array([2.0, 4.0, 8.0, 16.0])
FACTS, NEEDED = 5, 3


@claim(
    items={
        "A15.12": (
            "share of questions answered", "examples for half of the questions", "rise of exact match",
            "width of the rise",
        )
    },
    says=r"Tasks emerge in the order of their frequency $q$: half of the questions that need $m$ of $r$ facts are "
    r"answered after $(r/q)\ln\frac1{1-2^{-1/m}}$ examples. Exact match of $m$ tokens with error $N^{-a}$ moves to "
    r"$N\propto m^{1/a}$ and takes $1.34/a$ decades, for all long answers.",
    needs="facts of a task equally frequent, known once seen; independent errors of tokens",
    full=dict(trials=40_000),
    symbols={
        "q": "the share of examples that belong to a task",
        "r": "the number of facts of a task",
        "m": "how many facts a question needs, or tokens an answer has",
        "N": "the scale of the model",
        "a": "the exponent with which the error of a token falls",
    },
    why="A fact of a task is seen at the rate $q/r$, so that all tasks have one curve in $Dq/r$: on a logarithmic axis "
    r"the same curve, moved. Long answers behave alike: $(1-N^{-a})^m\approx e^{-mN^{-a}}$ depends on $mN^{-a}$ only. "
    "Emergence is correlated across tasks, gradual, and later for what is rare in training.",
    notice="The curves rise one after the other with the same slope, the rarest task last; dots are simulated readers. "
    "On the right longer answers move the rise of exact match and do not sharpen it.",
)  # fmt: skip
def tasks_emerge_by_frequency(
    key, *, trials: Trials = 12_000, exponent: Annotated[float, Interval(ge=0.2, le=1)] = 0.34
):
    samples = 10.0 * 2.0 ** np.arange(3)
    answered = np.stack(
        [
            simulate_tasks(part, TASKS, float(size), facts=FACTS, needed=NEEDED, runs=trials)
            for part, size in zip(jax.random.split(key, len(samples)), samples, strict=True)
        ]
    )
    half = [brentq(lambda d, q=q: (1 - np.exp(-d * q / FACTS)) ** NEEDED - 0.5, 1, 1e4, xtol=1e-11) for q in TASKS]

    def at(level, m) -> Any:
        """The logarithm of the scale at which answers of m tokens with error N^-a are right with this chance."""
        return brentq(lambda u: m * np.log1p(-np.exp(-exponent * u)) - np.log(level), 1e-9, 80 / exponent, xtol=1e-12)

    lengths = 4 ** np.arange(1, 8)
    middles = np.array([at(0.5, m) for m in lengths])
    widths = np.array([at(0.9, m) - at(0.1, m) for m in lengths])
    limit = np.log(np.log(10) / np.log(10 / 9)) / exponent
    return {
        "share of questions answered": Law(
            frequency_success(TASKS, samples[:, None], facts=FACTS, needed=NEEDED), answered, exact=True,
            along={"examples": samples, "frequency": TASKS}, scale=1.0,
            aside={"one less": frequency_success(TASKS, samples[:, None], facts=FACTS, needed=NEEDED - 1)},
        ),
        "examples for half of the questions": Identity(
            examples_for_success(TASKS, facts=FACTS, needed=NEEDED), np.array(half), error=1e-9,
            along={"frequency": TASKS}, aside={"single": NEEDED * examples_for_success(TASKS, facts=FACTS, needed=1)},
        ),
        "rise of exact match": Limit(
            lengths, np.abs(middles - np.log(lengths / np.log(2)) / exponent), order=1.0,
            aside={"proportional": np.abs(middles - np.log(lengths / np.log(2)))},
        ),
        "width of the rise": Limit(lengths, np.abs(widths - limit), order=1.0, aside={"widths": widths}),
    }  # fmt: skip


@tasks_emerge_by_frequency.control("one fact less to know", of="share of questions answered")
def one_fact_less(evidence):
    return replace(evidence, predicted=evidence.aside["one less"])


@tasks_emerge_by_frequency.control("m times the examples for one fact", of="examples for half of the questions")
def m_times(evidence):
    return replace(evidence, left=evidence.aside["single"])


@tasks_emerge_by_frequency.control("scale in proportion to the length", of="rise of exact match")
def proportional(evidence):
    return replace(evidence, y=evidence.aside["proportional"])


@tasks_emerge_by_frequency.control("the width tends to zero", of="width of the rise")
def sharpens(evidence):
    return replace(evidence, y=evidence.aside["widths"])


@tasks_emerge_by_frequency.picture
def one_after_the_other(pieces, settings):
    """Questions answered against examples, by the frequency of the task (left); exact match against scale (right)."""
    answered, x = pieces["share of questions answered"], np.geomspace(3, 1000, 80)
    left = []
    for i, q in enumerate(TASKS):
        name = f"q = 1/{1 / q:g}"
        left.append(Line(name, x, frequency_success(float(q), x, facts=FACTS, needed=NEEDED)))
        left.append(seen(name, answered.along["examples"], answered.observed[:, i]))
    a, scale = settings["exponent"], np.geomspace(1.01, 10 ** (5 / settings["exponent"]), 120)
    right = [Line(f"{m} tokens", scale, (1 - scale**-a) ** m) for m in (1, 10, 100, 1000)]
    return Row(
        [
            Curves([*left, Level("half", y=0.5)], x="examples D", y="share answered", log="x"),
            Curves(right, x="scale N", y="exact match", log="x"),
        ]
    )


@claim(
    items={
        "A15.37": (
            "errors of the worst group",
            "share of mistaken pieces",
            "errors of random pieces",
            "guarantee in its equation",
        )
    },
    says=r"From scale to skills: $\theta=2\delta$ with $\delta$ in proportion to $B/N^a+C/D^b$ bounds the pieces in "
    r"error, and the worst $\alpha|S|$ skills have at most a share $\beta\theta$ of their edges in error: for random, "
    r"skill-correlated and searched error sets alike.",
    needs="one degree-k cluster, uniform skills; cloze loss in proportion to the excess (arora Assumption 15.8.2)",
    full=dict(texts=100_000),
    symbols={
        r"\theta": "the share of pieces in error",
        r"\delta": "the average loss on cloze questions",
        "N, D": "parameters and tokens; $B, C, a, b$ are the constants of the scaling law",
        r"\alpha|S|": "the number of skills in a group",
        r"\beta": "the concentration that the emergence theorem allows",
    },
    why="A falling excess leaves fewer pieces in error, and however an adversary chooses which, a random graph spreads "
    "them over skills. A search that lets error set and skills answer each other comes nearest to what is "
    "guaranteed; errors on the pieces that use hard skills are milder, and random ones nearly even.",
    notice="From left to right models are larger. All error rates fall together with the share of mistaken pieces, and "
    "the order is that of the adversary's strength, with the guarantee above all.",
)
def emergence_end_to_end(key, *, texts: Annotated[int, Interval(ge=2000, le=200_000)] = 6000):
    parameters, tokens = 10.0 ** np.arange(8, 12), 20 * 10.0 ** np.arange(8, 12)
    tracking, k, skills, alpha = 0.2, 8, 40, 0.2
    losses = np.asarray(cloze_loss(HOFFMANN, parameters, tokens, tracking=tracking))
    found = simulate_emergence(key, losses, texts=texts, skills=skills, k=k, alpha=alpha)
    literal = [
        float(2 * Decimal("0.2") * (Decimal("406.4") / n ** Decimal("0.34") + Decimal("410.7") / d ** Decimal("0.28")))
        for n, d in zip(map(Decimal, parameters), map(Decimal, tokens), strict=True)
    ]
    # The theorem by its definition: the share of edges at which k·kl = H(θ)/θ, without the choice of skills.
    many = performance_curve(alpha, found.mistaken, k)
    links = {
        "random below searched": (found.random, found.worst),
        "correlated below searched": (found.correlated, found.worst),
        "searched below guaranteed": (found.worst, found.guaranteed),
        "for many pieces below guaranteed": (many, found.guaranteed),
    }
    halves = performance_curve(alpha, found.mistaken / 2, k)
    # βθ below one: kθ kl(βα‖α) = H(θ) + H(α)|S|/|T|, the last for the choice of skills.
    below, theta = found.guaranteed < 1, found.mistaken
    inside = np.where(below, alpha * found.guaranteed / theta, alpha)
    divergence = rel_entr(inside, alpha) + rel_entr(1 - inside, 1 - alpha)
    spread, choice = entr(theta) + entr(1 - theta), skills / texts * (entr(alpha) + entr(1 - alpha))
    return {
        "errors of the worst group": Chain(
            links, along={"parameters": parameters},
            aside={"half": halves, "random": found.random, "theta": found.mistaken},
        ),
        "share of mistaken pieces": Identity(
            mistaken_share(losses), np.array(literal), along={"parameters": parameters},
            aside={"with floor": mistaken_share(tracking * (losses / tracking + HOFFMANN.floor))},
        ),
        "errors of random pieces": Chain(
            {"not below the share of pieces": (found.mistaken, found.random),
             "not above five standard errors more": (
                 found.random, found.mistaken + 5 * np.sqrt(found.mistaken * skills / (k * texts)))},
            aside={"theta": found.mistaken},
        ),
        "guarantee in its equation": Identity(
            k * theta * divergence, below * (spread + choice), scale=1.0, size=100,
            aside={"without": below * spread},
        ),
    }  # fmt: skip


@emergence_end_to_end.control("guaranteed for a share δ of mistaken pieces", of="errors of the worst group")
def half_as_many(evidence):
    worst, _ = evidence.links["searched below guaranteed"]
    return replace(evidence, links={"searched below half": (worst, evidence.aside["half"])})


@emergence_end_to_end.control("the choice of skills costs nothing", of="guarantee in its equation")
def without_choice(evidence):
    return replace(evidence, right=evidence.aside["without"])


@emergence_end_to_end.control("the whole loss instead of the excess", of="share of mistaken pieces")
def whole_loss(evidence):
    return replace(evidence, left=evidence.aside["with floor"])


@emergence_end_to_end.control("random errors that spare the worst group", of="errors of random pieces")
def spared(evidence):
    low, random = evidence.links["not below the share of pieces"]
    return replace(evidence, links={"not above the share of pieces": (random, low)})


@emergence_end_to_end.picture
def by_scale(pieces):
    """Error rates of the worst fifth of the skills by the size of the model, for several ways to choose errors."""
    chain = pieces["errors of the worst group"]
    x, links = chain.along["parameters"], chain.links
    marks = [
        Line("guaranteed", x, links["searched below guaranteed"][1]),
        Line("worst found", x, links["searched below guaranteed"][0]),
        Line("errors on hard skills", x, links["correlated below searched"][0]),
        Line("random errors", x, chain.aside["random"]),
        Line("share of pieces in error", x, chain.aside["theta"], dashed=True),
    ]
    return Curves(marks, x="parameters N, with 20 N tokens", y="share of edges in error", log="x", ys=(0, 1))
