"""A daemon's admin port: an index, the pages of every daemon, and the daemon's own pages."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import aiohttp
import pytest

from nncache.admin.access import Access, Token
from nncache.admin.server import Action, AdminServer, Page, PageContent, as_json, daemon_pages
from nncache.admin.status_page import StatusPage
from nncache.errors import StartError
from nncache.net.endpoint import ListenAddress
from tests.patience import HANG_S
from tests.proxy.wire import until


@dataclass(frozen=True, slots=True)
class Awake:
    """A readiness with an invented detail."""

    is_awake: bool
    dream: str = "of /secret, as joe"

    @property
    def is_ready(self) -> bool:
        """Whether the daemon is ready."""
        return self.is_awake

    @property
    def reason(self) -> str:
        """The reason for not being ready."""
        return "" if self.is_awake else "asleep"

    @property
    def state(self) -> str:
        """The reason, too."""
        return self.reason


@dataclass
class Fixture:
    """A daemon whose state the test sets."""

    is_awake: bool = True
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def pages(self) -> tuple[Page, ...]:
        """Return the pages of its admin port."""
        return (
            *daemon_pages(lambda: Awake(self.is_awake), "it is awake", lambda: b"naps_total 1\n"),
            Page("/dreams?of=sheep", "what it <dreams> of", self._dreams),
        )

    def _dreams(self, query: Mapping[str, str]) -> PageContent:
        self.asked.append(dict(query))
        return as_json({"of": query.get("of")})

    async def get(self, path: str) -> tuple[int, str, str]:
        """Return the status, content type and text of a page."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as reply:
            return reply.status, reply.headers["Content-Type"], await reply.text()


@asynccontextmanager
async def fixture() -> AsyncIterator[Fixture]:
    """Start a server on a free port."""
    made = Fixture()
    server = AdminServer(ListenAddress("127.0.0.1", 0), made.pages(), lambda: "a <state>", title="sleeper")
    async with server:
        made.url = f"http://{server.address}"
        yield made


async def test_every_address_is_that_of_both_families() -> None:
    """`[::]` serves IPv4, too, and clients on this host are recognized as local in both families."""
    server = AdminServer(ListenAddress("::", 0), Fixture().pages(), lambda: "a <state>")
    async with server, aiohttp.ClientSession() as session:
        for host in ("127.0.0.1", "[::1]"):
            async with session.get(f"http://{host}:{server.address.port}/") as reply:
                assert (reply.status, "a &lt;state&gt;" in await reply.text()) == (200, True)


async def test_no_page_names_a_library_or_its_version() -> None:
    """This includes a 404 and the reply to a malformed request."""
    async with fixture() as daemon, aiohttp.ClientSession() as session:
        for path in ("/health", "/", "/nothing"):
            async with session.get(daemon.url + path) as reply:
                assert reply.headers["Server"] == "nncache"
        reader, writer = await asyncio.open_connection(*daemon.url.removeprefix("http://").split(":"))
        writer.write(b"no request\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.0 400 ")
        assert b"\r\nServer: nncache\r\n" in head


async def test_health_says_that_the_process_lives() -> None:
    """It is alive even if it is not ready, since a restart would not help."""
    async with fixture() as s:
        s.is_awake = False
        status, kind, text = await s.get("/health")
        assert (status, json.loads(text)) == (200, {"alive": True})
        assert kind == "application/json"


@pytest.mark.parametrize(("is_awake", "status"), [(True, 200), (False, 503)])
async def test_ready_shows_all_that_readiness_says(is_awake: bool, status: int) -> None:
    """The status is for load balancers, the fields are for people."""
    async with fixture() as s:
        s.is_awake = is_awake
        answered, _, text = await s.get("/ready")
        summary = {"ready": is_awake, "reason": "" if is_awake else "asleep"}
        shown = summary | {"is_awake": is_awake, "dream": "of /secret, as joe"}
        assert (answered, json.loads(text)) == (status, shown)


async def test_metrics_are_what_the_renderer_says() -> None:
    """/metrics has the Prometheus text format."""
    async with fixture() as s:
        assert await s.get("/metrics") == (
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            "naps_total 1\n",
        )


async def test_a_page_of_a_daemons_own_gets_the_query() -> None:
    """It is served at the link's path, with any query or none."""
    async with fixture() as s:
        assert json.loads((await s.get("/dreams?of=a%2Fb"))[2]) == {"of": "a/b"}
        assert json.loads((await s.get("/dreams"))[2]) == {"of": None}
        assert s.asked == [{"of": "a/b"}, {}]


