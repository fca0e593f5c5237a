"""All breakpoints of an ℓ1 regularization path, and of infinitesimal stagewise descent, beside scikit-learn's LARS.

Compared are the breakpoints themselves, every one, and the weights at levels between them. The peer has no stagewise
path: there each move between breakpoints is compared with the non-negative least-squares fit of the residual.
"""

import numpy as np
import scipy
import scipy.optimize

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory.implicit_bias.auditor import least_norm
from deeptheory.implicit_bias.paths import PiecewisePath, l1_path, path_at, stagewise_path

SHARES = np.linspace(0.02, 0.98, 25)
"""levels at which weights are compared, in units of the first: the last of scikit-learn's breakpoints is not at zero"""
AGREEMENT = 1e-9


def inputs(columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    rows = 2 * columns // 5
    return draw.standard_normal((rows, columns)), draw.standard_normal(rows)


def ours(columns: int, seed: int):
    design, labels = inputs(columns, seed)
    seconds, path = timed(lambda: l1_path(design, labels))
    return seconds, compared(path.levels, path_at(path, SHARES * path.levels[0]))


def compared(levels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """All breakpoints but the last, over the first, and the weights; differences are in units of the largest."""
    return 1 + np.concatenate([levels[:-1] / levels[0], weights.ravel() / np.abs(weights).max()])


def theirs(peer: Peer):
    def run(columns: int, seed: int):
        seconds, value = peer.ask(columns=columns, seed=seed, shares=SHARES.tolist())
        levels, weights = value[: -len(SHARES) * columns], value[-len(SHARES) * columns :]
        return seconds, compared(levels, weights)

    return run


def stagewise(columns: int) -> str:
    """One stagewise path, to its end: how many breakpoints, how long, and its norm beside the least one."""
    design, labels = inputs(columns, 0)
    seconds, path = timed(lambda: stagewise_path(design, labels))
    off = cone_misfit(path, design, labels)
    if off > 1e-6:
        raise AssertionError(f"a stagewise move is {off:.2g} off the non-negative fit at {columns} columns")
    least = np.abs(least_norm(design, labels, power=1)[0]).sum()
    unfit = np.abs(design @ path.weights[-1] - labels).max()
    return (
        f"Stagewise, {len(labels)} × {columns}: {len(path.levels)} breakpoints in {seconds:.2f} s, unfit {unfit:.1e}, "
        f"ends at {np.abs(path.weights[-1]).sum() / least:.4f} of the least ℓ1 norm; moves at most {off:.1e} off the "
        "non-negative fit.\n"
    )


def cone_misfit(path: PiecewisePath, design: np.ndarray, labels: np.ndarray, moves: int = 40) -> float:
    """How far moves of a stagewise path, evenly spread over it, are from the residual's projection on the tied cone."""
    worst = 0.0
    # Correlations are known to a rounding of the first level: below 1e-8 of it no one can say which columns are tied.
    last = int(np.sum(path.levels > 1e-8 * path.levels[0])) - 2
    for k in np.unique(np.linspace(0, last, moves).astype(int)):
        before, move = path.weights[k], path.weights[k + 1] - path.weights[k]
        residual = labels - design @ before
        found = design.T @ residual
        tied = np.abs(found) > path.levels[k] * (1 - 1e-8) - 1e-13 * path.levels[0]
        fit = np.zeros(len(before))
        fit[tied] = scipy.optimize.nnls(design[:, tied] * np.sign(found[tied]), residual)[0] * np.sign(found[tied])
        worst = max(worst, np.abs(move / np.abs(move).sum() - fit / np.abs(fit).sum()).max())
    return worst


def main(sizes: tuple[int, ...] = (100, 500, 1000), rounds: int = 5) -> str:
    peer = Peer("scikit_learn")
    try:
        contenders = [
            Contender("deeptheory", f"NumPy {np.__version__}, SciPy {scipy.__version__}", ours),
            Contender("scikit-learn", peer.versions, theirs(peer)),
        ]
        title = "ℓ1 path with all its breakpoints, by columns, two rows for five columns"
        table = compare(title, contenders, sizes, rounds=rounds, tolerance=AGREEMENT)
        agreed = f"All breakpoints, and weights between them, agree with scikit-learn's to {AGREEMENT:.0e}.\n"
        return "\n".join([table, agreed, *map(stagewise, sizes)])
    finally:
        peer.close()
