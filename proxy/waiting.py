"""Reads that are held until their answer would differ, or their time is over. (proxy/waiting.py)

Nothing is answered here with what was known when the wait began: at its end `Reads` answers, as it would answer a
request that comes just then. What a NameNode said to a question that was put for several waiters goes to those alone
who were there before it was put, and in whose very name it was.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from typing import Final, Protocol, TypeAlias

from nncache.cache.decisions import Reason
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.watches import Watch
from nncache.proxy.cache_status import Bypass, shows_path
from nncache.proxy.clients.cached_reply import body_of
from nncache.proxy.conditional import Wish
from nncache.proxy.errors import ClientGoneError, ProxyError
from nncache.proxy.ports import Clock, Fetcher
from nncache.proxy.reads import (
    Collapsed,
    FromMemory,
    FromNameNode,
    PassOn,
    Read,
    ReadAnswer,
    Reads,
    Unanswered,
)
from nncache.proxy.shares import Shares, holder_of

_log = logging.getLogger(__name__)

_CACHE_ERROR: Final = Bypass.CACHE_ERROR
_Woken: TypeAlias = asyncio.Future[bool]
"""Done when there is something to look at; true: the client leaves."""


class WaitEnd(StrEnum):
    """How a wait ended."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    CUT_SHORT = "cut-short"
    ABANDONED = "abandoned"


WAIT_ENDS: Final[Mapping[str, str]] = {
    WaitEnd.CHANGED: "the answer had changed",
    WaitEnd.UNCHANGED: "the time was over",
    WaitEnd.CUT_SHORT: "the proxy could no longer tell whether the answer changes",
    WaitEnd.ABANDONED: "the client left",
}
"""What each end means, for the documentation."""


class Client(Protocol):
    """The connection of one who waits.

    Attributes:
        on_lost: called when the connection is lost, or the client has closed its half; None: nothing is.
        transport: None once the connection is lost.
    """

    on_lost: Callable[[], None] | None
    transport: asyncio.Transport | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """An answer, and what became of the wish to wait for it.

    Attributes:
        applied_s: the wait that was granted; None: none, or it was cut short.
        was_held: it was held at all.
        held_s: for how long.
        is_shared: the NameNode was asked once for several.
    """

    answer: ReadAnswer
    applied_s: int | None = None
    was_held: bool = False
    held_s: float = 0.0
    is_shared: bool = False


class _Round:
    """One question for all who wait in a group.

    Attributes:
        number: of the rounds of its group, from 1.
        touches: of the group's watch when it began.
    """

    __slots__ = ("answer", "number", "touches")

    def __init__(self, number: int, touches: int) -> None:
        self.number = number
        self.touches = touches
        self.answer: asyncio.Future[ReadAnswer] = asyncio.get_running_loop().create_future()


class _Group:
    """All who wait for one path, spelled in one way, as one caller."""

    __slots__ = ("members", "round", "rounds", "waiting", "watch")

    def __init__(self) -> None:
        self.watch: Watch | None = None
        self.members = 0
        self.rounds = 0  # begun so far
        self.round: _Round | None = None  # under way
        self.waiting: dict[_Woken, None] = {}

    def wake(self) -> None:
        """Let all look."""
        for woken in self.waiting:
            _wake(woken)

    @property
    def touches(self) -> int:
        """How often the path may have changed."""
        assert self.watch is not None
        return self.watch.touches


def _wake(woken: _Woken, *, leaves: bool = False) -> None:
    if not woken.done():
        woken.set_result(leaves)


