"""Run nncache as a process, from a user's command line."""

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
"""A process that runs during its block."""

NNCACHE = (sys.executable, "-m", "nncache.commands.cli")


def free_address() -> str:
    """Return a loopback address with a port where nothing listens and that no outgoing connection gets."""
    with PortLease() as ports:
        while (port := ports.take()) in _LATELY_GIVEN:
            continue
    _LATELY_GIVEN.append(port)
    return f"127.0.0.1:{port}"


_LATELY_GIVEN: Final = deque[int](maxlen=64)
"""A recent address may not be in use yet, but two addresses of a test must differ."""


@contextmanager
def running(*words: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `nncache WORDS` with its standard error in the log; kill it at the end."""
    with log.open("ab") as lines:
        process = subprocess.Popen([*NNCACHE, *words], stderr=lines, env=os.environ | environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def output(*words: str) -> str:
    """Return the standard output of `nncache WORDS`, which must succeed."""
    ended = subprocess.run([*NNCACHE, *words], capture_output=True, check=False, timeout=60, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def fetched(address: str, target: str, times: int = 1) -> list[tuple[int, str, str]]:
    """Return the status, `Cache-Status` and body of each reply on one connection; nothing if nobody listens."""
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
