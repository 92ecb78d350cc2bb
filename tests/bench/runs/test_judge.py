"""The judge in Spark: verdicts by case, its SQL against a naive judge, and figures computed by hand."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from nncache.bench.judge.lateness import lateness
from nncache.bench.judge.reduction import NAMED, reduce
from nncache.bench.judge.verdicts import states, verdicts
from nncache.bench.shared.figures import WrongAnswer
from nncache.bench.shared.tables import AUDITED, CHANGES, COUNTERS, HOSTS, POLLS, write

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]  # Spark compiles each query

Row = dict[str, Any]

BEFORE_S = -1_000.0
"""The time at which the initial states came about."""

NEVER_SENT = float("nan")


def poll(
    sent_s: float,
    replied_s: float,
    *,
    poller: int = 0,
    path_id: int = 0,
    due_s: float | None = None,
    status: int = 200,
    digest: int = 0,
    file_id: int = 0,
    served: str = "",
    clock_error_s: float = 0.0,
) -> Row:
    """Return a row of `polls`; by default it was sent when due."""
    return {
        "poller": poller,
        "path_id": path_id,
        "due_s": sent_s if due_s is None else due_s,
        "sent_s": sent_s,
        "replied_s": replied_s,
        "status": status,
        "digest": digest,
        "file_id": file_id,
        "served": served,
        "error": None if status else "no reply",
        "clock_error_s": clock_error_s,
    }


def initial(path_id: int = 0, *, status: int = 200, digest: int = 0, file_id: int = 0) -> Row:
    """Return the row of `changes` for the state before the first change."""
    return change(
        BEFORE_S,
        BEFORE_S,
        change_id=-1,
        path_id=path_id,
        kind="initial",
        status=status,
        digest=digest,
        file_id=file_id,
    )


def change(
    sent_s: float,
    acked_s: float,
    *,
    change_id: int = 0,
    path_id: int = 0,
    kind: str = "touch",
    status: int = 200,
    digest: int = 0,
    file_id: int = 0,
) -> Row:
    """Return a row of `changes`."""
    return {
        "change_id": change_id,
        "path_id": path_id,
        "kind": kind,
        "due_s": sent_s,
        "sent_s": sent_s,
        "acked_s": acked_s,
        "status": status,
        "digest": digest,
        "file_id": file_id,
    }


def record(
    mode_directory: Path,
    *,
    polls: Iterable[Row],
    changes: Iterable[Row],
    counters: Iterable[Row] = (),
    hosts: Iterable[Row] = (),
) -> Path:
    """Write the tables of a mode and return their directory."""
    mode_directory.mkdir(parents=True, exist_ok=True)
    for name, rows, schema in (
        ("polls", polls, POLLS),
        ("changes", changes, CHANGES),
        ("counters", counters, COUNTERS),
        ("hosts", hosts, HOSTS),
    ):
        write(list(rows), schema, mode_directory / f"{name}.parquet")
    return mode_directory


BOUND_S = 2.0

OLD, NEW, NEWER, UNKNOWN = 11, 22, 33, 99
FILE = 4711


@dataclass(frozen=True)
class Case:
    """One reply about a path with this history, and the expected verdict."""

    name: str
    history: tuple[Row, ...]
    reply: Row
    verdict: str | None
    age_s: float | None = None


def touched(*, acked_s: float = 10.02, digest: int = NEW) -> Row:
    """Return a change that was sent 20 ms before its acknowledgement."""
    return change(acked_s - 0.02, acked_s, digest=digest)


TOUCHED = (initial(digest=OLD), touched())
CAME_AND_WENT = (
    initial(status=404, digest=OLD),
    change(10.0, 10.02, change_id=1, kind="rename", digest=NEW),
    change(20.0, 20.02, change_id=2, kind="delete", status=404, digest=OLD),
)
CREATED = (initial(status=404, digest=OLD), change(10.0, 10.5, kind="create", digest=NEW, file_id=FILE))
RENAMED = (initial(status=404, digest=OLD), change(10.0, 10.5, kind="rename", digest=NEW, file_id=FILE))
FORBIDDEN = (
    initial(digest=OLD),
    change(10.0, 10.02, change_id=1, kind="forbid", status=403),
    change(20.0, 20.02, change_id=2, kind="allow", digest=OLD),
)
OVERLAPPING = (  # in the order of sending; the second was acknowledged first
    initial(digest=OLD),
    change(10.0, 11.0, change_id=1, digest=NEWER),
    change(10.2, 10.8, change_id=2, digest=NEW),
)

CASES = (
    Case("what was there before the first change", TOUCHED, poll(1.0, 1.1, digest=OLD), "fresh"),
    Case("the new state", TOUCHED, poll(11.0, 11.1, digest=NEW), "fresh"),
    Case("the old state while the change is on its way", TOUCHED, poll(10.01, 10.02, digest=OLD), "fresh"),
    Case("the new state while the change is on its way", TOUCHED, poll(9.9, 10.0, digest=NEW), "fresh"),
    Case("the old state, asked for before the change", TOUCHED, poll(10.0, 13.0, digest=OLD), "fresh"),
    Case("the old state, within a millisecond", TOUCHED, poll(10.0205, 10.1, digest=OLD), "fresh"),
    Case("the old state, just after", TOUCHED, poll(10.022, 10.1, digest=OLD), "stale", 0.002),
    Case("the old state, within the bound", TOUCHED, poll(12.0, 12.1, digest=OLD), "stale", 1.98),
    Case("the old state, just beyond the bound", TOUCHED, poll(12.022, 12.1, digest=OLD), "wrong", 2.002),
    Case("the old state, long after", TOUCHED, poll(50.02, 50.1, digest=OLD), "wrong", 40.0),
    Case("the new state before it was asked for", TOUCHED, poll(9.0, 9.9, digest=NEW), "wrong"),
    Case("what never was", TOUCHED, poll(11.0, 11.1, digest=UNKNOWN), "wrong"),
    Case("the right digest of another status", TOUCHED, poll(11.0, 11.1, status=404, digest=NEW), "wrong"),
    Case(
        "the old state, where the clock may be off by that",
        TOUCHED,
        poll(10.5, 10.6, digest=OLD, clock_error_s=0.5),
        "fresh",
    ),
    Case(
        "the old state, where the clock is not that far off",
        TOUCHED,
        poll(12.5, 12.6, digest=OLD, clock_error_s=0.25),
        "wrong",
        2.48,
    ),
    Case(
        "the old state, allowed if the clock is off",
        TOUCHED,
        poll(12.25, 12.3, digest=OLD, clock_error_s=0.25),
        "stale",
        2.23,
    ),
    Case(
        "the new state too early, where the clock may be off by that",
        TOUCHED,
        poll(9.0, 9.6, digest=NEW, clock_error_s=0.5),
        "fresh",
    ),
    Case("missing, first", CAME_AND_WENT, poll(5.0, 5.1, status=404, digest=OLD), "fresh"),
    Case(
        "missing, while it is there", CAME_AND_WENT, poll(15.02, 15.1, status=404, digest=OLD), "wrong", 5.0
    ),
    Case("missing again", CAME_AND_WENT, poll(25.0, 25.1, status=404, digest=OLD), "fresh"),
    Case("there, when it is missing again", CAME_AND_WENT, poll(21.02, 21.1, digest=NEW), "stale", 1.0),
    Case("open, on its way", CREATED, poll(10.2, 10.3, digest=UNKNOWN, file_id=FILE), "fresh"),
    Case("open, from before", CREATED, poll(9.0, 10.0, digest=UNKNOWN, file_id=FILE), "fresh"),
    Case("open, too early", CREATED, poll(9.0, 9.9, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case(
        "open, within the bound after", CREATED, poll(12.0, 12.1, digest=UNKNOWN, file_id=FILE), "stale", 1.5
    ),
    Case("open, beyond the bound", CREATED, poll(12.6, 12.7, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case("open, but another file", CREATED, poll(10.2, 10.3, digest=UNKNOWN, file_id=FILE + 1), "wrong"),
    Case("open, without a file", CREATED, poll(10.2, 10.3, digest=UNKNOWN), "wrong"),
    Case("open, but missing", CREATED, poll(10.2, 10.3, status=404, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case("open, but it came by rename", RENAMED, poll(10.2, 10.3, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case("closed, on its way", CREATED, poll(10.2, 10.3, digest=NEW, file_id=FILE), "fresh"),
    Case("denied", FORBIDDEN, poll(15.0, 15.1, status=403), "fresh"),
    Case("denied, whatever it says", FORBIDDEN, poll(15.0, 15.1, status=403, digest=UNKNOWN), "fresh"),
    Case("denied, long after", FORBIDDEN, poll(30.02, 30.1, status=403), "wrong", 10.0),
    Case("denied, before", FORBIDDEN, poll(5.0, 5.1, status=403), "wrong"),
    Case("allowed, while it is denied", FORBIDDEN, poll(15.02, 15.1, digest=OLD), "wrong", 5.0),
    Case("allowed again", FORBIDDEN, poll(25.0, 25.1, digest=OLD), "fresh"),
    Case("what overlapping changes leave", OVERLAPPING, poll(50.0, 50.1, digest=NEWER), "fresh"),
    Case("between overlapping changes", OVERLAPPING, poll(10.5, 10.6, digest=NEW), "fresh"),
    Case("the first of both, too late", OVERLAPPING, poll(14.0, 14.1, digest=NEW), "wrong", 3.0),
    Case("before overlapping changes, too late", OVERLAPPING, poll(13.8, 13.9, digest=OLD), "wrong", 3.0),
    Case("no reply", TOUCHED, poll(11.0, 11.1, status=0), None),
    Case("the server's own error", TOUCHED, poll(11.0, 11.1, status=503, digest=UNKNOWN), None),
    Case("another refusal", TOUCHED, poll(11.0, 11.1, status=401, digest=UNKNOWN), "wrong"),
    Case("a path without a history", (), poll(11.0, 11.1, digest=OLD), "wrong"),
)


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    """Return the verdicts on all cases, by number."""
    directory = record(
        tmp_path_factory.mktemp("cases"),
        polls=[case.reply | {"path_id": number} for number, case in enumerate(CASES)],
        changes=[row | {"path_id": number} for number, case in enumerate(CASES) for row in case.history],
    )
    rows = verdicts(spark, directory, states(spark, directory), duration_s=60.0, bound_s=BOUND_S).collect()
    assert len(rows) == len(CASES)
    return {row.path_id: row for row in rows}


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_a_reply_is_worth_what_the_states_of_its_path_allow(judged: dict[int, Any], number: int) -> None:
    """The verdict also says for how long the answer had not been true."""
    case = CASES[number]
    assert judged[number].verdict == case.verdict
    assert judged[number].age_s == (None if case.age_s is None else pytest.approx(case.age_s))


# ---- against a naive judge -----------------------------------------------------------------------------------------

DRAWN_BOUND_S, DURATION_S, UNTIL_S = 1.0, 8.0, 6.0

times = st.integers(0, 8 * 8).map(lambda eighths: eighths / 8)  # coarse, so that boundaries are hit
spans = st.integers(0, 6).map(lambda eighths: eighths / 8)
file_states = st.tuples(st.sampled_from((200, 200, 404, 403)), st.integers(1, 3), st.integers(0, 2))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Draw one path's history, with changes that may overlap, and the replies of three pollers."""
    status, digest, file_id = draw(file_states)
    changes = [initial(status=status, digest=digest, file_id=file_id)]
    for number in range(draw(st.integers(0, 5))):
        sent_s, span_s, (status, digest, file_id) = draw(times), draw(spans), draw(file_states)
        kind = draw(st.sampled_from(("touch", "create")))
        changes.append(
            change(
                sent_s,
                sent_s + span_s,
                change_id=number,
                kind=kind,
                status=status,
                digest=digest,
                file_id=file_id,
            )
        )
    polls = []
    for _ in range(draw(st.integers(0, 8))):
        sent_s, span_s, (status, digest, file_id) = draw(times), draw(spans), draw(file_states)
        error_s = draw(st.sampled_from((0.0, 0.25)))
        polls.append(
            poll(
                sent_s,
                sent_s + span_s,
                poller=draw(st.integers(0, 2)),
                status=status,
                digest=digest,
                file_id=file_id,
                clock_error_s=error_s,
            )
        )
    return changes, polls


