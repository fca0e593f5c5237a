"""What the points of a rate, a limit or a bounded quantity run along, in the claim's own word, found in its source."""

import ast

__all__ = ["axis_words"]

KINDS = ("Rate", "Limit", "Bounded")
CASTS = ("array", "asarray", "astype", "float", "ravel")
LONGEST = 30


def axis_words(code: str) -> dict[str, str]:
    """By piece, what its first argument is called: `Rate(np.array(widths), …)` runs along "width".

    `code` is the source of a claim; a piece that stands alone has no name. Left out are pieces whose names or
    arguments are made by longer expressions.
    """
    found = {}
    for node in ast.walk(ast.parse(code)):
        pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
        if isinstance(node, ast.Return):
            pairs = [(ast.Constant(""), node.value)]
        for piece, made in pairs:
            called = isinstance(piece, ast.Constant) and isinstance(made, ast.Call) and made.args
            if called and ast.unparse(made.func) in KINDS and (word := _word(made.args[0])):
                found[piece.value] = word
    return found


def _word(node: ast.expr) -> str | None:
    """A name in the singular; what is computed from one by a few signs is written out."""
    if isinstance(node, ast.Name):
        return _singular(node.id)
    if isinstance(node, ast.Attribute):
        return _singular(node.attr)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return f"{node.value:g}"
    if isinstance(node, ast.Subscript):
        return _word(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        inner = node.args[0] if called != "astype" and node.args else getattr(node.func, "value", None)
        return _word(inner) if called in CASTS and inner is not None else None
    if isinstance(node, ast.BinOp):
        sides, sign = (_word(node.left), _word(node.right)), SIGNS.get(type(node.op))
        if sign and None not in sides and len(written := f"{sides[0]}{sign}{sides[1]}") <= LONGEST:
            return written
    return None


SIGNS = {ast.Div: "/", ast.Mult: "·", ast.Pow: "^", ast.Add: "+", ast.Sub: "-"}


def _singular(name: str) -> str:
    word = name.lower().strip("_").replace("_", " ")
    for many, one in (("ies", "y"), ("ches", "ch"), ("sses", "ss"), ("ss", "ss"), ("us", "us"), ("s", "")):
        if word.endswith(many) and len(word) > len(many):
            return word.removesuffix(many) + one
    return word
