"""Recovering a hidden direction from its third Hermite polynomial: the overlap as a chain, beside whole vectors.

Online gradient descent on the sphere sees a fresh Gaussian input a step; at information exponent three, with steps
0.03/√N short enough not to drown in their own noise, it needs of the order of N² of them to leave the equator. Whole
vectors cost N numbers a step, the chain of their overlap three, for any N: nothing is approximated, since the three are
all that a step depends on. Whole vectors are run for a part of the steps and scaled up. That both have the same law is
tested at small N (`tests/dynamics/test_sphere.py`).
"""

import jax
import numpy as np

from benchmarks.harness import Contender, compare, machine, threads, timed
from deeptheory.dynamics.hitting_times import mean_hitting_time
from deeptheory.dynamics.sphere import overlap_chain, spherical_sgd
from deeptheory.foundations.hermite import hermite_link

LINK, RUNS, SAMPLES, PART, LONG = hermite_link(3), 16, 200_000, 64, 4_000_000
"""the link, runs at once, samples for each, samples that whole vectors are run for, and samples of a search"""


def setting(size: int) -> dict:
    return dict(dimension=size, step=0.03 / size**0.5, replicas=RUNS)


def chain(size: int, seed: int):
    """The value is one if no overlap left [−1, 1]: both sides draw numbers of their own."""
    key = jax.random.key(seed)
    run = lambda: overlap_chain(key, LINK, **setting(size), max_steps=SAMPLES, stop=False)  # noqa: E731
    seconds, found = timed(run)
    return seconds, float(found.peak.max() <= 1)


def whole(size: int, seed: int):
    """Scaled up from a part, so that compiling, which would be scaled too, is done before the clock starts."""
    run = lambda: spherical_sgd(jax.random.key(seed), LINK, **setting(size), steps=PART)  # noqa: E731
    if seed == 0:
        run()
    seconds, found = timed(run)
    return seconds * SAMPLES / PART, float(np.abs(found).max() <= 1)


def search(size: int = 1000) -> str:
    """From a random start to half the overlap: runs of the chain, and its mean time by collocation."""
    seconds, run = timed(lambda: overlap_chain(jax.random.key(0), LINK, **setting(size), max_steps=LONG))
    there, step = np.isfinite(run.times[0]), setting(size)["step"]
    exact, mean = timed(lambda: mean_hitting_time(LINK, dimension=size, step=step))
    return (
        f"From random starts at N = {size:,}, {RUNS} runs of at most {LONG:,} samples: {there.sum()} pass half the "
        f"overlap, in {seconds:.1f} s; the mean time by collocation, {mean:,.0f} samples, in {exact:.1f} s "
        f"({machine()}; {threads()}).\n"
    )


def main() -> str:
    contenders = [
        Contender("deeptheory, chain of the overlap", f"jax {jax.__version__}", chain),
        Contender("whole vectors", f"jax {jax.__version__}", whole, share=lambda size: PART / SAMPLES),
    ]
    title = f"{RUNS} runs of {SAMPLES:,} samples at information exponent 3, by dimension"
    return compare(title, contenders, (1000, 100_000), rounds=1, tolerance=0.0) + "\n" + search()
