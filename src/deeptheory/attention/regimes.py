"""Where tokens cluster: one traced function of temperature and dimension, made for phase diagrams.

Reference: jagannath Fig. 14.2.1 and Sec. 14.2.2.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from deeptheory.attention.clusters import token_flow
from deeptheory.foundations.arrays import AnyArray, Scalar
from deeptheory.foundations.entrances import doors

__all__ = ["clustered_share", "metastable_share", "padded_tokens", "share_after"]


def padded_tokens(key: Key[Array, ""], dimension: Scalar, *, count: int, most: int) -> Float[Array, "count most"]:
    """Uniform tokens on the sphere of a traced dimension, in `most` coordinates of which the last ones are zero.

    What is zero stays exactly zero under self-attention with identity matrices, so one compiled program serves all
    dimensions up to `most`. Beyond `count` dimensions nothing more happens in the flow than in `count` of them: the
    tokens never leave their span.
    """
    drawn = jnp.where(jnp.arange(most) < dimension, jax.random.normal(key, (count, most)), 0.0)
    return drawn / jnp.linalg.norm(drawn, axis=-1, keepdims=True)


def clustered_share(tokens: Float[AnyArray, "n d"], tolerance: Scalar = 1e-3) -> Float[Array, ""]:
    """Share of the pairs of tokens that overlap by more than 1 − tolerance: 1 in a single cluster.

    Ordered pairs of different tokens; rows are unit vectors.
    """
    tokens = jnp.asarray(tokens)
    count = tokens.shape[0]
    close = jnp.sum(tokens @ tokens.T > 1 - tolerance) - count
    return close / (count * (count - 1))


def share_after(
    key: Key[Array, ""],
    inverse_temperature: Scalar,
    dimension: Scalar,
    time: Scalar = 30.0,
    *,
    count: int = 64,
    most: int = 64,
    steps: int = 120,
) -> Float[Array, ""]:
    """Share of pairs of `count` random tokens that are together after a time: a point of the clustering diagram.

    Traced in temperature, dimension and time, so a whole diagram is one compiled call:
    `dt.phase_diagram(share_after, {"inverse_temperature": [0.5, 1.0], "dimension": [2.0, 3.0]})`, with dimensions
    written as floats. Runge–Kutta of order four in `steps` steps. `most` bounds the dimensions that are asked for; it
    is the width of the arrays. Reference: jagannath Fig. 14.2.1.
    """
    tokens = padded_tokens(key, dimension, count=count, most=most)
    times = jnp.asarray(time, tokens.dtype)[None]
    return clustered_share(token_flow(tokens, times, inverse_temperature, substeps=steps)[-1])


def metastable_share(
    key: Key[Array, ""],
    inverse_temperature: Scalar,
    dimension: Scalar,
    early: Scalar = 5.0,
    late: Scalar = 30.0,
    tolerance: Scalar = 1e-3,
    *,
    count: int = 64,
    most: int = 64,
    steps: int = 120,
) -> Float[Array, ""]:
    """Share of pairs of tokens that sit in different clusters early, and still do so late: metastability's diagram.

    A token sits in a cluster if it overlaps with another by more than 1 − tolerance. So the share is 0 where all are
    together before `late`, and 0 where they are still scattered at `early`; it is near 1 − 1/k with k equal clusters
    that wait. Traced like `share_after`, with `steps` steps up to either time. `most` bounds the dimensions, as there.
    Reference: jagannath Sec. 14.2.
    """
    tokens = padded_tokens(key, dimension, count=count, most=most)
    times = jnp.stack([jnp.asarray(each, tokens.dtype) for each in (early, late)])
    path = token_flow(tokens, times, inverse_temperature, substeps=steps)
    before, after = path @ path.swapaxes(-1, -2) > 1 - tolerance
    settled = jnp.sum(before, -1) > 1
    return jnp.sum(settled[:, None] & settled & ~before & ~after) / (count * (count - 1))


doors(
    __name__,
    dimension="[1, ∞)",
    count="[2, 1e4]",
    most="[1, 1e4]",
    steps="[1, 1e6]",
    time="[0, 1e4]",
    early="[0, 1e4]",
    late="[0, 1e4]",
    tolerance="(0, 2]",
    inverse_temperature="[0, ∞)",
)
