"""The proof of the Marchenko–Pastur law, ingredient by ingredient and then as a whole, on drawn matrices."""

import itertools
from dataclasses import replace
from typing import Annotated, Literal

import jax
import numpy as np
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.lab import Chain, Chance, Identity, Inequality, Limit, Rate, Sizes, Trials, assume, claim, parts
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row, Stack, power_law, seen
from deeptheory.spectra.entries import draw_entries, entry_moment
from deeptheory.spectra.marchenko_pastur_proof import (
    proof_steps,
    quadratic_form_bound,
    replacement_slope,
    stability_factor,
)
from deeptheory.spectra.resolvents import (
    azuma_tail,
    leave_one_out_transforms,
    quadratic_form_variance,
    rank_one_solve,
    rank_one_trace_change,
    resolvent,
    transform_variance_bound,
)
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import marchenko_pastur_equation, marchenko_pastur_stieltjes, stieltjes_transform

Z = 1 + 0.5j
"""Where the transforms are read: over the spectrum, half a unit above it."""
LOW = 0.5 + 1j * np.asarray([0.1, 0.4, 1.0])
"""Where the bounds of the proof are attained: Re z is 1/α for the α = 2 of the proof."""


@claim(
    items={
        "J6.11": ("solution after the change", "resolvent after the change"),
        "J6.12": (
            "trace of the resolvent",
            "change of the trace at most 1/v",
            "numbers that attain 1/v",
            "one sample left out",
            "one sample moves the transform by at most 1/(Nv)",
        ),
    },
    says=r"$(A+tvv^\top)^{-1}v=A^{-1}v/(1+t\langle v,A^{-1}v\rangle)$. A change $c\,vv^\top$ moves the trace of a "
    r"resolvent by $-c\langle v,R^2v\rangle/(1+c\langle v,Rv\rangle)$, at most $1/|\operatorname{Im}z|$ in modulus; "
    r"so leaving one sample out moves $S_N$ by at most $1/(N\operatorname{Im}z)$.",
    needs="A and A + t v vᵀ invertible; for the trace, A symmetric",
    symbols={
        r"A": "a matrix",
        r"v": r"a vector, and $vv^\top$ the matrix of rank one that is added",
        r"t,c": "how much of it is added",
        r"R": "the resolvent $(A-z)^{-1}$",
        r"z": "a point off the real line",
        r"S_N": r"the Stieltjes transform of a sample covariance in $N$ dimensions, the mean of $1/(\lambda-z)$",
    },
    why=r"$A+tvv^\top$ maps $A^{-1}v$ to $v$ times $1+t\langle v,A^{-1}v\rangle$, and that is the first formula. "
    "Adding a matrix of rank one moves the eigenvalues past one another by at most one place: the new ones lie "
    r"between the old. The points $1/(x-z)$ lie on a circle of diameter $1/|\operatorname{Im}z|$, on which their "
    "moves are disjoint arcs, all in one sense: in no direction do they get farther than a diameter. One number "
    r"moved from $\operatorname{Re}z-\operatorname{Im}z$ to $\operatorname{Re}z+\operatorname{Im}z$ attains it.",
    notice=r"The changes of the trace, in units of $1/\operatorname{Im}z$, stay inside the unit circle, and some come "
    "close to it. Next to the line most are small: only where an eigenvalue lies beside $z$ is much moved.",
)
def rank_one_changes(
    key,
    *,
    size: Annotated[int, Interval(ge=2, le=100)] = 12,
    matrices: Trials = 64,
):
    draw = generator(key)
    square, vector = draw.standard_normal((matrices, size, size)), draw.standard_normal((matrices, size))
    factor = draw.uniform(-2, 2, matrices)
    changed = square + factor[:, None, None] * vector[:, :, None] * vector[:, None]
    solved = np.linalg.solve(changed, vector[..., None])[..., 0]
    formula = rank_one_solve(square, vector, factor)
    plain = np.linalg.solve(square, vector[..., None])[..., 0]
    rival = plain / (1 + factor * np.einsum("ki,kij,kj->k", vector, square, vector))[:, None]
    condition = (np.linalg.cond(square) * np.linalg.cond(changed))[:, None]
    symmetric = (square + np.swapaxes(square, 1, 2)) / 2
    moved = symmetric + factor[:, None, None] * vector[:, :, None] * vector[:, None]
    places = draw.uniform(-2, 2, 4) + 1j * np.geomspace(0.03, 3, 4)
    after, origin = (stieltjes_transform(np.linalg.eigvalsh(each), places).T * size for each in (moved, symmetric))
    direct = after - origin
    traces = np.asarray([rank_one_trace_change(symmetric, vector, factor, z) for z in places])
    behind = [rank_one_solve(symmetric - z * np.eye(size), vector + 0j, factor) for z in places]
    before = [(resolvent(moved, z) @ vector[..., None])[..., 0] for z in places]
    # A number a moved to b: 1/(x − z) runs over a circle of diameter 1/Im z, of which these two are opposite points.
    numbers = [rank_one_trace_change(np.asarray([[z.real - z.imag]]), np.ones(1), 2 * z.imag, z) for z in places]
    few, many, low = 20, 2000, 1 + 0.02j
    x = draw.standard_normal((few, many))
    covariance = x @ x.T / many
    whole = stieltjes_transform(np.linalg.eigvalsh(covariance), low)
    chosen = np.arange(0, many, 10)
    without = np.linalg.eigvalsh(covariance - np.einsum("ik,jk->kij", x[:, chosen], x[:, chosen]) / many)
    left_out = stieltjes_transform(without, low)
    size_of = 1 / places.imag[:, None]
    return {
        "solution after the change": Identity(
            solved,
            formula,
            scale=abs(solved).max(1, keepdims=True),
            condition=condition,
            size=size,
            aside={"rival": rival},
        ),
        "resolvent after the change": Identity(
            parts(before),
            parts(behind),
            scale=parts(abs(np.asarray(before))).max((2, 3), keepdims=True),
            condition=1e4,
            size=size,
        ),
        "trace of the resolvent": Identity(
            parts(direct), parts(traces), scale=size_of[..., None], condition=1e3, size=size
        ),
        "change of the trace at most 1/v": Inequality(abs(direct), size_of * np.ones(matrices)),
        "numbers that attain 1/v": Identity(abs(np.asarray(numbers)), 1 / places.imag),
        "one sample left out": Identity(
            parts(leave_one_out_transforms(x, low)[chosen]),
            parts(left_out),
            scale=1 / low.imag,
            condition=100.0,
            size=few,
        ),
        "one sample moves the transform by at most 1/(Nv)": Inequality(
            abs(left_out - whole),
            np.full(len(chosen), 1 / (few * low.imag)),
            along={"sample": chosen},
            aside={"dimensions per sample": few / many},
        ),
    }


