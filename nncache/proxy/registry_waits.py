"""Requests for the registry, held until their answer differs or their time is over.

Nothing is answered with what was known when the wait began. One follower of the registry says which entries change; all
who wait for the same are a group, for which the registry is read once after a change. So a client that waits costs
ZooKeeper nothing until something happens, and a crowd no more than one.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeAlias

from nncache.net.shares import Shares
from nncache.proxy.conditional import Conditions
from nncache.proxy.errors import ClientGoneError, EntryNotFoundError, ProxyError
from nncache.proxy.registry_request import MAX_PATH, RegistryRequest
from nncache.proxy.wait_groups import Client, WaitEnd, Woken, wake

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
        read_bytes: of the record that was read for it; 0 where a whole subtree was.
    """

    body: bytes
    content_type: bytes = b"application/json"
    status: int = 200
    reason: str = "OK"
    fields: tuple[tuple[bytes, bytes], ...] = ()
    read_bytes: int = 0


class Followed(Protocol):
    """Receives changes."""

    def invalidated(self, path: str | None) -> None:
        """An entry may have changed, been made or removed; None: any."""


Said: TypeAlias = RegistryPage | ProxyError
Read: TypeAlias = Callable[[RegistryRequest], Awaitable[RegistryPage]]
ReadFor: TypeAlias = Callable[[RegistryRequest, str], Awaitable[RegistryPage]]
"""For a client address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryWaited:
    """An answer, and the outcome of waiting for it.

    Attributes:
        applied_s: the wait that was granted; None: none, or it was cut short.
        held_s: for how long it was held.
    """

    said: Said
    applied_s: int | None = None
    held_s: float = 0.0


class _Group:
    """All who wait for one answer.

    Attributes:
        needs: counts up with each change that may concern it, when changes are no longer reported, and with each member
            whose time is over.
        invalidations: counts up with each change that may concern it.
        asked: `needs` when the registry was last read for them.
        said: what was found then.
        holder: who began a group about a subtree.
        place: the path in the index, and whether what is below it concerns the group as well.
    """

    __slots__ = (
        "asked",
        "holder",
        "invalidations",
        "members",
        "needs",
        "place",
        "reading",
        "said",
        "waiting",
    )

    def __init__(self, holder: str, place: tuple[str, bool]) -> None:
        self.holder = holder
        self.place = place
        self.members = 0
        self.needs = 0
        self.invalidations = 0
        self.asked = 0
        self.said: Said = ProxyError("not read yet")
        self.reading = asyncio.Lock()
        self.waiting: dict[Woken, None] = {}

    def invalidate(self) -> None:
        self.needs += 1
        self.invalidations += 1
        self.wake_all()

    def wake_all(self) -> None:
        for woken in self.waiting:
            wake(woken)


class RegistryWaits:
    """All requests that are held. `invalidated` has to be called for each change, from when `is_wanted` is set on.

    Invariants:
        R1  Each change that is reported after a member came invalidates its group if it can concern it.
        R2  What a member takes was read after the change that woke it, or after its time was over.
        R3  Of subtrees one is read at a time for those who wait, and a rest follows.
        R4  A change costs as much as its path has elements and as groups are invalidated, however many others there
            are.
    """

    def __init__(self, first: ReadFor, again: Read) -> None:
        """Hold none yet; `first` answers one who comes, `again` those who are held."""
        self._first = first
        self._again = again
        self._shares = Shares(HELD)
        self._trees = Shares(TREES)
        self._groups: dict[RegistryRequest, _Group] = {}
        self._places: dict[tuple[str, bool], dict[_Group, None]] = {}  # the same groups, by `place`
        self._reading = asyncio.Semaphore(READ_AT_ONCE)
        self._tree_reading = asyncio.Lock()
        self._rest_until = 0.0  # of the loop's clock
        self._is_stopping = False
        self._is_followed = False  # whether changes are reported, or will be soon
        self.is_wanted = asyncio.Event()  # set once a request waits
        self.ended: Counter[WaitEnd] = Counter(dict.fromkeys(WaitEnd, 0))
        self.not_admitted = 0  # answered at once, since too many were held

    @property
    def waiting(self) -> int:
        """How many are held now."""
        return sum(len(group.waiting) for group in self._groups.values())

    def _holds(self) -> bool:
        """Whether a request may be held."""
        return self._is_followed and not self._is_stopping

    def stop(self) -> None:
        """Answer all who wait, and hold none any more."""
        self._is_stopping = True
        self.followed(is_followed=False)

    def followed(self, *, is_followed: bool) -> None:
        """Hold requests from now on, since changes are reported; or answer all that wait, since they are not."""
        self._is_followed = is_followed
        if not is_followed:
            for group in self._groups.values():
                group.needs += 1  # so that it is read for them, also if changes are reported again by then
                group.wake_all()

    def invalidated(self, path: str | None) -> None:
        """See Followed."""
        if path is None:
            for group in self._groups.values():
                group.invalidate()
            return
        for place in _places_of(path):
            for group in self._places.get(place, ()):
                group.invalidate()

    async def unused_for(self, seconds: float) -> None:
        """Return when no request was held for so long; changes need not be reported until one is held."""
        loop = asyncio.get_running_loop()
        last_at = loop.time()
        while True:
            if self._groups:
                last_at = loop.time()
            elif loop.time() - last_at >= seconds:
                self.is_wanted.clear()
                return
            await asyncio.sleep(seconds / 8)

    async def answer(
        self, registry_request: RegistryRequest, want: Conditions, holder: str, client: Client | None
    ) -> RegistryWaited:
        """Answer a request: at once, or when there is something else to say than what the client has.

        Args:
            registry_request: the query.
            want: what it has, and how long it would wait.
            holder: whose share it takes.
            client: its connection, if that says when it is lost.

        Raises:
            ClientGoneError: the client left.
        """
        if want.wait_s <= 0 or not self._holds():
            return RegistryWaited(said=await _said(self._first(registry_request, holder)))
        group = self._enter(registry_request, holder)
        if group is None:
            self.not_admitted += 1
            return RegistryWaited(said=await _said(self._first(registry_request, holder)))
        try:
            return await self._hold(group, registry_request, want, holder, client)
        finally:
            self._leave(registry_request, group, holder)

    def _enter(self, registry_request: RegistryRequest, holder: str) -> _Group | None:
        """Return the group, of which the request is a member now; None: too many are held."""
        group = self._groups.get(registry_request)
        if not self._shares.take(holder):
            return None
        if group is None:
            if _costs_much(registry_request) and not self._takes_tree(holder):
                self._shares.give_back(holder)
                return None
            is_about_below = (
                registry_request.is_list or registry_request.is_html or registry_request.reads_many
            )
            group = self._groups[registry_request] = _Group(holder, (registry_request.path, is_about_below))
            self._places.setdefault(group.place, {})[group] = None
        group.members += 1
        self.is_wanted.set()
        return group

    def _takes_tree(self, holder: str) -> bool:
        return self._trees.held(holder) < TREES_OF_ONE and self._trees.take(holder)

    def _leave(self, registry_request: RegistryRequest, group: _Group, holder: str) -> None:
        self._shares.give_back(holder)
        group.members -= 1
        if not group.members:
            del self._groups[registry_request]
            at_place = self._places[group.place]
            del at_place[group]
            if not at_place:
                del self._places[group.place]
            if _costs_much(registry_request):
                self._trees.give_back(group.holder)

    async def _hold(
        self,
        group: _Group,
        registry_request: RegistryRequest,
        want: Conditions,
        holder: str,
        client: Client | None,
    ) -> RegistryWaited:
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = began + want.wait_s
        seen, held_s, was_held, leaves = group.invalidations, 0.0, False, False
        said = await _said(self._first(registry_request, holder))
        while self._holds() and not (leaves or loop.time() >= deadline or _is_met(said, want)):
            leaves = await self._wait(group, seen, deadline, client)
            if leaves and (client is None or client.transport is None):
                self.ended[WaitEnd.ABANDONED] += 1
                raise ClientGoneError("the client left while it was waiting")
            was_held, seen = True, group.invalidations
            if leaves or loop.time() >= deadline:
                group.needs += 1
            said = await self._read_for_all(group, registry_request)
            held_s = loop.time() - began
        end = WaitEnd.UNCHANGED if loop.time() >= deadline else WaitEnd.CUT_SHORT
        if _is_met(said, want):
            end = WaitEnd.CHANGED
        if was_held:
            self.ended[end] += 1
        applied_s = None if end is WaitEnd.CUT_SHORT else want.wait_s
        return RegistryWaited(said=said, applied_s=applied_s, held_s=held_s)

    async def _wait(self, group: _Group, seen: int, deadline: float, client: Client | None) -> bool:
        """Wait until there may be a change since `seen`, the time is over, or the client leaves: then it is true."""
        if group.invalidations != seen or not self._holds():
            return False
        if client is not None and client.transport is None:
            return True
        loop = asyncio.get_running_loop()
        woken: Woken = loop.create_future()
        timer = loop.call_at(deadline, wake, woken)
        group.waiting[woken] = None
        if client is not None:
            client.on_lost = partial(wake, woken, leaves=True)
        try:
            return await woken
        finally:
            del group.waiting[woken]
            timer.cancel()
            if client is not None:
                client.on_lost = None

    async def _read_for_all(self, group: _Group, registry_request: RegistryRequest) -> Said:
        """Return what is found after all that the group needs now; who comes second takes what the first has read."""
        need = group.needs
        async with group.reading:
            if group.asked < need:
                if _costs_much(registry_request):
                    group.said = await self._read_tree(group, registry_request)
                else:
                    async with self._reading:
                        group.said = await self._read(group, registry_request)
            return group.said

    async def _read(self, group: _Group, registry_request: RegistryRequest) -> Said:
        needs = group.needs
        said = await _said(self._again(registry_request))
        group.asked = needs
        return said

    async def _read_tree(self, group: _Group, registry_request: RegistryRequest) -> Said:
        loop = asyncio.get_running_loop()
        async with self._tree_reading:
            if self._holds():
                await asyncio.sleep(self._rest_until - loop.time())
            began = loop.time()
            said = await self._read(group, registry_request)
            self._rest_until = loop.time() + REST * (loop.time() - began)
            return said


async def _said(page: Awaitable[RegistryPage]) -> Said:
    try:
        return await page
    except ProxyError as error:
        return error


def _is_met(said: Said, want: Conditions) -> bool:
    """Whether the client would not wait any longer for another answer."""
    match said:
        case RegistryPage(body=body, status=status):
            return want.is_met(status, body)
        case EntryNotFoundError():
            return want.known is not None
        case _:
            return True


def _costs_much(registry_request: RegistryRequest) -> bool:
    """Whether few such questions are held: about subtrees, and for pages, of which one record has many by `limit`."""
    return registry_request.reads_many or registry_request.is_html


def _places_of(path: str) -> Iterator[tuple[str, bool]]:
    """Yield the places of the groups that a change of this entry can concern."""
    if len(path) <= MAX_PATH:
        yield path, False
    yield "/", True
    end = path.find("/", 1)
    while 0 < end <= MAX_PATH:
        yield path[:end], True
        end = path.find("/", end + 1)
    if path != "/" and len(path) <= MAX_PATH:
        yield path, True