def explained(reply: Row, rows: list[Row]) -> tuple[str, float | None, int | None]:
    """Return verdict, age and latest state shown, straight from the rules; `rows` are in order."""
    slack = reply["clock_error_s"] + 0.001
    named: list[tuple[int, float, float]] = []
    opened: list[tuple[float, float]] = []
    for number, row in enumerate(rows, 1):
        end_s = rows[number]["acked_s"] if number < len(rows) else math.inf
        if row["status"] == reply["status"]:
            same = reply["status"] == 403 or row["digest"] == reply["digest"]
            if same and row["sent_s"] <= reply["replied_s"] + slack:
                named.append((number, row["sent_s"], end_s))
        if (
            row["kind"] == "create"
            and reply["status"] == 200
            and reply["file_id"] == row["file_id"] != 0
            and row["sent_s"] <= reply["replied_s"] + slack
        ):
            opened.append((row["sent_s"], row["acked_s"]))
    shown = max((number for number, _, _ in named), default=None)
    ends = [end_s for _, _, end_s in named] + [end_s for _, end_s in opened]
    if any(end_s >= reply["sent_s"] - slack for end_s in ends):
        return "fresh", None, shown
    allowed = [end_s for end_s in ends if end_s >= reply["sent_s"] - DRAWN_BOUND_S - slack]
    if allowed:
        return "stale", min(reply["sent_s"] - end_s for end_s in allowed), shown
    return "wrong", min((reply["sent_s"] - end_s for _, _, end_s in named), default=None), shown


