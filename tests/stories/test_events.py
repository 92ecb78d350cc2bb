"""Applications that follow a filter over HTTP, on a real cluster."""

import asyncio
import json
import shlex
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import pytest

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import make_directory
from tests.docs.pages import DOCS, blocks
from tests.event_client import EventClient
from tests.service import InotifyService

PAGE = blocks(DOCS / "inotify.md")
ORIGIN = "https://ui.example.com"
FLOOD = 70
"""Number of events in a burst; 60 are allowed, with one per second on average."""


class Served(NamedTuple):
    """A publisher with the filters "f" and "loud", and a proxy; their matches are below `root`."""

    service: InotifyService
    proxy: ProxyDaemon
    root: str

    def events(
        self, *, user: str = "alice", name: str = "f", last_id: str = "", origin: str = ""
    ) -> EventClient:
        """Request the events of a filter."""
        headers = {"Last-Event-ID": last_id} if last_id else {}
        if origin:
            headers["Origin"] = origin
        return EventClient(self.proxy.address, f"/v1/events?filter={name}&user.name={user}", headers)

    def make(self, *names: str) -> list[str]:
        """Make directories; return their paths."""
        paths = [f"{self.root}/{name}" for name in names]
        for path in paths:
            make_directory(self.service.cluster, path)
        return paths

    def on_filters(self, act: Callable[[FilterStore], Awaitable[object]]) -> None:
        """Change a filter as its owner."""

        async def carry_out() -> None:
            cluster = self.service.cluster
            async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
                await act(FilterStore(hdfs, self.service.filters_path))

        asyncio.run(carry_out())


@pytest.fixture(scope="module")
def served(cluster: Cluster) -> Iterator[Served]:
    """Run them; alice is the subscriber of both filters, and the superuser owns them."""
    service = InotifyService.of(cluster)
    root = f"/t{service.root}"
    for name in ("f", "loud"):
        make_directory(cluster, f"{root}/{name}")
        service.add(name, f"{root}/{name}/*")
    with (
        service.publisher(max_events_per_s_per_filter=1) as publisher,
        service.proxy(cors_origins=ORIGIN) as proxy,
    ):
        publisher.await_publishing()
        proxy.await_gate()
        served = Served(service, proxy, root)
        for name in ("f", "loud"):
            proxy.process.await_that(partial(_is_let_in, served, name), f"{name} is not published")
        yield served


def paths(following: EventClient, count: int) -> list[str]:
    """Return the paths of the next events."""
    return [message.data["path"] for message in islice(following, count)]


def test_events_come_and_are_resumed(served: Served) -> None:
    """The events equal those of `nncache watch --json`. After `Last-Event-ID`, each comes once and in order."""
    with served.service.subscriber("f") as watching:
        with served.events() as following:
            assert following.status == 200
            assert following.fields["Content-Type"] == "text/event-stream"
            started = next(following)
            assert (started.event, started.data["after"]) == ("start", int(started.last_id))
            made = served.make("f/a", "f/b")
            first, second = islice(following, 2)
        made += served.make("f/c", "f/d")
        with served.events(last_id=first.last_id) as again:
            assert next(again).event == "start"
            messages = list(islice(again, 3))
            made += served.make("f/e")
            messages.append(next(again))
        watching.await_that(lambda each: len(each.events()) == 5, "5 events")
        seen = [first.data, *(message.data for message in messages)]
        assert second == messages[0]
        assert [reported["path"] for reported in seen] == made
        assert seen == list(watching.events())


@pytest.mark.parametrize("origin", [ORIGIN, "https://else.example.com"])
def test_a_page_of_a_named_origin_may_read(served: Served, origin: str) -> None:
    """Its browser gets events, refusals, and a status from memory. Pages of other origins get no CORS header."""
    allowed = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"} if origin == ORIGIN else {}
    for user, status in (("alice", 200), ("mallory", 403)):
        with served.events(user=user, origin=origin) as following:
            assert following.status == status
            assert {name: following.fields[name] for name in allowed} == allowed
            assert allowed or "Access-Control-Allow-Origin" not in following.fields
    with Asker(served.proxy.address) as page:
        target = f"/webhdfs/v1{served.root}/f/no-{origin == ORIGIN}?op=GETFILESTATUS&user.name=alice"
        replies = [page.ask("GET", target, headers=[("Origin", origin)]) for _ in range(3)]
    last = dict(replies[-1].headers)
    assert {reply.status for reply in replies} == {404}
    assert (last["Cache-Status"] == "nncache; hit") is bool(allowed)
    assert last.get("Access-Control-Allow-Origin") == (origin if allowed else None)


