"""A daemon's admin port: an index, the pages that every daemon has, and its own."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from hadoop.endpoint import Endpoint
from nncache.admin.server import AdminServer, Answer, Page, as_json, daemon_pages


@dataclass(frozen=True, slots=True)
class Awake:
    """Whether a daemon is awake."""

    is_awake: bool

    @property
    def is_ready(self) -> bool:
        """Whether it does its work."""
        return self.is_awake


@dataclass
class Scene:
    """A daemon as the test sets it."""

    is_awake: bool = True
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def pages(self) -> tuple[Page, ...]:
        """Return what its admin port shows."""
        return (
            *daemon_pages(lambda: Awake(self.is_awake), "it is awake", lambda: b"naps_total 1\n"),
            Page("/dreams?of=sheep", "what it <dreams> of", self._dreams),
        )

    def _dreams(self, query: Mapping[str, str]) -> Answer:
        self.asked.append(dict(query))
        return as_json({"of": query.get("of")})

    async def get(self, path: str) -> tuple[int, str, str]:
        """Return status, content type and text of a page."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as reply:
            return reply.status, reply.headers["Content-Type"], await reply.text()


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    """Start a server on a port of its own."""
    made = Scene()
    server = AdminServer(Endpoint("127.0.0.1", 0), made.pages(), lambda: "a <state>", title="sleeper")
    async with server:
        made.url = f"http://{server.address}"
        yield made


async def test_health_says_that_the_process_lives() -> None:
    """Whatever else is wrong: a restart would not help."""
    async with scene() as s:
        s.is_awake = False
        status, kind, text = await s.get("/health")
        assert (status, json.loads(text)) == (200, {"alive": True})
        assert kind == "application/json"


@pytest.mark.parametrize(("is_awake", "status"), [(True, 200), (False, 503)])
async def test_ready_shows_all_that_readiness_says(is_awake: bool, status: int) -> None:
    """Status for a load balancer, fields for people."""
    async with scene() as s:
        s.is_awake = is_awake
        answered, _, text = await s.get("/ready")
        assert (answered, json.loads(text)) == (status, {"ready": is_awake, "is_awake": is_awake})


async def test_metrics_are_what_the_renderer_says() -> None:
    """In the Prometheus text format."""
    async with scene() as s:
        assert await s.get("/metrics") == (
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            "naps_total 1\n",
        )


async def test_a_page_of_a_daemons_own_gets_the_query() -> None:
    """It is at the link's path, with or without a query."""
    async with scene() as s:
        assert json.loads((await s.get("/dreams?of=a%2Fb"))[2]) == {"of": "a/b"}
        assert json.loads((await s.get("/dreams"))[2]) == {"of": None}
        assert s.asked == [{"of": "a/b"}, {}]


async def test_the_index_leads_to_every_page() -> None:
    """And says, escaped, who it is and in what state."""
    async with scene() as s:
        status, kind, text = await s.get("/")
        assert status == 200
        assert kind.startswith("text/html")
        assert "<h1>sleeper</h1>" in text
        assert "a &lt;state&gt;" in text
        assert "what it &lt;dreams&gt; of" in text
        for link in ("/health", "/ready", "/metrics", "/dreams?of=sheep"):
            assert f'href="{link}"' in text
            assert (await s.get(link))[0] == 200


async def test_there_are_no_other_pages() -> None:
    """And nothing can be changed here."""
    async with scene() as s:
        assert (await s.get("/dream"))[0] == 404
        async with aiohttp.ClientSession() as session, session.post(s.url + "/ready") as reply:
            assert reply.status == 405


async def test_a_taken_port_is_an_error_at_the_start() -> None:
    """Two daemons with one admin port: the second one does not start, and leaves nothing behind."""
    async with scene() as s:
        port = int(s.url.rpartition(":")[2])
        with pytest.raises(OSError, match="address already in use"):
            await AdminServer(Endpoint("127.0.0.1", port), s.pages(), lambda: "").__aenter__()
