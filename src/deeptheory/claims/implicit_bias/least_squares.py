"""Least squares with more unknowns than equations: the solutions, the path of gradient descent, and where it ends.

arora 3.1.
"""

from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import scipy.linalg
from annotated_types import Interval

from deeptheory.foundations.randomness import generator
from deeptheory.implicit_bias.least_squares import (
    descent_iterate,
    descent_residual,
    descent_series,
    nearest_solution,
    pseudo_inverse,
    supported_solution,
    symmetric_singular_vectors,
    unseen_projection,
)
from deeptheory.lab import Exact, Identity, assume, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Plane, Row

Rows = Annotated[int, Interval(ge=2, le=100)]
Columns = Annotated[int, Interval(ge=3, le=200)]
CHECKPOINTS = (0, 1, 2, 3, 10, 100)
RANKS = ((6, 9, 4), (9, 6, 3), (7, 7, 5), (5, 8, 5), (7, 7, 7))
"""Rows, columns and rank of the matrices that are inverted: wide and tall, deficient and of full rank."""


def descended(design, labels, start, step, counts):
    """Plain gradient descent on ½‖Xw − y‖²: the weights after each of the given numbers of steps."""
    weights, path = np.array(start), []
    for step_index in range(max(counts) + 1):
        if step_index in counts:
            path.append(weights)
        weights = weights - step * design.T @ (design @ weights - labels)
    return np.array(path)


def orthogonal_solution(matrix, labels):
    """The least-squares solution of least norm by a complete orthogonal factorization, without singular values."""
    # LAPACK's own idea of rank is one unit of rounding; ours are separated from zero by ten digits.
    return scipy.linalg.lstsq(matrix, labels, cond=1e-10, lapack_driver="gelsy")[0]  # pyright: ignore[reportOptionalSubscript]


@claim(
    items={"A3.1": ("all solutions", "dimension of the solutions", "coordinates that suffice", "sparse solutions")},
    says=r"The solutions of $Xw=y$ with linearly independent rows are $X^+y+(I-X^+X)z$, an affine space of dimension "
    r"$d-n$; one that vanishes outside $n$ given coordinates exists, for labels in general position, exactly when "
    r"those $n$ columns are linearly independent.",
    needs="linearly independent rows, n < d",
    symbols={
        r"X,y": r"the design, $n$ rows of $d$ features, and the labels",
        r"w": "the weights",
        r"X^+": r"the pseudo-inverse of $X$",
        r"z": r"any vector; $I-X^+X$ takes of it what the data cannot see",
    },
    why=r"The difference of two solutions is a vector that all rows of $X$ send to zero, and these vectors form a "
    r"space of dimension $d-n$. To use $n$ given coordinates only is to solve a square system with those $n$ columns, "
    r"which works for all labels exactly when they are linearly independent; an arbitrary choice of coordinates need "
    r"not be.",
    notice=r"Left, solutions fill a flat at one distance from the origin, in every direction that the data do not "
    r"see; none of them is the only one. Right, what the best fit on each choice of coordinates leaves of the labels: "
    r"nothing but rounding, unless two columns of the choice are parallel.",
)
def solutions_form_an_affine_space(key, *, rows: Annotated[int, Interval(ge=2, le=4)] = 3):
    draw = generator(key)
    columns = rows + 4
    design, labels = draw.standard_normal((rows, columns)), draw.standard_normal(rows)
    # Two columns that are multiples of one another: every block that holds both is singular.
    design[:, 4] = -1.5 * design[:, 1]
    # All solutions without the pseudo-inverse: in an orthonormal basis that starts with the rows, n coordinates are
    # decided by a triangular system and the others are free.
    orthogonal, triangular = np.linalg.qr(design.T, mode="complete")
    inside = np.linalg.solve(triangular[:rows].T, labels)
    free = draw.standard_normal((64, columns))
    solutions = np.column_stack([np.broadcast_to(inside, (64, rows)), free @ orthogonal[:, rows:]]) @ orthogonal.T
    found = np.array([nearest_solution(design, labels, each) for each in free])
    subsets = list(combinations(range(columns), rows))
    residuals, independent = [], []
    for subset in subsets:
        best = np.linalg.lstsq(design[:, subset], labels)[0]
        residuals.append(np.linalg.norm(design[:, subset] @ best - labels) / np.linalg.norm(labels))
        try:
            supported_solution(design, labels, subset)
            independent.append(True)
        except ValueError:
            independent.append(False)
    chosen = [subset for subset, well in zip(subsets, independent, strict=True) if well]
    blocks = np.array([np.linalg.cond(design[:, subset]) for subset in chosen])
    sparse = np.array([supported_solution(design, labels, subset) for subset in chosen])
    solved = np.array([np.delete(w, subset) for w, subset in zip(sparse, chosen, strict=True)])
    zeros = np.column_stack([sparse @ design.T - labels, solved])
    size = np.linalg.norm(sparse, axis=1, keepdims=True) * np.linalg.norm(design)
    condition = np.linalg.cond(design)
    return {
        "all solutions": Identity(
            found, solutions, scale=np.linalg.norm(solutions, axis=1)[:, None], condition=condition, size=columns
        ),
        "dimension of the solutions": Exact(
            np.array([np.linalg.matrix_rank(unseen_projection(design), tol=1e-8)]),
            np.array([columns - rows]),
        ),
        "coordinates that suffice": Exact(
            np.array(residuals) < 1e-9, np.array(independent), aside={"residuals": np.array(residuals)}
        ),
        "sparse solutions": Identity(zeros, 0.0, scale=size, condition=blocks[:, None], size=columns),
    }


