"""What a short description of a classifier is worth: margins that are kept, words that are counted (arora 5.5)."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval

from deeptheory.foundations.concentration import log_hoeffding
from deeptheory.foundations.randomness import generator
from deeptheory.generalization.networks.compression import compressed_within
from deeptheory.generalization.networks.norms import margin_loss, margins
from deeptheory.generalization.pac_bayes.description_length import occam_bound
from deeptheory.lab import Bounded, Chance, Identity, Inequality, Reals, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row


@claim(
    items={"A5.18": ""},
    says=r"If a compression moves every output by at most $\gamma$, margins move by at most $2\gamma$, and this "
    r"happens: an example with margin above $2\gamma$ stays right.",
    needs="any three outputs, any change of them up to γ",
    symbols={r"\gamma": "the largest change of an output on the sample"},
    why=r"A margin is the difference of the right output and the largest other one, and each may move by $\gamma$: one "
    r"down, the other up. The largest of several numbers moves by no more than the numbers do, so it does not matter "
    r"which of the others is the largest.",
    notice=r"Changes of the margin fill the whole range up to twice the largest change of an output; once $\gamma$ is "
    r"exceeded by many of them.",
    over=dict(outputs=Reals(-2, 2, shape=(3,)), change=Reals(-1, 1, shape=(3,)), gamma=Reals(0.01, 1)),
    each="loop",
)
def compression_keeps_twice_the_margin(outputs, change, gamma):
    moved = outputs + gamma * change
    size = compressed_within(outputs[None], moved[None])
    before, after = (margins(o[None], np.array([0]))[0] for o in (outputs, moved))
    return Inequality(before - after, 2 * size, scale=1.0)


@compression_keeps_twice_the_margin.control("margins move by γ at most")
def once_gamma(evidence):
    return replace(evidence, bound=np.asarray(evidence.bound) / 2)


@compression_keeps_twice_the_margin.picture
def margin_changes(pieces):
    """How much the margin falls against the largest change of an output, for random outputs and changes."""
    evidence = next(iter(pieces.values()))
    size = np.ravel(evidence.bound) / 2
    grid = np.linspace(0, 1, 2)
    return Curves(
        [
            Dots("instances", size, np.ravel(evidence.quantity)),
            Line("2γ", grid, 2 * grid),
            Line("γ", grid, grid, rival="margins move by γ"),
        ],
        x="largest change γ of an output",
        y="fall of the margin",
    )


def chance_of_a_word(width, samples, words):
    """What the union bound allows for some word being off by `width`: Hoeffding's tail of one, times their number."""
    return words * np.exp(log_hoeffding(samples * width, np.ones(samples)))


