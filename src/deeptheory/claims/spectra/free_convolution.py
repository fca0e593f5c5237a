"""Spectra of sums and products of free matrices, from the spectra of the parts alone."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from deeptheory.claims.spectra.semicircle import DRAWS
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Exact, Identity, Law, Sizes, Trials, claim, parts
from deeptheory.lab.pictures import Histogram, Line, Row
from deeptheory.spectra.free_convolution import (
    free_additive_moments,
    free_additive_stieltjes,
    free_multiplicative_moments,
)
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_moment, marchenko_pastur_pdf
from deeptheory.spectra.semicircle import semicircle_stieltjes
from deeptheory.spectra.spectral_measure import linear_statistic, sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import inverted_density, stieltjes_transform


@claim(
    items={},
    consistency=("two semicircles",),
    says="Two large matrices in general position add as free variables do: free cumulants add, and the Stieltjes "
    "transform of the sum is found by subordination. In products their S-transforms multiply.",
    needs="one of the two is rotated at random, independently of the other",
    symbols={
        r"\text{general position}": "the eigenvectors of one are turned at random against those of the other",
        r"\text{free cumulants}": (
            "the numbers, made of moments, that add when free variables do, as cumulants add for independent ones"
        ),
        r"\text{S-transform}": "the function of the moments that multiplies in products",
    },
    why=r"After a random turn the eigenvectors of the one matrix know nothing of those of the other, so that mixed "
    r"traces depend on the two spectra alone, by one rule: freeness. Two projections of half rank then sum to the "
    r"arcsine law on $[0,2]$ and a semicircle and a semicircle to a semicircle, with variances that add. With common "
    r"eigenvectors the eigenvalues would add like independent numbers instead.",
    notice=r"Left, the eigenvalues of two projections are 0 and 1, and those of their sum fill $[0,2]$, most of them "
    r"at the ends; common eigenvectors in random order would give 0, 1 and 2 alone. Right, a product with a sample "
    r"covariance: half of the eigenvalues are zero and not shown, the others are those of a covariance of half as "
    r"many dimensions.",
    full=dict(sizes=(40, 80, 160), trials=128),
)
def free_convolutions(key, *, sizes: Sizes = (16, 32, 64), trials: Trials = 128):
    draw = generator(key)
    half, powers = [Fraction(1, 2)] * 6, np.asarray([2, 4, 6])
    arcsine = free_additive_moments(half, half)
    middle = free_multiplicative_moments(half, [marchenko_pastur_moment(k, Fraction(1, 3)) for k in range(1, 7)])
    orders = np.asarray([2, 3])
    wanted = np.asarray(middle[1:3], float)
    sums, products = np.empty((len(sizes), 3, trials)), np.empty((len(sizes), 2, trials))
    for i, size in enumerate(sizes):
        first = np.repeat([0.0, 1.0], size // 2)
        turn = np.linalg.qr(draw.standard_normal((trials, size, size)))[0]
        other = turn * first @ np.swapaxes(turn, 1, 2)
        values = np.linalg.eigvalsh(np.diag(first) + other)
        added = values[:DRAWS]  # in the end those of the largest size
        sums[i] = linear_statistic(values, lambda v: v ** powers[:, None, None])
        x = draw.standard_normal((trials, size, 3 * size)) * first[:, None]
        values = sample_covariance_eigenvalues(x)
        multiplied = values[:DRAWS]
        # The mean of the first moment is a half: its fluctuation is taken off, to first order.
        higher = linear_statistic(values, lambda v: v ** orders[:, None, None])
        products[i] = higher - (orders * wanted)[:, None] * (2 * values.mean(1) - 1)
    z = np.asarray([0.4 + 0.3j, 1 + 0.2j, 2.5 + 0.5j, -1 + 0.4j])
    two = free_additive_stieltjes(z, *[lambda w: stieltjes_transform(np.asarray([0.0, 1.0]), w)] * 2)
    closed = -1 / (np.sqrt(z) * np.sqrt(z - 2))
    semi = free_additive_stieltjes(z, lambda w: semicircle_stieltjes(w, 1.0), lambda w: semicircle_stieltjes(w, 2.0))
    density = inverted_density(
        lambda w: free_additive_stieltjes(w, *[lambda u: stieltjes_transform(np.asarray([0.0, 1.0]), u)] * 2),
        np.linspace(0.3, 1.7, 9),
        0.05,
    )
    nodes = 1 - np.cos((np.arange(4000) + 0.5) * np.pi / 4000)
    smooth = (0.05 / (np.pi * ((np.linspace(0.3, 1.7, 9)[:, None] - nodes) ** 2 + 0.05**2))).mean(1)
    central = [
        Fraction(int(np.prod([2 * j - 1 for j in range(1, k + 1)])), int(np.prod(np.arange(1, k + 1))))
        for k in range(1, 7)
    ]
    return {
        "sums of random projections": Law(
            np.asarray(arcsine[1::2], float),
            sums,
            along={"order": powers},
            sizes=sizes,
            order=1.0,
            aside={"spectra": added},
        ),
        "products with a sample covariance": Law(
            wanted, products, along={"order": orders}, sizes=sizes, order=1.0, aside={"spectra": multiplied}
        ),
        "moments of the arcsine law": Exact(
            np.asarray([str(m) for m in arcsine]), np.asarray([str(m) for m in central])
        ),
        "transform of the arcsine law": Identity(parts(two), parts(closed), scale=1.0, error=1e-11),
        "two semicircles": Identity(parts(semi), parts(semicircle_stieltjes(z, 3.0)), scale=1.0, error=1e-11),
        "density of the arcsine law": Identity(density, smooth, error=1e-9),
    }


@free_convolutions.control(
    "common eigenvectors: sums of classically independent variables", of="sums of random projections"
)
def independent_sum(evidence):
    return replace(evidence, predicted=1 / 2 + 2.0 ** evidence.along["order"] / 4)


@free_convolutions.picture
def sums_and_products(pieces):
    """Eigenvalues of a sum of two projections, and of a product with a sample covariance, at the largest size."""
    names = "sums of random projections", "products with a sample covariance"
    sums, products = (np.asarray(pieces[name].aside["spectra"]) for name in names)
    x, y = np.linspace(0.004, 1.996, 400), np.linspace(0.2, 2.2, 400)
    arcsine = 1 / (np.pi * np.sqrt(x * (2 - x)))
    gap = np.nan  # breaks the line
    atoms = Line("", [0, 0, gap, 1, 1, gap, 2, 2], [0, 2.5, gap, 0, 2.5, gap, 0, 2.5], rival="common eigenvectors")
    return Row(
        [
            Histogram(
                [Line("arcsine law", x, arcsine), atoms],
                samples=sums,
                bins=40,
                ys=(0, 2.5),
                x="eigenvalue",
                y="density",
                title="Two projections of half rank, added",
            ),
            Histogram(
                [Line("by S-transforms", y, np.asarray(marchenko_pastur_pdf(y, 1 / 6)) / 2)],
                samples=products[products > 1e-9],
                area=0.5,
                bins=24,
                x="eigenvalue above zero",
                y="density",
                title="A projection and a sample covariance",
            ),
        ]
    )
