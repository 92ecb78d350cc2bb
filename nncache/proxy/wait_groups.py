"""Who waits for one path as one caller, and the questions that are put for them.

`nncache.proxy.waiting` decides; here is what it keeps. A request waits in a task of its own, or is kept without one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol, TypeAlias

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Reason
from nncache.cache.watches import Watch
from nncache.proxy.cache_status import shows_path
from nncache.proxy.clients.cached_reply import body_of
from nncache.proxy.conditional import Conditions
from nncache.proxy.reads import Collapsed, FromMemory, FromNameNode, Read, ReadAnswer

Woken: TypeAlias = asyncio.Future[bool]
"""Done when there is something to look at; true: the client leaves."""


class WaitEnd(StrEnum):
    """How a wait ended."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    CUT_SHORT = "cut-short"
    EXPIRED = "expired"
    ABANDONED = "abandoned"


WAIT_ENDS: Final[Mapping[str, str]] = {
    WaitEnd.CHANGED: "the answer had changed",
    WaitEnd.UNCHANGED: "the time was over",
    WaitEnd.CUT_SHORT: "the proxy could no longer tell whether the answer changes",
    WaitEnd.EXPIRED: "the cookie or token by which the proxy knew the client had ended",
    WaitEnd.ABANDONED: "the client left",
}
"""What each end means, for the documentation."""

_GRANTED: Final = frozenset({WaitEnd.CHANGED, WaitEnd.UNCHANGED})

MAX_KEPT_BYTES: Final = 8 * 1024
"""What may be kept of a request that is held: about 4 KiB of header fields and path."""

