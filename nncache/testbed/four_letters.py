"""ZooKeeper's four-letter words, which report a server's state (ZooKeeper Administrator's Guide 3.8).

A server that serves clients answers them on the client port, if zoo.cfg allows them.
"""

import socket

from nncache.net.addresses import split_address

ALLOWED = ("srvr", "mntr", "cons", "wchs")
"""The words that zoo.cfg allows, also for use at a terminal: `echo mntr | nc 127.0.0.1 PORT`."""


def ask(address: str, word: str, *, timeout_s: float = 2.0) -> str:
    """Return the answer of the server at "host:port" to a four-letter word.

    Raises:
        OSError: the server does not answer.
    """
    answer = b""
    with socket.create_connection(split_address(address), timeout=timeout_s) as connection:
        connection.sendall(word.encode())
        while part := connection.recv(65_536):
            answer += part
    return answer.decode()
