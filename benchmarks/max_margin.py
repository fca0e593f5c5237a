"""Separable logistic regression to its limit: gradient flow in logarithmic time beside scikit-learn's linear SVM.

Both look for one direction, that of the hard margin: we by following gradient flow on the logistic loss to t = e^(10⁸),
the peer by a support vector machine with a large penalty. Compared are seconds, and the distance of each direction from
that of the active set of `max_margin`. Plain steps would have to be as many as the time over the step: e^(10⁸) is more
than 1e43,000,000.
"""

import jax
import numpy as np

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory.foundations.margin_losses import LOGISTIC
from deeptheory.implicit_bias.separable import (
    gradient_descent_on_margins,
    logarithmic_flow,
    max_margin,
    separable_points,
    stable_step,
)

LOG_TIME = 1e8
WITHIN = 1e-6
"""the distance from the direction of the hard margin that the flow must come to"""
DIMENSIONS = {200: 20, 1_000: 50}


def points(size: int, seed: int) -> np.ndarray:
    return separable_points(jax.random.key(seed), count=size, dimension=DIMENSIONS[size])


def direction(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def flowed(size: int, seed: int):
    signed = points(size, seed)
    times = np.array([0.0, LOG_TIME])
    seconds, path = timed(lambda: logarithmic_flow(signed, times, loss=LOGISTIC, tolerance=1e-8))
    return seconds, distance(signed, path[-1])


def machine(peer: Peer, solver: str):
    def run(size: int, seed: int):
        signed = points(size, seed)
        seconds, vector = peer.ask(solver=solver, points=signed.tolist())
        return seconds, distance(signed, vector)

    return run


def stepped(size: int, seed: int, steps: int = 10_000):
    """Plain gradient descent, for the distance that so many steps leave."""
    signed = points(size, seed)
    step = float(stable_step(signed, LOGISTIC)) / 2
    seconds, path = timed(lambda: np.asarray(gradient_descent_on_margins(signed, np.array([steps]), step=step)))
    return seconds, distance(signed, path[-1])


def distance(signed: np.ndarray, vector: np.ndarray) -> float:
    """From the direction of the hard margin."""
    return float(np.linalg.norm(direction(vector) - direction(max_margin(signed).vector)))


def main(sizes: tuple[int, ...] = (200, 1_000), rounds: int = 3) -> str:
    peer = Peer("scikit_learn")
    found: dict[tuple[str, int], float] = {}
    slowest: dict[tuple[str, int], float] = {}

    def noted(name, work):
        def run(size: int, seed: int):
            seconds, error = work(size, seed)
            slowest[name, size] = max(slowest.get((name, size), 0.0), seconds)
            found[name, size] = max(found.get((name, size), 0.0), error)
            return seconds, 0.0  # distances are told apart below, and differ by design

        return run

    try:
        works = {
            "flow in log time": (flowed, f"NumPy {np.__version__}"),
            "scikit-learn SVC": (machine(peer, "svc"), peer.versions),
            "scikit-learn LinearSVC": (machine(peer, "liblinear"), peer.versions),
            "10,000 plain steps": (stepped, f"jax {jax.__version__}"),
        }
        contenders = [Contender(name, versions, noted(name, work)) for name, (work, versions) in works.items()]
        with jax.enable_x64(True):
            times = compare("Direction of the hard margin, points", contenders, sizes, rounds=rounds, tolerance=1.0)
    finally:
        peer.close()
    for size in sizes:
        if (error := found["flow in log time", size]) > WITHIN:
            raise AssertionError(f"the flow ends {error:.2g} from the direction of the hard margin at {size} points")
    lines = ["Largest distance from the direction of the hard margin, over the rounds:", ""]
    lines += ["| size | who | distance |", "| ---: | --- | ---: |"]
    lines += [f"| {size} | {name} | {found[name, size]:.1e} |" for size in sizes for name in works]
    flow = {size: slowest["flow in log time", size] for size in sizes}
    told = ", ".join(f"{seconds:.2f} s at {size} points" for size, seconds in flow.items())
    lines += [
        "",
        f"The slowest rounds of the flow: {told}; {'all' if max(flow.values()) < 1 else 'not all'} under a second.",
    ]
    return "\n".join([times, *lines, ""])
