"""Rounds of load at several sizes, and how the CPU for each hit may grow with them.

Pure. In a round each size is measured once, one right after the other, and what counts is its CPU for each hit by that
of the smallest size in the same round: how fast the machine is at the moment cancels out.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final, TypeVar

from nncache.bench.request_cost.figures import Name, Verdict

SizeT = TypeVar("SizeT")
"""Whatever stands for a size."""


class Growth(StrEnum):
    """What grows."""

    FILTERS = "filters"
    ENTRIES = "entries"
    CALLERS = "callers"
    HEADS = "different requests"
    CONNECTIONS = "connections"


class Way(StrEnum):
    """How a request is answered from memory."""

    KNOWN = "repeated"
    """By its bytes: the same head has been answered before."""
    PARSED = "parsed"
    """By its meaning: a field of its own in each makes it another head, which is read, answered and remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one server did at one size.

    Attributes:
        number: of the round; those of one number were measured one right after the other.
        size: filters, entries, callers, different requests or connections.
        hits: answered from memory while the CPU was measured; of nginx all that it answered.
        failed: lost connections, timeouts and replies of another status, of `requests`.
        requests: answered while there was load, which is a little longer.
        misses: calls of getFileInfo at the NameNode meanwhile.
        cpu_s: of the server.
        entries: that it held at the end; 0 where it does not say.
    """

    growth: Growth
    way: Way
    name: Name
    size: int
    number: int
    hits: int
    failed: int
    requests: int
    misses: int
    cpu_s: float
    entries: int

    @property
    def per_hit_s(self) -> float:
        """CPU seconds for each hit."""
        return self.cpu_s / max(1, self.hits)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the chart: a server, asked in one way, at all sizes."""

    growth: Growth
    way: Way
    name: Name


SIZES: Final = {
    Growth.FILTERS: (10, 100, 1_000),
    Growth.ENTRIES: (1_000, 10_000, 100_000, 1_000_000),
    Growth.CALLERS: (1, 100, 10_000),
    Growth.HEADS: (1_000, 10_000),
    Growth.CONNECTIONS: (64, 1_000, 10_000),
}
WAYS: Final = {
    Growth.FILTERS: (Way.KNOWN, Way.PARSED),
    Growth.ENTRIES: (Way.KNOWN, Way.PARSED),
    Growth.CALLERS: (Way.KNOWN, Way.PARSED),
    Growth.HEADS: (Way.KNOWN,),
    Growth.CONNECTIONS: (Way.KNOWN,),
}
MAX_GROWTH: Final = {Growth.FILTERS: 1.1, Growth.ENTRIES: 1.1, Growth.CALLERS: 1.1}
"""CPU for each hit at any size, by that at the smallest."""
MAX_MISSES: Final = 0.001
"""Of the requests: beyond it, something else than hits is measured."""


def sizes_of(growth: Growth, most: int | None = None) -> tuple[int, ...]:
    """Return the sizes, those up to `most` if it is given, and always the smallest."""
    first, *others = SIZES[growth]
    return (first, *(size for size in others if most is None or size <= most))


def in_turn(sizes: Sequence[SizeT], number: int) -> Sequence[SizeT]:
    """Return the sizes in the order of this round: up and down by turns, so that a drift favours none."""
    return sizes if number % 2 else sizes[::-1]


def by_line(rounds: Iterable[Round]) -> dict[Line, dict[int, list[Round]]]:
    """Return the rounds of each line, by size, smallest first."""
    found: dict[Line, dict[int, list[Round]]] = defaultdict(lambda: defaultdict(list))
    for each in sorted(rounds, key=lambda each: (each.size, each.number)):
        found[Line(each.growth, each.way, each.name)][each.size].append(each)
    lines = [Line(growth, way, name) for growth in Growth for way in Way for name in Name]
    return {line: dict(found[line]) for line in lines if line in found}


