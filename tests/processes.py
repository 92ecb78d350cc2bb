"""nncache as a process, typed as a user would type it."""

import http.client
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from nncache.testbed.ports import PortLease
from tests.patience import HANG_S

Running: TypeAlias = AbstractContextManager[subprocess.Popen[bytes]]
"""A process for as long as it is entered."""

NNCACHE = (sys.executable, "-m", "nncache.commands.cli")


def free_address() -> str:
    """Return an address that nothing listens on; no outgoing connection is given its port, either."""
    with PortLease() as ports:
        while (port := ports.take()) in _LATELY_GIVEN:
            continue
    _LATELY_GIVEN.append(port)
    return f"127.0.0.1:{port}"


_LATELY_GIVEN: Final = deque[int](maxlen=64)
"""Nothing listens there yet, perhaps: two addresses of one test must differ."""


@contextmanager
def running(*words: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `nncache WORDS`, what it says in the log; it is killed at the end if it still runs."""
    with log.open("ab") as lines:
        process = subprocess.Popen([*NNCACHE, *words], stderr=lines, env=os.environ | environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def output(*words: str) -> str:
    """Return what `nncache WORDS` prints; it must end well."""
    ended = subprocess.run([*NNCACHE, *words], capture_output=True, check=False, timeout=60, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def fetched(address: str, target: str, times: int = 1) -> list[tuple[int, str, str]]:
    """Return status, `Cache-Status` and body of each answer on one connection; nothing when nobody is there."""
    connection = http.client.HTTPConnection(address, timeout=HANG_S)
    replies = []
    try:
        for _ in range(times):
            connection.request("GET", target)
            reply = connection.getresponse()
            replies.append((reply.status, reply.headers.get("Cache-Status", ""), reply.read().decode()))
    except OSError:
        return []
    finally:
        connection.close()
    return replies
