"""One cluster, with the attacked proxy in front of it."""

import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import Filter
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.relay import Relay
from tests.overload import places
from tests.real.beside import on_hdfs
from tests.real.proc import MIB, status_bytes
from tests.real.stand import Channel, proxied

TABLE_BYTES: Final = 48 * MIB
"""Small enough for an attack of seconds to show whether the limits hold."""

CONNECTION_BYTES: Final = 20 * 1024
"""Memory of one client connection with a call in flight (docs/sizing.md)."""

WORKING_BYTES: Final = 40 * MIB
"""Memory in addition: buffers of calls in flight, the allocator's slack, and garbage not yet collected.

Calls of 60 KB over 8 connections use 33 to 43 MiB in total, and no more however many they are.
"""

TOLERANCE: Final = 1.2
"""Factor on the memory bound."""

_NNCACHE: Final = str(Path(sys.executable).with_name("nncache"))
_LOG_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The kind of proxy that is attacked.

    Attributes:
        user: the user that the proxy acts as; None: the superuser.
        table_bytes: of the cache, the fast path included.
        max_files: RLIMIT_NOFILE of the proxy, hard and soft.
        has_relay: the proxy reaches the NameNode's RPC port through `RealCluster.relay`.
        has_small_log: its log is on a small file system of its own, `RealCluster.log_place`.
        has_registry: it serves a service registry of its own; direct channel only.
        filters_of_carol: number of additional filters that carol owns; ZooKeeper only.
    """

    channel: Channel = Channel.DIRECT
    flags: Mapping[str, object] = field(default_factory=dict)
    user: str | None = None
    table_bytes: int = TABLE_BYTES
    max_files: int | None = None
    has_relay: bool = False
    has_small_log: bool = False
    has_registry: bool = False
    filters_of_carol: int = 0


@dataclass(slots=True)
class RealCluster:
    """A running proxy, and the parts that troubles affect."""

    cluster: Cluster
    setting: Setting
    proxy: ProxyDaemon
    filters_path: str  # empty on the direct channel
    relay: Relay | None
    log_place: Path | None
    registry: Mapping[str, str]  # settings of its service registry; empty: it has none
    idle_bytes: int  # resident memory just after the start

    def bound_bytes(self, connections: int = 0, head_bytes: int = 0) -> int:
        """Return its memory bound: idle memory, its table, working memory, and these connections.

        A connection with a call in flight also keeps the call's head, of `head_bytes` at most.
        """
        under_way = connections * (CONNECTION_BYTES + head_bytes)
        return self.idle_bytes + self.setting.table_bytes + WORKING_BYTES + under_way

    def is_alive(self) -> bool:
        """Whether the proxy's process runs."""
        return self.proxy.process.pid is not None


@dataclass(slots=True)
class Site:
    """The cluster with its namespace; proxies run in front of it one after another."""

    cluster: Cluster
    _has_large: bool = field(default=False)

    def prepare(self) -> None:
        """Create the paths of `tests.overload.places`, except the large directory."""
        on_hdfs(self.cluster, _prepare)

    def prepare_large(self) -> None:
        """Create the large directory, once."""
        if not self._has_large:
            on_hdfs(self.cluster, _prepare_large)
            self._has_large = True

    @contextmanager
    def real_cluster(self, setting: Setting) -> Iterator[RealCluster]:
        """Run a proxy of this kind; its gate is open when the block starts."""
        flags: dict[str, Any] = {"max_cache_bytes": setting.table_bytes, **setting.flags}
        if setting.user is not None:
            flags["user"] = setting.user
        registry: dict[str, str] = {}
        if setting.has_registry:
            root = f"/registry-{uuid.uuid4().hex[:12]}"
            registry = {"zookeeper": self.cluster.zookeeper.address, "registry_root": root}
            flags |= {"registry": True, **registry}
        with ExitStack() as running:
            rpc = self.cluster.namenodes[0].rpc
            relay = running.enter_context(Relay(rpc)) if setting.has_relay else None
            log_place = running.enter_context(_small_place()) if setting.has_small_log else None
            of_carol = [
                Filter(f"carol{number}", f"/data/of-carol/{number}/*", "carol", ("alice",))
                for number in range(setting.filters_of_carol)
            ]
            proxied_cluster = running.enter_context(
                proxied(
                    self.cluster,
                    *places.GLOBS,
                    channel=setting.channel,
                    rpc=None if relay is None else relay.address,
                    program=_program(setting, log_place),
                    more_filters=of_carol,
                    **flags,
                )
            )
            proxy, service = proxied_cluster.proxy, proxied_cluster.service
            if service is not None:
                wanted = len(places.GLOBS) + len(of_carol)
                proxy.process.await_that(
                    lambda: proxy.metrics()["nncache_channel_filters"] == wanted, "does not have all filters"
                )
            yield RealCluster(
                self.cluster,
                setting,
                proxy,
                "" if service is None else service.filters_path,
                relay,
                log_place,
                registry,
                status_bytes(proxy.process.running_pid, "VmRSS"),
            )


async def _prepare(hdfs: WebHdfs) -> None:
    await hdfs.mkdirs(places.SHAPED)
    await hdfs.mkdirs(places.OPEN_TO_ALL)
    await hdfs.set_permission(places.OPEN_TO_ALL, "777")
    for number in range(5):
        await hdfs.mkdirs(f"{places.OUTSIDE}/{number}")
    for path in (*places.PRESENT, *(path.rpartition("/")[0] for path in places.ABSENT)):
        await hdfs.mkdirs(path)
    for user in places.PRIVATE_HOMES:
        await hdfs.mkdirs(f"/user/{user}/mine")
        for path in (f"/user/{user}/mine", f"/user/{user}"):
            await hdfs.set_owner(path, owner=user)
            await hdfs.set_permission(path, "700")


async def _prepare_large(hdfs: WebHdfs) -> None:
    paths = (f"{places.LARGE}/{number:0250}" for number in range(places.LARGE_ENTRIES))
    await each_bounded(paths, hdfs.mkdirs)


def _program(setting: Setting, log_place: Path | None) -> tuple[str, ...]:
    program: tuple[str, ...] = (_NNCACHE,)
    if setting.max_files is not None:
        program = (_found("prlimit"), f"--nofile={setting.max_files}", *program)
    if log_place is not None:
        program = (_found("sh"), "-c", f'exec "$@" >>{log_place / "proxy.log"} 2>&1', "sh", *program)
    return program


def _found(program: str) -> str:
    """Return a program's full path: servers are started by it."""
    found = shutil.which(program)
    assert found is not None, f"{program} is missing"
    return found


@contextmanager
def _small_place() -> Iterator[Path]:
    """Mount a small file system; if that is not permitted, yield a directory whose log is /dev/full."""
    with tempfile.TemporaryDirectory(prefix="nncache-log-") as name:
        place = Path(name)
        mounting = ("mount", "-t", "tmpfs", "-o", f"size={_LOG_BYTES}", "tmpfs", name)
        if subprocess.run(mounting, capture_output=True, check=False).returncode == 0:
            try:
                yield place
            finally:
                subprocess.run(("umount", name), check=True)
        else:
            (place / "proxy.log").symlink_to("/dev/full")
            yield place
