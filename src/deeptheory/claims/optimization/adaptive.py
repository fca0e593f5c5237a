"""AdaGrad: the logarithm behind it, and how small gradients get without knowing the smoothness (arora 2.5.4)."""

from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.lab import Chain, Reals, claim, rounding
from deeptheory.lab.pictures import Curves, Dots, Line
from deeptheory.optimization.adaptive import (
    adagrad_norm_bound,
    harmonic_bound,
    harmonic_sum,
    lagged_adagrad_bound,
    lagged_harmonic_bound,
    lagged_harmonic_sum,
)
from deeptheory.optimization.landscapes import CosineSum, PiecewiseQuadratic
from deeptheory.optimization.methods import adagrad_norm, lagged_adagrad
from deeptheory.optimization.runs import trajectory

PIECES = 8
TERMS = 6
Steps = Annotated[int, Interval(ge=1, le=50)]


@claim(
    items={"A2.28": ""},
    says=r"Shares in a growing total add up to a logarithm: $\sum_ta_t/\sum_{i\le t}a_i\le1+\ln(S_T/a_1)$; and if no "
    r"$b_t$ exceeds $\sigma^2$, $\sum_tb_t/(\sigma^2+\sum_{i<t}b_i)\le\log_2(1+B_T/\sigma^2)\le\log_2(1+T)$.",
    needs="positive terms",
    over=dict(terms=Reals(1e-3, 1e3, log=True, shape=(TERMS,)), room=Reals(0.1, 1.0)),
    symbols={
        "a_t": "positive numbers, such as squared gradients",
        "S_T": "the sum of all $T$ of them",
        "b_t": "positive numbers up to a known size",
        r"\sigma^2": "that size",
        "B_T": r"the sum of all $T$ of the $b_t$",
    },
    why=r"The share $a_t/S_t$ is at most $\ln(S_t/S_{t-1})$, since $1-1/x\le\ln x$; these telescope, and the first "
    r"share is 1. For shares in what had come before, $u\le\log_2(1+u)$ on $[0,1]$ does the same.",
    notice="Every sequence that was tried lies below the diagonal. Slowly growing ones come near it. Without the 1 in "
    "front of the logarithm, which is the first share, many lie above.",
)
def shares_add_up_to_a_logarithm(terms, room):
    largest = terms.max() / room
    shares, lagged = harmonic_sum(terms), lagged_harmonic_sum(terms, offset=largest)
    links = {
        "of the present total": (shares, harmonic_bound(terms[0], terms.sum())),
        "of the earlier total": (lagged, jnp.log2(1 + terms.sum() / largest)),
        "at most T terms of σ²": (jnp.log2(1 + terms.sum() / largest), lagged_harmonic_bound(TERMS)),
    }
    return Chain(links)


shares_add_up_to_a_logarithm.control("terms beyond σ²", over=dict(room=Reals(2.0, 8.0)))


@shares_add_up_to_a_logarithm.control("without the first share: ln(S_T/a₁)")
def without_the_first(evidence):
    shares, bound = evidence.links["of the present total"]
    return replace(evidence, links={"of the present total": (shares, bound - 1)})


@shares_add_up_to_a_logarithm.control("ln for log₂")
def natural_logarithm(evidence):
    shares, bound = evidence.links["of the earlier total"]
    return replace(evidence, links={"of the earlier total": (shares, bound * np.log(2))})


@shares_add_up_to_a_logarithm.picture
def below_the_diagonal(pieces):
    """Sums of shares against their bound, for every sequence tried."""
    shares, bound = pieces[""].links["of the present total"]
    ends = np.array([1.0, float(np.max(bound))])
    return Curves(
        [
            Dots("sequences", bound, shares),
            Line("1 + ln(S/a₁)", ends, ends),
            Line("1 + ln(S/a₁)", ends, ends - 1, rival="ln(S/a₁)"),
        ],
        x="bound 1 + ln(S/a₁)",
        y="sum of shares",
    )


