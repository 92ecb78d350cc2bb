"""A long open edit segment, and what reading it costs the NameNode."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster
from nncache.testbed.daemon import Daemon
from tests.real.beside import on_hdfs
from tests.real.proc import cpu_s


def fill_segment(cluster: Cluster, txids: int, progress: Callable[[], None]) -> None:
    """Have the NameNode write at least `txids` transactions; each is a SETTIMES of one directory."""

    async def write(hdfs: WebHdfs) -> None:
        async def one(number: int) -> None:
            await hdfs.set_times("/segment", modification_ms=number)
            progress()

        await hdfs.mkdirs("/segment")
        await each_bounded(range(1, txids + 1), one, at_once=32)

    on_hdfs(cluster, write)


@dataclass(frozen=True, slots=True)
class Meter:
    """The CPU time of the NameNode and the JournalNodes, and the time of polling, since a start."""

    cluster: Cluster
    polling: Daemon  # the daemon that reads the edits
    began_at: float
    cpu_s: float
    journalnodes_s: tuple[float, ...]
    poll_s: float

    @classmethod
    def start(cls, cluster: Cluster, polling: Daemon) -> "Meter":
        """Start to measure."""
        return cls(
            cluster,
            polling,
            time.monotonic(),
            _cpu_s(cluster),
            _journalnodes_s(cluster),
            _poll_s(polling),
        )

    def line(self) -> str:
        """Return the use of time since the start as a line of text."""
        took_s = time.monotonic() - self.began_at
        pairs = zip(_journalnodes_s(self.cluster), self.journalnodes_s, strict=True)
        journalnodes = ", ".join(f"{(now_s - then_s) / took_s:.1%}" for now_s, then_s in pairs)
        return (
            f"NameNode              {(_cpu_s(self.cluster) - self.cpu_s) / took_s:.1%} of a core in all; polls of its "
            f"edits took {(_poll_s(self.polling) - self.poll_s) / took_s:.1%} of the time"
            + (f"; JournalNodes {journalnodes} of a core" if journalnodes else "")
        )


def _cpu_s(cluster: Cluster) -> float:
    """Return the CPU-seconds of the NameNode's process so far."""
    return cpu_s(cluster.namenodes[0].process.running_pid)


def _journalnodes_s(cluster: Cluster) -> tuple[float, ...]:
    return tuple(cpu_s(each.process.running_pid) for each in cluster.journalnodes)


def _poll_s(polling: Daemon) -> float:
    return polling.metrics()["nncache_channel_poll_seconds_total"]
