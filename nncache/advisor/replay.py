"""Answer the reads of one directory after the other as the proxy would. (nncache/advisor/replay.py)

Needs nothing but the standard library: Spark's executors get it by value (`replaying.py`). An entry belongs to a path,
a right to a user and the directory of the path, so a directory's rows in order of time are all that its answers
depend on. What an audit log cannot say is taken twice, in the way that saves least (`LOW`) and most (`HIGH`).

Reads over WebHDFS and over RPC are answered apart, as if the others did not go through a proxy.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

LOW, HIGH = 0, 1
ASSUMPTIONS = (LOW, HIGH)

# As `nncache.advisor.footprints.Kind`, which a test compares.
TOUCHED, CREATED, MADE, VANISHED, ARRIVED = range(1, 6)
BELOW_CHANGED, BELOW_MADE, BELOW_GONE, BELOW_ACCESS = range(6, 10)
READ, DENIED, OPENED = range(10, 13)

FILE, DIRECTORY, MISSING, UNKNOWN = range(4)
BECOMES = {CREATED: FILE, MADE: DIRECTORY, VANISHED: MISSING, ARRIVED: UNKNOWN}

NEVER = -1
CHANGES = -1
PAIR_MS = 100
"""An OPEN over WebHDFS asks for the status first: within this time."""

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
"""What is counted of each glob, protocol and bucket of time; the last five are added minus forgotten, of `HIGH`."""
ENTRIES, RIGHTS, DIRECTORIES, ASKERS, NAME_CHARS = range(5, 10)


class Row(NamedTuple):
    """One read or change, as far as it concerns one directory."""

    directory: str
    at: int  # ms
    kind: int
    path: str
    user: str
    glob: int  # of a read
    is_web: bool  # of a read: over WebHDFS
    weight: int  # of a read: for how many it stands


class Rules(NamedTuple):
    """The proxy's settings, in ms, and what is counted."""

    entry_ms: int = 3_600_000
    right_ms: int = 300_000
    open_ms: int = 600_000
    bucket_ms: int = 3_600_000
    counted_from: int = 0  # what was before fills the cache and is not counted


class _Asker:
    """A user who reads a path: the last read, which an OPEN right after it takes back, and until when reads are hits.

    Nearly all reads are hits, so that these are counted at once: before `until`, unless something was forgotten.
    """

    __slots__ = ("at", "counts", "sums", "undo", "until", "version")

    def __init__(self) -> None:
        self.at = NEVER
        self.counts: tuple[int, ...] = ()
        self.undo: list[tuple[dict[str, int], str, int | None]] = []
        self.until = NEVER  # at both ends, and in the same bucket, of which `sums` has the counts
        self.sums: list[int] = []
        self.version = 0  # of the directory, when `until` was found


class Folder:
    """Replays rows that are sorted by directory, time and kind; `counts` is what came of it."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.counts: dict[tuple[int, bool, int], list[int]] = {}  # by glob, protocol and bucket
        # Reads by glob and the power of two of seconds since the last; under CHANGES the changes of what was read.
        self.gaps: Counter[tuple[int, int]] = Counter()
        self._directory: str | None = None
        self._begin()

    def _begin(self) -> None:
        """Forget everything: another directory begins."""
        # What is kept and until when, by `2 * is_web + assumption`: entries by path, rights by user.
        self._entries: tuple[dict[str, int], ...] = ({}, {}, {}, {})
        self._rights: tuple[dict[str, int], ...] = ({}, {}, {}, {})
        self._kinds: dict[str, int] = {}  # what each path is, where the log has said it
        self._default = UNKNOWN  # of all others
        self._gone: str | None = None  # what was removed with all below: the directory or one above it
        self._open_until: dict[str, int] = {}  # for LOW
        self._askers: dict[tuple[str, str, bool], _Asker] = {}
        self._version = 0  # of what is kept: whenever something is forgotten
        self._protocols: set[bool] = set()  # over which something was read
        self._globs: dict[tuple[str, bool], int] = {}  # of the paths that were read, and of who has a right

    def take(self, rows: Iterable[tuple[str, int, int, str, str, int, bool, int]]) -> None:
        """Replay more rows, each as in `Row`."""
        gaps = self.gaps
        for plain in rows:
            directory, at, kind, path, user, glob, is_web, weight = plain
            if directory != self._directory:
                self._directory = directory
                self._begin()
            if kind == READ:
                asker = self._askers.get((path, user, is_web))
                if asker is None or at >= asker.until or asker.version != self._version:
                    self._read(Row(*plain))
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
            row = Row(*plain)
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

    def _read(self, row: Row) -> None:
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

    def _answer(self, row: Row, assumption: int, asker: _Asker, counts: list[int]) -> tuple[int, int]:
        """Return how many of the reads that a row stands for are hits, and the calls for the others."""
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
        # Of several that one row stands for the first is asked for, and the others if nothing may be kept.
        return (weight - 1, calls) if is_kept else (0, calls + 2 * (weight - 1))

    def _add(self, at: int, counts: list[int], found: tuple[int, ...], sign: int = 1) -> None:
        if at >= self._rules.counted_from:
            for number, value in enumerate(found):
                counts[number] += sign * value

    def _denied(self, row: Row) -> None:
        """A refusal is not kept: the NameNode is asked, unless the right to the answer is still believed."""
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

    def _opened(self, row: Row) -> None:
        """Take back the read that an OPEN has made: it is no client's, and no proxy keeps it."""
        self._open_until.pop(row.path, None)  # who waits for a file reads it once it is complete
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

    def _own(self, row: Row) -> None:
        """One path's status is stale."""
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

    def _below(self, row: Row) -> None:
        """Everything in the directory is stale."""
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


def fold(rules: Rules, columns: Iterable[Sequence[Sequence[Any]]]) -> Iterator[tuple[object, ...]]:
    """Replay batches of columns, in the order of `Row`; yield the counts in the end.

    A count is glob, protocol, bucket and `COUNTED`; a row of `gaps` is glob, None, the power of two and how many.
    """
    folder = Folder(rules)
    for batch in columns:
        folder.take(zip(*batch, strict=True))
    for (glob, is_web, bucket), counts in folder.counts.items():
        yield (glob, is_web, bucket, *counts)
    padding = (0,) * (len(COUNTED) - 1)
    for (glob, power), count in folder.gaps.items():
        yield (glob, None, power, count, *padding)
