"""What the admin port of a publisher shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nncache.admin.server import Page, as_json, daemon_pages, status_page_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherReadiness:
    """Whether the changes of the nameservice reach those who wait for them.

    Attributes:
        is_publishing: this process is the publisher, reads the edits and publishes them.
        is_zookeeper_connected: there is a connection to ZooKeeper; None if nothing goes through it.
        active: `host:port` of the active NameNode's HTTP server, when known.
        published_txid: the last transaction that is published; -1 for none.
        state: what it does, or what keeps it from publishing.
    """

    is_publishing: bool
    is_zookeeper_connected: bool | None
    active: str | None
    published_txid: int
    state: str

    @property
    def is_ready(self) -> bool:
        """Whether it does its work; a publisher that waits for another's end is not ready."""
        return self.is_publishing

    @property
    def reason(self) -> Literal["", "no-zookeeper", "no-active-namenode", "not-publishing"]:
        """What is out of order, for everybody."""
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
    """Return the pages. None of the sources may block; JSON can hold what they return.

    Args:
        readiness: the state of the publisher now.
        metrics: all metrics in the Prometheus text format.
        filters: the filters in force, and what is wrong with the others.
        status: all that operators look at.
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
