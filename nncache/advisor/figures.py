"""The results of the replay, as figures of each filter. (nncache/advisor/figures.py)

Pure. A saving is the number of calls to the NameNode without a proxy, minus the number with one, `isFileClosed`
included. An audit log does not determine it exactly: low and high are its bounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

from nncache.advisor.candidates import Candidate, Some
from nncache.advisor.replay import CHANGES, COUNTED

MISSING_BYTES: Final = 340
FILE_BYTES: Final = 440 + 290
ANSWER_BYTES: Final = 270 + 240
RIGHT_BYTES: Final = 224
DIRECTORY_BYTES: Final = 620
"""From docs/sizing.md; `tests/advisor/test_figures.py` compares them with the counts of a cache."""

SOURCE_CALLS_PER_S: Final = (3.0, 100.0)
"""Calls per second that read edits and probe, for each publisher or proxy on the direct channel: idle, and busy."""


Counts: TypeAlias = tuple[int, bool | None, int, *tuple[int, ...]]
"""A row that `nncache.advisor.replay.fold` yields."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The bounds of a figure that an audit log does not determine exactly."""

    low: float
    high: float

    def of(self, whole: float) -> "Bracket":
        """Return the bounds as shares of a whole."""
        return Bracket(self.low / whole, self.high / whole) if whole else Bracket(0.0, 0.0)

    def __add__(self, other: "Bracket") -> "Bracket":
        return Bracket(self.low + other.low, self.high + other.high)


NOTHING: Final = Bracket(0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The figures of one filter for the reads over one protocol."""

    reads: int
    hits: Bracket
    saved: Bracket
    per_bucket: dict[int, Bracket]  # saved calls, by bucket
    memory: Bracket


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedFilter:
    """One recommended filter.

    Attributes:
        web, rpc: reads over WebHDFS, which a changed URL moves to the proxy, and over RPC.
        paths: the approximate number of distinct paths that it caches.
        polled_every_s: the median time between two reads of a path by the same user; None if none is read twice.
        changes: the number of changes of the paths that are read.
    """

    name: str
    glob: str
    web: Side
    rpc: Side
    paths: int
    polled_every_s: float | None
    changes: int

    @property
    def saved(self) -> Bracket:
        """Saved calls over both protocols."""
        return self.web.saved + self.rpc.saved

    @property
    def reads(self) -> int:
        """Reads over both protocols."""
        return self.web.reads + self.rpc.reads

    @property
    def memory(self) -> Bracket:
        """Bytes over both protocols, as if no entry served both."""
        return self.web.memory + self.rpc.memory

    def saved_per_bucket(self) -> dict[int, Bracket]:
        """Saved calls by bucket, over both protocols."""
        found: defaultdict[int, Bracket] = defaultdict(lambda: NOTHING)
        for each in (self.web, self.rpc):
            for bucket, saved in each.per_bucket.items():
                found[bucket] += saved
        return dict(found)


def figures_of(
    candidates: Mapping[int, Candidate],
    rows: Iterable[Counts],
    scale: float = 1.0,
) -> list[RecommendedFilter]:
    """Return the figures of the candidates whose lower bound saves calls, the best first.

    Args:
        candidates: by the number of the glob in the rows.
        rows: the rows that `nncache.advisor.replay.fold` yields for all partitions.
        scale: the factor from the sample to the whole.
    """
    counts: defaultdict[tuple[int, bool], defaultdict[int, list[int]]] = defaultdict(
        lambda: defaultdict(lambda: [0] * len(COUNTED))
    )
    gaps: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for glob, is_web, bucket, *values in rows:
        if is_web is None:
            gaps[glob].append((bucket, values[0]))
            continue
        found = counts[glob, is_web][bucket]
        for place, value in enumerate(values):
            found[place] += value
    figures: list[RecommendedFilter] = []
    for number, each in candidates.items():
        web, rpc = (_of(counts[number, is_web], each, scale) for is_web in (True, False))
        figures.append(
            RecommendedFilter(
                name="",
                glob=each.glob,
                web=web,
                rpc=rpc,
                paths=each.paths,
                polled_every_s=_median_gap([each for each in gaps[number] if each[0] != CHANGES]),
                changes=round(scale * sum(count for power, count in gaps[number] if power == CHANGES)),
            )
        )
    kept = [each for each in figures if each.saved.low > 0]
    return sorted(kept, key=lambda each: (-each.saved.low, each.glob))


def _of(buckets: Mapping[int, list[int]], candidate: Candidate, scale: float) -> Side:
    sums = [sum(column) for column in zip(*buckets.values(), strict=True)] or [0] * len(COUNTED)
    reads, hits_low, calls_low, hits_high, calls_high, *_ = sums
    per_bucket = {
        bucket: Bracket(scale * (values[0] - values[2]), scale * (values[0] - values[4]))
        for bucket, values in buckets.items()
    }
    return Side(
        reads=round(scale * reads),
        hits=Bracket(scale * hits_low, scale * hits_high),
        saved=Bracket(scale * (reads - calls_low), scale * (reads - calls_high)),
        per_bucket=per_bucket,
        memory=_memory(buckets, candidate, scale),
    )


def _memory(buckets: Mapping[int, list[int]], candidate: Candidate, scale: float) -> Bracket:
    """Return the bounds of the peak memory in bytes, rights included: all paths missing, and all paths files."""
    levels = max(1, sum(isinstance(part, Some) for part in candidate.shape[:-1]))
    most = NOTHING
    live = [0] * 5
    for bucket in sorted(buckets):
        live = [sum(pair) for pair in zip(live, buckets[bucket][5:], strict=True)]
        entries, rights, directories, askers, name_chars = live
        least = entries * MISSING_BYTES + name_chars + askers * ANSWER_BYTES + rights * RIGHT_BYTES
        added = entries * (FILE_BYTES - MISSING_BYTES)
        low = least + directories * DIRECTORY_BYTES
        high = least + added + directories * DIRECTORY_BYTES * levels
        most = Bracket(max(most.low, scale * low), max(most.high, scale * high))
    return most


def _median_gap(gaps: list[tuple[int, int]]) -> float | None:
    """Return the median gap in seconds, known to a power of two: 0 is below 1 s, n is from 2^(n-1) to 2^n seconds."""
    total = sum(count for _, count in gaps)
    passed = 0
    for power, count in sorted(gaps):
        passed += count
        if 2 * passed >= total > 0:
            return 0.5 if power == 0 else 0.75 * 2**power
    return None


def over_time(figures: Iterable[RecommendedFilter]) -> dict[int, Bracket]:
    """Return the savings of all filters together, by bucket."""
    found: defaultdict[int, Bracket] = defaultdict(lambda: NOTHING)
    for each in figures:
        for bucket, saved in each.saved_per_bucket().items():
            found[bucket] += saved
    return dict(found)


def at_median_and_peak(saved: Mapping[int, Bracket], buckets: Iterable[int]) -> tuple[Bracket, Bracket]:
    """Return the savings in the median one of these buckets, and in the best one."""
    all_of_them = [saved.get(bucket, NOTHING) for bucket in buckets] or [NOTHING]
    lows, highs = [each.low for each in all_of_them], [each.high for each in all_of_them]
    return Bracket(median(lows), median(highs)), Bracket(max(lows), max(highs))
