"""Density, distribution function and quantiles of the Marchenko–Pastur law, beside scikit-rmt: speed and accuracy."""

import jax
import mpmath
import numpy as np

from benchmarks.harness import Contender, Peer, compare, timed
from deeptheory.spectra.marchenko_pastur import marchenko_pastur_cdf, marchenko_pastur_pdf, marchenko_pastur_quantile

RATIO, SHOWN, QUANTILES = 0.5, 64, 200
"""Quantiles of the peer are found one at a time by a root search: so many are run, and the rest would be the same."""
OURS = {"pdf": marchenko_pastur_pdf, "cdf": marchenko_pastur_cdf, "ppf": marchenko_pastur_quantile}
TITLES = {"pdf": "density", "cdf": "distribution function", "ppf": "quantiles"}
RATIOS = (0.01, 0.5, 0.999, 1.0, 1.001, 4.0)


def inputs(work: str, size: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    if work == "ppf":
        return draw.uniform(size=size)
    return draw.uniform((1 - RATIO**0.5) ** 2, (1 + RATIO**0.5) ** 2, size)


def ours(work: str):
    def run(size: int, seed: int):
        with jax.enable_x64(True):
            x = inputs(work, size, seed)
            seconds, value = timed(lambda: np.asarray(OURS[work](x, RATIO)))
        return seconds, value[:SHOWN]

    return run


def theirs(peer: Peer, work: str):
    def run(size: int, seed: int):
        part = {"count": min(size, QUANTILES)} if work == "ppf" else {}
        return peer.ask(work=work, size=size, seed=seed, ratio=RATIO, **part)

    return run


def exact_cdf(x: float | mpmath.mpf, ratio: float | mpmath.mpf) -> mpmath.mpf:
    """The distribution function to forty digits: the mass that is continuous, by its angle, and the atom."""
    with mpmath.workdps(40):
        ratio, x = mpmath.mpf(ratio), mpmath.mpf(x)
        cosine = (1 + ratio - x) / (2 * mpmath.sqrt(ratio))
        angle = mpmath.acos(max(min(cosine, mpmath.mpf(1)), mpmath.mpf(-1)))
        root = mpmath.sqrt(min(ratio, 1 / ratio))
        lag = mpmath.atan2(root * mpmath.sin(angle), 1 - root * mpmath.cos(angle))
        mass = (angle + mpmath.sin(angle) / root - (1 / root**2 - 1) * lag) / mpmath.pi
        return mass * min(mpmath.mpf(1), 1 / ratio) + max(mpmath.mpf(0), 1 - 1 / ratio)


def exact_pdf(x: float | mpmath.mpf, ratio: float | mpmath.mpf) -> mpmath.mpf:
    with mpmath.workdps(40):
        ratio, x = mpmath.mpf(ratio), mpmath.mpf(x)
        low, high = ((1 + sign * mpmath.sqrt(ratio)) ** 2 for sign in (-1, 1))
        return mpmath.sqrt(max((high - x) * (x - low), mpmath.mpf(0))) / (2 * mpmath.pi * ratio * x)


def accuracy(peer: Peer) -> str:
    """Largest errors against forty digits at points that crowd towards both edges."""
    lines = [
        "### Marchenko–Pastur: largest errors against forty digits",
        "",
        "Density relative to its value, distribution function absolute, quantiles as error in probability; points "
        "crowd towards both edges, from 1e-8 of the width on.",
        "",
        "| ratio | who | density | distribution | quantiles |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    ends = np.geomspace(1e-8, 0.5, 24)
    shares = np.concatenate([ends, 1 - ends])
    for ratio in RATIOS:
        low, high = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2
        points, atom = low + (high - low) * shares, max(0.0, 1 - 1 / ratio)
        levels = atom + (1 - atom) * np.linspace(0.02, 0.98, 12)
        truth = {"pdf": exact_pdf, "cdf": exact_cdf}
        answers = {}
        with jax.enable_x64(True):
            answers["deeptheory"] = {
                work: np.asarray(OURS[work](levels if work == "ppf" else points, ratio)) for work in OURS
            }
        answers["scikit-rmt"] = {
            work: peer.ask(work=work, ratio=ratio, points=(levels if work == "ppf" else points).tolist())[1]
            for work in OURS
        }
        for who, found in answers.items():
            errors = []
            for work, exact in truth.items():
                values = [exact(x, ratio) for x in points]
                scale = values if work == "pdf" else [1] * len(values)
                errors.append(max(float(abs(v - e) / s) for v, e, s in zip(found[work], values, scale, strict=True)))
            back = [float(abs(exact_cdf(x, ratio) - p)) for x, p in zip(found["ppf"], levels, strict=True)]
            cells = (f"{error:.1e}" if error < 1e3 else "not finite" for error in (*errors, max(back)))
            lines.append(f"| {ratio:g} | {who} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def main(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000), rounds: int = 9) -> str:
    peer = Peer("scikit_rmt")
    tables = []
    try:
        for work in OURS:
            share = (lambda size: min(1.0, QUANTILES / size)) if work == "ppf" else (lambda size: 1.0)
            contenders = [
                Contender("deeptheory", f"jax {jax.__version__}", ours(work)),
                Contender("scikit-rmt", peer.versions, theirs(peer, work), share),
            ]
            title = f"Marchenko–Pastur {TITLES[work]}, points at ratio {RATIO:g}"
            turns = 1 if work == "ppf" else rounds
            tables.append(compare(title, contenders, sizes, rounds=turns, tolerance=1e-6))
        tables.append(accuracy(peer))
        return "\n".join(tables)
    finally:
        peer.close()
