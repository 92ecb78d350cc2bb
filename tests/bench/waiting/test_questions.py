"""What is asked, and how an answer is told apart."""

import pytest

from nncache.bench.waiting.questions import Series, is_granted, is_there, is_whole
from tests.bench.polling_server import reply

SERIES = Series(name="s", paths=3, callers=2)
MISSING = b'{"RemoteException":{"exception":"FileNotFoundException"}}'


def test_each_client_has_a_path_and_each_path_its_callers() -> None:
    """In turn, so that all paths have nearly as many clients, and each caller of one as many."""
    heads = [SERIES.request(client, "host:1").decode() for client in range(12)]
    assert [SERIES.path_of(client) for client in range(4)] == [0, 1, 2, 0]
    assert all(f"/webhdfs/v1{SERIES.path(client % 3)}?" in head for client, head in enumerate(heads))
    assert len(set(heads)) == 3 * 2
    assert all(head.endswith("Prefer: wait=50\r\n\r\n") for head in heads)


@pytest.mark.parametrize(
    ("answer", "whole", "granted", "there"),
    [
        (reply(fields=("Preference-Applied: wait=50",)), True, True, True),
        (reply(fields=("Preference-Applied: wait=50",))[:-1], False, True, True),
        (reply(MISSING, "404 Not Found", ("Preference-Applied: wait=50",)), True, True, False),
        (reply(MISSING, "404 Not Found"), True, False, False),
    ],
)
def test_an_answer_is_told_apart(answer: bytes, *, whole: bool, granted: bool, there: bool) -> None:
    """Whole or not, with a wait granted or not, the file or its absence."""
    assert (is_whole(answer), is_granted(answer), is_there(answer)) == (whole, granted, there)
