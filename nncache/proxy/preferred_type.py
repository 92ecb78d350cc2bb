"""Whether a request would rather have a page than data.

Pure. `Accept`: RFC 9110, section 12.5.1.
"""

import re
from collections.abc import Iterator
from typing import Final

from nncache.proxy.messages import Headers

MOST_RANGES: Final = 64
"""Of `Accept`; those behind them are not looked at."""

_WEIGHT: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_HTML: Final = ("text/html", "text/*", "*/*")
_JSON: Final = ("application/json", "application/*", "*/*")


def prefers_html(headers: Headers) -> bool:
    """Whether HTML has a greater weight than JSON; without `Accept`, or with the same weight, it has not."""
    weights = dict(_weights(headers))
    html, json = (next((weights[each] for each in names if each in weights), 0.0) for names in (_HTML, _JSON))
    return html > json


def _weights(headers: Headers) -> Iterator[tuple[str, float]]:
    """Yield each media range with its weight; one whose weight is none is left out."""
    accept = b",".join(value for name, value in headers if name.lower() == b"accept")
    for each in accept.decode("latin-1").lower().split(",", MOST_RANGES)[:MOST_RANGES]:
        media, *parameters = (part.strip() for part in each.split(";"))
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        if _WEIGHT.fullmatch(weight):
            yield media, float(weight)