@rank_one_changes.control("⟨v, Av⟩ in the denominator", of="solution after the change")
def without_the_inverse(evidence):
    return replace(evidence, right=evidence.aside["rival"])


@rank_one_changes.control("1/(vM) for one sample left out", of="one sample moves the transform by at most 1/(Nv)")
def over_the_samples(evidence):
    return replace(evidence, bound=evidence.bound * evidence.aside["dimensions per sample"])


@rank_one_changes.control("half of 1/|Im z| for drawn matrices", of="change of the trace at most 1/v")
def half_the_modulus(evidence):
    return replace(evidence, bound=evidence.bound / 2)


@rank_one_changes.picture
def changes_of_the_trace(pieces):
    """Changes of the trace of the resolvent, complex numbers, times Im z; they stay in the unit disc."""
    found, height = (
        np.asarray(pieces["trace of the resolvent"].left),
        1 / np.asarray(pieces["numbers that attain 1/v"].right),
    )
    turn = np.linspace(0, 2 * np.pi, 200)
    marks = [Line("bound", np.cos(turn), np.sin(turn))]
    marks += [Dots(f"Im z = {v:.2g}", *(v * each).T) for v, each in zip(height, found, strict=True)]
    return Plane(marks, x="real part, times Im z", y="imaginary part, times Im z")


@rank_one_changes.control(
    "half of 1/|Im z|: points on the circle are at most a radius apart", of="numbers that attain 1/v"
)
def a_radius(evidence):
    return replace(evidence, right=evidence.right / 2)


