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

RADIUS, ROUND = 0.1, 0.7
"""sizes of the perturbations: of every pixel of 49, and of all together, √49 times the former"""
NOISE, CERTIFIED = 0.25, 0.125
GROUP = 4
"""networks that share their batches"""
WAYS = {
    "as usual": dict(attack_steps=0),
    "several steps": dict(attack_steps=5),
    "noisy copies": dict(attack_steps=0, noise=NOISE),
}


def right(networks, points, labels):
    """The share of points that each network answers with their label."""
    logits = np.asarray(eqx.filter_vmap(lambda network, own: network(own))(networks, jnp.asarray(points)))
    return np.mean(np.argmax(logits, axis=2) == labels, axis=1)


def smoothed(draws, network, images, labels):
    """Share of images that Gaussian votes certify at the radius; the first draws select the label."""
    counts = [shared_votes(network, images, part, NOISE) for part in (draws[:50], draws[50:])]
    found = certify(*counts, beta=NOISE, delta=0.001)
    return float(certified_accuracy(found.radius, (found.label == labels).astype(int), np.array([CERTIFIED]))[0])


@claim(
    items={
        "A18.5": "another network's perturbation and a random one",
        "A18.8": "perturbations of another norm",
        "A18.18": ("attacked: trained against it and not", "certified: trained on noise and not"),
        "A18.10": "attacked: trained against it and not",
        "H2.10": "attacked: trained against it and not",
    },
    says=r"Digits moved by $\epsilon$ a pixel: adversarial training keeps more of them and fewer clean ones; it falls "
    "to a Euclidean perturbation; one made for another network fools where random signs do not; without training on "
    "noise there is less to certify.",
    needs="networks 49–32–10 that differ in their start and, by fours, in their batches; 2,000 digits of 7×7 pixels, "
    "200 steps of Adam, batches of 50",
    symbols={r"\epsilon": "0.1, where pixels run from 0 to 1"},
    full=dict(trials=48),
    why="A network trained as usual leans on many pixels a little, and signs add up over pixels. Training at the worst "
    "point found moves the boundary away from the inputs, in the norm and against the attack it was trained with, and "
    "no further. Networks trained on the same images lean on the same pixels, so that a perturbation for one serves "
    "against another. Votes under noise certify only a classifier that answers well under noise.",
    notice="The perturbed digits are read easily, and answered wrongly. Each defence has its own column where it is "
    "best; in the others it is not.",
)
def defences_on_digits(key, *, trials: Annotated[int, Interval(ge=8, le=64)] = 24):
    data = digits(2000, 100, side=7)
    x, y, images, labels = data.train_images, data.train_labels, data.test_images, data.test_labels
    box = (0.0, 1.0)
    small, wide = Threat(RADIUS, np.inf, *box), Threat(ROUND, 2, *box)
    keys = jax.random.split(key, 4)
    # Networks of one kind are attacked together and trained in groups, each with batches of its own.
    starts = init_mlp(keys[0], (49, 32, 10), ensemble=(trials,), weight_scale=1.4, bias_scale=0.1, input_scale=0.2)
    starts = jax.tree.map(jnp.asarray, starts)
    shares, shown = np.zeros((len(WAYS), 4, trials)), {}
    signs, others = np.full((2, trials), np.nan)

    draws = generator(keys[2]).standard_normal((250, images.shape[1]))

    def attack(threat):
        def climb(network):
            return ascend(lambda z: label_cross_entropy(network(z), labels), images, threat, steps=10).points

        return eqx.filter_jit(eqx.filter_vmap(climb))

    def train(own, some, how):
        def one(start):
            return train_adversarially(own, start, x, y, small, steps=200, batch=50, rate=0.05, **how)[0]

        return eqx.filter_vmap(one)(some)

    attacks = attack(small), attack(wide)
    for i, (name, how) in enumerate(WAYS.items()):
        groups = [
            train(
                jax.random.fold_in(keys[1], first), jax.tree.map(lambda leaf, i=first: leaf[i : i + GROUP], starts), how
            )
            for first in range(0, trials, GROUP)
        ]
        networks = jax.tree.map(lambda *parts: jnp.concatenate(parts), *groups)
        points = [np.broadcast_to(images, (trials, *images.shape)), *(climb(networks) for climb in attacks)]
        shares[i, :3] = [right(networks, p, labels) for p in points]
        if name in ("as usual", "noisy copies"):
            each = [jax.tree.map(lambda leaf, t=t: leaf[t], networks) for t in range(trials)]
            shares[i, 3] = [smoothed(draws, network, images, labels) for network in each]
        if name == "as usual":
            flips = RADIUS * np.sign(generator(keys[3]).standard_normal((trials, *images.shape)))
            signs = right(networks, np.clip(images + flips, *box), labels)
            others = right(networks, np.roll(points[1], 1, axis=0), labels)
            shown = picture(each[0], images, np.asarray(points[1][0]), labels)
    usual, several, noisy = shares
    return {
        "attacked: trained against it and not": Trend(
            several[1] - usual[1], aside={"clean": several[0] - usual[0], "shares": shares.mean(2), **shown}
        ),
        "perturbations of another norm": Trend(several[1] - several[2]),
        "another network's perturbation and a random one": Trend(signs - others),
        "certified: trained on noise and not": Trend(noisy[3] - usual[3], aside={"answered": noisy[3] - noisy[0]}),
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


@defences_on_digits.control("random signs do as well", of="another network's perturbation and a random one")
def random_signs(evidence):
    return replace(evidence, differences=-np.asarray(evidence.differences))


@defences_on_digits.control("the other norm is no worse", of="perturbations of another norm")
def no_worse(evidence):
    return replace(evidence, differences=-np.asarray(evidence.differences))


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
        images += [one, 0.5 + (two - one) / (2 * RADIUS), two]
        labels += [f"{was}", "added, enlarged", f"read as {now}"]
    shares = np.asarray(aside["shares"])
    columns = {"trained": list(WAYS)}
    for j, name in enumerate(("clean", "0.1 a pixel", "Euclidean 0.7", "certified 0.125")):
        columns[name] = [f"{share:.2f}" if share else "–" for share in shares[:, j]]
    return Stack([Images(np.array(images), labels), Table(columns)])
