"""Excess entropy and questions with choices (arora Sec. 15.4, Assumption 15.8.2, Thm 15.8.3)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.language.cloze import (
    cloze_score,
    grouped_choices,
    most_telling_words,
    pinsker_error,
    question_error,
)

SURE = np.linspace(0.05, 0.95, 19)
CHOICES = (2, 3, 4, 6, 12)


@claim(
    items={
        "A15.14": "a sure human and a model that is not",
        "A15.27": "excess that choices show",
        "A15.28": "errors of questions",
    },
    says=r"If the model's excess entropy at a word is $\epsilon$ nats, every question “is it in $A$?” has error "
    r"$|p(A)-q(A)|\le\sqrt{\epsilon/2}\le\sqrt{2\epsilon}$, most at $A=\{p>q\}$. Questions with choices show at most "
    r"$\epsilon$, finer ones more. A sure human makes all of a model's loss excess: $-\log c$.",
    needs="laws with no word excluded by the model; errors under the best coupling of the two answers. That few "
    "choices show nearly all of the excess is an assumption of the book, true for some laws and not for others",
    symbols={
        r"\epsilon": r"excess entropy, $\mathrm{KL}(p\|q)$",
        "A": "a set of words",
        "p": "the human's law of the next word",
        "q": "the model's law",
        "c": "the model's probability of the human's answer",
    },
    why=r"Grouping words into choices cannot increase a divergence. For two choices with $p(A)=a$ and $q(A)=b$ it is "
    r"at least $2(a-b)^2$, which is Pinsker's inequality with its best constant, reached as $b\to a=\frac12$. The "
    r"difference $p(A)-q(A)$ is largest when $A$ takes all words with $p>q$.",
    notice="Errors of the most telling question lie under the root of half the excess and touch it where laws are "
    "close; the printed bound is twice as high.",
    explore={"words": (2, 6, 12, 24)},
)
def excess_bounds_cloze_errors(
    key, *, pairs: Annotated[int, Interval(ge=50, le=5000)] = 1000, words: Annotated[int, Interval(ge=2, le=48)] = 12
):
    rng = generator(key)
    human = rng.dirichlet(np.ones(words), pairs)
    # Models between the human's law and another: from far to near, and two words alone, where the bound is reached.
    mixed = np.geomspace(1e-3, 1, pairs)[:, None]
    model = (1 - mixed) * human + mixed * rng.dirichlet(np.ones(words), pairs)
    half = np.array([[0.5, 0.5] + [0.0] * (words - 2)])
    tilt = np.geomspace(1e-3, 0.4, 12)[:, None] * np.array([[1.0, -1.0] + [0.0] * (words - 2)])
    human, model = np.concatenate([human, np.repeat(half, 12, 0)]), np.concatenate([model, half + tilt])
    excess = cloze_score(human, model).excess
    telling = question_error(human, model, most_telling_words(human, model))
    asked = question_error(human, model, rng.random(human.shape) < 0.5)
    bound = pinsker_error(excess)
    places = rng.permutation(words)
    shown = []
    for choices in (c for c in CHOICES if c < words):
        groups = places * choices // words
        shown.append(cloze_score(*(grouped_choices(law, groups) for law in (human[:pairs], model[:pairs]))).excess)
    sure = np.zeros((len(SURE), 3))
    sure[:, 1] = 1.0
    unsure = np.stack([(1 - SURE) / 4, SURE, 3 * (1 - SURE) / 4], axis=1)
    score = cloze_score(sure, unsure)
    return {
        "a sure human and a model that is not": Identity(
            np.stack([score.entropy, score.cross_entropy, score.excess]),
            np.stack([0 * SURE, -np.log(SURE), -np.log(SURE)]),
            scale=1.0,
            aside={"own": -(unsure * np.log(unsure)).sum(1)},
        ),
        "errors of questions": Chain(
            {
                "any question below the most telling": (asked, telling),
                "the most telling below √(ε/2)": (telling, bound),
                "√(ε/2) below √(2ε), as printed": (bound, np.sqrt(2 * excess)),
            },
            # Divergences of close laws are differences of numbers near 1.
            error=1e-9,
            aside={"excess": excess},
        ),
        "excess that choices show": Inequality(
            np.array(shown or [0 * excess[:pairs]]),
            excess[:pairs],
            error=1e-12,
        ),
        "choices that are the words": Identity(
            cloze_score(*(grouped_choices(law, places) for law in (human, model))).excess, excess, scale=1.0
        ),
    }


@excess_bounds_cloze_errors.control("the loss is the model's own entropy", of="a sure human and a model that is not")
def own_entropy(evidence):
    own = evidence.aside["own"]
    return replace(evidence, right=np.stack([0 * own, own, own]))


@excess_bounds_cloze_errors.control("√ε/2 for √(ε/2)", of="errors of questions")
def too_sharp(evidence):
    telling, bound = evidence.links["the most telling below √(ε/2)"]
    return replace(evidence, links={"the most telling below √ε/2": (telling, bound / np.sqrt(2))})


@excess_bounds_cloze_errors.control("choices show all but a tenth of the excess", of="excess that choices show")
def nearly_all(evidence):
    return replace(evidence, quantity=np.asarray(evidence.bound) / 1.1, bound=evidence.quantity)


@excess_bounds_cloze_errors.picture
def errors(pieces):
    """Error of the most telling binary question by excess entropy, under Pinsker's bound and the printed one."""
    piece = pieces["errors of questions"]
    excess = np.asarray(piece.aside["excess"])
    grid = np.geomspace(max(excess.min(), 1e-7), excess.max(), 60)
    return Curves(
        [
            Dots("most telling question", excess, piece.links["the most telling below √(ε/2)"][0]),
            Line("√(ε/2)", grid, np.sqrt(grid / 2)),
            Line("√(2ε)", grid, np.sqrt(2 * grid), dashed=True),
        ],
        x="excess entropy, nats",
        y="error",
        log="xy",
    )
