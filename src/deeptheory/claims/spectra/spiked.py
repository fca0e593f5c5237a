"""Planted directions: the transition at which they show in the spectrum, and how well they are then found."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.lab import Identity, Law, Limit, Sizes, Trials, claim
from deeptheory.lab.pictures import Dots, Histogram, Level, Line, Row, Stack, compared
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_edges, marchenko_pastur_pdf
from deeptheory.spectra.semicircle import semicircle_pdf, semicircle_stieltjes
from deeptheory.spectra.spiked import (
    spiked_covariance_data,
    spiked_covariance_eigenvalue,
    spiked_covariance_overlap,
    spiked_covariance_threshold,
    spiked_wigner_eigenvalue,
    spiked_wigner_matrix,
    spiked_wigner_overlap,
)
from deeptheory.spectra.stieltjes import marchenko_pastur_stieltjes

RATIO, ABOVE, BELOW = 0.5, (2.0, 4.0), 0.3
"""Dimension over samples; strengths above its threshold 0.707 and below it."""
DRAWS = 8
"""Of how many matrices of the largest size all eigenvalues are kept, to be shown."""


def top(matrices, vector):
    """The largest eigenvalue, the squared overlap of its eigenvector with a unit vector, and some whole spectra."""
    values, vectors = np.linalg.eigh(matrices)
    return values[:, -1], (vectors[..., -1] @ vector) ** 2, values[:DRAWS]


def bulk(density, spectra, *marks, title, xs):
    """A histogram of spectra under the density of their bulk; their largest eigenvalues as dots along the axis."""
    x = np.linspace(xs[0], xs[1], 500)
    height = 1.15 * float(np.max(density(x)))
    largest = Dots("largest", spectra[:, -1], np.full(len(spectra), height / 40))
    return Histogram(
        [Line("bulk", x, density(x)), largest, *marks],
        samples=spectra,
        bins=60,
        name="eigenvalues",
        xs=xs,
        ys=(0, height),
        x="eigenvalue",
        y="density",
        title=title,
    )


def transition(pieces, places, overlaps, below, *, places_rival, overlaps_rival, threshold):
    """The largest eigenvalue and the overlap along the strength: formulas, means of the largest size, and rivals."""
    found = pieces["eigenvalue above the threshold"]
    strengths = np.append(below, found.along["strength"])
    seen = {
        "eigenvalue": np.concatenate([pieces["eigenvalue below the threshold"].observed[-1], found.observed[-1]]),
        "overlap": np.concatenate(
            [pieces["overlap below the threshold"].y[-1:], pieces["overlap above the threshold"].observed[-1]]
        ),
    }
    shown = (
        ("eigenvalue", places, places_rival, "largest eigenvalue", None),
        ("overlap", overlaps, overlaps_rival, "squared overlap", (-0.05, 1.0)),
    )
    return Row(
        [
            compared(
                strengths,
                law,
                seen[name],
                Level("threshold", x=threshold),
                rivals=dict([rival]),
                x="strength θ",
                y=words,
                xs=(0.1, 4.2),
                ys=ys,
            )
            for name, law, rival, words, ys in shown
        ]
    )


@claim(
    items={},
    consistency=("outlier at the threshold", "threshold from the equation"),
    says=r"A population eigenvalue $1+\theta$ above $1+\sqrt a$ sends the largest sample eigenvalue to "
    r"$(1+\theta)(1+a/\theta)$, and its eigenvector has squared overlap $(1-a/\theta^2)/(1+a/\theta)$ with the "
    r"planted one. Below, the eigenvalue stays at the edge $(1+\sqrt a)^2$ and the overlap vanishes.",
    needs="independent standardised entries with finite fourth moment; one spike",
    symbols={
        r"\theta": "by how much one eigenvalue of the population exceeds the others, which are 1",
        r"a": "dimensions per sample",
        r"\text{overlap}": "the squared cosine between the sample's leading eigenvector and the population's",
    },
    why=r"The other eigenvalues fill the Marchenko–Pastur law as if there were no spike. An eigenvalue outside it can "
    r"only lie where the companion transform, that of the samples' Gram matrix, is $-1/(1+\theta)$; the transform "
    r"takes such values outside the bulk only if $\theta$ exceeds $\sqrt a$, for which that place is the edge itself. "
    r"Below the threshold the noise of the samples hides the direction entirely.",
    notice=r"The same bulk with a weak spike and a strong one. Above the threshold one eigenvalue a matrix leaves "
    r"it, for a place beyond the population's own $1+\theta$; below, the largest stays at the edge and says nothing. "
    r"Eigenvalue and overlap leave their floors at the same strength. An overlap of $1-a/\theta^2$ is too large.",
    full=dict(sizes=(80, 160, 320), trials=320),
)
def spiked_covariance_transition(key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 280):
    values, overlaps = np.empty((2, len(sizes), len(ABOVE), trials))
    edge, hidden, spectra = np.empty((len(sizes), 1, trials)), np.empty((len(sizes), trials)), {}
    for i, size in enumerate(sizes):
        unit = np.eye(size)[0]
        for j, strength in enumerate((*ABOVE, BELOW)):
            branch = jax.random.fold_in(key, 3 * i + j)
            x = spiked_covariance_data(branch, size, round(size / RATIO), strength, trials, entries="uniform")
            *found, spectra[f"{strength:g}"] = top(x @ np.swapaxes(x, 1, 2) / x.shape[2], unit)
            if j < len(ABOVE):
                values[i, j], overlaps[i, j] = found
            else:
                edge[i, 0], hidden[i] = found
    places = spiked_covariance_eigenvalue(np.asarray(ABOVE), RATIO)
    companion = RATIO * marchenko_pastur_stieltjes(places, RATIO).real - (1 - RATIO) / places
    threshold = spiked_covariance_threshold(RATIO)
    joins = spiked_covariance_eigenvalue(np.asarray([threshold, threshold / 2]), RATIO)
    labels = {"strength": np.asarray(ABOVE)}
    ratios = np.asarray([0.1, 0.5, 3.0])
    corners = np.asarray([marchenko_pastur_edges(ratio)[1] for ratio in ratios])
    ends = [marchenko_pastur_stieltjes(x, ratio).real for x, ratio in zip(corners, ratios, strict=True)]
    last = ratios * np.asarray(ends) - (1 - ratios) / corners
    return {
        "eigenvalue above the threshold": Law(places, values, along=labels, sizes=sizes, order=1.0, aside=spectra),
        "overlap above the threshold": Law(
            spiked_covariance_overlap(np.asarray(ABOVE), RATIO), overlaps, along=labels, sizes=sizes, order=1.0
        ),
        "eigenvalue below the threshold": Law(
            spiked_covariance_eigenvalue(np.asarray([BELOW]), RATIO), edge, sizes=sizes, order=2 / 3
        ),
        # It falls like 1/N, but is the square of a nearly normal variable: that it falls is what so few draws settle.
        "overlap below the threshold": Limit(np.asarray(sizes), hidden, order=0.25),
        "equation of the outlier": Identity(companion, -1 / (1 + np.asarray(ABOVE)), condition=10.0),
        "outlier at the threshold": Identity(joins, marchenko_pastur_edges(RATIO)[1], condition=10.0),
        # The transform ends in a square root there: a unit of rounding in the edge is 1e-8 in the transform.
        "threshold from the equation": Identity(
            -1 / last - 1, [spiked_covariance_threshold(ratio) for ratio in ratios], error=1e-6
        ),
    }


@spiked_covariance_transition.control("the population eigenvalue 1 + θ itself", of="eigenvalue above the threshold")
def no_inflation(evidence):
    return replace(evidence, predicted=1 + evidence.along["strength"])


@spiked_covariance_transition.control("1 − a/θ² for the overlap", of="overlap above the threshold")
def without_denominator(evidence):
    return replace(evidence, predicted=1 - RATIO / evidence.along["strength"] ** 2)


@spiked_covariance_transition.picture
def outlier_of_a_covariance(pieces):
    """Eigenvalues of sample covariances with a weak and a strong spike; largest eigenvalue and overlap along θ."""
    spectra, (_, edge) = pieces["eigenvalue above the threshold"].aside, marchenko_pastur_edges(RATIO)
    weak, strong = (np.asarray(spectra[f"{strength:g}"]) for strength in (BELOW, ABOVE[1]))
    place = float(spiked_covariance_eigenvalue(np.asarray(ABOVE[1]), RATIO))
    own = Line("", [1 + ABOVE[1]] * 2, [0, 2], rival="the population's own")

    def density(x):
        return np.asarray(marchenko_pastur_pdf(x, RATIO))

    return Stack(
        [
            Row(
                [
                    bulk(
                        density,
                        weak,
                        Level("edge", x=float(edge)),
                        title=f"θ = {BELOW:g}, below the threshold √a",
                        xs=(0, 6.5),
                    ),
                    bulk(
                        density,
                        strong,
                        Level("outlier", x=place),
                        own,
                        title=f"θ = {ABOVE[1]:g}, above it",
                        xs=(0, 6.5),
                    ),
                ]
            ),
            transition(
                pieces,
                lambda strength: spiked_covariance_eigenvalue(strength, RATIO),
                lambda strength: spiked_covariance_overlap(strength, RATIO),
                BELOW,
                places_rival=("the population's own", lambda strength: 1 + strength),
                overlaps_rival=("1 − a/θ²", lambda strength: np.maximum(1 - RATIO / strength**2, 0)),
                threshold=float(spiked_covariance_threshold(RATIO)),
            ),
        ]
    )


@claim(
    items={},
    consistency=("overlap from the transform",),
    says=r"A direction planted in a symmetric noise matrix with strength $\theta>1$ sends the largest eigenvalue to "
    r"$\theta+1/\theta$, and its eigenvector has squared overlap $1-1/\theta^2$ with it. For $\theta\le1$ the "
    r"eigenvalue is at the edge 2 and the overlap vanishes.",
    needs="independent entries of noise, with variance one over the dimension; one direction, fixed beforehand",
    symbols={
        r"\theta": r"the eigenvalue of the planted matrix of rank one; the noise alone reaches from $-2$ to 2",
        r"\text{overlap}": "the squared cosine between the leading eigenvector and the planted direction",
    },
    why=r"Adding a matrix of rank one creates an eigenvalue outside the semicircle where the transform $S$ of the "
    r"semicircle is $-1/\theta$. Outside the bulk $|S|$ is below 1, its value at the edge, so this has a solution "
    r"only for $\theta>1$. The overlap is $1/(\theta^2S')$ there: the steeper the transform, the more of the "
    r"eigenvector is lost to the noise, and at the edge all of it.",
    notice=r"Half the threshold leaves no trace: the largest eigenvalue stays at the end of the semicircle. At twice "
    r"the threshold one eigenvalue a matrix stands by itself, at $\theta+1/\theta$ and not at $\theta$, the "
    r"end of the bulk. Both formulas leave their floors at $\theta=1$, the eigenvalue with slope zero.",
    full=dict(sizes=(80, 160, 320), trials=320),
)
def spiked_wigner_transition(key, *, sizes: Sizes = (32, 64, 128), trials: Trials = 240):
    strengths = (2.0, 4.0, 0.5)
    values, overlaps = np.empty((2, len(sizes), 2, trials))
    edge, hidden, spectra = np.empty((len(sizes), 1, trials)), np.empty((len(sizes), trials)), {}
    for i, size in enumerate(sizes):
        for j, strength in enumerate(strengths):
            branch = jax.random.fold_in(key, 3 * i + j)
            drawn = spiked_wigner_matrix(branch, size, strength, trials, entries="rademacher")
            *found, spectra[f"{strength:g}"] = top(drawn, np.full(size, size**-0.5))
            if j < 2:
                values[i, j], overlaps[i, j] = found
            else:
                edge[i, 0], hidden[i] = found
    above, beside = np.asarray(strengths[:2]), np.asarray([1.01, 1.1, 1.5, 2.0, 4.0])
    outliers = spiked_wigner_eigenvalue(beside)
    # The slope without cancellation: the imaginary part at z + ih.
    slope = np.imag(semicircle_stieltjes(outliers + 1e-20j)) / 1e-20
    under = np.asarray([0.1, 0.5, 0.99, 1.0])
    return {
        "eigenvalue above the threshold": Law(
            spiked_wigner_eigenvalue(above),
            values,
            along={"strength": above},
            sizes=sizes,
            order=1.0,
            aside=spectra,
        ),
        "overlap above the threshold": Law(
            spiked_wigner_overlap(above), overlaps, along={"strength": above}, sizes=sizes, order=1.0
        ),
        "eigenvalue below the threshold": Law(
            spiked_wigner_eigenvalue(np.asarray([0.5])), edge, sizes=sizes, order=2 / 3
        ),
        # The transform has a square root at the edge: next to it, a hundredth above threshold, digits are lost.
        "equation of the outlier": Identity(np.real(semicircle_stieltjes(outliers)), -1 / beside, condition=1e4),
        "overlap from the transform": Identity(1 / (beside**2 * slope), spiked_wigner_overlap(beside), condition=1e6),
        "formula at the edge": Identity(spiked_wigner_eigenvalue(under), 2.0),
        "formula without an overlap": Identity(spiked_wigner_overlap(under), 0.0, scale=1.0),
        # It falls like 1/N, but is the square of a nearly normal variable: that it falls is what so few draws settle.
        "overlap below the threshold": Limit(np.asarray(sizes), hidden, order=0.25),
    }


@spiked_wigner_transition.control("an overlap of order N⁻²", of="overlap below the threshold")
def one_order_more(evidence):
    return replace(evidence, order=2.0)


@spiked_wigner_transition.control("max(θ, 2) for the eigenvalue", of="eigenvalue above the threshold")
def larger_of_both(evidence):
    return replace(evidence, predicted=np.maximum(evidence.along["strength"], 2))


@spiked_wigner_transition.control("1 − 1/θ for the overlap", of="overlap above the threshold")
def unsquared_overlap(evidence):
    return replace(evidence, predicted=1 - 1 / evidence.along["strength"])


@spiked_wigner_transition.picture
def outlier_of_a_symmetric_matrix(pieces):
    """Eigenvalues of noise with a weak and with a strong direction; largest eigenvalue and overlap along θ."""
    spectra = pieces["eigenvalue above the threshold"].aside
    weak, strong = (np.asarray(spectra[strength]) for strength in ("0.5", "2"))
    outlier = Level("outlier", x=float(spiked_wigner_eigenvalue(2.0)))
    return Stack(
        [
            Row(
                [
                    bulk(
                        semicircle_pdf,
                        weak,
                        Level("edge", x=2.0),
                        title="θ = 0.5, below the threshold 1",
                        xs=(-2.5, 3.2),
                    ),
                    bulk(semicircle_pdf, strong, outlier, title="θ = 2, above it", xs=(-2.5, 3.2)),
                ]
            ),
            transition(
                pieces,
                spiked_wigner_eigenvalue,
                spiked_wigner_overlap,
                0.5,
                places_rival=("max(θ, 2)", lambda strength: np.maximum(strength, 2)),
                overlaps_rival=("1 − 1/θ", lambda strength: np.maximum(1 - 1 / strength, 0)),
                threshold=1.0,
            ),
        ]
    )
