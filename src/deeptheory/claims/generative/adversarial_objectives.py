"""What an unrestricted discriminator makes of the adversarial objective, and which samples move the generator."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Interval
from scipy.special import rel_entr
from scipy.stats import wasserstein_distance

from deeptheory.generative.adversarial_networks import best_discriminator, gan_value, generator_weights
from deeptheory.generative.probability_metrics import best_lipschitz_critic
from deeptheory.lab import Identity, Inequality, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row

OBJECTIVES = ("saturating", "non-saturating", "identity")


@claim(
    items={
        "A16.5": ("best value with the logarithm", "best value with the identity", "no discriminator does better"),
        "A16.7": ("best value with the logarithm", "no discriminator does better"),
        "A16.8": ("best value with the identity", "best Lipschitz value with the identity"),
        "A16.9": "pull of a sample by the discriminator's output",
    },
    says=r"$\max_DE_\mu f(D)+E_\nu f(1-D)$ is $\mathrm{KL}(\mu\|m)+\mathrm{KL}(\nu\|m)-\log4$ for $f=\log$, "
    r"$m=\frac{\mu+\nu}2$, and $1+\mathrm{TV}$ for the identity, $1+W_1$ over 1-Lipschitz $D$. A sample pulls on the "
    r"generator like $1/D$ if it ascends $\log D$, $1/(1-D)$ if it descends $\log(1-D)$.",
    needs="laws on a finite set, for $W_1$ of diameter at most one; a discriminator of any shape with values in [0, 1]",
    symbols={
        r"\mu, \nu": "the real and the synthetic law",
        "D": "the discriminator",
        "f": "the measuring function",
        "W_1": "the Wasserstein distance",
    },
    why=r"The objective is a sum over points, and $\mu\log D+\nu\log(1-D)$ is largest at $D=\mu/(\mu+\nu)$; each of "
    r"the two logarithms then lacks a factor 2 for a density ratio with $m$, which is $-\log4$ in all. With the "
    r"identity the best $D$ is 1 where $\mu>\nu$. A Lipschitz constraint turns the same objective into "
    "the dual of transport.",
    notice=r"Equal laws give $-\log4$, not zero: the best discriminator answers $\frac12$ and is paid $2\log\frac12$. "
    "As the laws part, the value with the logarithm saturates at zero, where nothing is left to learn from. On the "
    "right, the objective as a game forgets the samples that are found out; its usual substitute dwells on them.",
    explore={"spread": (0.05, 0.1, 0.2)},
)
def adversarial_optima(*, spread: Annotated[float, Interval(ge=0.03, le=0.3)] = 0.1):
    points = np.linspace(0, 1, 41)
    shifts = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5])

    def bump(centre, width):
        heights = np.exp(-(((points - centre[:, None]) / width) ** 2) / 2) + 1e-6
        return heights / heights.sum(-1, keepdims=True)

    # The synthetic bump is wider as well, but for the first pair, which is one law twice.
    real = bump(0.25 + 0 * shifts, spread)
    synthetic = np.vstack([real[:1], bump(0.25 + shifts[1:], 1.2 * spread)])
    middle = (real + synthetic) / 2
    divergences = (rel_entr(real, middle) + rel_entr(synthetic, middle)).sum(-1)
    found = {f: gan_value(real, synthetic, best_discriminator(real, synthetic, f), f) for f in ("log", "identity")}
    steps = np.abs(points[:, None] - points)
    critics = [best_lipschitz_critic(a, b, steps).values for a, b in zip(real, synthetic, strict=True)]
    # On points of [0, 1] a 1-Lipschitz critic, moved to start at zero, has its values there too.
    smooth = [
        gan_value(a, b, np.clip(c - c.min(), 0, 1), "identity")
        for a, b, c in zip(real, synthetic, critics, strict=True)
    ]
    area = np.array([wasserstein_distance(points, points, a, b) for a, b in zip(real, synthetic, strict=True)])
    tilts = np.linspace(-0.5, 0.5, 11)[:, None, None]
    best = best_discriminator(real, synthetic)
    tilted = best * np.exp(tilts) / (best * np.exp(tilts) + 1 - best)
    outputs = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
    tiny = 1e-30j  # a complex step: the derivative without a difference
    losses = {
        "saturating": np.log(1 - outputs - tiny),
        "non-saturating": -np.log(outputs + tiny),
        "identity": -(outputs + tiny),
    }
    pulls = np.array([generator_weights(outputs, name) for name in OBJECTIVES])
    along = {"shift": shifts}
    return {
        "best value with the logarithm": Identity(
            found["log"], divergences - np.log(4), scale=2.0, size=41.0, along=along
        ),
        "no discriminator does better": Inequality(
            gan_value(real, synthetic, tilted), divergences - np.log(4) + 1e-13, aside={"tilts": tilts.ravel()}
        ),
        "best value with the identity": Identity(
            found["identity"],
            1 + np.abs(real - synthetic).sum(-1) / 2,
            size=41.0,
            along=along,
            aside={"transport": area},
        ),
        "best Lipschitz value with the identity": Identity(
            np.array(smooth),
            1 + area,
            error=1e-8,
            along=along,
            aside={"variation": np.abs(real - synthetic).sum(-1) / 2},
        ),
        "pull of a sample by the discriminator's output": Identity(
            pulls,
            np.array([np.abs(losses[name].imag) / 1e-30 for name in OBJECTIVES]),
            along={"objective": OBJECTIVES, "output": outputs},
        ),
    }


@adversarial_optima.control(
    "the divergence without log 4, as printed", erratum="A16.7a", of="best value with the logarithm"
)
def without_log_four(evidence):
    return replace(evidence, right=evidence.right + np.log(4))


@adversarial_optima.control("half the sum of divergences", of="no discriminator does better")
def half_the_sum(evidence):
    return replace(evidence, bound=(evidence.bound + np.log(4)) / 2 - np.log(4))


@adversarial_optima.control("transport distance without a Lipschitz constraint", of="best value with the identity")
def unconstrained_transport(evidence):
    return replace(evidence, right=1 + evidence.aside["transport"])


@adversarial_optima.control("total variation under a Lipschitz constraint", of="best Lipschitz value with the identity")
def constrained_variation(evidence):
    return replace(evidence, right=1 + evidence.aside["variation"])


@adversarial_optima.control(
    "the game's own generator dwells on samples found out", of="pull of a sample by the discriminator's output"
)
def dwelling(evidence):
    return replace(evidence, left=evidence.left[[1, 1, 2]])


@adversarial_optima.picture
def value_and_pull(pieces):
    """The best discriminator's value as two bumps part, by formula and as found (dots); and the pull of a sample."""
    log, identity = pieces["best value with the logarithm"], pieces["best value with the identity"]
    pull = pieces["pull of a sample by the discriminator's output"]
    shifts, outputs = log.along["shift"], np.linspace(0.02, 0.98, 97)
    values = Curves(
        [
            *(
                kind(name, shifts, heights)
                for name, piece in (("logarithm", log), ("identity: 1 + TV", identity))
                for kind, heights in ((Line, piece.right), (Dots, piece.left))
            ),
            Line("", shifts, log.right + np.log(4), rival="logarithm without − log 4, as printed"),
        ],
        x="shift of the synthetic bump",
        y="value of the objective",
    )
    marks = [Line(name, outputs, generator_weights(outputs, name)) for name in OBJECTIVES]
    marks += [Dots("by a complex step", pull.along["output"], row) for row in pull.right]
    return Row([values, Curves(marks, x="discriminator's output", y="pull on the generator", log="y")])