def test_the_examples_of_the_page_work(served: Served) -> None:
    """The examples of docs/inotify.md run unchanged except for names and ports."""
    python, shell = (
        next(block.text for block in PAGE if block.language == language and "/v1/events" in block.text)
        for language in ("python", "sh")
    )
    names: dict[str, Any] = {}
    exec(compile(_here(served, python), "docs/inotify.md", "exec"), names)  # noqa: S102 - the test's purpose
    reported: list[tuple[str, dict[str, Any]]] = []

    def handle(event: str, data: dict[str, Any]) -> None:
        reported.append((event, data))
        if event == "start":
            served.make("f/example")
        else:
            raise EOFError

    curl = subprocess.Popen(
        shlex.split(_here(served, shell)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert curl.stdout is not None
        while curl.stdout.readline() != b"event: start\n":
            assert curl.poll() is None
        with pytest.raises(EOFError):
            names["follow"](handle)
        while not (line := curl.stdout.readline()).startswith(b"event: CREATE"):
            assert line
    finally:
        curl.kill()
        curl.communicate()
    assert [event for event, _ in reported] == ["start", "CREATE"]
    assert reported[1][1]["path"] == f"{served.root}/f/example"


def _here(served: Served, text: str) -> str:
    host, _, port = served.proxy.address.rpartition(":")
    text = text.replace("proxy.example.com", host).replace("9871", port)
    return text.replace("joeSUCCESSFiles", "f").replace("user.name=joe", "user.name=alice")


def test_a_flood_ends_the_stream_with_what_is_missing(served: Served) -> None:
    """`missing` names the transactions and ends the stream. A client that reconnects continues after them."""
    with served.events(name="loud") as following:
        next(following)
        made = served.make(*(f"loud/{number}" for number in range(FLOOD)))
        seen = list[str]()
        for message in following:
            if message.event == "missing":
                break
            seen.append(message.data["path"])
            made += served.make(f"loud/{len(made)}") if seen[-1] == made[-1] else []
        assert next(following, None) is None, "it is the last message"
        assert following.is_whole
    assert seen == made[: len(seen)]
    assert len(seen) >= 60
    assert message.data["firstTxid"] <= message.data["lastTxid"] <= int(message.last_id)
    assert "more than 1 events a second" in message.data["gap"]
    assert message.data["next"].endswith(f"behind transaction {message.last_id}")
    with served.events(name="loud", last_id=message.last_id) as again:
        assert next(again).data["after"] == int(message.last_id)


def test_a_position_in_another_log_is_a_gap(served: Served) -> None:
    """The stream ends after `missing`."""
    with served.events(last_id=str(10**12)) as following:
        assert next(following).event == "start"
        reported = next(following)
        assert (reported.event, next(following, None)) == ("missing", None)
        assert "another log" in reported.data["gap"]
    with served.events(last_id=reported.last_id) as again:
        assert next(again).event == "start"
        made = served.make("f/behind")
        assert paths(again, 1) == made


def test_a_stranger_learns_nothing(served: Served) -> None:
    """The refusal is the same for an existing filter and a missing one. The owner may read, too."""
    reported = set()
    for name in ("f", "nothing"):
        with served.events(user="bob", name=name) as refused:
            assert refused.status == 403
            message = json.loads(refused.body())["RemoteException"]["message"]
            reported.add(message.replace(repr(name), "NAME"))
    assert reported == {"nncache: there is no filter NAME that bob may subscribe to"}
    with served.events(user=served.service.cluster.superuser) as owner:
        assert next(owner).event == "start"


def test_who_loses_the_right_loses_the_stream(served: Served) -> None:
    """Other streams continue. A user who is allowed again may reconnect."""
    with served.events(user=served.service.cluster.superuser) as owner, served.events() as following:
        assert (next(owner).event, next(following).event) == ("start", "start")
        served.on_filters(lambda store: store.deny("f", ["alice"]))
        assert next(following, None) is None
        assert following.is_whole
        with served.events() as refused:
            assert refused.status == 403
        made = served.make("f/later")
        assert paths(owner, 1) == made
        served.on_filters(lambda store: store.allow("f", ["alice"]))
        served.proxy.process.await_that(lambda: _is_let_in(served), "alice is not let in")


def _is_let_in(served: Served, name: str = "f") -> bool:
    with served.events(name=name) as following:
        return following.status == 200


def test_a_reload_costs_nothing_and_a_stop_is_whole(served: Served) -> None:
    """SIGHUP keeps streams open. SIGTERM ends them after a whole message, and a resumed stream misses nothing."""
    with served.events() as following:
        next(following)
        served.proxy.process.signal(signal.SIGHUP)
        served.proxy.process.await_that(
            lambda: "SIGHUP: settings were read again" in served.proxy.process.log.read_text(),
            "it is not reloaded",
        )
        made = served.make("f/reloaded")
        assert paths(following, 1) == made
        metrics = served.proxy.metrics()
        assert metrics["nncache_event_streams"] >= 1
        assert metrics["nncache_events_streamed_total"] >= 1
        served.proxy.stop()
        assert next(following, None) is None
        assert following.is_whole
        position = following.last_id
    made = served.make("f/while-away")
    served.proxy.start()
    with served.events(last_id=position) as again:
        next(again)
        assert paths(again, 1) == made


def test_the_namenode_has_nothing_there(served: Served) -> None:
    """/v1/events hides no resource of the NameNode."""
    with Asker(served.service.cluster.namenodes[0].http) as namenode:
        for target in ("/v1/events?filter=f&user.name=alice", "/v1", "/v1/"):
            assert namenode.ask("GET", target).status == 404
