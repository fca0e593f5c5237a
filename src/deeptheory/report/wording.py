"""The words of the pages: verdicts, statuses, headings, numbers as people write them."""

import html
import json
import re
from datetime import UTC, datetime
from typing import Any

from deeptheory.lab.records import STATUSES
from deeptheory.report.mathml import scripted, typeset

__all__ = [
    "ERRATA",
    "STATUSES",
    "THREE_LINES",
    "VERDICTS",
    "day",
    "extent",
    "findable",
    "heading",
    "placed",
    "seconds",
    "sentence",
    "spoken",
    "stated",
    "words",
]

VERDICTS = {
    "holds": ("✓", "holds", "The statement holds on the evidence, and every control was refuted."),
    "refuted": ("✕", "refuted", "The evidence contradicts the statement."),
    "inconclusive": ("?", "inconclusive", "The evidence does not settle the statement."),
}

ERRATA = {
    "false": "false as printed",
    "missing-hypothesis": "missing hypothesis",
    "imprecise": "imprecise",
    "undefined": "undefined",
    "loose": "loose",
    "proof-only": "proof only",
    "notation": "notation",
    "attribution": "attribution",
}


CAPITALS = """
CLT CNN ERM GAN GD GPT JAX KL LSTM MLP MNIST MSE NTK ODE PAC PCA PL RIP RKHS SDE SGD SGLD SVD SVM VAE VC WL XOR ReLU
AdaBoost AdaGrad Adam Barron Bayes Bernoulli Bernstein Boltzmann Boolean Chebyshev Chernoff Cauchy Dudley Euler Fisher
Fourier Frobenius Gauss Gaussian Gaussians Gibbs Gram Gronwall Haar Hermite Hessian Hessians Hoeffding Hoffman Jacobian
Jensen Kuramoto Langevin Laplace Lasso Leman Lipschitz Lyapunov Marchenko Markov Massart McDiarmid Mercer Nesterov
Newton Orlicz Pastur Pinsker Poisson Polyak Rademacher ResNet9 Sauer Schwarz Shapley Shelah Sobolev Sperner Stein
Stieltjes Talagrand Taylor Wasserstein Weisfeiler Wielandt Wigner
"""
SPELT = {"ito": "Itô", "l1": "ℓ₁", "levy": "Lévy", "lojasiewicz": "Łojasiewicz", "poincare": "Poincaré"}
NAMES = {word.lower(): word for word in CAPITALS.split()} | SPELT
"""Words that keep their capitals in a heading."""


JOINED = (
    "Cauchy–Schwarz", "hand-written", "Hoffman–Wielandt", "Marchenko–Pastur", "PAC-Bayes", "Polyak–Łojasiewicz",
    "Sauer–Shelah", "sub-Gaussian", "Weisfeiler–Leman",
)  # fmt: skip
"""Names that are written with a dash."""


def heading(name: str) -> str:
    """A claim's name as a heading: chernoff_upper_tail → Chernoff upper tail, relu_pieces → ReLU pieces."""
    said = " ".join(NAMES.get(word, word) for word in name.strip("_").split("_"))
    for joined in JOINED:
        said = said.replace(re.sub("[–-]", " ", joined), joined)
    return capitalised(said)


def capitalised(text: str) -> str:
    """A text with a capital first letter, unless it begins with a variable: p = 2, n large."""
    first, second = [*text.split(" ", 2), "", ""][:2]
    related = bool(second) and second[0] in "=<>≤≥"
    variable = related or "=" in first or (len(first) == 1 and first != "a")
    return text if variable else text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """A sentence from the lab as HTML, from its capital to its full stop."""
    return spoken(capitalised(text)) + "."


THREE_LINES = 255
"""Characters that a statement may have once its formulas are set."""


def extent(text: str) -> int:
    """How many characters a text has once its formulas are set."""
    return len(html.unescape(re.sub(r"<[^>]+>", "", typeset(text))))


def stated(says: str, most: int = THREE_LINES) -> tuple[str, str]:
    """A statement in about three lines, and the sentences that are left."""
    if extent(says) <= most:
        return says, ""
    ends = [found.end() for found in re.finditer(r"[.;] (?=\S)", says) if says.count("$", 0, found.start()) % 2 == 0]
    cut = max((end for end in ends if extent(says[:end]) <= most), default=min(ends, default=0))
    return (re.sub(";$", "; …", says[:cut].strip()), says[cut:]) if cut else (says, "")


def spoken(text: str) -> str:
    """A sentence from the lab as HTML: formulas set, 3e-14 as a power of ten, minus signs as such, 3 % on one line."""
    if "$" in text:
        return typeset(text)
    told = re.sub(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b", _power, scripted(text))
    told = re.sub(r"(?<=\d) ?± ?(?=\d)", "\u00a0±\u00a0", told)
    return re.sub(r"(?<=\d) (?=%)", "\u00a0", re.sub(r"(?<![\w<>/.-])-(?=\d)", "−", told))


def placed(told: str, panels: bool) -> str:
    """HTML about panels that stand side by side on a page, and on a phone one below the other: both words are there."""

    def both(found: re.Match[str]) -> str:
        wide, place = found[0], "above" if "left" in found[0].lower() else "below"
        narrow = f"({place})" if wide.startswith("(") else place.capitalize() if wide[0].isupper() else place
        return f'<span class="beside">{wide}</span><span class="stacked">{narrow}</span>'

    alone = r"\((?:left|right)\)|\b(?:Left|Right)(?=[:,])|(?<=[;,] )(?:left|right)(?=, )"
    sides = alone + r"|\b[Oo]n the (?:left|right)\b(?!-| of\b| side\b| hand\b)"
    return re.sub(sides, both, told) if panels else told


def findable(*parts: str) -> str:
    """What a reader may look for in these texts: their words, without the signs of formulas."""
    return " ".join(re.sub(r"[\\${}^_]+", " ", " ".join(parts)).lower().split())


def day(made: float | None) -> str:
    """The day of a moment (seconds since 1970): 15 November 2026."""
    if made is None:
        return ""
    return f"{datetime.fromtimestamp(made, UTC):%-d %B %Y}"


def _power(found: re.Match[str]) -> str:
    times, sign, exponent = found.groups()
    factor = "" if times == "1" else f"{times}\u00a0·\u00a0"
    return f"{factor}10<sup>{'−' if sign == '-' else ''}{exponent}</sup>"


def words(name: str) -> str:
    return name.replace("_", " ")


def seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


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
