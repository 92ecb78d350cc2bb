"""Every judgement can fail, for each of its reasons."""

import pytest

from nncache.demo.reads import DENIED, EMPTY, MISSING, Question, Read, Record, View
from nncache.demo.steps import (
    Observed,
    Step,
    Totals,
    answered_from_memory,
    balance,
    cost,
    exit_code,
    found_by_name,
    hits_resumed,
    lock_holds,
    observe,
    own_writes,
    reads_during,
    seen_in_time,
    subscriber_saw,
)

ALICE, BOB = Question("alice", "/f"), Question("bob", "/f")
GOOD = Observed(delays_s=(0.0, 0.012), wrong=(), oldest_s=0.01, reads=10, failed=0)


def read(view: View, at: float, *, is_hit: bool = True) -> Read:
    """Return a read of 2 ms."""
    return Read(view=view, is_hit=is_hit, started_at=at, ended_at=at + 0.002)


def record(question: Question, *reads: Read) -> Record:
    """Return a client's reads."""
    return Record(question, list(reads))


def changed(**fields: object) -> Observed:
    """Return what was observed, with something else."""
    values = {name: getattr(GOOD, name) for name in Observed.__slots__}
    return Observed(**(values | fields))


def test_a_change_is_timed_from_its_acknowledgement() -> None:
    """To the start of the first read that shows it; a read under way already counts as none."""
    records = (
        record(ALICE, read(MISSING, 1.0), read(MISSING, 2.5), read(EMPTY, 2.75)),
        record(BOB, read(MISSING, 1.0), read(EMPTY, 1.9), read(EMPTY, 3.0)),
    )
    before, after = dict.fromkeys((ALICE, BOB), MISSING), dict.fromkeys((ALICE, BOB), EMPTY)
    seen = observe(records, 2.0, before=before, after=after)
    assert seen == Observed(delays_s=(0.75, 0.0), wrong=(), oldest_s=0.5, reads=3, failed=0)


def test_a_client_whose_answer_stays_wrong_is_named() -> None:
    """Also one who got no answer at all, and one whose answer was not to change but did."""
    records = (record(ALICE), record(BOB, read(EMPTY, 1.0), read(DENIED, 2.0), read(View(502), 3.0)))
    seen = observe(records, 1.5, before={ALICE: EMPTY, BOB: EMPTY}, after={ALICE: MISSING, BOB: EMPTY})
    assert seen.wrong == ("alice still gets no answer", "bob still gets 502")
    assert (seen.delays_s, seen.oldest_s, seen.failed) == ((), 1.5, 1)


@pytest.mark.parametrize(
    ("rounds", "came_true", "words"),
    [
        ((GOOD,), True, "2 of 2, p50 6.0 ms, max 12 ms"),
        ((GOOD, GOOD), True, "4 of 4"),
        ((), False, "no client looked"),
        (
            (GOOD, changed(wrong=("bob still gets 404",), oldest_s=4.0)),
            False,
            "after 4.0 s: bob still gets 404",
        ),
        ((changed(failed=1),), False, "1 read failed"),
        ((changed(oldest_s=3.1),), False, "an old answer again after 3.1 s"),
        ((changed(delays_s=(3.2,), oldest_s=3.2),), False, "max 3.2 s"),
    ],
)
def test_bounded(rounds: tuple[Observed, ...], came_true: bool, words: str) -> None:
    """All see it in time, no read fails, and no old answer comes back later."""
    step = seen_in_time("It is seen", rounds)
    assert step.came_true is came_true
    assert words in step.seen


@pytest.mark.parametrize(
    ("last", "came_true"),
    [
        (GOOD, True),
        (changed(reads=0), False),
        (changed(failed=1), False),
        (changed(wrong=("bob still gets 200",)), False),
        (changed(oldest_s=3.01), False),
    ],
)
def test_a_lock_holds(last: Observed, came_true: bool) -> None:
    """Until past the bound."""
    assert lock_holds(last, 3.3).came_true is came_true


def test_own_writes() -> None:
    """Each write is seen by the very next read."""
    right = (EMPTY, read(EMPTY, 1.0))
    assert own_writes([right] * 4, 4, "").came_true
    assert not own_writes([right] * 3, 4, "").came_true
    assert not own_writes([right] * 4, 4, "then it broke").came_true
    stale = own_writes([*[right] * 3, (EMPTY, read(MISSING, 1.0))], 4, "")
    assert (stale.came_true, stale.seen) == (False, "3 of 4 writes; another read got 404")