async def test_the_index_leads_to_every_page() -> None:
    """It also shows the daemon and its state, escaped."""
    async with fixture() as s:
        status, kind, text = await s.get("/")
        assert status == 200
        assert kind.startswith("text/html")
        assert "<h1>sleeper</h1>" in text
        assert "a &lt;state&gt;" in text
        assert "what it &lt;dreams&gt; of" in text
        for link in ("/health", "/ready", "/metrics", "/dreams?of=sheep"):
            assert f'href="{link[1:]}"' in text
            assert (await s.get(link))[0] == 200


async def test_there_are_no_other_pages() -> None:
    """No page can change anything."""
    async with fixture() as s:
        assert (await s.get("/dream"))[0] == 404
        async with aiohttp.ClientSession() as session, session.post(s.url + "/ready") as reply:
            assert reply.status == 405


async def test_silent_connections_are_bounded_and_take_no_files() -> None:
    """Connections beyond the limit are closed and counted. A page is served again when one has left."""
    made = Fixture()
    server = AdminServer(ListenAddress("127.0.0.1", 0), made.pages(), lambda: "", max_connections=8)
    async with server, contextlib.AsyncExitStack() as stack:
        silent = []
        for _ in range(8):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.address.port)
            stack.callback(writer.close)
            silent.append((reader, writer))
        async with asyncio.timeout(HANG_S):
            for reader, _ in silent[4:]:  # half of the places are for other hosts
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""
        assert (server.stats().connections_open, server.stats().connections_refused) == (4, 4)
        silent[0][1].close()
        await until(lambda: server.stats().connections_open < 4)
        made.url = f"http://{server.address}"
        assert (await made.get("/health"))[0] == 200


async def test_pages_for_operators_are_refused_to_others() -> None:
    """Probes may read the other pages."""
    token = "0123456789abcdef"
    made = Fixture()
    pages = [replace(page, is_for_operators="dreams" in page.link) for page in made.pages()]
    where = ListenAddress("127.0.0.1", 0)
    called: list[tuple[str, str, str, int]] = []

    def note(*call: str | int) -> None:
        called.append(cast("tuple[str, str, str, int]", call))

    access = Access("127.0.0.1", [Token(token, "joe")])
    async with AdminServer(where, pages, lambda: "", access=access) as server:
        server.page_called = note
        url = f"http://{server.address}"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{url}/dreams") as reply:
                assert reply.status == 401
                schemes = [each.split()[0] for each in reply.headers.getall("WWW-Authenticate")]
                assert schemes == ["Bearer", "Basic"], "a browser asks for a password"
                assert "admin_token_file" in (await reply.json())["error"]
            for page in ("/", "/health", "/ready", "/metrics"):
                async with session.get(url + page) as reply:
                    assert reply.status == 200
            async with session.get(
                f"{url}/dreams?of=1", headers={"Authorization": f"Bearer {token}"}
            ) as reply:
                assert reply.status == 200
        assert server.stats().pages_refused == 1
        assert called == [("127.0.0.1", "", "/dreams", 401), ("127.0.0.1", "joe", "/dreams?of=1", 200)]
    async with AdminServer(where, pages, lambda: "") as server, aiohttp.ClientSession() as session:
        url = f"http://{server.address}/dreams"
        for name, value in (
            ("Host", "rebound.example"),
            ("X-Forwarded-For", "127.0.0.1"),
            ("Forwarded", "for=127.0.0.1"),
            ("X-Real-IP", "127.0.0.1"),
        ):
            async with session.get(url, headers={name: value}) as reply:
                assert reply.status == 403, "passed on by a program of this host, for another"
        async with session.get(url) as reply:
            assert reply.status == 200


async def test_details_of_a_failure_are_shown_to_operators_alone() -> None:
    """A remote exception may name a path, a user or an address. Others get only a status and a reason."""
    token = {"Authorization": "Bearer 0123456789abcdef"}
    made = Fixture(is_awake=False)
    access = Access("127.0.0.1", [Token("0123456789abcdef")])
    where = ListenAddress("127.0.0.1", 0)
    async with (
        AdminServer(where, made.pages(), lambda: "of /secret, as joe", access=access) as server,
        aiohttp.ClientSession() as session,
    ):
        url = f"http://{server.address}"
        async with session.get(f"{url}/ready") as reply:
            assert (reply.status, await reply.json()) == (503, {"ready": False, "reason": "asleep"})
        async with session.get(f"{url}/ready", headers=token) as reply:
            assert (reply.status, (await reply.json())["dream"]) == (503, "of /secret, as joe")
        async with session.get(f"{url}/") as reply:
            assert reply.status == 200
            assert "/secret" not in await reply.text()
        async with session.get(f"{url}/", headers=token) as reply:
            assert "of /secret, as joe" in await reply.text()
        assert server.stats().pages_refused == 0


