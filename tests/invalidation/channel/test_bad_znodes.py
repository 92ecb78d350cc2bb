"""BadZnodes: what does not belong there is told and counted once, however often it is read."""

import logging

import pytest

from nncache.invalidation.channel.bad_znodes import MAX_REMEMBERED, BadZnodes


def test_each_is_told_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    """A reader comes by every second; the log shall not fill with it."""
    bad_znodes = BadZnodes()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            bad_znodes.corrupt("/a", "/a: no number")
            bad_znodes.foreign("/b")
    assert (bad_znodes.corrupt_znodes, bad_znodes.foreign_znodes) == (1, 1)
    assert caplog.messages == [
        "corrupt znode, ignored: /a: no number",
        "foreign znode, ignored: /b",
    ]


def test_there_is_an_end_to_what_is_remembered() -> None:
    """Whoever fills the tree with rubbish fills no memory."""
    bad_znodes = BadZnodes()
    for number in range(MAX_REMEMBERED + 10):
        bad_znodes.foreign(f"/{number}")
    assert bad_znodes.foreign_znodes == MAX_REMEMBERED
