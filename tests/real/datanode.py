"""The second step of a write at a DataNode, started and left open."""

import http.client
import json
import socket
from typing import Final
from urllib.parse import quote

from nncache.testbed.asker import RawReply

_TIMEOUT_S: Final = 30.0
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""A DataNode sends this before it opens the file (WebHdfsHandler.onCreate and onAppend, Hadoop 3.5.0)."""

ASCII: Final = "".join(map(chr, range(0x21, 0x7F)))
"""The characters that a URL may contain unescaped, including the percent sign of escapes."""


def led_to(first: RawReply) -> str:
    """Return the URL for a write's second step, from the redirect or the JSON, without normalizing it."""
    if first.status == http.client.TEMPORARY_REDIRECT:
        return first.header("Location")
    return quote(json.loads(first.body)["Location"], safe=ASCII)


def begin(method: str, location: str, length: int) -> tuple[http.client.HTTPConnection, bool]:
    """Send the second step without its content of `length` bytes, to the URL of the first step.

    Return the connection and whether the DataNode waits for the content; otherwise its reply is available.
    """
    address, _, target = location.removeprefix("http://").partition("/")
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=_TIMEOUT_S)
    connection.putrequest(method, "/" + target)
    connection.putheader("Content-Length", str(length))
    connection.endheaders()
    answer = connection.sock.recv(len(CONTINUE), socket.MSG_PEEK | socket.MSG_WAITALL)
    return connection, answer == CONTINUE


def has_replied(connection: http.client.HTTPConnection) -> bool:
    """Return whether the DataNode has sent more than 100 Continue."""
    return len(connection.sock.recv(2 * len(CONTINUE), socket.MSG_PEEK)) > len(CONTINUE)
