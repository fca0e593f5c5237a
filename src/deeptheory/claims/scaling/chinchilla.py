"""Published scaling laws, and the best allocation of compute to parameters and data."""

from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from deeptheory.lab import Chain, Identity, Limit, claim
from deeptheory.lab.pictures import Curves, Dots, Line, Row
from deeptheory.scaling.chinchilla import (
    BESIROGLU,
    HOFFMANN,
    KAPLAN_DATA,
    KAPLAN_PARAMETERS,
    compute_for_reduction,
    frontier_exponents,
    kaplan_loss,
    optimal_allocation,
)
from deeptheory.scaling.power_laws import ScalingLaw, loss_at

LAWS = {"Hoffmann et al.": HOFFMANN, "Besiroglu et al.": BESIROGLU}
PRINTED = {
    "Hoffmann et al.": ("1.69", "406.4", "0.34", "410.7", "0.28"),
    "Besiroglu et al.": ("1.8172", "482.01", "0.3478", "2085.43", "0.3658"),
}


def _literally(constants: tuple[str, ...], parameters: int, tokens: int) -> float:
    """The law in decimal arithmetic, from constants as they are printed."""
    floor, first, a, second, b = map(Decimal, constants)
    return float(floor + first / Decimal(parameters) ** a + second / Decimal(tokens) ** b)


@claim(
    items={
        "A15.9": "the law as printed",
        "A15.10": ("ten times both", "excess by compute"),
        "H13.5": ("doubling the parameters", "limit of much data", "limit of many parameters"),
    },
    says=r"Under $E+A/N^a+B/D^b$ ten times $N$ and ten times $D$ divide the excess over $E$ by between "
    r"$10^{\min(a,b)}$ and $10^{\max(a,b)}$ (1.9 and 2.2 for Chinchilla), ten times the compute, spent best, by "
    r"$10^{ab/(a+b)}=1.42$. Kaplan's joint law tends to $(N_c/N)^{a_N}$ and $(D_c/D)^{a_D}$.",
    needs="constants of Hoffmann et al. (2022), Besiroglu et al. (2024) and Kaplan et al. (2020)",
    symbols={
        "N": "parameters",
        "D": "tokens read in training",
        "E": "the floor of the loss",
        "A, B, a, b": "coefficients and exponents of the two terms",
        "N_c, D_c, a_N, a_D": "the constants of Kaplan et al.'s laws",
    },
    why="Each term is divided by ten to its exponent, and the sum by something in between. At the best allocation the "
    r"two terms keep a fixed proportion, so that both fall as the excess does: $N^{-a}$ with $N\propto C^{b/(a+b)}$. "
    "Ten times both sizes cost a hundred times the compute, and that is what halves the excess. Kaplan et al. have no "
    "floor, and their law would reach zero; fits with a floor say that text has entropy.",
    notice="The excess falls as a straight line against compute; the book's halving per tenfold scale is for tenfold "
    "parameters and tenfold data together. The two fits of one law to one set of runs differ much less in the loss "
    "than in their constants, and Kaplan's law without a floor runs below both, nearest around $10^{21}$ to "
    "$10^{22}$ operations.",
)
def published_scaling_laws(*, law: Literal["Hoffmann et al.", "Besiroglu et al."] = "Hoffmann et al."):
    constants, printed = LAWS[law], PRINTED[law]
    grid = [(n, d) for n in (10**8, 10**10, 70 * 10**9) for d in (10**10, 10**11, 14 * 10**11)]
    n, d = np.array(grid, float).T
    swapped = (*printed[:2], printed[4], printed[3], printed[2])
    excess, later = loss_at(constants, n, d) - constants.floor, loss_at(constants, 10 * n, 10 * d) - constants.floor
    factor = excess / later
    a, b = np.sort(constants.exponents)
    compute = np.geomspace(1e18, 1e24, 7)
    best = np.array([_best(constants, c).fun for c in compute]) - constants.floor
    few, many = np.array([1e6, 1e9, 1e12]), 1e12 * 10.0 ** np.arange(4, 10)
    at_n, at_d = loss_at(KAPLAN_PARAMETERS, 1e9), loss_at(KAPLAN_DATA, 1e10)
    return {
        "the law as printed": Identity(
            loss_at(constants, n, d), np.array([_literally(printed, *each) for each in grid]),
            along={"parameters and tokens": np.array([f"{n:.0e}, {d:.0e}" for n, d in grid])},
            aside={"swapped": np.array([_literally(swapped, *each) for each in grid])},
        ),
        "ten times both": Chain({"at least": (np.full(9, 10**a), factor), "at most": (factor, np.full(9, 10**b))}),
        "excess by compute": Identity(
            best[:-1] / best[1:], np.full(6, 10 ** frontier_exponents(constants)[2]), error=1e-8,
            along={"compute": compute[:-1]},
        ),
        "doubling the parameters": Identity(
            loss_at(KAPLAN_PARAMETERS, 2 * few) / loss_at(KAPLAN_PARAMETERS, few), np.full(3, 2**-0.076),
            along={"parameters": few},
        ),
        "limit of much data": Limit(
            many, np.abs(kaplan_loss(1e9, many) / at_n - 1), order=1.0,
            aside={"other": np.abs((8.8e13 / 1e9) ** 0.095 / at_n - 1)},
        ),
        "limit of many parameters": Limit(
            many, np.abs(kaplan_loss(many, 1e10) / at_d - 1), order=0.8, resolution=0.1,
            aside={"other": np.abs((5.4e13 / 1e10) ** 0.076 / at_d - 1)},
        ),
    }  # fmt: skip