class Waits:
    """All requests that are held.

    Invariants:
        A1  A group's watch begins before the first question of its members.
        A2  A member takes the answer of a round only if that began after the member had come (OwnWrites).
        A3  What `Reads` answers from memory is answered in the same turn of the loop (Bounded).
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        cache: MetadataCache,
        reads: Reads,
        fetcher: Fetcher,
        clock: Clock,
        *,
        max_waiters: int,
    ) -> None:
        self._tasks = tasks  # entered and left by the front end
        self._cache = cache
        self._reads = reads
        self._fetcher = fetcher
        self._clock = clock
        self._shares = Shares(max_waiters)
        self._groups: dict[tuple[str, str], _Group] = {}
        self._is_stopping = False
        self.waiting = 0  # held now
        self.ended: Counter[WaitEnd] = Counter(dict.fromkeys(WaitEnd, 0))
        self.errors = 0  # exceptions of our own, each logged (FailToNameNode)
        self.not_admitted = 0  # answered at once, since too many were held

    def stop(self) -> None:
        """Answer all who wait, and hold none any more."""
        self._is_stopping = True
        for group in self._groups.values():
            group.wake()

    async def answer(self, read: Read, wish: Wish, client: Client | None) -> Waited:
        """Answer a read: at once, or when there is something else to say than what the client knows.

        Raises:
            ClientGoneError: the client left.
        """
        if wish.wait_s <= 0 or read.refresh or self._is_stopping or not self._is_followed(read):
            return Waited(answer=await self._reads.answer(read))
        holder = holder_of(read.head.peer)
        if not self._shares.take(holder):
            self.not_admitted += 1
            return Waited(answer=await self._reads.answer(read))
        key = read.plain.as_requested, read.caller
        group = self._enter(key, read.plain.path)
        try:
            return await self._hold(group, read, wish, client)
        finally:
            self._leave(key, group)
            self._shares.give_back(holder)

    def _is_followed(self, read: Read) -> bool:
        """Whether each change of the path will be seen."""
        return self._cache.why_no_trace(read.plain.path, self._clock()) in {None, Reason.TWO_STEP_WRITE}

    def _is_sure(self, answer: ReadAnswer) -> bool:
        """Whether the answer shows its caller the path, and a change of it will be noticed.

        It will where the next read is answered from memory. What does not exist begins with an event, also while a
        two-step write is to make it. An open file grows without one.
        """
        match answer:
            case FromMemory() | Collapsed():
                return True
            case FromNameNode(reply, why, is_stored):
                is_awaited = why is Reason.TWO_STEP_WRITE and reply.term == self._cache.term
                return is_stored or (
                    is_awaited
                    and reply.status == HTTPStatus.NOT_FOUND
                    and shows_path(reply.status, reply.body)
                )
            case _:
                return False

    def _enter(self, key: tuple[str, str], path: str) -> _Group:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group()
            group.watch = self._cache.store.watches.add(path, group.wake)
        group.members += 1
        return group

    def _leave(self, key: tuple[str, str], group: _Group) -> None:
        group.members -= 1
        if not group.members:
            assert group.watch is not None
            self._cache.store.watches.remove(group.watch)
            del self._groups[key]

    async def _hold(self, group: _Group, read: Read, wish: Wish, client: Client | None) -> Waited:
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = began + wish.wait_s
        entered, seen, is_shared, was_held = group.rounds, group.touches, False, False
        answer = await self._asked(read)
        again = replace(read, asked=None)
        is_over = self._is_stopping
        while not (is_over or _is_met(answer, read, wish)) and (
            group.touches != seen or self._is_sure(answer)  # a change beside the question: it is put again
        ):
            leaves = await self._wait(group, seen, deadline, client)
            if leaves and (client is None or client.transport is None):
                self.ended[WaitEnd.ABANDONED] += 1
                raise ClientGoneError("the client left while it was waiting")
            was_held = True
            is_over = leaves or self._is_stopping or loop.time() >= deadline
            seen, answer = await self._ask(group, again, entered)
            is_shared = not isinstance(answer, FromMemory | Collapsed)
            if not is_shared:  # from memory it is answered in this turn of the loop, or asked for once more
                seen, answer = group.touches, await self._reads.answer(again)
        is_met = _is_met(answer, read, wish)
        end = (
            WaitEnd.CHANGED if is_met else WaitEnd.UNCHANGED if loop.time() >= deadline else WaitEnd.CUT_SHORT
        )
        if was_held:
            self.ended[end] += 1
        applied_s = None if end is WaitEnd.CUT_SHORT else wish.wait_s
        return Waited(
            answer=answer,
            applied_s=applied_s,
            was_held=was_held,
            held_s=loop.time() - began if was_held else 0.0,
            is_shared=is_shared,
        )

    async def _wait(self, group: _Group, seen: int, deadline: float, client: Client | None) -> bool:
        """Wait until the path may have changed since `seen`, the time is over, or the client leaves: then it is true.

        A client that has closed its half may still read an answer, or be gone: it is answered at once.
        """
        if group.touches != seen or self._is_stopping:
            return False
        loop = asyncio.get_running_loop()
        woken: _Woken = loop.create_future()
        timer = loop.call_at(deadline, _wake, woken)
        group.waiting[woken] = None
        self.waiting += 1
        if client is not None:
            client.on_lost = partial(_wake, woken, leaves=True)
        try:
            return await woken
        finally:
            self.waiting -= 1
            del group.waiting[woken]
            timer.cancel()
            if client is not None:
                client.on_lost = None

    async def _ask(self, group: _Group, read: Read, entered: int) -> tuple[int, ReadAnswer]:
        """Return what `Reads` answers to a question for all of the group, and how often it was touched before."""
        under_way = group.round
        if under_way is None or under_way.number <= entered:
            group.rounds += 1
            under_way = group.round = _Round(group.rounds, group.touches)
            asking = self._put(group, under_way, read)
            try:
                self._tasks.create_task(asking)
            except RuntimeError:  # the group of tasks is being shut down
                await asking
        return under_way.touches, await asyncio.shield(under_way.answer)

    async def _put(self, group: _Group, this: _Round, read: Read) -> None:
        """Ask in a task of its own: who leaves costs no other the answer. Never raises."""
        answer: ReadAnswer = PassOn(_CACHE_ERROR)
        try:
            answer = await self._asked(read)
        except Exception:  # noqa: BLE001 - FailToNameNode: whatever it is, the calls are forwarded
            self.errors += 1
            _log.exception("internal error while reading %s; it is forwarded", read.plain.path)
        finally:
            if group.round is this:
                group.round = None
            this.answer.set_result(answer)

    async def _asked(self, read: Read) -> ReadAnswer:
        """Answer as `Reads` does; what that passes on is asked here, so that several can have the reply."""
        answer = await self._reads.answer(read)
        if not isinstance(answer, PassOn):
            return answer
        try:
            reply = await self._fetcher.fetch(read.head)
        except ProxyError as error:
            return Unanswered(error, answer.why)
        return FromNameNode(reply, answer.why, is_stored=False)


def _is_met(answer: ReadAnswer, read: Read, wish: Wish) -> bool:
    """Whether the answer is one for which the client would not wait any longer."""
    match answer:
        case FromMemory(hit):
            reply = hit.entry.reply
            return wish.is_met(reply.status, body_of(reply, read.plain.as_requested))
        case Collapsed(known):
            return wish.is_met(known.reply.status, body_of(known.reply, read.plain.as_requested))
        case FromNameNode(reply=said):
            return wish.is_met(said.status, said.body)
        case _:
            return False
