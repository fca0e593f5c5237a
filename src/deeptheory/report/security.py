"""What a page may do in a browser: a second door behind the escaping of every text.

The policy works from the file system as from a server. There a page has no origin that its scripts could share, and
`'self'` means nothing to some browsers, so they carry a nonce. It is a digest of the page: equal runs give equal pages,
and no text on a page can contain the digest of that page.
"""

import base64
import hashlib
import secrets

__all__ = ["PLACE", "policy", "sealed"]

PLACE = secrets.token_hex(16)
"""Stands for the nonce while a page is made; a stored text cannot know it."""


def policy(nonce: str = "", sheet: str = "") -> str:
    """The content security policy of a page: nothing from the network, no script and no style sheet but its own.

    Without a nonce there is no script; `sheet` is the text of a style sheet inside the page. Vega interprets its
    expressions, so that `unsafe-eval` is not needed. Style attributes are allowed: the parts of a bar and of a figure
    have their sizes there, and they cannot act. Pictures lie in the folder: from the file system `file:` lets them in.
    """
    carried = f"'nonce-{nonce}'" if nonce else "'none'"
    sheets = f"'sha256-{_digest(sheet)}'" if sheet else carried
    return (
        f"default-src 'none'; script-src {carried}; style-src-elem {sheets}; style-src-attr 'unsafe-inline'; "
        "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
    )


def sealed(page: str) -> str:
    """A page with its nonce in place."""
    return page.replace(PLACE, hashlib.sha256(page.replace(PLACE, "").encode()).hexdigest()[:32])


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