@claim(
    items={"A2.26": ""},
    says=r"AdaGrad with one step size, $w_{t+1}=w_t-\nabla_t/\sqrt{S_t}$, has $\frac1T\sum_t\|\nabla_t\|^2\le "
    r"C\sqrt{S_T}/T\le C^2/T$ with $C=M+\frac\beta2(1+\ln(S_T/\|\nabla_1\|^2))$, for exact gradients and without "
    r"knowing $\beta$.",
    needs="f β-smooth, f(w₁) − f(w_{T+1}) ≤ M, exact gradients, the first one not zero",
    over=dict(curvatures=Reals(-1, 1, shape=(PIECES,)), start=Reals(0.1, 10), scale=Reals(1e-4, 100, log=True)),
    symbols={
        "w_t": "the point at step $t$",
        r"\nabla_t": "the gradient there",
        "S_t": "the sum of the squared gradients up to and with step $t$",
        "T": "the number of steps",
        "M": "how much the loss falls at most",
        r"\beta": "the smoothness",
    },
    why=r"The descent lemma with step $1/\sqrt{S_t}$, added up, bounds $\sum_t\|\nabla_t\|^2/\sqrt{S_t}$ by $M$ and "
    r"$\frac\beta2$ times the sum of the shares $\|\nabla_t\|^2/S_t$, a logarithm. The left side is at least "
    r"$\sqrt{S_T}$, because $S_t\le S_T$. So a step that adapts to gradients it has seen does, up to a logarithm, what "
    r"a step made for $\beta$ does.",
    notice="Each dot is a run; functions of any scale lie below the bound; a parabola would be on it whose first step "
    "leads to its bottom. The printed bound "
    "holds where its $\\log GT$ is at least 2, but that is the logarithm of a number with a unit: for flat functions "
    "it is negative, and the bound with it.",
)
def adagrad_needs_no_smoothness(curvatures, start, scale, *, steps: Steps = 8):
    function = PiecewiseQuadratic(jnp.arange(1.0, PIECES), scale * curvatures)
    run = trajectory(function, adagrad_norm(), start[None], steps=steps)
    squares = run.gradient[:-1, 0] ** 2
    total, values = squares.sum(), run.value
    drop, rates = values[0] - values[-1], 1 / jnp.sqrt(jnp.cumsum(squares))
    weighted, mean = jnp.sum(squares * rates), total / steps
    constant = drop + scale / 2 * harmonic_bound(squares[0], total)
    links = {
        "the descent lemma": (weighted, drop + scale / 2 * harmonic_sum(squares)),
        "the least step": (jnp.sqrt(total), weighted),
        "the bound": (mean, adagrad_norm_bound(squares, drop=drop, smoothness=scale)),
        "without the gradients": (mean, constant**2 / steps),
    }
    # As printed: |f| ≤ M/2, so that M is the range after f is centred, and G the largest gradient.
    spread, largest = values.max() - values.min(), jnp.sqrt(squares.max())
    printed = (scale + spread * jnp.log(largest * steps)) * jnp.sqrt(total) / steps
    error = rounding(values) * jnp.maximum(1.0, jnp.sqrt(total))
    aside = {"mean": mean, "printed": printed, "GT": largest * steps, "start": start, "scale": scale}
    return Chain(links, error=error, aside=aside)


adagrad_needs_no_smoothness.control("curvature beyond β", over=dict(curvatures=Reals(-1, 2, shape=(PIECES,))))


@adagrad_needs_no_smoothness.control("(β + M log GT) for C, as printed", erratum="A2.26a")
def printed_norm(evidence):
    # Where the logarithm is positive: that a bound is not meant where it is negative goes without saying.
    meant = np.asarray(evidence.aside["GT"]) > 1
    return replace(evidence, links={"as printed": (evidence.aside["mean"] * meant, evidence.aside["printed"] * meant)})


@adagrad_needs_no_smoothness.control("β/2 · ln(S/a₁), without the 1")
def no_first_share(evidence):
    mean, bound = evidence.links["the bound"]
    scale, root = evidence.aside["scale"], evidence.links["the least step"][0]
    steps = root**2 / mean
    return replace(evidence, links={"the bound": (mean, bound - scale / 2 * root / steps)})


@adagrad_needs_no_smoothness.picture
def runs_below_their_bound(pieces):
    """Mean squared gradients of runs against the bound, and against the printed one where that is positive."""
    found = pieces[""]
    mean, bound = found.links["the bound"]
    printed = np.maximum(found.aside["printed"], 1e-12)
    ends = np.array([float(np.min(mean[mean > 0])), float(np.max(bound))])
    return Curves(
        [
            Dots("runs", bound, mean),
            Dots("runs", printed, mean, rival="against the printed bound (negative ones at the left edge)"),
            Line("the bound", ends, ends),
        ],
        x="bound",
        y="mean squared gradient",
        log="xy",
    )


