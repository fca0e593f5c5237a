"""Functions that no method minimizes fast: a hidden valley, and 3SAT as a polynomial (arora Ch. 2)."""

import itertools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval, MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Histogram, Level, Line, Row, Surface
from deeptheory.optimization.hardness import Haystack, satisfiability_polynomial


@jax.jit
def slopes(hidden, points):
    """The gradients of a haystack at points."""
    return jax.vmap(jax.grad(Haystack(hidden)))(points)


@jax.jit
def stops(corners):
    """Where gradient descent on the cube ends, from near the middle, for every hidden corner: pushed back at walls."""

    def run(hidden):
        step = jax.grad(Haystack(hidden))
        return jax.lax.fori_loop(0, 30, lambda _, x: jnp.clip(x - 0.1 * step(x), 0.0, 1.0), jnp.full(len(hidden), 0.55))

    return jax.vmap(run)(corners)


@claim(
    items={"A2.20": ("mean number of questions", "growth with the dimension", "where descent ends")},
    says=r"A linear function on the cube in $\mathbb R^n$ with a valley hidden at one of its $2^n$ corners looks the "
    r"same everywhere else. In whatever order corners are asked, the mean number of questions is $(2^n+1)/2$, and "
    r"gradient descent goes to one and the same corner.",
    needs="a valley of radius below ½, of which no other corner sees anything; no corner is asked twice",
    symbols={"n": "the dimension"},
    why="Until the valley is hit every answer is the same, so the next question cannot depend on where the valley is: "
    "a method is a list of corners fixed in advance, and a corner drawn at random is in the middle of any list. "
    "Smoothness does not help to find the valley; it only makes small gradients easy to find elsewhere.",
    notice="On the left, the function in two dimensions: a plane with a hole in one corner, and descent along the "
    "slope to another. On the right, the mean number of questions doubles with every dimension; it is the same for a "
    "list in order, for a shuffled one, and for one that begins where the slope leads.",
)
def a_hidden_valley_takes_exponentially_many_questions(
    key, *, dimensions: Annotated[Sizes, MinLen(3)] = (2, 3, 4, 5, 6)
):
    random = generator(key)
    found, means, ends, order = [], [], [], []
    for n in dimensions:
        corners = np.array(list(itertools.product([0.0, 1.0], repeat=n)))
        count = len(corners)
        # The corners as asked about from a little inside, where the gradient of the valley is not zero.
        asked = corners + 0.1 * (0.5 - corners)
        orders = (np.arange(count), random.permutation(count), np.argsort(corners.sum(1), kind="stable"))
        totals = np.zeros(3, int)
        for hidden in corners:
            different = np.any(np.asarray(slopes(jnp.asarray(hidden), jnp.asarray(asked))) != 1.0, axis=1)
            totals += [int(np.argmax(different[each])) + 1 for each in orders]
        found.append(totals)
        means.append(totals[1] / count)
        ends.append(bool(np.all(np.asarray(stops(jnp.asarray(corners)))[1:] == 0.0)))  # the valley at 0 may hold it
        order.append(np.full(3, count * (count + 1) // 2))
    along = {"dimension": np.array(dimensions), "order": ["in order", "shuffled", "downhill first"]}
    return {
        "mean number of questions": Exact(np.array(found), np.array(order), along=along),
        "growth with the dimension": Rate(
            2.0 ** np.array(dimensions), np.array(means) - 0.5, exponent=1.0, rivals=(0.5,)
        ),
        "where descent ends": Exact(np.array(ends), np.ones(len(dimensions), bool)),
    }


@a_hidden_valley_takes_exponentially_many_questions.control(
    "2ⁿ/2 questions, a half less", of="mean number of questions"
)
def half_a_question_less(evidence):
    count = 2 ** np.asarray(evidence.along["dimension"])[:, None]
    return replace(evidence, right=np.broadcast_to(count**2 // 2, np.shape(evidence.right)))


@a_hidden_valley_takes_exponentially_many_questions.control(
    "descent finds the valley wherever it is", of="where descent ends"
)
def finds_it(evidence):
    return replace(evidence, right=np.zeros_like(evidence.right))


@a_hidden_valley_takes_exponentially_many_questions.picture
def plane_with_a_hole(pieces):
    """The function on a square with its valley at the far corner (left), and questions needed by dimension (right)."""
    found = pieces["mean number of questions"]
    grid = np.linspace(0, 1, 61)
    function = jax.vmap(jax.vmap(Haystack(jnp.ones(2))))
    heights = function(jnp.stack(jnp.meshgrid(jnp.asarray(grid), jnp.asarray(grid)), -1))
    path = np.linspace(0.55, 0, 8)
    n = found.along["dimension"]
    return Row(
        [
            Surface(
                [Line("gradient descent", path, path, arrow=True)],
                columns=grid,
                rows=grid,
                heights=np.asarray(heights),
                value="loss",
                x="coordinate x₁",
                y="coordinate x₂",
            ),
            Curves(
                [
                    Line("(2ⁿ + 1)/2", n, (2.0**n + 1) / 2),
                    Dots("shuffled list", n, np.asarray(found.left)[:, 1] / 2.0**n),
                    Dots("downhill first", n, np.asarray(found.left)[:, 2] / 2.0**n),
                ],
                x="dimension n",
                y="mean number of questions",
                log="y",
            ),
        ]
    )


@jax.jit
def looked_at(formulas, corners, starts):
    """Values and Hessians at the corners, and where gradient descent ends, for each formula."""

    def one(formula):
        slope = jax.grad(formula)
        end = lambda start: jax.lax.fori_loop(0, 500, lambda _, w: w - 0.03 * slope(w), start)  # noqa: E731
        stopped = jax.vmap(end)(starts)
        return jax.vmap(formula)(corners), jax.vmap(jax.hessian(formula))(corners), jax.vmap(formula)(stopped)

    return jax.vmap(one)(formulas)


@claim(
    items={"A2.4": ("zeros", "curvature at a zero")},
    says=r"$\sum_i(w_i^2-w_i)^2+\sum_c\prod_{l\in c}(\ldots)^2$ is zero exactly at the satisfying assignments, $2^n("
    r"\frac78)^m$ on average over formulas of $m$ clauses with three of $n$ variables each. There its Hessian is "
    r"diagonal, $2+2s_i$, with $s_i$ the number of clauses that $w_i$ alone satisfies.",
    needs="the factors are 1 − wᵢ for a literal and wᵢ for its negation; variables and signs drawn at random",
    symbols={
        "w_i": "the variables, made real numbers",
        "c, l": "a clause, and a literal in it",
        "n, m": "the number of variables, and of clauses",
        "s_i": "how many clauses would fail if $w_i$ changed",
    },
    why="The first sum is zero only if every $w_i$ is 0 or 1, and then a product is 1 if its clause fails and 0 if "
    "not. A clause of three literals fails for one of eight settings of its variables. Near a zero a product with two "
    "factors that vanish is of second order, and its square of fourth: only clauses that hang on one variable bend "
    "the polynomial, along that variable.",
    notice="Most runs of gradient descent come to an assignment that satisfies such a small formula. Some stop at a "
    "loss near 0.4, in a spurious minimum, though their formula can be satisfied, and no slope there says which "
    "variable to change. A method that found the zeros of every formula fast would decide 3SAT.",
    explore={"clauses": (12, 18, 30)},
)
def satisfying_assignments_are_the_zeros(
    key,
    *,
    variables: Annotated[int, Interval(ge=4, le=9)] = 6,
    clauses: Annotated[int, Interval(ge=4, le=30)] = 18,
    trials: Trials = 500,
):
    random = generator(key)
    chosen = np.argsort(random.uniform(size=(trials, clauses, variables)), axis=-1)[..., :3]
    signs = random.choice([-1, 1], chosen.shape)
    corners = np.array(list(itertools.product([0, 1], repeat=variables)))
    # By logic: a literal is true if its variable is 1 and it is not negated, or 0 and negated.
    true = (corners[:, chosen] == 1) == (signs > 0)
    satisfied = true.any(-1).all(-1).T
    alone = np.sum(
        true[..., None] & (true.sum(-1) == 1)[..., None, None] & (chosen[..., None] == np.arange(variables)), (2, 3)
    )
    few = slice(0, 40)
    lists = (signs * (chosen + 1))[few]
    formulas = jax.tree.map(
        lambda *each: jnp.stack(each), *[satisfiability_polynomial(each.tolist()) for each in lists]
    )
    starts = random.uniform(0, 1, (12, variables))
    values, hessians, ends = map(np.asarray, looked_at(formulas, jnp.asarray(corners, float), jnp.asarray(starts)))
    at = satisfied[few]
    # Formulas of a few clauses with one, two and three literals: the same corners, by logic and by the polynomial.
    lengths = 1 + np.arange(min(clauses, 6)) % 3
    short = [[c[:k] for c, k in zip(each, lengths.tolist(), strict=False)] for each in lists.tolist()]
    brief = jax.tree.map(lambda *each: jnp.stack(each), *map(satisfiability_polynomial, short))
    settled = (true[:, few, : len(lengths)] & (np.arange(3) < lengths[:, None])).any(-1).all(-1).T
    expected = np.swapaxes(alone[:, few], 0, 1)[at]
    return {
        "zeros": Exact(values == 0, at, aside={"two of three": (true.sum(-1) >= 2).all(-1).T[few]}),
        "zeros with short clauses": Exact(
            np.asarray(jax.vmap(lambda formula: jax.vmap(formula)(jnp.asarray(corners, float)))(brief)) == 0, settled
        ),
        "curvature at a zero": Identity(
            hessians[at], np.eye(variables) * (2 + 2 * expected)[:, None], scale=2.0, aside={"counts": expected}
        ),
        "mean number of zeros": Law(
            2.0**variables * (7 / 8) ** clauses,
            satisfied.sum(1),
            exact=True,
            resolution=0.3,  # the number varies from formula to formula as much as its mean
            aside={"ends": ends[at.any(1)].ravel(), "clauses": clauses, "variables": variables},
        ),
    }


@satisfying_assignments_are_the_zeros.control("two literals of each clause must be true", of="zeros")
def two_of_three(evidence):
    return replace(evidence, right=evidence.aside["two of three"])


@satisfying_assignments_are_the_zeros.control("1 + sᵢ clauses bend it", of="curvature at a zero")
def one_more_clause(evidence):
    counts = np.asarray(evidence.aside["counts"])
    return replace(evidence, right=np.eye(counts.shape[1]) * (4 + 2 * counts)[:, None])


@satisfying_assignments_are_the_zeros.control("clauses of two literals: (3/4)^m", of="mean number of zeros")
def literals_of_two(evidence):
    # A clause with two literals fails for one of four settings.
    return replace(evidence, predicted=2.0 ** evidence.aside["variables"] * (3 / 4) ** evidence.aside["clauses"])


@satisfying_assignments_are_the_zeros.picture
def where_runs_stop(pieces):
    """The loss at which gradient descent stops, on formulas that can be satisfied; zero would be an answer."""
    ends = np.asarray(pieces["mean number of zeros"].aside["ends"])
    return Histogram(
        [Level("a satisfying assignment", x=0.0)],
        samples=ends[np.isfinite(ends)],
        x="loss where a run stops",
        y="density",
    )
