"""Rates of the last minute and transitions of the gate, from samples every quarter of a second."""

import pytest

from nncache.daemons.history import SAMPLES, TRANSITIONS, History, Totals, Transition

LOOK_S = 0.25
CLOSED = "closed: behind the NameNode by 12 transactions: is a publisher running?"


def totals(at: float) -> Totals:
    """Return the totals of a process that started at 100, with 100 requests per second, 75 of them from memory."""
    lasted = at - 100
    return Totals(
        requests=round(100 * lasted),
        from_memory=round(75 * lasted),
        failed=round(lasted),
        refused=round(2 * lasted),
        own_calls=round(4 * lasted),
        forwarded={"miss": round(25 * lasted), "method": 3},
    )


def seen(until: float) -> History[Totals]:
    """Return the history of that process until this time."""
    recent = History(100.0, Totals())
    for number in range(1, round((until - 100) / LOOK_S) + 1):
        now = 100 + number * LOOK_S
        recent.look(now, totals(now), is_well=True, state="open")
    return recent


@pytest.mark.parametrize(("lasted_s", "span_s"), [(2.0, 2.0), (30.0, 30.0), (60.0, 60.0), (3_602.0, 62.0)])
def test_the_last_minute_or_all_if_that_is_less(lasted_s: float, span_s: float) -> None:
    """All figures cover the same span, whose length is reported."""
    now = 100.0 + lasted_s
    span = seen(now).last_minute(now, totals(now))
    assert span.seconds == pytest.approx(span_s)
    assert span.totals.requests == 100 * span_s
    assert span.totals.from_memory == 75 * span_s
    assert span.totals.own_calls == 4 * span_s
    assert (span.totals.failed, span.totals.refused) == (span_s, 2 * span_s)
    assert span.totals.forwarded["miss"] == 25 * span_s
    assert span.totals.forwarded.get("method", 0) == (3 if lasted_s <= 60 else 0), (
        "what did not grow is left out"
    )


def test_after_a_pause_without_looks_the_latest_one_counts() -> None:
    """After the machine slept, the span is longer than a minute and reports its length."""
    span = seen(110.0).last_minute(1_000.0, totals(1_000.0))
    assert (span.seconds, span.totals.requests) == (890.0, 89_000)


def test_ten_minutes_are_remembered_in_steps_of_five_seconds() -> None:
    """They feed the chart."""
    spans = list(seen(3_700.0).spans())
    assert len(spans) == SAMPLES - 1
    assert {(span.seconds, span.totals.requests) for _, span in spans} == {(5.0, 500)}
    assert spans[-1][0] == 3_700.0
    assert not list(History(1.0, Totals()).spans())


def test_transitions_of_the_gate_are_kept_with_their_reasons() -> None:
    """Each is kept once, the latest first. A closed gate that falls further behind is no transition."""
    recent = History(0.0, Totals())
    for at, is_open, gate in (
        (1.0, False, "closed: not read"),
        (2.0, False, CLOSED),
        (3.0, False, CLOSED.replace("12", "13")),
        (4.0, True, "open"),
        (5.0, True, "open"),
        (6.0, False, CLOSED),
    ):
        recent.look(at, Totals(), is_well=is_open, state=gate)
    assert recent.transitions == (
        Transition(6.0, is_well=False, state=CLOSED),
        Transition(4.0, is_well=True, state="open"),
        Transition(2.0, is_well=False, state=CLOSED),
        Transition(1.0, is_well=False, state="closed: not read"),
    )


def test_a_gate_that_flaps_takes_no_more_memory() -> None:
    """Only the latest transitions are kept."""
    recent = History(0.0, Totals())
    for number in range(1_000):
        recent.look(number * LOOK_S, Totals(), is_well=number % 2 == 0, state="closed: x")
    assert len(recent.transitions) == TRANSITIONS
    assert recent.transitions[0].at == 999 * LOOK_S
