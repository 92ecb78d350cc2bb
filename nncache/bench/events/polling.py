"""Poll at a steady rate, whatever becomes of the server."""

import asyncio
from itertools import count
from typing import Final

from nncache.bench.events.seconds import ASKED, FAILED, MEMORY, Poll
from nncache.bench.polling.client import Client
from nncache.bench.polling.replies import Reply

GIVE_UP_S: Final = 10.0
"""A poll without a reply for so long has failed."""


class Pollers:
    """An open loop: when each poll is due is set beforehand. One that is due while another is under way waits."""

    def __init__(self, address: str, requests: tuple[bytes, ...], period_s: float) -> None:
        """Make one poller for each request; each sends its own every `period_s` seconds."""
        host, _, port = address.rpartition(":")
        self._address = host, int(port)
        self._requests = requests
        self._period_s = period_s
        self.polls: list[Poll] = []
        self.zero_s = 0.0  # loop time at which the first poll was due

    async def run(self, duration_s: float) -> None:
        """Poll for so long."""
        loop = asyncio.get_running_loop()
        self.zero_s = loop.time()
        async with asyncio.TaskGroup() as tasks:
            for number, request in enumerate(self._requests):
                first_s = self._period_s * number / len(self._requests)
                tasks.create_task(self._poll(tasks, request, first_s, duration_s))

    async def _poll(self, tasks: asyncio.TaskGroup, request: bytes, first_s: float, end_s: float) -> None:
        loop, replies = asyncio.get_running_loop(), asyncio.Queue[Reply | str]()
        client = Client(self._address, tasks, replies.put_nowait)
        for number in count():
            if (due_s := first_s + number * self._period_s) >= end_s:
                break
            await asyncio.sleep(max(0.0, self.zero_s + due_s - loop.time()))
            client.ask(request)
            try:
                async with asyncio.timeout(GIVE_UP_S):
                    reply = await replies.get()
            except TimeoutError:
                client.give_up(f"no reply in {GIVE_UP_S:g} s")
                reply = await replies.get()
            self.polls.append(Poll(due_s, loop.time() - self.zero_s - due_s, outcome_of(reply)))
        client.close()


def outcome_of(reply: Reply | str) -> str:
    """Return what a reply, or what went wrong instead, means for who polls."""
    if isinstance(reply, str) or reply.status not in {200, 404}:
        return FAILED
    return MEMORY if reply.served == "hit" else ASKED
