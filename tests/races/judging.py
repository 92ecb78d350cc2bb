"""What a race must not have done."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tests.http_client import Reply
from tests.races.changes import Hdfs
from tests.races.client import Client, GoneError
from tests.races.proxied import Proxied

BOUND_S = 3.0
"""The proxy's default max_staleness_s."""

APPLIED_S = 60.0
"""What is not applied by then hangs; a life of the stream that an error has ended needs a moment."""

_NO_ANSWER: Final = 599


@dataclass
class Judge:
    """Asks the NameNode and the proxy about one race's path, and takes note of what is wrong.

    Attributes:
        wrong: what was, in words.
        seen: what the NameNode has said so far, at different moments of the race.
    """

    proxy: Proxied
    hdfs: Hdfs
    namenode: Client
    checker: Client  # a connection to the proxy on which nothing is held
    path: str
    users: tuple[str, ...]
    patience_s: float = 0.0  # for so long the proxy may find no NameNode
    is_unsure: bool = False  # nobody knows whether, or when, the change is made
    wrong: list[str] = field(default_factory=list)
    seen: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)  # by user, in order

    async def look(self) -> None:
        """Take note of what the NameNode says now."""
        for user in self.users:
            reply = await self.namenode.ask("GET", self.hdfs.status(self.path, user))
            self.seen.setdefault(user, []).append(reply.status_and_body)

    async def read(self, user: str) -> Reply:
        """Ask the proxy; the status is 599 if there is no answer."""
        try:
            return await self.checker.ask("GET", self.hdfs.status(self.path, user))
        except (GoneError, TimeoutError) as exc:
            return Reply(_NO_ANSWER, {}, repr(exc).encode())

    def judge_early(self, reply: Reply, user: str, when: str, *, is_two_step: bool) -> None:
        """Say whether a read that a change met got an answer of before or after (Verbatim)."""
        if self.is_unsure or (reply.status >= 500 and self.patience_s):
            return
        known = self.seen[user]
        is_passing = is_two_step and reply.status == 200 and b'"type":"FILE"' in reply.body  # being written
        if reply.status_and_body not in known and not is_passing:
            self.wrong.append(f"{when}: the reply {reply} is none that the NameNode gave: {known}")

    async def agree(self, when: str, *, at_once: bool = True, users: Iterable[str] | None = None) -> None:
        """See that the proxy says what the NameNode says, twice, so that what was kept is looked at as well."""
        loop = asyncio.get_running_loop()
        began, truth_before = loop.time(), None
        for user in users or self.users:
            while True:
                truth = await self._truth(user)
                if truth != truth_before:  # where nobody knows when a change is made, it may be made only now
                    began, truth_before = loop.time(), truth
                replies = [await self.read(user), await self.read(user)]
                if all(reply.status_and_body == truth for reply in replies):
                    break
                is_away = any(reply.status >= 500 for reply in replies)
                is_late = loop.time() - began >= max(0.0 if at_once else BOUND_S, self.patience_s * is_away)
                if is_late and truth == await self._truth(
                    user
                ):  # a slow reply may be newer than the truth before it
                    self.wrong.append(f"{when}: {user} was told {replies}, the truth is {truth}")
                    return
                await asyncio.sleep(0.01)

    async def _truth(self, user: str) -> tuple[int, bytes]:
        return (await self.namenode.ask("GET", self.hdfs.status(self.path, user))).status_and_body

    async def applied(self, since: float, when: str) -> bool:
        """Wait until the proxy knows of what was acknowledged before this moment."""
        if await self.proxy.covered(since, APPLIED_S):
            return True
        self.wrong.append(f"{when}: the change was not applied within {APPLIED_S:g} s")
        return False