def naive_lateness(
    rows: list[Row], replies: Iterable[tuple[Row, int | None]]
) -> dict[tuple[int, int], float]:
    """Return the lateness by (poller, number of the state)."""
    found = {}
    replies = list(replies)
    for number, row in enumerate(rows, 1):
        if row["change_id"] >= 0 and row["acked_s"] <= UNTIL_S:
            for poller in {reply["poller"] for reply, _ in replies}:
                seen = [
                    reply["replied_s"]
                    for reply, shown in replies
                    if reply["poller"] == poller and shown is not None and shown >= number
                ]
                found[poller, number] = max(0.0, min(seen, default=DURATION_S) - row["acked_s"])
    return found


@settings(
    max_examples=2,
    phases=(Phase.explicit, Phase.generate),  # no shrinking: one path's history is small
    suppress_health_check=list(HealthCheck),
)
@given(drawn=st.lists(histories(), min_size=50, max_size=120))
def test_the_sql_agrees_with_a_naive_judge(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[list[Row], list[Row]]]
) -> None:
    """For random histories of many paths, verdicts, ages and lateness are those of a literal reading of the rules."""
    directory = record(
        tmp_path_factory.mktemp("drawn"),
        changes=[row | {"path_id": path} for path, (changes, _) in enumerate(drawn) for row in changes],
        polls=[row | {"path_id": path} for path, (_, polls) in enumerate(drawn) for row in polls],
    )
    known = states(spark, directory)
    judged = verdicts(spark, directory, known, duration_s=DURATION_S, bound_s=DRAWN_BOUND_S).cache()
    late = lateness(spark, known, judged, until_s=UNTIL_S, duration_s=DURATION_S)
    verdict_rows: list[list[Any]] = [[] for _ in drawn]
    for row in judged.collect():
        verdict_rows[row.path_id].append(
            (row.poller, row.sent_s, row.replied_s, row.status, row.verdict, row.age_s, row.shown)
        )
    late_rows: list[dict[tuple[int, int], float]] = [{} for _ in drawn]
    for row in late.collect():
        late_rows[row.path_id][row.poller, row.number] = row.value_s
    judged.unpersist()
    for path, (changes, polls) in enumerate(drawn):
        rows = sorted(changes, key=lambda row: (row["acked_s"], row["change_id"]))
        expected = [(reply, explained(reply, rows)) for reply in polls]
        naive = [
            (reply["poller"], reply["sent_s"], reply["replied_s"], reply["status"], *verdict)
            for reply, verdict in expected
        ]
        assert sorted(verdict_rows[path], key=repr) == sorted(naive, key=repr)
        assert late_rows[path] == naive_lateness(rows, [(reply, shown) for reply, (_, _, shown) in expected])


