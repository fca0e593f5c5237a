"""Emergence from end to end: a scaling law, its loss on questions, the pieces in error, and what skills make of them.

A model of N parameters that has read D tokens has an excess over the entropy of text; its average loss on cloze
questions is in proportion to it; by Markov's inequality a share of the pieces is mistaken; and on a random skill
graph this share limits how badly any group of skills can do. Each step can be simulated and held against what is
guaranteed. A second, simpler source says in which order tasks emerge. Reference: arora Secs 15.3, 15.8 and 15.9.
"""

from typing import Annotated, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from deeptheory.foundations.arrays import HostReals
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable
from deeptheory.foundations.randomness import generator
from deeptheory.scaling.power_laws import ScalingLaw, loss_at
from deeptheory.skills.competence import mistaken_share, skill_errors
from deeptheory.skills.emergence import first_moment_concentration, searched_concentration, skill_graph

__all__ = [
    "EmergenceRun",
    "cloze_loss",
    "examples_for_success",
    "frequency_success",
    "simulate_emergence",
    "simulate_tasks",
]

Frequencies = Annotated[Float[np.ndarray, " tasks"], "[0, 1]"]


class EmergenceRun(NamedTuple):
    """Shares of edges in error of the worst group of skills, one entry a model."""

    mistaken: Float[np.ndarray, " models"]
    """the share θ of pieces in error"""
    guaranteed: Float[np.ndarray, " models"]
    """what no error set of that size exceeds, by the emergence theorem"""
    worst: Float[np.ndarray, " models"]
    """the worst error set that a search finds"""
    correlated: Float[np.ndarray, " models"]
    """errors on the pieces that use hard skills most"""
    random: Float[np.ndarray, " models"]
    """errors on random pieces"""


def cloze_loss(law: ScalingLaw, parameters: HostReals, tokens: HostReals, *, tracking: float = 1.0) -> HostReals:
    """Average loss on cloze questions: `tracking` times the excess of the loss over the law's floor.

    That the two are in proportion is arora's Assumption 15.8.2, with a factor near 1 for questions on all of the text.
    """
    return (tracking * (np.asarray(loss_at(law, parameters, tokens)) - law.floor))[()]


def simulate_emergence(
    key: Key[Array, ""],
    losses: Annotated[Float[np.ndarray, " models"], "(0, 0.5)"],
    *,
    texts: int = 10_000,
    skills: int = 40,
    k: int = 8,
    alpha: Annotated[float, "(0, 1)"] = 0.2,
    starts: int = 4,
) -> EmergenceRun:
    """Draw one skill graph, and for each average cloze loss δ error sets of 2δ of its pieces in three ways.

    Reported is the error rate of the worst group of α|S| skills. Hard skills, for correlated errors, are half a group;
    the search has so many random `starts`. The guarantee counts the choices of skills, too, so holds at these sizes.
    """
    graph_key, error_key, search_key = jax.random.split(key, 3)
    graph, rng = skill_graph(graph_key, texts, skills, k), generator(error_key)
    group = round(alpha * skills)
    if not 1 <= group < skills:
        raise ValueError(f"alpha must leave between 1 and {skills - 1} of {skills} skills in the group, got {alpha}")
    hard = rng.permutation(skills)[: max(group // 2, 1)]
    shuffled = rng.permutation(texts)
    by_hardness = shuffled[np.argsort(-graph[shuffled][:, hard].sum(1), kind="stable")]
    columns = []
    for loss, part in zip(losses, jax.random.split(search_key, len(losses)), strict=True):
        size = round(texts * float(mistaken_share(float(loss))))
        if not 1 <= size < texts:
            raise ValueError(f"losses must put between 1 and {texts - 1} of {texts} pieces in error, got {loss}")
        theta, share = size / texts, group / skills
        bound = first_moment_concentration(share, theta, k, skills_per_text=skills / texts)
        worst = theta * searched_concentration(part, graph, group, theta, starts=starts)
        errors = []
        for order in (by_hardness, shuffled):
            failed = np.zeros(texts)
            failed[order[:size]] = 1
            errors.append(np.sort(skill_errors(graph, failed))[-group:].mean())
        columns.append((theta, min(theta * min(float(bound), 1 / share), 1.0), worst, *errors))
    return EmergenceRun(*np.array(columns).T)


def frequency_success(
    frequency: Annotated[HostReals, "[0, 1]"], samples: HostReals, *, facts: int, needed: int
) -> HostReals:
    """Share of a task's questions answered after `samples` examples: (1 − e^(−Dq/r))^m.

    A task of frequency q has r = `facts` facts, seen equally often; each question needs m = `needed` of them, and the
    number of examples is Poisson's with mean D. In ln D all tasks have one curve, moved by ln(r/q).
    """
    rate = np.asarray(samples, float) * np.asarray(frequency, float) / facts
    return ((-np.expm1(-rate)) ** needed)[()]


def examples_for_success(
    frequency: Annotated[HostReals, "(0, 1]"], *, facts: int, needed: int, level: Annotated[float, "(0, 1)"] = 0.5
) -> HostReals:
    """Examples after which a share `level` of a task's questions is answered: (r/q) ln 1/(1 − level^(1/m)).

    `frequency` is q, the chance that an example is of the task, `facts` r, how many the task has, and `needed` m, how
    many of them a question asks for.
    """
    share = np.exp(np.log(level) / needed)
    # 1 − share has digits where the share is near 1, and the share itself where it is small.
    rest = -np.log1p(-share) if share < 0.5 else -np.log(-np.expm1(np.log(level) / needed))
    return (rest * facts / np.asarray(frequency, float))[()]


def simulate_tasks(
    key: Key[Array, ""], frequencies: Frequencies, samples: float, *, facts: int, needed: int, runs: int = 1
) -> Float[np.ndarray, "tasks runs"]:
    """Read examples of tasks with these frequencies: whether a random question of each is answered, in every run."""
    affordable(seen=(len(frequencies), runs, needed))
    counts = generator(key).poisson(samples * frequencies[:, None, None] / facts, (len(frequencies), runs, needed))
    return (counts > 0).all(-1).astype(float)


doors(
    __name__, parameters="(0, ∞]", tokens="(0, ∞]", tracking="(0, ∞)", texts="[2, 1e7]", skills="[2, 1e5]",
    k="[1, 1000]", starts="[1, 1e4]", samples="[0, 1e15]", facts="[1, 1e9]", needed="[1, 1e6]", runs="[1, 1e8]",
    infinite=("parameters", "tokens"),
)  # fmt: skip
