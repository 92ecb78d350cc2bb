"""Two-step writes that have no window now, but may need one later. (cache/set_aside.py)

Either they concern no filter, or their caller had no right to carry out the second step when the redirect came.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT
from nncache.hadoop.rpc.user import RpcUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who begins a two-step write, and what is known of their right to it.

    Attributes:
        owners: the caller and the client's address, each of which has its share of all such writes.
        user: as whom a NameNode can be asked about that right; None if one cannot.
        appends: the write is an APPEND.
        has_right: they could carry it out when the redirect came, or one cannot ask.
        is_known: false if the NameNode has not said what is there, so that it must be asked again.
    """

    owners: tuple[str, ...] = ()
    user: RpcUser | None = None
    appends: bool = False
    has_right: bool = True
    is_known: bool = True


ANYBODY = Writer()


@dataclass(frozen=True, slots=True, eq=False)
class TwoStepWrite:
    """One redirected write.

    Attributes:
        after_txid: a transaction that lies before it; None: unknown, so no event can end its window.
    """

    path: str
    after_txid: int | None
    ends_at: float
    topmost_missing: str | None
    writer: Writer = ANYBODY

    @property
    def topmost(self) -> str:
        """The topmost path that it may make."""
        return self.path if self.topmost_missing is None else self.topmost_missing

    def known(self, topmost_missing: str | None, *, has_right: bool) -> TwoStepWrite:
        """Return it as a NameNode has told of it."""
        writer = replace(self.writer, has_right=has_right, is_known=True)
        return replace(self, topmost_missing=topmost_missing, writer=writer)

    def place(self, filters: GlobSet) -> str | None:
        """Return the lowest path that it may make and that concerns the filters; its own counts most."""
        lowest = filters.lowest_concern(self.path)
        if lowest is None or lowest == self.path:
            return lowest
        topmost = self.topmost_missing
        return lowest if topmost is not None and len(lowest) >= len(topmost) else None


class SetAside:
    """Writes without a window, in the order in which they came here; bounded in all and for each owner.

    Invariants:
        A1  No owner has more than their share: their own oldest is forgotten for their newest.
        A2  `_denied` holds the path of each write without a right, in order.
    """

    def __init__(self, *, max_writes: int, share: int) -> None:
        self._max_writes = max_writes
        self._share = share
        self._by_age: OrderedDict[TwoStepWrite, None] = OrderedDict()
        self._by_owner: dict[str, OrderedDict[TwoStepWrite, None]] = {}
        self._denied: list[tuple[str, int, TwoStepWrite]] = []  # the id tells writes of one path apart

    def __len__(self) -> int:
        return len(self._by_age)

    def __contains__(self, write: TwoStepWrite) -> bool:
        return write in self._by_age

    def __iter__(self) -> Iterator[TwoStepWrite]:
        return iter(self._by_age)

    def add(self, write: TwoStepWrite) -> None:
        """Remember the write; costs its owner's oldest, or the oldest of all, if there is no room."""
        for owner in write.writer.owners:
            if len(theirs := self._by_owner.get(owner, ())) >= self._share:
                self.remove(next(iter(theirs)))
        if len(self) >= self._max_writes:
            self.remove(next(iter(self._by_age)))
        self._by_age[write] = None
        for owner in write.writer.owners:
            self._by_owner.setdefault(owner, OrderedDict())[write] = None
        if not write.writer.has_right:
            insort(self._denied, (write.path, id(write), write))

    def remove(self, write: TwoStepWrite) -> None:
        """Forget the write."""
        del self._by_age[write]
        for owner in write.writer.owners:
            theirs = self._by_owner[owner]
            del theirs[write]
            if not theirs:
                del self._by_owner[owner]
        if not write.writer.has_right:
            del self._denied[bisect_left(self._denied, (write.path, id(write)))]

    def expire(self, now: float) -> None:
        """Forget those that would have ended, up to the first that has not."""
        while self._by_age and now >= (oldest := next(iter(self._by_age))).ends_at:
            self.remove(oldest)

    def denied_at(self, path: str) -> list[TwoStepWrite]:
        """Return the writes at or below a path that lacked a right."""
        if not self._denied:
            return []
        prefix = path if path == ROOT else path + ROOT
        return [*self._denied_from(path, path), *self._denied_from(prefix, prefix[:-1] + "0")]

    def _denied_from(self, first: str, end: str) -> list[TwoStepWrite]:
        """Return the writes at `first` and, if `end` is another path, at all that come before that; "0" follows "/"."""
        start = bisect_left(self._denied, (first,))
        stop = bisect_left(self._denied, (end,) if end != first else (first + "\0",))
        return [write for _, _, write in self._denied[start:stop]]

    def check(self) -> None:
        """Assert A1, A2 and that the indexes agree; for tests."""
        assert len(self) <= self._max_writes
        for owner, theirs in self._by_owner.items():
            assert list(theirs) == [write for write in self._by_age if owner in write.writer.owners]
            assert 0 < len(theirs) <= self._share
        assert {owner for write in self for owner in write.writer.owners} == self._by_owner.keys()
        assert [(path, number) for path, number, _ in self._denied] == sorted(
            (write.path, id(write)) for write in self if not write.writer.has_right
        )
