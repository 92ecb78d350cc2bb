"""What a NameNode says of itself over JMX."""

import json
import urllib.request
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadoop.election_view import Answer
from hadoop.errors import MalformedReplyError
from hadoop.ha_state import HaState
from hadoop.jmx import (
    JOURNAL_QUERY,
    STARTED_QUERY,
    STATUS_QUERY,
    Status,
    parse_last_txid,
    parse_started_ms,
    parse_status,
)
from testbed import Cluster
from tests.cluster import make_directory

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


def ask(cluster: Cluster, query: str) -> bytes:
    """Ask the real NameNode, as nobody."""
    with urllib.request.urlopen(f"http://{cluster.namenodes[0].http}{query}", timeout=10) as response:
        body: bytes = response.read()
    return body


def test_a_real_namenode_says_the_same_to_anybody(cluster: Cluster) -> None:
    """Without any user name; without HA it is active since ever."""
    assert parse_status(ask(cluster, STATUS_QUERY)) == Status(HaState.ACTIVE, 0)
    started_ms = parse_started_ms(ask(cluster, STARTED_QUERY))
    assert parse_started_ms(ask(cluster, STARTED_QUERY + "&user.name=alice")) == started_ms


def test_the_last_transaction_of_a_real_namenode_is_current(cluster: Cluster, hdfs_directory: str) -> None:
    """It moves with every change, at once: the freshness of answers is proven by it."""
    seen = [parse_last_txid(ask(cluster, JOURNAL_QUERY))]
    for number in range(5):
        make_directory(cluster, f"{hdfs_directory}/{number}")
        seen.append(parse_last_txid(ask(cluster, JOURNAL_QUERY)))
    assert all(later > earlier for earlier, later in pairwise(seen))
