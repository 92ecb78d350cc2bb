"""What the story is played on: a real cluster, a real proxy, and a hand on what lies between. (demo/stage.py)"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final, Protocol

from nncache.demo.accounts import Answered
from nncache.demo.commands import run, shown
from nncache.demo.counter import CallCounter
from nncache.demo.pollers import Pollers
from nncache.demo.reader import Reader
from nncache.demo.sightings import Question, Record, Sighting
from nncache.demo.wishes import Wishes
from nncache.hadoop.jmx import JOURNAL_QUERY, parse_last_txid
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec, Relay
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import Proxy, Publisher
from nncache.testbed.subscriber import Subscriber

NAMESERVICE: Final = "ns1"

FILTER: Final = "workflows"
"""The name of the story's one filter."""

GLOB: Final = "/user/*/workflow/*/_SUCCESS"
"""What its events are about, and what the proxy answers from memory."""

OWNER: Final = "alice"
"""Whose directories these are."""

WORKFLOW: Final = "/user/alice/workflow"
"""Where the story happens."""

MAX_STALENESS_S: Final = 3.0
"""The proxy's own default: no answer is older, whatever fails."""


class Show(Protocol):
    """Who shows the reader what is set up."""

    def working(self, what: str) -> AbstractContextManager[Callable[[str], None]]:
        """Say that something is begun; gives what takes a line on how it goes on."""

    def command(self, line: str) -> None:
        """Show a command that is given now."""


class Stage:
    """The running system, with what the chapters need of it."""

    def __init__(self, cluster: Cluster, relay: Relay, proxy: Proxy, publisher: Publisher | None) -> None:
        if cluster.zookeeper is None:
            raise ValueError("the cluster has no ZooKeeper")
        self.relay = relay  # publisher and proxy speak to the NameNode's RPC port through it
        self.proxy = proxy
        self.publisher = publisher  # None: nobody publishes
        self.zookeeper = cluster.zookeeper
        self.superuser = cluster.superuser
        self.namenode_http = cluster.namenodes[0].http
        self.counter = CallCounter.of(self.namenode_http, cluster.superuser)
        self.records: list[Record] = []  # all that was read in the story, by whomever
        self.own_at_most = 0  # calls that nncache may have made by itself

    def at_namenode(self, user: str) -> WebHdfs:
        """Return a client that goes to the NameNode itself, behind the proxy's back."""
        return WebHdfs(f"http://{self.namenode_http}", user)

    def through_proxy(self, user: str) -> WebHdfs:
        """Return a client that takes the proxy for the NameNode."""
        return WebHdfs(f"http://{self.proxy.address}", user)

    def pollers(self, questions: Sequence[Question]) -> Pollers:
        """Return pollers of the proxy; what they see is kept in `records`."""
        pollers = Pollers(self.proxy.address, questions)
        self.records.extend(pollers.records)
        return pollers

    def subscriber(self) -> Subscriber:
        """Return one who will follow the story's filter; start it, and close it in the end."""
        return Subscriber(FILTER, "--nameservice", NAMESERVICE, "--zookeeper", self.zookeeper.address)

    def reader(self) -> Reader:
        """Return a single reader of the proxy; give what it sees to `note`."""
        return Reader(self.proxy.address)

    def note(self, question: Question, sighting: Sighting) -> Sighting:
        """Keep what a single reader saw."""
        self.records.append(Record(question, (sighting,)))
        return sighting

    async def last_txid(self) -> int:
        """Return the last transaction that the NameNode has written."""

        def ask() -> int:
            with Asker(self.namenode_http) as asker:
                return parse_last_txid(asker.ask("GET", JOURNAL_QUERY).body)

        return await asyncio.to_thread(ask)

    async def gate(self) -> str:
        """Return what the proxy says of itself: whether it answers from memory, and if not, why."""
        readiness = await asyncio.to_thread(self.proxy.readiness)
        return str(readiness.get("gate", "it does not say"))

    async def answered_by_proxy(self) -> Answered:
        """Return the proxy's own count of the reads for which it did not ask the NameNode."""
        figures = await asyncio.to_thread(self.proxy.metrics)
        return Answered(
            hits=round(figures["nncache_hits_total"] + figures["nncache_fast_path_hits_total"]),
            joined=round(figures["nncache_collapsed_total"]),
        )


@contextmanager
def set_stage(wishes: Wishes, show: Show) -> Iterator[Stage]:
    """Start everything, and stop it when the context ends, however that comes.

    Raises:
        TestbedError: something is missing or does not start; nothing is left running then.
        CommandError: the filter can't be added.
    """
    with ExitStack() as running:
        with show.working("A real HDFS on this machine, NameNode and DataNode, and a ZooKeeper") as say:
            spec = ClusterSpec(hadoop_version=wishes.hadoop_version, with_zookeeper=True)
            cluster = running.enter_context(Cluster.start(spec, progress=say))
        relay = running.enter_context(Relay(cluster.namenodes[0].rpc))
        with show.working("A filter: what is published, and what proxies keep"):
            adding = filter_command(cluster)
            show.command(shown(*adding))
            run(*adding)
        flags = service_flags(cluster, relay)
        publisher: Publisher | None = None
        if wishes.without.has_publisher:
            publisher = Publisher(*flags)
            running.callback(publisher.close)
            with show.working("The publisher: reads the NameNode's edits and writes to ZooKeeper"):
                show.command(shown(*publisher.typed))
                publisher.start().await_publishing()
        proxy = Proxy(*flags, *wishes.without.proxy_flags)
        running.callback(proxy.close)
        with show.working("The proxy: answers clients, and follows ZooKeeper"):
            show.command(shown(*proxy.typed))
            proxy.start()
            if wishes.without.has_publisher:
                proxy.await_gate()
        yield Stage(cluster, relay, proxy, publisher)


def filter_command(cluster: Cluster) -> tuple[str, ...]:
    """Return the command that adds the story's filter, as an administrator gives it."""
    return (
        *("filters", "add", "--name", FILTER, "--glob", GLOB, "--owner", OWNER, "--allow", "bob,carol"),
        *("--namenode-http", cluster.namenodes[0].http, "--user", cluster.superuser),
    )


def service_flags(cluster: Cluster, relay: Relay) -> tuple[str, ...]:
    """Return what publisher and proxy are told alike: where NameNode and ZooKeeper are."""
    if cluster.zookeeper is None:
        raise ValueError("the cluster has no ZooKeeper")
    return (
        *("--nameservice", NAMESERVICE, "--namenode-http", cluster.namenodes[0].http),
        *("--namenode-rpc", relay.address, "--zookeeper", cluster.zookeeper.address),
        *("--user", cluster.superuser),
    )
