"""Two-step writes that have no window now but may need one later.

Either no filter matches what they write, or the caller had no right to the second step at the time of the redirect.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT
from nncache.hadoop.rpc.user import RpcUser


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStepWriter:
    """The caller of a two-step write, and what is known of their right to it."""

    owners: tuple[str, ...] = ()  # the caller and the client's address: each has its share of such writes
    user: RpcUser | None = None  # for whom a NameNode is asked about that right; None if it cannot be
    appends: bool = False  # the write is an APPEND
    alternatives: tuple[str, ...] = ()  # paths of which the second step writes one; () if it is known
    has_right: bool = True  # they could carry it out when the redirect came, or one cannot ask
    is_known: bool = True  # false: the NameNode has not said what is there, so that it must be asked again


ANYBODY = TwoStepWriter()


@dataclass(frozen=True, slots=True, eq=False)
class TwoStepWrite:
    """One redirected write."""

    path: str
    after_txid: int | None  # a transaction that lies before it; None: unknown, so no event can end its window
    ends_at: float
    topmost_missing: str | None
    writer: TwoStepWriter = ANYBODY

    @property
    def topmost(self) -> str:
        """The topmost path that the write may create."""
        return self.path if self.topmost_missing is None else self.topmost_missing

    def known(self, topmost_missing: str | None, *, has_right: bool) -> "TwoStepWrite":
        """Return the write, updated with a NameNode's report."""
        writer = replace(self.writer, has_right=has_right, is_known=True)
        return replace(self, topmost_missing=topmost_missing, writer=writer)

    def place(self, filters: GlobSet) -> str | None:
        """Return the lowest path that the write may create and that concerns the filters; its own path first."""
        lowest = filters.lowest_concern(self.path)
        if lowest is None or lowest == self.path:
            return lowest
        topmost = self.topmost_missing
        return lowest if topmost is not None and len(lowest) >= len(topmost) else None


_Aged = tuple[float, int, TwoStepWrite]
"""The end of a write, a number that tells apart writes with the same end, and the write."""


class DeferredWrites:
    """Writes without a window, ordered by their end; their number is bounded, in total and for each owner.

    Invariants:
        A1  Only the latest writes are kept, in total and for each owner. A write that a NameNode was asked about again
            keeps its age, so it displaces no later write.
        A2  `_denied` holds the path of each write without a right, in order.
    """

    def __init__(self, *, max_writes: int, share: int) -> None:
        self._max_writes = max_writes
        self._share = share
        self._numbers = count()
        self._aged: dict[TwoStepWrite, _Aged] = {}
        self._by_age: list[_Aged] = []
        self._by_owner: dict[str, list[_Aged]] = {}
        self._denied: list[tuple[str, int, TwoStepWrite]] = []  # the id tells writes of one path apart

    def __len__(self) -> int:
        return len(self._by_age)

    def __contains__(self, write: TwoStepWrite) -> bool:
        return write in self._aged

    def __iter__(self) -> Iterator[TwoStepWrite]:
        return (write for _, _, write in self._by_age)

    def add(self, write: TwoStepWrite) -> None:
        """Keep the write. A full table drops the oldest: of its owner or of all, possibly this one."""
        aged = (write.ends_at, next(self._numbers), write)
        owners = write.writer.owners
        if any(aged < oldest for oldest in self._in_the_way(owners)):
            return
        while oldest := next(self._in_the_way(owners), None):
            self.remove(oldest[-1])
        self._aged[write] = aged
        insort(self._by_age, aged)
        for owner in owners:
            insort(self._by_owner.setdefault(owner, []), aged)
        if not write.writer.has_right:
            insort(self._denied, (write.path, id(write), write))

    def _in_the_way(self, owners: tuple[str, ...]) -> Iterator[_Aged]:
        """Yield the oldest write of each owner whose share is used up, and the oldest of all if the table is full."""
        for owner in owners:
            if len(theirs := self._by_owner.get(owner, [])) >= self._share:
                yield theirs[0]
        if len(self) >= self._max_writes:
            yield self._by_age[0]

    def remove(self, write: TwoStepWrite) -> None:
        """Drop the write."""
        aged = self._aged.pop(write)
        del self._by_age[bisect_left(self._by_age, aged)]
        for owner in write.writer.owners:
            theirs = self._by_owner[owner]
            del theirs[bisect_left(theirs, aged)]
            if not theirs:
                del self._by_owner[owner]
        if not write.writer.has_right:
            del self._denied[bisect_left(self._denied, (write.path, id(write)))]

    def expire(self, now: float) -> None:
        """Drop the writes whose window would have ended by now."""
        while self._by_age and now >= self._by_age[0][0]:
            self.remove(self._by_age[0][-1])

    def denied_at(self, path: str) -> list[TwoStepWrite]:
        """Return the writes at or below a path whose caller lacked the right."""
        if not self._denied:
            return []
        prefix = path if path == ROOT else path + ROOT
        return [*self._denied_from(path, path), *self._denied_from(prefix, prefix[:-1] + "0")]

    def _denied_from(self, first: str, end: str) -> list[TwoStepWrite]:
        """Return the denied writes of the path `first` and of the paths between it and `end`; "0" sorts after "/"."""
        start = bisect_left(self._denied, (first,))
        stop = bisect_left(self._denied, (end,) if end != first else (first + "\0",))
        return [write for _, _, write in self._denied[start:stop]]

    def check(self) -> None:
        """Assert A1, A2 and that the indexes agree; for tests."""
        assert len(self) <= self._max_writes
        assert self._by_age == sorted(self._aged.values())
        for owner, theirs in self._by_owner.items():
            assert theirs == [aged for aged in self._by_age if owner in aged[-1].writer.owners]
            assert 0 < len(theirs) <= self._share
        assert {owner for write in self for owner in write.writer.owners} == self._by_owner.keys()
        assert [(path, number) for path, number, _ in self._denied] == sorted(
            (write.path, id(write)) for write in self if not write.writer.has_right
        )
