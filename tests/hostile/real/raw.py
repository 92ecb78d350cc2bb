"""Ask with raw targets, on a connection that is opened again when it ends."""

from typing import Final

from nncache.proxy.messages import Headers
from tests.http_client import HttpClient, Reply

_TRIES: Final = 3


class RawAsker(HttpClient):
    """Sends targets as they stand."""

    async def ask(self, method: str, target: bytes, fields: Headers = ()) -> Reply:
        """Send one request and return the reply; a connection that the server has closed meanwhile is no reply.

        Raises:
            OSError, EOFError: no reply came, on any of several connections.
        """
        lines = b"".join(b"%b: %b\r\n" % field for field in fields)
        if method != "GET":
            lines += b"Content-Length: 0\r\n"
        for left in reversed(range(_TRIES)):
            try:
                return await self.exchange(
                    b"%b %b HTTP/1.1\r\nHost: nn\r\n%b\r\n" % (method.encode(), target, lines)
                )
            except (OSError, EOFError):
                if not left:
                    raise
        raise AssertionError("unreachable")
