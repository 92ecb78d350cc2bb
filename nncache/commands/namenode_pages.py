"""The admin pages of a NameNode or DataNode on ZooKeeper."""

from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace

from nncache.admin.server import AdminServer, Page, as_json, daemon_pages
from nncache.admin.status_page import StatusPage
from nncache.metrics.metric import Daemon
from nncache.metrics.page import Figures, MetricsPage
from nncache.namenode.on_zookeeper import RunningDataNode, RunningNameNode
from nncache.net.endpoint import ListenAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReadiness:
    """Whether the node can serve. It needs a connection to ZooKeeper."""

    is_ready: bool
    state: str

    @property
    def reason(self) -> str:
        """The fault, as a fixed word that every client may see; "" if there is none."""
        return "" if self.is_ready else "no-zookeeper"


def admin_of(
    running: RunningNameNode | RunningDataNode, endpoint: ListenAddress
) -> AbstractAsyncContextManager[AdminServer]:
    """Return the server of a node's pages, which serves while it is entered."""
    server: AdminServer | None = None
    session = running.session
    assert session is not None, "it serves on a real ZooKeeper"

    def readiness() -> NodeReadiness:
        is_ready = session.is_connected
        return NodeReadiness(is_ready=is_ready, state=_state(running) if is_ready else "ZooKeeper is away")

    def figures() -> Figures:
        assert server is not None
        found: dict[str, object] = {
            "admin": server.stats(),
            "zookeeper": session.stats(),
            "znodes": running.znodes.stats(),
        }
        if isinstance(running, RunningNameNode):
            found["namespace"] = running.observer.stats(running.handler.answered)
        return found

    daemon: Daemon = "namenode" if isinstance(running, RunningNameNode) else "datanode"
    pages: tuple[Page, ...] = daemon_pages(
        readiness, "it serves: there is a connection to ZooKeeper", MetricsPage(daemon, figures).render
    )
    status_page: StatusPage | None = None
    if isinstance(running, RunningNameNode):
        pages += (_status(running),)
        status_page = StatusPage("namenode.html")
    server = AdminServer(
        endpoint, pages, lambda: readiness().state, title=f"nncache {daemon}", status_page=status_page
    )
    return server


def _status(running: RunningNameNode) -> Page:
    def show() -> object:
        observer = running.observer
        seen = replace(observer.seen, stats=observer.stats(running.handler.answered))
        operations = {" ".join(key): count for key, count in sorted(seen.stats.operations.items())}
        return {
            "name": running.name,
            **asdict(seen),
            "stats": {**asdict(seen.stats), "operations": operations},
        }

    return Page(
        "/status",
        "NameNodes, DataNodes, queues and leases, as seen within the last seconds",
        lambda _: as_json(show()),
        is_for_operators=True,
    )


def _state(running: RunningNameNode | RunningDataNode) -> str:
    if isinstance(running, RunningDataNode):
        return f"DataNode {running.datanode.name}"
    stats = running.observer.seen.stats
    return (
        f"NameNode {running.name}, {'active' if stats.is_active else 'standby'}: {stats.namenodes} NameNodes, "
        f"{stats.datanodes_live} DataNodes live, {stats.datanodes_stale} stale, {stats.leases} leases, "
        f"{sum(stats.queued.values())} queued"
    )
