"""The requests whose cost is measured are as long as a request may be, and each is another."""

from tests.overload.shapes import shapes

MAX_HEAD_BYTES = 65_536


def test_shapes_fill_a_request() -> None:
    """Nearly 64 KB each, and no more; at least 20 of them."""
    found = dict(shapes())
    assert len(found) >= 20
    assert len(set(found.values())) == len(found)
    assert {name for name, data in found.items() if not 50_000 < len(data) <= MAX_HEAD_BYTES} == set()
