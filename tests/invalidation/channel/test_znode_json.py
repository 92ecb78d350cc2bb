"""The common rules for JSON in znodes."""

import pytest

from nncache.invalidation.channel.znode_json import MAX_REASON, MAX_RECORD_BYTES, checked, fits
from nncache.invalidation.errors import CorruptZnodeError


def parsed(path: str, data: bytes) -> str:
    """Return the parsed text, or fail with a long message."""
    if b"bad" in data:
        raise ValueError("x" * 1000)
    return f"{path}: {data.decode()}"


def test_a_record_has_a_largest_size() -> None:
    """ZooKeeper closes the connection of a client that sends more than a megabyte, and a reader could not read it."""
    assert fits(b"x" * MAX_RECORD_BYTES)
    assert not fits(b"x" * (MAX_RECORD_BYTES + 1))


def test_what_is_read_is_of_this_version() -> None:
    """A record of another version, or one too large to parse, is refused."""
    assert checked(parsed)("/a", b'{"version":1}') == '/a: {"version":1}'
    with pytest.raises(CorruptZnodeError, match="version 2: this release reads version 1; upgrade it"):
        checked(parsed)("/a", b'{"version":2}')
    with pytest.raises(CorruptZnodeError, match="524289 bytes"):
        checked(parsed)("/a", b" " * (MAX_RECORD_BYTES + 1))


def test_the_reason_is_short() -> None:
    """The reason may quote the content of the znode, so it is cut."""
    with pytest.raises(CorruptZnodeError) as caught:
        checked(parsed)("/a", b'{"version":1,"bad":1}')
    assert len(str(caught.value)) <= MAX_REASON + len("/a: ")
