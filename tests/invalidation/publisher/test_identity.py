"""Who publishes."""

import pytest

from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity, parse_identity

US = PublisherIdentity(host="a", pid=1, admin="127.0.0.1:9873")


def test_an_identity_survives_the_wire() -> None:
    """What one process writes another reads."""
    assert parse_identity(encode_identity(US)) == US


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"host":"a","pid":"x","admin":"b"}', b"[]"])
def test_what_nobody_of_ours_wrote_is_nobody(data: bytes) -> None:
    """A foreign znode at our place is waited for like any other."""
    assert parse_identity(data) is None


def test_who_listens_where_another_listened_is_its_successor() -> None:
    """A port has one owner: the other one is dead, though its session may live on for seconds."""
    assert PublisherIdentity(host="a", pid=2, admin="127.0.0.1:9873").is_successor_of(US)
    assert not PublisherIdentity(host="b", pid=2, admin="127.0.0.1:9873").is_successor_of(US)
    assert not PublisherIdentity(host="a", pid=2, admin="127.0.0.1:9874").is_successor_of(US)


def test_a_person_can_read_it() -> None:
    """For the log of whoever waits."""
    assert str(US) == "process 1 on a (its pages are at 127.0.0.1:9873)"
