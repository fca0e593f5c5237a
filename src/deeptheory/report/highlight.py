"""Source code as HTML, coloured by classes that the style sheet knows in light and in dark."""

import html

__all__ = ["highlighted"]


def highlighted(code: str) -> str:
    """Python code as the inside of a <pre>."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return html.escape(code)
    return highlight(code.strip("\n"), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True, classprefix="c-"))