def _best(law: ScalingLaw, compute: float) -> Any:
    """The least loss of a budget, searched over the logarithm of the number of parameters."""
    return minimize_scalar(
        lambda u: loss_at(law, np.exp(u), compute / 6 / np.exp(u)),
        bounds=(8, 40),
        method="bounded",
        options={"xatol": 1e-9},
    )


@published_scaling_laws.control("exponents exchanged", of="the law as printed")
def exchanged(evidence):
    return replace(evidence, right=evidence.aside["swapped"])


@published_scaling_laws.control("both terms with the larger exponent", of="ten times both")
def larger_exponent(evidence):
    factor, most = evidence.links["at most"]
    return replace(evidence, links={"at least the larger": (most, factor)})


@published_scaling_laws.control("ten times the compute halves the excess", of="excess by compute")
def halves(evidence):
    return replace(evidence, right=np.full_like(evidence.right, 2.0))


@published_scaling_laws.control("the exponent of data", of="doubling the parameters")
def of_data(evidence):
    return replace(evidence, right=np.full_like(evidence.right, 2**-0.095))


@published_scaling_laws.control("the exponents of the two laws exchanged, much data", of="limit of much data")
@published_scaling_laws.control(
    "the exponents of the two laws exchanged, many parameters", of="limit of many parameters"
)
def other_exponent(evidence):
    return replace(evidence, y=np.abs(evidence.y - evidence.aside["other"]))


@published_scaling_laws.picture
def laws_by_compute():
    """Loss at the best allocation against compute (left) and its excess over the floor (right)."""
    compute = np.geomspace(1e18, 1e26, 60)
    best = {name: optimal_allocation(law, compute).loss for name, law in LAWS.items()}
    n = optimal_allocation(HOFFMANN, compute)
    left = [Line(name, compute, loss) for name, loss in best.items()]
    left.append(Line("Kaplan et al., same sizes", compute, kaplan_loss(n.parameters, n.tokens), dashed=True))
    right = [Line(name, compute, loss - LAWS[name].floor) for name, loss in best.items()]
    x = "compute, floating-point operations"
    return Row([Curves(left, x=x, y="loss", log="x"), Curves(right, x=x, y="loss above the floor", log="xy")])


