"""What a round of connects must show.

Pure. A round is one storm of connects on one proxy, with pollers that were connected before it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.bench.request_cost.figures import Verdict

MAX_CONNECTS_S: Final = 1.0
"""In which all connects are made; a storm that takes longer is none."""

MAX_P99_S: Final = 0.1
"""Of the polls that were due meanwhile."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long some requests took, in seconds."""

    count: int
    p50_s: float
    p99_s: float
    max_s: float


def times_of(took_s: Iterable[float]) -> Times:
    """Return their quantiles, by nearest rank; all 0 of none."""
    ordered = sorted(took_s)
    if not ordered:
        return Times(0, 0.0, 0.0, 0.0)
    p50, p99 = (ordered[-(-len(ordered) * part // 100) - 1] for part in (50, 99))
    return Times(len(ordered), p50, p99, ordered[-1])


def times_between(due: Sequence[float], took_s: Sequence[float], begin: float, end: float) -> Times:
    """Return the quantiles of what was due within a window."""
    return times_of(took for at, took in zip(due, took_s, strict=True) if begin <= at < end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one storm did to one proxy.

    Attributes:
        program: which nncache was asked.
        connects_s: in what time the connects were made.
        answered_s: until all were answered.
        connected: from connect to answer.
        before, meanwhile, after: the polls due in a quiet time before, until the last answer, and while those who
            came went.
        late_p99_s: by how much the polls meanwhile were late because the process that polls was.
        failed: connects and polls without a good answer.
        forwarded: answers that did not come from memory, since the gate was not open.
        probes, probes_failed: of the NameNode's state.
        edits, edits_failed: polls of the edits.
        edits_before_s, edits_meanwhile_s: what one took on average.
        stalls: of the proxy's event loop.
        cpu_s: of the proxy, from the first connect until all had gone.
        storm_cpu_s, pollers_cpu_s: of those who connect, and of those who poll.
    """

    program: str
    connects_s: float
    answered_s: float
    connected: Times
    before: Times
    meanwhile: Times
    after: Times
    late_p99_s: float
    failed: int
    forwarded: int
    probes: int
    probes_failed: int
    edits: int
    edits_failed: int
    edits_before_s: float
    edits_meanwhile_s: float
    stalls: int
    cpu_s: float
    storm_cpu_s: float
    pollers_cpu_s: float

    @property
    def is_in_time(self) -> bool:
        """Whether the connects came as fast as they had to: on a busy machine they may not."""
        return self.connects_s <= MAX_CONNECTS_S


def verdicts(rounds: Sequence[Round], wanted: int) -> list[Verdict]:
    """Judge the rounds of one program, of which so many are wanted in time; the others count for what failed."""
    in_time = [each for each in rounds if each.is_in_time]
    p99_s = max((max(each.meanwhile.p99_s, each.after.p99_s) for each in in_time), default=0.0)
    failed, forwarded = (sum(each.failed for each in rounds), sum(each.forwarded for each in rounds))
    return [
        Verdict(
            what=f"{wanted} storms whose connects are made within {MAX_CONNECTS_S:g} s",
            seen=f"{len(in_time)} of {len(rounds)}",
            is_met=len(in_time) >= wanted,
        ),
        Verdict(what="no request fails", seen=f"{failed:,}", is_met=not failed),
        _none_lost("probe of the NameNode", [(each.probes_failed, each.probes) for each in rounds]),
        _none_lost("poll of the edits", [(each.edits_failed, each.edits) for each in rounds]),
        Verdict(
            what="the gate stays open: all is answered from memory",
            seen=f"{forwarded:,} forwarded",
            is_met=not forwarded,
        ),
        Verdict(
            what=f"polls of those who were there: p99 at most {MAX_P99_S * 1e3:.0f} ms, while others come and go",
            seen=f"{p99_s * 1e3:.1f} ms in the worst of {len(in_time)}",
            is_met=p99_s <= MAX_P99_S
            and bool(in_time)
            and all(each.meanwhile.count and each.after.count for each in in_time),
        ),
    ]


def _none_lost(what: str, lost_of: Sequence[tuple[int, int]]) -> Verdict:
    lost, made = (sum(each) for each in zip(*lost_of, strict=True))
    return Verdict(what=f"no {what} is lost", seen=f"{lost:,} of {made:,}", is_met=not lost and made > 0)


_COLUMNS: Final[tuple[tuple[str, str, Callable[["Round"], str]], ...]] = (
    ("connects", "made in s", lambda each: f"{each.connects_s:.2f}"),
    ("answered", "in s", lambda each: f"{each.answered_s:.2f}"),
    ("each", "p50, p99", lambda each: _ms(each.connected.p50_s, each.connected.p99_s)),
    ("before", "p50, p99", lambda each: _ms(each.before.p50_s, each.before.p99_s)),
    (
        "while they come",
        "p50, p99, max",
        lambda each: _ms(each.meanwhile.p50_s, each.meanwhile.p99_s, each.meanwhile.max_s),
    ),
    (
        "while they go",
        "p50, p99, max",
        lambda each: _ms(each.after.p50_s, each.after.p99_s, each.after.max_s),
    ),
    ("poller late", "p99", lambda each: _ms(each.late_p99_s)),
    ("edits", "before, then", lambda each: _ms(each.edits_before_s, each.edits_meanwhile_s)),
    ("stalls", "", lambda each: str(each.stalls)),
    (
        "CPU, s",
        "proxy, connects, polls",
        lambda each: f"{each.cpu_s:.2f}, {each.storm_cpu_s:.2f}, {each.pollers_cpu_s:.2f}",
    ),
)
"""Of the table: two lines of its head, and what stands below. Times of requests in ms."""


def lines(rounds: Sequence[Round]) -> list[str]:
    """Return a table of all rounds."""
    rows = [["", *(top for top, _, _ in _COLUMNS)], ["ms", *(below for _, below, _ in _COLUMNS)]]
    rows += [[each.program, *(show(each) for _, _, show in _COLUMNS)] for each in rounds]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _ms(*seconds: float) -> str:
    return ", ".join(f"{each * 1e3:.1f}" for each in seconds)
