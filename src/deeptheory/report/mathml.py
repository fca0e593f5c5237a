"""Text with mathematics between dollar signs, as HTML with MathML that today's browsers draw by themselves.

The converter writes MathML 3; browsers draw MathML Core, and space it by what follows what. So its elements are
looked through once more: letters of other styles, names of functions, signs that are not between two operands. The
texts may come from anywhere: only elements and attributes that draw are let through, and none that acts.
"""

import functools
import html
import re
import unicodedata
import xml.etree.ElementTree as tree

from deeptheory.formulas import INDEX, POWER

__all__ = ["formula", "scripted", "typeset"]

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL)
_PUNCTUATION = re.compile(r"[,.;:!?)\]’”-]+")
_SPACE = "http://www.w3.org/1998/Math/MathML"
_DRAWN = """
math mrow mi mn mo mtext mspace mfrac msqrt mroot mstyle msub msup msubsup munder mover munderover mtable mtr mtd
mpadded mphantom
"""
_LOOKS = """
accent accentunder columnalign depth display displaystyle fence form height largeop linethickness lspace mathbackground
mathcolor mathvariant maxsize minsize movablelimits rowspacing rspace scriptlevel separator stretchy symmetric voffset
width
"""
_ELEMENTS, _ATTRIBUTES = set(_DRAWN.split()), set(_LOOKS.split())

# What the converter does not know, in terms of what it does.
_REWRITTEN = {
    r"\arg": r"\operatorname{arg}",
    r"\sgn": r"\operatorname{sgn}",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\Vert": r"\|",
}

# Names of more than one letter, which stand upright.
_UPRIGHT = re.compile(r"(?<![A-Za-z\\{])(KL|kl)(?![A-Za-z])|(?<=_\{)(in|out|min|max|lin|eff|opt|train|test)(?=\})")

# MathML Core has no mathvariant: letters of another style are characters of their own.
_STYLES = {
    "bold": "BOLD",
    "bold-italic": "BOLD ITALIC",
    "double-struck": "DOUBLE-STRUCK",
    "script": "SCRIPT",
    "bold-script": "BOLD SCRIPT",
    "fraktur": "FRAKTUR",
    "sans-serif": "SANS-SERIF",
    "monospace": "MONOSPACE",
}
_SCRIPTED = ("msub", "msup", "msubsup", "munder", "mover", "munderover")
_BREAKS = "=<>≤≥≪≫≈∼≡∝→↦⇒∈⊂⊆+−±×⋅·,∘"
SHORT = 18
"""Characters up to which a formula stays on its line."""
_PRIMES = ("′", "″", "‴")
_OPENING, _CLOSING = "([{⟨⌈⌊", ")]}⟩⌉⌋"


@functools.lru_cache(maxsize=16384)
def typeset(text: str) -> str:
    """Escape a text and turn every $formula$ in it into MathML; $$formula$$ stands on a line of its own."""
    parts, end = [], 0
    for found in _FORMULA.finditer(text):
        parts.append(scripted(text[end : found.start()]))
        display, inline = found.groups()
        end = found.end()
        made = formula(display or inline, display=display is not None)
        if display is None and (mark := _PUNCTUATION.match(text, end)):
            # No line may end between a formula and the comma after it.
            rest, _, last = made.rpartition("<wbr>")
            made = f'{rest}{"<wbr>" if rest else ""}<span style="white-space:nowrap">{last}{mark[0]}</span>'
            end = mark.end()
        parts.append(made)
    return "".join(parts) + scripted(text[end:])


def scripted(text: str) -> str:
    """Escape a text without formulas, with its powers and indices (n^(1/2), λ_max) raised and lowered."""

    def power(found: re.Match[str]) -> str:
        return f"<sup>{(found[1] or found[2] or found[3]).replace('-', '−')}</sup>"

    raised = POWER.sub(power, html.escape(text, quote=False))
    return INDEX.sub(r"\1<sub>\2</sub>", raised)


