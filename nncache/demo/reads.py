"""Clients that poll the proxy, and what they were answered.

Times are seconds of `time.monotonic`.
"""

import asyncio
import http.client
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.filestatus import FileType, parse_file_status
from nncache.testbed.asker import Asker, RawReply

INTERVAL_S: Final = 0.01
"""Between two reads of one poller: small beside what is measured, little work for two cores."""


@dataclass(frozen=True, slots=True)
class Question:
    """A user's GETFILESTATUS of a path."""

    user: str
    path: str

    @property
    def target(self) -> str:
        """The request target."""
        return f"{PREFIX}{quote(self.path)}?op=GETFILESTATUS&user.name={self.user}"


@dataclass(frozen=True, slots=True)
class View:
    """What a reply says: its status code (0: no reply came) and, of a file, the length in bytes."""

    status: int
    length: int | None = None

    @property
    def is_failure(self) -> bool:
        """Whether there was no reply, or a server error (RFC 9110, section 15.6)."""
        return self.status == 0 or self.status >= http.client.INTERNAL_SERVER_ERROR

    def __str__(self) -> str:
        if self.status == 0:
            return "no answer"
        return str(self.status) if self.length is None else f"{self.status} with {self.length} bytes"


MISSING: Final = View(404)
DENIED: Final = View(403)
EMPTY: Final = View(200, 0)

Expected = Mapping[Question, View]
"""What each question should be answered with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One read: what it showed, when, and whether nncache answered it from memory."""

    view: View
    is_hit: bool
    started_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Record:
    """One client's reads of one question, in order."""

    question: Question
    reads: list[Read] = field(default_factory=list)

    def between(self, first: float, last: float) -> "Record":
        """Return the reads begun in this stretch of time, both ends included."""
        return Record(self.question, [read for read in self.reads if first <= read.started_at <= last])


def read(asker: Asker, question: Question) -> Read:
    """Ask once; a read without a reply is one, too."""
    started_at = time.monotonic()
    try:
        reply = asker.ask("GET", question.target)
    except (OSError, http.client.HTTPException):
        return Read(view=View(0), is_hit=False, started_at=started_at, ended_at=time.monotonic())
    return Read(
        view=view_of(reply), is_hit=reply.is_hit, started_at=reply.started_at, ended_at=reply.ended_at
    )


def view_of(reply: RawReply) -> View:
    """Return what a reply to GETFILESTATUS says; a 200 that cannot be parsed counts as none."""
    if reply.status != http.client.OK:
        return View(reply.status)
    try:
        status = parse_file_status(reply.body)
    except HadoopError:
        return View(0)
    return View(reply.status, status.length if status.type is FileType.FILE else None)


class Pollers:
    """A thread for each question, while entered as an async context; `records` can be read at any time."""

    def __init__(self, address: str, questions: Sequence[Question]) -> None:
        self.records = tuple(map(Record, questions))
        self._address = address
        self._ending = threading.Event()
        self._threads = [
            # Spread over the interval: together they look often.
            threading.Thread(
                target=self._poll, args=(record, INTERVAL_S * number / len(questions)), daemon=True
            )
            for number, record in enumerate(self.records)
        ]

    async def __aenter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for a condition on what they saw; False when the time was not enough."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(INTERVAL_S / 2)
        return True

    async def until_answered(
        self, expected: Expected, timeout_s: float, *, since: float = 0.0, from_memory: bool = False
    ) -> bool:
        """Wait until the last read of each was begun since then and answered so (and from memory)."""

        def is_so(record: Record) -> bool:
            if not record.reads:
                return False
            last = record.reads[-1]
            is_right = last.view == expected[record.question] and last.started_at >= since
            return is_right and (last.is_hit or not from_memory)

        return await self.until(lambda: all(map(is_so, self.records)), timeout_s)

    def _poll(self, record: Record, first_in_s: float) -> None:
        due = time.monotonic() + first_in_s
        with Asker(self._address) as asker:
            while not self._ending.wait(max(0.0, due - time.monotonic())):
                record.reads.append(read(asker, record.question))
                due = max(due + INTERVAL_S, time.monotonic())
