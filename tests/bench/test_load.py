"""Results of pollers, storms and subscribers: the definitions of an answer, of late and of lost."""

import asyncio
import math
from dataclasses import replace
from multiprocessing.connection import Connection

import pytest

from nncache.bench import pollers
from nncache.bench.connects import COUNTED, MAX_P99_S, Round, Storm, judge
from nncache.bench.events import ASKED, FAILED, MEMORY, by_second, rates
from nncache.bench.inotify import Received, account, normal_after
from nncache.bench.pollers import Polled, path_of, polled
from nncache.bench.polling.replies import PollReply
from nncache.bench.polling.rows import Rows
from nncache.bench.shared.driver import apart, next_of
from tests.bench.polling_server import Act, Script, reply, serving
from tests.patience import HANG_S

MUCH = 200_000
HIT = reply(b'{"FileStatus":{}}', fields=("Cache-Status: nncache; hit",))
FORWARDED = reply(b'{"FileStatus":{}}', fields=("Cache-Status: nncache; fwd=bypass",))
GOOD = Round(
    connects_s=0.9,
    answered_s=1.2,
    each=(0.1, 0.2, 0.3),
    before=(0.001, 0.002, 0.003),
    meanwhile=(0.01, 0.02, 0.03),
    after=(0.01, 0.02, 0.03),
    late=(0.0, 0.0, 0.0),
    failed=0,
    forwarded=0,
    grew={metric: 0 if "failed" in metric else 3 for metric in COUNTED},
    cpu_s=(1.0, 1.0, 1.0),
)


def test_a_storm_that_was_too_slow_is_judged_for_failures_alone() -> None:
    """It counts as one round too few; a round that measured nothing falls short."""
    slow = replace(GOOD, connects_s=1.1, meanwhile=(9.0, 9.0, 9.0))
    late = replace(GOOD, after=(0.01, MAX_P99_S + 0.01, 0.2))
    assert all(each.is_met for each in judge([slow, GOOD], 1))
    for rounds, wanted in (
        ([slow, GOOD], 2),
        ([replace(slow, failed=1), GOOD], 1),
        ([late], 1),
        ([replace(GOOD, after=())], 1),
    ):
        assert sum(not each.is_met for each in judge(rounds, wanted)) == 1


def test_polls_count_from_when_they_were_due() -> None:
    """A poll is late if its connection was free; failed and forwarded polls are counted."""
    rows = Rows()
    rows.add_reply(1, 0, 1.0, 1.5, 2.0, PollReply(200, "hit", b"", keeps=True))
    rows.add_reply(
        1, 0, 1.5, 2.0, 2.25, PollReply(200, "bypass", b"", keeps=True)
    )  # waited for the one before
    rows.add_reply(2, 0, 1.0, 1.0, 1.25, PollReply(503, "hit", b"", keeps=True))
    rows.add_failure(2, 0, 2.0, 2.0, 3.0, "gone")
    found = polled(rows, 0.0)
    assert (found.failed, found.forwarded) == (2, 1)
    assert found.between(1.0, 1.6, found.took_s) == [1.0, 0.75, 0.25]
    assert found.between(1.0, 2.1, found.late_s) == [0.5, 0.0, 0.0, 0.0]


def sees_much(pipe: Connection) -> None:
    """Act as pollers whose results exceed a pipe's buffer."""

    async def poll(address: str, count: int, end: Connection) -> Polled:
        loop = asyncio.get_running_loop()
        loop.add_reader(end.fileno(), loop.stop)
        loop.remove_reader(end.fileno())
        return Polled(due=[0.5] * MUCH)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pollers, "poll", poll)
        pollers.run(pipe, "")


def test_what_pollers_saw_is_sent_to_its_end() -> None:
    """A slow reader gets all of it: uvloop leaves a watched pipe non-blocking, which would lose the excess."""
    with apart(sees_much, ready_s=None) as pipe:
        assert len(next_of(pipe, HANG_S).due) == MUCH


