"""Generator against discriminator: the objective with a measuring function, its optima on finite laws, and training.

The objective is E_real f(D(x)) + E_h f(1 − D(G(h))) with D in [0, 1]; f = log is Goodfellow's, f = identity compares
means of D.

`real` and `synthetic` are laws μ and ν on a finite set, `measure` is "log" or "identity".

Reference: arora 16.2; Goodfellow et al. 2014.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from deeptheory.foundations.arrays import AnyArray
from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import affordable, among, inside, laws
from deeptheory.networks.mlp import MLP

__all__ = [
    "AdversarialTraining",
    "best_discriminator",
    "gan_value",
    "generator_weights",
    "mode_shares",
    "modes_covered",
    "train_adversarially",
]

MEASURES = ("log", "identity")
OBJECTIVES = ("saturating", "non-saturating", "identity")
Law = Float[np.ndarray, "*#batch n"]


class AdversarialTraining(NamedTuple):
    """Both networks after training, and the value of the objective on each round's batch, before that round."""

    generator: MLP
    discriminator: MLP
    values: Float[Array, " rounds"]


def gan_value(
    real: Law, synthetic: Law, discriminator: Float[np.ndarray, "*#batch n"], measure: str = "log"
) -> Float[np.ndarray, "*batch"] | float:
    """E_real f(D) + E_synthetic f(1 − D) of laws on a finite set and a discriminator given by its values in [0, 1].

    −∞ where f = log and the discriminator is wrong with certainty. Reference: arora (16.3).
    """
    laws(real=real, synthetic=synthetic)
    among(MEASURES, measure=measure)
    inside(0, 1, discriminator=discriminator)
    with np.errstate(divide="ignore"):
        yes, no = (np.log(d) if measure == "log" else d for d in (discriminator, 1 - discriminator))
    seen = (np.where(law > 0, np.where(law > 0, law, 1.0) * f, 0.0) for law, f in ((real, yes), (synthetic, no)))
    return np.sum(sum(seen), axis=-1)


def best_discriminator(real: Law, synthetic: Law, measure: str = "log") -> Float[np.ndarray, "*batch n"]:
    """The unrestricted discriminator that maximises `gan_value`: μ/(μ+ν) for the logarithm, 1{μ > ν} for the identity.

    The maximum is 2·JS(μ, ν) − log 4 for the logarithm and 1 + TV(μ, ν) for the identity. Where neither law has mass
    any value will do, and ½ or 0 is given. Reference: arora Problem 16.2.2.
    """
    laws(real=real, synthetic=synthetic)
    among(MEASURES, measure=measure)
    if measure == "identity":
        return (real > synthetic).astype(float)
    both = real + synthetic
    return np.where(both > 0, real / np.where(both > 0, both, 1.0), 0.5)


def generator_weights(outputs: Float[np.ndarray, "..."], objective: str = "non-saturating") -> Float[np.ndarray, "..."]:
    """How strongly a synthetic sample pulls on the generator, |d loss/dD|, by the discriminator's output D in (0, 1).

    1/D for maximising log D (non-saturating), which dwells on samples found terrible; 1/(1−D) for minimising
    log(1−D), as the min-max objective has it, which is flat on them; 1 for the identity. Reference: arora 16.2.
    """
    inside(0, 1, "()", outputs=outputs)
    among(OBJECTIVES, objective=objective)
    if objective == "identity":
        return np.ones_like(outputs)
    return 1 / (outputs if objective == "non-saturating" else 1 - outputs)


def mode_shares(
    points: Float[np.ndarray, "*batch n d"], centres: Float[np.ndarray, "modes d"], *, radius: float
) -> Float[np.ndarray, "*batch modes"]:
    """The share of the points within the radius of each centre; discs that overlap count a point twice.

    Beside the shares of the data this tells a generator that misses modes, and one that sprays between them, where
    `modes_covered` asks for a single point. Half the sum of |differences| over disjoint discs and the rest is a lower
    bound of the total variation. `centres` has one a row; the distance is Euclidean. Reference: arora 16.3.
    """
    affordable(distances=(points[..., 0].size, *centres.shape))
    near = np.linalg.norm(points[..., None, :] - centres, axis=-1) <= radius
    return near.mean(-2)


