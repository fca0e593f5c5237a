"""Small networks on handwritten digits: attacked, defended, attacked otherwise, and certified."""

from dataclasses import replace
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.data.handwriting import digits
from deeptheory.foundations.cross_entropy import label_cross_entropy
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Trend, claim
from deeptheory.lab.pictures import Images, Stack, Table
from deeptheory.networks.mlp import init_mlp
from deeptheory.robustness.adversarial_training import train_adversarially
from deeptheory.robustness.attacks import ascend, fooled
from deeptheory.robustness.noise_training import certified_accuracy
from deeptheory.robustness.smoothing import certify, shared_votes
from deeptheory.robustness.threats import Threat

BOX = (0.0, 1.0)
SMALL, WIDE, ROUND = Threat(0.1, np.inf, *BOX), Threat(0.2, np.inf, *BOX), Threat(0.5, 2, *BOX)
"""a bound on every pixel, twice that, and a Euclidean one that costs a usual network about what the first does"""
NOISE, CERTIFIED = 0.25, 0.125
GROUP = 4
"""networks that share their batches"""
WAYS = {
    "as usual": dict(attack_steps=0, threat=SMALL),
    "several steps": dict(attack_steps=5, threat=SMALL),
    "noisy copies": dict(attack_steps=0, threat=SMALL, noise=NOISE),
    "one step, 0.2": dict(attack_steps=1, threat=WIDE),
    "several steps, 0.2": dict(attack_steps=5, threat=WIDE),
}
ATTACKS = {
    "0.1 a pixel": (SMALL, 10),
    "Euclidean 0.5": (ROUND, 10),
    "0.2 in one step": (WIDE, 1),
    "0.2 in ten": (WIDE, 10),
}


def right(networks, points, labels):
    """The share of points that each network answers with their label."""
    logits = np.asarray(eqx.filter_vmap(lambda network, own: network(own))(networks, jnp.asarray(points)))
    return np.mean(np.argmax(logits, axis=2) == labels, axis=1)


@eqx.filter_jit
def attack(networks, images, labels, threat, steps):
    """Where the images end for each network, from the images uphill."""

    def climb(network):
        return ascend(lambda z: label_cross_entropy(network(z), labels), images, threat, steps=steps).points

    return eqx.filter_vmap(climb)(networks)


def smoothed(draws, network, images, labels):
    """Share of images that Gaussian votes certify at the radius; the first draws select the label."""
    counts = [shared_votes(network, images, part, NOISE) for part in (draws[:50], draws[50:])]
    found = certify(*counts, beta=NOISE, delta=0.001)
    return float(certified_accuracy(found.radius, (found.label == labels).astype(int), np.array([CERTIFIED]))[0])


