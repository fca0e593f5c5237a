"""Sparse Fourier transforms: few coefficients of a long signal from few samples, and what theorems ask for them."""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Exact, Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Graph, Level, Line, Stack, Table
from deeptheory.spectra.sparse_fourier import (
    HALVINGS,
    coefficient_variance,
    keep_largest,
    recover_spectrum,
    recovery_rounds,
    tail_level,
)
from deeptheory.spectra.sparse_fourier_table import SPARSE_TRANSFORMS, transform_samples

SIZES, TERMS = (2**8, 2**11, 2**14), (1, 2, 4)
RATIOS = np.array([8.0, 32.0, 33.0, 64.0, 100.0, 4096.0, 1e12])
"""largest coefficient over noise; the last is a signal without noise, wanted to twelve digits"""


def noisy_spectrum(draw, size, terms, noise):
    """Coefficients between a half and one, the largest one, among Gaussian ones whose tail level is the noise."""
    spectrum = draw.standard_normal((size, 2)) @ [1, 1j]
    places = draw.choice(size, terms, replace=False)
    spectrum[places] = 0
    spectrum *= noise * np.sqrt(terms) / np.linalg.norm(spectrum)
    moduli = np.append(draw.uniform(0.5, 1, terms - 1), 1.0)
    spectrum[places] = moduli * np.exp(2j * np.pi * draw.random(terms))
    return spectrum


@claim(
    items={
        "A19.2": (
            "largest error after every step",
            "error of the answer",
            "rounds of the loop",
            "signals without noise",
            "spread of one sample's estimate",
        ),
        "A19.3": ("positions drawn and read", "rows of the table in order", "error of the k largest terms together"),
    },
    says=r"From at most $60k(\log_2n+1)$ random samples, used in $1+\lceil\log_2R^*-5\rceil_+$ rounds, every Fourier "
    r"coefficient is found to within $\mu=\|\hat x_{-k}\|_2/\sqrt k$; each step halves what bounds all errors.",
    needs="with high probability; R* the largest coefficient over μ; medians of at least log₂ n means of 12k samples",
    symbols={
        "n": "the length of the signal",
        "k": "how many large coefficients it has",
        r"R^*": r"a bound on the largest coefficient, in units of $\mu$",
        r"\mu": "what the other coefficients amount to, spread over $k$",
        r"\hat x_{-k}": "the spectrum without its $k$ largest coefficients",
    },
    why=r"One sample turned back by $\omega^{-ft}$ has mean $\hat x_f$, and the other coefficients as its spread. A "
    r"mean of $12k$ of them is usually right to a quarter of the largest error left, and the median of $\log n$ such "
    r"means is so at all $n$ frequencies at once. Subtracting what is found makes the rest visible with the same "
    r"samples. Five sets of samples bring $2\nu$ down to $\nu/16$; rounding to a grid of side $0.6\nu$, which makes "
    r"the estimate forget the samples, adds at most $0.6\nu/\sqrt2$, so the next round may begin with half of $\nu$.",
    notice="Each round goes down five steps and back up at most to the bound of its successor. In the chain the "
    "rounded estimates x stand above the unrounded z. The table compares growth in n alone, as all rows but ours leave "
    "their constants out; 900 samples a coefficient are few only where n is large.",
    explore={"ratio": (500.0, 1000.0, 2000.0, 4000.0)},
)
def sparse_fourier_recovery(
    key, *, ratio: Annotated[float, Interval(ge=500.0, le=4096.0)] = 1000.0, median: bool = True
):
    draw, seeds = generator(key), iter(jax.random.split(key, len(SIZES) * len(TERMS) + len(RATIOS)))
    lists = None if median else 1
    errors, counts, together, tails = [], [], [], []
    for size in SIZES:
        for terms in TERMS:
            spectrum = noisy_spectrum(draw, size, terms, 1 / ratio)
            signal = np.fft.ifft(spectrum, norm="forward")
            found = recover_spectrum(next(seeds), signal, terms, 1 / ratio, 1.0, lists=lists)
            errors.append([np.abs(step.dense() - spectrum).max() for step in found.steps])
            counts.append((found.read, found.drawn))
            together.append(np.linalg.norm(keep_largest(found.spectrum, terms).dense() - spectrum))
            tails.append(np.sqrt(terms) * tail_level(spectrum, terms))
    bounds = np.array([step.bound for step in found.steps])
    shape = len(SIZES), len(TERMS)
    errors, tails = np.reshape(errors, (*shape, -1)), np.reshape(tails, shape)
    (read, drawn), k, n = np.reshape(counts, (*shape, 2)).transpose(2, 0, 1), np.array(TERMS), np.array(SIZES)[:, None]
    spectra = [noisy_spectrum(draw, 2**8, 2, 1 / each if each < RATIOS[-1] else 0.0) for each in RATIOS]
    small = [
        recover_spectrum(next(seeds), np.fft.ifft(each, norm="forward"), 2, 1 / levels, 1.0, lists=lists)
        for each, levels in zip(spectra, RATIOS, strict=True)
    ]
    exact, last = spectra[-1], small[-1].spectrum.dense()
    turned = np.fft.ifft(exact, norm="forward")[:, None] * np.exp(-2j * np.pi * np.outer(*2 * [np.arange(2**8)]) / 2**8)
    along = {"n": np.array(SIZES), "k": k}
    return {
        "largest error after every step": Inequality(
            errors, np.broadcast_to(bounds, errors.shape), along=along | {"step": np.arange(len(bounds))}
        ),
        "error of the answer": Inequality(
            errors[..., -1], np.full(shape, 1 / ratio), along=along, aside={"first round": errors[..., HALVINGS]}
        ),
        "rounds of the loop": Exact(
            np.array([each.rounds for each in small]),
            np.array([recovery_rounds(each) for each in RATIOS]),
            along={"R*": RATIOS},
        ),
        "signals without noise": Identity(
            np.stack([np.real(last), np.imag(last)]),
            np.stack([np.real(exact), np.imag(exact)]),
            scale=1.0,
            error=1 / RATIOS[-1],
        ),
        "spread of one sample's estimate": Identity(
            np.mean(np.abs(turned - exact) ** 2, axis=0), coefficient_variance(exact, 1), size=2.0**8
        ),
        "positions drawn and read": Chain(
            {
                "some positions are drawn twice": (read, drawn),
                "at most 60 k (log₂ n + 1) are drawn": (drawn, 60 * k * (np.log2(n) + 1)),
                "at least 60 k log₂ n are drawn": (60 * k * np.log2(n), drawn),
            },
            along=along,
        ),
        "rows of the table in order": Chain(rows_in_order()),
        # ‖x̂ − y‖∞ ≤ μ gives √10: the terms kept, the noise, and what was kept in place of larger ones.
        "error of the k largest terms together": Inequality(
            np.reshape(together, shape), np.sqrt(10) * tails, along=along
        ),
    }


