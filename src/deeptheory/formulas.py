"""Formulas where no typesetter is: the LaTeX of statements and errata as characters that a terminal has."""

import functools
import re
import unicodedata

__all__ = ["INDEX", "POWER", "clipped", "lettered", "readable", "scripted", "spelt_out", "spoken"]

FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
SCRIPTED = re.compile(r"[_^]\w+$")
"""What ends in an index or a power that is not set in small characters."""
POWER = re.compile(r"\^(?:\{([^{}]*)\}|\(((?:[^()]|\([^()]*\))*)\)|([−-]?[A-Za-z0-9.]*[A-Za-z0-9]|[⊤†⋆½]))")
INDEX = re.compile(r"(?<![a-z_])([^\W\d_])_([A-Za-z0-9]+)")
"""Powers and indices in words that are no formula: n^(1/2), λ_max."""
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|:=|\s+|.", re.DOTALL)


def _table(text: str) -> dict[str, str]:
    """Commands, each followed by its sign."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


OPERANDS = _table("""
    alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ
    nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ
    Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω ell ℓ nabla ∇ partial ∂ infty ∞ emptyset ∅ top ⊤ dagger † perp ⊥
    star ⋆ prime ′ dots … ldots … cdots ⋯ forall ∀ exists ∃ angle ∠ hbar ℏ
""")
GREEK = {name: sign for name, sign in OPERANDS.items() if "Α" <= sign <= "ϑ"}
NAMED = {sign: name for name, sign in GREEK.items() if not name.startswith("var")}
RELATIONS = _table("""
    le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ approx ≈ sim ∼ propto ∝ equiv ≡ asymp ≍ lesssim ≲ gtrsim ≳ ll ≪ gg ≫ in ∈ notin ∉
    subset ⊂ subseteq ⊆ succeq ⪰ preceq ⪯ to → rightarrow → leftarrow ← mapsto ↦ Rightarrow ⇒ mid | = = < < > > ≤ ≤ ≥ ≥
    → → ≈ ≈ := :=
""")
SIGNS = _table("""
    pm ± mp ∓ times × cup ∪ cap ∩ wedge ∧ vee ∨ otimes ⊗ odot ⊙ oslash ⊘ oplus ⊕ + + - − − − ± ±