@pytest.mark.parametrize(
    ("reads", "came_true"),
    [
        ((read(EMPTY, 1.0), read(EMPTY, 3.9), read(EMPTY, 9.0, is_hit=False)), True),
        ((read(EMPTY, 1.0), read(EMPTY, 8.5)), True),  # it is being mended by then
        ((), False),
        ((read(EMPTY, 1.0), read(View(0), 2.0)), False),
        ((read(EMPTY, 1.0), read(View(503), 2.0)), False),
        ((read(EMPTY, 1.0), read(EMPTY, 4.2)), False),
    ],
)
def test_reads_during_an_outage(reads: tuple[Read, ...], came_true: bool) -> None:
    """None fails, and none is answered from memory past the bound."""
    assert reads_during("Reads", [record(BOB, *reads)], 1.0, 8.0).came_true is came_true


@pytest.mark.parametrize(
    ("after_s", "came_true", "seen"),
    [(4.9, True, "after 4.9 s"), (5.1, False, "after 5.1 s"), (None, False, "not within 10 s")],
)
def test_hits_resume(after_s: float | None, came_true: bool, seen: str) -> None:
    """In time."""
    step = hits_resumed("Hits", after_s, 5.0)
    assert (step.came_true, step.seen) == (came_true, seen)


@pytest.mark.parametrize(
    ("kinds", "others", "after_s", "came_true"),
    [
        (("CREATE", "CLOSE"), 0, 0.1, True),
        (("CREATE", "CLOSE"), 1, 0.1, False),
        (("CREATE",), 0, None, False),
        (("CREATE", "CLOSE", "CLOSE"), 0, 0.1, False),
        (("CREATE", "CLOSE"), 0, 3.1, False),
    ],
)
def test_what_a_subscriber_saw(
    kinds: tuple[str, ...], others: int, after_s: float | None, came_true: bool
) -> None:
    """The file's two events and nothing else, in time."""
    events = [{"type": kind, "path": "/f"} for kind in kinds] + [{"type": "CREATE", "path": "/g"}] * others
    assert subscriber_saw("/f", events, after_s).came_true is came_true


@pytest.mark.parametrize(("writes", "came_true"), [(20, True), (21, False), (0, False)])
def test_what_a_job_cost(writes: int, came_true: bool) -> None:
    """None at all would mean that nothing was counted."""
    assert cost(transactions=200, writes=writes).came_true is came_true


@pytest.mark.parametrize(
    ("url", "came_true"), [("http://p:1/webhdfs/v1", True), ("http://p:2/webhdfs/v1", False), ("", False)]
)
def test_the_proxy_is_found_by_name(url: str, *, came_true: bool) -> None:
    """The one that runs, and no other."""
    assert found_by_name(url, "p:1").came_true is came_true


@pytest.mark.parametrize(
    ("reads", "calls", "came_true"),
    [
        ([read(MISSING, 1.0)] * 100, 5, True),
        ([read(MISSING, 1.0)] * 100, 6, False),
        ([read(MISSING, 1.0)] * 99 + [read(EMPTY, 1.0)], 0, False),
        ([read(MISSING, 1.0, is_hit=False)] * 100, 0, False),
    ],
)
def test_answers_from_memory(reads: list[Read], calls: int, came_true: bool) -> None:
    """The truth each time, at the cost of few calls."""
    step = answered_from_memory([record(BOB, *reads)], MISSING, Totals(hits=95, joined=0, calls=calls))
    assert step.came_true is came_true


@pytest.mark.parametrize(
    ("hits", "joined", "calls", "came_true"),
    [(90, 3, 7, True), (90, 3, 9, True), (90, 3, 10, False), (90, 3, 6, False), (89, 3, 8, False)],
)
def test_the_books_balance(hits: int, joined: int, calls: int, came_true: bool) -> None:
    """A read too many or a call too many is seen, and so is a hit that only the proxy counts."""
    reads = [*[read(MISSING, 1.0)] * 90, *[read(MISSING, 1.0, is_hit=False)] * 10]
    totals = Totals(hits=hits + 5, joined=joined, calls=calls + 5) - Totals(hits=5, joined=0, calls=5)
    assert balance([record(BOB, *reads)], totals, own_at_most=2).came_true is came_true


def test_a_story_without_steps_did_not_come_true() -> None:
    """Nor did one of which a step did not."""
    true = Step(title="a", expected="b", seen="c", came_true=True)
    false = Step(title="a", expected="b", seen="c", came_true=False)
    assert [exit_code(steps) for steps in ((true,), (), (true, false))] == [0, 1, 1]