# ---- figures --------------------------------------------------------------------------------------------------------

A, B = 1, 2

POLLED = (
    poll(-2.0, -1.0, digest=A, served="hit"),  # during the warm-up
    poll(0.0, 0.5, digest=A, served="miss"),
    poll(1.0, 1.5, digest=A, served="HIT"),
    poll(2.25, 3.5, due_s=2.0, digest=B, served="hit"),
    poll(3.5, 3.75, due_s=3.0, digest=A),  # its connection was not free; stale
    poll(4.0, 4.25, status=0),
    poll(5.0, 5.25, status=502, served="hit"),
    poll(NEVER_SENT, 6.5, due_s=6.0, status=0),
    poll(7.0, 7.25, digest=A, served="hit"),  # wrong
    poll(10.0, 10.5, digest=A),  # after the end
)
CHANGED = (
    initial(digest=A),
    initial(1, digest=A),
    change(-1.0, -0.9, change_id=1, digest=A),
    change(2.4, 2.5, change_id=2, digest=B),
    change(2.4, 2.5, change_id=2, path_id=1, digest=B),
    change(10.5, 10.6, change_id=3, path_id=1, digest=A),
)
USED = (
    {"source": "namenode", "name": "getFileInfo", "value": 12.0, "unit": "calls"},
    {"source": "namenode", "name": "isFileClosed", "value": 7.0, "unit": "calls"},
    {"source": "namenode", "name": "upkeep:getEditsFromTxid", "value": 40.0, "unit": "calls"},
    {"source": "namenode", "name": "mkdirs", "value": 3.0, "unit": "calls"},
    {"source": "namenode", "name": "cpu", "value": 1.5, "unit": "s"},
    {"source": "namenode", "name": "resident", "value": 2.0**30, "unit": "bytes"},
    {"source": "changer", "name": "getFileInfo", "value": 5.0, "unit": "calls"},
    {"source": "generator", "name": "cpu", "value": 2.0, "unit": "s"},
    {"source": "generator", "name": "cpu", "value": 0.5, "unit": "s"},
    {"source": "proxy", "name": "same", "value": 9.0, "unit": AUDITED},
    {"source": "proxy", "name": "beyond", "value": 0.0, "unit": AUDITED},
)
HOSTED = tuple(
    {"task": task, "host": "a", "pollers": 1, "clock_offset_s": 3.0, "clock_error_s": error_s, "cpu_s": 1.0}
    for task, error_s in enumerate((0.001, 0.004, 0.002))
)


