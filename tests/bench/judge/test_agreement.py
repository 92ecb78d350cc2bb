"""The judge's SQL against a naive judge, on histories that nobody thought of."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from nncache.bench.judge.lateness import lateness
from nncache.bench.judge.verdicts import states, verdicts
from tests.bench.recorded import Row, change, initial, poll, record

pytestmark = pytest.mark.timeout(300)  # Spark compiles each of its queries

BOUND_S, DURATION_S, UNTIL_S = 1.0, 8.0, 6.0

times = st.integers(0, 8 * 8).map(lambda eighths: eighths / 8)  # coarse, so that boundaries are met
spans = st.integers(0, 6).map(lambda eighths: eighths / 8)
said = st.tuples(st.sampled_from((200, 200, 404, 403)), st.integers(1, 3), st.integers(0, 2))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Draw what one path went through, changes overlapping or not, and what three pollers say that they saw."""
    status, digest, file_id = draw(said)
    changes = [initial(status=status, digest=digest, file_id=file_id)]
    for number in range(draw(st.integers(0, 5))):
        sent_s, span_s, (status, digest, file_id) = draw(times), draw(spans), draw(said)
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
        sent_s, span_s, (status, digest, file_id) = draw(times), draw(spans), draw(said)
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
    """Return verdict, age and the latest state that it shows, straight from the rules; `rows` in order."""
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
    allowed = [end_s for end_s in ends if end_s >= reply["sent_s"] - BOUND_S - slack]
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
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # a path that fails is small as it is
    suppress_health_check=list(HealthCheck),
)
@given(drawn=st.lists(histories(), min_size=50, max_size=120))
def test_the_sql_agrees_with_a_naive_judge(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[list[Row], list[Row]]],
) -> None:
    """Whatever went on at each of many paths: the same verdicts, ages and lateness as by the rules' letter."""
    directory = record(
        tmp_path_factory.mktemp("drawn"),
        changes=[row | {"path_id": path} for path, (changes, _) in enumerate(drawn) for row in changes],
        polls=[row | {"path_id": path} for path, (_, polls) in enumerate(drawn) for row in polls],
    )
    known = states(spark, directory)
    judged = verdicts(spark, directory, known, duration_s=DURATION_S, bound_s=BOUND_S).cache()
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