@solutions_form_an_affine_space.control(
    "an arbitrary choice of coordinates, as the footnote argues", of="coordinates that suffice"
)
def any_coordinates(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@solutions_form_an_affine_space.control("the solution is unique", of="all solutions")
def unique_solution(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right.mean(0), evidence.right.shape))


@solutions_form_an_affine_space.picture
def flat_of_solutions(pieces):
    """Solutions along the shortest one and a direction the data miss; and what each choice of coordinates leaves."""
    found = np.asarray(pieces["all solutions"].left)
    missed = np.linalg.svd(found - found.mean(0))[2][: int(pieces["dimension of the solutions"].right[0])]
    shortest = found[0] - found[0] @ missed.T @ missed
    length = float(np.linalg.norm(shortest))
    x, y = found @ shortest / length, found @ missed[0]
    left = np.asarray(pieces["coordinates that suffice"].aside["residuals"])
    parallel = ~np.asarray(pieces["coordinates that suffice"].right)
    choice = np.arange(1, len(left) + 1)
    kinds = ("independent columns", ~parallel), ("two parallel columns", parallel)
    return Row(
        [
            Plane(
                [
                    Line("solutions of the equations", [length, length], [y.min(), y.max()]),
                    Dots("64 solutions", x, y),
                    Line("shortest", [0, length], [0, 0], arrow=True),
                    Dots("", [float(x.mean())], [float(y.mean())], rival="only one solution"),
                ],
                x="along the shortest solution",
                y="along a direction the data miss",
            ),
            Curves(
                [
                    *(Dots(name, choice[which], np.maximum(left[which], 1e-17)) for name, which in kinds),
                    Line("", choice, np.full(len(choice), 1e-16), rival="any choice will do, as the footnote argues"),
                ],
                x="choice of coordinates",
                y="share of the labels that is missed",
                log="y",
            ),
        ]
    )


