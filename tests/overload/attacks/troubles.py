"""Faults of the proxy's machine and of the NameNode, for a limited time.

Memory is limited by RLIMIT_DATA of the running proxy: a control group would affect the machine. It is also the
harder test: the allocation itself fails, while a control group ends the process.
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
    """Delay the NameNode's RPC by 0.55 s each way: more than `namenode_query_timeout_s` in total."""
    assert real_cluster.relay is not None
    return slowed(real_cluster.relay, _RPC_DELAY_S)


@contextmanager
def disk_is_full(real_cluster: RealCluster) -> Iterator[None]:
    """Fill the file system of the proxy's log completely, and make the proxy log repeatedly."""
    place, relay = real_cluster.log_place, real_cluster.relay
    assert place is not None
    assert relay is not None
    ballast = place / "ballast"
    if place.is_mount():  # otherwise the log is /dev/full, and the machine's own disk must not be filled
        _fill(ballast)
        _fill(place / "proxy.log")

    def cut_often(ending: threading.Event) -> None:
        """Cut the RPC connections briefly, repeatedly: each loss and each reconnect logs a line."""
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
    """Limit the proxy to a few more open files than it has now."""
    process = real_cluster.proxy.process
    open_now = sum(1 for _ in Path(f"/proc/{process.running_pid}/fd").iterdir())
    return limited(process, resource.RLIMIT_NOFILE, open_now + _SPARE_FILES)


def no_memory_left(real_cluster: RealCluster) -> AbstractContextManager[None]:
    """Limit the proxy's memory to the amount that it states, plus 20 %."""
    process = real_cluster.proxy.process
    taken, data = (status_bytes(process.running_pid, key) for key in ("VmRSS", "VmData"))
    more = max(0, int(TOLERANCE * real_cluster.bound_bytes()) - taken)
    return limited(process, resource.RLIMIT_DATA, data + more)