def modes_covered(points: Float[np.ndarray, "n d"], centres: Float[np.ndarray, "modes d"], *, radius: float) -> int:
    """How many centres have a point within the radius.

    `points` and `centres` are one a row; the distance is Euclidean, and a point at the radius itself counts.
    """
    distances = np.linalg.norm(points[:, None] - centres, axis=-1)
    return int(np.sum(distances.min(axis=0) <= radius))


def train_adversarially(
    key: Key[Array, ""],
    data: Float[AnyArray, "n d"],
    generator: MLP,
    discriminator: MLP,
    *,
    objective: str = "non-saturating",
    rounds: int = 1000,
    batch: int = 64,
    discriminator_steps: int = 1,
    rate: float = 1e-3,
) -> AdversarialTraining:
    """Train a GAN: alternate moves of a discriminator and a generator, each by Adam on fresh minibatches.

    The generator maps standard normal seeds to points, the discriminator's single output is a logit. In a round the
    discriminator ascends the objective `discriminator_steps` times, then the generator takes one step back-propagated
    through it: it descends E log(1−D(G)) (saturating), ascends E log D(G) (non-saturating) or E D(G) (identity), and
    never sees the data. Nothing guarantees convergence; look at the values. Reference: arora 16.2, ideas 1 to 3.
    """
    among(OBJECTIVES, objective=objective)
    if discriminator.weights[0].shape[-1] != data.shape[1] or generator.weights[-1].shape[-2] != data.shape[1]:
        raise ValueError(f"generator must end and discriminator begin with the {data.shape[1]} coordinates of the data")
    data, seeds = jnp.asarray(data), generator.weights[0].shape[-1]
    optimizer = optax.adam(rate, b1=0.5)

    def terms(judge: MLP, points: Array, sign: float) -> Array:
        logits = sign * judge(points)[:, 0]
        return jax.nn.sigmoid(logits) if objective == "identity" else jax.nn.log_sigmoid(logits)

    def value(judge: MLP, maker: MLP, real: Array, noise: Array) -> Array:
        return jnp.mean(terms(judge, real, 1.0)) + jnp.mean(terms(judge, maker(noise), -1.0))

    def wish(maker: MLP, judge: MLP, noise: Array) -> Array:
        if objective == "saturating":
            return jnp.mean(terms(judge, maker(noise), -1.0))
        return -jnp.mean(terms(judge, maker(noise), 1.0))

    def drawn(key: Array) -> tuple[Array, Array]:
        which, noise = jax.random.split(key)
        rows: Int[Array, " b"] = jax.random.randint(which, (batch,), 0, len(data))
        return data[rows], jax.random.normal(noise, (batch, seeds), data.dtype)

    def judged(state: tuple, key: Array) -> tuple[tuple, Array]:
        judge, memory, maker = state
        real, noise = drawn(key)
        now, slope = jax.value_and_grad(lambda judge: -value(judge, maker, real, noise))(judge)
        step, memory = optimizer.update(slope, memory)
        return (optax.apply_updates(judge, step), memory, maker), -now

    def one_round(state: tuple, key: Array) -> tuple[tuple, Array]:
        judge, maker, judge_memory, maker_memory = state
        *keys, last = jax.random.split(key, discriminator_steps + 1)
        (judge, judge_memory, _), values = jax.lax.scan(judged, (judge, judge_memory, maker), jnp.stack(keys))
        slope = jax.grad(wish)(maker, judge, drawn(last)[1])
        step, maker_memory = optimizer.update(slope, maker_memory)
        return (judge, optax.apply_updates(maker, step), judge_memory, maker_memory), values[0]

    judge, maker = (jax.tree.map(jnp.asarray, net) for net in (discriminator, generator))
    start = judge, maker, optimizer.init(eqx.filter(judge, eqx.is_array)), optimizer.init(maker)
    (judge, maker, *_), values = jax.lax.scan(one_round, start, jax.random.split(key, rounds))
    return AdversarialTraining(maker, judge, values)


doors(
    __name__, rounds="[1, 500000]", batch="[1, 1e5]", discriminator_steps="[1, 100]", rate="(0, 10]",
    radius="[0, ∞)",
)  # fmt: skip
