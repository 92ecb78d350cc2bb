"""The admin pages of a proxy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal, Protocol

from nncache.admin.server import Action, Page, PageContent, Readiness, as_json, daemon_pages, status_page_of
from nncache.hadoop.paths import InvalidPathError, canonical

MAX_SAMPLE: Final = 100
"""Maximum number of paths in an answer of `/sample`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyReadiness:
    """Whether the proxy can serve, and whether it answers from memory.

    A closed gate does not make it unready: it then forwards calls.

    Attributes:
        is_listening: whether clients can connect.
        is_stopping: whether it is shutting down; clients can connect for `lame_duck_s`, but should go elsewhere.
        active: `host:port` of the active NameNode's HTTP server, when known.
        is_login_failing: whether a NameNode answers, but not to the service's own Kerberos identity. The proxy is ready
            nevertheless, since the clients' calls do not need that identity.
        gate: `open`, or why it is closed.
    """

    is_listening: bool
    is_stopping: bool = False
    active: str | None
    is_login_failing: bool = False
    is_gate_open: bool
    gate: str

    @property
    def is_ready(self) -> bool:
        """Whether clients should use this proxy."""
        return self.is_listening and not self.is_stopping and self._has_namenode

    @property
    def reason(self) -> Literal["", "not-listening", "stopping", "no-active-namenode", "gate-closed"]:
        """The fault, for all clients; "" without one. With `gate-closed` the proxy is ready."""
        if not self.is_listening:
            return "not-listening"
        if self.is_stopping:
            return "stopping"
        if not self._has_namenode:
            return "no-active-namenode"
        return "" if self.is_gate_open else "gate-closed"

    @property
    def _has_namenode(self) -> bool:
        return self.active is not None or self.is_login_failing

    @property
    def state(self) -> str:
        """One line for operators."""
        return f"active NameNode: {self.active or 'none known'}; gate: {self.gate}"


class NoNamespaceError(Exception):
    """None of several namespaces holds the path; `str()` is the message."""


class RefusedQueryError(Exception):
    """The query cannot be answered; `str()` is the reason."""


def proxy_pages(
    *,
    readiness: Callable[[], Readiness],
    metrics: Callable[[], bytes],
    explain: Callable[[str], object],
    status: Callable[[], object],
    sample: Callable[[int, str | None], Sequence[str]],
) -> tuple[Page, ...]:
    """Return the pages. The sources must not block, and must return values that JSON can represent.

    Args:
        readiness: the state of the proxy now.
        metrics: all metrics in the Prometheus text format.
        explain: the cache's knowledge of a canonical path; may raise NoNamespaceError.
        status: the whole status for operators.
        sample: at most this number of cached paths, all or those that a filter, given by name or glob, matches; may
            raise RefusedQueryError.
    """

    def explained(query: Mapping[str, str]) -> PageContent:
        try:
            path = canonical(query.get("path", ""))
        except InvalidPathError as error:
            problem = {"error": f"{error}; ask /explain?path=/an/absolute/path"}
            return as_json(problem, status=HTTPStatus.BAD_REQUEST)
        try:
            return as_json(explain(path))
        except NoNamespaceError as error:
            return as_json({"error": str(error)}, status=HTTPStatus.NOT_FOUND)

    def sampled(query: Mapping[str, str]) -> PageContent:
        limit = query.get("limit", str(MAX_SAMPLE))
        if not limit.isascii() or not limit.isdecimal() or not 1 <= int(limit) <= MAX_SAMPLE:
            problem = {"error": f"limit: {limit}: must be a number from 1 to {MAX_SAMPLE}"}
            return as_json(problem, status=HTTPStatus.BAD_REQUEST)
        try:
            return as_json({"paths": list(sample(int(limit), query.get("filter")))})
        except RefusedQueryError as error:
            return as_json({"error": str(error)}, status=HTTPStatus.BAD_REQUEST)

    return (
        *daemon_pages(
            readiness,
            "it can serve: it listens, and an active NameNode is known",
            metrics,
        ),
        Page(
            "/explain?path=/",
            "what the cache knows of a path, and why it is or is not answered from memory",
            explained,
            is_for_operators=True,
        ),
        Page(
            "/sample",
            "some of the paths that the cache holds, chosen by chance; ?filter=NAME and ?limit=N choose fewer",
            sampled,
            is_for_operators=True,
        ),
        status_page_of(status),
    )


class Purges(Protocol):
    """The purges of the cache; results must be values that JSON can represent. `peer`: the caller and their address."""

    def path(self, path: str, *, is_subtree: bool, peer: str) -> object:
        """Forget a canonical path, or all paths at and below it."""

    def filter(self, name: str, *, peer: str) -> object:
        """Forget all paths that a filter, given by name or glob, may match; may raise RefusedQueryError."""


def purge_action(purges: Purges) -> Action:
    """Return the action `POST /purge?path=PATH[&subtree=true]` and `POST /purge?filter=NAME|GLOB`."""

    def act(query: Mapping[str, str], peer: str) -> PageContent:
        try:
            return as_json({"purged": purge(query, peer)})
        except (InvalidPathError, RefusedQueryError) as error:
            return as_json({"error": str(error)}, status=HTTPStatus.BAD_REQUEST)

    def purge(query: Mapping[str, str], peer: str) -> object:
        if query.keys() - {"path", "subtree", "filter"} or ("path" in query) == ("filter" in query):
            raise RefusedQueryError("ask /purge?path=/an/absolute/path[&subtree=true] or /purge?filter=NAME")
        if "filter" in query:
            if "subtree" in query:
                raise RefusedQueryError("subtree goes with path only")
            return purges.filter(query["filter"], peer=peer)
        if query.get("subtree", "false") not in {"true", "false"}:
            raise RefusedQueryError(f"subtree: {query['subtree']}: must be true or false")
        is_subtree = query.get("subtree") == "true"
        return purges.path(canonical(query["path"]), is_subtree=is_subtree, peer=peer)

    return Action("/purge", act)
