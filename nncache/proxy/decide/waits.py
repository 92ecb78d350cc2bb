"""Requests that are held until their answer would differ, or their time is over: the one way in which any is.

Nothing is answered here with what was known when a wait began: at its end the question is put again, as for a request
that comes just then. A reply to a question that was put for several goes to those alone who had to look before.

A request that its connection can let go of is kept without its task, from its first question on: all that waits of it
is what is needed to ask in its name and to write its answer. Any other waits in its task. Those who wait are looked at
a few in each iteration of the event loop, so that a crowd that waits for one thing stops no other.

What is waited for is given as `Questions`: paths (`nncache.proxy.decide.path_waits`), or entries of the registry
(`nncache.registry.rest.waits`).
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from enum import Enum, StrEnum, auto
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from nncache.cache.watches import Watch
from nncache.net.http1.conditional import Conditions
from nncache.net.shares import Shares
from nncache.proxy.admission import Lease
from nncache.proxy.clients.paced_work import PacedWork
from nncache.proxy.errors import ClientGoneError, NoActiveNameNodeError, ProxyError

if TYPE_CHECKING:
    from nncache.proxy.clients.connection import ClientConnection

_log = logging.getLogger(__name__)

LOOKS_PER_ITERATION: Final = 64
"""Requests that look in an iteration of the event loop: so many take about three milliseconds."""

QUESTION: Final = 8
"""To put a question takes as long as for so many to look."""

MAX_KEPT_BYTES: Final = 8 * 1024
"""What may be kept of a request that is held: about 4 KiB of header fields and path."""

_Q = TypeVar("_Q")
_Q_contra = TypeVar("_Q_contra", contravariant=True)
_A = TypeVar("_A")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited(Generic[_A]):
    """An answer, and the outcome of waiting for it.

    Attributes:
        applied_s: the wait that was granted; None: none, or it was cut short.
        was_held: it was held at all.
        held_s: for how long.
        is_shared: the question was put once for several.
    """

    answer: _A
    applied_s: int | None = None
    was_held: bool = False
    held_s: float = 0.0
    is_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On which terms a request may wait.

    Attributes:
        key: alike for those whose questions are: nothing of the answer tells them apart.
        holder: whose share it takes.
        kept_bytes: of memory, while it is held.
        lease: by what the proxy itself says who asks; None: the NameNode does, or it does not matter.
        credential: the name of what the lease is for; "": it has none.
        left_s: until the lease ends by itself.
    """

    key: Hashable
    holder: str
    kept_bytes: int = 0
    lease: Lease | None = None
    credential: str = ""
    left_s: float = inf


class How(Enum):
    """How a question is to be answered."""

    AT_ONCE = auto()  # for a request that is not held
    FIRST = auto()  # for one that has just come
    AGAIN = auto()  # for all of a key
    PAST_CACHE = auto()  # although it was tried, and failed (FailToNameNode)


class Questions(Protocol[_Q_contra, _A]):
    """What requests wait for."""

    def terms_of(self, question: _Q_contra, conditions: Conditions) -> Terms | None:
        """Say how a request may wait; None: its changes are not known, so that it may not."""

    def watch(self, question: _Q_contra, woken: Callable[[], None]) -> Watch | None:
        """Have `woken` called at each change that may concern the answer; None: too much is watched."""

    def unwatch(self, key: Hashable, watch: Watch) -> None:
        """Watch no more."""

    async def ask(self, question: _Q_contra, how: How) -> _A:
        """Return the answer as of now."""
        ...

    def unanswered(self, error: ProxyError) -> _A:
        """Return the answer where there is none."""
        ...

    def is_met(self, answer: _A, question: _Q_contra, conditions: Conditions) -> bool:
        """Whether the client would not wait any longer for another answer."""
        ...

    def is_sure(self, answer: _A) -> bool:
        """Whether a change of the answer will be noticed."""
        ...

    def is_for_others(self, answer: _A) -> bool:
        """Whether the answer may be given to another of the key now."""
        ...

    def path_of(self, question: _Q_contra) -> str:
        """Return what the question is about, for the log."""
        ...


