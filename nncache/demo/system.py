"""The running system that the story needs: cluster, publisher, proxy, and their clients."""

import asyncio
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from nncache.demo.polling import DemoError, Pollers, Question, Read, Record, read
from nncache.demo.terminal import Terminal
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec, Relay, ZooKeeper
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import Proxy, Publisher, Subscriber
from nncache.testbed.readiness import jmx

NAMESERVICE: Final = "ns1"
FILTER: Final = "workflows"
GLOB: Final = "/user/*/workflow/*/_SUCCESS"
OWNER: Final = "alice"
WORKFLOW: Final = "/user/alice/workflow"
"""The directory in which everything happens."""

BEAN: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
"""org.apache.hadoop.hdfs.server.namenode.metrics.NameNodeMetrics."""

MARKS: Final = "ListSnapshottableDirOps"

_DROPS_CHANGES: Final = ("--channel", "nncache.demo.dropping_stream:DroppingStream")
_COMMAND_TIMEOUT_S: Final = 30.0
_COUNTERS_TIMEOUT_S: Final = 15.0  # they are a copy, renewed once in a metrics period


class CallCounter:
    """Reads a count of NameNodeActivity, and knows that the figure is not an old one.

    JMX shows a copy of the counters that is up to a period old. So the snapshottable directories are asked for, which
    nothing else here does, and the copy that counts it counts every call before it as well.
    """

    def __init__(self, namenode_http: str, user: str, counted: str = "FileInfoOps") -> None:
        """Count at this address; `user` sends the marks, `counted` names the count."""
        self._namenode = namenode_http
        self._target = f"/webhdfs/v1/?op=GETSNAPSHOTTABLEDIRECTORYLIST&user.name={user}"
        self._counted = counted
        self._awaited: int | None = None  # marks that the copy must have

    async def calls(self) -> int:
        """Return the calls so far, those of this moment included. Takes up to a metrics period.

        Raises:
            DemoError: the counters do not move, or there are none.
        """
        return await asyncio.to_thread(self._calls)

    def _calls(self) -> int:
        self._awaited = 1 + (self._counters()[MARKS] if self._awaited is None else self._awaited)
        with Asker(self._namenode) as asker:
            asker.ask("GET", self._target)
        deadline = time.monotonic() + _COUNTERS_TIMEOUT_S
        while (counters := self._counters())[MARKS] < self._awaited:
            if time.monotonic() > deadline:
                raise DemoError(f"{MARKS} of the NameNode does not move in {_COUNTERS_TIMEOUT_S:.0f} s")
            time.sleep(0.05)
        return counters[self._counted]

    def _counters(self) -> dict[str, int]:
        bean = jmx(self._namenode, BEAN)
        if bean is None or MARKS not in bean or self._counted not in bean:
            raise DemoError(f"the NameNode does not show {self._counted} and {MARKS} ({BEAN})")
        return {name: int(bean[name]) for name in (self._counted, MARKS)}


class Totals(NamedTuple):
    """What proxy and NameNode have counted by a moment.

    Attributes:
        hits, joined: by the proxy: reads answered from memory, and those that shared another's call.
        calls: by the NameNode: getFileInfo.
    """

    hits: int
    joined: int
    calls: int


