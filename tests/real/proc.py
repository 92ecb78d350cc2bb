"""CPU time and memory of a process, read from outside."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real.beside import beside

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_SAMPLE_EVERY_S: Final = 0.05
MIB: Final = 2**20


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of all threads: utime and stime of proc(5), in ticks of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def loop_cpu_s(pid: int) -> float:
    """Return the CPU seconds of the first thread, which runs the event loop (schedstat: nanoseconds)."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def status_bytes(pid: int, key: str) -> int:
    """Return a size from /proc/PID/status (VmRSS, VmHWM, VmData), in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"process {pid} has no {key}")


def forget_peak(pid: int) -> None:
    """Reset VmHWM to the current resident size (clear_refs of proc(5))."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


@dataclass
class Peak:
    """The peak resident size of a process, in bytes."""

    bytes: int


@contextmanager
def watched_memory(pid: int) -> Iterator[Peak]:
    """Track the peak resident size of a process until the block or the process ends; after that no peak can be read."""
    peak = Peak(status_bytes(pid, "VmRSS"))
    forget_peak(pid)

    def watch(ending: threading.Event) -> None:
        while not ending.wait(_SAMPLE_EVERY_S):
            try:
                peak.bytes = max(peak.bytes, status_bytes(pid, "VmHWM"))
            except OSError:
                return

    with beside(watch):
        yield peak


def sleep_until(moment: float) -> None:
    """Sleep until `time.monotonic()` reaches this value."""
    time.sleep(max(0.0, moment - time.monotonic()))
