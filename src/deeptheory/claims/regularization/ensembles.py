"""Dropout as an ensemble of all sub-networks, and what it does to units that rely on each other."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Interval

from deeptheory.claims.regularization.trained_networks import SIDE, sample
from deeptheory.foundations.cross_entropy import softmax_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.foundations.training import trained
from deeptheory.lab import Identity, Trend, Trials, claim
from deeptheory.lab.pictures import Curves, Row, seen
from deeptheory.regularization.masks import dropout_masks

WIDTH, TRAIN, BATCH, WRONG = 64, 100, 20, 0.2
"""hidden units, digits to learn from, digits a step, and the share of labels that is replaced by random ones"""
SHARES = np.array([0.25, 0.5, 0.75, 1.0])


def sub_networks(draw, units, rate, examples):
    """Log probabilities of ten classes by every sub-network of a random one, their chances, and the whole network's."""
    hidden = np.maximum(draw.standard_normal((examples, units)), 0)
    top = draw.standard_normal((units, 10))
    masks, chances = (np.asarray(each) for each in dropout_masks(units, rate))
    single = np.asarray(jax.nn.log_softmax((masks[:, None] * hidden) @ top))
    return single, chances, np.asarray(jax.nn.log_softmax(hidden @ top))


@partial(jax.jit, static_argnames=("steps",))
def trained_with(key, rate, together, first, top, inputs, labels, *, steps=300):
    """Two-layer ReLU networks after training by Adam, a fresh mask for every example of a batch; rate 0 is none.

    `together`: all units of an example are kept or dropped at once, each as often as before.
    """

    def run(key, weights, given, answer):
        def loss(w, keys):
            chances = jax.random.uniform(keys[0], (BATCH, WIDTH))
            kept = (jnp.where(together, chances[:, :1], chances) < 1 - rate) / (1 - rate)
            some = jax.random.choice(keys[1], TRAIN, (BATCH,))
            hidden = jax.nn.relu(given[some] @ w[0].T) * kept.astype(given.dtype)
            return softmax_cross_entropy(hidden @ w[1].T, answer[some]).mean()

        return trained(loss, optax.adam(0.01), weights, jax.random.split(key, (steps, 2)))[0]

    return jax.vmap(run)(jax.random.split(key, len(first)), (first, top), inputs, labels)


@jax.jit
def errors(weights, kept, inputs, wanted):
    """The share of digits misread by networks of which only the kept hidden units speak, by trial and mask."""

    def one(layers, masks, given, answer):
        first, top = layers
        hidden = jax.nn.relu(given @ first.T)
        return jax.vmap(lambda mask: jnp.mean(jnp.argmax((hidden * mask) @ top.T, 1) != jnp.argmax(answer, 1)))(masks)

    return jax.vmap(one)(weights, kept, inputs, wanted)


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def correlations(first, tests):
    """The mean size of the correlation of two hidden units over new digits; units that never speak have none."""
    hidden = jax.nn.relu(tests @ first.T)
    speaks = jnp.std(hidden, axis=0) > 1e-6
    scaled = jnp.where(speaks, (hidden - hidden.mean(0)) / jnp.where(speaks, hidden.std(0), 1), 0)
    pairs = speaks[:, None] * speaks * (1 - jnp.eye(len(first)))
    return jnp.sum(pairs * jnp.abs(scaled.T @ scaled / len(tests))) / jnp.sum(pairs)


