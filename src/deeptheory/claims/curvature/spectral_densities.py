"""What random vectors tell of a Hessian, and how well: its trace, its diagonal."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.curvature.density import diagonal, trace
from deeptheory.curvature.operators import dense, hessian
from deeptheory.data import digits
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Law, claim
from deeptheory.lab.pictures import Curves, Dots, Line

PROBES = 32
KINDS = "signs", "normals", "unit vectors"


def loss(weights, data):
    """Mean cross-entropy of a network with one layer of tanh."""
    first, last = weights
    outputs = jnp.tanh(data[0] @ first.T) @ last.T
    return optax.softmax_cross_entropy_with_integer_labels(outputs, data[1]).mean()


@jax.jit
def descended(weights, data):
    """The weights after 200 steps of gradient descent, when some eigenvalues of the Hessian have left the rest."""
    down = lambda _, weights: jax.tree.map(lambda w, g: w - 0.5 * g, weights, jax.grad(loss)(weights, data))  # noqa: E731
    return jax.lax.fori_loop(0, 200, down, weights)


def trained_hessian(draw, *, samples, side, hidden):
    """The Hessian of a small network trained on digits, and the same written out."""
    found = digits(samples, 1, side=side)
    data = jnp.asarray(found.train_images / found.train_images.std()), jnp.asarray(found.train_labels)
    shapes = (hidden, side**2), (10, hidden)
    weights = [jnp.asarray(draw.standard_normal(shape) / shape[1] ** 0.5) for shape in shapes]
    curvature = hessian(loss, descended(weights, data), data)
    return curvature, np.asarray(dense(curvature))


@claim(
    items={},
    says=r"$\mathrm{tr}A$ is the mean of $z^\top Az$; its variance is $2(\|A\|_F^2-\sum_iA_{ii}^2)$ for random "
    r"signs $z$, $2\|A\|_F^2$ for normals, $\frac{2p}{p+2}(\|A\|_F^2-(\mathrm{tr}A)^2/p)$ for unit "
    r"vectors times $\sqrt p$. For signs $z_i(Az)_i$ has mean $A_{ii}$ and variance $\sum_{j\ne i}A_{ij}^2$.",
    needs="a symmetric matrix; entries of $z$ independent, or $z$ uniform on the sphere",
    symbols={
        "A,p": "the Hessian of a network, and its number of parameters",
        "z": "a random vector whose entries have mean 0 and variance 1",
        r"\|A\|_F^2": r"$\sum_{ij}A_{ij}^2$",
    },
    why=r"Of $z^\top Az=\sum_iA_{ii}z_i^2+2\sum_{i<j}A_{ij}z_iz_j$ the products of different entries are uncorrelated. "
    r"Signs have $z_i^2=1$, and the diagonal does not scatter; for normals each $z_i^2$ adds $2A_{ii}^2$. On the "
    r"sphere the length does not scatter, which takes away what the mean of the eigenvalues would add.",
    notice="Signs are best for the trace, and the better the more of the matrix lies on its diagonal. Small entries of "
    "the diagonal may hide behind the rest of their row: their error bars are larger than they are.",
)
def probed_traces_and_diagonals(
    key,
    *,
    samples: Annotated[int, Interval(ge=20, le=400)] = 100,
    trials: Annotated[int, Interval(ge=64, le=10_000)] = 256,
):
    draw = generator(key)
    curvature, matrix = trained_hessian(draw, samples=samples, side=2, hidden=3)
    size, entries = curvature.size, np.diag(matrix)
    whole, own, mean = np.sum(matrix**2), np.sum(entries**2), entries.mean()
    off = np.sum(matrix**2, axis=1) - entries**2

    def scatter(vectors):
        """The variance of zᵀAz over the vectors of every trial."""
        each = np.einsum("...i,...i", vectors @ matrix, vectors)
        return each.var(axis=-1, ddof=1)

    normals = draw.standard_normal((trials, 512, size))
    units = normals * np.sqrt(size / np.sum(normals**2, axis=-1, keepdims=True))
    signs = 2.0 * draw.integers(0, 2, normals.shape) - 1
    keys = jax.random.split(key, trials)
    diagonals = [diagonal(curvature, each, probes=PROBES) for each in keys]
    traces = [trace(curvature, each, probes=PROBES) for each in keys]
    centred = whole - size * mean**2
    return {
        # Rivals are a tenth and a quarter off.
        "variance of a probe": Law(
            np.array([2 * (whole - own), 2 * whole, 2 * size / (size + 2) * centred]),
            np.stack([scatter(vectors) for vectors in (signs, normals, units)]),
            exact=True,
            along={"vectors": KINDS},
            resolution=0.08,
        ),
        "squared error bar of the trace": Law(
            2 * (whole - own) / PROBES,
            np.array([found.error**2 for found in traces]),
            exact=True,
            resolution=0.2,
            aside={"normals": 2 * whole / PROBES},
        ),
        "diagonal": Law(
            entries,
            np.stack([found.value for found in diagonals], axis=1),
            exact=True,
            along={"parameter": np.arange(size)},
            scale=np.sqrt(off + entries**2),
            resolution=0.1,
        ),
        "squared error bars of the diagonal": Law(
            off / PROBES,
            np.stack([found.error**2 for found in diagonals], axis=1),
            exact=True,
            along={"parameter": np.arange(size)},
            resolution=0.16,
            aside={"row": (off + entries**2) / PROBES},
        ),
    }


@probed_traces_and_diagonals.control("signs as if they were normals", of="variance of a probe")
def signs_as_normals(evidence):
    return replace(evidence, predicted=evidence.predicted[[1, 1, 2]])


@probed_traces_and_diagonals.control("unit vectors as if they were normals", of="variance of a probe")
def units_as_normals(evidence):
    return replace(evidence, predicted=evidence.predicted[[0, 1, 1]])


@probed_traces_and_diagonals.control("error bars as for normals", of="squared error bar of the trace")
def bars_of_normals(evidence):
    return replace(evidence, predicted=evidence.aside["normals"])


@probed_traces_and_diagonals.control("the whole row, j = i too", of="squared error bars of the diagonal")
def whole_row(evidence):
    return replace(evidence, predicted=evidence.aside["row"])


@probed_traces_and_diagonals.picture
def entries_with_errors(pieces):
    """The diagonal of the Hessian in falling order: the entries, and one estimate of them from 32 vectors of signs with
    two standard errors as the rest of their rows makes them."""
    found, bars = pieces["diagonal"], pieces["squared error bars of the diagonal"]
    order = np.argsort(-np.asarray(found.predicted))
    rank = np.arange(1, len(order) + 1)
    error = 2 * np.sqrt(np.asarray(bars.predicted)[order])
    return Curves(
        [
            Line("entry of the diagonal", rank, np.asarray(found.predicted)[order]),
            Dots("estimate", rank, np.asarray(found.observed)[order, 0], error=error),
        ],
        x="rank",
        y="second derivative in one parameter",
    )
