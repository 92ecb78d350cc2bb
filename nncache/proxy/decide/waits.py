"""Hold requests until their answer changes or their time is over. No other module holds requests.

A wait never ends with the state from its beginning: at its end the question is asked again, as for a new request. The
answer to a shared question reaches only waiters that were queued before the question was sent.

If its connection supports that, a request is held without its task, from its first question on: it keeps only the data
to ask on its behalf and to write its answer. Other requests wait in their tasks. Each iteration of the event loop
checks a limited number of waiters, so that a crowd of waiters does not block other requests.

`WaitQuestions` defines the answers that requests wait for: about paths (`nncache.proxy.decide.path_waits`), or about
entries of the registry (`nncache.registry.rest.waits`).
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

from nncache.cache.watches import PathWatch
from nncache.net.http1.conditional import Conditions
from nncache.net.shares import Shares
from nncache.proxy.admission import AuthLease
from nncache.proxy.clients.paced_work import PacedWork
from nncache.proxy.errors import ClientGoneError, ProxyError, UpstreamUnavailableError

if TYPE_CHECKING:
    from nncache.proxy.clients.connection import ClientConnection

_log = logging.getLogger(__name__)

CHECKS_PER_ITERATION: Final = 64
"""Number of waiters checked in one iteration of the event loop, which takes about three milliseconds."""

QUESTION: Final = 8
"""The cost of sending a question, in checks of a waiter."""

MAX_KEPT_BYTES: Final = 8 * 1024
"""Maximum memory of one held request, in bytes: enough for about 4 KiB of header fields and path."""

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
    WaitEnd.UNCHANGED: "the wait time was over",
    WaitEnd.CUT_SHORT: "the proxy could no longer detect changes of the answer",
    WaitEnd.EXPIRED: "the cookie or token that authenticated the client had ended",
    WaitEnd.ABANDONED: "the client left",
}
"""The meaning of each end, for the documentation."""

_GRANTED: Final = frozenset({WaitEnd.CHANGED, WaitEnd.UNCHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited(Generic[_A]):
    """An answer, and the outcome of waiting for it.

    Attributes:
        applied_s: the wait that was granted, in seconds; None: none, or it was cut short.
        was_held: whether the request was held at all.
        held_s: for how many seconds it was held.
        is_shared: whether the answer is that of a shared question.
    """

    answer: _A
    applied_s: int | None = None
    was_held: bool = False
    held_s: float = 0.0
    is_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitTerms:
    """The terms on which a request may wait.

    Attributes:
        key: equal for requests whose questions are equal, so that their answers cannot differ.
        holder: the client whose share the request uses.
        kept_bytes: the memory that it takes while it is held.
        lease: the validity of the proxy's own authentication; None: the NameNode authenticates, or it does not matter.
        credential: the name of the credential that the lease is for; "": none.
        left_s: seconds until the lease expires by itself.
    """

    key: Hashable
    holder: str
    kept_bytes: int = 0
    lease: AuthLease | None = None
    credential: str = ""
    left_s: float = inf


class AskMode(Enum):
    """How to answer a question."""

    AT_ONCE = auto()  # for a request that is not held
    FIRST = auto()  # for a single waiter, such as one that has just arrived
    AGAIN = auto()  # for all waiters of a group
    PAST_CACHE = auto()  # bypass the cache after an internal error (FailToNameNode)


class WaitQuestions(Protocol[_Q_contra, _A]):
    """One kind of question whose answer requests can wait for."""

    def terms_of(self, question: _Q_contra, conditions: Conditions) -> WaitTerms | None:
        """Return the terms of a wait; None: changes of the answer would not be seen, so the request may not wait."""

    def watch(self, question: _Q_contra, woken: Callable[[], None]) -> PathWatch | None:
        """Call `woken` at each change that may affect the answer; None: there are too many watches."""

    def unwatch(self, key: Hashable, watch: PathWatch) -> None:
        """Remove the watch."""

    async def ask(self, question: _Q_contra, how: AskMode) -> _A:
        """Return the answer as of now."""
        ...

    def unanswered(self, error: ProxyError) -> _A:
        """Return the answer of a question that failed."""
        ...

    def is_met(self, answer: _A, question: _Q_contra, conditions: Conditions) -> bool:
        """Whether the answer is one that the client waits for."""
        ...

    def is_sure(self, answer: _A) -> bool:
        """Whether a change of the answer will be noticed."""
        ...

    def is_shareable(self, answer: _A) -> bool:
        """Whether other waiters of the group may have the answer now."""
        ...

    def is_of_asker(self, answer: _A) -> bool:
        """Whether the answer concerns the one who asked alone, such as the limits of its address."""
        ...

    def path_of(self, question: _Q_contra) -> str:
        """Return the subject of the question, for the log."""
        ...


@dataclass(slots=True, eq=False)
class Waiter(Generic[_Q, _A]):
    """A request that waits.

    Attributes:
        answered: callback that takes the answer; never raises.
        on_check: callback for a waiter that must be checked: its client has left, or its wait is over.
        need: number of the group's rounds when it was queued; only a later round answers it; None: it is not queued.
        is_asking: whether its own question is in flight; it is not in `Group.kept` then.
        is_over: whether it takes the next answer, changed or not.
        is_gone: whether its client has disconnected.
        was_held: whether it has been in `Group.kept`.
    """

    group: "Group[_Q, _A]"
    question: _Q
    conditions: Conditions
    terms: InitVar[WaitTerms]
    on_check: "Callable[[Waiter[_Q, _A]], None]"
    answered: Callable[[Waited[_A]], None] = field(init=False)
    holder: str = field(init=False)
    kept_bytes: int = field(init=False)
    lease: AuthLease | None = field(init=False)
    began: float = field(init=False)
    deadline: float = field(init=False)
    need: int | None = None
    is_asking: bool = True
    is_over: bool = False
    is_gone: bool = False
    was_held: bool = False
    timer: asyncio.TimerHandle = field(init=False)

    def __post_init__(self, terms: WaitTerms) -> None:
        """Start the timer of its deadline. The terms are not kept whole, since there may be many waiters."""
        loop = asyncio.get_running_loop()
        self.holder, self.kept_bytes, self.lease = terms.holder, terms.kept_bytes, terms.lease
        self.began = loop.time()
        self.deadline = self.began + min(self.conditions.wait_s, terms.left_s)
        self.timer = loop.call_at(self.deadline, self.end)

    @property
    def is_admitted(self) -> bool:
        """Whether the proxy's authentication of the caller is still valid."""
        return self.lease is None or self.lease.is_good()

    def end(self) -> None:
        """Have the waiter answered soon: its time is over, or its client has half-closed and may still read."""
        self.is_over = True
        self.on_check(self)

    def abandon(self) -> None:
        """Drop the waiter: its client has disconnected."""
        self.is_gone = True
        if self.group.kept.pop(self, False) is None:
            self.on_check(self)