@claim(
    items={
        "A3.2": ("iterates in closed form", "residuals in closed form", "series for the inverse"),
        "A3.3": (
            "limit of descent",
            "limit as printed",
            "least distance from the start",
            "series for the inverse",
            "steps that converge",
        ),
    },
    says=r"Gradient descent on $\frac12\|Xw-y\|^2$ is at "
    r"$w_0+\sum_i\frac{1-(1-\eta\sigma_i^2)^t}{\sigma_i}v_iu_i^\top(y-Xw_0)$ after $t$ steps. For "
    r"$\eta<2/\lambda_{\max}(X^\top X)$, and no larger one, it converges to the solution nearest to $w_0$, "
    r"$X^+y+(I-X^+X)w_0$: from 0 to the one of least norm, $X^\top(XX^\top)^{-1}y$.",
    needs="linearly independent rows, n < d",
    full=dict(rows=20, columns=60, steps=20_000),
    symbols={
        r"X": "the data, one row a sample; fewer rows than columns",
        r"w": "the weights",
        r"y": "the labels",
        r"w_0": "where descent starts",
        r"\eta": "the step size",
        r"t": "the number of steps",
        r"\sigma_i,u_i,v_i": "the singular values of $X$ and their left and right vectors",
        r"\lambda_{\max}": "the largest eigenvalue",
        r"X^+": "the pseudo-inverse",
    },
    why=r"Every gradient $X^\top(Xw-y)$ is a combination of rows of $X$, so descent moves only in their span and "
    "keeps forever whatever part of $w_0$ is orthogonal to them. Within the span each singular direction is a "
    r"problem of its own, whose error is multiplied by $1-\eta\sigma_i^2$ a step; hence also $\sum_{j<t}(I-\eta "
    r"X^\top X)^j=(I-(I-\eta X^\top X)^t)(\eta X^\top X)^++t(I-X^+X)$, which does not converge. Among all solutions "
    "the one that differs from $w_0$ by a combination of rows is the nearest.",
    notice=r"Both runs end on the line of solutions at the foot of a perpendicular: each keeps its height, the part "
    "of the start that the data cannot see. From zero that is the shortest solution; from elsewhere it is not.",
)
def least_squares_descent(
    key, *, rows: Rows = 10, columns: Columns = 25, steps: Annotated[int, Interval(ge=200, le=100_000)] = 6000
):
    assume(rows < columns, "more columns than rows")
    draw = generator(key)
    design, labels = draw.standard_normal((rows, columns)), draw.standard_normal(rows)
    starts = np.stack([np.zeros(columns), draw.standard_normal(columns)])
    largest = np.linalg.norm(design, 2) ** 2
    condition = np.linalg.cond(design)
    assume(steps > 40 * condition**2, "enough steps for the slowest direction to arrive")
    iterates, predicted, rest, rests = [], [], [], []
    for start in starts:
        for share in (0.9, 1.9):
            iterates.append(descended(design, labels, start, share / largest, CHECKPOINTS))
            setting: dict[str, Any] = dict(step_size=share / largest, start=start)
            predicted.append([descent_iterate(design, labels, steps=t, **setting) for t in CHECKPOINTS])
            rest.append([descent_residual(design, labels, steps=t, **setting) for t in CHECKPOINTS])
            rests.append(labels - iterates[-1] @ design.T)
    ends = np.array([descended(design, labels, start, 1.0 / largest, (steps,))[0] for start in starts])
    # The optimality conditions of min ‖w − w₀‖ subject to Xw = y, solved as they stand.
    system = np.block([[np.eye(columns), design.T], [design, np.zeros((rows, rows))]])
    right = np.column_stack([starts, np.broadcast_to(labels, (2, rows))])
    nearest = np.linalg.solve(system, right.T).T[:, :columns]
    found = np.array([nearest_solution(design, labels, start) for start in starts])
    null = scipy.linalg.null_space(design)
    aside = draw.standard_normal((1000, columns - rows)) * np.exp(draw.uniform(-8, 1, (1000, 1)))
    others = nearest[0] + aside @ null.T
    least = np.linalg.norm(found[0])
    shares = np.array([0.5, 0.99, 1.01, 1.5, 1.99, 2.01, 2.5])
    # The mode of the largest eigenvalue, after 800 steps beside its start: 0.99⁸⁰⁰ at a share of 1.99, 1.01⁸⁰⁰ at 2.01.
    mode = np.linalg.svd(design)[0][:, 0]
    tops = [
        abs(mode @ (design @ descended(design, labels, starts[0], share / largest, (800,))[0] - labels))
        / abs(mode @ labels)
        for share in shares
    ]
    # Partial sums by doubling, S₂ₜ = Sₜ + AᵗSₜ: 4,096 terms in twelve products.
    step, total = float(1.0 / largest), np.eye(columns)
    power = np.eye(columns) - step * design.T @ design
    for _ in range(12):
        total, power = total + power @ total, power @ power
    size = max(np.linalg.norm(found[1]), np.linalg.norm(starts[1]))
    close = dict(condition=condition**2, size=columns)
    return {
        "iterates in closed form": Identity(np.array(iterates), np.array(predicted), scale=size, **close),
        "residuals in closed form": Identity(np.array(rests), np.array(rest), scale=size * largest**0.5, **close),
        "limit of descent": Identity(
            np.stack([ends, nearest]), found, scale=size, **close, along={"by": np.array(["GD", "KKT"])}
        ),
        "limit as printed": Identity(
            np.stack([pseudo_inverse(design.T @ design) @ design.T @ labels, found[0]]),
            design.T @ np.linalg.solve(design @ design.T, labels),
            scale=size,
            condition=condition**4,  # the first inverts XᵀX, the condition squared once more
            size=columns,
        ),
        "least distance from the start": Identity(
            np.sum(others**2, 1), least**2 + np.sum(aside**2, 1), scale=np.sum(others**2, 1), **close
        ),
        "series for the inverse": Identity(
            total,
            descent_series(design, step_size=step, terms=4096),
            scale=4096 * condition**2,
            size=columns,
            along={"pseudo-inverse": pseudo_inverse(step * design.T @ design)},
        ),
        "steps that converge": Exact(np.array(tops) < 1, shares < 2, along={"step times largest eigenvalue": shares}),
    }


