"""Rounds of load on several servers, and what they must show.

Pure. A round is one server under one shape of load for some seconds; CPU is that of the serving process and its
children, so that how busy the machine is counts little, and the servers take turns, so that it counts for all.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final


class Shape(StrEnum):
    """What is asked, and how."""

    REPEATED = "repeated heads, 64 connections"
    REPEATED_BY_MANY = "repeated heads, 10,000 new connections"
    VARYING = "a header that differs each time, 64 connections"
    CONNECTION_EACH = "a connection for each request"
    CLOSE = "a connection for each request, Connection: close"
    HTTP_1_0 = "a connection for each request, HTTP/1.0"
    FORWARDED = "forwarded LISTSTATUS, 32 connections"
    OUTSIDE = "GETFILESTATUS outside the filters, 32 connections"
    MISS = "a miss that is kept, 32 connections"
    ALONE = "forwarded LISTSTATUS, one connection"


class Name(StrEnum):
    """Who is asked."""

    NAMENODE = "NameNode"
    NGINX = "nginx"
    HAPROXY = "HAProxy"
    NNCACHE = "nncache"
    FLOOR = "floor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one server did.

    Attributes:
        requests: answered.
        failed: lost connections, timeouts and replies of another status.
        cpu_s: of the server.
        namenode_cpu_s: of the NameNode meanwhile.
        p50_s: of a request.
    """

    shape: Shape
    name: Name
    requests: int
    failed: int
    cpu_s: float
    namenode_cpu_s: float
    p50_s: float

    @property
    def per_cpu_s(self) -> float:
        """Requests for each CPU-second of the server."""
        return self.requests / self.cpu_s if self.cpu_s else 0.0


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A ratio of requests per CPU-second that nncache must reach: its median, or its worst round, by their median."""

    shape: Shape
    than: Name
    in_median: float
    in_worst: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One line of what had to be shown."""

    what: str
    seen: str
    is_met: bool


AT_THE_NAMENODE: Final = (Shape.FORWARDED, Shape.OUTSIDE, Shape.MISS, Shape.ALONE)
"""Of these each request is the NameNode's."""
RATIOS: Final = (
    AtLeast(Shape.REPEATED, Name.NGINX, 1.5, 1.3),
    AtLeast(Shape.REPEATED, Name.HAPROXY, 1.0, 0.85),
    AtLeast(Shape.REPEATED_BY_MANY, Name.NGINX, 1.1, 0.9),
    AtLeast(Shape.VARYING, Name.NGINX, 0.8),
    AtLeast(Shape.VARYING, Name.HAPROXY, 0.5),
    AtLeast(Shape.CONNECTION_EACH, Name.NGINX, 0.6),
    AtLeast(Shape.CLOSE, Name.NGINX, 1 / 1.5),
    AtLeast(Shape.HTTP_1_0, Name.NGINX, 1 / 1.5),
)
MAX_FORWARDED_RATIO: Final = 100 / 32
"""CPU for each forwarded call, by nginx's: 100 µs were asked for where nginx took 32."""
MAX_NAMENODE_RATIO: Final = 1.1
"""CPU of the NameNode for each call that nncache forwards, by what one of nginx's costs it."""
IDLE: Final = "an idle connection after a few requests"
MAX_IDLE_BYTES: Final = 3_100
"""Half of what one took when all of them were aiohttp's: 6,223."""
MAX_ADDED_RATIO: Final = 150 / 59
"""What a forwarded call takes longer than one without a proxy, by nginx's: 150 µs were asked for where it took 59."""


def by_shape(rounds: Iterable[Round]) -> dict[tuple[Shape, Name], list[Round]]:
    """Return the rounds of each."""
    found: dict[tuple[Shape, Name], list[Round]] = defaultdict(list)
    for each in rounds:
        found[each.shape, each.name].append(each)
    return dict(found)


