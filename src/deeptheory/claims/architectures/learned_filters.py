"""Filters that gradient descent finds, and what they answer to (lucchi 10.1.3, Fig. 10.8)."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.architectures.convolutional_networks import init_convolutional_network
from deeptheory.architectures.feature_maps import correlate_images
from deeptheory.architectures.filters import edge_filters, filter_gradient, learn_filters
from deeptheory.foundations.margin_losses import logistic_loss
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Images, Line, Row

SIZE = 8


def edges(rng, count):
    """Noisy images with one straight edge, dark to bright or bright to dark, and whether it is vertical."""
    vertical = rng.integers(0, 2, count)
    places = rng.integers(2, SIZE - 1, count)
    sides = np.where(np.arange(SIZE) < places[:, None], -1.0, 1.0) * rng.choice([-1.0, 1.0], (count, 1))
    images = np.where(vertical[:, None, None] == 1, sides[:, None, :], sides[:, :, None])
    return (images + 0.1 * rng.standard_normal(images.shape))[..., None], vertical.astype(float)


def selectivity(kernels):
    """How much of the edge answer of filters, (F, 3, 3, 1), is for one direction only: 0 both alike, 1 one alone."""
    answers = np.einsum("...fuvc,euvc->...fe", kernels, edge_filters()) ** 2
    return np.abs(answers[..., 0] - answers[..., 1]).sum(-1) / answers.sum((-2, -1))


@partial(jax.jit, static_argnames="steps")
def trained(networks, images, labels, *, steps, rate):
    """The filters of each network after gradient descent on the logistic loss of its labels."""

    def one(network, labels):
        def loss(network):
            return jnp.mean(logistic_loss((2 * labels - 1) * network.score(images)))

        def step(network, _):
            return jax.tree.map(lambda w, g: w - rate * g, network, jax.grad(loss)(network)), None

        return jax.lax.scan(step, network, None, length=steps)[0].convolutions[0].kernels

    return jax.lax.map(lambda each: one(*each), (networks, labels))


@claim(
    items={
        "L10.11": ("gradient of every weight", "distance from the planted filters", "loss along the descent"),
        "L10.12": ("answers to edges", "filters learned from directions"),
    },
    says=r"$\partial\mathcal L/\partial W$ sums what all places say, and descent $W\leftarrow W-\eta\,\partial\mathcal "
    r"L/\partial W$ finds planted filters: $W_t-W_*=(1-\eta H)^t(W_0-W_*)$, $H$ the mean product of patches. Edge "
    "filters answer to edges of their own direction only; networks that are taught directions learn such filters.",
    needs="η below 2 over the largest eigenvalue of H; 160 networks, 200 steps",
    symbols={
        "W_t,W_*": "the filters after $t$ steps, and those that made the targets",
        r"\mathcal L": "half the mean square error over images, places and filters",
        r"\eta": "the learning rate",
        "H": "the mean of $pp^\\top$ over all patches $p$ of the images, divided by the number of filters",
    },
    why=r"A filter is one linear map applied to all patches, so fitting it is least squares with a sample for every "
    r"place: each eigendirection of $H$ shrinks by its own factor. An edge filter is a difference across the edge and "
    r"a mean along it. To tell directions apart a network has to answer to one more than to the other, so descent "
    r"breaks the tie that random filters are; from shuffled labels there is nothing to be broken.",
    notice="The image with a square; the two answers, one to edges that lie and one to edges that stand; and the "
    "loss on the way to planted filters, which falls as the patches of the images say.",
)
def descent_finds_filters(key, *, trials: Trials = 160):
    rng = generator(key)
    ground = np.zeros((2, SIZE, SIZE, 1))
    ground[0, 4:], ground[1, :, 4:] = 1.0, 1.0
    expected = np.zeros((2, SIZE - 2, SIZE - 2, 2))
    expected[0, 2:4, :, 0], expected[1, :, 2:4, 1] = 4.0, 4.0
    square = np.zeros((16, 16, 1))
    square[4:12, 4:12] = 1.0

    images, start, rate, steps = rng.standard_normal((6, SIZE, SIZE, 1)), rng.standard_normal((2, 3, 3, 1)), 1.2, 24
    targets = correlate_images(images, edge_filters())
    missed = np.asarray(correlate_images(images, start) - targets)
    gradient = filter_gradient(images, missed / missed.size, window=3)

    def loss(kernels):
        taps = [[images[:, u : u + 6, v : v + 6, 0] for v in range(3)] for u in range(3)]
        answers = np.einsum("uvnij,muv->nijm", np.array(taps), kernels[..., 0])
        return np.mean((answers - np.asarray(targets)) ** 2) / 2

    units = np.eye(18).reshape(18, 2, 3, 3, 1)
    slopes = np.array([(loss(start + unit) - loss(start - unit)) / 2 for unit in units]).reshape(2, 3, 3, 1)
    patches = np.array([im[i : i + 3, j : j + 3].ravel() for im in images for i in range(6) for j in range(6)])
    values, vectors = np.linalg.eigh(patches.T @ patches / len(patches) / 2)
    begun = vectors.T @ (start - edge_filters()).reshape(2, 9).T

    def descended(rate):
        """The distance from the planted filters before each step, and the loss there, by the eigenvalues of H."""
        left = (1 - rate * values) ** np.arange(steps + 1)[:, None] * np.linalg.norm(begun, axis=1)
        return np.linalg.norm(left, axis=1), (values * left**2).sum(1) / 2

    found, losses = learn_filters(start, images, targets, rate=rate, steps=steps)
    path, predicted = descended(rate)

    shown, directions = edges(rng, 32)
    keys = jax.random.split(key, trials)
    nets = [init_convolutional_network(k, SIZE, 1, [4], pool=1, everywhere=True) for k in keys]
    ensemble = jax.tree.map(lambda *leaves: np.stack(leaves), *nets)
    labels = np.stack([np.tile(directions, (trials, 1)), rng.permuted(np.tile(directions, (trials, 1)), axis=1)])
    kernels = [trained(ensemble, jnp.asarray(shown), jnp.asarray(each), steps=200, rate=0.3) for each in labels]
    drawn = ensemble.convolutions[0].kernels
    learned, shuffled, begun_with = (np.asarray(selectivity(each)) for each in (*kernels, drawn))
    return {
        "answers to edges": Identity(
            correlate_images(ground, edge_filters()),
            expected,
            scale=1.0,
            aside={"square": square[..., 0], "answers": jnp.moveaxis(correlate_images(square, edge_filters()), -1, 0)},
        ),
        "gradient of every weight": Identity(gradient, slopes, scale=1.0, size=len(patches), aside={"places": 36}),
        "distance from the planted filters": Identity(
            np.linalg.norm(found - edge_filters()), path[-1], scale=path[0], size=len(patches)
        ),
        "loss along the descent": Identity(
            losses,
            predicted[:-1],
            scale=predicted[0],
            size=len(patches),
            along={"step": np.arange(steps)},
            aside={"half": descended(rate / 2)[1][:-1]},
        ),
        "filters learned from directions": Trend(
            learned - np.stack([shuffled, begun_with]),
            along={"compared with": ["shuffled labels", "filters as drawn"]},
            aside={
                "learned": learned,
                "kernels": np.asarray(kernels[0])[0, ..., 0],
            },
        ),
    }


@descent_finds_filters.control("filters exchanged", of="answers to edges")
def exchanged(evidence):
    return replace(evidence, right=np.asarray(evidence.right)[..., ::-1])


@descent_finds_filters.control("mean over places", of="gradient of every weight")
def mean_over_places(evidence):
    return replace(evidence, left=np.asarray(evidence.left) / evidence.aside["places"])


@descent_finds_filters.control("half the rate", of="loss along the descent")
def half_the_rate(evidence):
    return replace(evidence, right=evidence.aside["half"])


@descent_finds_filters.control("learned filters answer to one direction alone", of="filters learned from directions")
def one_alone(evidence):
    return replace(evidence, differences=np.asarray(evidence.aside["learned"]) - 1, along={})


@descent_finds_filters.picture
def answers(pieces):
    """A square and what the two edge filters say of it; filters learned from directions; the way to planted ones."""
    edge, way = pieces["answers to edges"], pieces["loss along the descent"]
    images = np.concatenate([np.asarray(edge.aside["square"])[None, 1:-1, 1:-1], np.abs(edge.aside["answers"])])
    first = Images(images, ["image", "edges that lie", "edges that stand"])
    kernels = pieces["filters learned from directions"].aside["kernels"]
    second = Images(kernels, [f"filter {i + 1}" for i in range(len(kernels))], title="learned from directions")
    steps = np.asarray(way.along["step"])
    marks = [Line("predicted", steps, way.right), Dots("found", steps, way.left)]
    return Row([first, second, Curves(marks, x="step", y="loss on the way to planted filters", log="y")])
