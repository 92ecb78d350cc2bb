"""Answer the reads as a proxy would, one directory after the other. (nncache/advisor/replay.py)

Needs only the standard library: Spark's executors get it by value (`replaying.py`). An entry belongs to a path, and a
right to a user and the path's directory. So the answers for a directory depend only on its rows, in order of time.
Facts that an audit log lacks are assumed twice: so that the proxy saves least (`LOW`), and most (`HIGH`).

Reads over WebHDFS and over RPC are replayed separately, as if only one protocol used a proxy.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

LOW, HIGH = 0, 1
ASSUMPTIONS = (LOW, HIGH)

# The values of `nncache.advisor.footprints.RowKind`; a test compares them.
TOUCHED, CREATED, MADE, VANISHED, ARRIVED = range(1, 6)
BELOW_CHANGED, BELOW_MADE, BELOW_GONE, BELOW_ACCESS = range(6, 10)
READ, DENIED, OPENED = range(10, 13)

FILE, DIRECTORY, MISSING, UNKNOWN = range(4)
BECOMES = {CREATED: FILE, MADE: DIRECTORY, VANISHED: MISSING, ARRIVED: UNKNOWN}

NEVER = -1
CHANGES = -1
PAIR_MS = 100
"""The NameNode reads the status for an OPEN over WebHDFS at most this time before it."""

COUNTED = (
    "reads",
    "hits_low",
    "calls_low",
    "hits_high",
    "calls_high",
    "entries",
    "rights",
    "directories",
    "askers",
    "name_chars",
)
"""The counts of each glob, protocol and bucket of time; the last five are additions minus removals, for `HIGH`."""
ENTRIES, RIGHTS, DIRECTORIES, ASKERS, NAME_CHARS = range(5, 10)


class ReplayRow(NamedTuple):
    """One read, or one change with its effect on one directory."""

    directory: str
    at: int  # ms
    kind: int
    path: str
    user: str
    glob: int  # of a read
    is_web: bool  # whether a read is over WebHDFS
    weight: int  # the number of reads that the row stands for


class ReplayRules(NamedTuple):
    """The proxy's settings in ms, and the times of counting."""

    entry_ms: int = 3_600_000
    right_ms: int = 300_000
    open_ms: int = 600_000
    bucket_ms: int = 3_600_000
    counted_from: int = 0  # earlier rows fill the cache and are not counted


class _Asker:
    """A user who reads a path: the last read, which a following OPEN undoes, and the time until which reads are hits.

    Nearly all reads are hits, so there is a fast path for reads before `until`, unless an entry was forgotten.
    """

    __slots__ = ("at", "counts", "sums", "undo", "until", "version")

    def __init__(self) -> None:
        self.at = NEVER
        self.counts: tuple[int, ...] = ()
        self.undo: list[tuple[dict[str, int], str, int | None]] = []
        self.until = NEVER  # reads are hits under both assumptions, within the same bucket
        self.sums: list[int] = []  # the counts of this bucket
        self.version = 0  # of the directory, when `until` was set


