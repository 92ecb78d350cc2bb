"""The identity of a publisher."""

import pytest

from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity, parse_identity

US = PublisherIdentity(id="1", host="a", pid=1, admin="127.0.0.1:9873")


def test_an_identity_survives_the_wire() -> None:
    """A process can parse what another one writes."""
    assert parse_identity(encode_identity(US)) == US


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xff",
        b'{"host":"a","pid":1,"admin":"b"}',
        b"[]",
        pytest.param(b'{"x":' + b"[" * 5_000, id="deep"),
    ],
)
def test_what_nobody_of_ours_wrote_is_nobody(data: bytes) -> None:
    """The owner of a foreign znode at our path is waited for like a publisher."""
    assert parse_identity(data) is None


def test_a_person_can_read_it() -> None:
    """A standby logs the leader's identity."""
    assert str(US) == "process 1 on a (its pages are at 127.0.0.1:9873)"
