"""What the kernel of a trained first layer cannot learn: odd powers, whose energy grows with the data."""

from dataclasses import replace

import jax
import numpy as np

from deeptheory.foundations.randomness import generator, unit_vectors
from deeptheory.generalization.capacity.rademacher_bounds import label_energy
from deeptheory.kernels.finite.first_layer import first_layer_limit, first_layer_spectrum
from deeptheory.kernels.lazy.teachers import power_teacher
from deeptheory.kernels.regression.predictions import diagonalize, interpolation, trained
from deeptheory.lab import Identity, Law, Rate, Sizes, Trials, claim
from deeptheory.lab.pictures import Curves, Line, seen
from deeptheory.spectra.self_consistent import effective_ridge

POWERS = np.array([1, 2, 4, 3])
HARMONICS = np.array(
    [[0, 1 / 2, 0, 0, 0], [1 / 4, 0, 1 / 4, 0, 0], [1 / 8, 0, 3 / 16, 0, 1 / 16], [0, 1 / 4, 0, 1 / 8, 0]]
)
"""The powers t, t², t⁴ and t³ in U₀ … U₄, the harmonics of four dimensions, each of mean square one."""
PAIRINGS = np.array([[0, 1, 0, 0, 0], [1, 0, 2, 0, 0], [9, 0, 72, 0, 24], [0, 9, 0, 6, 0]])
"""How often (u·x)ᵖ(u·x′)ᵖ pairs off to each power of x·x′; its mean over the sphere is this over 4·6·8···(2p + 2)."""
CUBIC = 3
"""Where the cubic stands among them, last."""


fits = jax.jit(
    jax.vmap(lambda kernel, y: trained(diagonalize(kernel), interpolation(cutoff=1e-6), y), in_axes=(None, 0))
)


