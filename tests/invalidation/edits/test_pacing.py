"""PollPacer and RollPolicy: polling stays within its share of the NameNode, and segments stay short."""

import pytest

from nncache.invalidation.edits.pacing import (
    IDLE_COST_S,
    MAX_COST_S,
    PROBE_SPACING_S,
    SLOW_POLL_S,
    SPREAD_S,
    PollPacer,
    RollPolicy,
)
from nncache.invalidation.settings import PollingSettings

SETTINGS = PollingSettings(
    poll_interval_s=0.01,
    poll_budget_share=0.05,
    poll_budget_burst_s=2.0,
    roll_after_txids=10_000,
    roll_interval_s=10.0,
)


@pytest.fixture
def pace() -> PollPacer:
    """Return a pacer at time 100."""
    return PollPacer(SETTINGS, 100.0)


@pytest.mark.parametrize(
    ("advanced", "is_behind", "due_at"),
    [
        pytest.param(False, False, 100.01, id="idle polls keep the interval, from sending to sending"),
        pytest.param(True, True, 100.004, id="pages follow each other at once while more is there"),
        pytest.param(True, False, 100.01, id="no hot loop at the end"),
        pytest.param(False, True, 100.01, id="no hot loop where a page brought nothing though more is there"),
    ],
)
def test_when_the_next_poll_is_due(
    pace: PollPacer, *, advanced: bool, is_behind: bool, due_at: float
) -> None:
    """The first poll is due immediately; later times depend on the result of the last poll."""
    assert pace.due_at == 100.0
    pace.polled(100.0, 100.004, advanced=advanced, is_behind=is_behind)
    assert pace.due_at == pytest.approx(due_at)


def test_an_idle_poll_is_charged_what_it_costs_the_namenode(pace: PollPacer) -> None:
    """The rest is network latency: a NameNode 50 ms away is polled as often as the interval allows."""
    pace.polled(100.0, 100.05, advanced=False, is_behind=False)
    assert pace.charged_s == IDLE_COST_S
    pace.polled(101.0, 101.0001, advanced=False, is_behind=False)
    assert pace.charged_s == pytest.approx(IDLE_COST_S + 0.0001)


def test_a_poll_that_read_is_charged_its_time(pace: PollPacer) -> None:
    """Its cost is the measured duration of the call."""
    pace.polled(100.0, 100.03, advanced=True, is_behind=False)
    assert pace.charged_s == pytest.approx(0.03)
    assert pace.budget.left(100.03) == pytest.approx(1.97)


def test_what_an_idle_poll_takes_is_not_charged_to_one_that_read(pace: PollPacer) -> None:
    """Only the time beyond that of an idle poll is the NameNode's work; a minimum is always charged."""
    for _ in range(200):
        pace.polled(100.0, 100.02, advanced=False, is_behind=False)
    charged_s = pace.charged_s
    pace.polled(101.0, 101.05, advanced=True, is_behind=False)
    assert pace.charged_s - charged_s == pytest.approx(0.03, abs=0.001)
    charged_s = pace.charged_s
    pace.polled(102.0, 102.01, advanced=True, is_behind=False)
    assert pace.charged_s - charged_s == pytest.approx(IDLE_COST_S)


def test_the_budget_is_pressed_when_more_than_half_is_gone(pace: PollPacer) -> None:
    """The budget is under pressure before polls have to wait."""
    pace.charge(0.5, 100.0)
    pace.charge(0.5, 100.0)
    assert not pace.is_pressed(100.0)
    pace.charge(0.1, 100.0)
    assert pace.is_pressed(100.0)
    assert not pace.is_pressed(110.0)


def test_a_pause_of_the_namenode_is_not_paid_for_with_silence(pace: PollPacer) -> None:
    """A poll that took 20 s was mostly waiting; polling continues after it."""
    pace.polled(100.0, 120.0, advanced=True, is_behind=False)
    assert pace.charged_s == MAX_COST_S
    assert pace.due_at == 120.0


def test_expensive_polls_wait_for_the_budget(pace: PollPacer) -> None:
    """In the long run polls of 24 ms are limited to about two per second (5 % of a core)."""
    now, polls = 100.0, 0
    while now < 200.0:
        now = max(now, pace.due_at)
        pace.polled(now, now + 0.024, advanced=True, is_behind=False)
        now += 0.024
        polls += 1
    assert polls == pytest.approx((2.0 + 0.05 * 100) / 0.024, abs=3)


def test_polls_move_apart_while_the_budget_is_used_up(pace: PollPacer) -> None:
    """The rest of the budget is spread over several seconds; the charge of one pause makes no difference yet."""
    pace.charge(0.4, 100.0)
    pace.polled(100.0, 100.02, advanced=True, is_behind=False)
    assert pace.due_at == pytest.approx(100.02)
    pace.charge(0.1, 100.02)
    pace.polled(100.02, 100.04, advanced=True, is_behind=False)
    left_s = pace.budget.left(100.04)
    assert left_s == pytest.approx(1.462)
    assert pace.due_at == pytest.approx(100.02 + 0.02 / (0.05 + left_s / SPREAD_S))


