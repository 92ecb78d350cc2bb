"""ZooKeeper's four-letter words: what a server says of itself (ZooKeeper Administrator's Guide 3.8).

They are answered on the client port, by a server that serves; zoo.cfg must allow them.
"""

import re
import socket

from nncache.net.addresses import split_address

ALLOWED = ("srvr", "mntr", "cons", "wchs")
"""What zoo.cfg allows, for people at a terminal too: `echo mntr | nc 127.0.0.1 PORT`."""

_ZXID = re.compile(r"^Zxid: 0x([0-9a-f]+)$", re.MULTILINE)
_COUNTER_BITS = (
    32  # of a zxid; what stands above them is the epoch (org.apache.zookeeper.server.util.ZxidUtils)
)


def ask(address: str, word: str, *, timeout_s: float = 2.0) -> str:
    """Return what the server at "host:port" answers.

    Raises:
        OSError: no answer.
    """
    answer = b""
    with socket.create_connection(split_address(address), timeout=timeout_s) as connection:
        connection.sendall(word.encode())
        while part := connection.recv(65_536):
            answer += part
    return answer.decode()


def transactions(address: str) -> int:
    """Count the write transactions of the server's data, in its present epoch.

    A multi is one, and so are the beginning and the end of a session and a write that was refused.

    Raises:
        OSError: no answer, or not yet a serving one.
    """
    found = _ZXID.search(ask(address, "srvr"))
    if found is None:
        raise ConnectionError(f"{address} does not serve yet")
    return int(found[1], 16) & ((1 << _COUNTER_BITS) - 1)


def monitored(address: str, name: str) -> int:
    """Return one of the figures of `mntr`, such as zk_watch_count.

    Raises:
        OSError: no answer, or not yet a serving one.
    """
    for line in ask(address, "mntr").splitlines():
        key, _, value = line.partition("\t")
        if key == name:
            return int(float(value))
    raise ConnectionError(f"{address} does not serve yet, or has no figure {name}")
