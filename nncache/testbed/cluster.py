"""A real HDFS cluster, and a ZooKeeper, as processes on this machine."""

import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from nncache.hadoop.jmx import JOURNAL_QUERY, parse_last_txid
from nncache.testbed import https, java, readiness, secured
from nncache.testbed.addresses import Addresses, ServerAddress
from nncache.testbed.asker import RawReply
from nncache.testbed.configuration import of_journalnode, shared_edits_dir, write_configuration
from nncache.testbed.errors import ServerStartError
from nncache.testbed.jars import Progress, silent
from nncache.testbed.ports import PortLease
from nncache.testbed.process import ServerProcess, await_all
from nncache.testbed.readiness import WebAccess
from nncache.testbed.spec import SMALL_JVM, ClusterSpec
from nncache.testbed.trust import Trust
from nncache.testbed.workplace import environment, run, workplace
from nncache.testbed.zookeeper import ZooKeeperProcess
from nncache.testbed.zookeeper_security import ClientPorts

_START_TIMEOUT_S = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNameNode:
    """One NameNode: its id, addresses ("host:port"), process, and the access to its web port.

    `http` is empty if it serves HTTPS alone, `https` if it serves no HTTPS.
    """

    id: str
    http: str
    https: str
    rpc: str
    process: ServerProcess
    access: WebAccess

    @property
    def web(self) -> str:
        """The address to use with `access`: plain HTTP if it is served, else HTTPS."""
        return self.http or self.https

    def ask(self, method: str, target: str, user: str) -> RawReply:
        """Send a request to the web port as a user, who needs no ticket."""
        return self.access.ask(self.web, method, target, user)

    def state(self) -> str | None:
        """Return the HA state that the NameNode reports, such as "active" or "standby"; None if it does not answer."""
        return readiness.namenode_state(self.web, self.access)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterServer:
    """A DataNode or JournalNode, which can be stopped and started on its own; unused addresses are empty."""

    http: str
    https: str
    rpc: str = ""
    process: ServerProcess


