"""The critical points of the dropout autoencoder: unequal columns, which lead down, and the list of all points."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.claims.regularization.autoencoder import AutoencoderLoss, descent_ends, rotated
from deeptheory.foundations.randomness import generator
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Level
from deeptheory.landscapes.critical_points import find_critical_points
from deeptheory.regularization.autoencoder import (
    autoencoder_gradient,
    autoencoder_loss,
    equalizing_curvature,
    equalizing_turn,
    turned_pair,
)
from deeptheory.regularization.catalogue import (
    dropout_critical_points,
    lifted,
    lifted_curvature,
    swap_curvature,
    swapped,
)

Strength = Annotated[float, Interval(ge=0.0, le=20.0)]

losses = jax.jit(jax.vmap(autoencoder_loss))
gradients = jax.jit(jax.vmap(autoencoder_gradient))
curvatures = jax.jit(jax.vmap(equalizing_curvature))


@jax.jit
@jax.vmap
def turns(weights, distance):
    """The weights after the turn that moves length from the longest to the shortest column, its sine, the reverse."""
    first, second, sine = equalizing_turn(weights, distance)
    return turned_pair(weights, first, second, sine), sine, turned_pair(weights, first, second, -sine)


@jax.jit
@jax.vmap
def bend_of_turning(weights, matrix, strength):
    """The second derivative of the loss as the longest and the shortest column turn into each other."""
    norms = jnp.sum(weights**2, axis=0)
    along = lambda sine: turned_pair(weights, jnp.argmax(norms), jnp.argmin(norms), sine)  # noqa: E731
    return jax.grad(jax.grad(lambda sine: autoencoder_loss(along(sine), matrix, strength)))(0.0)


@claim(
    items={
        "A11.26": "lengths of the columns at minima",
        "A11.27": ("change of the loss", "way that was gone", "product"),
        "A11.30": "curvature of turning",
    },
    says=r"At local minima all columns have one length. Elsewhere a small rotation of the longest, $u_1$, and the "
    r"shortest, $u_2$, keeps $UU^\top$, lowers the loss and moves by "
    r"$\sqrt{2(1-\sqrt{1-\delta^2})(\|u_1\|^2+\|u_2\|^2)}$; at critical points its curvature is "
    r"$-4\lambda(\|u_1\|^2-\|u_2\|^2)^2$.",
    needs=r"$\lambda>0$",
    symbols={
        "U": "the weights, a column for each hidden unit",
        r"u_1,u_2": "its longest and its shortest column",
        r"\delta": "the sine of the angle of the rotation",
        r"\lambda": "the strength of dropout",
    },
    why=r"The loss sees $UU^\top$ only, and that is the same after a rotation of columns. The penalty "
    r"$\sum_i\|u_i\|^4$ is convex in the squared lengths, whose sum a rotation keeps: moving some length from the "
    r"longest to the shortest lowers it. At a critical point the two are orthogonal, or a rotation would lower the "
    r"loss at first order; at second order the squared lengths move by $\delta^2(\|u_1\|^2-\|u_2\|^2)$ each.",
    notice=r"The change of the loss is negative for every weight matrix and every size of the rotation, the more so "
    r"the more the lengths differ. Rotated the other way, the loss of most rises at first.",
    full=dict(matrices=64),
)
def unequal_columns_lead_down(
    key,
    *,
    strength: Strength = 0.7,
    matrices: Annotated[int, Interval(ge=4, le=1000)] = 16,
):
    draw = generator(key)
    spectra = -np.sort(-draw.uniform(0.3, 3.0, (matrices, 3)), axis=1)
    targets, _ = rotated(draw, spectra)
    powers = np.full(matrices, strength)
    ends, _ = map(np.asarray, descent_ends(draw.standard_normal((matrices, 3, 3)), targets, powers))
    lengths = np.sum(ends**2, axis=1)
    # Weights that are nothing special, and how far they may be moved.
    weights, far = draw.standard_normal((matrices, 3, 3)), np.exp(draw.uniform(-6, -3, matrices))
    moved, sines, wrong = map(np.asarray, turns(weights, far))
    before, after, reverse = (np.asarray(losses(each, targets, powers)) for each in (weights, moved, wrong))
    norms = np.sum(weights**2, axis=1)
    pair = norms.max(1) + norms.min(1)
    listed = [
        (each, matrix)
        for matrix in targets[:4]
        for each in dropout_critical_points(matrix, 3, strength)
        if not each.equalized
    ]
    points = np.asarray([each.weights for each, _ in listed])
    owners = np.asarray([matrix for _, matrix in listed])
    shared = np.full(len(points), strength)
    return {
        "lengths of the columns at minima": Identity(
            lengths, lengths.mean(1, keepdims=True), scale=spectra[:, :1], error=1e-7
        ),
        "change of the loss": Inequality(
            after - before,
            0.0,
            scale=before,
            aside={"other way": reverse - before, "difference": norms.max(1) - norms.min(1), "sine": sines},
        ),
        "way that was gone": Identity(
            np.linalg.norm(moved - weights, axis=(1, 2)) ** 2,
            2 * (1 - np.sqrt(1 - sines**2)) * pair,
            scale=pair,
            aside={"to first order": sines**2 * pair, "allowed": far},
        ),
        "product": Identity(moved @ np.swapaxes(moved, 1, 2), weights @ np.swapaxes(weights, 1, 2), scale=10.0),
        "curvature of turning": Identity(
            np.asarray(bend_of_turning(points, owners, shared)),
            np.asarray(curvatures(points, shared)),
            scale=100.0,
            aside={"strength": strength},
        ),
    }


unequal_columns_lead_down.control("without dropout", of="lengths of the columns at minima", strength=0.0)


@unequal_columns_lead_down.control("the rotation the other way", of="change of the loss")
def other_way(evidence):
    return replace(evidence, quantity=evidence.aside["other way"])


@unequal_columns_lead_down.control("without λ, as the display has it", of="curvature of turning")
def without_strength(evidence):
    return replace(evidence, right=evidence.right / evidence.aside["strength"])


@unequal_columns_lead_down.control("half the curvature", of="curvature of turning")
def half(evidence):
    return replace(evidence, right=evidence.right / 2)


@unequal_columns_lead_down.picture
def falls(pieces):
    """The change of the loss over the sine of the rotation, against the difference of squared lengths."""
    piece = pieces["change of the loss"]
    difference, sine = (np.asarray(piece.aside[name]) for name in ("difference", "sine"))
    order = np.argsort(difference)
    marks = [
        Dots("rotated", difference[order], (np.asarray(piece.quantity) / np.abs(sine))[order]),
        Dots(
            "rotated",
            difference[order],
            (np.asarray(piece.aside["other way"]) / np.abs(sine))[order],
            rival="the other way",
        ),
        Level("no change", y=0.0),
    ]
    return Curves(marks, x="difference of the squared lengths", y="change of the loss over the sine of the angle")


@claim(
    items={
        "A11.31": ("critical points found are listed", "gradient at listed points"),
        "A11.32": "loss along the lifting curve",
        "A11.33": "loss along the swapping curve",
    },
    says=r"Equalized critical points keep a set $E$ of $r'$ eigenvectors, with "
    r"$\sigma_i^2=\lambda_i-\lambda\sum_E\lambda_j/(d_1+\lambda r')>0$; all others are made of such, one for each "
    r"length of columns. Raising all $\sigma_i^2$ by $t^2$, or exchanging an eigenvector, changes the loss by a "
    r"polynomial in $t$.",
    needs="distinct eigenvalues of $M$",
    symbols={
        "E": "which eigenvectors of $M$ the weights keep",
        "r'": "their number, the rank of the weights",
        r"\sigma_i": "the singular values of the weights",
        r"\lambda_i": "the eigenvalues of $M$",
        r"\lambda": "the strength of dropout",
        "d_1": "the number of hidden units",
        "t": "the time along a curve",
    },
    why=r"With all columns of one length the penalty's gradient is a multiple of $U$, and $\nabla=0$ reads $MU=UU^\top "
    r"U+cU$: the left singular vectors are eigenvectors of $M$, and $\sigma_i^2=\lambda_i-c$ with $c$ fixed by the "
    "sum. Columns of different length are orthogonal at a critical point, or turning them would lower the loss; so "
    "each length has its own eigenvectors, and the same equation.",
    notice="Every point that the search finds, whatever its start, has the loss and the size of a listed one. The "
    "search finds few of them, the list has all.",
    full=dict(matrices=8, starts=200),
)
def equalized_critical_points(
    key,
    *,
    width: Annotated[int, Interval(ge=2, le=3)] = 2,
    matrices: Annotated[int, Interval(ge=1, le=100)] = 3,
    starts: Annotated[int, Interval(ge=5, le=1000)] = 40,
):
    draw = generator(key)
    spectra = np.cumsum(draw.uniform(0.2, 1.0, (matrices, 3)), axis=1)[:, ::-1]
    targets, bases = rotated(draw, spectra)
    strengths = np.exp(draw.uniform(-2, 0.5, matrices))
    seen, nearest, points, owners, powers, sizes, columns, lifts, swaps = [], [], [], [], [], [], [], [], []
    for matrix, basis, spectrum, strength in zip(targets, bases, spectra, strengths, strict=True):
        listed = {d1: dropout_critical_points(matrix, d1, strength) for d1 in (2, 3)}
        found = find_critical_points(
            AutoencoderLoss(jnp.asarray(matrix), jnp.asarray(strength)),
            jnp.asarray(draw.standard_normal((starts, 3 * width))),
        )
        kept = np.asarray(found.slope) < 1e-9
        known = np.asarray([described(each.weights, each.value) for each in listed[width]])
        marks = [
            described(flat.reshape(3, width), value)
            for flat, value in zip(np.asarray(found.position)[kept], np.asarray(found.value)[kept], strict=True)
        ]
        seen += marks
        nearest += [known[np.argmin(np.abs(known - each).sum(1))] for each in np.asarray(marks)]
        for each in (*listed[2], *listed[3]):
            d1 = each.weights.shape[1]
            points.append(np.pad(each.weights, ((0, 0), (0, 3 - d1))))  # a column of zeros changes nothing
            owners.append(matrix)
            powers.append(strength)
            sizes.append(spectrum[0])
            columns.append(d1)
            chosen = each.groups[0][1]
            if not each.equalized:
                continue
            if chosen == tuple(range(len(chosen))) and len(chosen) < d1:
                lifts += [lift(each, matrix, spectrum, strength, t) for t in (0.2, 0.7, 1.5)]
            for lost in chosen:
                for gained in set(range(lost)) - set(chosen):
                    square = float(np.sum((basis[:, lost] @ each.weights) ** 2))
                    turned = lambda t, u=each.weights, w=basis[:, lost], v=basis[:, gained]: swapped(u, w, v, t)  # noqa: E731
                    bend = swap_curvature(square, spectrum[lost], spectrum[gained])
                    swaps += [(change(turned(t), each, matrix, strength), bend * t**2 / 2, t) for t in (0.1, 0.6, 1.0)]
    lifts, swaps = np.asarray(lifts), np.asarray(swaps)
    slopes = np.asarray(gradients(np.asarray(points), np.asarray(owners), np.asarray(powers)))
    return {
        "critical points found are listed": Identity(np.asarray(seen), np.asarray(nearest), scale=10.0, error=1e-7),
        "gradient at listed points": Identity(
            slopes,
            0.0,
            scale=np.asarray(sizes)[:, None, None] ** 1.5,
            size=100,
            aside={
                "weights": np.asarray(points),
                "targets": np.asarray(owners),
                "strengths": np.asarray(powers),
                "columns": np.asarray(columns),
            },
        ),
        "loss along the lifting curve": Identity(
            lifts[:, 0], lifts[:, 1], scale=100.0, aside={"without rank": lifts[:, 2]}
        ),
        "loss along the swapping curve": Identity(swaps[:, 0], swaps[:, 1], scale=100.0, aside={"times": swaps[:, 2]}),
    }


def described(weights, value):
    """What tells one critical point from another up to rotations: loss, squared lengths, squared singular values."""
    lengths, squares = np.sort((weights**2).sum(0)), np.linalg.svd(weights, compute_uv=False) ** 2
    return np.concatenate([[value], lengths, squares])


def change(weights, point, matrix, strength):
    """How much the loss differs from that of a critical point, in NumPy."""
    value = ((matrix - weights @ weights.T) ** 2).sum() + strength * ((weights**2).sum(0) ** 2).sum()
    return value - point.value


def lift(point, matrix, spectrum, strength, time):
    """The change of the loss along the lifting curve, its polynomial, and that with d₁ for d₁ + λr′."""
    width, rank = point.weights.shape[1], len(point.groups[0][1])
    bend, tail = lifted_curvature(spectrum, rank, width, strength), 4 * spectrum[rank:width].sum()
    rival = (bend + tail) * (width + strength * rank) / width - tail
    quartic = (1 + strength) * width * time**4
    changed = change(lifted(point.weights, matrix, time), point, matrix, strength)
    return changed, bend * time**2 / 2 + quartic, rival * time**2 / 2 + quartic


@equalized_critical_points.control("squared lengths times d₁/(d₁ + λr′)", of="gradient at listed points")
def without_rank(evidence):
    weights, targets, strengths, columns = (
        np.asarray(evidence.aside[name]) for name in ("weights", "targets", "strengths", "columns")
    )
    ranks = np.sum(np.linalg.svd(weights, compute_uv=False) > 1e-9, axis=1)
    # The same directions, all columns shorter.
    factor = np.sqrt((columns + strengths * ranks) / columns)[:, None, None]
    return replace(evidence, left=np.asarray(gradients(weights / factor, targets, strengths)))


@equalized_critical_points.control("d₁ for d₁ + λr′ in the curvature", of="loss along the lifting curve")
def lifted_without_rank(evidence):
    return replace(evidence, right=evidence.aside["without rank"])


@equalized_critical_points.control("t counted twice, as the display has it", of="loss along the swapping curve")
def twice(evidence):
    return replace(evidence, right=evidence.right * evidence.aside["times"] ** 2)


@equalized_critical_points.picture
def found_and_listed(pieces):
    """Loss and size of the critical points: those found by search, on those of the list."""
    found = np.asarray(pieces["critical points found are listed"].left)
    piece = pieces["gradient at listed points"]
    size = (found.shape[1] - 1) // 2  # the number of columns
    same = np.asarray(piece.aside["columns"]) == size
    weights, targets, strengths = (np.asarray(piece.aside[name])[same] for name in ("weights", "targets", "strengths"))
    everything = np.asarray(losses(weights, targets, strengths))
    marks = [
        Dots("listed", (weights**2).sum((1, 2)), everything),
        Dots("found by search", found[:, 1 : 1 + size].sum(1), found[:, 0]),
    ]
    return Curves(marks, x="squared norm of the weights", y="loss")