_PATHS: Final = 4
"""How often the path of a request is kept that is held: in its target, as it is spelled, and as it is watched."""


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
    """An answer, and the outcome of waiting for it.

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


def outcome(
    answer: ReadAnswer, read: Read, conditions: Conditions, spent_s: float, *, was_held: bool, is_shared: bool
) -> tuple[WaitEnd, Waited]:
    """Say how a wait ended that took so long since it began."""
    if not read.is_admitted:
        end = WaitEnd.EXPIRED
    elif is_met(answer, read, conditions):
        end = WaitEnd.CHANGED
    else:
        end = WaitEnd.UNCHANGED if spent_s >= conditions.wait_s else WaitEnd.CUT_SHORT
    return end, Waited(
        answer=answer,
        applied_s=conditions.wait_s if end in _GRANTED else None,
        was_held=was_held,
        held_s=spent_s if was_held else 0.0,
        is_shared=is_shared,
    )


class Keepable(Protocol):
    """A request that may be kept without its task."""

    def keep(self, wait: "KeptWait") -> bool:
        """Have it kept until `answered`; false if its task must wait."""

    def answered(self, waited: Waited) -> None:
        """Send the answer, and count the request. Never raises."""


class Round:
    """One question for all who wait in a group.

    Attributes:
        number: of the rounds of its group, from 1.
        invalidations: of the group's watch when it began.
    """

    __slots__ = ("answer", "invalidations", "number")

    def __init__(self, number: int, invalidations: int) -> None:
        self.number = number
        self.invalidations = invalidations
        self.answer: asyncio.Future[ReadAnswer] = asyncio.get_running_loop().create_future()


class KeptWait:
    """A request that waits without a task.

    Attributes:
        entered: rounds of the group that had begun when it came.
        is_asking: its own question is under way; it is not in `Group.kept`.
        is_over: it is answered, whatever there is to say.
        is_gone: its client left meanwhile.
        is_queued: it is in a queue of its group.
        was_held: it has been one of those in `Group.kept`.
    """

    __slots__ = (
        "_let_look",
        "_timer",
        "began",
        "conditions",
        "deadline",
        "entered",
        "group",
        "is_asking",
        "is_gone",
        "is_over",
        "is_queued",
        "read",
        "request",
        "was_held",
    )

    def __init__(
        self,
        group: "Group",
        read: Read,
        conditions: Conditions,
        request: Keepable,
        *,
        entered: int,
        began: float,
        deadline: float,
        let_look: Callable[["KeptWait"], None],
    ) -> None:
        """Begin; `let_look` is called when it has left or is over."""
        self.group = group
        self.read = read
        self.conditions = conditions
        self.request = request
        self.entered = entered
        self.began = began
        self.deadline = deadline
        self.is_asking = True
        self.is_over = False
        self.is_gone = False
        self.is_queued = False
        self.was_held = False
        self._let_look = let_look
        self._timer = asyncio.get_running_loop().call_at(self.deadline, self.end)

    def end(self) -> None:
        """Have it answered soon: its time is over, or its client has closed its half and may still read."""
        self.is_over = True
        self._let_look(self)

    def abandon(self) -> None:
        """Answer it no more: its client is gone."""
        self.is_gone = True
        if self.group.kept.pop(self, False) is None:
            self.release()
            self._let_look(self)

    def release(self) -> None:
        """Look at the clock no more."""
        self._timer.cancel()


@dataclass(slots=True)
class Said:
    """An answer on its way to those who are kept.

    Attributes:
        seen: touches of the group before the question.
        to: those that have not got it yet.
    """

    answer: ReadAnswer
    seen: int
    to: deque[KeptWait]


class GroupKey(NamedTuple):
    """Whose questions are alike: nothing of the reply tells them apart.

    Attributes:
        spelling: of the path, as it is requested.
        caller: who asks.
        credential: the name of what says so to the NameNode, beside the target; "": nothing does.
    """

    spelling: str
    caller: Caller
    credential: str


class Group:
    """All who wait for one path, spelled in one way, as one caller who shows one credential.

    Attributes:
        key: that of all of them.
        members: how many, kept or not.
        rounds: begun so far.
        round: under way.
        waiting: those with a task.
        kept: those without one.
        queue: those of them who have to look, but for those in `said`.
        said: the last answer, until all its recipients have read it.
    """

    __slots__ = ("kept", "key", "members", "queue", "round", "rounds", "said", "waiting", "watch")

    def __init__(self, key: GroupKey) -> None:
        self.key = key
        self.watch: Watch | None = None
        self.members = 0
        self.rounds = 0
        self.round: Round | None = None
        self.waiting: dict[Woken, Read] = {}
        self.kept: dict[KeptWait, None] = {}
        self.queue: deque[KeptWait] = deque()
        self.said: Said | None = None

    @property
    def invalidations(self) -> int:
        """How often the path may have changed."""
        assert self.watch is not None
        return self.watch.invalidations

    def queue_up(self, wait: KeptWait) -> None:
        """Have one look, once."""
        if not wait.is_queued:
            wait.is_queued = True
            self.queue.append(wait)

    def queue_all_of(self, said: "Said") -> None:
        """Have those look at the next answer who have not looked at this one."""
        self.queue.extendleft(reversed(said.to))
        self.said = None

    def first(self) -> KeptWait | None:
        """Return who has to look first, without those who are gone."""
        while self.queue and self.queue[0] not in self.kept:
            self.queue.popleft()
        return self.queue[0] if self.queue else None

    def split_off(self, number: int) -> deque[KeptWait]:
        """Take those out of the queue who were there before this round began (OwnWrites)."""
        there = deque(wait for wait in self.queue if wait.entered < number)
        self.queue = deque(wait for wait in self.queue if wait.entered >= number)
        return there


def wake(woken: Woken, *, leaves: bool = False) -> None:
    """Let one with a task look."""
    if not woken.done():
        woken.set_result(leaves)


def key_of(read: Read) -> GroupKey:
    """Say whose questions are alike."""
    credential = "" if read.credential is None else read.credential.name
    return GroupKey(read.plain.as_requested, read.caller, credential)


def kept_bytes_of(read: Read, conditions: Conditions) -> int:
    """Return what is kept of a request while it is held."""
    return conditions.kept_bytes + _PATHS * len(read.head.target)


def is_met(answer: ReadAnswer, read: Read, conditions: Conditions) -> bool:
    """Whether the answer is one for which the client would not wait any longer."""
    match answer:
        case FromMemory(hit):
            reply = hit.entry.reply
            return conditions.is_met(reply.status, body_of(reply, read.plain.as_requested))
        case Collapsed(known):
            return conditions.is_met(known.reply.status, body_of(known.reply, read.plain.as_requested))
        case FromNameNode(reply=said):
            return conditions.is_met(said.status, said.body)
        case _:
            return False


def is_sure(answer: ReadAnswer, term: int | None) -> bool:
    """Whether the answer shows its caller the path, and a change of it will be noticed; `term` is the cache's.

    It will where the next read is answered from memory. What does not exist begins with an event, also while a
    two-step write is to make it. An open file grows without one.
    """
    match answer:
        case FromMemory() | Collapsed():
            return True
        case FromNameNode(reply, why, _, is_known):
            is_awaited = why is Reason.TWO_STEP_WRITE and reply.term == term
            return is_known or (
                is_awaited and reply.status == HTTPStatus.NOT_FOUND and shows_path(reply.status, reply.body)
            )
        case _:
            return False
