"""The words of the pages: verdicts, statuses, headings, numbers as people write them."""

import html
import json
import re
from typing import TYPE_CHECKING, Any

from deeptheory.lab.evidence.base import percent
from deeptheory.report.mathml import typeset

if TYPE_CHECKING:
    from deeptheory.lab.evidence import Judgement
    from deeptheory.lab.run import Run

__all__ = [
    "ERRATA",
    "STATUSES",
    "VERDICTS",
    "heading",
    "overall_resolution",
    "resolution",
    "seconds",
    "spoken",
    "words",
]

VERDICTS = {
    "holds": ("✓", "holds", "The statement holds on the evidence, and every control was refuted."),
    "refuted": ("✕", "refuted", "The evidence contradicts the statement."),
    "inconclusive": ("?", "inconclusive", "The evidence does not settle the statement."),
}

STATUSES = {
    "holds": ("holds", "every formula of the item is checked by a claim that holds"),
    "refuted-as-printed": ("refuted as printed", "the corrected statement holds, and the printed one is refuted"),
    "computed": ("computed", "code whose values are tested against an independent calculation"),
    "same-as": ("see elsewhere", "the item only points to another one"),
    "excluded": ("excluded", "no scale at which we could run it would mean anything"),
    "failing": ("failing", "a claim that should hold does not"),
    "open": ("open", "not checked yet"),
}

ERRATA = {
    "false": "false as printed",
    "missing-hypothesis": "missing hypothesis",
    "undefined": "undefined",
    "loose": "loose",
    "proof-only": "proof only",
    "notation": "notation",
    "attribution": "attribution",
}


CAPITALS = """
CLT CNN ERM GAN GD GPT JAX KL LSTM MLP MNIST MSE NTK ODE PAC PCA PL RIP RKHS SDE SGD SGLD SVD SVM VAE VC WL ReLU
Adam Bayes Bernoulli Boltzmann Boolean Chebyshev Chernoff Cauchy Dudley Euler Fisher Fourier Frobenius Gauss Gaussian
Gibbs Gronwall Haar Hermite Hessian Hoeffding Jacobian Jensen Kuramoto Langevin Laplace Lasso Leman Lipschitz Lyapunov
Marchenko Markov Massart McDiarmid Mercer Nesterov Newton Pastur Pinsker Poisson Polyak Rademacher Schwarz Shapley
Sobolev Sperner Stein Stieltjes Talagrand Taylor Wasserstein Weisfeiler Wigner
"""
NAMES = {word.lower(): word for word in CAPITALS.split()} | {"lojasiewicz": "Łojasiewicz", "poincare": "Poincaré"}
"""Words that keep their capitals in a heading."""


def heading(name: str) -> str:
    """A claim's name as a heading: chernoff_upper_tail → Chernoff upper tail, relu_pieces → ReLU pieces."""
    said = " ".join(NAMES.get(word, word) for word in name.strip("_").split("_"))
    said = said.replace("Marchenko Pastur", "Marchenko–Pastur").replace("Polyak Łojasiewicz", "Polyak–Łojasiewicz")
    said = said.replace("Weisfeiler Leman", "Weisfeiler–Leman")
    return said[:1].upper() + said[1:]


def spoken(text: str) -> str:
    """A sentence from the lab as HTML: formulas set, 3e-14 as a power of ten, minus signs as such."""
    if "$" in text:
        return typeset(text)
    told = re.sub(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b", _power, html.escape(text, quote=False))
    return re.sub(r"(?<![\w<>/.-])-(?=\d)", "−", told)


def _power(found: re.Match[str]) -> str:
    times, sign, exponent = found.groups()
    factor = "" if times == "1" else f"{times}\u00a0·\u00a0"
    return f"{factor}10<sup>{'−' if sign == '-' else ''}{exponent}</sup>"


def words(name: str) -> str:
    return name.replace("_", " ")


def seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def resolution(kind: str, judged: "Judgement") -> str:
    """The smallest deviation that would have been refuted, in words that fit the kind of evidence."""
    value = judged.resolution
    if value is None:
        return "—"
    if kind in ("Exact", "Counterexample"):
        return "exact"
    if kind in ("Rate", "Limit"):
        return f"±{value:.2g} in the exponent"
    if kind in ("Inequality", "Chain") and judged.tightness is not None:
        return f"bound reached to {100 * judged.tightness:.3g} %"
    if kind == "Chance":
        return f"{1 + value:.2g} times the promise"
    if kind == "Distribution":
        return f"{value:.2g}"
    return percent(value)


COARSEST = (("Law", "Share", "Trend"), ("Rate", "Limit"), ("Chance",), ("Distribution",), ("Bounded",),
            ("Inequality", "Chain"), ("Printed",), ("Identity",), ("Exact", "Counterexample"))  # fmt: skip
"""Kinds of evidence by how much they leave unseen; those that resolve alike stand together."""


def overall_resolution(run: "Run") -> str:
    """The resolution of a run: of its coarsest kind of evidence, that of the piece which leaves most unseen."""
    judged = [(run.described[name]["kind"], each) for name, each in run.judgements.items() if name in run.described]
    for kinds in COARSEST:
        alike = [
            (each.resolution, resolution(kind, each))
            for kind, each in judged
            if kind in kinds and each.resolution is not None
        ]
        if alike:
            return max(alike)[1]
    return "—"


def shown(value: Any) -> str:
    """A parameter's value as one would type it."""
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def versions(platform: str) -> list[str]:
    return [part.strip() for part in platform.split(",") if part.strip()]


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub(r"[<>\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", text)
