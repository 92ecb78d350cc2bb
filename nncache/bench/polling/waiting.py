"""Pollers that wait for a new answer instead of polling: `Prefer: wait`.

Each requests its path's status, and then repeatedly a status that differs from the last one: RFC 7240, section 4.3,
with the last answer's `ETag`. If a wait is not granted, the poller requests it again after a pause.

The answer to a granted wait is valid at the time of the answer. So the rows record it as a poll that was due and sent
at that time. A 304 has the same content as the previous answer.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from nncache.bench.polling.client import PollClient, resolved
from nncache.bench.polling.replies import PollReply
from nncache.bench.polling.rows import Rows
from nncache.bench.polling.schedule import Times
from nncache.bench.shared.plan import Poller

WAIT_S: Final = 20  # the longest wait of one request
PAUSE_S: Final = 1.0  # before a wait that failed or was not granted is repeated
_LATE_S: Final = 10.0  # a wait has failed if its answer is later than its end by more than this

_UNKNOWN_TAG: Final = b'"none"'
"""The tag of no status, so that the first answer is immediate."""


@dataclass(eq=False)
class _Waiter:
    """One poller."""

    poller: Poller
    head: bytes  # of its request, without the fields Prefer and If-None-Match
    client: PollClient = field(init=False)  # its connection
    tag: bytes = _UNKNOWN_TAG  # of the last answer
    reply: PollReply | None = None  # the last answer
    sent_s: float = 0.0  # time at which the request in flight was sent
    gives_up: asyncio.TimerHandle | None = None  # the timer of its timeout, or of the next request


class WaitSchedule:
    """Runs all pollers of one process; all times are seconds on the clock that it is given."""

    def __init__(
        self,
        pollers: Iterable[tuple[Poller, tuple[bytes, ...]]],
        times: Times,
        *,
        now: Callable[[], float],
        rows: Rows,
        until_found: bool = False,
    ) -> None:
        """Prepare the pollers, each with its first request; `until_found`: each stops once its path exists."""
        self.found: dict[int, float] = {}  # with `until_found`: the time at which each poller saw its path
        self.all_found = asyncio.Event()
        self._until_found = until_found
        self._pollers = tuple(pollers)
        self._times = times
        self._now = now
        self._rows = rows

    async def run(self, server: tuple[str, int]) -> None:
        """Wait repeatedly until the end; requests in flight at the end are dropped."""
        address = await resolved(server)
        async with asyncio.TaskGroup() as tasks:
            waiters = list[_Waiter]()
            for poller, (request, *_) in self._pollers:
                waiter = _Waiter(poller, request.removesuffix(b"\r\n"))
                waiter.client = PollClient(address, tasks, self._taker(waiter))
                waiters.append(waiter)
                self._ask_at(waiter, max(self._now(), self._times.begins_s + poller.phase_s))
            await asyncio.sleep(self._times.ends_s - self._now())
            for waiter in waiters:
                if waiter.gives_up is not None:
                    waiter.gives_up.cancel()
                waiter.client.close()

    def _ask_at(self, waiter: _Waiter, at_s: float) -> None:
        """Send the request at this time; until then `gives_up` is the timer for it."""
        loop = asyncio.get_running_loop()
        waiter.gives_up = loop.call_later(max(0.0, at_s - self._now()), self._ask, waiter)

    def _ask(self, waiter: _Waiter) -> None:
        waiter.sent_s = self._now()
        fields = b"Prefer: wait=%d\r\nIf-None-Match: %b\r\n\r\n" % (WAIT_S, waiter.tag)
        waiter.gives_up = asyncio.get_running_loop().call_later(
            WAIT_S + _LATE_S, waiter.client.give_up, f"no reply within {WAIT_S + _LATE_S:g} s"
        )
        waiter.client.ask(waiter.head + fields)

    def _taker(self, waiter: _Waiter) -> Callable[[PollReply | str], None]:
        """Return the callback for the answers to one waiter."""
        number, path_id = waiter.poller.number, waiter.poller.path_ids[0]

        def take(outcome: PollReply | str) -> None:
            now_s = self._now()
            assert waiter.gives_up is not None
            waiter.gives_up.cancel()
            if now_s >= self._times.ends_s:
                return
            if isinstance(outcome, str):
                self._rows.add_failure(number, path_id, waiter.sent_s, waiter.sent_s, now_s, outcome)
                self._ask_at(waiter, now_s + PAUSE_S)
                return
            at_s = now_s if outcome.is_applied else waiter.sent_s
            if outcome.status == HTTPStatus.NOT_MODIFIED and waiter.reply is not None:
                outcome = waiter.reply._replace(served=outcome.served, head=outcome.head)
            else:
                waiter.reply = outcome
            waiter.tag = outcome.tag or _UNKNOWN_TAG
            self._rows.add_reply(number, path_id, at_s, at_s, now_s, outcome)
            if not (self._until_found and outcome.status == HTTPStatus.OK):
                self._ask_at(waiter, now_s if outcome.is_applied else now_s + PAUSE_S)
                return
            self.found[number] = now_s
            if len(self.found) == len(self._pollers):
                self.all_found.set()

        return take
