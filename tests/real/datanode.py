"""The second step of a write at a DataNode, begun and left open."""

import http.client
import json
import socket
from typing import Final
from urllib.parse import quote

from nncache.testbed.asker import RawReply

_TIMEOUT_S: Final = 30.0
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""A DataNode says so before it opens the file (WebHdfsHandler.onCreate and onAppend, Hadoop 3.5.0)."""

ASCII: Final = "".join(map(chr, range(0x21, 0x7F)))
"""What a URL may hold unescaped, and the percent sign of what is escaped."""


def led_to(first: RawReply) -> str:
    """Return the URL to which the first step of a write leads: of its redirect, or of its JSON, in the form it has."""
    if first.status == http.client.TEMPORARY_REDIRECT:
        return first.header("Location")
    return quote(json.loads(first.body)["Location"], safe=ASCII)


def begin(method: str, location: str, length: int) -> tuple[http.client.HTTPConnection, bool]:
    """Send all but the content, of so many bytes, to where the first step's redirect leads.

    Return the connection and whether the DataNode waits for the content; if not, its reply is there.
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
    """Tell whether more has come than that it waits for the content."""
    return len(connection.sock.recv(2 * len(CONTINUE), socket.MSG_PEEK)) > len(CONTINUE)
