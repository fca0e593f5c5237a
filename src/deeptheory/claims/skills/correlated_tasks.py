"""Sub-tasks that succeed and fail together: compound success without independence."""

from dataclasses import replace

import numpy as np

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Inequality, Law, Limit, Trials, claim
from deeptheory.lab.pictures import Curves, Level, Line, seen
from deeptheory.skills.compound_tasks import correlated_success


@claim(
    items={"H15.7": ("success with a shared chance", "never below independence", "all or nothing")},
    says=r"If $k$ sub-tasks share a random chance $p\sim\mathrm{Beta}(a,b)$, all succeed with chance "
    r"$\prod_{j<k}(a+j)/(a+b+j)\ge(\mathbb{E}p)^k$; as $a,b\to0$ with $a/(a+b)$ fixed this tends to $\mathbb{E}p$ for "
    r"every $k$.",
    needs="sub-tasks independent given p",
    symbols={
        "k": "the number of sub-tasks",
        "p": "the chance of each, random and the same for all",
        "a, b": "the parameters of its law, of mean $a/(a+b)$",
        "j": "counts the sub-tasks",
    },
    why="Given $p$ the chance is $p^k$, a convex function, so that its mean is at least the power of the mean "
    "(Jensen). Moments of the beta law are the product. When $a$ and $b$ are small $p$ is nearly 0 or 1: the sub-tasks "
    "succeed together or not at all, and asking for more of them changes nothing.",
    notice="All curves have the same mean chance of one sub-task. Independent sub-tasks ($a$ and $b$ large) "
    "make success vanish with $k$; correlated ones leave it nearly where it was, and nothing emerges.",
)
def correlated_subtasks(key, *, trials: Trials = 60_000):
    rng, laws = generator(key), np.array([[6.0, 4.0], [1.5, 1.0], [0.3, 0.2]])
    chance = np.stack([rng.beta(a, b, trials) for a, b in laws])
    ks = np.array([2, 3, 6])
    together = (rng.random((len(laws), trials, 6)) < chance[..., None]).cumprod(-1)[..., ks - 1].swapaxes(1, 2)
    exact = correlated_success(laws[:, :1], laws[:, 1:], ks)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    p = (nodes + 1) / 2
    grid = np.array([(a, b) for a in (1.0, 2.0, 5.0) for b in (1.0, 3.0, 4.0)])
    density = p ** (grid[:, :1] - 1) * (1 - p) ** (grid[:, 1:] - 1) * weights
    moments = (density[:, None] * p ** ks[:, None]).sum(-1) / density.sum(-1, keepdims=True)
    mean = grid[:, :1] / grid.sum(1, keepdims=True)
    sizes = 4.0 ** np.arange(2, 8)
    return {
        "success with a shared chance": Law(
            exact, together.astype(float), along={"law": np.array(["6, 4", "1.5, 1", "0.3, 0.2"]), "steps": ks},
            exact=True, scale=0.6, aside={"independent": 0.6**ks},
        ),
        "never below independence": Inequality(
            mean**ks, moments, along={"law": np.arange(len(grid)), "steps": ks}, aside={"less": mean ** (ks - 1)}
        ),
        "all or nothing": Limit(
            sizes, np.abs(correlated_success(0.6 / sizes, 0.4 / sizes, 6) - 0.6), order=1.0, aside={"off": 0.6 - 0.6**2}
        ),
    }  # fmt: skip


@correlated_subtasks.control("independent sub-tasks of the same mean", of="success with a shared chance")
def independent(evidence):
    return replace(evidence, predicted=np.broadcast_to(evidence.aside["independent"], evidence.predicted.shape))


@correlated_subtasks.control("one independent sub-task less", of="never below independence")
def one_less_power(evidence):
    return replace(evidence, quantity=evidence.aside["less"])


@correlated_subtasks.control("the chance of two independent sub-tasks remains", of="all or nothing")
def two_remain(evidence):
    return replace(evidence, y=np.abs(evidence.y + evidence.aside["off"]))


@correlated_subtasks.picture
def by_number_of_steps(pieces):
    """Success against the number of sub-tasks for chances of one mean 0.6: independent, spread out, all or nothing."""
    shared = pieces["success with a shared chance"]
    ks, marks = np.arange(1, 13), []
    for i, (a, b) in enumerate(((6.0, 4.0), (1.5, 1.0), (0.3, 0.2))):
        name = f"Beta({a:g}, {b:g})"
        marks += [Line(name, ks, correlated_success(a, b, ks)), seen(name, shared.along["steps"], shared.observed[i])]
    marks += [Line("independent", ks, 0.6**ks, dashed=True), Level("together", y=0.6)]
    return Curves(marks, x="sub-tasks k", y="chance that all succeed")
