"""The rules that no race may violate."""

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
"""Seconds after which an unapplied change counts as hung; a stream that failed needs a moment to restart."""

_NO_ANSWER: Final = 599


@dataclass
class Judge:
    """Compares the NameNode and the proxy for one race's path, and records violations.

    Attributes:
        wrong: the violations, in words.
        seen: the NameNode's replies so far, at different moments of the race.
    """

    proxy: Proxied
    hdfs: Hdfs
    namenode: Client
    checker: Client  # a connection to the proxy on which nothing is held
    path: str
    users: tuple[str, ...]
    patience_s: float = 0.0  # for this long the proxy may find no NameNode
    is_unsure: bool = False  # whether, or when, the change is made is unknown
    wrong: list[str] = field(default_factory=list)
    seen: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)  # by user, in order

    async def look(self) -> None:
        """Record the NameNode's present reply."""
        for user in self.users:
            reply = await self.namenode.ask("GET", self.hdfs.status(self.path, user))
            self.seen.setdefault(user, []).append(reply.status_and_body)

    async def read(self, user: str) -> Reply:
        """Read through the proxy; return status 599 if there is no answer."""
        try:
            return await self.checker.ask("GET", self.hdfs.status(self.path, user))
        except (GoneError, TimeoutError) as exc:
            return Reply(_NO_ANSWER, {}, repr(exc).encode())

    def judge_early(self, reply: Reply, user: str, when: str, *, is_two_step: bool) -> None:
        """Record a read during a change that got neither the earlier nor the later answer (Verbatim)."""
        if self.is_unsure or (reply.status >= 500 and self.patience_s):
            return
        known = self.seen[user]
        is_passing = is_two_step and reply.status == 200 and b'"type":"FILE"' in reply.body  # still open
        if reply.status_and_body not in known and not is_passing:
            self.wrong.append(f"{when}: the reply {reply} is none that the NameNode gave: {known}")

    async def agree(self, when: str, *, at_once: bool = True, users: Iterable[str] | None = None) -> None:
        """Judge that the proxy's reply equals the NameNode's, twice, so that a cached one is compared too."""
        loop = asyncio.get_running_loop()
        began, truth_before = loop.time(), None
        for user in users or self.users:
            while True:
                truth = await self._truth(user)
                if truth != truth_before:  # a change with an unknown outcome may be made only now
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
        """Wait until the proxy knows all changes acknowledged before this moment."""
        if await self.proxy.covered(since, APPLIED_S):
            return True
        self.wrong.append(f"{when}: the change was not applied within {APPLIED_S:g} s")
        return False
