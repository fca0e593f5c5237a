"""Critical points of the interaction energy are consensus or strict saddles (jagannath, chapter 14)."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

from deeptheory.attention.clusters import interaction_energy, random_tokens, token_flow
from deeptheory.attention.saddles import (
    balanced_spectrum,
    bipolar_spectrum,
    bipolar_tokens,
    energy_hessian,
    saddle_index,
    tangent_bases,
)
from deeptheory.lab import Chance, Exact, Identity, Trials, claim
from deeptheory.lab.pictures import Curves, Dots, Line


@jax.jit
def hessians(tokens, bases):
    """Second derivative of E₀ by automatic differentiation, tokens moved along their tangents and renormalized."""

    def energy(along, tokens, bases):
        moved = tokens + jnp.einsum("it,itd->id", along, bases)
        return interaction_energy(moved / jnp.linalg.norm(moved, axis=-1, keepdims=True))

    still = jnp.zeros(bases.shape[1:-1])
    size = still.size
    return jax.vmap(lambda x, b: jax.hessian(energy)(still, x, b).reshape(size, size))(tokens, bases)


@jax.jit
def followed(starts, times):
    """Where each set of tokens is at its time."""
    return jax.vmap(lambda tokens, time: token_flow(tokens, time[None], 0.0, substeps=300)[-1])(starts, times)


@claim(
    items={
        "J14.10": (
            "spectrum of the Hessian",
            "number of directions of escape",
            "rate of escape",
            "no end at a saddle",
        )
    },
    says=r"Critical points of $E_0=\frac1n\sum_{ij}\langle x_i,x_j\rangle$ but consensus are strict saddles. With "
    r"$p>q$ tokens at two poles the Hessian has eigenvalues $\pm\frac2n(p-q)$, 0, 2 and $q(d-1)$ directions of escape; "
    r"where the mean is zero, those of $2(I-C)$.",
    needs="uniform attention, β = 0",
    symbols={
        r"E_0": "the interaction energy, which tokens climb at half its gradient",
        r"x_i": "token $i$, a unit vector of $d$ coordinates",
        r"n": "the number of tokens",
        r"p,q": "how many tokens are at either pole, $p+q=n$",
        r"C": r"the second moment of the tokens, $\frac1n\sum_ix_ix_i^\top$",
    },
    why=r"Where all stand still, every token is parallel or opposite to the mean, or the mean is zero. Moving by "
    r"$u_i$ along the sphere changes $E_0$ to second order by $\frac1n(|\sum u_i|^2-\sum_i\langle x_i,\sum_jx_j\rangle"
    r"|u_i|^2)$. A token at the smaller pole is opposite to the sum of all, so it gains by moving; with mean "
    r"zero only the first term is left, and it is positive when all move one way. The stable set of a point with an "
    "unstable direction is a surface of lower dimension.",
    notice=r"Only without tokens at the smaller pole, in consensus, is no eigenvalue positive. The branch that rises "
    "to the left is the tokens of the smaller pole leaving one by one; the eigenvalue 2 is both poles leaning one way.",
    full=dict(trials=1000, share=0.01),
)
def saddles_of_the_energy_are_strict(
    key,
    *,
    pairs: Annotated[int, Interval(ge=2, le=5)] = 4,
    dimension: Annotated[int, Interval(ge=2, le=6)] = 3,
    trials: Trials = 256,
    share: Annotated[float, Interval(ge=0.001, le=0.5)] = 0.05,
    push: Annotated[float, Interval(ge=0.0, le=0.01)] = 1e-4,
):
    count = 2 * pairs
    smaller = np.arange(pairs + 1)
    poles = np.stack([bipolar_tokens(count - q, q, dimension) for q in range(pairs + 1)])
    half = random_tokens(key, pairs, dimension)
    balanced = np.concatenate([half, -half])
    critical = np.concatenate([poles, balanced[None]])
    bases = np.stack([tangent_bases(each) for each in critical])
    found = np.linalg.eigvalsh(np.asarray(hessians(critical, bases)))
    spectra = [*(bipolar_spectrum(count - q, q, dimension) for q in range(pairs + 1)), balanced_spectrum(balanced)]
    escapes = [*np.where(smaller < pairs, smaller, 1) * (dimension - 1), dimension]

    # Eigenvectors of each saddle with the largest and with the least positive eigenvalue, followed for a while.
    saddles, length, time = critical[1:], 1e-5, 2.0
    levels, vectors = np.linalg.eigh(np.stack([energy_hessian(each) for each in saddles]))
    least = np.argmax(levels > 1e-9, axis=1)
    each = np.arange(len(saddles))
    rates = np.stack([levels[:, -1], levels[each, least]])
    ways = np.stack([vectors[:, :, -1], vectors[each, :, least]]).reshape(2, len(saddles), count, -1)
    pushed = saddles + length * np.einsum("ksit,sitd->ksid", ways, bases[1:])
    pushed /= np.linalg.norm(pushed, axis=-1, keepdims=True)
    places = np.tile(poles[1:], (-(-trials // pairs), 1, 1))[:trials]
    moved = places + push * random_tokens(jax.random.fold_in(key, 1), trials, count, dimension)
    moved /= np.linalg.norm(moved, axis=-1, keepdims=True)
    # The slowest escape grows at rate 1/n at least, and 150 leaves it room from pushes a hundred times smaller.
    starts = np.concatenate([pushed.reshape(-1, count, dimension), moved])
    ends = np.asarray(followed(starts, np.repeat([time, 150.0], [2 * len(saddles), trials])))
    left, last = ends[: 2 * len(saddles)].reshape(pushed.shape), ends[2 * len(saddles) :]
    grown = np.log(np.linalg.norm(left - saddles, axis=(-1, -2)) / length) / time
    failures = int(np.sum(np.min(last @ last.swapaxes(-1, -2), axis=(-1, -2)) < 1 - 1e-6))
    along = {"tokens at the smaller pole": [*map(str, smaller), "mean zero"]}
    return {
        "spectrum of the Hessian": Identity(
            found,
            np.stack(spectra),
            scale=2.0,
            size=count * dimension,
            along=along,
            aside={"lean": 2 * (count - 2 * smaller) / count, "smaller": smaller},
        ),
        "number of directions of escape": Exact(
            [saddle_index(each) for each in critical],
            np.array(escapes),
            along=along,
            aside={"others": (dimension - 1) * np.maximum(np.append(smaller, 1) - 1, 0)},
        ),
        # A displacement of 1e-5 grows at its own rate up to its square.
        "rate of escape": Identity(grown, rates / 2, scale=1.0, error=1e-6),
        # The lemma says never; a share is what finitely many starts can exclude.
        "no end at a saddle": Chance(failures, trials, share),
    }


@saddles_of_the_energy_are_strict.control("eigenvalues of half the energy", of="spectrum of the Hessian")
def half_energy(evidence):
    return replace(evidence, right=evidence.right / 2)


@saddles_of_the_energy_are_strict.control(
    "one direction less in each coordinate, without both poles leaning one way", of="number of directions of escape"
)
def without_leaning(evidence):
    return replace(evidence, right=evidence.aside["others"])


@saddles_of_the_energy_are_strict.control("the eigenvalue itself, as under ascent of E₀", of="rate of escape")
def whole_gradient(evidence):
    return replace(evidence, right=2 * evidence.right)


saddles_of_the_energy_are_strict.control("starts exactly at the saddles", of="no end at a saddle", push=0.0)


@saddles_of_the_energy_are_strict.picture
def eigenvalues(pieces):
    """Eigenvalues of the Hessian with the tokens at two poles: closed form (lines) and automatic differentiation."""
    found = pieces["spectrum of the Hessian"]
    smaller, lean = np.asarray(found.aside["smaller"]), np.asarray(found.aside["lean"])
    seen = np.asarray(found.left)[: len(smaller)]
    some = smaller[smaller > 0]
    marks = [
        Line("−2(p−q)/n: the larger pole holds", smaller, -lean),
        Line("2(p−q)/n: the smaller pole leaves", some, lean[1:]),
        Line("2: both poles lean one way", some, np.full(len(some), 2.0)),
        Dots("eigenvalues", np.repeat(smaller, seen.shape[1]), seen.ravel()),
    ]
    return Curves(marks, x="tokens at the smaller pole q", y="eigenvalue of the Hessian")
