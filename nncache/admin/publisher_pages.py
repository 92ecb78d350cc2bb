"""The admin pages of a publisher."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nncache.admin.server import Page, as_json, daemon_pages, status_page_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherReadiness:
    """Whether the changes of the nameservice are published.

    Attributes:
        is_publishing: whether this process leads, reads the edits and publishes them.
        is_zookeeper_connected: whether there is a connection to ZooKeeper; None if it is not used.
        active: `host:port` of the active NameNode's HTTP server, when known.
        published_txid: the last published transaction; -1: none.
        state: its work, or the reason why it does not publish.
    """

    is_publishing: bool
    is_zookeeper_connected: bool | None
    active: str | None
    published_txid: int
    state: str

    @property
    def is_ready(self) -> bool:
        """Whether it publishes; a standby publisher is not ready."""
        return self.is_publishing

    @property
    def reason(self) -> Literal["", "no-zookeeper", "no-active-namenode", "not-publishing"]:
        """The fault, for all clients; "" without one."""
        if self.is_publishing:
            return ""
        if self.is_zookeeper_connected is False:
            return "no-zookeeper"
        return "no-active-namenode" if self.active is None else "not-publishing"


def publisher_pages(
    *,
    readiness: Callable[[], PublisherReadiness],
    metrics: Callable[[], bytes],
    filters: Callable[[], object],
    status: Callable[[], object],
) -> tuple[Page, ...]:
    """Return the pages. The sources must not block, and must return values that JSON can represent.

    Args:
        readiness: the state of the publisher now.
        metrics: all metrics in the Prometheus text format.
        filters: the filters in force, and the faults of the others.
        status: the whole status for operators.
    """
    return (
        *daemon_pages(readiness, "the edits are read and published, by this process", metrics),
        Page(
            "/filters",
            "what is published, since when, and what is wrong with the other filters",
            lambda _: as_json(filters()),
            is_for_operators=True,
        ),
        status_page_of(status),
    )
