"""Paths from zero to an interpolator: the ℓ1 regularization path, LARS, and infinitesimal stagewise descent, exactly.

All three are piecewise linear. At every point the correlations cⱼ = xⱼᵀ(y − Xw) of some columns are largest in size,
equal to a level λ, and only these columns move. They differ in what the moving columns do: in LARS their correlations
fall together; on the ℓ1 path also a weight that comes to zero stops; in stagewise descent a weight may only move in
the direction of its own correlation. On the host, in double precision, since how many breakpoints there are depends on
the data.

Under `jit`, `vmap` and `grad` too, if `breaks` says how many breakpoints there may be: which column moves, and which
one ends each piece, is found on the host; how far is computed again in JAX, and differentiated by X and y to any order.
The path then has `breaks` breakpoints, its end at λ = 0 repeated; one that needs more, and one that is not found, is
nan. Where two columns reach the level together the path has a kink in the data, and the derivative is that of one side.

`design` is X, one example a row; `breaks` the length of the arrays returned, by default that of the path.

Reference: arora Ch. 8 Example 1; Efron, Hastie, Johnstone and Tibshirani 2004.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Bool, Float

from deeptheory.foundations.arrays import AnyArray, traced
from deeptheory.foundations.callbacks import asked
from deeptheory.foundations.entrances import doors

__all__ = ["PiecewisePath", "l1_path", "lars_path", "path_at", "rises_monotonely", "stagewise_path"]


class PiecewisePath(NamedTuple):
    """A path that is linear between breakpoints: levels λ from the largest correlation down to 0, and the weights."""

    levels: Float[AnyArray, "*batch breaks"]
    weights: Float[AnyArray, "*batch breaks d"]


Breaks = Annotated[int | None, "[2, 1e6]"]


def l1_path(design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], *, breaks: Breaks = None) -> PiecewisePath:
    """Return the minimizers of ½‖Xw − y‖² + λ‖w‖₁ for all λ ≥ 0, by their breakpoints.

    The homotopy of Osborne, Presnell and Turlach: between breakpoints the signs do not change and w is linear in λ; a
    column joins when its correlation reaches λ, and leaves when its weight comes to zero. arora's ŵ(λ) of
    ‖Xw − y‖² + λ‖w‖₁ is this at λ/2. Columns in general position: no two reach the level at the same time.

    Reference: arora Ch. 8 Example 1; Efron, Hastie, Johnstone and Tibshirani 2004.
    """
    return _path(design, labels, breaks, _together, crossing=False)


def lars_path(design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], *, breaks: Breaks = None) -> PiecewisePath:
    """Return the path of least-angle regression: like the ℓ1 path, but a weight may pass through zero and stays active.

    Reference: Efron, Hastie, Johnstone and Tibshirani 2004.
    """
    return _path(design, labels, breaks, _together, crossing=True)


def stagewise_path(
    design: Float[AnyArray, "n d"], labels: Float[AnyArray, " n"], *, breaks: Breaks = None
) -> PiecewisePath:
    """Return the path of greedy coordinate descent on ½‖Xw − y‖² in the limit of infinitesimal steps.

    Of the columns whose correlation is largest those move that keep it so, each in the direction of its correlation's
    sign: the residual's projection on the cone of these columns, a non-negative least-squares problem. So a weight
    moves one way as long as the sign of its correlation stays.

    Reference: arora Ch. 8 Example 1; Hastie, Taylor, Tibshirani and Walther 2007.
    """
    return _path(design, labels, breaks, _within_the_cone, crossing=True)


class _Columns:
    """The active columns X_A = QR, one joining or leaving at a time; normal equations square the condition."""

    def __init__(self, design: np.ndarray, first: int) -> None:
        self.design, self.active = design, [first]
        self.q, self.r = np.linalg.qr(design[:, [first]], mode="complete")

    def join(self, column: int) -> None:
        from scipy.linalg import qr_insert  # pyright: ignore[reportAttributeAccessIssue]

        new, last = self.design[:, column], len(self.active)
        self.q, self.r = qr_insert(self.q, self.r, new, last, which="col", check_finite=False)
        self.active.append(column)

    def leave(self, place: int) -> int:
        from scipy.linalg import qr_delete  # pyright: ignore[reportAttributeAccessIssue]

        self.q, self.r = qr_delete(self.q, self.r, place, which="col", check_finite=False)
        return self.active.pop(place)

    @property
    def dependent(self) -> bool:
        """Whether the last column is a combination of the others."""
        last = len(self.active) - 1
        return last >= len(self.r) or bool(abs(self.r[last, last]) <= 1e-13 * abs(self.r[0, 0]))

    def equal_fall(self, signs: np.ndarray) -> np.ndarray:
        """(X_AᵀX_A)⁻¹s, the move along which all active correlations fall at rate one."""
        import scipy.linalg

        if self.dependent:
            raise ArithmeticError(f"column {self.active[-1]} is a combination of the columns that move already")
        square = self.r[: len(self.active)]
        first = scipy.linalg.solve_triangular(square, signs, trans=1, check_finite=False)
        return scipy.linalg.solve_triangular(square, first, check_finite=False)

    def predicted(self, move: np.ndarray) -> np.ndarray:
        """X_A times a move, by its factors: to gather the columns would copy them at every breakpoint."""
        count = len(self.active)
        return self.q[:, :count] @ (self.r[:count] @ move)

    def idle_move(self) -> np.ndarray:
        """A move of dependent columns that changes no prediction, the last of them by one."""
        import scipy.linalg

        others = len(self.active) - 1
        return np.append(-scipy.linalg.solve_triangular(self.r[:others, :others], self.r[:others, -1]), 1.0)


Direction = Callable[[_Columns, np.ndarray, np.ndarray], tuple[np.ndarray, list[int]]]
"""the move of the active columns, by the signs of all correlations and the last move, and the columns it lets go"""


def _together(columns: _Columns, signs: np.ndarray, move: np.ndarray) -> tuple[np.ndarray, list[int]]:
    return columns.equal_fall(signs[columns.active]), []


def _within_the_cone(columns: _Columns, signs: np.ndarray, move: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Move only in the direction of the signs: Lawson and Hanson's method, begun from the last move."""
    released: list[int] = []
    for _ in range(100 + 10 * len(columns.active)):
        if columns.dependent:
            # The gain grows without end along a move that changes no prediction, until some column may go no further.
            wanted = change = signs[columns.active[-1]] * columns.idle_move()
            against = change * signs[columns.active] < 0
        else:
            wanted = columns.equal_fall(signs[columns.active])
            change, against = wanted - move, wanted * signs[columns.active] <= 0
        if against.any():
            share = np.where(against, -move / np.where(against, change, 1.0), np.inf)
            move = np.delete(move + share.min() * change, np.argmin(share))
            released.append(columns.leave(int(np.argmin(share))))
            continue
        fall = signs[released] * (columns.design[:, released].T @ columns.predicted(wanted))
        if not released or fall.min() >= 1 - 1e-10:
            return wanted, released
        columns.join(released.pop(int(np.argmin(fall))))
        move = np.append(wanted, 0.0)
    raise ArithmeticError("columns that tie go round in circles: the direction of the stagewise path was not found")


