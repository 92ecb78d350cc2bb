"""Clients that read through the proxy, and how they see a change. Times are `time.monotonic` seconds."""

import asyncio
import http.client
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Final, NamedTuple
from urllib.parse import quote

from nncache.demo.terminal import Step, counted, shown
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.filestatus import FileType, parse_file_status
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed.asker import Asker

OWNER: Final = "alice"
"""The user whose files change."""

BOUND_S: Final = 3.0  # the proxy's default `max_staleness_s`: no answer is older, whatever fails

INTERVAL_S: Final = 0.01
"""Interval between two reads of one poller: small compared with the measured times, and a light load for two cores."""

PATIENCE_S: Final = BOUND_S + 1.0
"""Timeout of waiting for a change: longer than the bound, so that a violation is seen."""

_REMEMBER_S: Final = 5.0


class DemoError(Exception):
    """The demo cannot continue; the text is one line for the terminal."""


class StatusQuestion(NamedTuple):
    """A user's GETFILESTATUS of a path."""

    user: str
    path: str


NOTHING: Final = "0"
"""What a read sees that gets no reply; any other read sees the status code and, of a file, its length."""

MISSING: Final = "404"
DENIED: Final = "403"
EMPTY: Final = "200 with 0 bytes"

Expected = Mapping[StatusQuestion, str]  # what a read of each question must see
Write = Callable[[WebHdfs], Awaitable[object]]


class PolledChange(NamedTuple):
    """A write at the NameNode, and the right answers before and after it."""

    write: Write
    before: Expected
    after: Expected
    linger_s: float = 0.0  # for how long the clients poll at least after it


class TimedRead(NamedTuple):
    """One read: what it saw, whether nncache answered it from memory, and its times."""

    question: StatusQuestion
    view: str
    is_hit: bool
    failed: bool  # it got no reply, or a server error (RFC 9110, section 15.6)
    started_at: float
    ended_at: float


class Observed(NamedTuple):
    """How clients saw one change."""

    # for each client that saw its answer change: from the acknowledgement to the start of its first read with the new
    # answer; 0 if that read started earlier
    delays_s: list[float]
    wrong: list[str]  # a line for each client whose last answer was wrong
    reads: int  # started after the acknowledgement
    # from the acknowledgement to the start of the last read with a wrong answer; 0 if there is none
    oldest_s: float
    failed: int  # reads without a reply or with a server error, before or after the acknowledgement


def seen_in_time(title: str, *changes: Observed) -> Step:
    """Judge changes by the guarantee Bounded."""
    delays = [delay for each in changes for delay in each.delays_s]
    wrong = [line for each in changes for line in each.wrong]
    oldest_s, failed = max(each.oldest_s for each in changes), sum(each.failed for each in changes)
    if wrong or not delays:
        seen = f"after {shown(oldest_s)}: {', '.join(wrong) or 'no client looked'}"
    else:
        seen = f"{len(delays)} of {len(delays)}, p50 {shown(median(delays))}, max {shown(max(delays))}"
        seen += f", an old answer again after {shown(oldest_s)}" if oldest_s > max(delays) else ""
    seen += f"; {counted(failed, 'read')} failed" if failed else ""
    came_true = bool(delays) and not wrong and not failed and oldest_s <= BOUND_S
    return Step(title, f"all within {BOUND_S:g} s, no read fails", seen, came_true)