class Replayer:
    """Replays rows that are sorted by directory, time and kind; `counts` holds the result."""

    def __init__(self, rules: ReplayRules) -> None:
        self._rules = rules
        self.counts: dict[tuple[int, bool, int], list[int]] = {}  # by glob, protocol and bucket
        # Reads by glob and the power of two of seconds since the last; under CHANGES, changes of paths that were read.
        self.gaps: Counter[tuple[int, int]] = Counter()
        self._directory: str | None = None
        self._begin()

    def _begin(self) -> None:
        """Reset the state for the next directory."""
        # The expiry times, by `2 * is_web + assumption`: entries by path, rights by user.
        self._entries: tuple[dict[str, int], ...] = ({}, {}, {}, {})
        self._rights: tuple[dict[str, int], ...] = ({}, {}, {}, {})
        self._kinds: dict[str, int] = {}  # the kind of each path that the log shows
        self._default = UNKNOWN  # the kind of all other paths
        self._gone: str | None = None  # the removed tree that the directory is in: itself or an ancestor
        self._open_until: dict[str, int] = {}  # for LOW
        self._askers: dict[tuple[str, str, bool], _Asker] = {}
        self._version = 0  # increases with each row that may forget entries
        self._protocols: set[bool] = set()  # those of the reads so far, by is_web
        self._globs: dict[tuple[str, bool], int] = {}  # by path that was read, and by user with a right

    def take(self, rows: Iterable[tuple[str, int, int, str, str, int, bool, int]]) -> None:
        """Replay more rows, each as in `ReplayRow`."""
        gaps = self.gaps
        for plain in rows:
            directory, at, kind, path, user, glob, is_web, weight = plain
            if directory != self._directory:
                self._directory = directory
                self._begin()
            if kind == READ:
                asker = self._askers.get((path, user, is_web))
                if asker is None or at >= asker.until or asker.version != self._version:
                    self._read(ReplayRow(*plain))
                    continue
                if at > asker.at:
                    gaps[glob, ((at - asker.at) // 1000).bit_length()] += 1
                asker.at = at
                if asker.undo:
                    asker.undo = []
                asker.counts = weight, weight, 0, weight, 0
                sums = asker.sums
                sums[0] += weight
                sums[1] += weight
                sums[3] += weight
                continue
            row = ReplayRow(*plain)
            self._version += 1
            if kind == DENIED:
                self._denied(row)
            elif kind == OPENED:
                self._opened(row)
            elif kind < BELOW_CHANGED:
                self._own(row)
            else:
                self._below(row)

    # -- reads ---------------------------------------------------------------------------------------

    def _count(self, glob: int, is_web: bool, at: int) -> list[int]:  # noqa: FBT001 - a key
        key = glob, is_web, at // self._rules.bucket_ms
        counts = self.counts.get(key)
        if counts is None:
            counts = self.counts[key] = [0] * len(COUNTED)
        return counts

    def _read(self, row: ReplayRow) -> None:
        _, at, _, path, user, glob, is_web, weight = row
        counts = self._count(glob, is_web, at)
        asker = self._askers.get((path, user, is_web))
        if asker is None:
            asker = self._askers[path, user, is_web] = _Asker()
            counts[ASKERS] += 1
            counts[DIRECTORIES] += is_web not in self._protocols
            self._protocols.add(is_web)
            self._globs.setdefault((path, is_web), glob)
        elif at > asker.at:
            self.gaps[glob, ((at - asker.at) // 1000).bit_length()] += 1
        asker.at = at
        asker.undo = []
        hits_low, calls_low = self._answer(row, LOW, asker, counts)
        hits_high, calls_high = self._answer(row, HIGH, asker, counts)
        asker.counts = weight, hits_low, calls_low, hits_high, calls_high
        self._add(at, counts, asker.counts)
        if at >= self._rules.counted_from:
            kept = (self._entries[2 * is_web + each].get(path, NEVER) for each in ASSUMPTIONS)
            proven = (self._rights[2 * is_web + each].get(user, NEVER) for each in ASSUMPTIONS)
            asker.until = min(*kept, *proven, (at // self._rules.bucket_ms + 1) * self._rules.bucket_ms)
            asker.sums, asker.version = counts, self._version

    def _answer(self, row: ReplayRow, assumption: int, asker: _Asker, counts: list[int]) -> tuple[int, int]:
        """Return the number of hits among the reads of a row, and the number of calls for the others."""
        _, at, _, path, user, glob, is_web, weight = row
        entries, rights = self._entries[2 * is_web + assumption], self._rights[2 * is_web + assumption]
        is_kept = entries.get(path, NEVER) > at
        if is_kept and rights.get(user, NEVER) > at:
            return weight, 0
        asker.undo.append((rights, user, rights.get(user)))
        if user not in rights:
            counts[RIGHTS] += assumption
            self._globs.setdefault((user, is_web), glob)
        rights[user] = at + self._rules.right_ms
        kind = self._kinds.get(path, self._default)
        is_file = kind == FILE or (kind == UNKNOWN and assumption == LOW)
        calls = 1 + (is_file and not is_kept)
        if not is_file or not (is_kept or (assumption == LOW and self._open_until.get(path, NEVER) > at)):
            asker.undo.append((entries, path, entries.get(path)))
            if path not in entries:
                counts[ENTRIES] += assumption
                counts[NAME_CHARS] += assumption * _name_chars(path)
            entries[path] = at + self._rules.entry_ms
            is_kept = True
        # The first read of a row is forwarded; the others too, if the reply may not be cached.
        return (weight - 1, calls) if is_kept else (0, calls + 2 * (weight - 1))

    def _add(self, at: int, counts: list[int], found: tuple[int, ...], sign: int = 1) -> None:
        if at >= self._rules.counted_from:
            for number, value in enumerate(found):
                counts[number] += sign * value

    def _denied(self, row: ReplayRow) -> None:
        """Replay a refused read: a refusal is not cached, but an unexpired right and entry still give a hit."""
        counts = self._count(row.glob, row.is_web, row.at)
        found = [row.weight]
        for assumption in ASSUMPTIONS:
            place = 2 * row.is_web + assumption
            rights = self._rights[place]
            is_hit = (
                rights.get(row.user, NEVER) > row.at and self._entries[place].get(row.path, NEVER) > row.at
            )
            found += (row.weight, 0) if is_hit else (0, row.weight)
            if not is_hit and rights.pop(row.user, None) is not None:
                counts[RIGHTS] -= assumption
        self._add(row.at, counts, tuple(found))

    def _opened(self, row: ReplayRow) -> None:
        """Undo the read that the NameNode made for an OPEN: it is not a client's, and no proxy caches it."""
        self._open_until.pop(row.path, None)  # a client that waits for a file reads it once it is complete
        asker = self._askers.get((row.path, row.user, row.is_web))
        if asker is None or asker.at < row.at - PAIR_MS or not asker.counts:
            return
        for table, key, before in reversed(asker.undo):
            if before is None:
                table.pop(key, None)
            else:
                table[key] = before
        self._add(row.at, self._count(row.glob, row.is_web, row.at), asker.counts, -1)
        asker.undo = []
        asker.counts = ()

    # -- changes -------------------------------------------------------------------------------------

    def _own(self, row: ReplayRow) -> None:
        """Replay a change of one path's own status."""
        path, kind = row.path, row.kind
        glob = self._globs.get((path, True), self._globs.get((path, False)))
        if glob is not None:
            self.gaps[glob, CHANGES] += 1
        was_there = kind == MADE and self._kinds.get(path, self._default) in {DIRECTORY, UNKNOWN}
        if kind == CREATED:
            is_marker = path.rpartition("/")[2].startswith(
                "_"
            )  # such as _SUCCESS: empty, closed within milliseconds
            self._open_until[path] = row.at + (0 if is_marker else self._rules.open_ms)
        elif kind in BECOMES:
            self._open_until.pop(path, None)
        if kind in BECOMES:
            self._kinds[path] = BECOMES[kind]
            self._gone = self._gone if kind == VANISHED else None
        for place, entries in enumerate(self._entries):
            assumption = place % 2
            if not (was_there and assumption == HIGH) and entries.pop(path, None) is not None:
                self._forgotten(row.at, path, assumption, is_web=place > 1)

    def _below(self, row: ReplayRow) -> None:
        """Replay a change that makes everything in the directory stale."""
        path, gone = row.path, self._gone
        was_there = row.kind == BELOW_MADE and not (gone and f"{path}/".startswith(f"{gone}/"))
        if row.kind == BELOW_MADE and not was_there:
            rest = row.directory[len(path) + 1 :]
            self._gone = f"{path}/{rest.partition('/')[0]}" if rest else None
        elif row.kind in {BELOW_GONE, BELOW_CHANGED}:
            self._kinds.clear()
            self._open_until.clear()
            self._default = MISSING if row.kind == BELOW_GONE else UNKNOWN
            self._gone = path if row.kind == BELOW_GONE else None
        for place, (entries, rights) in enumerate(zip(self._entries, self._rights, strict=True)):
            assumption, is_web = place % 2, place > 1
            if was_there and assumption == HIGH:
                continue
            for each in entries:
                self._forgotten(row.at, each, assumption, is_web=is_web)
            for user in rights:
                self._count(self._globs[user, is_web], is_web, row.at)[RIGHTS] -= assumption
            entries.clear()
            rights.clear()

    def _forgotten(self, at: int, path: str, assumption: int, *, is_web: bool) -> None:
        counts = self._count(self._globs[path, is_web], is_web, at)
        counts[ENTRIES] -= assumption
        counts[NAME_CHARS] -= assumption * _name_chars(path)


def _name_chars(path: str) -> int:
    return len(path) - path.rfind("/") - 1


def fold(rules: ReplayRules, columns: Iterable[Sequence[Sequence[Any]]]) -> Iterator[tuple[object, ...]]:
    """Replay batches of columns, in the order of `ReplayRow`, and then yield the counts.

    A row of counts is glob, protocol, bucket and `COUNTED`; a row of gaps is glob, None, the power of two and a number.
    """
    folder = Replayer(rules)
    for batch in columns:
        folder.take(zip(*batch, strict=True))
    for (glob, is_web, bucket), counts in folder.counts.items():
        yield (glob, is_web, bucket, *counts)
    padding = (0,) * (len(COUNTED) - 1)
    for (glob, power), count in folder.gaps.items():
        yield (glob, None, power, count, *padding)
