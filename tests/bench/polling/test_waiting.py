"""Waiting pollers: each answer starts the next wait, and is valid at the moment of its arrival."""

import asyncio

import pyarrow as pa
import pytest

from nncache.bench.polling.replies import digest_of
from nncache.bench.polling.rows import Rows
from nncache.bench.polling.schedule import Times
from nncache.bench.polling.waiting import PAUSE_S, WAIT_S, WaitSchedule
from nncache.bench.shared.tables import POLLS
from tests.bench.patient_loop import PatientLoop
from tests.bench.polling.test_schedule import MISSING, Row, from_zero, one, requests_of
from tests.bench.polling_server import BODY, Act, RawServer, Script, reply

GRANTED = f"Preference-Applied: wait={WAIT_S}"
HELD_S = 2.0


def there(tag: str, *fields: str) -> bytes:
    """Return a reply with a status and a tag."""
    return reply(fields=("Cache-Status: nncache; hit; detail=waited", f'ETag: "{tag}"', *fields))


def waited(script: Script, ends_s: float = 5.0) -> list[Row]:
    """Run one waiting poller; return its rows."""
    rows, poller = Rows(), one(4)

    async def run() -> None:
        async with RawServer(script) as server:
            times = Times(begins_s=0.0, ends_s=ends_s)
            await WaitSchedule([(poller, requests_of(poller))], times, now=from_zero(), rows=rows).run(
                server.endpoint
            )

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        runner.run(run())
    found: list[Row] = pa.Table.from_batches(rows.batches(0.001), POLLS).to_pylist()
    return found


def test_each_answer_begins_the_wait_for_another_one() -> None:
    """The next wait carries the answer's tag; the first request is answered immediately."""
    script = Script(
        {
            "/4": (
                Act(data=there("aa", GRANTED)),
                Act(data=there("bb", GRANTED), delay_s=HELD_S),
                Act(data=b""),
            )
        }
    )
    first, second = waited(script)
    assert [head.splitlines()[-2:] for head in script.heads] == [
        [b"Prefer: wait=%d" % WAIT_S, b"If-None-Match: " + tag] for tag in (b'"none"', b'"aa"', b'"bb"')
    ]
    assert first["replied_s"] < 1.0
    assert second["due_s"] == second["sent_s"] == second["replied_s"] == pytest.approx(HELD_S, abs=0.1)
    assert (second["status"], second["digest"], second["served"]) == (
        200,
        digest_of(200, BODY),
        "hit; waited",
    )


def test_a_304_repeats_the_answer_before_it() -> None:
    """Nothing is new: the next wait has the same tag."""
    unchanged = f'HTTP/1.1 304 Not Modified\r\nETag: "aa"\r\n{GRANTED}\r\n\r\n'.encode()
    script = Script(
        {"/4": (Act(data=there("aa", GRANTED)), Act(data=unchanged, delay_s=HELD_S), Act(data=b""))}
    )
    first, second = waited(script)
    assert (second["status"], second["digest"]) == (first["status"], first["digest"])
    assert script.heads[-1].endswith(b'If-None-Match: "aa"')


def test_a_wait_that_is_not_granted_is_asked_for_after_a_pause() -> None:
    """Its answer counts as a plain poll, with its own sending time."""
    missing = reply(MISSING, "404 Not Found", ('ETag: "cc"',))
    script = Script({"/4": (Act(data=missing, delay_s=0.5), Act(data=b""))})
    (row,) = waited(script)
    assert row["replied_s"] - row["sent_s"] == pytest.approx(0.5, abs=0.1)
    assert row["status"] == 404
    assert len(script.heads) == 2
    assert script.heads[-1].endswith(b'If-None-Match: "cc"')


@pytest.mark.parametrize("act", [Act(data=b"", then="close"), Act(data=b"no HTTP\r\n\r\n")])
def test_a_failed_wait_is_asked_again_after_a_pause(act: Act) -> None:
    """The failure does not end the poller."""
    script = Script({"/4": (act, act, Act(data=there("aa", GRANTED)), Act(data=b""))})
    rows = waited(script)
    assert rows[0]["error"] is not None
    assert rows[-1]["status"] == 200
    assert rows[-1]["replied_s"] >= PAUSE_S


def test_silence_has_failed_in_the_end() -> None:
    """A wait without an answer ends when its maximum length has passed."""
    (row, *_) = waited(Script({"/4": (Act(data=b""),)}), ends_s=3.0 * WAIT_S)
    assert "no reply within" in row["error"]