@claim(
    items={
        "L11.17": (
            "prediction of the ensemble",
            "what the ensemble gains",
            "halves of the network alone",
            "error on new digits",
            "correlation of hidden units falls",
        )
    },
    says="With hidden units scaled by the keep probability a network is the normalised geometric mean of its "
    r"$2^m$ sub-networks, its loss their mean less the mean divergence. Dropout makes it better on new digits, "
    "and random halves of it still read the old ones.",
    needs="ensemble: masks on the last hidden layer before a softmax. Training: 100 digits, a fifth of the labels "
    "random, 64 hidden units, half of them dropped, 300 steps of Adam on 20 digits each",
    symbols={"m": "the number of hidden units that can be dropped"},
    why="Logarithms of softmax outputs are linear in the last hidden layer up to normalisation, so their mean over "
    "masks is the output at the mean mask. The loss of a normalised geometric mean is the mean loss less the mean "
    "Kullback–Leibler divergence, which is never negative. A unit that is useful only beside certain others is useless "
    "in most masks: dropout leaves it no slope, and what is learnt is spread over units that are useful alone.",
    notice="On the left, units are taken away from trained networks. Without dropout the errors on the digits that "
    "were learnt by heart come back at once; with it half of the network makes less than half as many. On the right, "
    "the same networks on new digits: dropout is below at every share. With one mask for all units of an example, "
    "noise of the same size in each, there is none of this, though hidden units are then as little correlated.",
)
def dropout_is_an_ensemble(
    key, *, units: Annotated[int, Interval(ge=2, le=10)] = 8, rate: Annotated[float, Interval(ge=0.2, le=0.6)] = 0.5,
    trials: Trials = 96,
):  # fmt: skip
    draw = generator(key)
    single, chances, whole = sub_networks(draw, units, rate, examples=20)
    label = draw.integers(0, 10, 20)
    losses = -single[:, np.arange(20), label]
    divergence = np.sum(np.exp(whole) * (whole - single), -1)
    reverse = np.sum(np.exp(single) * (single - whole), -1)
    arithmetic = np.log(np.tensordot(chances, np.exp(single), 1))

    inputs, labels, tests, wanted = sample(draw, trials, TRAIN)
    random = np.eye(10)[draw.integers(0, 10, (trials, TRAIN))]
    labels = np.where(draw.random((trials, TRAIN, 1)) < WRONG, random, labels)
    first = draw.standard_normal((trials, WIDTH, SIDE**2)) / SIDE
    top = draw.standard_normal((trials, 10, WIDTH)) / WIDTH**0.5
    ranks = np.argsort(np.argsort(draw.random((trials, 4, WIDTH)), -1), -1)
    kept = np.concatenate([ranks < share * WIDTH for share in SHARES], 1).astype(np.float32)
    # Single precision: the errors are counts.
    first, top, inputs, labels, tests = (np.asarray(each, np.float32) for each in (first, top, inputs, labels, tests))
    learnt, new, related = [], [], []
    for chance, together in ((0.0, False), (rate, False), (rate, True)):
        weights = trained_with(jax.random.fold_in(key, 1), chance, together, first, top, inputs, labels)
        related.append(np.asarray(correlations(weights[0], tests), float))
        learnt.append(np.asarray(errors(weights, kept, inputs, labels)))
        new.append(np.asarray(errors(weights, kept, np.broadcast_to(tests, (trials, *tests.shape)),
                                     np.broadcast_to(wanted, (trials, *wanted.shape)))))  # fmt: skip
    learnt, new = (np.reshape(each, (3, trials, len(SHARES), 4)).mean(-1) for each in (learnt, new))
    return {
        "prediction of the ensemble": Identity(
            np.asarray(jax.nn.log_softmax(np.tensordot(chances, single, 1))),
            whole,
            scale=np.abs(single).max(0),
            size=len(chances),
            aside={"arithmetic mean": arithmetic},
        ),
        "what the ensemble gains": Identity(
            chances @ losses + whole[np.arange(20), label],
            chances @ divergence,
            scale=np.abs(losses).max(0),
            size=len(chances),
            aside={"reverse": chances @ reverse},
        ),
        # By a quarter at least.
        "halves of the network alone": Trend(0.75 * learnt[0, :, 1] - learnt[1, :, 1], aside={"learnt": learnt}),
        "error on new digits": Trend(new[0, :, -1] - new[1, :, -1], aside={"new": new, "shares": SHARES}),
        "correlation of hidden units falls": Trend(
            related[0] - related[1], aside={"together": related[2] - related[0]}
        ),
    }


@dropout_is_an_ensemble.control("the arithmetic mean of the sub-networks", of="prediction of the ensemble")
def arithmetic_mean(evidence):
    return replace(evidence, left=evidence.aside["arithmetic mean"])


@dropout_is_an_ensemble.control("divergence of the sub-networks from the ensemble", of="what the ensemble gains")
def divergence_the_other_way(evidence):
    return replace(evidence, right=evidence.aside["reverse"])


@dropout_is_an_ensemble.control("with one mask for all units too", of="halves of the network alone")
def halves_under_one_mask(evidence):
    without, _, together = evidence.aside["learnt"][:, :, 1]
    return replace(evidence, differences=0.75 * without - together)


@dropout_is_an_ensemble.control("as much or more with one mask for all units", of="error on new digits")
def one_mask(evidence):
    _, apart, together = evidence.aside["new"][:, :, -1]
    return replace(evidence, differences=apart - together)


@dropout_is_an_ensemble.control("one mask for all units does not lower it", of="correlation of hidden units falls")
def related_under_one_mask(evidence):
    return replace(evidence, differences=evidence.aside["together"])


@dropout_is_an_ensemble.picture
def units_taken_away(pieces):
    """Errors of trained networks against the share of hidden units that still speak, with and without dropout."""
    learnt = pieces["halves of the network alone"].aside["learnt"]
    new, shares = (pieces["error on new digits"].aside[name] for name in ("new", "shares"))
    names = ("trained without dropout", "trained with dropout", "one mask for all units")
    return Row(
        [
            Curves(
                [seen(name, shares, values.T) for name, values in zip(names, both, strict=True)],
                x="share of the hidden units that is kept",
                y="share of digits that are misread",
                title=title,
            )
            for title, both in (("Digits it was trained on", learnt), ("New digits", new))
        ]
    )
