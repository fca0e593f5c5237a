"""Text with mathematics between dollar signs, as HTML with MathML that today's browsers draw by themselves."""

import functools
import html
import re
import unicodedata

__all__ = ["formula", "typeset"]

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL)
_STYLED = re.compile(r'<(m[ino])((?: [a-z]+="[^"]*")*?) mathvariant="([a-z-]+)"([^>]*)>([^<]*)</\1>')
_FENCE = re.compile(r"<mi>([⟨⟩⌈⌉⌊⌋])</mi>")

# What the converter does not know, in terms of what it does.
_REWRITTEN = {r"\arg": r"\operatorname{arg}", r"\lvert": "|", r"\rvert": "|", r"\Vert": r"\|", r"\sgn": r"\operatorname{sgn}"}

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


@functools.lru_cache(maxsize=16384)
def typeset(text: str) -> str:
    """Escape a text and turn every $formula$ in it into MathML; $$formula$$ stands on a line of its own."""
    parts, end = [], 0
    for found in _FORMULA.finditer(text):
        parts.append(html.escape(text[end : found.start()], quote=False))
        display, inline = found.groups()
        parts.append(formula(display or inline, display=display is not None))
        end = found.end()
    return "".join(parts) + html.escape(text[end:], quote=False)


@functools.lru_cache(maxsize=16384)
def formula(latex: str, *, display: bool = False) -> str:
    """One formula as MathML; LaTeX that cannot be converted is shown as it is."""
    from latex2mathml.converter import convert

    as_written = f"<code>{html.escape(latex.strip(), quote=False)}</code>"
    if latex.count("{") != latex.count("}"):
        return as_written
    known = re.sub(r"\\[A-Za-z]+", lambda found: _REWRITTEN.get(found[0], found[0]), latex)
    try:
        converted = convert(known.strip(), display="block" if display else "inline")
    except Exception:  # the converter raises whatever its parser trips over
        return as_written
    if "\\" in converted:  # a command it let through
        return as_written
    converted = re.sub(r"&#x([0-9A-Fa-f]+);", _character, converted.replace("<mi>&</mi>", "<mi>&amp;</mi>"))
    return _FENCE.sub(r'<mo stretchy="false">\1</mo>', _STYLED.sub(_styled, converted))


def _character(reference: re.Match[str]) -> str:
    """A character for its number, except where HTML needs the reference."""
    character = chr(int(reference[1], 16))
    return html.escape(character)


def _styled(element: re.Match[str]) -> str:
    name, before, style, after, content = element.groups()
    if style == "normal":
        return element[0]
    letters = "".join(_letter(letter, _STYLES.get(style, "")) for letter in html.unescape(content))
    # Upright words of one letter would be set in italics: only `normal` is left to say that they are not.
    return f"<{name}{before}{after}>{html.escape(letters, quote=False)}</{name}>"


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
