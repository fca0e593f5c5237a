"""Competence on skills and pairs, the chance of repeated skills, and how many pieces are mistaken."""

from dataclasses import replace
from itertools import product
from math import prod
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Inequality, Law, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, Graph, Line, Row, seen
from deeptheory.skills.competence import mistaken_share, pair_errors, repeat_probability, skill_errors
from deeptheory.skills.emergence import skill_graph


@claim(
    items={
        "A15.25": ("errors of skills add up", "errors of pairs add up", "competence under random errors"),
        "A15.38": "errors of skills add up",
    },
    says=r"The error rates of the skills' tasks, weighted by degree, average to the mean loss exactly, and so do "
    r"those of pairs, weighted by frequency. If a random share $\theta$ of the pieces is in error, every skill and "
    r"every pair has competence $1-\theta$ on average.",
    needs="a piece's loss is charged to all its skills and pairs; every piece uses k skills",
    symbols={r"\theta": "the share of pieces in error"},
    why=r"Each piece appears in $k$ tasks of single skills and in $k(k-1)$ of ordered pairs, and is charged in all of "
    "them. Adding up over tasks first or over pieces first gives the same sum. So errors are only ever distributed "
    "over skills, never lost: what a model is better at than average, it pays for elsewhere.",
    notice="Skills above, text pieces below, edges from each piece to the skills it uses; pieces in error have a "
    "colour of their own, and their edges another. On the right the error rates of skills scatter about the mean loss.",
)
def competence_is_conserved(key, *, trials: Trials = 4000, texts: Annotated[int, Interval(ge=20, le=400)] = 60):
    k, skills, theta = 4, 8, 0.2
    graph_key, error_key = jax.random.split(key, 2)
    rng = generator(error_key)
    graph = skill_graph(graph_key, texts, skills, k)
    eighths = rng.integers(0, 9, texts) * (rng.random(texts) < 0.4)
    losses = eighths / 8
    degrees = graph.sum(0)
    both = graph.T @ graph
    edges = both - np.diag(degrees)
    single, double = skill_errors(graph, losses), pair_errors(graph, losses)
    failed = rng.permuted(np.tile(np.arange(texts) < round(theta * texts), (trials, 1)), axis=1).astype(float)
    share = failed[0].mean()
    used = np.argwhere(np.triu(edges, 1) > 0)[:3]
    competence = 1 - skill_errors(graph, failed).T
    pairs = 1 - pair_errors(graph, failed)[:, used[:, 0], used[:, 1]].T
    total = Identity(np.array([losses.mean()]), np.array([single @ degrees / degrees.sum()]), size=texts)
    return {
        "errors of skills add up": replace(
            total, aside={"plain": single.mean(), "graph": graph, "losses": losses, "errors": single}
        ),
        "errors of pairs add up": replace(
            total,
            right=np.array([(double * edges).sum() / edges.sum()]),
            aside={"with itself": (double * both).sum() / both.sum()},
        ),
        "competence under random errors": Law(
            np.full(skills + len(used), 1 - share), np.concatenate([competence, pairs]), exact=True, scale=1.0,
            along={"task": np.array([f"skill {s}" for s in range(skills)] + [f"pair {s}, {t}" for s, t in used])},
            aside={"pairs": np.array([1 - share] * skills + [(1 - share) ** 2] * len(used))},
        ),
    }  # fmt: skip


@competence_is_conserved.control("an average over skills without their degrees", of="errors of skills add up")
def plain_average(evidence):
    return replace(evidence, right=np.array([evidence.aside["plain"]]))


@competence_is_conserved.control("each edge paired with itself, too", of="errors of pairs add up")
def with_itself(evidence):
    return replace(evidence, right=np.array([evidence.aside["with itself"]]))


@competence_is_conserved.control("a pair succeeds as two independent skills", of="competence under random errors")
def pairs_multiply(evidence):
    return replace(evidence, predicted=evidence.aside["pairs"])


@competence_is_conserved.picture
def skill_graph_drawn(pieces):
    """A skill graph, skills above and pieces below, with the pieces in error marked; and the error rates of skills."""
    held = pieces["errors of skills add up"]
    graph, losses = held.aside["graph"][:16], held.aside["losses"][:16]
    texts, skills = graph.shape
    places = np.concatenate(
        [
            np.stack([(np.arange(skills) + 0.5) / skills, np.full(skills, 0.6)], 1),
            np.stack([(np.arange(texts) + 0.5) / texts, np.zeros(texts)], 1),
        ]
    )
    edges = np.argwhere(graph > 0)
    kinds = ["skill"] * skills + ["piece in error" if loss >= 0.5 else "piece" for loss in losses]
    drawn = Graph(
        places,
        [(int(s), int(skills + t)) for t, s in edges],
        kinds=kinds,
        edge_kinds=["edge in error" if losses[t] >= 0.5 else "" for t, _ in edges],
    )
    errors = held.aside["errors"]
    bars = Curves(
        [
            Line("mean loss", np.arange(skills), np.full(skills, held.left[0])),
            seen("error rate", np.arange(skills), errors[:, None]),
        ],
        x="skill", y="error rate", ys=(0, 1),
    )  # fmt: skip
    return Row([drawn, bars])