@claim(
    items={"A2.27": ""},
    says=r"AdaGrad with $P_t=\mathrm{diag}(\sigma^2+\sum_{i<t}\nabla_i^2)^{-1/2}$ has $\frac1T\sum_t\|\nabla_t\|^2\le("
    r"M+\frac{d\beta}2\log_2(1+T))\cdot\frac1T\sum_j(\sigma^2+\sum_{t<T}\nabla_t(j)^2)^{1/2}$.",
    needs="f β-smooth, f(w₁) − f(w_{T+1}) ≤ M, exact gradients with entries up to σ",
    over=dict(
        weights=Reals(0.05, 1, shape=(3,)),
        start=Reals(-3, 3, shape=(3,)),
        scale=Reals(1e-3, 100, log=True),
        room=Reals(1, 1000, log=True),
    ),
    symbols={
        "P_t": "the step sizes, one for each coordinate",
        r"\sigma": "a bound on the entries of gradients",
        r"\nabla_t": "the gradient at step $t$, squared entry by entry in $P_t$",
        "T": "the number of steps",
        "M": "how much the loss falls at most",
        "d": "the number of coordinates",
        r"\beta": "the smoothness",
        "j": "a coordinate",
    },
    why=r"The descent lemma is a sum over the coordinates, and in each the shares $\nabla_t(j)^2P_t(j)^2$ add up to at "
    r"most $\log_2(1+T)$: together $d$ logarithms. The steps shrink, so $\sum_t\nabla_t(j)^2$ is at most the weighted "
    "sum over $P_T(j)$. Printed is one logarithm for all coordinates, that of $GT$, which has a unit.",
    notice="Each dot is a run on a sum of cosines of some scale. All lie below the bound. The printed bound is "
    r"negative for flat functions; and where $\sigma$ is generous the steps are short, gradients stay large, and its "
    r"roots, which have no $\sigma$, are too small.",
)
def adagrad_with_a_diagonal(weights, start, scale, room, *, steps: Steps = 8):
    function = CosineSum(scale * weights)
    most = room * jnp.sqrt(jnp.sum((scale * weights) ** 2))  # also at least the whole gradient, as the book's σ is
    run = trajectory(function, lagged_adagrad(bound=most), start, steps=steps)
    gradients, values = run.gradient[:-1], run.value - jnp.sum(scale * weights)  # centred: |f| ≤ M/2
    squares, beta = gradients**2, scale * weights.max()
    rates = 1 / jnp.sqrt(most**2 + jnp.cumsum(squares, 0) - squares)
    drop, mean = values[0] - values[-1], squares.sum() / steps
    shares = jnp.stack([lagged_harmonic_sum(squares[:, j], offset=most**2) for j in range(3)])
    computed = lagged_adagrad_bound(gradients, bound=most, drop=drop, smoothness=beta)
    roots = jnp.sqrt(most**2 + (squares.sum(0) - squares[-1])).sum()
    written = (drop + 3 * beta / 2 * np.log2(1 + steps)) * roots / steps
    links = {
        "the descent lemma": (jnp.sum(squares * rates), drop + beta / 2 * shares.sum()),
        "a logarithm for each coordinate": (shares.max(), lagged_harmonic_bound(steps)),
        "the bound": (mean, computed),
        # It has room: that it is this one is seen by writing it out.
        "no more than written out": (computed, written),
        "no less than written out": (written, computed),
    }
    spread, largest = 2 * jnp.abs(values).max(), jnp.sqrt(squares.sum(1).max())
    printed = (spread + beta * jnp.log(largest * steps)) * jnp.sqrt(squares.sum(0)).sum() / steps
    error = rounding(run.value) * jnp.maximum(1.0, most)
    aside = {"mean": mean, "printed": printed, "GT": largest * steps, "shares": shares.sum(), "drop": drop}
    return Chain(links, error=error, aside=aside)


@adagrad_with_a_diagonal.control("(M + β log GT) for the bracket, as printed", erratum="A2.27a")
def printed_diagonal(evidence):
    # Where the logarithm is at least one: what is wrong is the bound, not only its value for flat functions.
    meant = np.asarray(evidence.aside["GT"]) >= np.e
    return replace(evidence, links={"as printed": (evidence.aside["mean"] * meant, evidence.aside["printed"] * meant)})


@adagrad_with_a_diagonal.control("a quarter for the half of β")
def a_quarter(evidence):
    weighted, bound = evidence.links["the descent lemma"]
    drop = evidence.aside["drop"]
    return replace(evidence, links={"the descent lemma": (weighted, drop + (bound - drop) / 2)})


@adagrad_with_a_diagonal.picture
def diagonal_runs(pieces):
    """Mean squared gradients of runs against the bound, and against the printed one where that is positive."""
    found = pieces[""]
    mean, bound = found.links["the bound"]
    ends = np.array([float(np.min(mean[mean > 0])), float(np.max(bound))])
    return Curves(
        [
            Dots("runs", bound, mean),
            Dots("runs", np.maximum(found.aside["printed"], 1e-9), mean, rival="against the printed bound"),
            Line("the bound", ends, ends),
        ],
        x="bound",
        y="mean squared gradient",
        log="xy",
    )
