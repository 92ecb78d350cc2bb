"""The judge of histories accepts each event once and in order, or a gap that covers it."""

import pytest

from tests.inotify.subscriber_log import Begins, Event, Gap, Outage, SubscriberLog, subscriber_log
from tests.inotify.verdict import judge

A, B, C, D = (Event(txid, "CREATE", (f"/{txid}",)) for txid in (11, 12, 14, 17))
LOG = (A, B, C, D)


@pytest.mark.parametrize(
    "history",
    [
        pytest.param((Begins(10), A, B, C, D), id="all of it"),
        pytest.param((Begins(12), C, D), id="from where it begins"),
        pytest.param((Begins(10), A, Outage(), Begins(11), B, C, D), id="over an outage"),
        pytest.param((Begins(10), A, Gap(12, 14), Begins(14), D), id="with a gap that is named"),
        pytest.param((Begins(10), A, Gap(None, None), Begins(14), D), id="with a gap up to where it goes on"),
        pytest.param((Begins(10), Gap(12, 14), Begins(14), D, A), id="late, but covered"),
    ],
)
def test_what_is_right(history: tuple[SubscriberLog, ...]) -> None:
    """The judge finds no fault, except that it reports late events."""
    verdict = judge(history, LOG)
    assert not verdict.lost
    assert not verdict.duplicated
    assert not verdict.made_up
    assert verdict.is_right or verdict.disordered == (A,)


@pytest.mark.parametrize(
    ("history", "what", "which"),
    [
        ((Begins(10), A, C, D), "lost", (B,)),
        ((Begins(10), A, Begins(14), D), "lost", (B, C)),
        ((Begins(10), A, B, C), "lost", (D,)),
        ((Begins(10), A, Gap(13, 14), Begins(14), D), "lost", (B,)),
        ((Begins(10), A, B, Gap(None, None), Begins(13), D), "lost", (C,)),
        ((Begins(10), A, B, B, C, D), "duplicated", (B,)),
        ((Begins(10), A, C, B, D), "disordered", (B,)),
        (
            (Begins(10), A, B, C, Event(15, "CREATE", ("/15",)), D),
            "made_up",
            (Event(15, "CREATE", ("/15",)),),
        ),
        ((Begins(10), A, B, Event(14, "UNLINK", ("/14",)), D), "lost", (C,)),
    ],
)
def test_what_is_wrong(history: tuple[SubscriberLog, ...], what: str, which: tuple[Event, ...]) -> None:
    """The judge reports events that are lost, duplicated, disordered or made up."""
    verdict = judge(history, LOG)
    assert getattr(verdict, what) == which
    assert not verdict.is_right


def test_what_a_subscriber_prints_is_read() -> None:
    """Each kind of line is parsed. An unknown kind is an error of the test, not of the service."""
    lines = (
        {"filter": "f", "after": 3},
        {"filter": "f", "txid": 4, "type": "RENAME", "srcPath": "/a", "dstPath": "/b", "timestamp": 1},
        {"filter": "f", "gap": "why", "firstTxid": 5, "lastTxid": 6},
        {"filter": "f", "gap": "why"},
        {"filter": "f", "gap": "why", "lastTxid": 8, "after": 9, "next": "read the present state"},
        {"filter": "f", "outage": "why"},
    )
    assert subscriber_log(lines) == (
        Begins(3),
        Event(4, "RENAME", ("/a", "/b")),
        Gap(5, 6),
        Gap(None, None),
        Gap(None, 8),
        Outage(),
    )
    with pytest.raises(ValueError, match="no known kind"):
        subscriber_log([{"filter": "f"}])