@claim(
    items={"H13.7": ("best parameters", "best tokens", "loss at the best allocation")},
    says=r"The least loss $E+A/N^a+B/D^b$ at compute $6ND=C$ is at $N=G(C/6)^{b/(a+b)}$, $D=(C/6)^{a/(a+b)}/G$ with "
    r"$G=(aA/bB)^{1/(a+b)}$: in tandem, but equally only if $a=b$. Dividing the excess by $r$ takes $r^{(a+b)/ab}$ "
    r"times the compute.",
    symbols={
        "N": "parameters",
        "D": "tokens",
        "C": "floating-point operations",
        "E, A, B, a, b": "the constants of the law",
        "G": "the balance between the two terms",
        "r": "a factor of reduction",
    },
    why="At the optimum a percent more parameters and a percent fewer tokens change nothing: $aA/N^a=bB/D^b$. With "
    "$ND=C/6$ this gives both. The exponents 0.45 and 0.55 of Hoffmann et al.'s constants are near one half, Besiroglu "
    "et al.'s are 0.51 and 0.49, and Kaplan et al. reported 0.73 for parameters: the same question, three answers.",
    notice="Along a curve of equal compute the loss has a flat valley, and the dot is its lowest point. At "
    "Chinchilla's budget the two fits ask for very different numbers of tokens a parameter: about 90 and about 20.",
)
def compute_optimal_allocation():
    compute = np.geomspace(1e18, 1e24, 7)
    found = {name: [_best(law, c) for c in compute] for name, law in LAWS.items()}
    parameters = np.array([[np.exp(each.x) for each in row] for row in found.values()])
    losses = np.array([[each.fun for each in row] for row in found.values()])
    best = [optimal_allocation(law, compute) for law in LAWS.values()]
    labels = {"law": np.array(list(LAWS)), "compute": compute}
    stated = np.array([each.parameters for each in best])
    tokens = np.array([each.tokens for each in best])
    floors = np.array([law.floor for law in LAWS.values()])[:, None]
    # Twice the reduction that the closed form promises, found again by search.
    more = np.array(
        [[_best(law, c * compute_for_reduction(law, 2.0)).fun for c in compute[:3]] for law in LAWS.values()]
    )
    # The balance (A/B)^(1/(a+b)) without the exponents: equal terms instead of equal gains.
    off = np.array([[(b / a) ** (1 / (a + b))] for a, b in (law.exponents for law in LAWS.values())])
    uneven = [loss_at(law, n * by, d / by) for law, n, d, by in zip(LAWS.values(), stated, tokens, off, strict=True)]
    root = 1e-5  # a search for the bottom of a valley finds it to the root of the rounding error
    return {
        "best parameters": Identity(
            stated, parameters, error=root * parameters, along=labels,
            aside={"even": stated[:, :1] * np.sqrt(compute / compute[0]), "turned": tokens},
        ),
        "best tokens": Identity(
            tokens, compute / 6 / parameters, error=root * tokens, along=labels, aside={"equal terms": tokens / off}
        ),
        "loss at the best allocation": Identity(
            np.array([each.loss for each in best]), losses, error=1e-10, along=labels,
            aside={"equal terms": np.array(uneven)},
        ),
        "excess divided by two": Identity((losses[:, :3] - floors) / (more - floors), np.full((2, 3), 2.0), error=1e-8),
    }  # fmt: skip


@compute_optimal_allocation.control("both in proportion to the root of the compute", of="best parameters")
def evenly(evidence):
    return replace(evidence, left=evidence.aside["even"])


@compute_optimal_allocation.control("parameters and tokens exchanged", of="best parameters")
def turned(evidence):
    return replace(evidence, left=evidence.aside["turned"])


@compute_optimal_allocation.control("tokens where the two terms are equal", of="best tokens")
@compute_optimal_allocation.control("loss where the two terms are equal", of="loss at the best allocation")
def equal_terms(evidence):
    return replace(evidence, left=evidence.aside["equal terms"])


@compute_optimal_allocation.picture
def valleys():
    """Loss along equal compute with its lowest points (left); best tokens a parameter by the two fits (right)."""
    left = []
    for compute in (1e20, 1e22, 1e24):
        best = optimal_allocation(HOFFMANN, compute)
        n = best.parameters * np.geomspace(0.03, 30, 61)
        name = f"C = 10^{round(np.log10(compute))}"
        left += [Line(name, n, loss_at(HOFFMANN, n, compute / 6 / n)), Dots(name, [best.parameters], [best.loss])]
    compute = np.geomspace(1e18, 1e26, 40)
    allocations = {name: optimal_allocation(law, compute) for name, law in LAWS.items()}
    right: list[Any] = [Line(name, compute, each.tokens / each.parameters) for name, each in allocations.items()]
    right.append(Dots("Chinchilla as trained", [6 * 70e9 * 1.4e12], [20.0]))
    return Row(
        [
            Curves(left, x="parameters N", y="loss", log="x"),
            Curves(right, x="compute C", y="tokens a parameter D/N", log="xy"),
        ]
    )
