"""Steps of the story: what was expected, what was seen, and whether they agree.

Pure. Times are seconds; each judgement takes what was seen and returns a Step.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from nncache.demo.reads import Expected, Read, Record, View

BOUND_S: Final = 3.0
"""The proxy's default `max_staleness_s`: no answer is older, whatever fails."""

_LEAST_TRANSACTIONS_A_WRITE: Final = 10
_MAX_CALLS_SHARE: Final = 0.05  # of the reads of a file that does not change


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What should be seen, and what was."""

    title: str
    expected: str
    seen: str
    came_true: bool


def exit_code(steps: Sequence[Step]) -> int:
    """Return 0 when there are steps and all came true, else 1."""
    return 0 if steps and all(step.came_true for step in steps) else 1


# ---- figures ----------------------------------------------------------------------------------------


def shown(seconds: float) -> str:
    """Return "0.4 ms", "12 ms" or "2.9 s"."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.1f} ms" if 0 < seconds < 0.01 else f"{seconds * 1000:.0f} ms"  # noqa: PLR2004 - 10 ms


def counted(number: int, noun: str) -> str:
    """Return "1 read" or "1,200 reads"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# ---- changes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What clients saw of one change.

    Attributes:
        delays_s: for each client whose answer the change alters and who saw that: from the acknowledgement to the
            start of their first read that showed it; 0 when that one began before.
        wrong: a line for each client whose last read was not answered as it should be.
        oldest_s: from the acknowledgement to the start of the last read answered otherwise; 0 when there was none.
        reads: begun after the acknowledgement.
        failed: reads without a reply or with a server error, before or after it.
    """

    delays_s: tuple[float, ...]
    wrong: tuple[str, ...]
    oldest_s: float
    reads: int
    failed: int


def observe(
    records: Iterable[Record], acknowledged_at: float, *, before: Expected, after: Expected
) -> Observed:
    """Return what followed from a change that alters the answers from `before` to `after`."""
    delays, wrong, oldest_s, reads, failed = list[float](), list[str](), 0.0, 0, 0
    for record in records:
        right = after[record.question]
        last = record.reads[-1].view if record.reads else View(0)
        if last != right:
            wrong.append(f"{record.question.user} still gets {last}")
        elif before[record.question] != right:
            first = next(read for read in record.reads if read.view == right)
            delays.append(max(0.0, first.started_at - acknowledged_at))
        later = [read for read in record.reads if read.started_at >= acknowledged_at]
        oldest_s = max([oldest_s, *(r.started_at - acknowledged_at for r in later if r.view != right)])
        reads += len(later)
        failed += sum(read.view.is_failure for read in record.reads)
    return Observed(delays_s=tuple(delays), wrong=tuple(wrong), oldest_s=oldest_s, reads=reads, failed=failed)


def seen_in_time(title: str, rounds: Sequence[Observed]) -> Step:
    """Judge changes by the guarantee Bounded."""
    delays = [delay for each in rounds for delay in each.delays_s]
    wrong = [line for each in rounds for line in each.wrong]
    oldest_s = max((each.oldest_s for each in rounds), default=0.0)
    failed = sum(each.failed for each in rounds)
    if wrong:
        seen = f"after {shown(oldest_s)}: {', '.join(wrong)}"
    elif delays:
        seen = f"{len(delays)} of {len(delays)}, p50 {shown(median(delays))}, max {shown(max(delays))}"
        if oldest_s > max(delays):
            seen += f", an old answer again after {shown(oldest_s)}"
    else:
        seen = "no client looked"
    if failed:
        seen += f"; {counted(failed, 'read')} failed"
    return Step(
        title=title,
        expected=f"all within {BOUND_S:g} s, no read fails",
        seen=seen,
        came_true=bool(delays) and not wrong and not failed and oldest_s <= BOUND_S,
    )


def lock_holds(last: Observed, lasted_s: float) -> Step:
    """Judge what alice and bob got after the last lock, until past the bound."""
    seen = ", ".join(last.wrong) or (
        f"{counted(last.reads, 'read')} in {shown(lasted_s)}, "
        + (f"the last wrong one after {shown(last.oldest_s)}" if last.oldest_s else "none wrong")
    )
    if last.failed:
        seen += f", {counted(last.failed, 'read')} failed"
    return Step(
        title="The lock holds",
        expected=f"no other answer after {BOUND_S:g} s",
        seen=seen,
        came_true=bool(last.reads) and not last.wrong and not last.failed and last.oldest_s <= BOUND_S,
    )


def own_writes(pairs: Sequence[tuple[View, Read]], writes: int, trouble: str) -> Step:
    """Judge by the guarantee OwnWrites: pairs of what should be read after a write, and what was."""
    stale = [read for view, read in pairs if read.view != view]
    seen = f"{len(pairs) - len(stale)} of {counted(len(pairs), 'write')}"
    if stale:
        seen += f"; another read got {stale[0].view}"
    if trouble:
        seen += f"; {trouble}"
    return Step(
        title="The very next read sees it",
        expected=f"{writes} of {writes} writes",
        seen=seen,
        came_true=len(pairs) == writes and not stale and not trouble,
    )


# ---- outages ----------------------------------------------------------------------------------------