def rows_in_order():
    """Pairs of rows of the table of which one never asks for more than the other, on a grid of k ≤ n or of k and d."""
    k, n = np.array([(k, n) for n in range(2, 41) for k in range(1, n + 1)], float).T
    chain = ["NSW19 ≤ HR16", "HR16 ≤ Bou14", "HR16 ≤ CGV13", "CGV13 ≤ RV08", "RV08 ≤ CT06", "Bou14 ≤ KVZ19"]
    low, high = (2**k, 2**n), (2.0 ** np.arange(1, 5), 2.0**40, np.arange(2, 6)[:, None])
    # In two dimensions and more a constant dᵈ is at least log k up to k = 16: where filters cost more than log k.
    links = {link: low for link in chain} | {"IK14 ≤ Kap16": high, "NSW19 ≤ IK14": high}
    ends = {link: link.split(" ≤ ") for link in links}
    return {
        link: (transform_samples(a, *links[link]), transform_samples(b, *links[link])) for link, (a, b) in ends.items()
    }


sparse_fourier_recovery.control("one mean in place of a median", of="largest error after every step", median=False)


@sparse_fourier_recovery.control("a single round of reductions", of="error of the answer")
def first_round(evidence):
    return replace(evidence, quantity=evidence.aside["first round"])


@sparse_fourier_recovery.control("rounds 1 + ⌈log₂ R* − 4⌉", of="rounds of the loop")
def one_halving_less(evidence):
    return replace(evidence, right=1 + np.maximum(0, np.ceil(np.log2(RATIOS) - HALVINGS + 1)).astype(int))


