"""Requests that wait for a change of the registry.

One follower reports which entries change. Requests with the same question form a group, and one read after a change
answers the whole group. So a waiting client costs ZooKeeper nothing until something changes, and any number of them
cost as much as one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from nncache.cache.watches import PathWatch, PathWatches
from nncache.hadoop.change import LineTouched, Touched
from nncache.hadoop.paths import ROOT
from nncache.net.http1.conditional import Conditions
from nncache.net.shares import Shares
from nncache.proxy.decide.waits import AskMode, Waits, WaitTerms
from nncache.proxy.errors import EntryNotFoundError
from nncache.registry.paths import MAX_PATH_CHARACTERS
from nncache.registry.rest.request import RegistryRequest

HELD: Final = 1_000
"""Limit of waiting requests; one address gets at most seven eighths of them."""

TREES: Final = 8
"""Limit of questions about subtrees, or for pages, with waiting requests: each change below is followed by a read."""

TREES_OF_ONE: Final = 2
"""Limit of these questions for one address."""

READ_AT_ONCE: Final = 64
"""Limit of concurrent reads of records and lists for waiting requests."""

REST: Final = 2.0
"""Pause after a subtree was read for waiting requests, as a multiple of the read's duration."""


@dataclass(frozen=True, slots=True)
class RegistryPage:
    """A reply: a body, its media type, a status, and further header fields.

    Attributes:
        read_bytes: bytes of the record or the names that were read for it; 0 if a whole subtree was read.
    """

    body: bytes
    content_type: bytes = b"application/json"
    status: int = 200
    reason: str = "OK"
    fields: tuple[tuple[bytes, bytes], ...] = ()
    read_bytes: int = 0


class RegistryQuestion(NamedTuple):
    """A request, and the address whose share it takes."""

    request: RegistryRequest
    holder: str


Outcome: TypeAlias = RegistryPage | Exception
"""The reply, or the exception to raise for each request that waits for it."""

Read: TypeAlias = Callable[[RegistryRequest], Awaitable[RegistryPage]]
ReadFor: TypeAlias = Callable[[RegistryRequest, str], Awaitable[RegistryPage]]
"""A read for a client address."""