class Cluster:
    """A running cluster. `start()` creates it; `stop()` or the end of a `with` block stops it.

    It also stops when this process ends, however it ends (see `nncache.testbed.guard`). Methods block; a coroutine
    calls them with `asyncio.to_thread`.
    """

    def __init__(self, spec: ClusterSpec, *, progress: Progress = silent) -> None:
        """Prepare a cluster without starting any server; use `start()`."""
        self.spec = spec
        self.superuser = spec.superuser
        self.hadoop_version = spec.hadoop_version
        self.start_s: dict[str, float] = {}  # duration of the start, by server, and "total"
        self._progress = progress
        runtime = java.installed(spec.hadoop_version, progress=progress)
        with ExitStack() as close:
            wanted, within = spec.directory, _START_TIMEOUT_S
            self._place = place = close.enter_context(
                workplace(runtime, "cluster", directory=wanted, user=self.superuser, start_timeout_s=within)
            )
            self.directory, self.conf_dir, self.logs = place.directory, place.conf_dir, place.logs
            ports = close.enter_context(PortLease())
            self.addresses = Addresses.leased(spec, ports)
            write_configuration(self.conf_dir, self._place.data, spec, self.addresses)
            self._trust = Trust(spec, self._place, ports)
            self.kdc, self.authority = self._trust.kdc, self._trust.authority
            self.namenodes = tuple(self._namenode(address) for address in self.addresses.namenodes)
            self.datanode = self._datanode()
            self.journalnodes = tuple(map(self._journalnode, range(len(self.addresses.journalnodes))))
            self._zookeeper = self._laid_out_zookeeper(ports) if spec.with_zookeeper else None
            self._close = close.pop_all()

    @classmethod
    def start(cls, spec: ClusterSpec | None = None, *, progress: Progress = silent) -> Self:
        """Start a cluster and return it once it accepts reads and writes."""
        cluster = cls(spec or ClusterSpec(), progress=progress)
        try:
            cluster._bring_up()
        except BaseException:
            cluster.stop()
            raise
        return cluster

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags with which nncache's commands reach its NameNodes."""
        http = ",".join(namenode.http for namenode in self.namenodes)
        rpc = ",".join(namenode.rpc for namenode in self.namenodes)
        return ("--nameservice", self.spec.nameservice, "--namenode-http", http, "--namenode-rpc", rpc)

    @property
    def zookeeper(self) -> ZooKeeperProcess:
        """The cluster's ZooKeeper; the spec must ask for one."""
        assert self._zookeeper is not None, "a cluster with ZooKeeper is needed"
        return self._zookeeper

    @property
    def shared_edits_dir(self) -> str:
        """The URI of an HA pair's journal, the value of dfs.namenode.shared.edits.dir."""
        return shared_edits_dir(self.spec, self.addresses)

    @property
    def processes(self) -> tuple[ServerProcess, ...]:
        """The processes of all servers, in stop order."""
        parts = (self.datanode, *self.namenodes, *self.journalnodes, self._zookeeper, self.kdc)
        return tuple(part.process for part in parts if part is not None)

    def stop(self) -> None:
        """Stop all servers, release the ports and remove temporary files. May be called again."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.stop()
        self._close.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def fs_shell(
        self, *arguments: str, user: str | None = None, stdin: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run `hdfs dfs ARGUMENTS` as `user` (None: the superuser). It starts a JVM, which takes 1-2 s."""
        return self.run_main(java.FS_SHELL, *arguments, user=user, stdin=stdin)

    def roll_edits(self) -> None:
        """Make the active NameNode start a new edit segment (`hdfs dfsadmin -rollEdits`)."""
        self._administer(java.DFS_ADMIN, "-rollEdits")

    def run_main(
        self, main: str, *arguments: str, user: str | None = None, stdin: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run a main class of the jars to completion; see `nncache.testbed.workplace.run`."""
        command = self._place.runtime.command(
            main,
            *arguments,
            configuration=self.conf_dir / "shell",
            jvm=(*self._trust.jvm(), *SMALL_JVM),
        )
        user = user or self.superuser
        with self._trust.tickets(user) as tickets:
            return run(command, environ=environment(user) | tickets, stdin=stdin)

    def believe_proxies(self) -> None:
        """Make the NameNodes trust the X-Forwarded-For of `ClusterSpec.proxy_servers`.

        `start()` calls it; call it again after each later start of a NameNode. Hadoop reads `hadoop.proxyservers`,
        but drops it when the filter of its web server starts
        (ProxyUserAuthenticationFilter.getProxyuserConfiguration passes an empty configuration to ProxyUsers).
        It stays unset until an administrator refreshes it.
        """
        self._administer(java.DFS_ADMIN, "-refreshSuperUserGroupsConfiguration")

    def last_txid(self) -> int:
        """Return the id of the last transaction that the first NameNode has acknowledged."""
        return parse_last_txid(self.namenodes[0].ask("GET", JOURNAL_QUERY, self.superuser).body)

    def calls(self, name: str) -> int:
        """Return how many calls of this name, such as `getfileinfo`, are in the audit log (`ClusterSpec.audit_log`)."""
        return (self.logs / "hdfs-audit.log").read_bytes().count(f"\tcmd={name}\t".encode())

    def open_segment_txids(self) -> int:
        """Return the number of transactions in the first NameNode's open edit segment; 0 while it is being rolled."""
        segments = (self.directory / "data" / self.namenodes[0].id / "current").glob("edits_inprogress_*")
        firsts = [int(file.name.rpartition("_")[2]) for file in segments]
        return self.last_txid() - max(firsts) + 1 if firsts else 0

    def transition_to_active(self, index: int) -> None:
        """Make a NameNode of the pair active (`hdfs haadmin -transitionToActive --forceactive`).

        Stop the previously active NameNode or make it standby first: it is not fenced.
        """
        namenode = self.namenodes[index]
        self._administer(java.HA_ADMIN, "-transitionToActive", "--forceactive", namenode.id)
        namenode.process.await_that(lambda: namenode.state() == "active", "is not active")

    def transition_to_standby(self, index: int) -> None:
        """Make a NameNode of the pair standby."""
        self._administer(java.HA_ADMIN, "-transitionToStandby", self.namenodes[index].id)

    def await_writable(self, index: int = 0) -> None:
        """Wait until a NameNode is out of safe mode and, if the DataNode runs, counts it as live."""
        namenode = self.namenodes[index]
        namenode.process.await_that(
            lambda: readiness.is_writable(namenode.web, namenode.access), "is still in safe mode"
        )
        if self.datanode is not None and self.datanode.process.pid is not None:
            self.datanode.process.await_that(
                lambda: readiness.live_datanodes(namenode.web, namenode.access) > 0,
                "is not known to the NameNode",
            )

    def _bring_up(self) -> None:
        began = time.monotonic()
        self._progress(f"Hadoop {self.hadoop_version}: starting a cluster in {self.directory}")
        self._trust.start()
        first = [part.process for part in (*self.journalnodes, self._zookeeper) if part is not None]
        for process in first:
            process.launch()
        await_all([journalnode.process for journalnode in self.journalnodes])
        self._format()
        for namenode in self.namenodes:
            namenode.process.launch()
        if self.datanode is not None:
            # Not earlier: a DataNode that connects while the NameNode is still starting retries only after 5 s
            # (BPServiceActor.retrieveNamespaceInfo).
            await_all([namenode.process for namenode in self.namenodes])
            self.datanode.process.launch()
        await_all(self.processes)
        for process in self.processes:
            self.start_s[process.name] = process.start_s
            self._progress(f"{process.name} was up after {process.start_s:.1f} s")
        if self.spec.ha:
            self.transition_to_active(0)
        self.await_writable()
        if self.spec.proxy_servers:
            self.believe_proxies()
        self.start_s["total"] = time.monotonic() - began
        self._progress(f"the cluster is ready after {self.start_s['total']:.1f} s")

    def _format(self) -> None:
        """Format the namespace, unless the directory has an image of an earlier run."""
        images = [self._place.data / namenode.id for namenode in self.namenodes]
        if (images[0] / "current" / "VERSION").exists():
            return
        began = time.monotonic()
        arguments = (*self._ha_id(self.namenodes[0].id), "-format", "-nonInteractive")
        formatting = self._server("format", java.NAMENODE, *arguments, is_up=lambda: False)
        formatting.launch()
        try:
            is_done = formatting.wait(_START_TIMEOUT_S)
        finally:
            formatting.kill()  # `stop` only stops `processes`
        if not is_done or not (images[0] / "current" / "VERSION").exists():
            raise ServerStartError(f"formatting the NameNode failed; {formatting.last_words()}")
        for image in images[1:]:
            shutil.copytree(images[0], image)  # what -bootstrapStandby does on a new pair
        self.start_s["format"] = time.monotonic() - began

    def _administer(self, main: str, *arguments: str) -> None:
        result = self.run_main(main, *arguments)
        if result.returncode != 0:
            tool = main.rpartition(".")[2]
            raise ServerStartError(f"{tool} {' '.join(arguments)} failed: {result.stderr.strip()}")

    def _ha_id(self, namenode: str) -> tuple[str, ...]:
        # Both NameNodes of the pair have the same host, so they cannot derive their id from it.
        if not self.spec.ha:
            return ()
        own = {"dfs.ha.namenode.id": namenode}
        if self.spec.kerberos:
            own[secured.SECRET_FILE] = str(secured.http_secret(self._place.data, namenode))
        return tuple(word for key, value in own.items() for word in ("-D", f"{key}={value}"))

    def _namenode(self, address: ServerAddress) -> ClusterNameNode:
        access = self._trust.access(address.id)
        process = self._server(
            f"namenode-{address.id}" if self.spec.ha else "namenode",
            java.NAMENODE,
            *self._ha_id(address.id),
            is_up=lambda: readiness.namenode_is_up(address.http or address.https, address.rpc, access),
            jvm=self.spec.namenode_jvm,
        )
        web = {"http": address.http, "https": address.https}
        return ClusterNameNode(id=address.id, rpc=address.rpc, process=process, access=access, **web)

    def _datanode(self) -> ClusterServer | None:
        http, https = self.addresses.datanode_http, self.addresses.datanode_https
        if not http and not https:
            return None
        process = self._server("datanode", java.DATANODE, is_up=lambda: readiness.accepts(http or https))
        return ClusterServer(http=http, https=https, process=process)

    def _journalnode(self, index: int) -> ClusterServer:
        address = self.addresses.journalnodes[index]
        name = f"journalnode-{index + 1}" if len(self.addresses.journalnodes) > 1 else "journalnode"
        own = of_journalnode(address, self._place.data / name)
        process = self._server(
            name,
            java.JOURNALNODE,
            *(word for key, value in own.items() for word in ("-D", f"{key}={value}")),
            is_up=lambda: readiness.accepts(address.rpc),
        )
        return ClusterServer(http=address.http, https=address.https, rpc=address.rpc, process=process)

    def _laid_out_zookeeper(self, ports: PortLease) -> ZooKeeperProcess:
        client_ports = ClientPorts.leased(
            ports,
            self.spec.zookeeper_security,
            self.spec.ports.zookeeper,
            kdc=self._place.data / secured.KDC,
            authority=self._place.data / https.AUTHORITY,
        )
        return ZooKeeperProcess(self._place, client_ports, version=self.spec.zookeeper_version)

    def _server(
        self,
        name: str,
        main: str,
        *arguments: str,
        is_up: Callable[[], bool],
        jvm: tuple[str, ...] = SMALL_JVM,
    ) -> ServerProcess:
        return self._place.server(name, main, *arguments, is_up=is_up, jvm=(*self._trust.jvm(), *jvm))