HEIGHTS = np.asarray([0.2, 0.1, 0.05, 0.025])
TAILS = ((100, 50, 1.0, 0.6), (20, 10, 0.02, 0.3))
"""Dimension, samples, Im z and deviation t at which the tail is counted: high up, where the bound says something, and
close to the line, where fluctuations are large."""


@claim(
    items={
        "J6.12": (
            "probability of a deviation",
            "constants from Azuma's inequality",
            "mean squared deviation",
            "bound as a sum over samples",
            "fluctuations along the height",
            "fluctuations along the dimension",
        )
    },
    consistency=("bound as a sum over samples",),
    says=r"$P(|S_N-\mathbb ES_N|>t)\le4\exp(-N^2v^2t^2/(16M))$ at $\operatorname{Im}z=v$, and $\mathbb E|S_N-\mathbb "
    r"ES_N|^2\le M/(Nv)^2$. The fluctuations fall as $1/N$, far below these bounds, and over the spectrum grow no "
    r"faster than $1/v$ as $v$ falls from 0.2 to 0.025.",
    needs="independent samples; the constants are ours, proved but far from sharp, so that data alone cannot fix them",
    symbols={
        r"S_N": r"the Stieltjes transform at $z$ of a sample covariance in dimension $N$",
        r"M": "the number of samples",
        r"v": r"the height of $z$ above the real line",
    },
    why=r"Reveal the samples one after the other: each is a change of rank one and can move $S_N$ by at most "
    r"$1/(Nv)$, so what is expected of $S_N$ moves in $M$ bounded steps. Their squares add up to $M/(Nv)^2$, and "
    r"Azuma's inequality with steps of twice that size, for real and imaginary part, gives the constants 4 and 16. "
    r"Really the eigenvalues repel each other and hold still: the fluctuations are of the order $\sqrt M$ times "
    r"smaller.",
    notice=r"The proved bound falls like $N^{-1/2}$, the fluctuations themselves like $1/N$. Towards the line both "
    r"grow like $1/v$, the fluctuations a factor of more than ten below the bound; they do not fall like $\sqrt v$.",
    full=dict(trials=2000),
)
def transform_concentration(key, *, sizes: Sizes = (15, 30, 60, 120), trials: Trials = 400):
    z = 1 + 1j * np.append(HEIGHTS, 1.0)
    moved = np.empty((len(sizes), trials, len(z)))
    for i, size in enumerate(sizes):
        values = sample_covariance_eigenvalues(draw_entries(jax.random.fold_in(key, i), (trials, size, 2 * size)))
        transform = stieltjes_transform(values, z)
        # The mean is taken from the same draws, which shrinks deviations by a factor that is the same at every size.
        moved[i] = abs(transform - transform.mean(0)) * (trials / (trials - 1)) ** 0.5
    failures = []
    for j, (dimension, samples, height, distance) in enumerate(TAILS):
        x = draw_entries(jax.random.fold_in(key, 100 + j), (trials, dimension, samples), "uniform")
        transform = stieltjes_transform(sample_covariance_eigenvalues(x), 1 + 1j * height)
        failures.append((abs(transform - transform.mean()) > distance).sum())
    dimension, samples, height, distance = np.asarray(TAILS).T
    # Azuma for M differences of at most 2/(Nv), for two parts at t/√2 each.
    steps = samples * (2 / (dimension * height)) ** 2
    assembled = 2 * 2 * np.exp(-((distance / 2**0.5) ** 2) / (2 * steps))
    bound = transform_variance_bound(np.asarray(sizes)[:, None], 2 * np.asarray(sizes)[:, None], z.imag)
    # The most that one sample can do to N S_N: a number moved across, as in `rank_one_changes`.
    most = [abs(rank_one_trace_change(np.asarray([[w.real - w.imag]]), np.ones(1), 2 * w.imag, w)) for w in z]
    summed = 2 * np.asarray(sizes)[:, None] * (np.asarray(most) / np.asarray(sizes)[:, None]) ** 2
    return {
        "probability of a deviation": Chance(
            np.asarray(failures), trials, np.minimum(azuma_tail(distance, dimension, samples, height), 1)
        ),
        "constants from Azuma's inequality": Identity(azuma_tail(distance, dimension, samples, height), assembled),
        "mean squared deviation": Inequality(
            (moved**2).mean(1), bound, along={"size": np.asarray(sizes), "height": z.imag}
        ),
        "bound as a sum over samples": Identity(bound, summed),
        "fluctuations along the height": Limit(1 / HEIGHTS, moved[-1, :, :-1].T, order=-1.0),
        "fluctuations along the dimension": Rate(np.asarray(sizes), moved[..., -1], exponent=-1.0, rivals=(-0.5,)),
    }