@claim(
    items={
        "A15.26": ("chance of a repeated skill", "one over the number of skills"),
        "A15.29": ("mistaken pieces", "losses of one half"),
    },
    says=r"A piece repeats a skill with chance $1-\prod_{i<k}(1-i/|S|)=k(k-1)/2|S|+O(|S|^{-2})$. If pieces have "
    r"average loss $\delta$, at most a share $2\delta$ of them has loss $\frac12$ or more, with equality for losses 0 "
    r"and $\frac12$.",
    needs="k skills drawn independently and uniformly",
    symbols={
        "k": "the number of skills of a piece",
        "|S|": "the number of skills",
        "i": "counts the skills drawn before",
        r"\delta": "the average cloze loss of a piece",
    },
    why="The skill drawn after $i$ different ones avoids them with chance $1-i/|S|$; the first-order term counts pairs "
    r"of draws. The second statement is Markov's inequality: every mistaken piece contributes at least $\frac12$ to "
    "the sum of the losses.",
    notice=r"The chance of a repetition falls like one over the number of skills, so that with many skills a piece is "
    r"as good as a set of them. The share of mistaken pieces stays below the line $2\delta$, which only losses of 0 "
    r"and $\frac12$ reach.",
)
def repeats_and_mistakes(key, *, trials: Annotated[int, Interval(ge=50, le=5000)] = 400):
    cells = [(k, skills) for k in (2, 3, 4) for skills in (2, 3, 5, 6)]
    counted, stated, later = [], [], []
    for k, skills in cells:
        repeats = sum(len(set(draw)) < k for draw in product(range(skills), repeat=k))
        counted.append(repeats)
        stated.append(round(repeat_probability(k, skills) * skills**k))
        later.append(skills**k - prod(skills - i - 1 for i in range(k)))
    many = 4.0 ** np.arange(3, 9)
    chances = np.array([repeat_probability(8, int(skills)) for skills in many])
    rng = generator(key)
    losses = rng.gamma(rng.uniform(0.1, 3, trials)[:, None], rng.uniform(0.02, 0.5, trials)[:, None], (trials, 50))
    halves = (np.arange(50) < np.arange(0, 51, 5)[:, None]) / 2
    return {
        "chance of a repeated skill": Exact(
            np.array(counted), np.array(stated),
            along={"skills a piece, skills": np.array([str(cell) for cell in cells])}, aside={"later": np.array(later)},
        ),
        "one over the number of skills": Limit(many, np.abs(many * chances - 28), order=1.0, aside={"off": 4.0}),
        "mistaken pieces": Inequality(
            (losses >= 0.5).mean(1), mistaken_share(losses.mean(1)), along={"model": np.arange(trials)},
            aside={"loss": losses.mean(1)},
        ),
        "losses of one half": Identity(
            (halves >= 0.5).mean(1), mistaken_share(halves.mean(1)), along={"mistaken pieces": np.arange(0, 51, 5)}
        ),
    }  # fmt: skip


@repeats_and_mistakes.control("the first draw may repeat, too", of="chance of a repeated skill")
def one_factor_later(evidence):
    return replace(evidence, right=evidence.aside["later"])


@repeats_and_mistakes.control("k²/2 for k(k − 1)/2", of="one over the number of skills")
def all_pairs_twice(evidence):
    return replace(evidence, y=evidence.y + evidence.aside["off"])


@repeats_and_mistakes.control("a share δ of the pieces", of="mistaken pieces")
def half_the_share(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@repeats_and_mistakes.control("threshold two thirds", of="losses of one half")
def higher_threshold(evidence):
    return replace(evidence, right=0.75 * evidence.right)


@repeats_and_mistakes.picture
def chances_and_shares(pieces):
    """Chance of a repeated skill by the number of skills (left); mistaken pieces against the average loss (right)."""
    many = np.geomspace(16, 1e5, 60).astype(int)
    left = [Line(f"k = {k}", many, [repeat_probability(k, int(n)) for n in many]) for k in (2, 4, 8)]
    left.append(Line("k(k − 1)/2|S|", many[10:], 28 / many[10:], dashed=True))
    found = pieces["mistaken pieces"]
    x = np.linspace(0, 0.6, 50)
    right = [Line("2δ", x, mistaken_share(x)), seen("models", found.aside["loss"], found.quantity[:, None])]
    return Row(
        [
            Curves(left, x="skills |S|", y="chance of a repetition", log="xy"),
            Curves(right, x="average loss δ", y="share of mistaken pieces", xs=(0, 0.6)),
        ]
    )
