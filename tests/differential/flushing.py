"""Files that a Hadoop client flushes and keeps open: transactions without an event increase their length."""

import http.client
import itertools
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from nncache.testbed import Cluster, java
from nncache.testbed.asker import RawReply
from nncache.testbed.spec import SMALL_JVM
from nncache.testbed.workplace import environment
from tests.differential.operation import Operation

_PROGRAM: Final = Path(__file__).with_name("Writer.java")


class Writer:
    """A JVM that runs Writer.java as the superuser's client."""

    def __init__(self, cluster: Cluster) -> None:
        runtime = java.installed(cluster.hadoop_version)
        self._process = subprocess.Popen(
            (runtime.java, *SMALL_JVM, "-cp", runtime.classpath(cluster.conf_dir / "shell"), str(_PROGRAM)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(cluster.superuser),
            text=True,
            encoding="utf-8",
        )
        self._numbers = itertools.count()
        assert self._line() == "ready"

    def begin(self, operation: Operation) -> "Flushed | RawReply":
        """Create a file, write and flush its data, and leave it open. Return a reply of 403 if that is refused."""
        number = next(self._numbers)
        begun = self.step("create", number, operation)
        return Flushed(self, number, operation, begun) if begun.status == http.client.OK else begun

    def step(self, what: str, number: int, operation: Operation) -> RawReply:
        """Carry out a step of Writer.java."""
        began_at = time.monotonic()
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what} {number} {len(operation.data)} {operation.paths[0]}\n")
        self._process.stdin.flush()
        line = self._line()
        status = http.client.OK if line == "ok" else http.client.FORBIDDEN
        return RawReply(status, (), line.encode(), began_at, time.monotonic())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the writer has ended"
        return line.rstrip("\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # it exits when its input ends


@dataclass(slots=True)
class Flushed:
    """A file that was flushed and is open."""

    writer: Writer
    number: int
    operation: Operation
    begun: RawReply  # its `ended_at` is the time of the flush
    has_grown: bool = False

    def grow(self) -> RawReply:
        """Write as much again, and update the length at the NameNode."""
        self.has_grown = True
        return self.writer.step("grow", self.number, self.operation)

    def finish(self) -> RawReply:
        """Close the file."""
        return self.writer.step("close", self.number, self.operation)

    def close(self) -> None:
        """Leave the file open: the writer ends soon."""
