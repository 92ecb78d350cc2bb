"""CORS adds fields for pages of the configured origins, and changes nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.cache.replies import StoredReply
from nncache.cache.store import CacheStore
from nncache.cors.cross_origin import CrossOrigin
from nncache.cors.settings import CorsSettings
from nncache.net.setting_error import SettingError
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import NotServedError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.traffic import Result, Traffic
from tests.proxy.kept_hits import good, kept_hit
from tests.proxy.wire import RawClient, RawReply, serving

ORIGIN = "https://ui.example.com"
OTHER = "https://else.example.com"
PREFLIGHT = "Access-Control-Request-Method: GET"


class Site:
    """A server behind CORS that answers with the names of the fields; it can stream, fail, and remember heads."""

    def __init__(self) -> None:
        store = CacheStore(max_bytes=1 << 20, max_items=1_000)
        self._store = store
        self.fast_path = FastPath(good, store, lambda: 3.0, LimitSettings())
        self.traffic = Traffic(lambda: 3.0)
        settings = CorsSettings(cors_origins=(ORIGIN, "http://localhost:3000"))
        self._cors = CrossOrigin(settings, self.traffic, self._handle)

    async def _handle(self, request: Request) -> RawResponse:
        if "fails" in request.target:
            raise NotServedError("not here")
        if request.whole is not None and request.method == "GET":
            hit = kept_hit(self._store, "/x", StoredReply(status=200, headers=(), body=b""), replied_at=1.0)
            self.fast_path.remember(request.whole, hit, b"kept")
        body = b",".join(name for name, _ in request.fields)
        if "streams" not in request.target:
            return RawResponse(200, "OK", (), body=body)
        response = RawResponse(200, "OK", ())
        response.prepare(request)
        await response.write(body)
        return response

    @asynccontextmanager
    async def client(self) -> AsyncIterator[RawClient]:
        """Run the server and connect a client."""
        async with (
            serving(self._cors.handle, fast_path=self.fast_path) as server,
            RawClient.connected(server.port) as client,
        ):
            yield client


async def asked(client: RawClient, *fields: str, target: str = "/x", method: str = "GET") -> RawReply:
    """Return the reply to a request with these fields."""
    lines = (f"{method} /webhdfs/v1{target}?op=GETFILESTATUS HTTP/1.1", "Host: h", *fields)
    client.send("".join(f"{line}\r\n" for line in (*lines, "")).encode())
    return await client.reply(method)


def of_cors(reply: RawReply) -> dict[str, str]:
    """Return the fields that a browser checks."""
    names = {name for name, _ in reply.fields if name.startswith(b"Access-Control") or name == b"Vary"}
    return {name.decode(): reply[name.decode()] for name in names}


READABLE = {
    "Access-Control-Allow-Origin": ORIGIN,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": "Age, Cache-Status, ETag, Preference-Applied, Retry-After",
    "Vary": "Origin",
}


@pytest.mark.parametrize("target", ["/x", "/streams", "/fails"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_page_of_a_named_origin_may_read(target: str, method: str) -> None:
    """This holds for whole and streamed replies and for errors. Origin is not passed on to the NameNode."""
    async with Site().client() as client:
        reply = await asked(client, f"Origin: {ORIGIN}", target=target, method=method)
        assert of_cors(reply) == READABLE
        assert reply.status == (501 if "fails" in target else 200)
        if method == "GET" and "fails" not in target:
            assert reply.body == b"Host"


async def test_no_answer_carries_the_fields_of_another() -> None:
    """Requests without an origin get the cached answer; a page's request is handled each time."""
    async with Site().client() as client:
        for _ in range(2):
            assert of_cors(await asked(client, f"Origin: {ORIGIN}")) == READABLE
            other = await asked(client, "Origin: http://localhost:3000")
            assert other["Access-Control-Allow-Origin"] == "http://localhost:3000"
            assert other.body == b"Host"
        first, again = await asked(client), await asked(client)
        assert (first.body, again.body) == (b"Host", b"kept")
        assert of_cors(first) == of_cors(again) == {}
        assert of_cors(await asked(client, f"Origin: {ORIGIN}")) == READABLE


@pytest.mark.parametrize(
    "fields",
    [
        (f"Origin: {OTHER}",),
        ("Origin: null",),
        (f"Origin: {ORIGIN}.evil.example",),
        (f"Origin: {ORIGIN}", f"Origin: {ORIGIN}"),
        (f"Origin: {OTHER}", f"Origin: {ORIGIN}"),
        ("Origin: https://UI.example.com",),
    ],
)
async def test_for_other_origins_nothing_changes(fields: tuple[str, ...]) -> None:
    """Their requests are passed on unchanged, preflights included: the NameNode decides what it allows."""
    async with Site().client() as client:
        for more in ((), (PREFLIGHT,)):
            for method in ("GET", "OPTIONS"):
                reply = await asked(client, *fields, *more, method=method)
                assert of_cors(reply) == {}
                assert reply.body.startswith(b"Host,Origin")


async def test_a_write_goes_on_as_it_is() -> None:
    """Pages may only read."""
    async with Site().client() as client:
        for method in ("PUT", "POST", "DELETE", "OPTIONS"):
            reply = await asked(client, f"Origin: {ORIGIN}", method=method)
            assert of_cors(reply) == {}
            assert reply.body == b"Host,Origin"


async def test_a_preflight_of_a_named_origin_is_answered_here() -> None:
    """Fetch, section 3.2.4. It is counted as a preflight."""
    site = Site()
    async with site.client() as client:
        reply = await asked(client, f"Origin: {ORIGIN}", PREFLIGHT, method="OPTIONS", target="/fails")
        assert "Date" in reply
        assert (reply.status, of_cors(reply)) == (
            204,
            {
                "Access-Control-Allow-Origin": ORIGIN,
                "Access-Control-Allow-Credentials": "true",
                "Access-Control-Allow-Methods": "GET, HEAD",
                "Access-Control-Allow-Headers": "Accept, Authorization, Cache-Control, Content-Type, "
                "If-None-Match, Last-Event-ID, Prefer, X-Request-Id, X-Requested-With",
                "Access-Control-Max-Age": "1800",
                "Vary": "Origin",
            },
        )
    assert site.traffic.stats().of(Result.PREFLIGHT) == 1


@pytest.mark.parametrize(
    "origin",
    [
        *("*", "null", "ui.example.com", f"{ORIGIN}/", "https://UI.example.com", ""),
        *(f"{ORIGIN}:443", "http://[::1]:80", f"{ORIGIN}:0444"),
    ],
)
def test_what_no_browser_sends_is_refused(origin: str) -> None:
    """It would never match; `*` would open the cluster to every page."""
    with pytest.raises(SettingError, match="must be an origin as browsers send it"):
        CorsSettings(cors_origins=(origin,))
