"""Small ReLU networks do have bad minima, and descent ends in them (lucchi Ch. 6, the list after Def. 24)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Exact, Law, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level
from deeptheory.landscapes.critical_points import find_critical_points
from deeptheory.landscapes.relu_students import ReluStudentLoss


@jax.jit
def trained(loss, starts):
    """Where fifteen hundred steps of gradient descent end, and the loss there."""
    step = lambda _, w: w - 0.3 * jax.grad(loss)(w)  # noqa: E731
    ends = jax.vmap(lambda start: jax.lax.fori_loop(0, 1500, step, start))(starts)
    return ends, jax.vmap(loss)(ends)


@jax.jit
def slopes_at(loss, points):
    """The length of the gradient at each point."""
    return jax.vmap(lambda w: jnp.linalg.norm(jax.grad(loss)(w)))(points)


@claim(
    items={
        "L6.2": ("population loss", "what makes it a spurious minimum", "runs that find the teacher"),
        "L5.26": ("what makes it a spurious minimum", "runs that find the teacher"),
    },
    says="A student of as many ReLU neurons as its teacher of orthogonal ones, twelve here, has spurious minima: of "
    "positive loss, without slope, and with a positive definite Hessian. Descent on the population loss $L$ "
    "misses the teacher in more than a tenth of runs.",
    needs="standard Gaussian inputs; outer weights one",
    symbols={"L": "the population loss, half the mean squared error over all inputs"},
    why="Each student neuron wants to be a teacher neuron. Once two of them share one, and another serves two, no "
    "small change puts it right: neurons would have to turn across each other. With four neurons "
    "every run comes down.",
    notice="The runs end at a few levels: zero, and a few values well above it, at which several runs meet: minima "
    "of the landscape, and no accident of a run.",
)
def small_relu_networks_have_bad_minima(
    key, *, trials: Trials = 64, neurons: Annotated[int, Interval(ge=4, le=12)] = 12
):
    random = generator(key)
    loss = ReluStudentLoss(jnp.eye(neurons))
    starts = random.normal(0, neurons**-0.5, (trials, neurons * neurons))
    places, values = (np.asarray(each) for each in trained(loss, jnp.asarray(starts)))
    # The run nearest to rest among those that ended high.
    slopes = np.where(values > 0.01, np.asarray(slopes_at(loss, jnp.asarray(places))), np.inf)
    found = find_critical_points(loss, jnp.asarray(places[np.argmin(slopes)][None]), steps=15)

    # The closed form against draws of inputs, at weights of no meaning.
    few = ReluStudentLoss(jnp.asarray(random.standard_normal((2, 3))))
    student = random.standard_normal((3, 3))
    x = random.standard_normal((200_000, 3))
    output = np.maximum(x @ student.T, 0).sum(1) - np.maximum(x @ np.asarray(few.teacher).T, 0).sum(1)
    return {
        "population loss": Law(float(few(jnp.asarray(student.ravel()))), output[None] ** 2 / 2, exact=True),
        "what makes it a spurious minimum": Exact(
            np.array([bool(found.slope[0] < 1e-9), bool(found.eigenvalues[0, 0] > 1e-6), bool(found.value[0] > 0.01)]),
            np.array([True, True, True]),
            along={"what": ["no slope", "curved upwards", "above zero"]},
            aside={"values": np.sort(values)},
        ),
        # At most nine tenths of the runs come down: the limit itself, since twice as many would be more than all.
        "runs that find the teacher": Chance(int(np.sum(values < 0.01)), trials, 0.9, factor=1.0),
    }


@small_relu_networks_have_bad_minima.control("the mean square without its half", of="population loss")
def without_half(evidence):
    return replace(evidence, predicted=2 * evidence.predicted)


@small_relu_networks_have_bad_minima.control("every minimum is global", of="what makes it a spurious minimum")
def all_global(evidence):
    return replace(evidence, right=np.array([True, True, False]))


small_relu_networks_have_bad_minima.control("with four neurons", of="runs that find the teacher", neurons=4, trials=240)


@small_relu_networks_have_bad_minima.picture
def where_runs_end(pieces):
    """The loss at the end of each run, in order: above zero it missed the teacher, mostly for a spurious minimum."""
    values = np.asarray(pieces["what makes it a spurious minimum"].aside["values"])
    marks = [Dots("end of a run", np.arange(len(values)), values), Level("zero", y=0.0)]
    return Curves(marks, x="run, in order", y="loss L", ys=(-0.002, 0.06))
