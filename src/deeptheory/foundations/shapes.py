"""Shapes as signatures write them, "n d" or "*batch n", compared with the shapes that came."""

__all__ = ["fitting", "said"]

Sizes = dict[str, tuple[int | tuple[int, ...], str]]
"""the size that a name stands for in this call, and the argument that fixed it"""


def fitting(name: str, dimensions: str, shape: tuple[int, ...], sizes: Sizes) -> Sizes | None:
    """Return the sizes a shape gives to names that had none yet, or None where it does not fit."""
    words = dimensions.split()
    found: Sizes = {}
    many = next((i for i, word in enumerate(words) if word == "..." or word.startswith("*")), None)
    if many is None:
        if len(words) != len(shape):
            return None
        pairs = list(zip(words, shape, strict=True))
    else:
        after = len(words) - many - 1
        if len(shape) < many + after:
            return None
        end = len(shape) - after
        middle = shape[many:end]
        pairs = [*zip(words[:many], shape[:many], strict=True), *zip(words[many + 1 :], shape[end:], strict=True)]
        batch = "*" + words[many][2:]
        if words[many].startswith("*#") and batch in sizes and not _spreads(middle, sizes[batch][0]):
            return None
        if words[many].startswith("*") and words[many][1] not in "#_":
            if sizes.get(words[many], (middle,))[0] != middle:
                return None
            found[words[many]] = (middle, name)
    for word, size in pairs:
        if word.startswith(("_", "#")):
            continue
        wanted = int(word) if word.isdigit() else _value(word, {**sizes, **found})
        if wanted is None and word.isidentifier():
            found[word] = (size, name)
        elif wanted is not None and wanted != size:
            return None
    return {word: pair for word, pair in found.items() if word not in sizes}


def _spreads(shape: tuple[int, ...], wide: int | tuple[int, ...]) -> bool:
    """Say whether a shape broadcasts to another without making it wider."""
    whole = wide if isinstance(wide, tuple) else (wide,)
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(size in (1, other) for size, other in pairs)


def said(dimensions: str, sizes: Sizes) -> str:
    """Write a shape for a reader, with the sizes already fixed: (n, d) with n = 5 as in x."""
    words = [word.lstrip("#") for word in dimensions.split()]
    shape = ", ".join(words) + ("," if len(words) == 1 and words[0] not in ("...",) else "")
    fixed = [f"{word} = {sizes[word][0]} as in {sizes[word][1]}" for word in dict.fromkeys(words) if word in sizes]
    return f"({shape})" + (f" with {', '.join(fixed)}" if fixed else "")


def _value(word: str, sizes: Sizes) -> int | None:
    """Return what a name or a sum like m+1 stands for, None where that is still open."""
    total = 0
    for part in word.split("+"):
        size = int(part) if part.isdigit() else sizes.get(part, (None,))[0]
        if not isinstance(size, int):
            return None
        total += size
    return total
