"""What the story is played on: a real cluster, a real proxy, and a hand on what lies between. (demo/stage.py)"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

from demo.accounts import Answered
from demo.counter import CallCounter
from demo.pollers import Pollers
from demo.reader import Reader
from demo.sightings import Question, Record, Sighting
from demo.wishes import Wishes
from hadoop.webhdfs import WebHdfs
from testbed import Cluster, ClusterSpec, Relay
from testbed.daemon import Proxy

GLOB: Final = "/user/*/workflow/*/_SUCCESS"
"""What the proxy answers from memory."""

OWNER: Final = "alice"
"""Whose directories these are."""

WORKFLOW: Final = "/user/alice/workflow"
"""Where the story happens."""

MAX_STALENESS_S: Final = 3.0
"""The proxy's own default: no answer is older, whatever fails."""

Working = Callable[[str], AbstractContextManager[Callable[[str], None]]]
"""Says that something is begun, and gives what takes a line on how it goes on."""


class Stage:
    """The running system, with what the chapters need of it."""

    def __init__(self, cluster: Cluster, relay: Relay, proxy: Proxy) -> None:
        self.relay = relay  # the proxy speaks to the NameNode's RPC port through it
        self.proxy = proxy
        self.superuser = cluster.superuser
        self.namenode_http = cluster.namenodes[0].http
        self.counter = CallCounter.of(self.namenode_http, cluster.superuser)
        self.records: list[Record] = []  # all that was read in the story, by whomever
        self.own_at_most = 0  # calls that the proxy may have made by itself, for creations through it

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

    def reader(self) -> Reader:
        """Return a single reader of the proxy; give what it sees to `note`."""
        return Reader(self.proxy.address)

    def note(self, question: Question, sighting: Sighting) -> Sighting:
        """Keep what a single reader saw."""
        self.records.append(Record(question, (sighting,)))
        return sighting

    async def answered_by_proxy(self) -> Answered:
        """Return the proxy's own count of the reads for which it did not ask the NameNode."""
        figures = await asyncio.to_thread(self.proxy.metrics)
        return Answered(
            hits=round(figures["nncache_hits_total"] + figures["nncache_fast_path_hits_total"]),
            joined=round(figures["nncache_collapsed_total"]),
        )


@contextmanager
def set_stage(wishes: Wishes, working: Working) -> Iterator[Stage]:
    """Start everything, and stop it when the context ends, however that comes.

    Raises:
        TestbedError: something is missing or does not start; nothing is left running then.
    """
    with ExitStack() as running:
        with working("A real HDFS on this machine: NameNode and DataNode") as say:
            spec = ClusterSpec(hadoop_version=wishes.hadoop_version)
            cluster = running.enter_context(Cluster.start(spec, progress=say))
        relay = running.enter_context(Relay(cluster.namenodes[0].rpc))
        with working("nncache in front of it") as say:
            say(f"nncache proxy --channel {wishes.without.channel} --glob '{GLOB}'")
            proxy = running.enter_context(
                Proxy(
                    *("--nameservice", "ns1"),
                    *("--namenode-http", cluster.namenodes[0].http),
                    *("--namenode-rpc", relay.address),
                    *("--user", cluster.superuser),
                    *("--channel", wishes.without.channel),
                    *("--max-staleness-s", str(MAX_STALENESS_S)),
                    *("--glob", GLOB),
                )
            )
            proxy.await_gate()
        yield Stage(cluster, relay, proxy)
