"""What a request for the registry waits for.

One follower of the registry says which entries change; all who wait for the same are a group, for which the registry is
read once after a change. So a client that waits costs ZooKeeper nothing until something happens, and a crowd no more
than one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from nncache.cache.watches import Watch, Watches
from nncache.hadoop.change import LineTouched, Touched
from nncache.hadoop.paths import ROOT
from nncache.net.http1.conditional import Conditions
from nncache.net.shares import Shares
from nncache.proxy.decide.waits import How, Terms, Waits
from nncache.proxy.errors import EntryNotFoundError
from nncache.registry.paths import MAX_PATH_CHARACTERS
from nncache.registry.rest.request import RegistryRequest

HELD: Final = 1_000
"""Requests that are held at the same time; one address gets seven eighths of them at most."""

TREES: Final = 8
"""Questions about subtrees, and for pages, for which requests are held: each is read again after a change below it."""

TREES_OF_ONE: Final = 2
"""Of these, of one address."""

READ_AT_ONCE: Final = 64
"""Records and lists that are read at the same time for those who wait."""

REST: Final = 2.0
"""For so many times as long as the reading of a subtree took, none is read for those who wait."""


@dataclass(frozen=True, slots=True)
class RegistryPage:
    """What is found: a body, its media type, a status, and header fields of its own.

    Attributes:
        read_bytes: of the record, or the names, that were read for it; 0 where a whole subtree was.
    """

    body: bytes
    content_type: bytes = b"application/json"
    status: int = 200
    reason: str = "OK"
    fields: tuple[tuple[bytes, bytes], ...] = ()
    read_bytes: int = 0


class RegistryQuestion(NamedTuple):
    """A request, and whose share it takes."""

    request: RegistryRequest
    holder: str


Outcome: TypeAlias = RegistryPage | Exception
"""What is found, or what is raised for each who waits for it."""

Read: TypeAlias = Callable[[RegistryRequest], Awaitable[RegistryPage]]
ReadFor: TypeAlias = Callable[[RegistryRequest, str], Awaitable[RegistryPage]]
"""For a client address."""


class RegistryWaits:
    """`nncache.proxy.decide.waits.Questions` about the registry, and all requests that are held for it.

    `invalidated` has to be called for each change, from when `is_wanted` is set on.

    Invariants:
        R1  Each change that is reported after a member came invalidates its group if it can concern it.
        R2  Of subtrees one is read at a time for those who wait, and a rest follows.
        R3  A change costs as much as its path has elements and as groups are invalidated, and moves in the order of
            what is watched, however many others there are.

    Attributes:
        held: all who wait.
        is_wanted: set once a request waits.
    """

    def __init__(self, first: ReadFor, again: Read) -> None:
        """Hold none yet; `first` answers one who comes, `again` those who are held."""
        self._first = first
        self._again = again
        self._trees = Shares(TREES)
        self._of_trees: dict[Watch, str] = {}  # by whom each share is held
        self._records = Watches()  # of an entry alone
        self._below = Watches()  # of an entry and of all below it
        self._reading = asyncio.Semaphore(READ_AT_ONCE)
        self._tree_reading = asyncio.Lock()
        self._rest_until = 0.0  # of the loop's clock
        self.held: Waits[RegistryQuestion, Outcome] = Waits(self, HELD)
        self.is_wanted = asyncio.Event()

    def invalidated(self, path: str | None) -> None:
        """Take note that an entry may have changed, been made or removed; None: any."""
        if path is None:
            self._records.invalidate_all()
            self._below.invalidate_all()
            return
        self._records.apply(Touched(path), is_event=True)
        if len(path) > MAX_PATH_CHARACTERS:  # no request is about it, but one may be about what is above
            path = path[: path.rfind("/", 0, MAX_PATH_CHARACTERS + 1)] or ROOT
        self._below.apply(LineTouched(path, ROOT), is_event=True)

    async def unused_for(self, seconds: float) -> None:
        """Return when no request was held for so long; changes need not be reported until one is held."""
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

    def terms_of(self, question: RegistryQuestion, _: Conditions) -> Terms:
        """Say how a request may wait."""
        return Terms(key=question.request, holder=question.holder)

    def watch(self, question: RegistryQuestion, woken: Callable[[], None]) -> Watch | None:
        """Watch an entry, or what is below it as well; None: too many subtrees are."""
        request, holder = question
        costs_much = _costs_much(request)
        if costs_much and not (self._trees.held(holder) < TREES_OF_ONE and self._trees.take(holder)):
            return None
        watch = self._watches_of(request).add(request.path, woken)
        if costs_much:
            self._of_trees[watch] = holder
        self.is_wanted.set()
        return watch

    def unwatch(self, key: Hashable, watch: Watch) -> None:
        """Watch no more."""
        assert isinstance(key, RegistryRequest)
        self._watches_of(key).remove(watch)
        if (holder := self._of_trees.pop(watch, None)) is not None:
            self._trees.give_back(holder)

    def _watches_of(self, request: RegistryRequest) -> Watches:
        return self._below if request.is_list or _costs_much(request) else self._records

    async def ask(self, question: RegistryQuestion, how: How) -> Outcome:
        """Read what is there; for those who are held few at a time."""
        request, holder = question
        if how in {How.AT_ONCE, How.FIRST}:
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
        """Return the path of the entry."""
        return question.request.path

    def is_met(self, answer: Outcome, _: RegistryQuestion, conditions: Conditions) -> bool:
        """Whether the client would not wait any longer for another answer."""
        match answer:
            case RegistryPage(body=body, status=status):
                return conditions.is_met(status, body)
            case EntryNotFoundError():
                return conditions.known is not None
            case _:
                return True

    def is_sure(self, _: Outcome) -> bool:
        """Whether a change will be noticed: each is reported."""
        return True

    def is_for_others(self, _: Outcome) -> bool:
        """Whether others may have it: the registry is the same for all."""
        return True


async def _outcome(page: Awaitable[RegistryPage]) -> Outcome:
    try:
        return await page
    except Exception as error:  # noqa: BLE001 - raised for each who waits for it
        return error


def _costs_much(request: RegistryRequest) -> bool:
    """Whether few such questions are held: about subtrees, and for pages, of which one record has many by `limit`."""
    return request.reads_many or request.is_html
