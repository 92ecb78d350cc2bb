"""What is asked is a status, and what is answered is told apart."""

import pytest

from nncache.bench.connects.heads import PATHS, as_new, heads_for, is_good, is_hit, is_whole, path_of
from tests.bench.polling_server import reply

HIT = reply(fields=("Cache-Status: nncache; hit",))
MISS = reply(fields=("Cache-Status: nncache; fwd=miss",))
REFUSED = reply(b'{"RemoteException":{}}', "503 Service Unavailable")


def test_each_path_has_its_request() -> None:
    """One whole head each."""
    heads = heads_for("host:1")
    assert len(set(heads)) == PATHS
    for number, head in enumerate(heads):
        assert head.startswith(f"GET /webhdfs/v1{path_of(number)}?op=GETFILESTATUS&".encode())
        assert head.index(b"\r\n\r\n") == len(head) - 4


def test_a_new_head_is_like_no_other() -> None:
    """But is one whole head still."""
    head = heads_for("host:1")[0]
    new = {as_new(head, number) for number in range(3)}
    assert len(new | {head}) == 4
    assert all(each.index(b"\r\n\r\n") == len(each) - 4 for each in new)
    assert all(each.split(b"\r\n")[:4] == head.split(b"\r\n")[:4] for each in new)


@pytest.mark.parametrize(
    ("data", "is_what"),
    [
        (HIT, (True, True, True)),
        (MISS, (True, True, False)),
        (REFUSED, (True, False, False)),
        (HIT[:-1], (False, False, True)),
        (b"", (False, False, False)),
    ],
)
def test_what_a_reply_is(data: bytes, is_what: tuple[bool, bool, bool]) -> None:
    """Whole, good, from memory."""
    assert (is_whole(data), is_good(data), is_hit(data)) == is_what
