"""The clustering diagram: 64 tokens under self-attention at 32 temperatures in 32 dimensions, in one compiled call."""

from functools import partial

import numpy as np

import deeptheory as dt
from benchmarks.harness import machine, timed
from deeptheory.attention.regimes import share_after

COUNT, SIDE, STEPS = 64, 32, 120


def diagram(seed: int) -> np.ndarray:
    """Share of pairs together at time 30 over (β, d), β up to 16 and d from 2 to 64."""
    point = partial(share_after, count=COUNT, most=COUNT, steps=STEPS)
    over = {
        "inverse_temperature": np.linspace(0.25, 16.0, SIDE).tolist(),
        "dimension": np.linspace(2, COUNT, SIDE).round().tolist(),
    }
    return np.asarray(dt.phase_diagram(point, over, seed=seed).to_array())


def main() -> str:
    """Seconds of the first call, which compiles, and of one on fresh tokens."""
    first, shares = timed(lambda: diagram(0))
    later, again = timed(lambda: diagram(1))
    lines = [
        f"### Clustering of {COUNT} tokens over {SIDE} × {SIDE} values of temperature and dimension",
        "",
        f"{machine()}.",
        "",
        "| call | seconds | points in one cluster |",
        "| --- | ---: | ---: |",
        f"| first | {first:.1f} | {np.mean(shares == 1):.0%} |",
        f"| another seed | {later:.1f} | {np.mean(again == 1):.0%} |",
        "",
    ]
    return "\n".join(lines)