async def test_a_taken_port_is_an_error_at_the_start() -> None:
    """The second daemon on an admin port does not start, and leaves nothing open."""
    async with fixture() as s:
        port = int(s.url.rpartition(":")[2])
        with pytest.raises(StartError, match=r"^admin: .*address already in use"):
            await AdminServer(ListenAddress("127.0.0.1", port), s.pages(), lambda: "").__aenter__()


async def test_what_changes_something_takes_a_post_of_an_operator() -> None:
    """Links, images and forms of other sites change nothing."""
    done: list[tuple[dict[str, str], str]] = []

    def act(query: Mapping[str, str], peer: str) -> PageContent:
        done.append((dict(query), peer))
        return as_json({"done": True}, status=202)

    server = AdminServer(ListenAddress("127.0.0.1", 0), (Action("/wake", act),), lambda: "")
    async with server, aiohttp.ClientSession() as session:
        url = f"http://{server.address}/wake?who=joe"
        for method in ("GET", "HEAD", "PUT"):
            async with session.request(method, url) as reply:
                assert (reply.status, reply.headers["Allow"]) == (405, "POST")
        for headers in ({"Origin": "http://attacker.example"}, {"Host": "attacker.example"}):
            async with session.post(url, headers=headers) as reply:
                assert reply.status == 403
        assert done == []
        async with session.post(url, headers={"Origin": f"http://{server.address}"}) as reply:
            assert (reply.status, await reply.json()) == (202, {"done": True})
        assert done == [({"who": "joe"}, "127.0.0.1")]
        assert server.stats().pages_refused == 2


async def test_a_readers_token_changes_nothing() -> None:
    """The name of an operator's token is passed to the action and to the audit log."""
    done: list[str] = []
    called: list[tuple[str, str, str, int]] = []

    def act(_: Mapping[str, str], peer: str) -> PageContent:
        done.append(peer)
        return as_json({"done": True})

    access = Access(
        "h", [Token("0123456789abcdef", "ann", may_change=False), Token("fedcba9876543210", "joe")]
    )
    pages = (Action("/wake", act), Page("/dreams", "dreams", lambda _: as_json({}), is_for_operators=True))
    server = AdminServer(ListenAddress("127.0.0.1", 0), pages, lambda: "", access=access)
    server.page_called = lambda *call: called.append(call)
    async with server, aiohttp.ClientSession() as session:
        url = f"http://{server.address}"
        ann, joe = (
            {"Authorization": f"Bearer {token}"} for token in ("0123456789abcdef", "fedcba9876543210")
        )
        async with session.get(f"{url}/dreams", headers=ann) as reply:
            assert reply.status == 200
        async with session.post(f"{url}/wake", headers=ann) as reply:
            assert (reply.status, done) == (403, [])
        async with session.post(f"{url}/wake", headers=joe) as reply:
            assert (reply.status, done) == (200, ["joe at 127.0.0.1"])
    assert called == [
        ("127.0.0.1", "ann", "/dreams", 200),
        ("127.0.0.1", "", "/wake", 403),
        ("127.0.0.1", "joe", "/wake", 200),
    ]


async def test_operators_have_the_status_page_for_an_index() -> None:
    """It has the state as text and links to all pages. Others get the plain index without the state."""
    fixture = Fixture()
    server = AdminServer(
        ListenAddress("127.0.0.1", 0),
        fixture.pages(),
        lambda: "it <dreams>",
        status_page=StatusPage("proxy.html"),
    )
    async with server, aiohttp.ClientSession() as session:
        async with session.get(f"http://{server.address}/") as reply:
            text = await reply.text()
            assert "<p>it &lt;dreams&gt;</p>" in text
            assert '<a href="dreams?of=sheep">/dreams?of=sheep</a>' in text
            assert "script-src 'sha256-" in reply.headers["Content-Security-Policy"]
            assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
            assert reply.headers["Cache-Control"] == "no-store"
        async with session.get(f"http://{server.address}/", headers={"Host": "rebound.example"}) as reply:
            text = await reply.text()
            assert "dreams&gt;</p>" not in text
            assert "<script>" not in text
            assert '<a href="dreams?of=sheep">/dreams?of=sheep</a>' in text