@claim(
    items={
        "A5.19": (
            "probability for all codewords",
            "errors after compression",
            "failures of the bound",
            "two logits move apart",
        ),
        "A5.18": ("errors after compression", "distance of two classifiers"),
    },
    says=r"With probability $1-\delta$ a classifier $f$ that a code of $r^q$ words meets within $\gamma$ has a word of "
    r"risk at most $\hat L_{2\gamma}(f)+\sqrt{(q\ln r+\ln\frac1\delta)/2m}$. With $\hat L_\gamma(f)$ this fails for "
    r"large $m$, whatever the constant of the root.",
    needs="the code fixed before the data; here linear classifiers of the plane rounded to r angles",
    symbols={
        r"q,\ r": "a word has $q$ parameters of $r$ values each; here one of 64 angles",
        r"\gamma": "the largest change of an output on the sample",
        r"\hat L_{2\gamma}(f)": r"the share of the sample on which $f$ has a margin of at most $2\gamma$",
        r"m": "the number of samples",
        r"\delta": "the chance allowed for failure, 0.1 here",
    },
    why=r"The words are fixed beforehand and few, so Hoeffding's inequality holds for all of them at once, at the "
    r"price of the logarithm of their number. The word near $f$ errs only where $f$ has a margin of at most "
    r"$2\gamma$: each of two outputs may have moved by $\gamma$. With $f=(\frac34\gamma,-\frac34\gamma)$ and every "
    r"word $(-\frac14\gamma,\frac14\gamma)$ all margins exceed $\gamma$ and every word errs always.",
    notice=r"Left: every sample's risk lies below the bound; some lie above the diagonal, so a width is needed. Right: "
    r"the two-logit example errs always; the right side with $\hat L_{2\gamma}$ allows it, the printed one goes "
    r"to zero, whatever its constant.",
)
def compression_bounds(key, *, trials: Trials = 600, samples: Annotated[int, Interval(ge=20, le=2000)] = 100):
    draw, delta, words = generator(key), 0.1, 64
    angles = 2 * np.pi * np.arange(words) / words
    code = np.stack([np.cos(angles), np.sin(angles)])
    x = draw.standard_normal((trials, samples, 2))
    labels = np.where(draw.random((trials, samples)) < 0.1, -1, 1) * np.sign(x[..., 0])
    w = np.einsum("tn,tnk->tk", labels, x)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    nearest = code[:, np.argmax(w @ code, axis=1)].T
    outputs, rounded = np.einsum("tnk,tk->tn", x, w), np.einsum("tnk,tk->tn", x, nearest)
    # Two logits, ± half of the output: the margin is the output, and each logit moves by half of its change.
    gamma = np.max(np.abs(outputs - rounded), axis=1, keepdims=True) / 2
    close, closer = (labels * outputs <= factor * gamma for factor in (2, 1))
    loose = np.mean(close, axis=1)
    turned = np.arccos(np.clip(nearest[:, 0], -1, 1)) / np.pi
    risk = 0.1 + 0.8 * turned
    width = occam_bound(np.log2(words), samples, delta)
    # One classifier, and a code in which every word is the same function; the first label is always the right one.
    scale = 0.3
    f, g, first = scale * np.array([[0.75, -0.75]]), scale * np.array([[-0.25, 0.25]]), np.array([0])
    at_twice, at_once = (margin_loss(margins(f, first), factor * scale) for factor in (2, 1))
    sizes = 10.0 ** np.arange(2, 15, 2)
    widths = np.sqrt(np.log(words) / sizes)
    return {
        "probability for all codewords": Identity(
            chance_of_a_word(width, samples, words),
            delta,
            condition=64.0,
            aside={"free": chance_of_a_word(occam_bound(0, samples, delta), samples, words)},
        ),
        "errors after compression": Inequality(
            (labels * rounded <= 0).astype(float), close.astype(float), aside={"once": closer}
        ),
        "failures of the bound": Chance(
            np.sum(risk > loose + width), trials, delta, aside={"risk": risk, "loose": loose, "width": width}
        ),
        "distance of two classifiers": Identity(compressed_within(f, g), scale),
        "two logits move apart": Inequality(
            np.full(len(sizes), margin_loss(margins(g, first))),
            at_twice + widths,
            along={"m": sizes},
            aside={"at γ": at_once, "at γ with a width": at_once + widths},
        ),
    }


@compression_bounds.control("the number of words not paid for", of="probability for all codewords")
def words_for_free(evidence):
    return replace(evidence, left=evidence.aside["free"])


@compression_bounds.control("margins of at most γ, half of what is needed", of="errors after compression")
def half_the_margin(evidence):
    return replace(evidence, bound=evidence.aside["once"].astype(float))


@compression_bounds.control("the margin loss alone, without a width", of="failures of the bound")
def no_width(evidence):
    return replace(evidence, failures=np.sum(evidence.aside["risk"] > evidence.aside["loose"]))


@compression_bounds.control(
    "the margin loss at γ, whatever the constant of O(·)", erratum="A5.19b", of="two logits move apart"
)
def margin_loss_at_gamma(evidence):
    # A risk above L̂ by O(√(q log r/m)) would stay bounded when what it is above is multiplied by √m.
    sizes = evidence.along["m"]
    return Bounded(sizes, np.sqrt(sizes) * (evidence.quantity - evidence.aside["at γ"]))


@compression_bounds.picture
def rounded_and_shifted(pieces):
    """Risk of the rounded classifier against the margin loss of the original; and the two-logit example along m."""
    coverage, example = pieces["failures of the bound"], pieces["two logits move apart"]
    risk, loose, width = (coverage.aside[name] for name in ("risk", "loose", "width"))
    ends = np.array([0.0, max(float(loose.max()), float(risk.max()))])
    sizes = example.along["m"]
    return Row(
        [
            Curves(
                [
                    Dots("samples", loose, risk),
                    Line("bound", ends, ends + float(width)),
                    Line("without a width", ends, ends, rival="the margin loss alone"),
                ],
                x="margin loss at 2γ on the sample",
                y="risk of the rounded classifier",
                ys=(0.08, 0.3),
            ),
            Curves(
                [
                    Dots("risk of every word", sizes, example.quantity),
                    Line("with L̂ at 2γ", sizes, example.bound),
                    Line("with L̂ at γ", sizes, example.aside["at γ with a width"], rival="as printed in Thm 5.5.3"),
                ],
                x="samples m",
                y="risk",
                log="xy",
            ),
        ]
    )
