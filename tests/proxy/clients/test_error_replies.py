"""Every error of the proxy becomes a reply that a WebHDFS client can parse."""

from collections.abc import Iterator

import pytest

from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse, error_reply, raw_error_reply, remote_exception
from nncache.proxy.errors import ProxyError, UpstreamError
from tests.proxy.wire import GET, RawClient, serving


def errors_of(root: type[ProxyError]) -> Iterator[type[ProxyError]]:
    """Yield the error class and all its subclasses."""
    yield root
    for child in root.__subclasses__():
        yield from errors_of(child)


ALL = tuple(errors_of(ProxyError))


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
async def test_an_error_is_a_remote_exception(kind: type[ProxyError]) -> None:
    """The reply has the error's status and reason phrase, and the same bytes with or without a request."""
    error = kind('odd "text" \u00e9 \udcff')

    async def handler(_: Request) -> RawResponse:
        return error_reply(error, ((b"Cache-Status", b"nncache"),))

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET)
        reply = await client.reply()
    assert reply.line == f"HTTP/1.1 {kind.status} {kind.reason}".encode()
    assert reply.all(b"Content-Type") == [b"application/json"]
    assert reply.all(b"Cache-Status") == [b"nncache"]
    assert bool(reply.all(b"Connection")) == kind.closes
    assert bool(reply.all(b"Retry-After")) == (kind.status in {429, 503, 504}), (
        "a client is told when to come again"
    )
    remote = parse_remote_exception(reply.body)
    assert remote is not None
    assert remote.java_class_name == kind.java_class
    assert remote.exception == kind.java_class.rpartition(".")[2]
    assert remote.message.startswith('nncache: odd "text" \u00e9')
    raw = raw_error_reply(error)
    assert raw.startswith(reply.line)
    assert raw.endswith(b"Connection: close\r\n\r\n" + reply.body)


@pytest.mark.parametrize("kind", tuple(errors_of(UpstreamError)), ids=lambda kind: kind.__name__)
def test_what_may_have_had_its_effect_is_not_called_retriable(kind: type[ProxyError]) -> None:
    """Hadoop's client retries by itself on a RetriableException."""
    assert issubclass(kind, UpstreamError)
    remote = parse_remote_exception(remote_exception(kind("x")))
    assert remote is not None
    assert not (kind.outcome_unknown and remote.verdict is Verdict.RETRIABLE)
