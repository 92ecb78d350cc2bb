"""Connections that poll and connects that come: what is waited for, counted, and judged."""

from dataclasses import replace

import pytest

from nncache.bench.connects import MAX_P99_S, Round, judge
from nncache.bench.pollers import path_of, polled
from nncache.bench.polling.replies import Reply
from nncache.bench.polling.rows import Rows
from nncache.bench.storm import Storm
from tests.bench.polling_server import Act, Script, reply, serving

HIT = reply(b'{"FileStatus":{}}', fields=("Cache-Status: nncache; hit",))
FORWARDED = reply(b'{"FileStatus":{}}', fields=("Cache-Status: nncache; fwd=bypass",))
GOOD = Round(
    program="nncache",
    connects_s=0.9,
    answered_s=1.2,
    each=(0.1, 0.2, 0.3),
    before=(0.001, 0.002, 0.003),
    meanwhile=(0.01, 0.02, 0.03),
    after=(0.01, 0.02, 0.03),
    late=(0.0, 0.0, 0.0),
    failed=0,
    forwarded=0,
    probes=3,
    probes_failed=0,
    edits=10,
    edits_failed=0,
    edits_before_s=0.001,
    edits_meanwhile_s=0.002,
    stalls=0,
    cpu_s=(1.0, 1.0, 1.0),
)


@pytest.mark.parametrize(
    "bad",
    [
        {"failed": 1},
        {"forwarded": 1},
        {"probes": 0},
        {"probes_failed": 1},
        {"edits": 0},
        {"edits_failed": 1},
        {"meanwhile": (0.01, MAX_P99_S + 0.01, 0.2)},
        {"after": (0.01, MAX_P99_S + 0.01, 0.2)},
        {"after": ()},
    ],
)
def test_each_figure_of_a_storm_can_fall_short(bad: dict[str, object]) -> None:
    """In one round; what was not measured falls short as well."""
    assert all(each.is_met for each in judge([GOOD], 1))
    assert sum(not each.is_met for each in judge([replace(GOOD, **bad)], 1)) == 1  # type: ignore[arg-type] # any field


def test_a_storm_that_was_too_slow_is_judged_for_failures_alone() -> None:
    """It is one less than wanted."""
    slow = replace(GOOD, connects_s=1.1, meanwhile=(9.0, 9.0, 9.0))
    assert all(each.is_met for each in judge([slow, GOOD], 1))
    assert sum(not each.is_met for each in judge([slow, GOOD], 2)) == 1
    assert sum(not each.is_met for each in judge([replace(slow, failed=1), GOOD], 1)) == 1


def test_polls_count_from_when_they_were_due() -> None:
    """Late is a poller of whose connection was free; what failed or was forwarded is counted."""
    rows = Rows()
    rows.add_reply(1, 0, 1.0, 1.5, 2.0, Reply(200, "hit", b"", keeps=True))
    rows.add_reply(1, 0, 1.5, 2.0, 2.25, Reply(200, "bypass", b"", keeps=True))  # waited for the one before
    rows.add_reply(2, 0, 1.0, 1.0, 1.25, Reply(503, "hit", b"", keeps=True))
    rows.add_failure(2, 0, 2.0, 2.0, 3.0, "gone")
    found = polled(rows, 0.0)
    assert (found.failed, found.forwarded) == (2, 1)
    assert found.took_between(1.0, 1.6) == [1.0, 0.75, 0.25]
    assert found.late_between(1.0, 2.1) == [0.5, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("is_cold", [False, True])
def test_a_storm_counts_what_became_of_its_connects(*, is_cold: bool) -> None:
    """Hits, answers from elsewhere, refusals, and connections that end; cold, no head is like another."""
    acts: dict[str, tuple[Act, ...]] = {path_of(number): (Act(data=HIT),) for number in range(6)}
    acts |= {path_of(1): (Act(data=FORWARDED, split=20),), path_of(2): (Act(data=b"", then="close"),)}
    acts[path_of(3)] = (Act(data=reply(b'{"RemoteException":{}}', "403 Forbidden")),)
    script = Script(acts)
    with serving(script) as address:
        found = Storm(address, 6, is_cold=is_cold).run()
    assert (found.failed, found.forwarded, len(found.took)) == (2, 1, 6)
    assert 0 < found.connects_s <= found.answered_s
    assert len({head.partition(b"X-Number")[2] for head in script.heads}) == (6 if is_cold else 1)