def test_the_figures_of_a_run_worked_out_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    """Each figure follows its description in bench/shared/figures.py, over the measured time only."""
    record(tmp_path, polls=POLLED, changes=CHANGED, counters=USED, hosts=HOSTED)
    found = reduce(spark, tmp_path, "nncache", duration_s=10.0, bound_s=2.0, period_s=1.0)
    assert (found.mode, found.duration_s) == ("nncache", 10.0)
    assert (found.due, found.sent, found.failed, found.hits) == (8, 7, 2, 3)
    assert found.polls_per_s == 0.5
    assert (found.late_starts_s.count, found.late_starts_s.max, found.kept_schedule) == (6, 0.25, False)
    assert (found.latency_s.count, found.latency_s.max) == (5, 1.5)
    assert found.latency_s.mean == pytest.approx((0.5 + 0.5 + 1.5 + 0.75 + 0.25) / 5)
    assert (found.changes, found.changed_paths) == (1, 2)
    assert (found.lateness_s.count, found.lateness_s.max) == (1, 1.0)
    assert (found.first_lateness_s.count, found.first_lateness_s.max) == (1, 1.0)
    assert (found.stale, found.oldest_s) == (1, 1.0)
    wrong = WrongAnswer(poller=0, path_id=0, sent_s=7.0, replied_s=7.25, status=200, served="hit", age_s=4.5)
    assert (found.wrong, found.wrong_count) == ((wrong,), 1)
    assert found.calls == {"getFileInfo": 12, "isFileClosed": 7}
    assert found.upkeep == {"getEditsFromTxid": 40}
    assert found.cpu_s == {"namenode": 1.5, "generator": 2.5}
    assert found.memory_bytes == {"namenode": 2**30}
    assert found.clock_error_s == 0.004
    assert found.audited == {"same": 9, "beyond": 0}
    kept = HdrHistogram.decode((tmp_path / "latency.hdr").read_bytes())
    assert (kept.get_total_count(), kept.get_max_value()) == (5, kept.get_highest_equivalent_value(1_500_000))


