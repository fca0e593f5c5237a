"""Characters that act rather than show, in texts from anywhere: terminals obey some, drawings die of others."""

from typing import Any

__all__ = ["ESCAPED", "legible", "visible"]

PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}
"""Control characters have pictures: ␛ for the one that begins an escape sequence."""
BEYOND = [
    *range(0x80, 0xA0),  # the same in eight bits
    *range(0x2028, 0x202F),  # ends of lines to some readers of text but not to others; the direction of writing
    *range(0x2066, 0x206A),  # the direction of writing
    *range(0xD800, 0xE000),  # halves of characters
    0xFFFE,
    0xFFFF,
]
"""These have none."""

VISIBLE = PICTURES | dict.fromkeys(BEYOND, 0xFFFD)
ESCAPED = {code: f"\\u{code:04x}" for code in (127, *BEYOND)}
"""What JSON lets stand in its strings, as it may be written there."""


def visible(text: str) -> str:
    """A text with a picture in the place of every such character but tabs and ends of lines; its length stays."""
    return text.translate(VISIBLE)


def legible(value: Any) -> Any:
    """The same for every text in lists and dictionaries."""
    if isinstance(value, str):
        return value if value.isprintable() else visible(value)
    if isinstance(value, (list, tuple)):
        return [legible(each) for each in value]
    if isinstance(value, dict):
        return {legible(name): legible(each) for name, each in value.items()}
    return value