@dataclass(kw_only=True)
class System:
    """What runs, and clients of it.

    Attributes:
        relay: through it publisher and proxy speak to the NameNode's RPC port.
        records: all reads of the story.
        own_at_most: calls that nncache may have made by itself.
    """

    cluster: Cluster
    zookeeper: ZooKeeper
    relay: Relay
    proxy: Proxy
    publisher: Publisher | None
    counter: CallCounter
    records: list[Record] = field(default_factory=list)
    own_at_most: int = 0

    def at_namenode(self, user: str) -> WebHdfs:
        """Return a client that goes to the NameNode itself."""
        return WebHdfs(f"http://{self.cluster.namenodes[0].http}", user)

    def pollers(self, questions: Sequence[Question]) -> Pollers:
        """Return pollers of the proxy; their reads are kept."""
        pollers = Pollers(self.proxy.address, questions)
        self.records.extend(pollers.records)
        return pollers

    def read(self, question: Question) -> Read:
        """Read once through the proxy; the read is kept."""
        with Asker(self.proxy.address) as asker:
            seen = read(asker, question)
        self.records.append(Record(question, [seen]))
        return seen

    def subscriber(self) -> Subscriber:
        """Return `nncache watch` on the story's filter, not yet started."""
        return Subscriber(FILTER, "--nameservice", NAMESERVICE, "--zookeeper", self.zookeeper.address)

    async def totals(self, since: Totals = Totals(0, 0, 0)) -> Totals:  # noqa: B008 - it is never changed
        """Return what proxy and NameNode have counted by now, since then."""
        figures = await asyncio.to_thread(self.proxy.metrics)
        keys = ('nncache_requests_total{result="hit"}', 'nncache_requests_total{result="collapsed"}')
        hits, joined = (round(figures.get(key, 0.0)) for key in keys)
        return Totals(hits - since.hits, joined - since.joined, await self.counter.calls() - since.calls)


@contextmanager
def running(hadoop_version: str, without: str, terminal: Terminal) -> Iterator[System]:
    """Start all parts but those that DEMO_WITHOUT names, and stop them when the context ends.

    Raises:
        TestbedError: something is missing or does not start; nothing is left running then.
        DemoError: the filter can't be added.
    """
    with ExitStack() as stack:
        with terminal.working("A real HDFS on this machine, NameNode and DataNode, and a ZooKeeper") as say:
            spec = ClusterSpec(hadoop_version=hadoop_version, with_zookeeper=True)
            cluster = stack.enter_context(Cluster.start(spec, progress=say))
        zookeeper, http = cluster.zookeeper, cluster.namenodes[0].http
        assert zookeeper is not None
        relay = stack.enter_context(Relay(cluster.namenodes[0].rpc))
        namenode = ("--namenode-http", http, "--user", cluster.superuser)
        with terminal.working("A filter: what is published, and what proxies keep") as say:
            of_filter = ("--name", FILTER, "--glob", GLOB, "--owner", OWNER, "--allow", "bob,carol")
            added = ("filters", "add", *of_filter, *namenode)
            say(f"$ {typed(*added)}")
            output_of((str(Path(sys.executable).with_name("nncache")), *added), "nncache filters")
        flags = (
            *("--nameservice", NAMESERVICE, *namenode),
            *("--namenode-rpc", relay.address, "--zookeeper", zookeeper.address, "--registry"),
        )
        publisher = None if without == "publisher" else Publisher(*flags)
        if publisher is not None:
            stack.callback(publisher.close)
            with terminal.working("The publisher: reads the NameNode's edits and writes to ZooKeeper") as say:
                say(f"$ {typed(*publisher.typed)}")
                publisher.start().await_publishing()
        proxy = Proxy(*flags, *(_DROPS_CHANGES if without == "invalidation" else ()))
        stack.callback(proxy.close)
        with terminal.working("The proxy: answers clients, and follows ZooKeeper") as say:
            say(f"$ {typed(*proxy.typed)}")
            proxy.start()
            if publisher is not None:
                proxy.await_gate()
        yield System(
            cluster=cluster,
            zookeeper=zookeeper,
            relay=relay,
            proxy=proxy,
            publisher=publisher,
            counter=CallCounter(http, cluster.superuser),
        )


def typed(*arguments: str) -> str:
    """Return the line that a person would type here for `nncache ARGUMENTS`."""
    command, here = Path(sys.executable).with_name("nncache"), Path.cwd()
    return shlex.join(
        (str(command.relative_to(here) if command.is_relative_to(here) else command), *arguments)
    )


def output_of(command: Sequence[str], name: str) -> str:
    """Run a command to its end, and return what it printed.

    Raises:
        DemoError: it failed; with its own words.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise DemoError(f"{name} has not ended after {_COMMAND_TIMEOUT_S:.0f} s") from None
    except subprocess.CalledProcessError as exc:
        raise DemoError(f"{name} ended with {exc.returncode}: {(exc.stderr or exc.stdout).strip()}") from None
    return done.stdout
