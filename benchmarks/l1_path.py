"""All breakpoints of an ℓ1 regularization path, and of infinitesimal stagewise descent, beside scikit-learn's LARS."""

import numpy as np
import scipy

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory.implicit_bias.auditor import least_norm
from deeptheory.implicit_bias.paths import l1_path, path_at, stagewise_path

SHARES = np.linspace(0.02, 0.98, 25)
"""levels at which paths are compared, in units of the first: the last of scikit-learn's breakpoints is not at zero"""


def inputs(columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    rows = 2 * columns // 5
    return draw.standard_normal((rows, columns)), draw.standard_normal(rows)


def ours(columns: int, seed: int):
    design, labels = inputs(columns, seed)
    seconds, path = timed(lambda: l1_path(design, labels))
    # Weights that are zero on one side are compared in units of the largest.
    return seconds, shifted(path_at(path, SHARES * path.levels[0]))


def shifted(weights: np.ndarray) -> np.ndarray:
    return weights + np.abs(weights).max()


def theirs(peer: Peer):
    def run(columns: int, seed: int):
        seconds, value = peer.ask(columns=columns, seed=seed, shares=SHARES.tolist())
        return seconds, shifted(value)

    return run


def stagewise(columns: int) -> str:
    """One stagewise path, to its end: how many breakpoints, how long, and its norm beside the least one."""
    design, labels = inputs(columns, 0)
    seconds, path = timed(lambda: stagewise_path(design, labels))
    least = np.abs(least_norm(design, labels, power=1)[0]).sum()
    unfit = np.abs(design @ path.weights[-1] - labels).max()
    return (
        f"Stagewise, {len(labels)} × {columns}: {len(path.levels)} breakpoints in {seconds:.2f} s, residual {unfit:.1e}, "
        f"ends at {np.abs(path.weights[-1]).sum() / least:.4f} of the least ℓ1 norm.\n"
    )


def main(sizes: tuple[int, ...] = (100, 500, 1000), rounds: int = 5) -> str:
    peer = Peer("scikit_learn")
    try:
        contenders = [
            Contender("deeptheory", f"NumPy {np.__version__}, SciPy {scipy.__version__}", ours),
            Contender("scikit-learn", peer.versions, theirs(peer)),
        ]
        title = "ℓ1 path with all its breakpoints, by columns, two rows for five columns"
        table = compare(title, contenders, sizes, rounds=rounds, tolerance=1e-9)
        return "\n".join([table, *map(stagewise, sizes)])
    finally:
        peer.close()
