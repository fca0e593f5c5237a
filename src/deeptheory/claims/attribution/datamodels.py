"""Datamodels: a linear model of what training on a subset gives, and the harmonic analysis behind it."""

from dataclasses import replace

import numpy as np

from deeptheory.attribution.datamodels import biased_spectrum, explained_share, population_datamodel
from deeptheory.attribution.leave_one_out import ridge_weights
from deeptheory.attribution.shapley import coalitions
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

POINTS, SHARES = 8, np.array([0.2, 0.5, 0.8])


def regressed(table, share):
    """Least squares on all subsets, each with its chance: coefficients, what is left of the square, and the chances."""
    masks = coalitions(POINTS)
    chance = np.prod(np.where(masks, share, 1 - share), 1)
    design = np.concatenate([np.ones((len(masks), 1)), 2.0 * masks - 1], 1)
    weights = np.linalg.lstsq(design * chance[:, None] ** 0.5, table * chance**0.5, rcond=None)[0]
    return weights, chance @ (design @ weights - table) ** 2, chance


@claim(
    items={"A10.18": "coefficients of the regression", "A10.19": ("variance left over", "square by degree")},
    says=r"Regress an output $f(x)$ of training on subsets with $x_i=\pm1$, present with chance $p$: the coefficients "
    r"are $\theta_i=\frac12\mathbb E_p[f(S\cup i)-f(S)]$, and what is left of the variance is "
    r"$\sum_{|S|\ge2}\hat f_p(S)^2$, the Fourier weight of interactions.",
    needs="ridge regression of 8 points in 2 dimensions; output: the answer at one test point",
    symbols={
        "f": "the output, here the answer of ridge regression at one test point",
        "x": "which points are trained on, $1$ present and $-1$ absent",
        "p": "the chance that a point is present",
        r"\theta_i": "the coefficient of point $i$",
        "S": "a set of points",
        r"\hat f_p(S)": r"the mean of $f\cdot\prod_{i\in S}(x_i-\mu)/\sigma$, with mean and deviation of $x_i$",
    },
    why="Under independent presence the products of centred coordinates are orthonormal, so the best linear fit is the "
    "part of degree one and everything of degree two or more is its error. The coefficient of a single coordinate is "
    r"the mean change of $f$ when it is turned on, over the change 2 of $x_i$; since the other points are present with "
    "chance $p$ it depends on $p$. Datamodels fit well where little of the weight is in higher degrees.",
    notice="Fits to all subsets lie on the curve of degree one of the spectrum. Near $p=0$ and $p=1$ hardly two points "
    "are ever unusual together, and a linear model explains nearly all; in between interactions take their share, and "
    "their weight falls fast with the degree.",
)
def datamodels_and_harmonics(key):
    draw = generator(key)
    x, weights = draw.standard_normal((POINTS, 2)), draw.standard_normal(2)
    y = x @ weights + 0.5 * draw.standard_normal(POINTS)
    # A row of zeros is no point: it neither adds to the Gram matrix nor to the correlations.
    fitted = [ridge_weights(x * mask[:, None], y, ridge=1.0) for mask in coalitions(POINTS)]
    table = np.array(fitted) @ draw.standard_normal(2)
    fits = [regressed(table, share) for share in SHARES]
    models = [population_datamodel(table, float(share)) for share in SHARES]
    spectra = np.stack([biased_spectrum(table, float(share)) for share in SHARES])
    mean_square = np.array([chance @ table**2 for _, _, chance in fits])
    size, terms, by_share = np.abs(table).max(), 2.0**POINTS, {"p": SHARES}
    coefficients = np.stack([np.append(model.intercept, model.coefficients) for model in models])
    return {
        "coefficients of the regression": Identity(
            np.stack([fit[0] for fit in fits]),
            coefficients,
            scale=size,
            condition=100.0,
            size=terms,
            along=by_share | {"coefficient": np.arange(POINTS + 1)},
        ),
        "variance left over": Identity(
            np.array([fit[1] for fit in fits]),
            spectra[:, 2:].sum(1),
            scale=mean_square,
            size=terms,
            along=by_share,
            aside={"table": table, "spectra": spectra, "third": spectra[:, 3:].sum(1)},
        ),
        "square by degree": Identity(mean_square, spectra.sum(1), size=terms, along=by_share),
    }


@datamodels_and_harmonics.control("coefficients of p = 1/2 at every p", of="coefficients of the regression")
def fair_coin(evidence):
    return replace(evidence, right=np.tile(np.asarray(evidence.right)[1], (len(SHARES), 1)))


@datamodels_and_harmonics.control("the characters of a fair coin at every p", of="variance left over")
def uniform_characters(evidence):
    return replace(evidence, right=np.full(len(SHARES), np.asarray(evidence.right)[1]))


@datamodels_and_harmonics.control("pairs of points are explained too", of="variance left over")
def with_pairs(evidence):
    return replace(evidence, right=evidence.aside["third"])


@datamodels_and_harmonics.picture
def explained(pieces):
    """Variance that a datamodel explains, by the share of points trained on (left); weights by degree (right)."""
    left = pieces["variance left over"]
    table, spectra = np.asarray(left.aside["table"]), np.asarray(left.aside["spectra"])
    grid = np.linspace(0.05, 0.95, 37)
    variance = spectra[:, 1:].sum(1)
    fit = [
        Line("degree one of the spectrum", grid, [explained_share(table, float(p)) for p in grid]),
        Dots("least squares on all subsets", SHARES, 1 - np.asarray(left.left) / variance),
    ]
    degrees = np.arange(1, POINTS + 1)
    falls = [Line(f"p = {p:g}", degrees, row[1:] / row[1:].sum()) for p, row in zip(SHARES, spectra, strict=True)]
    return Row(
        [
            Curves(fit, x="share p of the points trained on", y="variance explained", ys=(0, 1)),
            Curves(falls, x="degree of the interaction", y="share of the variance", log="y"),
        ]
    )