@least_squares_descent.picture
def to_the_nearest_solution(pieces):
    """Two runs in the plane of the shortest solution and of the unseen part of the second start, and all solutions."""
    ends = np.asarray(pieces["limit of descent"].right)
    shortest, unseen = np.linalg.norm(ends[0]), np.linalg.norm(ends[1] - ends[0])
    frame = np.stack([ends[0] / shortest, (ends[1] - ends[0]) / unseen], 1)
    from_zero, from_elsewhere = np.asarray(pieces["iterates in closed form"].left)[[0, 2]] @ frame
    wall = np.asarray([-0.3, 1.3]) * unseen
    return Plane(
        [
            Line("solutions", [shortest, shortest], wall, dashed=True),
            Line("from zero", *from_zero.T, arrow=True),
            Dots("from zero", *from_zero.T),
            Line("from elsewhere", *from_elsewhere.T, arrow=True),
            Dots("from elsewhere", *from_elsewhere.T),
            Line(
                "to the shortest",
                *np.stack([from_elsewhere[0], np.array([shortest, 0.0])], 1),
                rival="as if the start were forgotten",
            ),
        ],
        x="along the shortest solution",
        y="along what the data cannot see",
    )


@least_squares_descent.control(
    "the matrix series sums to a pseudo-inverse, null space and all", of="series for the inverse"
)
def series_converges(evidence):
    return replace(evidence, right=evidence.along["pseudo-inverse"])


@least_squares_descent.control("only steps below 1/λ_max converge", of="steps that converge")
def half_the_steps(evidence):
    return replace(evidence, right=evidence.along["step times largest eigenvalue"] < 1)


@least_squares_descent.control("one step less", of="iterates in closed form")
def one_step_less(evidence):
    return replace(evidence, right=np.roll(evidence.right, 1, axis=1))


@least_squares_descent.control("the solution of least norm from any start", of="limit of descent")
def forgets_the_start(evidence):
    return replace(evidence, right=np.broadcast_to(evidence.right[:1], evidence.right.shape))


