"""Coordinates of an input as players: Shapley values, gradients and integrated gradients beside each other."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from deeptheory.attribution.saliency import feature_game, gradient_saliency, gradient_times_input, integrated_gradients
from deeptheory.attribution.shapley import game_table, shapley_values
from deeptheory.attribution.shapley_sampling import permutation_estimate
from deeptheory.data.handwriting import digits
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Images

POWERS = ((1, 2), (3, 1), (2, 5))
PATCHES = (np.arange(14)[:, None] // 2 * 7 + np.arange(14) // 2).ravel()
"""the player, of 49, that each pixel of a 14×14 image belongs to"""


@jax.jit
def monomial(points, powers):
    return jnp.prod(points**powers, 1)


def recognizer(draw):
    """Random tanh features and a ridge fit that tells sevens from other digits, and the first seven of the test."""
    held = digits(1000, 100)
    weights, bias = draw.standard_normal((196, 100)) / 7, draw.standard_normal(100)
    features = np.tanh(held.train_images @ weights + bias)
    targets = np.where(held.train_labels == 7, 1.0, -1.0)
    last = jnp.asarray(np.linalg.solve(features.T @ features + 10 * np.eye(100), features.T @ targets))
    first, shift = jnp.asarray(weights), jnp.asarray(bias)
    return jax.jit(lambda x: jnp.tanh(x @ first + shift) @ last), held.test_images[np.argmax(held.test_labels == 7)]


@claim(
    items={
        "A10.17": ("credit in a linear model", "sum of the credit"),
        "A10.20": ("credit in a linear model", "credit of a product", "sum of the credit"),
    },
    says=r"For $f(x)=w\cdot x+c$ the Shapley values of the coordinates, the integrated gradients and gradient times "
    r"$x-b$ are all $w_i(x_i-b_i)$. Both of the first add up to $f(x)-f(b)$ for any $f$, yet share $x_1^px_2^q$ "
    "differently: in halves, and as $p$ to $q$.",
    needs="features set to the baseline b when absent; a smooth f for the integrals; b = 0 for the product",
    symbols={
        "f": "the answer of the model",
        "x, b": "the input and the baseline that stands for absence",
        "w, c": "slope and constant of a linear model",
        "p, q": "powers of two coordinates",
    },
    why="In a linear model a coordinate changes the answer by the same amount whoever came before. In general gains "
    "along any order telescope to $f(x)-f(b)$, and so does the integral of the gradient along the straight way. That "
    "way lets all coordinates grow together, so the higher power is credited with more; in random orders both are "
    "needed and whoever comes second gets all.",
    notice="A seven, and what in it made a small network say so: gradients ask which pixels would matter if changed, "
    "also where there is no ink; the other two ask which ink mattered, and are near each other.",
)
def credit_of_features(key):
    draw = generator(key)
    slope, x, base = draw.standard_normal((3, 5))
    linear = jax.jit(lambda points: points @ slope + 0.7)
    ways = [
        shapley_values(game_table(feature_game(linear, x, base), 5)),
        np.asarray(integrated_gradients(linear, x, base, points=4)),
        np.asarray(gradient_times_input(linear, x, base)),
    ]
    ends = draw.uniform(0.5, 1.5, (len(POWERS), 2))
    shares = []
    for (p, q), end in zip(POWERS, ends, strict=True):
        product = partial(monomial, powers=np.array([p, q], float))
        total = end[0] ** p * end[1] ** q
        by_orders = shapley_values(game_table(feature_game(product, end, np.zeros(2)), 2))
        shares.append(
            [by_orders / total, np.asarray(integrated_gradients(product, end, np.zeros(2), points=8)) / total]
        )
    expected = [[[0.5, 0.5], [p / (p + q), q / (p + q)]] for p, q in POWERS]
    model, image = recognizer(draw)
    black = np.zeros_like(image)
    by_patch = permutation_estimate(
        key, feature_game(model, image, black, groups=PATCHES), 49, permutations=100, largest=2.0
    ).values
    along_line = np.asarray(integrated_gradients(model, image, black))
    answer, nothing = np.asarray(model(jnp.asarray(np.stack([image, black]))))
    maps = np.stack([image, np.asarray(gradient_saliency(model, image)), along_line, by_patch[PATCHES]])
    labels = {
        "method": np.array(["Shapley", "integrated gradients", "gradient times input"]),
        "coordinate": np.arange(5),
    }
    return {
        "credit in a linear model": Identity(
            np.stack(ways),
            np.tile(slope * (x - base), (3, 1)),
            scale=10.0,
            size=32.0,
            along=labels,
            aside={"without": slope * x},
        ),
        "credit of a product": Identity(
            np.array(shares),
            np.array(expected),
            scale=1.0,
            size=8.0,
            along={
                "powers": np.array([f"{p} and {q}" for p, q in POWERS]),
                "method": np.array(["Shapley", "integrated gradients"]),
                "coordinate": np.array([1, 2]),
            },
        ),
        # The integrand is analytic and 32 nodes of Gauss leave less than this of it.
        "sum of the credit": Identity(
            np.array([by_patch.sum(), along_line.sum()]),
            np.full(2, answer - nothing),
            error=1e-9,
            along={"method": np.array(["Shapley", "integrated gradients"])},
            aside={"answer": answer, "maps": maps.reshape(4, 14, 14)},
        ),
    }


@credit_of_features.control("the baseline is left out", of="credit in a linear model")
def no_baseline(evidence):
    return replace(evidence, right=np.tile(evidence.aside["without"], (3, 1)))


@credit_of_features.control("halves by either method", of="credit of a product")
def halves(evidence):
    return replace(evidence, right=np.full(np.shape(evidence.right), 0.5))


@credit_of_features.control("credit adds up to the answer itself", of="sum of the credit")
def the_answer(evidence):
    return replace(evidence, right=np.full(2, evidence.aside["answer"]))


@credit_of_features.picture
def heat_maps(pieces):
    """A seven of MNIST and the size of each pixel's gradient, integrated gradient and Shapley value (by patches)."""
    maps = np.abs(np.asarray(pieces["sum of the credit"].aside["maps"]))
    return Images(
        maps / maps.max((1, 2), keepdims=True), labels=("input", "gradient", "integrated gradient", "Shapley")
    )