@dataclass(slots=True, eq=False)
class Waiter(Generic[_Q, _A]):
    """A request that waits.

    Attributes:
        answered: takes the answer; never raises.
        let_look: is called when it has left or is over.
        need: rounds of its group that had begun when it had to look; only a later one answers it; None: it need not.
        is_asking: its own question is under way; it is not in `Group.kept`.
        is_over: it is answered, whatever there is to say.
        is_gone: its client left meanwhile.
        was_held: it has been one of those in `Group.kept`.
    """

    group: "Group[_Q, _A]"
    question: _Q
    conditions: Conditions
    terms: InitVar[Terms]
    let_look: "Callable[[Waiter[_Q, _A]], None]"
    answered: Callable[[Waited[_A]], None] = field(init=False)
    holder: str = field(init=False)
    kept_bytes: int = field(init=False)
    lease: Lease | None = field(init=False)
    began: float = field(init=False)
    deadline: float = field(init=False)
    need: int | None = None
    is_asking: bool = True
    is_over: bool = False
    is_gone: bool = False
    was_held: bool = False
    timer: asyncio.TimerHandle = field(init=False)

    def __post_init__(self, terms: Terms) -> None:
        """Have it end in its time; of the terms little is kept, since many wait."""
        loop = asyncio.get_running_loop()
        self.holder, self.kept_bytes, self.lease = terms.holder, terms.kept_bytes, terms.lease
        self.began = loop.time()
        self.deadline = self.began + min(self.conditions.wait_s, terms.left_s)
        self.timer = loop.call_at(self.deadline, self.end)

    @property
    def is_admitted(self) -> bool:
        """Whether it is still known who asks."""
        return self.lease is None or self.lease.is_good()

    def end(self) -> None:
        """Have it answered soon: its time is over, or its client has closed its half and may still read."""
        self.is_over = True
        self.let_look(self)

    def abandon(self) -> None:
        """Answer it no more: its client is gone."""
        self.is_gone = True
        if self.group.kept.pop(self, False) is None:
            self.let_look(self)


@dataclass(slots=True, eq=False)
class Group(Generic[_Q, _A]):
    """All who wait on the same key.

    Attributes:
        credential: of all of them; "": none has a lease for one.
        watch: None once it has no member.
        members: how many, those included who ask for the first time.
        kept: those who have asked once.
        queue: those of them who have to look, in the order of their needs.
        rounds: questions for all of them, begun so far.
        is_asking: one is under way.
        answer: the one to the last one, and `invalidations` before it, until all for whom it is have looked.
    """

    key: Hashable
    credential: str = ""
    watch: Watch | None = None
    members: int = 0
    kept: dict[Waiter[_Q, _A], None] = field(default_factory=dict)
    queue: deque[Waiter[_Q, _A]] = field(default_factory=deque)
    rounds: int = 0
    is_asking: bool = False
    answer: tuple[_A, int] | None = None

    @property
    def invalidations(self) -> int:
        """How often the answer may have changed."""
        assert self.watch is not None
        return self.watch.invalidations

    def queue_up(self, wait: Waiter[_Q, _A]) -> None:
        """Have one look, once, at the answer to a question that is still to be put."""
        if wait.need is None:
            wait.need = self.rounds
            self.queue.append(wait)

    def first(self) -> Waiter[_Q, _A] | None:
        """Return who has to look first, without those who are gone."""
        while self.queue and self.queue[0] not in self.kept:
            self.queue.popleft()
        return self.queue[0] if self.queue else None

    def pop_next(self) -> Waiter[_Q, _A] | None:
        """Take out who looks next at the answer that is there: who had to before its round began (OwnWrites)."""
        wait = self.first()
        if wait is None or wait.need is None or wait.need >= self.rounds:
            self.answer = None
            return None
        wait.need = None
        return self.queue.popleft()


