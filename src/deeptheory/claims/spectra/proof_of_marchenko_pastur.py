"""The proof of the Marchenko–Pastur law as a whole, step by step on drawn matrices."""

import itertools
from dataclasses import replace
from typing import Literal

import jax
import numpy as np

from deeptheory.lab import Chain, Identity, Limit, Rate, Sizes, Trials, assume, claim, parts
from deeptheory.lab.pictures import Curves, Line, Stack
from deeptheory.spectra.entries import draw_entries, entry_moment
from deeptheory.spectra.marchenko_pastur_proof import (
    proof_steps,
    quadratic_form_bound,
    replacement_slope,
    stability_factor,
)
from deeptheory.spectra.resolvents import quadratic_form_variance, resolvent
from deeptheory.spectra.spectral_measure import sample_covariance_eigenvalues
from deeptheory.spectra.stieltjes import marchenko_pastur_equation, marchenko_pastur_stieltjes, stieltjes_transform

Z = 1 + 0.5j
"""Where the transforms are read: over the spectrum, half a unit above it."""
LOW = 0.5 + 1j * np.asarray([0.1, 0.4, 1.0])
"""Where the bounds of the proof are attained: Re z is 1/α for the α = 2 of the proof."""


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
    r"$\sqrt{\max(2,\kappa-1)/N}/v$ in root mean square, leaving a sample out by $1/(Nv)$; $f$ stretches this by at "
    r"most $(|z|/v)^2$. The defect that is left gives $S_N-S\to0$.",
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
