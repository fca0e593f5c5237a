"""The Fourier transform: what it makes of shifts, gradients and convolutions."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval

from deeptheory.approximation.transforms import (
    centred_grid,
    convolution,
    fourier_transform,
    inverse_fourier_transform,
    transform_of_gradient,
)
from deeptheory.lab import Identity, claim, parts
from deeptheory.lab.pictures import Curves, Line, Row

COUNT, SPACING = 128, 0.2


@claim(
    items={
        "L4.1": ("transform of a shifted bump", "transform of its gradient", "inverse transform"),
        "L4.2": ("transform of a convolution", "convolution by the inverse transform"),
    },
    says=r"With $\widehat f(\omega)=\int e^{-2\pi i\omega\cdot x}f(x)dx$: $f(x)=\int e^{2\pi i\omega\cdot x}\widehat "
    r"f(\omega)d\omega$, $\widehat{\nabla f}=2\pi i\omega\widehat f$ and $\widehat{g*h}=\widehat g\,\widehat h$.",
    needs="f, its transform and its gradient are integrable",
    explore={"shift": (0.1, 0.3, 0.6, 1.0)},
    symbols={
        r"\widehat f(\omega)": r"the Fourier transform of $f$ at the frequency $\omega$",
        r"\omega\cdot x": "the inner product; $2\\pi$ times it is the angle",
        r"\nabla f": "the gradient of $f$",
        r"g*h": r"the convolution $\int g(\tau)h(x-\tau)d\tau$",
    },
    why=r"A wave $e^{2\pi i\omega\cdot x}$ is multiplied by a number when it is shifted or differentiated, and the "
    r"transform writes a function as a sum of waves. Differentiation multiplies each by its own $2\pi i\omega$. A "
    "convolution is a sum of shifted copies of $h$, weighted by $g$, so each wave of $h$ is multiplied by the sum of "
    "all those shifts, which is the transform of $g$.",
    notice="On the left a rough function, a smooth one that it is convolved with, and the result. On the right the "
    "sizes of their transforms: the result has no more of any frequency than both factors allow, and its curve is the "
    "product of theirs.",
)
def fourier_transform_rules(
    *,
    scale: Annotated[float, Interval(ge=0.5, le=1.2)] = 0.8,
    shift: Annotated[float, Interval(ge=0.1, le=1.0)] = 0.6,
):
    x, y = np.meshgrid(centred_grid(COUNT, SPACING), centred_grid(COUNT, SPACING), indexing="ij")
    u, v = np.meshgrid(*[centred_grid(COUNT, 1 / (COUNT * SPACING))] * 2, indexing="ij")
    wide = 0.7  # the scale of the second axis, so that the axes differ
    bump = np.exp(-((x - shift) ** 2) / (2 * scale**2) - (y + 2 * shift) ** 2 / (2 * wide**2))
    slopes = np.stack([-(x - shift) / scale**2, -(y + 2 * shift) / wide**2]) * bump
    size = 2 * np.pi * scale * wide
    turn = np.exp(-2j * np.pi * (u - 2 * v) * shift)
    closed = size * np.exp(-2 * np.pi**2 * (scale**2 * u**2 + wide**2 * v**2)) * turn
    # On the line: neither factor even, the integrals written out as sums over the grid.
    t, f = centred_grid(COUNT, SPACING), centred_grid(COUNT, 1 / (COUNT * SPACING))
    g = (1 + t) * np.exp(-((t - shift) ** 2) / (2 * scale**2)) * np.cos(3 * t)
    h = np.exp(-(t**2) / (2 * wide**2)) * (2 - t)
    waves = np.exp(-2j * np.pi * np.outer(f, t)) * SPACING
    product = (waves @ g) * (waves @ h)
    direct = np.convolve(g, h)[COUNT // 2 : COUNT // 2 + COUNT] * SPACING
    # Tails of the bumps at the edge of grid and dual grid.
    close: dict[str, Any] = dict(scale=size, size=float(COUNT**2), error=1e-9)
    return {
        "transform of a shifted bump": Identity(parts(fourier_transform(bump, SPACING)), parts(closed), **close),
        "transform of its gradient": Identity(
            parts(np.stack([fourier_transform(each, SPACING) for each in slopes])),
            parts(transform_of_gradient(closed, SPACING)),
            **close,
        ),
        "inverse transform": Identity(parts(inverse_fourier_transform(closed, SPACING)), parts(bump + 0j), **close),
        "transform of a convolution": Identity(
            parts(fourier_transform(direct, SPACING)),
            parts(product),
            along={"frequency": f, "part": ["real", "imaginary"]},
            aside={"correlation": parts(np.conj(waves @ g) * (waves @ h)), "factors": np.abs([waves @ g, waves @ h])},
            **close,
        ),
        "convolution by the inverse transform": Identity(
            np.stack([direct, convolution(g, h, SPACING)]),
            np.stack([np.real(np.conj(waves.T) @ product) / (COUNT * SPACING**2)] * 2),
            aside={"position": t, "factors": np.stack([g, h])},
            **close,
        ),
    }


@fourier_transform_rules.control("the other sign in the exponent", of="transform of a shifted bump")
def conjugated(evidence):
    return replace(evidence, right=evidence.right * np.array([1.0, -1.0]))


@fourier_transform_rules.control("iω f̂, the rule of angular frequencies", of="transform of its gradient")
def angular_gradient(evidence):
    return replace(evidence, right=evidence.right / (2 * np.pi))


@fourier_transform_rules.control("with the factor (2π)⁻ᵈ of angular frequencies", of="inverse transform")
def angular_inverse(evidence):
    return replace(evidence, left=evidence.left / (2 * np.pi) ** 2)


@fourier_transform_rules.control("the product for a correlation, one factor conjugate", of="transform of a convolution")
def correlation(evidence):
    return replace(evidence, right=evidence.aside["correlation"])


@fourier_transform_rules.control("the product of the functions", of="convolution by the inverse transform")
def pointwise(evidence):
    return replace(evidence, right=np.stack([np.prod(evidence.aside["factors"], axis=0)] * 2))


@fourier_transform_rules.picture
def product_of_transforms(pieces):
    """Two functions and their convolution (left), and the sizes of their transforms (right)."""
    seen, found = pieces["convolution by the inverse transform"], pieces["transform of a convolution"]
    t, f = seen.aside["position"], found.along["frequency"]
    left = [Line(name, t, each) for name, each in zip(("g", "h"), seen.aside["factors"], strict=True)]
    right = [Line(name, f, each) for name, each in zip(("g", "h"), found.aside["factors"], strict=True)]
    result = np.linalg.norm(found.left, axis=-1)
    return Row(
        [
            Curves([*left, Line("g ∗ h", t, seen.left[0])], x="position x", y="value", xs=(-5, 6)),
            Curves(
                [*right, Line("g ∗ h", f, result)], x="frequency ω", y="size of the transform", log="y", xs=(0, 2),
                ys=(1e-6, 20),
            ),
        ]
    )  # fmt: skip
