"""The pages of a proxy's admin port."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import aiohttp
import pytest

from nncache.admin.proxy_pages import (
    MAX_SAMPLE,
    ProxyReadiness,
    RefusedQueryError,
    proxy_pages,
    purge_action,
)
from nncache.admin.server import AdminServer
from nncache.hadoop.change import Touched
from nncache.net.endpoint import ListenAddress
from tests.proxy.doubles import FakeClock, make_cache

READY = ProxyReadiness(is_listening=True, active="nn1:9870", is_gate_open=True, gate="open")


@dataclass
class Fixture:
    """A server with sources that the test sets."""

    readiness: ProxyReadiness = READY
    explained: list[str] = field(default_factory=list)
    url: str = ""

    def sample(self, limit: int, filter_: str | None) -> tuple[str, ...]:
        """Return sampled paths; only the filter `ours` exists."""
        if filter_ not in {None, "ours"}:
            raise RefusedQueryError(f"no filter {filter_!r} is in force")
        return tuple(f"/{number}" for number in range(limit))

    async def get(self, path: str) -> tuple[int, str, str]:
        """Return the status, content type and text of a page."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as reply:
            return reply.status, reply.headers["Content-Type"], await reply.text()


@asynccontextmanager
async def fixture(explain: Callable[[str], object] | None = None) -> AsyncIterator[Fixture]:
    """Start a server on a free port."""
    made = Fixture()

    def note(path: str) -> object:
        made.explained.append(path)
        return {"path": path}

    pages = proxy_pages(
        readiness=lambda: made.readiness,
        metrics=lambda: b"hits_total 1\n",
        explain=explain or note,
        status=lambda: {"hottest": []},
        sample=made.sample,
    )
    async with AdminServer(ListenAddress("127.0.0.1", 0), pages, lambda: "") as server:
        made.url = f"http://{server.address}"
        yield made


@pytest.mark.parametrize(
    ("readiness", "status", "reason"),
    [
        (READY, 200, ""),
        (replace(READY, is_gate_open=False, gate="closed: the edits cannot be read"), 200, "gate-closed"),
        (replace(READY, active=None, is_gate_open=False), 503, "no-active-namenode"),
        (replace(READY, active=None, is_login_failing=True, is_gate_open=False), 200, "gate-closed"),
        (replace(READY, is_listening=False, active=None), 503, "not-listening"),
        (replace(READY, is_stopping=True), 503, "stopping"),
    ],
)
async def test_ready_means_that_it_can_serve(readiness: ProxyReadiness, status: int, reason: str) -> None:
    """With a closed gate the proxy is ready, since it forwards calls; the page gives the reason."""
    async with fixture() as s:
        s.readiness = readiness
        answered, _, text = await s.get("/ready")
        assert answered == status
        assert json.loads(text) == {
            "ready": status == 200,
            "reason": reason,
            "is_listening": readiness.is_listening,
            "is_stopping": readiness.is_stopping,
            "active": readiness.active,
            "is_login_failing": readiness.is_login_failing,
            "is_gate_open": readiness.is_gate_open,
            "gate": readiness.gate,
        }


async def test_explain_asks_for_the_canonical_path() -> None:
    """All spellings of a path are explained as one entry."""
    async with fixture() as s:
        status, _, text = await s.get("/explain?path=//w//f/")
        assert (status, json.loads(text)) == (200, {"path": "/w/f"})
        assert s.explained == ["/w/f"]


@pytest.mark.parametrize("query", ["", "?path=", "?path=w/f", "?path=/a%00b"])
async def test_explain_says_what_it_needs(query: str) -> None:
    """The error is the same for a missing, an empty, a relative and an invalid path."""
    async with fixture() as s:
        status, _, text = await s.get(f"/explain{query}")
        assert status == 400
        assert "/explain?path=/an/absolute/path" in json.loads(text)["error"]
        assert not s.explained


async def test_the_caches_own_explanation_is_json() -> None:
    """The page has everything that `nncache explain` prints, including enums, None and nested values."""
    clock = FakeClock()
    cache = make_cache(clock)
    cache.apply(Touched("/w/f"), clock(), 101)
    async with fixture(lambda path: cache.explain(path, clock())) as s:
        status, _, text = await s.get("/explain?path=/w/f")
        reported = json.loads(text)
        assert status == 200
        assert (reported["path"], reported["answer"], reported["entry"], reported["gate_open"]) == (
            "/w/f",
            "miss",
            None,
            True,
        )


