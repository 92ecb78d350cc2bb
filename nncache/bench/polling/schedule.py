"""The due time and the result of each poll: an open loop.

A poll's due time does not depend on the duration of the previous poll. If that one has no reply yet, the next is sent
as soon as the reply arrives, but its latency counts from its due time. So when a server stops for a second, all polls
of that second are late, not just one for each poller.
Source: Gil Tene, "How NOT to Measure Latency" (coordinated omission).
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import nan
from typing import Any, Final

from nncache.bench.polling.client import PollClient, resolved
from nncache.bench.polling.replies import PollReply
from nncache.bench.polling.rows import Rows
from nncache.bench.shared.plan import Poller

TICK_S: Final = 0.001
"""The resolution of the event loop's timers, which may fire early by this."""

REST_S: Final = 0.25  # the longest interval between two checks for timeouts


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The time limits of polling."""

    begins_s: float  # the origin of the pollers' phases
    ends_s: float  # no poll is due from this time on
    timeout_s: float = 30.0  # of a poll's reply, from the time it was sent
    grace_s: float = 10.0  # how long to wait for replies after the end


class Polling:
    """The state of one poller: its last poll, and its next one."""

    def __init__(self, poller: Poller, requests: tuple[bytes, ...], begins_s: float, period_s: float) -> None:
        self.poller = poller
        self.client: PollClient  # its connection; the schedule sets it and takes its replies
        self.awaits = False  # whether a poll has no reply yet
        self.is_held = False  # whether the next poll is due, but must wait for that reply
        self.path_id = 0  # of the poll without a reply, like the next two
        self.due_s = 0.0
        self.sent_s = 0.0
        self._requests = requests  # one for each path
        self._step_s = period_s / len(poller.path_ids)
        self._first_s = begins_s + poller.phase_s
        self._count = 0  # polls that were due
        self.next_s = self._first_s  # due time of the next poll

    def advance(self) -> bytes:
        """Advance to the next poll and return its request."""
        place = self._count % len(self._requests)
        self.path_id = self.poller.path_ids[place]
        self.due_s = self.next_s
        self._count += 1
        self.next_s = self._first_s + self._count * self._step_s  # a sum of steps would add up errors
        return self._requests[place]


class Schedule:
    """Runs all pollers of one process; all times are seconds on the clock that it is given.

    Invariants:
        S1  Each poller that has polls left has a timer for the next one, or holds it until a reply arrives.
        S2  `_running` counts the pollers that await a reply or have a poll due before `_ends_s`.
    """

    def __init__(
        self,
        pollers: Iterable[tuple[Poller, tuple[bytes, ...]]],
        period_s: float,
        times: Times,
        *,
        now: Callable[[], float],
        rows: Rows,
    ) -> None:
        """Prepare the polls of these pollers, each with the requests for its paths, on the clock `now`."""
        self._times = times
        self._ends_s = times.ends_s
        self._now = now
        self._rows = rows
        self._polled = [Polling(poller, requests, times.begins_s, period_s) for poller, requests in pollers]
        self._running = 0
        self._finished = asyncio.Event()
        self._bug: BaseException | None = None  # the first exception of an event loop callback

    async def run(self, server: tuple[str, int]) -> None:
        """Poll until the end and, for replies, a little longer. Polls due before now are left out."""
        address = await resolved(server)  # once, not for each poller
        asyncio.get_running_loop().set_exception_handler(self._take_bug)
        async with asyncio.TaskGroup() as tasks:
            now_s = self._now()
            for polling in self._polled:
                polling.client = PollClient(address, tasks, self._taker(polling))
                while polling.next_s < now_s:
                    polling.advance()
            self._running = sum(polling.next_s < self._ends_s for polling in self._polled)
            for polling in self._polled:
                self._go_on(polling)
            while self._running and self._bug is None:
                await self._look_after()
            for polling in self._polled:
                polling.client.close()
        if self._bug is not None:
            raise self._bug

    def stop(self) -> None:
        """Make no more polls due; `run` ends when the polls in flight have ended."""
        self._ends_s = self._now()
        for polling in self._polled:
            if not polling.awaits and polling.next_s >= self._ends_s:
                self._end()

    async def _look_after(self) -> None:
        """Wait up to REST_S for the end, then fail polls that have timed out."""
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_S):
                await self._finished.wait()
        now_s, timeout_s = self._now(), self._times.timeout_s
        for polling in self._polled:
            if polling.awaits and now_s - polling.sent_s >= timeout_s:
                polling.client.give_up(f"no reply within {timeout_s:g} s")
        if self._running and now_s >= self._ends_s + self._times.grace_s:
            self._give_up()

    def _take_bug(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End the run: a poll that lost its callback would look like a server that does not answer."""
        loop.default_exception_handler(context)
        if self._bug is None:
            self._bug = context.get("exception") or RuntimeError(context["message"])
        self._finished.set()

    def _give_up(self) -> None:
        """Record all polls that have not ended as failed."""
        for polling in self._polled:
            polling.is_held = False
            if polling.awaits:
                polling.client.give_up("no reply before the end")
            while polling.next_s < self._ends_s:
                polling.advance()
                of_it = polling.poller.number, polling.path_id, polling.due_s
                self._rows.add_failure(*of_it, nan, self._now(), "not sent")
        self._running = 0

    def _go_on(self, polling: Polling) -> None:
        """Send a poller's next poll when it is due, or after the reply to the previous one if that is later."""
        if polling.next_s >= self._ends_s:
            return
        left_s = polling.next_s - self._now()
        if left_s > 0:
            asyncio.get_running_loop().call_later(max(left_s, TICK_S), self._go_on, polling)
        elif polling.awaits:
            polling.is_held = True
        else:
            self._send(polling)

    def _send(self, polling: Polling) -> None:
        request = polling.advance()
        polling.awaits, polling.is_held = True, False
        polling.sent_s = self._now()
        polling.client.ask(request)
        self._go_on(polling)

    def _taker(self, polling: Polling) -> Callable[[PollReply | str], None]:
        """Return the callback for the replies to a poller's polls."""
        number = polling.poller.number
        now, add_reply, add_failure = self._now, self._rows.add_reply, self._rows.add_failure

        def take(outcome: PollReply | str) -> None:
            polling.awaits = False
            add = add_failure if isinstance(outcome, str) else add_reply
            add(number, polling.path_id, polling.due_s, polling.sent_s, now(), outcome)  # type: ignore[arg-type]  # as chosen
            if polling.is_held:
                self._send(polling)
            elif polling.next_s >= self._ends_s:
                self._end()

        return take

    def _end(self) -> None:
        self._running -= 1
        if self._running == 0:
            self._finished.set()
