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
from nncache.testbed import Cluster, ClusterSpec, Relay, ZooKeeper
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import LightCluster, Program, Proxy, Publisher
from nncache.testbed.readiness import jmx
from nncache.testbed.spec import own_user

NAMESERVICE: Final = "ns1"
FILTER: Final = "workflows"
OWNER: Final = "alice"
WORKFLOW: Final = "/user/alice/workflow"
"""The directory in which everything happens."""

BEAN: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
"""org.apache.hadoop.hdfs.server.namenode.metrics.NameNodeMetrics."""

GLOB: Final = "/user/*/workflow/*/_SUCCESS"
_MARKS: Final = "ListSnapshottableDirOps"
_DROPS_CHANGES: Final = ("--channel", "nncache.demo.dropping_stream:DroppingStream")
_COMMAND_TIMEOUT_S: Final = 30.0
_COUNTERS_TIMEOUT_S: Final = 15.0  # they are a copy, renewed once in a metrics period


class CallCounter:
    """Reads a count of NameNodeActivity, and makes sure that the figure is not an old one.

    JMX shows a copy of the counters that is up to a period old. So it asks for the snapshottable directories, which
    nothing else here does: the copy that counts this call counts every call before it as well.
    """

    def __init__(self, namenode_http: str, user: str, counted: str = "FileInfoOps") -> None:
        """Count at this address; `user` sends the marks, `counted` names the count."""
        self._namenode = namenode_http
        self._target = f"/webhdfs/v1/?op=GETSNAPSHOTTABLEDIRECTORYLIST&user.name={user}"
        self._counted = counted
        self._awaited: int | None = None  # marks that the copy must have

    def calls(self) -> int:
        """Return the calls so far, those of this moment included. Takes up to a metrics period.

        Raises:
            DemoError: the counters do not move, or there are none.
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
    """A NameNode with a proxy before it, and clients of both."""

    namenode_http: str  # the NameNode's own address
    superuser: str
    proxy: Proxy
    loop: asyncio.Runner  # runs the client of the story's writers
    clients: Clients  # of the proxy, with all reads of the story
    own_at_most: int = 0  # calls that nncache may have made by itself

    def write(
        self, calls: Callable[[WebHdfs], Awaitable[object]], *, user: str = OWNER, through_proxy: bool = False
    ) -> None:
        """Let a user do this at the NameNode itself, or through the proxy."""

        async def do() -> None:
            address = self.proxy.address if through_proxy else self.namenode_http
            async with WebHdfs(f"http://{address}", user) as client:
                await calls(client)

        self.loop.run(do())


@dataclass(kw_only=True)
class System(ProxiedNameNode):
    """What runs, and clients of it."""

    cluster: Cluster
    zookeeper: ZooKeeper
    relay: Relay  # through it publisher and proxy reach the NameNode's RPC port
    publisher: Publisher | None
    counter: CallCounter

    def totals(self) -> Counter[str]:
        """Return what the proxy (`hits`, `shared`) and the NameNode (`calls` of getFileInfo) have counted by now."""
        figures = self.proxy.metrics()
        hits, shared = (
            round(figures.get(f'nncache_requests_total{{result="{result}"}}', 0.0))
            for result in ("hit", "collapsed")
        )
        return Counter(hits=hits, shared=shared, calls=self.counter.calls())


@contextmanager
def started(hadoop_version: str, without: str, terminal: Terminal) -> Iterator[System]:
    """Start all parts but those that DEMO_WITHOUT names, and stop them when the context ends.

    Raises:
        TestbedError: something is missing or does not start; nothing is left running then.
        subprocess.SubprocessError: the filter can't be added.
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
            publisher = Publisher(*flags)
            what = "The publisher: reads the NameNode's edits and writes to ZooKeeper"
            start(stack, terminal, what, publisher, publisher.await_publishing)
        proxy = Proxy(*flags, *(_DROPS_CHANGES if without == "invalidation" else ()))
        wait = None if publisher is None else proxy.await_gate
        start(stack, terminal, "The proxy: answers clients, and follows ZooKeeper", proxy, wait)
        yield System(
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
    """Start a light cluster and a proxy that follows its edits itself, and stop them when the context ends."""
    with ExitStack() as stack:
        namenode, superuser = LightCluster(), own_user()
        what = "A light cluster: NameNode and DataNode in one process, without Java"
        start(stack, terminal, what, namenode)
        addresses = ("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc)
        proxy = Proxy("--nameservice", NAMESERVICE, *addresses, "--user", superuser, "--glob", GLOB)
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
    """Start a program of nncache's until the stack ends, show how it is started, and wait until it does its work."""
    with terminal.working(what) as say:
        say(f"$ {typed(*program.typed)}")
        stack.enter_context(program)
        if wait is not None:
            wait()


def typed(*arguments: str) -> str:
    """Return the line that a person would type here for `nncache ARGUMENTS`."""
    command, here = Path(sys.executable).with_name("nncache"), Path.cwd()
    return shlex.join(
        (str(command.relative_to(here) if command.is_relative_to(here) else command), *arguments)
    )


def output_of(*command: str) -> str:
    """Run a command to its end, and return what it printed; its errors go to the terminal.

    Raises:
        subprocess.SubprocessError: it failed, or takes too long.
    """
    return subprocess.check_output(command, stdin=subprocess.DEVNULL, text=True, timeout=_COMMAND_TIMEOUT_S)