class _Piece(NamedTuple):
    """What is decided at a breakpoint: who moves, with the signs of their correlations, and what will end the move."""

    columns: Any
    signs: Any
    stop: Any  # the column that ends it, -1 where the level comes to 0
    side: Any  # the sign with which that column joins, 0 if its weight comes to zero


def _path(design: Any, labels: Any, breaks: int | None, direction: Direction, *, crossing: bool) -> PiecewisePath:
    if traced(design, labels):
        if breaks is None:
            raise TypeError("breaks must say how many breakpoints the path may have, where design or labels is traced")
        return _replayed(design, labels, breaks, direction, crossing=crossing)
    path = _followed(np.asarray(design, float), np.asarray(labels, float), direction, crossing=crossing)[0]
    if breaks is None:
        return path
    if (more := breaks - len(path.levels)) < 0:
        raise ValueError(f"breaks must be at least the {len(path.levels)} breakpoints of the path, got {breaks}")
    return PiecewisePath(np.pad(path.levels, (0, more)), np.pad(path.weights, ((0, more), (0, 0)), mode="edge"))


def _replayed(design: Any, labels: Any, breaks: int, direction: Direction, *, crossing: bool) -> PiecewisePath:
    """The path again from what was decided along it, each move by its equation."""
    design, labels = jnp.asarray(design), jnp.asarray(labels)
    kind, most = jnp.result_type(float, design, labels), min(design.shape)

    def decided(design: np.ndarray, labels: np.ndarray) -> _Piece:
        columns, signs = np.full((breaks - 1, most), -1), np.zeros((breaks - 1, most))
        stop, side = np.full(breaks - 1, -1), np.full(breaks - 1, np.nan)
        try:
            pieces = _followed(np.asarray(design, float), np.asarray(labels, float), direction, crossing=crossing)[1]
        except ArithmeticError:
            return _Piece(columns, signs, stop, side)
        if len(pieces) < breaks:
            side[:] = 0
            for i, piece in enumerate(pieces):
                columns[i, : len(piece.columns)], signs[i, : len(piece.columns)] = piece.columns, piece.signs
                stop[i], side[i] = piece.stop, piece.side
        return _Piece(columns, signs, stop, side)

    def shape(*sizes: int, dtype: Any = kind) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((breaks - 1, *sizes), dtype)

    shapes = _Piece(shape(most, dtype=np.int32), shape(most), shape(dtype=np.int32), shape())
    pieces = asked(decided, shapes, design, labels)

    def move(now: tuple, piece: _Piece) -> tuple:
        (level, weights), moves = now, piece.columns >= 0
        # Places that nobody takes get a column of their own, so that what moves has full rank.
        active = jnp.where(moves, design[:, piece.columns], 0)
        upper = jnp.linalg.qr(jnp.vstack([active, jnp.diag(jnp.where(moves, 0, jnp.ones_like(level)))]), mode="r")
        change = solve_triangular(upper, solve_triangular(upper, piece.signs, trans=1))
        stop = design[:, piece.stop]
        behind, closing = stop @ (labels - design @ weights), stop @ (active @ change)
        joins, stops = piece.side != 0, (piece.side == 0) & (piece.stop >= 0)
        meets = (level - piece.side * behind) / jnp.where(joins, 1 - piece.side * closing, 1)
        zero = -weights[piece.stop] / jnp.where(stops, (piece.columns == piece.stop) @ change, 1)
        stride = jnp.where(joins, meets, jnp.where(stops, zero, level))
        weights = weights.at[piece.columns].add(jnp.where(moves, stride * change, 0))
        now = level - stride, weights
        return now, now

    begin = jnp.max(jnp.abs(design.T @ labels)), jnp.zeros(design.shape[1], kind)
    levels, weights = lax.scan(move, begin, pieces)[1]
    found = ~jnp.isnan(pieces.side[0])
    whole = jnp.append(begin[0], levels), jnp.vstack([begin[1], weights])
    return PiecewisePath(*(jnp.where(found, each, jnp.nan) for each in whole))