""")
TIGHT = {"cdot": "·", "circ": "∘", "/": "/", "*": "*", ",": ", ", ";": "; ", ":": ":", "|": "|", r"\|": "‖"}
BIG = {"sum": "∑", "prod": "∏", "int": "∫", "oint": "∮"}
NAMES = re.compile("arccos|arcsin|arctan|cos|cosh|det|dim|exp|inf|lim|ln|log|max|min|sin|sinh|sup|tan|tanh|tr|Pr")
BRACKETS = {
    "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "{": "{", "}": "}",
}  # fmt: skip
OPENING, CLOSING = "([{⟨⌊⌈", ")]}⟩⌋⌉"
ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "overline": "\u0304", "tilde": "\u0303",
           "widetilde": "\u0303", "dot": "\u0307", "ddot": "\u0308", "vec": "\u20d7"}  # fmt: skip
LETTERS = {"mathbb": "DOUBLE-STRUCK", "mathcal": "SCRIPT", "mathbf": "BOLD", "mathfrak": "FRAKTUR"}
UPRIGHT = {"mathrm", "operatorname", "text", "textrm", "mathsf"}
SIZES = {"left", "right", "big", "Big", "bigl", "bigr", "rm", "displaystyle", "!"}
SPACES = {",", ";", ":", " ", "quad", "qquad", "\\"}

RAISED = dict(zip("0123456789+−=()abcdefghijklmnoprstuvwxyzDHKLMNRTβγδθφχ⊤⋆′†*∘",
                  "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴰᴴᴷᴸᴹᴺᴿᵀᵝᵞᵟᶿᵠᵡᵀ⋆′†*°", strict=True))  # fmt: skip
LOWERED = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
VULGAR = dict(zip(("1/2", "1/3", "2/3", "1/4", "3/4", "1/8", "3/8"), "½⅓⅔¼¾⅛⅜", strict=True))


@functools.lru_cache(maxsize=4096)
def readable(text: str) -> str:
    """A text whose every $formula$ is written in Unicode: $\\sigma^2\\gamma/(1-\\gamma)$ as σ²γ/(1 − γ)."""
    return FORMULA.sub(lambda found: _Formula(found[1] or found[2]).written(), text)


def lettered(name: str) -> str:
    """A name whose parts that spell a Greek letter are that letter: gamma as γ, lambda_max as λ max."""
    return " ".join(GREEK.get(part, part) for part in name.replace("_", " ").split())


def scripted(text: str) -> str:
    """A text that is no formula, its powers and indices in small characters where there are all: x_k^2 as xₖ²."""

    def power(found: re.Match[str]) -> str:
        small = _script("^", [("operand", (found[1] or found[2] or found[3]).replace("-", "−"))])
        return found[0] if small.startswith("^") else small

    def index(found: re.Match[str]) -> str:
        small = _script("_", [("operand", found[2])])
        return found[0] if small.startswith("_") else found[1] + small

    return INDEX.sub(index, POWER.sub(power, text))


def spelt_out(text: str) -> str:
    """The way back: a text whose Greek letters are spelt, for where there are none."""
    return "".join(NAMED.get(sign, sign) for sign in text)


def spoken(text: str) -> str:
    """A sentence of the lab in the same characters: 3e-14 as 3·10⁻¹⁴, minus signs as such."""

    def power(found: re.Match[str]) -> str:
        sign = "⁻" if found[2] == "-" else ""
        return ("" if found[1] == "1" else f"{found[1]}·") + "10" + sign + "".join(RAISED[each] for each in found[3])

    told = re.sub(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b", power, readable(text))
    return re.sub(r"(?<![\w<>/.-])-(?=\d)", "−", told)


class _Formula:
    """A formula read from left to right into parts, each with the role that decides on the space around it."""

    def __init__(self, latex: str) -> None:
        self.tokens = TOKEN.findall(latex)

    def written(self) -> str:
        return _joined(self.parts())

    def parts(self, end: str | None = None) -> list[tuple[str, str]]:
        """The parts up to a closing sign, which is taken away."""
        found: list[tuple[str, str]] = []
        inside = {"|": False, "‖": False}
        while self.tokens:
            token = self.tokens.pop(0)
            if token == end:
                break
            if token in "^_":
                script = _script(token, self.argument())
                role, base = found.pop() if found else ("operand", "")
                found.append(("operand" if role == "fraction" else role, _closed(role, base) + script))
            elif token == "'":
                role, base = found.pop() if found else ("operand", "")
                found.append((role, base + "′"))
            elif (part := self.part(token)) is not None:
                if (stroke := part[1]) in inside:  # the first of two opens, the second closes
                    part = ("closing" if inside[stroke] else "opening", stroke)
                    inside[stroke] = not inside[stroke]
                found.append(part)
        return found

    def argument(self) -> list[tuple[str, str]]:
        """What a command or a script applies to: a group in braces, or the next sign alone."""
        while self.tokens and self.tokens[0].isspace():
            self.tokens.pop(0)
        if not self.tokens:
            return []
        token = self.tokens.pop(0)
        if token == "{":
            return self.parts("}")
        part = self.part(token)
        return [] if part is None else [part]

    def part(self, token: str) -> tuple[str, str] | None:
        """One sign, or one command with what it applies to."""
        name = token.removeprefix("\\")
        command = token != name
        if token == "{":
            inner = self.parts("}")
            return inner[0] if len(inner) == 1 else ("operand", _joined(inner))
        if not command and (token.isspace() or token in "}&"):
            return None
        if command and name in SIZES:
            if self.tokens and self.tokens[0] == ".":
                self.tokens.pop(0)  # a bracket that is none
            return None
        if command and name in SPACES | {"~"}:
            return ("space", " ")
        if command and name in ("begin", "end"):
            self.argument()
            return None
        if command and name in ("frac", "dfrac", "tfrac", "binom"):
            return _fraction(self.argument(), self.argument(), name == "binom")
        if command and name == "sqrt":
            return ("root", "√" + _bracketed(self.argument()))
        if command and name in ACCENTS:
            base = _joined(self.argument())
            return ("operand", base[:1] + ACCENTS[name] + base[1:])
        if command and name in LETTERS:
            return ("operand", "".join(_letter(each, LETTERS[name]) for each in _joined(self.argument())))
        if command and name in UPRIGHT:
            said = self.verbatim()
            return ("name" if len(said) > 1 else "operand", said)
        for role, table in (("operand", OPERANDS), ("relation", RELATIONS), ("sign", SIGNS), ("big", BIG)):
            if name in table and (command or not name.isalpha()):
                return (role, table[name])
        if NAMES.fullmatch(name):
            return ("name", name)
        if command and name in BRACKETS:
            name = BRACKETS[name]
        elif token in TIGHT or (command and name in TIGHT):
            return ("tight", TIGHT[token] if token in TIGHT else TIGHT[name])
        return ("opening" if name in OPENING else "closing" if name in CLOSING else "operand", name)

    def verbatim(self) -> str:
        """Words: a group whose spaces count."""
        if not self.tokens or self.tokens[0] != "{":
            return _joined(self.argument())
        inside = self.tokens.index("}") if "}" in self.tokens else len(self.tokens)
        said = "".join(self.tokens[1:inside])
        del self.tokens[: inside + 1]
        return readable(f"${said}$") if "\\" in said else said


def _joined(parts: list[tuple[str, str]]) -> str:
    """Parts with a space between them where a reader wants one."""
    said, before = "", ""
    for place, (role, text) in enumerate(parts):
        after = parts[place + 1][0] if place + 1 < len(parts) else ""
        value = before in ("operand", "closing", "fraction", "root", "name")
        beside = after in ("operand", "opening", "fraction", "root", "name", "big")
        if role == "fraction" and (beside or (value and text[0].isdigit())):
            text = f"({text})"
        if role == "relation" or (role == "sign" and value):
            said = f"{said.rstrip()} {text} "
        elif (
            (role in ("name", "big") and value)
            or (before in ("name", "root", "big") and role in ("operand", "root", "fraction", "big", "name"))
            or (before == "big" and role == "opening")
            or (role == "operand" and SCRIPTED.search(said))
        ):
            said += f" {text}"
        else:
            said += text
        before = before if role == "space" and value else role
    return re.sub(r" +", " ", said).strip()


def _fraction(above: list[tuple[str, str]], below: list[tuple[str, str]], binomial: bool) -> tuple[str, str]:
    if binomial:
        return ("operand", f"({_joined(above)} choose {_joined(below)})")
    summed = any(role in ("sign", "relation", "big", "name", "space") for role, _ in above)
    said = f"({_joined(above)})" if summed else _joined(above)
    said += f"/{_bracketed(below)}"
    return ("operand", VULGAR[said]) if said in VULGAR else ("fraction", said)


def _bracketed(parts: list[tuple[str, str]]) -> str:
    """What a root or a stroke reaches over: in brackets unless it is one thing, or in brackets already."""
    said = _joined(parts)
    number = said.replace(".", "").isdigit()
    return said if number or (len(parts) == 1 and parts[0][0] in ("operand", "root")) else f"({said})"


def _closed(role: str, base: str) -> str:
    return f"({base})" if role in ("fraction", "root") else base


def _script(sign: str, parts: list[tuple[str, str]]) -> str:
    """A power or an index: small characters where there are all of them."""
    said = _joined(parts)
    bare, table = re.sub(r" ?([^\w ]) ?", r"\1", said), RAISED if sign == "^" else LOWERED
    if all(letter in table for letter in bare) and not any(role == "name" for role, _ in parts):
        return "".join(table[letter] for letter in bare)
    alone = re.fullmatch(r"[\w∞*⋆]+|\([^()]*\)", bare)
    return f"{sign}{bare}" if alone else f"{sign}({bare})"


def _letter(letter: str, style: str) -> str:
    """A letter in a mathematical style, itself where Unicode has no such character."""
    case = "CAPITAL" if letter.isupper() else "SMALL"
    for name in (f"{style} {case} {letter.upper()}", f"MATHEMATICAL {style} {case} {letter.upper()}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return letter


def clipped(text: str, most: int = 140) -> str:
    """The beginning of a text, ended between two words and outside formulas."""
    if len(text) <= most:
        return text
    spaces = [found.start() for found in re.finditer(" ", text) if text.count("$", 0, found.start()) % 2 == 0]
    return text[: max((place for place in spaces if place <= most), default=most)].rstrip(",;: ") + " …"
