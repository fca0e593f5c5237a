"""What the published PAC-Bayes table of binary MNIST is, recomputed from its own columns."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval

from deeptheory.generalization.pac_bayes.bounds import (
    binary_kl,
    langford_seeger_budget,
    maurer_budget,
    maurer_samples,
    pac_bayes_kl,
    pac_bayes_pinsker,
)
from deeptheory.lab import Chain, Printed, claim
from deeptheory.lab.pictures import Table

# Dziugaite and Roy 2017 as reprinted in lucchi, Table 1: stochastic training error, KL divergence, bound.
TABLE = {
    "T-600": (0.028, 5144, 0.161),
    "T-1200": (0.027, 5977, 0.179),
    "T-300²": (0.027, 5791, 0.170),
    "T-600²": (0.028, 6534, 0.186),
    "T-1200²": (0.029, 8558, 0.223),
    "T-600³": (0.027, 7861, 0.201),
    "R-600": (0.112, 201131, 1.352),
}
NETWORKS = list(TABLE)
ERRORS, DIVERGENCES, PRINTED = np.array(list(TABLE.values())).T
FITTING, WIDER, DEEPER, RANDOM = [0, 2, 3, 4], 1, 5, 6
HALF = np.array([0.0005, 0.5, 0.0005])[:, None]  # half a unit of the last printed digit of each row


def with_rounding(bound, samples, delta):
    """A bound at the printed columns, and how far it moves when they are un-rounded (it increases in both)."""
    low = np.asarray(bound(ERRORS - HALF[0], DIVERGENCES - HALF[1], samples, delta))
    high = np.asarray(bound(ERRORS + HALF[0], DIVERGENCES + HALF[1], samples, delta))
    return (low + high) / 2, (high - low) / 2


def maurer(errors, divergences, samples, delta):
    return pac_bayes_kl(errors, maurer_budget(divergences, samples, delta))


def langford_seeger(errors, divergences, samples, delta):
    return pac_bayes_kl(errors, langford_seeger_budget(divergences, samples, delta))


def deviation(errors, divergences, samples, delta):
    return pac_bayes_pinsker(0 * errors, maurer_budget(divergences, samples, delta))


def displayed(errors, divergences, samples, delta):
    return errors + 2 * deviation(errors, divergences, samples, delta)  # √(2/N·[…]) is twice √([…]/2N)


def nothing_added(errors, divergences, samples, delta):
    return pac_bayes_kl(errors, divergences / samples)


@claim(
    items={"L9.9": ("bounds of the table", "rows that disagree", "rows with random labels")},
    says=r"Printed PAC-Bayes bounds of networks on MNIST are not values of the theorem beside them. Four of six with "
    r"true labels invert $\mathrm{kl}$ near $\mathrm{KL}/N$, $N=55000$, to the last digit; two contradict their "
    r"columns; that of random labels is $\sqrt{\mathrm{KL}/2N}$ without the training error.",
    needs="losses 0 or 1; δ = 0.025, what the printed confidence 0.965 leaves beside 0.01 for the sampled training "
    "error, stands for any δ from 10⁻⁶ to 0.5",
    scale="printed: networks of 471k to 2.4M weights trained on MNIST; here: the table's bound row from its other rows",
    symbols={
        r"\mathrm{kl}": "the relative entropy of two coins, as a function of their chances",
        r"\mathrm{KL}": "the relative entropy of posterior and prior, a row of the table",
        r"N": "the number of training images",
        r"\text{T-600²}": "a network with two hidden layers of 600 units each, trained on the true labels",
    },
    why=r"A bound by inversion is the largest risk whose $\mathrm{kl}$ from the training error is at most "
    r"$\mathrm{KL}/N$ and a small term. All its ingredients but $N$ are printed, so that $N$ can be read back, with "
    r"the rounding of the printed digits carried along. What is added to $\mathrm{KL}/N$ is too small to be seen in "
    r"three digits; T-1200 and T-600³ would need a divergence near 6270 and 7550.",
    notice=r"With 55,000 images four rows agree with the print within the rounding, with 50,000 or 60,000 none does. "
    r"T-1200 and T-600³ are off by 0.005, several times what rounding explains.",
    explore={"samples": (50_000, 55_000, 60_000)},
)
def binary_mnist_table(
    *,
    samples: Annotated[int, Interval(ge=1000, le=1_000_000)] = 55_000,
    delta: Annotated[float, Interval(ge=1e-6, le=0.5)] = 0.025,
):
    forms = [with_rounding(bound, samples, delta) for bound in (maurer, langford_seeger, nothing_added)]
    ours, rounding = (np.stack(part)[:, FITTING] for part in zip(*forms, strict=True))
    alone, spread = with_rounding(deviation, samples, delta)
    bare = np.sqrt(DIVERGENCES[RANDOM] / (2 * samples))
    # The range of N at which each printed bound follows from its printed columns; a kl bound stays below 1.
    bound = np.minimum(PRINTED, 0.99)
    low = np.asarray(maurer_samples(DIVERGENCES - HALF[1], binary_kl(ERRORS - HALF[0], bound + HALF[2]), delta))
    high = np.asarray(maurer_samples(DIVERGENCES + HALF[1], binary_kl(ERRORS + HALF[0], bound - HALF[2]), delta))
    least, most = low[FITTING].max(), high[FITTING].min()
    disagreement = {
        "T-1200 wants fewer samples than any N that fits the four": (high[WIDER], least),
        "the N of the claim is not below those that fit the four": (least, float(samples)),
        "the N of the claim is not above those that fit the four": (float(samples), most),
        "T-600³ wants more samples than any N that fits the four": (most, low[DEEPER]),
    }
    settings = {"samples": samples, "delta": delta}
    labels = {"form": np.array(["Maurer", "Langford–Seeger", "nothing added"]), "network": np.array(NETWORKS)[FITTING]}
    return {
        "bounds of the table": Printed(
            ours, np.stack([PRINTED[FITTING]] * 3), digits=3, error=rounding, along=labels, aside=settings
        ),
        "rows that disagree": Chain(disagreement),
        "rows with random labels": Printed(
            np.stack([alone[RANDOM], bare]), PRINTED[RANDOM], digits=3, error=spread[RANDOM], aside=settings
        ),
    }


binary_mnist_table.control("50,000 training images", of="bounds of the table", samples=50_000)
binary_mnist_table.control("60,000 training images", of="bounds of the table", samples=60_000)


@binary_mnist_table.control("the theorem displayed beside the table", of="bounds of the table")
def displayed_theorem(evidence):
    ours, rounding = with_rounding(displayed, **evidence.aside)
    return replace(evidence, ours=ours[FITTING], error=rounding[FITTING])


@binary_mnist_table.control("all six true-label columns by one formula", of="bounds of the table")
def six_columns(evidence):
    ours, rounding = with_rounding(maurer, **evidence.aside)
    return Printed(ours[:RANDOM], PRINTED[:RANDOM], digits=3, error=rounding[:RANDOM])


@binary_mnist_table.control("the random-label entry contains the training error", of="rows with random labels")
def whole_bound(evidence):
    return replace(evidence, ours=evidence.ours + ERRORS[RANDOM], error=evidence.error + HALF[0, 0])


@binary_mnist_table.control("the random-label entry inverts kl too", of="rows with random labels")
def inverse_there_too(evidence):
    ours, rounding = with_rounding(maurer, **evidence.aside)
    return replace(evidence, ours=ours[RANDOM], error=rounding[RANDOM])


@binary_mnist_table.picture
def printed_and_by_inversion(pieces, settings):
    """Printed bounds, and ours by inverting kl for several N; the difference, and what rounding may make of it."""
    chosen = settings["samples"]
    columns: dict[str, Any] = {"network": NETWORKS[:RANDOM], "printed": PRINTED[:RANDOM]}
    for samples in sorted({50_000, 55_000, 60_000, chosen}):
        ours, rounding = with_rounding(maurer, samples, settings["delta"])
        columns[f"N = {samples:,}"] = ours[:RANDOM]
    return Table(
        columns | {"rounding": (rounding + HALF[2])[:RANDOM]}, prediction=f"N = {chosen:,}", observation="printed"
    )
