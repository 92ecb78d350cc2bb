"""What the admin port of a proxy shows. (nncache/admin/proxy_pages.py)"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from nncache.admin.server import Answer, Page, as_json, daemon_pages
from nncache.hadoop.paths import InvalidPathError, canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyReadiness:
    """Whether the proxy can serve, and whether it does so from memory.

    A closed gate does not make it unready: calls are forwarded then.

    Attributes:
        is_listening: clients can connect.
        is_stopping: it was asked to end; clients can connect for `lame_duck_s`, and should go elsewhere.
        active: `host:port` of the active NameNode's HTTP server, when known.
        gate: `open`, or why it is closed.
    """

    is_listening: bool
    is_stopping: bool = False
    active: str | None
    is_gate_open: bool
    gate: str

    @property
    def is_ready(self) -> bool:
        """Whether clients should be sent here."""
        return self.is_listening and not self.is_stopping and self.active is not None

    @property
    def reason(self) -> Literal["", "not-listening", "stopping", "no-active-namenode", "gate-closed"]:
        """What is out of order, for everybody; the last is so while it is ready."""
        if not self.is_listening:
            return "not-listening"
        if self.is_stopping:
            return "stopping"
        if self.active is None:
            return "no-active-namenode"
        return "" if self.is_gate_open else "gate-closed"

    @property
    def state(self) -> str:
        """One line for operators."""
        return f"active NameNode: {self.active or 'none known'}; gate: {self.gate}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySources:
    """Where the pages get what they show. None of these may block.

    Attributes:
        readiness: the state of the proxy now.
        metrics: all metrics in the Prometheus text format.
        explain: what is known of a canonical path; a dataclass or mapping that JSON can hold.
    """

    readiness: Callable[[], ProxyReadiness]
    metrics: Callable[[], bytes]
    explain: Callable[[str], object]


def proxy_pages(sources: ProxySources) -> tuple[Page, ...]:
    """Return the pages."""

    def explain(query: Mapping[str, str]) -> Answer:
        try:
            path = canonical(query.get("path", ""))
        except InvalidPathError as error:
            told = {"error": f"{error}; ask /explain?path=/an/absolute/path"}
            return as_json(told, status=HTTPStatus.BAD_REQUEST)
        return as_json(sources.explain(path))

    return (
        *daemon_pages(
            sources.readiness,
            "it can serve: it listens, and an active NameNode is known",
            sources.metrics,
        ),
        Page(
            "/explain?path=/",
            "what the cache knows of a path, and why it is or is not answered from memory",
            explain,
            is_for_operators=True,
        ),
    )