@dataclass(slots=True, eq=False)
class Group(Generic[_Q, _A]):
    """All waiters with the same key.

    Attributes:
        credential: the credential of all members' leases; "": no lease is for one.
        watch: None once the group has no member.
        members: number of waiters, including those whose first question is in flight.
        kept: the held waiters: their first question was answered.
        queue: the held waiters that must be checked, ordered by `Waiter.need`.
        rounds: number of shared questions begun so far.
        is_asking: whether a shared question is in flight.
        answer: the last shared answer with the `invalidations` before its question, until its waiters are checked.
    """

    key: Hashable
    credential: str = ""
    watch: PathWatch | None = None
    members: int = 0
    kept: dict[Waiter[_Q, _A], None] = field(default_factory=dict)
    queue: deque[Waiter[_Q, _A]] = field(default_factory=deque)
    rounds: int = 0
    is_asking: bool = False
    answer: tuple[_A, int] | None = None

    @property
    def invalidations(self) -> int:
        """Number of times that the answer may have changed."""
        assert self.watch is not None
        return self.watch.invalidations

    def queue_up(self, wait: Waiter[_Q, _A]) -> None:
        """Queue a waiter, unless it is queued, for the answer to a question that is not sent yet."""
        if wait.need is None:
            wait.need = self.rounds
            self.queue.append(wait)

    def first(self) -> Waiter[_Q, _A] | None:
        """Return the first queued waiter that is still held."""
        while self.queue and self.queue[0] not in self.kept:
            self.queue.popleft()
        return self.queue[0] if self.queue else None

    def pop_next(self) -> Waiter[_Q, _A] | None:
        """Remove and return the next waiter queued before the answer's round (OwnWrites); else drop the answer."""
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
        A2  A member takes the answer of a round only if the round began after the member was queued (OwnWrites).
        A3  An answer that can become stale is sent in the same iteration of the loop, or while it is valid (Bounded).
        A4  While a member is queued, a question for it is in flight, or exactly one iteration is scheduled.
        A5  A shared answer reaches no member whose credential has ended, and no other credential than the one
            that asked (ProvenGrant).
        A6  `kept_bytes` is at most MAX_KEPT_BYTES for each held request.

    Attributes:
        is_open: whether a request may be held.
        kept_bytes: memory of the held requests, and of those whose first question is in flight.
        ended: number of waits since start, by how they ended.
        errors: number of internal errors since start, each logged (FailToNameNode).
        not_admitted: number of requests that were not held: too many were held, or the request was too large.
    """

    def __init__(
        self, questions: WaitQuestions[_Q, _A], most: int, tasks: asyncio.TaskGroup | None = None
    ) -> None:
        """Hold at most `most` requests; without `tasks`, hold none until `resume`."""
        self._tasks = tasks
        self._questions = questions
        self._shares = Shares(most)
        self._groups: dict[Hashable, Group[_Q, _A]] = {}
        self._of_credentials: dict[str, set[Group[_Q, _A]]] = {}
        self._checks = PacedWork(self._serve, CHECKS_PER_ITERATION)  # groups with queued waiters
        self._lapsed = PacedWork(self._end_if_lapsed, CHECKS_PER_ITERATION)  # waiters that may have lapsed
        self._is_stopping = False
        self.is_open = tasks is not None
        self.kept_bytes = 0
        self.ended: Counter[WaitEnd] = Counter(dict.fromkeys(WaitEnd, 0))
        self.errors = 0
        self.not_admitted = 0

    @property
    def waiting(self) -> int:
        """Number of requests held at present, without those whose first question is in flight."""
        return sum(len(group.kept) for group in self._groups.values())

    @property
    def is_used(self) -> bool:
        """Whether any request is held, or has its first question in flight."""
        return bool(self._groups)

    def resume(self, tasks: asyncio.TaskGroup) -> None:
        """Hold requests from now on, since changes are reported; their questions run in this task group."""
        self._tasks = tasks
        self.is_open = not self._is_stopping

    def pause(self) -> None:
        """Answer all held requests, since changes are not reported, and hold none until `resume`."""
        self.is_open = False
        for group in self._groups.values():
            self._queue_all(group)

    def stop(self) -> None:
        """Answer all held requests, and hold none from now on."""
        self._is_stopping = True
        self.pause()

    def key_retired(self) -> None:
        """Answer the held requests whose cookie was signed with a retired key."""
        self._check_lapsed(self._groups.values())

    def token_ended(self, name: str) -> None:
        """Answer the held requests whose token is no longer believed."""
        self._check_lapsed(self._of_credentials.get(name, ()))

    def _check_lapsed(self, groups: Iterable[Group[_Q, _A]]) -> None:
        for group in groups:
            for wait in group.kept:
                self._lapsed.add(wait)

    async def answer(
        self,
        question: _Q,
        conditions: Conditions,
        client: "ClientConnection | None",
        keep: Callable[[Waiter[_Q, _A]], bool] | None = None,
    ) -> Waited[_A] | None:
        """Answer a question: immediately, or when the answer differs from what the client knows.

        Args:
            question: the question.
            conditions: what to wait for, and how long.
            client: the request's connection, if it reports its loss.
            keep: holds the request without its task, and sets `Waiter.answered`; False: it must wait in its task.

        Returns:
            None: the request is held, and answered later.

        Raises:
            ClientGoneError: the client has disconnected.
        """
        wait = self._enter(question, conditions)
        if wait is None:
            return Waited(answer=await self._questions.ask(question, AskMode.AT_ONCE))
        if keep is None or not keep(wait):
            return await self._answer_in_task(wait, client)
        self._ask_for(wait, AskMode.FIRST)
        return None

    # -- waiters -------------------------------------------------------------------------------------

    def _enter(self, question: _Q, conditions: Conditions) -> Waiter[_Q, _A] | None:
        """Begin a wait; None: the request may not be held."""
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
                return Waiter(group, question, conditions, terms, self._queue_one)
            self._shares.give_back(terms.holder)
        self.not_admitted += 1
        return None

    def _new_group(self, question: _Q, terms: WaitTerms) -> Group[_Q, _A] | None:
        group: Group[_Q, _A] = Group(terms.key, terms.credential)
        group.watch = self._questions.watch(question, partial(self._queue_all, group))
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
        group.watch = None  # it refers to the group: no collection would find this cycle (housekeeping)
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
            answer = await self._answer_of(wait.question, AskMode.FIRST)
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

    def _ask_for(self, wait: Waiter[_Q, _A], how: AskMode) -> None:
        """Send a question for one waiter alone."""
        self._put(wait.question, how, partial(self._has_asked, wait, wait.group.invalidations))

    def _has_asked(self, wait: Waiter[_Q, _A], seen: int, answer: _A) -> None:
        """Answer a waiter with the answer to its own question, or hold it. Never raises."""
        group, wait.is_asking = wait.group, False
        try:
            waits = not wait.is_gone and self._waits_on(wait, answer, seen)
            waited = None if waits else self._outcome(wait, answer, is_shared=False)
        except Exception:  # noqa: BLE001 - FailToNameNode: the answer is passed on
            self._note_error(wait.question)
            waited = Waited(answer=answer)
        if waited is not None:
            self._finish(wait, waited)
            return
        group.kept[wait] = None
        wait.was_held = True
        if group.invalidations != seen or not wait.is_admitted:  # a change during the question: ask again
            self._queue_one(wait)

    def _waits_on(self, wait: Waiter[_Q, _A], answer: _A, seen: int) -> bool:
        """Whether to keep waiting: the client does not wait for this answer, and a change of it will be noticed."""
        is_over = wait.is_over or not self.is_open or asyncio.get_running_loop().time() >= wait.deadline
        return not (is_over or self._is_met(wait, answer)) and (
            wait.group.invalidations != seen or self._questions.is_sure(answer)
        )

    def _is_met(self, wait: Waiter[_Q, _A], answer: _A) -> bool:
        return self._questions.is_met(answer, wait.question, wait.conditions)

    def _outcome(self, wait: Waiter[_Q, _A], answer: _A, *, is_shared: bool) -> Waited[_A]:
        """Return the outcome of a wait, and count it if the request was held."""
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

    def _begin(self, group: Group[_Q, _A], question: _Q, how: AskMode = AskMode.AGAIN) -> None:
        """Send a question for all waiters of the group."""
        group.rounds += 1
        group.is_asking = True
        self._put(question, how, partial(self._is_answered, group, group.invalidations))

    def _put(self, question: _Q, how: AskMode, answered: Callable[[_A], None]) -> None:
        """Ask in a task of its own: a client's disconnect costs no other waiter the answer."""
        assert self._tasks is not None
        asking = self._answer_to(question, how, answered)
        try:
            self._tasks.create_task(asking)
        except RuntimeError:  # the group of tasks is being shut down
            asking.close()
            answered(self._stopped())

    async def _answer_to(self, question: _Q, how: AskMode, answered: Callable[[_A], None]) -> None:
        """Ask a question, and pass its answer on. Never raises."""
        answer = self._stopped()  # only the stop of the proxy cancels the question
        try:
            answer = await self._answer_of(question, how)
        finally:
            try:
                answered(answer)
            except Exception:  # noqa: BLE001 - it must not take the other questions along
                self._note_error(question)

    async def _answer_of(self, question: _Q, how: AskMode) -> _A:
        """Return the answer to a question; after internal errors, the answer of a question that failed."""
        for each in (how, AskMode.PAST_CACHE):
            try:
                return await self._questions.ask(question, each)
            except Exception:  # noqa: BLE001 - FailToNameNode: whatever it is, ask past the cache
                self._note_error(question)
        return self._questions.unanswered(ProxyError("internal error"))

    def _stopped(self) -> _A:
        return self._questions.unanswered(UpstreamUnavailableError("the proxy is being stopped"))

    def _is_answered(self, group: Group[_Q, _A], seen: int, answer: _A) -> None:
        """End a shared question, and schedule the checks of its waiters."""
        group.is_asking = False
        group.answer = answer, seen
        self._checks.add(group)

    # -- checks --------------------------------------------------------------------------------------

    def _queue_one(self, wait: Waiter[_Q, _A]) -> None:
        """Queue a waiter for its check; count one that has left as abandoned."""
        if wait.is_asking:
            return  # it is checked when its question is answered
        group = wait.group
        if wait in group.kept:
            group.queue_up(wait)
            self._schedule(group)
        else:
            self.ended[WaitEnd.ABANDONED] += 1
            self._leave(wait)

    def _queue_all(self, group: Group[_Q, _A]) -> None:
        for wait in group.kept:
            group.queue_up(wait)
        self._schedule(group)

    def _schedule(self, group: Group[_Q, _A]) -> None:
        """Schedule checks of a group, unless its question is in flight or no waiter is queued."""
        if group.answer is not None or not (group.is_asking or group.first() is None):
            self._checks.add(group)

    def _serve(self, group: Group[_Q, _A], most: int) -> int:
        """Check at most `most` waiters of a group, and send its next question; return the cost in checks."""
        done = 0
        while done < most and (answer := group.answer) is not None and (wait := group.pop_next()) is not None:
            done += 1
            try:
                self._check_one(wait, *answer)
            except Exception:  # noqa: BLE001 - FailToNameNode: ask the NameNode, for it and for those left
                self._note_error(wait.question)
                group.answer = None
                if wait in group.kept:
                    self._ask_apart(wait, AskMode.PAST_CACHE)
                if (first := group.first()) is not None:
                    self._begin(group, first.question, AskMode.PAST_CACHE)
        first = group.first()
        if group.answer is None and not group.is_asking and first is not None:
            done += QUESTION
            if first.is_admitted:
                self._begin(group, first.question)
            else:
                self._ask_apart(first)
        self._schedule(group)
        return done

    def _check_one(self, wait: Waiter[_Q, _A], answer: _A, seen: int) -> None:
        """Answer a held waiter with a shared answer, or keep it waiting."""
        group = wait.group
        if not wait.is_admitted or self._questions.is_of_asker(answer):
            self._ask_apart(wait)
        elif not self._questions.is_shareable(answer):
            group.queue_up(wait)  # it waits for the next question
        elif not self._waits_on(wait, answer, seen):
            waited = self._outcome(wait, answer, is_shared=True)
            del group.kept[wait]
            self._finish(wait, waited)
        elif group.invalidations != seen:  # a change during the question: ask again
            group.queue_up(wait)

    def _end_if_lapsed(self, wait: Waiter[_Q, _A], _: int) -> int:
        """Answer a held waiter if its credential has ended; return 1, the cost of one check."""
        if wait in wait.group.kept and not wait.is_admitted:
            self._ask_apart(wait)
        return 1

    def _ask_apart(self, wait: Waiter[_Q, _A], how: AskMode = AskMode.FIRST) -> None:
        """Answer a waiter by a question of its own. After the end of its lease it asks as `AuthLease.otherwise`."""
        del wait.group.kept[wait]
        wait.is_asking = wait.is_over = True
        self._ask_for(wait, how)

    def _note_error(self, question: _Q) -> None:
        self.errors += 1
        _log.exception("internal error while reading %s; it is forwarded", self._questions.path_of(question))


def _resolve(done: asyncio.Future[Waited[_A]], waited: Waited[_A]) -> None:
    """Answer a request that waits in its task, unless the task is being cancelled."""
    if not done.done():
        done.set_result(waited)


def _lose(client: "ClientConnection", wait: Waiter[_Q, _A], done: asyncio.Future[Waited[_A]]) -> None:
    """End the wait of a client that has half-closed and may still read the answer, or that has disconnected."""
    if done.done():
        return
    if client.transport is not None:
        wait.end()
    else:
        wait.abandon()
        done.set_exception(ClientGoneError("the client left while it was waiting"))