@functools.lru_cache(maxsize=16384)
def formula(latex: str, *, display: bool = False) -> str:
    """One formula as MathML; LaTeX that cannot be converted is shown as it is."""
    from latex2mathml.converter import convert_to_element

    as_written = f"<code>{html.escape(latex.strip(), quote=False)}</code>"
    if latex.count("{") != latex.count("}"):
        return as_written
    known = _UPRIGHT.sub(r"\\mathrm{\g<0>}", latex)
    known = re.sub(r"\\[A-Za-z]+", lambda found: _REWRITTEN.get(found[0], found[0]), known)
    try:
        # The element, not its text, in which the converter leaves < and & as they are.
        root = convert_to_element(known.strip(), display="block" if display else "inline")
    except Exception:  # the converter raises whatever its parser trips over
        return as_written
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SPACE}}}")
        element.text = html.unescape(element.text) if element.text else element.text  # it writes signs as &#x…;
        if element.tag not in _ELEMENTS or "\\" in (element.text or ""):  # a command it let through
            return as_written
        for name in set(element.attrib) - _ATTRIBUTES:  # href, style, class, id
            del element.attrib[name]
        _names(element)
    _primed(root)
    _spaced(root)
    return "<wbr>".join(_written(part, display) for part in ([list(root)] if display else _broken(root)))


def _written(parts: list[tree.Element], display: bool) -> str:
    root = tree.Element("math", {"display": "block" if display else "inline"})
    if len(parts) == 1 and parts[0].tag == "mrow":
        root.append(parts[0])
    else:
        tree.SubElement(root, "mrow").extend(parts)
    return tree.tostring(root, encoding="unicode")


def _broken(root: tree.Element) -> list[list[tree.Element]]:
    """A formula in the pieces between which a line may end, for browsers break none: after relations and signs.

    Short formulas are kept whole; inside brackets a line ends only where the piece would otherwise be long, and never
    inside a norm or between the bars of an absolute value.
    """
    elements = list(root[0]) if len(root) == 1 and root[0].tag == "mrow" else list(root)
    if _length(elements) <= SHORT:
        return [list(root)]
    pieces: list[list[tree.Element]] = [[]]
    barred = [_base(element).text for element in elements if _base(element).tag == "mo"]
    # A sign that comes in pairs opens and closes; one alone stands between two things, as in a relative entropy.
    paired, within = {sign for sign in "‖|" if barred.count(sign) % 2 == 0}, set[str]()
    depth = 0
    for place, element in enumerate(elements):
        text = (element.text or "") if element.tag == "mo" else ""
        core = _base(element)
        depth += (text in _OPENING and text != "") - (
            core.tag == "mo" and (core.text or "") in _CLOSING and bool(core.text)
        )
        within ^= {core.text or ""} & paired if core.tag == "mo" else set()
        pieces[-1].append(element)
        between = text in _BREAKS and text and element.get("form") != "prefix"
        if between and not within and place + 1 < len(elements) and _length(pieces[-1]) > (4 if depth <= 0 else SHORT):
            # At the end of a piece it would count as standing after, not between.
            element.set("form", "infix")
            pieces.append([])
    return pieces


def _base(element: tree.Element) -> tree.Element:
    """What carries the scripts of an element, or the element."""
    return element[0] if element.tag in _SCRIPTED and len(element) else element


def _length(elements: list[tree.Element]) -> int:
    """About how many characters wide something is."""
    return sum(
        max(len("".join(part.itertext())) for part in e) if e.tag == "mfrac" else len("".join(e.itertext()))
        for e in elements
    )


