"""Certification as a protocol on handwritten digits: a radius, an abstention, and a confidence."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval
from scipy.stats import binom

from deeptheory.data.handwriting import digits
from deeptheory.foundations.binomial import clopper_pearson_upper
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chance, Inequality, Law, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.networks.mlp import init_mlp
from deeptheory.robustness.adversarial_training import train_adversarially
from deeptheory.robustness.noise_training import certified_accuracy
from deeptheory.robustness.smoothed_attacks import attack_smoothed
from deeptheory.robustness.smoothing import abstention_probability, certified_radius, certify, shared_votes, votes
from deeptheory.robustness.threats import Threat

BETAS, DELTA = np.array([0.1, 0.2, 0.4]), 0.01
BLOCK, DRAWS = 20, np.array([20, 80, 320])
"""votes are counted in blocks of twenty, and put together to so many for a certificate"""
CHOOSE, KNOW, USE = 5, 160, 80
"""blocks that choose the label, tell its probability, and go into certificates"""
FEW, TWICE = 80, 2
"""votes of a certificate that is attacked at its radius, and such certificates for each image"""
RADII = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8])


@eqx.filter_jit
def answers(network, points):
    return jnp.argmax(network(points), axis=1)


def polled(key, network, images, beta):
    """Votes of blocks of noisy copies, with draws of its own for each image."""
    each = partial(votes, beta=beta, samples=BLOCK, repeats=CHOOSE + KNOW + USE, labels=10)
    classify = partial(answers, network)
    return np.stack([each(jax.random.fold_in(key, i), classify, image) for i, image in enumerate(images)])


def share_of(counts, labels):
    return np.take_along_axis(counts, labels[:, None], axis=1)[:, 0] / counts.sum(1)


@claim(
    items={
        "A18.15": ("share of abstentions", "certified below attacked accuracy", "certificates that an attack breaks"),
        "A18.13": "certificates that an attack breaks",
    },
    says=r"Of digits smoothed and certified from $n$ votes at confidence $1-\delta$, an attack on the vote breaks at "
    r"most a share $2\delta$; certified accuracy lies below attacked accuracy at every radius; abstentions fall with "
    r"$n$ as $P(\mathrm{Bin}(n,p)<c_n)$.",
    needs="networks 49–32–10; label and radius from separate votes; attacks by projected gradients, no proof by them",
    full=dict(trials=480),
    scale="printed: deep nets on images; here: digits of 7×7 pixels and one hidden layer",
    symbols={
        "n": "the votes of noisy copies that a certificate is made of",
        r"\delta": "the chance of a wrong certificate that is allowed, 0.01",
        "p": "the probability of the image's label among noisy copies",
        "c_n": r"the least count that fewer than a share $\delta$ of fair coins reach",
        r"\beta": "the deviation of the noise, of pixels from 0 to 1",
        r"z_\delta": r"what a standard normal exceeds with chance $\delta$",
    },
    why="A certificate needs a label that more than half of all noisy copies get, beyond doubt. The count of votes is "
    r"binomial, so the chance to abstain is a sum; it has fallen where $p-\frac12$ is above $z_\delta/2\sqrt n$, and "
    r"never falls where $p<\frac12$. Once the lower limit of $p$ is right, the bound of Neyman and Pearson keeps the "
    r"label above one half in the whole ball, whatever the attack.",
    notice="Solid, what is certified; dashed, what an attack on the vote leaves. More noise certifies less near by and "
    "reaches farther. Certified curves begin below the accuracy of the vote, since some images get no answer: on the "
    "right, their share by the number of votes. More votes help only up to the share of images that have no majority.",
)
def digits_certified_by_votes(key, *, trials: Annotated[int, Interval(ge=100, le=1000)] = 240):
    random, data = generator(key), digits(3000, 1000, side=7)
    rows = random.choice(1000, trials, replace=False)
    images, truth = data.test_images[rows], data.test_labels[rows]
    start = init_mlp(key, (49, 32, 10), weight_scale=1.4, bias_scale=0.1, input_scale=0.2)
    lenient, judging = random.standard_normal((32, 49)), random.standard_normal((500, 49))
    shape = len(BETAS), len(DRAWS), trials
    abstained, chances, plain, careful = (np.empty(shape) for _ in range(4))
    certified, doubled, attacked = np.empty((3, len(BETAS), len(RADII)))
    broken = {rule: np.zeros(2, int) for rule in ("limit", "no limit", "no half")}
    for b, beta in enumerate(BETAS):
        own = jax.random.fold_in(key, b)
        network, _ = train_adversarially(
            own, start, data.train_images, data.train_labels, Threat(1.0), steps=1000, batch=50, attack_steps=0,
            noise=float(beta), rate=0.02,
        )  # fmt: skip
        counts = polled(own, network, images, float(beta))
        chosen, known, used = np.split(counts, [CHOOSE, CHOOSE + KNOW], axis=1)
        chosen, known = chosen.sum(1), known.sum(1)
        label = np.argmax(chosen, axis=1)
        probability = share_of(known, label)
        for j, n in enumerate(map(int, DRAWS)):
            groups = used.reshape(trials, -1, n // BLOCK, 10).sum(2)
            again = np.repeat(chosen, groups.shape[1], axis=0)
            told = certify(again, groups.reshape(-1, 10), beta=float(beta), delta=DELTA).label.reshape(trials, -1)
            abstained[b, j] = np.mean(told < 0, axis=1)
            chances[b, j] = abstention_probability(probability, n, DELTA)
            plain[b, j] = binom.cdf(n // 2, n, probability)
            careful[b, j] = binom.cdf(np.ceil(n / 2 + np.sqrt(n * np.log(1 / DELTA) / 2)) - 1, n, probability)

        def votes_after(labels, radii, beta=float(beta), network=network):
            moved = attack_smoothed(network, images, labels, radii, lenient, beta=beta, steps=10)
            return shared_votes(network, moved, judging, beta)

        # Of few votes, where the confidence limit matters most.
        for votes_of_one in used.reshape(trials, -1, FEW // BLOCK, 10).sum(2)[:, :TWICE].swapaxes(0, 1):
            radius = certify(chosen, votes_of_one, beta=float(beta), delta=DELTA).radius
            share = np.clip(share_of(votes_of_one, label), 0.5, 1 - 0.5 / FEW)
            counted = np.asarray(certified_radius(share, 1 - share, float(beta)))
            for rule, radii in {"limit": radius, "no limit": counted, "no half": 2 * radius}.items():
                left = np.take_along_axis(votes_after(label, radii), label[:, None], axis=1)[:, 0]
                lost = (radii > 0) & (clopper_pearson_upper(left, len(judging), DELTA) < 0.5)
                broken[rule] += np.array([np.sum(lost), np.sum(radii > 0)])
        found = certify(chosen, used[:, : DRAWS[-1] // BLOCK].sum(1), beta=float(beta), delta=DELTA)
        right = (found.label == truth).astype(int)
        certified[b], doubled[b] = (certified_accuracy(r, right, RADII) for r in (found.radius, 2 * found.radius))
        attacked[b] = [np.mean(np.argmax(votes_after(truth, np.full(trials, r)), axis=1) == truth) for r in RADII]
    mean = chances.mean(2)
    return {
        # An image's own chance, known but for a few votes, is taken away: what varies is the luck of its votes.
        "share of abstentions": Law(
            mean, abstained - chances + mean[..., None], exact=True, scale=1.0, along={"beta": BETAS, "votes": DRAWS},
            aside={"observed": abstained.mean(2), "plain": plain.mean(2), "careful": careful.mean(2)},
        ),
        "certified below attacked accuracy": Inequality(
            certified, attacked, along={"beta": BETAS, "radius": RADII}, aside={"doubled": doubled}
        ),
        "certificates that an attack breaks": Chance(
            broken["limit"][0], int(broken["limit"][1]), 2 * DELTA, aside=broken
        ),
    }  # fmt: skip


@digits_certified_by_votes.control("abstains where no majority is counted", of="share of abstentions")
def counted_majority(evidence):
    return replace(evidence, predicted=evidence.aside["plain"])


@digits_certified_by_votes.control("Hoeffding's limit for the exact one", of="share of abstentions")
def hoeffding(evidence):
    return replace(evidence, predicted=evidence.aside["careful"])


@digits_certified_by_votes.control("the radius without its factor one half", of="certified below attacked accuracy")
def whole_difference(evidence):
    return replace(evidence, quantity=evidence.aside["doubled"])


@digits_certified_by_votes.control("a certificate without its factor one half", of="certificates that an attack breaks")
def twice_as_far(evidence):
    failures, trials = evidence.aside["no half"]
    return replace(evidence, failures=failures, trials=int(trials))


@digits_certified_by_votes.control("the share counted for its lower limit", of="certificates that an attack breaks")
def no_confidence(evidence):
    failures, trials = evidence.aside["no limit"]
    return replace(evidence, failures=failures, trials=int(trials))


@digits_certified_by_votes.picture
def curves_and_abstentions(pieces):
    """Accuracy certified, and left by an attack, by radius (left); share of images with no answer, by votes (right)."""
    curve, silent = pieces["certified below attacked accuracy"], pieces["share of abstentions"]
    radius, draws = curve.along["radius"], silent.along["votes"]
    accuracy, share = [], []
    for b, beta in enumerate(curve.along["beta"]):
        name = f"β = {beta:g}"
        accuracy += [
            Line(name, radius, np.asarray(curve.quantity)[b]),
            Line(name, radius, np.asarray(curve.bound)[b], dashed=True),
        ]
        share += [
            Line(name, draws, np.asarray(silent.predicted)[b]),
            Dots(name, draws, np.asarray(silent.aside["observed"])[b]),
        ]
    share.append(Line("", draws, np.asarray(silent.aside["plain"])[-1], rival="no majority counted"))
    return Row(
        [
            Curves(accuracy, x="radius", y="accuracy: certified, and under attack (dashed)", ys=(0, 1)),
            Curves(share, x="votes n", y="share of abstentions", log="x", ys=(0, 1)),
        ]
    )