@transform_concentration.control("1/v in the exponent, the constant as at v = 1", of="probability of a deviation")
def printed_exponent(evidence):
    dimension, samples, height, distance = np.asarray(TAILS).T
    return replace(evidence, at_most=np.minimum(azuma_tail(distance, dimension, samples, height**-0.5), 1))


@transform_concentration.control("fluctuations that fall as √v towards the line", of="fluctuations along the height")
def printed_heights(evidence):
    return replace(evidence, order=0.5)


@transform_concentration.picture
def fluctuations_and_bounds(pieces):
    """Mean distance of the transform from its mean, along the dimension and along the height, with its bound."""
    along, heights = pieces["fluctuations along the dimension"], pieces["fluctuations along the height"]
    roots, v = np.sqrt(np.asarray(pieces["mean squared deviation"].bound)), 1 / np.asarray(heights.x)
    first = float(np.mean(heights.y[0]))
    return Row(
        [
            Curves(
                [*power_law("fluctuations", along), Line("bound", along.x, roots[:, -1])],
                x="dimension N",
                y="distance from the mean",
                log="xy",
                title="At height 1",
            ),
            Curves(
                [
                    seen("fluctuations", v, heights.y),
                    Line("bound", v, roots[-1, :-1]),
                    Line("", v, first * (v / v[0]) ** 0.5, rival="falling as √v"),
                ],
                x="height v",
                y="distance from the mean",
                log="xy",
                title="At the largest dimension",
            ),
        ]
    )


LAWS = {
    "signs": ((-1.0, 1.0), (0.5, 0.5)),
    "skewed": ((-0.5, 2.0), (0.8, 0.2)),
    "three points": ((-(5**0.5), 0.0, 5**0.5), (0.1, 0.8, 0.1)),
}
"""Laws of mean zero and variance one on a few points, with their shares; fourth moments 1, 3.25 and 5."""


def enumerated(law, size):
    """All vectors with entries from one of the laws, and their probabilities."""
    points, shares = LAWS[law]
    vectors = np.asarray(list(itertools.product(points, repeat=size)))
    return vectors, np.prod(list(itertools.product(shares, repeat=size)), axis=1)


