"""How the weak error is made of one-step errors, and what one step of each process does (arora 12.3.2)."""

from dataclasses import replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.diffusions.stochastic_equations import ItoEquation, generator_of
from deeptheory.diffusions.weak_order import (
    diffusion_moments,
    hybrid_moments,
    linear_oracle,
    sgd_moments,
    two_point_noise,
)
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Limit, Rate, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Level, Line, Row, seen

STARTS = np.array([0.8, 0.3, -0.7, 1.5])


@claim(
    items={
        "A12.23": ("differences of hybrids add up", "difference of neighbouring hybrids", "weak error of the whole"),
        "A12.24": (
            "first moments of a step",
            "second moments of a step",
            "third moments of a step",
            "moments of a step by hand",
            "gaps between moments by hand",
        ),
    },
    says=r"Iterating up to step $j$ and diffusing on to step $k$ gives hybrids whose neighbours differ by "
    r"$O(\eta^2)$, because means and covariances of one step match; over $T/\eta$ steps the differences add up, "
    r"exactly, to the weak error $O(\eta)$.",
    needs="√η·σ held fixed; noise without skewness; a gradient that is linear in x, with noise that grows with it",
    symbols={
        "j, k": "the step at which a hybrid changes, and the last step",
        r"\eta": "the step size",
        "T": "the time horizon",
    },
    why="Write the difference of the two ends as a sum over hybrids, each with one more step of the iteration: all "
    "terms but the first and last cancel. A term is one step of either kind, seen through the smooth function into "
    "which diffusion turns the test function; by Taylor it is the difference of the moments of the two steps. Those of "
    "order up to two agree but for what drift and noise do within the step, half of what the generator makes of them, "
    r"times $\eta^2$.",
    notice="Each dot is a hybrid; from the diffusion, the first, to the iteration, the last, no single change is "
    "large, and early and late ones even have opposite signs. Halving the step quarters each of them and doubles "
    "their number.",
)
def hybrids_lead_from_diffusion_to_iteration(
    *,
    noise: Annotated[float, Interval(ge=0.2, le=1.5)] = 0.8,
    halvings: Annotated[int, Interval(ge=4, le=9)] = 6,
    power: Annotated[int, Interval(ge=2, le=4)] = 4,
):
    etas = 0.02 / 2.0 ** np.arange(halvings)
    base = linear_oracle(1.0, two_point_noise(0.0), additive=0.6, multiplicative=0.5)
    terms, totals, sums, moves = [], [], [], []
    settings = dict[str, Any](degree=power, start=STARTS[0])
    for eta in etas:
        oracle = base.amplified(noise / np.sqrt(eta))
        hybrids = hybrid_moments(oracle, eta, round(1 / eta), **settings)[:, power]
        ends = [f(oracle, eta, round(1 / eta), **settings)[-1, power] for f in (sgd_moments, diffusion_moments)]
        terms.append(np.abs(np.diff(hybrids)).max())
        sums.append(np.diff(hybrids).sum())
        totals.append(ends[0] - ends[1])
        # Central moments of the step x₁ − x, from raw ones: starts × process × moment.
        ones = [[f(oracle, eta, 1, degree=3, start=x)[-1] for f in (sgd_moments, diffusion_moments)] for x in STARTS]
        moves.append([[_moved(each, x) for each in one] for one, x in zip(ones, STARTS, strict=True)])
    first = hybrid_moments(base.amplified(noise / np.sqrt(etas[0])), etas[0], 50, **settings)[:, power]
    moves, x = np.array(moves), STARTS
    gaps = np.abs(moves[:, 0, 0] - moves[:, 0, 1])
    # By hand, at every start: drift b = −x and v = σ²(0.6 + x/2)² with two derivatives.
    v, slope, bend = (noise * (0.6 + 0.5 * x)) ** 2, noise**2 * (0.6 + 0.5 * x), noise**2 / 2
    exact = np.stack([-etas[:, None] * x, etas[:, None] ** 2 * x**2 + etas[:, None] * v], -1)
    stated = np.stack([x / 2, -x * slope / 2 - v + v * bend / 4, 1.5 * v * slope], -1)
    apart = (moves[:, :, 1] - moves[:, :, 0]) / etas[:, None, None] ** 2
    steady, iterated = np.stack([x / 2, -v, 0 * v], -1), np.stack([0 * x, x**2, -3 * x * v], -1)
    bound = np.abs(np.diff(first)).sum()
    return {
        "differences of hybrids add up": Identity(
            np.array(sums), np.array(totals), scale=1.0, size=1 / etas, aside={"hybrids": first}
        ),
        "difference of neighbouring hybrids": Rate(etas, np.array(terms), exponent=2.0, rivals=(1.0, 1.5, 3.0)),
        "weak error of the whole": Rate(etas, np.abs(totals), exponent=1.0, rivals=(0.5, 2.0), aside={"bound": bound}),
        "first moments of a step": Rate(
            etas,
            gaps[:, 0],
            exponent=2.0,
            rivals=(1.0, 3.0),
            aside={"read otherwise": np.abs(moves[:, 0, 1, 0] + etas * slope[0] / 4 - moves[:, 0, 0, 0])},
        ),
        "second moments of a step": Rate(etas, gaps[:, 1], exponent=2.0, rivals=(1.0, 3.0)),
        "third moments of a step": Rate(etas, gaps[:, 2], exponent=2.0, rivals=(1.0, 1.5, 3.0)),
        "moments of a step by hand": Identity(
            moves[:, :, 0, :2], exact, scale=1.0, aside={"no gradient": exact - [0.0, 1.0] * exact[..., :1] ** 2}
        ),
        "gaps between moments by hand": Limit(
            1 / etas,
            np.abs(apart - stated).max((1, 2)),
            order=1.0,
            aside={
                "steady": np.abs(apart - steady).max((1, 2)),
                "whole": np.abs(apart - 2 * stated - iterated).max((1, 2)),
            },
        ),
    }


