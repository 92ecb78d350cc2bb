"""The page for people at `/`: one HTML text that loads only figures, from its own port.

The pages of a proxy and of a publisher share their style (`status.css`) and the drawing part of their script
(`status.js`).

The policy allows the script and the style by their digests, and forbids everything else, so that markup in a path can
never take effect.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

_STATE: Final = "<!-- state -->"
_PAGES: Final = "<!-- pages -->"
_SHARED: Final = {"/* status.css */": "status.css", "/* status.js */": "status.js"}


class StatusPage:
    """One page of the package's data, and its response headers."""

    def __init__(self, name: str) -> None:
        """Read the page; `name` is a file in this module's directory."""
        self._text = read_text(name)
        for mark, shared in _SHARED.items():
            self._text = self._text.replace(mark, read_text(shared))
        self.headers: Mapping[str, str] = {
            "Content-Security-Policy": policy_of(self._text),
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
        }

    def render(self, state: str, pages: str) -> tuple[bytes, Mapping[str, str]]:
        """Return the body and the headers; both texts are HTML, already escaped.

        Args:
            state: the current state of the daemon, for readers without scripts.
            pages: the index of the other pages.
        """
        before, _, rest = self._text.partition(_STATE)
        between, _, after = rest.partition(_PAGES)
        return f"{before}{state}{between}{pages}{after}".encode(), self.headers


def read_text(name: str) -> str:
    """Return a file of this package."""
    return files("nncache.admin").joinpath(name).read_text(encoding="utf-8")


def policy_of(page: str) -> str:
    """Return the Content-Security-Policy that allows the page's own script and style, and nothing else."""
    scripts, styles = (
        " ".join(digest_of(text) for text in re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL))
        for element in ("script", "style")
    )
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


def digest_of(text: str) -> str:
    """Return the source expression of a script or a style (CSP Level 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