@pytest.mark.parametrize("is_cold", [False, True])
def test_a_storm_counts_what_became_of_its_connects(*, is_cold: bool) -> None:
    """Hits, forwarded calls, refusals and closed connections are counted; in a cold storm each head is unique."""
    acts: dict[str, tuple[Act, ...]] = {path_of(number): (Act(data=HIT),) for number in range(6)}
    acts |= {path_of(1): (Act(data=FORWARDED, split=20),), path_of(2): (Act(data=b"", then="close"),)}
    acts[path_of(3)] = (Act(data=reply(b'{"RemoteException":{}}', "403 Forbidden")),)
    script = Script(acts)
    with serving(script) as address:
        found = Storm(address, 6, is_cold=is_cold).run()
    assert (found.failed, found.forwarded, len(found.took)) == (2, 1, 6)
    assert 0 < found.connects_s <= found.answered_s
    assert len({head.partition(b"X-Number")[2] for head in script.heads}) == (6 if is_cold else 1)


def test_each_poll_counts_once_for_its_second() -> None:
    """Its duration does not matter; polls after the end are left out, and failed ones have no time."""
    polls = [
        {"due_s": due_s, "replied_s": due_s + took_s, "status": status, "served": served}
        for due_s, took_s, status, served in (
            *((0.0, 0.001, 200, "hit"), (0.9, 3.0, 200, "miss"), (1.0, 0.5, 0, ""), (1.2, 0.5, 503, "hit")),
            *((1.5, 0.002, 404, "hit"), (2.0, 0.1, 200, "hit"), (-0.1, 0.1, 200, "hit")),
        )
    ]
    counts, p99_s = by_second(polls, 2)
    assert counts == ({MEMORY: 1, ASKED: 1, FAILED: 0}, {MEMORY: 1, ASKED: 0, FAILED: 2})
    assert p99_s == pytest.approx((3.0, 0.002))


def test_calls_are_counted_between_two_looks() -> None:
    """The rate is over the time between them; names may appear later, and counters may restart from 0."""
    looks = [(10.0, {"a": 100.0}), (12.0, {"a": 300.0, "b": 4.0}), (13.0, {"a": 30.0, "b": 4.0})]
    assert rates(looks) == ((12.0, {"a": 100.0, "b": 2.0}), (13.0, {"a": 30.0, "b": 0.0}))


# ---- subscribers -----------------------------------------------------------------------------------------------------

MADE = {f"/loud/{txid}": txid for txid in range(1, 7)}
GAP = Received(1.0, 3, 4)


def event(txid: int, place: str = "loud") -> Received:
    """Return an event for a path."""
    return Received(1.0, txid, txid, f"/{place}/{txid}")


def test_what_lies_within_a_gap_is_covered() -> None:
    """The gap covers by transaction id; other paths do not count, and a path in no gap is silently missing."""
    found = account([event(1), event(2), GAP, event(5), event(6), event(7, "loud/after")], MADE)
    assert (found.delivered, found.covered, found.silent, found.wrong) == (4, 2, 0, 0)
    found = account([event(1), GAP, event(5), event(6)], MADE)
    assert (found.delivered, found.covered, found.silent) == (3, 2, 1)


def test_an_event_that_comes_twice_or_out_of_order_is_wrong() -> None:
    """The rule holds even if no event is missing."""
    found = account([event(txid) for txid in (1, 2, 2, 4, 3, 5, 6)], MADE)
    assert (found.delivered, found.silent, found.wrong) == (6, 0, 2)


def test_all_is_normal_after_the_last_late_event() -> None:
    """That is immediately if none is late, and never if the last one is."""
    made = {"/a": 10.0, "/b": 11.0, "/c": 12.5}
    in_time = {path: at + 0.1 for path, at in made.items()}
    assert normal_after(made, in_time, 9.0) == 0.0
    assert normal_after(made, in_time | {"/b": 13.0}, 9.0) == 3.5
    assert normal_after(made, {"/a": 10.1, "/b": 11.1}, 9.0) == math.inf