async def test_what_shows_paths_and_users_is_for_operators() -> None:
    """ProvenGrant has one exception, the operators of this proxy. Requests with another Host are refused."""
    async with fixture() as s, aiohttp.ClientSession() as session:
        async with session.get(f"{s.url}/explain?path=/w", headers={"Host": "rebound.example"}) as reply:
            assert reply.status == 403
        assert not s.explained
        s.readiness = replace(READY, is_gate_open=False, gate="closed: joe may not read /w at nn1:8020")
        async with session.get(f"{s.url}/ready", headers={"Host": "probe.example"}) as reply:
            assert await reply.json() == {"ready": True, "reason": "gate-closed"}
        for page in ("/health", "/ready", "/metrics"):
            async with session.get(s.url + page, headers={"Host": "probe.example"}) as reply:
                assert reply.status == 200


class Purged:
    """Records the requested purges."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool | None, str]] = []

    def path(self, path: str, *, is_subtree: bool, peer: str) -> object:
        """Record the purge of a path."""
        self.asked.append((path, is_subtree, peer))
        return [path]

    def filter(self, name: str, *, peer: str) -> object:
        """Record the purge of a filter; only `ours` exists."""
        if name != "ours":
            raise RefusedQueryError(f"no filter {name!r} is in force")
        self.asked.append((name, None, peer))
        return [name]


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ({"path": "//w//f/"}, ("/w/f", False, "10.0.0.1")),
        ({"path": "/w", "subtree": "true"}, ("/w", True, "10.0.0.1")),
        ({"path": "/w", "subtree": "false"}, ("/w", False, "10.0.0.1")),
        ({"filter": "ours"}, ("ours", None, "10.0.0.1")),
    ],
)
def test_a_purge_is_of_a_path_a_subtree_or_a_filter(
    query: dict[str, str], asked: tuple[str, bool | None, str]
) -> None:
    """The client's address is passed on for the log. The answer lists the purged places."""
    purged = Purged()
    answer = purge_action(purged).act(query, "10.0.0.1")
    assert (answer.status, json.loads(answer.body)) == (200, {"purged": [asked[0]]})
    assert purged.asked == [asked]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({}, "/purge?path="),
        ({"path": "w"}, "not an absolute path: 'w'"),
        ({"path": ""}, "not an absolute path: ''"),
        ({"path": "/w", "filter": "ours"}, "/purge?path="),
        ({"path": "/w", "subtre": "true"}, "/purge?path="),
        ({"path": "/w", "subtree": "yes"}, "subtree: yes: must be true or false"),
        ({"filter": "ours", "subtree": "true"}, "subtree goes with path only"),
        ({"filter": "theirs"}, "no filter 'theirs' is in force"),
    ],
)
def test_what_cannot_be_purged_is_refused(query: dict[str, str], error: str) -> None:
    """A misspelled parameter purges nothing."""
    purged = Purged()
    answer = purge_action(purged).act(query, "10.0.0.1")
    assert answer.status == 400
    assert error in json.loads(answer.body)["error"]
    assert purged.asked == []


@pytest.mark.parametrize("page", ["/status", "/sample"])
async def test_status_and_sample_are_for_operators(page: str) -> None:
    """They show paths and users."""
    async with fixture() as s, aiohttp.ClientSession() as session:
        assert (await s.get(page))[0] == 200
        async with session.get(f"{s.url}{page}", headers={"Host": "rebound.example"}) as reply:
            assert reply.status == 403


@pytest.mark.parametrize(
    ("query", "number"), [("", MAX_SAMPLE), ("?limit=2", 2), ("?limit=100", 100), ("?filter=ours&limit=1", 1)]
)
async def test_a_sample_is_bounded(query: str, number: int) -> None:
    """The sample covers the whole cache or one filter."""
    async with fixture() as s:
        status, _, text = await s.get(f"/sample{query}")
        assert (status, len(json.loads(text)["paths"])) == (200, number)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("?limit=0", "limit: 0: must be a number from 1 to 100"),
        ("?limit=101", "limit: 101: must be"),
        ("?limit=-1", "limit: -1: must be"),
        ("?limit=two", "limit: two: must be"),
        ("?filter=theirs", "no filter 'theirs' is in force"),
    ],
)
async def test_a_sample_of_nothing_is_refused(query: str, error: str) -> None:
    """The error has the allowed values."""
    async with fixture() as s:
        status, _, text = await s.get(f"/sample{query}")
        assert status == 400
        assert error in json.loads(text)["error"]
