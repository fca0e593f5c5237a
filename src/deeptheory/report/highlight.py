"""Source code as HTML, coloured by classes that the style sheet knows in light and in dark."""

__all__ = ["highlighted"]


def highlighted(code: str) -> str:
    """Python code as the inside of a <pre>."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return highlight(code.strip("\n"), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True, classprefix="c-"))
