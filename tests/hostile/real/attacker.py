"""The attacker on the real stack: any cheap calls, while other users poll.

The invariants are those of the model: others' hits stay hits, and no answer differs from the NameNode's. Each
refused call, and each read, is also sent directly to the NameNode, as the same user.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.hostile.attacker.calls import ATTACKER, LAYOUT, PATHS, WATCHED, AttackCall, create, draw
from tests.hostile.real.paths import RawAsker
from tests.real.proxied_cluster import CallTarget, ProxiedCluster

MAX_WINDOWS: Final = 320
"""Few enough for an attacker to use up a share; then only directories that they may write to are covered."""
_FLOOD: Final = 30
_BATCH: Final = 5
_LEAST_BATCHES_BETWEEN_UPLOADS: Final = 6


@dataclass
class RealFigures:
    """The outcome of a run.

    Attributes:
        calls: sent by the attacker.
        polls: by the other users; `hits` counts the hits among them.
        compared: answers compared with the NameNode's own.
        lost: polls that were no hit, with the calls before; one line each.
        differ: answers that differ, one line each.
    """

    calls: int = 0
    polls: int = 0
    hits: int = 0
    compared: int = 0
    lost: list[str] = field(default_factory=list)
    differ: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report, one item a line."""
        return [
            f"attacker on the real stack: {self.calls:,} calls",
            f"  {self.hits:,} of {self.polls:,} polls of others were hits",
            f"  {self.compared:,} answers compared with the NameNode's, {len(self.differ)} differ",
        ]

    def shortfalls(self, *, calls: int) -> list[str]:
        """Return each requirement that the run does not meet."""
        short = [f"attacker on the real stack: {what}" for what in (*self.lost[:10], *self.differ[:10])]
        if self.calls < calls:
            short.append(f"attacker on the real stack: {self.calls:,} calls instead of {calls:,}")
        if not self.compared:
            short.append("attacker on the real stack: no answer was compared")
        return short


def lay_out(proxied_cluster: ProxiedCluster, directory: str) -> None:
    """Create the attacked paths, in a directory where only its owner may rename."""
    proxied_cluster.do(CallTarget.NAMENODE, "PUT", "SETPERMISSION", directory, permission="755")
    for path, (is_directory, owner, mode) in LAYOUT.items():
        at = directory + path
        if is_directory:
            proxied_cluster.mkdirs(at)
        else:
            proxied_cluster.put(CallTarget.NAMENODE, at, b"x")
        for op, what in (("SETPERMISSION", {"permission": f"{mode:o}"}), ("SETOWNER", {"owner": owner})):
            proxied_cluster.do(CallTarget.NAMENODE, "PUT", op, at, **what)
    proxied_cluster.settle()


class RealAttack:
    """One run of the attacker."""

    def __init__(self, proxied_cluster: ProxiedCluster, directory: str, *, seed: int) -> None:
        self.figures = RealFigures()
        self._proxied = proxied_cluster
        self._directory = directory
        self._chance = random.Random(seed)
        self._named = [directory + path for path in PATHS]
        self._sent: list[str] = []  # since the last poll

    async def run(self, calls: int, progress: Callable[[int], None] = lambda _: None) -> RealFigures:
        """Send this number of calls in small batches; poll after each batch."""
        with (
            RawAsker(self._proxied.proxy.address) as through,
            RawAsker(self._proxied.cluster.namenodes[0].http) as direct,
        ):
            self._warm()
            batch = 0
            while self.figures.calls < calls and not self.figures.lost:
                batch += 1
                for call in self._batch(batch):
                    await self._send(call, through, direct)
                if batch % _LEAST_BATCHES_BETWEEN_UPLOADS == 0:
                    self._upload(batch)
                await self._poll()
                progress(min(self.figures.calls, calls))
        return self.figures

    def _warm(self) -> None:
        for user, path in WATCHED:
            self._proxied.make_hit(self._directory + path, user)
        self._proxied.settle()

    def _batch(self, number: int) -> list[AttackCall]:
        if number % 20 == 0:
            top = self._chance.choice(self._named)
            return [create(f"{top}/n{each}/x") for each in range(_FLOOD)]
        return [draw(self._chance, self._named) for _ in range(_BATCH)]

    async def _send(self, call: AttackCall, through: RawAsker, direct: RawAsker) -> None:
        self.figures.calls += 1
        self._sent.append(str(call))
        target = call.target.encode("utf-8", "surrogateescape")
        reply = await through.ask(call.method, target, call.fields)
        if call.method != "GET" and reply.status < 400:
            return
        expected = await direct.ask(call.method, target, call.fields)
        self.figures.compared += 1
        if reply.is_own:
            if expected.status < 400:
                self.figures.differ.append(f"{call}: refused, but the NameNode says {expected.status}")
        elif reply.status != expected.status:
            self.figures.differ.append(f"{call}: {reply.status}, but the NameNode says {expected.status}")
        elif call.op == "GETFILESTATUS" and reply.body != expected.body:
            self.figures.differ.append(f"{call}: {reply.body!r}, but the NameNode says {expected.body!r}")

    def _upload(self, number: int) -> None:
        """Write a file of the attacker's, in both steps, below a directory that is still missing."""
        self.figures.calls += 1
        path = f"{self._directory}/h/{ATTACKER}/up{number}/x"
        self._sent.append(f"both steps of a CREATE of {path}")
        self._proxied.must(self._proxied.write(CallTarget.PROXY, path, b"x", ATTACKER))

    async def _poll(self) -> None:
        await asyncio.sleep(0.02)
        lost = []
        for user, path in WATCHED:
            reply = self._proxied.ask(self._directory + path, user)
            self.figures.polls += 1
            self.figures.hits += reply.is_hit
            if not reply.is_hit:
                lost.append(f"{path} for {user}: {reply.header('Cache-Status')}")
        if lost:
            self.figures.lost.append(f"{', '.join(lost)} after: {'; '.join(self._sent)}")
        self._sent = []