@claim(
    items={
        "J6.13": (
            "mean of a quadratic form",
            "variance of a quadratic form",
            "matrices without a diagonal",
            "links of the bound",
            "bound attained",
            "deviation along the dimension",
        )
    },
    says=r"$\langle X,AX\rangle$ has mean $\operatorname{tr}A$ and variance "
    r"$\sum_{i\ne j}(A_{ij}^2+A_{ij}A_{ji})+(\kappa-1)\sum_iA_{ii}^2$, at most $N\max(2,\kappa-1)\|A\|^2$, which the "
    r"identity attains for $\kappa\ge3$ and a matching for $\kappa\le3$; so "
    r"$\frac1N\langle X,AX\rangle-\frac1N\operatorname{tr}A$ falls as $N^{-1/2}$ in mean modulus.",
    needs="independent entries of mean 0, variance 1, fourth moment κ",
    symbols={
        r"X": r"a vector of $N$ independent entries of mean 0 and variance 1",
        r"A": r"a matrix of largest singular value $\|A\|$, independent of $X$",
        r"\kappa": "the fourth moment of the entries",
    },
    why=r"Expand the square of $\sum_{ij}A_{ij}X_iX_j$: only terms in which every index appears in pairs have a mean. "
    r"Pairs of different indices give $A_{ij}^2+A_{ij}A_{ji}$, equal ones the variance $\kappa-1$ of $X_i^2$. The "
    r"squared entries of $A$ add up to at most $N\|A\|^2$, so the form deviates by order $\sqrt N\|A\|$, and over $N$ "
    r"by $N^{-1/2}$.",
    notice=r"Left, variances over all vectors of a few entries against the formula: without the product "
    r"$A_{ij}A_{ji}$ it would be half of what it is for matrices without a diagonal. Right, the normalised form "
    r"comes to the trace like $N^{-1/2}$, not like $1/N$.",
    full=dict(sizes=(50, 100, 200, 400, 800), trials=4000),
)
def trace_lemma(key, *, sizes: Sizes = (25, 50, 100, 200, 400), trials: Trials = 600):
    draw = generator(key)
    cases = [("signs", 10), ("skewed", 10), ("three points", 7)]
    mean, variance, off, links = [], [], [], []
    for law, size in cases:
        vectors, shares = enumerated(law, size)
        fourth = float(np.dot(LAWS[law][1], np.asarray(LAWS[law][0]) ** 4))
        for _ in range(4):
            matrix = draw.standard_normal((size, size))
            form = (vectors @ matrix * vectors).sum(1)
            spread = shares @ (form - np.trace(matrix)) ** 2
            mean.append([shares @ form, np.trace(matrix)])
            variance.append([spread, quadratic_form_variance(matrix, fourth)])
            most = size * max(2, fourth - 1) * np.linalg.norm(matrix, 2) ** 2
            links.append([shares @ abs(form - np.trace(matrix)), spread**0.5, most**0.5])
            hollow = matrix + matrix.T - 2 * np.diag(np.diag(matrix))
            off.append([shares @ (vectors @ hollow * vectors).sum(1) ** 2, quadratic_form_variance(hollow, fourth)])
    pairs = np.kron(np.eye(5), np.asarray([[0.0, 1], [1, 0]]))
    extremes = [quadratic_form_variance(np.eye(10), 5.0) / 4, quadratic_form_variance(pairs, 1.0) / 2]
    vectors, shares = enumerated("three points", 7)
    extremes.append(shares @ ((vectors**2).sum(1) - 7) ** 2 / 4 * 10 / 7)
    gaps = np.empty((len(sizes), trials))
    for i, size in enumerate(sizes):
        rotation = np.linalg.qr(draw.standard_normal((size, size)))[0]
        x = draw_entries(jax.random.fold_in(key, i), (trials, size), "exponential")
        gaps[i] = abs((x @ rotation * x).sum(1) - np.trace(rotation)) / size
    small, middle, large = np.asarray(links).T
    return {
        "mean of a quadratic form": Identity(*np.asarray(mean).T, scale=10.0, size=100.0),
        "variance of a quadratic form": Identity(*np.asarray(variance).T, size=1024.0),
        "matrices without a diagonal": Identity(*np.asarray(off).T, size=1024.0),
        "links of the bound": Chain({"Jensen": (small, middle), "norm": (middle, large)}),
        "bound attained": Identity(np.asarray(extremes), 10.0, size=1024.0),
        "deviation along the dimension": Rate(np.asarray(sizes), gaps, exponent=-0.5, rivals=(-1.0, 0.0)),
    }


@trace_lemma.control("Σ Aᵢⱼ² off the diagonal", of="matrices without a diagonal")
def printed_square(evidence):
    return replace(evidence, right=evidence.right / 2)


@trace_lemma.picture
def forms_and_traces(pieces):
    """Variances of quadratic forms, by enumeration against the formula; and the distance from the trace."""
    whole, hollow = pieces["variance of a quadratic form"], pieces["matrices without a diagonal"]
    ends = np.asarray([np.min(whole.right), np.max(hollow.right)])
    return Row(
        [
            Curves(
                [
                    Line("equal", ends, ends),
                    Dots("any matrices", whole.right, whole.left),
                    Dots("matrices without a diagonal", hollow.right, hollow.left),
                    Line("", ends, ends / 2, rival="squares alone"),
                ],
                x="variance by the formula",
                y="variance over all vectors",
                log="xy",
                title="Variance of the form",
            ),
            Curves(
                power_law("observed", pieces["deviation along the dimension"], rivals={-1.0: "1/N"}),
                x="dimension N",
                y="distance from the trace, over N",
                log="xy",
                title="Concentration",
            ),
        ]
    )


