"""What a reply says of a path, in the terms of the tables."""

from nncache.bench.changing.namespace import State, state_of
from nncache.bench.polling.replies import digest_of
from tests.bench.polling_server import BODY


def test_the_namenode_is_understood_as_pollers_understand_a_reply() -> None:
    """Else the judge would compare what can't be compared; what is no file has no number."""
    assert state_of(200, BODY) == State(200, digest_of(200, BODY), 16389)
    assert state_of(404, BODY) == State(404, digest_of(404, BODY), 0)
    assert state_of(403, BODY) == State(403, 0, 0)