def _moved(moments, start):
    """E(x₁ − x)ⁿ for n = 1, 2, 3 from the moments of x₁."""
    m = moments
    return [m[1] - start, m[2] - 2 * start * m[1] + start**2, m[3] - 3 * start * m[2] + 3 * start**2 * m[1] - start**3]


@hybrids_lead_from_diffusion_to_iteration.control("no gradient in the second moment", of="moments of a step by hand")
def no_gradient(evidence):
    return replace(evidence, right=evidence.aside["no gradient"])


@hybrids_lead_from_diffusion_to_iteration.control(
    "the equation read as Stratonovich's, a quarter of (σ²)′ more drift", of="first moments of a step"
)
def stratonovich(evidence):
    return replace(evidence, y=evidence.aside["read otherwise"])


@hybrids_lead_from_diffusion_to_iteration.control(
    "gaps as if noise did not change within the step", of="gaps between moments by hand"
)
def steady_noise(evidence):
    return replace(evidence, y=evidence.aside["steady"])


@hybrids_lead_from_diffusion_to_iteration.control(
    "the generator's square without its half", of="gaps between moments by hand"
)
def without_half(evidence):
    return replace(evidence, y=evidence.aside["whole"])


@hybrids_lead_from_diffusion_to_iteration.picture
def ladder(pieces):
    """The mean of the test function at the end, by the step at which the hybrid changes (left); errors by η (right)."""
    hybrids, step, whole = (
        pieces["differences of hybrids add up"].aside["hybrids"],
        pieces["difference of neighbouring hybrids"],
        pieces["weak error of the whole"],
    )
    left = [
        Dots("hybrids", np.arange(len(hybrids)), hybrids),
        Level("diffusion", y=float(hybrids[0])),
        Level("iteration", y=float(hybrids[-1])),
    ]
    right = [Dots("largest step", step.x, step.y), Dots("whole error", whole.x, whole.y)]
    right += [
        Line("∝ η²", step.x, step.y[-1] * (step.x / step.x[-1]) ** 2),
        Line("∝ η", whole.x, whole.y[-1] * whole.x / whole.x[-1]),
    ]
    return Row(
        [
            Curves(left, x="steps iterated before diffusing", y="mean of the test function"),
            Curves(right, x="step size η", y="error", log="xy"),
        ]
    )


