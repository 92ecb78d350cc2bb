"""What a process takes of the machine, read from outside."""

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_SAMPLE_EVERY_S: Final = 0.05
MIB: Final = 2**20


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of all its threads: utime and stime of proc(5), in ticks of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def loop_cpu_s(pid: int) -> float:
    """Return the CPU seconds of its first thread, which runs the event loop (schedstat: nanoseconds)."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def status_bytes(pid: int, key: str) -> int:
    """Return one of the sizes of /proc/PID/status (VmRSS, VmHWM, VmData)."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"process {pid} has no {key}")


def forget_peak(pid: int) -> None:
    """Let VmHWM begin from what is resident now (clear_refs of proc(5))."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


@dataclass
class MemoryWatch:
    """Watches what a process has resident while the `with` block lasts; ends when the process does.

    A process that dies leaves no peak behind, so it is sampled.
    """

    pid: int
    peak_bytes: int = 0
    _ending: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self.peak_bytes = status_bytes(self.pid, "VmRSS")
        forget_peak(self.pid)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.wait(_SAMPLE_EVERY_S):
            try:
                self.peak_bytes = max(self.peak_bytes, status_bytes(self.pid, "VmHWM"))
            except OSError:
                return


def sleep_until(moment: float) -> None:
    """Sleep until `time.monotonic()` is that."""
    time.sleep(max(0.0, moment - time.monotonic()))