def test_a_schedule_is_kept_if_all_were_sent_in_time(spark: SparkSession, tmp_path: Path) -> None:
    """A delay of 50 ms by the generator is in time; one poll in a hundred may be later."""
    polls = [poll(second + 0.04, second + 0.5, due_s=float(second), digest=A) for second in range(200)]
    polls[100] |= {"sent_s": 100.5, "replied_s": 104.5}  # one too late; later polls wait for its reply
    for second in range(101, 105):
        polls[second] |= {"sent_s": 104.5, "replied_s": 104.5}
    record(tmp_path, polls=polls, changes=[initial(digest=A)])
    found = reduce(spark, tmp_path, "direct", duration_s=200.0, bound_s=1.0, period_s=1.0)
    assert (found.late_starts_s.count, found.late_starts_s.max, found.kept_schedule) == (196, 0.5, True)


def test_too_many_wrong_answers_are_counted_and_the_first_named(spark: SparkSession, tmp_path: Path) -> None:
    """The report stays readable for a very wrong mode; an answer that was never true has no age."""
    polls = [poll(float(step), step + 0.1, poller=step % 7, digest=99) for step in range(NAMED + 20)]
    record(tmp_path, polls=reversed(polls), changes=[initial(digest=A)])
    found = reduce(spark, tmp_path, "direct", duration_s=1000.0, bound_s=1.0, period_s=1.0)
    assert (found.wrong_count, len(found.wrong)) == (NAMED + 20, NAMED)
    assert [(wrong.sent_s, wrong.poller, wrong.age_s) for wrong in found.wrong] == [
        (float(step), step % 7, None) for step in range(NAMED)
    ]


def test_a_run_without_a_reply_has_figures(spark: SparkSession, tmp_path: Path) -> None:
    """All are zero; the judge does not fail."""
    record(tmp_path, polls=[], changes=[])
    found = reduce(spark, tmp_path, "direct", duration_s=10.0, bound_s=1.0, period_s=1.0)
    assert (found.due, found.latency_s.count, found.lateness_s.count, found.oldest_s) == (0, 0, 0, 0.0)