def _names(element: tree.Element) -> None:
    """Letters and signs: styles as characters, upright capitals of Greek, words as one name, signs as operators."""
    letters = [child for child in element if child.get("mathvariant") == "normal" and child.tag.endswith("mi")]
    if len(letters) > 1 and len(letters) == len(element):
        element[0].text = "".join(letter.text or "" for letter in letters)
        for letter in letters[1:]:
            element.remove(letter)
    text, style = element.text or "", element.get("mathvariant")
    if element.tag not in ("mi", "mn", "mo") or not text:
        return
    if style is not None and style != "normal":
        del element.attrib["mathvariant"]
        element.text = "".join(_letter(letter, _STYLES.get(style, "")) for letter in text)
    elif element.tag == "mi" and len(text) > 1:
        element.attrib.pop("mathvariant", None)
    elif element.tag == "mi" and "Α" <= text <= "Ω":
        element.set("mathvariant", "normal")
    elif text in ("∞", "∅"):
        element.tag = "mi"
    elif text == "~":
        element.tag, element.text = "mo", "∼"
    elif text in "⟨⟩⌈⌉⌊⌋":
        element.tag = "mo"
        element.set("stretchy", "false")
    elif element.tag == "mi" and unicodedata.category(text) == "Sm":
        element.tag = "mo"


def _primed(parent: tree.Element) -> None:
    """Set primes on the line: they are raised by themselves, and raised again would hang small and far above."""
    for child in list(parent):
        _primed(child)
        if child.tag not in ("msup", "msubsup") or not "".join(child[-1].itertext()).startswith(_PRIMES):
            continue
        above = list(child[-1]) if len(child[-1]) else [child[-1]]
        prime = tree.Element("mo", {"form": "postfix", "lspace": "0", "rspace": "0"})
        prime.text = above[0].text
        made = [_element("msub", *list(child)[:2]) if child.tag == "msubsup" else child[0], prime]
        if len(above) > 1:
            made[1] = _element("msup", prime, _element("mrow", *above[1:]))
        place = list(parent).index(child)
        parent[place : place + 1] = made if parent.tag in ("math", "mrow") else [_element("mrow", *made)]


def _element(tag: str, *children: tree.Element) -> tree.Element:
    made = tree.Element(tag)
    made.extend(children)
    return made


def _letter(letter: str, style: str) -> str:
    """A letter or digit in a mathematical style, itself where Unicode has no such character."""
    try:
        name = unicodedata.name(letter).replace("LATIN ", "").replace("GREEK ", "").replace(" LETTER", "")
    except ValueError:
        return letter
    old = "BLACK-LETTER" if style == "FRAKTUR" else style
    for candidate in (f"MATHEMATICAL {style} {name}", f"{old} {name}"):
        try:
            return unicodedata.lookup(candidate)
        except KeyError:
            continue
    return letter


def _spaced(parent: tree.Element) -> None:
    """Give operators the space that what stands beside them asks for."""
    children = list(parent)
    for place, child in enumerate(children):
        _spaced(child)
        before = children[place - 1] if place else None
        after = children[place + 1] if place + 1 < len(children) else None
        if parent.tag in _SCRIPTED:
            before = after = None  # what carries a script is spaced when its parent is looked at
        core = child
        while core.tag in _SCRIPTED and len(core):
            core = core[0]
        text = core.text or ""
        if core.tag == "mo" and text in ("/", "|", "‖"):
            core.attrib |= {"lspace": "0", "rspace": "0", "stretchy": "false"}
        elif core.tag == "mo" and text in ("−", "+", "±") and before is not None and not _operand(before):
            core.set("form", "prefix")
        elif core.tag in ("mi", "mo") and len(text) > 1 and text.replace("\u2009", "").isalpha():
            core.tag = "mo"
            near = after is not None and (after.tag != "mo" or (after.text or "") in ("|", "‖"))
            left = before is not None and _operand(before)
            core.attrib |= {"lspace": "0.167em" if left else "0", "rspace": "0.167em" if near else "0"}


def _operand(element: tree.Element) -> bool:
    """Whether something stands for a value, so that a sign after it is between two."""
    while element.tag in _SCRIPTED and len(element):
        element = element[0]
    return element.tag not in ("mo", "mspace") or (element.text or "") in (*_CLOSING, *_PRIMES, "!", "|", "‖")
