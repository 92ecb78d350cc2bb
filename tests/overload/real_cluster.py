"""One cluster, and in front of it the proxy that is attacked."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nncache.hadoop.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster
from nncache.testbed.daemon import Proxy
from nncache.testbed.relay import Relay
from tests.channels import Channel
from tests.overload import places
from tests.overload.proc import MIB, status_bytes
from tests.service import Service

TABLE_BYTES: Final = 48 * MIB
"""Small, so that an attack of seconds can show whether they hold."""

CONNECTION_BYTES: Final = 20 * 1024
"""Of one client connection with a call under way (docs/sizing.md)."""

WORKING_BYTES: Final = 40 * MIB
"""Beside that: buffers of calls under way, the allocator's slack, and what waits for the collector.

Calls of 60 KB over 8 connections take 33 to 43 MiB in all, and no more however many they are.
"""

TOLERANCE: Final = 1.2
"""Of the bound of memory."""

_NNCACHE: Final = str(Path(sys.executable).with_name("nncache"))
_LOG_BYTES: Final = 256 * 1024
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What kind of proxy is attacked."""

    channel: Channel = Channel.DIRECT
    flags: tuple[str, ...] = ()
    user: str | None = None  # whom the proxy acts as; None: the superuser
    table_bytes: int = TABLE_BYTES  # of the cache, its quick answers included
    max_files: int | None = None  # RLIMIT_NOFILE of the proxy, hard and soft
    has_relay: bool = False  # the proxy reaches the NameNode's RPC port through `RealCluster.relay`
    has_small_log: bool = (
        False  # the proxy's log is on a small file system of its own, `RealCluster.log_place`
    )
    has_registry: bool = False  # the proxy serves a service registry of its own; direct channel only
    filters_of_carol: int = 0  # further filters, which are hers; ZooKeeper only


@dataclass(slots=True)
class RealCluster:
    """A running proxy and what troubles need to reach."""

    cluster: Cluster
    setting: Setting
    proxy: Proxy
    filters_path: str  # empty on the direct channel
    relay: Relay | None
    log_place: Path | None
    zookeeper: str = ""  # where its service registry is
    registry_root: str = ""
    idle_bytes: int = 0  # resident when it had just started

    @property
    def pid(self) -> int:
        """The proxy's.

        Raises:
            AssertionError: it has ended.
        """
        pid = self.proxy.process.pid
        assert pid is not None, "the proxy has ended"
        return pid

    def bound_bytes(self, connections: int = 0, head_bytes: int = 0) -> int:
        """Return how much memory it may take: as when idle, its table, and what works on so many connections.

        A connection with a call under way also keeps the call's head, which has at most so many bytes.
        """
        under_way = connections * (CONNECTION_BYTES + head_bytes)
        return self.idle_bytes + self.setting.table_bytes + WORKING_BYTES + under_way

    def is_alive(self) -> bool:
        """Whether the proxy's process runs."""
        return self.proxy.process.pid is not None

    @property
    def namenode_http(self) -> str:
        """Where the NameNode itself is asked."""
        return self.cluster.namenodes[0].http

    @property
    def namenode_rpc(self) -> str:
        """The same over RPC."""
        return self.cluster.namenodes[0].rpc


