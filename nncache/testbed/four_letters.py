"""ZooKeeper's four-letter words: what a server says of itself (ZooKeeper Administrator's Guide 3.8).

They are answered on the client port, by a server that serves; zoo.cfg must allow them.
"""

import socket

from nncache.net.addresses import split_address

ALLOWED = ("srvr", "mntr", "cons", "wchs")
"""What zoo.cfg allows, for people at a terminal too: `echo mntr | nc 127.0.0.1 PORT`."""


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
