"""Questions about local minima, asked of many starts: do descents end alike? (lucchi 5.6, the list at its end)"""

from dataclasses import replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row
from deeptheory.optimization.landscapes import TanhNetworkLoss
from deeptheory.optimization.runs import trajectory

WIDTHS = (2, 4, 8)
WIDEST = WIDTHS[-1]


@jax.jit
def trained(inputs, labels, starts):
    """Losses at the end of 400 steps of Adam, one student for each start with the data of its row."""

    def one(x, y, start):
        return trajectory(TanhNetworkLoss(x, y, (WIDEST,)), optax.adam(0.05), start, steps=400).value[-1]

    return jax.vmap(jax.vmap(one, (0, 0, 0)))(inputs, labels, starts)


@jax.jit
def autoencoded(spectrum, starts):
    """Losses along descent on ½E‖x − ABx‖² for inputs of this spectrum, from each start."""
    rows = len(spectrum)

    def loss(flat):
        down, up = flat[: rows * 2].reshape(2, rows), flat[rows * 2 :].reshape(rows, 2)
        return jnp.sum((jnp.eye(rows) - up @ down) ** 2 * spectrum) / 2

    return jax.vmap(lambda start: trajectory(loss, optax.sgd(0.1), start, steps=2000).value)(starts)


@claim(
    items={"L5.26": ("ends of linear autoencoders", "wider students end closer together", "bad ends are rarer")},
    says=r"Descent on a linear autoencoder with $k$ hidden units ends at $\frac12\sum_{i>k}\lambda_i$ from every "
    r"start. Observed: final losses of tanh students of a teacher with 2 neurons spread over fewer powers of ten, and "
    r"lie less often above $2\cdot10^{-4}$, with 4 or 8 neurons than with 2.",
    needs="random starts; the teacher stays narrow while the student grows",
    scale="printed: questions with pointers to papers; here 24 points in 3 dimensions, 400 steps of Adam",
    full=dict(trials=1000),
    symbols={
        "k": "the number of hidden units, 2 here",
        r"\lambda_i": "the variances of the inputs along their principal axes, the largest first",
        r"10^{-4}": "a final loss; the labels have variance one, and the threshold is chosen here",
    },
    why="A linear autoencoder has a critical point for each choice of axes it keeps, and all but the best choice are "
    "saddles: exchanging an axis for one of larger variance leads down. A narrow student can be stuck with two neurons "
    "that serve one of the teacher's; with more of them some neuron is near whatever is missing. For nonlinear "
    "students this is an observation, not a theorem.",
    notice="On the left, linear autoencoders from twelve starts slow down near saddles, at the height of wrong choices "
    "of axes, and all come down to one level. On the right, the final losses of students in order: narrow ones end "
    "anywhere over many powers of ten, wide ones within a narrower range.",
)
def wide_students_end_alike(
    key,
    *,
    trials: Trials = 640,
    teacher: Literal["narrow", "as wide"] = "narrow",
    axes: Annotated[int, Interval(ge=3, le=12)] = 5,
):
    random = generator(key)
    spectrum = np.sort(random.uniform(0.8, 1.2, axes) * 0.6 ** np.arange(axes) * 2)[::-1]
    runs = np.asarray(autoencoded(spectrum, 0.3 * random.standard_normal((12, 4 * axes))))

    inputs = random.standard_normal((trials, 24, 3))
    taught = random.standard_normal((trials, WIDEST, 4))
    data = []
    starts = np.zeros((len(WIDTHS), trials, WIDEST * 4))
    for row, width in enumerate(WIDTHS):
        neurons = WIDTHS[0] if teacher == "narrow" else width
        inner, outer = taught[:, :neurons, :3], taught[:, :neurons, 3]
        outputs = np.einsum("tnk,tk->tn", np.tanh(np.einsum("tnd,tkd->tnk", inputs, inner)), outer)
        # Labels of variance one for every teacher, so that losses compare.
        data.append(outputs / outputs.std(1, keepdims=True))
        # Neurons with zero weights on both sides stay so: one compiled shape for all widths.
        first, last = starts[row, :, : 3 * WIDEST].reshape(trials, 3, WIDEST), starts[row, :, 3 * WIDEST :]
        first[..., :width] = random.standard_normal((trials, 3, width)) / 3**0.5
        last[:, :width] = random.standard_normal((trials, width)) / width**0.5
    losses = np.asarray(trained(np.broadcast_to(inputs, (3, *inputs.shape)), np.array(data), starts))
    powers = np.log10(losses)
    off = np.abs(powers - np.median(powers, axis=1, keepdims=True))
    bad = (losses > 2e-4).astype(float)
    names = {"student": np.array(WIDTHS[1:])}
    return {
        "ends of linear autoencoders": Identity(
            runs[:, -1],
            spectrum[2:].sum() / 2,
            scale=spectrum.sum(),
            error=1e-8,
            aside={"paths": runs[:, :200], "spectrum": spectrum},
        ),
        "wider students end closer together": Trend(off[0] - off[1:], along=names),
        "bad ends are rarer": Trend(bad[0] - bad[1:], along=names, aside={"losses": np.sort(losses, 1)}),
    }


@wide_students_end_alike.control("the second axis lost for the third", of="ends of linear autoencoders")
def another_axis(evidence):
    spectrum = evidence.aside["spectrum"]
    return replace(evidence, right=evidence.right + (spectrum[1] - spectrum[2]) / 2)


wide_students_end_alike.control("a teacher as wide as its student", of="bad ends are rarer", teacher="as wide")


@wide_students_end_alike.picture
def ends_by_width(pieces):
    """Descent on linear autoencoders from twelve starts (left); the final losses of students, in order (right)."""
    linear, found = pieces["ends of linear autoencoders"].aside, pieces["bad ends are rarer"].aside
    spectrum = np.asarray(linear["spectrum"])
    wrong = spectrum[1:].sum() - spectrum[2]
    marks = [Line("starts", np.arange(1, 201), path, thin=True) for path in linear["paths"]]
    marks += [Level("all but the two largest", y=spectrum[2:].sum() / 2), Level("third for second", y=wrong / 2)]
    share = np.linspace(0, 1, found["losses"].shape[1])
    ends: list[Any] = [Level("threshold", y=2e-4)]
    ends += [Dots(f"{width} neurons", share, row) for width, row in zip(WIDTHS, found["losses"], strict=True)]
    return Row(
        [
            Curves(marks, x="step", y="loss", log="x"),
            Curves(ends, x="share of students below", y="final loss", log="y"),
        ]
    )