def verdicts(rounds: Sequence[Round], idle_bytes: Mapping[Name, float]) -> list[Verdict]:
    """Judge what was measured, of idle connections what each takes; what was not is passed over."""
    known = by_shape(rounds)
    found = [_failures(rounds)]
    for each in RATIOS:
        ours, theirs = known.get((each.shape, Name.NNCACHE)), known.get((each.shape, each.than))
        if ours and theirs:
            found.append(_ratio(each, ours, theirs))
    for shape in AT_THE_NAMENODE:
        ours, theirs = known.get((shape, Name.NNCACHE)), known.get((shape, Name.NGINX))
        if ours and theirs and shape is not Shape.ALONE:
            found += _forwarded(shape, ours, theirs)
    alone = [known.get((Shape.ALONE, name)) for name in (Name.NNCACHE, Name.NGINX, Name.NAMENODE)]
    if all(alone):
        ours_s, theirs_s, least_s = (median(each.p50_s for each in rounds or ()) for rounds in alone)
        what = f"{Shape.ALONE}: p50 over the NameNode's"
        found.append(_at_most(what, ours_s - least_s, theirs_s - least_s, MAX_ADDED_RATIO))
    if Name.NNCACHE in idle_bytes:
        taken = idle_bytes[Name.NNCACHE]
        what = f"{IDLE}: at most {MAX_IDLE_BYTES:,} bytes"
        found.append(Verdict(what=what, seen=f"{taken:,.0f}", is_met=taken <= MAX_IDLE_BYTES))
    return found


def _forwarded(shape: Shape, ours: Sequence[Round], theirs: Sequence[Round]) -> list[Verdict]:
    ratio = _namenode_cpu_s(ours) / max(_namenode_cpu_s(theirs), 1e-9)
    return [
        _at_most(f"{shape}: CPU", _cpu_s(ours), _cpu_s(theirs), MAX_FORWARDED_RATIO),
        Verdict(
            what=f"{shape}: at most {MAX_NAMENODE_RATIO:g} of the NameNode's CPU behind nginx",
            seen=f"{ratio:.2f}",
            is_met=ratio <= MAX_NAMENODE_RATIO,
        ),
    ]


def _failures(rounds: Sequence[Round]) -> Verdict:
    failed = sum(each.failed for each in rounds if each.name is Name.NNCACHE)
    return Verdict(what="no request through nncache fails", seen=f"{failed:,}", is_met=not failed)


def _ratio(limit: AtLeast, ours: Sequence[Round], theirs: Sequence[Round]) -> Verdict:
    by = median(each.per_cpu_s for each in theirs)
    middle, worst = median(each.per_cpu_s for each in ours) / by, min(each.per_cpu_s for each in ours) / by
    wanted = f"{limit.in_median:g} times {limit.than}"
    if limit.in_worst:
        wanted += f", {limit.in_worst:g} in the worst round"
    return Verdict(
        what=f"{limit.shape}: at least {wanted}",
        seen=f"{middle:.2f}, {worst:.2f} in the worst of {len(ours)}",
        is_met=middle >= limit.in_median and worst >= limit.in_worst,
    )


def _at_most(what: str, ours_s: float, theirs_s: float, most: float) -> Verdict:
    return Verdict(
        what=f"{what} at most {most:.2g} times {Name.NGINX}",
        seen=f"{ours_s * 1e6:.0f} µs, {Name.NGINX} {theirs_s * 1e6:.0f} µs: {ours_s / max(theirs_s, 1e-9):.2f}",
        is_met=ours_s <= most * theirs_s,
    )


def _cpu_s(rounds: Sequence[Round]) -> float:
    return median(each.cpu_s / max(1, each.requests) for each in rounds)


def _namenode_cpu_s(rounds: Sequence[Round]) -> float:
    return median(each.namenode_cpu_s / max(1, each.requests) for each in rounds)


def lines(rounds: Sequence[Round], idle_bytes: Mapping[Name, float]) -> list[str]:
    """Return a table: for each shape and server the median and the worst round; and idle connections."""
    found = [f"{'':48}{'server':>10}{'per CPU-second':>16}{'worst':>10}{'NameNode':>11}{'p50':>10}"]
    for (shape, name), each in sorted(
        by_shape(rounds).items(), key=lambda item: list(Shape).index(item[0][0])
    ):
        rates = [one.per_cpu_s for one in each]
        found.append(
            f"{shape:48}{name:>10}{median(rates):>16,.0f}{min(rates):>10,.0f}"
            f"{_namenode_cpu_s(each) * 1e6:>8,.0f} µs{median(one.p50_s for one in each) * 1e6:>7,.0f} µs"
        )
    found += [f"{IDLE:48}{name:>10}{taken:>10,.0f} bytes" for name, taken in idle_bytes.items()]
    return found