def _followed(
    design: np.ndarray, labels: np.ndarray, direction: Direction, *, crossing: bool
) -> tuple[PiecewisePath, list[_Piece]]:
    """Follow a path from its first column to level 0; without `crossing` a weight that comes to zero leaves."""
    correlation = design.T @ labels
    weights, level = np.zeros(len(correlation)), float(np.max(np.abs(correlation)))
    levels, passed, rounding = [level], [weights.copy()], 1e-13 * level
    columns, move = _Columns(design, int(np.argmax(np.abs(correlation)))), np.zeros(1)
    gone: list[int] = []
    pieces: list[_Piece] = []
    most = 100 * (sum(design.shape) + 1)
    while level > 0:
        if len(levels) > most:
            raise ArithmeticError(f"the path has more than {most} breakpoints: columns that tie go round in circles")
        signs = np.sign(correlation)
        move, released = direction(columns, signs, move)
        slopes = design.T @ columns.predicted(move)
        # A correlation c − t·slope meets the level λ − t at one of two times, or its negative.
        closing = np.stack([1 - slopes, 1 + slopes])
        distance = np.maximum(np.stack([level - correlation, level + correlation]), 0.0)
        # Who has just left is on the level still, up to rounding, and falls behind it.
        for j in [*released, *gone]:
            closing[int(signs[j] < 0), j] = -1.0
        closing[:, columns.active] = -1.0
        meets = np.where(closing > 0, distance / np.where(closing > 0, closing, 1.0), np.inf)
        if len(columns.active) == min(design.shape):
            # The residual is decided by these columns alone: with theirs all correlations come to 0, and none sooner.
            meets[:] = np.inf
        held = weights[columns.active]
        towards = (held * move < 0) & (not crossing)
        stops = np.where(towards, -held / np.where(towards, move, 1.0), np.inf)
        stride = min(meets.min(), stops.min())
        if stride >= level - rounding:
            stride = level
        weights[columns.active] += stride * move
        correlation = correlation - stride * slopes
        level -= stride
        moved, gone, stop, side = list(columns.active), [], -1, 0.0
        if level and stride == stops.min():
            stop = columns.leave(int(np.argmin(stops)))
            gone = [stop]
            weights[gone] = 0.0
        elif level:
            stop = int(np.argmin(meets.min(0)))
            side = 1.0 - 2.0 * np.argmin(meets[:, stop])
            columns.join(stop)
            move = np.append(move, 0.0)
        pieces.append(_Piece(moved, signs[moved], stop, side))
        correlation[columns.active] = level * np.sign(correlation[columns.active])
        levels.append(level)
        passed.append(weights.copy())
    return PiecewisePath(np.array(levels), np.array(passed)), pieces


def path_at(path: PiecewisePath, levels: Float[AnyArray, " k"]) -> Float[AnyArray, "k d"]:
    """Return the weights at given levels λ ≥ 0, between breakpoints by straight lines; zero above the first.

    Levels and path may be traced, and differentiated by.
    """
    xp = jnp if traced(levels, *path) else np
    at, known, weights = (xp.asarray(each, float) for each in (levels, *path))
    order = xp.argsort(known, stable=True)
    return xp.stack([xp.interp(at, known[order], column[order]) for column in weights.T], axis=1)


def rises_monotonely(path: PiecewisePath) -> Bool[np.ndarray, " d"]:
    """Say for each weight whether its size never falls and its sign never changes as the level comes down.

    If this holds for all weights of the ℓ1 path, it is the stagewise path and the path of LARS too. Reference: Efron et
    al. 2004, 3.2; Hastie, Taylor, Tibshirani and Walther 2007.
    """
    moves, rounding = np.diff(path.weights, axis=0), 1e-10 * np.abs(path.weights).max()
    return ~((moves > rounding).any(0) & (moves < -rounding).any(0))


# Products of columns stay finite.
doors(__name__, levels="[0, ∞)", design="[-1e150, 1e150]", labels="[-1e150, 1e150]")
