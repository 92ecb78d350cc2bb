"""What a server has answered so far and what it holds, by its own count."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

PAGE_TIMEOUT_S: Final = 60.0
"""For the page that says it: under load it waits behind some laps round all connections."""
_ACTIVE: Final = re.compile(r"Active connections: (\d+)")
_HANDLED: Final = re.compile(r"^\s*\d+ \d+ (\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at it.

    Attributes:
        answered: requests since its start; of nncache those from memory alone.
        connections: that are open.
        entries: replies that it holds; 0 where it does not say.
    """

    answered: int
    connections: int
    entries: int = 0


def of_nncache(metrics: Mapping[str, float]) -> Progress:
    """Read the metrics of a proxy."""
    return Progress(
        answered=int(metrics['nncache_requests_total{result="hit"}']),
        connections=int(metrics["nncache_connections_open"]),
        entries=int(metrics["nncache_cache_entries"]),
    )


def of_nginx(page: str) -> Progress:
    """Read the page of `stub_status`: nginx's ngx_http_stub_status_module.

    Raises:
        ValueError: it is none.
    """
    active, handled = _ACTIVE.search(page), _HANDLED.search(page)
    if active is None or handled is None:
        raise ValueError(f"not a page of stub_status: {page}")
    return Progress(answered=int(handled[1]), connections=int(active[1]))
