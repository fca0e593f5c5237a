"""Random affine maps of channels: the layer that makes everything Gaussian."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from deeptheory.foundations.entrances import doors
from deeptheory.kernels.layers.layer import Layer, Scalar, biased, check_shape, normal, one_block, scaled, whole
from deeptheory.kernels.limits.arcs import root
from deeptheory.kernels.limits.block import Block, left_of, right_of, variances
from deeptheory.kernels.limits.close_pairs import affine_gaps

__all__ = ["Dense"]

PARAMETERIZATIONS = ("ntk", "standard")


@dataclass(frozen=True)
class Affine:
    """Scales of weights and biases, shared by dense and convolutional layers.

    NTK parametrization: σ_w/√N Σ Wx + σ_b b with standard normal W, b and fan-in N. Standard parametrization:
    W ~ N(0, σ_w²/N'), b ~ N(0, σ_b²) with N' = N/s₀, output Wx/√s₀ + b; s scales the widths (Sohl-Dickstein et al.
    2020), and the tangent kernel then depends on N'.
    """

    W_std: Scalar = 1.0
    b_std: Scalar | None = None
    parameterization: str = "ntk"
    s: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        if self.parameterization not in PARAMETERIZATIONS:
            raise ValueError(f"parameterization must be one of {PARAMETERIZATIONS}, got {self.parameterization!r}")
        for name, scale in (("W_std", self.W_std), ("b_std", self.b_std)):
            if isinstance(scale, str) or (isinstance(scale, float) and not isfinite(scale)):
                raise ValueError(f"{name} must be a finite number, got {scale!r}")

    @property
    def shift(self) -> Any:
        """σ_b², 0 without biases."""
        return 0.0 if self.b_std is None else self.b_std**2

    def channels(self, count: int) -> int:
        return count * self.s[1] if self.parameterization == "standard" else count

    def draw(self, key: Any, weights: tuple[int, ...], biases: tuple[int, ...], fan_in: int) -> tuple:
        first, second = jax.random.split(key)
        weight = normal(first, weights)
        bias = None if self.b_std is None else normal(second, biases)
        if self.parameterization == "standard":
            weight = weight * (self.W_std / (fan_in / self.s[0]) ** 0.5)
            bias = None if bias is None or self.b_std is None else bias * self.b_std
        return weight, bias

    def scale(self, product: Array, bias: Array | None, fan_in: int) -> Array:
        """Turn the bare product Wx into the layer's output."""
        if self.parameterization == "standard":
            product = product / self.s[0] ** 0.5
            return product if bias is None else product + bias
        product = product * (self.W_std / fan_in**0.5)
        return product if bias is None or self.b_std is None else product + self.b_std * bias

    def move(self, block: Block, fan_in: int, where: Array | None = None, **changes: Any) -> Block:
        """Return K ← σ_w²K + σ_b² and Θ ← K + σ_w²Θ from a block already averaged over the fan-in.

        In the standard parametrization Θ ← N'K_before + σ_w²Θ + [bias]. `where` limits the bias to some entries.
        """
        bias = (lambda value: value) if where is None else (lambda value: jnp.where(where, value, 0.0))
        before = block.covariance
        after = scaled(before, self.W_std**2)
        if self.b_std is not None:
            after = after + bias(self.b_std**2)
        tangent = None
        if block.with_tangent:
            if self.parameterization == "ntk":
                tangent = after
            else:
                tangent = before * (fan_in / self.s[0])
                if self.b_std is not None:
                    tangent = tangent + bias(1.0)
            if block.tangent is not None:
                tangent = tangent + scaled(block.tangent, self.W_std**2)
        return block.replace(covariance=after, tangent=tangent, gaussian=True, is_input=False, **changes)


@dataclass(frozen=True)
class Dense(Layer):
    """A fully connected layer y = (σ_w/√N) W x + σ_b b over the N channels of every position alike.

    `width` is the number of outputs of the finite network; the limit does not depend on it. `W_std` is σ_w, `b_std` is
    σ_b (None: no biases), W and b are standard normal. `parameterization` "standard" draws W ~ N(0, σ_w²/N) instead,
    which changes the tangent kernel and not the covariance; `s` scales its widths. In the limit
    K ← σ_w² K + σ_b² and Θ ← K + σ_w² Θ. Put one before every activation: only then are its inputs Gaussian.
    Reference: Jacot, Gabriel and Hongler (2018); Sohl-Dickstein et al. (2020) for "standard".
    """

    width: int
    W_std: Scalar = 1.0
    b_std: Scalar | None = None
    parameterization: str = "ntk"
    s: tuple[int, int] = (1, 1)

    @property
    def affine(self) -> Affine:
        return Affine(self.W_std, self.b_std, self.parameterization, self.s)

    def __post_init__(self) -> None:
        whole("the width of a Dense layer", self.width)
        _ = self.affine

    def init(self, key, shape):
        check_shape("Dense", shape)
        width = self.affine.channels(self.width)
        biases = (*(1,) * (len(shape) - 1), width)
        return (*shape[:-1], width), self.affine.draw(key, (shape[-1], width), biases, shape[-1])

    def apply(self, parameters, x, *, key=None, **extra):
        weight, bias = parameters
        if x.shape[-1] != weight.shape[0]:
            raise ValueError(f"Dense was made for {weight.shape[0]} channels and got inputs of shape {x.shape}")
        return self.affine.scale(x @ weight, bias, x.shape[-1])

    def record(self, block):
        return variances(block) if isinstance(block, Block) and biased(self) else None

    def approach(self, gap, left, right):
        if not biased(self):
            return gap
        if left is None or right is None:
            return 0.0
        # √(ab) ∓ k grows by the factor σ_w² at least, √(ab) by that over these ratios at most.
        one, two = (root(jnp.min(1 / (1 + self.affine.shift / (self.W_std**2 * own)))) for own in (left, right))
        return gap * one * two

    def kernel(self, block, left, right):
        block = one_block("Dense", block)
        moved = self.affine.move(block, block.channels, channels=self.affine.channels(self.width))
        if block.deficit is None:
            return moved
        ends = [None if left is None else left_of(block, left), None if right is None else right_of(block, right)]
        gaps = {"deficit": block.deficit, "surplus": block.surplus}
        return moved.replace(**affine_gaps(gaps, *ends, weight=self.W_std**2, bias=self.affine.shift))


doors(__name__)
