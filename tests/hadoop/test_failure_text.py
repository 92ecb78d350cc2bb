"""Why a call got no answer, in the words of the operating system."""

import errno
import socket

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from nncache.hadoop.failure_text import failure_text


def connector_error(host: str, error: OSError) -> aiohttp.ClientConnectorError:
    """Return what aiohttp raises where it cannot connect."""
    key = ConnectionKey(
        host=host, port=9870, is_ssl=False, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None
    )
    return aiohttp.ClientConnectorError(key, error)


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (
            connector_error(
                "nn", ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('::1', 9870)")
            ),
            "cannot connect to nn:9870: Connection refused",
        ),
        (
            connector_error("::1", OSError(errno.ENETUNREACH, "x")),
            "cannot connect to [::1]:9870: Network is unreachable",
        ),
        (
            connector_error("none", socket.gaierror(socket.EAI_NONAME, "Name or service not known")),
            "cannot connect to none:9870: Name or service not known",
        ),
        (connector_error("nn", OSError("odd")), "cannot connect to nn:9870: odd"),
        (TimeoutError(), "no answer in time"),
        (TimeoutError("slow"), "slow"),
        (aiohttp.ServerDisconnectedError(), "Server disconnected"),
        (ValueError(), "ValueError"),
    ],
)
def test_the_reason_is_told_without_noise(failure: Exception, text: str) -> None:
    """There is no TLS, so no "ssl:default"."""
    assert failure_text(failure) == text


async def test_a_refused_connection_says_so() -> None:
    """As aiohttp really raises it."""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await session.get("http://127.0.0.1:1/")
    assert failure_text(caught.value) == "cannot connect to 127.0.0.1:1: Connection refused"