class Clients:
    """Clients of a NameNode and of the proxy in front of it.

    Attributes:
        reads: all their reads, each through the proxy; may be inspected at any time.
        own_at_most: upper limit of the calls that nncache itself has made.
    """

    def __init__(self, proxy: str, namenode: str) -> None:
        """Both addresses are "host:port"."""
        self.reads: list[TimedRead] = []
        self.own_at_most = 0
        self._last: dict[StatusQuestion, TimedRead] = {}
        self._proxy = proxy
        self._namenode = namenode

    def write(self, calls: Write, *, user: str = OWNER, through_proxy: bool = False) -> None:
        """Make the calls as a user, at the NameNode itself or through the proxy."""

        async def do() -> None:
            address = self._proxy if through_proxy else self._namenode
            async with WebHdfs(f"http://{address}", user) as client:
                await calls(client)

        asyncio.run(do())

    def read(self, question: StatusQuestion, connection: Asker | None = None) -> TimedRead:
        """Read once. A read without a reply, or with one that cannot be parsed, also counts."""
        asker = connection or Asker(self._proxy)
        started_at = time.monotonic()
        view, is_hit, failed = NOTHING, False, True
        try:
            target = f"{PREFIX}{quote(question.path)}?op=GETFILESTATUS&user.name={question.user}"
            reply = asker.ask("GET", target)
            status = parse_file_status(reply.body) if reply.status == http.client.OK else None
            is_file = status is not None and status.type is FileType.FILE
            view = f"{reply.status} with {status.length} bytes" if status and is_file else str(reply.status)
            is_hit, failed = reply.is_hit, reply.status >= http.client.INTERNAL_SERVER_ERROR
        except (OSError, http.client.HTTPException, HadoopError):
            pass
        done = self._last[question] = TimedRead(question, view, is_hit, failed, started_at, time.monotonic())
        self.reads.append(done)
        return done

    @contextmanager
    def polling(self, questions: Iterable[StatusQuestion]) -> Iterator[None]:
        """Poll each question with its own client until the end of the block."""
        ending, questions = threading.Event(), tuple(questions)

        def poll(number: int) -> None:
            due = time.monotonic() + INTERVAL_S * number / len(questions)
            with Asker(self._proxy) as connection:
                while not ending.wait(max(0.0, due - time.monotonic())):
                    self.read(questions[number], connection)
                    due = max(due + INTERVAL_S, time.monotonic())

        threads = [threading.Thread(target=poll, args=(n,), daemon=True) for n in range(len(questions))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ending.set()
            for thread in threads:
                thread.join()

    def until(
        self, expected: Expected, timeout_s: float, *, since: float = 0.0, from_memory: bool = False
    ) -> bool:
        """Wait for a last read of each question since `since` with its view (and from memory); False on timeout."""

        def is_so(question: StatusQuestion) -> bool:
            last = self._last.get(question)
            if last is None or last.view != expected[question] or last.started_at < since:
                return False
            return last.is_hit or not from_memory

        deadline = time.monotonic() + timeout_s
        while not all(map(is_so, expected)):
            if time.monotonic() > deadline:
                return False
            time.sleep(INTERVAL_S / 2)
        return True

    def until_in_memory(self, expected: Expected) -> None:
        """Wait until all questions are answered from memory with these views: otherwise a change would prove nothing.

        Raises:
            DemoError: this does not happen in time.
        """
        if not self.until(expected, _REMEMBER_S, since=time.monotonic(), from_memory=True):
            seen = [self._last[question].view for question in expected if question in self._last]
            raise DemoError(f"not answered from memory after {_REMEMBER_S:.0f} s; last answers: {seen}")

    def observe(self, changes: Iterable[PolledChange]) -> list[Observed]:
        """Make each change while pollers get answers from memory; stop after the first change that a client misses."""
        seen: list[Observed] = []
        for change in changes:
            with self.polling(change.before):
                self.until_in_memory(change.before)
                seen.append(self.change(change))
            if seen[-1].wrong:
                break
        return seen

    def change(self, change: PolledChange) -> Observed:
        """Write while the clients poll. Wait until all see it, or for PATIENCE_S, and return how they saw it."""
        begun_at = time.monotonic()
        self.write(change.write)
        acknowledged_at = time.monotonic()
        self.until(change.after, PATIENCE_S, since=acknowledged_at)
        time.sleep(max(0.0, acknowledged_at + change.linger_s - time.monotonic()))
        seen = [read for read in tuple(self.reads) if read.started_at >= begun_at]
        delays, wrong = list[float](), list[str]()
        for question, right in change.after.items():
            own = [read for read in seen if read.question == question]
            if not own or own[-1].view != right:
                wrong.append(f"{question.user} still gets {own[-1].view if own else NOTHING}")
            elif change.before[question] != right:
                first = next(read for read in own if read.view == right)
                delays.append(max(0.0, first.started_at - acknowledged_at))
        later = [read for read in seen if read.started_at >= acknowledged_at]
        late = [r.started_at - acknowledged_at for r in later if r.view != change.after[r.question]]
        return Observed(delays, wrong, len(later), max(late, default=0.0), sum(read.failed for read in seen))
