"""The running system that the story needs: cluster, publisher, proxy, and their clients."""

import asyncio
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nncache.demo.clients import Clients, DemoError
from nncache.demo.terminal import Terminal
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec, Relay, ZooKeeperProcess
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import LightClusterProgram, Program, ProxyDaemon, PublisherDaemon
from nncache.testbed.readiness import jmx
from nncache.testbed.spec import own_user

NAMESERVICE: Final = "ns1"
FILTER: Final = "workflows"
OWNER: Final = "alice"
WORKFLOW: Final = "/user/alice/workflow"
"""The directory of all files of the story."""

BEAN: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
"""org.apache.hadoop.hdfs.server.namenode.metrics.NameNodeMetrics."""

GLOB: Final = "/user/*/workflow/*/_SUCCESS"
_MARKS: Final = "ListSnapshottableDirOps"
_DROPS_CHANGES: Final = ("--channel", "nncache.demo.dropping_stream:DroppingStream")
_COMMAND_TIMEOUT_S: Final = 30.0
_COUNTERS_TIMEOUT_S: Final = 15.0  # JMX renews its copy once in each metrics period


class CallCounter:
    """Reads a counter of NameNodeActivity, and ensures that the value is current.

    JMX shows a copy of the counters that is up to one metrics period old. So the reader lists the snapshottable
    directories, which no other client here does: a copy that counts this call also counts all earlier calls.
    """

    def __init__(self, namenode_http: str, user: str, counted: str = "FileInfoOps") -> None:
        """Read at this address; `user` sends the marker calls, `counted` is the name of the counter."""
        self._namenode = namenode_http
        self._target = f"/webhdfs/v1/?op=GETSNAPSHOTTABLEDIRECTORYLIST&user.name={user}"
        self._counted = counted
        self._awaited: int | None = None  # marker calls that the copy must include

    def calls(self) -> int:
        """Return the current value of the counter. Takes up to one metrics period.

        Raises:
            DemoError: the counters do not change, or do not exist.
        """
        self._awaited = 1 + (self._counters()[_MARKS] if self._awaited is None else self._awaited)
        with Asker(self._namenode) as asker:
            asker.ask("GET", self._target)
        deadline = time.monotonic() + _COUNTERS_TIMEOUT_S
        while (counters := self._counters())[_MARKS] < self._awaited:
            if time.monotonic() > deadline:
                raise DemoError(f"{_MARKS} of the NameNode does not move in {_COUNTERS_TIMEOUT_S:.0f} s")
            time.sleep(0.05)
        return counters[self._counted]

    def _counters(self) -> dict[str, int]:
        bean = jmx(self._namenode, BEAN)
        if bean is None or not {_MARKS, self._counted} <= bean.keys():
            raise DemoError(f"the NameNode does not show {self._counted} and {_MARKS} ({BEAN})")
        return {name: int(bean[name]) for name in (self._counted, _MARKS)}


@dataclass(kw_only=True)
class ProxiedNameNode:
    """A NameNode with a proxy in front of it, and clients of both."""

    namenode_http: str  # the NameNode's own address
    superuser: str
    proxy: ProxyDaemon
    loop: asyncio.Runner  # runs the client of the story's writers
    clients: Clients  # of the proxy, with all reads of the story
    own_at_most: int = 0  # upper limit of the calls that nncache itself has made

    def write(
        self, calls: Callable[[WebHdfs], Awaitable[object]], *, user: str = OWNER, through_proxy: bool = False
    ) -> None:
        """Make the calls as a user, at the NameNode itself or through the proxy."""

        async def do() -> None:
            address = self.proxy.address if through_proxy else self.namenode_http
            async with WebHdfs(f"http://{address}", user) as client:
                await calls(client)

        self.loop.run(do())


@dataclass(kw_only=True)
class DemoSystem(ProxiedNameNode):
    """The whole running system, and its clients."""

    cluster: Cluster
    zookeeper: ZooKeeperProcess
    relay: Relay  # publisher and proxy reach the NameNode's RPC port through it
    publisher: PublisherDaemon | None
    counter: CallCounter

    def totals(self) -> Counter[str]:
        """Return the counters of the proxy (`hits`, `shared`) and of the NameNode (`calls` of getFileInfo)."""
        figures = self.proxy.metrics()
        hits, shared = (
            round(figures.get(f'nncache_requests_total{{result="{result}"}}', 0.0))
            for result in ("hit", "collapsed")
        )
        return Counter(hits=hits, shared=shared, calls=self.counter.calls())


