"""The running system that the story needs: cluster, publisher, proxy, and their clients."""

import asyncio
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

from nncache.demo.counter import CallCounter
from nncache.demo.options import PROXY_FLAGS, DemoError, Options, Without
from nncache.demo.reads import Pollers, Question, Read, Record, read
from nncache.demo.steps import Totals
from nncache.hadoop.jmx import JOURNAL_QUERY, parse_last_txid
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec, Relay
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import Proxy, Publisher
from nncache.testbed.subscriber import Subscriber

NAMESERVICE: Final = "ns1"
FILTER: Final = "workflows"
GLOB: Final = "/user/*/workflow/*/_SUCCESS"
OWNER: Final = "alice"
WORKFLOW: Final = "/user/alice/workflow"
"""The directory in which everything happens."""

_FIND_BY_NAME: Final = """
import sys, nncache
with nncache.connect(zookeeper=sys.argv[1]) as proxies:
    print(proxies.url())
"""

_COMMAND_TIMEOUT_S: Final = 30.0


class Show(Protocol):
    """Shows what is set up."""

    def working(self, what: str) -> AbstractContextManager[Callable[[str], None]]:
        """Say that something is begun; gives what takes a line on how it goes on."""

    def command(self, line: str) -> None:
        """Show a command that is run now."""


class System:
    """What runs, and clients of it."""

    def __init__(self, cluster: Cluster, relay: Relay, proxy: Proxy, publisher: Publisher | None) -> None:
        if cluster.zookeeper is None:
            raise ValueError("the cluster has no ZooKeeper")
        self.relay = relay  # publisher and proxy speak to the NameNode's RPC port through it
        self.proxy = proxy
        self.publisher = publisher
        self.zookeeper = cluster.zookeeper
        self.superuser = cluster.superuser
        self.namenode_http = cluster.namenodes[0].http
        self.counter = CallCounter(self.namenode_http, cluster.superuser)
        self.records: list[Record] = []  # of all reads of the story
        self.own_at_most = 0  # calls that nncache may have made by itself

    def at_namenode(self, user: str) -> WebHdfs:
        """Return a client that goes to the NameNode itself."""
        return WebHdfs(f"http://{self.namenode_http}", user)

    def through_proxy(self, user: str) -> WebHdfs:
        """Return a client that takes the proxy for the NameNode."""
        return WebHdfs(f"http://{self.proxy.address}", user)

    def pollers(self, questions: Sequence[Question]) -> Pollers:
        """Return pollers of the proxy; their reads are kept."""
        pollers = Pollers(self.proxy.address, questions)
        self.records.extend(pollers.records)
        return pollers

    async def read(self, question: Question) -> Read:
        """Read once through the proxy; the read is kept."""

        def ask() -> Read:
            with Asker(self.proxy.address) as asker:
                return read(asker, question)

        seen = await asyncio.to_thread(ask)
        self.records.append(Record(question, [seen]))
        return seen

    def subscriber(self) -> Subscriber:
        """Return `nncache watch` on the story's filter; start it, and close it in the end."""
        return Subscriber(FILTER, "--nameservice", NAMESERVICE, "--zookeeper", self.zookeeper.address)

    async def found_by_name(self) -> str:
        """Return the URL that a Python client gets, in a process of its own, which knows where ZooKeeper is.

        Raises:
            DemoError: it fails; with its own words.
        """
        program = (sys.executable, "-c", _FIND_BY_NAME, self.zookeeper.address)
        return (await asyncio.to_thread(_output_of, program, "nncache.connect")).strip()

    async def last_txid(self) -> int:
        """Return the last transaction that the NameNode has written."""

        def ask() -> int:
            with Asker(self.namenode_http) as asker:
                return parse_last_txid(asker.ask("GET", JOURNAL_QUERY).body)

        return await asyncio.to_thread(ask)

    async def gate(self) -> str:
        """Return whether the proxy answers from memory and, if not, why."""
        readiness = await asyncio.to_thread(self.proxy.readiness)
        return str(readiness.get("gate", "it does not say"))

    async def totals(self) -> Totals:
        """Return what proxy and NameNode have counted by now."""
        figures = await asyncio.to_thread(self.proxy.metrics)
        return Totals(
            hits=round(figures.get('nncache_requests_total{result="hit"}', 0.0)),
            joined=round(figures.get('nncache_requests_total{result="collapsed"}', 0.0)),
            calls=await self.counter.calls(),
        )


@contextmanager
def running(options: Options, show: Show) -> Iterator[System]:
    """Start everything, and stop it when the context ends, however that comes.

    Raises:
        TestbedError: something is missing or does not start; nothing is left running then.
        DemoError: the filter can't be added.
    """
    with ExitStack() as stack:
        with show.working("A real HDFS on this machine, NameNode and DataNode, and a ZooKeeper") as say:
            spec = ClusterSpec(hadoop_version=options.hadoop_version, with_zookeeper=True)
            cluster = stack.enter_context(Cluster.start(spec, progress=say))
        assert cluster.zookeeper is not None
        relay = stack.enter_context(Relay(cluster.namenodes[0].rpc))
        namenode = ("--namenode-http", cluster.namenodes[0].http, "--user", cluster.superuser)
        with show.working("A filter: what is published, and what proxies keep"):
            added = ("--name", FILTER, "--glob", GLOB, "--owner", OWNER, "--allow", "bob,carol")
            show.command(typed("filters", "add", *added, *namenode))
            run("filters", "add", *added, *namenode)
        flags = (
            *("--nameservice", NAMESERVICE, *namenode),
            *("--namenode-rpc", relay.address, "--zookeeper", cluster.zookeeper.address, "--registry"),
        )
        publisher: Publisher | None = None
        if options.without is not Without.PUBLISHER:
            publisher = Publisher(*flags)
            stack.callback(publisher.close)
            with show.working("The publisher: reads the NameNode's edits and writes to ZooKeeper"):
                show.command(typed(*publisher.typed))
                publisher.start().await_publishing()
        proxy = Proxy(*flags, *PROXY_FLAGS.get(options.without, ()))
        stack.callback(proxy.close)
        with show.working("The proxy: answers clients, and follows ZooKeeper"):
            show.command(typed(*proxy.typed))
            proxy.start()
            if publisher is not None:
                proxy.await_gate()
        yield System(cluster, relay, proxy, publisher)


def typed(*arguments: str) -> str:
    """Return the line that a person would type here for `nncache ARGUMENTS`."""
    command, here = Path(sys.executable).with_name("nncache"), Path.cwd()
    return shlex.join(
        (str(command.relative_to(here) if command.is_relative_to(here) else command), *arguments)
    )


def run(*arguments: str) -> None:
    """Run `nncache ARGUMENTS` to its end.

    Raises:
        DemoError: it failed; with its own words.
    """
    _output_of((str(Path(sys.executable).with_name("nncache")), *arguments), f"nncache {arguments[0]}")


def _output_of(command: Sequence[str], name: str) -> str:
    """Run a command to its end, and return what it printed.

    Raises:
        DemoError: it failed; with its own words.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_COMMAND_TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise DemoError(f"{name} has not ended after {_COMMAND_TIMEOUT_S:.0f} s") from None
    except subprocess.CalledProcessError as exc:
        said = (exc.stderr or exc.stdout).strip() or "it says nothing"
        raise DemoError(f"{name} ended with {exc.returncode}: {said}") from None
    return done.stdout
