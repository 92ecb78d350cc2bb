"""What can go wrong on the proxy's machine and at the NameNode, for a while.

Memory is bounded by RLIMIT_DATA of the running proxy: a control group would be the machine's, not ours. It is the
harder test: an allocation fails where it is made, while a control group ends the process.
"""

import resource
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from tests.overload.real_cluster import TOLERANCE, RealCluster
from tests.real.beside import beside
from tests.real.faults import limited, paused, slowed
from tests.real.proc import status_bytes

_SPARE_FILES: Final = 4
_RPC_DELAY_S: Final = 0.55
_CUT_EVERY_S: Final = 1.0
_CUT_S: Final = 0.3


def namenode_hangs(real_cluster: RealCluster) -> AbstractContextManager[None]:
    """Stop the NameNode's process (SIGSTOP)."""
    return paused(real_cluster.cluster.namenodes[0].process)


def rpc_is_slow(real_cluster: RealCluster) -> AbstractContextManager[None]:
    """Deliver each byte of the NameNode's RPC 0.55 s later, each way: more than `namenode_query_timeout_s` in all."""
    assert real_cluster.relay is not None
    return slowed(real_cluster.relay, _RPC_DELAY_S)


@contextmanager
def disk_is_full(real_cluster: RealCluster) -> Iterator[None]:
    """Fill the file system of the proxy's log, to the log's last byte, and give the proxy reasons to write to it."""
    place, relay = real_cluster.log_place, real_cluster.relay
    assert place is not None
    assert relay is not None
    ballast = place / "ballast"
    if place.is_mount():  # else the log is /dev/full, and the machine's own disk must not be filled
        _fill(ballast)
        _fill(place / "proxy.log")

    def cut_often(ending: threading.Event) -> None:
        """Cut the RPC connections for a moment, over and over: a line each when they are lost and made again."""
        while not ending.wait(_CUT_EVERY_S):
            relay.cut()
            ending.wait(_CUT_S)
            relay.restore()

    try:
        with beside(cut_often):
            yield
    finally:
        ballast.unlink(missing_ok=True)


def _fill(file: Path) -> None:
    with suppress(OSError), file.open("ab", buffering=0) as growing:
        while growing.write(b"\n" * 4096):
            pass


def no_files_left(real_cluster: RealCluster) -> AbstractContextManager[None]:
    """Let the proxy open only a few files more than it has open."""
    process = real_cluster.proxy.process
    open_now = sum(1 for _ in Path(f"/proc/{process.running_pid}/fd").iterdir())
    return limited(process, resource.RLIMIT_NOFILE, open_now + _SPARE_FILES)


def no_memory_left(real_cluster: RealCluster) -> AbstractContextManager[None]:
    """Let the proxy take no more memory than it says that it takes, plus 20 %."""
    process = real_cluster.proxy.process
    taken, data = (status_bytes(process.running_pid, key) for key in ("VmRSS", "VmData"))
    more = max(0, int(TOLERANCE * real_cluster.bound_bytes()) - taken)
    return limited(process, resource.RLIMIT_DATA, data + more)