@sparse_fourier_recovery.control("a coefficient blurs itself too", of="spread of one sample's estimate")
def with_itself(evidence):
    return replace(evidence, right=np.full_like(evidence.right, np.max(evidence.right)))


@sparse_fourier_recovery.control("60 log₂ n samples for each pair of coefficients", of="positions drawn and read")
def half_as_many(evidence):
    drawn, most = evidence.links["at most 60 k (log₂ n + 1) are drawn"]
    return replace(evidence, links=evidence.links | {"at most 60 k (log₂ n + 1) are drawn": (drawn, most / 2)})


@sparse_fourier_recovery.control("k log k log² n no more than k log² k log n", of="rows of the table in order")
def exchanged(evidence):
    return replace(evidence, links=evidence.links | {"HR16 ≤ Bou14": evidence.links["HR16 ≤ Bou14"][::-1]})


@sparse_fourier_recovery.control(
    "the k largest terms found miss no more than the tail", of="error of the k largest terms together"
)
def best_terms(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / np.sqrt(10))


@sparse_fourier_recovery.picture
def chasing_sequence(pieces, settings):
    """Largest error after each step beside its bound; the chain of estimates; samples by theorem at two lengths."""
    piece, counts = pieces["largest error after every step"], pieces["positions drawn and read"]
    steps, errors = np.asarray(piece.along["step"]), np.asarray(piece.quantity)
    errors_of = [
        Dots(f"largest error, {k} coefficient{'s' * (k > 1)}", steps, errors[-1, j]) for j, k in enumerate(TERMS)
    ]
    curves = Curves(
        [Line("bound", steps, np.asarray(piece.bound)[-1, -1]), *errors_of, Level("noise μ", y=1 / settings["ratio"])],
        x="step (a round is five halvings and one rounding)", y="largest error of a coefficient", log="y",
    )  # fmt: skip
    _, drawn = counts.links["some positions are drawn twice"]
    k, few, many = TERMS[-1], SIZES[0], SIZES[-1]
    rows = SPARSE_TRANSFORMS.values()
    grown = [transform_samples(name, k, many) / transform_samples(name, k, few) for name in SPARSE_TRANSFORMS]
    table = Table(
        {
            "theorem": ["GMS05", *SPARSE_TRANSFORMS, "this run"],
            "samples": ["k log^O(d) n", *(row.says for row in rows), "60 k log₂ n"],
            "time": ["k log^O(d) n", *(row.time for row in rows), "Õ(n)"],
            "filter": ["yes", *("yes" if row.filters else "no" for row in rows), "no"],
            "isometry": ["no", *("yes" if row.isometry else "no" for row in rows), "no"],
            "n 64 times longer": ["not said", *(f"× {each:.2f}" for each in (*grown, drawn[-1, -1] / drawn[0, -1]))],
        },
        title=f"From n = {few} to {many:,} with k = {k}; this run drew {drawn[0, -1]:,} and {drawn[-1, -1]:,} samples",
    )
    return Stack([curves, chasing_graph(len(steps) // (HALVINGS + 1)), table])


def chasing_graph(rounds):
    """Estimates x at the beginning of a round and z at its end, and in one round the halvings y between them."""
    middle = min(2, rounds - 1)
    labels = [f"{row}{j}" for row in "xz" for j in range(rounds)] + [f"y{h}" for h in range(1, HALVINGS)]
    places = [(4.0 * j, height) for height in (5.0, 0.0) for j in range(rounds)]
    places += [(4.0 * middle, 5.0 - h) for h in range(1, HALVINGS)]
    inner = [middle, *range(2 * rounds, 2 * rounds + HALVINGS - 1), rounds + middle]
    halvings = [(j, rounds + j) for j in range(rounds) if j != middle] + list(pairwise(inner))
    roundings = [(rounds + j, j + 1) for j in range(rounds - 1)]
    return Graph(
        places,
        halvings + roundings,
        kinds=["beginning of a round"] * rounds + ["end of a round"] * rounds + ["halving"] * (HALVINGS - 1),
        edge_kinds=["samples read"] * len(halvings) + ["rounded to the grid"] * len(roundings),
        labels=labels,
        title=f"A chasing sequence, with all five halvings of round {middle}",
    )