def reads_during(title: str, records: Sequence[Record], broken_at: float, mending_at: float) -> Step:
    """Judge the reads begun while something was broken.

    Once it is being mended it is not known outside when a hit is right again.
    """
    reads = [read for record in records for read in record.reads]
    failed = sum(read.view.is_failure for read in reads)
    hits = [read.started_at for read in reads if read.is_hit and read.started_at < mending_at]
    last_hit_s = max([0.0, *(hit_at - broken_at for hit_at in hits)])
    return Step(
        title=title,
        expected=f"none fails, no hit after {BOUND_S:g} s",
        seen=f"{counted(len(reads), 'read')}, {failed:,} failed, last hit after {shown(last_hit_s)}",
        came_true=bool(reads) and not failed and last_hit_s <= BOUND_S,
    )


def hits_resumed(title: str, after_s: float | None, limit_s: float) -> Step:
    """Judge whether answers came from memory again; None: they did not."""
    return Step(
        title=title,
        expected=f"for all within {limit_s:.0f} s",
        seen=f"not within {2 * limit_s:.0f} s" if after_s is None else f"after {shown(after_s)}",
        came_true=after_s is not None and after_s <= limit_s,
    )


# ---- subscribers ------------------------------------------------------------------------------------


def subscriber_saw(path: str, events: Sequence[Mapping[str, Any]], after_s: float | None) -> Step:
    """Judge a subscriber's events: the file's making and closing, and nothing else."""
    of_file = [str(event["type"]) for event in events if event.get("path") == path]
    others = len(events) - len(of_file)
    seen = f"{' and '.join(of_file) or 'nothing'} of it, {counted(others, 'other event')}"
    if after_s is not None:
        seen += f"; after {shown(after_s)}"
    is_all = of_file == ["CREATE", "CLOSE"] and not others
    return Step(
        title="The subscriber sees _SUCCESS",
        expected=f"CREATE and CLOSE of it, nothing else, within {BOUND_S:g} s",
        seen=seen,
        came_true=is_all and after_s is not None and after_s <= BOUND_S,
    )


def cost(*, transactions: int, writes: int) -> Step:
    """Judge what a job cost ZooKeeper."""
    return Step(
        title="What it cost ZooKeeper",
        expected=f"1 write for {_LEAST_TRANSACTIONS_A_WRITE} transactions at most",
        seen=f"{counted(writes, 'write')} for the NameNode's {counted(transactions, 'transaction')}",
        came_true=0 < writes <= transactions / _LEAST_TRANSACTIONS_A_WRITE,
    )


# ---- the service registry ----------------------------------------------------------------------------


def found_by_name(url: str, proxy: str) -> Step:
    """Judge which URL a client was given that knew ZooKeeper alone."""
    return Step(
        title="The proxy is found by name",
        expected=f"nncache.connect gives the proxy at {proxy}",
        seen=url or "nothing",
        came_true=url == f"http://{proxy}/webhdfs/v1",
    )


# ---- accounts ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What proxy and NameNode have counted by a moment; their difference is what they counted between two."""

    hits: int  # by the proxy: reads answered from memory
    joined: int  # by the proxy: reads that shared another's call
    calls: int  # by the NameNode: getFileInfo

    def __sub__(self, before: "Totals") -> "Totals":
        return Totals(
            hits=self.hits - before.hits, joined=self.joined - before.joined, calls=self.calls - before.calls
        )


def answered_from_memory(records: Iterable[Record], right: View, totals: Totals) -> Step:
    """Judge that all answers were right, and nearly all from memory."""
    reads = [read for record in records for read in record.reads]
    wrong = [read for read in reads if read.view != right]
    took = [read.ended_at - read.started_at for read in reads if read.is_hit]
    seen = f"{counted(len(reads), 'read')}, {counted(totals.hits, 'hit')}"
    seen += f" (p50 {shown(median(took))})" if took else ""
    seen += f", {counted(totals.calls, 'call')}"
    if wrong:
        seen += f"; {counted(len(wrong), 'read')} not {right}, such as {wrong[0].view}"
    return Step(
        title="A missing file, from memory",
        expected=f"{right} each time, {_MAX_CALLS_SHARE:.0%} calls at most",
        seen=seen,
        came_true=bool(took) and not wrong and totals.calls <= _MAX_CALLS_SHARE * len(reads),
    )


def balance(records: Iterable[Record], totals: Totals, *, own_at_most: int) -> Step:
    """Judge whether clients, proxy and NameNode agree: each read was a hit, shared a call, or was one.

    nncache may make calls of its own: before a creation through it the proxy may ask what is there and above, and a
    publisher that starts reads the filters.
    """
    reads = [read for record in records for read in record.reads]
    hits_seen = sum(read.is_hit for read in reads)
    own = totals.calls - (len(reads) - totals.hits - totals.joined)
    shared = f" + {totals.joined:,} shared" if totals.joined else ""
    seen = (
        f"{counted(len(reads), 'read')} = {counted(totals.hits, 'hit')}{shared} + "
        f"{counted(totals.calls, 'call')} {'-' if own >= 0 else '+'} {abs(own):,}"
    )
    if totals.hits != hits_seen:
        seen += f"; by Cache-Status {counted(hits_seen, 'hit')}"
    return Step(
        title="Three counts agree",
        expected="reads = hits + calls - those of its own",
        seen=seen,
        came_true=bool(reads) and totals.hits == hits_seen and 0 <= own <= own_at_most,
    )
