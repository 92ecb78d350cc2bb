"""Oddities: what does not belong there is told and counted once, however often it is read."""

import logging

import pytest

from invalidation.channel.oddities import MAX_REMEMBERED, Oddities


def test_each_is_told_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    """A reader comes by every second; the log shall not fill with it."""
    oddities = Oddities()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            oddities.corrupt("/a", "/a: no number")
            oddities.foreign("/b")
    assert (oddities.corrupt_znodes, oddities.foreign_znodes) == (1, 1)
    assert caplog.messages == [
        "corrupt znode, ignored: /a: no number",
        "foreign znode, ignored: /b",
    ]


def test_there_is_an_end_to_what_is_remembered() -> None:
    """Whoever fills the tree with rubbish fills no memory."""
    oddities = Oddities()
    for number in range(MAX_REMEMBERED + 10):
        oddities.foreign(f"/{number}")
    assert oddities.foreign_znodes == MAX_REMEMBERED
