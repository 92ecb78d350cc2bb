"""What can go wrong on the proxy's machine and at the NameNode, for a while.

Memory is bounded by RLIMIT_DATA of the running proxy: a control group would be the machine's, not ours. It is the
harder test: an allocation fails where it is made, while a control group ends the process.
"""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tests.overload.memory_bound import TOLERANCE, bound_bytes
from tests.overload.proc import status_bytes
from tests.overload.stand import Stand

_SPARE_FILES: Final = 4
_RPC_DELAY_S: Final = 0.55
_CUT_EVERY_S: Final = 1.0
_CUT_S: Final = 0.3


@contextmanager
def namenode_hangs(stand: Stand) -> Iterator[None]:
    """Stop the NameNode's process (SIGSTOP)."""
    namenode = stand.cluster.namenodes[0].process
    namenode.pause()
    try:
        yield
    finally:
        namenode.resume()


@contextmanager
def rpc_is_slow(stand: Stand) -> Iterator[None]:
    """Deliver each byte of the NameNode's RPC 0.55 s later, each way: more than `namenode_query_timeout_s` in all."""
    assert stand.relay is not None
    stand.relay.delay(_RPC_DELAY_S)
    try:
        yield
    finally:
        stand.relay.restore()


@contextmanager
def disk_is_full(stand: Stand) -> Iterator[None]:
    """Fill the file system of the proxy's log, to the log's last byte, and give the proxy reasons to write to it."""
    assert stand.log_place is not None
    ballast = stand.log_place / "ballast"
    if stand.log_place.is_mount():  # else the log is /dev/full, and the machine's own disk must not be filled
        _fill(ballast)
        _fill(stand.log_place / "proxy.log")
    ending = threading.Event()
    thread = threading.Thread(target=_cut_often, args=(stand, ending), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        ballast.unlink(missing_ok=True)


def _fill(file: Path) -> None:
    with suppress(OSError), file.open("ab", buffering=0) as growing:
        while growing.write(b"\n" * 4096):
            pass


def _cut_often(stand: Stand, ending: threading.Event) -> None:
    """Cut the RPC connections for a moment, over and over: a line each when they are lost and made again."""
    assert stand.relay is not None
    while not ending.wait(_CUT_EVERY_S):
        stand.relay.cut()
        ending.wait(_CUT_S)
        stand.relay.restore()


@contextmanager
def no_files_left(stand: Stand) -> Iterator[None]:
    """Let the proxy open only a few files more than it has open."""
    open_now = sum(1 for _ in Path(f"/proc/{stand.pid}/fd").iterdir())
    with _limited(stand, resource.RLIMIT_NOFILE, open_now + _SPARE_FILES):
        yield


@contextmanager
def no_memory_left(stand: Stand) -> Iterator[None]:
    """Let the proxy take no more memory than it says that it takes, plus 20 %."""
    taken = status_bytes(stand.pid, "VmRSS")
    more = max(0, int(TOLERANCE * bound_bytes(stand.setting, stand.idle_bytes)) - taken)
    with _limited(stand, resource.RLIMIT_DATA, status_bytes(stand.pid, "VmData") + more):
        yield


@contextmanager
def _limited(stand: Stand, which: int, soft: int) -> Iterator[None]:
    before = resource.prlimit(stand.pid, which)
    resource.prlimit(stand.pid, which, (soft, before[1]))
    try:
        yield
    finally:
        if stand.is_alive():
            resource.prlimit(stand.pid, which, before)