@claim(
    items={
        "J6.14": (
            "steps that are exact",
            "errors of the other steps",
            "trace lemma attained",
            "steepest slope of f",
            "error of the quadratic forms",
            "error of leaving a sample out",
            "defect of the equation",
            "distance from the law",
        )
    },
    says=r"In the proof of the Marchenko–Pastur law two steps are exact. Replacing $q_k$ by a trace errs by at most "
    r"$\sqrt{\max(2,\kappa-1)/N}/v$ in mean square, leaving a sample out by $1/(Nv)$; $f$ stretches this by at most "
    r"$(|z|/v)^2$. The defect that is left gives $S_N-S\to0$.",
    needs="independent entries of mean 0, variance 1, fourth moment κ",
    symbols={
        r"S_N,S": r"the Stieltjes transforms at $z$ of the sample covariance $W$ in dimension $N$, and of the law",
        r"v": r"the height $\operatorname{Im}z$",
        r"\kappa": "the fourth moment of the entries",
        r"q_k": r"$\frac1N\langle X_k,R^{(k)}X_k\rangle$ of sample $k$, with the resolvent $R^{(k)}$ of the others",
        r"f": r"$f(s)=s/(1+s/\alpha)$, $\alpha$ samples per dimension",
    },
    why=r"Exactly, $1+zS_N=\frac1N\operatorname{tr}RW$ is a mean over samples of $f(q_k)$. A quadratic form in "
    r"independent entries concentrates at the trace of its matrix, here $\frac1N\operatorname{tr}R^{(k)}$: the bound "
    r"is attained where $R^{(k)}=\frac iv$ and $\kappa\ge3$, and the true error is of order $N^{-1/2}$. One sample is "
    r"a change of rank one, which moves a trace by at most $1/v$. The slope of $f$ reaches its bound $(|z|/v)^2$ at "
    r"the transform of $\delta_0$ if $\alpha\operatorname{Re}z=1$. What is left is the equation of the law for $S_N$ "
    r"with a defect, and the defect times $1/(z-1/((1+S_N/\alpha)(1+S/\alpha)))$ is $S_N-S$.",
    notice="Above, the error of every step as a line and its bound as a dashed one: all fall with the dimension, and "
    "no error crosses its bound. Below, the two exact steps, which are off by rounding alone.",
    full=dict(sizes=(8, 16, 32, 64, 128), trials=48),
)
def marchenko_pastur_proof(
    key,
    *,
    sizes: Sizes = (6, 12, 24, 48),
    trials: Trials = 32,
    entries: Literal["gaussian", "rademacher", "uniform", "exponential", "student"] = "uniform",
    samples: Literal["independent", "repeated"] = "independent",
):
    assume(min(sizes) >= 4, "a dimension of at least four")
    alpha, fourth = 2.0, float(entry_moment(entries, 4))
    shape = (len(sizes), trials)
    left, right = np.empty((2, *shape, 3), complex)
    names = ("trace lemma", "one sample left out", "replaced in f", "defect of the equation")
    links = {name: np.empty((2, *shape)) for name in names}
    forms, traces, residual, errors = np.empty((4, *shape))
    slope, limit = replacement_slope(Z), complex(marchenko_pastur_stieltjes(Z, 1 / alpha))
    for i, j in np.ndindex(shape):
        size = sizes[i]
        # The proof is run on the first matrix; what is left in the end scatters by half its size: a mean over twelve.
        x = draw_entries(jax.random.fold_in(jax.random.fold_in(key, i), j), (12, size, int(alpha * size)), entries)
        if samples == "repeated":  # every sample four times: the rest is no longer independent of the one left out
            x = np.repeat(x[..., ::4], 4, axis=-1)
        transforms = stieltjes_transform(sample_covariance_eigenvalues(x), Z)
        residual[i, j] = abs(marchenko_pastur_equation(transforms, Z, 1 / alpha)).mean()
        errors[i, j] = abs(transforms - limit).mean()
        steps = proof_steps(x[0], Z, fourth=fourth)
        left[i, j] = 1 + Z * steps.transform, steps.trace, steps.error
        factor = stability_factor(complex(steps.transform), limit, Z, alpha)
        right[i, j] = steps.trace, steps.samplewise, steps.residual * factor
        away = abs(steps.forms - steps.transform)
        kept = steps.forms / (1 + steps.forms / alpha) - steps.transform / (1 + steps.transform / alpha)
        forms[i, j], traces[i, j] = abs(steps.forms - steps.traces).mean(), abs(steps.traces - steps.transform).mean()
        links["trace lemma"][:, i, j] = steps.variances.max() ** 0.5, quadratic_form_bound(size, Z, fourth)
        links["one sample left out"][:, i, j] = abs(steps.traces - steps.transform).max(), 1 / (size * Z.imag)
        worst = np.argmax(abs(kept) / away)
        links["replaced in f"][:, i, j] = abs(kept[worst]), slope * away[worst]
        links["defect of the equation"][:, i, j] = abs(steps.residual), slope * away.mean()
    # All eigenvalues under z: the resolvent is i/v times the identity. Fourth moments of three laws, from 3 up.
    heavy = np.asarray([float(entry_moment(law, 4)) for law in ("gaussian", "student", "exponential")])
    spread, most = [], []
    for size, z, kappa in itertools.product(sizes, LOW, heavy):
        flat = resolvent(z.real * np.eye(size), z)
        spread.append(sum(quadratic_form_variance(part, kappa) for part in (np.real(flat), np.imag(flat))))
        most.append(size * quadratic_form_bound(size, z, kappa))
    # f is 1 + zs less the defect; its slope by a central difference, good to the square of the step.
    point = stieltjes_transform(np.zeros(1), LOW)
    mapped = [1 + LOW * s - marchenko_pastur_equation(s, LOW, 1 / alpha) for s in (point + 1e-5, point - 1e-5)]
    steepest = abs(mapped[0] - mapped[1]) / 2e-5
    return {
        "steps that are exact": Identity(parts(left), parts(right), scale=1.0, condition=100.0, size=max(sizes)),
        "errors of the other steps": Chain(
            {name: (low, high) for name, (low, high) in links.items()}, along={"size": np.asarray(sizes)}
        ),
        "trace lemma attained": Identity(np.asarray(spread) ** 0.5, np.asarray(most), size=max(sizes)),
        "steepest slope of f": Identity(
            steepest, np.asarray([replacement_slope(complex(z)) for z in LOW]), condition=1e6
        ),
        "error of the quadratic forms": Rate(np.asarray(sizes), forms, exponent=-0.5, rivals=(-1.0,)),
        "error of leaving a sample out": Limit(np.asarray(sizes), traces, order=1.0),
        # What the steps give is N^-½; it really falls faster, since errors of different samples cancel in the mean.
        "defect of the equation": Limit(np.asarray(sizes), residual, order=0.5),
        "distance from the law": Limit(np.asarray(sizes), errors, order=0.5),
    }


