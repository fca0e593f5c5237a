"""A valley that no method finds fast (arora 2.5.1)."""

import itertools
from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import MinLen

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Rate, Sizes, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row, Surface
from deeptheory.optimization.hardness import Haystack


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