@claim(
    items={
        "A3.4": (
            "solution by orthogonalisation",
            "inverse by singular vectors",
            "trace of a projection is the rank",
            "symmetric matrices rebuilt",
            "singular vectors of symmetric matrices",
        ),
        "A3.5": ("M M⁺ M", "M⁺ M M⁺", "symmetric products"),
    },
    says=r"$M^+=\sum_i\sigma_i^{-1}v_iu_i^\top$ over the nonzero singular values satisfies $MM^+M=M$ and "
    r"$M^+MM^+=M^+$, $MM^+$ and $M^+M$ are symmetric, and $M^+y$ is the least-squares solution of "
    r"least norm; the trace of both products is the rank; a symmetric matrix has "
    r"$v_i=\operatorname{sign}(\lambda_i)u_i$.",
    needs="any real matrix, also rank-deficient; nonzero singular values well above rounding",
    symbols={
        r"M": "any real matrix",
        r"M^+": "its pseudo-inverse",
        r"\sigma_i,u_i,v_i": "its nonzero singular values with their left and right singular vectors",
        r"\lambda_i": "the eigenvalues of a symmetric matrix",
    },
    why=r"$M$ maps each $v_i$ to $\sigma_iu_i$ and everything orthogonal to them to zero; $M^+$ maps $u_i$ back and "
    r"the rest to zero. So $MM^+$ and $M^+M$ are the orthogonal projections on the spans of the $u_i$ and of the "
    r"$v_i$, which are symmetric and have the rank as trace. $M^+y$ has nothing in the kernel of $M$, hence the least "
    r"norm.",
    notice=r"Left, the entries of $MM^+M$ are those of $M$; the transpose in place of $M^+$ multiplies by squared "
    r"singular values instead. Right, the traces of both projections are the rank, also where that is below the "
    r"smaller side of the matrix.",
)
def penrose_identities(key, *, draws: Annotated[int, Interval(ge=1, le=1000)] = 4):
    draw = generator(key)
    observed: dict[str, list] = {}
    expected: dict[str, list] = {}
    for rows, columns, rank in RANKS * draws:
        left, right = (np.linalg.qr(draw.standard_normal((size, rank)))[0] for size in (rows, columns))
        singular = np.exp(draw.uniform(-2, 2, rank))
        matrix = left * singular @ right.T
        inverse = pseudo_inverse(matrix)
        labels = draw.standard_normal(rows)
        seen, mapped = matrix @ inverse, inverse @ matrix
        pairs = {
            "solution by orthogonalisation": (inverse @ labels, orthogonal_solution(matrix, labels)),
            "inverse by singular vectors": (inverse, right / singular @ left.T),
            "M M⁺ M": (seen @ matrix, matrix),
            "M⁺ M M⁺": (mapped @ inverse, inverse),
            "symmetric products": (np.append(seen, mapped), np.append(seen.T, mapped.T)),
            "transpose": (matrix @ matrix.T @ matrix, matrix),
            "trace of a projection is the rank": (np.array([np.trace(seen), np.trace(mapped)]), np.array([rank, rank])),
        }
        for name, (found, true) in pairs.items():
            observed.setdefault(name, []).append(np.ravel(found))
            expected.setdefault(name, []).append(np.ravel(true))
    # Singular values from e⁻² to e²: products are of size e², inverses too, the condition e⁴.
    close: dict[str, Any] = dict(scale=np.e**2, condition=np.e**4, size=81.0)
    pieces = {
        name: Identity(np.concatenate(observed[name]), np.concatenate(expected[name]), **close) for name in observed
    }
    pieces["M M⁺ M"] = replace(pieces["M M⁺ M"], aside={"transpose": pieces.pop("transpose").left})
    symmetric = draw.standard_normal((draws, 6, 6))
    symmetric = symmetric + np.swapaxes(symmetric, 1, 2)
    own = [symmetric_singular_vectors(matrix) for matrix in symmetric]
    again = np.array([left * values @ right.T for left, values, right in own])
    overlaps = np.array([np.sum(left * right, 0) for left, _, right in own])
    library = np.array([np.sum(u * vt.T, 0) for u, _, vt in map(np.linalg.svd, symmetric)])
    return pieces | {
        "symmetric matrices rebuilt": Identity(
            again, symmetric, scale=np.linalg.norm(symmetric, axis=(1, 2), keepdims=True)
        ),
        # Vectors whose singular values lie close together are found with fewer digits: room for a gap of 1e-4.
        "singular vectors of symmetric matrices": Identity(library, overlaps, scale=1.0, condition=1e4),
    }


@penrose_identities.control(
    "left and right singular vectors of a symmetric matrix are equal, signs and all",
    of="singular vectors of symmetric matrices",
)
def equal_sides(evidence):
    return replace(evidence, right=np.ones_like(evidence.right))


@penrose_identities.control("the transpose, which inverts rotations", of="M M⁺ M")
def transposed(evidence):
    return replace(evidence, left=evidence.aside["transpose"])


@penrose_identities.control("the inverse of a matrix of full rank", of="trace of a projection is the rank")
def full_rank(evidence):
    full = np.repeat([min(rows, columns) for rows, columns, _ in RANKS], 2)
    return replace(evidence, right=np.tile(full, len(evidence.right) // len(full)))


@penrose_identities.picture
def inverse_and_rank(pieces):
    """Entries of M M⁺ M against those of M; and the trace of the projection M M⁺ against the rank, for five shapes."""
    product, traces = pieces["M M⁺ M"], pieces["trace of a projection is the rank"]
    entries, transpose = np.asarray(product.right), np.asarray(product.aside["transpose"])
    ends = np.asarray([entries.min(), entries.max()])
    shapes = np.asarray(RANKS)
    place, count = np.arange(1, len(RANKS) + 1), 2 * len(RANKS)
    return Row(
        [
            Curves(
                [
                    Line("equal", ends, ends),
                    Dots("M M⁺ M", entries, product.left),
                    Dots("M Mᵀ M", entries, transpose, rival="the transpose"),
                ],
                x="entry of M",
                y="entry of the product",
                ys=tuple(1.5 * ends),
            ),
            Curves(
                [
                    Line("rank", place, shapes[:, 2]),
                    Dots("trace of M M⁺", place, np.asarray(traces.left)[:count:2]),
                    Line("", place, shapes[:, :2].min(1), rival="full rank"),
                ],
                x="shape of the matrix: 6×9, 9×6, 7×7, 5×8, 7×7",
                y="trace",
                ys=(0, 8),
            ),
        ]
    )