@dataclass(slots=True)
class Site:
    """The cluster with its namespace; stands are put on it one after another."""

    cluster: Cluster
    _has_large: bool = field(default=False)

    def prepare(self) -> None:
        """Make what `tests.overload.places` names, but for the large directory."""
        asyncio.run(self._prepare())

    def prepare_large(self) -> None:
        """Make the large directory, once."""
        if not self._has_large:
            asyncio.run(self._prepare_large())
            self._has_large = True

    @contextmanager
    def real_cluster(self, setting: Setting) -> Iterator[RealCluster]:
        """Run a proxy of that kind whose cache is open."""
        flags = (
            *("--max-cache-bytes", str(setting.table_bytes)),
            *setting.flags,
            *(() if setting.user is None else ("--user", setting.user)),
        )
        with ExitStack() as running:
            relay = running.enter_context(Relay(self._rpc)) if setting.has_relay else None
            log_place = running.enter_context(_small_place()) if setting.has_small_log else None
            program = _program(setting, log_place)
            zookeeper = registry_root = ""
            if setting.has_registry:
                assert self.cluster.zookeeper is not None, "a cluster with ZooKeeper is needed"
                zookeeper, registry_root = (
                    self.cluster.zookeeper.address,
                    f"/registry-{uuid.uuid4().hex[:12]}",
                )
                flags += ("--registry", "--zookeeper", zookeeper, "--registry-root", registry_root)
            service: Service | None = None
            if setting.channel is Channel.DIRECT:
                proxy = Proxy(
                    *("--namenode-http", self.cluster.namenodes[0].http),
                    *("--namenode-rpc", self._rpc if relay is None else relay.address),
                    *("--channel", "direct"),
                    *(word for glob in places.GLOBS for word in ("--glob", glob)),
                    *flags,
                    program=program,
                )
            else:
                service = Service.of(self.cluster)
                asyncio.run(_add_filters(service, setting.filters_of_carol))
                running.enter_context(service.publisher()).await_publishing()
                proxy = Proxy(*service.namenode_flags, *service.zookeeper_flags, *flags, program=program)
            running.enter_context(proxy)
            proxy.await_gate()
            if service is not None:
                wanted = len(places.GLOBS) + setting.filters_of_carol
                proxy.process.await_that(
                    lambda: proxy.metrics()["nncache_channel_filters"] == wanted, "does not have all filters"
                )
            real_cluster = RealCluster(
                self.cluster,
                setting,
                proxy,
                "" if service is None else service.filters_path,
                relay,
                log_place,
                zookeeper,
                registry_root,
            )
            real_cluster.idle_bytes = status_bytes(real_cluster.pid, "VmRSS")
            yield real_cluster

    @property
    def _rpc(self) -> str:
        return self.cluster.namenodes[0].rpc

    def _hdfs(self, user: str) -> WebHdfs:
        return WebHdfs(f"http://{self.cluster.namenodes[0].http}", user)

    async def _prepare(self) -> None:
        async with self._hdfs(self.cluster.superuser) as hdfs:
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

    async def _prepare_large(self) -> None:
        numbers = iter(range(places.LARGE_ENTRIES))
        async with self._hdfs(self.cluster.superuser) as hdfs:

            async def make() -> None:
                for number in numbers:
                    await hdfs.mkdirs(f"{places.LARGE}/{number:0250}")

            async with asyncio.TaskGroup() as tasks:
                for _ in range(_AT_ONCE):
                    tasks.create_task(make())


async def _add_filters(service: Service, of_carol: int) -> None:
    cluster = service.cluster
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        store = FilterStore(hdfs, service.filters_path)
        for number, glob in enumerate(places.GLOBS):
            await store.add(Filter(f"f{number}", glob, cluster.superuser, ("alice",)))
        for number in range(of_carol):
            await store.add(Filter(f"carol{number}", f"/data/of-carol/{number}/*", "carol", ("alice",)))


def _program(setting: Setting, log_place: Path | None) -> tuple[str, ...]:
    program: tuple[str, ...] = (_NNCACHE,)
    if setting.max_files is not None:
        program = (_found("prlimit"), f"--nofile={setting.max_files}", *program)
    if log_place is not None:
        program = (_found("sh"), "-c", f'exec "$@" >>{log_place / "proxy.log"} 2>&1', "sh", *program)
    return program


def _found(program: str) -> str:
    """Return where a program is, since a server is started by its full path."""
    found = shutil.which(program)
    assert found is not None, f"{program} is missing"
    return found


@contextmanager
def _small_place() -> Iterator[Path]:
    """Mount a small file system; where that is not allowed, yield a directory whose log is /dev/full."""
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