class RegistryWaits:
    """`nncache.proxy.decide.waits.WaitQuestions` about the registry, and all requests that wait.

    Once `is_wanted` is set, `invalidated` must be called for each change.

    Invariants:
        R1  Each change reported after a member joined invalidates its group, if the change can concern the group.
        R2  Subtrees are read one at a time for waiting requests, with a pause after each.
        R3  A change costs time in the number of its path's elements and of the groups that it invalidates, plus
            moves of pointers in the list of watched paths, however many other paths are watched.

    Attributes:
        held: all waiting requests.
        is_wanted: set while requests wait.
    """

    def __init__(self, first: ReadFor, again: Read) -> None:
        """Begin without requests; `first` answers a new request, `again` the waiting ones."""
        self._first = first
        self._again = again
        self._trees = Shares(TREES)
        self._of_trees: dict[PathWatch, str] = {}  # the address that holds each share
        self._records = PathWatches()  # on entries alone
        self._below = PathWatches()  # on entries with their descendants
        self._reading = asyncio.Semaphore(READ_AT_ONCE)
        self._tree_reading = asyncio.Lock()
        self._rest_until = 0.0  # by the loop's clock
        self.held: Waits[RegistryQuestion, Outcome] = Waits(self, HELD)
        self.is_wanted = asyncio.Event()

    def invalidated(self, path: str | None) -> None:
        """Record that an entry may have been changed, created or removed; None: any entry may have been."""
        if path is None:
            self._records.invalidate_all()
            self._below.invalidate_all()
            return
        self._records.apply(Touched(path), is_event=True)
        if (
            len(path) > MAX_PATH_CHARACTERS
        ):  # no request is about this entry, but one may be about an ancestor
            path = path[: path.rfind("/", 0, MAX_PATH_CHARACTERS + 1)] or ROOT
        self._below.apply(LineTouched(path, ROOT), is_event=True)

    async def unused_for(self, seconds: float) -> None:
        """Return once no request has waited for `seconds`; changes need not be reported until another one waits."""
        loop = asyncio.get_running_loop()
        last_at = loop.time()
        while True:
            if self.held.is_used:
                last_at = loop.time()
            elif loop.time() - last_at >= seconds:
                self.is_wanted.clear()
                return
            await asyncio.sleep(seconds / 8)

    # -- questions -----------------------------------------------------------------------------------

    def terms_of(self, question: RegistryQuestion, _: Conditions) -> WaitTerms:
        """Return the key and the share under which a request waits."""
        return WaitTerms(key=question.request, holder=question.holder)

    def watch(self, question: RegistryQuestion, woken: Callable[[], None]) -> PathWatch | None:
        """Watch an entry, or the entry and its descendants; None if too many subtrees are watched."""
        request, holder = question
        costs_much = _costs_much(request)
        if costs_much and not (self._trees.held(holder) < TREES_OF_ONE and self._trees.take(holder)):
            return None
        watch = self._watches_of(request).add(request.path, woken)
        if costs_much:
            self._of_trees[watch] = holder
        self.is_wanted.set()
        return watch

    def unwatch(self, key: Hashable, watch: PathWatch) -> None:
        """Remove a watch."""
        assert isinstance(key, RegistryRequest)
        self._watches_of(key).remove(watch)
        if (holder := self._of_trees.pop(watch, None)) is not None:
            self._trees.give_back(holder)

    def _watches_of(self, request: RegistryRequest) -> PathWatches:
        return self._below if request.is_list or _costs_much(request) else self._records

    async def ask(self, question: RegistryQuestion, how: AskMode) -> Outcome:
        """Read the reply; few reads run concurrently for waiting requests."""
        request, holder = question
        if how in {AskMode.AT_ONCE, AskMode.FIRST}:
            return await _outcome(self._first(request, holder))
        if _costs_much(request):
            return await self._read_tree(request)
        async with self._reading:
            return await _outcome(self._again(request))

    async def _read_tree(self, request: RegistryRequest) -> Outcome:
        loop = asyncio.get_running_loop()
        async with self._tree_reading:
            if self.held.is_open:
                await asyncio.sleep(self._rest_until - loop.time())
            began = loop.time()
            outcome = await _outcome(self._again(request))
            self._rest_until = loop.time() + REST * (loop.time() - began)
            return outcome

    def unanswered(self, error: Exception) -> Outcome:
        """Return the error."""
        return error

    def path_of(self, question: RegistryQuestion) -> str:
        """Return the entry's path."""
        return question.request.path

    def is_met(self, answer: Outcome, _: RegistryQuestion, conditions: Conditions) -> bool:
        """Whether this reply ends the client's wait."""
        match answer:
            case RegistryPage(body=body, status=status):
                return conditions.is_met(status, body)
            case EntryNotFoundError():
                return conditions.known is not None
            case _:
                return True

    def is_sure(self, _: Outcome) -> bool:
        """Whether a change will be noticed: every change is reported."""
        return True

    def is_shareable(self, _: Outcome) -> bool:
        """Whether other clients may get the reply: the registry is the same for all."""
        return True

    def is_of_asker(self, _: Outcome) -> bool:
        """Whether the reply is for one client alone."""
        return False


async def _outcome(page: Awaitable[RegistryPage]) -> Outcome:
    try:
        return await page
    except Exception as error:  # noqa: BLE001 - raised for each waiting request
        return error


def _costs_much(request: RegistryRequest) -> bool:
    """Whether the limit of TREES applies: to subtrees, and to pages, since one record has many pages by `limit`."""
    return request.reads_many or request.is_html
