"""Asking the proxy as a client would."""

import pytest

from nncache.demo.reader import Reader, view_of
from nncache.demo.sightings import DENIED, MISSING, Question, View
from nncache.testbed.asker import RawReply
from tests.demo.answers import Answering

QUESTION = Question("bob", "/w/f")


@pytest.mark.parametrize("view", [MISSING, DENIED, View(503), View(200, 11), View(200)])
def test_a_sighting_says_what_the_reply_said(view: View) -> None:
    """Status, length of a file, and whether it came from memory."""
    with Answering() as answering, Reader(answering.address) as reader:
        answering.views[QUESTION.path] = view
        first = reader.read(QUESTION)
        answering.is_hit = False
        second = reader.read(QUESTION)
    assert (first.view, first.is_hit) == (view, True)
    assert (second.view, second.is_hit) == (view, False)
    assert first.started_at <= first.ended_at <= second.started_at


def test_no_answer_is_a_sighting_too() -> None:
    """A reader is let down, not ended."""
    with Answering() as answering:
        address = answering.address
    with Reader(address) as reader:
        seen = reader.read(QUESTION)
    assert (seen.view, seen.is_hit) == (View(0), False)
    assert seen.view.is_failure


def test_a_body_that_cannot_be_read_is_no_answer() -> None:
    """A 200 that says nothing of the file must not pass for one that does."""
    assert view_of(RawReply(200, (), b"<html>", 0.0, 0.0)) == View(0)