@claim(
    items={"A12.25": ("rate of change", "Brownian motion alone", "error along one path")},
    says=r"Along $dX=b\,dt+S\,dW$ a smooth function changes by $dh=\langle\nabla h,b\rangle dt+\langle\nabla "
    r"h,S\,dW\rangle+\frac12\mathrm{tr}(\nabla^2h\,SS^\top)dt$, for any $S$, symmetric or not.",
    needs="a twice differentiable function",
    symbols={
        "X": "the solution of the equation",
        "b, S": "drift, and the matrix that mixes the Brownian motions",
        "W": "Brownian motion",
        "h": "the function",
    },
    why=r"Expand $h$ to second order. Increments of Brownian motion are of size $\sqrt{dt}$, so their products "
    r"matter: $dW_idW_j$ averages to $dt$ for $i=j$ and to nothing otherwise, and $\nabla^2h$ meets $S\,dW\,dW^\top "
    r"S^\top$, that is $SS^\top dt$. With $S^\top S$ the indices would not even match where there are more Brownian "
    r"motions than coordinates.",
    notice="Summed along a path, the three terms follow the function; without the last they drift away from it. The "
    "remaining gap falls with the root of the step.",
)
def ito_lemma(key, *, trials: Trials = 400):
    random, d, w = generator(key), 2, 3
    drift, root = random.standard_normal((d, d)), random.standard_normal((8, d, d))
    root[0] = [[0.0, 1.0], [0.0, 0.0]]
    bend = random.standard_normal((8, d, d))
    bend = bend + bend.transpose(0, 2, 1)
    bend[0] = np.diag([1.0, 0.0])
    x = random.standard_normal((8, d))

    @jax.jit
    @jax.vmap
    def change(x, root, bend):
        equation = ItoEquation(lambda y: jnp.asarray(drift) @ y, lambda y: root)
        return generator_of(equation, lambda y: y @ bend @ y / 2)(x)

    # E h(X_t) is known for a linear equation: mean e^{At}x, covariance ∫e^{As}SSᵀe^{Aᵀs}ds. Its slope at t = 0:
    exact = np.einsum("ni,nij,jk,nk->n", x, bend, drift, x) + np.einsum("nij,njk,nik->n", bend, root, root) / 2
    transposed = (
        exact + np.einsum("nij,nkj,nki->n", bend, root, root) / 2 - np.einsum("nij,njk,nik->n", bend, root, root) / 2
    )
    time = 0.7
    samples = random.standard_normal((8, 4000, d)) * np.sqrt(time)
    samples = np.concatenate([samples, -samples], 1)  # antithetic, and then whitened: second moments are exact
    factor = np.linalg.cholesky(np.einsum("nsi,nsj->nij", samples, samples) / 8000 / time)
    samples = np.einsum("nij,nsj->nsi", np.linalg.inv(factor), samples)
    ended = np.einsum("nij,nsj->nsi", root, samples)
    value = np.einsum("nsi,nij,nsj->ns", ended, bend, ended).mean(1) / 2
    half_traces = time / 2 * np.einsum("nij,njk,nik->n", bend, root, root)
    wrong = time / 2 * np.einsum("nij,nkj,nki->n", bend, root, root)

    # Along paths of dX = −sin X dt + S(X)dW with h = cos: sums of the three terms against h itself.
    finest, levels = 1024, 2 ** np.arange(4, 9)
    increments = random.standard_normal((trials, finest, w)) / np.sqrt(finest)
    spread = np.array([0.5, -0.8, 0.3])
    gaps, lost, doubled = [], [], []
    for n in levels:
        steps = increments.reshape(trials, n, finest // n, w).sum(2)
        y, total, without = np.full(trials, 0.4), np.zeros(trials), np.zeros(trials)
        for i in range(n):
            scale = 1 + 0.5 * np.sin(y)
            kick = scale * (steps[:, i] @ spread)
            chain = np.sin(y) ** 2 / n - np.sin(y) * kick
            total += chain - np.cos(y) * scale**2 * (spread @ spread) / 2 / n
            without += chain
            y = y - np.sin(y) / n + kick
        gaps.append(np.abs(np.cos(y) - np.cos(0.4) - total))
        lost.append(np.abs(np.cos(y) - np.cos(0.4) - without))
        doubled.append(np.abs(np.cos(y) - np.cos(0.4) - 2 * total + without))
    return {
        "rate of change": Identity(change(x, root, bend), exact, scale=10.0, aside={"transposed": transposed}),
        "Brownian motion alone": Identity(value, half_traces, scale=10.0, condition=100.0, aside={"transposed": wrong}),
        "error along one path": Rate(
            levels,
            np.array(gaps),
            exponent=-0.5,
            rivals=(0.0, -1.0),
            aside={"without": np.array(lost), "doubled": np.array(doubled)},
        ),
    }


@ito_lemma.control("½tr(∇²h SᵀS)", of="Brownian motion alone")
def transposed(evidence):
    return replace(evidence, right=evidence.aside["transposed"])


@ito_lemma.control("½tr(∇²h SᵀS) in the generator", of="rate of change")
def transposed_generator(evidence):
    return replace(evidence, right=evidence.aside["transposed"])


@ito_lemma.control("the ordinary chain rule", of="error along one path")
def ordinary_chain_rule(evidence):
    return replace(evidence, y=evidence.aside["without"])


@ito_lemma.control("tr(∇²h SSᵀ) without its half", of="error along one path")
def whole_correction(evidence):
    return replace(evidence, y=evidence.aside["doubled"])


@ito_lemma.picture
def along_paths(pieces):
    """The gap between a function and the sum of its changes along a path, with and without the correction, by step."""
    path = pieces["error along one path"]
    marks = [
        seen("Itô's lemma", 1 / np.asarray(path.x, float), path.y),
        seen("", 1 / np.asarray(path.x, float), path.aside["without"], rival="the ordinary chain rule"),
        Line(
            "∝ √dt",
            1 / np.asarray(path.x, float),
            np.mean(path.y[-1]) * (path.x[-1] / np.asarray(path.x, float)) ** 0.5,
        ),
    ]
    return Curves(marks, x="step dt", y="mean gap at time one", log="xy")
