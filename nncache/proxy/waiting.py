"""Reads that are held until their answer would differ, or their time is over.

Nothing is answered here with what was known when the wait began: at its end `Reads` answers, as it would answer a
request that comes just then. What a NameNode said to a question that was put for several waiters goes to those alone
who were there before it was put, and in whose very name it was.

A request that its connection can let go of is kept without its task (`nncache.proxy.wait_groups`), from its first
question on: all that waits of it is what is needed to ask in its name and to write its answer. Those who wait are
looked at a few in each turn of the event loop, so that a crowd that waits for one path stops no other.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from typing import Final

from nncache.cache.decisions import Reason
from nncache.cache.metadata_cache import MetadataCache
from nncache.net.shares import Shares, holder_of
from nncache.proxy.cache_status import Bypass, ForwardReason
from nncache.proxy.conditional import Conditions
from nncache.proxy.errors import ClientGoneError, NoActiveNameNodeError, ProxyError
from nncache.proxy.paced_work import PacedWork
from nncache.proxy.ports import Clock, Fetcher
from nncache.proxy.reads import (
    Collapsed,
    FromMemory,
    FromNameNode,
    NotAdmitted,
    PassOn,
    Read,
    ReadAnswer,
    Reads,
    Unanswered,
)
from nncache.proxy.wait_groups import (
    MAX_KEPT_BYTES,
    Client,
    Group,
    GroupKey,
    Keepable,
    KeptWait,
    Round,
    Said,
    Waited,
    WaitEnd,
    Woken,
    is_met,
    is_sure,
    kept_bytes_of,
    key_of,
    outcome,
    wake,
)

_log = logging.getLogger(__name__)

AT_A_TURN: Final = 64
"""Kept requests that look in a turn of the event loop: so many take about three milliseconds."""

QUESTION: Final = 8
"""To put a question takes as long as for so many to look."""

_NOT_SHARED: Final = (FromMemory, Collapsed, NotAdmitted)


class Waits:
    """All requests that are held.

    Invariants:
        A1  A group's watch begins before the first question of its members.
        A2  A member takes the answer of a round only if that began after the member had come (OwnWrites).
        A3  What `Reads` answers from memory is answered in the same turn of the loop, or while it is good (Bounded).
        A4  While a kept request has to look, its question is under way, or exactly one turn is scheduled.
        A5  What is answered to others goes to no one whose credential has ended, nor to another credential than that
            with which the NameNode was asked (ProvenGrant).
        A6  `kept_bytes` is at most MAX_KEPT_BYTES for each that is held.
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
        self._groups: dict[GroupKey, Group] = {}
        self._of_tokens: dict[str, set[Group]] = {}  # of those whose token the proxy believes
        self._turns = PacedWork(self._serve, AT_A_TURN)  # groups with something to do for those who are kept
        self._lapses = PacedWork(self._end_lapsed, AT_A_TURN)  # groups in which credentials may have ended
        self._is_stopping = False
        self.waiting = 0  # held now
        self.kept_bytes = 0  # of those, and of those who ask for the first time
        self.ended: Counter[WaitEnd] = Counter(dict.fromkeys(WaitEnd, 0))
        self.errors = 0  # exceptions of our own, each logged (FailToNameNode)
        self.not_admitted = 0  # answered at once, since too many were held, or it was too large

    def stop(self) -> None:
        """Answer all who wait, and hold none any more."""
        self._is_stopping = True
        for group in self._groups.values():
            self._let_all_look(group)

    def key_retired(self) -> None:
        """Have those answered at once whose cookie a key has signed that is in use no more."""
        for group in self._groups.values():
            self._lapses.add(group)

    def token_ended(self, name: str) -> None:
        """Have those answered at once who have shown a token that is believed no more."""
        for group in self._of_tokens.get(name, ()):
            self._lapses.add(group)

    async def answer(
        self, read: Read, conditions: Conditions, client: Client | None, request: Keepable | None = None
    ) -> Waited | None:
        """Answer a read: at once, or when there is something else to say than what the client knows.

        Args:
            read: is answered.
            conditions: what to wait for, and how long.
            client: its connection, if that says when it is lost.
            request: is kept without a task if it can be.

        Returns:
            None: the request is kept, and answered later.

        Raises:
            ClientGoneError: the client left.
        """
        if conditions.wait_s <= 0 or read.refresh or self._is_stopping or not self._is_followed(read):
            return Waited(answer=await self._reads.answer(read))
        kept_bytes = kept_bytes_of(read, conditions)
        if kept_bytes > MAX_KEPT_BYTES or not self._shares.take(holder_of(read.head.peer)):
            self.not_admitted += 1
            return Waited(answer=await self._reads.answer(read))
        group = self._enter(read)
        self.kept_bytes += kept_bytes
        is_kept = False
        try:
            is_kept = request is not None and self._keep(group, read, conditions, request)
            return None if is_kept else await self._hold(group, read, conditions, client)
        finally:
            if not is_kept:
                self._leave(group, read, conditions)

    def _is_followed(self, read: Read) -> bool:
        """Whether each change of the path will be seen."""
        return self._cache.why_no_trace(read.plain.path, self._clock()) in {None, Reason.TWO_STEP_WRITE}

    def _enter(self, read: Read) -> Group:
        key = key_of(read)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key)
            if read.lease is not None and key.credential:
                self._of_tokens.setdefault(key.credential, set()).add(group)
            group.watch = self._cache.store.watches.add(read.plain.path, partial(self._let_all_look, group))
        group.members += 1
        return group

    def _leave(self, group: Group, read: Read, conditions: Conditions) -> None:
        self.kept_bytes -= kept_bytes_of(read, conditions)
        self._shares.give_back(holder_of(read.head.peer))
        group.members -= 1
        if not group.members:
            assert group.watch is not None
            self._cache.store.watches.remove(group.watch)
            group.watch = None  # which knows the group: no collection would find the two (housekeeping)
            del self._groups[group.key]
            if (ours := self._of_tokens.get(group.key.credential)) is not None:
                ours.discard(group)
                if not ours:
                    del self._of_tokens[group.key.credential]

    def _deadline(self, read: Read, conditions: Conditions, began: float) -> float:
        """Return the event loop's time at which a wait is over, with its time or what let the client in."""
        left_s = inf if read.lease is None else read.lease.ends_at - self._clock()
        return began + min(conditions.wait_s, left_s)

    async def _hold(self, group: Group, read: Read, conditions: Conditions, client: Client | None) -> Waited:
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = self._deadline(read, conditions, began)
        entered, seen, is_shared, was_held = group.rounds, group.invalidations, False, False
        answer = await self._asked(read)
        again = replace(read, asked=None)
        is_over = self._is_stopping
        while not (is_over or is_met(answer, read, conditions)) and (
            group.invalidations != seen or is_sure(answer, self._cache.term)  # touched: it is put again
        ):
            leaves = await self._wait(group, again, seen, deadline, client)
            if leaves and (client is None or client.transport is None):
                self.ended[WaitEnd.ABANDONED] += 1
                raise ClientGoneError("the client left while it was waiting")
            was_held, is_shared = True, False
            is_over = leaves or self._is_stopping or loop.time() >= deadline
            if again.is_admitted:
                seen, answer = await self._ask(group, again, entered)
                is_shared = not isinstance(answer, _NOT_SHARED)
            if not (is_shared and again.is_admitted):
                # From memory it is answered in this turn of the loop, or asked for once more.
                is_shared = False
                seen, answer = group.invalidations, await self._reads.answer(again)
            is_over |= not again.is_admitted
        return self._ended(answer, read, conditions, began, was_held=was_held, is_shared=is_shared)

    def _ended(
        self,
        answer: ReadAnswer,
        read: Read,
        conditions: Conditions,
        began: float,
        *,
        was_held: bool,
        is_shared: bool,
    ) -> Waited:
        """Say how a wait ended, and count it if there was one."""
        spent_s = asyncio.get_running_loop().time() - began
        end, waited = outcome(answer, read, conditions, spent_s, was_held=was_held, is_shared=is_shared)
        if was_held:
            self.ended[end] += 1
        return waited

    async def _wait(
        self, group: Group, read: Read, seen: int, deadline: float, client: Client | None
    ) -> bool:
        """Wait until the path may have changed since `seen`, the time is over, or the client leaves: then it is true.

        A client that has closed its half may still read an answer, or be gone: it is answered at once.
        """
        if group.invalidations != seen or self._is_stopping or not read.is_admitted:
            return False
        loop = asyncio.get_running_loop()
        woken: Woken = loop.create_future()
        timer = loop.call_at(deadline, wake, woken)
        group.waiting[woken] = read
        self.waiting += 1
        if client is not None:
            client.on_lost = partial(wake, woken, leaves=True)
        try:
            return await woken
        finally:
            self.waiting -= 1
            del group.waiting[woken]
            timer.cancel()
            if client is not None:
                client.on_lost = None

    async def _ask(self, group: Group, read: Read, entered: int) -> tuple[int, ReadAnswer]:
        """Return what `Reads` answers to a question for all of the group, and how often it was touched before."""
        under_way = group.round
        if under_way is None or under_way.number <= entered:
            under_way = self._begin(group, read)
        return under_way.invalidations, await asyncio.shield(under_way.answer)

    def _begin(self, group: Group, read: Read, *, is_past_cache: bool = False) -> Round:
        """Put a question for all of the group; `is_past_cache`: to the NameNode itself, since the cache fails."""
        group.rounds += 1
        this = group.round = Round(group.rounds, group.invalidations)
        self._put(read, partial(self._is_answered, group, this), is_past_cache=is_past_cache)
        return this

    def _put(self, read: Read, answered: Callable[[ReadAnswer], None], *, is_past_cache: bool) -> None:
        """Ask in a task of its own: who leaves costs no other the answer."""
        asking = self._answer_to(read, answered, is_past_cache=is_past_cache)
        try:
            self._tasks.create_task(asking)
        except RuntimeError:  # the group of tasks is being shut down
            asking.close()
            answered(_stopped())

    async def _answer_to(
        self, read: Read, answered: Callable[[ReadAnswer], None], *, is_past_cache: bool
    ) -> None:
        """Give a question its answer. Never raises."""
        answer: ReadAnswer = Unanswered(ProxyError("internal error"), Bypass.CACHE_ERROR)
        try:
            try:
                answer = await (
                    self._fetched(read, Bypass.CACHE_ERROR) if is_past_cache else self._asked(read)
                )
            except Exception:  # noqa: BLE001 - FailToNameNode: whatever it is, it is asked
                self._note_error(read)
                answer = await self._fetched(read, Bypass.CACHE_ERROR)
        except asyncio.CancelledError:  # only the end of the proxy does that
            answer = _stopped()
            raise
        except Exception:  # noqa: BLE001 - nor could the NameNode be asked: the answer says so, and the proxy goes on
            self._note_error(read)
        finally:
            try:
                answered(answer)
            except Exception:  # noqa: BLE001 - it must not take the other questions along
                self._note_error(read)

    def _is_answered(self, group: Group, this: Round, answer: ReadAnswer) -> None:
        """End a question: let those with a task go on, and the kept ones look in their turn."""
        if group.round is this:
            group.round = None
        this.answer.set_result(answer)
        if group.said is None and (to := group.split_off(this.number)):
            group.said = Said(answer, this.invalidations, to)
        self._let_look(group)

    async def _asked(self, read: Read) -> ReadAnswer:
        """Answer as `Reads` does; what that passes on is asked here, so that several can have the reply."""
        answer = await self._reads.answer(read)
        return await self._fetched(read, answer.why) if isinstance(answer, PassOn) else answer

    async def _fetched(self, read: Read, why: ForwardReason) -> FromNameNode | Unanswered:
        try:
            reply = await self._fetcher.fetch(read.head)
        except ProxyError as error:
            return Unanswered(error, why)
        return FromNameNode(reply, why, is_stored=False)

    # -- requests that are kept without a task -------------------------------------------------------

    def _keep(self, group: Group, read: Read, conditions: Conditions, request: Keepable) -> bool:
        """Keep a request, if its connection lets go of it, and put its first question."""
        began = asyncio.get_running_loop().time()
        wait = KeptWait(
            group,
            read,
            conditions,
            request,
            entered=group.rounds,
            began=began,
            deadline=self._deadline(read, conditions, began),
            let_look=self._let_one_look,
        )
        if not request.keep(wait):
            wait.release()
            return False
        self._put(read, partial(self._has_asked, wait, group.invalidations), is_past_cache=False)
        return True

    def _has_asked(self, wait: KeptWait, seen: int, answer: ReadAnswer) -> None:
        """Answer one whose own question is answered, or let it wait. Never raises."""
        group, read, conditions, wait.is_asking = wait.group, wait.read, wait.conditions, False
        try:
            is_over = wait.is_gone or wait.is_over or self._is_stopping or is_met(answer, read, conditions)
            waits = not is_over and (group.invalidations != seen or is_sure(answer, self._cache.term))
            was_held = wait.was_held and not wait.is_gone
            waited = self._ended(answer, read, conditions, wait.began, was_held=was_held, is_shared=False)
        except Exception:  # noqa: BLE001 - FailToNameNode: what was answered is passed on
            self._note_error(read)
            waits, waited = False, Waited(answer=answer)
        if waits:
            wait.read = replace(read, asked=None)
            group.kept[wait] = None
            wait.was_held = True
            self.waiting += 1
            if (
                group.invalidations != seen or not read.is_admitted
            ):  # a change beside the question: it is put again
                self._let_one_look(wait)
            return
        wait.release()
        self._leave(group, read, conditions)
        if wait.is_gone and wait.was_held:
            self.ended[WaitEnd.ABANDONED] += 1
        if not wait.is_gone:
            wait.request.answered(waited)

    def _let_one_look(self, wait: KeptWait) -> None:
        """Have one look in its turn; of one that is gone, take note."""
        group = wait.group
        if wait.is_asking:
            return  # it is looked at when its question is answered
        if wait in group.kept:
            group.queue_up(wait)
            self._let_look(group)
        else:
            self.ended[WaitEnd.ABANDONED] += 1
            self._forget(wait)

    def _let_all_look(self, group: Group) -> None:
        for woken in group.waiting:
            wake(woken)
        for wait in group.kept:
            group.queue_up(wait)
        self._let_look(group)

    def _let_look(self, group: Group) -> None:
        """Have a turn for a group, unless its question is under way or none has to look."""
        if group.said is not None or (group.round is None and group.first() is not None):
            self._turns.add(group)

    def _serve(self, group: Group, most: int) -> int:
        """Let at most so many of a group look, or put their question; return how much that was."""
        done = 0
        while (said := group.said) is not None and done < most:
            if not said.to:
                group.said = None
                break
            done += 1
            wait = said.to.popleft()
            try:
                self._look(group, said, wait)
            except Exception:  # noqa: BLE001 - FailToNameNode: the NameNode is asked for those who are left
                self._note_error(wait.read)
                group.queue_all_of(said)
                self._begin(group, wait.read, is_past_cache=True)
        first = group.first()
        if group.said is None and group.round is None and first is not None:
            if first.read.is_admitted:
                self._begin(group, first.read)
            else:
                self._ask_apart(first)
                self._let_look(group)
            return done + QUESTION
        self._let_look(group)
        return done

    def _look(self, group: Group, said: Said, wait: KeptWait) -> None:
        """Answer one who is kept, or let it wait on."""
        if wait not in group.kept:
            return
        if not wait.read.is_admitted:
            self._ask_apart(wait)
            return
        answer, seen = said.answer, said.seen
        match answer:
            case FromMemory(hit) if self._cache.is_good(hit, self._clock()):
                seen = group.invalidations
            case (
                FromMemory() | Collapsed() | NotAdmitted()
            ):  # of another request; the next time it is its own
                group.queue.append(wait)
                return
        is_over = wait.is_over or self._is_stopping or asyncio.get_running_loop().time() >= wait.deadline
        if not (is_over or is_met(answer, wait.read, wait.conditions)) and (
            group.invalidations != seen or is_sure(answer, self._cache.term)
        ):
            wait.is_queued = False
            if group.invalidations != seen:  # a change beside the question: it is put again
                group.queue_up(wait)
            return
        del group.kept[wait]
        wait.release()
        self._forget(wait)
        is_shared = not isinstance(answer, FromMemory)
        wait.request.answered(
            self._ended(answer, wait.read, wait.conditions, wait.began, was_held=True, is_shared=is_shared)
        )

    def _end_lapsed(self, group: Group, most: int) -> int:
        """Have at most so many of a group answered whose credential has ended; return how much that was."""
        for woken, read in group.waiting.items():
            if not read.is_admitted:
                wake(woken)
        lapsed = tuple(islice((wait for wait in group.kept if not wait.read.is_admitted), most))
        for wait in lapsed:
            self._ask_apart(wait)
        if len(lapsed) == most:
            self._lapses.add(group)
        return 1 + len(lapsed)

    def _ask_apart(self, wait: KeptWait) -> None:
        """Answer one whose credential has ended: refuse it, or ask in its own name what the NameNode says."""
        group = wait.group
        del group.kept[wait]
        self.waiting -= 1
        wait.is_asking = wait.is_over = True
        if wait.read.as_of_now() is None:
            self._has_asked(wait, group.invalidations, NotAdmitted())
        else:
            self._put(wait.read, partial(self._has_asked, wait, group.invalidations), is_past_cache=False)

    def _note_error(self, read: Read) -> None:
        self.errors += 1
        _log.exception("internal error while reading %s; it is forwarded", read.plain.path)

    def _forget(self, wait: KeptWait) -> None:
        self.waiting -= 1
        self._leave(wait.group, wait.read, wait.conditions)


def _stopped() -> Unanswered:
    return Unanswered(NoActiveNameNodeError("the proxy is being stopped"), Reason.MISS)