def growth_at(sizes: dict[int, list[Round]]) -> dict[int, list[float]]:
    """Return for each size its CPU for each hit, by that of the smallest in the same round."""
    least = {each.number: each.per_hit_s for each in sizes[min(sizes)]}
    return {
        size: [each.per_hit_s / least[each.number] for each in of_size if least.get(each.number)]
        for size, of_size in sizes.items()
    }


def verdicts(rounds: Sequence[Round]) -> list[Verdict]:
    """Judge what was measured; what was not is passed over."""
    ours = [each for each in rounds if each.name is Name.NNCACHE]
    known = by_line(rounds)
    found = [_failures(ours), _misses(rounds), *_held(ours)]
    for line, sizes in known.items():
        limit = MAX_GROWTH.get(line.growth)
        if limit is not None and line.name is Name.NNCACHE and len(sizes) > 1:
            found.append(_within(line, sizes, limit, f"at most {limit - 1:.0%} more CPU for each hit"))
    theirs = known.get(Line(Growth.CONNECTIONS, Way.KNOWN, Name.NGINX))
    sizes = known.get(Line(Growth.CONNECTIONS, Way.KNOWN, Name.NNCACHE), {})
    if theirs and len(sizes) > 1:
        limit = median(growth_at(theirs)[max(theirs)])
        what = f"no more growth than nginx's {limit:.2f}"
        found.append(_within(Line(Growth.CONNECTIONS, Way.KNOWN, Name.NNCACHE), sizes, limit, what))
    return found


def _failures(ours: Sequence[Round]) -> Verdict:
    failed = sum(each.failed for each in ours)
    return Verdict(what="no request through nncache fails", seen=f"{failed:,}", is_met=not failed)


def _misses(rounds: Sequence[Round]) -> Verdict:
    most = max((each.misses / max(1, each.requests) for each in rounds), default=0.0)
    return Verdict(
        what=f"at most {MAX_MISSES:.1%} of the requests of a round reach the NameNode",
        seen=f"{most:.3%} in the worst",
        is_met=most <= MAX_MISSES,
    )


def _held(ours: Sequence[Round]) -> list[Verdict]:
    filled = [each for each in ours if each.growth is Growth.ENTRIES]
    if not filled:
        return []
    size, held = min(((each.size, each.entries) for each in filled), key=lambda at: at[1] / at[0])
    return [
        Verdict(
            what="as many entries are held as are said",
            seen=f"{held:,} of {size:,} at the least",
            is_met=held >= size,
        )
    ]


def _within(line: Line, sizes: dict[int, list[Round]], limit: float, what: str) -> Verdict:
    """Judge the median at each size; the worst of them counts."""
    found = growth_at(sizes)
    first, last = min(sizes), max(sizes)
    middle, size = max((median(ratios), size) for size, ratios in found.items() if size != first)
    return Verdict(
        what=f"{line.growth}, {line.way}: from {first:,} to {last:,} {what}",
        seen=f"{middle:.2f} at {size:,}, {max(found[size]):.2f} in the worst of {len(found[size])}",
        is_met=middle <= limit,
    )


def lines(rounds: Sequence[Round]) -> list[str]:
    """Return a table: for each line and size the CPU for each hit, and by that of the smallest size."""
    heading = f"{'':30}{'server':>9}{'size':>11}{'entries':>11}{'CPU for a hit':>15}{'worst':>11}"
    found = [f"{heading}{'growth':>9}{'worst':>7}"]
    for line, sizes in by_line(rounds).items():
        growth = growth_at(sizes)
        for size, of_size in sizes.items():
            cost = [each.per_hit_s * 1e6 for each in of_size]
            found.append(
                f"{line.growth:20}{line.way:10}{line.name:>9}{size:>11,}{of_size[-1].entries:>11,}"
                f"{median(cost):>12,.2f} µs{max(cost):>8,.2f} µs"
                f"{median(growth[size]):>9.2f}{max(growth[size]):>7.2f}"
            )
    return found
