"""Two-player zero-sum games: their equilibria in matrices, and what gradient play does to a payoff f(x, y).

The first player, a generator, minimises; the second, a discriminator, maximises. In min max x·y each rule of play is a
2 × 2 matrix, so that its spiral outward, its circle or its contraction can be read off.

`payoffs` has a row for each move of the first player, who pays the entry, and a column for each of the second.

Reference: arora 16.2.1; von Neumann and Morgenstern 1944.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.optimize import linprog

from deeptheory.foundations.entrances import doors
from deeptheory.foundations.guards import among

__all__ = ["MixedEquilibrium", "bilinear_step", "mixed_equilibrium", "play", "pure_equilibria", "pure_values"]

RULES = ("simultaneous", "alternating", "extragradient", "look-ahead", "competitive")
Payoff = Callable[[Array, Array], Array]
Payoffs = Float[np.ndarray, "rows columns"]
Moves = tuple[Float[Array, "times p"], Float[Array, "times q"]]
MOST = 1000
"""the most moves of each player in a linear program"""


class MixedEquilibrium(NamedTuple):
    """Optimal lotteries over rows and columns, the least that rows can be made to pay and the most columns can get."""

    rows: Float[np.ndarray, " rows"]
    columns: Float[np.ndarray, " columns"]
    least_loss: float
    most_gain: float


def pure_values(payoffs: Payoffs) -> tuple[float, float]:
    """(max over columns of the least row, min over rows of the largest column), equal if pure moves settle the game."""
    return float(payoffs.min(0).max()), float(payoffs.max(1).min())


def pure_equilibria(payoffs: Payoffs) -> Bool[np.ndarray, "rows columns"]:
    """Which pairs of moves leave neither player an incentive to change: least in their column, largest in their row."""
    return (payoffs == payoffs.min(0)) & (payoffs == payoffs.max(1, keepdims=True))


def mixed_equilibrium(payoffs: Payoffs) -> MixedEquilibrium:
    """Optimal mixed strategies of both players, each by a linear program of its own; von Neumann: both values agree.

    At most 1000 moves each. Reference: von Neumann 1928; arora 16.2.1.
    """
    if max(payoffs.shape) > MOST:
        raise ValueError(f"payoffs must have at most {MOST} rows and columns, got {payoffs.shape}")
    size = max(float(np.abs(payoffs).max()), np.finfo(float).tiny)
    rows, loss = _safest(payoffs.T / size)
    columns, gain = _safest(-payoffs / size)
    return MixedEquilibrium(rows, columns, loss * size, -gain * size)


def _safest(losses: np.ndarray) -> tuple[np.ndarray, float]:
    """The lottery over columns whose largest expected loss over rows is least: min v with losses·x ≤ v."""
    threats, moves = losses.shape
    bounds = [(0, None)] * moves + [(None, None)]
    found = linprog(
        np.append(np.zeros(moves), 1.0),
        A_ub=np.hstack([losses, -np.ones((threats, 1))]),
        b_ub=np.zeros(threats),
        A_eq=np.append(np.ones(moves), 0.0)[None],
        b_eq=[1.0],
        bounds=bounds,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return found.x[:-1], float(found.fun)


def bilinear_step(rule: str, rate: float) -> Float[np.ndarray, "2 2"]:
    """The matrix of one round in min over x, max over y of x·y, written by hand from each rule.

    Eigenvalues have modulus √(1+η²) for simultaneous steps, 1 for alternating ones up to η = 2, √(1−η²+η⁴) for
    extragradient, √(1−3η²+4η⁴) for look-ahead and 1/√(1+η²) for competitive steps, whatever the rate.

    `rule` is "simultaneous", "alternating", "extragradient", "look-ahead" or "competitive"; `rate` is the step η.
    Reference: arora Problem 16.2.1; Korpelevich 1976 for extragradient; Schäfer and Anandkumar 2019 for competitive
    steps.
    """
    among(RULES, rule=rule)
    eta, square = rate, rate**2
    if rule == "simultaneous":
        return np.array([[1, -eta], [eta, 1]])
    if rule == "alternating":
        return np.array([[1, -eta], [eta, 1 - square]])
    if rule == "extragradient":
        return np.array([[1 - square, -eta], [eta, 1 - square]])
    if rule == "look-ahead":
        return np.array([[1 - 2 * square, -eta], [eta, 1 - 2 * square]])
    return np.array([[1, -eta], [eta, 1]]) / (1 + square)


def play(
    payoff: Payoff, x: Float[Array, " p"], y: Float[Array, " q"], *, rule: str, rate: float = 0.1, steps: int = 100
) -> Moves:
    """Rounds of gradient play of min over x, max over y of payoff(x, y), from the start on.

    `simultaneous`: x − η∇ₓf, y + η∇ᵧf. `alternating`: y sees the new x. `extragradient`: gradients at the point that a
    simultaneous step would reach. `look-ahead`: each player differentiates through the other's next step,
    ∇ₓ[f(x, y + η∇ᵧf)]. `competitive`: both step to the equilibrium of the bilinear model of f with penalties
    |Δ|²/2η, which solves p × p and q × q systems and so is for small games (Schäfer and Anandkumar 2019).
    Reference: arora Problem 16.2.1, 16.2.1.
    """
    among(RULES, rule=rule)
    by_x, by_y = jax.grad(payoff, 0), jax.grad(payoff, 1)
    mixed = jax.jacfwd(by_x, 1)

    def round_of_play(moves: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        x, y = moves
        if rule == "simultaneous":
            after = x - rate * by_x(x, y), y + rate * by_y(x, y)
        elif rule == "alternating":
            ahead = x - rate * by_x(x, y)
            after = ahead, y + rate * by_y(ahead, y)
        elif rule == "extragradient":
            there = x - rate * by_x(x, y), y + rate * by_y(x, y)
            after = x - rate * by_x(*there), y + rate * by_y(*there)
        elif rule == "look-ahead":
            answered = jax.grad(lambda x: payoff(x, y + rate * by_y(x, y)))
            anticipated = jax.grad(lambda y: payoff(x - rate * by_x(x, y), y))
            after = x - rate * answered(x), y + rate * anticipated(y)
        else:
            down, up, cross = by_x(x, y), by_y(x, y), rate * mixed(x, y)
            calm = jnp.linalg.solve(jnp.eye(len(x)) + cross @ cross.T, down + cross @ up)
            bold = jnp.linalg.solve(jnp.eye(len(y)) + cross.T @ cross, up - cross.T @ down)
            after = x - rate * calm, y + rate * bold
        return after, after

    start = jnp.asarray(x, float), jnp.asarray(y, float)
    _, path = jax.lax.scan(round_of_play, start, None, length=steps)
    return tuple(jnp.concatenate([first[None], later]) for first, later in zip(start, path, strict=True))  # type: ignore[return-value]


doors(__name__, rate="(0, 1e6]", steps="[1, 1e6]")
