"""One transformer, one set of examples: told the answer it guesses, told the steps it learns the rule (14.3.1)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.architectures.language_models import init_language_model
from deeptheory.architectures.token_training import train_on_tokens
from deeptheory.foundations.bits import all_bits
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Inequality, claim
from deeptheory.lab.pictures import Curves, Level, seen
from deeptheory.reasoning.step_supervision import (
    lines_of_thought,
    running_parity,
    silent_thoughts,
    spoken_thoughts,
)

LENGTH, STEPS, ROWS = 8, 250, 16
STRINGS = all_bits(LENGTH)
spoken = jax.jit(jax.vmap(lambda network: spoken_thoughts(network, STRINGS)))
silent = jax.jit(jax.vmap(lambda network: silent_thoughts(network, STRINGS)))


@jax.jit
def learnt(networks, inputs, targets, told):
    """The same networks after training on each kind of lines."""

    def alike(inputs, targets, told):
        return jax.vmap(lambda network: train_on_tokens(network, inputs, targets, told, rate=0.007).model)(networks)

    return jax.vmap(alike)(inputs, targets, told)


def lines(shown, thoughts):
    """What is read, what is to be said and where, with these thoughts or with marks and the answer alone."""
    bits = STRINGS[shown]
    said = running_parity(bits) if thoughts is None else thoughts[shown]
    told = np.zeros((*shown.shape, 2 * LENGTH), bool)
    told[..., 2 * LENGTH - 1 if thoughts is None else LENGTH :] = True
    return (
        lines_of_thought(bits, None if thoughts is None else said),
        np.concatenate([bits, said], -1).astype(int),
        told,
    )


@claim(
    items={"H14.5": ("errors when the steps are told", "no better than chance when they are not")},
    says="A transformer shown half of all strings of eight bits with their parities guesses the others. Shown the "
    "parity after every bit too, and writing those before it answers, it makes less than half of these errors; shown "
    "copies of the bits, it does not.",
    needs="one layer of width 24 with four heads, embeddings of length 2, 250 steps of Adam at 0.007 with 16 strings "
    "each, chosen for cost after a first look; without steps as many marks are read, so that time to think is the "
    "same; means over four networks",
    symbols={
        r"\text{parity}": "whether the number of true bits is odd",
        r"\text{chance}": "half of the answers right, what guessing gives",
    },
    why="The parity of eight bits is no easier to guess from seven of them than from none, so that the answer alone "
    "gives no slope towards the rule. The parity after each bit is that of the one before and one more bit: attention "
    "has to find one place, and the hidden layer a rule for two bits, which is seen at every step of every example. "
    "Copies teach where to look and nothing of what to make of it: the last thought is as hard as before.",
    notice="Told the steps, the networks are right after nearly every bit; where one is not, all later parities are "
    "wrong with it. Told the answer only they stay at chance or below, and so they do with copies of the bits.",
)
def steps_teach_the_rule(key, *, networks: Annotated[int, Interval(ge=1, le=64)] = 4):
    rng = generator(key)
    parities = running_parity(STRINGS)
    copies = np.concatenate([STRINGS[:, :-1], parities[:, -1:]], 1)
    # As many odd strings as even ones, so that the commoner answer among those shown is no help with the others.
    shown = np.concatenate([rng.permutation(np.flatnonzero(parities[:, -1] == odd))[:64] for odd in (False, True)])
    unseen = np.setdiff1d(np.arange(len(STRINGS)), shown)
    batches = rng.choice(shown, (STEPS, ROWS))
    drawn = [
        init_language_model(each, vocabulary=3, context=2 * LENGTH, width=24, layers=1, heads=4, spread=2.0)
        for each in jax.random.split(key, networks)
    ]
    drawn = jax.tree.map(lambda *leaves: jnp.stack(leaves).astype(jnp.float32), *drawn)
    kinds = [lines(batches, thoughts) for thoughts in (parities, copies, None)]
    trained = learnt(drawn, *(np.stack(each) for each in zip(*kinds, strict=True)))
    stepwise, copying, direct = (jax.tree.map(lambda leaf, i=i: leaf[i], trained) for i in range(3))
    right, copied, at_once = (
        np.asarray(says(each))[:, unseen] == parities[unseen]
        for says, each in ((spoken, stepwise), (spoken, copying), (silent, direct))
    )
    ends = {"copies": copied[..., -1].mean(1), "answer only": at_once[..., -1].mean(1)}
    return {
        "errors when the steps are told": Inequality(
            1 - right[..., -1].mean(),
            (1 - ends["answer only"].mean()) / 2,
            aside={"by bit": right.mean(1).T, **ends},
        ),
        # Right guesses are counted: refuted if more than half are shown to be right, held if less than three quarters.
        "no better than chance when they are not": Chance(
            at_once[..., -1].sum(), at_once[..., -1].size, 0.5, factor=1.5, aside={"every step": right[..., -1].sum()}
        ),
    }


@steps_teach_the_rule.control("steps that copy the bits", of="errors when the steps are told")
def copies_for_steps(evidence):
    return replace(evidence, quantity=1 - np.mean(evidence.aside["copies"]))


@steps_teach_the_rule.control("told every step", of="no better than chance when they are not")
def told_every_step(evidence):
    return replace(evidence, failures=evidence.aside["every step"])


@steps_teach_the_rule.picture
def right_by_bit(pieces):
    """Share of unseen strings whose parity is right after each bit, and at the end with other steps or none."""
    aside = pieces["errors when the steps are told"].aside
    by_bit = np.asarray(aside["by bit"])
    bits, last = np.arange(1, len(by_bit) + 1), np.array([len(by_bit)])
    marks = [
        seen("told every step", bits, by_bit),
        seen("copies of the bits for steps", last - 0.1, np.asarray(aside["copies"])[None]),
        seen("told the answer only", last + 0.1, np.asarray(aside["answer only"])[None]),
    ]
    return Curves([*marks, Level("chance", y=0.5)], x="bits read", y="share of parities right", ys=(0.3, 1.05))
