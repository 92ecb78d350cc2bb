"""Several namespaces behind one server: the mount table alone selects a request's namespace, on every path."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from nncache.federation.mounted import MountedCalls, MountedFrontEnd, MountedHeads, MountedNamespace
from nncache.hadoop.mounts import MountTable
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.direct_calls import DirectCall
from nncache.proxy.traffic import Exchange, Result, Traffic
from tests.proxy.doubles import request_of

MOUNTS = MountTable({"/a": "one", "/b": "two"})


@dataclass
class Namespace:
    """A namespace that answers with its name; it knows every head, and forwards every call."""

    name: str
    heads: list[bytes] = field(default_factory=list)
    is_sampled: bool = False
    ends_connection: bool = False
    observed: list[bytes] = field(default_factory=list)
    begun: list[Request] = field(default_factory=list)
    knows: bool = True
    requests: int = 1
    under_way: int = 2
    errors: int = 3

    async def handle(self, request: Request) -> RawResponse:
        """Answer with its name and the request's path."""
        return RawResponse(200, "OK", (), body=f"{self.name} {request.target.partition('?')[0]}".encode())

    def answer(self, head: bytes) -> bytes | None:
        """Answer any head."""
        self.heads.append(head)
        return self.name.encode() if self.knows else None

    def observe(self, head: bytes, _peer: str) -> None:
        """Record the head."""
        self.observed.append(head)

    def begin(self, request: Request) -> DirectCall:
        """Begin any call."""
        self.begun.append(request)
        return cast("DirectCall", self.name)


@dataclass
class Fixture:
    """Two namespaces."""

    one: Namespace = field(default_factory=lambda: Namespace("one"))
    two: Namespace = field(default_factory=lambda: Namespace("two"))
    seen: list[Exchange] = field(default_factory=list)

    @property
    def members(self) -> dict[str, MountedNamespace]:
        """Return the members of both namespaces."""
        return {
            each.name: MountedNamespace(handle=each.handle, known=each, direct=each)
            for each in (self.one, self.two)
        }

    def answered(self, exchange: Exchange) -> None:
        """Record the exchange."""
        self.seen.append(exchange)


def head(path: str, method: str = "GET") -> bytes:
    """Return the head of a request."""
    return f"{method} /webhdfs/v1{path}?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n\r\n".encode()


def request(path: str) -> Request:
    """Return a request."""
    return request_of(f"/webhdfs/v1{path}?op=GETFILESTATUS", (b"X-Request-Id", b"7b"))


async def body_of(front_end: MountedFrontEnd, path: str) -> tuple[int, bytes]:
    """Return status and body."""
    response = await front_end.handle(request(path))
    assert response is not None
    return response.status, cast("Any", response)._whole  # noqa: SLF001 - it is sent by a connection only


async def test_a_request_goes_to_the_front_end_of_its_namespace() -> None:
    """A request outside all namespaces gets ViewFs's error, is counted, and reaches the observers."""
    fixture = Fixture()
    traffic = Traffic(lambda: 1.0)
    traffic.observers = (fixture.answered,)
    front_end = MountedFrontEnd(MOUNTS, fixture.members, traffic)
    assert await body_of(front_end, "/a/x") == (200, b"one /webhdfs/v1/a/x")
    assert await body_of(front_end, "/b") == (200, b"two /webhdfs/v1/b")
    assert not fixture.seen
    status, body = await body_of(front_end, "/c")
    assert (status, b"FileNotFoundException" in body) == (404, True)
    status, body = await body_of(front_end, "/")
    assert (status, b"org.apache.hadoop.security.AccessControlException" in body) == (403, True)
    assert traffic.stats().of(Result.REFUSED) == 2
    assert [(each.status, each.request_id, each.result) for each in fixture.seen] == [
        (404, "7b", Result.REFUSED),
        (403, "7b", Result.REFUSED),
    ]


def test_only_the_namespace_of_a_head_may_answer_it() -> None:
    """This holds even if another one could: no entry of a namespace answers for another's path (ProvenGrant)."""
    fixture = Fixture()
    heads = MountedHeads(MOUNTS, fixture.members)
    assert [heads.answer(head(path)) for path in ("/a/x", "/b/x", "/c", "/a%2Fx")] == [
        b"one",
        b"two",
        None,
        b"one",
    ]
    assert fixture.one.heads == [head("/a/x"), head("/a%2Fx")]
    assert fixture.two.heads == [head("/b/x")]
    fixture.one.knows = False
    assert heads.answer(head("/a/x")) is None


def test_what_is_sampled_is_shown_by_the_one_that_answered() -> None:
    """Only that namespace has the answer, and knows whether the connection ends after it."""
    fixture = Fixture()
    heads = MountedHeads(MOUNTS, fixture.members)
    before = (heads.is_sampled, heads.ends_connection)
    heads.answer(head("/b/x"))
    fixture.two.is_sampled = fixture.two.ends_connection = True
    assert (before, heads.is_sampled, heads.ends_connection) == ((False, False), True, True)
    heads.observe(head("/b/x"), "peer")
    assert heads.answer(head("/a/x")) == b"one"
    assert not heads.ends_connection
    heads.observe(head("/a/x"), "peer")
    assert (fixture.one.observed, fixture.two.observed) == ([head("/a/x")], [head("/b/x")])


def test_a_request_is_begun_by_its_namespace() -> None:
    """A request without a certain namespace takes the ordinary path; figures are sums over the namespaces."""
    fixture = Fixture()
    calls = MountedCalls(MOUNTS, fixture.members)
    asked = [request(path) for path in ("/a", "/b/x", "/c", "/a/%2e%2e/b")]
    begun: list[object] = [calls.begin(each) for each in asked]
    assert begun == ["one", "two", None, None]
    assert (fixture.one.begun, fixture.two.begun) == (asked[:1], asked[1:2])
    assert (calls.requests, calls.under_way, calls.errors) == (2, 4, 6)


@pytest.mark.parametrize("path", ["/a/../b", "/a/%2e%2e/b"])
def test_an_ambiguous_head_takes_the_ordinary_path(path: str) -> None:
    """No table of known heads is consulted."""
    assert MountedHeads(MOUNTS, Fixture().members).answer(head(path)) is None


def test_where_the_proxy_authenticates_nothing_is_begun_without_a_task() -> None:
    """The namespace's ordinary handler serves the request."""
    fixture = Fixture()
    members = {
        **fixture.members,
        "one": MountedNamespace(handle=fixture.one.handle, known=fixture.one, direct=None),
    }
    calls = MountedCalls(MOUNTS, members)
    begun: list[object] = [calls.begin(request(path)) for path in ("/a", "/b")]
    assert begun == [None, "two"]