marchenko_pastur_proof.control(
    "samples that come four times each", of="distance from the law", samples="repeated", trials=16
)


@marchenko_pastur_proof.control(
    "M for N: a sample left out moves the transform by 1/(Mv)", of="errors of the other steps"
)
def over_all_samples(evidence):
    small, large = evidence.links["one sample left out"]
    return replace(evidence, links={"one sample left out": (small, np.asarray(large) / 2)})


@marchenko_pastur_proof.picture
def errors_beside_bounds(pieces):
    """Each step's error (solid) and its bound (dashed), means over matrices, and the rounding of the two identities."""
    sizes = pieces["errors of the other steps"].along["size"]
    steps = [
        Line(f"{name}{kind}", sizes, np.asarray(values).mean(1), dashed=bool(kind))
        for name, pair in pieces["errors of the other steps"].links.items()
        for kind, values in zip(("", ": its bound"), pair, strict=True)
    ]
    ends = {
        "distance from the law": "Sₙ − S in the end",
        "error of the quadratic forms": "quadratic form, mean over samples",
    }
    steps += [Line(label, sizes, np.asarray(pieces[name].y).mean(1)) for name, label in ends.items()]
    gaps = abs(np.asarray(pieces["steps that are exact"].left) - np.asarray(pieces["steps that are exact"].right)).max(
        (1, 3)
    )
    exact = [
        Line(name, sizes, np.maximum(gaps[:, column], 1e-17))
        for column, name in enumerate(("trace identity", "Sherman–Morrison"))
    ]
    above = Curves(steps, x="dimension N", y="error of a step, and its bound", log="xy")
    return Stack([above, Curves(exact, x="dimension N", y="error of the two identities", log="xy")])