class Waits(Generic[_Q, _A]):
    """All requests that are held for one kind of question.

    Invariants:
        A1  A group's watch begins before the first question of its members.
        A2  A member takes the answer of a round only if that began after the member had to look (OwnWrites).
        A3  An answer that ages is given in the same iteration of the loop, or while it is good (Bounded).
        A4  While a member has to look, a question for it is under way, or exactly one iteration is scheduled.
        A5  What is answered to others goes to no one whose credential has ended, nor to another credential than that
            with which it was asked (ProvenGrant).
        A6  `kept_bytes` is at most MAX_KEPT_BYTES for each that is held.

    Attributes:
        is_open: a request may be held.
        kept_bytes: of those who are held, and of those who ask for the first time.
        ended: waits, by how they ended.
        errors: exceptions of our own, each logged (FailToNameNode).
        not_admitted: answered at once, since too many were held, or it was too large.
    """

    def __init__(
        self, questions: Questions[_Q, _A], most: int, tasks: asyncio.TaskGroup | None = None
    ) -> None:
        """Hold at most so many; without tasks none, until `resume` has brought them."""
        self._tasks = tasks
        self._questions = questions
        self._shares = Shares(most)
        self._groups: dict[Hashable, Group[_Q, _A]] = {}
        self._of_credentials: dict[str, set[Group[_Q, _A]]] = {}
        self._looks = PacedWork(self._serve, LOOKS_PER_ITERATION)  # groups of which some have to look
        self._lapses = PacedWork(self._end_if_lapsed, LOOKS_PER_ITERATION)  # whose credential may have ended
        self._is_stopping = False
        self.is_open = tasks is not None
        self.kept_bytes = 0
        self.ended: Counter[WaitEnd] = Counter(dict.fromkeys(WaitEnd, 0))
        self.errors = 0
        self.not_admitted = 0

    @property
    def waiting(self) -> int:
        """How many are held now, without those who ask for the first time."""
        return sum(len(group.kept) for group in self._groups.values())

    @property
    def is_used(self) -> bool:
        """Whether any is held, or asks for the first time."""
        return bool(self._groups)

    def resume(self, tasks: asyncio.TaskGroup) -> None:
        """Hold requests from now on, since changes are reported; their questions are tasks of this group."""
        self._tasks = tasks
        self.is_open = not self._is_stopping

    def pause(self) -> None:
        """Answer all who wait, since changes are not reported, and hold none until `resume`."""
        self.is_open = False
        for group in self._groups.values():
            self._let_all_look(group)

    def stop(self) -> None:
        """Answer all who wait, and hold none any more."""
        self._is_stopping = True
        self.pause()

    def key_retired(self) -> None:
        """Have those answered at once whose cookie a key has signed that is in use no more."""
        self._see_lapses(self._groups.values())

    def token_ended(self, name: str) -> None:
        """Have those answered at once who have shown a token that is believed no more."""
        self._see_lapses(self._of_credentials.get(name, ()))

    def _see_lapses(self, groups: Iterable[Group[_Q, _A]]) -> None:
        for group in groups:
            for wait in group.kept:
                self._lapses.add(wait)

    async def answer(
        self,
        question: _Q,
        conditions: Conditions,
        client: "ClientConnection | None",
        keep: Callable[[Waiter[_Q, _A]], bool] | None = None,
    ) -> Waited[_A] | None:
        """Answer a question: at once, or when there is something else to say than what the client knows.

        Args:
            question: is answered.
            conditions: what to wait for, and how long.
            client: its connection, if that says when it is lost.
            keep: has the request kept without its task, and sets `Waiter.answered`; false if it must wait in it.

        Returns:
            None: the request is kept, and answered later.

        Raises:
            ClientGoneError: the client left.
        """
        wait = self._enter(question, conditions)
        if wait is None:
            return Waited(answer=await self._questions.ask(question, How.AT_ONCE))
        if keep is None or not keep(wait):
            return await self._answer_in_task(wait, client)
        self._ask_for(wait, How.FIRST)
        return None

    # -- who waits -----------------------------------------------------------------------------------

    def _enter(self, question: _Q, conditions: Conditions) -> Waiter[_Q, _A] | None:
        """Begin a wait; None: it is not held."""
        if conditions.wait_s <= 0 or not self.is_open:
            return None
        terms = self._questions.terms_of(question, conditions)
        if terms is None:
            return None
        if terms.kept_bytes <= MAX_KEPT_BYTES and self._shares.take(terms.holder):
            group = self._groups.get(terms.key) or self._new_group(question, terms)
            if group is not None:
                group.members += 1
                self.kept_bytes += terms.kept_bytes
                return Waiter(group, question, conditions, terms, self._let_one_look)
            self._shares.give_back(terms.holder)
        self.not_admitted += 1
        return None

    def _new_group(self, question: _Q, terms: Terms) -> Group[_Q, _A] | None:
        group: Group[_Q, _A] = Group(terms.key, terms.credential)
        group.watch = self._questions.watch(question, partial(self._let_all_look, group))
        if group.watch is None:
            return None
        self._groups[terms.key] = group
        if group.credential:
            self._of_credentials.setdefault(group.credential, set()).add(group)
        return group

    def _leave(self, wait: Waiter[_Q, _A]) -> None:
        wait.timer.cancel()
        self.kept_bytes -= wait.kept_bytes
        self._shares.give_back(wait.holder)
        group = wait.group
        group.members -= 1
        if group.members:
            return
        assert group.watch is not None
        self._questions.unwatch(group.key, group.watch)
        group.watch = None  # which knows the group: no collection would find the two (housekeeping)
        del self._groups[group.key]
        if (ours := self._of_credentials.get(group.credential)) is not None:
            ours.discard(group)
            if not ours:
                del self._of_credentials[group.credential]

    async def _answer_in_task(self, wait: Waiter[_Q, _A], client: "ClientConnection | None") -> Waited[_A]:
        done: asyncio.Future[Waited[_A]] = asyncio.get_running_loop().create_future()
        wait.answered = partial(_resolve, done)
        seen = wait.group.invalidations
        try:
            answer = await self._answer_of(wait.question, How.FIRST)
        except asyncio.CancelledError:
            self._leave(wait)
            raise
        self._has_asked(wait, seen, answer)
        try:
            if client is not None and not done.done():
                client.on_lost = partial(_lose, client, wait, done)
                if client.has_closed():  # before `on_lost` was set
                    client.on_lost()
            return await done
        except asyncio.CancelledError:
            wait.abandon()
            raise
        finally:
            if client is not None:
                client.on_lost = None

    def _ask_for(self, wait: Waiter[_Q, _A], how: How) -> None:
        """Put a question for one alone."""
        self._put(wait.question, how, partial(self._has_asked, wait, wait.group.invalidations))

    def _has_asked(self, wait: Waiter[_Q, _A], seen: int, answer: _A) -> None:
        """Answer one whose own question is answered, or let it wait. Never raises."""
        group, wait.is_asking = wait.group, False
        try:
            waits = not wait.is_gone and self._waits_on(wait, answer, seen)
            waited = None if waits else self._outcome(wait, answer, is_shared=False)
        except Exception:  # noqa: BLE001 - FailToNameNode: what was answered is passed on
            self._note_error(wait.question)
            waited = Waited(answer=answer)
        if waited is not None:
            self._finish(wait, waited)
            return
        group.kept[wait] = None
        wait.was_held = True
        if (
            group.invalidations != seen or not wait.is_admitted
        ):  # a change beside the question: it is put again
            self._let_one_look(wait)

    def _waits_on(self, wait: Waiter[_Q, _A], answer: _A, seen: int) -> bool:
        """Whether there is nothing to say yet, and it will be noticed when there is."""
        is_over = wait.is_over or not self.is_open or asyncio.get_running_loop().time() >= wait.deadline
        return not (is_over or self._is_met(wait, answer)) and (
            wait.group.invalidations != seen or self._questions.is_sure(answer)
        )

    def _is_met(self, wait: Waiter[_Q, _A], answer: _A) -> bool:
        return self._questions.is_met(answer, wait.question, wait.conditions)

    def _outcome(self, wait: Waiter[_Q, _A], answer: _A, *, is_shared: bool) -> Waited[_A]:
        """Say how a wait ended, and count it if there was one."""
        spent_s = asyncio.get_running_loop().time() - wait.began
        if wait.is_gone:
            end = WaitEnd.ABANDONED
        elif not wait.is_admitted:
            end = WaitEnd.EXPIRED
        elif self._is_met(wait, answer):
            end = WaitEnd.CHANGED
        else:
            end = WaitEnd.UNCHANGED if spent_s >= wait.conditions.wait_s else WaitEnd.CUT_SHORT
        if wait.was_held:
            self.ended[end] += 1
        return Waited(
            answer=answer,
            applied_s=wait.conditions.wait_s if end in _GRANTED else None,
            was_held=wait.was_held,
            held_s=spent_s if wait.was_held else 0.0,
            is_shared=is_shared,
        )

    def _finish(self, wait: Waiter[_Q, _A], waited: Waited[_A]) -> None:
        self._leave(wait)
        if not wait.is_gone:
            wait.answered(waited)

    # -- questions -----------------------------------------------------------------------------------

    def _begin(self, group: Group[_Q, _A], question: _Q, how: How = How.AGAIN) -> None:
        """Put a question for all of the group."""
        group.rounds += 1
        group.is_asking = True
        self._put(question, how, partial(self._is_answered, group, group.invalidations))

    def _put(self, question: _Q, how: How, answered: Callable[[_A], None]) -> None:
        """Ask in a task of its own: who leaves costs no other the answer."""
        assert self._tasks is not None
        asking = self._answer_to(question, how, answered)
        try:
            self._tasks.create_task(asking)
        except RuntimeError:  # the group of tasks is being shut down
            asking.close()
            answered(self._stopped())

    async def _answer_to(self, question: _Q, how: How, answered: Callable[[_A], None]) -> None:
        """Give a question its answer. Never raises."""
        answer = self._stopped()  # only the end of the proxy cancels it
        try:
            answer = await self._answer_of(question, how)
        finally:
            try:
                answered(answer)
            except Exception:  # noqa: BLE001 - it must not take the other questions along
                self._note_error(question)

    async def _answer_of(self, question: _Q, how: How) -> _A:
        """Return the answer to a question, also if there is none."""
        for each in (how, How.PAST_CACHE):
            try:
                return await self._questions.ask(question, each)
            except Exception:  # noqa: BLE001 - FailToNameNode: whatever it is, it is asked
                self._note_error(question)
        return self._questions.unanswered(ProxyError("internal error"))

    def _stopped(self) -> _A:
        return self._questions.unanswered(NoActiveNameNodeError("the proxy is being stopped"))

    def _is_answered(self, group: Group[_Q, _A], seen: int, answer: _A) -> None:
        """End a question: let those look at the answer, in their turn, for whom it was put."""
        group.is_asking = False
        group.answer = answer, seen
        self._looks.add(group)

    # -- looks ---------------------------------------------------------------------------------------

    def _let_one_look(self, wait: Waiter[_Q, _A]) -> None:
        """Have one look in its turn; of one that is gone, take note."""
        if wait.is_asking:
            return  # it is looked at when its question is answered
        group = wait.group
        if wait in group.kept:
            group.queue_up(wait)
            self._let_look(group)
        else:
            self.ended[WaitEnd.ABANDONED] += 1
            self._leave(wait)

    def _let_all_look(self, group: Group[_Q, _A]) -> None:
        for wait in group.kept:
            group.queue_up(wait)
        self._let_look(group)

    def _let_look(self, group: Group[_Q, _A]) -> None:
        """Have a group looked at, unless its question is under way or none has to look."""
        if group.answer is not None or not (group.is_asking or group.first() is None):
            self._looks.add(group)

    def _serve(self, group: Group[_Q, _A], most: int) -> int:
        """Let at most so many of a group look, or put their question; return how much that was."""
        done = 0
        while done < most and (answer := group.answer) is not None and (wait := group.pop_next()) is not None:
            done += 1
            try:
                self._look(wait, *answer)
            except Exception:  # noqa: BLE001 - FailToNameNode: the NameNode is asked for it, and for those who are left
                self._note_error(wait.question)
                group.answer = None
                if wait in group.kept:
                    self._ask_apart(wait, How.PAST_CACHE)
                if (first := group.first()) is not None:
                    self._begin(group, first.question, How.PAST_CACHE)
        first = group.first()
        if group.answer is None and not group.is_asking and first is not None:
            done += QUESTION
            if first.is_admitted:
                self._begin(group, first.question)
            else:
                self._ask_apart(first)
        self._let_look(group)
        return done

    def _look(self, wait: Waiter[_Q, _A], answer: _A, seen: int) -> None:
        """Answer one who is kept, or let it wait on."""
        group = wait.group
        if not wait.is_admitted:
            self._ask_apart(wait)
        elif not self._questions.is_for_others(answer):
            group.queue_up(wait)  # the next time it is its own
        elif not self._waits_on(wait, answer, seen):
            waited = self._outcome(wait, answer, is_shared=True)
            del group.kept[wait]
            self._finish(wait, waited)
        elif group.invalidations != seen:  # a change beside the question: it is put again
            group.queue_up(wait)

    def _end_if_lapsed(self, wait: Waiter[_Q, _A], _: int) -> int:
        """Have one answered whose credential has ended; return that this was one look."""
        if wait in wait.group.kept and not wait.is_admitted:
            self._ask_apart(wait)
        return 1

    def _ask_apart(self, wait: Waiter[_Q, _A], how: How = How.FIRST) -> None:
        """Answer one by a question of its own, that whose credential has ended as what it is without."""
        del wait.group.kept[wait]
        wait.is_asking = wait.is_over = True
        self._ask_for(wait, how)

    def _note_error(self, question: _Q) -> None:
        self.errors += 1
        _log.exception("internal error while reading %s; it is forwarded", self._questions.path_of(question))


def _resolve(done: asyncio.Future[Waited[_A]], waited: Waited[_A]) -> None:
    """Answer one that waits in its task, unless that is being cancelled."""
    if not done.done():
        done.set_result(waited)


def _lose(client: "ClientConnection", wait: Waiter[_Q, _A], done: asyncio.Future[Waited[_A]]) -> None:
    """End the wait of a client that has closed its half, which may still read the answer, or is gone."""
    if done.done():
        return
    if client.transport is not None:
        wait.end()
    else:
        wait.abandon()
        done.set_exception(ClientGoneError("the client left while it was waiting"))