@claim(
    items={
        "A18.5": "another network's perturbation and a random one",
        "A18.8": ("one step against one and ten", "gain in the norm of training and in another"),
        "A18.18": ("attacked: trained against it and not", "certified: trained on noise and not"),
        "A18.10": "attacked: trained against it and not",
        "H2.10": "attacked: trained against it and not",
    },
    says=r"Digits moved by $\epsilon$ a pixel: adversarial training keeps more of them and fewer clean ones, gains "
    "less in another norm, and against one step it falls to ten. What was made for another network fools where random "
    "signs do not. Training on noise certifies more.",
    needs="networks 49–32–10 that differ in their start and, by fours, in their batches; 2,000 digits of 7×7 pixels, "
    "200 steps of Adam, batches of 50",
    symbols={r"\epsilon": "0.1 or 0.2, where pixels run from 0 to 1"},
    full=dict(trials=64),
    why="A network trained as usual leans on many pixels a little, and signs add up over pixels. Training at the worst "
    "point found moves the boundary away from the inputs, in the norm and against the attack it was trained with, and "
    "no further: a network that sees single steps learns to be right where they land, and ten shorter ones go round. "
    "Networks trained on the same images lean on the same pixels, so that a perturbation for one serves against "
    "another. Votes under noise certify only a classifier that answers well under noise.",
    notice="The perturbed digits are read easily, and answered wrongly. Each way of training is "
    "best in a column of its own, and none in all.",
)
def defences_on_digits(key, *, trials: Annotated[int, Interval(ge=8, le=64)] = 32):
    data = digits(2000, 100, side=7)
    x, y, images, labels = data.train_images, data.train_labels, data.test_images, data.test_labels
    keys = jax.random.split(key, 4)
    # Networks of one kind are attacked together and trained in groups, each with batches of its own.
    starts = init_mlp(keys[0], (49, 32, 10), ensemble=(trials,), weight_scale=1.4, bias_scale=0.1, input_scale=0.2)
    starts = jax.tree.map(jnp.asarray, starts)
    shares, certified, shown = np.zeros((len(WAYS), 1 + len(ATTACKS), trials)), np.zeros((len(WAYS), trials)), {}
    signs, others, misplaced = np.full((3, trials), np.nan)

    draws = generator(keys[2]).standard_normal((250, images.shape[1]))

    def train(own, some, how):
        def one(start):
            return train_adversarially(own, start, x, y, steps=200, batch=50, rate=0.05, **how)[0]

        return eqx.filter_vmap(one)(some)

    for i, (name, how) in enumerate(WAYS.items()):
        groups = [
            train(
                jax.random.fold_in(keys[1], first), jax.tree.map(lambda leaf, i=first: leaf[i : i + GROUP], starts), how
            )
            for first in range(0, trials, GROUP)
        ]
        networks = jax.tree.map(lambda *parts: jnp.concatenate(parts), *groups)
        points = [np.broadcast_to(images, (trials, *images.shape))]
        known = jnp.asarray(images), jnp.asarray(labels)
        points += [attack(networks, *known, threat.like(images), steps) for threat, steps in ATTACKS.values()]
        shares[i] = [right(networks, p, labels) for p in points]
        if name in ("as usual", "noisy copies"):
            each = [jax.tree.map(lambda leaf, t=t: leaf[t], networks) for t in range(trials)]
            certified[i] = [smoothed(draws, network, images, labels) for network in each]
        if name == "as usual":
            flips = SMALL.radius * np.sign(generator(keys[3]).standard_normal((trials, *images.shape)))
            signs = right(networks, np.clip(images + flips, *BOX), labels)
            others = right(networks, np.roll(points[1], 1, axis=0), labels)
            moves = np.roll(points[1] - images, 1, axis=1)
            misplaced = right(networks, np.clip(images + moves, *BOX), labels)
            shown = picture(each[0], images, np.asarray(points[1][0]), labels)
    usual, several, noisy, weak, strong = shares
    gains, table = several - usual, np.concatenate([shares.mean(2), certified.mean(1, keepdims=True)], axis=1)
    return {
        "attacked: trained against it and not": Trend(gains[1], aside={"clean": gains[0], "shares": table, **shown}),
        # What ten steps take from a network beyond what one step takes: of training against one, and against five.
        "one step against one and ten": Trend(
            (weak[3] - weak[4]) - (strong[3] - strong[4]), aside={"ten": weak[4] - strong[4]}
        ),
        "gain in the norm of training and in another": Trend(gains[1] - gains[2], aside={"no gain": -gains[2]}),
        "another network's perturbation and a random one": Trend(
            signs - others, aside={"misplaced": others - misplaced}
        ),
        "certified: trained on noise and not": Trend(
            certified[2] - certified[0], aside={"answered": certified[2] - noisy[0]}
        ),
    }


def picture(network, images, perturbed, labels):
    """The first images that were right and are wrong now, with what was added."""
    lost = ~fooled(network, images, labels) & fooled(network, perturbed, labels)
    chosen = np.flatnonzero(lost)[:3]
    answers = np.argmax(np.asarray(network(perturbed[chosen])), axis=1)
    return {"digits": images[chosen], "moved": perturbed[chosen], "read as": np.stack([labels[chosen], answers])}


@defences_on_digits.control("robustness costs no clean accuracy", of="attacked: trained against it and not")
def nothing_lost(evidence):
    return replace(evidence, differences=evidence.aside["clean"])


@defences_on_digits.control("one made for another image", of="another network's perturbation and a random one")
def for_another_image(evidence):
    return replace(evidence, differences=evidence.aside["misplaced"])


@defences_on_digits.control("one step protects against ten as well as five do", of="one step against one and ten")
def one_step_will_do(evidence):
    return replace(evidence, differences=evidence.aside["ten"])


@defences_on_digits.control("no gain in the other norm", of="gain in the norm of training and in another")
def no_gain(evidence):
    return replace(evidence, differences=evidence.aside["no gain"])


@defences_on_digits.control("what is answered rightly is certified", of="certified: trained on noise and not")
def all_that_is_right(evidence):
    return replace(evidence, differences=evidence.aside["answered"])


@defences_on_digits.picture
def triptych(pieces):
    """Digits, what was added (grey is nothing), and what the network then reads; below, shares answered rightly."""
    aside = pieces["attacked: trained against it and not"].aside
    old, new = np.asarray(aside["digits"]).reshape(-1, 7, 7), np.asarray(aside["moved"]).reshape(-1, 7, 7)
    names = np.asarray(aside["read as"])
    images, labels = [], []
    for one, two, (was, now) in zip(old, new, names.T, strict=True):
        images += [one, 0.5 + (two - one) / (2 * SMALL.radius), two]
        labels += [f"{was}", "added, enlarged", f"read as {now}"]
    shares = np.asarray(aside["shares"])
    columns = {"trained": list(WAYS)}
    for j, name in enumerate(("clean", *ATTACKS, "certified 0.125")):
        columns[name] = [f"{share:.2f}" if share else "–" for share in shares[:, j]]
    return Stack([Images(np.array(images), labels), Table(columns)])