@contextmanager
def started(hadoop_version: str, without: str, terminal: Terminal) -> Iterator[DemoSystem]:
    """Start all parts except the one that DEMO_WITHOUT names, and stop them when the context ends.

    Raises:
        TestbedError: a program is missing or does not start; no part is left running.
        subprocess.SubprocessError: the filter cannot be added.
    """
    with ExitStack() as stack:
        with terminal.working("A real HDFS on this machine, NameNode and DataNode, and a ZooKeeper") as say:
            spec = ClusterSpec(hadoop_version=hadoop_version, with_zookeeper=True)
            cluster = stack.enter_context(Cluster.start(spec, progress=say))
        zookeeper, http = cluster.zookeeper, cluster.namenodes[0].http
        relay = stack.enter_context(Relay(cluster.namenodes[0].rpc))
        namenode = ("--namenode-http", http, "--user", cluster.superuser)
        with terminal.working("A filter: what is published, and what proxies keep") as say:
            of_filter = ("--name", FILTER, "--glob", GLOB, "--owner", OWNER, "--allow", "bob,carol")
            added = ("filters", "add", *of_filter, *namenode)
            say(f"$ {typed(*added)}")
            output_of(str(Path(sys.executable).with_name("nncache")), *added)
        flags = (
            *("--nameservice", NAMESERVICE, *namenode),
            *("--namenode-rpc", relay.address, "--zookeeper", zookeeper.address, "--registry"),
        )
        publisher = None
        if without != "publisher":
            publisher = PublisherDaemon(*flags)
            what = "The publisher: reads the NameNode's edits and writes to ZooKeeper"
            start(stack, terminal, what, publisher, publisher.await_publishing)
        proxy = ProxyDaemon(*flags, *(_DROPS_CHANGES if without == "invalidation" else ()))
        wait = None if publisher is None else proxy.await_gate
        start(stack, terminal, "The proxy: answers clients, and follows ZooKeeper", proxy, wait)
        yield DemoSystem(
            namenode_http=http,
            superuser=cluster.superuser,
            cluster=cluster,
            zookeeper=zookeeper,
            relay=relay,
            proxy=proxy,
            publisher=publisher,
            counter=CallCounter(http, cluster.superuser),
            loop=stack.enter_context(asyncio.Runner()),
            clients=Clients(proxy.address),
        )


@contextmanager
def started_light(terminal: Terminal) -> Iterator[ProxiedNameNode]:
    """Start a light cluster and a proxy that reads its edits itself, and stop them when the context ends."""
    with ExitStack() as stack:
        namenode, superuser = LightClusterProgram(), own_user()
        what = "A light cluster: NameNode and DataNode in one process, without Java"
        start(stack, terminal, what, namenode)
        addresses = ("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc)
        proxy = ProxyDaemon("--nameservice", NAMESERVICE, *addresses, "--user", superuser, "--glob", GLOB)
        what = "The proxy: answers clients, and reads the NameNode's edits itself"
        start(stack, terminal, what, proxy, proxy.await_gate)
        yield ProxiedNameNode(
            namenode_http=namenode.http,
            superuser=superuser,
            proxy=proxy,
            loop=stack.enter_context(asyncio.Runner()),
            clients=Clients(proxy.address),
        )


def start(
    stack: ExitStack, terminal: Terminal, what: str, program: Program, wait: Callable[[], None] | None = None
) -> None:
    """Start a program of nncache until the stack closes, print its command line, and call `wait` if given."""
    with terminal.working(what) as say:
        say(f"$ {typed(*program.typed)}")
        stack.enter_context(program)
        if wait is not None:
            wait()


def typed(*arguments: str) -> str:
    """Return the shell line for `nncache ARGUMENTS` in the current directory."""
    command, here = Path(sys.executable).with_name("nncache"), Path.cwd()
    return shlex.join(
        (str(command.relative_to(here) if command.is_relative_to(here) else command), *arguments)
    )


def output_of(*command: str) -> str:
    """Run a command to completion, and return its output; its standard error goes to the terminal.

    Raises:
        subprocess.SubprocessError: the command failed or timed out.
    """
    return subprocess.check_output(command, stdin=subprocess.DEVNULL, text=True, timeout=_COMMAND_TIMEOUT_S)
