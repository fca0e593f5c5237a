"""Text on its way to a terminal, where some characters are commands: stored and foreign texts must not give any."""

__all__ = ["ESCAPED", "visible"]

PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}
"""Control characters have pictures: ␛ for the one that begins an escape sequence."""
BEYOND = [*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""The controls of eight bits, and those that turn the direction of writing, have none."""

VISIBLE = PICTURES | dict.fromkeys(BEYOND, 0xFFFD)
ESCAPED = {code: f"\\u{code:04x}" for code in (127, *BEYOND)}
"""What JSON lets stand in its strings, as it may be written there."""


def visible(text: str) -> str:
    """A text with a picture in the place of every control character but the ends of lines; its length stays."""
    return text.translate(VISIBLE)
