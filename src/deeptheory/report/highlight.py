"""Source code as HTML, coloured by classes that the style sheet knows in light and in dark."""

import functools
import html
from itertools import groupby

__all__ = ["highlighted"]


def highlighted(code: str) -> str:
    """Python code as the inside of a <pre>; what the style sheet gives no colour stays bare."""
    from pygments.lexers import PythonLexer

    tokens = PythonLexer(stripnl=False).get_tokens(code.strip("\n"))
    pieces = ((kind_of(token), text) for token, text in tokens)
    return "".join(
        f'<span class="c-{kind}">{text}</span>' if kind else text
        for kind, some in groupby(pieces, key=lambda piece: piece[0])
        for text in [html.escape("".join(text for _, text in some), quote=False)]
    )


@functools.cache
def kind_of(token: object) -> str:
    """The class of a token: the first of these kinds to which it belongs."""
    from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String

    kinds = {
        "comment": (Comment,),
        "keyword": (Keyword, Operator.Word),
        "string": (String, Literal.String.Affix),
        "number": (Number,),
        "name": (Name.Function, Name.Decorator, Name.Class),
    }
    return next((kind for kind, parents in kinds.items() if any(token in parent for parent in parents)), "")