def test_pages_that_are_full_are_not_spread(pace: PollPacer) -> None:
    """Waiting saves nothing: each of them costs what it returns."""
    for _ in range(3):
        pace.charge(0.5, 100.0)
    pace.polled(100.0, 100.02, advanced=True, is_behind=True)
    assert pace.due_at == pytest.approx(100.02)


def test_a_burst_of_thousands_of_edits_leaves_no_silence() -> None:
    """4,000 edits per second for 7 s: polls that return few edits must not spend the budget of full ones."""
    pace, now, unread, longest_s = PollPacer(PollingSettings(), 100.0), 100.0, 0.0, 0.0
    while now < 107.0:
        waited_s = max(0.0, pace.due_at - now)
        longest_s = max(longest_s, waited_s)
        unread += 4_000 * waited_s
        took_s = 0.018 + min(unread, 1_000) * 0.00003  # measured on a busy machine
        now += waited_s + took_s
        pace.polled(now - took_s, now, advanced=True, is_behind=unread > 1_000)
        unread = max(0.0, unread - 1_000) + 4_000 * took_s
    assert longest_s < 0.3


def test_waking_shortens_an_idle_wait_but_keeps_polls_apart() -> None:
    """With a long interval a request advances the poll; polls stay at least 50 ms apart."""
    pace = PollPacer(PollingSettings(poll_interval_s=5.0), 100.0)
    pace.polled(100.0, 100.001, advanced=False, is_behind=False)
    assert pace.due_at == 105.0
    pace.wake(100.01)
    assert pace.due_at == pytest.approx(100.0 + PROBE_SPACING_S)
    pace.wake(102.0)
    assert pace.due_at == pytest.approx(100.0 + PROBE_SPACING_S)
    short = PollPacer(SETTINGS, 100.0)
    short.polled(100.0, 100.001, advanced=False, is_behind=False)
    short.wake(100.002)
    assert short.due_at == pytest.approx(100.01), "a short interval is not made longer"


def test_waking_does_not_break_the_budget() -> None:
    """However many callers wait, the NameNode's share is kept."""
    pace = PollPacer(PollingSettings(poll_budget_burst_s=0.01), 100.0)
    pace.polled(100.0, 100.06, advanced=True, is_behind=False)
    pace.wake(100.1)
    assert pace.due_at == pytest.approx(100.06 + 0.05 / 0.05)


def rolled(at: float = 100.0) -> RollPolicy:
    """Return the policy after our own roll: the segment begins at transaction 500."""
    rolls = RollPolicy(SETTINGS)
    rolls.asked(at)
    rolls.rolled(500)
    return rolls


@pytest.mark.parametrize(
    ("through_txid", "now", "is_pressed", "is_due"),
    [
        pytest.param(10_499, 200.0, False, False, id="a short segment is not rolled"),
        pytest.param(10_500, 200.0, False, True, id="a long segment is rolled"),
        pytest.param(100_000, 109.9, False, False, id="rolls keep their interval, however fast changes come"),
        pytest.param(100_000, 110.0, False, True, id="and no longer"),
        pytest.param(1_499, 200.0, True, False, id="less than a tenth is too short even under pressure"),
        pytest.param(1_500, 200.0, True, True, id="under pressure a tenth is enough"),
        pytest.param(1_500, 109.0, True, False, id="under pressure the interval holds, too"),
    ],
)
def test_after_a_roll_the_length_decides(
    through_txid: int, now: float, *, is_pressed: bool, is_due: bool
) -> None:
    """The start of the segment is known after a roll."""
    assert rolled().is_due(through_txid, now, is_pressed=is_pressed) is is_due


def test_before_the_first_roll_slowness_tells() -> None:
    """The start of the segment is unknown: a slow poll shows that it is long, and pressure that it may be."""
    rolls = RollPolicy(SETTINGS)
    assert rolls.is_due(10, 100.0, is_pressed=True)
    assert not rolls.is_due(1_000_000, 100.0, is_pressed=False)
    rolls.polled(SLOW_POLL_S / 2)
    assert not rolls.is_due(1_000_000, 100.0, is_pressed=False)
    rolls.polled(SLOW_POLL_S)
    assert rolls.is_due(10, 100.0, is_pressed=False)


def test_another_log_is_not_known() -> None:
    """After a failover the count restarts."""
    rolls = rolled()
    rolls.other_log()
    assert not rolls.is_due(100_000, 200.0, is_pressed=False)


def test_a_failed_roll_is_tried_again_after_the_interval() -> None:
    """A request counts whether or not it succeeds; a refusal by HDFS is final."""
    rolls = RollPolicy(SETTINGS)
    rolls.polled(1.0)
    rolls.asked(100.0)
    assert not rolls.is_due(10, 105.0, is_pressed=False)
    assert rolls.is_due(10, 110.0, is_pressed=False)
    rolls.forbidden()
    assert not rolls.is_due(1_000_000, 1_000.0, is_pressed=False)


def test_an_interval_of_0_never_rolls() -> None:
    """The setting `roll_interval_s = 0` disables rolls."""
    rolls = RollPolicy(PollingSettings(roll_interval_s=0))
    rolls.polled(1.0)
    assert not rolls.is_due(1_000_000, 1_000.0, is_pressed=False)
