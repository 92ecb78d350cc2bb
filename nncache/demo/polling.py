"""Clients that poll the proxy, and what they see of a change. Times are seconds of `time.monotonic`."""

import asyncio
import http.client
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple, Self
from urllib.parse import quote

from nncache.demo.terminal import Step, counted, shown
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.filestatus import FileType, parse_file_status
from nncache.testbed.asker import Asker

BOUND_S: Final = 3.0
"""The proxy's default `max_staleness_s`: no answer is older, whatever fails."""

INTERVAL_S: Final = 0.01
"""Between two reads of one poller: small beside what is measured, little work for two cores."""

PATIENCE_S: Final = BOUND_S + 1.0
"""How long a change is waited for: past the bound, so that a broken promise is seen and not supposed."""

_REMEMBER_S: Final = 5.0


class DemoError(Exception):
    """The demo cannot go on; the text is one line for the terminal."""


class Question(NamedTuple):
    """A user's GETFILESTATUS of a path."""

    user: str
    path: str


class View(NamedTuple):
    """What a reply says: its status code (0: no reply came) and, of a file, the length in bytes."""

    status: int
    length: int | None = None

    @property
    def is_failure(self) -> bool:
        """Whether there was no reply, or a server error (RFC 9110, section 15.6)."""
        return self.status == 0 or self.status >= http.client.INTERNAL_SERVER_ERROR

    def __str__(self) -> str:
        return str(self.status) if self.length is None else f"{self.status} with {self.length} bytes"


MISSING: Final = View(404)
DENIED: Final = View(403)
EMPTY: Final = View(200, 0)

Expected = Mapping[Question, View]
"""What each question should be answered with."""


class Read(NamedTuple):
    """One read: what it showed, whether nncache answered it from memory, and when it was."""

    view: View
    is_hit: bool
    started_at: float
    ended_at: float


class Record(NamedTuple):
    """One client's reads of one question, in order."""

    question: Question
    reads: list[Read]


class Observed(NamedTuple):
    """What clients saw of one change.

    Attributes:
        delays_s: for each client whose answer the change alters and who saw that: from the acknowledgement to the
            start of their first read that showed it; 0 when that one began before.
        wrong: a line for each client whose last read was not answered as it should be.
        oldest_s: from the acknowledgement to the start of the last read answered otherwise; 0 when there was none.
        reads: begun after the acknowledgement.
        failed: reads without a reply or with a server error, before or after it.
    """

    delays_s: list[float]
    wrong: list[str]
    oldest_s: float
    reads: int
    failed: int


def seen_in_time(title: str, *rounds: Observed) -> Step:
    """Judge changes by the guarantee Bounded."""
    delays = [delay for each in rounds for delay in each.delays_s]
    wrong = [line for each in rounds for line in each.wrong]
    oldest_s, failed = max(each.oldest_s for each in rounds), sum(each.failed for each in rounds)
    if wrong or not delays:
        seen = f"after {shown(oldest_s)}: {', '.join(wrong) or 'no client looked'}"
    else:
        seen = f"{len(delays)} of {len(delays)}, p50 {shown(median(delays))}, max {shown(max(delays))}"
        seen += f", an old answer again after {shown(oldest_s)}" if oldest_s > max(delays) else ""
    seen += f"; {counted(failed, 'read')} failed" if failed else ""
    came_true = bool(delays) and not wrong and not failed and oldest_s <= BOUND_S
    return Step(title, f"all within {BOUND_S:g} s, no read fails", seen, came_true)


def read(asker: Asker, question: Question) -> Read:
    """Ask once; no reply, or one that cannot be parsed, is a read too."""
    started_at = time.monotonic()
    try:
        target = f"{PREFIX}{quote(question.path)}?op=GETFILESTATUS&user.name={question.user}"
        reply = asker.ask("GET", target)
        view = View(reply.status)
        if reply.status == http.client.OK:
            status = parse_file_status(reply.body)
            view = View(reply.status, status.length if status.type is FileType.FILE else None)
    except (OSError, http.client.HTTPException, HadoopError):
        return Read(View(0), is_hit=False, started_at=started_at, ended_at=time.monotonic())
    return Read(view, is_hit=reply.is_hit, started_at=reply.started_at, ended_at=reply.ended_at)


class Pollers:
    """A thread for each question, while entered as an async context; `records` can be read at any time."""

    def __init__(self, address: str, questions: Sequence[Question]) -> None:
        self.records = [Record(question, []) for question in questions]
        self._address = address
        self._ending = threading.Event()
        self._threads = [  # spread over the interval: together they look often
            threading.Thread(
                target=self._poll, args=(record, INTERVAL_S * number / len(questions)), daemon=True
            )
            for number, record in enumerate(self.records)
        ]

    async def __aenter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _poll(self, record: Record, first_in_s: float) -> None:
        due = time.monotonic() + first_in_s
        with Asker(self._address) as asker:
            while not self._ending.wait(max(0.0, due - time.monotonic())):
                record.reads.append(read(asker, record.question))
                due = max(due + INTERVAL_S, time.monotonic())

    async def until(
        self, expected: Expected, timeout_s: float, *, since: float = 0.0, from_memory: bool = False
    ) -> bool:
        """Wait until the last read of each was begun since then and answered so (and from memory)."""

        def is_so(record: Record) -> bool:
            last = (
                record.reads[-1]
                if record.reads
                else Read(View(0), is_hit=False, started_at=0.0, ended_at=0.0)
            )
            is_right = last.view == expected[record.question] and last.started_at >= since
            return is_right and (last.is_hit or not from_memory)

        deadline = time.monotonic() + timeout_s
        while not all(map(is_so, self.records)):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(INTERVAL_S / 2)
        return True

    async def until_in_memory(self, expected: Expected) -> None:
        """Wait until every poller is answered like this, from memory: else seeing a change would prove nothing.

        Raises:
            DemoError: that does not come.
        """
        if not await self.until(expected, _REMEMBER_S, from_memory=True):
            seen = {
                each.question: [*map(str, {read.view for read in each.reads[-1:]})] for each in self.records
            }
            raise DemoError(
                f"not answered from memory as it should be after {_REMEMBER_S:.0f} s: last answers {seen}"
            )

    async def change(
        self, write: Callable[[], Awaitable[object]], before: Expected, after: Expected, linger_s: float = 0.0
    ) -> Observed:
        """Write while they go on, until all see it or PATIENCE_S is over, and return what they see of it."""
        begun_at = time.monotonic()
        await write()
        acknowledged_at = time.monotonic()
        await self.until(after, PATIENCE_S, since=acknowledged_at)
        await asyncio.sleep(max(0.0, acknowledged_at + linger_s - time.monotonic()))
        delays, wrong, oldest_s, reads, failed = list[float](), list[str](), 0.0, 0, 0
        for question, all_reads in self.records:
            seen = [read for read in all_reads if read.started_at >= begun_at]
            right, last = after[question], seen[-1].view if seen else View(0)
            if last != right:
                wrong.append(f"{question.user} still gets {last}")
            elif before[question] != right:
                first = next(read for read in seen if read.view == right)
                delays.append(max(0.0, first.started_at - acknowledged_at))
            later = [read for read in seen if read.started_at >= acknowledged_at]
            oldest_s = max([oldest_s, *(r.started_at - acknowledged_at for r in later if r.view != right)])
            reads += len(later)
            failed += sum(read.view.is_failure for read in seen)
        return Observed(delays, wrong, oldest_s, reads, failed)
