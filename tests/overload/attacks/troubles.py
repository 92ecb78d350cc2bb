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

from tests.overload.proc import status_bytes
from tests.overload.real_cluster import TOLERANCE, RealCluster

_SPARE_FILES: Final = 4
_RPC_DELAY_S: Final = 0.55
_CUT_EVERY_S: Final = 1.0
_CUT_S: Final = 0.3


@contextmanager
def namenode_hangs(real_cluster: RealCluster) -> Iterator[None]:
    """Stop the NameNode's process (SIGSTOP)."""
    namenode = real_cluster.cluster.namenodes[0].process
    namenode.pause()
    try:
        yield
    finally:
        namenode.resume()


@contextmanager
def rpc_is_slow(real_cluster: RealCluster) -> Iterator[None]:
    """Deliver each byte of the NameNode's RPC 0.55 s later, each way: more than `namenode_query_timeout_s` in all."""
    assert real_cluster.relay is not None
    real_cluster.relay.delay(_RPC_DELAY_S)
    try:
        yield
    finally:
        real_cluster.relay.restore()


@contextmanager
def disk_is_full(real_cluster: RealCluster) -> Iterator[None]:
    """Fill the file system of the proxy's log, to the log's last byte, and give the proxy reasons to write to it."""
    assert real_cluster.log_place is not None
    ballast = real_cluster.log_place / "ballast"
    if (
        real_cluster.log_place.is_mount()
    ):  # else the log is /dev/full, and the machine's own disk must not be filled
        _fill(ballast)
        _fill(real_cluster.log_place / "proxy.log")
    ending = threading.Event()
    thread = threading.Thread(target=_cut_often, args=(real_cluster, ending), daemon=True)
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


def _cut_often(real_cluster: RealCluster, ending: threading.Event) -> None:
    """Cut the RPC connections for a moment, over and over: a line each when they are lost and made again."""
    assert real_cluster.relay is not None
    while not ending.wait(_CUT_EVERY_S):
        real_cluster.relay.cut()
        ending.wait(_CUT_S)
        real_cluster.relay.restore()


@contextmanager
def no_files_left(real_cluster: RealCluster) -> Iterator[None]:
    """Let the proxy open only a few files more than it has open."""
    open_now = sum(1 for _ in Path(f"/proc/{real_cluster.pid}/fd").iterdir())
    with _limited(real_cluster, resource.RLIMIT_NOFILE, open_now + _SPARE_FILES):
        yield


@contextmanager
def no_memory_left(real_cluster: RealCluster) -> Iterator[None]:
    """Let the proxy take no more memory than it says that it takes, plus 20 %."""
    taken = status_bytes(real_cluster.pid, "VmRSS")
    more = max(0, int(TOLERANCE * real_cluster.bound_bytes()) - taken)
    with _limited(real_cluster, resource.RLIMIT_DATA, status_bytes(real_cluster.pid, "VmData") + more):
        yield


@contextmanager
def _limited(real_cluster: RealCluster, which: int, soft: int) -> Iterator[None]:
    before = resource.prlimit(real_cluster.pid, which)
    resource.prlimit(real_cluster.pid, which, (soft, before[1]))
    try:
        yield
    finally:
        if real_cluster.is_alive():
            resource.prlimit(real_cluster.pid, which, before)