@claim(
    items={
        "A9.19": (
            "training ends at the linear fit",
            "root of the energy of a cubic on a circle",
            "root of the energy of a cubic in four dimensions",
            "trace of the inverse",
            "energy of a cubic",
            "energies of other powers",
            "complexity of other powers",
        )
    },
    says=r"Without biases odd labels that are not linear are out of reach: on inputs with their antipodes training "
    r"ends at the linear fit of an odd teacher; on scattered ones the complexity $\sqrt{y^\top H^{*-1}y/n}$ of a "
    r"cubic does not fall, that of powers 1, 2, 4 does like $n^{-1/2}$.",
    needs="unit inputs; ReLU without biases; first layer trained",
    full=dict(sizes=(160, 320, 640, 1280), trials=48),
    symbols={
        r"H^*": "the kernel of the first layer in the limit of infinite width, on the inputs",
        r"y": "the labels at the inputs",
        r"n": "the number of random inputs",
        r"d": "their dimension: 2, evenly spaced, and 4",
    },
    why=r"But for $\rho/4$ the kernel $\rho(\pi-\arccos\rho)/2\pi$ has even powers only: no function in its space has "
    r"an odd part that is not linear. On scattered inputs harmonics of eigenvalue $\lambda$ add their mean square "
    r"over $\lambda+\kappa$ to $y^\top H^{*-1}y$, with the ridge $\kappa$ that interpolation carries with it, "
    r"$\sum\lambda/(\lambda+\kappa)=n$. The third harmonic of a cubic has $\lambda=0$ and is fitted as noise of its "
    r"mean square $v$, at the cost $v\operatorname{tr}H^{*-1}$. Near $\rho=\pm1$ the kernel bends like the distance, "
    r"so its small eigenvalues are of the order of the distance $n^{-1/(d-1)}$ between neighbours and the root of "
    r"this cost grows like $n^{d/2(d-1)}$.",
    notice="The complexities of the linear, the square and the quartic teacher fall together like $n^{-1/2}$; that of "
    "the cubic rises, along the curve of pure noise: by this measure more data make it no better than random labels.",
)
def odd_powers_are_not_learnable(key, *, sizes: Sizes = (160, 320, 640), trials: Trials = 40):
    draw = generator(key)
    x, one, beta = unit_vectors(draw, 9, 3), np.ones(1), 1.5 * unit_vectors(draw, 1, 3)
    both = np.concatenate([x, -x])
    labels = np.array([power_teacher(both, one, beta, power=p) for p in (1, 2, 3, 4, 5)])
    linear = (both @ np.linalg.lstsq(both, labels.T, rcond=None)[0]).T
    expected = np.where(np.array([True, False, True, False, True])[:, None], linear, labels)
    values, many = first_layer_spectrum(100_000)
    counts = np.append(sizes, (10**3, 10**4, 10**5))
    ridges = np.array([effective_ridge(0.0, values, many / many.sum(), many.sum() / n).value for n in counts])
    lengths = 1.5 ** (2 * POWERS[:, None])
    squares, directions = lengths * HARMONICS**2, lengths * PAIRINGS / [[4], [24], [1920], [192]]
    # What a teacher's harmonics cost, but for those out of sight.
    few, degrees = values[:5, None], np.arange(5)[:, None]
    parts = np.where(few.T > 0, squares, 0.0) @ (1 / (few + ridges))
    nearest = np.where(few.T > 0, squares, 0.0) @ (1 / (few * ((degrees + 3) / (degrees + 2)) ** 2 + ridges))
    energies, spread = np.empty((len(sizes), len(POWERS), trials)), np.empty((len(sizes), trials))
    for i, t in np.ndindex(len(sizes), trials):
        points = unit_vectors(draw, sizes[i], 4)
        inverse, cosines = np.linalg.inv(first_layer_limit(points)), points @ points.T
        # The mean over the directions in which a teacher may look: it matters more than which inputs were drawn.
        energies[i, :, t] = directions @ [np.sum(inverse * cosines**k) for k in range(5)]
        spread[i, t] = np.trace(inverse)
    x = np.array(sizes)
    cost = parts.T[: len(sizes), :, None] + squares[CUBIC, 3] * spread[:, None] * (np.arange(4) == CUBIC)[:, None]
    # Points evenly on a circle, an odd number, so that no antipodes coincide: the teacher is the third harmonic alone.
    odd = np.array([81, 161, 321])
    rings = [2 * np.pi * np.arange(count) / count for count in odd]
    even = [np.stack([np.cos(ring), np.sin(ring)], axis=1) for ring in rings]
    around = [label_energy(first_layer_limit(x), np.cos(3 * ring)) for x, ring in zip(even, rings, strict=True)]
    return {
        # Rounding of the angle π leaves 1e-8 where an eigenvalue is zero, below the cutoff of the fit.
        "training ends at the linear fit": Identity(
            fits(first_layer_limit(both), labels), expected, scale=np.abs(labels).max(), error=1e-5
        ),
        "root of the energy of a cubic on a circle": Rate(
            odd, np.sqrt(around), exponent=1.0, resolution=0.1, rivals=(0.75, 1.25)
        ),
        "root of the energy of a cubic in four dimensions": Rate(
            counts[-3:], ridges[-3:] ** -0.5, exponent=2 / 3, resolution=0.01, rivals=(0.5, 0.75, 1.0)
        ),
        # Inputs drawn at random lie closer together here and there than equations for means know: a constant, no power.
        "trace of the inverse": Rate(
            x,
            spread * ridges[: len(sizes), None],
            exponent=0.0,
            resolution=0.15,
            rivals=(-1 / 3, 1 / 3),
            aside={"complexity": np.moveaxis(np.sqrt(energies / x[:, None, None]), 1, 2)},
        ),
        # Extrapolated from draws whose energies differ by a tenth.
        "energy of a cubic": Law(
            1.0,
            energies[:, CUBIC] / cost[:, CUBIC],
            sizes=x,
            order=1.0,
            resolution=0.1,
            aside={"whole": squares[CUBIC].sum() * spread / energies[:, CUBIC]},
        ),
        "energies of other powers": Law(
            1.0,
            (energies / cost)[:, :CUBIC],
            sizes=x,
            order=1.0,
            resolution=0.01,
            along={"power": POWERS[:CUBIC]},
            aside={"nearest": energies[:, :CUBIC] / nearest.T[: len(sizes), :CUBIC, None]},
        ),
        "complexity of other powers": Rate(
            counts[-3:],
            np.sqrt(parts[:CUBIC] / counts).mean(0)[-3:],
            exponent=-0.5,
            resolution=0.01,
            rivals=(0.0, -1.0),
        ),
    }


@odd_powers_are_not_learnable.control("noise of the variance of the whole cubic", of="energy of a cubic")
def with_the_linear_part(evidence):
    return replace(evidence, observed=1 / np.asarray(evidence.aside["whole"]))


@odd_powers_are_not_learnable.control("l + 2 for l + 3 in the eigenvalues", of="energies of other powers")
def nearest_eigenvalues(evidence):
    return replace(evidence, observed=evidence.aside["nearest"])


@odd_powers_are_not_learnable.picture
def with_more_data(pieces):
    """Complexities √(2yᵀH⁻¹y tr H)/n of teachers of four powers on random inputs in four dimensions."""
    sizes, complexity = (
        np.asarray(pieces["trace of the inverse"].x, float),
        pieces["trace of the inverse"].aside["complexity"],
    )
    names = {"linear": 0, "square": 1, "quartic": 2, "cubic": CUBIC}
    marks = [seen(name, sizes, complexity[..., power]) for name, power in names.items()]
    slopes = {"linear": -0.5, "square": -0.5, "quartic": -0.5, "cubic": 1 / 6}
    lines = [
        Line(name, sizes, np.mean(complexity[0, :, power]) * (sizes / sizes[0]) ** slopes[name])
        for name, power in names.items()
    ]
    return Curves([*marks, *lines], x="number of inputs n", y="complexity of the labels", log="xy")


@odd_powers_are_not_learnable.control("a cubic is fitted like any labels", of="training ends at the linear fit")
def everything_fitted(evidence):
    cubic = np.array(evidence.right)
    cubic[2] = (cubic[0]) ** 3
    return replace(evidence, right=cubic)
