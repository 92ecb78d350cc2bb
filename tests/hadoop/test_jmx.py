"""What a NameNode says of itself over JMX."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadoop.election_view import Answer
from hadoop.errors import MalformedReplyError
from hadoop.ha_state import HaState
from hadoop.jmx import Status, parse_last_txid, parse_started_ms, parse_status

PARSERS: tuple[Callable[[bytes], Any], ...] = (parse_status, parse_started_ms, parse_last_txid)


def reply(**attributes: object) -> bytes:
    """Make a reply with one bean."""
    return json.dumps(
        {"beans": [{"name": "Hadoop:service=NameNode", "modelerType": "x", **attributes}]}
    ).encode()


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("active", HaState.ACTIVE),
        ("standby", HaState.STANDBY),
        ("observer", HaState.OBSERVER),
        ("initializing", HaState.INITIALIZING),
    ],
)
def test_the_state_and_since_when(word: str, state: HaState) -> None:
    """The words of HAServiceProtocol.HAServiceState.toString."""
    body = reply(State=word, LastHATransitionTime=1795298171446, SecurityEnabled=False)
    assert parse_status(body) == Status(state, 1795298171446)
    assert parse_status(body).answer(17) == Answer(state=state, started_ms=17, transition_ms=1795298171446)


def test_the_start_and_the_last_transaction() -> None:
    """The transaction ids stand as texts in a JSON text within the JSON."""
    assert parse_started_ms(reply(NNStartedTimeInMillis=1795306212253)) == 1795306212253
    inner = '{"MostRecentCheckpointTxId":"0","LastAppliedOrWrittenTxId":"12345"}'
    assert parse_last_txid(reply(JournalTransactionInfo=inner)) == 12345


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff",
        b"{}",
        b'{"beans":[]}',
        b'{"beans":[1]}',
        b'{"beans":[{},{}]}',
        reply(result="ERROR", message="No attribute with name X was found."),
        reply(State="retired", LastHATransitionTime=0),
        reply(State=1, LastHATransitionTime=0),
        reply(NNStartedTimeInMillis="now"),
        reply(JournalTransactionInfo="{"),
        reply(JournalTransactionInfo="{}"),
        reply(JournalTransactionInfo='{"LastAppliedOrWrittenTxId":"x"}'),
    ],
)
@pytest.mark.parametrize("parse", PARSERS)
def test_anything_else_is_an_error(parse: Callable[[bytes], Any], body: bytes) -> None:
    """A reply that cannot be read proves nothing; a starting NameNode has no beans yet."""
    with pytest.raises(MalformedReplyError):
        parse(body)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_an_error(body: bytes) -> None:
    """And nothing else happens."""
    for parse in PARSERS:
        with pytest.raises(MalformedReplyError):
            parse(body)
